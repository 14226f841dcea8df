//! `perf.data`: the files of `perf record` and of simpleperf with CoreSight trace.
//!
//! | file | contents |
//! |---|---|
//! | `data.rs` | [`PerfData`]: the sections and records of a file, read in one pass |
//! | `record.rs`, `attr.rs`, `units.rs`, `features.rs` | the records, read and written by the same lines |
//! | `pieces.rs` | the bytes of each AUX record |
//! | `processes.rs`, `find.rs` | the memory of processes over time, and the files with their code |
//! | `folders.rs`, `packed.rs` | the usual folders of such files, and compressed modules |
//! | `kernel.rs` | where the kernel and its modules are in memory |
//! | `bpf.rs` | the machine code of BPF programs |
//! | `generated.rs`, `jitdump.rs`, `perf_map.rs` | code that programs generated, and its names |
//! | `archive.rs` | libraries that are mapped from within an APK |
//! | `branch_list.rs` | branch lists of simpleperf |
//! | `branch_samples.rs` | samples with the branches before each |
//! | `sampled.rs` | samples in place of the trace |
//! | `write.rs`, `recording.rs` | writing of what can be read, and the file of a capture |
//! | `fields.rs`, `window.rs`, `compressed.rs`, `limits.rs` | integers, reads by offset, zstd, limits |
//!
//! The records of a file are read first, without the trace. Then each AUX record becomes a buffer
//! of the capture: the trace unit begins anew in each. The buffers are in order of time where the
//! records have times, else by CPU. The sources are the trace units of the CPUs.
//!
//! The forms are: file, pipe, and folder (`data`, `data.0` and so on, `kcore_dir`); either byte
//! order; events of any size; compressed records (`perf record -z`) and trace (simpleperf).

mod archive;
mod attr;
mod bpf;
mod branch_list;
mod branch_samples;
mod compressed;
mod data;
mod features;
mod fields;
mod find;
mod folders;
mod generated;
mod jit_lines;
mod jitdump;
mod kernel;
pub mod limits;
mod listed_samples;
mod packed;
mod perf_map;
mod pieces;
mod processes;
mod record;
mod recording;
mod riscv;
mod riscv_unit;
mod sampled;
mod units;
mod window;
mod write;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tracewright_base::remedy::{BINARY, SYMFS};
use tracewright_image::{ContextKey, Elf, Host, Load};

pub use attr::{Attr, SampleId};
pub use branch_list::{
    BinaryKind, BranchList, FoundList, ListedBinary, ListedProgram, Sequence, branch_list,
    found_list,
};
pub use branch_samples::{BranchSample, BranchSamples, branch_samples};
pub use data::{Form, PerfData, RawSample};
pub use features::same_build_id;
pub use find::{Search, hex};
pub use listed_samples::{FileAddress, ListedSample, ListedSamples, SampledBinary};
pub use record::{Aux, AuxTrace, Body, CS_ETM, IdEntry, MappedFile, Mmap, Record, Task};
pub use recording::{PMU, Recording, SAMPLE_TYPE};
pub use riscv::RISCV_TRACE;
pub use units::{Unit, Units};
pub use write::Layout;

use crate::Bytes;
use crate::buffer::{Buffer, Format};
use crate::buffer_file::File;
use crate::capture::{Capture, Kind};
use crate::device::{BufferRef, Core};
use crate::files::Files;
use crate::linux::Linux;
use crate::linux::{Part, Queue, QueueTotals};
use crate::notes::Notes;
use crate::open_files::OpenFiles;
use crate::origin::Origin;
use crate::pipe::Pipe;
use crate::plain::line;
use crate::problem::{OpenError, Problem};
use pieces::{Piece, Pieces};

