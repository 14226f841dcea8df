//! From elements to events with times.

use std::collections::{HashSet, VecDeque};

use tracewright_base::{Channel, Dwt, Element, Gap, Software, TimeDelay};

use super::{Content, Entry, Exceptions, Meaning, Moment, Origin, Signals};

/// A line of text without a line feed ends after this number of elements without a write to its
/// port.
const SILENCE: u64 = 32;

/// An event waits for its time for this number of elements: a trace may have no timestamps.
const WAIT: u64 = 256;

/// The longest line, in bytes. A longer line is divided.
const LONGEST: usize = 1024;

/// The most incomplete lines: more ports than programs write to at once.
const MAX_OPEN: usize = 256;

/// Makes [`Entry`]s of the elements of one source. They are emitted in the order of their offsets.
///
/// A local timestamp is sent after the packets that it belongs to, so that events wait for it. Each
/// software write is an event. Those whose bytes are text are joined to lines beside: a line has
/// the offset and the time of its first character, and precedes its writes; the events after it
/// wait until the line ends. A write of more than one byte may have one character, or the end of a
/// line, and zeros; a single one of them is a number, unless lines of such writes precede it.
///
/// Of a port with a [`Signal`](super::Signal) the type states whether it is text. Its values follow
/// its writes.
#[derive(Clone, Debug, Default)]
pub struct Interpreter {
    waiting: VecDeque<Slot>,
    /// The number of the first of `waiting`.
    first: u64,
    /// The number of the first event that may wait for its time.
    untimed: u64,
    open: Vec<Open>,
    /// The elements so far.
    elements: u64,
    /// The number of the last software write or event of the DWT.
    source: u64,
    /// The elements at the last [`tick`](Interpreter::tick).
    ticked: u64,
    /// The elements at the last [`silence`](Interpreter::silence).
    silent: u64,
    /// The local time at the last loss.
    base: u64,
    /// The local time, if there was a timestamp.
    now: Option<u64>,
    /// Packets were lost, and there was no timestamp since.
    restarted: bool,
    /// Events have recorded times, which continue where packets are lost.
    recorded: bool,
    exceptions: Exceptions,
    signals: Signals,
    /// Ports to which numbers of more than one byte were written: one with zeros is a number there,
    /// not a character.
    numbers: HashSet<Channel>,
    /// Ports with lines of characters with zeros.
    filled: HashSet<Channel>,
}

#[derive(Clone, Debug)]
struct Slot {
    entry: Entry,
    /// The line of text may continue.
    open: bool,
    /// It is no event: a line that was none.
    void: bool,
    /// The time is not known yet.
    waits: bool,
    /// The number of its element.
    element: u64,
}

/// A line of text that may continue.
#[derive(Clone, Debug)]
struct Open {
    /// The port, with page 0 where the page is not known: a synchronisation packet states it.
    channel: Channel,
    /// The number of its slot.
    slot: u64,
    /// The number of the element of its last character.
    element: u64,
    /// The number of characters, with that of its end.
    characters: usize,
    /// All of them were written with zeros.
    filled: bool,
}

/// The most ports with numbers that are remembered.
const MAX_NUMBERS: usize = 1024;

impl Interpreter {
    /// An interpreter of a source whose ports and comparators have these signals.
    pub fn with_signals(signals: Signals) -> Interpreter {
        Interpreter { signals, ..Interpreter::default() }
    }

