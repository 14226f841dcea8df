//! What the tests of ETMv1 and ETMv2 share: port cycles as text, ETMCR bits, random records.

use std::string::String;
use std::vec::Vec;

use tracewright_base::Wire;
use tracewright_frames::cycles::{Cycle, Version, text};

use crate::memory::{Memory, describe};
use crate::registry::Listed;
use crate::ways;

/// The records of cycles that are written as text.
pub(crate) fn records<P: Listed<Packet: From<Cycle>>>(
    version: Version,
    config: &P::Config,
    cycles: &str,
) -> Vec<u8> {
    let mut bytes = Vec::new();
    for cycle in text::cycles(cycles, version) {
        P::Packet::from(cycle.unwrap()).emit(config, &mut bytes);
    }
    bytes
}

/// The elements of cycles, decoded in every way, without the gap at the start and the end.
#[track_caller]
pub(crate) fn decoded<P: Listed<Packet: From<Cycle>>>(
    version: Version,
    config: &P::Config,
    code: &Memory,
    cycles: &str,
) -> Vec<String> {
    let bytes = records::<P>(version, config, cycles);
    let decoded = ways::check::<P, _>(config, &mut code.clone(), &bytes);
    let mut elements = describe(&decoded.elements);
    assert_eq!(elements.remove(0), "gap: start of trace");
    assert_eq!(elements.pop().as_deref(), Some("end"));
    elements
}

/// Decodes random records: no panic, and the same elements for any cut. `config` makes a
/// configuration from a random minor version and a value of ETMCR.
pub(crate) fn random_records<P: Listed>(config: fn(u64, u64) -> P::Config, code: &Memory) {
    let mut random = ways::Random(0x5eed);
    let mut code = code.clone();
    for n in 0..300 {
        let control = random.next() & 0xf10e | (n % 3) << 4;
        let config = config(random.next(), control);
        let len = 20 + (random.next() % 300) as usize;
        let bytes: Vec<u8> = match n % 3 {
            0 => random.bytes(len),
            1 => random.bytes(len).chunks_exact(2).flat_map(|b| [b[0], b[1] & 0xf]).collect(),
            _ => random
                .bytes(len)
                .chunks_exact(4)
                .flat_map(|b| [b[0], b[1], b[2] & 0xf, 0])
                .collect(),
        };
        ways::garbage::<P, _>(&config, &mut code, &bytes);
    }
}

/// ETMCR: the port's width.
pub(crate) const W4: u64 = 0;
pub(crate) const W8: u64 = 1 << 4;
pub(crate) const W16: u64 = 2 << 4;
/// ETMCR: data values are traced.
pub(crate) const VALUES: u64 = 1 << 2;
/// ETMCR: data addresses are traced.
pub(crate) const ADDRESSES: u64 = 1 << 3;
/// ETMCR: every cycle is traced.
pub(crate) const CYCLES: u64 = 1 << 12;
/// ETMCR: context IDs have one byte.
pub(crate) const CONTEXT1: u64 = 1 << 14;
