//! The branch list of simpleperf, version 1. (simpleperf/branch_list.proto, BranchListFile.cpp)
//!
//! A header of 24 bytes, the version, whether messages are compressed, and after its length the
//! message `BranchList`. It has for each file the addresses from which branches were counted, and
//! for each the sequences of branches: a bit for each waypoint, set where it is a branch that was
//! taken, and the count. The path follows from the file.

use std::collections::BTreeMap;

use tracewright_analysis::{Branches, ModuleProfile, Profile};

use crate::proto::Message;

/// The first bytes of a file.
const MAGIC: &[u8; 24] = b"simpleperf:EtmBranchList";
/// The field `magic` of the message.
const MESSAGE_MAGIC: &str = "simpleperf:EtmBranchList";
/// The version of the file.
const VERSION: u32 = 1;

/// The file.
pub(crate) fn write(profile: &Profile) -> Vec<u8> {
    let mut list = Message::default();
    list.text(1, MESSAGE_MAGIC);
    for module in profile.modules.values().filter(|module| !module.lists.is_empty()) {
        list.bytes(2, &binary(module).0);
    }
    let mut out = MAGIC.to_vec();
    out.extend(VERSION.to_le_bytes());
    // The message is not compressed.
    out.push(0);
    out.extend((list.0.len() as u32).to_le_bytes());
    out.extend(list.0);
    out
}

/// The message `ETMBinary`.
fn binary(module: &ModuleProfile) -> Message {
    let mut message = Message::default();
    message.text(1, &module.file.path);
    let id: String =
        module.file.build_id.iter().flatten().map(|byte| format!("{byte:02x}")).collect();
    message.text(2, &id);
    let mut addresses: BTreeMap<u64, Vec<(&Branches, u64)>> = BTreeMap::new();
    for (listed, count) in &module.lists {
        addresses.entry(listed.address).or_default().push((&listed.branches, *count));
    }
    for (address, sequences) in addresses {
        let mut entry = Message::default();
        entry.number(1, address);
        for (branches, count) in sequences {
            let mut sequence = Message::default();
            sequence.bytes(1, &branches.bits);
            sequence.number(2, branches.len.into());
            sequence.number(3, count);
            entry.bytes(2, &sequence.0);
        }
        message.bytes(3, &entry.0);
    }
    let kind = match (module.file.kernel, module.file.path.starts_with("[kernel.kallsyms]")) {
        (false, _) => 0,
        (true, true) => 1,
        (true, false) => 2,
    };
    message.number(4, kind);
    message
}
