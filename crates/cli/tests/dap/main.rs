//! The Debug Adapter Protocol on captures of the repository, with a client that checks each message
//! against the schema of the protocol.

mod client;
mod data;
mod hits;
mod hostile;
mod oracle;
mod other_client;
mod places;
mod requests;
mod schema;
mod steps;
mod tasks;

#[path = "../gdb/common.rs"]
mod common;
#[path = "../gdb/machines.rs"]
#[allow(dead_code, reason = "gdb on a trace is of the tests of gdb")]
mod machines;
#[path = "../gdb/two_tasks.rs"]
mod two_tasks;

pub(crate) use common::{Folder, TRACEWRIGHT, gdb, tracewright, transcript};

/// The capture of the built-in example.
pub(crate) struct Demo {
    _folder: Folder,
    pub(crate) path: String,
}

pub(crate) fn demo() -> Demo {
    let folder = Folder::new("dap");
    let path = text(&folder, "capture");
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

/// The path of a file in a folder.
pub(crate) fn text(folder: &Folder, name: &str) -> String {
    folder.path(name).to_str().expect("a path").to_owned()
}
