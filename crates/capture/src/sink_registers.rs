//! Which registers belong to which buffer of a capture, and the trace in the buffer.

use std::ops::Range;
use std::path::Path;

use tracewright_base::Invalid;

use crate::buffer::{Buffer, Format};
use crate::buffer_file::File;
use crate::capture::Capture;
use crate::device::{Other, Register, Registers};
use crate::dump::Form;
use crate::number::number;
use crate::origin::Origin;
use crate::problem::{Note, OpenError, Problem};
use crate::sink::{Layout, Sink, mtb, riscv, tmc, trbe};

impl Capture {
    /// Finds the registers of each buffer that has none, and reads the buffer with them: those of
    /// the device with the name of the buffer, of the only buffer device where there is one buffer,
    /// and for the buffer of one source the registers of a Trace Buffer Unit in that source or its
    /// core. What does not fit together is noted.
    pub fn read_sinks(&mut self) {
        for n in 0..self.buffers.len() {
            let Some((device, device_type, registers)) = self.registers_of(n) else { continue };
            self.read_sink(n, &device_type, registers, Some(device));
        }
    }

    /// Reads buffer `n` with these registers of a device of type `device_type`.
    pub(crate) fn read_sink(
        &mut self,
        n: usize,
        device_type: &str,
        registers: Registers,
        device: Option<String>,
    ) {
        let word = |address: u64| self.memory_word(address);
        let Some(buffer) = self.buffers.get(n).filter(|buffer| buffer.sink.is_none()) else {
            return;
        };
        let whole = !buffer.is_piped();
        let found = Layout::of(device_type, &registers, buffer.len(), &word);
        let origin = Origin { section: Some(buffer.name.clone()), ..Origin::file(&self.path) };
        let problem = match found {
            Some(Ok(layout)) if whole => {
                let stored = buffer.len();
                let Some(buffer) = self.buffers.get_mut(n) else { return };
                read(buffer, layout, registers, device.clone());
                if buffer.is_empty() && stored > 0 {
                    let problem = Problem::SinkEmpty { name: device, stored };
                    self.notes.push(Note { origin, problem });
                }
                return;
            }
            Some(Ok(_)) => "the data are read from a pipe".to_owned(),
            Some(Err(why)) => why.into(),
            None => "they are of no known trace buffer".to_owned(),
        };
        let problem = Problem::SinkRegisters { name: device, reason: problem };
        self.notes.push(Note { origin, problem });
    }

    /// The device name, the device type and the registers for buffer `n`.
    fn registers_of(&self, n: usize) -> Option<(String, String, Registers)> {
        let buffer = self.buffers.get(n)?;
        if buffer.sink.is_some() {
            return None;
        }
        let of = |other: &Other| {
            (other.name.clone(), other.device_type.clone(), other.registers.clone())
        };
        let mut devices = self.others.iter().filter(|other| describes_buffer(&other.registers));
        let named = |other: &&Other| {
            let name = buffer.device.as_deref().unwrap_or(&buffer.name);
            other.name.eq_ignore_ascii_case(name)
        };
        if let Some(other) =
            self.others.iter().filter(|o| describes_buffer(&o.registers)).find(named)
        {
            return Some(of(other));
        }
        if let ([_], Some(only), None) = (self.buffers.as_slice(), devices.next(), devices.next()) {
            return Some(of(only));
        }
        if buffer.format != Format::SourceData {
            return None;
        }
        let [source] = self.sources_of(n)[..] else { return None };
        let core = self.core(source);
        let core = core.map(|core| (&core.name, &core.device_type, &core.registers));
        let source = (&source.name, &source.device_type, &source.registers);
        // An MTB is a source itself.
        let (name, device_type, registers) = source;
        if source.1.to_ascii_uppercase().starts_with("MTB") && describes_buffer(registers) {
            return Some((name.clone(), device_type.clone(), registers.clone()));
        }
        let found = [Some(source), core].into_iter().flatten().find(|(_, _, r)| has_trbe(r))?;
        let (name, device_type, registers) = found;
        let own = registers.0.iter().filter(|register| is_trbe(&register.name)).cloned();
        Some((name.clone(), device_type.clone(), Registers(own.collect())))
    }

    /// The 32 bits at `address` of the memory of the capture.
    fn memory_word(&self, address: u64) -> Option<u32> {
        let dumps = self.memory.iter().filter(|dump| dump.form == Form::Raw);
        let mut words = dumps.filter_map(|dump| {
            let at = usize::try_from(address.checked_sub(dump.address)?).ok()?;
            let bytes = dump.bytes.as_ref()?.get(at..)?.first_chunk()?;
            Some(u32::from_le_bytes(*bytes))
        });
        words.next()
    }
}

