//! The report in a browser: how long it takes until the first content is painted, and how large the
//! page is. The page of a large capture is bounded.

use std::fs;
use std::io::{Read, Write as _};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tracewright_testing::{is_long, shared, tool};

use crate::common::{Folder, args, tracewright};

/// The largest page in bytes.
const PAGE: usize = 8_000_000;

/// The longest time to the first content. Processors are busy with other tests.
const PAINT: Duration = Duration::from_secs(10);

/// A browser, which is ended on drop.
struct Browser(Child);

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The time from the beginning of the navigation to the first content of a page, in headless
/// Chromium. `None` where it is not installed.
///
/// A copy of the page reports the time to a server, with an element that this server does not
/// answer: the browser does not end before it has painted.
fn first_paint(folder: &Folder, page: &str) -> Option<Duration> {
    let chromium = tool(&[("chromium", "chromium")])?;
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = server.local_addr().unwrap();
    let report = format!(
        "<head><script>new PerformanceObserver(list => {{ for (const e of list.getEntries())\n\
         if (e.name === \"first-contentful-paint\")\n\
         fetch(\"http://{address}/paint/\" + e.startTime + \"/\", {{ mode: \"no-cors\" }}); }})\n\
         .observe({{ type: \"paint\", buffered: true }});</script>"
    );
    let wait = format!("<img alt=\"\" src=\"http://{address}/wait\"></body>");
    // The policy of the page allows neither.
    let (before, policy) = page.split_once("<meta http-equiv=").unwrap();
    let (_, after) = policy.split_once('>').unwrap();
    let page = format!("{before}{after}").replacen("<head>", &report, 1).replace("</body>", &wait);
    let path = folder.path("measured.html");
    fs::write(&path, page).unwrap();
    let mut command = Command::new(chromium);
    command.args(["--headless", "--no-sandbox", "--disable-gpu", "--window-size=1000,960"]);
    command.arg(format!("--user-data-dir={}", folder.path("browser").display()));
    command.arg("--dump-dom").arg(format!("file://{}", path.display()));
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let _browser = Browser(command.spawn().unwrap());
    server.set_nonblocking(true).unwrap();
    let (begin, mut waiting) = (Instant::now(), Vec::new());
    while begin.elapsed() < Duration::from_secs(60) {
        let Ok((mut stream, _)) = server.accept() else {
            std::thread::sleep(Duration::from_millis(5));
            continue;
        };
        stream.set_nonblocking(false).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        let mut bytes = [0; 512];
        let len = stream.read(&mut bytes).unwrap_or(0);
        let request = String::from_utf8_lossy(&bytes[..len]).into_owned();
        match request.split('/').collect::<Vec<_>>()[..] {
            ["GET ", "paint", time, ..] => {
                let _ = stream.write_all(b"HTTP/1.1 204 No Content\r\n\r\n");
                return Some(Duration::from_secs_f64(time.parse::<f64>().unwrap() / 1000.0));
            }
            _ => waiting.push(stream),
        }
    }
    panic!("the page was not painted");
}

/// Measures the report of a capture.
fn measure(name: &str, folder: &Folder, arguments: &str, capture: &Path) {
    let page = folder.path("report.html");
    let mut all = args("report", &[capture]);
    all.extend(args(&format!("{arguments} -o"), &[&page]));
    let output = tracewright(&all);
    assert_eq!(output.code, Some(0), "{name}: {}", output.err);
    let page = fs::read_to_string(page).unwrap();
    assert!(page.len() <= PAGE, "{name}: {} bytes", page.len());
    let Some(paint) = first_paint(folder, &page) else { return };
    println!("{name}: {} bytes, first content after {} ms", page.len(), paint.as_millis());
    assert!(paint <= PAINT, "{name}: {paint:?}");
}

#[test]
fn of_the_example() {
    let folder = Folder::new("paint-example");
    let capture = folder.path("example");
    assert_eq!(tracewright(&args("demo --write", &[&capture])).code, Some(0));
    measure("example", &folder, "", &capture);
}

#[test]
fn of_large_captures() {
    if !is_long() {
        return;
    }
    let folder = Folder::new("paint-large");
    if let Some(capture) = shared("conformance/arm/snapshots/bugfix-exact-match") {
        measure("bugfix-exact-match", &folder, "", &capture);
    }
    if let Some(path) = shared("captures/ti-am243x-r5f/freertos") {
        let image = format!("--image {}", path.join("freertos.out").display());
        measure("freertos", &folder, &image, &path);
    }
}
