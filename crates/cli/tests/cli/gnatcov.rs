//! `coverage --format gnatcov`, by a reader that follows the description of the format.

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
    // Decisions are not measured while a task runs, and the reason is stated.
    fs::write(folder.path("d.json"), crate::coverage_runs::DECISIONS).unwrap();
    let task = run(&folder, "coverage demo --decisions d.json --task ETM_0");
    assert_eq!((task.code, task.out.as_str()), (Some(2), ""), "{}", task.err);
    assert!(task.err.contains("an evaluation of which another task"), "{}", task.err);
}
