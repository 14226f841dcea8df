//! The first screen of [`Info`]: what a capture is, what its first bytes contain, and what is wrong
//! with it.

use std::collections::HashSet;
use std::fmt::Write;

use tracewright_base::{Batch, Element, Part, Turns};
use tracewright_capture::plain::line;
use tracewright_capture::{Capture, Kind};
use tracewright_decode::detect::cause::Cause;
use tracewright_decode::detect::fill::{filled_from, filling as filling_word};
use tracewright_decode::detect::{Candidate, HEAD};
use tracewright_decode::{Listener, Memory, Options, Plan, Session, Tally};

use super::{Info, SourceInfo};
use crate::explain::{Decoded, Diagnosis, Remark};
use crate::sources::Source;

/// The most buffers that are decoded for the overview.
const MAX_BUFFERS: usize = 8;

/// What the first bytes of a capture contain.
#[derive(Clone, Debug, Default)]
pub struct Overview {
    /// What the capture was read from.
    pub kind: &'static str,
    /// What was detected of raw trace data.
    pub detected: Option<Candidate>,
    /// The bytes of all buffers.
    pub bytes: u64,
    /// The bytes that were decoded: the first of each buffer.
    pub decoded: u64,
    /// Those of them before a filling.
    pub written: u64,
    /// The buffers that were decoded.
    pub looked: Vec<usize>,
    /// The packets in them.
    pub packets: u64,
    /// The executed instructions in them.
    pub instructions: u64,
    /// The ranges in them.
    pub ranges: u64,
    /// The number of times that an address was outside of the images.
    pub outside: u64,
    /// The timestamps in them.
    pub timestamps: u64,
    /// The cycle counts in them.
    pub cycles: u64,
    /// The sources that trace instructions.
    pub cores: usize,
    /// The most likely cause of a poor result: the buffer and the cause.
    pub cause: Option<(usize, Cause)>,
    /// It in a sentence, and what to do.
    pub remark: Option<Remark>,
    /// What else is missing or wrong, as the summary of decoding states it.
    pub remarks: Vec<Remark>,
    /// The bytes at the end of the only buffer that the trace did not fill, and the word in them.
    pub filling: Option<(u64, String)>,
}

impl Overview {
    /// Decodes the first [`HEAD`] bytes of the first buffers.
    pub(super) fn of(capture: &Capture, plans: &[Plan], options: &Options) -> Overview {
        let kind = match capture.kind {
            Kind::Snapshot => "snapshot",
            Kind::Folder => "folder with a capture.toml",
            Kind::Raw => "raw trace data",
            Kind::Perf => "perf.data",
            Kind::Memory => "capture in memory",
        };
        let bytes = capture.buffers.iter().map(|buffer| buffer.len()).sum();
        let mut overview = Overview { kind, bytes, ..Overview::default() };
        let memory = Memory::new(capture);
        // Why there is little to show, where nothing is wrong.
        let (mut quiet, mut active) = (Vec::new(), false);
        for plan in plans.iter().take(MAX_BUFFERS) {
            let Some(buffer) = capture.buffers.get(plan.buffer) else { continue };
            if buffer.is_piped() {
                continue;
            }
            let head = buffer.head(HEAD);
            let mut counter = (Tally::default(), Times::default());
            let Ok(mut session) = Session::new(capture, plan, &memory, options) else { continue };
            session.run([&*head], &mut counter);
            let (tally, times) = counter;
            overview.decoded += head.len() as u64;
            overview.written += filled_from(&head) as u64;
            overview.looked.push(plan.buffer);
            overview.timestamps += times.timestamps;
            overview.cycles += times.cycles;
            for (n, planned) in plan.sources.iter().enumerate() {
                let c = tally.of(n);
                overview.packets += c.packets;
                overview.instructions += c.instructions;
                overview.ranges += c.ranges;
                overview.outside += c.no_code;
                active |= c.has_activity();
                overview.cores += usize::from(planned.config.protocol().traces_instructions());
            }
            let sources = Source::all(capture, plan, &memory);
            let (sources, memory, tally) = (&sources, &memory, &tally);
            let decoded = Decoded { capture, plan, sources, memory, options, tally };
            let Diagnosis { cause, remarks, is_problem } = decoded.diagnosis();
            if overview.cause.is_none() {
                overview.remark = cause.as_ref().map(|cause| decoded.cause_remark(cause));
                overview.cause = cause.map(|cause| (plan.buffer, cause));
            }
            let to = if is_problem { &mut overview.remarks } else { &mut quiet };
            for remark in remarks {
                if !to.contains(&remark) {
                    to.push(remark);
                }
            }
        }
        if !active {
            overview.remarks.extend(quiet);
        }
        overview.filling = filling(capture);
        overview
    }

