//! The branch list of simpleperf: the sequences of branches that were traced, and how often each
//! was executed. (simpleperf/branch_list.proto and BranchListFile.cpp at 9bc2f38b)
//!
//! A file of version 1 has a header of 24 bytes, the version, whether its messages are compressed,
//! and messages `BranchList` after their lengths, of which those with trace have no `magic`
//! (`BranchListProtoWriter::Write`). An older file is one message. A message has for
//! each program file the addresses from which branches were counted, and for each the sequences of
//! branches: a bit for each waypoint, set where it is a branch that was taken, and the count. The
//! path follows from the program file.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::Arc;

use tracewright_base::Invalid;
use tracewright_image::{Elf, Image, Module, ModuleFile};

use super::compressed;
use super::data::PerfData;
use super::features;
use super::find::{self, Code, Finder, Search};
use super::limits::{Budget, MAX_LISTED, MAX_SEQUENCES};
use super::listed_samples::ListedSamples;
use crate::open_files::OpenFiles;
use crate::problem::{OpenError, Problem};
use crate::proto::{Message, Value, fields};

/// The first bytes of a file, and the field `magic` of a message.
const MAGIC: &[u8; 24] = b"simpleperf:EtmBranchList";
/// The first bytes of a message: the key of field 1, and the length of the text.
const MESSAGE: [u8; 2] = [0x0a, MAGIC.len() as u8];
/// The field of a message with samples of a branch record buffer.
const SAMPLES: u64 = 3;
/// The version of the file.
const VERSION: u32 = 1;

/// The branches of program files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BranchList {
    /// The program files.
    pub binaries: Vec<ListedBinary>,
    /// Samples of a branch record buffer (LBR).
    pub sampled: ListedSamples,
}

/// The branches of one program file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListedBinary {
    /// The path on the traced machine.
    pub path: String,
    /// The build identifier; empty where it is not known.
    pub build_id: Vec<u8>,
    /// The kind of file.
    pub kind: BinaryKind,
    /// The address of the kernel in memory; 0 where the addresses are those in the file.
    pub kernel_start: u64,
    /// The sequences of branches.
    pub sequences: Vec<Sequence>,
}

/// The kind of a program file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum BinaryKind {
    /// A program or a shared library.
    #[default]
    Program,
    /// The kernel.
    Kernel,
    /// A module of the kernel.
    Module,
}

/// Branches that were executed one after another.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sequence {
    /// The address of the first instruction. Bit 0 is set for T32.
    pub address: u64,
    /// A bit for each waypoint, set where it is a branch that was taken. Bit 0 of the first byte is
    /// the first.
    pub bits: Vec<u8>,
    /// The number of waypoints.
    pub len: u32,
    /// The number of executions.
    pub count: u64,
}

impl Sequence {
    /// The path that it describes. The list of a profile has the same order.
    fn key(&self) -> (u64, &[u8], u32) {
        (self.address, &self.bits, self.len)
    }
}

impl BranchList {
    /// Whether a file with these first bytes is a branch list.
    pub fn is_at(head: &[u8]) -> bool {
        head.starts_with(MAGIC)
            || head.strip_prefix(&MESSAGE).is_some_and(|rest| rest.starts_with(MAGIC))
    }

    /// Reads a file.
    ///
    /// # Errors
    /// Why it cannot be read.
    pub fn read(bytes: &[u8]) -> Result<BranchList, Invalid> {
        let (mut list, mut counts) = (BranchList::default(), Counts::default());
        let Some(rest) = bytes.strip_prefix(MAGIC) else {
            if !bytes.starts_with(&MESSAGE) {
                return Err("it is not a branch list".into());
            }
            list.message(bytes, &mut counts)?;
            return Ok(list);
        };
        let short = "it ends within its header";
        let (version, rest) = rest.split_first_chunk().ok_or(short)?;
        let version = u32::from_le_bytes(*version);
        if version != VERSION {
            return Err(format!("it has version {version}, and {VERSION} is known").into());
        }
        let (packed, mut rest) = rest.split_first().ok_or(short)?;
        let mut budget = Budget::of_list(bytes.len() as u64);
        while let Some((len, after)) = rest.split_first_chunk() {
            let len = u32::from_le_bytes(*len) as usize;
            let (message, after) = after.split_at_checked(len).ok_or("it ends within a message")?;
            match packed {
                0 => list.message(message, &mut counts)?,
                _ => {
                    let message = compressed::unpack(message, &mut budget)?;
                    list.message(&message, &mut counts)?;
                }
            }
            rest = after;
        }
        if !rest.is_empty() {
            return Err("it ends within the length of a message".into());
        }
        Ok(list)
    }

