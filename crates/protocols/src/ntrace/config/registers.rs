//! The encoder's registers. (*RISC-V Trace Control Interface Specification* 1.0, "Trace Encoder
//! Control Interface")

use tracewright_base::Register;
use tracewright_units::riscv::registers::{self as rows, Row};

use super::{Config, Mode};

/// The registers from which `apply` reads.
pub const CONTROL: &[Register] = &[register(&rows::CONTROL), register(&rows::INST_FEATURES)];

const fn register(row: &Row) -> Register {
    let Row { name, aliases, about, fields, .. } = *row;
    Register { name, aliases, about, required: false, fields }
}

/// Applies the values of the registers that are known.
pub(super) fn apply(config: &mut Config, register: &dyn Fn(&str) -> Option<u64>) {
    let [control, features] = CONTROL else { return };
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
}
