//! Durations and nesting of exceptions, from the exception packets of a DWT. (Armv7-M ARM, D4,
//! "Exception trace packet")

use std::collections::BTreeMap;

use tracewright_base::ExceptionStep;

/// The exceptions that are active, and totals of those that ended.
#[derive(Clone, Debug, Default)]
pub struct Exceptions {
    active: Vec<Active>,
    totals: BTreeMap<u16, ExceptionTotals>,
    /// The greatest number of exceptions that were active at once.
    deepest: usize,
}

#[derive(Clone, Copy, Debug)]
struct Active {
    number: u16,
    /// The time of its entry, if it was traced, and the time continued since.
    entered: Moment,
    /// The last time at which it was active for certain.
    active: Option<u64>,
    /// Packets were lost since its entry: it may have ended and begun again.
    lost: bool,
}

/// A time of which the bounds are known. The default knows nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moment {
    /// The earliest tick.
    pub earliest: Option<u64>,
    /// The latest tick.
    pub latest: Option<u64>,
}

/// The ticks between two moments: at least `least` and at most `most`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Duration {
    /// The least number of ticks.
    pub least: u64,
    /// The greatest number of ticks, at least 1.
    pub most: u64,
}

impl Duration {
    /// The ticks from `start` to `end`. `None` where no greatest number is known, or where both
    /// have the same timestamp, which measures nothing.
    pub fn between(start: Moment, end: Moment) -> Option<Duration> {
        let most = end.latest?.checked_sub(start.earliest?).filter(|&most| most > 0)?;
        let least =
            end.earliest.zip(start.latest).map_or(0, |(end, start)| end.saturating_sub(start));
        Some(Duration { least, most })
    }

    /// The number of ticks, where it was measured.
    pub fn measured(self) -> Option<u64> {
        (self.least == self.most).then_some(self.most)
    }
}

/// The place of a step in the nesting of exceptions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    /// The exceptions that are active in the step, with its own.
    pub depth: usize,
    /// Of an exit: the ticks since the entry, including those of exceptions that interrupted it.
    /// `None` where the entry was not traced, packets were lost in between, or no timestamp
    /// distinguishes the two.
    pub duration: Option<Duration>,
    /// Of a return: the exception that had ended before, the exit of which was not traced, and the
    /// bounds of its duration, where they are known.
    pub ended: Option<(u16, Duration)>,
}

/// Totals of one exception.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExceptionTotals {
    /// Entries.
    pub entries: u64,
    /// Exits whose duration was measured. The other totals of durations are of these.
    pub timed: u64,
    /// The least duration in ticks.
    pub least: u64,
    /// The sum of the durations.
    pub sum: u64,
    /// The greatest duration.
    pub most: u64,
    /// Entries while another exception was active.
    pub nested: u64,
    /// The greatest number of exceptions that were active, with this one.
    pub deepest: usize,
    /// Durations that were not measured, but have bounds.
    pub bounded: u64,
    /// The greatest upper bound of these.
    pub at_most: u64,
}

impl ExceptionTotals {
    /// Entries without a measured duration.
    pub const fn untimed(&self) -> u64 {
        self.entries.saturating_sub(self.timed)
    }

    fn add(&mut self, duration: Duration) {
        let Some(ticks) = duration.measured() else {
            self.bounded += 1;
            self.at_most = self.at_most.max(duration.most);
            return;
        };
        self.least = if self.timed == 0 { ticks } else { self.least.min(ticks) };
        self.most = self.most.max(ticks);
        self.sum = self.sum.saturating_add(ticks);
        self.timed += 1;
    }

    /// The mean duration in ticks, rounded; `None` without durations.
    pub const fn mean(&self) -> Option<u64> {
        match (self.sum + self.timed / 2).checked_div(self.timed) {
            Some(mean) => Some(mean),
            None => None,
        }
    }
}

impl Active {
    /// The bounds of the duration of an exception that ended by `time` at the latest.
    fn until(&self, time: Moment) -> Option<Duration> {
        let most = time.latest?.checked_sub(self.entered.earliest?).filter(|&most| most > 0)?;
        let least = self.active.zip(self.entered.latest);
        let least = least.map_or(0, |(active, entered)| active.saturating_sub(entered));
        // That it ended exactly then is not known.
        Some(Duration { least: least.min(most - 1), most })
    }
}

/// The most exceptions that are active: more than the priorities of a processor.
const MAX_ACTIVE: usize = 512;

