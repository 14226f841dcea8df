//! The unsymbolized profile of `llvm-profgen --unsymbolized-profile`.
//! (llvm/tools/llvm-profgen/PerfReader.cpp of LLVM)
//!
//! The number of ranges and lines `start-end:count`, then the number of branches and lines
//! `from->to:count`, in hexadecimal except for numbers and counts. `end` is the address of the
//! branch that ends the range. Addresses are offsets from the start of the page of the first
//! executable segment. A branch from another file is from the address 1, which makes it an entry
//! of a function (`ExternalAddr`).

use std::collections::BTreeMap;
use std::fmt::Write;

use tracewright_analysis::{ModuleProfile, Profile, Target};

/// The page size with which llvm-profgen aligns segments.
const PAGE: u64 = 4096;
/// The address of all branches from other files. (llvm/tools/llvm-profgen/ProfiledBinary.h)
const EXTERNAL: u64 = 1;

/// The profile of the first file.
pub(crate) fn write(profile: &Profile) -> String {
    let mut out = String::new();
    if let Some(module) = profile.modules.values().next() {
        write_module(module, &mut out);
    }
    out
}

fn write_module(module: &ModuleProfile, out: &mut String) {
    let segment = module.file.segments.iter().find(|segment| segment.executable);
    let base = segment.map_or(0, |segment| segment.address & !(PAGE - 1));
    let at = |address: u64| address.checked_sub(base);
    let mut ranges: BTreeMap<(u64, u64), u64> = BTreeMap::new();
    for (trace, count) in &module.traces {
        if let (Some(start), Some(last)) = (at(trace.start), at(trace.last))
            && start <= last
        {
            let sum = ranges.entry((start, last)).or_default();
            *sum = sum.saturating_add(*count);
        }
    }
    let mut branches: BTreeMap<(u64, u64), u64> = BTreeMap::new();
    for (branch, count) in &module.branches {
        if let (Some(from), Target::Here(to)) = (at(branch.from), branch.to)
            && let Some(to) = at(to)
        {
            let sum = branches.entry((from, to)).or_default();
            *sum = sum.saturating_add(count.count);
        }
    }
    for (trace, count) in &module.traces {
        if let (Target::Outside(_), Some(to)) = (trace.from, at(trace.start)) {
            let sum = branches.entry((EXTERNAL.wrapping_sub(base), to)).or_default();
            *sum = sum.saturating_add(*count);
        }
    }
    let _ = writeln!(out, "{}", ranges.len());
    for ((start, last), count) in ranges {
        let _ = writeln!(out, "{start:x}-{last:x}:{count}");
    }
    let _ = writeln!(out, "{}", branches.len());
    for ((from, to), count) in branches {
        let _ = writeln!(out, "{from:x}->{to:x}:{count}");
    }
}

#[cfg(test)]
mod tests {
    use tracewright_analysis::{Branch, BranchCount, Trace};

    use super::*;

    /// Counts of the same addresses are added. Branches to other files have no line; those from
    /// other files are from one address.
    #[test]
    fn sums_of_ranges_and_branches() {
        let mut module = ModuleProfile::default();
        for (from, count) in [
            (Target::Unknown, 2),
            (Target::Here(0x30), 5),
            (Target::Outside(0x9000), 64),
            (Target::Outside(0x9010), 128),
        ] {
            module.traces.insert(Trace { from, start: 0x10, last: 0x1c }, count);
        }
        for (from, to, count) in [
            (0x1c, Target::Here(0x20), 4),
            (0x1c, Target::Outside(0x9000), 8),
            (0x2c, Target::Unknown, 16),
            (0x3c, Target::Here(0x10), 32),
        ] {
            let count = BranchCount { count, ..BranchCount::default() };
            module.branches.insert(Branch { from, to }, count);
        }
        let mut out = String::new();
        write_module(&module, &mut out);
        assert_eq!(out, "1\n10-1c:199\n3\n1->10:192\n1c->20:4\n3c->10:32\n");
    }
}
