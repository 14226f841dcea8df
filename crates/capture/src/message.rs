//! The texts of [`Problem`]s.

use std::fmt;

use tracewright_base::remedy::{BINARY, FRAMING, IMAGE, LOG, PROTOCOL, REGISTER};

use crate::problem::Problem;
use crate::problem::Problem as P;

/// The name of a file in a sentence.
fn file_name(file: &str) -> &str {
    if file.is_empty() { "a file without a name" } else { file }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            P::Unreadable(reason) => write!(f, "cannot be read: {reason}; check the path"),
            P::NotWritten(reason) => write!(
                f,
                "cannot be written: {reason}; check the path, its permissions and the free disk space"
            ),
            P::NoIndex => write!(
                f,
                "no snapshot.ini and no capture.toml in this folder; give the folder of a capture, \
                 or a file of raw trace data with {PROTOCOL}",
            ),
            P::NoIndexBeside => f.write_str(
                "part of a snapshot, but there is no snapshot.ini in its folder; give the file with \
                 the section [device_list]",
            ),
            P::TooLarge { size, limit } => write!(
                f,
                "{size} bytes is more than the limit of {limit} bytes for a file that describes a \
                 capture; check that the path is right"
            ),
            P::TooManyDescriptions(limit) => write!(
                f,
                "the files that describe the capture are larger than {limit} bytes together; check \
                 that none is listed repeatedly, or split the capture"
            ),
            P::TooMany(what, limit) => write!(
                f,
                "more than {limit} {what}, and the remaining ones were skipped; split the capture"
            ),
            P::Outside(file) => write!(
                f,
                "{} is outside of the capture's folder; copy it there, or check where the capture \
                 is from",
                file_name(file)
            ),
            P::OutsideDescription(file) => write!(
                f,
                "{} is outside of the capture's folder and is not read, as it describes the \
                 capture; copy it there, or check where the capture is from",
                file_name(file)
            ),
            P::Changed { len } => write!(
                f,
                "the file changed after it was opened with {len} bytes, so that the output may be \
                 incomplete or mixed; repeat the command"
            ),
            P::Repeated { count, first } => {
                write!(f, "{count} more problems of this kind; the first is: {first}")
            }
            _ => self.content(f),
        }
    }
}

