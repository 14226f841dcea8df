//! The events of an ITM over time, for pictures and tables.

use std::collections::BTreeMap;

use tracewright_base::{Channel, Dwt, Element, ExceptionStep};

use super::{Content, Entry, Exceptions, Interpreter, Reading, Samples, Signals};

/// A moment of a trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct When {
    /// The last time that is known.
    time: u64,
    /// The offset in the trace buffer.
    offset: u64,
}

/// An exception from its entry to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExceptionSlice {
    /// Its number.
    pub number: u16,
    /// The exceptions that it interrupts.
    pub depth: u32,
    /// Where it begins.
    pub begin: u64,
    /// Where it ends, at the latest.
    pub end: u64,
    /// Its entry or its exit was not traced.
    pub uncertain: bool,
}

/// A line of text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// Where it begins.
    pub at: u64,
    /// The port.
    pub channel: Channel,
    /// The text, without its line feed.
    pub text: String,
}

/// The values of a signal over time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ValueTrack {
    /// Their unit; may be empty.
    pub unit: String,
    /// Where each was sent, and the number.
    pub values: Vec<(u64, f64)>,
}

/// The events of one source. Positions are ticks, or where the trace has no times, offsets in the
/// trace buffer.
#[derive(Clone, Debug, Default)]
pub struct Recording {
    interpreter: Interpreter,
    events: Events,
}

/// What was collected, with both kinds of positions.
#[derive(Clone, Debug, Default)]
struct Events {
    limit: usize,
    slices: Vec<(ExceptionSlice, When, When)>,
    open: Vec<(u16, When, bool)>,
    losses: Vec<When>,
    lines: Vec<(When, Channel, String)>,
    tracks: BTreeMap<String, (String, Vec<(When, f64)>)>,
    samples: Samples,
    first: Option<When>,
    last: When,
    timed: bool,
    lost: u64,
    count: usize,
    left_out: u64,
}

impl Recording {
    /// A recording of at most `limit` events of a source with these signals.
    pub fn new(signals: Signals, limit: usize) -> Recording {
        let events = Events { limit, ..Events::default() };
        Recording { interpreter: Interpreter::with_signals(signals), events }
    }

    /// Takes the next element, as [`Interpreter::element`] does.
    pub fn element(&mut self, at: u64, recorded: Option<u64>, element: &Element) {
        let Recording { interpreter, events } = self;
        interpreter.element(at, recorded, element, &mut |entry| events.entry(entry));
    }

    /// The trace has ended.
    pub fn finish(&mut self) {
        let Recording { interpreter, events } = self;
        interpreter.flush(&mut |entry| events.entry(entry));
        let last = events.last;
        events.end_from(0, last, true);
    }

    /// Whether positions are ticks.
    pub fn is_timed(&self) -> bool {
        self.events.timed
    }

    /// The totals of its exceptions.
    pub fn exceptions(&self) -> &Exceptions {
        self.interpreter.exceptions()
    }

    /// The samples of the program counter.
    pub fn samples(&self) -> &Samples {
        &self.events.samples
    }

    /// The positions of the first and the last event. `None` where there is none.
    pub fn extent(&self) -> Option<(u64, u64)> {
        Some((self.position(self.events.first?), self.position(self.events.last)))
    }

    /// The exceptions, in order of their begin.
    pub fn slices(&self) -> Vec<ExceptionSlice> {
        let slices = self.events.slices.iter();
        let mut slices: Vec<_> = slices
            .map(|&(slice, begin, end)| ExceptionSlice {
                begin: self.position(begin),
                end: self.position(end),
                ..slice
            })
            .collect();
        slices.sort_by_key(|slice| (slice.begin, slice.depth));
        slices
    }

    /// Where packets were lost or bytes could not be decoded.
    pub fn losses(&self) -> impl Iterator<Item = u64> {
        self.events.losses.iter().map(|&at| self.position(at))
    }

    /// How often packets were lost or bytes could not be decoded.
    pub fn lost(&self) -> u64 {
        self.events.lost
    }

    /// The lines of text.
    pub fn lines(&self) -> impl Iterator<Item = Line> {
        let lines = self.events.lines.iter();
        lines.map(|(at, channel, text)| Line {
            at: self.position(*at),
            channel: *channel,
            text: text.clone(),
        })
    }

    /// The values of each signal, by name.
    pub fn tracks(&self) -> impl Iterator<Item = (&str, ValueTrack)> {
        self.events.tracks.iter().map(|(name, (unit, values))| {
            let values = values.iter().map(|&(at, value)| (self.position(at), value)).collect();
            (name.as_str(), ValueTrack { unit: unit.clone(), values })
        })
    }

    /// Events that were left out, because there are more than the limit.
    pub fn left_out(&self) -> u64 {
        self.events.left_out
    }

    fn position(&self, when: When) -> u64 {
        if self.events.timed { when.time } else { when.offset }
    }
}

