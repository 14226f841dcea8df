//! The commands of docs/sql.md, and what they print.
#![cfg(unix)]

use std::path::{Path, PathBuf};
use std::process::Command;

/// A command of the page, in the words of a shell, and the lines after it.
fn commands(page: &str) -> Vec<(String, String)> {
    let mut all: Vec<(String, String)> = Vec::new();
    for block in page.split("```console\n").skip(1).filter_map(|rest| rest.split("```").next()) {
        for line in block.lines() {
            if let Some(command) = line.strip_prefix("$ ") {
                all.push((command.to_owned(), String::new()));
            } else if let Some((command, output)) = all.last_mut() {
                match line.strip_prefix("> ") {
                    Some(more) if output.is_empty() => *command += &format!("\n{more}"),
                    _ => *output += &format!("{line}\n"),
                }
            }
        }
    }
    all
}

#[test]
fn the_page_shows_what_is_printed() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let page = std::fs::read_to_string(root.join("docs/sql.md")).expect("the page");
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("docs");
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("a folder");
    // The capture of `tracewright demo --write capture`.
    let capture = root.join("crates/columns/tests/example").canonicalize().expect("a capture");
    std::os::unix::fs::symlink(capture, folder.join("capture")).expect("a link");
    let commands = commands(&page);
    assert_eq!(commands.len(), 10, "ten questions");
    for (command, want) in commands {
        let words = command.strip_prefix("tracewright sql ").expect("the verb");
        for partitions in ["1", "3"] {
            let program = env!("CARGO_BIN_EXE_tracewright-sql");
            let run = Command::new("sh")
                .args(["-c", &format!("exec '{program}' -p {partitions} {words}")])
                .current_dir(&folder)
                .output()
                .expect("a shell");
            let text = String::from_utf8(run.stdout).expect("text");
            assert_eq!(text, want, "{command}\n{}", String::from_utf8_lossy(&run.stderr));
            assert_eq!((run.status.code(), run.stderr.is_empty()), (Some(0), true), "{command}");
        }
    }
}
