//! Execution traces of GNATcoverage: written ones by a reader that follows the description of the
//! format, and what is read of them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use crate::common::Folder;
use crate::coverage::{example, full, objects, run};

/// The next `count` bytes.
fn take<'a>(rest: &mut &'a [u8], count: usize) -> &'a [u8] {
    let (own, more) = rest.split_at(count);
    *rest = more;
    own
}

fn number(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |sum, byte| sum << 8 | u64::from(*byte))
}

/// A section header of 20 bytes: the kind, and the six bytes behind it.
fn section(rest: &mut &[u8]) -> (u8, [u8; 6]) {
    let head = take(rest, 20);
    assert_eq!((&head[..12], head[12]), (&b"#QEMU-Traces"[..], 1));
    (head[13], head[14..].try_into().unwrap())
}

/// The entries of an info section, up to its end, by kind.
fn information(rest: &mut &[u8]) -> BTreeMap<u64, Vec<u8>> {
    let mut all = BTreeMap::new();
    loop {
        let (kind, size) = (number(take(rest, 4)), number(take(rest, 4)) as usize);
        let data = take(rest, size.next_multiple_of(4))[..size].to_vec();
        if kind == 0 {
            assert_eq!(size, 0);
            return all;
        }
        all.insert(kind, data);
    }
}

/// Blocks: address, size, operation.
fn entries(mut rest: &[u8], address: usize) -> Vec<(u64, u64, u8)> {
    let mut all = Vec::new();
    while !rest.is_empty() {
        let own = take(&mut rest, 2 * address);
        let (pc, size) = (number(&own[..address]), number(&own[address..address + 2]));
        assert!(own[address + 3..].iter().all(|byte| *byte == 0), "padding");
        all.push((pc, size, own[address + 2]));
    }
    all
}

/// The blocks have the bytes of the executed instructions, and outcomes are those of the branches.
#[test]
fn blocks_are_those_that_were_executed() {
    let folder = Folder::new("gnatcov");
    example(&folder, "demo");
    let written = run(&folder, "coverage demo --format gnatcov -o demo.trace");
    assert_eq!(written.code, Some(0), "{}", written.err);
    let bytes = fs::read(folder.path("demo.trace")).unwrap();
    let mut rest = &bytes[..];
    let (kind, other) = section(&mut rest);
    assert_eq!((kind, other), (2, [0; 6]));
    let info = information(&mut rest);
    let program = include_bytes!("../../src/demo/program.elf");
    let name = String::from_utf8(info[&1].clone()).unwrap();
    assert!(name.ends_with(".elf") || name.ends_with(".bin"), "{name}");
    assert_eq!(info[&6], program.len().to_string().into_bytes());
    // The checksum of the ELF file by another implementation.
    assert_eq!(info[&8], crc_by_table(program).into_bytes());
    // EM_ARM is 40.
    assert_eq!(section(&mut rest), (0, [4, 0, 0, 40, 0, 0]));
    let all = entries(rest, 4);
    let covered: BTreeSet<u64> = all.iter().flat_map(|(pc, size, _)| *pc..pc + size).collect();
    let executed = run(&folder, "instructions demo --format json");
    let executed = objects(&executed, "instruction").into_iter().flat_map(|own| {
        let text = own["address"].as_str().unwrap().trim_start_matches("0x").to_owned();
        let address = u64::from_str_radix(&text, 16).unwrap();
        let digits = own["opcode"].as_str().unwrap().trim_start_matches("0x").len();
        // The first halfword of an instruction of 4 bytes is not zero.
        address..address + if digits > 4 { 4 } else { 2 }
    });
    assert_eq!(covered, executed.collect::<BTreeSet<u64>>());
    // Each outcome that occurred is at the end of a block, and no other is.
    let of = |bit: u8| -> BTreeSet<u64> {
        let own = all.iter().filter(|own| own.2 & bit != 0);
        own.map(|(pc, size, _)| pc + size).collect()
    };
    let lines = objects(&run(&folder, "coverage demo --format json"), "line");
    let branches: Vec<_> =
        lines.iter().flat_map(|line| line["branches"].as_array().unwrap()).collect();
    for (key, bit) in [("taken", 1), ("not_taken", 2)] {
        let ends = of(bit);
        for own in &branches {
            let text = own["address"].as_str().unwrap().trim_start_matches("0x");
            let address = u64::from_str_radix(text, 16).unwrap();
            let occurred = own[key].as_u64().unwrap() > 0;
            let at_end = [2, 4].iter().any(|size| ends.contains(&(address + size)));
            assert_eq!(at_end, occurred, "{key} {address:#x}");
        }
        assert!(!ends.is_empty() && ends.len() <= branches.len());
    }
    assert!(all.iter().all(|(_, _, operation)| operation & 0x10 != 0 && operation & !0x13 == 0));
}

