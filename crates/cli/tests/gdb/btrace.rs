//! `record btrace` of gdb: it reads what was executed before the position.

use std::path::Path;

use crate::machines::MACHINES;
use crate::{gdb, tracewright, transcript};

/// The executed instructions.
fn instructions(capture: &Path) -> Vec<u64> {
    let capture = capture.to_str().expect("a path");
    let text = tracewright(&["instructions", capture, "--format", "pc"]);
    text.lines().map(|pc| u64::from_str_radix(pc, 16).expect("an address")).collect()
}

/// The last instructions of the history of gdb are those of the list; so is their number.
#[test]
fn the_history_is_the_list() {
    let Some(gdb) = gdb() else { return };
    for machine in MACHINES {
        let Some(traced) = machine.traced() else { continue };
        let commands = [
            "info record",
            "break done",
            "continue",
            "record btrace bts",
            "info record",
            "set record instruction-history-size 40",
            "record instruction-history",
            "record function-call-history",
            "reverse-stepi",
            "printf \"@%#lx\\n\", (unsigned long) $pc",
            "record stop",
            "printf \"instruction %lu\\n\", (unsigned long) $tw_instruction",
            "reverse-stepi",
            "printf \"instruction %lu\\n\", (unsigned long) $tw_instruction",
        ];
        let commands: Vec<_> = commands.into_iter().map(str::to_owned).collect();
        let text = transcript(gdb, &traced.elf, &traced.replayed(), &commands);
        let name = machine.name;
        // Before that, gdb goes backwards in the trace, and not in a copy.
        assert!(text.contains("No recording is currently active"), "{name}: {text}");
        let numbers = |prefix: &str| -> Vec<usize> {
            let lines = text.lines().filter_map(|line| line.strip_prefix(prefix));
            lines.filter_map(|rest| rest.split(' ').next()?.parse().ok()).collect()
        };
        let all = instructions(&traced.capture);
        let (count, at) = (numbers("Recorded ")[0], numbers("instruction "));
        assert_eq!((at[0], at[1]), (count, count - 1), "{name}: {text}");
        let address = |line: &str| {
            let (number, rest) = line.split_once('\t')?;
            number.parse::<usize>().ok()?;
            let word = rest.split_whitespace().next()?.strip_prefix("0x")?;
            u64::from_str_radix(word.trim_end_matches(':'), 16).ok()
        };
        let listed: Vec<u64> = text.lines().filter_map(address).collect();
        assert_eq!(listed, all[count - 40..count], "{name}: {text}");
        assert!(text.contains(&format!("@{:#x}\n", all[count - 1])), "{name}: {text}");
        assert!(text.contains("\tprogram\n"), "{name}: {text}");
    }
}