    /// Takes the next element. `recorded`: the time at which it was recorded, where that is known;
    /// then the timestamps of the trace are not used.
    pub fn element(
        &mut self,
        at: u64,
        recorded: Option<u64>,
        element: &Element,
        emit: &mut dyn FnMut(&Entry),
    ) {
        self.elements += 1;
        self.recorded |= recorded.is_some();
        if matches!(element, Element::SoftwareWrite(_) | Element::DwtEvent(_)) {
            self.source = self.elements;
        }
        if element.is_after_overflow() {
            self.lose(at, recorded, Content::Lost(Gap::Overflow));
        }
        match *element {
            Element::SoftwareWrite(ref write) => {
                self.write(at, recorded.or_else(|| write.time()), write);
            }
            Element::DwtEvent(event) => {
                let event = self.signals.completed(event.meaning());
                self.push(at, recorded, Content::Dwt { event, span: None });
                if let Dwt::DataValue { comparator, size, value, .. } = event {
                    let origin = Origin::Comparator(comparator);
                    let meaning = self.signals.meaning(origin, size * 8, value.into());
                    self.values(at, recorded, meaning);
                }
            }
            Element::LocalTimestamp(time) => {
                if std::mem::take(&mut self.restarted) {
                    self.base = self.now.unwrap_or(0);
                }
                self.settle(self.base.saturating_add(time.total), time.delay);
            }
            Element::GlobalTimestamp { value, .. } => {
                self.push(at, recorded, Content::GlobalTime(value));
            }
            // A trace unit that starts has lost nothing.
            Element::Gap(Gap::Start) => {}
            // The undecodable bytes follow.
            Element::Gap(Gap::BadPacket) => self.restart(),
            Element::Gap(gap) => self.lose(at, recorded, Content::Lost(gap)),
            Element::Undecodable { len, fault } => {
                self.lose(at, recorded, Content::Undecodable { len, fault });
            }
            Element::End => return self.flush(emit),
            _ => {}
        }
        let silent = self.elements.saturating_sub(SILENCE);
        self.close(|open| open.element < silent);
        self.release(self.elements.saturating_sub(WAIT), emit);
    }

    /// Emits all events that wait: no element follows for some time.
    pub fn flush(&mut self, emit: &mut dyn FnMut(&Entry)) {
        self.close(|_| true);
        self.release(u64::MAX, emit);
    }

    /// No element has followed for a short time. Emits the events that have waited since the last
    /// call, if the trace has no timestamps so far. Otherwise theirs will follow.
    pub fn tick(&mut self, emit: &mut dyn FnMut(&Entry)) {
        let before = std::mem::replace(&mut self.ticked, self.elements);
        if self.now.is_none() {
            self.release(before.saturating_add(1), emit);
        }
    }

    /// No element has followed for a longer time, in which software would have continued a line.
    /// Ends the lines to which nothing was written since the last call, and emits the events that
    /// have waited since then.
    pub fn silence(&mut self, emit: &mut dyn FnMut(&Entry)) {
        let before = std::mem::replace(&mut self.silent, self.elements);
        self.close(|open| open.element <= before);
        self.release(before.saturating_add(1), emit);
    }

    /// Whether events wait.
    pub fn is_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// The exceptions of the events that were emitted.
    pub fn exceptions(&self) -> &Exceptions {
        &self.exceptions
    }

    /// Whether the trace had local timestamps.
    pub fn has_time(&self) -> bool {
        self.now.is_some()
    }

    fn push(&mut self, at: u64, time: Option<u64>, content: Content) {
        self.waiting.push_back(Slot {
            open: matches!(content, Content::Text { .. }),
            entry: Entry { at, time, earliest: time, late: false, typed: false, content },
            void: false,
            waits: time.is_none(),
            element: self.elements,
        });
    }

    /// The events before here end, without a time where that is not known.
    fn restart(&mut self) {
        self.close(|_| true);
        self.signals.lose();
        self.waiting.iter_mut().for_each(|slot| slot.waits = false);
        self.restarted = true;
    }

    fn lose(&mut self, at: u64, recorded: Option<u64>, content: Content) {
        self.restart();
        self.push(at, recorded.or(self.now), content);
        if let Some(slot) = self.waiting.back_mut() {
            (slot.waits, slot.entry.earliest) = (false, recorded);
        }
    }

