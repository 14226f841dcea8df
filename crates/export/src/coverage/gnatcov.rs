//! Execution traces of GNATcoverage, which derives coverage of the source from them. (GNATcoverage,
//! `qemu_traces.ads`: sections, trace information, flat execution trace)
//!
//! An info section names the program; a flat section has each block that was executed, once for
//! each outcome of the branch that ends it. Numbers have the lowest byte first.

use tracewright_analysis::coverage::{ProgramCoverage, ProgramFile};

use super::CoverageView;

const MAGIC: &[u8; 12] = b"#QEMU-Traces";
const VERSION: u8 = 1;
/// Kinds of sections.
const FLAT: u8 = 0;
const INFO: u8 = 2;

/// Kinds of trace information: the end, the name of the program, its size and its CRC-32 as decimal
/// numbers.
const END: u32 = 0;
const NAME: u32 = 1;
const SIZE: u32 = 6;
const CRC: u32 = 8;

/// Operations: the block was executed; its branch was taken, and was not.
const BLOCK: u8 = 0x10;
const TAKEN: u8 = 0x01;
const NOT_TAKEN: u8 = 0x02;

/// CRC-32 with the polynomial of Ethernet. (ISO 3309)
fn crc32(bytes: &[u8]) -> u32 {
    let one = |crc: u32, byte: &u8| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| {
            crc >> 1 ^ if crc & 1 != 0 { 0xedb8_8320 } else { 0 }
        })
    };
    !bytes.iter().fold(u32::MAX, one)
}

fn header(out: &mut Vec<u8>, kind: u8, [address, machine_high, machine_low]: [u8; 3]) {
    out.extend(MAGIC);
    out.extend([VERSION, kind, address, 0, machine_high, machine_low, 0, 0]);
}

fn information(out: &mut Vec<u8>, kind: u32, data: &[u8]) {
    out.extend(kind.to_le_bytes());
    out.extend((data.len() as u32).to_le_bytes());
    out.extend(data);
    out.resize(out.len().next_multiple_of(4), 0);
}

/// The program that was executed: the only one that the format has.
fn program<'a>(view: &CoverageView<'a>) -> Option<(&'a ProgramFile, ProgramCoverage)> {
    let mut own = view.programs.iter().filter(|(_, covered)| !covered.executions.is_empty());
    let (file, covered) = own.next()?;
    let mut sum = covered.clone();
    own.for_each(|(_, covered)| sum.merge(covered));
    Some((file, sum))
}

/// The file. All captures are of one program.
pub(super) fn write(view: &CoverageView<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    header(&mut out, INFO, [0; 3]);
    let Some((file, covered)) = program(view) else {
        information(&mut out, END, &[]);
        return out;
    };
    let bytes = file.bytes.head(usize::MAX);
    information(&mut out, NAME, file.path.as_bytes());
    information(&mut out, SIZE, bytes.len().to_string().as_bytes());
    information(&mut out, CRC, crc32(&bytes).to_string().as_bytes());
    information(&mut out, END, &[]);
    let wide = bytes.get(4) == Some(&2);
    let [low, high] = file.machine.to_le_bytes();
    header(&mut out, FLAT, [if wide { 8 } else { 4 }, high, low]);
    for (start, (size, _)) in &covered.ranges {
        block(&mut out, wide, &covered, (*start, start.saturating_add(u64::from(*size))));
    }
    out
}

/// Writes the executed range from `start` to `end`: in parts of whole instructions, where its size
/// has more than 16 bits.
fn block(out: &mut Vec<u8>, wide: bool, covered: &ProgramCoverage, (mut start, end): (u64, u64)) {
    let most = u64::from(u16::MAX);
    let mut entry = |start: u64, end: u64, operation: u8| {
        match wide {
            true => out.extend(start.to_le_bytes()),
            false => out.extend((start as u32).to_le_bytes()),
        }
        out.extend(((end - start) as u16).to_le_bytes());
        out.push(operation);
        out.resize(out.len() + if wide { 5 } else { 1 }, 0);
    };
    while end.saturating_sub(start) > most {
        let next = covered.executions.range(start + 1..=start + most).next_back();
        let next = next.map_or(start + most, |(address, _)| *address);
        entry(start, next, BLOCK);
        start = next;
    }
    if start >= end {
        return;
    }
    let last = covered.executions.range(start..end).next_back();
    let outcomes = last.and_then(|(address, _)| covered.branches.get(address));
    match outcomes.copied().unwrap_or_default() {
        [0, 0] => entry(start, end, BLOCK),
        [taken, not_taken] => {
            for (count, operation) in [(taken, TAKEN), (not_taken, NOT_TAKEN)] {
                if count > 0 {
                    entry(start, end, BLOCK | operation);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The check value of the catalogue of CRCs, and a text of no bytes.
    #[test]
    fn crc_of_digits() {
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
        assert_eq!(crc32(b""), 0);
    }
}
