//! Tables from the specification, in its order.

mod decode;
mod packets;

use std::string::String;
use std::vec::Vec;

use tracewright_base::Wire;
use tracewright_frames::cycles::{Version, text};

use super::{Config, Etmv2, Packet};
use crate::memory::{Memory, words};
use crate::ways;

/// A unit of version 2.`minor`, told `control`.
pub(super) fn unit(minor: u64, control: u64) -> Config {
    unit_with(0x4100_2100 | minor << 4, control, &[])
}

pub(super) fn unit_with(id: u64, control: u64, others: &[(&str, u64)]) -> Config {
    let register = |name: &str| match name {
        "ETMCR" => Some(control),
        "ETMIDR" => Some(id),
        _ => others.iter().find(|(other, _)| *other == name).map(|(_, value)| *value),
    };
    Config::new(&register).unwrap()
}

/// The records of cycles that are written as text.
pub(super) fn records(config: &Config, cycles: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    for cycle in text::cycles(cycles, Version::V2) {
        Packet::of(cycle.unwrap()).emit(config, &mut bytes);
    }
    bytes
}

/// What cycles say, taken every way; less the first word and the last, which are always there.
#[track_caller]
pub(super) fn says(config: &Config, code: &Memory, cycles: &str) -> Vec<String> {
    let bytes = records(config, cycles);
    let said = ways::check::<Etmv2, _>(config, &mut code.clone(), &bytes);
    let mut words = words(&said.elements);
    assert_eq!(words.remove(0), "gap: start of trace");
    assert_eq!(words.pop().as_deref(), Some("end"));
    words
}

/// ETMCR: the port's width.
pub(super) const W4: u64 = 0;
pub(super) const W8: u64 = 1 << 4;
pub(super) const W16: u64 = 2 << 4;
/// ETMCR: data values are traced.
pub(super) const VALUES: u64 = 1 << 2;
/// ETMCR: data addresses are traced.
pub(super) const ADDRESSES: u64 = 1 << 3;
/// ETMCR: every cycle is traced.
pub(super) const CYCLES: u64 = 1 << 12;
/// ETMCR: context ids have one byte.
pub(super) const CONTEXT1: u64 = 1 << 14;
