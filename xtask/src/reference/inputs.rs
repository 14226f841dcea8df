//! The inputs.

use std::path::PathBuf;

/// Bytes in a MB, as buffers have it.
pub(super) const MB: usize = 1 << 20;

/// One input.
#[derive(Clone, Debug)]
pub(super) struct Input {
    pub(super) name: &'static str,
    /// Its size in MB.
    pub(super) mb: usize,
    /// The capture that is repeated, where it is not a workload.
    pub(super) capture: Option<PathBuf>,
}

/// Name, size in MB, and whether it is one of the captures of the conformance tests. A byte of the
/// loop makes 20 ranges, one of the others 1 to 2: sizes are such that OpenCSD takes a minute at
/// most.
const INPUTS: [(&str, usize, bool); 17] = [
    ("bugfix-exact-match", 64, true),
    ("loop", 4, false),
    ("calls", 16, false),
    ("large", 64, false),
    ("cores", 64, false),
    ("branchy", 16, false),
    ("trace_file_vmid", 64, true),
    ("juno_r1_1", 64, true),
    ("ete_mem", 64, true),
    ("tme_test", 64, true),
    ("tc2-ptm-rstk-t32", 64, true),
    ("Snowball", 64, true),
    ("TC2", 64, true),
    ("ete_spec_1", 32, true),
    ("ete_spec_2", 32, true),
    ("stm_only", 32, true),
    ("itm_only_raw", 32, true),
];

/// All inputs that are there, and the names of those that are not: they are captures from
/// elsewhere.
pub(super) fn all(shared: &std::path::Path) -> (Vec<Input>, Vec<&'static str>) {
    let (mut inputs, mut missing) = (Vec::new(), Vec::new());
    for (name, mb, captured) in INPUTS {
        let path = shared.join("conformance/arm/snapshots").join(name);
        match captured {
            true if !path.is_dir() => missing.push(name),
            _ => inputs.push(Input { name, mb, capture: captured.then_some(path) }),
        }
    }
    (inputs, missing)
}
