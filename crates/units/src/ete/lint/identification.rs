//! The identification of an ETE, of which some fields have one value. (Arm ARM K10.5.9)

use super::Check;

/// Register, field, high bit, low bit, and the values that the field has.
const FIXED: &[(&str, &str, u8, u8, &[u64])] = &[
    // Branch broadcasting, cycle counting and timestamps of 64 bits.
    ("TRCIDR0", "TRCBB", 5, 5, &[1]),
    ("TRCIDR0", "TRCCCI", 7, 7, &[1]),
    ("TRCIDR0", "TSSIZE", 28, 24, &[8]),
    // The architecture is in TRCDEVARCH.
    ("TRCIDR1", "TRCARCHMAJ", 11, 8, &[0xf]),
    ("TRCIDR1", "TRCARCHMIN", 7, 4, &[0xf]),
    // Addresses of 64 bits, and identifiers of 32 bits; virtual ones exist with EL2.
    ("TRCIDR2", "IASIZE", 4, 0, &[8]),
    ("TRCIDR2", "CIDSIZE", 9, 5, &[4]),
    ("TRCIDR2", "VMIDSIZE", 14, 10, &[0, 4]),
    // TRCSYNCPR can be written, and System Error exceptions can be forced.
    ("TRCIDR3", "SYNCPR", 25, 25, &[0]),
    ("TRCIDR3", "TRCERR", 24, 24, &[1]),
    // External inputs are PMU events.
    ("TRCIDR5", "NUMEXTIN", 8, 0, &[0x1ff]),
    ("TRCIDR9", "NUMP1KEY", 31, 0, &[0]),
    ("TRCDEVARCH", "PRESENT", 20, 20, &[1]),
    ("TRCDEVARCH", "ARCHID", 15, 0, &[0x5a13]),
];

/// Fields with values that no ETE has.
pub(super) fn check(check: &mut Check<'_>) {
    if !check.unit.version.is_ete() {
        return;
    }
    for &(register, field, high, low, values) in FIXED {
        let Some(value) = check.values.get(register) else { continue };
        let value = value >> low & (u64::MAX >> (63 - (high - low)));
        let Some(want) = values.last().filter(|_| !values.contains(&value)) else { continue };
        let what = format!("{field} is {value:#x}, and {want:#x} in every ETE");
        let remedy = "read the register again, or name the unit that it is of";
        check.broken("identification-fixed", register, &what, remedy);
    }
}