    /// The share of the traced code that the images have, in words.
    fn coverage(&self) -> String {
        match (self.ranges, self.outside) {
            (0, 0) => "no executed code was found".to_owned(),
            (_, 0) => "the images have all executed code".to_owned(),
            (0, n) => format!("the images have none of the executed code ({n} addresses outside)"),
            (ranges, n) => {
                let share = ranges as f64 * 100.0 / (ranges + n) as f64;
                format!("the images have {share:.1} % of the executed code ({n} addresses outside)")
            }
        }
    }
}

/// The end of raw trace data that the trace did not fill.
fn filling(capture: &Capture) -> Option<(u64, String)> {
    let [buffer] = capture.buffers.as_slice() else { return None };
    if capture.kind != Kind::Raw || buffer.is_piped() {
        return None;
    }
    let head = buffer.head(HEAD);
    let from = filled_from(&head);
    let is_whole = head.len() as u64 == buffer.len();
    let bytes = head.len() - from;
    (is_whole && bytes >= FILLING && from > 0).then(|| (bytes as u64, filling_word(&head, from)))
}

/// A shorter filling is not named.
const FILLING: usize = 64;

/// Counts what indicates time.
#[derive(Default)]
struct Times {
    timestamps: u64,
    cycles: u64,
}

impl Listener for Times {
    fn element(&mut self, _: usize, _: u64, element: Element) {
        match element {
            Element::Timestamp { cycles, .. } => {
                self.timestamps += 1;
                self.cycles += u64::from(cycles.is_some());
            }
            Element::LocalTimestamp(_) | Element::GlobalTimestamp { .. } => self.timestamps += 1,
            Element::Cycles(_) => self.cycles += 1,
            Element::Range(range) => self.cycles += u64::from(range.cycles.get().is_some()),
            _ => {}
        }
    }

    fn batch(&mut self, batch: &Batch<'_>) {
        for part in batch.parts() {
            match part {
                // Cached blocks have no cycles.
                Part::Steps(_) => {}
                Part::Element(at, element) => self.element(batch.source, at, element),
                Part::Turns(Turns { ranges, times, .. }) => {
                    let counted = ranges.iter().filter(|range| range.cycles.get().is_some());
                    let cycles = (counted.count() as u64).saturating_mul(times);
                    self.cycles = self.cycles.saturating_add(cycles);
                }
            }
        }
    }
}

impl Info {
    /// All problems, in the order of their weight: the cause of a poor result, what decoding
    /// reports, what was assumed, and what the capture lacks. `next` is the command to run next,
    /// where one addresses the first problem.
    pub fn problems(&self, next: Option<&str>) -> Vec<Remark> {
        let o = &self.overview;
        let first = o.remark.iter().map(|remark| {
            let help = next.map_or(remark.help.clone(), |command| format!("run: {command}"));
            Remark { what: remark.what.clone(), help }
        });
        let mut problems: Vec<Remark> = first.chain(o.remarks.iter().cloned()).collect();
        let assumptions = o.detected.iter().flat_map(Candidate::assumptions);
        problems.extend(assumptions.map(|what| Remark { what, help: String::new() }));
        let mut known: HashSet<String> = problems.iter().map(|p| p.what.clone()).collect();
        let further = self.missing.iter().filter(|missing| known.insert(missing.what.clone()));
        problems.extend(further.cloned());
        problems
    }

