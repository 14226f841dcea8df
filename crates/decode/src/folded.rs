//! Joins the ranges of an ETMv3, which traces every instruction, up to the next waypoint.

use tracewright_base::{
    self as base, Batch, BatchBuffer, CachedBlocks, Custom, Element, Kind, Last, Turns,
};
use tracewright_protocols::registry::AnyProtocol;

use crate::fork::{Fork, Received, Size};
use crate::listener::{Event, Listener, Packets, Wants, each_part};
use crate::plan::Plan;

/// Passes on one range for consecutive instructions up to a branch or a barrier, as the other
/// protocols have it. Ranges with cycle counts are not joined, and not after an instruction whose
/// condition failed, so that nothing is lost. A range has the offset of its last instruction.
///
/// A range is passed on with the next element that does not continue it. Where a packet is passed
/// on, the ranges before it are.
#[derive(Debug)]
pub struct Folded<L> {
    /// Receives the elements.
    pub listener: L,
    /// The sources whose ranges are joined.
    folds: Vec<bool>,
    /// The range of each source that may continue.
    pending: Vec<Option<(u64, base::Range)>>,
}

impl<L: Listener> Folded<L> {
    /// Passes on to `listener` the elements of the sources of `plan`. Without `wanted`, nothing is
    /// joined.
    pub fn when(wanted: bool, plan: &Plan, listener: L) -> Self {
        let etmv3 = |protocol| wanted && protocol == AnyProtocol::Etmv3;
        let folds = plan.sources.iter().map(|planned| etmv3(planned.config.protocol()));
        Folded::new(folds.collect(), listener)
    }

    /// Joins the ranges of the sources for which `folds` is set.
    fn new(folds: Vec<bool>, listener: L) -> Self {
        let pending = vec![None; folds.len()];
        Folded { listener, folds, pending }
    }

    /// Passes on the ranges that may continue: no elements follow.
    pub fn finish(&mut self) {
        (0..self.pending.len()).for_each(|source| self.flush(source));
    }

    #[inline]
    fn flush(&mut self, source: usize) {
        if let Some((at, range)) = self.pending.get_mut(source).and_then(Option::take) {
            self.listener.element(source, at, Element::Range(range));
        }
    }

    /// Whether the ranges of a source are joined.
    #[inline]
    fn folds(&self, source: usize) -> bool {
        self.folds.get(source).copied().unwrap_or(false)
    }

    fn range(&mut self, source: usize, at: u64, range: base::Range) {
        let Some(pending) = self.pending.get_mut(source) else { return };
        let range = match pending.take() {
            Some((_, before)) if continues(&before, &range) => joined(&before, &range),
            Some((at, before)) => {
                self.listener.element(source, at, Element::Range(before));
                range
            }
            None => range,
        };
        if may_continue(range) {
            if let Some(pending) = self.pending.get_mut(source) {
                *pending = Some((at, range));
            }
        } else {
            self.listener.element(source, at, Element::Range(range));
        }
    }

    /// The ranges of a loop, joined.
    fn path(ranges: &[base::Range]) -> Vec<base::Range> {
        let mut all: Vec<base::Range> = Vec::with_capacity(ranges.len());
        for range in ranges {
            match all.last_mut() {
                Some(before) if may_continue(*before) && continues(before, range) => {
                    *before = joined(before, range);
                }
                _ => all.push(*range),
            }
        }
        all
    }
}

/// Whether a range ends before a waypoint, with an instruction that was executed.
const fn may_continue(range: base::Range) -> bool {
    let Last { kind, .. } = range.last;
    matches!(kind, Kind::Plain) && range.last.taken() && range.cycles.get().is_none()
}

/// Whether `range` continues `before`, which may continue.
fn continues(before: &base::Range, range: &base::Range) -> bool {
    range.start == before.end()
        && range.last.isa == before.last.isa
        && range.cycles.get().is_none()
        && before.bytes.checked_add(range.bytes).is_some()
}

fn joined(before: &base::Range, range: &base::Range) -> base::Range {
    base::Range {
        start: before.start,
        bytes: before.bytes.saturating_add(range.bytes),
        instructions: before.instructions.saturating_add(range.instructions),
        ..*range
    }
}

