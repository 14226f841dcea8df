//! Problems of a capture: their origin, their description, and the remedy.

use std::error::Error;
use std::fmt::{self, Write};
use std::path::{Path, PathBuf};

use tracewright_base::Isa;

use crate::container::Container;
use crate::origin::Origin;
use crate::plain::Line;

/// The severity of a [`Note`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// No data are lost.
    Info,
    /// A value was assumed or skipped; the result may differ from the intended one.
    Warning,
    /// Something that the capture refers to could not be read.
    Error,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Severity::Info => "info",
            Severity::Warning => "warning",
            Severity::Error => "error",
        })
    }
}

/// A problem of a capture that did not prevent reading it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// The origin of the problem.
    pub origin: Origin,
    /// The problem.
    pub problem: Problem,
}

impl Note {
    /// The severity of the problem.
    pub fn severity(&self) -> Severity {
        self.problem.severity()
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(Line(f), "{}{}", self.origin, self.problem)
    }
}

/// The error where nothing can be decoded, or nothing written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenError {
    /// The origin of the problem.
    pub origin: Box<Origin>,
    /// The problem.
    pub problem: Box<Problem>,
}

impl OpenError {
    /// A problem of the file or folder at `path`.
    pub fn new(path: &Path, problem: Problem) -> Self {
        OpenError::at(Origin::file(path), problem)
    }

    /// A problem at `origin`.
    pub fn at(origin: Origin, problem: Problem) -> Self {
        OpenError { origin: Box::new(origin), problem: Box::new(problem) }
    }
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(Line(f), "{}{}", self.origin, self.problem)
    }
}

impl Error for OpenError {}

