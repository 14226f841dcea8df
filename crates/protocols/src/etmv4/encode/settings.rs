//! What the unit is programmed with beside the registers that a decoder reads.

use super::filter::{Filter, Ranges, ranges, within};
use crate::trace_unit::Setting;

/// The settings of [`Encoder`](super::Encoder): programming registers, and what to inject.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Bytes between synchronisations; 0 is never again. (TRCSYNCPR.PERIOD, bits \[4:0]: 2 to the
    /// power of it)
    pub period: u64,
    /// A cycle count waits until so many cycles have passed. (TRCCCCTLR.THRESHOLD, bits \[11:0])
    pub threshold: u32,
    /// The events that are traced. (TRCEVENTCTL1R.INSTEN, bits \[3:0])
    pub events: u8,
    pub(super) filter: Filter,
    /// Where branches are broadcast. (TRCBBCTLR: RANGE, bits \[7:0]; MODE, bit \[8]: in these ranges,
    /// not outside them)
    broadcast: (Ranges, bool),
    /// Entries of the unit's return stack, 0 to 15.
    pub return_stack_depth: u8,
    /// P0 elements are committed when so many wait; 0: only when they must be.
    pub commit_batch: u32,
    /// P0 elements between a Trace Info that repeats and the address and context after it.
    pub late_address: u8,
    /// An exception at a branch target is one with E = 0b10.
    pub shared_address: bool,
    /// Tracing ends with Discard, not with a commit of what waits.
    pub discard_at_end: bool,
    /// A mispredict may come after its branch was committed.
    pub late_mispredicts: bool,
    /// Seeds what is chosen at random.
    pub seed: u64,
    /// How often, of 256 P0 elements, something speculative is made up: a false path that is
    /// cancelled, a mispredict, a commit. Needs TRCIDR8.MAXSPEC.
    pub speculation: u8,
    /// How often, of 256 P0 elements, Q elements take over. Needs TRCIDR0.QSUPP and TRCCONFIGR.QE.
    pub q: u8,
    /// How often, of 256 taken branches, a branch is given by its own address. (ETE)
    pub sources: u8,
    /// Bytes that the unit holds; 0 is no limit. When they are full trace is lost.
    pub fifo: u32,
    /// Instructions in which the FIFO gives off one byte.
    pub fifo_drain: u32,
}

impl Default for Settings {
    fn default() -> Self {
        Settings::new(&|_| None)
    }
}

impl Settings {
    /// Reads settings by name; those that are absent are as in a usual unit.
    pub fn new(setting: &dyn Fn(&str) -> Option<u64>) -> Self {
        let or = |name, default| setting(name).unwrap_or(default);
        let rate = |name| or(name, 0).min(255) as u8;
        let broadcast = or("TRCBBCTLR", 0);
        Settings {
            period: match or("TRCSYNCPR", 12) & 0x1f {
                0 => 0,
                n => 1 << n,
            },
            threshold: (or("TRCCCCTLR", 16) & 0xfff) as u32,
            events: (or("TRCEVENTCTL1R", 0xf) & 0xf) as u8,
            filter: Filter::new(setting),
            broadcast: (ranges(broadcast & 0xff, setting), broadcast >> 8 & 1 != 0),
            return_stack_depth: or("return-stack-depth", 3).min(15) as u8,
            commit_batch: or("commit-batch", 0).min(u32::MAX.into()) as u32,
            late_address: or("late-address", 0).min(255) as u8,
            shared_address: or("shared-address", 1) != 0,
            discard_at_end: or("discard-at-end", 0) != 0,
            late_mispredicts: or("late-mispredicts", 0) != 0,
            seed: or("seed", 1),
            speculation: rate("speculation"),
            q: rate("q-elements"),
            sources: rate("source-addresses"),
            fifo: or("fifo", 0).min(u32::MAX.into()) as u32,
            fifo_drain: or("fifo-drain", 4).clamp(1, u32::MAX.into()) as u32,
        }
    }

    /// Whether a branch at `address` is broadcast where branch broadcasting is on.
    pub(super) fn broadcasts(&self, address: u64) -> bool {
        let (ranges, include) = &self.broadcast;
        within(ranges, address) == *include
    }
}

const fn setting(name: &'static str, about: &'static str) -> Setting {
    Setting { name, about }
}

const RANGE: &str = "an address comparator; two are a range, last address included";

/// Every setting, in words.
pub(super) const SETTINGS: &[Setting] = &[
    setting("TRCSYNCPR", "synchronise every 2^n bytes; 0: only at the start"),
    setting("TRCCCCTLR", "cycle counts wait until so many cycles have passed"),
    setting("TRCEVENTCTL1R", "bits [3:0]: the events that are traced"),
    setting("TRCVICTLR", "bits [19:16], [22:20], [26:24]: exception levels that are not traced"),
    setting("TRCVIIECTLR", "bits [7:0] ranges to trace, bits [23:16] ranges not to trace"),
    setting("TRCACVR0", RANGE),
    setting("TRCACVR1", RANGE),
    setting("TRCACVR2", RANGE),
    setting("TRCACVR3", RANGE),
    setting("TRCACVR4", RANGE),
    setting("TRCACVR5", RANGE),
    setting("TRCACVR6", RANGE),
    setting("TRCACVR7", RANGE),
    setting("TRCACVR8", RANGE),
    setting("TRCACVR9", RANGE),
    setting("TRCACVR10", RANGE),
    setting("TRCACVR11", RANGE),
    setting("TRCACVR12", RANGE),
    setting("TRCACVR13", RANGE),
    setting("TRCACVR14", RANGE),
    setting("TRCACVR15", RANGE),
    setting("TRCBBCTLR", "bits [7:0] ranges, bit [8]: broadcast branches in them, not outside"),
    setting("return-stack-depth", "entries of the return stack, 0 to 15"),
    setting("commit-batch", "P0 elements that wait before a commit; 0: only when they must"),
    setting("late-address", "P0 elements between a repeated Trace Info and its address"),
    setting("shared-address", "1: an exception at a branch target shares its address (E = 0b10)"),
    setting("discard-at-end", "1: what is not committed at the end is discarded"),
    setting("late-mispredicts", "1: a mispredict may come after its branch was committed"),
    setting("seed", "of what is chosen at random"),
    setting("speculation", "of 256 P0 elements: false paths, mispredicts and commits made up"),
    setting("q-elements", "of 256 P0 elements: Q elements begun"),
    setting("source-addresses", "of 256 taken branches: given by their own address (ETE)"),
    setting("fifo", "bytes that the unit holds before trace is lost; 0: no limit"),
    setting("fifo-drain", "instructions in which the unit gives off one byte"),
];
