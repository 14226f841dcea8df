//! Cycles as text: one word for each cycle, `STATUS[*]:HEX`.
//!
//! STATUS is the mnemonic of PIPESTAT, `*` means that TRACESYNC is high (ETMv1), HEX is TRACEPKT.
//! `A0` to `A3` are statuses 0 to 3 of an ETMv1 in a cycle that has two bits of an address packet
//! offset. A word `xN` after a cycle repeats it: N cycles in all. `#` begins a comment.
//!
//! A whole file has lines `KEY VALUE` for the fields of the head of an `.etmp` file, and a line
//! `cycles` before the words.

use core::fmt::{self, Write};

use super::etmp::Head;
use super::port::Mode;
use super::{Cycle, Version, Width};

/// The mnemonics of ETMv1. (IHI 0014, Table 5-1)
pub const V1: [&str; 8] = ["IE", "ID", "IN", "WT", "BE", "BD", "TR", "TD"];

/// The mnemonics of ETMv2. (IHI 0014, Table 6-1)
pub const V2: [&str; 16] = [
    "IE", "DE", "IN", "DN", "WT", "DW", "TR", "TD", "PTIE", "PTDE", "PTIN", "PTDN", "PNIE", "PNDE",
    "PNIN", "PNDN",
];

/// A word that is not a cycle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotCycle<'a> {
    /// The line, from 1.
    pub line: usize,
    /// The word.
    pub word: &'a str,
}

impl fmt::Display for NotCycle<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let NotCycle { line, word } = self;
        write!(
            f,
            "line {line}: `{word}` is not a cycle; write STATUS:HEX, for instance IE:00 or BE*:80"
        )
    }
}

/// The first line of a file.
pub const FIRST: &str = "etmp 1";

/// Words and their lines, without comments.
fn words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let lines = (1..).zip(text.lines());
    lines.flat_map(|(n, line)| {
        line.split('#').next().unwrap_or("").split_whitespace().map(move |word| (n, word))
    })
}

/// The cycles of `text`. The iterator ends after the first error.
pub fn cycles(
    text: &str,
    version: Version,
) -> impl Iterator<Item = Result<Cycle, NotCycle<'_>>> + '_ {
    let mut words = words(text).peekable();
    let (mut again, mut last, mut broken) = (0usize, Cycle::NOTHING, false);
    core::iter::from_fn(move || {
        if again > 0 {
            again -= 1;
            return Some(Ok(last));
        }
        if broken {
            return None;
        }
        let (line, word) = words.next()?;
        let Some(cycle) = cycle(word, version) else {
            broken = true;
            return Some(Err(NotCycle { line, word }));
        };
        last = cycle;
        if let Some(&(_, next)) = words.peek()
            && let Some(times) = repeat(next)
        {
            words.next();
            again = times.saturating_sub(1);
        }
        Some(Ok(cycle))
    })
}

/// The number of cycles that a word `xN` states. 0 stands for one cycle, as 1 does.
pub fn repeat(word: &str) -> Option<usize> {
    word.strip_prefix('x')?.parse().ok()
}

/// The cycle of one word.
pub fn cycle(word: &str, version: Version) -> Option<Cycle> {
    let (name, hex) = word.split_once(':')?;
    let packet = u16::from_str_radix(hex, 16).ok()?;
    let (name, star) = match name.strip_suffix('*') {
        Some(name) => (name, true),
        None => (name, false),
    };
    let find = |names: &[&str]| names.iter().position(|n| *n == name).map(|n| n as u8);
    match version {
        Version::V1 => {
            let offset = name.strip_prefix('A').and_then(|bits| bits.parse().ok());
            let status = find(&V1).or(offset.filter(|bits| *bits < 4))?;
            Some(Cycle { status, sync: star, packet })
        }
        Version::V2 if star => None,
        Version::V2 => find(&V2).map(|pipestat| Cycle::of_pipestat(pipestat, packet)),
    }
}

/// Writes one cycle.
///
/// # Errors
/// Those of `out`.
pub fn write_cycle(
    cycle: Cycle,
    version: Version,
    width: Width,
    out: &mut impl Write,
) -> fmt::Result {
    let digits = usize::from(width.pins() / 4);
    let name = match version {
        Version::V1 => V1.get(usize::from(cycle.status)),
        Version::V2 => V2.get(usize::from(cycle.pipestat())),
    };
    out.write_str(name.copied().unwrap_or("??"))?;
    if version == Version::V1 && cycle.sync {
        out.write_char('*')?;
    }
    write!(out, ":{:0digits$x}", cycle.packet)
}

