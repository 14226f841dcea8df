//! The session of `docs/data-example.md`: gdb prints what the page shows.

use std::process::{Command, Stdio};

use crate::{Folder, TRACEWRIGHT, gdb, tracewright};

/// The lines of the text blocks of the page, in order, without empty ones.
fn blocks(page: &str) -> Vec<Vec<&str>> {
    let blocks = page.split("```text\n").skip(1).filter_map(|rest| rest.split("```").next());
    blocks.map(|block| block.lines().filter(|line| !line.trim().is_empty()).collect()).collect()
}

#[test]
fn the_page_is_what_gdb_prints() {
    let Some(gdb) = gdb() else { return };
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/data-example.md");
    let page = std::fs::read_to_string(path).expect("the page");
    let (shell, session): (Vec<_>, Vec<_>) =
        blocks(&page).into_iter().partition(|block| block[0].starts_with("$ "));
    let folder = Folder::new("data-example");
    let capture = folder.path("heater");
    let capture = capture.to_str().expect("a path");

    let mut shown = 0;
    for line in shell.into_iter().flatten() {
        let Some(words) = line.strip_prefix("$ tracewright ") else {
            shown += 1;
            let found = tracewright(&["find", capture, "all", "access", "0x20219"]);
            assert!(found.lines().any(|own| own == line), "{line}\n{found}");
            continue;
        };
        let words = words.split(' ').map(|word| if word == "heater" { capture } else { word });
        let words: Vec<&str> = words.collect();
        if words[0] != "gdb" {
            tracewright(&words);
        }
    }
    assert_eq!(shown, 2);
    let count = tracewright(&["instructions", capture, "--format", "pc"]).lines().count();
    let bytes = std::fs::metadata(folder.path("heater/ETB.bin")).expect("the trace").len();
    let words = page.split_whitespace().collect::<Vec<_>>().join(" ").replace(',', "");
    assert!(words.contains(&format!("{count} instructions with")), "{count}");
    assert!(words.contains(&format!("in {bytes} bytes.")), "{bytes}");

    // With -batch, gdb does not state that there are more frames.
    let want = session.into_iter().flatten().filter(|line| !line.starts_with("(More stack"));
    let want: Vec<&str> = want.collect();
    let mut command = Command::new(TRACEWRIGHT);
    command.args(["gdb", capture, "--gdb", gdb, "--", "-nx", "-batch"]);
    command.args(["-ex", "set width 0", "-ex", "set pagination off"]);
    let commands: Vec<&str> = want.iter().filter_map(|line| line.strip_prefix("(gdb) ")).collect();
    assert!(commands.len() > 8, "{commands:?}");
    for words in commands {
        command.args(["-ex", &format!("echo (gdb) {words}\\n"), "-ex", words]);
    }
    let output = command.stdin(Stdio::null()).output().expect("gdb runs");
    let text = String::from_utf8_lossy(&output.stdout);
    let lines = text.lines().skip_while(|line| !line.starts_with("reset_handler"));
    let lines: Vec<&str> = lines.filter(|line| !line.trim().is_empty()).collect();
    assert_eq!(lines[..want.len()], want, "{text}\n{}", String::from_utf8_lossy(&output.stderr));
}
