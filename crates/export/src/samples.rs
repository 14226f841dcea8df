//! Samples of the program counter in the formats of profilers. The callers of a sampled function
//! are not known: a stack has the function, and the functions that are inlined there.

use std::collections::BTreeMap;
use std::fmt::Write;

use tracewright_analysis::itm::{SampleProfile, SampledFrame};
use tracewright_capture::proto::Message;

use crate::folded::frame;
use crate::paths::flame_graph::{FlameFrame, draw};
use crate::pieces::Pieces;
use crate::pprof::Texts;
use crate::text::line;

/// A format of samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SampleFormat {
    /// Folded stacks.
    Folded,
    /// Flame graph, SVG.
    FlameGraph,
    /// callgrind, with addresses and lines.
    Callgrind,
    /// pprof, with addresses and lines.
    Pprof,
    /// Text: the samples of each source line, most first.
    Lines,
}

impl SampleFormat {
    /// The samples in this format.
    pub fn write(self, profile: &SampleProfile) -> Vec<u8> {
        match self {
            SampleFormat::Folded => folded(profile).into_bytes(),
            SampleFormat::FlameGraph => flame_graph(profile),
            SampleFormat::Callgrind => callgrind(profile).into_bytes(),
            SampleFormat::Pprof => pprof(profile),
            SampleFormat::Lines => lines(profile).into_bytes(),
        }
    }
}

/// The samples of each stack of functions.
fn stacks(profile: &SampleProfile) -> BTreeMap<Vec<&str>, u64> {
    let mut stacks: BTreeMap<Vec<&str>, u64> = BTreeMap::new();
    for row in &profile.rows {
        let stack = row.frames.iter().map(|frame| frame.function.as_str()).collect();
        *stacks.entry(stack).or_default() += row.samples;
    }
    stacks
}

fn folded(profile: &SampleProfile) -> String {
    let mut out = String::new();
    for (stack, samples) in stacks(profile) {
        let stack = stack.into_iter().map(frame).collect::<Vec<_>>().join(";");
        let _ = writeln!(out, "{stack} {samples}");
    }
    out
}

fn flame_graph(profile: &SampleProfile) -> Vec<u8> {
    let stacks = stacks(profile);
    // All prefixes in order: each precedes those that it is a prefix of.
    let mut sums: BTreeMap<&[&str], (u64, u64)> = BTreeMap::new();
    for (stack, &samples) in &stacks {
        for len in 1..=stack.len() {
            let Some(prefix) = stack.get(..len) else { continue };
            let (sum, own) = sums.entry(prefix).or_default();
            *sum += samples;
            *own += if len == stack.len() { samples } else { 0 };
        }
    }
    let frames = sums.into_iter().map(|(prefix, (sum, own))| FlameFrame {
        depth: prefix.len() - 1,
        name: prefix.last().map(|name| (*name).to_owned()).unwrap_or_default(),
        sum,
        own,
    });
    let mut file = Vec::new();
    let mut write = |piece: Vec<u8>| {
        file.extend(piece);
        true
    };
    let mut out = Pieces::new(&mut write);
    draw(frames, profile.total(), "samples", &mut out);
    out.finish();
    file
}

/// The innermost function of a row, and its line.
fn innermost(frames: &[SampledFrame]) -> (&str, &str, u32) {
    let Some(frame) = frames.last() else { return ("???", "???", 0) };
    match &frame.line {
        Some((file, line)) => (&frame.function, file, *line),
        None => (&frame.function, "???", 0),
    }
}

/// File and function.
type Place<'a> = (&'a str, &'a str);

/// Samples of each address, by function. (Valgrind manual, "Callgrind Format Specification")
fn callgrind(profile: &SampleProfile) -> String {
    let mut out = String::from(
        "# callgrind format\nversion: 1\ncreator: tracewright\npositions: instr line\nevents: Samples\n",
    );
    let mut functions: BTreeMap<Place<'_>, Vec<(u64, u32, u64)>> = BTreeMap::new();
    for row in &profile.rows {
        let (function, file, number) = innermost(&row.frames);
        let list = functions.entry((file, function)).or_default();
        list.push((row.address.unwrap_or(0), number, row.samples));
    }
    for ((file, function), rows) in functions {
        let _ = write!(out, "\nfl={}\nfn={}\n", line(file), line(function));
        for (address, number, samples) in rows {
            let _ = writeln!(out, "0x{address:x} {number} {samples}");
        }
    }
    let _ = write!(out, "\ntotals: {}\n", profile.total());
    out
}