    /// Adds the message `BranchList`.
    fn message(&mut self, bytes: &[u8], counts: &mut Counts) -> Result<(), String> {
        let mut known = bytes.is_empty();
        for (field, value) in fields(bytes) {
            known |= matches!((field, &value), (1..=SAMPLES, Value::Bytes(_)));
            match (field, value) {
                (1, Value::Bytes(magic)) if magic != MAGIC => {
                    return Err("a message of it is not a branch list".into());
                }
                (2, Value::Bytes(binary)) => {
                    let binary = ListedBinary::read(binary, &mut counts.sequences)?;
                    self.binaries.push(binary);
                    if self.binaries.len() > MAX_LISTED {
                        return Err(format!("it has more than {MAX_LISTED} program files"));
                    }
                }
                (SAMPLES, Value::Bytes(samples)) => {
                    self.sampled.add(ListedSamples::read(samples, &mut counts.branches)?);
                }
                _ => {}
            }
        }
        if !known {
            return Err("a message of it is not a branch list".into());
        }
        Ok(())
    }

    /// Writes a file of version 1 without compression.
    pub fn write(&self) -> Vec<u8> {
        let mut list = Message::default();
        list.bytes(1, MAGIC);
        for binary in &self.binaries {
            list.bytes(2, &binary.write().0);
        }
        if !self.sampled.samples.is_empty() {
            list.bytes(SAMPLES, &self.sampled.write().0);
        }
        let mut out = MAGIC.to_vec();
        out.extend(VERSION.to_le_bytes());
        out.push(0);
        out.extend((list.0.len() as u32).to_le_bytes());
        out.extend(list.0);
        out
    }

    /// Adds another list. A program file of both is one, and so is a sequence: its counts are
    /// summed. Returns whether a sum was larger than `u64::MAX`, and is that number.
    pub fn add(&mut self, other: BranchList) -> bool {
        let mut known = HashMap::new();
        for (n, binary) in self.binaries.iter().enumerate() {
            known.entry(binary.key()).or_insert(n);
        }
        for binary in other.binaries {
            match known.get(&binary.key()).and_then(|n| self.binaries.get_mut(*n)) {
                Some(own) => own.sequences.extend(binary.sequences),
                None => {
                    known.insert(binary.key(), self.binaries.len());
                    self.binaries.push(binary);
                }
            }
        }
        self.sampled.add(other.sampled);
        let mut any = false;
        self.binaries.iter_mut().for_each(|binary| any |= binary.sum());
        any
    }
}

/// What was read of all messages.
#[derive(Default)]
struct Counts {
    sequences: usize,
    branches: usize,
}

impl ListedBinary {
    /// What distinguishes it from other program files.
    fn key(&self) -> (String, Vec<u8>, BinaryKind, u64) {
        (self.path.clone(), self.build_id.clone(), self.kind, self.kernel_start)
    }

    /// Sums the counts of equal sequences. Returns whether a sum was too large.
    fn sum(&mut self) -> bool {
        let mut saturated = false;
        self.sequences.sort_by(|a, b| a.key().cmp(&b.key()));
        self.sequences.dedup_by(|later, first| {
            let equal = later.key() == first.key();
            if equal {
                saturated |= first.count.checked_add(later.count).is_none();
                first.count = first.count.saturating_add(later.count);
            }
            equal
        });
        saturated
    }