/// Why text is not a file of cycles.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotFile<'a> {
    /// The first line is not [`FIRST`].
    First,
    /// An invalid line before the cycles, and its number, from 1.
    Line(usize, &'a str),
    /// The line with this key is missing.
    Missing(&'static str),
    /// The line `cycles` is missing.
    NoCycles,
}

impl fmt::Display for NotFile<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NotFile::First => write!(f, "it does not begin with `{FIRST}`"),
            NotFile::Line(n, line) => write!(f, "line {n}: `{line}` is not valid"),
            NotFile::Missing(key) => write!(f, "there is no line `{key} VALUE` before the cycles"),
            NotFile::NoCycles => f.write_str("there is no line `cycles`"),
        }
    }
}

/// The head, and the text of the cycles.
///
/// # Errors
/// [`NotFile`] where a line before the cycles is invalid or missing.
pub fn read(text: &str) -> Result<(Head, &str), NotFile<'_>> {
    let mut lines = (1..).zip(text.lines());
    if lines.next().map(|(_, line)| line.trim()) != Some(FIRST) {
        return Err(NotFile::First);
    }
    let mut head = Head::default();
    let (mut arch, mut width) = (None, None);
    for (n, line) in lines {
        let words = line.split('#').next().unwrap_or("").trim();
        if words.is_empty() {
            continue;
        }
        if words == "cycles" {
            let start = line.as_ptr() as usize - text.as_ptr() as usize + line.len();
            let rest = text.get(start..).unwrap_or_default();
            let (major, minor) = arch.ok_or(NotFile::Missing("arch"))?;
            let width = width.ok_or(NotFile::Missing("width"))?;
            return Ok((Head { major, minor, width, ..head }, rest));
        }
        let wrong = NotFile::Line(n, words);
        let Some((key, value)) = words.split_once(' ') else { return Err(wrong) };
        let value = value.trim();
        let known = match key {
            "arch" => value.split_once('.').and_then(|(major, minor)| {
                let major = major.parse().ok().filter(|major| matches!(major, 1 | 2))?;
                arch = Some((major, minor.parse().ok()?));
                Some(())
            }),
            "width" => value.parse().ok().and_then(Width::of_pins).map(|w| width = Some(w)),
            "port" => Mode::of_word(value).map(|mode| head.mode = mode),
            "half-rate" => flag(value).map(|on| head.half_rate = on),
            "discarded" => flag(value).map(|on| head.discarded = on),
            "wrapped" => flag(value).map(|on| head.wrapped = on),
            "hivecs" => flag(value).map(|on| head.high_vectors = on),
            "big-endian" => flag(value).map(|on| head.big_endian = on),
            "etmcr" => number(value).map(|word| head.control = word),
            "etmccr" => number(value).map(|word| head.code = word),
            "etmidr" => number(value).map(|word| head.id = word),
            "etmsyncfr" => number(value).map(|word| head.sync_frequency = word),
            "samples" => value.parse().ok().map(|count| head.cycles = count),
            "trigger" => value.parse().ok().map(|at| head.trigger = Some(at)),
            _ => None,
        };
        known.ok_or(wrong)?;
    }
    Err(NotFile::NoCycles)
}

/// Writes a whole file.
///
/// # Errors
/// Those of `out`.
pub fn write(
    head: &Head,
    cycles: impl IntoIterator<Item = Cycle>,
    out: &mut impl Write,
) -> fmt::Result {
    writeln!(out, "{FIRST}\narch {}.{}\nwidth {}", head.major, head.minor, head.width.pins())?;
    writeln!(out, "port {}", head.mode.word())?;
    for (key, on) in [
        ("half-rate", head.half_rate),
        ("discarded", head.discarded),
        ("wrapped", head.wrapped),
        ("hivecs", head.high_vectors),
        ("big-endian", head.big_endian),
    ] {
        writeln!(out, "{key} {}", u8::from(on))?;
    }
    for (key, word) in [
        ("etmcr", head.control),
        ("etmccr", head.code),
        ("etmidr", head.id),
        ("etmsyncfr", head.sync_frequency),
    ] {
        writeln!(out, "{key} {word:#010x}")?;
    }
    writeln!(out, "samples {}", head.cycles)?;
    if let Some(at) = head.trigger {
        writeln!(out, "trigger {at}")?;
    }
    out.write_str("cycles")?;
    let version = if head.major == 1 { Version::V1 } else { Version::V2 };
    for (n, cycle) in cycles.into_iter().enumerate() {
        out.write_char(if n % 12 == 0 { '\n' } else { ' ' })?;
        write_cycle(cycle, version, head.width, out)?;
    }
    out.write_char('\n')
}

fn flag(text: &str) -> Option<bool> {
    match text {
        "0" => Some(false),
        "1" => Some(true),
        _ => None,
    }
}

fn number(text: &str) -> Option<u32> {
    match text.strip_prefix("0x") {
        Some(hex) => u32::from_str_radix(hex, 16).ok(),
        None => text.parse().ok(),
    }
}
