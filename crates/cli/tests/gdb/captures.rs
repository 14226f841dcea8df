//! Captures without a program file: gdb has code and addresses only.

use std::process::{Command, Stdio};

use crate::{TRACEWRIGHT, gdb, tracewright};

/// Each step is the next instruction, and the last one backwards, without an error of gdb about
/// registers.
#[test]
fn code_without_symbols_is_stepped() {
    const STEPS: usize = 40;
    let Some(gdb) = gdb() else { return };
    for name in ["ete", "etmv3", "etmv4", "etrace-1.0", "etrace-2.0", "ntrace-htm", "ptm"] {
        let path = format!("{}/../../tests/captures/{name}/capture", env!("CARGO_MANIFEST_DIR"));
        let listed = tracewright(&["instructions", &path, "--format", "pc"]);
        let want: Vec<u64> = listed
            .lines()
            .take(STEPS + 1)
            .map(|line| u64::from_str_radix(line, 16).expect("an address"))
            .collect();
        let mut command = Command::new(TRACEWRIGHT);
        command.args(["gdb", "--gdb", gdb, &path, "--", "-nx", "-batch"]);
        let print = ["-ex", "printf \"@%lx\\n\", (unsigned long) $pc"];
        command.args(print);
        for step in ["stepi", "reverse-stepi"] {
            for _ in 0..STEPS {
                command.args(["-ex", step]).args(print);
            }
        }
        let output = command.args(["-ex", "backtrace"]).stdin(Stdio::null()).output();
        let output = output.expect("the command");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let all = format!("{text}\n{}", String::from_utf8_lossy(&output.stderr));
        assert!(!all.contains("not available"), "{name}: {all}");
        let places: Vec<u64> = text
            .lines()
            .filter_map(|line| u64::from_str_radix(line.strip_prefix('@')?, 16).ok())
            .collect();
        assert_eq!(places.len(), 2 * STEPS + 1, "{name}: {all}");
        assert_eq!(places[..=STEPS], want, "{name}: {all}");
        let back: Vec<u64> = places[STEPS..].iter().rev().copied().collect();
        assert_eq!(back, want, "{name}: {all}");
        assert!(text.contains("#0  "), "{name}: {all}");
    }
}
