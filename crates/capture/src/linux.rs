//! The system whose trace a capture of perf or simpleperf has: processes, files, and CPUs.

use std::collections::BTreeMap;
use std::sync::Arc;

pub use tracewright_image::TimeConversion;
use tracewright_image::{
    AddressSpaces, Clock, ContextKey, Elf, ElfError, Host, Load, Module, ModuleFile, Region,
    Segment, Symbols, Viewpoint,
};

use crate::Bytes;
use crate::dump::{Dump, Form};

/// The system that was traced, and what was recorded about it.
#[derive(Clone, Debug)]
pub struct Linux {
    /// About the machine and the recording: name and text.
    pub about: Vec<(String, String)>,
    /// The memory of the processes over time.
    pub spaces: Arc<AddressSpaces>,
    /// The names of generated functions, by process.
    pub names: BTreeMap<u32, Arc<Symbols>>,
    /// One for each buffer of the capture.
    pub parts: Vec<Part>,
    /// The identifier that selects the thread, for each source of the capture.
    pub keys: Vec<ContextKey>,
    /// The contexts that execute the system, for each source of the capture.
    pub hosts: Vec<Host>,
    /// The CPU of each source of the capture.
    pub cpus: Vec<u32>,
    /// The letters of the modes that are traced, as perf writes them; empty where all are.
    pub modes: String,
    /// The records have times; otherwise their moments are their ordinals in the file.
    pub timed: bool,
    /// The kernel's code is a copy of its memory, made while it ran; else it is that of a file.
    pub kcore: bool,
    /// How timestamps of the trace are converted to times.
    pub conversion: Option<TimeConversion>,
    /// The timestamps of all trace units are those of the virtual counter, which is that of the
    /// conversion.
    pub virtual_counter: bool,
    /// The trace of each CPU or thread.
    pub queues: BTreeMap<Queue, QueueTotals>,
}

/// The trace buffer of a CPU or of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Queue {
    /// Of a CPU.
    Cpu(u32),
    /// Of a thread, on any CPU.
    Thread(u32),
}

/// One buffer: the trace of one AUX record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// Whose trace it is.
    pub queue: Queue,
    /// The CPU that ran, where it is known.
    pub cpu: Option<u32>,
    /// The thread that ran when the record was made, where it is known.
    pub thread: Option<u32>,
    /// The moment of the record.
    pub moment: u64,
    /// The moment of the record before of the same CPU or thread: the trace is later.
    pub since: u64,
    /// The indices of the sources of the capture that may have trace in the buffer, in order.
    pub sources: Vec<usize>,
    /// The position in all bytes of the queue.
    pub offset: u64,
    /// The flags of the record.
    pub flags: u64,
    /// Trace was lost: the buffer was full, wrapped or has gaps, or is a snapshot, whose earlier
    /// trace was overwritten.
    pub lost: bool,
}

/// Totals of the trace of one CPU or thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueTotals {
    /// AUX records with bytes.
    pub records: u64,
    /// Bytes.
    pub bytes: u64,
    /// Records that report a loss.
    pub losses: u64,
}

impl Linux {
    /// What the source with index `source` sees in the buffer with index `buffer`.
    pub fn viewpoint(&self, buffer: usize, source: usize) -> Option<Viewpoint> {
        let part = self.parts.get(buffer)?;
        // Where memory does not change, its time does not matter.
        let conversion = self.conversion.filter(|_| {
            self.timed
                && self.virtual_counter
                && self.spaces.changes_between(part.since, part.moment)
        });
        let clock = conversion.map(|conversion| Clock { conversion, since: part.since });
        Some(Viewpoint {
            clock,
            spaces: Arc::clone(&self.spaces),
            key: self.keys.get(source).copied().unwrap_or_default(),
            host: self.hosts.get(source).copied().unwrap_or_default(),
            thread: part.thread,
            moment: part.moment,
        })
    }

    /// Adds the memory of `dump` over that of the capture: of `process`, or of all code.
    ///
    /// # Errors
    /// [`ElfError`] where the file is ELF, and has no usable memory.
    pub(crate) fn add_image(
        &mut self,
        dump: &Dump,
        bytes: &Bytes,
        process: Option<u32>,
    ) -> Result<(), ElfError> {
        let index = self.spaces.modules().len() as u32;
        let name = dump.name.as_str();
        let file = ModuleFile {
            path: dump.file.clone(),
            found: Some(dump.path.clone()),
            content: Some(bytes.clone()),
            kernel: dump.address & KERNEL != 0,
            ..ModuleFile::default()
        };
        let (regions, bias, file) = match dump.form {
            Form::Raw => {
                let segment = Segment {
                    address: dump.address,
                    offset: dump.offset,
                    file_size: bytes.size(),
                    memory_size: bytes.size(),
                    executable: true,
                };
                let region = Region::new(name, dump.address, bytes.clone());
                let symbols = self.generated(process);
                (vec![region], 0, ModuleFile { segments: vec![segment], symbols, ..file })
            }
            Form::Elf => {
                let elf = Elf::read(bytes, name, Load::default())?;
                if !ARM.contains(&elf.machine) {
                    return Err(ElfError::Foreign(elf.machine));
                }
                let load = Load { bias: dump.address, ..Load::default() };
                let regions = Elf::read(bytes, name, load)?.regions;
                let kernel = regions.iter().any(|region| region.start() & KERNEL != 0);
                let file = ModuleFile {
                    build_id: elf.build_id,
                    symbols: Arc::new(elf.symbols),
                    segments: elf.segments,
                    movable: elf.movable,
                    kernel,
                    ..file
                };
                (regions, dump.address, file)
            }
        };
        let spaces = Arc::make_mut(&mut self.spaces);
        spaces.add_module(file);
        let regions = regions.into_iter().map(|region| region.of_module(Module { index, bias }));
        spaces.add_image(process, regions.collect());
        Ok(())
    }
}

impl Linux {
    /// The names of the functions that `process` generated; for all code, those of the only process
    /// whose names are known.
    fn generated(&self, process: Option<u32>) -> Arc<Symbols> {
        let names = match process {
            Some(process) => self.names.get(&process),
            None => self.names.values().next().filter(|_| self.names.len() == 1),
        };
        names.cloned().unwrap_or_default()
    }
}

/// The `e_machine` of ELF files: none stated, Arm, AArch64.
const ARM: [u16; 3] = [0, 40, 183];

/// The bit that distinguishes the addresses of the kernel.
const KERNEL: u64 = 1 << 63;
