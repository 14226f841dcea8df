//! Files with the cycles of one trace port of an ETMv1 or ETMv2.
//!
//! | form | detected by |
//! |---|---|
//! | `.etmp` ([`etmp`]) | the first bytes |
//! | the text form of `.etmp` ([`text`]) | the first line |
//! | a file of OpenOCD's `etm dump` ([`openocd`]) | the length, and the value range of every word |
//!
//! Files of 1 MiB and more are read in blocks, and their records are made when they are needed.

mod rows;
mod text_file;

use std::io::{BufReader, Read};
use std::path::Path;
use std::sync::{Arc, OnceLock};

use tracewright_frames::cycles::{
    Cycle, Version, Width, cycles, etb, etmp, openocd, records, text,
};

use self::rows::{Convert, Rows};
use self::text_file::{TextFile, Wrong};

use crate::Bytes;
use crate::access::Access;
use crate::buffer::{Buffer, Format};
use crate::capture::{Capture, Kind};
use crate::device::{BufferRef, Registers, Source};
use crate::files::Files;
use crate::open_files::{OpenFiles, reason};
use crate::origin::Origin;
use crate::plain::line;
use crate::problem::{Note, OpenError, Problem};

/// Limit of the number of cycles that repeats in a text file expand to. It bounds the time that a
/// short text can take.
const MAX_REPEATED: u64 = 1 << 24;

/// Limit of the size in bytes of a file of OpenOCD's form, which is read to detect the form.
const MAX_OPENOCD: u64 = 1 << 30;

/// The greatest length in bytes of the lines before the cycles of a text file.
const MAX_HEAD: usize = 1 << 16;

/// The form of a file of cycles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// `.etmp`.
    Etmp,
    /// The text form of `.etmp`.
    Text,
    /// The form of OpenOCD's `etm dump`.
    OpenOcd,
}

impl Form {
    /// The form of the file at `path` of `files`, which begins with `head`.
    pub(crate) fn probe(files: &Files, path: &Path, head: &[u8]) -> Option<Form> {
        if head.starts_with(&etmp::MAGIC) {
            return Some(Form::Etmp);
        }
        if head.starts_with(text::FIRST.as_bytes()) {
            return Some(Form::Text);
        }
        // OpenOCD's form has no magic number: a header of 12 bytes with the count, and 12 bytes per
        // cycle.
        let count = head.get(8..12)?.first_chunk().map(|word| u32::from_be_bytes(*word))?;
        let len = files.about(path).ok()?.len;
        if count == 0 || len != (u64::from(count) + 1) * 12 || len > MAX_OPENOCD {
            return None;
        }
        check_openocd(files.open(path).ok()?.0.reader(), len).is_ok().then_some(Form::OpenOcd)
    }
}

/// Reads the head of a file of `len` bytes in OpenOCD's form, and checks all of its cycles.
fn check_openocd(file: impl Read, len: u64) -> Result<openocd::Head, openocd::NotDump> {
    let mut file = BufReader::with_capacity(1 << 16, file);
    let mut row = [0; openocd::ROW];
    let mut next = || file.read_exact(&mut row).ok().map(|()| row);
    let head = next().and_then(|row| openocd::Head::read(&row)).ok_or(openocd::NotDump::Short)?;
    if len != (u64::from(head.count) + 1) * openocd::ROW as u64 {
        return Err(openocd::NotDump::Count(head.count));
    }
    for n in 0..head.count as usize {
        let cycle = next().and_then(|row| openocd::cycle(&row));
        cycle.ok_or(openocd::NotDump::Row(n))?;
    }
    Ok(head)
}