    /// Reads the message `ETMBinary`. `sequences` counts the sequences.
    fn read(bytes: &[u8], sequences: &mut usize) -> Result<ListedBinary, String> {
        let mut binary = ListedBinary::default();
        for (field, value) in fields(bytes) {
            match (field, value) {
                (1, Value::Bytes(path)) => binary.path = String::from_utf8_lossy(path).into_owned(),
                (2, Value::Bytes(id)) => binary.build_id = find::from_hex(id).unwrap_or_default(),
                (3, Value::Bytes(address)) => binary.address(address, sequences)?,
                (4, Value::Number(kind)) => {
                    binary.kind = match kind {
                        0 => BinaryKind::Program,
                        1 => BinaryKind::Kernel,
                        2 => BinaryKind::Module,
                        other => return Err(format!("{other} is no kind of program file")),
                    };
                }
                (5, Value::Bytes(kernel)) => {
                    for (field, value) in fields(kernel) {
                        if let (1, Value::Number(start)) = (field, value) {
                            binary.kernel_start = start;
                        }
                    }
                }
                _ => {}
            }
        }
        Ok(binary)
    }

    /// Reads the message `Address`. `sequences` counts the sequences.
    fn address(&mut self, bytes: &[u8], sequences: &mut usize) -> Result<(), String> {
        let first = self.sequences.len();
        let mut start = 0;
        for (field, value) in fields(bytes) {
            match (field, value) {
                (1, Value::Number(address)) => start = address,
                (2, Value::Bytes(branch)) => {
                    let mut sequence = Sequence::default();
                    for (field, value) in fields(branch) {
                        match (field, value) {
                            (1, Value::Bytes(bits)) => sequence.bits = bits.to_vec(),
                            (2, Value::Number(len)) => {
                                sequence.len = u32::try_from(len).unwrap_or(u32::MAX);
                            }
                            (3, Value::Number(count)) => sequence.count = count,
                            _ => {}
                        }
                    }
                    if sequence.bits.len() < sequence.len.div_ceil(8) as usize {
                        return Err("a sequence has more branches than bits".into());
                    }
                    *sequences += 1;
                    if *sequences > MAX_SEQUENCES {
                        return Err(format!("it has more than {MAX_SEQUENCES} sequences"));
                    }
                    self.sequences.push(sequence);
                }
                _ => {}
            }
        }
        for sequence in self.sequences.iter_mut().skip(first) {
            sequence.address = start;
        }
        Ok(())
    }

    /// Writes the message `ETMBinary`.
    fn write(&self) -> Message {
        let mut message = Message::default();
        message.text(1, &self.path);
        message.text(2, &find::hex(&self.build_id));
        let mut addresses: BTreeMap<u64, Vec<&Sequence>> = BTreeMap::new();
        for sequence in &self.sequences {
            addresses.entry(sequence.address).or_default().push(sequence);
        }
        for (address, sequences) in addresses {
            let mut entry = Message::default();
            entry.number(1, address);
            for Sequence { bits, len, count, .. } in sequences {
                let mut branch = Message::default();
                branch.bytes(1, bits);
                branch.number(2, (*len).into());
                branch.number(3, *count);
                entry.bytes(2, &branch.0);
            }
            message.bytes(3, &entry.0);
        }
        message.number(4, self.kind as u64);
        if self.kernel_start != 0 {
            let mut kernel = Message::default();
            kernel.number(1, self.kernel_start);
            message.bytes(5, &kernel.0);
        }
        message
    }
}

/// A program file of a list, and its code at the addresses of the list.
#[derive(Clone, Debug)]
pub struct ListedProgram {
    /// The branches.
    pub binary: ListedBinary,
    /// The file.
    pub file: ModuleFile,
    /// Its code, at the addresses in the file; `None` where it was not found.
    pub code: Option<Arc<Image>>,
    /// `e_machine` of the file.
    pub machine: Option<u16>,
    /// What is subtracted from the addresses of the list.
    pub bias: u64,
}

