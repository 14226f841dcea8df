//! The pictures in the README: the report and the viewer of the built-in example in headless
//! Chromium.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::{env, fs};

/// The pictures, and the most bytes that each has.
const REPORT: &str = "docs/report.png";
const VIEW: &str = "docs/view.png";
const SIZE: u64 = 150_000;

/// What the picture of the viewer shows: a moment of the built-in example.
const FRAGMENT: &str = "#f=486&p=functions.instructions";

/// Makes the picture of the report.
pub(crate) fn report(root: &Path) -> ExitCode {
    run(root, REPORT, make_report)
}

/// Makes the picture of the viewer.
pub(crate) fn view(root: &Path) -> ExitCode {
    run(root, VIEW, make_view)
}

fn run(root: &Path, picture: &str, make: fn(&Path) -> Result<(), String>) -> ExitCode {
    if Command::new("chromium").arg("--version").output().is_err() {
        println!("SKIPPED: {picture}; not installed: chromium (Debian: chromium)");
        return ExitCode::SUCCESS;
    }
    match make(root) {
        Ok(()) => {
            println!("{picture} written");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{picture}: {error}");
            ExitCode::from(2)
        }
    }
}

fn done(command: &mut Command, what: &str) -> Result<(), String> {
    let output = command.output().map_err(|error| format!("{what}: {error}"))?;
    match output.status.success() {
        true => Ok(()),
        false => Err(format!("{what}: {}", String::from_utf8_lossy(&output.stderr))),
    }
}

/// The command of this repository.
fn tracewright(root: &Path) -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or("cargo".into()));
    command.args(["run", "--quiet", "-p", "tracewright-cli", "--"]).current_dir(root);
    command
}

/// Writes what Chromium shows at an address.
fn photograph(root: &Path, picture: &str, size: &str, address: &str) -> Result<(), String> {
    let path = root.join(picture);
    let mut command = Command::new("chromium");
    command.args(["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]);
    command.args(["--virtual-time-budget=4000", &format!("--window-size={size}")]);
    command.arg(format!("--screenshot={}", path.display()));
    done(command.arg(address), "chromium (Debian: chromium)")?;
    match fs::metadata(&path).map(|file| file.len()) {
        Ok(len) if len <= SIZE => Ok(()),
        Ok(len) => Err(format!("{len} bytes, more than {SIZE}")),
        Err(_) => Err("chromium wrote nothing".to_owned()),
    }
}

fn make_view(root: &Path) -> Result<(), String> {
    let folder = env::temp_dir().join(format!("tracewright-view-{}", std::process::id()));
    fs::create_dir_all(&folder).map_err(|why| why.to_string())?;
    let capture = folder.join("built-in example");
    done(tracewright(root).args(["demo", "--write"]).arg(&capture), "tracewright demo")?;
    let mut command = tracewright(root);
    // It ends by itself when the browser has.
    command.args(["view", "--no-browser", "--idle", "5"]).arg(&capture);
    let mut server = command.stdout(Stdio::piped()).spawn().map_err(|why| why.to_string())?;
    let mut address = String::new();
    let read = match server.stdout.take() {
        Some(output) => BufReader::new(output).read_line(&mut address).map_err(|e| e.to_string()),
        None => Ok(0),
    };
    let address = format!("{}{FRAGMENT}", address.trim());
    let result = read.and_then(|_| photograph(root, VIEW, "1200,740", &address));
    let ended = server.wait();
    let _ = fs::remove_dir_all(&folder);
    result?;
    ended.map(|_| ()).map_err(|why| why.to_string())
}

fn make_report(root: &Path) -> Result<(), String> {
    let page = env::temp_dir().join(format!("tracewright-report-{}.html", std::process::id()));
    let written = done(tracewright(root).args(["demo", "--report"]).arg(&page), "tracewright demo");
    let address = format!("file://{}", page.display());
    let result = written.and_then(|()| photograph(root, REPORT, "1000,860", &address));
    // The page is not needed any more, whether there is a picture or not.
    let _ = fs::remove_file(&page);
    result
}
