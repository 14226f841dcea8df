//! The `perf.data` file of a capture: its trace units as CPUs, its buffers as AUX records, its
//! program images as mappings of one process.

use std::collections::BTreeMap;

use tracewright_base::Invalid;
use tracewright_image::{Elf, Load};

use super::attr::{Attr, SampleId};
use super::data::{Form, PerfData};
use super::features;
use super::record::{Aux, AuxTrace, Body, CS_ETM, MappedFile, Mmap, Record, Task};
use super::units::{Unit, Units};
use crate::Bytes;
use crate::buffer::Format;
use crate::capture::Capture;
use crate::dump::Form as DumpForm;

/// The number of the PMU in the files that are written: the kernel assigns one at each start.
pub const PMU: u32 = 8;
/// The size of the event in the files that are written: perf 6.1 and later accept it.
const SIZE: u32 = 128;
/// The identifier of the event's instance.
const EVENT: u64 = 1;
/// The flags of the event: user space only, and records are identified.
const FLAGS: u64 = Attr::EXCLUDE_KERNEL | Attr::EXCLUDE_HYPERVISOR | Attr::SAMPLE_ID_ALL;

/// How a capture is recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recording {
    /// Integers are big-endian.
    pub big: bool,
    /// The form of the file.
    pub form: Form,
    /// The process, and its first thread. The threads of further CPUs have the numbers after it.
    pub process: u32,
    /// The name of the process.
    pub name: String,
    /// The command that makes the file, and its arguments.
    pub command: Vec<String>,
}

impl Default for Recording {
    fn default() -> Self {
        Recording {
            big: false,
            form: Form::File,
            process: 1000,
            name: "traced".into(),
            command: vec!["tracewright".into()],
        }
    }
}

/// The fields of samples in the files that are written.
pub const SAMPLE_TYPE: u64 =
    Attr::IP | Attr::TID | Attr::TIME | Attr::ID | Attr::CPU | Attr::IDENTIFIER;

impl Recording {
    /// The event.
    pub fn attr(&self) -> Attr {
        Attr {
            kind: PMU,
            size: SIZE,
            config: Attr::CONTEXT_ID_EL1,
            sample_type: SAMPLE_TYPE,
            flags: FLAGS,
            sample_period: 1,
            ids: vec![EVENT],
            ..Attr::default()
        }
    }

    /// The thread that CPU number `cpu` executes.
    pub fn thread(&self, cpu: u32) -> u32 {
        self.process.wrapping_add(cpu)
    }

    /// The identification of a record on `cpu` at `time`.
    pub fn id(&self, cpu: u32, time: u64) -> SampleId {
        SampleId {
            task: Some((self.process, self.thread(cpu))),
            time: Some(time),
            id: Some(EVENT),
            stream: None,
            cpu: Some(cpu),
            identifier: Some(EVENT),
        }
    }

