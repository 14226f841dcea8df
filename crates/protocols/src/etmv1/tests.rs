//! Tables from the specification, in its order.

mod decode;
mod packets;

use std::string::String;
use std::vec::Vec;

use tracewright_base::Wire;
use tracewright_frames::cycles::{Version, text};

use super::{Config, Etmv1, Packet};
use crate::memory::Memory;
use crate::port_tests;
pub(super) use crate::port_tests::{ADDRESSES, CONTEXT1, CYCLES, VALUES, W4, W8, W16};
use crate::ways;

/// A unit of version 1.`minor`; `control` is ETMCR.
pub(super) fn unit(minor: u64, control: u64) -> Config {
    unit_with(minor, control, &[])
}

pub(super) fn unit_with(minor: u64, control: u64, others: &[(&str, u64)]) -> Config {
    let register = |name: &str| match name {
        "ETMCR" => Some(control),
        "ETMCCR" => Some(minor << 28),
        _ => others.iter().find(|(other, _)| *other == name).map(|(_, value)| *value),
    };
    Config::new(&register).unwrap()
}

/// The elements of cycles, decoded in every way, without the gap at the start and the end.
#[track_caller]
pub(super) fn decoded(config: &Config, code: &Memory, cycles: &str) -> Vec<String> {
    port_tests::decoded::<Etmv1>(Version::V1, config, code, cycles)
}

/// ETMCR: coprocessor register transfers are traced.
pub(super) const CPRT: u64 = 1 << 1;
