//! Execution traces of GNATcoverage: which blocks of a program were executed, with the outcomes of
//! the branches that end them. (GNATcoverage, `qemu_traces.ads`: sections, trace information,
//! execution trace, decision map)
//!
//! A file begins with an info section, which names the program; a section with the blocks follows.
//! A *flat* section has each block and outcome once, a *history* has the executions of some blocks
//! in order. A decision map has the blocks of which a history is wanted, and no info section.

use std::collections::BTreeSet;
use std::error::Error;
use std::fmt;

/// The bytes with which each section begins.
pub const MAGIC: &[u8; 12] = b"#QEMU-Traces";
const VERSION: u8 = 1;

/// Kinds of sections.
const FLAT: u8 = 0;
const HISTORY: u8 = 1;
const INFO: u8 = 2;
const DECISION_MAP: u8 = 3;

/// Kinds of trace information: the end, the name of the program, the tag of the user, the size of
/// the program and its CRC-32 as decimal numbers.
const END: u32 = 0;
const NAME: u32 = 1;
const TAG: u32 = 3;
const SIZE: u32 = 6;
const CRC: u32 = 8;
/// The last kind.
const LAST: u32 = 10;

/// Bits of an operation: the branch was taken; it was not; the block was executed; an exception
/// ended it; the entry is no block.
const TAKEN: u8 = 0x01;
const NOT_TAKEN: u8 = 0x02;
const BLOCK: u8 = 0x10;
const FAULT: u8 = 0x20;
const SPECIAL: u8 = 0x80;

/// Entries that are no blocks: the address at which the program was loaded; a shared object was
/// loaded, which trace information describes; it was unloaded.
const LOAD_ADDRESS: u16 = 1;
const LOAD_OBJECT: u16 = 2;
const UNLOAD_OBJECT: u16 = 3;

/// A block of instructions that follow each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Block {
    /// The address of its first instruction.
    pub address: u64,
    /// Its size in bytes.
    pub size: u16,
    /// Its last instruction is a branch that was taken.
    pub taken: bool,
    /// Its last instruction is a branch that was not taken.
    pub not_taken: bool,
    /// An exception ended it, at any of its instructions.
    pub fault: bool,
}

/// The blocks of a program that were executed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExecutionTrace {
    /// The path of the program.
    pub program: Option<String>,
    /// Its size in bytes.
    pub size: Option<u64>,
    /// Its CRC-32. (ISO 3309)
    pub crc: Option<u32>,
    /// The text of the user.
    pub tag: Option<String>,
    /// `e_machine`.
    pub machine: u16,
    /// Addresses have 8 bytes, and otherwise 4.
    pub wide: bool,
    /// The executions of some blocks are listed in their order.
    pub history: bool,
    /// The blocks of the program.
    pub blocks: Vec<Block>,
    /// The number of entries in shared objects, which are not read.
    pub in_objects: u64,
}

/// CRC-32 with the polynomial of Ethernet. (ISO 3309)
pub fn crc32(bytes: &[u8]) -> u32 {
    let one = |crc: u32, byte: &u8| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| {
            crc >> 1 ^ if crc & 1 != 0 { 0xedb8_8320 } else { 0 }
        })
    };
    !bytes.iter().fold(u32::MAX, one)
}

/// A file that is not what it is read as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed {
    /// The offset at which reading stopped.
    pub offset: usize,
    /// What was expected there.
    pub expected: &'static str,
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "offset {}: expected {}", self.offset, self.expected)
    }
}

impl Error for Malformed {}

/// The error at an offset.
const fn malformed(offset: usize, expected: &'static str) -> Malformed {
    Malformed { offset, expected }
}

/// The bytes of a file that are not read yet.
struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    big: bool,
}

/// A section header.
struct Header {
    kind: u8,
    wide: bool,
    machine: u16,
}

impl<'a> Reader<'a> {
    fn new(bytes: &'a [u8]) -> Self {
        Reader { bytes, at: 0, big: false }
    }

    fn is_at_end(&self) -> bool {
        self.at >= self.bytes.len()
    }