/// CRC-32 by a table, as its description has it.
fn crc_by_table(bytes: &[u8]) -> String {
    let table: Vec<u32> = (0..256u32)
        .map(|n| (0..8).fold(n, |c, _| if c & 1 == 1 { 0xedb8_8320 ^ (c >> 1) } else { c >> 1 }))
        .collect();
    let crc = bytes
        .iter()
        .fold(!0u32, |crc, byte| table[((crc ^ u32::from(*byte)) & 0xff) as usize] ^ (crc >> 8));
    (!crc).to_string()
}

/// What the format does not have is refused, or noted.
#[test]
fn what_the_format_lacks_is_stated() {
    let folder = Folder::new("gnatcov-lacks");
    example(&folder, "demo");
    full(&folder, "full", ..);
    let lost = run(&folder, "coverage full --format gnatcov -o lost.trace");
    assert_eq!(lost.code, Some(0), "{}", lost.err);
    assert!(lost.err.contains("no value for what is unknown"), "{}", lost.err);
    run(&folder, "coverage demo --save demo.runs");
    let loaded = run(&folder, "coverage --load demo.runs --format gnatcov -o runs.trace");
    assert_eq!(loaded.code, Some(2));
    assert!(loaded.err.contains("files of runs have no blocks"), "{}", loaded.err);
    let other = run(&folder, "demo --data --write heater");
    assert_eq!(other.code, Some(0), "{}", other.err);
    let both = run(&folder, "coverage demo --add heater --force --format gnatcov -o b.trace");
    assert_eq!(both.code, Some(2), "{}", both.err);
    assert!(both.err.contains("the format has one program"), "{}", both.err);
    // Decisions of a task are those of the whole trace, and the reason is stated.
    fs::write(folder.path("d.json"), crate::coverage_runs::DECISIONS).unwrap();
    let task = run(&folder, "coverage demo --decisions d.json --task ETM_0 --offset 0..900");
    assert_eq!((task.code, task.out.as_str()), (Some(2), ""), "{}", task.err);
    assert!(task.err.contains("evaluations of a task are followed in the whole trace"));
}

/// Of code that may be optimised, outcomes of branches do not show which condition each evaluates.
#[test]
fn decisions_of_optimised_code_need_the_order() {
    let folder = Folder::new("gnatcov-decisions");
    example(&folder, "demo");
    run(&folder, "coverage demo --format gnatcov -o demo.trace");
    fs::write(folder.path("d.json"), crate::coverage_runs::DECISIONS).unwrap();
    let words = "coverage demo.trace --image demo/program.bin --decisions d.json";
    let found = run(&folder, &format!("{words} --by decision"));
    assert_eq!(found.code, Some(0), "{}", found.err);
    assert!(found.err.contains("demo.trace: it has no evaluations"), "{}", found.err);
    assert!(found.out.contains("without the order in which branches were executed"));
    assert!(found.out.lines().last().unwrap().trim_start().starts_with("0/8 ?8 "), "{}", found.out);
    // Together with a capture, what this covers is covered, and nothing is "not covered".
    let both = run(&folder, &format!("{words} --add demo --by decision"));
    let alone = run(&folder, "coverage demo --decisions d.json --by decision");
    assert_eq!(both.out.lines().last(), alone.out.lines().last());
}

/// Addresses of executed instructions in order, and their sizes.
fn executed(folder: &Folder, capture: &str) -> Vec<(u64, u64)> {
    let listed = run(folder, &format!("instructions {capture} --format json"));
    let of = |own: &serde_json::Value| {
        let digits = |key: &str| own[key].as_str().unwrap().trim_start_matches("0x").to_owned();
        // The first halfword of an instruction of 4 bytes is not zero.
        let size = if digits("opcode").len() > 4 { 4 } else { 2 };
        (u64::from_str_radix(&digits("address"), 16).unwrap(), size)
    };
    objects(&listed, "instruction").iter().map(of).collect()
}

/// Without counts: the lines and the branches of each, as far as the trace has them.
fn outcomes(folder: &Folder, words: &str) -> Vec<(String, u64, u64, Vec<[bool; 2]>)> {
    let listed = run(folder, &format!("{words} --format json"));
    assert_eq!(listed.code, Some(0), "{}", listed.err);
    let lines = objects(&listed, "line");
    let known = |own: &serde_json::Value| u64::from(own.as_u64().is_some_and(|count| count > 0));
    lines
        .iter()
        .map(|line| {
            let branches = line["branches"].as_array().unwrap().iter();
            let outcomes =
                branches.map(|own| ["taken", "not_taken"].map(|key| known(&own[key]) > 0));
            let file = line["file"].as_str().unwrap_or_default().to_owned();
            (file, line["line"].as_u64().unwrap(), known(&line["executions"]), outcomes.collect())
        })
        .collect()
}

