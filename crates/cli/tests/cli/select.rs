//! Selections of packets, elements and instructions, and the joined ranges of an ETMv3.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use tracewright_testing::{is_long, shared};

use crate::common::{Folder, args, tracewright};

fn capture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../tests/captures/{name}/capture"))
}

/// The lines of a successful run.
fn lines(words: &str, path: &Path) -> Vec<String> {
    let output = tracewright(&args(words, &[path]));
    assert_eq!(output.code, Some(0), "{words}: {}", output.err);
    output.out.lines().map(str::to_owned).collect()
}

/// The lines of `all` that `select` selects.
fn of(all: &[String], select: impl Fn(&str) -> bool) -> Vec<&str> {
    all.iter().map(String::as_str).filter(|line| select(line)).collect()
}

/// `--source` is the name of a buffer: the name of a trace source has another option.
#[test]
fn a_trace_source_is_selected_by_its_id() {
    let folder = Folder::with_demo("select-source");
    let demo = folder.demo();
    let refused = tracewright(&args("decode --source ETM_0", &[&demo]));
    assert_eq!((refused.code, refused.out.as_str()), (Some(2), ""));
    let expected = "--source expects one of ETB; this is the name of a trace source, which --id ";
    assert!(refused.err.contains(expected), "{}", refused.err);
    let neither = tracewright(&args("decode --source ETM_9", &[&demo])).err;
    assert!(neither.contains("expects one of ETB") && !neither.contains("--id"), "{neither}");
    let own = lines("decode --id 0x10", &demo);
    assert!(!own.is_empty() && own.iter().all(|line| line.contains(" ETM_0 ")));
}

#[test]
fn kinds() {
    let folder = Folder::with_demo("select-kinds");
    let demo = folder.demo();
    let all = lines("decode", &demo);
    let kind = |line: &str| line.split_whitespace().nth(2).unwrap().to_owned();
    let got = lines("decode --only exception,context", &demo);
    assert_eq!(got, of(&all, |line| ["exception", "context"].contains(&kind(line).as_str())));
    assert!(got.len() >= 4);
    let got = lines("decode --only text", &demo);
    assert_eq!(got, of(&all, |line| kind(line) == "text"));
    assert_eq!(got.len(), 2);
    let all = lines("packets --format json", &demo);
    let got = lines("packets --format json --only atoms", &demo);
    let others = |line: &&String| !line.contains("\"type\":\"packet\"");
    let packets = of(&all, |line| line.contains("\"kind\":\"atoms\""));
    assert_eq!(got.iter().filter(|line| !others(line)).collect::<Vec<_>>(), packets);
    assert!(packets.len() > 3);
    let all = lines("instructions", &demo);
    let got = lines("instructions --only exception", &demo);
    assert_eq!(got, of(&all, |line| line.contains("; exception ")));
    for (words, message) in [
        (
            "decode --only ranges",
            "it is no kind of elements; expected some of ambiguity, barrier, context,",
        ),
        ("packets --only range", "it is no kind of packets"),
        (
            "packets --only exceptions",
            "it is no kind of packets; expected some of exception, exception-",
        ),
        ("packets --only exceptions --format json", "exception-return"),
        ("packets --only atom --format opencsd", "expected some of atoms, timed-atom"),
        ("packets --only nonsense", "address, address-context, align,"),
        ("decode --packets --only nonsense", "it is no kind of packets or elements"),
        ("instructions --only atoms", "it is no kind of elements"),
    ] {
        let output = tracewright(&args(words, &[&demo]));
        assert_eq!(output.code, Some(2), "{words}");
        assert!(output.err.contains(message), "{words}: {}", output.err);
        assert_eq!(output.out, "", "{words}");
    }
    assert!(lines("decode --packets --only atoms,range", &demo).len() > 6);
}

/// The first address of a line.
fn address(line: &str) -> Option<u64> {
    let digits = line.split("0x").nth(1)?;
    let len = digits.bytes().take_while(u8::is_ascii_hexdigit).count();
    u64::from_str_radix(&digits[..len], 16).ok()
}