impl Exceptions {
    /// Takes the next step of exception `number` at `time`.
    pub fn step(&mut self, number: u16, step: ExceptionStep, time: Moment) -> Span {
        match step {
            ExceptionStep::Entered => self.enter(number, time),
            ExceptionStep::Exited => self.exit(number, time),
            ExceptionStep::Returned => self.returned(number, time),
        }
    }

    fn enter(&mut self, number: u16, entered: Moment) -> Span {
        if self.active.len() >= MAX_ACTIVE {
            self.active.clear();
        }
        let active = entered.earliest;
        self.active.push(Active { number, entered, active, lost: false });
        let depth = self.active.len();
        self.deepest = self.deepest.max(depth);
        let totals = self.totals.entry(number).or_default();
        totals.entries += 1;
        totals.nested += u64::from(depth > 1);
        totals.deepest = totals.deepest.max(depth);
        Span { depth, ..Span::default() }
    }

    fn exit(&mut self, number: u16, time: Moment) -> Span {
        let Some(at) = self.active.iter().rposition(|active| active.number == number) else {
            // Its entry was not traced.
            return Span { depth: self.active.len() + 1, ..Span::default() };
        };
        // Exits of those that it was interrupted by were lost.
        self.end_above(at + 1, time);
        let ended = self.active.pop();
        // After a loss it may be another activation.
        let duration = ended.and_then(|ended| match ended.lost {
            true => ended.until(time),
            false => Duration::between(ended.entered, time),
        });
        if let (Some(duration), Some(totals)) = (duration, self.totals.get_mut(&number)) {
            totals.add(duration);
        }
        Span { depth: at + 1, duration, ended: None }
    }

    /// The processor continues exception `number`, or Thread mode for 0.
    fn returned(&mut self, number: u16, time: Moment) -> Span {
        let at = self.active.iter().rposition(|active| active.number == number);
        let ended = self.end_above(at.map_or(0, |at| at + 1), time);
        match self.active.last_mut() {
            Some(last) if !last.lost => last.active = time.earliest.or(last.active),
            Some(_) => {}
            None if number != 0 => {
                let (entered, active) = (Moment::default(), time.earliest);
                self.active.push(Active { number, entered, active, lost: false });
            }
            None => {}
        }
        Span { depth: self.active.len(), duration: None, ended }
    }

    /// The exceptions from number `from` on ended by `time`, without a traced exit. Returns the
    /// last of them with known bounds.
    fn end_above(&mut self, from: usize, time: Moment) -> Option<(u16, Duration)> {
        let mut last = None;
        for ended in self.active.split_off(from.min(self.active.len())) {
            let Some(duration) = ended.until(time) else { continue };
            if let Some(totals) = self.totals.get_mut(&ended.number) {
                totals.add(duration);
            }
            last = Some((ended.number, duration));
        }
        last
    }

    /// Packets were lost: which exceptions are active is not known until the next return. Where the
    /// time does not continue, their durations are not known; otherwise they have bounds.
    pub fn lost(&mut self, time_continues: bool) {
        for active in &mut self.active {
            active.lost = true;
            if !time_continues {
                active.entered = Moment::default();
            }
        }
    }

    /// The totals of each exception, in order of their numbers.
    pub fn totals(&self) -> &BTreeMap<u16, ExceptionTotals> {
        &self.totals
    }