    fn take(&mut self, count: usize, what: &'static str) -> Result<&'a [u8], Malformed> {
        let end = self.at.checked_add(count);
        let own =
            end.and_then(|end| self.bytes.get(self.at..end)).ok_or(malformed(self.at, what))?;
        self.at += count;
        Ok(own)
    }

    fn number(&self, bytes: &[u8]) -> u64 {
        let add = |sum: u64, byte: &u8| sum << 8 | u64::from(*byte);
        if self.big { bytes.iter().fold(0, add) } else { bytes.iter().rev().fold(0, add) }
    }

    fn header(&mut self) -> Result<Header, Malformed> {
        let at = self.at;
        let own = self.take(20, "a section header of 20 bytes")?;
        match *own {
            [.., version, kind, address, big @ (0 | 1), high, low, _, _]
                if own.starts_with(MAGIC) && version == VERSION =>
            {
                self.big = big == 1;
                let wide = address == 8;
                if kind != INFO && !matches!(address, 4 | 8) {
                    return Err(malformed(at + 14, "addresses of 4 or 8 bytes"));
                }
                Ok(Header { kind, wide, machine: u16::from_be_bytes([high, low]) })
            }
            _ => Err(malformed(at, "a section header (#QEMU-Traces, version 1)")),
        }
    }

    /// Trace information, up to its end.
    fn information(&mut self, mut each: impl FnMut(u32, &[u8])) -> Result<(), Malformed> {
        loop {
            let at = self.at;
            let head = self.take(8, "trace information")?;
            let (kind, size) = head.split_at(4);
            let (kind, size) = (self.number(kind) as u32, self.number(size) as usize);
            if kind == END && size == 0 {
                return Ok(());
            }
            if kind == END || kind > LAST {
                return Err(malformed(at, "a kind of trace information from 0 to 10"));
            }
            each(kind, self.take(size, "trace information of this size")?);
            self.take(size.next_multiple_of(4) - size, "padding to 4 bytes")?;
        }
    }

    /// An entry: address, size and operation.
    fn entry(&mut self, wide: bool) -> Result<(u64, u16, u8), Malformed> {
        let (bytes, address) = if wide { (16, 8) } else { (8, 4) };
        let own = self.take(bytes, "an entry of 8 bytes, or of 16 with addresses of 8")?;
        let (address, rest) = own.split_at(address);
        let (size, rest) = rest.split_at(2);
        let operation = rest.first().copied().unwrap_or_default();
        Ok((self.number(address), self.number(size) as u16, operation))
    }
}

impl ExecutionTrace {
    /// Whether a file with these first bytes is one.
    pub fn is_at(head: &[u8]) -> bool {
        head.starts_with(MAGIC)
    }

    /// Reads a file.
    ///
    /// # Errors
    /// [`Malformed`] at the first byte that is not of the format.
    pub fn read(bytes: &[u8]) -> Result<ExecutionTrace, Malformed> {
        let mut reader = Reader::new(bytes);
        let mut trace = ExecutionTrace::default();
        if reader.header()?.kind != INFO {
            return Err(malformed(13, "an info section (kind 2) at first"));
        }
        reader.information(|kind, data| {
            let text = String::from_utf8_lossy(data).into_owned();
            match kind {
                NAME => trace.program = Some(text),
                TAG => trace.tag = Some(text),
                SIZE => trace.size = text.trim().parse().ok(),
                CRC => trace.crc = text.trim().parse().ok(),
                _ => {}
            }
        })?;
        let at = reader.at;
        let header = reader.header()?;
        if !matches!(header.kind, FLAT | HISTORY) {
            return Err(malformed(
                at + 13,
                "a flat execution trace (kind 0) or one with history (1)",
            ));
        }
        (trace.wide, trace.machine) = (header.wide, header.machine);
        trace.history = header.kind == HISTORY;
        trace.entries(&mut reader)?;
        Ok(trace)
    }

    /// The entries, up to the end of the file.
    fn entries(&mut self, reader: &mut Reader<'_>) -> Result<(), Malformed> {
        // The first and the last address of each shared object that is loaded.
        let mut objects: Vec<(u64, u64)> = Vec::new();
        while !reader.is_at_end() {
            let at = reader.at;
            let (address, size, operation) = reader.entry(self.wide)?;
            if operation & SPECIAL != 0 {
                match size {
                    LOAD_ADDRESS => {
                        return Err(malformed(at, "a program that is executed where it is linked"));
                    }
                    LOAD_OBJECT => {
                        let mut code = 0u64;
                        reader.information(|kind, data| {
                            let text = String::from_utf8_lossy(data);
                            code =
                                if kind == LAST { text.trim().parse().unwrap_or(0) } else { code };
                        })?;
                        objects.push((address, address.saturating_add(code.saturating_sub(1))));
                    }
                    UNLOAD_OBJECT => objects.retain(|(first, _)| *first != address),
                    _ => return Err(malformed(at, "a special entry from 1 to 3")),
                }
                continue;
            }
            if objects.iter().any(|(first, last)| (*first..=*last).contains(&address)) {
                self.in_objects += 1;
                continue;
            }
            let is = |bit: u8| operation & bit != 0;
            let (taken, not_taken, fault) = (is(TAKEN), is(NOT_TAKEN), is(FAULT));
            self.blocks.push(Block { address, size, taken, not_taken, fault });
        }
        Ok(())
    }