/// Reads the file at `path` of `files`.
pub(crate) fn read(files: &Files, path: &Path, form: Form) -> Result<Capture, OpenError> {
    let mut files = OpenFiles::of(Access::of(files.clone()));
    let bytes = files.open(path).map_err(|why| OpenError::new(path, Problem::Unreadable(why)))?;
    let problem = |why: String| OpenError::new(path, Problem::Cycles(why));
    let (head, body) = match form {
        Form::Etmp => {
            let head = etmp::Head::read(&bytes.head(etmp::HEAD))
                .map_err(|why| problem(why.to_string()))?;
            (head, bytes.part(etmp::HEAD as u64, bytes.size()))
        }
        Form::Text => {
            let start = bytes.head(MAX_HEAD);
            // The last character may be incomplete.
            let start = match str::from_utf8(&start) {
                Ok(text) => text,
                Err(error) => str::from_utf8(start.get(..error.valid_up_to()).unwrap_or_default())
                    .unwrap_or_default(),
            };
            let (head, rest) = text::read(start).map_err(|why| problem(why.to_string()))?;
            let words = bytes.part((start.len() - rest.len()) as u64, u64::MAX);
            // Without repeats a cycle takes more than one byte of text.
            let most = MAX_REPEATED.max(words.size());
            let file = TextFile::new(words, version(&head), head.width, most);
            let file = file.map_err(|wrong| match wrong {
                Wrong::Read(error) => OpenError::new(path, Problem::Unreadable(reason(&error))),
                Wrong::Word(why) => problem(format!("after the line `cycles`: {why}")),
                Wrong::Many => problem(format!(
                    "the repeats (`xN`) expand to more than {most} cycles; correct N, or write an \
                     .etmp file"
                )),
            })?;
            (head, Bytes::on_demand(Arc::new(file)))
        }
        Form::OpenOcd => {
            let dump = check_openocd(bytes.reader(), bytes.size())
                .map_err(|why| problem(why.to_string()))?;
            let width = Width::of_control(dump.control).ok_or_else(|| {
                problem(format!("ETMCR {:#010x} encodes no known port size", dump.control))
            })?;
            // The file does not record the minor version: ETMv1.3 has the features of all of them.
            let head = etmp::Head {
                major: 1,
                minor: 3,
                width,
                control: dump.control,
                code: 3 << 28,
                cycles: dump.count.into(),
                ..etmp::Head::default()
            };
            let rows = bytes.part(openocd::HEAD as u64, u64::MAX);
            let records = width.record();
            let convert = move |row: &[u8], out: &mut Vec<u8>| {
                let cycle = openocd::cycle(row).unwrap_or(Cycle::NOTHING);
                out.extend_from_slice(cycle.record(width).as_ref());
            };
            (head, converted(rows, openocd::ROW, records, Box::new(convert)))
        }
    };
    Ok(Capture { stamps: files.stamps, ..capture(path, &head, body) })
}

/// Unpacks the first buffer of `capture` from words of a 24-bit Embedded Trace Buffer ([`etb`]):
/// 32-bit little endian words, the oldest first. `control` is ETMCR. An incomplete word at the end
/// is dropped.
pub fn unpack_etb(capture: &mut Capture, control: u32) {
    let Some((buffer, width)) = capture.buffers.first_mut().zip(Width::of_control(control)) else {
        return;
    };
    let words = match buffer.files.as_slice() {
        [file] => file.shared(),
        _ => Bytes::from(buffer.bytes().into_owned()),
    };
    // Each word has the same number of cycles.
    let records = etb::read([0], width).count() * width.record();
    let convert = move |row: &[u8], out: &mut Vec<u8>| {
        let word = row.first_chunk().map(|word| u32::from_le_bytes(*word));
        out.extend(self::records(etb::read(word, width), width));
    };
    let bytes = converted(words, 4, records, Box::new(convert));
    *buffer = Buffer::new(buffer.name.clone(), Format::SourceData, bytes);
}

/// The records of `rows` of `row` bytes, each of which has `records` bytes of records.
fn converted(rows: Bytes, row: usize, records: usize, convert: Convert) -> Bytes {
    Bytes::on_demand(Arc::new(Rows { rows, row, records, convert, all: OnceLock::new() }))
}

fn version(head: &etmp::Head) -> Version {
    if head.major == 1 { Version::V1 } else { Version::V2 }
}

