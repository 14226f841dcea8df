//! Code that is known from a log only: executed instructions that are in no image.

use std::collections::BTreeMap;

use tracewright_capture::{Dump, Form};

use crate::entry::Opcode;

/// The most instructions that are stored.
const MAX_INSTRUCTIONS: usize = 1 << 20;

/// Up to this number of runs, each run is a dump. More runs are segments of one ELF file.
const MAX_DUMPS: usize = 16;

/// The most segments of an ELF file: 0xffff is PN_XNUM. (System V gABI, "ELF Header")
const MAX_SEGMENTS: usize = 0xfffe;

/// Instructions by address, in memory byte order.
#[derive(Clone, Debug, Default)]
pub struct LoggedCode(BTreeMap<u64, Opcode>);

impl LoggedCode {
    /// Adds the instruction at `address`, whose bytes are the lowest of `opcode`. The first
    /// instruction at an address is retained.
    pub(super) fn add(&mut self, address: u64, opcode: Opcode) {
        if self.0.len() < MAX_INSTRUCTIONS {
            self.0.entry(address).or_insert(opcode);
        }
    }

    /// Removes the instruction at `address`.
    pub(super) fn remove(&mut self, address: u64) {
        self.0.remove(&address);
    }

    /// Contiguous runs of instruction bytes, in the order of their addresses.
    pub fn runs(&self) -> Vec<(u64, Vec<u8>)> {
        let mut runs: Vec<(u64, Vec<u8>)> = Vec::new();
        for (&address, opcode) in &self.0 {
            let bytes = opcode.bits.to_le_bytes();
            let bytes = bytes.get(..usize::from(opcode.size)).unwrap_or_default();
            match runs.last_mut() {
                Some((start, run)) if address - *start <= run.len() as u64 => {
                    // Where two instructions overlap, the bytes of the first are retained.
                    let overlap = (run.len() as u64 - (address - *start)) as usize;
                    run.extend_from_slice(bytes.get(overlap..).unwrap_or_default());
                }
                _ => runs.push((address, bytes.to_vec())),
            }
        }
        runs
    }

    /// The runs as memory of a capture: up to 16 dumps, else one ELF file with a segment for each
    /// run.
    /// `machine` is the `e_machine` of the ELF file.
    pub fn dumps(&self, machine: u16) -> Vec<Dump> {
        let runs = self.runs();
        if runs.len() > MAX_DUMPS {
            let file = Dump::new("log", 0, elf(&runs, machine));
            return vec![Dump { form: Form::Elf, ..file }];
        }
        let dump = |(address, bytes)| Dump::new(format!("log_{address:#x}"), address, bytes);
        runs.into_iter().map(dump).collect()
    }
}

/// An ELF file that has program headers only. (System V gABI, "ELF Header", "Program Header")
fn elf(runs: &[(u64, Vec<u8>)], machine: u16) -> Vec<u8> {
    const HEADER: u64 = 64;
    const PROGRAM: u64 = 56;
    let runs = runs.get(..MAX_SEGMENTS).unwrap_or(runs);
    let halves = |numbers: &[u16]| numbers.iter().flat_map(|n| n.to_le_bytes()).collect::<Vec<_>>();
    let words = |numbers: &[u64]| numbers.iter().flat_map(|n| n.to_le_bytes()).collect::<Vec<_>>();
    // ELFCLASS64, little-endian; ET_EXEC, version 1; no entry, program headers at 64, no sections.
    let mut file = b"\x7fELF\x02\x01\x01".to_vec();
    file.resize(16, 0);
    file.extend(halves(&[2, machine, 1, 0]));
    file.extend(words(&[0, HEADER, 0]));
    file.extend(halves(&[0, 0, HEADER as u16, PROGRAM as u16, runs.len() as u16, 64, 0, 0]));
    let mut at = HEADER + PROGRAM * runs.len() as u64;
    for (address, bytes) in runs {
        let len = bytes.len() as u64;
        // PT_LOAD, readable and executable.
        file.extend(halves(&[1, 0, 5, 0]));
        file.extend(words(&[at, *address, *address, len, len, 2]));
        at += len;
    }
    runs.iter().for_each(|(_, bytes)| file.extend_from_slice(bytes));
    file
}

#[cfg(test)]
mod tests {
    use super::*;
    use tracewright_image::{Elf, Load};

    #[test]
    fn runs_of_instructions() {
        let mut code = LoggedCode::default();
        for (address, bits, size) in [
            (0x1004, 0x1122_3344, 4),
            (0x1000, 0xaabb, 2),
            (0x1002, 0xccdd, 2),
            // A second opcode at an address; an overlap; a gap.
            (0x1000, 0xffff, 2),
            (0x1006, 0x5566_7788, 4),
            (0x100b, 0x9999, 2),
            (u64::MAX - 1, 0x1234, 2),
        ] {
            code.add(address, Opcode { bits, size });
        }
        let first = vec![0xbb, 0xaa, 0xdd, 0xcc, 0x44, 0x33, 0x22, 0x11, 0x66, 0x55];
        let want = [(0x1000, first), (0x100b, vec![0x99, 0x99]), (u64::MAX - 1, vec![0x34, 0x12])];
        assert_eq!(code.runs(), want);
        let dumps = code.dumps(243);
        assert_eq!(
            dumps.iter().map(|dump| dump.address).collect::<Vec<_>>(),
            [0x1000, 0x100b, u64::MAX - 1]
        );
    }

    #[test]
    fn many_runs_are_one_file() {
        let mut code = LoggedCode::default();
        for n in 0..40u32 {
            code.add(u64::from(n) * 16, Opcode { bits: n, size: 4 });
        }
        let [dump] = code.dumps(243).try_into().unwrap();
        assert_eq!(dump.form, Form::Elf);
        let elf = Elf::read(&dump.bytes.unwrap(), "log", Load::default()).unwrap();
        assert_eq!((elf.machine, elf.regions.len()), (243, 40));
        for (n, region) in (0..).zip(&elf.regions) {
            assert_eq!(region.run(u64::from(n) * 16).to_vec(), u32::to_le_bytes(n));
        }
    }
}