    /// Writes the file.
    pub fn write(&self) -> Vec<u8> {
        let mut out = self.head();
        out.extend(self.entries_of(&self.blocks));
        out
    }

    /// The bytes of the file before the entries of blocks.
    pub fn head(&self) -> Vec<u8> {
        let mut out = Vec::new();
        header(&mut out, INFO, [0; 3]);
        let texts = [
            (NAME, self.program.clone()),
            (TAG, self.tag.clone()),
            (SIZE, self.size.map(|size| size.to_string())),
            (CRC, self.crc.map(|crc| crc.to_string())),
        ];
        for (kind, text) in texts {
            text.into_iter().for_each(|text| information(&mut out, kind, text.as_bytes()));
        }
        information(&mut out, END, &[]);
        let [high, low] = self.machine.to_be_bytes();
        let kind = if self.history { HISTORY } else { FLAT };
        header(&mut out, kind, [if self.wide { 8 } else { 4 }, high, low]);
        out
    }

    /// The entries of these blocks in the file.
    pub fn entries_of(&self, blocks: &[Block]) -> Vec<u8> {
        let mut out = Vec::new();
        for block in blocks {
            block.write(&mut out, self.wide);
        }
        out
    }
}

impl Block {
    fn write(&self, out: &mut Vec<u8>, wide: bool) {
        match wide {
            true => out.extend(self.address.to_le_bytes()),
            false => out.extend((self.address as u32).to_le_bytes()),
        }
        out.extend(self.size.to_le_bytes());
        let bits = [(self.taken, TAKEN), (self.not_taken, NOT_TAKEN), (self.fault, FAULT)];
        out.push(bits.iter().fold(BLOCK, |sum, (is, bit)| sum | if *is { *bit } else { 0 }));
        out.resize(out.len() + if wide { 5 } else { 1 }, 0);
    }
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

/// The blocks whose executions are wanted in order, as criteria of conditions need them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DecisionMap(BTreeSet<u64>);

impl DecisionMap {
    /// Reads a file that GNATcoverage made.
    ///
    /// # Errors
    /// [`Malformed`] at the first byte that is not of the format.
    pub fn read(bytes: &[u8]) -> Result<DecisionMap, Malformed> {
        let mut reader = Reader::new(bytes);
        let header = reader.header()?;
        if header.kind != DECISION_MAP {
            return Err(malformed(13, "a decision map (kind 3)"));
        }
        let mut lasts = BTreeSet::new();
        while !reader.is_at_end() {
            let (address, size, _) = reader.entry(header.wide)?;
            lasts.insert(address.wrapping_add(u64::from(size)).wrapping_sub(1));
        }
        Ok(DecisionMap(lasts))
    }

