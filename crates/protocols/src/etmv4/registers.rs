//! The registers of an ETMv4 and an ETE that decoding needs, from the table of all registers.

use tracewright_base::Register;
use tracewright_units::ete::registers::{Row, control, identification as id};

/// A register of the table. `about` adds the default of a register that a capture may omit.
const fn register(row: &Row, about: &'static str, required: bool) -> Register {
    let known = &row.register;
    Register { name: known.name, aliases: known.aliases, about, required, fields: known.fields }
}

/// A register that a capture must have.
const fn needed(row: &Row) -> Register {
    register(row, row.register.about, true)
}

/// Only frames need the trace ID.
const TRACE_ID: Register =
    register(&control::TRCTRACEIDR, control::TRCTRACEIDR.register.about, false);
const SPECULATION: Register = register(&id::TRCIDR8, "speculation; by default 0", false);
const DATA_KEYS: &str = "keys of data trace; by default 0";
const CONDITION_KEYS: &str = "keys of conditional trace; by default 0";
const DESIGNER: &str = "designer of the unit and version of ETMv4; by default 0x4100F403";

/// Registers of an ETMv4.
pub(super) const ETMV4: &[Register] = &[
    needed(&control::TRCCONFIGR),
    TRACE_ID,
    needed(&id::TRCIDR0),
    register(&id::TRCIDR1, DESIGNER, false),
    needed(&id::TRCIDR2),
    SPECULATION,
    register(&id::TRCIDR9, DATA_KEYS, false),
    register(&id::TRCIDR10, DATA_KEYS, false),
    register(&id::TRCIDR11, DATA_KEYS, false),
    register(&id::TRCIDR12, CONDITION_KEYS, false),
    register(&id::TRCIDR13, CONDITION_KEYS, false),
];

/// Registers of an ETE.
pub(super) const ETE: &[Register] = &[
    needed(&control::TRCCONFIGR),
    TRACE_ID,
    needed(&id::TRCIDR0),
    register(&id::TRCIDR1, DESIGNER, false),
    needed(&id::TRCIDR2),
    SPECULATION,
    register(&id::TRCIDR9, DATA_KEYS, false),
    register(&id::TRCIDR10, DATA_KEYS, false),
    register(&id::TRCIDR11, DATA_KEYS, false),
    register(&id::TRCIDR12, CONDITION_KEYS, false),
    register(&id::TRCIDR13, CONDITION_KEYS, false),
    register(&id::TRCDEVARCH, "version of ETE; by default 0x47705A13", false),
];
