//! How a browser is started.

use std::ffi::OsString;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tracewright_viewer::Token;

use crate::message;

/// Opens the browser by way of a file that only the user can read: the arguments of a program
/// can be seen by all users. Returns the file.
pub(super) fn open(address: &str) -> Option<PathBuf> {
    let page = write_page(address);
    let page = page.map_err(|error| message::line(&format!("note: no browser: {error}"))).ok()?;
    if !start_browser(&page) {
        message::line("note: no browser was started; open the address above");
    }
    Some(page)
}

/// A file that leads to the address.
fn write_page(address: &str) -> io::Result<PathBuf> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    // A name that is taken is another user's.
    let random = Token::random()?;
    let random = random.text().get(..16).unwrap_or_default();
    let name = format!("tracewright-{random}.html");
    let path = std::env::temp_dir().join(name);
    let mut file = options.open(&path)?;
    write!(
        file,
        "<!doctype html><meta charset=\"utf-8\"><meta name=\"referrer\" content=\"no-referrer\">\
         <meta http-equiv=\"refresh\" content=\"0;url={address}\"><title>Tracewright</title>"
    )?;
    Ok(path)
}

/// The programs that open a page.
fn browsers() -> Vec<OsString> {
    let own = std::env::var_os("BROWSER").filter(|own| !own.is_empty());
    let mut all: Vec<OsString> = own.into_iter().collect();
    if cfg!(target_os = "macos") {
        all.push("open".into());
    } else if cfg!(windows) {
        all.push("explorer".into());
    } else {
        all.push("xdg-open".into());
    }
    all
}

fn start_browser(page: &Path) -> bool {
    browsers().into_iter().any(|program| {
        let mut command = Command::new(program);
        command.arg(page);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.spawn().is_ok()
    })
}
