//! `view`: the server of the command.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use crate::common::{Folder, command, tracewright};
use crate::empty::{TRACE, recorded};

/// The answer to a request for an address of the server.
pub fn get(address: &str, path: &str) -> String {
    let rest = address.strip_prefix("http://").expect("an address");
    let (host, token) = rest.split_once('/').expect("a token");
    let mut stream = TcpStream::connect(host).expect("a connection");
    let head = format!("GET /{token}{path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
    stream.write_all(head.as_bytes()).unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    text
}

/// The command prints the address, answers, and ends when no request comes.
#[test]
fn a_trace_is_served_until_nobody_asks() {
    let folder = Folder::new("view");
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/captures/etmv4/capture");
    let to = folder.path("capture");
    fs::create_dir_all(&to).unwrap();
    for file in fs::read_dir(from).unwrap().map(|file| file.unwrap().path()) {
        fs::copy(&file, to.join(file.file_name().unwrap())).unwrap();
    }
    let path = to.to_str().unwrap();
    for indexed in [false, true] {
        if indexed {
            assert_eq!(tracewright(&["index", path]).code, Some(0));
        }
        let mut server = command(&["view", path, "--no-browser", "--idle", "2"]);
        let mut server = server.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut out = BufReader::new(server.stdout.take().unwrap());
        let mut address = String::new();
        out.read_line(&mut address).unwrap();
        let address = address.trim_end();
        let page = get(address, "");
        assert!(page.starts_with("HTTP/1.1 200 ") && page.contains("app.js"), "{page}");
        let capture = get(address, "api/capture");
        assert!(capture.contains("\"view\":true"), "{capture}");
        let mut rest = String::new();
        out.read_to_string(&mut rest).unwrap();
        assert_eq!((server.wait().unwrap().code(), &*rest), (Some(0), ""));
    }
}

/// A source of instructions without a program is shown by address, which is noted; an ITM needs no
/// program.
#[test]
fn only_instructions_need_symbols() {
    for (name, noted) in [("itm", false), ("stm", false), ("etmv4", true)] {
        let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/captures");
        let path = from.join(name).join("capture");
        let path = path.to_str().unwrap();
        let options = ["view", path, "--no-index", "--no-browser", "--idle", "2"];
        let mut server = command(&options);
        let mut server = server.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut out = BufReader::new(server.stdout.take().unwrap());
        let mut address = String::new();
        out.read_line(&mut address).unwrap();
        let capture = get(address.trim_end(), "api/capture");
        let found = capture.contains("no program has symbols");
        assert_eq!(found, noted, "{name}: {capture}");
        server.wait().unwrap();
    }
}

/// A number of the only buffer in the answer to `api/capture`.
fn of_buffer(capture: &str, name: &str) -> u64 {
    let (_, buffer) = capture.split_once("\"buffers\":[").expect("buffers");
    let (_, rest) = buffer.split_once(&format!("\"{name}\":")).expect(name);
    let end = rest.find(|c: char| !c.is_ascii_digit()).expect("more");
    rest[..end].parse().expect("a number")
}

/// The server of a trace that is written in steps has what was written, and at the end what the
/// server of the whole has. Each waits for what it expects.
#[test]
fn a_trace_that_is_recorded_grows() {
    let folder = Folder::new("view-follow");
    let capture = folder.path("example");
    let path = capture.to_str().unwrap();
    assert_eq!(tracewright(&["demo", "--write", path]).code, Some(0));
    let file = capture.join("ETB.bin");
    let bytes = fs::read(&file).unwrap();
    // Frames have 16 bytes.
    let step = (bytes.len() / 4).next_multiple_of(16);
    fs::write(&file, &bytes[..step]).unwrap();
    let serve = |options: &[&str]| {
        let all = [&["view", path, "--no-browser"], options].concat();
        let mut server = command(&all);
        let mut server = server.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut address = String::new();
        BufReader::new(server.stdout.take().unwrap()).read_line(&mut address).unwrap();
        (server, address.trim_end().to_owned())
    };
    let (mut server, address) = serve(&["--follow", "3", "--idle", "60"]);
    let mut elements = 0;
    let mut wait_for = |found: &dyn Fn(&str) -> bool| loop {
        let capture = get(&address, "api/capture");
        // Nothing is lost on the way.
        assert!(of_buffer(&capture, "elements") >= elements, "{capture}");
        elements = of_buffer(&capture, "elements");
        if found(&capture) {
            return capture;
        }
        std::thread::sleep(std::time::Duration::from_millis(20));
    };
    for end in (step..bytes.len()).step_by(step) {
        let to = bytes.len().min(end + step);
        let first = wait_for(&|capture| of_buffer(capture, "bytes") == end as u64);
        assert!(first.contains("\"growing\":true"), "{first}");
        let mut file = fs::OpenOptions::new().append(true).open(&file).unwrap();
        file.write_all(&bytes[end..to]).unwrap();
    }
    let grown = wait_for(&|capture| capture.contains("\"growing\":false"));
    let functions = get(&address, "api/profile");
    server.kill().unwrap();
    server.wait().unwrap();
    let (mut server, address) = serve(&["--idle", "60"]);
    let body = |answer: &str| answer.split_once("\r\n\r\n").expect("a body").1.to_owned();
    assert_eq!(body(&grown), body(&get(&address, "api/capture")));
    assert_eq!(body(&functions), body(&get(&address, "api/profile")));
    assert_eq!(of_buffer(&grown, "bytes"), bytes.len() as u64);
    server.kill().unwrap();
    server.wait().unwrap();
}

/// The server of a capture that is followed for two seconds after it grew last.
fn followed(capture: &Path, idle: &str) -> (Child, String) {
    let path = capture.to_str().unwrap();
    let options = ["view", path, "--no-browser", "--follow", "2", "--idle", idle];
    let mut server = command(&options);
    let server = server.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut server = server.spawn().unwrap();
    let mut address = String::new();
    BufReader::new(server.stdout.take().unwrap()).read_line(&mut address).unwrap();
    (server, address.trim_end().to_owned())
}

/// The answer to `api/capture` as soon as it is complete.
fn complete(address: &str) -> String {
    let begin = Instant::now();
    loop {
        let capture = get(address, "api/capture");
        if capture.contains("\"growing\":false") {
            return capture;
        }
        assert!(begin.elapsed() < Duration::from_secs(60), "{capture}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// A trace that cannot be read any more is complete, which is noted; what was read is shown.
#[test]
fn a_trace_that_is_deleted_does_not_grow() {
    let folder = Folder::with_demo("view-deleted");
    let capture = folder.demo();
    let file = capture.join("ETB.bin");
    let own = fs::read(&file).unwrap();
    for is_replaced in [false, true] {
        let (mut server, address) = followed(&capture, "60");
        let elements = of_buffer(&get(&address, "api/capture"), "elements");
        fs::remove_file(&file).unwrap();
        if is_replaced {
            fs::create_dir(&file).unwrap();
        }
        let found = complete(&address);
        assert!(found.contains("not followed any more"), "{found}");
        assert_eq!(of_buffer(&found, "elements"), elements);
        server.kill().unwrap();
        let mut err = String::new();
        server.stderr.take().unwrap().read_to_string(&mut err).unwrap();
        server.wait().unwrap();
        assert!(err.contains("not followed any more"), "{err}");
        if is_replaced {
            fs::remove_dir(&file).unwrap();
        }
        fs::write(&file, &own).unwrap();
    }
}

/// A recording whose first version has no trace grows by its first buffers.
#[test]
fn a_recording_begins_without_trace() {
    let folder = Folder::new("view-perf");
    let Some(capture) = recorded(&folder, "perf.data", TRACE) else { return };
    let all = recorded(&folder, "all.data", 0).unwrap();
    let (mut server, address) = followed(&capture, "8");
    assert!(get(&address, "api/capture").contains("\"growing\":true"));
    fs::write(&capture, fs::read(all).unwrap()).unwrap();
    let found = complete(&address);
    assert!(of_buffer(&found, "elements") > 0, "{found}");
    // It ends by itself, and has trace then.
    assert_eq!(server.wait().unwrap().code(), Some(0));
}

/// A file that replaces what it is made of is refused, and options of the server are not for it.
#[test]
fn a_file_is_exported() {
    let folder = Folder::with_demo("view-export");
    let (demo, page) = (folder.demo(), folder.path("page.html"));
    let (demo, page) = (demo.to_str().unwrap(), page.to_str().unwrap());
    let output = tracewright(&["view", demo, "--export", page]);
    assert_eq!(output.code, Some(0), "{}", output.err);
    assert!(output.err.contains("note: not in the file: queries"), "{}", output.err);
    let whole = fs::read_to_string(page).unwrap();
    assert!(tracewright_testing::embedded(&whole).contains_key("detail/0/0"));
    let part = ["view", demo, "--instruction", "3..9", "--export", page];
    assert_eq!(tracewright(&part).code, Some(0));
    let part = fs::read_to_string(page).unwrap();
    let about = &tracewright_testing::embedded(&part)["about"];
    assert!(String::from_utf8_lossy(about).contains("\"part\":{\"buffer\":0"));
    let trace = folder.demo().join("ETB.bin");
    let output = tracewright(&["view", demo, "--export", trace.to_str().unwrap()]);
    assert_eq!(output.code, Some(2), "{}", output.err);
    assert!(output.err.contains("--export "), "{}", output.err);
    let output = tracewright(&["view", demo, "--offset", "100000..", "--export", page]);
    assert!(output.err.contains("note: nothing is in the selection"), "{}", output.err);
    let output = tracewright(&["view", demo, "--id", "0x77", "--export", page]);
    assert_eq!(output.code, Some(2), "{}", output.err);
    assert!(output.err.contains("`tracewright decode` states"), "{}", output.err);
    for option in ["--no-browser", "--any-source", "--save-notes"] {
        assert_eq!(tracewright(&["view", demo, "--export", page, option]).code, Some(2));
    }
}

#[test]
fn what_cannot_be_viewed_is_an_error() {
    let output = tracewright(&["view", "--protocol", "itm", "-", "--no-browser", "--idle", "1"]);
    assert_eq!(output.code, Some(2), "{}", output.err);
    let output = tracewright(&["view", "absent", "--no-browser"]);
    assert_eq!(output.code, Some(2), "{}", output.err);
}