/// The branches of a list, and the program files that they are in.
#[derive(Clone, Debug, Default)]
pub struct FoundList {
    /// The program files with sequences of branches.
    pub programs: Vec<ListedProgram>,
    /// The samples of a branch record buffer.
    pub sampled: ListedSamples,
    /// The program files of the samples, in the same order.
    pub sampled_programs: Vec<ListedProgram>,
    /// What is wrong with the program files.
    pub problems: Vec<String>,
}

/// The branch list at `path`, or in the `perf.data` file at `path`. `None`: the file has no branch
/// list.
///
/// # Errors
/// [`OpenError`] where the branch list cannot be read.
pub fn branch_list(path: &Path) -> Option<Result<BranchList, OpenError>> {
    read_list(path, &mut OpenFiles::default())
}

fn read_list(path: &Path, files: &mut OpenFiles) -> Option<Result<BranchList, OpenError>> {
    if !files.source().is_file(path) {
        return None;
    }
    let (bytes, _) = files.trace(path).ok()?;
    let head = bytes.head(MAGIC.len() + MESSAGE.len());
    let read = if BranchList::is_at(&head) {
        BranchList::read(&bytes)
    } else if head.starts_with(b"PERFILE2") || head.starts_with(b"2ELIFREP") {
        let data = PerfData::read(&bytes).ok()?;
        BranchList::read(data.features.get(&features::BRANCH_LIST)?)
    } else {
        return None;
    };
    Some(read.map_err(|why| {
        OpenError::new(path, Problem::Perf(format!("it has a branch list that is damaged: {why}")))
    }))
}

/// The [`branch_list`] at `path`, with its program files, which `search` finds.
///
/// # Errors
/// [`OpenError`] where the branch list cannot be read.
pub fn found_list(path: &Path, search: &Search) -> Option<Result<FoundList, OpenError>> {
    let mut files = search.open_files();
    let BranchList { binaries, sampled } = match read_list(path, &mut files)? {
        Ok(list) => list,
        Err(error) => return Some(Err(error)),
    };
    let sampled_binaries = sampled.binaries.iter().map(|binary| ListedBinary {
        path: binary.path.clone(),
        build_id: binary.build_id.clone(),
        kind: if binary.path.starts_with(KERNEL) {
            BinaryKind::Kernel
        } else {
            BinaryKind::Program
        },
        ..ListedBinary::default()
    });
    let count = binaries.len();
    let all: Vec<ListedBinary> = binaries.into_iter().chain(sampled_binaries).collect();
    let mut finder = Finder::new(search, path, &mut files);
    let (mut programs, mut parts, mut omitted) = (Vec::new(), 0, 0);
    for (n, binary) in (0..).zip(all) {
        if parts > MAX_PARTS {
            omitted += 1;
            let (code, machine, bias) = (None, None, 0);
            let file = find::module_file(&binary.path, None, None, false);
            programs.push(ListedProgram { binary, file, code, machine, bias });
            continue;
        }
        let program = program(&mut finder, n, binary);
        let regions = program.code.as_ref().map_or(0, |code| code.regions().len());
        parts += regions + program.file.symbols.len();
        programs.push(program);
    }
    if omitted > 0 {
        finder.problems.push(format!(
            "the last {omitted} program files are not searched for: the others have more than \
             {MAX_PARTS} symbols and parts"
        ));
    }
    finder.report_unused(false);
    let sampled_programs = programs.split_off(count);
    Some(Ok(FoundList { programs, sampled, sampled_programs, problems: finder.problems }))
}

/// What the path of the kernel begins with.
const KERNEL: &str = "[kernel.kallsyms]";

/// The most symbols and parts of all program files.
const MAX_PARTS: usize = 1 << 22;

