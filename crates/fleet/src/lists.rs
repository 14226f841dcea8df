//! Branch lists as counts: those of many captures of the same programs add up.

use std::collections::BTreeMap;
use std::fmt::Write;

use tracewright::capture::perf::{BinaryKind, BranchList, ListedBinary, Sequence};

use crate::part::{Part, Payload};

/// Adds the sequences of `list`.
pub fn put(list: &BranchList, to: &mut Payload) {
    for binary in &list.binaries {
        let kind = match binary.kind {
            BinaryKind::Program => "program",
            BinaryKind::Kernel => "kernel",
            BinaryKind::Module => "module",
        };
        let (id, start) = (hex(&binary.build_id), binary.kernel_start);
        for Sequence { address, bits, len, count } in &binary.sequences {
            let (bits, path) = (hex(bits), &binary.path);
            to.count(format!("list {kind} {start:x} {id} {address:x} {len} {bits} {path}"), *count);
        }
    }
}

/// Why the captures of a list, which were compared in each share only, are of different programs as
/// far as the branch list of all shows: a program file has several build identifiers, or none and
/// the programs of the captures differ.
pub fn different_programs(part: &Part) -> Option<String> {
    let list = take(&part.payload)?;
    let mut programs = part.captures.iter().map(|own| own.programs);
    let first = programs.next();
    let differ = programs.any(|own| Some(own) != first);
    let mut known: BTreeMap<&str, &[u8]> = BTreeMap::new();
    for ListedBinary { path, build_id, .. } in &list.binaries {
        if build_id.is_empty() && differ {
            return Some(format!(
                "{path} has no build identifier, and the programs of the captures differ"
            ));
        }
        if let Some(other) = known.insert(path, build_id).filter(|other| other != build_id) {
            let (one, other) = (hex(other), hex(build_id));
            return Some(format!("{path} has the build identifiers {one} and {other}"));
        }
    }
    None
}

/// The list of counts; `None` where they are no list.
pub fn take(from: &Payload) -> Option<BranchList> {
    let Payload::Counts(counts) = from else { return None };
    let mut binaries: BTreeMap<(String, Vec<u8>), ListedBinary> = BTreeMap::new();
    for (key, count) in counts {
        let mut fields = key.splitn(8, ' ');
        if fields.next()? != "list" {
            return None;
        }
        let kind = match fields.next()? {
            "program" => BinaryKind::Program,
            "kernel" => BinaryKind::Kernel,
            "module" => BinaryKind::Module,
            _ => return None,
        };
        let kernel_start = u64::from_str_radix(fields.next()?, 16).ok()?;
        let build_id = bytes(fields.next()?)?;
        let address = u64::from_str_radix(fields.next()?, 16).ok()?;
        let len = fields.next()?.parse().ok()?;
        let bits = bytes(fields.next()?)?;
        let path = fields.next()?.to_owned();
        let new = || ListedBinary {
            path: path.clone(),
            build_id: build_id.clone(),
            ..Default::default()
        };
        let own = binaries.entry((path.clone(), build_id.clone())).or_insert_with(new);
        (own.kind, own.kernel_start) = (kind, kernel_start);
        own.sequences.push(Sequence { address, bits, len, count: *count });
    }
    let mut list = BranchList::default();
    // The list sums and sorts as it does for files.
    list.add(BranchList { binaries: binaries.into_values().collect(), ..BranchList::default() });
    Some(list)
}

fn hex(bytes: &[u8]) -> String {
    let mut text = String::new();
    bytes.iter().for_each(|byte| _ = write!(text, "{byte:02x}"));
    text
}

fn bytes(text: &str) -> Option<Vec<u8>> {
    let pairs = text.as_bytes().chunks(2);
    pairs.map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()).collect()
}
