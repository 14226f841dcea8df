//! The functions of a profile.

use std::collections::BTreeMap;

use tracewright_analysis::ModuleProfile;

/// Instructions by function and address: the name of the function, and for each address in the file
/// the executions of its instruction. Code without a symbol has the empty name.
///
/// The addresses of instructions are known where all of a range have 4 bytes. Otherwise all
/// instructions of the range are counted at its first address.
pub(crate) fn functions(module: &ModuleProfile) -> BTreeMap<String, BTreeMap<u64, u64>> {
    let mut functions: BTreeMap<String, BTreeMap<u64, u64>> = BTreeMap::new();
    let mut add = |address: u64, count: u64| {
        let name = module.file.symbols.at(address).map_or("", |symbol| symbol.name);
        let known = match functions.get_mut(name) {
            Some(known) => known,
            None => functions.entry(name.to_owned()).or_default(),
        };
        let sum = known.entry(address).or_default();
        *sum = sum.saturating_add(count);
    };
    for ((start, last), count) in &module.ranges {
        let words = last.wrapping_sub(*start) / 4 + 1;
        if words == u64::from(count.instructions) {
            (0..words).for_each(|n| add(start.wrapping_add(4 * n), count.total()));
        } else {
            add(*start, count.total().saturating_mul(count.instructions.into()));
        }
    }
    functions
}

/// The sum of the counts of a function.
pub(crate) fn total(addresses: &BTreeMap<u64, u64>) -> u64 {
    addresses.values().fold(0, |sum, count| sum.saturating_add(*count))
}