    /// Whether executions of the block before the address `end` are wanted in order.
    pub fn has(&self, end: u64) -> bool {
        self.0.contains(&end.wrapping_sub(1))
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

    /// A file of GNATcoverage, field by field, in either byte order.
    fn file(big: bool, wide: bool, kind: u8, entries: &[(u64, u16, u8)]) -> Vec<u8> {
        let bytes = |value: u64, size: usize| {
            let all = value.to_le_bytes();
            let own = all[..size].to_vec();
            if big { own.into_iter().rev().collect::<Vec<u8>>() } else { own }
        };
        let head = |kind: u8, address: u8| {
            [MAGIC.as_slice(), &[1, kind, address, u8::from(big), 0, 183, 0, 0]].concat()
        };
        let address = if wide { 8 } else { 4 };
        let mut out = if kind == DECISION_MAP { Vec::new() } else { head(INFO, 0) };
        if kind != DECISION_MAP {
            for (kind, text) in
                [(1, "p.elf"), (3, "T1"), (4, "\0\0\0\0\0\0\0\0"), (6, "77"), (8, "9")]
            {
                out.extend([bytes(kind, 4), bytes(text.len() as u64, 4)].concat());
                out.extend(text.as_bytes());
                out.resize(out.len().next_multiple_of(4), 0);
            }
            out.extend([0; 8]);
        }
        out.extend(head(kind, address));
        for (at, size, operation) in entries {
            out.extend([bytes(*at, address.into()), bytes((*size).into(), 2)].concat());
            out.push(*operation);
            out.resize(out.len() + usize::from(if wide { 5u8 } else { 1 }), 0);
        }
        out
    }

    #[test]
    fn blocks_with_their_outcomes_are_read() {
        let entries = [(0x1000, 8, 0x11), (0x1000, 8, 0x02), (0x1010, 4, 0x20), (0x1020, 12, 0x10)];
        let block = |address, size, [taken, not_taken, fault]: [bool; 3]| Block {
            address,
            size,
            taken,
            not_taken,
            fault,
        };
        for (big, wide, kind) in [
            (false, false, FLAT),
            (false, true, HISTORY),
            (true, false, HISTORY),
            (true, true, FLAT),
        ] {
            let found = ExecutionTrace::read(&file(big, wide, kind, &entries)).unwrap();
            let want = ExecutionTrace {
                program: Some("p.elf".into()),
                size: Some(77),
                crc: Some(9),
                tag: Some("T1".into()),
                machine: 183,
                wide,
                history: kind == HISTORY,
                blocks: vec![
                    block(0x1000, 8, [true, false, false]),
                    block(0x1000, 8, [false, true, false]),
                    block(0x1010, 4, [false, false, true]),
                    block(0x1020, 12, [false; 3]),
                ],
                in_objects: 0,
            };
            assert_eq!(found, want, "{big} {wide} {kind}");
            assert_eq!(ExecutionTrace::read(&want.write()), Ok(want));
        }
    }

    #[test]
    fn entries_of_shared_objects_are_left_out() {
        let mut bytes = file(false, false, FLAT, &[(0x1000, 4, 0x10), (0x8000, 2, 0x80)]);
        // Its code has 256 bytes.
        bytes.extend([10, 0, 0, 0, 3, 0, 0, 0, b'2', b'5', b'6', 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        let of = |entries| file(false, false, DECISION_MAP, entries).split_off(20);
        bytes.extend(of(&[(0x8000, 4, 0x10), (0x80ff, 4, 0x10), (0x8100, 4, 0x10)]));
        bytes.extend(of(&[(0x8000, 3, 0x80), (0x8000, 8, 0x10)]));
        let found = ExecutionTrace::read(&bytes).unwrap();
        let addresses: Vec<u64> = found.blocks.iter().map(|block| block.address).collect();
        assert_eq!((addresses, found.in_objects), (vec![0x1000, 0x8100, 0x8000], 2));
    }

    #[test]
    fn a_decision_map_has_the_ends_of_blocks() {
        let map = file(true, true, DECISION_MAP, &[(0x1000, 8, 0), (0x2000, 4, 0)]);
        let map = DecisionMap::read(&map).unwrap();
        assert_eq!([0x1008, 0x2004, 0x1004, 0].map(|end| map.has(end)), [true, true, false, false]);
    }

    #[test]
    fn damage_is_named_with_its_offset() {
        let good = file(false, false, FLAT, &[(0x1000, 4, 0x10)]);
        let with = |at: usize, byte: u8| {
            let mut bytes = good.clone();
            bytes[at] = byte;
            bytes
        };
        let second = good.len() - 28;
        for (bytes, want) in [
            (good[..19].to_vec(), "offset 0: expected a section header of 20 bytes"),
            (with(0, b'X'), "offset 0: expected a section header (#QEMU-Traces, version 1)"),
            (with(12, 2), "offset 0: expected a section header (#QEMU-Traces, version 1)"),
            (with(15, 2), "offset 0: expected a section header (#QEMU-Traces, version 1)"),
            (with(13, DECISION_MAP), "offset 14: expected addresses of 4 or 8"),
            (good[second..].to_vec(), "offset 13: expected an info section (kind 2) at first"),
            (with(20, 11), "offset 20: expected a kind of trace information from 0 to 10"),
            (with(27, 0xff), "offset 28: expected trace information of this size"),
            (
                with(second + 13, INFO),
                "expected a flat execution trace (kind 0) or one with history",
            ),
            (with(second + 14, 2), "expected addresses of 4 or 8 bytes"),
            (good[..good.len() - 1].to_vec(), "expected an entry of 8 bytes"),
            (file(false, false, FLAT, &[(0x1000, 1, 0x80)]), "executed where it is linked"),
            (
                file(false, false, FLAT, &[(0x1000, 9, 0x80)]),
                "expected a special entry from 1 to 3",
            ),
        ] {
            let found = ExecutionTrace::read(&bytes).unwrap_err().to_string();
            assert!(found.contains(want), "{found} {want}");
        }
        assert_eq!(DecisionMap::read(&good).unwrap_err().offset, 13);
        // No bytes of it, cut or damaged, end the program.
        for len in 0..good.len() {
            _ = ExecutionTrace::read(&good[..len]);
            _ = ExecutionTrace::read(&with(len, 0xff));
        }
    }
}
