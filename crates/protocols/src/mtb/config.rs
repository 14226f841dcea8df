//! The registers of an MTB.

use tracewright_base::{Register, RegisterRow, registers};

/// An MTB's configuration: packets have one form.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Config;

const NO_YES: &[(u64, &str)] = &[(0, "no"), (1, "yes")];

const fn optional(row: RegisterRow) -> Register {
    row.required(false)
}

/// The registers. Decoding needs none; the reader of captures finds the oldest packet with them.
/// (Arm DDI 0486, "Register summary")
pub(super) const REGISTERS: &[Register] = registers! { optional:
    POSITION | MTB_POSITION 0x000 RW "MTB Position Register" "DDI 0486, 3.2" {
        POINTER[31:3] "offset of the next packet, shifted right by 3";
        WRAP[2] "the buffer has wrapped" NO_YES;
    },
    MASTER | MTB_MASTER 0x004 RW "MTB Master Register" "DDI 0486, 3.2" {
        EN[31] "tracing is enabled" NO_YES;
        MASK[4:0] "log2 of the size of the buffer in bytes, minus 4";
    },
    FLOW | MTB_FLOW 0x008 RW "MTB Flow Register" "DDI 0486, 3.2" {
        WATERMARK[31:3] "offset at which tracing stops or the core halts";
        AUTOHALT[1] "the core halts at the watermark" NO_YES;
        AUTOSTOP[0] "tracing stops at the watermark" NO_YES;
    },
    BASE | MTB_BASE 0x00c RO "MTB Base Register: address of the SRAM" "DDI 0486, 3.2",
};
