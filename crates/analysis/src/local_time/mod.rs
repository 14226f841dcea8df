//! The local timestamps of an ITM or STM: when its packets happened.
//!
//! | file | contents |
//! |---|---|
//! | `mod.rs` | [`LocalClock`]: the timestamps as times |
//! | `window.rs` | [`Window`]: between which timestamps packets happened |

#[cfg(test)]
pub(crate) mod model;
mod window;

pub(crate) use window::{Packet, Step, Window};

/// The most cycles of a tick. (ITM_TCR.TSPrescale)
const MAX_TICK: u64 = 64;

/// A local timestamp.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Stamp {
    /// The offset of its packet.
    pub(crate) at: u64,
    /// The first and the last cycle of its tick.
    pub(crate) low: u64,
    /// See `low`.
    pub(crate) high: u64,
    /// The packet before it, and the timestamp, were delayed.
    pub(crate) late_packet: bool,
    /// See `late_packet`.
    pub(crate) late_stamp: bool,
}

impl Stamp {
    /// That of a packet which has its own time, as those of an STM.
    pub(crate) fn own(at: u64, time: u64) -> Stamp {
        Stamp { at, low: time, high: time, ..Stamp::default() }
    }
}

/// The clock of local timestamps.
#[derive(Clone, Debug, Default)]
pub(crate) struct LocalClock {
    /// The cycles before the last loss, and since then.
    base: u64,
    total: u64,
    /// The cycles of a tick, where they are known.
    tick: Option<u64>,
}

impl LocalClock {
    /// A timestamp at an offset: the cycles since the last loss, the ticks since the timestamp
    /// before, and whether the packet before it and the timestamp itself were delayed.
    pub(crate) fn stamp(
        &mut self,
        at: u64,
        (total, ticks): (u64, u32),
        (late_packet, late_stamp): (bool, bool),
    ) -> Stamp {
        if let Some(tick) = total.saturating_sub(self.total).checked_div(ticks.into()) {
            self.tick = Some(tick.clamp(1, MAX_TICK));
        }
        self.total = total;
        let low = self.base.saturating_add(total);
        let high = low.saturating_add(self.tick.unwrap_or(MAX_TICK) - 1);
        Stamp { at, low, high, late_packet, late_stamp }
    }

    /// Packets were lost: the timestamps begin again.
    pub(crate) fn lost(&mut self) {
        (self.base, self.total) = (self.base.saturating_add(self.total), 0);
    }
}
