//! Memory that a log alone tells of: instructions that were executed, and that are in no image.

use std::collections::BTreeMap;

use tracewright_capture::{Dump, Form};

use super::entry::Opcode;

/// So many instructions are kept, whatever a log says.
const MOST: usize = 1 << 20;

/// So many pieces of memory are a dump each; more of them are segments of one ELF file.
const DUMPS: usize = 16;

/// Segments of an ELF file: 0xffff of them would mean something else. (System V gABI, PN_XNUM)
const SEGMENTS: usize = 0xfffe;

/// Instructions by address, as they are in memory.
#[derive(Clone, Debug, Default)]
pub struct Told(BTreeMap<u64, Opcode>);

impl Told {
    /// An instruction is at `address`: its bytes are the lowest of `opcode`. One that is known stays.
    pub(super) fn add(&mut self, address: u64, opcode: Opcode) {
        if self.0.len() < MOST {
            self.0.entry(address).or_insert(opcode);
        }
    }

    /// Those one after another together, in the order of their addresses.
    pub fn runs(&self) -> Vec<(u64, Vec<u8>)> {
        let mut runs: Vec<(u64, Vec<u8>)> = Vec::new();
        for (&address, opcode) in &self.0 {
            let bytes = opcode.bits.to_le_bytes();
            let bytes = bytes.get(..usize::from(opcode.size)).unwrap_or_default();
            match runs.last_mut() {
                Some((start, run)) if address - *start <= run.len() as u64 => {
                    // Where two lie over each other the first has the bytes.
                    let twice = (run.len() as u64 - (address - *start)) as usize;
                    run.extend_from_slice(bytes.get(twice..).unwrap_or_default());
                }
                _ => runs.push((address, bytes.to_vec())),
            }
        }
        runs
    }

    /// The same as a capture has it: dumps where they are few, else an ELF file for a processor of this kind (ELF,
    /// `e_machine`), with a segment for each run.
    pub fn dumps(&self, machine: u16) -> Vec<Dump> {
        let runs = self.runs();
        if runs.len() > DUMPS {
            let file = Dump::new("log", 0, elf(&runs, machine));
            return vec![Dump { form: Form::Elf, ..file }];
        }
        let dump = |(address, bytes)| Dump::new(format!("log_{address:#x}"), address, bytes);
        runs.into_iter().map(dump).collect()
    }
}

/// An ELF file of segments alone. (System V gABI, "ELF Header", "Program Header")
fn elf(runs: &[(u64, Vec<u8>)], machine: u16) -> Vec<u8> {
    const HEADER: u64 = 64;
    const PROGRAM: u64 = 56;
    let runs = runs.get(..SEGMENTS).unwrap_or(runs);
    let halves = |numbers: &[u16]| numbers.iter().flat_map(|n| n.to_le_bytes()).collect::<Vec<_>>();
    let words = |numbers: &[u64]| numbers.iter().flat_map(|n| n.to_le_bytes()).collect::<Vec<_>>();
    // ELFCLASS64, little-endian; ET_EXEC, version 1; no entry, program headers at once, no sections.
    let mut file = b"\x7fELF\x02\x01\x01".to_vec();
    file.resize(16, 0);
    file.extend(halves(&[2, machine, 1, 0]));
    file.extend(words(&[0, HEADER, 0]));
    file.extend(halves(&[0, 0, HEADER as u16, PROGRAM as u16, runs.len() as u16, 64, 0, 0]));
    let mut at = HEADER + PROGRAM * runs.len() as u64;
    for (address, bytes) in runs {
        let len = bytes.len() as u64;
        // PT_LOAD, to be read and executed.
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
        let mut told = Told::default();
        for (address, bits, size) in [
            (0x1004, 0x1122_3344, 4),
            (0x1000, 0xaabb, 2),
            (0x1002, 0xccdd, 2),
            // Known already; over the last one; beyond it.
            (0x1000, 0xffff, 2),
            (0x1006, 0x5566_7788, 4),
            (0x100b, 0x9999, 2),
            (u64::MAX - 1, 0x1234, 2),
        ] {
            told.add(address, Opcode { bits, size });
        }
        let first = vec![0xbb, 0xaa, 0xdd, 0xcc, 0x44, 0x33, 0x22, 0x11, 0x66, 0x55];
        let want = [(0x1000, first), (0x100b, vec![0x99, 0x99]), (u64::MAX - 1, vec![0x34, 0x12])];
        assert_eq!(told.runs(), want);
        let dumps = told.dumps(243);
        assert_eq!(
            dumps.iter().map(|dump| dump.address).collect::<Vec<_>>(),
            [0x1000, 0x100b, u64::MAX - 1]
        );
    }

    #[test]
    fn many_runs_are_one_file() {
        let mut told = Told::default();
        for n in 0..40u32 {
            told.add(u64::from(n) * 16, Opcode { bits: n, size: 4 });
        }
        let [dump] = told.dumps(243).try_into().unwrap();
        assert_eq!(dump.form, Form::Elf);
        let elf = Elf::read(&dump.bytes.unwrap(), "log", Load::default()).unwrap();
        assert_eq!((elf.machine, elf.regions.len()), (243, 40));
        for (n, region) in (0..).zip(&elf.regions) {
            assert_eq!(region.run(u64::from(n) * 16).to_vec(), u32::to_le_bytes(n));
        }
    }
}
