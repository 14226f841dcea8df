//! Timelines in the formats of trace viewers.
//!
//! | file | format |
//! |---|---|
//! | `btf.rs` | Best Trace Format |
//! | `chrome.rs` | Chrome JSON (Trace Event Format) |
//! | `ctf.rs` | Common Trace Format 1.8 |
//! | `firefox.rs` | Firefox Profiler |
//! | `perfetto.rs` | Perfetto protobuf |
//! | `speedscope.rs` | speedscope |
//! | `vcd.rs` | Value Change Dump |

mod btf;
mod chrome;
mod ctf;
mod firefox;
mod perfetto;
mod speedscope;
#[cfg(test)]
mod tests;
mod vcd;

use std::collections::{BTreeMap, BTreeSet};

use tracewright_analysis::{Axis, Code, FunctionId, Slice, Timeline};

use crate::pieces::Pieces;

/// A format of timelines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TimelineFormat {
    /// Best Trace Format, of a timeline whose sources are processors.
    Btf,
    /// Chrome JSON.
    Chrome,
    /// Processed profile of the Firefox Profiler.
    Firefox,
    /// Perfetto protobuf.
    Perfetto,
    /// speedscope.
    Speedscope,
    /// Value Change Dump.
    Vcd,
}

/// The values of a signal over time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Counter {
    /// The source.
    pub source: usize,
    /// The name.
    pub name: String,
    /// The unit; may be empty.
    pub unit: String,
    /// Positions in the source, or values of its clock, and values.
    pub values: Vec<(u64, f64)>,
    /// Positions are values of the clock: timestamps.
    pub is_clocked: bool,
}

/// A timeline, and what its numbers mean.
#[derive(Clone, Copy, Debug)]
pub struct TimelineView<'a> {
    /// The frames.
    pub timeline: &'a Timeline,
    /// Their functions.
    pub code: &'a Code,
    /// The names of the threads, by number.
    pub threads: &'a [String],
    /// The names of the sources.
    pub sources: &'a [String],
    /// Values over time, which Chrome JSON, Perfetto and VCD have; the Firefox Profiler those that
    /// are never negative.
    pub counters: &'a [Counter],
    /// What a reader must know of the trace; empty where there is nothing. Chrome JSON has it.
    pub warning: &'a str,
    /// Ticks of the timestamp clock in a second. Without it, a tick is a nanosecond. Without
    /// timestamps, an instruction is.
    pub frequency: Option<u64>,
}

impl TimelineFormat {
    /// Writes the file. `write` receives one piece after another, and returns whether more are
    /// needed.
    pub fn write(self, view: &TimelineView<'_>, write: &mut dyn FnMut(Vec<u8>) -> bool) {
        let mut out = Pieces::new(write);
        match self {
            TimelineFormat::Btf => btf::write(view, &mut out),
            TimelineFormat::Chrome => chrome::write(view, &mut out),
            TimelineFormat::Firefox => firefox::write(view, &mut out),
            TimelineFormat::Perfetto => perfetto::write(view, &mut out),
            TimelineFormat::Speedscope => speedscope::write(view, &mut out),
            TimelineFormat::Vcd => vcd::write(view, &mut out),
        }
        out.finish();
    }
}

/// A frame begins or ends.
#[derive(Clone, Copy, Debug)]
struct Event<'a> {
    /// Picoseconds.
    at: u64,
    begins: bool,
    slice: &'a Slice,
}

