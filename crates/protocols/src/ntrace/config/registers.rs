//! The encoder's registers. (*RISC-V Trace Control Interface Specification* 1.0, "Trace Encoder
//! Control Interface")

use tracewright_base::Register;
use tracewright_units::riscv::registers::{self as rows, Row};
use tracewright_units::riscv::registers_v0 as rows_v0;

use super::{Config, Mode};

/// The registers from which `apply` reads.
pub const CONTROL: &[Register] = &[
    register(&rows::CONTROL),
    register(&rows::INST_FEATURES),
    register(&rows_v0::CONTROL),
    register(&rows_v0::IMPL),
    register(&rows_v0::TIME_CONTROL),
];

const fn register(row: &Row) -> Register {
    let Row { name, aliases, about, fields, .. } = *row;
    Register { name, aliases, about, required: false, fields }
}

/// Applies the values of the registers that are known.
pub(super) fn apply(config: &mut Config, register: &dyn Fn(&str) -> Option<u64>) {
    let [control, features, control_v0, impl_v0, time_v0] = CONTROL else { return };
    if let Some(value) = features.read(register) {
        config.link.source_bits = (value >> 28 & 0xf).min(12) as u8;
        config.link.source = (value >> 16 & 0xfff) as u16;
        config.extend_msb = value >> 10 & 1 != 0;
        config.all_jumps = value >> 9 & 1 != 0;
    }
    if let Some(value) = control.read(register) {
        config.mode = Mode::of_number(value >> 4 & 0b111).unwrap_or_default();
        if value >> 15 & 1 != 0 {
            config.link.source_bits = 0;
        }
    }
    if let Some(value) = impl_v0.read(register) {
        config.link.source_bits = (value >> 24 & 0b111) as u8;
        config.link.source = (value >> 20 & 0xf) as u16;
    }
    if let Some(value) = control_v0.read(register) {
        config.mode = match value >> 4 & 0b111 {
            3 => Mode::Branch,
            6 | 7 => Mode::History,
            _ => Mode::Auto,
        };
        if value >> 15 & 1 != 0 {
            config.link.source_bits = 0;
        }
    }
    if let Some(width @ 1..=64) = time_v0.read(register).map(|value| value >> 24 & 0xff) {
        config.time_bits = width as u8;
    }
}

/// Whether `register` knows a register of SiFive's encoder of version 0, whose profile is then the
/// default.
pub(super) fn is_v0(register: &dyn Fn(&str) -> Option<u64>) -> bool {
    let [_, _, v0 @ ..] = CONTROL else { return false };
    v0.iter().any(|row| row.read(register).is_some())
}