#[test]
fn addresses_and_functions() {
    let folder = Folder::with_demo("select-addresses");
    let demo = folder.demo();
    let all = lines("instructions", &demo);
    let code = 0x80020..0x80028;
    let square = of(&all, |line| {
        !line.starts_with(';') && address(line).is_some_and(|at| code.contains(&at))
    });
    assert!(square.len() >= 6, "{all:?}");
    for words in ["--address 0x80020..0x80028", "--function square"] {
        assert_eq!(lines(&format!("instructions {words}"), &demo), square, "{words}");
        let ranges = lines(&format!("decode {words}"), &demo);
        assert_eq!(ranges.len(), 3, "{ranges:?}");
        assert!(ranges.iter().all(|line| line.contains("<square")));
    }
    // A part of a range.
    let one = lines("instructions --address 0x80024..0x80028", &demo);
    assert_eq!(one.len() * 2, square.len());
    // Packets that make the address.
    let packets = lines("packets --address 0x80000", &demo);
    assert_eq!(packets.len(), 1, "{packets:?}");
    assert!(packets[0].contains("0x0000000000080000"), "{packets:?}");
    let output = tracewright(&args("decode --function no_such_function", &[&demo]));
    assert_eq!(output.code, Some(2));
    assert!(output.err.contains("no program image has this function"), "{}", output.err);
}

#[test]
fn contexts_offsets_times_and_limits() {
    let folder = Folder::with_demo("select-contexts");
    let demo = folder.demo();
    let all = lines("decode", &demo);
    let etm = |line: &str| line.contains("ETM_0");
    let got = lines("decode --context 0x2a", &demo);
    // The context ID is not known before the first context.
    let first = all.iter().position(|line| line.contains("context-id 0x2a")).unwrap();
    assert_eq!(got, of(&all[first..], etm));
    assert_eq!(lines("decode --context 0x2b", &demo), [""; 0]);
    assert_eq!(lines("packets --context 0x2b", &demo), [""; 0]);
    let got = lines("decode --offset 30..60 --only range", &demo);
    assert_eq!(got, of(&all, |line| (30..60).contains(&offset(line)) && line.contains("range  ")));
    assert!(got.len() > 3);
    for (words, count) in [("decode", 5), ("packets", 4), ("instructions", 3)] {
        let all = lines(words, &demo);
        for jobs in [1, 3] {
            let got = lines(&format!("{words} --limit {count} --jobs {jobs}"), &demo);
            assert_eq!(got, all[..count], "{words}");
        }
    }
    assert_eq!(lines("decode --limit 0", &demo), [""; 0]);
    // A limit after a selection.
    let got = lines("decode --function square --limit 2", &demo);
    assert_eq!(got.len(), 2);
}

/// The offset that begins a line.
fn offset(line: &str) -> u64 {
    line.split_whitespace().next().unwrap().parse().unwrap()
}

/// A time divides what has one into two parts: `all` is before and after it.
#[test]
fn times() {
    let capture = capture("etmv4");
    for verb in ["decode --only range", "packets", "instructions --only instruction"] {
        let time = |range: &str| lines(&format!("{verb} --time {range}"), &capture);
        let (all, first) = (time("404813497457.."), time("404813497457..404813497567"));
        let rest = time("404813497567..");
        assert!(!first.is_empty() && !rest.is_empty(), "{verb}");
        let both = [first, rest].concat();
        assert_eq!(both, all, "{verb}");
        // What comes before the first timestamp has no time.
        let whole = lines(verb, &capture);
        assert!(all.len() < whole.len() && whole.ends_with(&all), "{verb}");
        assert_eq!(time("..404813497457"), [""; 0], "{verb}");
    }
    let ranges = lines("decode --only range --time 404813497457..404813497567", &capture);
    let offsets: Vec<u64> = ranges.iter().map(|line| offset(line)).collect();
    assert_eq!((offsets.first(), offsets.last()), (Some(&40), Some(&74)));
}