impl Layout {
    /// The layout of `len` stored bytes of a device of type `device_type`, as its registers have
    /// it. `word` reads 32 bits of the memory that the buffer is in, for the list of pages of an
    /// ETR. `None` where the registers describe no buffer.
    ///
    /// # Errors
    /// The reason why the registers and the bytes do not fit together.
    pub fn of(
        device_type: &str,
        registers: &Registers,
        len: u64,
        word: &dyn Fn(u64) -> Option<u32>,
    ) -> Option<Result<Layout, Invalid>> {
        let layout = trbe::layout(registers, len)
            .or_else(|| mtb::layout(registers, len))
            .or_else(|| riscv::layout(registers, len))
            .or_else(|| tmc::layout(device_type, registers, len, word))?;
        Some(layout.map_err(Invalid::from))
    }
}

/// Replaces the files of `buffer` by the trace in them.
fn read(buffer: &mut Buffer, layout: Layout, registers: Registers, device: Option<String>) {
    let stored = std::mem::take(&mut buffer.files);
    let mut files = Vec::new();
    for part in &layout.parts {
        slice(&stored, part.clone(), &mut files);
    }
    if layout.stop_sequence {
        cut_stop_sequence(&mut files);
    }
    buffer.files = files;
    buffer.sink = Some(Box::new(Sink { device, registers, stored, layout }));
}

/// Appends the files of `range` of the joined `stored` files to `out`.
fn slice(stored: &[File], range: Range<u64>, out: &mut Vec<File>) {
    let mut start = 0u64;
    for file in stored {
        let end = start.saturating_add(file.bytes.size());
        let (from, to) = (range.start.max(start), range.end.min(end));
        if from < to {
            let bytes = file.bytes.part(from - start, to - from);
            out.push(File { bytes, spooled: false, ..file.clone() });
        }
        start = end;
    }
}

/// The most bytes that a stop sequence has.
const STOP: usize = 64;

/// Removes zeros and the byte 0x01 before them from the end. Without such bytes, nothing is
/// removed.
fn cut_stop_sequence(files: &mut Vec<File>) {
    let len: usize = files.iter().map(|file| file.bytes.len()).sum();
    let last = files.iter().flat_map(|file| file.bytes.iter()).skip(len.saturating_sub(STOP));
    let last: Vec<u8> = last.copied().collect();
    let zeros = last.iter().rev().take_while(|byte| **byte == 0).count();
    if last.iter().rev().nth(zeros) != Some(&0x01) {
        return;
    }
    let mut cut = zeros + 1;
    while cut > 0
        && let Some(file) = files.last_mut()
    {
        let some = cut.min(file.bytes.len());
        let rest = file.bytes.len() - some;
        file.bytes = file.bytes.part(0, rest as u64);
        cut -= some;
        if rest == 0 {
            files.pop();
        }
    }
}

/// Whether the registers are of a trace buffer.
fn describes_buffer(registers: &Registers) -> bool {
    Layout::of("", registers, 0, &|_| None).is_some()
}

fn has_trbe(registers: &Registers) -> bool {
    registers.0.iter().any(|register| {
        let name = register.name.to_ascii_uppercase();
        name == "TRBPTR_EL1" || name == "TRBPTR"
    })
}

/// Whether a register is one of the Trace Buffer Unit.
fn is_trbe(name: &str) -> bool {
    name.get(..3).is_some_and(|start| start.eq_ignore_ascii_case("TRB"))
}

/// Parses `NAME=VALUE,NAME=VALUE`.
///
/// # Errors
/// [`OpenError`] for anything else; `origin` names the text in it.
pub fn assignments(text: &str, origin: &Path) -> Result<Registers, OpenError> {
    let words = text.split(',').map(str::trim).filter(|word| !word.is_empty());
    let list = words.map(|word| {
        let pair = word.split_once('=').and_then(|(name, value)| {
            let value = number(value)?;
            Some(Register { name: name.trim().to_owned(), id: None, size: None, value })
        });
        let pair = pair.filter(|register| !register.name.is_empty());
        pair.ok_or_else(|| OpenError::new(origin, Problem::NotAssignment(word.to_owned())))
    });
    Ok(Registers(list.collect::<Result<_, _>>()?))
}
