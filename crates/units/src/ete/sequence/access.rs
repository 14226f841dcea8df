//! Which part of the processor a register belongs to.

use crate::buffers::trbe::Reg;
use crate::ete::implementation::Implementation;
use crate::ete::registers::{Named, by_name, by_offset};
use crate::values::register_offset;

/// The part of the processor to which a register of a recording belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// TRCPRGCTLR.
    Enable,
    /// TRCSTATR.
    Status,
    /// OSLAR_EL1, or TRCOSLAR of an ETMv4.
    OsLock,
    /// Any other register of the trace unit that a program sets.
    Unit(Named),
    /// A register of the trace unit for identification, locks and power.
    Management,
    /// TRFCR_EL1 or TRFCR_EL2.
    Filter,
    /// TRBLIMITR_EL1.
    BufferEnable,
    /// Another register of the trace buffer.
    Buffer,
    /// TMC_CTL of an ETR, ETB or ETF.
    SinkEnable,
    /// A register of a higher Exception level that a switch of processes saves, or SCR_EL3.
    Level,
    /// The contents of the trace buffer in memory: `BUFFER` in a recording.
    Contents,
    /// A register of address translation.
    Translation,
    /// A register to which no rule applies.
    Other,
}

/// Registers of address translation. (Arm ARM K10.5.10, VMSA System registers)
const TRANSLATION: [&str; 14] = [
    "TTBR0_EL1",
    "TTBR1_EL1",
    "TCR_EL1",
    "MAIR_EL1",
    "SCTLR_EL1",
    "TTBR0_EL2",
    "TTBR1_EL2",
    "TCR_EL2",
    "MAIR_EL2",
    "SCTLR_EL2",
    "VTTBR_EL2",
    "VTCR_EL2",
    "HCR_EL2",
    "AMAIR_EL1",
];

/// The register with the offset or the number `key`.
fn by_position(key: &str) -> Option<Named> {
    by_offset(register_offset(key)?)
}

/// The part to which the register `name` belongs: a name, or the offset of a register of the trace
/// unit as `0x` and hexadecimal digits, of which the low 12 bits count, or its number after `#`.
pub fn part(name: &str) -> Part {
    let upper = name.to_ascii_uppercase();
    if let Some(named) = by_position(&upper).or_else(|| by_name(name)) {
        return match named.row.register.name {
            "TRCPRGCTLR" => Part::Enable,
            "TRCSTATR" => Part::Status,
            "TRCOSLAR" => Part::OsLock,
            _ if named.row.saved || named.row.register.name == "TRCPROCSELR" => Part::Unit(named),
            _ => Part::Management,
        };
    }
    match upper.as_str() {
        "OSLAR_EL1" => Part::OsLock,
        "TRFCR_EL1" | "TRFCR_EL2" | "TRFCR_EL12" => Part::Filter,
        "TRBLIMITR_EL1" => Part::BufferEnable,
        "TMC_CTL" => Part::SinkEnable,
        "BUFFER" => Part::Contents,
        "MDCR_EL2" | "MDCR_EL3" | "SCR_EL3" => Part::Level,
        name if TRANSLATION.contains(&name) => Part::Translation,
        name if Reg::named(name).is_some() => Part::Buffer,
        _ => Part::Other,
    }
}

/// Registers for integration tests, which implementations define. (IHI 0064, register map)
const INTEGRATION: std::ops::RangeInclusive<u16> = 0xe80..=0xefc;

/// Whether the architecture of `unit` has the register `name`, where that is one of a trace unit:
/// an offset, a number, or a name that begins with TRC. Software that saves the state of any unit
/// accesses the registers of all optional resources. (Arm ARM, K10.5.7)
pub(super) fn exists(unit: &Implementation, name: &str) -> bool {
    let upper = name.to_ascii_uppercase();
    let offset = register_offset(&upper);
    // The upper half of a 64-bit register has an offset of its own.
    let upper_half = || {
        let low = offset.and_then(|offset| by_offset(offset.checked_sub(4)?));
        low.is_some_and(|named| named.row.register.bits > 32)
    };
    match by_position(&upper).or_else(|| by_name(name)) {
        Some(named) => {
            part(name) == Part::OsLock || named.row.register.versions.contains(unit.version)
        }
        None => match offset {
            Some(offset) => INTEGRATION.contains(&offset) || upper_half(),
            None => !upper.starts_with("TRC"),
        },
    }
}

/// The name that findings print for a register.
pub(super) fn shown(name: &str) -> String {
    let upper = name.to_ascii_uppercase();
    match by_position(&upper) {
        Some(named) => named.to_string(),
        None => upper,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts() {
        for (name, want) in [
            ("trcprgctlr", Part::Enable),
            ("0x004", Part::Enable),
            ("#1", Part::Enable),
            ("0x2284000c", Part::Status),
            ("OSLAR_EL1", Part::OsLock),
            ("TRFCR_EL1", Part::Filter),
            ("TRBLIMITR_EL1", Part::BufferEnable),
            ("TRBPTR_EL1", Part::Buffer),
            ("TTBR0_EL1", Part::Translation),
            ("TRCIDR0", Part::Management),
            ("TRBSR_EL3", Part::Buffer),
            ("TRBITCTRL", Part::Buffer),
            ("TRBCR", Part::Other),
            ("MDCR_EL2", Part::Level),
            ("VBAR_EL1", Part::Other),
            ("buffer", Part::Contents),
        ] {
            assert_eq!(part(name), want, "{name}");
        }
        assert!(matches!(part("TRCACVR3"), Part::Unit(named) if named.number == 3));
        assert_eq!([shown("0x080"), shown("#32")], ["TRCVICTLR"; 2]);
    }
}
