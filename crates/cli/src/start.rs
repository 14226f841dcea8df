//! What `tracewright` alone prints: the first command for what a user has and asks. And the verbs
//! that words mean which are no verbs.

use std::fmt::Write;

/// What a user has, and the first command. README.md has the same commands.
const HAVE: [(&str, &str); 8] = [
    ("nothing yet", "demo"),
    ("SWO or ITM data: a file, a serial port", "itm swo.bin"),
    ("a dump of a trace buffer, a program", "info dump.bin --image firmware.elf"),
    ("a snapshot: a folder with ini files", "info snapshot"),
    ("perf.data with CoreSight trace", "profile perf.data"),
    ("RISC-V trace, a program", "functions hart.te_inst_raw --image program.elf"),
    ("an execution log, and no trace", "encode --log log.csv --protocol ETE -o capture"),
    ("a trace unit to set up", "unit explain ETMv4 TRCCONFIGR=0x801"),
];

/// What a user asks, and the verbs that answer.
const ASK: [(&str, &str); 16] = [
    ("what is this file, what is missing", "info"),
    ("what ran, how often", "functions, profile"),
    ("who called it, from where to where", "calls, branches"),
    ("how long, how regularly, which task", "timing"),
    ("what was before the fault", "history"),
    ("which lines, branches and conditions", "coverage"),
    ("where is a function, a write, a time", "find (with index: at once)"),
    ("what is different", "compare, diff"),
    ("a picture", "view, report, timeline"),
    ("a debugger that goes backwards", "gdb, gdbserver, dap"),
    ("each instruction, each packet", "instructions, decode, packets, frames"),
    ("tables and files for other programs", "table, log, merge, units, perf-script"),
    ("a query in SQL", "sql"),
    ("registers and filters of a trace unit", "unit"),
    ("trace of an execution", "encode"),
    ("its speed, its tests; shells, manuals", "bench, selftest, completions, man"),
];

/// Words for what verbs do, which are not the names of verbs.
const MEANT: [(&[&str], &[&str]); 19] = [
    (&["trace", "dump", "list", "ls", "print", "show", "cat"], &["decode", "instructions", "info"]),
    (&["disassemble", "disasm", "objdump", "asm", "insn"], &["instructions"]),
    (&["stack", "stacktrace", "backtrace", "bt", "callstack", "callgraph"], &["calls", "gdb"]),
    (&["flame", "flamegraph", "flame-graph"], &["report", "profile --format flame-graph"]),
    (&["swo", "swv", "console", "printf", "uart", "dwt", "stm"], &["itm"]),
    (&["gui", "ui", "web", "browser", "viewer", "serve", "server"], &["view"]),
    (&["debug", "debugger", "lldb", "replay", "step", "rr"], &["gdb", "dap"]),
    (&["convert", "export", "csv", "parquet", "json"], &["table", "log convert", "timeline"]),
    (&["cov", "gcov", "lcov", "mcdc", "mc-dc"], &["coverage"]),
    (&["stats", "stat", "top", "hot", "hotspots", "summary"], &["functions", "profile", "timing"]),
    (&["perf", "script", "autofdo", "fdo", "bolt", "pgo"], &["profile", "perf-script"]),
    (&["search", "grep", "query", "where"], &["find", "sql"]),
    (&["select", "database", "sqlite", "duckdb", "datafusion"], &["sql", "table"]),
    (&["registers", "regs", "config", "configure", "setup"], &["unit", "info"]),
    (&["detect", "identify", "file", "inspect", "describe"], &["info"]),
    (&["latency", "jitter", "duration", "load", "tasks", "rtos"], &["timing", "timeline"]),
    (&["deformat", "formatter", "deframe", "tpiu"], &["frames"]),
    (&["simulate", "model", "generate", "gen"], &["encode", "unit"]),
    (&["perfetto", "chrome", "vcd", "btf", "firefox"], &["timeline"]),
];

/// The verbs that a word may mean.
pub fn meant(word: &str) -> Option<&'static [&'static str]> {
    let word = word.to_ascii_lowercase();
    let is_listed = |(words, _): &&(&[&str], _)| words.contains(&word.as_str());
    MEANT.iter().find(is_listed).map(|(_, verbs)| *verbs)
}

/// The page.
pub fn page() -> String {
    let mut page = String::from("I have\n");
    for (what, command) in HAVE {
        let _ = writeln!(page, "  {what:<39}tracewright {command}");
    }
    page += "\nI ask\n";
    for (what, verbs) in ASK {
        let _ = writeln!(page, "  {what:<39}{verbs}");
    }
    page + "\n`tracewright help VERB` has options and examples; `tracewright --help` lists all verbs.\n"
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory, Parser};

    use super::*;
    use crate::args::Cli;

    fn verbs() -> Vec<String> {
        let mut all = Cli::command();
        all.build();
        let shown = all.get_subcommands().filter(|verb| !verb.is_hide_set());
        shown.map(|verb| verb.get_name().to_owned()).filter(|name| name != "help").collect()
    }

    #[test]
    fn the_page_has_every_verb() {
        let page = page();
        let words: Vec<&str> =
            page.split(|char: char| !(char.is_alphanumeric() || char == '-')).collect();
        for verb in verbs() {
            assert!(words.contains(&verb.as_str()), "{verb}");
        }
        for line in page.lines() {
            assert!(line.chars().count() <= 100, "{line}");
        }
    }

    #[test]
    fn the_commands_are_accepted() {
        for (_, command) in HAVE {
            let words = ["tracewright"].into_iter().chain(command.split(' '));
            assert!(Cli::try_parse_from(words).is_ok(), "{command}");
        }
        let readme = include_str!("../../../README.md");
        let rows = readme.lines().filter_map(|line| line.split("| `tracewright ").nth(1));
        let rows: Vec<&str> = rows.filter_map(|row| row.split('`').next()).collect();
        for row in rows.iter().filter(|row| !row.starts_with("help")).take(5) {
            assert!(HAVE.iter().any(|(_, command)| command == row), "{row}");
        }
        assert!(rows.len() >= 5);
    }

    #[test]
    fn words_mean_verbs() {
        let verbs = verbs();
        for (words, meant) in MEANT {
            for word in words {
                assert!(!verbs.iter().any(|verb| verb == word), "{word} is a verb");
            }
            for verb in meant.iter().map(|verb| verb.split(' ').next().unwrap()) {
                assert!(verbs.iter().any(|own| own == verb), "{verb}");
            }
        }
        assert_eq!(meant("Flamegraph"), Some(&["report", "profile --format flame-graph"][..]));
        assert_eq!(meant("xyzzy"), None);
    }
}