/// Reads the file or folder at `path` of the files of `search`; on the disk, `-` is the standard
/// input, which is read to its end into memory. The files of the recorded code are found by
/// `search`.
///
/// # Errors
/// [`OpenError`] where nothing can be decoded.
pub fn open(path: &Path, search: &Search) -> Result<Capture, OpenError> {
    let mut files = search.open_files();
    let fail = |path: &Path, why: String| OpenError::new(path, Problem::Perf(why));
    let folder = search.files.is_folder(path);
    if search.files.is_disk() && path == Path::new("-") {
        return open_pipe(path, &Pipe::new(path), search);
    }
    let main = if folder { path.join("data") } else { path.to_owned() };
    let (bytes, _) =
        files.trace(&main).map_err(|why| OpenError::new(&main, Problem::Unreadable(why)))?;
    let (mut more, mut unread) = (Vec::new(), Vec::new());
    if folder {
        for n in 0..limits::MAX_DATA_FILES {
            let part = path.join(format!("data.{n}"));
            if !search.files.is_file(&part) {
                break;
            }
            match files.trace(&part) {
                Ok((bytes, _)) => more.push(bytes),
                Err(why) => unread.push(format!("data.{n} cannot be read: {why}")),
            }
        }
    }
    let mut data = PerfData::read_with(&bytes, &more).map_err(|why| fail(&main, why.into()))?;
    data.problems.append(&mut unread);
    let mut kcore = None;
    if folder {
        let file = path.join("kcore_dir").join("kcore");
        if search.files.is_file(&file) {
            let read = files.open_named(&file).and_then(|bytes| {
                Elf::read(&bytes, "kcore", Load::default()).map_err(|error| error.to_string())
            });
            match read {
                Ok(elf) => kcore = Some(elf),
                Err(why) => data.problems.push(format!("kcore_dir/kcore cannot be read: {why}")),
            }
        }
    }
    let beside = if folder { path.join("data") } else { path.to_owned() };
    let mut finder = find::Finder::new(search, &beside, &mut files);
    let mut capture =
        capture(&data, path, &mut finder, kcore.as_ref()).map_err(|why| fail(path, why))?;
    capture.stamps = files.stamps;
    Ok(capture)
}

/// Reads the pipe `pipe`, called `path`, to its end into memory. The files of the recorded code are
/// found by `search`.
///
/// # Errors
/// [`OpenError`] where nothing can be decoded.
pub fn open_pipe(path: &Path, pipe: &Pipe, search: &Search) -> Result<Capture, OpenError> {
    let fail = |why: String| OpenError::new(path, Problem::Perf(why));
    let data = PerfData::read(&Bytes::from(pipe.all().to_vec())).map_err(|why| fail(why.into()))?;
    let mut files = search.open_files();
    let mut finder = find::Finder::new(search, Path::new(""), &mut files);
    let mut capture = capture(&data, path, &mut finder, None).map_err(fail)?;
    capture.stamps = files.stamps;
    Ok(capture)
}

/// The records of the file or folder at `path`, without what is made of them.
///
/// # Errors
/// [`OpenError`] where nothing of it can be used.
pub fn records(path: &Path) -> Result<PerfData, OpenError> {
    let source = Files::default();
    let folder = source.is_folder(path);
    let main = if folder { path.join("data") } else { path.to_owned() };
    let fail = |problem| OpenError::new(&main, problem);
    let mut files = OpenFiles::default();
    let (bytes, _) = files.trace(&main).map_err(|why| fail(Problem::Unreadable(why)))?;
    let parts = (0..limits::MAX_DATA_FILES).map(|n| path.join(format!("data.{n}")));
    let parts = parts.take_while(|part| folder && source.is_file(part));
    let more: Vec<Bytes> = parts.filter_map(|part| Some(files.trace(&part).ok()?.0)).collect();
    PerfData::read_with(&bytes, &more).map_err(|why| fail(Problem::Perf(why.into())))
}

/// Reads the bytes of a file, whose recorded code is not searched for.
///
/// # Errors
/// [`OpenError`] where nothing can be decoded.
pub fn from_bytes(bytes: &crate::Bytes) -> Result<Capture, OpenError> {
    let fail = |why: String| OpenError::new(Path::new("perf.data"), Problem::Perf(why));
    let data = PerfData::read(bytes).map_err(|why| fail(why.into()))?;
    let (mut files, search) = (OpenFiles::default(), Search::default());
    let mut finder = find::Finder::new(&search, Path::new(""), &mut files);
    capture(&data, Path::new("perf.data"), &mut finder, None).map_err(fail)
}

/// The names of the types of AUXTRACE_INFO.
fn trace_type(kind: u32) -> &'static str {
    match kind {
        1 => "Intel PT",
        2 => "Intel BTS",
        4 => "Arm SPE",
        5 => "s390 CPU-measurement",
        6 => "HiSilicon PTT",
        7 => "VPA",
        _ => "an unknown kind of",
    }
}