fn capture(path: &Path, head: &etmp::Head, body: Bytes) -> Capture {
    // The header determines the width of the records, not the port size in ETMCR.
    let size = match head.width {
        Width::W4 => 0,
        Width::W8 => 1 << 4,
        Width::W16 => 2 << 4,
    };
    let control = u64::from(head.control) & !(0b111 << 4) | size;
    // Without ETMCCR, its protocol field follows from the version.
    let code = match (head.code, head.minor) {
        (0, minor) => u64::from(minor.min(3)) << 28,
        (code, _) => code.into(),
    };
    let id = match head.id {
        0 => 0x4100_2100 | u64::from(head.minor) << 4,
        id => id.into(),
    };
    let mut registers = vec![("ETMCR", control)];
    registers.push(if head.major == 1 { ("ETMCCR", code) } else { ("ETMIDR", id) });
    if head.major != 1 && head.sync_frequency != 0 {
        registers.push(("ETMSYNCFR", head.sync_frequency.into()));
    }
    registers.push(("HIVECS", head.high_vectors.into()));
    registers.push(("BIGEND", head.big_endian.into()));
    let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
    let name = line(&name);
    let actual = body.len() as u64 / head.width.record() as u64;
    let mut notes = Vec::new();
    if actual != head.cycles && head.cycles != 0 {
        let problem = Problem::CycleCount { recorded: head.cycles, actual };
        notes.push(Note { origin: Origin::file(path), problem });
    }
    Capture {
        path: path.to_owned(),
        kind: Kind::Raw,
        buffers: vec![Buffer::new(name, Format::SourceData, body)],
        sources: vec![Source {
            name: "ETM".into(),
            device_type: format!("ETM{}.{}", head.major, head.minor),
            registers: Registers::from_iter(registers),
            buffers: vec![BufferRef { buffer: 0, stream: None }],
            path: path.to_owned(),
            ..Source::default()
        }],
        notes,
        ..Capture::default()
    }
}

/// A file of the given form with the first buffer of `capture`. `None` where the source of that
/// buffer is not an ETMv1 or ETMv2.
pub fn write(capture: &Capture, form: Form) -> Option<Vec<u8>> {
    let source = capture.sources_of(0).first().copied()?;
    let (major, minor) = match source.device_type.split_once('.') {
        Some((name, minor)) => (name, minor.parse().ok()?),
        None => (source.device_type.as_str(), 0),
    };
    let major = match major.to_ascii_uppercase().as_str() {
        "ETM1" => 1,
        "ETM2" => 2,
        _ => return None,
    };
    let word = |name: &str| source.register(name).unwrap_or(0) as u32;
    let control = word("ETMCR");
    let wiring = tracewright_frames::cycles::port::Wiring::of_control(control)?;
    let body = capture.buffers.first()?.bytes();
    let head = etmp::Head {
        major,
        minor,
        width: wiring.width,
        mode: wiring.mode,
        half_rate: wiring.half_rate,
        high_vectors: word("HIVECS") & 1 != 0,
        big_endian: word("BIGEND") & 1 != 0,
        control,
        code: word("ETMCCR"),
        id: if major == 1 { 0 } else { word("ETMIDR") },
        sync_frequency: word("ETMSYNCFR"),
        cycles: (body.len() / wiring.width.record()) as u64,
        ..etmp::Head::default()
    };
    let all = || cycles(&body, wiring.width);
    Some(match form {
        Form::Etmp => head.write().into_iter().chain(body.iter().copied()).collect(),
        Form::Text => {
            let mut out = String::new();
            // The text form cannot express invalid records.
            let head = etmp::Head { cycles: all().count() as u64, ..head };
            text::write(&head, all(), &mut out).ok()?;
            out.into_bytes()
        }
        Form::OpenOcd => {
            let mut out = Vec::new();
            openocd::write(0, control, &all().collect::<Vec<_>>(), &mut out);
            out
        }
    })
}
