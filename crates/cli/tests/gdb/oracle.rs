//! The same commands in gdb on the trace and on the program in QEMU: the same places and callers.

use tracewright_testing::is_long;

use crate::machines::{MACHINES, Machine, Traced};
use crate::{Folder, gdb, transcript};

/// Where gdb begins to record what QEMU executes, so that it can go back. A trace has it already.
const RECORD: &str = "record full";

/// Each command, followed by the place and the callers, or without them the function.
fn shown(commands: &[&str], callers: bool, is_trace: bool) -> Vec<String> {
    let mut all = Vec::new();
    for command in commands {
        all.push(format!("echo >{command}\\n"));
        if !(is_trace && *command == RECORD) {
            all.push((*command).to_owned());
        }
        all.push("printf \"@%#lx\\n\", (unsigned long) $pc".to_owned());
        all.push(if callers { "backtrace" } else { "backtrace 1" }.to_owned());
    }
    all
}

/// The lines of a transcript that state commands, places and callers.
fn places(text: &str) -> Vec<String> {
    let mut all = Vec::new();
    for line in text.lines().filter(|line| line.starts_with(['>', '@', '#'])) {
        all.push(line.to_owned());
    }
    all
}

fn steps(command: &'static str, count: usize) -> Vec<&'static str> {
    vec![command; count]
}

/// Commands in both, compared line by line.
fn compare(gdb: &str, traced: &Traced, name: &str, commands: &[&str], callers: bool) {
    compare_after(gdb, traced, name, &[], (commands, callers));
}

/// As [`compare`], after other commands in the session of the trace.
fn compare_after(
    gdb: &str,
    traced: &Traced,
    name: &str,
    first: &[String],
    (commands, callers): (&[&str], bool),
) {
    let (mut child, target) = traced.executed();
    let want = transcript(gdb, &traced.elf, &target, &shown(commands, callers, false));
    let _ = child.kill();
    let _ = child.wait();
    let all = [first, &shown(commands, callers, true)].concat();
    let got = transcript(gdb, &traced.elf, &traced.replayed(), &all);
    let (mut want_places, mut got_places) = (places(&want), places(&got));
    // A trace ends where the program does, which has no place then.
    if want.contains("exited") {
        let last = want_places.iter().rposition(|line| line.starts_with('@'));
        want_places.truncate(last.unwrap_or(0));
        got_places.truncate(want_places.len());
    }
    for (n, (got_line, want_line)) in got_places.iter().zip(&want_places).enumerate() {
        let near = got_places.get(n.saturating_sub(12)..n).unwrap_or_default();
        assert_eq!(got_line, want_line, "{name}: after {near:#?}\n{got}\n=== QEMU\n{want}");
    }
    assert_eq!(got_places.len(), want_places.len(), "{name}: {got}\n=== QEMU\n{want}");
    assert!(want_places.len() > commands.len() / 2, "{name}: {want}");
}

fn each(mut test: impl FnMut(&str, Machine, &Traced)) {
    let Some(gdb) = gdb() else { return };
    for machine in MACHINES {
        if let Some(traced) = machine.traced() {
            test(gdb, machine, &traced);
        }
    }
}

#[test]
fn steps_are_those_of_the_program() {
    let (instructions, statements) = if is_long() { (120, 60) } else { (40, 30) };
    each(|gdb, machine, traced| {
        compare(gdb, traced, machine.name, &steps("stepi", instructions), false);
        let mut lines = vec!["break program", "continue"];
        lines.extend(steps("step", statements));
        compare(gdb, traced, machine.name, &lines, true);
        let mut lines = vec!["break middle", "continue"];
        lines.extend(steps("next", 14));
        compare(gdb, traced, machine.name, &lines, true);
    });
}

/// Into calls and out of them.
const CALLS: [&str; 27] = [
    "break leaf",
    "continue",
    "finish",
    "next",
    "continue",
    "up",
    "down",
    "continue",
    "finish",
    "finish",
    "finish",
    "next",
    "next",
    "continue",
    "continue",
    "delete 1",
    "break recursive",
    "continue",
    "continue",
    "up",
    "finish",
    "next",
    "step",
    "tbreak done",
    "delete 2",
    "continue",
    "finish",
];

#[test]
fn callers_are_those_of_the_program() {
    each(|gdb, machine, traced| {
        compare(gdb, traced, machine.name, &CALLS, true);
    });
}

/// The same by the script, without an invented stack.
#[test]
fn callers_by_the_script_are_those_of_the_program() {
    let folder = Folder::new("unwinder");
    let script = folder.path("unwinder.py");
    std::fs::write(&script, tracewright_gdb::UNWINDER).expect("a script");
    let first = ["monitor stack off".to_owned(), format!("source {}", script.display())];
    each(|gdb, machine, traced| {
        // The script has no frames beneath an exception, which is among the callers there.
        if machine.name == "m-profile" {
            return;
        }
        compare_after(gdb, traced, machine.name, &first, (&CALLS, true));
        let mut lines = vec!["break program", "continue"];
        lines.extend(steps("step", 60));
        compare_after(gdb, traced, machine.name, &first, (&lines, true));
    });
}

/// Backwards, the places and callers are those of gdb's own record of what QEMU executes. gdb 13
/// records Arm, but not RISC-V. Of T32 it does not record where PUSH stores LR: the callers that it
/// has after steps back are those of later calls, and are not compared.
#[test]
fn backwards_is_what_gdb_records() {
    each(|gdb, machine, traced| {
        if machine.name.starts_with("rv") {
            return;
        }
        let mut commands = vec!["break program", "continue", RECORD, "break leaf", "continue"];
        commands.extend(["continue", "continue", "finish", "next", "continue", "continue"]);
        commands.extend(steps("reverse-stepi", 12));
        commands.extend(steps("reverse-step", 12));
        commands.extend(["reverse-continue", "reverse-finish", "reverse-next", "reverse-continue"]);
        commands.extend(["stepi", "stepi", "step", "next", "continue", "up", "reverse-finish"]);
        commands.extend(steps("reverse-next", 4));
        let callers = matches!(machine.name, "a64" | "a32");
        compare(gdb, traced, machine.name, &commands, callers);
    });
}