/// The trace units of the file.
fn units(data: &PerfData) -> Result<Units, String> {
    let found = data.records.iter().filter_map(|record| match &record.body {
        Body::AuxTraceInfo { kind, words } => Some((*kind, words)),
        _ => None,
    });
    // A file with several traces has one for each.
    match found.min_by_key(|(kind, _)| *kind != CS_ETM) {
        Some((CS_ETM, words)) => Ok(Units::read(words)?),
        Some((RISCV_TRACE, words)) => Ok(riscv::units(words)?),
        Some((kind, _)) => Err(format!(
            "it contains {} trace, and only CoreSight trace (cs_etm) can be decoded",
            trace_type(kind)
        )),
        None if data.features.contains_key(&features::BRANCH_LIST) => Err(
            "it contains a branch list in place of trace: `tracewright profile` and `tracewright \
                 merge` read it"
                .into(),
        ),
        None if data.attrs.iter().any(|attr| attr.sample_type & Attr::BRANCH_STACK != 0) => {
            Err("it contains samples with branches in place of trace: `tracewright profile` and \
                 `tracewright merge` read them"
                .into())
        }
        None => Err("it contains no processor trace: record with `perf record -e cs_etm//` or \
                     `simpleperf record -e cs-etm`"
            .into()),
    }
}

/// The trace ID of each CPU, and the sink.
type Ids = BTreeMap<u32, (u8, Option<u32>)>;

/// The trace ID of each CPU, and the sink, from AUX_OUTPUT_HW_ID records.
fn hardware_ids(data: &PerfData) -> Result<Ids, String> {
    let mut ids = BTreeMap::new();
    for record in &data.records {
        let Body::HardwareId(word) = record.body else { continue };
        let (major, minor) = (word >> 60, word >> 56 & 0xf);
        if major > 0 {
            return Err(format!(
                "its trace IDs are in a record of version {major}.{minor}, and 0.1 is the last \
                 known"
            ));
        }
        let sink = (minor >= 1).then_some((word >> 8) as u32);
        if let Some(cpu) = record.id.cpu {
            ids.insert(cpu, ((word & 0x7f) as u8, sink));
        }
    }
    Ok(ids)
}

fn capture(
    data: &PerfData,
    path: &Path,
    finder: &mut find::Finder<'_>,
    kcore: Option<&Elf>,
) -> Result<Capture, String> {
    let mut notes = Notes::default();
    let origin = Origin::file(path);
    let mut note = |problem: Problem| notes.add(origin.clone(), problem);
    for problem in &data.problems {
        note(Problem::PerfMissing(problem.clone()));
    }
    let units = units(data)?;
    let attr = data.attrs.iter().find(|attr| attr.kind == units.pmu).or(data.attrs.first());
    let timed = attr.is_some_and(|attr| {
        attr.sample_type & Attr::TIME != 0 && attr.flags & Attr::SAMPLE_ID_ALL != 0
    });
    let moment = |n: usize, record: &Record| match &record.body {
        Body::Fork(task) | Body::Exit(task) if timed => task.time,
        _ if timed => record.id.time.unwrap_or(0),
        _ => n as u64,
    };

    let mut pieces = Pieces::of(data, units.pmu);
    let ids = match units.are_riscv() {
        true => riscv::ids(&pieces.pieces, &units),
        false => hardware_ids(data)?,
    };
    pieces.report(&mut note);
    lost_records(data, &mut note);

    let record_moment = |piece: &Piece| {
        data.records.get(piece.record).map_or(0, |record| moment(piece.record, record))
    };
    pieces.pieces.sort_by_cached_key(|piece| {
        let time = if timed { record_moment(piece) } else { 0 };
        (time, piece.queue, piece.aux.offset)
    });
    pieces.truncate(&mut note);

    finder.knows_guests = units.cpus.values().any(Unit::traces_el2);
    finder.release = features::release(&data.features, data.big);
    let (spaces, further) = processes::address_spaces(data, finder, &moment, kcore);
    finder.problems.drain(..).chain(further).for_each(|problem| note(Problem::PerfData(problem)));
    missing_files(&spaces, finder, &mut note);
    let processes: BTreeSet<u32> = spaces.threads().map(|thread| thread.process).collect();
    let names = finder.names(&processes);
    for (process, names) in &names {
        note(Problem::PerfNote(format!(
            "the names of {} generated functions of process {process} are known",
            names.len()
        )));
    }
    let mut capture = Capture { kind: Kind::Perf, path: path.to_owned(), ..Capture::default() };
    let mut linux = Linux {
        about: features::about(&data.features, data.big),
        spaces: Arc::new(spaces),
        names,
        parts: Vec::new(),
        keys: Vec::new(),
        hosts: Vec::new(),
        cpus: units.cpus.keys().copied().collect(),
        modes: attr.map(Attr::modes).unwrap_or_default(),
        timed,
        conversion: data.records.iter().find_map(|record| match &record.body {
            Body::TimeConversion(conversion) => Some(*conversion),
            _ => None,
        }),
        kcore: kcore.is_some(),
        virtual_counter: units.cpus.values().all(|unit| unit.get("TS_SOURCE") == Some(1)),
        queues: BTreeMap::new(),
    };
    add_sources(&mut capture, &mut linux, &units, &ids);
    let traces = Traces { pieces: &pieces, units: &units, ids: &ids, path };
    traces.add(&mut capture, &mut linux, &record_moment, &mut note);
    if units.snapshot && !pieces.pieces.is_empty() {
        note(Problem::PerfNote("the trace is a snapshot: the end of each buffer".into()));
    }
    let traced = attr.is_none_or(|attr| attr.flags & Attr::EXCLUDE_KERNEL == 0);
    unknown_memory(&linux, traced, &mut note);
    capture.notes = notes.finish();
    capture.linux = Some(Box::new(linux));
    Ok(capture)
}

