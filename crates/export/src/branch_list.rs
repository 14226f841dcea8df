//! The branch list of simpleperf: see [`BranchList`].

use tracewright_analysis::Profile;
use tracewright_capture::perf::{BinaryKind, BranchList, ListedBinary, Sequence};

/// The file.
pub(crate) fn write(profile: &Profile) -> Vec<u8> {
    let modules = profile.modules.values().filter(|module| !module.lists.is_empty());
    let binaries = modules.map(|module| {
        let kind = match (module.file.kernel, module.file.path.starts_with("[kernel.kallsyms]")) {
            (false, _) => BinaryKind::Program,
            (true, true) => BinaryKind::Kernel,
            (true, false) => BinaryKind::Module,
        };
        let sequences = module.lists.iter().map(|(listed, count)| Sequence {
            address: listed.address,
            bits: listed.branches.bits.clone(),
            len: listed.branches.len,
            count: *count,
        });
        ListedBinary {
            path: module.file.path.clone(),
            build_id: module.file.build_id.clone().unwrap_or_default(),
            kind,
            kernel_start: 0,
            sequences: sequences.collect(),
        }
    });
    BranchList { binaries: binaries.collect(), ..BranchList::default() }.write()
}