    /// The first screen: the overview, and the problems in the order of their weight. `next` is the
    /// command to run next, where one addresses the first problem.
    pub fn overview_text(&self, next: Option<&str>) -> String {
        let o = &self.overview;
        let mut out = String::new();
        let mut row = |name: &str, text: &str| {
            let _ = writeln!(out, "{name:<10} {text}");
        };
        row("capture", &format!("{}: {}", line(&self.path.to_string_lossy()), o.kind));
        if let Some(detected) = &o.detected {
            row("detected", &detected.summary());
            row("options", &detected.description().line());
        }
        let buffers = self.buffers.len();
        let plural = if buffers == 1 { "" } else { "s" };
        let filled = match &o.filling {
            Some((bytes, word)) => format!("; the last {bytes} bytes repeat {word}"),
            None => String::new(),
        };
        row("trace", &format!("{} bytes in {buffers} buffer{plural}{filled}", o.bytes));
        if o.decoded > 0 {
            row(
                "contents",
                &format!(
                    "{} packets, {} instructions in the first {} bytes{}",
                    o.packets,
                    o.instructions,
                    o.decoded,
                    bits_per_instruction(o.written, o.instructions)
                ),
            );
        }
        let in_no_buffer = |source: &&SourceInfo| source.buffers.is_empty();
        let mut idle: Vec<&SourceInfo> = self.sources.iter().filter(in_no_buffer).collect();
        if idle.len() < 2 || idle.len() == self.sources.len() {
            idle.clear();
        }
        for source in &self.sources {
            if !idle.is_empty() && source.buffers.is_empty() {
                continue;
            }
            let id = source.id.map_or(String::new(), |id| format!(", ID {id:#04x}"));
            let core = match &source.core {
                Some((name, kind)) if kind.is_empty() => format!(", traces {name}"),
                Some((_, kind)) => format!(", traces {kind}"),
                None => String::new(),
            };
            let title = source.protocol.unwrap_or("unknown protocol");
            row("source", &format!("{}: {title}{id}{core}", line(&source.name)));
        }
        if let [first, .., last] = idle[..] {
            let (count, first, last) = (idle.len(), line(&first.name), line(&last.name));
            row("source", &format!("{count} without a trace buffer, {first} to {last}"));
        }
        let amount = |count: u64, none: &str, some: &str| match count {
            0 => none.to_owned(),
            count => format!("{count} {some}"),
        };
        if o.decoded > 0 {
            row("time", &amount(o.timestamps, "no timestamps", "timestamps"));
            row("cycles", &amount(o.cycles, "no cycle counts", "cycle counts"));
        }
        let symbols: usize = self.images.iter().map(|image| image.symbols).sum();
        let loaded = self.images.iter().filter(|image| !image.parts.is_empty()).count();
        row(
            "images",
            &match (loaded, symbols) {
                (0, _) => "none".to_owned(),
                (n, 0) => format!("{n}, without symbols"),
                (n, symbols) => format!("{n}, with {symbols} symbols"),
            },
        );
        if loaded > 0 && o.cores > 0 && o.decoded > 0 {
            row("coverage", &o.coverage());
        }
        let problems = self.problems(next);
        if !problems.is_empty() {
            out.push_str("\nproblems:\n");
        } else if o.decoded < o.bytes {
            let _ = writeln!(out, "\nproblems: none in the first {} bytes", o.decoded);
        } else {
            out.push_str("\nproblems: none\n");
        }
        for (n, Remark { what, help }) in problems.iter().enumerate() {
            let _ = writeln!(out, "  {}. {what}", n + 1);
            if !help.is_empty() {
                let _ = writeln!(out, "     {help}");
            }
        }
        out
    }
}

/// `, N bits an instruction`, where there are instructions.
fn bits_per_instruction(bytes: u64, instructions: u64) -> String {
    match instructions {
        0 => String::new(),
        count => format!(", {:.3} bits an instruction", bytes as f64 * 8.0 / count as f64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_is_given_once() {
        let remark = |what: &str| Remark { what: what.into(), help: String::new() };
        let capture = Capture::default();
        let mut info = Info::of(&capture, &Options::default());
        info.overview.remark = None;
        info.overview.remarks = vec![remark("of decoding"), remark("of both")];
        info.missing = ["of both", "of the capture", "of the capture", "last"].map(remark).into();
        let problems: Vec<_> = info.problems(None).into_iter().map(|p| p.what).collect();
        assert_eq!(problems, ["of decoding", "of both", "of the capture", "last"]);
    }
}
