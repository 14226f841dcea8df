//! When elements of a trace happen.

use tracewright_base::{Element, Gap, Interval};

use super::clock::{Clock, Moment};

/// A moment of a source that [`Points`] knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PointId(usize);

/// A source.
#[derive(Clone, Debug, Default)]
struct Source {
    now: Option<u64>,
    /// The clock at the end of the range before the instructions that are executed. A timestamp
    /// behind it may be later than the first of them: where they were executed is traced with the
    /// branch or the exception that ends them.
    base: Option<u64>,
    /// That of the next range.
    next: Option<u64>,
    epoch: u32,
    instructions: u64,
    /// The points behind the last one at which the clock is known.
    open: Vec<usize>,
}

/// The times of elements of a trace, which are passed on in order: each lies between two points at
/// which the clock of its source is known.
#[derive(Clone, Debug)]
pub struct Points {
    clock: Clock,
    sources: Vec<Source>,
    moments: Vec<Moment>,
    epochs: u32,
}

impl Points {
    /// By this clock.
    pub fn new(clock: Clock) -> Points {
        Points { clock, sources: Vec::new(), moments: Vec::new(), epochs: 0 }
    }

    fn source(&mut self, source: usize) -> &mut Source {
        while source >= self.sources.len() {
            let now = (self.clock == Clock::Instructions).then_some(0);
            if self.clock != Clock::Timestamps {
                self.epochs += 1;
            }
            let epoch = self.epochs;
            self.sources.push(Source { now, base: now, next: now, epoch, ..Source::default() });
        }
        &mut self.sources[source]
    }

    /// The present of a source: at the last instruction that was executed, or at an element behind
    /// it.
    pub fn mark(&mut self, source: usize) -> PointId {
        let (number, clock) = (self.moments.len(), self.clock);
        let own = self.source(source);
        let least = if clock == Clock::Instructions { own.now } else { own.base };
        let moment = Moment { epoch: own.epoch, least, most: None };
        own.open.push(number);
        self.moments.push(moment);
        PointId(number)
    }

    /// A moment while the next instructions of a source are executed: with the clock of
    /// instructions, any of them.
    pub fn mark_in(&mut self, source: usize, instructions: u64) -> PointId {
        let clock = self.clock;
        let own = self.source(source);
        own.base = own.next;
        if clock != Clock::Instructions || instructions == 0 {
            return self.mark(source);
        }
        let own = self.source(source);
        let most = own.now.map(|now| now.saturating_add(instructions - 1));
        let moment = Moment { epoch: own.epoch, least: own.now, most };
        self.moments.push(moment);
        PointId(self.moments.len() - 1)
    }

    /// Instructions of a source so far.
    pub fn instructions(&mut self, source: usize) -> u64 {
        self.source(source).instructions
    }

    /// Instructions of a range were executed, in `cycles` where the trace counts them by
    /// range. `last`: they are the last ones of it. With the clock of instructions, each marked
    /// point before them is exact.
    pub fn executed(&mut self, source: usize, instructions: u64, cycles: Option<u32>, last: bool) {
        let clock = self.clock;
        let own = self.source(source);
        own.instructions += instructions;
        own.base = own.next;
        match (clock, own.now, cycles) {
            (Clock::Instructions, Some(now), _) => {
                self.settle(source, Some(now));
                self.source(source).now = Some(now.saturating_add(instructions));
            }
            (Clock::Cycles, now, Some(cycles)) => {
                self.advance(source, now, u64::from(cycles));
            }
            _ => {}
        }
        if last {
            let own = self.source(source);
            own.next = own.now;
        }
    }

    fn advance(&mut self, source: usize, now: Option<u64>, cycles: u64) {
        let now = now.map_or(0, |now| now.saturating_add(cycles));
        self.settle(source, Some(now));
        self.source(source).now = Some(now);
    }

