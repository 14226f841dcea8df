//! The registers of an MTB.

use tracewright_base::{Field, Register};

/// An MTB's configuration: packets have one form.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Config;

const NO_YES: &[(u64, &str)] = &[(0, "no"), (1, "yes")];

const fn field(
    name: &'static str,
    (high, low): (u8, u8),
    about: &'static str,
    values: &'static [(u64, &'static str)],
) -> Field {
    Field { name, high, low, about, values }
}

const fn register(
    name: &'static str,
    aliases: &'static [&'static str],
    about: &'static str,
    fields: &'static [Field],
) -> Register {
    Register { name, aliases, about, required: false, fields }
}

/// The registers. Decoding needs none; the reader of captures finds the oldest packet with them.
/// (Arm DDI 0486, "Register summary")
pub(super) const REGISTERS: &[Register] = &[
    register(
        "POSITION",
        &["MTB_POSITION"],
        "MTB Position Register",
        &[
            field("POINTER", (31, 3), "offset of the next packet, shifted right by 3", &[]),
            field("WRAP", (2, 2), "the buffer has wrapped", NO_YES),
        ],
    ),
    register(
        "MASTER",
        &["MTB_MASTER"],
        "MTB Master Register",
        &[
            field("EN", (31, 31), "tracing is enabled", NO_YES),
            field("MASK", (4, 0), "log2 of the size of the buffer in bytes, minus 4", &[]),
        ],
    ),
    register(
        "FLOW",
        &["MTB_FLOW"],
        "MTB Flow Register",
        &[
            field("WATERMARK", (31, 3), "offset at which tracing stops or the core halts", &[]),
            field("AUTOHALT", (1, 1), "the core halts at the watermark", NO_YES),
            field("AUTOSTOP", (0, 0), "tracing stops at the watermark", NO_YES),
        ],
    ),
    register("BASE", &["MTB_BASE"], "MTB Base Register: address of the SRAM", &[]),
];
