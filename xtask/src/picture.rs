//! The picture of the report in the README: the report of the built-in example in headless
//! Chromium.

use std::path::Path;
use std::process::{Command, ExitCode};
use std::{env, fs};

/// The picture.
const PICTURE: &str = "docs/report.png";

/// Makes the picture.
pub(crate) fn run(root: &Path) -> ExitCode {
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
    command.args(["--virtual-time-budget=4000", "--window-size=1000,960"]);
    command.arg(format!("--screenshot={}", picture.display()));
    let result =
        done(command.arg(format!("file://{}", page.display())), "chromium (Debian: chromium)");
    // The page is not needed any more, whether there is a picture or not.
    let _ = fs::remove_file(&page);
    result?;
    if picture.is_file() { Ok(()) } else { Err(format!("chromium wrote no {PICTURE}")) }
}