    /// The events that wait have the time `now`. (Armv7-M ARM, D4, "Local timestamp packet format
    /// 1", TC: where the timestamp is not delayed it is that of the packet before it; where it is,
    /// the packet is between the timestamp before and this one)
    fn settle(&mut self, now: u64, delay: TimeDelay) {
        let before = self.now.replace(now);
        let earliest = match delay {
            TimeDelay::None | TimeDelay::Timestamp => before,
            // The event may be older than the timestamp before.
            TimeDelay::Packet | TimeDelay::Both => None,
        };
        let from = self.untimed.saturating_sub(self.first) as usize;
        for slot in self.waiting.iter_mut().skip(from).filter(|slot| slot.waits) {
            let exact = delay == TimeDelay::None && slot.element == self.source;
            let entry = &mut slot.entry;
            (slot.waits, entry.time, entry.late) = (false, Some(now), delay != TimeDelay::None);
            entry.earliest = if exact { Some(now) } else { earliest };
        }
        self.untimed = self.first + self.waiting.len() as u64;
    }

    /// Ends the lines that `ends` selects.
    fn close(&mut self, ends: impl Fn(&Open) -> bool) {
        let Interpreter { waiting, first, filled, open, .. } = self;
        open.retain(|open| {
            if !ends(open) {
                return true;
            }
            let at = open.slot.saturating_sub(*first) as usize;
            if let Some(slot) = waiting.get_mut(at) {
                slot.open = false;
            }
            if !open.filled || filled.contains(&open.channel) {
                return false;
            }
            if open.characters > 1 && filled.len() < MAX_NUMBERS {
                filled.insert(open.channel);
            } else if open.characters == 1 {
                retract(waiting, at, open.channel);
            }
            false
        });
    }

    /// Emits the first events, up to one that waits. Those before element `before` do not wait for
    /// a time.
    fn release(&mut self, before: u64, emit: &mut dyn FnMut(&Entry)) {
        while let Some(front) = self.waiting.front()
            && !front.open
            && (!front.waits || front.element < before)
            && let Some(mut slot) = self.waiting.pop_front()
        {
            self.first += 1;
            if slot.void {
                continue;
            }
            let time = Moment { earliest: slot.entry.earliest, latest: slot.entry.time };
            match &mut slot.entry.content {
                Content::Dwt { event: Dwt::Exception { number, step }, span } => {
                    *span = Some(self.exceptions.step(*number, *step, time));
                }
                Content::Lost(_) | Content::Undecodable { .. } => {
                    self.exceptions.lost(self.recorded);
                }
                _ => {}
            }
            emit(&slot.entry);
        }
    }

    fn write(&mut self, at: u64, time: Option<u64>, write: &Software) {
        let channel = write.channel;
        let line = with_page(channel);
        let bytes = write.value().to_le_bytes();
        let bytes = bytes.get(..usize::from(write.bits / 8)).unwrap_or_default();
        let meaning = match Origin::of(line) {
            Some(origin) if !self.signals.is_empty() => {
                self.signals.meaning(origin, write.bits, write.value())
            }
            _ => Meaning::Unknown,
        };
        let text = match meaning {
            Meaning::Unknown => self.text_of(line, bytes),
            Meaning::Text => Some(bytes),
            Meaning::Values(_) | Meaning::Raw => None,
        };
        let Some(text) = text else {
            self.close(|open| open.channel == line);
            self.push(at, time, content(write, false));
            self.values(at, time, meaning);
            return;
        };
        let filled = text.len() < bytes.len();
        let mut characters = text.iter().filter(|&&byte| byte != 0).peekable();
        if characters.peek().is_none() {
            self.push(at, time, content(write, true));
        }
        while let Some(&byte) = characters.next() {
            self.character(at, time, channel, byte, filled);
            if characters.peek().is_none() {
                // The line may end with this write, which decides whether it was one.
                self.push(at, time, content(write, true));
            }
            self.end_line(line, byte);
        }
        self.values(at, time, meaning);
    }

