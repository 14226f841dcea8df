//! What identifies a program, so that results of different programs are not summed.

use std::fmt;
use std::ops::Range;

use crate::bytes::Bytes;
use crate::elf::{Elf, Load};

/// What identifies a program: its build identifier, and its code. Only the code is certain: two
/// programs with the same build identifier whose code differs are different programs.
#[derive(Clone, Debug, Default)]
pub struct ProgramId {
    /// The processor architecture, `e_machine`, and whether the file is of class ELFCLASS64. `None`
    /// of memory without a file.
    machine: Option<(u16, bool)>,
    build_id: Option<Vec<u8>>,
    /// Executable code: the address of its first byte in the file, and its bytes. In order.
    code: Vec<(u64, Bytes)>,
}

/// How two programs differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProgramDifference {
    /// They are for different processors.
    Machine,
    /// Their build identifiers differ.
    BuildId,
    /// The first address whose code differs, or that one of them has only.
    Code(u64),
}

impl fmt::Display for ProgramDifference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ProgramDifference::Machine => f.write_str("they are for different processors"),
            ProgramDifference::BuildId => f.write_str("their build IDs differ"),
            ProgramDifference::Code(address) => {
                write!(f, "their code differs from {address:#x} on")
            }
        }
    }
}

impl ProgramId {
    /// The identity of an ELF file: `file` as `elf` describes it.
    pub fn of_elf(file: &Bytes, elf: &Elf) -> ProgramId {
        // Tools that remove symbols change the headers, which the first segment may load.
        let headers = headers(file, elf.bits64);
        let mut code = Vec::new();
        // Segments of a hostile file may share their bytes.
        let mut left = file.len();
        for segment in elf.segments.iter().filter(|segment| segment.executable) {
            let skipped = headers.saturating_sub(segment.offset).min(segment.file_size);
            let offset = segment.offset.saturating_add(skipped);
            let bytes = file.part(offset, segment.file_size - skipped);
            if let (false, Some(less)) = (bytes.is_empty(), left.checked_sub(bytes.len())) {
                code.push((segment.address.saturating_add(skipped), bytes));
                left = less;
            }
        }
        let machine = Some((elf.machine, elf.bits64));
        ProgramId { machine, build_id: elf.build_id.clone(), code: in_order(code) }
    }

    /// The identity of the ELF file `file`; nothing is known of one that cannot be read.
    pub fn of_file(file: &Bytes) -> ProgramId {
        let elf = Elf::read(file, "", Load::default());
        elf.map(|elf| ProgramId::of_elf(file, &elf)).unwrap_or_default()
    }

    /// The build identifier, where there is one.
    pub fn build_id(&self) -> Option<&[u8]> {
        self.build_id.as_deref()
    }

    /// The executable code, without the headers of the file: the address of the first byte of each
    /// part, and its bytes. In order.
    pub fn code(&self) -> &[(u64, Bytes)] {
        &self.code
    }

    /// Whether it is that of a file, not of memory.
    pub fn is_file(&self) -> bool {
        self.machine.is_some()
    }

    /// Whether both are for the same processor architecture.
    pub fn has_machine_of(&self, other: &ProgramId) -> bool {
        self.machine == other.machine
    }

    /// The identity of code in memory without a file: parts of it, of which only those that another
    /// program has as well are compared.
    pub fn of_memory(parts: impl IntoIterator<Item = (u64, Bytes)>) -> ProgramId {
        let code = in_order(parts.into_iter().collect());
        ProgramId { machine: None, build_id: None, code }
    }

    /// The same code at addresses that are `bias` higher.
    pub fn moved(mut self, bias: u64) -> ProgramId {
        self.code.iter_mut().for_each(|(address, _)| *address = address.wrapping_add(bias));
        self.code.sort_by_key(|(address, _)| *address);
        self
    }

    /// Whether a part of its code is at the addresses of code of `other`.
    pub fn overlaps(&self, other: &ProgramId) -> bool {
        self.code.iter().any(|part| other.at(part).next().is_some())
    }

    /// A part of its code that some of `others` have at these addresses, but none has the same: the
    /// index of the first of them, and the first byte that differs. Whole files are not compared.
    pub fn contradiction(&self, others: &[ProgramId]) -> Option<(usize, ProgramDifference)> {
        self.code.iter().find_map(|part| {
            let all = || others.iter().enumerate().filter(|(_, its)| its.at(part).next().is_some());
            let mut found = all().map(|(n, its)| Some((n, its.different_part(part)?)));
            let (n, address) = found.next()??;
            found.all(|its| its.is_some()).then_some((n, ProgramDifference::Code(address)))
        })
    }

