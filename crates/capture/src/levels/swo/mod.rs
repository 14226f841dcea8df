//! Serial Wire Output in a recording of its level by a logic analyser.
//!
//! | file | contents |
//! |---|---|
//! | `edges.rs` | the changes of the level, and bytes in asynchronous form |
//! | `manchester.rs` | bytes in Manchester form |
//! | `csv.rs` | recordings as comma-separated values |
//! | `packed.rs` | samples of the level as bytes |

mod csv;
mod edges;
mod manchester;
mod packed;

use std::path::Path;

use tracewright_base::remedy::{BAUD, CODING, SIGNAL};

pub use self::packed::{BitOrder, Packed, packed_swo};

use self::edges::{Edges, LEAST, MAX_CHANGES, MEASURED};
use super::sigrok::Recording;
use super::{vcd, zip};
use crate::Bytes;
use crate::buffer::Buffer;
use crate::capture::Capture;
use crate::growing::read_file;
use crate::limits::MAX_LEVELS;
use crate::problem::{OpenError, Problem};

/// How bits are sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Coding {
    /// As an asynchronous port does: idle high, a start bit of 0.
    #[default]
    Uart,
    /// The same with the levels high and low exchanged.
    Inverted,
    /// Manchester: idle low, two levels in each bit.
    Manchester,
}

impl Coding {
    /// The name in messages.
    pub const fn name(self) -> &'static str {
        match self {
            Coding::Uart => "asynchronous (UART)",
            Coding::Inverted => "asynchronous (UART), inverted",
            Coding::Manchester => "Manchester",
        }
    }
}

/// What is known of a recording; the rest follows from its pulses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SwoOptions<'a> {
    /// The name of the signal.
    pub signal: Option<&'a str>,
    /// Bits in a second.
    pub baud: Option<u64>,
    /// How bits are sent.
    pub coding: Option<Coding>,
}

/// What was sent on SWO.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SwoRecording {
    /// The bytes.
    pub bytes: Vec<u8>,
    /// The sample at which each byte begins: that of its start bit.
    pub times: Vec<u64>,
    /// Samples in a second, if it is recorded.
    pub rate: Option<u64>,
    /// Bytes without a stop bit, or packets that are not whole bytes. They are left out.
    pub errors: u64,
    /// How bits are sent.
    pub coding: Coding,
    /// Bits in a second, where the samples in a second are recorded.
    pub baud: Option<u64>,
}

/// The level of one signal.
struct Recorded {
    edges: Edges,
    /// Samples in a second, if it is recorded.
    rate: Option<u64>,
}

/// Names of the signal.
const NAMES: [&str; 3] = ["SWO", "TRACESWO", "TDO/SWO"];

/// The first bytes that show that a file has levels as text.
const HEAD: usize = 1 << 12;

/// The words that a Value Change Dump may begin with. (IEEE 1364, 18.2.3)
const VCD: [&[u8]; 5] = [b"$date", b"$version", b"$timescale", b"$comment", b"$scope"];

/// Whether a file with the first bytes `head` may be a recording of levels.
pub fn may_be_levels(head: &[u8]) -> bool {
    let text = head.trim_ascii_start();
    head.starts_with(&zip::MAGIC)
        || VCD.iter().any(|word| text.starts_with(word))
        || csv::is_levels(head.get(..HEAD).unwrap_or(head))
}

/// Reads SWO from the recording at `path`: a `.sr` file of sigrok, a Value Change Dump, or
/// comma-separated values; `None` for another file.
///
/// # Errors
/// [`OpenError`] where the file cannot be read, has no such signal, or is sampled too slowly.
pub fn read_swo(path: &Path, options: &SwoOptions<'_>) -> Result<Option<SwoRecording>, OpenError> {
    let bytes =
        read_file(path).map_err(|why| OpenError::new(path, Problem::Unreadable(why.into())))?;
    if !may_be_levels(&bytes.head(HEAD)) {
        return Ok(None);
    }
    let found = levels(&bytes, options.signal).and_then(|recorded| decode(recorded, options));
    found.map(Some).map_err(|why| OpenError::new(path, Problem::Levels(why)))
}