impl<L: Listener> Listener for Folded<L> {
    #[inline]
    fn element(&mut self, source: usize, at: u64, element: Element) {
        if !self.folds(source) {
            return self.listener.element(source, at, element);
        }
        match element {
            Element::Range(range) => self.range(source, at, range),
            other => {
                self.flush(source);
                self.listener.element(source, at, other);
            }
        }
    }

    fn custom(&mut self, source: usize, at: u64, custom: Custom, bytes: &[u8]) {
        self.flush(source);
        self.listener.custom(source, at, custom, bytes);
    }

    fn batch(&mut self, batch: &Batch<'_>) {
        let source = batch.source;
        if !self.folds(source) {
            return self.listener.batch(batch);
        }
        each_part(self, batch, |folded, turns| {
            folded.flush(source);
            let mut joined = BatchBuffer::default();
            joined.turns(Turns { ranges: &Self::path(turns.ranges), ..*turns });
            folded.listener.batch(&joined.batch(source, CachedBlocks::none()));
        });
    }

    fn event(&mut self, event: &Event<'_>) {
        if let Event::Packet { source, .. } | Event::Undecodable { source, .. } = *event
            && self.listener.wants().packets == Packets::Each
        {
            self.flush(source);
        }
        self.listener.event(event);
    }

    fn wants(&self) -> Wants {
        self.listener.wants()
    }

    fn full(&self) -> bool {
        self.listener.full()
    }
}

/// The state has the ranges that may continue.
impl<L: Listener + Fork> Fork for Folded<L> {
    type State = (Vec<Option<(u64, base::Range)>>, L::State);
    type Output = L::Output;

    fn fork(&self) -> Self {
        Folded::new(self.folds.clone(), self.listener.fork())
    }

    fn state(&self) -> Self::State {
        (self.pending.clone(), self.listener.state())
    }

    fn resume(&mut self, (pending, state): Self::State) {
        self.pending = pending;
        self.listener.resume(state);
    }

    fn take(&mut self) -> L::Output {
        self.listener.take()
    }

    #[inline]
    fn size(&self) -> Size {
        self.listener.size()
    }

