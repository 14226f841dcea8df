//! The program files of a capture.

use std::path::PathBuf;

use tracewright_base::{Isa, Space};
use tracewright_capture::{Capture, Dump, Form, Kind as CaptureKind};
use tracewright_image::{Bytes, Elf, Image, Load, ProgramId, Segment};

/// A program file.
#[derive(Clone, Debug)]
pub struct ProgramFile {
    /// Its path in the capture.
    pub path: String,
    /// The file.
    pub bytes: Bytes,
    /// The separate file with its debug information, where the capture has one.
    pub debug: Option<Bytes>,
    /// The load bias; 0 where processes map it.
    pub bias: u64,
    /// Its number among the files that processes map, if they do.
    pub module: Option<u32>,
    /// Its number in the memory of the capture, where that is not the memory of processes.
    pub dump: Option<u32>,
    /// `e_machine`.
    pub machine: u16,
    /// Its LOAD segments.
    pub segments: Vec<Segment>,
    /// What distinguishes it from other programs.
    pub id: ProgramId,
    /// The folder whose files its line table may name as source files: that of a file that the user
    /// named, or that of the capture. `None` where the capture could name any file of the machine.
    pub folder: Option<PathBuf>,
}

/// The folder of source files of a program of `capture` in memory.
fn folder(capture: &Capture, dump: &Dump) -> Option<PathBuf> {
    let named = dump.given.then_some(dump.path.as_path());
    let own = matches!(capture.kind, CaptureKind::Snapshot | CaptureKind::Folder);
    let path = named.or_else(|| own.then_some(capture.path.as_path()))?;
    let folder = if path.is_dir() { Some(path) } else { path.parent() };
    folder.map(|folder| match folder.as_os_str().is_empty() {
        true => PathBuf::from("."),
        false => folder.to_owned(),
    })
}

/// The ELF files of a capture, and then those that its processes map.
pub fn program_files(capture: &Capture) -> Vec<ProgramFile> {
    let dumps = (0..).zip(&capture.memory).filter(|(_, dump)| dump.form == Form::Elf);
    let files = dumps.filter_map(|(number, dump)| {
        let bytes = dump.bytes.clone()?;
        let elf = Elf::read(&bytes, dump.name.as_str(), Load::default()).ok()?;
        Some(ProgramFile {
            path: dump.file.clone(),
            bytes: bytes.clone(),
            bias: dump.address,
            debug: None,
            module: None,
            dump: capture.linux.is_none().then_some(number),
            machine: elf.machine,
            id: ProgramId::of_elf(&bytes, &elf),
            folder: folder(capture, dump),
            segments: elf.segments,
        })
    });
    let modules = capture.linux.iter().flat_map(|linux| linux.spaces.modules());
    let mapped = (0..).zip(modules).filter_map(|(number, file)| {
        let bytes = file.content.clone()?;
        let elf = Elf::read(&bytes, file.path.as_str(), Load::default()).ok()?;
        Some(ProgramFile {
            path: file.path.clone(),
            bytes: bytes.clone(),
            debug: file.debug.clone(),
            bias: 0,
            module: Some(number),
            dump: None,
            machine: elf.machine,
            id: ProgramId::of_elf(&bytes, &elf),
            folder: None,
            segments: elf.segments,
        })
    });
    files.chain(mapped).collect()
}

impl ProgramFile {
    /// The file with its debug information.
    pub fn debug_info(&self) -> &Bytes {
        self.debug.as_ref().unwrap_or(&self.bytes)
    }

    /// The address in the file of an address of code in memory.
    pub fn address(&self, address: u64) -> Option<u64> {
        let own = address.wrapping_sub(self.bias);
        self.has_code(own).then_some(own)
    }

    /// Whether an address in the file is one of its code.
    pub(crate) fn has_code(&self, own: u64) -> bool {
        let inside = |segment: &&Segment| {
            let at = own.checked_sub(segment.address);
            segment.executable && at.is_some_and(|at| at < segment.file_size)
        };
        self.segments.iter().any(|segment| inside(&segment))
    }

    /// Its code that is in the file, in order: the first and the last address of each part.
    pub(crate) fn code(&self) -> Vec<(u64, u64)> {
        let size = self.bytes.len() as u64;
        let segments = self.segments.iter().filter(|segment| segment.executable);
        let mut parts: Vec<(u64, u64)> = segments
            .filter_map(|segment| {
                let bytes = segment.file_size.min(size.saturating_sub(segment.offset));
                Some((segment.address, segment.address.saturating_add(bytes.checked_sub(1)?)))
            })
            .collect();
        parts.sort_unstable();
        parts.dedup_by(|next, part| {
            let joined = next.0 <= part.1;
            part.1 = if joined { part.1.max(next.1) } else { part.1 };
            joined
        });
        parts
    }

    /// The instruction set, where the file has only one.
    pub fn isa(&self) -> Option<Isa> {
        const AARCH64: u16 = 183;
        const RISCV: u16 = 243;
        let bits64 = self.bytes.head(5).get(4) == Some(&2);
        match self.machine {
            AARCH64 => Some(Isa::A64),
            RISCV if bits64 => Some(Isa::Rv64),
            RISCV => Some(Isa::Rv32),
            _ => None,
        }
    }
}

/// The number of the file of `image` that has the code at `address`, and its bias.
pub(crate) fn file_of(files: &[ProgramFile], image: &Image, address: u64) -> Option<(usize, u64)> {
    let module = image.region(image.view(Space::ANY), address)?.module()?;
    let is = |file: &ProgramFile| [file.module, file.dump].contains(&Some(module.index));
    Some((files.iter().position(is)?, module.bias))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// An ELF file for AArch64 with one segment of NOPs at 0x8000.
    pub(crate) fn elf() -> Bytes {
        elf_of(&[0xd503_201f; 4])
    }

    /// The same with this code.
    pub(crate) fn elf_of(code: &[u32]) -> Bytes {
        let numbers = |size: usize, numbers: &[u64]| -> Vec<u8> {
            numbers.iter().flat_map(|n| n.to_le_bytes().into_iter().take(size)).collect()
        };
        let mut file = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0".to_vec();
        file.extend(numbers(2, &[2, 183]));
        file.extend(numbers(4, &[1]));
        file.extend(numbers(8, &[0x8000, 64, 0]));
        file.extend(numbers(4, &[0]));
        file.extend(numbers(2, &[64, 56, 1, 0, 0, 0]));
        file.extend(numbers(4, &[1, 5]));
        let size = size_of_val(code) as u64;
        file.extend(numbers(8, &[120, 0x8000, 0x8000, size, size, 4]));
        file.extend(code.iter().flat_map(|word| word.to_le_bytes()));
        Bytes::from(file)
    }
}