/// Replaces the first buffer of `capture`, where it is a recording of SWO, with the bytes that were
/// sent: they may have the trace of several sources. Returns whether it is one.
///
/// # Errors
/// As of [`read_swo`].
pub fn sample_swo(capture: &mut Capture, path: &Path) -> Result<bool, OpenError> {
    let Some(buffer) = capture.buffers.first_mut() else { return Ok(false) };
    let [file] = buffer.files.as_slice() else { return Ok(false) };
    if file.pipe.is_some() || !may_be_levels(&file.bytes.head(HEAD)) {
        return Ok(false);
    }
    let options = SwoOptions::default();
    let found = levels(&file.bytes, options.signal).and_then(|found| decode(found, &options));
    let recording = found.map_err(|why| OpenError::new(path, Problem::Levels(why)))?;
    *buffer = Buffer::new(buffer.name.clone(), buffer.format.clone(), recording.bytes);
    Ok(true)
}

fn levels(file: &Bytes, signal: Option<&str>) -> Result<Recorded, String> {
    if file.size() > MAX_LEVELS {
        return Err(format!("it has {} bytes, more than the limit of {MAX_LEVELS}", file.len()));
    }
    if *file.head(zip::MAGIC.len()) != zip::MAGIC {
        let is_vcd = file.head(HEAD).trim_ascii_start().starts_with(b"$");
        return if is_vcd { dump(file, signal) } else { csv::read(file.reader(), signal) };
    }
    let recording = Recording::open(file)?;
    let channels = &recording.device.channels;
    let names: Vec<String> = channels.iter().map(|(_, name)| name.clone()).collect();
    let chosen = select(&names, signal)?;
    let channel = channels.get(chosen).map_or(0, |(channel, _)| *channel);
    let mut edges = Edges::default();
    recording.each(|sample| {
        let byte = sample.get(channel / 8).copied().unwrap_or(0);
        edges.level(byte >> (channel % 8) & 1 != 0, MAX_CHANGES)
    })?;
    Ok(Recorded { edges, rate: recording.device.rate })
}

/// The number of the signal among `names`.
fn select(names: &[String], signal: Option<&str>) -> Result<usize, String> {
    let named = |name: &str| {
        let same = |own: &String| own.eq_ignore_ascii_case(name);
        let last =
            |own: &String| own.rsplit('.').next().is_some_and(|own| own.eq_ignore_ascii_case(name));
        names.iter().position(same).or_else(|| names.iter().position(last))
    };
    let found = match (signal, names) {
        (Some(name), _) => named(name),
        (None, [_]) => Some(0),
        (None, _) => NAMES.iter().find_map(|name| named(name)),
    };
    found.ok_or_else(|| {
        format!(
            "it has no signal {}; name one of {} with {SIGNAL}",
            signal.unwrap_or("SWO"),
            crate::plain::line(&names.join(", "))
        )
    })
}

/// The level of a signal of a Value Change Dump.
fn dump(file: &Bytes, signal: Option<&str>) -> Result<Recorded, String> {
    let mut all = AllSignals::default();
    let mut dump = vcd::Dump::open(file.reader(), &mut all)?;
    let bit = select(&all.names, signal)?;
    let (mut edges, mut origin) = (Edges::default(), None);
    let rate = dump.rate;
    dump.each(&mut |time, levels, unknown| {
        if unknown >> bit & 1 != 0 {
            return Ok(());
        }
        let time = time.saturating_sub(*origin.get_or_insert(time));
        edges.level_at(time, levels >> bit & 1 != 0, MAX_CHANGES)
    })?;
    Ok(Recorded { edges, rate })
}

/// The signals of a recording, by bit.
#[derive(Default)]
struct AllSignals {
    names: Vec<String>,
}

impl vcd::Select for AllSignals {
    fn vector(&self, _: &str, _: &str) -> u32 {
        u128::BITS
    }