    fn receive(&mut self, next: Option<Received>) -> bool {
        match next {
            Some(Received { source, at, element }) if self.folds(source) => {
                self.element(source, at, element);
                false
            }
            _ => self.listener.receive(next),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::listener::SourceBytes;
    use crate::plan::Options;
    use tracewright_base::{Counted, Fault, Instruction, Isa, OffsetMap};
    use tracewright_capture::{Buffer, BufferRef, Capture, Format, Registers, Source};

    #[derive(Default)]
    struct Ranges(Vec<(u64, u64, u64, u32)>, usize);

    impl Listener for Ranges {
        fn element(&mut self, _: usize, at: u64, element: Element) {
            match element {
                Element::Range(range) => {
                    self.0.push((at, range.start, range.end(), range.instructions));
                }
                _ => self.1 += 1,
            }
        }
    }

    fn one(start: u64, kind: Kind, passed: bool, cycles: Counted) -> Element {
        let instruction = Instruction { kind, size: 4, isa: Isa::A32, ..Instruction::default() };
        let last = Last::new(&instruction, passed);
        Element::Range(base::Range { start, bytes: 4, instructions: 1, cycles, last })
    }

    #[test]
    fn ranges_end_at_waypoints() {
        let plain = |start| one(start, Kind::Plain, true, Counted::UNKNOWN);
        let mut folded = Folded::new(vec![true, false], Ranges::default());
        let elements = [
            plain(0x100),
            plain(0x104),
            // A branch that is not taken.
            one(0x108, Kind::Branch, false, Counted::UNKNOWN),
            plain(0x10c),
            // The condition failed.
            one(0x110, Kind::Plain, false, Counted::UNKNOWN),
            plain(0x114),
            // Not consecutive.
            plain(0x200),
            Element::Trigger,
            plain(0x204),
            // Cycles.
            one(0x208, Kind::Plain, true, Counted::of(2)),
            plain(0x20c),
        ];
        for (at, element) in (0..).zip(elements) {
            folded.element(0, at, element);
        }
        folded.finish();
        let want = [
            (2, 0x100, 0x10c, 3),
            (4, 0x10c, 0x114, 2),
            (5, 0x114, 0x118, 1),
            (6, 0x200, 0x204, 1),
            (8, 0x204, 0x208, 1),
            (9, 0x208, 0x20c, 1),
            (10, 0x20c, 0x210, 1),
        ];
        assert_eq!((folded.listener.0.as_slice(), folded.listener.1), (&want[..], 1));
        // The ranges of another protocol.
        let mut folded = Folded::new(vec![true, false], Ranges::default());
        (0..3).for_each(|n| folded.element(1, n, plain(0x100 + 4 * n)));
        assert_eq!(folded.listener.0.len(), 3);
    }

    /// Only the sources of an ETMv3 are folded, and only where it is wanted.
    #[test]
    fn sources_of_etmv3_are_folded() {
        let source = |device_type: &str, registers: &[(&str, u64)]| Source {
            device_type: device_type.into(),
            registers: Registers::from_iter(registers.iter().copied()),
            buffers: vec![BufferRef { buffer: 0, stream: None }],
            ..Source::default()
        };
        let capture = Capture {
            buffers: vec![Buffer::new("ETB", Format::CoreSight, vec![0; 16])],
            sources: vec![
                source("ETM3.5", &[("ETMCR", 0x100), ("ETMIDR", 0x4114_f240), ("ETMTRACEIDR", 2)]),
                source(
                    "ETM4.2",
                    &[
                        ("TRCIDR0", 0x2800_0ea1),
                        ("TRCIDR1", 0x4100_f420),
                        ("TRCIDR2", 0x488),
                        ("TRCCONFIGR", 0x801),
                        ("TRCTRACEIDR", 0x10),
                    ],
                ),
            ],
            ..Capture::default()
        };
        let plan = Plan::new(&capture, 0, &Options::default()).expect("buffer 0");
        for (wanted, folds) in [(true, [true, false]), (false, [false, false])] {
            assert_eq!(Folded::when(wanted, &plan, Ranges::default()).folds, folds);
        }
    }

    /// A listener of packets: offsets of ranges, and `None` for undecodable bytes.
    #[derive(Default)]
    struct Offsets(Vec<Option<u64>>);

    impl Listener for Offsets {
        fn element(&mut self, _: usize, _: u64, element: Element) {
            if let Element::Range(range) = element {
                self.0.push(Some(range.start));
            }
        }

        fn event(&mut self, event: &Event<'_>) {
            if let Event::Undecodable { .. } = event {
                self.0.push(None);
            }
        }

        fn wants(&self) -> Wants {
            Wants::EACH_PACKET
        }
    }

    /// Where packets are passed on, ranges before undecodable bytes come before them.
    #[test]
    fn ranges_come_before_undecodable_bytes() {
        let plain = |start| one(start, Kind::Plain, true, Counted::UNKNOWN);
        let mut folded = Folded::new(vec![true], Offsets::default());
        let offsets = OffsetMap::new(&[]);
        (0..2).for_each(|at| folded.element(0, at, plain(0x100 + 4 * at)));
        let bytes = SourceBytes { bytes: &[0xff; 3], span: 2..3, offsets: &offsets };
        let fault = Fault::Overlong;
        folded.event(&Event::Undecodable { source: 0, bytes, fault });
        folded.element(0, 3, plain(0x108));
        folded.finish();
        assert_eq!(folded.listener.0, [Some(0x100), None, Some(0x108)]);
    }

    #[test]
    fn loops_are_joined_by_turn() {
        let Element::Range(first) = one(0x100, Kind::Plain, true, Counted::UNKNOWN) else { return };
        let Element::Range(last) = one(0x104, Kind::Branch, true, Counted::UNKNOWN) else { return };
        let mut folded = Folded::new(vec![true], Ranges::default());
        let mut buffer = BatchBuffer::default();
        let ranges = &[first, last][..];
        buffer.turns(Turns { at: 7, ranges, times: 2, listed: true });
        folded.batch(&buffer.batch(0, CachedBlocks::none()));
        assert_eq!(folded.listener.0, [(7, 0x100, 0x108, 2); 2]);
    }
}