    /// The values of the write or event before.
    fn values(&mut self, at: u64, time: Option<u64>, meaning: Meaning) {
        let Meaning::Values(values) = meaning else { return };
        if let Some(slot) = self.waiting.back_mut() {
            slot.entry.typed = true;
        }
        values.into_iter().for_each(|value| self.push(at, time, Content::Value(value)));
    }

    /// The characters in a write to a port whose type is not known, if it is text. Zeros that fill
    /// a write of more than one byte are not.
    fn text_of<'a>(&mut self, line: Channel, bytes: &'a [u8]) -> Option<&'a [u8]> {
        let open = self.open.iter().any(|open| open.channel == line);
        let zeros = bytes.iter().rev().take_while(|&&byte| byte == 0).count();
        let text = bytes.get(..bytes.len() - zeros).unwrap_or_default();
        let is_text = !text.is_empty() && text.iter().all(|&byte| is_text(byte, open));
        let filled = zeros > 0 && bytes.len() > 1;
        let is_text = match filled {
            // Inside a line they may fill its last write.
            true => is_text && (text.len() == 1 || open) && !self.numbers.contains(&line),
            false => is_text && zeros == 0,
        };
        if !is_text && !text.is_empty() && bytes.len() > 1 && self.numbers.len() < MAX_NUMBERS {
            self.numbers.insert(line);
        }
        is_text.then_some(text)
    }

    /// Appends a byte to the line of `channel`. `filled`: it was written with zeros.
    fn character(&mut self, at: u64, time: Option<u64>, channel: Channel, byte: u8, filled: bool) {
        let line = with_page(channel);
        if !self.open.iter().any(|open| open.channel == line) {
            if self.open.len() >= MAX_OPEN {
                self.close(|_| true);
            }
            let slot = self.first + self.waiting.len() as u64;
            self.push(at, time, Content::Text { channel, text: Vec::new() });
            let (element, characters) = (self.elements, 0);
            self.open.push(Open { channel: line, slot, element, characters, filled: true });
        }
        let Some(open) = self.open.iter_mut().find(|open| open.channel == line) else { return };
        open.element = self.elements;
        open.characters += 1;
        open.filled &= filled;
        let slot = open.slot.saturating_sub(self.first) as usize;
        let Some(Slot { entry: Entry { content: Content::Text { text, .. }, .. }, .. }) =
            self.waiting.get_mut(slot)
        else {
            return;
        };
        if byte != b'\n' {
            text.push(byte);
        } else if text.last() == Some(&b'\r') {
            text.pop();
        }
    }

    /// Ends the line of `line` after `byte`, where it does.
    fn end_line(&mut self, line: Channel, byte: u8) {
        self.close(|open| open.channel == line && (byte == b'\n' || open.characters >= LONGEST));
    }
}

/// A write as an event.
const fn content(write: &Software, in_text: bool) -> Content {
    let (channel, bits, value) = (write.channel, write.bits, write.value());
    Content::Write { channel, bits, value, in_text }
}

/// The line in slot `at` is a number: its only character was written with zeros.
fn retract(waiting: &mut VecDeque<Slot>, at: usize, line: Channel) {
    for slot in waiting.iter_mut().skip(at) {
        match &mut slot.entry.content {
            Content::Text { text, channel } if with_page(*channel) == line => {
                text.clear();
                slot.void = true;
            }
            Content::Write { channel, in_text, .. } if with_page(*channel) == line => {
                *in_text = false;
                return;
            }
            _ => {}
        }
    }
}

/// `channel`, with page 0 where the page is not known.
const fn with_page(channel: Channel) -> Channel {
    match channel {
        Channel::Port { page: None, port } => Channel::Port { page: Some(0), port },
        known => known,
    }
}

/// Whether `byte` is text; of UTF-8 and other encodings, only inside a line.
const fn is_text(byte: u8, inside: bool) -> bool {
    matches!(byte, b' '..=b'~' | b'\t' | b'\r' | b'\n' | 0x1b) || inside && byte >= 0x80
}