/// The trace of a file, and what decodes it.
struct Traces<'a> {
    pieces: &'a Pieces,
    units: &'a Units,
    ids: &'a Ids,
    path: &'a Path,
}

impl Traces<'_> {
    /// Adds a buffer for each piece, and its links to the sources of `capture`.
    fn add(
        &self,
        capture: &mut Capture,
        linux: &mut Linux,
        moment: &dyn Fn(&Piece) -> u64,
        note: &mut dyn FnMut(Problem),
    ) {
        let mut since: BTreeMap<Queue, u64> = BTreeMap::new();
        let of_id = SourcesById::new(capture, linux, self.ids);
        let (mut links, mut unlinked) = (0, 0u64);
        let mut block = Vec::new();
        let any_cpu = self.units.any_cpu();
        // AUX records without a CPU, whose trace has no trace ID.
        let mut without_cpu = 0u64;
        for piece in &self.pieces.pieces {
            let cpu = piece.cpu();
            let unit = cpu.or(any_cpu);
            let ete = unit
                .and_then(|cpu| linux.cpus.binary_search(&cpu).ok())
                .and_then(|n| capture.sources.get(n))
                .is_some_and(|source| source.device_type == "ETE");
            let raw = piece.aux.flags & Aux::FORMAT == Aux::RAW || self.pieces.whole && ete;
            let index = capture.buffers.len();
            without_cpu += u64::from(raw && cpu.is_none());
            let traced = Traced {
                cpu: if raw { unit } else { cpu },
                raw,
                found: if raw { BTreeSet::new() } else { piece.ids(&mut block) },
                sink: cpu.and_then(|cpu| self.ids.get(&cpu)).and_then(|(_, sink)| *sink),
            };
            let mut of_piece = of_id.of(&traced, linux, self.ids);
            unlinked += u64::from(of_piece.len() > limits::MAX_LINKS - links);
            of_piece.truncate(limits::MAX_LINKS - links);
            links += of_piece.len();
            of_piece.sort_unstable();
            for &n in &of_piece {
                if let Some(source) = capture.sources.get_mut(n) {
                    source.buffers.push(BufferRef { buffer: index, stream: None });
                }
            }
            let totals: &mut QueueTotals = linux.queues.entry(piece.queue).or_default();
            totals.records += 1;
            totals.bytes += piece.aux.size;
            let lost = piece.aux.flags & (Aux::TRUNCATED | Aux::PARTIAL | Aux::COLLISION);
            totals.losses += u64::from(lost != 0);
            let name = name(piece, index);
            if lost != 0 {
                note(Problem::PerfLoss(format!("{name}: {}", loss(lost))));
            }
            linux.parts.push(Part {
                queue: piece.queue,
                cpu,
                thread: piece.thread(),
                moment: moment(piece),
                sources: of_piece,
                since: since.insert(piece.queue, moment(piece)).unwrap_or(0),
                offset: piece.aux.offset,
                flags: piece.aux.flags,
                lost: lost != 0 || self.units.snapshot,
            });
            capture.buffers.push(buffer(name, piece, raw, self.path));
        }
        if unlinked > 0 {
            note(Problem::PerfData(format!(
                "more than {} pairs of a trace unit and an AUX record with its trace: of the last \
                 {unlinked} AUX records, some trace is not decoded",
                limits::MAX_LINKS
            )));
        }
        if without_cpu > 0 && self.units.cpus.len() > 1 {
            note(Problem::PerfData(unknown_cpus(without_cpu, any_cpu)));
        }
    }
}