impl Events {
    fn entry(&mut self, entry: &Entry) {
        self.timed |= entry.time.is_some();
        let time = entry.time.unwrap_or(self.last.time).max(self.last.time);
        let now = When { time, offset: entry.at.max(self.last.offset) };
        // An event before the first timestamp has no time.
        if self.first.is_none_or(|first| first.time == 0 && entry.time.is_some()) {
            self.first = Some(When { time, offset: self.first.map_or(now.offset, |f| f.offset) });
        }
        self.last = now;
        match &entry.content {
            Content::Dwt { event: Dwt::Exception { number, step }, .. } => {
                self.step(*number, *step, now);
            }
            Content::Dwt { event, .. } => self.samples.event(*event),
            Content::Text { channel, text } if self.room() => {
                let text = String::from_utf8_lossy(text).into_owned();
                self.lines.push((now, *channel, text));
            }
            Content::Value(value) if self.room() => {
                let number = match value.reading {
                    Reading::Address(address) => address as f64,
                    ref reading => reading.number(),
                };
                let track = self.tracks.entry(value.name.clone()).or_default();
                track.0.clone_from(&value.unit);
                track.1.push((now, number));
            }
            Content::Lost(_) | Content::Undecodable { .. } => {
                self.lost += 1;
                self.open.iter_mut().for_each(|open| open.2 = true);
                if self.room() {
                    self.losses.push(now);
                }
            }
            _ => {}
        }
    }

    /// Whether another event is stored.
    fn room(&mut self) -> bool {
        let room = self.count < self.limit;
        self.count += usize::from(room);
        self.left_out += u64::from(!room);
        room
    }

    fn step(&mut self, number: u16, step: ExceptionStep, now: When) {
        let at = self.open.iter().rposition(|open| open.0 == number);
        match step {
            ExceptionStep::Entered => self.open.push((number, now, false)),
            ExceptionStep::Exited => {
                let at = at.unwrap_or_else(|| {
                    // Its entry was not traced.
                    self.open.push((number, now, true));
                    self.open.len() - 1
                });
                self.end_from(at + 1, now, true);
                self.end_from(at, now, false);
            }
            ExceptionStep::Returned => {
                self.end_from(at.map_or(0, |at| at + 1), now, true);
                if at.is_none() && number != 0 {
                    self.open.push((number, now, true));
                }
            }
        }
    }

    /// Ends the exceptions from number `from` of those that are open on.
    fn end_from(&mut self, from: usize, end: When, uncertain: bool) {
        let ended = self.open.split_off(from.min(self.open.len()));
        for (n, (number, begin, lost)) in ended.into_iter().enumerate() {
            if !self.room() {
                continue;
            }
            let depth = (from + n) as u32;
            let uncertain = uncertain || lost;
            let slice = ExceptionSlice { number, depth, begin: 0, end: 0, uncertain };
            self.slices.push((slice, begin, end));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tracewright_base::{DwtEvent, Gap, LocalTimestamp, Software, TimeDelay};

    fn exception(number: u32, step: u32) -> Element {
        let value = number | step << 12;
        Element::DwtEvent(DwtEvent { discriminator: 1, size: 2, value, after_overflow: false })
    }

    fn time(total: u64) -> Element {
        let (delta, delay, after_overflow) = (0, TimeDelay::None, false);
        Element::LocalTimestamp(LocalTimestamp { delta, total, delay, after_overflow })
    }

    fn record(elements: &[Element], limit: usize) -> Recording {
        let signals = Signals::new(["3=i8,name=x,unit=V".parse().unwrap()]);
        let mut recording = Recording::new(signals, limit);
        for (at, element) in (0..).zip(elements) {
            recording.element(at, None, element);
        }
        recording.finish();
        recording
    }

    /// IRQ 0 is interrupted by SysTick, whose exit is lost; the exit of IRQ 1 is not in the trace.
    #[test]
    fn exceptions_over_time() {
        let port = Channel::Port { page: Some(0), port: 3 };
        let elements = [
            exception(16, 1),
            time(10),
            exception(15, 1),
            time(20),
            exception(16, 3),
            time(30),
            exception(16, 2),
            time(45),
            Element::SoftwareWrite(Software::new(port, 8, 0xff)),
            time(50),
            Element::Gap(Gap::Overflow),
            exception(17, 1),
            time(5),
            exception(0, 3),
            time(15),
        ];
        let recording = record(&elements, 100);
        let slices = recording.slices();
        let rows = slices.iter().map(|s| (s.number, s.depth, s.begin, s.end, s.uncertain));
        let want = [(16, 0, 10, 45, false), (15, 1, 20, 30, true), (17, 0, 55, 65, true)];
        assert_eq!(rows.collect::<Vec<_>>(), want);
        assert_eq!(recording.losses().collect::<Vec<_>>(), [50]);
        assert_eq!((recording.extent(), recording.is_timed()), (Some((10, 65)), true));
        let tracks: Vec<_> = recording.tracks().collect();
        let track = ValueTrack { unit: "V".to_owned(), values: vec![(50, -1.0)] };
        assert_eq!(tracks, [("x", track)]);
        assert_eq!(recording.left_out(), 0);
        assert!(record(&elements, 1).left_out() > 0);
    }

    /// Without times the offsets are the positions.
    #[test]
    fn without_times_offsets_count() {
        let recording = record(&[exception(16, 1), exception(16, 2), exception(0, 3)], 100);
        let slices = recording.slices();
        assert_eq!((slices[0].begin, slices[0].end, recording.is_timed()), (0, 1, false));
    }
}