#[cfg(test)]
mod tests {
    use super::*;
    use tracewright_base::{DwtEvent, LocalTimestamp};

    const PORT: Channel = Channel::Port { page: Some(0), port: 0 };
    const OTHER: Channel = Channel::Port { page: Some(0), port: 1 };

    fn write(channel: Channel, bits: u8, value: u64) -> Element {
        Element::SoftwareWrite(Software::new(channel, bits, value))
    }

    fn time(total: u64) -> Element {
        let (delta, delay, after_overflow) = (0, TimeDelay::None, false);
        Element::LocalTimestamp(LocalTimestamp { delta, total, delay, after_overflow })
    }

    fn sample(pc: u32, after_overflow: bool) -> Element {
        Element::DwtEvent(DwtEvent { discriminator: 2, size: 4, value: pc, after_overflow })
    }

    /// Offset, time and text of each event; the offset of an element is its number.
    fn entries(elements: &[Element]) -> Vec<(u64, Option<u64>, String)> {
        let (mut interpreter, mut got) = (Interpreter::default(), Vec::new());
        let mut emit = |entry: &Entry| {
            let text = match &entry.content {
                Content::Text { text, .. } => String::from_utf8_lossy(text).into_owned(),
                Content::Write { in_text: true, .. } => return,
                Content::Write { value, .. } => format!("{value:#x}"),
                Content::Dwt { event, .. } => event.to_string(),
                Content::Lost(gap) => gap.to_string(),
                other => format!("{other:?}"),
            };
            got.push((entry.at, entry.time, text));
        };
        for (at, element) in (0..).zip(elements) {
            interpreter.element(at, None, element, &mut emit);
        }
        interpreter.element(99, None, &Element::End, &mut emit);
        got
    }

    fn want(rows: &[(u64, Option<u64>, &str)]) -> Vec<(u64, Option<u64>, String)> {
        rows.iter().map(|&(at, time, text)| (at, time, text.to_owned())).collect()
    }

    /// A line has the time of its first character, and precedes the events inside it.
    #[test]
    fn lines_have_their_times() {
        let got = entries(&[
            write(PORT, 8, 0x48),
            time(10),
            sample(0x100, false),
            write(OTHER, 8, 0x78),
            time(20),
            write(PORT, 16, 0x0a69),
            time(30),
            write(OTHER, 32, 5),
            time(40),
        ]);
        let rows = [
            (0, Some(10), "Hi"),
            (2, Some(20), "pc 0x00000100"),
            (3, Some(20), "x"),
            (7, Some(40), "0x5"),
        ];
        assert_eq!(got, want(&rows));
    }

    /// A line continues where the page becomes known.
    #[test]
    fn an_unknown_page_is_page_0() {
        let unknown = Channel::Port { page: None, port: 0 };
        let got = entries(&[write(unknown, 8, 0x41), write(PORT, 8, 0x42), write(unknown, 8, 10)]);
        assert_eq!(got, want(&[(0, None, "AB")]));
    }

    /// "On" and "Off" without line feeds are two lines, as the port is silent in between.
    #[test]
    fn silence_ends_a_line() {
        let mut elements = vec![write(PORT, 8, 0x4f), write(PORT, 8, 0x6e)];
        elements.resize(2 + SILENCE as usize + 1, time(7));
        elements.push(write(PORT, 8, 0x21));
        let got = entries(&elements);
        assert_eq!(got, want(&[(0, Some(7), "On"), (35, None, "!")]));
    }

    #[test]
    fn losses_end_lines_and_times() {
        let got = entries(&[
            write(PORT, 8, 0x41),
            time(5),
            write(PORT, 8, 0x42),
            sample(0x100, true),
            time(3),
        ]);
        let rows = [
            (0, Some(5), "AB"),
            (3, Some(5), "trace unit overflow"),
            (3, Some(8), "pc 0x00000100"),
        ];
        assert_eq!(got, want(&rows));
    }