/// Finds the program file of `binary`.
fn program(finder: &mut Finder<'_>, index: u32, binary: ListedBinary) -> ListedProgram {
    let id = Some(binary.build_id.as_slice()).filter(|id| !id.is_empty());
    let found = finder.find(&binary.path, id);
    let kernel = binary.kind != BinaryKind::Program;
    let file = find::module_file(&binary.path, id, found.as_ref(), kernel);
    let (mut code, mut machine, mut bias) = (None, None, 0);
    let module = Module { index, bias: 0 };
    match found.map(|found| (found.code, found.bytes)) {
        Some((Code::Elf(elf), bytes)) => {
            // The start of the kernel is `_stext`: simpleperf records that of its mapping.
            let linked = Elf::address_of(&bytes, "_stext");
            bias = match (binary.kernel_start, linked) {
                (0, _) => 0,
                (start, Some(linked)) => start.wrapping_sub(linked),
                (_, None) => {
                    finder.problems.push(format!(
                        "{}: where the kernel was in memory is not known, and its code is not used: \
                         it has no symbol _stext",
                        file.found.as_deref().unwrap_or(Path::new("")).display()
                    ));
                    return ListedProgram { binary, file, code, machine, bias };
                }
            };
            machine = Some(elf.machine);
            let regions = elf.regions.iter().cloned().map(|region| region.of_module(module));
            code = Some(Arc::new(Image::new(regions)));
        }
        Some((Code::Object(object), _)) => {
            /// EM_AARCH64.
            const AARCH64: u16 = 183;
            machine = Some(AARCH64);
            let (regions, _) = object.regions(&Arc::from(binary.path.as_str()), 0, &|_| None);
            let regions = regions.into_iter().map(|region| region.of_module(module));
            code = Some(Arc::new(Image::new(regions)));
        }
        Some((Code::Raw | Code::Jit(_) | Code::Archive(_), _)) | None => {}
    }
    ListedProgram { binary, file, code, machine, bias }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list() -> BranchList {
        let sequence = |address, bits: &[u8], len, count| Sequence {
            address,
            bits: bits.to_vec(),
            len,
            count,
        };
        BranchList {
            binaries: vec![
                ListedBinary {
                    path: "/bin/a".into(),
                    build_id: vec![0xab; 20],
                    sequences: vec![
                        sequence(0, &[1], 1, 1),
                        sequence(0x1000, &[0b101], 3, 7),
                        sequence(0x1000, &[0xff, 1], 9, u64::MAX),
                    ],
                    ..ListedBinary::default()
                },
                ListedBinary {
                    path: "[kernel.kallsyms]".into(),
                    kind: BinaryKind::Kernel,
                    kernel_start: 0xffff_ffe8_a4a1_0000,
                    sequences: vec![sequence(0xffff_ffe8_a4a1_0001, &[0], 2, 1)],
                    ..ListedBinary::default()
                },
            ],
            sampled: ListedSamples::default(),
        }
    }

    #[test]
    fn a_list_is_read_as_it_was_written() {
        let bytes = list().write();
        assert!(BranchList::is_at(&bytes));
        assert_eq!(BranchList::read(&bytes), Ok(list()));
        // The older form, and several compressed messages.
        let message = &bytes[MAGIC.len() + 9..];
        assert!(BranchList::is_at(message));
        assert_eq!(BranchList::read(message), Ok(list()));
        let packed = compressed::pack(message);
        let mut twice = MAGIC.to_vec();
        twice.extend([1, 0, 0, 0, 1]);
        for _ in 0..2 {
            twice.extend((packed.len() as u32).to_le_bytes());
            twice.extend(&packed);
        }
        let binaries = [list().binaries, list().binaries].concat();
        let both = BranchList { binaries, ..BranchList::default() };
        assert_eq!(BranchList::read(&twice), Ok(both));
    }

    /// A program file and a sequence take two bytes each.
    #[test]
    fn the_parts_of_a_list_are_bounded() {
        let mut head = Message::default();
        head.bytes(1, MAGIC);
        let files = [head.0.clone(), [0x12, 0].repeat(MAX_LISTED + 1)].concat();
        assert_eq!(BranchList::read(&files), Err("it has more than 16384 program files".into()));
        let (mut binary, mut list) = (Message::default(), head);
        binary.bytes(3, &[0x12, 0].repeat(MAX_SEQUENCES + 1));
        list.bytes(2, &binary.0);
        assert_eq!(BranchList::read(&list.0), Err("it has more than 4194304 sequences".into()));
    }

    /// A file of version 1 with these messages.
    fn file(messages: &[&[u8]]) -> Vec<u8> {
        let mut out = [&MAGIC[..], &[1, 0, 0, 0, 0]].concat();
        for message in messages {
            out.extend((message.len() as u32).to_le_bytes());
            out.extend(*message);
        }
        out
    }

    /// simpleperf writes `magic` in messages with samples only. (BranchListFile.cpp,
    /// `BranchListProtoWriter::Write(const ETMBinaryMap&)`)
    #[test]
    fn messages_with_trace_have_no_magic() {
        let bytes = list().write();
        let message = &bytes[MAGIC.len() + 9 + MESSAGE.len() + MAGIC.len()..];
        assert_eq!(BranchList::read(&file(&[message])), Ok(list()));
        assert_eq!(BranchList::read(&file(&[])), Ok(BranchList::default()));
        let mut other = Message::default();
        other.text(1, "other");
        for bytes in [other.0.as_slice(), &[0xff; 8], b"\x08\x01"] {
            let found = BranchList::read(&file(&[bytes]));
            assert!(found.unwrap_err().to_string().contains("not a branch list"), "{bytes:x?}");
            assert!(BranchList::read(bytes).unwrap_err().to_string().contains("not a branch list"));
        }
    }

    /// Samples beside sequences, in messages of their own in either order, and alone.
    #[test]
    fn samples_beside_trace_are_read() {
        let samples = b"\x0a\x04\x08\x01\x10\x20\x0a\x04\x08\x01\x10\x24\x12\x03\x0a\x01a";
        let mut message = Message::default();
        message.bytes(1, MAGIC);
        message.bytes(3, samples);
        let sampled = ListedSamples::read(samples, &mut 0).unwrap();
        assert_eq!(sampled.samples.len(), 2);
        let bytes = list().write();
        let trace = &bytes[MAGIC.len() + 9..];
        let want = BranchList { sampled: sampled.clone(), ..list() };
        for messages in [[&message.0[..], trace], [trace, &message.0[..]]] {
            assert_eq!(BranchList::read(&file(&messages)), Ok(want.clone()));
        }
        assert_eq!(BranchList::read(&want.write()), Ok(want));
        for only in [message.0.clone(), file(&[&message.0])] {
            let want = BranchList { sampled: sampled.clone(), ..BranchList::default() };
            assert_eq!(BranchList::read(&only), Ok(want));
        }
    }

    #[test]
    fn lists_are_summed() {
        let mut sum = list();
        let mut other = list();
        other.binaries[0].path = "/bin/b".into();
        other.binaries[1].sequences[0].count = 4;
        assert!(!sum.add(other.clone()));
        let [a, kernel] = &list().binaries[..] else { panic!() };
        assert_eq!(sum.binaries[0], *a);
        let mut kernel = kernel.clone();
        kernel.sequences[0].count = 5;
        assert_eq!(sum.binaries[1..], [kernel, other.binaries[0].clone()]);
        // A sequence of the maximum, twice.
        assert!(sum.add(list()));
        assert_eq!(
            sum.binaries[0].sequences.iter().map(|s| s.count).collect::<Vec<_>>(),
            [2, 14, u64::MAX]
        );
    }

    #[test]
    fn damage_is_an_error_or_a_shorter_list() {
        let bytes = list().write();
        for len in 0..bytes.len() {
            if let Ok(read) = BranchList::read(&bytes[..len]) {
                assert!(read.binaries.len() < 2, "{len}");
            }
        }
        let mut other = bytes.clone();
        other[24] = 2;
        assert!(BranchList::read(&other).unwrap_err().to_string().contains("version 2"));
        let mut wrong = list();
        wrong.binaries[0].sequences[0].len = 9;
        assert!(
            BranchList::read(&wrong.write())
                .unwrap_err()
                .to_string()
                .contains("more branches than bits")
        );
    }
}
