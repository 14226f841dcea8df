//! `tracewright gdb --unwinder`: callers without an invented stack.

use std::process::{Command, Stdio};

use crate::{Folder, TRACEWRIGHT, gdb, tracewright};

/// What gdb prints of a capture for these commands.
fn printed(gdb: &str, capture: &str, options: &[&str], commands: &[&str]) -> String {
    let mut command = Command::new("timeout");
    command.args(["60", TRACEWRIGHT, "gdb", capture, "--gdb", gdb]).args(options);
    command.args(["--", "-nx", "-batch", "-ex", "set pagination off", "-ex", "set width 0"]);
    for text in commands {
        command.args(["-ex", text]);
    }
    let output = command.stdin(Stdio::null()).output().expect("gdb runs");
    String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
}

/// The functions of the frames in a transcript.
fn functions(text: &str) -> Vec<&str> {
    let frames = text.lines().filter(|line| line.starts_with('#'));
    frames.filter_map(|line| line.split_once(" (")?.0.rsplit(' ').next()).collect()
}

/// The launcher shows the callers of the invented stack, and further ones: those of functions
/// without unwind tables. Registers of the stack are not known then. At an exception they end, and
/// `monitor frames` has what it interrupts.
#[test]
fn callers_are_those_of_the_stack_and_more() {
    let Some(gdb) = gdb() else { return };
    let folder = Folder::new("unwinder-demo");
    let capture = folder.path("demo");
    let capture = capture.to_str().expect("a path");
    tracewright(&["demo", "--write", capture]);
    for place in ["is_safe", "print", "ticks_per_solution", "write_port"] {
        let goto = format!("tw-goto function {place}");
        let commands = [goto.as_str(), "backtrace", "info registers sp"];
        let [stack, script] =
            [&[][..], &["--unwinder"]].map(|options| printed(gdb, capture, options, &commands));
        let (by_stack, by_script) = (functions(&stack), functions(&script));
        assert!(by_script.len() >= 2 && by_script[0] == place, "{script}");
        assert!(by_script.starts_with(&by_stack), "{place}: {stack}\n{script}");
        assert!(by_script.ends_with(&["main"]), "{place}: {script}");
        assert!(script.contains("<unavailable>"), "{place}: {script}");
    }
    // It interrupts the first instruction of a function.
    let commands = ["tw-goto function systick_handler", "backtrace", "monitor frames"];
    let text = printed(gdb, capture, &["--unwinder"], &commands);
    // The first one is that of `tw-goto`.
    assert_eq!(functions(&text), ["systick_handler", "systick_handler", "??"], "{text}");
    assert!(!text.contains("not saved"), "{text}");
    assert!(text.contains(" write_port (interrupted)\n"), "{text}");
    assert!(text.contains(" main\n"), "{text}");
}

/// Without unwind tables there is no stack to invent, and the callers are the same.
#[test]
fn callers_need_no_tables() {
    let Some(gdb) = gdb() else { return };
    let folder = Folder::new("unwinder-tables");
    let capture = folder.path("demo");
    tracewright(&["demo", "--write", capture.to_str().expect("a path")]);
    let commands = ["tw-goto function is_safe", "backtrace"];
    let printed =
        |options: &[&str]| printed(gdb, capture.to_str().expect("a path"), options, &commands);
    let before = printed(&["--unwinder"]);
    let mut changed = 0;
    for entry in std::fs::read_dir(&capture).expect("a folder") {
        let path = entry.expect("a file").path();
        let mut bytes = std::fs::read(&path).expect("bytes");
        let name = b".debug_frame\0";
        while let Some(at) = bytes.windows(name.len()).position(|part| part == name) {
            bytes[at + 1] = b'x';
            changed += 1;
            std::fs::write(&path, &bytes).expect("a file");
        }
    }
    assert!(changed > 0);
    let (stack, script) = (printed(&[]), printed(&["--unwinder"]));
    assert_eq!(functions(&script), functions(&before), "{script}");
    assert!(functions(&stack).len() < functions(&script).len(), "{stack}\n{script}");
}