/// Notes why program memory may be another than that of the trace. The kernel may be `traced`.
fn unknown_memory(linux: &Linux, traced: bool, note: &mut dyn FnMut(Problem)) {
    let kernel = linux.spaces.modules().iter().any(|module| module.path == kernel::KERNEL);
    if kernel && traced && !linux.kcore {
        note(Problem::PerfNote(
            "the kernel is traced, and there is no copy of its memory (perf record --kcore): the \
             instructions that it replaced in its code (alternatives, ftrace, static keys) are not \
             known"
                .into(),
        ));
    }
    if !linux.timed {
        note(Problem::PerfNote(
            "the records have no times: memory is that at the position of each record in the file"
                .into(),
        ));
    }
}

/// The note on AUX records of a system with several CPUs whose CPU is not recorded.
fn unknown_cpus(records: u64, any_cpu: Option<u32>) -> String {
    match any_cpu {
        Some(cpu) => format!(
            "{records} AUX records with trace of a TRBE have no CPU: as the trace units of all CPUs \
             are equal, they are decoded as trace of cpu{cpu}"
        ),
        None => format!(
            "{records} AUX records with trace of a TRBE have no CPU, and are not decoded, as the \
             trace units of the CPUs differ: perf record --sample-cpu records it"
        ),
    }
}

/// Adds the trace unit of each CPU, and its core.
fn add_sources(capture: &mut Capture, linux: &mut Linux, units: &Units, ids: &Ids) {
    for (&cpu, unit) in &units.cpus {
        let id = ids.get(&cpu).map(|(id, _)| *id);
        let mut source = unit.source(cpu, id);
        source.core = Some(capture.cores.len());
        source.path.clone_from(&capture.path);
        let v7 = ["ETM3", "PTM"].contains(&source.device_type.as_str());
        let architecture = if v7 { "ARMv7-A" } else { "ARMv8-A" };
        capture.cores.push(Core {
            name: format!("core{cpu}"),
            device_type: if units.are_riscv() { "RISC-V" } else { architecture }.into(),
            path: capture.path.clone(),
            ..Core::default()
        });
        let el2 = unit.traces_el2();
        linux.keys.push(if el2 { ContextKey::Vmid } else { ContextKey::ContextId });
        // Linux writes the number of the thread to CONTEXTIDR_EL2 where its kernel is at EL2.
        linux.hosts.push(match (v7, el2) {
            (true, _) => Host::Any,
            (false, true) => Host::El2,
            (false, false) => Host::NonSecure,
        });
        capture.sources.push(source);
    }
}

/// The buffer with the bytes of `piece` in the file at `path`.
fn buffer(name: String, piece: &Piece, raw: bool, path: &Path) -> Buffer {
    let files = piece.parts.iter().map(|bytes| File {
        name: line(&path.to_string_lossy()).into_owned(),
        path: path.to_owned(),
        bytes: bytes.clone(),
        pipe: None,
        spooled: false,
    });
    let format = if raw { Format::SourceData } else { Format::CoreSight };
    Buffer { name, files: files.collect(), format, device: None, sink: None }
}

/// What the trace of a buffer is from.
struct Traced {
    /// The CPU of the AUX record.
    cpu: Option<u32>,
    /// The trace is of that CPU, without frames.
    raw: bool,
    /// The trace IDs in the frames.
    found: BTreeSet<u16>,
    /// The sink of the CPU.
    sink: Option<u32>,
}

/// The sources by their trace IDs.
#[derive(Default)]
struct SourcesById {
    /// All of them.
    all: HashMap<u16, Vec<usize>>,
    /// Those of one sink. A source without a known sink is not among them.
    of_sink: HashMap<(u16, Option<u32>), Vec<usize>>,
}