/// Lines and outcomes of a trace are those of the capture that it was written from, with each count
/// at most 1. The program is found beside the trace, or is named.
#[test]
fn traces_are_read() {
    let folder = Folder::new("gnatcov-read");
    example(&folder, "demo");
    run(&folder, "coverage demo --format gnatcov -o demo.trace");
    let want = outcomes(&folder, "coverage demo");
    assert!(want.iter().filter(|line| line.2 > 0).count() > 50, "{want:?}");
    assert_eq!(outcomes(&folder, "coverage demo.trace --image demo/program.bin"), want);
    fs::copy(folder.path("demo/program.bin"), folder.path("program.bin")).unwrap();
    assert_eq!(outcomes(&folder, "coverage demo.trace"), want);
    let listed = run(&folder, "coverage demo.trace --by function");
    assert!(listed.err.contains("counts are 1 where something was executed"), "{}", listed.err);
    assert!(
        listed.out.lines().skip(1).all(|line| line.trim_start().starts_with("1 ")),
        "{}",
        listed.out
    );
    // Together with a capture, with a run, and where nothing else reads it.
    assert_eq!(outcomes(&folder, "coverage demo --add demo.trace"), want);
    let saved = run(&folder, "coverage demo.trace --save demo.runs --tag T");
    assert_eq!(saved.code, Some(0), "{}", saved.err);
    assert_eq!(outcomes(&folder, "coverage --load demo.runs"), want);
    let decoded = run(&folder, "decode demo.trace");
    assert_eq!(decoded.code, Some(2));
    assert!(
        decoded.err.contains("`tracewright coverage` reads it with --image"),
        "{}",
        decoded.err
    );
}

/// A part of the blocks covers a part of the instructions; what an exception ended is unknown; what
/// is no code of the program is left out.
#[test]
fn blocks_are_what_is_covered() {
    let folder = Folder::new("gnatcov-part");
    example(&folder, "demo");
    run(&folder, "coverage demo --format gnatcov -o demo.trace");
    let whole = fs::read(folder.path("demo.trace")).unwrap();
    let first = whole.windows(12).rposition(|part| part == b"#QEMU-Traces").unwrap() + 20;
    let covered = |name: &str, entries: &[u8]| {
        fs::write(folder.path(name), [&whole[..first], entries].concat()).unwrap();
        run(&folder, &format!("coverage {name} --image demo/program.bin --by object"))
    };
    let (address, size) = (number(&whole[first..first + 4]), number(&whole[first + 4..first + 6]));
    let want: Vec<(u64, u64)> = executed(&folder, "demo");
    let inside: BTreeSet<_> =
        want.iter().filter(|own| (address..address + size).contains(&own.0)).collect();
    let one = covered("one.trace", &whole[first..first + 8]);
    let total = one.out.lines().last().unwrap().trim_start();
    assert!(total.starts_with(&format!("{}/", inside.len())), "{}", one.out);
    let fault = [&whole[first..first + 6], &[0x20, 0]].concat();
    let fault = covered("fault.trace", &fault);
    assert!(fault.err.contains("1 blocks were ended by an exception"), "{}", fault.err);
    assert!(fault.err.contains("losses of trace: 1"), "{}", fault.err);
    let outside = covered("outside.trace", &[0, 0, 0, 0x7f, 8, 0, 0x10, 0]);
    assert!(outside.err.contains("1 blocks are not code"), "{}", outside.err);
    assert!(outside.err.contains("the first at 0x7f000000"), "{}", outside.err);
}

