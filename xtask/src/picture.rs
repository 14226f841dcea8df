//! The picture of the report in the README: the report of the built-in example in headless
//! Chromium.

use std::path::Path;
use std::process::{Command, ExitCode};
use std::{env, fs};

/// The picture, and the most bytes that it has.
const PICTURE: &str = "docs/report.png";
const SIZE: u64 = 150_000;

/// Makes the picture.
pub(crate) fn run(root: &Path) -> ExitCode {
    if Command::new("chromium").arg("--version").output().is_err() {
        println!("SKIPPED: {PICTURE}; not installed: chromium (Debian: chromium)");
        return ExitCode::SUCCESS;
    }
    match make(root) {
        Ok(()) => {
            println!("{PICTURE} written");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("report-picture: {error}");
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

fn make(root: &Path) -> Result<(), String> {
    let page = env::temp_dir().join(format!("tracewright-report-{}.html", std::process::id()));
    let cargo = env::var_os("CARGO").unwrap_or("cargo".into());
    let mut command = Command::new(cargo);
    command.args(["run", "--quiet", "-p", "tracewright-cli", "--", "demo", "--report"]);
    done(command.arg(&page).current_dir(root), "tracewright demo")?;
    let picture = root.join(PICTURE);
    let mut command = Command::new("chromium");
    command.args(["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]);
    command.args(["--virtual-time-budget=4000", "--window-size=1000,1500"]);
    command.arg(format!("--screenshot={}", picture.display()));
    let result =
        done(command.arg(format!("file://{}", page.display())), "chromium (Debian: chromium)");
    // The page is not needed any more, whether there is a picture or not.
    let _ = fs::remove_file(&page);
    result?;
    match fs::metadata(&picture).map(|file| file.len()) {
        Ok(len) if len <= SIZE => Ok(()),
        Ok(len) => Err(format!("{PICTURE} has {len} bytes, more than {SIZE}")),
        Err(_) => Err(format!("chromium wrote no {PICTURE}")),
    }
}