/// Packets and instructions by offset, context ID and function.
#[test]
fn packets_and_instructions() {
    let capture = capture("etmv4");
    let inside = |line: &str| (60..70).contains(&offset(line));
    let packets = lines("packets", &capture);
    let got = lines("packets --offset 60..70", &capture);
    let want: Vec<String> = packets.iter().filter(|line| inside(line)).cloned().collect();
    assert_eq!(got, want);
    assert!(want.len() > 4);
    // A packet with a part of an address.
    assert!(got.iter().any(|line| line.contains(" = 0x")), "{got:?}");
    let ranges = lines("decode --only range", &capture);
    let count = |line: &&str| line.split_whitespace().nth(4).unwrap().parse::<usize>().unwrap();
    let counts: usize = of(&ranges, inside).iter().map(count).sum();
    let code = "instructions --only instruction";
    assert!(counts > 20);
    assert_eq!(lines(&format!("{code} --offset 60..70"), &capture).len(), counts);

    let all = lines(code, &capture);
    let of_context = of(&all, |line| line.contains("context-id 0x7895dcd0"));
    assert!(of_context.len() > 50 && of_context.len() < all.len());
    assert_eq!(lines(&format!("{code} --context 0x7895dcd0"), &capture), of_context);
    let first = lines("packets --context 0x8b6e", &capture);
    let second = lines("packets --context 0x7895dcd0", &capture);
    assert!(first.len() > 3 && second.len() > 20, "{} {}", first.len(), second.len());
    assert!(packets.ends_with(&[first, second].concat()));

    let folder = Folder::with_demo("select-functions");
    for (function, addresses) in [("main", 3), ("vector", 1)] {
        let got = lines(&format!("packets --function {function}"), &folder.demo());
        assert_eq!(got.len(), addresses, "{function}: {got:?}");
    }
}

/// A packet with a part of an address has the address that it makes.
#[test]
fn packets_have_whole_addresses() {
    for (name, part, whole) in [
        ("etmv4", "address 0x..034 IS0 (short, 9 bits)", " = 0x0000000000080034 A64"),
        ("etmv3", " bits 0x", " = 0x"),
        ("ptm", "low 6 bits", " = 0x"),
        ("etrace-2.0", ", address", " = 0x"),
    ] {
        let all = lines("packets", &capture(name));
        let with = of(&all, |line| line.contains(part) && !line.contains("timestamp"));
        assert!(!with.is_empty(), "{name}");
        assert!(with.iter().all(|line| line.contains(whole)), "{name}: {with:?}");
        // A whole address is not repeated.
        assert!(of(&all, |line| line.contains("I-sync") && line.contains(" = ")).is_empty());
    }
    // The targets of branches that are not direct are among the ranges of the same trace.
    for name in ["etmv3", "ptm", "etmv4", "etrace-2.0"] {
        let range = |line: &String| {
            let (start, end) = line.split_once("..").unwrap();
            address(start).unwrap()..address(end).unwrap()
        };
        let code: HashSet<u64> =
            lines("decode --only range", &capture(name)).iter().flat_map(range).collect();
        let packets = lines("packets", &capture(name));
        let made: Vec<u64> =
            packets.iter().filter_map(|line| address(line.split_once(" = ")?.1)).collect();
        let executed = made.iter().filter(|at| code.contains(at)).count();
        assert!(made.len() >= 5, "{name}");
        assert!(executed * 10 >= made.len() * 8, "{name}: {executed} of {}", made.len());
    }
}

/// Ranges of an ETMv3 extend to the next branch, and stand for the same instructions.
#[test]
fn ranges_of_an_etmv3_are_joined() {
    let Some(path) = shared("captures/ti-am243x-r5f/freertos") else { return };
    let joined = lines("decode --offset 0..2000", &path);
    let single = lines("decode --single --offset 0..2000", &path);
    assert!(single.len() > 3000 && joined.len() * 3 < single.len(), "{}", joined.len());
    let instructions = |all: &[String]| -> Vec<u64> {
        let mut addresses = Vec::new();
        for line in all.iter().filter(|line| line.contains("  range ")) {
            let (start, end) = line.split_once("..").unwrap();
            let end = end.trim_start_matches("0x").split(' ').next().unwrap();
            let end = u64::from_str_radix(end, 16).unwrap();
            addresses.extend((address(start).unwrap()..end).step_by(2));
        }
        addresses
    };
    assert_eq!(instructions(&joined), instructions(&single));
    let others = |all: &[String]| {
        all.iter().filter(|line| !line.contains("  range ")).cloned().collect::<Vec<_>>()
    };
    assert_eq!(others(&joined), others(&single));
}

