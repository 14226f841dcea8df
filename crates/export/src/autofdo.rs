//! The text of AutoFDO, which `create_llvm_prof --profiler=text` and `create_gcov` read.
//! (`profile_reader.cc`, `sample_reader.cc` of AutoFDO)
//!
//! Three tables, each after the number of its lines: ranges `start-end:count`, where `end` is the
//! address of the last instruction; addresses of samples, of which there are none; branches
//! `from->to:count`. All numbers but counts are hexadecimal. **Addresses are offsets in the file.**
//! An address outside of the executable segments has none: its range or branch is left out, and a
//! target is 0.

use std::collections::BTreeMap;
use std::fmt::Write;

use tracewright_analysis::{ModuleProfile, Profile, Target};

use crate::{Dialect, footer};

/// The profile of each file.
pub(crate) fn write(profile: &Profile, dialect: Dialect) -> String {
    let mut out = String::new();
    if profile.modules.len() > 1 {
        out.push_str("// There are several files: AutoFDO reads the first only.\n");
    }
    for module in profile.modules.values() {
        write_module(module, dialect, &mut out);
        out.push_str(&footer(module));
        out.push('\n');
    }
    out
}

fn write_module(module: &ModuleProfile, dialect: Dialect, out: &mut String) {
    let offset = |address: u64| module.file.offset_of(address);
    let mut ranges: BTreeMap<(u64, u64), u64> = BTreeMap::new();
    for ((start, last), count) in &module.ranges {
        if let (Some(start), Some(last)) = (offset(*start), offset(*last)) {
            let sum = ranges.entry((start, last)).or_default();
            *sum = sum.saturating_add(count.total());
        }
    }
    let mut branches: BTreeMap<(u64, u64), u64> = BTreeMap::new();
    for (branch, count) in &module.branches {
        let Some(from) = offset(branch.from) else { continue };
        let hidden = dialect == Dialect::Simpleperf && count.indirect;
        let to = match branch.to {
            Target::Here(to) if !hidden => offset(to).unwrap_or(0),
            _ => 0,
        };
        let sum = branches.entry((from, to)).or_default();
        *sum = sum.saturating_add(count.count);
    }
    let _ = writeln!(out, "{}", ranges.len());
    for ((start, last), count) in ranges {
        let _ = writeln!(out, "{start:x}-{last:x}:{count}");
    }
    let _ = writeln!(out, "0\n{}", branches.len());
    for ((from, to), count) in branches {
        let _ = writeln!(out, "{from:x}->{to:x}:{count}");
    }
}