    /// The greatest number of exceptions that were active at once.
    pub fn deepest(&self) -> usize {
        self.deepest
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ExceptionStep::{Entered, Exited, Returned};

    fn exactly(time: u64) -> Moment {
        Moment { earliest: Some(time), latest: Some(time) }
    }

    /// IRQ 0 (16) is interrupted by SysTick (15), and runs again.
    #[test]
    fn durations_and_nesting() {
        let mut exceptions = Exceptions::default();
        let mut step = |number, step, time| {
            let Span { depth, duration, .. } = exceptions.step(number, step, exactly(time));
            (depth, duration.and_then(Duration::measured))
        };
        assert_eq!(step(16, Entered, 100), (1, None));
        assert_eq!(step(15, Entered, 120), (2, None));
        assert_eq!(step(15, Exited, 150), (2, Some(30)));
        assert_eq!(step(16, Returned, 151), (1, None));
        assert_eq!(step(16, Exited, 200), (1, Some(100)));
        assert_eq!(step(0, Returned, 201), (0, None));
        assert_eq!(step(16, Entered, 300), (1, None));
        assert_eq!(step(16, Exited, 351), (1, Some(51)));
        // The entry was not traced.
        assert_eq!(step(11, Exited, 400), (1, None));
        let totals = exceptions.totals();
        let irq = totals[&16];
        assert_eq!((irq.entries, irq.timed, irq.nested, irq.deepest), (2, 2, 0, 1));
        assert_eq!((irq.least, irq.mean(), irq.most), (51, Some(76), 100));
        let tick = totals[&15];
        assert_eq!((tick.entries, tick.nested, tick.deepest, tick.sum), (1, 1, 2, 30));
        assert_eq!(totals.get(&11), None);
        assert_eq!(exceptions.deepest(), 2);
    }

    #[test]
    fn a_loss_makes_durations_unknown() {
        let mut exceptions = Exceptions::default();
        exceptions.step(16, Entered, exactly(100));
        exceptions.lost(false);
        assert_eq!(exceptions.step(16, Exited, exactly(200)).duration, None);
        assert_eq!(exceptions.totals()[&16].mean(), None);
        // The return to Thread mode shows that the exit was lost.
        exceptions.step(16, Entered, exactly(300));
        exceptions.step(0, Returned, exactly(400));
        assert_eq!(exceptions.step(16, Entered, exactly(500)).depth, 1);
    }

    /// A return shows that an exit was lost. Rows: steps with their times, a loss as exception 0
    /// that is entered; bounds of the duration of exception 16.
    #[test]
    fn lost_exits_have_bounds() {
        for (steps, time_continues, want) in [
            (&[(16, Entered, 100), (0, Returned, 300)][..], false, Some((0, 200))),
            // It was active when it was returned to.
            (
                &[(16, Entered, 100), (15, Entered, 120), (16, Returned, 150), (0, Returned, 300)],
                false,
                Some((50, 200)),
            ),
            // The exit of another activation, perhaps.
            (&[(16, Entered, 100), (0, Entered, 0), (16, Exited, 300)], true, Some((0, 200))),
            (&[(16, Entered, 100), (0, Entered, 0), (0, Returned, 300)], true, Some((0, 200))),
            (&[(16, Entered, 100), (0, Entered, 0), (0, Returned, 300)], false, None),
        ] {
            let mut exceptions = Exceptions::default();
            let mut last = Span::default();
            for &(number, step, time) in steps {
                match (number, step) {
                    (0, Entered) => exceptions.lost(time_continues),
                    _ => last = exceptions.step(number, step, exactly(time)),
                }
            }
            let ended = last.ended.map(|(_, duration)| duration).or(last.duration);
            assert_eq!(ended.map(|d| (d.least, d.most)), want, "{steps:?}");
            let totals = exceptions.totals()[&16];
            let bounded = (u64::from(want.is_some()), want.map_or(0, |want| want.1));
            assert_eq!((totals.bounded, totals.at_most, totals.timed), (bounded.0, bounded.1, 0));
        }
    }

    /// Rows: bounds of the entry and of the exit, bounds of the duration.
    #[test]
    fn durations_have_bounds() {
        let moment = |(earliest, latest)| Moment { earliest, latest };
        for (entry, exit, want) in [
            ((Some(10), Some(10)), (Some(60), Some(60)), Some((50, 50))),
            // The exit shares its timestamp with a later packet.
            ((Some(10), Some(10)), (Some(40), Some(60)), Some((30, 50))),
            // Both share one timestamp.
            ((Some(10), Some(60)), (Some(10), Some(60)), Some((0, 50))),
            ((Some(10), Some(60)), (Some(60), Some(60)), Some((0, 50))),
            // No timestamp distinguishes them.
            ((Some(60), Some(60)), (Some(60), Some(60)), None),
            // The earliest time of a delayed packet is not known.
            ((None, Some(10)), (Some(60), Some(60)), None),
            ((Some(10), Some(10)), (None, Some(60)), Some((0, 50))),
            ((None, None), (Some(60), Some(60)), None),
        ] {
            let duration = Duration::between(moment(entry), moment(exit));
            assert_eq!(duration.map(|d| (d.least, d.most)), want, "{entry:?} to {exit:?}");
            let mut exceptions = Exceptions::default();
            exceptions.step(16, Entered, moment(entry));
            exceptions.step(16, Exited, moment(exit));
            let totals = exceptions.totals()[&16];
            let timed = u64::from(want == Some((50, 50)));
            assert_eq!(
                (totals.timed, totals.untimed()),
                (timed, 1 - timed),
                "{entry:?} to {exit:?}"
            );
        }
    }
}
