//! What is wrong with a capture: where, what, and what to do about it.

use std::error::Error;
use std::fmt::{self, Write};
use std::path::{Path, PathBuf};

use crate::plain::Line;

/// Where in a capture.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// The file.
    pub path: PathBuf,
    /// The line in it, from 1.
    pub line: Option<u32>,
    /// The section, without brackets.
    pub section: Option<String>,
    /// The key.
    pub key: Option<String>,
}

impl Origin {
    /// A whole file.
    pub fn file(path: &Path) -> Self {
        Origin { path: path.to_owned(), ..Origin::default() }
    }

    /// A section, by its header's line.
    pub fn section(path: &Path, line: u32, section: &str) -> Self {
        let line = Some(line).filter(|n| *n != 0);
        Origin { path: path.to_owned(), line, section: Some(section.to_owned()), key: None }
    }

    /// The same place, at a key and its line.
    #[must_use]
    pub fn key(&self, line: u32, key: &str) -> Self {
        Origin { line: Some(line), key: Some(key.to_owned()), ..self.clone() }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.path.display())?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        f.write_str(":")?;
        if let Some(section) = &self.section {
            write!(f, " [{section}]")?;
        }
        if let Some(key) = &self.key {
            write!(f, " {key}:")?;
        }
        Ok(())
    }
}

/// How much a [`Note`] matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Nothing is lost.
    Info,
    /// It was worked around; the result may not be what was meant.
    Warning,
    /// Something that the capture names could not be read.
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

/// Something odd in a capture that did not stop it from being read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// Where.
    pub origin: Origin,
    /// What.
    pub wrong: Wrong,
}

impl Note {
    /// How much it matters.
    pub fn severity(&self) -> Severity {
        self.wrong.severity()
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(Line(f), "{} {}", self.origin, self.wrong)
    }
}

/// Nothing can be decoded, or nothing written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenError {
    /// Where.
    pub origin: Box<Origin>,
    /// What.
    pub wrong: Box<Wrong>,
}

impl OpenError {
    /// Something is wrong with the file or folder at `path`.
    pub fn new(path: &Path, wrong: Wrong) -> Self {
        OpenError::at(Origin::file(path), wrong)
    }

    /// Something is wrong at `origin`.
    pub fn at(origin: Origin, wrong: Wrong) -> Self {
        OpenError { origin: Box::new(origin), wrong: Box::new(wrong) }
    }
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(Line(f), "{} {}", self.origin, self.wrong)
    }
}

impl Error for OpenError {}

