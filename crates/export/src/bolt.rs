//! The pre-aggregated profile of BOLT, which `perf2bolt -pa` reads.
//! (bolt/docs/profiles.md and bolt/lib/Profile/DataAggregator.cpp of LLVM)
//!
//! | line | meaning |
//! |---|---|
//! | `T branch start end count` | the branch at `branch` was taken to `start`, and the next that was taken is at `end` |
//! | `B from to count mispredicted` | the branch was taken |
//! | `F start end count` | a range without the branch before it |
//!
//! Addresses are those in the file; of a file that may be loaded anywhere, they are offsets from
//! its first segment. `X:` precedes an address in another file. A `T` line without a known branch
//! has ffffffffffffffff in its place. BOLT 22 rejects comments and empty lines.
//!
//! BOLT reads `T` lines from version 21 on. They preserve the branches that were not taken, and
//! what follows calls. `B` and `F` lines of the same sequences do not have the latter; the lines of
//! simpleperf have neither, as its ranges end at each branch.

use std::collections::BTreeMap;
use std::fmt::Write;

use tracewright_analysis::{ModuleProfile, Profile, Target};

use crate::{Dialect, footer};

/// In the place of a branch: it is not known.
const NO_BRANCH: u64 = u64::MAX;

/// The profile of each file.
pub(crate) fn write(profile: &Profile, dialect: Dialect) -> String {
    let mut out = String::new();
    for module in profile.modules.values() {
        match dialect {
            Dialect::Full => write_traces(module, &mut out),
            Dialect::Ranges => write_sequences(module, &mut out),
            Dialect::Simpleperf => {
                write_ranges(module, &mut out);
                out.push_str(&footer(module));
            }
        }
    }
    out
}

/// What is subtracted from addresses in the file.
fn base(module: &ModuleProfile) -> u64 {
    let first = module.file.segments.first().map_or(0, |segment| segment.address);
    if module.file.movable { first } else { 0 }
}

fn write_traces(module: &ModuleProfile, out: &mut String) {
    let base = base(module);
    let at = |address: u64| address.wrapping_sub(base);
    for (trace, count) in &module.traces {
        let (start, last) = (at(trace.start), at(trace.last));
        let _ = match trace.from {
            Target::Here(from) => writeln!(out, "T {:x} {start:x} {last:x} {count}", at(from)),
            Target::Outside(from) => writeln!(out, "T X:{from:x} {start:x} {last:x} {count}"),
            Target::Unknown => writeln!(out, "T {NO_BRANCH:x} {start:x} {last:x} {count}"),
        };
    }
    // Branches to other files have no sequence in this one.
    for (branch, count) in &module.branches {
        if let Target::Outside(to) = branch.to {
            let _ = writeln!(out, "B {:x} X:{to:x} {} 0", at(branch.from), count.count);
        }
    }
}

/// Each sequence as a range, and each branch that was taken. The branch before a range is not known
/// of it: BOLT assumes nothing about what follows a call.
fn write_sequences(module: &ModuleProfile, out: &mut String) {
    let base = base(module);
    let at = |address: u64| address.wrapping_sub(base);
    let mut ranges: BTreeMap<(u64, u64), u64> = BTreeMap::new();
    let mut branches: BTreeMap<(String, String), u64> = BTreeMap::new();
    let mut branch = |from: String, to: String, count: u64| {
        let sum = branches.entry((from, to)).or_default();
        *sum = sum.saturating_add(count);
    };
    for (trace, count) in &module.traces {
        let sum = ranges.entry((at(trace.start), at(trace.last))).or_default();
        *sum = sum.saturating_add(*count);
        let to = format!("{:x}", at(trace.start));
        match trace.from {
            Target::Here(from) => branch(format!("{:x}", at(from)), to, *count),
            Target::Outside(from) => branch(format!("X:{from:x}"), to, *count),
            Target::Unknown => {}
        }
    }
    for (its, count) in &module.branches {
        if let Target::Outside(to) = its.to {
            branch(format!("{:x}", at(its.from)), format!("X:{to:x}"), count.count);
        }
    }
    for ((start, last), count) in ranges {
        let _ = writeln!(out, "F {start:x} {last:x} {count}");
    }
    for ((from, to), count) in branches {
        let _ = writeln!(out, "B {from} {to} {count} 0");
    }
}

fn write_ranges(module: &ModuleProfile, out: &mut String) {
    let base = base(module);
    let at = |address: u64| address.wrapping_sub(base);
    for ((start, last), count) in &module.ranges {
        let _ = writeln!(out, "F {:x} {:x} {}", at(*start), at(*last), count.total());
    }
    let mut branches: BTreeMap<(u64, u64), u64> = BTreeMap::new();
    for (branch, count) in &module.branches {
        let to = match branch.to {
            Target::Here(to) if !count.indirect => at(to),
            _ => 0,
        };
        let sum = branches.entry((at(branch.from), to)).or_default();
        *sum = sum.saturating_add(count.count);
    }
    for ((from, to), count) in branches {
        let _ = writeln!(out, "B {from:x} {to:x} {count} 0");
    }
}