impl SourcesById {
    fn new(capture: &Capture, linux: &Linux, ids: &Ids) -> SourcesById {
        let mut sources = SourcesById::default();
        for (n, (source, cpu)) in capture.sources.iter().zip(&linux.cpus).enumerate() {
            let id = ["TRCTRACEIDR", "ETMTRACEIDR", "trace_id"];
            let id = id.iter().find_map(|name| source.register(name));
            let id = id.map_or(0, |id| id as u16 & 0x7f);
            let sink = ids.get(cpu).map(|(_, sink)| *sink);
            if ids.is_empty() || sink.is_some() {
                sources.all.entry(id).or_default().push(n);
            }
            if let Some(sink) = sink {
                sources.of_sink.entry((id, sink)).or_default().push(n);
            }
        }
        sources
    }

    /// The sources that the buffer may have trace of.
    fn of(&self, traced: &Traced, linux: &Linux, ids: &Ids) -> Vec<usize> {
        if traced.raw || traced.found.is_empty() {
            let known = |cpu: &u32| traced.raw || ids.is_empty() || ids.contains_key(cpu);
            let own = traced.cpu.filter(known);
            let own = own.and_then(|cpu| linux.cpus.binary_search(&cpu).ok());
            return own.into_iter().collect();
        }
        let of_id = traced.found.iter().filter_map(|id| match traced.sink {
            None => self.all.get(id),
            sink => self.of_sink.get(&(*id, sink)),
        });
        of_id.flatten().copied().collect()
    }
}

/// The name of a buffer: its queue and its position in it.
fn name(piece: &Piece, index: usize) -> String {
    let offset = piece.aux.offset;
    match piece.queue {
        Queue::Cpu(cpu) => format!("cpu{cpu}@{offset:#x}#{index}"),
        Queue::Thread(thread) => format!("thread{thread}@{offset:#x}#{index}"),
    }
}

/// The loss that flags of an AUX record report.
fn loss(flags: u64) -> String {
    let mut reasons = Vec::new();
    if flags & Aux::TRUNCATED != 0 {
        reasons.push("the buffer was full (TRUNCATED)");
    }
    if flags & Aux::PARTIAL != 0 {
        reasons.push("it has gaps (PARTIAL)");
    }
    if flags & Aux::COLLISION != 0 {
        reasons.push("the buffer wrapped (COLLISION)");
    }
    format!("trace was lost: {}", reasons.join(", "))
}

/// Notes about records that were lost.
fn lost_records(data: &PerfData, note: &mut dyn FnMut(Problem)) {
    let (mut lost, mut first) = (0u64, None);
    for record in &data.records {
        let count = match record.body {
            Body::Lost { count, .. } | Body::LostSamples(count) => count,
            _ => continue,
        };
        lost = lost.saturating_add(count);
        first = first.or(record.id.time);
    }
    if lost > 0 {
        let time = first.map_or(String::new(), |time| format!(" from time {time} ns on"));
        note(Problem::PerfMissing(format!(
            "{lost} records were lost{time}: mappings and names of processes may be missing"
        )));
    }
}

/// A note on the files that were not found, and one for each that may be beside the capture.
fn missing_files(
    spaces: &tracewright_image::AddressSpaces,
    finder: &find::Finder<'_>,
    note: &mut dyn FnMut(Problem),
) {
    let missing: Vec<_> = spaces.modules().iter().filter(|m| m.found.is_none()).collect();
    for module in &missing {
        if let Some(file) = finder.beside_capture(&module.path) {
            note(Problem::PerfData(format!(
                "{} has the name of {}, for which no build ID is recorded: if it is that file, \
                 {BINARY} {} uses it",
                file.display(),
                module.path,
                file.display()
            )));
        }
    }
    if let Some(first) = missing.first() {
        note(Problem::PerfFiles(format!(
            "{} of {} mapped files were not found, the first: {}; give them with {SYMFS} FOLDER or \
             {BINARY} FILE (`tracewright info` lists them)",
            missing.len(),
            spaces.modules().len(),
            processes::missing(first)
        )));
    }
}

/// The folder of perf's cache of files by build identifier, below the home folder.
pub fn cache_in(home: &Path) -> PathBuf {
    home.join(".debug")
}
