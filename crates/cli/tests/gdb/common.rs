//! The command, gdb, and folders.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use tracewright_testing::tool_since;

/// A folder that is removed with the value.
pub struct Folder(PathBuf);

impl Folder {
    pub fn new(name: &str) -> Folder {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("tracewright-{name}-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).expect("a folder");
        Folder(path)
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The command.
pub const TRACEWRIGHT: &str = env!("CARGO_BIN_EXE_tracewright");

/// Executes the command, and returns what it prints.
pub fn tracewright(arguments: &[&str]) -> String {
    let output = Command::new(TRACEWRIGHT).args(arguments).stdin(Stdio::null()).output();
    let output = output.expect("the command");
    let (out, err) = (output.stdout, String::from_utf8_lossy(&output.stderr).into_owned());
    assert!(output.status.success(), "{arguments:?}: {err}");
    String::from_utf8(out).expect("text")
}

/// A gdb that knows all architectures.
pub fn gdb() -> Option<&'static str> {
    tool_since(&[("gdb-multiarch", "gdb-multiarch")], (13, 1))
}

/// What gdb prints for these commands. `target` is what `target remote` takes.
pub fn transcript(gdb: &str, elf: &Path, target: &str, commands: &[String]) -> String {
    let mut command = Command::new("timeout");
    command.args(["60", gdb, "-nx", "-q", "-batch"]).arg(elf);
    for text in [
        "set pagination off",
        "set confirm off",
        "set width 0",
        "set print frame-arguments none",
        "set print finish off",
        "set print entry-values no",
        "set tcp connect-timeout 20",
    ] {
        command.args(["-ex", text]);
    }
    command.args(["-ex", &format!("target remote {target}")]);
    for text in commands {
        command.args(["-ex", text]);
    }
    let output = command.stdin(Stdio::null()).output().expect("gdb runs");
    let mut text = String::from_utf8_lossy(&output.stdout).into_owned();
    text += &String::from_utf8_lossy(&output.stderr);
    text
}