    /// The clock is known to be at least that of the open points, and at most `now`.
    fn settle(&mut self, source: usize, now: Option<u64>) {
        let open = std::mem::take(&mut self.source(source).open);
        for number in open {
            if let Some(moment) = self.moments.get_mut(number) {
                moment.most = now;
            }
        }
    }

    /// An element other than a range.
    pub fn element(&mut self, source: usize, element: &Element) {
        match (self.clock, *element) {
            (Clock::Timestamps, Element::Timestamp { value, .. }) if value > 0 => {
                let before = self.source(source).now;
                if before.is_some_and(|before| before > value) {
                    self.unknown(source);
                } else {
                    self.settle(source, Some(value));
                }
                self.source(source).now = Some(value);
            }
            (Clock::Cycles, Element::Cycles(Some(cycles))) => {
                let now = self.source(source).now;
                self.advance(source, now, u64::from(cycles));
            }
            (Clock::Cycles, Element::Cycles(None)) => self.unknown(source),
            (Clock::Cycles | Clock::Instructions, Element::Gap(gap))
                if !matches!(gap, Gap::Data) =>
            {
                self.unknown(source);
            }
            _ => {}
        }
    }

    /// What follows has no known distance to what is before.
    fn unknown(&mut self, source: usize) {
        // An instruction is exact.
        let last = self.source(source).now.filter(|_| self.clock == Clock::Instructions);
        self.settle(source, last);
        self.epochs += 1;
        let (epoch, now) = (self.epochs, (self.clock == Clock::Instructions).then_some(0));
        let own = self.source(source);
        (own.epoch, own.now, own.base, own.next) = (epoch, now, now, now);
    }

    /// The time from one point to a later one. Both are known when the trace has ended.
    pub fn between(&self, from: PointId, to: PointId) -> Interval {
        match (self.moments.get(from.0), self.moments.get(to.0)) {
            (Some(from), Some(to)) => to.since(*from),
            _ => Interval::at_least(0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timestamp(value: u64) -> Element {
        Element::Timestamp { value, cycles: None }
    }

    #[test]
    fn points_lie_between_timestamps() {
        let mut points = Points::new(Clock::Timestamps);
        let range = |points: &mut Points| {
            let point = points.mark_in(0, 7);
            points.executed(0, 7, None, true);
            point
        };
        points.element(0, &timestamp(100));
        let unknown = range(&mut points);
        // The timestamp may be later than what it precedes, up to the branch at the end.
        points.element(0, &timestamp(110));
        let a = range(&mut points);
        points.element(0, &timestamp(120));
        points.element(0, &timestamp(200));
        range(&mut points);
        let b = range(&mut points);
        points.element(0, &timestamp(205));
        assert_eq!(points.between(a, b), Interval::new(80, 105));
        assert_eq!(points.between(unknown, b), Interval::at_least(90));
        // A clock that was set back.
        points.element(0, &timestamp(50));
        range(&mut points);
        let d = range(&mut points);
        points.element(0, &timestamp(60));
        assert_eq!(points.between(b, d), Interval::at_least(0));
        assert_eq!(points.instructions(0), 42);
    }

    #[test]
    fn cycles_and_instructions() {
        let mut points = Points::new(Clock::Instructions);
        let a = points.mark(0);
        points.executed(0, 3, Some(9), true);
        let b = points.mark(0);
        let inside = points.mark_in(0, 5);
        points.executed(0, 5, None, true);
        assert_eq!(points.between(a, b), Interval::point(3));
        assert_eq!(points.between(b, inside), Interval::new(0, 4));
        let mut points = Points::new(Clock::Cycles);
        points.executed(0, 3, Some(9), true);
        let a = points.mark_in(0, 2);
        points.executed(0, 2, Some(9), true);
        let b = points.mark_in(0, 2);
        points.executed(0, 2, None, true);
        points.element(0, &Element::Cycles(Some(4)));
        assert_eq!(points.between(a, b), Interval::new(0, 13));
        points.element(0, &Element::Cycles(None));
        let c = points.mark(0);
        assert_eq!(points.between(a, c), Interval::at_least(0));
    }
}
