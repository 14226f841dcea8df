//! Events of a DWT and of software that name the running task.

use std::sync::Arc;

use tracewright_base::{Channel, Dwt};
use tracewright_capture::Capture;

use crate::itm::Origin;

/// A variable that names the running task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Watched {
    /// The address.
    pub address: u64,
    /// The size in bytes: 1, 2, 4 or 8.
    pub size: u64,
}

/// Events that name the running task, as a file of `--tasks` describes them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunningEvents {
    /// What writes the value that identifies the task: a stimulus port of an ITM, a channel of an
    /// STM, or a comparator of the DWT.
    pub origin: Origin,
    /// The width of a write in bits. Writes of another width are no events.
    pub bits: u8,
    /// Values where no task runs, or the task that is idle.
    pub idle: Vec<u64>,
}

/// The addresses in the comparators of the DWT that a capture records.
pub fn comparators(capture: &Capture) -> [Option<u32>; 4] {
    let of_sources = capture.sources.iter().map(|source| &source.registers);
    let of_cores = capture.cores.iter().map(|core| &core.registers);
    let of_others = capture.others.iter().map(|other| &other.registers);
    let all: Vec<_> = of_sources.chain(of_cores).chain(of_others).collect();
    [0, 1, 2, 3].map(|n| {
        let name = format!("DWT_COMP{n}");
        let value = all.iter().find_map(|registers| registers.get(&name))?;
        u32::try_from(value).ok()
    })
}

/// How the events of an ITM or STM show which task runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EventTasks {
    watched: Arc<[Watched]>,
    comparators: [Option<u32>; 4],
    given: Option<RunningEvents>,
}

/// The low bytes of an address that a comparator has reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LowAddress {
    pub(crate) address: u32,
    pub(crate) size: u8,
}

impl LowAddress {
    fn is_of(self, address: u64) -> bool {
        let mask = u64::MAX >> (64 - 8 * u32::from(self.size.clamp(1, 4)));
        (u64::from(self.address) ^ address) & mask == 0
    }
}

impl EventTasks {
    /// Stores to the variables `watched`, and events as `given`. `comparators` are the addresses in
    /// the comparators of the DWT, where they are known.
    pub fn new(
        watched: Arc<[Watched]>,
        comparators: [Option<u32>; 4],
        given: Option<RunningEvents>,
    ) -> EventTasks {
        EventTasks { watched, comparators, given }
    }

    /// The value of a write that names the running task: `Some(None)` where the write is one, and
    /// its value is not known.
    ///
    /// `low` is the address that the comparator has reported for the access.
    pub(crate) fn stored(&self, event: Dwt, low: Option<LowAddress>) -> Option<Option<u64>> {
        let Dwt::DataValue { comparator, write: true, size, value } = event else { return None };
        let value = u64::from(value);
        if let Some(given) = &self.given
            && given.origin == Origin::Comparator(comparator)
        {
            return Some((given.bits == size * 8).then_some(value));
        }
        let known = self.comparators.get(usize::from(comparator)).copied().flatten();
        let is_own = |own: &&Watched| match (low, known) {
            // With a mask, a comparator matches other addresses, too.
            (Some(low), Some(known)) => {
                low.is_of(own.address) && own.address >> 16 == u64::from(known) >> 16
            }
            (Some(low), None) => low.is_of(own.address),
            (None, Some(known)) => own.address == u64::from(known),
            (None, None) => false,
        };
        let own = self.watched.iter().find(is_own)?;
        Some((own.size == u64::from(size)).then_some(value))
    }

    /// The value of a software write that names the running task.
    pub(crate) fn written(&self, channel: Channel, bits: u8, value: u64) -> Option<u64> {
        let given = self.given.as_ref()?;
        (Origin::of(channel) == Some(given.origin) && bits == given.bits).then_some(value)
    }

    /// Whether a value is that of no task, or of the idle one.
    pub fn is_idle(&self, id: u64) -> bool {
        self.given.as_ref().is_some_and(|given| given.idle.contains(&id))
    }

    /// Whether events may name the running task.
    pub fn may_name(&self) -> bool {
        self.given.is_some() || !self.watched.is_empty()
    }

    /// Whether it is known of some event that it names the running task: the address in a
    /// comparator is that of the variable, or a file of `--tasks` has events.
    pub fn is_known(&self) -> bool {
        let known = |own: &Watched| self.comparators.contains(&u32::try_from(own.address).ok());
        self.given.is_some() || self.watched.iter().any(known)
    }
}
