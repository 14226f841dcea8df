//! The script of the repository in which workers are killed, stopped, and without room.

use std::path::Path;
use std::process::Command;

use tracewright_testing::{skip, tool};

use super::error;

#[cfg(unix)]
#[test]
fn plain_processes_give_the_whole_or_fail() {
    if tool(&[("strace", "strace")]).is_none() {
        return;
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut script = Command::new("sh");
    script.arg("tests/units/chaos.sh").arg(env!("CARGO_BIN_EXE_tracewright")).current_dir(root);
    let done = script.output().expect("a shell");
    let text = String::from_utf8_lossy(&done.stdout);
    assert!(done.status.success(), "{text}{}", error(&done));
    let ok = text.lines().filter(|line| line.starts_with("ok: ")).count();
    let full = text.contains("ok: a full disk\n");
    assert_eq!(ok, 5 + usize::from(full), "{text}");
    if !full {
        skip("the step of a full disk, which needs the right to mount a tmpfs");
    }
}
