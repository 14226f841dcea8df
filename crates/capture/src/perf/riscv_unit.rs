//! The trace units of RISC-V in `perf.data`: their parameters, as `riscv` reads them.

use crate::device::{Register, Registers, Source};

/// In place of the mark of a kind of unit, which its AUXTRACE_INFO does not have.
pub(super) const MARK: u64 = u64::from_le_bytes(*b"rvtrace\0");

/// The parameters of an encoder: `trTeFormat`, `trTeContext`, `trTeInhibitSrc`, `trTeSrcBits` and
/// `trTeSrcID`.
pub(super) const NAMES: &[&str] = &["format", "context", "inhibit_source", "source_bits", "source"];

/// The width of SRC, and the source number, of an encoder with these parameters.
pub(super) fn numbers(params: &[u64]) -> (u32, u64) {
    match *params {
        [_, _, 0, bits, number, ..] => (bits as u32, number),
        _ => (0, 0),
    }
}

/// The trace source of `cpu`, whose encoder has these parameters.
pub(super) fn source(params: &[u64], cpu: u32, id: Option<u8>) -> Source {
    let (bits, number) = numbers(params);
    let mut registers = vec![("xlen", 64)];
    if bits > 0 {
        registers.extend([("source_width", bits.into()), ("source", number)]);
    }
    registers.extend(id.map(|id| ("trace_id", u64::from(id))));
    let register = |(name, value): (&str, u64)| Register {
        name: name.to_owned(),
        id: None,
        size: None,
        value: value.into(),
    };
    Source {
        name: format!("cpu{cpu}"),
        device_type: "NTRACE".into(),
        registers: Registers(registers.into_iter().map(register).collect()),
        ..Source::default()
    }
}
