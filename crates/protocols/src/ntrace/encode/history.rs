//! The history of branches, and what is sent when it is full.

use crate::ntrace::names;
use crate::ntrace::packet::Message;

/// What a full history becomes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum FullHistory {
    /// A message each time. (RCODE 1)
    #[default]
    Each,
    /// Equal histories are counted. (RCODE 2)
    Repeated,
    /// The same, also where 30 or 28 outcomes repeat. (NexRv)
    RepeatedParts,
    /// Equal outcomes are counted. (RCODE 8 and 9 of SiFive)
    Runs,
}

/// The most occurrences of a history in one message: HREPEAT has 18 bits.
const MOST_REPEATED: u64 = (1 << 18) - 1;

/// The most outcomes of a run in one message. Captures of SiFive cores have 0x1000.
const LONGEST_RUN: u64 = 0x1000;

/// Outcomes that wait for a message of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Held {
    /// A history that occurred `count` times. Each occurrence takes the outcomes of a full history
    /// but `shift`, which stay.
    Pattern { history: u64, shift: u32, count: u64 },
    /// Equal outcomes.
    Run { taken: bool, count: u64 },
}

/// The outcomes that no message has reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct History {
    full: FullHistory,
    /// Outcomes that fill the history, 1 to 31.
    capacity: u32,
    /// The newest outcome is in bit 0; the highest bit set is above the oldest.
    bits: u64,
    held: Option<Held>,
}

impl History {
    /// Without outcomes.
    pub(super) const EMPTY: u64 = 1;

    pub(super) fn new(full: FullHistory, capacity: u8) -> History {
        let capacity = capacity.clamp(1, 31).into();
        History { full, capacity, bits: History::EMPTY, held: None }
    }

    /// The outcomes after those that wait.
    pub(super) const fn bits(&self) -> u64 {
        self.bits
    }

    /// Drops all outcomes.
    pub(super) fn clear(&mut self) {
        (self.bits, self.held) = (History::EMPTY, None);
    }

    /// Adds an outcome. Returns the message of a run that it ends.
    #[inline]
    pub(super) fn push(&mut self, outcome: bool) -> Option<Message> {
        if let Some(Held::Run { taken, count }) = &mut self.held {
            if *taken == outcome && *count < LONGEST_RUN {
                *count += 1;
                return None;
            }
            let message = self.release();
            self.bits = self.bits << 1 | u64::from(outcome);
            return message;
        }
        self.bits = self.bits << 1 | u64::from(outcome);
        None
    }

    /// Whether [`full`](Self::full) is due.
    #[inline]
    pub(super) const fn is_full(&self) -> bool {
        self.bits >> self.capacity != 0
    }

    /// Takes the full history. Returns a message that is due for it, or for what waited.
    pub(super) fn full(&mut self) -> Option<Message> {
        let (all, full) = (1 << self.capacity, self.full);
        let equal = self.bits == all || self.bits == 2 * all - 1;
        match (full, &mut self.held) {
            (FullHistory::Runs, _) if equal => {
                let taken = self.bits != all;
                self.bits = History::EMPTY;
                self.held = Some(Held::Run { taken, count: self.capacity.into() });
                return None;
            }
            (FullHistory::Each | FullHistory::Runs, _) => {
                let rdata = core::mem::replace(&mut self.bits, History::EMPTY);
                let rcode = names::HISTORY_FULL;
                return Some(Message::ResourceFull { rcode, rdata, hrepeat: 0 });
            }
            (_, Some(Held::Pattern { history, shift, count }))
                if self.bits >> *shift == *history && *count < MOST_REPEATED =>
            {
                *count += 1;
                self.bits = low(self.bits, *shift);
                return None;
            }
            (FullHistory::RepeatedParts, Some(Held::Pattern { history, shift, count }))
                if *count == 1 && self.capacity == 31 =>
            {
                if let Some(less) = part(*history, self.bits) {
                    (*history, *shift, *count) = (*history >> less, less, 2);
                    self.bits = low(self.bits, 2 * less);
                    return None;
                }
            }
            _ => {}
        }
        let message = self.release();
        let history = core::mem::replace(&mut self.bits, History::EMPTY);
        self.held = Some(Held::Pattern { history, shift: 0, count: 1 });
        message
    }

    /// The message of the outcomes that wait, before a message that has I-CNT.
    pub(super) fn release(&mut self) -> Option<Message> {
        let (rcode, rdata, hrepeat) = match self.held.take()? {
            Held::Pattern { history, count: 1, .. } => (names::HISTORY_FULL, history, 0),
            Held::Pattern { history, count, .. } => (names::HISTORY_REPEATED, history, count),
            Held::Run { taken: true, count } => (names::TAKEN, count, 0),
            Held::Run { taken: false, count } => (names::NOT_TAKEN, count, 0),
        };
        Some(Message::ResourceFull { rcode, rdata, hrepeat })
    }
}

/// The newest `count` outcomes as a history.
const fn low(bits: u64, count: u32) -> u64 {
    1 << count | bits & !(u64::MAX << count)
}

/// By how many outcomes two full histories exceed a history that repeats: 3 or 1, of 31.
fn part(first: u64, second: u64) -> Option<u32> {
    [3, 1].into_iter().find(|&less| {
        // The newest outcomes of the first are the oldest of its repetition, which the second
        // continues.
        let repeated = (first >> less) & !(1 << (31 - less));
        let begun = first & !(u64::MAX << less);
        let rest = second & !(1 << 31);
        let both = begun << 31 | rest;
        both >> (2 * less) == repeated
    })
}