    fn find(&mut self, scope: &str, name: &str, index: Option<u32>) -> Result<Option<u8>, String> {
        let bit = u8::try_from(self.names.len()).ok().filter(|bit| u32::from(*bit) < u128::BITS);
        if bit.is_some() {
            let index = index.map(|index| format!("[{index}]")).unwrap_or_default();
            self.names.push(format!("{scope}{name}{index}"));
        }
        Ok(bit)
    }
}

/// A form of the bytes that was tried: bits of `bit` samples.
struct Trial {
    coding: Coding,
    bit: f64,
    /// The share of what cannot be decoded, from 0 to 1.
    faults: f64,
}

fn decode(recorded: Recorded, options: &SwoOptions<'_>) -> Result<SwoRecording, String> {
    let Recorded { mut edges, rate } = recorded;
    edges.stays();
    let given = match (options.baud, rate) {
        (Some(baud), Some(rate)) => Some(rate as f64 / baud.max(1) as f64),
        (Some(_), None) => return Err(format!("{BAUD} needs a recording with a sample rate")),
        (None, _) => None,
    };
    let first = edges.first(MEASURED);
    let tried = [Coding::Uart, Coding::Manchester, Coding::Inverted].into_iter();
    let tried = tried.filter(|coding| options.coding.is_none_or(|wanted| wanted == *coding));
    let trials: Vec<Trial> =
        tried.filter_map(|coding| trial(&first, coding, given, options)).collect();
    // The first of the best.
    let best = trials.iter().min_by(|a, b| a.faults.total_cmp(&b.faults));
    let Some(&Trial { coding, bit, .. }) = best else {
        return Err("its SWO has no bytes".to_owned());
    };
    if bit < LEAST {
        return Err(format!("a bit of SWO has {bit:.1} samples; at least {LEAST} are needed"));
    }
    let (bytes, times, errors) = match coding {
        Coding::Uart => edges.bytes(bit),
        Coding::Inverted => edges.inverted().bytes(bit),
        Coding::Manchester => {
            let found = manchester::decode(&edges.with_rise(), bit / 2.0);
            (found.bytes, found.times, found.errors)
        }
    };
    let given = options.coding.is_some() || options.baud.is_some();
    if !given && (bytes.len() < FEWEST || errors as usize * WRONG > bytes.len()) {
        let len = bytes.len();
        return Err(format!(
            "its signal is no SWO: {len} bytes and {errors} errors in any form; name another one with \
             {SIGNAL}, or the form with {BAUD} and {CODING}"
        ));
    }
    let baud = rate.map(|rate| (rate as f64 / bit).round() as u64);
    Ok(SwoRecording { bytes, times, rate, errors, coding, baud })
}

/// A recording with fewer bytes is no SWO: the shortest write has two.
const FEWEST: usize = 4;

/// Of a recording of SWO, at most one of this many bytes cannot be decoded.
const WRONG: usize = 3;

