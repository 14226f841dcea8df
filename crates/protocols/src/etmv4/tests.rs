//! Tables from the specifications, in their order.

mod endless;
mod fields;
mod headers;
mod history;
mod packets;
mod random;
mod registers;
mod sync;

use std::vec::Vec;

use tracewright_base::{CoreType, Parse, Profile, Wire};

use super::{Config, Packet};

/// TRCIDR0: data trace (INSTP0 and TRCDATA), conditional trace, cycle counts, Q elements.
const IDR0_ALL: u64 = 0x0801_8000 | 0b1111 << 1 | 1 << 5 | 1 << 6 | 1 << 7 | 1 << 9;
/// TRCIDR0: cycle counts and the return stack.
const IDR0_PLAIN: u64 = 0x0800_0ea1;
/// TRCIDR2: 64-bit addresses, 32-bit context and virtual machine identifiers.
const IDR2_WIDE: u64 = 0x1088;

pub(super) fn config(ete: bool, core: Option<CoreType>, registers: &[(&str, u64)]) -> Config {
    let register = |name: &str| {
        let given = registers.iter().find(|(n, _)| *n == name).map(|(_, value)| *value);
        given.or(match name {
            "TRCCONFIGR" => Some(0),
            "TRCTRACEIDR" => Some(0x10),
            "TRCIDR0" => Some(IDR0_PLAIN),
            "TRCIDR2" => Some(IDR2_WIDE),
            _ => None,
        })
    };
    if ete { Config::ete(core, &register) } else { Config::etmv4(core, &register) }.unwrap()
}

/// ETMv4.0 without optional features.
pub(super) fn etmv4_0() -> Config {
    config(false, None, &[("TRCIDR1", 0x4100_f403)])
}

/// ETMv4.6 of an Armv8-M core with all features implemented and enabled: TRCCONFIGR INSTP0, COND
/// all, DA and DV.
pub(super) fn etmv4_6() -> Config {
    let core = CoreType { profile: Profile::Microcontroller, version: 8 };
    let configr = 0b11 << 1 | 0b111 << 8 | 0b11 << 16;
    let registers = [("TRCIDR0", IDR0_ALL), ("TRCIDR1", 0x4100_f460), ("TRCCONFIGR", configr)];
    config(false, Some(core), &registers)
}

/// ETE 1.0 without Q elements.
pub(super) fn ete_1_0() -> Config {
    config(true, None, &[("TRCDEVARCH", 0x4770_5a13)])
}

/// ETE 1.3 with Q elements, MAXSPEC 20.
pub(super) fn ete_1_3() -> Config {
    let registers = [("TRCDEVARCH", 0x4773_5a13), ("TRCIDR0", 0x28c1_cea1 & !(1 << 29))];
    config(true, None, &[registers[0], registers[1], ("TRCIDR8", 20)])
}

/// ETE 1.0 in commit mode 1.
pub(super) fn commit_mode_1() -> Config {
    config(true, None, &[("TRCIDR0", IDR0_PLAIN | 1 << 29)])
}

pub(super) fn emit(config: &Config, packet: &Packet) -> Vec<u8> {
    let mut bytes = Vec::new();
    packet.emit(config, &mut bytes);
    bytes
}

/// `packet` is emitted as `bytes` and `bytes` are parsed as `packet`. Fewer bytes are not enough;
/// more bytes change nothing.
#[track_caller]
pub(super) fn both_ways(config: &Config, bytes: &[u8], packet: Packet) {
    assert_eq!(emit(config, &packet), bytes, "emit {packet:?}");
    for next in [0x00, 0x04, 0x70, 0x80, 0xff] {
        let more = [bytes, &[next]].concat();
        // Only an unknown address changes the packet before it.
        let changes = matches!(packet, Packet::Exception(e)
            if config.is_ete() && !e.unknown_address && next == 0x70);
        if !changes {
            let want = Parse::Packet(packet, bytes.len());
            assert_eq!(Packet::parse(&more, config), want, "{more:02x?}");
        }
    }
    for len in 0..bytes.len() {
        assert_eq!(Packet::parse(&bytes[..len], config), Parse::Partial, "{len} of {bytes:02x?}");
    }
}