impl TimelineView<'_> {
    /// The time of a position in a source, in picoseconds since the origin.
    fn time(&self, source: usize, instructions: u64) -> u64 {
        match self.timeline.axis(source) {
            Axis::Timestamps => {}
            Axis::Ticks => {
                let time = self.picoseconds(u128::from(instructions) * 1000);
                return u64::try_from(time).unwrap_or(u64::MAX);
            }
            Axis::Instructions | Axis::Bytes => return instructions.saturating_mul(1000),
        }
        let time = self.picoseconds(self.timeline.time_at(source, instructions).estimate);
        let origin = self.origin().map_or(0, |ticks| self.picoseconds(u128::from(ticks) * 1000));
        u64::try_from(time.saturating_sub(origin)).unwrap_or(u64::MAX)
    }

    /// The time of a value of a counter, in picoseconds since the origin.
    fn time_of(&self, counter: &Counter, at: u64) -> u64 {
        if !counter.is_clocked {
            return self.time(counter.source, at);
        }
        let of = |ticks: u64| self.picoseconds(u128::from(ticks) * 1000);
        let origin = self.origin().map_or(0, of);
        u64::try_from(of(at).saturating_sub(origin)).unwrap_or(u64::MAX)
    }

    /// Thousandths of a tick in picoseconds.
    fn picoseconds(&self, thousandths: u128) -> u128 {
        match self.frequency {
            None => thousandths,
            Some(hertz) => thousandths * 1_000_000_000 / u128::from(hertz.max(1)),
        }
    }

    /// The first timestamp, where picoseconds up to the last one need more than 64 bits, such as
    /// those of a clock that counts nanoseconds since 1970. Times are counted from it.
    fn origin(&self) -> Option<u64> {
        let samples = || (0..self.sources.len()).map(|source| self.timeline.time_samples(source));
        let last =
            samples().filter_map(|samples| samples.last()).map(|sample| sample.ticks).max()?;
        if u64::try_from(self.picoseconds(u128::from(last) * 1000)).is_ok() {
            return None;
        }
        samples().filter_map(|samples| samples.first()).map(|sample| sample.ticks).min()
    }

    /// What a nanosecond of the file stands for, and from where times are counted.
    fn unit(&self) -> String {
        let axes: BTreeSet<Axis> =
            self.timeline.threads.iter().map(|t| self.timeline.axis(t.source)).collect();
        let units = axes.iter().map(|axis| match (axis, self.frequency) {
            (Axis::Instructions, _) => "1 ns is an instruction",
            (Axis::Bytes, _) => "1 ns is a byte of the trace",
            (Axis::Timestamps | Axis::Ticks, Some(_)) => "time",
            (Axis::Timestamps, None) => "1 ns is a tick of the timestamp clock",
            (Axis::Ticks, None) => "1 ns is a tick of the ITM's timestamps",
        });
        let mut units: Vec<&str> = units.collect();
        units.dedup();
        let unit = match units.is_empty() {
            true => "1 ns is an instruction".to_owned(),
            false => units.join("; of other sources, "),
        };
        match self.origin() {
            None => unit,
            Some(ticks) => format!("{unit}, counted from timestamp {ticks}"),
        }
    }

    fn name(&self, function: FunctionId) -> String {
        self.code.name(function).into_owned()
    }

    fn source(&self, thread: usize) -> usize {
        self.timeline.threads.get(thread).map_or(0, |thread| thread.source)
    }

    fn thread_name(&self, thread: usize) -> &str {
        self.threads.get(thread).map_or("", String::as_str)
    }

    fn source_name(&self, source: usize) -> &str {
        self.sources.get(source).map_or("", String::as_str)
    }

    /// The begins and ends of the frames of a thread, in order, properly nested.
    fn events<'b>(&self, thread: usize, slices: &'b [Slice]) -> Vec<Event<'b>> {
        let source = self.source(thread);
        let mut events = Vec::with_capacity(2 * slices.len());
        let mut open: Vec<&Slice> = Vec::new();
        let end =
            |slice: &'b Slice| Event { at: self.time(source, slice.end), begins: false, slice };
        for slice in slices {
            while let Some(last) = open.last().filter(|last| last.depth >= slice.depth) {
                events.push(end(last));
                open.pop();
            }
            events.push(Event { at: self.time(source, slice.begin), begins: true, slice });
            open.push(slice);
        }
        events.extend(open.into_iter().rev().map(end));
        events
    }

    /// A number for each function, from 0, in order of their first frames.
    fn numbers(&self, threads: &[Vec<Slice>]) -> (BTreeMap<FunctionId, usize>, Vec<FunctionId>) {
        let (mut numbers, mut order) = (BTreeMap::new(), Vec::new());
        for slice in threads.iter().flatten() {
            numbers.entry(slice.function).or_insert_with(|| {
                order.push(slice.function);
                order.len() - 1
            });
        }
        (numbers, order)
    }
}