    /// How it differs from `other`; `None` for the same program, as far as is known. Of files, all
    /// code is compared; of memory without a file, what both have.
    pub fn difference(&self, other: &ProgramId) -> Option<ProgramDifference> {
        let files = self.machine.zip(other.machine);
        if files.is_some_and(|(own, its)| own != its) {
            return Some(ProgramDifference::Machine);
        }
        if self.build_id.as_ref().zip(other.build_id.as_ref()).is_some_and(|(a, b)| a != b) {
            return Some(ProgramDifference::BuildId);
        }
        match files {
            Some(_) => self.different_file(other),
            None => self.different_memory(other),
        }
        .map(ProgramDifference::Code)
    }

    fn different_file(&self, other: &ProgramId) -> Option<u64> {
        let pairs = self.code.iter().zip(&other.code);
        let different = pairs.filter_map(|((at, own), (there, its))| {
            if at != there {
                return Some(*at.min(there));
            }
            let same = || own.iter().zip(its.iter()).take_while(|(a, b)| a == b).count();
            (own != its).then(|| at.saturating_add(same() as u64))
        });
        let rest = || {
            let (own, its) = (self.code.len(), other.code.len());
            let longer = if own > its { &self.code } else { &other.code };
            longer.get(own.min(its)).map(|(at, _)| *at)
        };
        different.min().or_else(rest)
    }

    fn different_memory(&self, other: &ProgramId) -> Option<u64> {
        self.code.iter().find_map(|part| other.different_part(part))
    }

    /// The first address in `part` at which it has another byte.
    fn different_part(&self, part: &(u64, Bytes)) -> Option<u64> {
        let (start, bytes) = part;
        self.at(part).find_map(|(at, its)| {
            let from = (*start).max(*at);
            let to = end(*start, bytes).min(end(*at, its));
            let part =
                |begin: u64, bytes: &Bytes| bytes.part(from - begin, to.saturating_sub(from));
            let (own, its) = (part(*start, bytes), part(*at, its));
            let same = || own.iter().zip(its.iter()).take_while(|(a, b)| a == b).count();
            (own != its).then(|| from.saturating_add(same() as u64))
        })
    }

    /// The parts of its code at the addresses of `part`.
    fn at(&self, (start, bytes): &(u64, Bytes)) -> impl Iterator<Item = &(u64, Bytes)> {
        let first = self.code.partition_point(|(at, its)| end(*at, its) <= *start);
        let after = end(*start, bytes);
        let parts = self.code.get(first..).unwrap_or_default().iter();
        parts.take_while(move |(at, _)| *at < after)
    }
}

/// The parts in order of their addresses, each without what an earlier one has.
fn in_order(mut code: Vec<(u64, Bytes)>) -> Vec<(u64, Bytes)> {
    code.sort_by_key(|(address, _)| *address);
    let mut next = 0;
    code.retain_mut(|(address, bytes)| {
        let known = next.max(*address) - *address;
        (*address, *bytes) = (*address + known, bytes.part(known, u64::MAX));
        next = next.max(end(*address, bytes));
        !bytes.is_empty()
    });
    code
}

/// The address after `bytes` at `start`.
fn end(start: u64, bytes: &Bytes) -> u64 {
    start.saturating_add(bytes.len() as u64)
}

/// The number of bytes of the ELF header, and of the program headers where they follow it. (System
/// V gABI, "ELF Header")
fn headers(file: &Bytes, bits64: bool) -> u64 {
    let (offset, size, count): (Range<usize>, _, _) =
        if bits64 { (32..40, 54..56, 56..58) } else { (28..32, 42..44, 44..46) };
    let header = file.head(64);
    let big = header.get(5) == Some(&2);
    let number = |field: Range<usize>| {
        let bytes = header.get(field).unwrap_or_default();
        let add = |value: u64, byte: &u8| value << 8 | u64::from(*byte);
        if big { bytes.iter().fold(0, add) } else { bytes.iter().rev().fold(0, add) }
    };
    let own = if bits64 { 64 } else { 52 };
    let follows = number(offset) == own;
    if follows { own + number(size) * number(count) } else { own }
}