    #[test]
    fn without_timestamps_nothing_waits_for_long() {
        let mut interpreter = Interpreter::default();
        let mut emitted = 0;
        for at in 0..WAIT + 10 {
            interpreter.element(at, None, &sample(4, false), &mut |entry| {
                assert_eq!(entry.time, None);
                emitted += 1;
            });
        }
        assert!(emitted >= 9 && interpreter.is_waiting(), "{emitted}");
    }

    /// A line ends as nothing was written between two calls.
    #[test]
    fn silence_ends_lines_of_live_traces() {
        let (mut interpreter, mut got) = (Interpreter::default(), Vec::new());
        let mut emit = |entry: &Entry| got.push(entry.at);
        interpreter.element(0, None, &write(PORT, 8, 0x41), &mut emit);
        interpreter.silence(&mut emit);
        interpreter.element(1, None, &write(PORT, 8, 0x42), &mut emit);
        interpreter.silence(&mut emit);
        assert!(interpreter.is_waiting());
        interpreter.tick(&mut emit);
        interpreter.tick(&mut emit);
        assert!(interpreter.is_waiting());
        interpreter.silence(&mut emit);
        assert!(!interpreter.is_waiting());
        assert_eq!(got, [0, 0, 1]);
    }

    /// Events do not wait for times in a trace without timestamps.
    #[test]
    fn ticks_emit_events() {
        let (mut interpreter, mut got) = (Interpreter::default(), Vec::new());
        let mut emit = |entry: &Entry| got.push((entry.at, entry.time));
        interpreter.element(0, None, &sample(4, false), &mut emit);
        interpreter.tick(&mut emit);
        interpreter.tick(&mut emit);
        interpreter.element(1, None, &time(9), &mut emit);
        interpreter.element(2, None, &sample(8, false), &mut emit);
        interpreter.tick(&mut emit);
        interpreter.tick(&mut emit);
        interpreter.element(3, None, &time(19), &mut emit);
        assert_eq!(got, [(0, None), (2, Some(19))]);
    }

    /// Each write is there as it was written, whatever its bytes look like. Rows: width, value and
    /// whether it is in a line of text.
    #[test]
    fn no_write_is_left_out() {
        let rows = [
            (8, 8, false),
            (8, 0x41, true),
            (8, 0x80, true),
            (8, 0, false),
            (8, 10, true),
            (16, 0x0d0a, true),
            (32, 0x4141_3f7d, true),
            (32, 0x41, true),
            (32, 0x0041_4141, true),
            (32, 0, false),
            (32, 0x42, false),
            (32, 5, false),
            (32, 0x42, false),
            (8, 0, false),
            (8, 0, false),
        ];
        let (mut interpreter, mut got) = (Interpreter::default(), Vec::new());
        let mut emit = |entry: &Entry| {
            if let Content::Write { bits, value, in_text, .. } = entry.content {
                got.push((bits, value, in_text));
            }
        };
        for (at, (bits, value, _)) in (0..).zip(rows) {
            interpreter.element(at, None, &write(PORT, bits, value), &mut emit);
        }
        interpreter.element(99, None, &Element::End, &mut emit);
        assert_eq!(got, rows);
    }

