//! The help of the command: own options first, shared ones in groups, two lengths, and what a wrong
//! word is answered with.

use std::fs;

use crate::common::{Folder, Output, command, tracewright};

/// The verbs that read a capture, and their own option that is looked for.
const READERS: [(&str, &str); 19] = [
    ("info", "--all"),
    ("packets", "--bytes"),
    ("decode", "--packets"),
    ("instructions", "--format"),
    ("frames", "--raw-frames"),
    ("bench", "--repeat"),
    ("functions", "--sort"),
    ("branches", "--limit"),
    ("calls", "--depth"),
    ("timing", "--measure"),
    ("timeline", "--frequency"),
    ("coverage", "--annotate"),
    ("history", "--before"),
    ("report", "--source-root"),
    ("profile", "--dialect"),
    ("perf-script", "--itrace"),
    ("index", "--segment"),
    ("find", "--stack"),
    ("diff", "--coverage"),
];

/// The groups of options, in their order.
const GROUPS: [&str; 5] = ["Options:", "Selecting:", "Raw trace data:", "Linux:", "Common:"];

fn help(words: &[&str]) -> String {
    let Output { code, out, err } = tracewright(words);
    assert_eq!((code, err.as_str()), (Some(0), ""), "{words:?}");
    out
}

#[test]
fn own_options_come_first() {
    for (verb, own) in READERS {
        let long = help(&[verb, "--help"]);
        let at = |line: &str| long.lines().position(|other| other == line);
        let places: Vec<usize> = GROUPS.iter().filter_map(|group| at(group)).collect();
        assert!(places.len() >= 4 && places.is_sorted(), "{verb}: {places:?}");
        let own = long.lines().position(|line| line.trim_start().starts_with(own)).unwrap();
        assert!((places[0]..places[1]).contains(&own), "{verb}: {own} {places:?}");
        let colour = long.lines().position(|line| line.contains("--color")).unwrap();
        assert!((own..places[1]).contains(&colour), "{verb}: {colour} {places:?}");
    }
}

#[test]
fn the_short_help_has_own_options_and_an_example() {
    for (verb, own) in READERS {
        let short = help(&[verb, "-h"]);
        assert!(short.contains(own), "{verb}: {short}");
        assert!(short.contains(&format!("Example:\n  tracewright {verb} ")), "{verb}: {short}");
        assert!(short.contains("Further options (--help): Selecting, Raw trace data, "), "{short}");
        for group in &GROUPS[1..] {
            assert!(!short.lines().any(|line| line == *group), "{verb}: {short}");
        }
        for shared in ["--framing", "--symfs", "--check-opcodes", "--color"] {
            assert!(!short.contains(shared), "{verb}: {short}");
        }
        assert!(short.lines().count() <= 62, "{verb}: {}", short.lines().count());
    }
}

#[test]
fn help_is_a_verb() {
    for words in [&["functions"][..], &["unit", "explain"], &["log", "convert"]] {
        let asked = help(&[&["help"], words].concat());
        assert_eq!(asked, help(&[words, &["--help"]].concat()), "{words:?}");
    }
    assert_eq!(help(&["help"]), help(&["--help"]));
    let unknown = tracewright(&["help", "functoins"]);
    assert_eq!(unknown.code, Some(2));
    assert!(unknown.err.contains("functoins"), "{}", unknown.err);
}

/// The usage has the input that a verb needs, as one that it needs.
#[test]
fn the_input_is_required() {
    for (verb, _) in READERS {
        let short = help(&[verb, "-h"]);
        let usage = short.lines().find(|line| line.starts_with("Usage:")).unwrap();
        if verb != "diff" {
            let inputs = ["<INPUT|--pins", "<INPUT|@FILE|--pins"];
            let ends = [" <FILE>>", " <FILE>|--load <FILE>|--plan <FILE>>"];
            let known = inputs.iter().flat_map(|own| ends.map(|end| format!("{own}{end}")));
            assert!(known.into_iter().any(|own| usage.contains(&own)), "{verb}: {usage}");
            assert!(!usage.contains("[INPUT] "), "{verb}: {usage}");
        }
        let output = tracewright(&[verb]);
        assert_eq!(output.code, Some(2), "{verb}");
        assert!(output.err.contains("required"), "{verb}: {}", output.err);
    }
}

#[test]
fn without_a_word_the_first_commands_are_listed() {
    let output = tracewright::<&str>(&[]);
    assert_eq!((output.code, output.out.as_str()), (Some(2), ""));
    assert!(output.err.starts_with("I have\n"), "{}", output.err);
    assert!(output.err.contains("tracewright info dump.bin --image firmware.elf"));
    assert!(output.err.contains("  timing\n"));
}

#[test]
fn a_wrong_word_is_answered() {
    let folder = Folder::new("help-words");
    fs::write(folder.path("trace.bin"), [0; 16]).unwrap();
    for (words, wanted, unwanted) in [
        ("unit nope", "the verbs of `unit` are explain, lint", "demo"),
        ("log nope", "the verbs of `log` are ", "demo"),
        ("unit explane", "'explain'", "the verbs"),
        ("functoins", "'functions'", "the verbs are"),
        ("cover", "'coverage'", "the verbs are"),
        ("xyz", "the verbs are demo, info, packets", "similar"),
        ("trace.bin", "tracewright info trace.bin", "similar"),
        ("backtrace", "the verbs for it are calls, gdb", "similar"),
        ("SWO", "the verb for it is itm", "similar"),
        ("log detect", "the verbs of `log` are ", "for it"),
    ] {
        let words: Vec<_> = words.split(' ').collect();
        let run = command(&words).current_dir(folder.path("")).output().unwrap();
        let (output, words): (Output, _) = (run.into(), words.join(" "));
        assert_eq!((output.code, output.out.as_str()), (Some(2), ""), "{words}");
        assert!(output.err.contains(wanted), "{words}: {}", output.err);
        assert!(!output.err.contains(unwanted), "{words}: {}", output.err);
    }
}
