//! Files of one trace port's cycles: ETMv1 and ETMv2.
//!
//! | form | known by |
//! |---|---|
//! | `.etmp` ([`etmp`]) | its first bytes |
//! | the same as text ([`text`]) | its first line |
//! | what OpenOCD's `etm dump` writes ([`openocd`]) | its length, and that every word is one that it can have |

use std::fs;
use std::path::Path;

use tracewright_frames::cycles::{
    Cycle, Version, Width, cycles, etb, etmp, openocd, records, text,
};

use crate::files::Files;
use crate::probe::{Found, probe};
use crate::raw::assignment;
use crate::{
    Buffer, BufferRef, Bytes, Capture, Format, Kind, Note, OpenError, Origin, Registers, Source,
    Wrong,
};

/// In text, cycles may be repeated until there are so many: a word of a few letters must not fill memory.
const MOST_REPEATED: usize = 1 << 24;

/// Which of them a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// `.etmp`.
    Etmp,
    /// The same as text.
    Text,
    /// OpenOCD's.
    OpenOcd,
}

impl Form {
    /// What a file is that begins with `head`.
    pub(crate) fn probe(path: &Path, head: &[u8]) -> Option<Form> {
        if head.starts_with(&etmp::MAGIC) {
            return Some(Form::Etmp);
        }
        if head.starts_with(text::FIRST.as_bytes()) {
            return Some(Form::Text);
        }
        // It has no magic number: 12 bytes for each cycle that it says it has, and 12 more.
        let count = head.get(8..12)?.first_chunk().map(|word| u32::from_be_bytes(*word))?;
        let len = fs::metadata(path).ok()?.len();
        if count == 0 || len != (u64::from(count) + 1) * 12 {
            return None;
        }
        let whole = fs::read(path).ok()?;
        openocd::Dump::read(&whole).is_ok().then_some(Form::OpenOcd)
    }
}

/// Reads the file at `path`.
pub(crate) fn read(path: &Path, form: Form) -> Result<Capture, OpenError> {
    let bytes =
        Files::default().open(path).map_err(|why| OpenError::new(path, Wrong::Unreadable(why)))?;
    let wrong = |why: String| OpenError::new(path, Wrong::Cycles(why));
    let (head, body) = match form {
        Form::Etmp => {
            let head = etmp::Head::read(&bytes).map_err(|why| wrong(why.to_string()))?;
            (head, bytes.part(etmp::HEAD as u64, bytes.len() as u64))
        }
        Form::Text => {
            let words = str::from_utf8(&bytes).map_err(|why| wrong(why.to_string()))?;
            let (head, words) = text::read(words).map_err(|why| wrong(why.to_string()))?;
            // Without repeats a cycle takes more than a byte.
            let most = words.len().max(MOST_REPEATED);
            let cycles = text::cycles(words, version(&head)).take(most + 1);
            let cycles: Result<Vec<Cycle>, _> = cycles.collect();
            let cycles = cycles.map_err(|why| wrong(format!("after `cycles`, {why}")))?;
            if cycles.len() > most {
                let why = "it repeats cycles (`xN`) until there are more than";
                return Err(wrong(format!("{why} {most}; correct N, or write an .etmp file")));
            }
            (head, Bytes::from(records(cycles, head.width).collect::<Vec<u8>>()))
        }
        Form::OpenOcd => {
            let dump = openocd::Dump::read(&bytes).map_err(|why| wrong(why.to_string()))?;
            let width = Width::of_control(dump.control)
                .ok_or_else(|| wrong(format!("ETMCR {:#010x} has no port size", dump.control)))?;
            // It does not say which ETMv1 it is: the last one has what all have.
            let head = etmp::Head {
                major: 1,
                minor: 3,
                width,
                control: dump.control,
                code: 3 << 28,
                cycles: dump.cycles().count() as u64,
                ..etmp::Head::default()
            };
            (head, Bytes::from(records(dump.cycles(), width).collect::<Vec<u8>>()))
        }
    };
    Ok(capture(path, &head, body))
}

/// Reads the file at `path`, where it is one of a trace port's cycles, with the values of `registers`
/// (`NAME=VALUE`) in the place of its own. `None` where it is something else.
///
/// # Errors
/// [`OpenError`] where it cannot be read, and where a register is not `NAME=VALUE`.
pub fn open_with(path: &Path, registers: &[String]) -> Result<Option<Capture>, OpenError> {
    let Ok(Found::Cycles(form)) = probe(path) else { return Ok(None) };
    let mut capture = read(path, form)?;
    for text in registers {
        let register = assignment(text)
            .ok_or_else(|| OpenError::new(path, Wrong::NotAssignment(text.clone())))?;
        for source in &mut capture.sources {
            let all = &mut source.registers.0;
            all.retain(|old| !old.name.eq_ignore_ascii_case(&register.name));
            all.push(register.clone());
        }
    }
    Ok(Some(capture))
}

/// Unpacks the first buffer of `capture`: words of the RAM of a 24-bit Embedded Trace Buffer, little endian
/// in 32 bits each, the oldest first ([`etb`]). `control` is ETMCR. What does not fill a word at the end is left
/// out.
pub fn unpack_etb(capture: &mut Capture, control: u32) {
    let Some((buffer, width)) = capture.buffers.first_mut().zip(Width::of_control(control)) else {
        return;
    };
    let bytes = buffer.bytes();
    let words = bytes.chunks_exact(4).filter_map(|word| word.first_chunk());
    let cycles = etb::read(words.map(|word| u32::from_le_bytes(*word)), width);
    let records: Vec<u8> = records(cycles, width).collect();
    *buffer = Buffer::new(buffer.name.clone(), Format::SourceData, Bytes::from(records));
}

fn version(head: &etmp::Head) -> Version {
    if head.major == 1 { Version::V1 } else { Version::V2 }
}

fn capture(path: &Path, head: &etmp::Head, body: Bytes) -> Capture {
    // The records are as wide as the head says, whatever ETMCR does.
    let size = match head.width {
        Width::W4 => 0,
        Width::W8 => 1 << 4,
        Width::W16 => 2 << 4,
    };
    let control = u64::from(head.control) & !(0b111 << 4) | size;
    // The protocol that belongs to the version, where ETMCCR is not there.
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
    let there = body.len() as u64 / head.width.record() as u64;
    let mut notes = Vec::new();
    if there != head.cycles && head.cycles != 0 {
        let wrong = Wrong::CycleCount { said: head.cycles, there };
        notes.push(Note { origin: Origin::file(path), wrong });
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

/// The `.etmp` file, or its text, of a capture with an ETMv1 or ETMv2 in its first buffer. `None` where
/// it has none.
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
            // Text has no word for a record that is none.
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