/// The name of the processor architecture, the build identifier, or the size of the code.
impl fmt::Display for ProgramId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self.machine {
            Some((40, _)) => "Arm".to_owned(),
            Some((183, _)) => "AArch64".to_owned(),
            Some((243, true)) => "RISC-V, 64 bits".to_owned(),
            Some((243, false)) => "RISC-V, 32 bits".to_owned(),
            Some((other, _)) => format!("e_machine {other}"),
            None => "memory without a file".to_owned(),
        };
        f.write_str(&name)?;
        match &self.build_id {
            Some(id) => {
                f.write_str(", build ID ")?;
                id.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
            }
            None => {
                let bytes: usize = self.code.iter().map(|(_, bytes)| bytes.len()).sum();
                write!(f, ", no build ID, {bytes} bytes of code")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::elf::Segment;

    /// A program: build identifier, and the code at each address.
    fn program(machine: u16, build_id: Option<u8>, code: &[(u64, &'static [u8])]) -> ProgramId {
        let code = code.iter().map(|(address, bytes)| (*address, Bytes::from(*bytes))).collect();
        ProgramId { machine: Some((machine, true)), build_id: build_id.map(|id| vec![id]), code }
    }

    const CODE: &[u8] = &[1, 2, 3, 4, 5, 6, 7, 8];
    const OTHER: &[u8] = &[1, 2, 3, 4, 9, 6, 7, 8];

    #[test]
    fn programs_are_the_same_or_different() {
        use ProgramDifference::{BuildId, Code, Machine};
        let a = program(183, Some(1), &[(0x100, CODE)]);
        for (b, want) in [
            (program(183, Some(1), &[(0x100, CODE)]), None),
            (program(183, None, &[(0x100, CODE)]), None),
            (program(40, Some(1), &[(0x100, CODE)]), Some(Machine)),
            (program(183, Some(2), &[(0x100, CODE)]), Some(BuildId)),
            (program(183, Some(1), &[(0x100, OTHER)]), Some(Code(0x104))),
            (program(183, None, &[(0x100, OTHER)]), Some(Code(0x104))),
            (program(183, None, &[(0x200, CODE)]), Some(Code(0x100))),
            (program(183, None, &[(0x100, CODE), (0x200, CODE)]), Some(Code(0x200))),
            (program(183, None, &[(0x100, &CODE[..4])]), Some(Code(0x104))),
            (program(183, None, &[]), Some(Code(0x100))),
        ] {
            assert_eq!(a.difference(&b), want, "{b}");
            assert_eq!(b.difference(&a), want, "{b}");
        }
    }

    /// Memory that both have is compared.
    #[test]
    fn memory_without_a_file() {
        let file = program(183, Some(1), &[(0x100, CODE), (0x200, CODE)]);
        let memory = |parts: &[(u64, &'static [u8])]| {
            ProgramId::of_memory(parts.iter().map(|(at, bytes)| (*at, Bytes::from(*bytes))))
        };
        for (parts, want) in [
            (&[(0x104, &CODE[4..]), (0x300, OTHER)][..], None),
            (&[(0xfc, OTHER)], Some(0x100)),
            (&[(0x100, CODE), (0x200, OTHER)], Some(0x204)),
            (&[(0x208, OTHER)], None),
            (&[], None),
        ] {
            let (memory, want) = (memory(parts), want.map(ProgramDifference::Code));
            assert_eq!(file.difference(&memory), want, "{parts:x?}");
            assert_eq!(memory.difference(&file), want, "{parts:x?}");
        }
        assert!(file.overlaps(&memory(&[(0x1ff, CODE)])) && memory(&[(0, CODE)]).code.len() == 1);
        assert!(!file.overlaps(&memory(&[(0x108, CODE), (0x208, CODE)])));
    }

    /// Memory that contradicts all others at its addresses, not only some of them.
    #[test]
    fn contradictions() {
        let at = |address: u64, code| ProgramId::of_memory([(address, Bytes::from(code))]);
        let (a, b) = (at(0x100, CODE), at(0x100, OTHER));
        for (own, others, want) in [
            (a.clone(), vec![b.clone()], Some((0, 0x104))),
            (a.clone(), vec![at(0x200, CODE), b.clone()], Some((1, 0x104))),
            (a.clone(), vec![b.clone(), a.clone()], None),
            (a.clone(), vec![at(0x200, CODE)], None),
            (a.clone().moved(0x100), vec![b.clone()], None),
            (a.moved(0x100), vec![b.moved(0x100)], Some((0, 0x204))),
        ] {
            let want = want.map(|(n, address)| (n, ProgramDifference::Code(address)));
            assert_eq!(own.contradiction(&others), want);
        }
    }

    /// The headers, which the first segment loads, are not compared: they have the offset of the
    /// sections.
    #[test]
    fn headers_are_no_code() {
        let made = |sections: u8, code: u8| {
            let mut bytes = vec![0; 0x80];
            bytes[..6].copy_from_slice(b"\x7fELF\x02\x01");
            (bytes[32], bytes[40], bytes[54], bytes[56]) = (64, sections, 56, 1);
            bytes.push(code);
            let file = Bytes::from(bytes);
            let (size, executable) = (file.len() as u64, true);
            let segment = Segment {
                address: 0x1000,
                offset: 0,
                file_size: size,
                memory_size: size,
                executable,
            };
            let elf = Elf {
                machine: 183,
                bits64: true,
                movable: false,
                entry: 0,
                build_id: None,
                segments: vec![segment],
                regions: Vec::new(),
                symbols: crate::symbols::Symbols::default(),
            };
            ProgramId::of_elf(&file, &elf)
        };
        assert_eq!(made(1, 5).difference(&made(2, 5)), None);
        assert_eq!(made(1, 5).difference(&made(1, 6)), Some(ProgramDifference::Code(0x1080)));
    }
}
