//! The clock of a source.

use tracewright_base::Interval;

/// What measures time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Clock {
    /// The timestamps of the trace.
    Timestamps,
    /// The processor cycles that the trace counts.
    Cycles,
    /// Executed instructions, for a trace without a clock.
    Instructions,
}

impl Clock {
    /// The name in outputs.
    pub const fn name(self) -> &'static str {
        match self {
            Clock::Timestamps => "timestamps",
            Clock::Cycles => "cycles",
            Clock::Instructions => "instructions",
        }
    }

    /// The unit of its values.
    pub const fn unit(self) -> &'static str {
        match self {
            Clock::Timestamps => "ticks",
            Clock::Cycles => "cycles",
            Clock::Instructions => "instructions",
        }
    }
}

/// When something happened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Moment {
    /// Moments of different epochs have no known distance.
    pub(super) epoch: u32,
    /// The value of the clock at the last point before at which it is known.
    pub(super) least: Option<u64>,
    /// That of the first such point after it.
    pub(super) most: Option<u64>,
}

impl Moment {
    /// The time from `earlier` to this moment.
    pub(super) fn since(self, earlier: Moment) -> Interval {
        if self.epoch != earlier.epoch {
            return Interval::at_least(0);
        }
        let least =
            self.least.zip(earlier.most).map_or(0, |(end, begin)| end.saturating_sub(begin));
        let most = self.most.zip(earlier.least).map(|(end, begin)| end.saturating_sub(begin));
        Interval { least, most }
    }
}

/// A sum of durations of windows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Sum {
    /// Of windows that count as a whole.
    pub(super) least: u64,
    /// And of those that count in part.
    pub(super) most: u64,
    /// Windows of unknown duration among them.
    pub(super) unknown: u64,
}

impl Sum {
    /// Adds a window that counts as a whole.
    pub(super) fn whole(&mut self, duration: Option<u64>) {
        self.least = self.least.saturating_add(duration.unwrap_or(0));
        self.part(duration);
    }

    /// Adds a window that counts in part.
    pub(super) fn part(&mut self, duration: Option<u64>) {
        match duration {
            Some(duration) => self.most = self.most.saturating_add(duration),
            None => self.unknown += 1,
        }
    }

    /// What was added after `most`, at most, and after `least`, at least.
    pub(super) fn since(&self, most: &Sum, least: u64) -> Interval {
        let known = self.unknown == most.unknown;
        Interval {
            least: self.least.saturating_sub(least),
            most: known.then(|| self.most.saturating_sub(most.most)),
        }
    }

    /// The sum as an interval.
    pub(super) fn interval(&self) -> Interval {
        self.since(&Sum::default(), 0)
    }
}

/// What begins or ends in a window.
#[derive(Clone, Copy, Debug)]
pub(super) enum Event {
    Begin(usize),
    End(usize),
}

impl Event {
    /// The number of the activation.
    #[inline]
    pub(super) fn number(self) -> usize {
        let (Event::Begin(number) | Event::End(number)) = self;
        number
    }
}

/// A source, and its window that is open.
#[derive(Clone, Debug, Default)]
pub(super) struct SourceClock {
    /// The number of the window.
    pub(super) window: u64,
    /// The value at the begin of the window; `None` if it is not known.
    pub(super) now: Option<u64>,
    pub(super) epoch: u32,
    /// Nothing was executed since the begin of the window, at which the time is exact.
    pub(super) exact: bool,
    /// The thread that executes.
    pub(super) thread: Option<usize>,
    /// That on top of the thread executes.
    pub(super) executes_top: bool,
    /// The activation that executes, and the level that it belongs to.
    pub(super) top: Option<usize>,
    pub(super) level: Option<usize>,
    /// The activations and levels that execute for a part of the window, each with its serial
    /// number; empty if the same ones execute in the whole window.
    pub(super) parts: Vec<(usize, u64)>,
    pub(super) levels: Vec<usize>,
    /// Begins and ends in the window, each with the serial number of its activation.
    pub(super) events: Vec<(Event, u64)>,
}

impl SourceClock {
    /// The moment of an event in the window. Its later bound is known where the window ends.
    pub(super) fn moment(&self) -> Moment {
        Moment { epoch: self.epoch, least: self.now, most: self.now.filter(|_| self.exact) }
    }
}