/// A problem of a capture. Its text states what was found, and after a colon or semicolon what to
/// do.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Problem {
    // The format of a path.
    /// A file or folder cannot be read, for this reason.
    Unreadable(String),
    /// A file or folder cannot be written, for this reason.
    NotWritten(String),
    /// A folder has no index.
    NoIndex,
    /// An ini file of a snapshot has no index in its folder.
    NoIndexBeside,
    /// A file that describes the capture is too large.
    TooLarge {
        /// Its size in bytes.
        size: u64,
        /// The limit.
        limit: u64,
    },
    /// The files that describe the capture are together larger than this number of bytes.
    TooManyDescriptions(u64),
    /// The capture has more of these than the number.
    TooMany(&'static str, usize),
    /// A file that the capture refers to is not in its folder.
    Outside(String),
    /// A file that describes the capture is not in its folder, and was not read.
    OutsideDescription(String),
    /// A file changed after it was opened.
    Changed {
        /// Its size in bytes when it was opened.
        len: u64,
    },
    /// Further problems of a kind.
    Repeated {
        /// Their number.
        count: usize,
        /// The first of them.
        first: Box<Problem>,
    },
    /// Nothing of a perf.data file can be decoded, for this reason.
    Perf(String),
    /// Content of a perf.data file cannot be used, or needs another file.
    PerfData(String),
    /// Trace or records are not in a perf.data file: it is cut or damaged, or they were lost.
    PerfMissing(String),
    /// Mapped files of a perf.data file were not found.
    PerfFiles(String),
    /// An AUX record reports a loss.
    PerfLoss(String),
    /// A remark on a perf.data file.
    PerfNote(String),
    /// The file is an ELF file.
    Program,
    /// The file is recognised, and holds no trace data as it is.
    Container(Container),
    /// The bytes of the file are a program of this instruction set.
    Code(Isa),
    /// The bytes of the file are text of this kind.
    Text(&'static str),
    /// The file has memory in a form that is converted.
    Converted(Conversion),
    /// The file has memory in a form that is known, and cannot be read for this reason.
    Memory(String),
    /// The file is an execution log of the format with this name.
    Log(&'static str),
    /// The file has no format that identifies itself.
    NeedsProtocol,
    /// There are no bytes of trace data.
    Empty,
    /// No framing and protocol explain this number of bytes at the start of the file.
    Undetected(u64),
    /// This number of bytes at the start of the file repeat these bytes: no trace was stored.
    Unwritten(u64, String),
    /// The bytes are no trace data as they are, but were received or stored in this way.
    Reception(String),
    /// The folder to write to contains files.
    NotEmpty,
    /// The file is not a file of cycles, for this reason.
    Cycles(String),
    /// The file is not a recording of the levels of a trace port, for this reason.
    Levels(String),
    /// A `capture.toml` is invalid, for this reason.
    Toml(String),
    /// The protocol rejects a parameter, for this reason.
    Parameter(String),

    // The ini files.
    /// The version of the snapshot is not supported.
    Version(String),
    /// The version of the snapshot is not given.
    NoVersion,
    /// A section is missing.
    NoSection(&'static str),
    /// A key is missing.
    NoKey(&'static str),
    /// The index has no `[trace]`.
    NoTrace,
    /// The file contains bytes that are not UTF-8.
    NotUtf8,
    /// The file contains control characters.
    Control,
    /// The text of a line that is not `KEY=VALUE`.
    Malformed(String),
    /// The number of further lines that are not `KEY=VALUE`.
    MoreMalformed(usize),
    /// A key is before the first section.
    OutsideSection,
    /// A key is repeated; the line of the first one.
    DuplicateKey(u32),
    /// A key is repeated among lines that are all used; the line of the first one.
    RepeatedKey(u32),
    /// A section is repeated; the line of the first one.
    DuplicateSection(u32),
    /// A key is unknown in its section.
    UnknownKey,
    /// A value is not a number.
    NotNumber(String),
    /// A number has more than 64 bits.
    TooBig(String),

    /// The file that describes the trace cannot be read.
    TraceUnreadable {
        /// The file as written.
        file: String,
        /// The reason.
        reason: String,
    },

    // Devices.
    /// The file of a device cannot be read.
    DeviceUnreadable {
        /// The file as written.
        file: String,
        /// The reason.
        reason: String,
    },
    /// Two devices have one name.
    DuplicateDevice {
        /// The name.
        name: String,
        /// The file of the first device.
        first: PathBuf,
        /// Both devices have the same file.
        again: bool,
    },
    /// A device has no name; this one is used.
    Unnamed(String),
    /// A device has no class; this one is inferred from its type.
    NoClass(&'static str),
    /// A device has neither a class nor a known type.
    Unclassed,
    /// Decoding needs a register that is missing.
    NoRegister {
        /// The source.
        device: String,
        /// The register.
        name: &'static str,
        /// The use of the register.
        about: &'static str,
        /// The other registers that are missing.
        others: Vec<&'static str>,
        /// The source is described by a snapshot, not by the command line.
        snapshot: bool,
    },
    /// The type of a source is not a known protocol.
    UnknownProtocol {
        /// The type.
        device_type: String,
        /// The names of the protocols.
        known: String,
    },
    /// The type of a core is not in the table of cores.
    UnknownCore(String),
    /// A device has no type.
    NoType,
    /// The text in the parentheses of a register is invalid.
    RegisterDetail(String),
    /// The value of a register is wider than its size in bits.
    RegisterWide {
        /// The value.
        value: u128,
        /// The size in bits.
        size: u32,
    },

    /// The value of a register without a size has more than 32 bits.
    RegisterUnsized(u128),
    /// Another device, the one with this name, has the same location.
    DuplicateLocation(String),

    // Dumps.
    /// A file of memory cannot be read.
    DumpUnreadable {
        /// The file as written.
        file: String,
        /// The reason.
        reason: String,
    },
    /// The file of a dump is empty.
    DumpEmpty(String),
    /// The offset is past the end of the file.
    DumpOffset {
        /// The offset in bytes.
        offset: u64,
        /// The size of the file in bytes.
        size: u64,
    },
    /// The length extends past the end of the file.
    DumpLength {
        /// The length in bytes.
        length: u64,
        /// The bytes in the file, from the offset on.
        actual: u64,
    },
    /// A dump extends past the last address.
    DumpWraps,
    /// A memory space is unknown.
    UnknownSpace(String),
    /// A condition of a dump has a value that is not possible: what was expected.
    BadCondition(&'static str),
    /// The file of a raw dump is an ELF file.
    DumpElf(String),
    /// A dump lacks a required key.
    DumpNoKey(&'static str),
    /// Two dumps contain different bytes for one address.
    DumpConflict {
        /// The first dump.
        first: String,
        /// The second.
        second: String,
    },
    /// Dumps overlap so often that they were not compared with each other.
    NotCompared,

    // Buffers and links.
    /// A file of a buffer cannot be read.
    BufferUnreadable {
        /// The file as written.
        file: String,
        /// The reason.
        reason: String,
        /// Other files of the buffer follow it.
        more: bool,
    },
    /// A buffer is empty.
    BufferEmpty,
    /// A listed buffer has no section.
    BufferNoSection(String),
    /// A buffer lacks a required key, and the value that is used instead.
    BufferNoKey(&'static str, &'static str),
    /// Two buffers have one name.
    DuplicateBuffer(String),
    /// The format of a buffer is unknown.
    UnknownFormat(String),
    /// No buffer has this name.
    NoSuchBuffer(String),
    /// No trace source has this name.
    NoSuchSource(String),
    /// The device with this name has another class.
    NotSource {
        /// Its name.
        name: String,
        /// Its class.
        class: String,
    },
    /// No core has this name.
    NoSuchCore(String),
    /// No trace source has this location.
    NoSuchLocation(String),
    /// `(stream:N)` without a number from 0 to 255.
    BadStream(String),
    /// A source is not linked to a core, and the only core is assumed.
    CoreInferred {
        /// The source.
        source: String,
        /// The core.
        core: String,
    },
    /// A source is not linked to a core.
    NoCore(String),
    /// A source is linked to two cores.
    TwoCores {
        /// The source.
        source: String,
        /// The core that is used.
        used: String,
        /// The other core.
        other: String,
    },
    /// A source is not linked to a buffer.
    NoBuffer(String),
    /// Several sources are linked to one unformatted buffer.
    Shared {
        /// The buffer.
        buffer: String,
        /// The source that is used.
        used: String,
        /// The other sources.
        others: String,
    },
    /// The registers of a trace buffer cannot be used to read it, for this reason.
    SinkRegisters {
        /// The device that has them.
        name: Option<String>,
        /// The reason.
        reason: String,
    },
    /// The registers of a trace buffer describe no trace in it.
    SinkEmpty {
        /// The device that has them.
        name: Option<String>,
        /// The number of bytes that are stored.
        stored: u64,
    },
    /// No source is linked to this buffer.
    Unclaimed(String),

    /// A file of cycles has more or fewer of them than its header records.
    CycleCount {
        /// The count in the header.
        recorded: u64,
        /// The count of cycles in the file.
        actual: u64,
    },

    // The command line and the writer.
    /// A text is not `NAME=VALUE`.
    NotAssignment(String),
    /// A file of memory has no memory that can be used.
    NotMemory(String),
    /// A file of memory is not ELF, and has no address.
    NoAddress(String),
    /// The process of a file of memory is not a number.
    NotProcess(String),
    /// A file of memory is of a process, and the capture describes none.
    NoProcesses,
    /// A name or value cannot be written to an ini file.
    Unwritable(String),
}

/// What the bytes of a buffer were converted from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conversion {
    /// What the file is, and which part of it is read.
    pub what: String,
    /// What a user can do, where all memory of a processor is read.
    pub help: Option<String>,
}

impl fmt::Display for Conversion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)?;
        self.help.as_ref().map_or(Ok(()), |help| write!(f, "; {help}"))
    }
}

impl Problem {
    /// The severity of a problem that does not stop the reader.
    pub fn severity(&self) -> Severity {
        use Problem as P;
        use Severity::{Error, Info, Warning};
        match self {
            P::Repeated { first, .. } => first.severity(),
            P::NoTrace
            | P::PerfNote(_)
            | P::Converted(_)
            | P::UnknownKey
            | P::NoClass(_)
            | P::BufferEmpty
            | P::CoreInferred { .. }
            | P::NoBuffer(_)
            | P::NoSuchCore(_)
            | P::Unclassed => Info,
            P::NoVersion
            | P::PerfData(_)
            | P::PerfMissing(_)
            | P::PerfFiles(_)
            | P::PerfLoss(_)
            | P::CycleCount { .. }
            | P::Outside(_)
            | P::NotUtf8
            | P::Control
            | P::DuplicateKey(_)
            | P::RepeatedKey(_)
            | P::DuplicateSection(_)
            | P::Unnamed(_)
            | P::UnknownCore(_)
            | P::RegisterDetail(_)
            | P::RegisterWide { .. }
            | P::RegisterUnsized(_)
            | P::DuplicateLocation(_)
            | P::DumpEmpty(_)
            | P::DumpLength { .. }
            | P::DumpWraps
            | P::DumpElf(_)
            | P::UnknownSpace(_)
            | P::BadCondition(_)
            | P::DumpConflict { .. }
            | P::NotCompared
            | P::BufferNoKey(..)
            | P::UnknownFormat(_)
            | P::NoCore(_)
            | P::SinkRegisters { .. }
            | P::SinkEmpty { .. }
            | P::TwoCores { .. }
            | P::Shared { .. }
            | P::Unclaimed(_)
            | P::NoSuchSource(_)
            | P::NotSource { .. }
            | P::NoSuchLocation(_) => Warning,
            _ => Error,
        }
    }
}