    /// The file of `capture`.
    ///
    /// # Errors
    /// What of the capture such a file cannot have.
    pub fn of(&self, capture: &Capture) -> Result<PerfData, Invalid> {
        let mut units = Units { version: 1, pmu: PMU, snapshot: false, cpus: BTreeMap::new() };
        for (cpu, source) in (0..).zip(&capture.sources) {
            let unit = Unit::of(source).ok_or_else(|| {
                format!(
                    "{} is of type {}, and perf.data has ETMv3, PTM, ETMv4 and ETE only",
                    source.name, source.device_type
                )
            })?;
            units.cpus.insert(cpu, unit);
        }
        let mut data = PerfData {
            big: self.big,
            form: self.form,
            attrs: vec![self.attr()],
            ..PerfData::default()
        };
        data.features.insert(features::ARCH, features::write_text("aarch64", self.big));
        let command: Vec<&str> = self.command.iter().map(String::as_str).collect();
        let command = features::write_command_line(&command, self.big);
        data.features.insert(features::COMMAND_LINE, command);
        let start = self.id(0, 0);
        if self.form == Form::Pipe {
            data.records.push(Record::new(Body::Attr(Box::new(self.attr()))));
        }
        let info = Body::AuxTraceInfo { kind: CS_ETM, words: units.words() };
        data.records.push(Record::new(info));
        let (process, name) = (self.process, self.name.clone());
        let comm = Body::Comm { process, thread: process, name };
        data.records.push(Record::new(comm).exec().with_id(start));
        for cpu in 1..capture.sources.len() as u32 {
            let task = Task {
                process,
                parent_process: process,
                thread: self.thread(cpu),
                parent_thread: process,
                time: 0,
            };
            data.records.push(Record::new(Body::Fork(task)).with_id(start));
        }
        let mut ids = Vec::new();
        for dump in &capture.memory {
            self.map(dump, &mut data, &mut ids);
        }
        data.features.insert(features::BUILD_ID, features::write_build_ids(&ids, self.big));
        if self.form == Form::Pipe {
            let features = data.features.iter().map(|(number, bytes)| {
                let (number, bytes) = (u64::from(*number), bytes.clone());
                Record::new(Body::Feature { number, bytes })
            });
            let features: Vec<_> = features.collect();
            data.records.splice(1..1, features);
        }
        for (n, buffer) in capture.buffers.iter().enumerate() {
            let cpu = capture
                .sources
                .iter()
                .position(|source| source.buffers.iter().any(|link| link.buffer == n));
            let (cpu, time) = (cpu.unwrap_or(0) as u32, n as u64 + 1);
            let flags = match buffer.format {
                Format::SourceData => Aux::RAW,
                Format::CoreSight => 0,
                ref other => {
                    return Err(format!(
                        "{} has the format {other}, and perf.data has formatter frames and raw \
                         trace only",
                        buffer.name
                    )
                    .into());
                }
            };
            let bytes = buffer.bytes().into_owned();
            data.add_trace(
                &self.id(cpu, time),
                cpu,
                Aux { offset: 0, size: bytes.len() as u64, flags },
                bytes,
            );
        }
        Ok(data)
    }

    /// Adds the mappings of a program image.
    fn map(&self, dump: &crate::dump::Dump, data: &mut PerfData, ids: &mut Vec<(String, Vec<u8>)>) {
        let Some(bytes) = &dump.bytes else { return };
        let path = std::path::absolute(&dump.path).unwrap_or_else(|_| dump.path.clone());
        let path = path.to_string_lossy().into_owned();
        let mut add = |address: u64, len: u64, offset: u64, id: Option<&[u8]>| {
            let file = MappedFile { identity: vec![0; 24], protection: 5, flags: 2 };
            let mmap = Mmap {
                process: self.process,
                thread: self.process,
                address,
                len,
                offset,
                file: Some(file),
                path: path.clone(),
            };
            let record = Record::new(Body::Mmap(mmap)).with_id(self.id(0, 0));
            data.records.push(match id {
                Some(id) => record.with_build_id(id),
                None => record,
            });
        };
        match dump.form {
            DumpForm::Raw => add(dump.address, bytes.len() as u64, dump.offset, None),
            DumpForm::Elf => {
                let Ok(elf) = Elf::read(bytes, dump.name.as_str(), Load::default()) else { return };
                for segment in elf.segments.iter().filter(|segment| segment.executable) {
                    let address = segment.address.wrapping_add(dump.address);
                    add(address, segment.file_size, segment.offset, elf.build_id.as_deref());
                }
                ids.extend(elf.build_id.map(|id| (path, id)));
            }
        }
    }
}

impl PerfData {
    /// Adds an AUX record and the AUXTRACE record with its bytes, which are padded.
    pub fn add_trace(&mut self, id: &SampleId, cpu: u32, aux: Aux, mut bytes: Vec<u8>) {
        self.records.push(Record::new(Body::Aux(aux)).with_id(*id));
        bytes.resize(bytes.len().next_multiple_of(8), 0);
        self.records.push(Record::new(Body::AuxTrace(AuxTrace {
            size: bytes.len() as u64,
            offset: aux.offset,
            reference: id.time.unwrap_or(0),
            index: cpu,
            thread: u32::MAX,
            cpu,
            reserved: 0,
        })));
        self.trace.push(Bytes::from(bytes));
    }
}
