//! Commits of P0 elements, and cycle counts.

use super::{Encoder, Settings};
use crate::etmv4::Config;
use crate::etmv4::packet::Packet;

/// The uncommitted P0 elements, and cycles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counter {
    /// P0 elements that were traced and are not committed.
    depth: u32,
    /// Their maximum number: an analyzer commits the oldest of more. (TRCIDR8.MAXSPEC)
    max: u32,
    /// Cycles since the last cycle count.
    cycles: u64,
    /// The first cycle count after a loss of trace is unknown.
    unknown: bool,
    /// P0 elements were traced since the last cycle count.
    traced: bool,
    counting: bool,
    /// Cycle counts commit. (Commit mode 0)
    commits: bool,
    threshold: u64,
    /// The maximum of the unit's cycle counter.
    largest: u64,
    /// Whether VMIDs are traced, and whether context IDs are.
    pub(super) identifiers: (bool, bool),
}

impl Counter {
    pub(super) fn new(config: &Config, settings: &Settings) -> Self {
        Counter {
            max: config.max_speculation(),
            counting: config.cycle_counting() && config.can_count_cycles(),
            commits: !config.commit_mode_1(),
            threshold: settings.threshold.into(),
            largest: (1 << config.cycle_counter_bits().min(20)) - 1,
            identifiers: (
                config.vmid() && config.vmid_bytes() > 0,
                config.context_id() && config.context_id_bytes() > 0,
            ),
            ..Counter::default()
        }
    }

    #[inline]
    pub(super) fn count(&mut self, cycles: u32) {
        self.cycles = self.cycles.saturating_add(cycles.into());
    }

    /// Cycles since the last cycle count, limited to the width in a timestamp.
    pub(super) fn since_last(&self) -> u32 {
        self.cycles.min(0xf_ffff) as u32
    }

    pub(super) const fn depth(&self) -> u32 {
        self.depth
    }

    pub(super) const fn max(&self) -> u32 {
        self.max
    }

    /// Whether there are uncommitted P0 elements.
    pub(super) const fn has_uncommitted(&self) -> bool {
        self.depth > 0
    }

    /// The uncommitted elements and the cycle count are lost.
    pub(super) fn overflow(&mut self) {
        self.depth = 0;
        self.unknown = true;
        self.traced = false;
    }
}

impl Encoder {
    /// `n` P0 elements were traced. Elements beyond the maximum are committed without a packet, the
    /// oldest first.
    #[inline]
    pub(super) fn added(&mut self, n: u32) {
        self.counter.depth = self.counter.depth.saturating_add(n).min(self.counter.max);
        self.counter.traced = true;
    }

    /// `n` P0 elements were cancelled.
    pub(super) fn cancelled(&mut self, n: u32) {
        self.counter.depth = self.counter.depth.saturating_sub(n);
    }

    /// Commits after a P0 element, with the cycle count if cycles are counted.
    #[inline]
    pub(super) fn resolve(&mut self, config: &Config, out: &mut impl Extend<Packet>) {
        let Counter { cycles, threshold, counting, traced, depth, .. } = self.counter;
        if counting && traced && (cycles >= threshold || self.counter.unknown) {
            self.flush(config, out);
            let depth = self.counter.depth;
            return self.cycle_count(depth, config, out);
        }
        let batch = self.settings.commit_batch;
        if batch > 0 && depth >= batch {
            self.flush(config, out);
            self.commit(self.counter.depth, config, out);
        }
    }

    /// Commits all elements.
    pub(super) fn commit_all(&mut self, config: &Config, out: &mut impl Extend<Packet>) {
        self.flush(config, out);
        self.commit(self.counter.depth, config, out);
    }

    /// Commits the `n` oldest elements.
    pub(super) fn commit(&mut self, n: u32, config: &Config, out: &mut impl Extend<Packet>) {
        if n > 0 {
            self.put(Packet::Commit(n), config, out);
            self.cancelled(n);
        }
    }

    /// Sends the cycles since the last count, and in commit mode 0 commits the `n` oldest elements.
    pub(super) fn cycle_count(&mut self, n: u32, config: &Config, out: &mut impl Extend<Packet>) {
        let Counter { cycles, threshold, max, largest, commits, .. } = self.counter;
        let unknown = core::mem::take(&mut self.counter.unknown) || cycles > largest;
        let above = cycles.saturating_sub(threshold);
        let n = if commits { n } else { 0 };
        // Format 2 with F counts commits down from MAXSPEC.
        let from_max = (n + 15).checked_sub(max).filter(|&a| a <= 15);
        let packet = match (n, above) {
            _ if unknown => Packet::CycleCount1 { commit: commits.then_some(n), cycles: None },
            (_, 0..=3) if !commits => Packet::CycleCount3 { commit: 0, cycles: above as u8 },
            (1..=4, 0..=3) => Packet::CycleCount3 { commit: n as u8 - 1, cycles: above as u8 },
            (_, 0..=15) if !commits => {
                Packet::CycleCount2 { from_max: true, commit: 15, cycles: above as u8 }
            }
            (1..=16, 0..=15) => {
                Packet::CycleCount2 { from_max: false, commit: n as u8 - 1, cycles: above as u8 }
            }
            _ => match from_max.filter(|_| above <= 15) {
                Some(commit) => {
                    let (commit, cycles) = (commit as u8, above as u8);
                    Packet::CycleCount2 { from_max: true, commit, cycles }
                }
                None => {
                    Packet::CycleCount1 { commit: commits.then_some(n), cycles: Some(above as u32) }
                }
            },
        };
        self.put(packet, config, out);
        self.cancelled(n);
        self.counter.cycles = 0;
        self.counter.traced = false;
    }
}