/// The message `Profile`. (github.com/google/pprof, proto/profile.proto)
fn pprof(profile: &SampleProfile) -> Vec<u8> {
    let (mut texts, mut out) = (Texts::default(), Message::default());
    let mut kind = Message::default();
    kind.number(1, texts.number("samples"));
    kind.number(2, texts.number("count"));
    out.bytes(1, &kind.0);
    let (mut locations, mut names) = (Message::default(), Message::default());
    let mut functions: BTreeMap<(&str, &str), u64> = BTreeMap::new();
    for (number, row) in (1..).zip(&profile.rows) {
        let mut location = Message::default();
        location.number(1, number);
        location.number(3, row.address.unwrap_or(0));
        // The innermost function is first.
        for place in row.frames.iter().rev() {
            let (file, number) = match &place.line {
                Some((file, line)) => (file.as_str(), *line),
                None => ("", 0),
            };
            let next = functions.len() as u64 + 1;
            let function = *functions.entry((&place.function, file)).or_insert(next);
            if function == next {
                let mut message = Message::default();
                message.number(1, function);
                message.number(2, texts.number(&place.function));
                message.number(3, texts.number(&place.function));
                message.number(4, texts.number(file));
                names.bytes(5, &message.0);
            }
            let mut line = Message::default();
            line.number(1, function);
            line.number(2, number.into());
            location.bytes(4, &line.0);
        }
        locations.bytes(4, &location.0);
        let mut sample = Message::default();
        sample.packed(1, &[number]);
        // Values are signed.
        sample.packed(2, &[row.samples.min(i64::MAX as u64)]);
        out.bytes(2, &sample.0);
    }
    out.0.extend(locations.0);
    out.0.extend(names.0);
    for text in texts.iter() {
        out.bytes(6, text.as_bytes());
    }
    out.0
}

fn lines(profile: &SampleProfile) -> String {
    let mut sums: BTreeMap<(&str, u32, &str), u64> = BTreeMap::new();
    for row in &profile.rows {
        let (function, file, number) = innermost(&row.frames);
        *sums.entry((file, number, function)).or_default() += row.samples;
    }
    let mut rows: Vec<_> = sums.into_iter().collect();
    rows.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(&b.0)));
    let mut out = format!("{:>8} {:>7}  line\n", "samples", "share");
    let all = profile.total();
    for ((file, number, function), samples) in rows {
        let share = samples as f64 * 100.0 / all.max(1) as f64;
        let (file, function) = (line(file), line(function));
        let _ = match (number, &*file) {
            (_, "???") => writeln!(out, "{samples:>8} {share:>6.2}%  {function}"),
            (0, file) => writeln!(out, "{samples:>8} {share:>6.2}%  {file} in {function}"),
            (number, file) => {
                writeln!(out, "{samples:>8} {share:>6.2}%  {file}:{number} in {function}")
            }
        };
    }
    let _ = writeln!(out, "{all:>8} {:>6.2}%  all", if all == 0 { 0.0 } else { 100.0 });
    out
}

#[cfg(test)]
mod tests {
    use tracewright_analysis::itm::SampledAddress;
    use tracewright_capture::proto::{Value, fields};

    use super::*;

    fn profile() -> SampleProfile {
        let frame = |function: &str, line| SampledFrame {
            function: function.to_owned(),
            line: Some(("a;b.c".to_owned(), line)),
        };
        let row = |address, frames, samples| SampledAddress { address, frames, samples };
        let asleep = SampledFrame { function: "[asleep]".to_owned(), line: None };
        SampleProfile {
            rows: vec![
                row(Some(0x100), vec![frame("main", 3)], 2),
                row(Some(0x102), vec![frame("main", 4), frame("min(a, b)", 9)], 5),
                row(Some(0x104), vec![frame("main", 3)], 1),
                row(None, vec![asleep], 7),
            ],
        }
    }

    #[test]
    fn text_formats() {
        let text = |format: SampleFormat| String::from_utf8(format.write(&profile())).unwrap();
        assert_eq!(text(SampleFormat::Folded), "[asleep] 7\nmain 3\nmain;min(a,_b) 5\n");
        let lines = text(SampleFormat::Lines);
        let rows: Vec<_> =
            lines.lines().map(|l| l.split_whitespace().collect::<Vec<_>>()).collect();
        assert_eq!(rows[1], ["7", "46.67%", "[asleep]"]);
        assert_eq!(rows[2][..3], ["5", "33.33%", "a;b.c:9"]);
        assert_eq!(rows[3][..3], ["3", "20.00%", "a;b.c:3"]);
        let callgrind = text(SampleFormat::Callgrind);
        assert!(callgrind.contains("\nfl=a;b.c\nfn=main\n0x100 3 2\n0x104 3 1\n"), "{callgrind}");
        assert!(callgrind.ends_with("\ntotals: 15\n"), "{callgrind}");
        let svg = text(SampleFormat::FlameGraph);
        assert!(svg.contains("main: 8 samples (53.3 %), 3 itself"), "{svg}");
        assert!(svg.contains("min(a, b): 5 samples (33.3 %), 5 itself"), "{svg}");
    }

    #[test]
    fn pprof_has_all_samples() {
        let file = SampleFormat::Pprof.write(&profile());
        let mut sum = 0;
        for (field, value) in fields(&file) {
            let (2, Value::Bytes(sample)) = (field, value) else { continue };
            for (field, value) in fields(sample) {
                if let (2, Value::Bytes([count])) = (field, value) {
                    sum += u64::from(*count);
                }
            }
        }
        assert_eq!(sum, 15);
    }
}
