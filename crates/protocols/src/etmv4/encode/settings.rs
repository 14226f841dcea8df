//! The programming of the unit in addition to the registers that a decoder reads.

use super::filter::{Filter, Ranges, ranges, within};
use crate::trace_unit::Setting;

/// The settings of [`Encoder`](super::Encoder): programming registers, and what to inject.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Bytes between synchronisations; 0: only one at the start. (2 to the power of
    /// TRCSYNCPR.PERIOD, bits \[4:0])
    pub period: u64,
    /// The minimum number of cycles between cycle counts. (TRCCCCTLR.THRESHOLD, bits \[11:0])
    pub threshold: u32,
    /// The events that are traced. (TRCEVENTCTL1R.INSTEN, bits \[3:0])
    pub events: u8,
    pub(super) filter: Filter,
    /// The addresses of broadcast branches. (TRCBBCTLR: RANGE, bits \[7:0]; MODE, bit \[8]: inside
    /// these ranges instead of outside)
    broadcast: (Ranges, bool),
    /// Entries of the unit's return stack, 0 to 15.
    pub return_stack_depth: u8,
    /// The number of uncommitted P0 elements at which they are committed; 0: only when necessary.
    pub commit_batch: u32,
    /// P0 elements between a repeated Trace Info and the address and context after it.
    pub late_address: u8,
    /// An exception at a branch target has E = 0b10.
    pub shared_address: bool,
    /// Tracing ends with Discard instead of a commit.
    pub discard_at_end: bool,
    /// A mispredict may be after the commit of its branch.
    pub late_mispredicts: bool,
    /// The seed of random choices.
    pub seed: u64,
    /// How often, of 256 P0 elements, speculation is simulated: a false path that is cancelled, a
    /// mispredict, a commit. Needs TRCIDR8.MAXSPEC.
    pub speculation: u8,
    /// How often, of 256 P0 elements, a Q element begins. Needs TRCIDR0.QSUPP and TRCCONFIGR.QE.
    pub q: u8,
    /// How often, of 256 taken branches, a branch is traced as a source address. (ETE)
    pub sources: u8,
    /// Size of the FIFO in bytes; 0 is no limit. Trace is lost when it is full.
    pub fifo: u32,
    /// Instructions for each byte that the FIFO outputs.
    pub fifo_drain: u32,
}

impl Default for Settings {
    fn default() -> Self {
        Settings::new(&|_| None)
    }
}

impl Settings {
    /// Reads settings by name; absent ones have defaults.
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

/// Every setting with a description.
pub(super) const SETTINGS: &[Setting] = &[
    setting("TRCSYNCPR", "synchronise every 2^n bytes; 0: only at the start"),
    setting("TRCCCCTLR", "minimum number of cycles between cycle counts"),
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
    setting(
        "commit-batch",
        "uncommitted P0 elements at which they are committed; 0: only when necessary",
    ),
    setting("late-address", "P0 elements between a repeated Trace Info and its address"),
    setting("shared-address", "1: an exception at a branch target shares its address (E = 0b10)"),
    setting("discard-at-end", "1: uncommitted elements are discarded at the end"),
    setting("late-mispredicts", "1: a mispredict may be after the commit of its branch"),
    setting("seed", "seed of random choices"),
    setting("speculation", "of 256 P0 elements: simulated false paths, mispredicts and commits"),
    setting("q-elements", "of 256 P0 elements: started Q elements"),
    setting("source-addresses", "of 256 taken branches: traced as source addresses (ETE)"),
    setting("fifo", "size of the FIFO in bytes; trace is lost when it is full; 0: no limit"),
    setting("fifo-drain", "instructions for each byte that the FIFO outputs"),
];
