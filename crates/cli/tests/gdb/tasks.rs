//! Tasks that wait as threads of gdb.

use crate::two_tasks::{CALL, FUNCTION, SECOND, capture};
use crate::{Folder, TRACEWRIGHT, gdb, transcript};

/// A task that waits is a thread that stands where it goes on, with the stack with which it waits;
/// its processor's thread is the other one. It is not stepped.
#[test]
fn tasks_that_wait_are_threads() {
    let Some(gdb) = gdb() else { return };
    let folder = Folder::new("gdb-tasks");
    let (capture, addresses) = capture(&folder);
    let number = |address: u64| addresses.iter().position(|own| *own == address).expect("it");
    let target = format!("| {TRACEWRIGHT} gdbserver {capture}");
    let goto = |n: usize| {
        [format!("monitor goto instruction {n}"), "maintenance flush register-cache".into()]
    };
    let mut commands = vec!["set architecture aarch64".to_owned()];
    commands.extend(goto(0));
    commands.extend(["echo A\\n", "info threads"].map(str::to_owned));
    commands.extend(goto(number(SECOND) + 2));
    let rest = [
        "echo B\\n",
        "info threads",
        "echo C\\n",
        "thread 2",
        "printf \"@%#lx\\n\", (unsigned long) $pc",
        "monitor frames",
        "info registers x0 x19",
        "echo D\\n",
        "stepi",
        "printf \"@%#lx\\n\", (unsigned long) $pc",
        "echo E\\n",
        "thread 1",
        "stepi",
        "printf \"@%#lx\\n\", (unsigned long) $pc",
        "echo F\\n",
        "thread 2",
        "continue",
    ];
    commands.extend(rest.map(str::to_owned));
    let text = transcript(gdb, &folder.path("none"), &target, &commands);
    let part = |from: &str, to: &str| {
        let (_, rest) =
            text.split_once(&format!("\n{from}\n")).unwrap_or_else(|| panic!("{from}: {text}"));
        rest.split_once(&format!("\n{to}\n")).map_or(rest, |(own, _)| own).to_owned()
    };
    assert!(!part("A", "B").contains("waits"), "{text}");
    let threads = part("B", "C");
    assert!(threads.contains("task 82") && threads.contains("task 81, waits"), "{text}");
    let waiting = part("C", "D");
    assert!(waiting.contains(&format!("@{:#x}\n", FUNCTION + 4)), "{text}");
    // gdb has no program, and finds no callers itself.
    assert!(text.contains(&format!("\n{:#x} 0 {:#x} [unknown]\n", CALL + 4, CALL + 4)), "{text}");
    assert_eq!(waiting.matches("<unavailable>").count(), 2, "{text}");
    let stepped = part("D", "E");
    assert!(stepped.ends_with(&format!("@{:#x}", FUNCTION + 4)), "{text}");
    assert!(text.contains("the task waits here"), "{text}");
    assert!(part("E", "F").ends_with(&format!("@{:#x}", SECOND + 12)), "{text}");
}