    /// Rows: earliest and latest time of each event.
    #[test]
    fn times_have_bounds() {
        let stamp = |total, delay| {
            let (delta, after_overflow) = (0, false);
            Element::LocalTimestamp(LocalTimestamp { delta, total, delay, after_overflow })
        };
        let elements = [
            sample(0, false),
            time(10),
            sample(1, false),
            sample(2, false),
            Element::GlobalTimestamp { value: 7, clock_changed: false, after_overflow: false },
            time(20),
            sample(3, false),
            stamp(30, TimeDelay::Timestamp),
            sample(4, false),
            stamp(40, TimeDelay::Packet),
            sample(5, true),
            sample(6, false),
            time(5),
        ];
        let (mut interpreter, mut got) = (Interpreter::default(), Vec::new());
        let mut emit = |entry: &Entry| {
            if matches!(entry.content, Content::Dwt { .. }) {
                got.push((entry.earliest, entry.time));
            }
        };
        for (at, element) in (0..).zip(&elements) {
            interpreter.element(at, None, element, &mut emit);
        }
        let want = [
            (Some(10), 10),
            // Two packets share a timestamp: it is that of the second one.
            (Some(10), 20),
            (Some(20), 20),
            (Some(20), 30),
            (None, 40),
            (Some(40), 45),
            (Some(45), 45),
        ];
        assert_eq!(got, want.map(|(earliest, time)| (earliest, Some(time))));
    }

    /// One character in each write of 16 or 32 bits, the last of a line with a line feed.
    #[test]
    fn characters_in_wide_writes_are_text() {
        for bits in [16, 32] {
            let text = "Hello 0.\r\n".chars().map(|c| write(PORT, bits, u32::from(c).into()));
            let got = entries(&text.collect::<Vec<_>>());
            assert_eq!(got, want(&[(0, None, "Hello 0.")]), "{bits}");
        }
        // One alone is a number.
        let alone = [write(PORT, 32, 0x2a), write(PORT, 32, 0), write(PORT, 32, 0x0a)];
        assert_eq!(entries(&alone), want(&[(0, None, "0x2a"), (1, None, "0x0"), (2, None, "0xa")]));
        // A counter of 16 bits, from 30 on and from 0 on.
        let counter = |from: u64| (from..130).map(|n| write(PORT, 16, n)).collect::<Vec<_>>();
        for from in [0, 30] {
            let got = entries(&counter(from));
            assert!(got.iter().all(|(.., text)| text.starts_with("0x")), "{from}: {got:?}");
            assert_eq!(got.len() as u64, 130 - from);
        }
    }

    /// Of a port with a type, nothing is inferred.
    #[test]
    fn signals_have_values() {
        let signals = ["0=i16,name=x", "dwt1=u8,name=y", "1=text"].map(|s| s.parse().unwrap());
        let mut interpreter = Interpreter::with_signals(Signals::new(signals));
        let data = DwtEvent { discriminator: 19, size: 1, value: 0x42, after_overflow: false };
        let elements = [
            write(PORT, 16, 0x4142),
            Element::DwtEvent(data),
            write(OTHER, 8, 0x07),
            write(OTHER, 8, 0x41),
            time(5),
        ];
        let mut got = Vec::new();
        let mut emit = |entry: &Entry| match &entry.content {
            Content::Value(value) => {
                got.push((entry.time, format!("{} {}", value.name, value.reading.number())))
            }
            Content::Text { text, .. } => got.push((entry.time, format!("{text:?}"))),
            Content::Write { in_text, .. } => {
                got.push((None, format!("{in_text} {}", entry.typed)))
            }
            _ => {}
        };
        for (at, element) in (0..).zip(&elements) {
            interpreter.element(at, None, element, &mut emit);
        }
        interpreter.flush(&mut emit);
        let want = [
            (None, "false true"),
            (Some(5), "x 16706"),
            (Some(5), "y 66"),
            (Some(5), "[7, 65]"),
            (None, "true false"),
            (None, "true false"),
        ];
        assert_eq!(got, want.map(|(time, text)| (time, text.to_owned())));
    }

    #[test]
    fn memory_is_bounded() {
        let mut interpreter = Interpreter::default();
        let mut most = 0;
        for at in 0..100_000u64 {
            let page = Some((at / 32 % 256) as u8);
            let channel = Channel::Port { page, port: (at % 32) as u8 };
            interpreter.element(at, None, &write(channel, 8, 0x41), &mut |_| {});
            most = most.max(interpreter.waiting.len());
        }
        assert!(most <= 1024, "{most}");
    }
}
