//! The Debug Adapter Protocol on captures of the repository, with a client that checks each message
//! against the schema of the protocol.

mod client;
mod data;
mod hostile;
mod other_client;
mod places;
mod requests;
mod schema;
mod steps;

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

/// The command.
pub(crate) const TRACEWRIGHT: &str = env!("CARGO_BIN_EXE_tracewright");

/// A folder that is removed with the value.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new() -> Folder {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("tracewright-dap-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).expect("a folder");
        Folder(path)
    }

    pub(crate) fn path(&self, name: &str) -> String {
        self.0.join(name).to_str().expect("a path").to_owned()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The capture of the built-in example.
pub(crate) struct Demo {
    _folder: Folder,
    pub(crate) path: String,
}

/// Executes the command, and returns what it prints.
pub(crate) fn tracewright(arguments: &[&str]) -> String {
    let output = Command::new(TRACEWRIGHT).args(arguments).stdin(Stdio::null()).output();
    let output = output.expect("the command");
    let err = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{arguments:?}: {err}");
    String::from_utf8(output.stdout).expect("text")
}

pub(crate) fn demo() -> Demo {
    let folder = Folder::new();
    let path = folder.path("capture");
    tracewright(&["demo", "--write", &path]);
    Demo { _folder: folder, path }
}

/// The folder with the source of the example.
pub(crate) fn sources() -> String {
    format!("{}/src/demo", env!("CARGO_MANIFEST_DIR"))
}

/// The number of the first line of the source of the example with a text.
pub(crate) fn line_with(text: &str) -> u64 {
    let source = include_str!("../../src/demo/program.c");
    let found = source.lines().position(|line| line.contains(text));
    found.unwrap_or_else(|| panic!("{text}")) as u64 + 1
}