/// How well a form explains the levels. `bit`: the samples in a bit, where they are given.
fn trial(
    edges: &Edges,
    coding: Coding,
    bit: Option<f64>,
    options: &SwoOptions<'_>,
) -> Option<Trial> {
    let wanted = options.coding.is_some() || options.baud.is_some() && coding == Coding::Uart;
    let (bit, bytes, errors) = match coding {
        Coding::Uart | Coding::Inverted => {
            let inverted = (coding == Coding::Inverted).then(|| edges.inverted());
            let edges = inverted.as_ref().unwrap_or(edges);
            let bit = bit.or_else(|| edges.bit())?;
            let (bytes, _, errors) = edges.bytes(bit);
            (bit, bytes.len(), errors)
        }
        Coding::Manchester => {
            let edges = edges.with_rise();
            let half = bit.map(|bit| bit / 2.0).or_else(|| manchester::half(&edges))?;
            let found = manchester::decode(&edges, half);
            (2.0 * half, found.bytes.len(), found.errors)
        }
    };
    let faults = errors as f64 / (bytes as f64 + errors as f64).max(1.0);
    // Nothing decoded explains nothing.
    (bytes > 0 || wanted).then_some(Trial { coding, bit, faults })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The levels of `bytes` in a form, with 8 samples in a bit.
    fn levels(bytes: &[u8], coding: Coding) -> Vec<bool> {
        let mut halves = Vec::new();
        let bit = |halves: &mut Vec<bool>, a: bool, b: bool| halves.extend([a, b]);
        let idle = coding == Coding::Uart;
        halves.extend([idle; 30]);
        for chunk in bytes.chunks(5) {
            match coding {
                Coding::Manchester => {
                    bit(&mut halves, true, false);
                    for n in chunk.iter().flat_map(|byte| (0..8).map(move |n| byte >> n & 1 != 0)) {
                        bit(&mut halves, n, !n);
                    }
                }
                Coding::Uart | Coding::Inverted => {
                    for byte in chunk {
                        let bits = (0..8).map(|n| byte >> n & 1 != 0);
                        for high in std::iter::once(false).chain(bits).chain([true]) {
                            let level = high == idle;
                            bit(&mut halves, level, level);
                        }
                    }
                }
            }
            halves.extend([idle; 30]);
        }
        halves.iter().flat_map(|level| [*level; 4]).collect()
    }

    /// The form of the bytes is found from the pulses of samples, of rows and of a dump.
    #[test]
    fn forms_are_found() {
        let bytes: Vec<u8> = b"\x01H\x01e\x01l\x01l\x01o\x01\n".repeat(20);
        for coding in [Coding::Uart, Coding::Inverted, Coding::Manchester] {
            let levels = levels(&bytes, coding);
            let mut samples = Edges::default();
            levels.iter().for_each(|level| samples.level(*level, MAX_CHANGES).unwrap());
            let (mut rows, mut dump, mut last) = (
                "Time [s],SWO\n".to_owned(),
                "$timescale 125 ns $end\n$scope module top $end\n$var wire 1 ! SWO $end\n\
                 $var wire 1 \" D1 $end\n$upscope $end\n$enddefinitions $end\n"
                    .to_owned(),
                None,
            );
            for (at, level) in levels
                .iter()
                .enumerate()
                .filter(|(_, level)| last.replace(**level) != Some(**level))
            {
                let level = u8::from(*level);
                rows += &format!("{:.9},{level}\n", at as f64 * 125e-9);
                dump += &format!("#{at}\n{level}!\n");
            }
            let of = |text: &str| {
                assert!(may_be_levels(text.as_bytes()), "{text}");
                super::levels(&Bytes::from(text.as_bytes().to_vec()), None).unwrap()
            };
            let rate = Some(8_000_000);
            for (name, recorded) in [
                ("samples", Recorded { edges: samples, rate }),
                ("rows", of(&rows)),
                ("dump", of(&dump)),
            ] {
                let found = decode(recorded, &SwoOptions::default()).unwrap();
                assert_eq!(found.coding, coding, "{name}");
                assert_eq!(found.bytes, bytes, "{name} {coding:?}");
                assert_eq!(found.errors, 0, "{name} {coding:?}");
                let baud = found.baud.unwrap() as f64;
                assert!((baud / 1e6 - 1.0).abs() < 0.06, "{name} {coding:?}: {baud}");
            }
        }
    }

    #[test]
    fn options_are_used() {
        let mut edges = Edges::default();
        let levels = levels(&[0x55; 8], Coding::Uart);
        levels.iter().for_each(|level| edges.level(*level, MAX_CHANGES).unwrap());
        let recorded = || Recorded { edges: edges.clone(), rate: Some(8_000_000) };
        let coding = Some(Coding::Inverted);
        let found = decode(recorded(), &SwoOptions { coding, ..SwoOptions::default() }).unwrap();
        assert_eq!(found.coding, Coding::Inverted);
        let baud = Some(500_000);
        let found = decode(recorded(), &SwoOptions { baud, ..SwoOptions::default() }).unwrap();
        assert_ne!(found.bytes, [0x55; 8]);
        let none = Recorded { edges: edges.clone(), rate: None };
        assert!(decode(none, &SwoOptions { baud, ..SwoOptions::default() }).is_err());
    }
}