/// The texts by topic, each a part of the one above.
impl Problem {
    /// Those of what a file contains.
    fn content(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            P::Perf(why) => write!(f, "cannot be decoded: {why}"),
            P::PerfData(what)
            | P::PerfMissing(what)
            | P::PerfFiles(what)
            | P::PerfLoss(what)
            | P::PerfNote(what) => f.write_str(what),
            P::Program => write!(
                f,
                "a program (ELF), not a capture; give the capture, and this file with {IMAGE}, or beside \
                 perf.data with {BINARY}",
            ),
            P::Container(container) => {
                write!(f, "{container}, not trace data; {}", container.help())
            }
            P::Code(isa) => write!(
                f,
                "{isa} instructions that call each other, not trace data; give the capture, and this \
                 file with {IMAGE} FILE@ADDRESS; with {PROTOCOL} it is decoded as trace"
            ),
            P::Text(what) => write!(
                f,
                "{what}, not trace data, and no dump of memory in a known form (GDB, OpenOCD, U-Boot, \
                 J-Link, xxd, hexdump, od, arrays, records); give the file that the text was made \
                 from, or a dump with addresses, as of `xxd` or `od -t x1`; with {PROTOCOL} it is \
                 decoded as trace"
            ),
            P::Log(format) => write!(
                f,
                "text, not trace data: it is an execution log ({format}); `tracewright log info` \
                 describes it, `tracewright encode {LOG}` makes trace of it, and `tracewright compare` \
                 compares a capture with it"
            ),
            P::Converted(conversion) => write!(f, "{conversion}"),
            P::Empty => f.write_str(
                "there are no bytes: nothing was captured; check that the trace unit and the path to \
                 the buffer were enabled",
            ),
            P::Undetected(bytes) => write!(
                f,
                "no framing and protocol explains its first {bytes} bytes as trace; give what is \
                 known ({FRAMING}, {PROTOCOL} NAME {REGISTER} NAME=VALUE), or check that the file is a \
                 trace buffer; what a UART receives of a serial wire (SWO) with a wrong bit rate or \
                 core clock is none"
            ),
            P::Unwritten(bytes, filling) => write!(
                f,
                "its first {bytes} bytes are {filling} only: memory that was cleared or filled, to \
                 which no trace was written; check that tracing was enabled, and which memory was \
                 read"
            ),
            P::NeedsProtocol => write!(
                f,
                "not a known capture format; for raw trace data give the protocol and its registers \
                 ({PROTOCOL} NAME {REGISTER} NAME=VALUE), otherwise give a snapshot",
            ),
            _ => self.conversion(f),
        }
    }

    /// Those of records of a trace port, and of folders.
    fn conversion(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            P::Toml(what) | P::Reception(what) | P::Parameter(what) | P::Memory(what) => {
                f.write_str(what)
            }
            P::Levels(why) => {
                write!(f, "cannot be read as the levels of a trace port: {why}")
            }
            P::Cycles(why) => write!(f, "cannot be read as the cycles of a trace port: {why}"),
            P::CycleCount { recorded, actual } => write!(
                f,
                "the header records {recorded} cycles, but the file contains {actual}; the cycles \
                 in the file are decoded"
            ),
            P::NotEmpty => f.write_str("the folder is not empty; choose another, or empty it"),
            _ => self.ini(f),
        }
    }

    /// Those of the lines of an ini file.
    fn ini(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            P::Version(version) => write!(
                f,
                "snapshot version `{version}` is not supported, expected 1.0; correct it if the \
                 file follows 1.0"
            ),
            P::NoVersion => {
                f.write_str("no version, 1.0 is assumed; add `version=1.0` to [snapshot]")
            }
            P::NoSection(name) => write!(f, "section [{name}] is missing; add it"),
            P::NoKey(key) => write!(f, "key `{key}` is missing; add it"),
            P::NoTrace => f.write_str(
                "section [trace] is missing, so the capture has no trace; if it has, add the \
                 section with `metadata=trace.ini`",
            ),
            P::NotUtf8 => f.write_str(
                "contains bytes that are not UTF-8, each shown as \u{fffd}; save the file as UTF-8",
            ),
            P::Control => {
                f.write_str("contains control characters, each shown as \u{fffd}; remove them")
            }
            P::Malformed(line) => {
                write!(f, "`{line}` is not KEY=VALUE and was skipped; correct or remove it")
            }
            P::MoreMalformed(n) => {
                write!(f, "{n} more lines that are not KEY=VALUE; check that it is an ini file")
            }
            P::OutsideSection => f.write_str(
                "the key is before the first section and was skipped; move it into its section",
            ),
            P::DuplicateKey(line) => write!(
                f,
                "the key is repeated, and the value of line {line} is used; remove one of the two"
            ),
            P::RepeatedKey(line) => write!(
                f,
                "the key is that of line {line} as well, and both are used; a snapshot has each \
                 key once"
            ),
            P::DuplicateSection(line) => write!(
                f,
                "the section is repeated, and is joined to that of line {line}; merge the two"
            ),
            P::UnknownKey => f.write_str("the key is unknown and was skipped"),
            P::NotNumber(text) => write!(
                f,
                "`{text}` is not a number and was skipped; write decimal digits, or 0x and \
                 hexadecimal digits"
            ),
            P::TooBig(text) => {
                write!(f, "{text} does not fit in 64 bits and was skipped; correct it")
            }
            _ => self.device(f),
        }
    }

    /// Those of devices and their registers.
    fn device(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            P::TraceUnreadable { file, reason } => write!(
                f,
                "cannot read {}, which describes the trace: {reason}; copy the file there or \
                 correct its name",
                file_name(file)
            ),
            P::DeviceUnreadable { file, reason } => write!(
                f,
                "cannot read {}, so the device is missing: {reason}; copy the file there or \
                 remove the line",
                file_name(file)
            ),
            P::DuplicateDevice { name, again: true, .. } => write!(
                f,
                "the file of `{name}` is listed twice, and links refer to the first; remove one of \
                 the two lines"
            ),
            P::DuplicateDevice { name, first, again: false } => write!(
                f,
                "another device has the name `{name}`, in {}, and links refer to that one; rename \
                 one of the two",
                first.display()
            ),
            P::Unnamed(name) => write!(f, "no name, `{name}` is used; add `name=`"),
            P::NoClass(class) => {
                write!(f, "no class, {class} is assumed from the type; add `class=`")
            }
            P::Unclassed => {
                f.write_str("neither a core nor a trace source; nothing is decoded from it")
            }
            P::NoRegister { device, name, about, others, snapshot } => {
                let subject = if *snapshot { "this register" } else { "register" };
                let named = if *snapshot { String::new() } else { format!(" {name}") };
                write!(f, "{device} cannot be decoded without {subject}{named} ({about})")?;
                if !others.is_empty() {
                    write!(f, ", and without {}", others.join(", "))?;
                }
                let add: Vec<_> = std::iter::once(name)
                    .chain(others)
                    .map(|name| match snapshot {
                        true => format!("`{name}=VALUE`"),
                        false => format!("{REGISTER} {name}=VALUE"),
                    })
                    .collect();
                write!(f, "; add {}", add.join(" "))
            }
            P::UnknownProtocol { device_type, known } => {
                write!(f, "unknown protocol `{device_type}`; expected one of {known}")
            }
            P::UnknownCore(name) if name.is_empty() => f.write_str(
                "no type, so the core's profile is inferred from the trace unit's registers; add \
                 `type=`, such as Cortex-A53",
            ),
            P::UnknownCore(name) => write!(
                f,
                "unknown core `{name}`, so its profile is inferred from the trace unit's \
                 registers; write its architecture instead, such as ARMv8-A"
            ),
            P::NoType => f.write_str(
                "no type, so the protocol is unknown and the source is not decoded; add `type=`, \
                 such as ETM4.2",
            ),
            P::RegisterDetail(text) => write!(
                f,
                "`{text}` was skipped; expected (ID), (id:ID) or (size:BITS) after the register's \
                 name"
            ),
            P::RegisterWide { value, size } => {
                write!(f, "{value:#x} is wider than {size} bits; correct the value or the size")
            }
            P::RegisterUnsized(value) => write!(
                f,
                "{value:#x} is wider than 32 bits, which a register without a size has; it is used \
                 as it is; add (size:64) after the name"
            ),
            P::DuplicateLocation(first) => write!(
                f,
                "the location is that of `{first}` as well, to which links by location refer; \
                 correct one of the two"
            ),
            _ => self.dump(f),
        }
    }

    /// Those of program memory.
    fn dump(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            P::DumpUnreadable { file, reason } => write!(
                f,
                "cannot read {}, so its memory is missing: {reason}; copy the file there or give \
                 it with {IMAGE}",
                file_name(file)
            ),
            P::DumpEmpty(file) => {
                write!(f, "{file} is empty, so its memory is missing; replace the file")
            }
            P::DumpOffset { offset, size } => write!(
                f,
                "offset {offset:#x} is past the end of the file of {size:#x} bytes, so its memory \
                 is missing; correct the offset"
            ),
            P::DumpLength { length, actual } => write!(
                f,
                "length {length:#x} exceeds the {actual:#x} bytes in the file, which are used; \
                 correct the length or replace the file"
            ),
            P::DumpWraps => f.write_str(
                "the dump extends past the last address and is truncated there; correct the address",
            ),
            P::BadCondition(what) => {
                write!(f, "expected {what}; the image is used without this condition")
            }
            P::UnknownSpace(word) => write!(
                f,
                "unknown memory space `{word}`, any is assumed; expected S, N, H, EL1S, EL1N, EL2 \
                 or EL3"
            ),
            P::DumpElf(file) => write!(
                f,
                "{file} is an ELF file, mapped as raw memory; give it with {IMAGE} instead"
            ),
            P::DumpNoKey(key) => {
                write!(f, "key `{key}` is missing, so its memory is missing; add it")
            }
            P::DumpConflict { first, second } => write!(
                f,
                "{second} and {first} contain different bytes for the same address, and {first} is \
                 used; remove the wrong one, or give each its space"
            ),
            P::NotCompared => f.write_str(
                "the dumps overlap too often to compare all of them, so each source uses the memory \
                 of its core; remove dumps that repeat others",
            ),
            _ => self.buffer(f),
        }
    }

    /// Those of buffers and what refers to them.
    fn buffer(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            P::BufferUnreadable { file, reason, more } => {
                let rest =
                    if *more { " and the files after it form a separate buffer" } else { "" };
                write!(
                    f,
                    "cannot read {}, so its trace is missing{rest}: {reason}; copy the file there",
                    file_name(file)
                )
            }
            P::BufferEmpty => f.write_str("the buffer is empty; there is nothing to decode in it"),
            P::BufferNoSection(name) => write!(
                f,
                "section [{name}] is missing, so that buffer is missing; add it or correct the list"
            ),
            P::BufferNoKey(key, instead) => {
                write!(f, "key `{key}` is missing, {instead}; add it")
            }
            P::DuplicateBuffer(name) => write!(
                f,
                "another buffer has the name `{name}`, and links refer to that one; rename one of \
                 the two"
            ),
            P::UnknownFormat(word) => write!(
                f,
                "unknown format `{word}`; expected coresight, source_data, dstream_coresight or \
                 encapsulated; correct it or give {FRAMING}"
            ),
            P::NoSuchBuffer(name) => {
                write!(f, "unknown buffer `{name}`; correct the name or add the buffer")
            }
            P::NoSuchSource(name) => {
                write!(f, "unknown trace source `{name}`; correct the name or add the device")
            }
            P::NotSource { name, class } => write!(
                f,
                "`{name}` is no trace source: its class is `{class}`; correct it to `trace_source` or \
                 remove the link"
            ),
            P::NoSuchCore(name) => {
                write!(f, "unknown core `{name}`; correct the name or add the device")
            }
            P::NoSuchLocation(text) => {
                write!(f, "no trace source has the location `{text}`; correct it or add the device")
            }
            P::BadStream(text) => {
                write!(f, "`{text}` is not a stream; expected NAME(stream:N), N from 0 to 255")
            }
            _ => self.link(f),
        }
    }

    /// Those of links between devices and buffers.
    fn link(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            P::CoreInferred { source, core } => write!(
                f,
                "the core of {source} is not recorded, {core} is assumed as the only one; add \
                 `{core}={source}` to [core_trace_sources]"
            ),
            P::NoCore(source) => write!(
                f,
                "the core of {source} is not recorded, so its profile is inferred from the trace \
                 unit's registers; add `CORE={source}` to [core_trace_sources]"
            ),
            P::TwoCores { source, used, other } => write!(
                f,
                "{source} is linked to {used} already, and {other} was skipped; remove one of the \
                 two"
            ),
            P::NoBuffer(source) => write!(
                f,
                "no buffer is linked to {source}; add `{source}=BUFFER` to [source_buffers] if one \
                 contains its trace"
            ),
            P::Shared { buffer, used, others } => write!(
                f,
                "{buffer} is unformatted and can contain one source only: {used} is used, not \
                 {others}; remove the others, or correct the format"
            ),
            P::Unclaimed(buffer) => write!(
                f,
                "no source is linked to buffer {buffer}; add `SOURCE={buffer}` to [source_buffers]"
            ),
            _ => self.argument(f),
        }
    }

    /// Those of values that a caller gives.
    fn argument(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            P::SinkRegisters { name, reason } => {
                let whose = name.as_deref().map_or(String::new(), |name| format!(" of {name}"));
                write!(
                    f,
                    "the buffer is read as it is stored, without the registers{whose}: {reason}"
                )
            }
            P::SinkEmpty { name, stored } => {
                let whose = name.as_deref().map_or(String::new(), |name| format!(" of {name}"));
                write!(
                    f,
                    "the buffer is empty: by the registers{whose}, none of its {stored} bytes is \
                     trace; check that the trace unit and the path to the buffer were enabled, and \
                     that the registers were read after the trace"
                )
            }
            P::NotAssignment(text) => {
                // The text may come from a file of any kind.
                let text: String = text.chars().take(60).flat_map(char::escape_debug).collect();
                write!(
                    f,
                    "`{text}` is not NAME=VALUE; expected, for example, TRCCONFIGR=0xC1, a number of at \
                     most 64 bits"
                )
            }
            P::NotMemory(why) => write!(f, "not program memory that can be used: {why}"),
            P::NoAddress(file) => {
                write!(f, "not an ELF file, so its address is needed; write {file}@ADDRESS")
            }
            P::NotProcess(text) => {
                write!(f, "`pid={text}` is not a process; expected a number of at most 32 bits")
            }
            P::NoProcesses => f.write_str(
                "`pid=` is for perf.data, and this capture describes no processes; give the memory \
                 without it, or in a capture.toml with `context=`",
            ),
            P::Unwritable(text) => write!(
                f,
                "`{text}` cannot be written to a snapshot: it is empty or contains characters that \
                 ini files reserve; rename it"
            ),
            // No text.
            _ => write!(f, "{self:?}"),
        }
    }
}