/// A trace of 64 KB: the number of lines is that of branches, not of instructions.
#[test]
fn a_large_etmv3_trace() {
    if !is_long() {
        return;
    }
    let Some(path) = shared("captures/ti-am243x-r5f/freertos") else { return };
    let (joined, single) = (lines("decode", &path), lines("decode --single", &path));
    assert!(single.len() > 232_000, "{}", single.len());
    // A range ends with a branch or a failed condition code test, but for the end of the trace and
    // what interrupts it.
    let range = |line: &&String| line.contains("  range ");
    let straight = |line: &&String| line.ends_with(" no branch");
    let ends = single.iter().filter(range).filter(|line| !straight(line)).count();
    let joined_ranges = joined.iter().filter(range).count();
    assert!((ends..ends + 100).contains(&joined_ranges), "{joined_ranges}, {ends}");
    for jobs in [1, 5] {
        assert_eq!(lines(&format!("decode --jobs {jobs}"), &path), joined);
    }
}

/// An output without a line explains itself.
#[test]
fn empty_selections_are_explained() {
    let folder = Folder::with_demo("select-nothing");
    let demo = folder.demo();
    for words in [
        "decode --at 999999",
        "decode --offset 99999..",
        "decode --time 1..2",
        "decode --address 0x9000..0x9001",
        "decode --context 7",
        "decode --context 7 --format json",
        "decode --context 7 --format opencsd",
        "packets --offset 99999.. --format opencsd",
        "packets --only trap",
        "instructions --offset 99999..",
        "instructions --format pc --address 0x9000",
        "functions --offset 99999..",
        "calls --offset 99999..",
    ] {
        let output = tracewright(&args(words, &[&demo]));
        assert_eq!(output.code, Some(0), "{words}: {}", output.err);
        let notes = output.notes();
        assert!(notes.contains("note: nothing is in the selection"), "{words}: {notes}");
        assert!(notes.contains("ETB has offsets 0..144"), "{words}: {notes}");
    }
    for words in ["decode --offset 30..60", "decode", "decode --limit 0", "functions"] {
        let output = tracewright(&args(words, &[&demo]));
        assert!(!output.err.contains("in the selection"), "{words}: {}", output.err);
    }
    for verb in ["decode", "packets", "instructions", "functions", "calls"] {
        let output = tracewright(&args(&format!("{verb} --function nope"), &[&demo]));
        assert_eq!(output.code, Some(2), "{verb}: {}", output.err);
        assert!(output.err.contains("no program image has this function"), "{verb}");
        assert_eq!(output.out, "", "{verb}");
        assert_eq!(
            tracewright(&args(&format!("{verb} --function square"), &[&demo])).code,
            Some(0)
        );
    }
    for verb in ["decode", "packets", "instructions"] {
        let output = tracewright(&args(&format!("{verb} --function nope --format json"), &[&demo]));
        assert_eq!((output.code, output.out.as_str()), (Some(2), ""), "{verb}");
    }
    assert_eq!(tracewright(&args("functions --function sq*", &[&demo])).code, Some(0));
}

/// The headings of buffers are not lines of packets and elements.
#[test]
fn headings_do_not_count_for_the_limit() {
    let folder = Folder::with_demo("select-headings");
    let demo = folder.demo();
    folder.add_second_buffer();
    for (format, range) in
        [("text", "  range "), ("json", "\"kind\":\"range\""), ("opencsd", "INSTR_RANGE")]
    {
        let words = format!("decode --all-buffers --format {format} --only range");
        let entries = |lines: Vec<String>| {
            let is = |line: &String| line.contains(range);
            lines.into_iter().filter(is).collect::<Vec<_>>()
        };
        let all = entries(lines(&words, &demo));
        for limit in [1, 2, all.len() - 1, all.len()] {
            let output = tracewright(&args(&format!("{words} --limit {limit}"), &[&demo]));
            let got = entries(output.out.lines().map(str::to_owned).collect());
            assert_eq!(got, all[..limit], "{words} {limit}");
            assert!(!output.err.contains("in the selection"), "{words} {limit}: {}", output.err);
        }
    }
}
