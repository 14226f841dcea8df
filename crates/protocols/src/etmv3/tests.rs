//! Tables from the specification, in its order.

mod alignment;
mod decode;
mod packets;
mod program;

use tracewright_base::{CoreType, Profile};

use super::Config;

/// A trace unit of version 3.`minor` with the original branch encoding; `control` is ETMCR.
pub(super) fn unit(minor: u64, control: u64) -> Config {
    config(0x4104_0200 | 0xf000 | minor << 4, control, 0x3000_0000, Profile::Application)
}

/// An ETM-M3: version 3.4, alternative branch encoding, M profile.
pub(super) fn m3(control: u64) -> Config {
    config(0x4114_f240, control, 0, Profile::Microcontroller)
}

/// An ETMv3.4 of the A profile with the alternative branch encoding.
pub(super) fn alternative(control: u64) -> Config {
    config(0x4114_f240, control, 0, Profile::Application)
}

pub(super) fn config(id: u64, control: u64, extension: u64, profile: Profile) -> Config {
    let register = |name: &str| match name {
        "ETMCR" => Some(control),
        "ETMIDR" => Some(id),
        "ETMCCER" => Some(extension),
        "ETMTRACEIDR" => Some(0x10),
        _ => None,
    };
    Config::new(Some(CoreType { profile, version: 7 }), &register).unwrap()
}

/// ETMCR: data values are traced.
pub(super) const VALUES: u64 = 1 << 2;
/// ETMCR: data addresses are traced.
pub(super) const ADDRESSES: u64 = 1 << 3;
/// ETMCR: every cycle is traced.
pub(super) const CYCLES: u64 = 1 << 12;
/// ETMCR: context IDs have four bytes.
pub(super) const CONTEXT4: u64 = 3 << 14;
/// ETMCR: no instructions are traced.
pub(super) const DATA_ONLY: u64 = 1 << 20;