/// What is wrong. Its text says what was found, and after a colon or semicolon what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Wrong {
    // What a path is.
    /// It cannot be read, for this reason.
    Unreadable(String),
    /// It cannot be written, for this reason.
    NotWritten(String),
    /// A folder without an index.
    NoIndex,
    /// An ini file of a snapshot, with no index beside it.
    NoIndexBeside,
    /// An ini file of so many bytes.
    TooLarge(u64),
    /// A perf.data file.
    Perf,
    /// An ELF file.
    Program,
    /// No format that says what it is.
    NeedsProtocol,
    /// The folder to write to holds files.
    NotEmpty,
    /// It is no file of cycles, for this reason.
    Cycles(String),
    /// A description in TOML says this, which it cannot.
    Toml(String),
    /// The protocol does not take a parameter, for this reason.
    Parameter(String),

    // The ini files.
    /// A snapshot of another version.
    Version(String),
    /// The version is not given.
    NoVersion,
    /// A section is missing.
    NoSection(&'static str),
    /// A key is missing.
    NoKey(&'static str),
    /// The index has no `[trace]`.
    NoTrace,
    /// Some bytes are not UTF-8.
    NotUtf8,
    /// Some characters are control characters.
    Control,
    /// The text of a line that is no `KEY=VALUE`.
    Malformed(String),
    /// So many more lines like it.
    MoreMalformed(usize),
    /// A key before the first section.
    OutsideSection,
    /// A key that was on this line already.
    DuplicateKey(u32),
    /// A section that was on this line already.
    DuplicateSection(u32),
    /// A key that means nothing here.
    UnknownKey,
    /// Not a number.
    NotNumber(String),
    /// A number of more than 64 bits.
    TooBig(String),

    /// The file that says where the trace is could not be read, for this reason.
    TraceUnreadable {
        /// The file as written.
        file: String,
        /// The reason.
        reason: String,
    },

    // Devices.
    /// A file of a device could not be read, for this reason.
    DeviceUnreadable {
        /// The file as written.
        file: String,
        /// The reason.
        reason: String,
    },
    /// Two devices of one name; the first is in this file.
    DuplicateDevice {
        /// The name.
        name: String,
        /// Where the first is.
        first: PathBuf,
        /// It is the same file.
        again: bool,
    },
    /// A device without a name gets this one.
    Unnamed(String),
    /// A device without a class, taken for this.
    NoClass(&'static str),
    /// A device of neither class nor known type.
    Unclassed,
    /// Decoding needs a register that is not there.
    NoRegister {
        /// The source.
        device: String,
        /// The register.
        name: &'static str,
        /// What it is for.
        about: &'static str,
        /// The source is a snapshot's, not of the command line.
        snapshot: bool,
    },
    /// A source's type names none of the protocols.
    UnknownProtocol {
        /// The type.
        device_type: String,
        /// The names of the protocols.
        known: String,
    },
    /// A core's type that is not in the table.
    UnknownCore(String),
    /// A device's type is not given.
    NoType,
    /// What stands in a register's parentheses is not understood.
    RegisterDetail(String),
    /// A register's value is wider than its size in bits.
    RegisterWide {
        /// The value.
        value: u128,
        /// The size that is given.
        size: u32,
    },

    // Dumps.
    /// A file of memory could not be read, for this reason.
    DumpUnreadable {
        /// The file as written.
        file: String,
        /// The reason.
        reason: String,
    },
    /// A dump of a file without bytes.
    DumpEmpty(String),
    /// The offset is past the end.
    DumpOffset {
        /// The offset.
        offset: u64,
        /// The file's size.
        size: u64,
    },
    /// The length runs past the end.
    DumpLength {
        /// The length.
        length: u64,
        /// The bytes there are.
        there: u64,
    },
    /// A dump runs past the last address.
    DumpWraps,
    /// A memory space that is not known.
    UnknownSpace(String),
    /// A dump of an ELF file.
    DumpElf(String),
    /// A dump without a key that it needs.
    DumpNoKey(&'static str),
    /// Two dumps hold different bytes for one address.
    DumpConflict {
        /// The first dump.
        first: String,
        /// The second.
        second: String,
    },

    // Buffers and links.
    /// A file of a buffer could not be read, for this reason.
    BufferUnreadable {
        /// The file as written.
        file: String,
        /// The reason.
        reason: String,
        /// Other files of the buffer come after it.
        more: bool,
    },
    /// A buffer of no bytes.
    BufferEmpty,
    /// A listed buffer has no section.
    BufferNoSection(String),
    /// A buffer without a key that it needs, and what is taken in its place.
    BufferNoKey(&'static str, &'static str),
    /// Two buffers of one name.
    DuplicateBuffer(String),
    /// A buffer's format is not known.
    UnknownFormat(String),
    /// No buffer is called so.
    NoSuchBuffer(String),
    /// No trace source is called so.
    NoSuchSource(String),
    /// No core is called so.
    NoSuchCore(String),
    /// No trace source is at this location.
    NoSuchLocation(String),
    /// `(stream:N)` with no number from 0 to 255.
    BadStream(String),
    /// A source that no core names, taken for the only core's.
    CoreGuessed {
        /// The source.
        source: String,
        /// The core.
        core: String,
    },
    /// A source that no core names.
    NoCore(String),
    /// A source that two cores name.
    TwoCores {
        /// The source.
        source: String,
        /// The core that is used.
        used: String,
        /// The other one.
        other: String,
    },
    /// A source that no buffer holds.
    NoBuffer(String),
    /// Several sources in one unformatted buffer.
    Shared {
        /// The buffer.
        buffer: String,
        /// The source that is used.
        used: String,
        /// The others.
        others: String,
    },
    /// Nothing says which source wrote a buffer.
    Unclaimed(String),

    /// A file of cycles has more or fewer of them than it says.
    CycleCount {
        /// How many it says.
        said: u64,
        /// How many there are.
        there: u64,
    },

    // The command line and the writer.
    /// Not `NAME=VALUE`.
    NotAssignment(String),
    /// Bytes that are not ELF, and no address.
    NoAddress(String),
    /// A name that an ini file cannot hold.
    Unwritable(String),
}

impl Wrong {
    /// How much it matters where it does not stop the reader.
    pub fn severity(&self) -> Severity {
        use Severity::{Error, Info, Warning};
        use Wrong as W;
        match self {
            W::NoTrace
            | W::UnknownKey
            | W::NoClass(_)
            | W::BufferEmpty
            | W::CoreGuessed { .. }
            | W::NoBuffer(_)
            | W::NoSuchCore(_)
            | W::Unclassed => Info,
            W::NoVersion
            | W::CycleCount { .. }
            | W::NotUtf8
            | W::Control
            | W::DuplicateKey(_)
            | W::DuplicateSection(_)
            | W::Unnamed(_)
            | W::UnknownCore(_)
            | W::RegisterDetail(_)
            | W::RegisterWide { .. }
            | W::DumpEmpty(_)
            | W::DumpLength { .. }
            | W::DumpWraps
            | W::DumpElf(_)
            | W::UnknownSpace(_)
            | W::DumpConflict { .. }
            | W::BufferNoKey(..)
            | W::UnknownFormat(_)
            | W::NoCore(_)
            | W::TwoCores { .. }
            | W::Shared { .. }
            | W::Unclaimed(_)
            | W::NoSuchSource(_)
            | W::NoSuchLocation(_) => Warning,
            _ => Error,
        }
    }
}

/// A file's name, in a sentence.
fn named(file: &str) -> &str {
    if file.is_empty() { "a file without a name" } else { file }
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use Wrong as W;
        match self {
            W::Unreadable(reason) => write!(f, "cannot read it, {reason}; check the path"),
            W::NotWritten(reason) => {
                write!(f, "cannot write it, {reason}; check the path, its permissions and the disk")
            }
            W::NoIndex => f.write_str(
                "no snapshot.ini and no capture.toml in this folder; give a capture's folder, or a file of \
                 trace with its protocol",
            ),
            W::NoIndexBeside => f.write_str(
                "part of a snapshot, with no snapshot.ini beside it; give the file that has a \
                 [device_list]",
            ),
            W::TooLarge(size) => {
                write!(f, "{size} bytes is too large for an ini file; check that the path is right")
            }
            W::Perf => f.write_str(
                "perf.data is not supported yet; extract the trace and give it with its protocol, or \
                 make a snapshot of it",
            ),
            W::Program => f.write_str(
                "a program (ELF), not a capture; give the capture, and this file as an image",
            ),
            W::NeedsProtocol => f.write_str(
                "bytes that do not say what they are; give the protocol and its registers \
                 (--protocol NAME --config NAME=VALUE), or a snapshot",
            ),
            W::Toml(what) | W::Parameter(what) => f.write_str(what),
            W::Cycles(why) => write!(f, "this cannot be read as the cycles of a trace port: {why}"),
            W::CycleCount { said, there } => {
                write!(f, "it says that it has {said} cycles, and has {there}; all of those are decoded")
            }
            W::NotEmpty => f.write_str("the folder is not empty; choose another, or empty it"),
            W::Version(version) => write!(
                f,
                "snapshot version `{version}` is not known, only 1.0 is; correct it if the file \
                 follows 1.0"
            ),
            W::NoVersion => f.write_str("no version, taken for 1.0; add `version=1.0` to [snapshot]"),
            W::NoSection(name) => write!(f, "no section [{name}]; add it"),
            W::NoKey(key) => write!(f, "no key `{key}`; add it"),
            W::NoTrace => f.write_str(
                "no section [trace], so there is no trace here; add it with `metadata=trace.ini` if \
                 there is",
            ),
            W::NotUtf8 => f.write_str(
                "some bytes are not UTF-8, each shown as \u{fffd}; save the file as UTF-8",
            ),
            W::Control => f.write_str(
                "some characters are control characters, each shown as \u{fffd}; remove them",
            ),
            W::Malformed(line) => {
                write!(f, "`{line}` is not KEY=VALUE and was skipped; correct or remove it")
            }
            W::MoreMalformed(n) => write!(f, "{n} more such lines; is it an ini file?"),
            W::OutsideSection => {
                f.write_str("stands before the first section and was skipped; move it into its section")
            }
            W::DuplicateKey(line) => {
                write!(f, "given twice, line {line} is used; remove one of the two")
            }
            W::DuplicateSection(line) => {
                write!(f, "comes twice, joined to that on line {line}; make it one section")
            }
            W::UnknownKey => f.write_str("means nothing here and was skipped"),
            W::NotNumber(text) => write!(
                f,
                "`{text}` is not a number and was skipped; write decimal digits, or 0x and \
                 hexadecimal ones"
            ),
            W::TooBig(text) => write!(f, "{text} does not fit in 64 bits and was skipped; correct it"),
            W::TraceUnreadable { file, reason } => write!(
                f,
                "cannot read {}, {reason}, and it says where the trace is; copy the file there or \
                 correct its name",
                named(file)
            ),
            W::DeviceUnreadable { file, reason } => write!(
                f,
                "cannot read {}, {reason}, so the device is missing; copy the file there or \
                 remove the line",
                named(file)
            ),
            W::DuplicateDevice { name, again: true, .. } => write!(
                f,
                "the file of `{name}` is listed twice, and links go to the first; remove one of the two lines"
            ),
            W::DuplicateDevice { name, first, again: false } => write!(
                f,
                "another device is called `{name}`, in {}, and links go to that one; rename one of \
                 the two",
                first.display()
            ),
            W::Unnamed(name) => write!(f, "no name, called `{name}` here; add `name=`"),
            W::NoClass(class) => write!(f, "no class, taken for {class} by its type; add `class=`"),
            W::Unclassed => f.write_str("neither core nor trace source; nothing is decoded from it"),
            W::NoRegister { device, name, about, snapshot: true } => write!(
                f,
                "{device} needs this register to be decoded ({about}); add `{name}=VALUE`"
            ),
            W::NoRegister { device, name, about, snapshot: false } => write!(
                f,
                "{device} needs the register {name} to be decoded ({about}); give it \
                 (--config {name}=VALUE)"
            ),
            W::UnknownProtocol { device_type, known } => {
                write!(f, "no protocol is called `{device_type}`; one of {known} is")
            }
            W::UnknownCore(name) if name.is_empty() => f.write_str(
                "no type, so the core's profile is left to the trace unit's registers; add `type=`, \
                 such as Cortex-A53",
            ),
            W::UnknownCore(name) => write!(
                f,
                "core `{name}` is not known, so its profile is left to the trace unit's registers; \
                 write its architecture (such as ARMv8-A) in its place"
            ),
            W::NoType => f.write_str(
                "no type, so its protocol is not known and it is not decoded; add `type=`, such as \
                 ETM4.2",
            ),
            W::RegisterDetail(text) => write!(
                f,
                "`{text}` was skipped; write (ID), (id:ID) or (size:BITS) after the register's name"
            ),
            W::RegisterWide { value, size } => {
                write!(f, "{value:#x} is wider than {size} bits; correct the value or the size")
            }
            W::DumpUnreadable { file, reason } => write!(
                f,
                "cannot read {}, {reason}, so its memory is missing; copy the file there or \
                 give it as an image",
                named(file)
            ),
            W::DumpEmpty(file) => {
                write!(f, "{file} is empty, so its memory is missing; replace the file")
            }
            W::DumpOffset { offset, size } => write!(
                f,
                "offset {offset:#x} is past the end of the file of {size:#x} bytes, so its memory is \
                 missing; correct the offset"
            ),
            W::DumpLength { length, there } => write!(
                f,
                "length {length:#x} is more than the {there:#x} bytes there are, which are used; \
                 correct the length or replace the file"
            ),
            W::DumpWraps => {
                f.write_str("runs past the last address, and is cut there; correct the address")
            }
            W::UnknownSpace(word) => write!(
                f,
                "memory space `{word}` is not known, taken for any; write one of S, N, H, EL1S, EL1N, \
                 EL2, EL3"
            ),
            W::DumpElf(file) => write!(
                f,
                "{file} is an ELF file, mapped as if it were memory; give it as an image instead"
            ),
            W::DumpNoKey(key) => {
                write!(f, "no key `{key}`, so its memory is missing; add it")
            }
            W::DumpConflict { first, second } => write!(
                f,
                "{second} and {first} hold different bytes for the same address, and {first} is \
                 used; remove the wrong one, or give each its space"
            ),
            W::BufferUnreadable { file, reason, more } => {
                let rest = if *more { " and what follows is a buffer of its own" } else { "" };
                write!(
                    f,
                    "cannot read {}, {reason}, so its trace is missing{rest}; copy the file there",
                    named(file)
                )
            }
            W::BufferEmpty => f.write_str("no bytes of trace; there is nothing to decode in this buffer"),
            W::BufferNoSection(name) => {
                write!(f, "no section [{name}], so that buffer is missing; add it or correct the list")
            }
            W::BufferNoKey(key, instead) => write!(f, "no key `{key}`, {instead}; add it"),
            W::DuplicateBuffer(name) => write!(
                f,
                "another buffer is called `{name}`, and links go to that one; rename one of the two"
            ),
            W::UnknownFormat(word) => write!(
                f,
                "format `{word}` is not known; say how the bytes are framed (--framing), or write \
                 coresight or source_data"
            ),
            W::NoSuchBuffer(name) => {
                write!(f, "no buffer is called `{name}`; correct the name or add the buffer")
            }
            W::NoSuchSource(name) => {
                write!(f, "no trace source is called `{name}`; correct the name or add the device")
            }
            W::NoSuchCore(name) => {
                write!(f, "no core is called `{name}`; correct the name or add the device")
            }
            W::NoSuchLocation(text) => {
                write!(f, "no trace source has the location `{text}`; correct it or add the device")
            }
            W::BadStream(text) => {
                write!(f, "`{text}` names no stream; write NAME(stream:N), N from 0 to 255")
            }
            W::CoreGuessed { source, core } => write!(
                f,
                "nothing says which core {source} watches, taken for {core}, the only one; add \
                 `{core}={source}` to [core_trace_sources]"
            ),
            W::NoCore(source) => write!(
                f,
                "nothing says which core {source} watches, so its profile is left to the trace \
                 unit's registers; add `CORE={source}` to [core_trace_sources]"
            ),
            W::TwoCores { source, used, other } => write!(
                f,
                "{source} belongs to {used} already and {other} was skipped; remove one of the two"
            ),
            W::NoBuffer(source) => write!(
                f,
                "no buffer holds {source}; add `{source}=BUFFER` to [source_buffers] if one does"
            ),
            W::Shared { buffer, used, others } => write!(
                f,
                "{buffer} is unformatted and can hold one source only: {used} is used, not {others}; \
                 remove the others, or correct the format"
            ),
            W::Unclaimed(buffer) => write!(
                f,
                "nothing says which source wrote {buffer}; add `SOURCE={buffer}` to [source_buffers]"
            ),
            W::NotAssignment(text) => {
                // It may be any file's.
                let text: String = text.chars().take(60).flat_map(char::escape_debug).collect();
                write!(f, "`{text}` is not NAME=VALUE; write such as TRCCONFIGR=0xC1")
            }
            W::NoAddress(file) => write!(
                f,
                "not ELF, and does not say where it was in memory; write {file}@ADDRESS"
            ),
            W::Unwritable(text) => write!(
                f,
                "`{text}` cannot stand in a snapshot's ini file, whose marks it contains; rename it"
            ),
        }
    }
}