#[test]
fn other_programs_and_what_the_format_lacks_are_refused() {
    let folder = Folder::new("gnatcov-refused");
    example(&folder, "demo");
    run(&folder, "coverage demo --format gnatcov -o demo.trace");
    let mut program = fs::read(folder.path("demo/program.bin")).unwrap();
    program.push(0);
    fs::write(folder.path("other.elf"), program).unwrap();
    let bytes = fs::read(folder.path("demo.trace")).unwrap();
    fs::write(folder.path("cut.trace"), &bytes[..bytes.len() - 3]).unwrap();
    for (words, want) in [
        ("demo.trace", "has no program, which is `program.bin`: add it with --image"),
        ("demo.trace --image other.elf", "the program is another one"),
        ("cut.trace --image demo/program.bin", "expected an entry of 8 bytes"),
        ("demo.trace --image demo/program.bin --task A", "it has no tasks"),
        ("demo.trace --image demo/program.bin --offset 0..9", "it has no order"),
        ("demo --decision-map demo.trace --format gnatcov", "expected a decision map (kind 3)"),
        ("demo --decision-map demo.trace", "only --format gnatcov"),
        (
            "demo --decision-map demo.trace --format gnatcov --offset 0..9",
            "those of the whole trace",
        ),
    ] {
        let found = run(&folder, &format!("coverage {words}"));
        assert_eq!((found.code, found.out.as_str()), (Some(2), ""), "{words}: {}", found.err);
        assert!(found.err.contains(want), "{words}: {}", found.err);
    }
    let forced = run(&folder, "coverage demo.trace --image other.elf --force");
    assert_eq!(forced.code, Some(0), "{}", forced.err);
}

/// A decision map of all branches of `demo`.
pub fn map_of_demo(folder: &Folder) -> Vec<u8> {
    decision_map(folder, &executed(folder, "demo")).1
}

/// The branches of `demo` with a condition, and a map of them, as its description has it: the
/// blocks are the branches. `executed` has the sizes of instructions.
fn decision_map(folder: &Folder, executed: &[(u64, u64)]) -> (BTreeSet<u64>, Vec<u8>) {
    let lines = objects(&run(folder, "coverage demo --format json"), "line");
    let branches = lines.iter().flat_map(|line| line["branches"].as_array().unwrap());
    let address = |own: &serde_json::Value| {
        u64::from_str_radix(own["address"].as_str().unwrap().trim_start_matches("0x"), 16).unwrap()
    };
    let branches: BTreeSet<u64> = branches.map(address).collect();
    let mut map = b"#QEMU-Traces\x01\x03\x04\0\0\x28\0\0".to_vec();
    let sizes: BTreeMap<u64, u64> = executed.iter().copied().collect();
    for at in &branches {
        map.extend((*at as u32).to_le_bytes());
        map.extend((sizes[at] as u16).to_le_bytes());
        map.extend([0, 0]);
    }
    (branches, map)
}

/// The executions of the blocks of a decision map are those of their last instructions, in order,
/// and each outcome is where execution continued.
#[test]
fn a_decision_map_has_executions_in_order() {
    let folder = Folder::new("gnatcov-history");
    example(&folder, "demo");
    let executed = executed(&folder, "demo");
    let (branches, map) = decision_map(&folder, &executed);
    let mut wanted = Vec::new();
    for pair in executed.windows(2) {
        let ((at, size), (next, _)) = (pair[0], pair[1]);
        if branches.contains(&at) {
            // No branch of the program is followed by an exception there.
            wanted.push((at + size, if next == at + size { 2 } else { 1 }));
        }
    }
    assert!(wanted.len() > 500, "{}", wanted.len());
    let sizes: BTreeMap<u64, u64> = executed.iter().copied().collect();
    fs::write(folder.path("map"), map).unwrap();
    let written = run(&folder, "coverage demo --format gnatcov --decision-map map -o h.trace");
    assert_eq!(written.code, Some(0), "{}", written.err);
    let bytes = fs::read(folder.path("h.trace")).unwrap();
    let mut rest = &bytes[..];
    section(&mut rest);
    information(&mut rest);
    assert_eq!(section(&mut rest), (1, [4, 0, 0, 40, 0, 0]));
    let all = entries(rest, 4);
    let ends = |own: &&(u64, u64, u8)| branches.iter().any(|at| own.0 + own.1 == at + sizes[at]);
    let history: Vec<(u64, u8)> =
        all.iter().take_while(ends).map(|own| (own.0 + own.1, own.2 & 3)).collect();
    assert_eq!(history, wanted);
    // The other blocks are there once.
    let others: Vec<_> = all.iter().skip(history.len()).collect();
    assert!(!others.is_empty() && !others.iter().any(ends));
    run(&folder, "coverage demo --format gnatcov -o flat.trace");
    let program = "--image demo/program.bin";
    let same = |name: &str| outcomes(&folder, &format!("coverage {name} {program}"));
    assert_eq!(same("h.trace"), same("flat.trace"));
    // Evaluations would be joined across a loss.
    full(&folder, "full", ..);
    let lost = run(&folder, "coverage full --format gnatcov --decision-map map");
    assert_eq!((lost.code, lost.out.as_str()), (Some(2), ""), "{}", lost.err);
    assert!(lost.err.contains("trace was lost"), "{}", lost.err);
}
