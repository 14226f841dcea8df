//! The registers of a TMC and of an ETB, as far as they describe the buffer.

use crate::register::{Access, Register, field};

/// The devices that have a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FeatureTmc {
    /// Each TMC, and the ETB.
    All,
    /// Each TMC.
    Tmc,
    /// The ETR.
    Etr,
}

const YES: &[(u64, &str)] = &[(0, "no"), (1, "yes")];

/// The registers, by offset. (Arm DDI 0461, 3.3; DDI 0480, 3.10)
pub static REGISTERS: &[Register<FeatureTmc>] = &[
    row("RSZ", &["RDP"], "size of the memory, in 32-bit words", 0x004, RO, FeatureTmc::All, &[]),
    row(
        "STS",
        &[],
        "status",
        0x00c,
        RO,
        FeatureTmc::All,
        &[
            field("MemErr", 5, 5, "write error of the memory (ETR)", YES),
            field("Empty", 4, 4, "no trace in the buffer", YES),
            field("FtEmpty", 3, 3, "no trace in the formatter", YES),
            field("TMCReady", 2, 2, "stopped and flushed (ETB: AcqComp)", YES),
            field("Triggered", 1, 1, "the trigger and its delay have passed", YES),
            field("Full", 0, 0, "the buffer has wrapped", YES),
        ],
    ),
    row("RRD", &[], "read data", 0x010, RO, FeatureTmc::All, &[]),
    row("RRP", &[], "read pointer: bytes (ETB: words)", 0x014, RW, FeatureTmc::All, &[]),
    row("RWP", &[], "write pointer: bytes (ETB: words)", 0x018, RW, FeatureTmc::All, &[]),
    row("TRG", &[], "words to store after a trigger", 0x01c, RW, FeatureTmc::All, &[]),
    row(
        "CTL",
        &[],
        "control",
        0x020,
        RW,
        FeatureTmc::All,
        &[field("TraceCaptEn", 0, 0, "capture enabled", YES)],
    ),
    row(
        "MODE",
        &[],
        "mode",
        0x028,
        RW,
        FeatureTmc::Tmc,
        &[
            field("StallOnStop", 4, 4, "stall instead of discard", YES),
            field(
                "MODE",
                1,
                0,
                "mode",
                &[(0, "circular buffer"), (1, "software FIFO"), (2, "hardware FIFO")],
            ),
        ],
    ),
    row("LBUFLEVEL", &[], "largest fill level, in words", 0x02c, RO, FeatureTmc::Tmc, &[]),
    row("CBUFLEVEL", &[], "fill level, in words", 0x030, RO, FeatureTmc::Tmc, &[]),
    row("BUFWM", &[], "free words at which FULL is driven", 0x034, RW, FeatureTmc::Tmc, &[]),
    row("RRPHI", &[], "read pointer, bits [63:32]", 0x038, RW, FeatureTmc::Etr, &[]),
    row("RWPHI", &[], "write pointer, bits [63:32]", 0x03c, RW, FeatureTmc::Etr, &[]),
    row(
        "AXICTL",
        &[],
        "bus attributes",
        0x110,
        RW,
        FeatureTmc::Etr,
        &[field("ScatterGatherMode", 7, 7, "memory", &[(0, "one block"), (1, "list of pages")])],
    ),
    row(
        "DBALO",
        &[],
        "start of the buffer or its list, bits [31:0]",
        0x118,
        RW,
        FeatureTmc::Etr,
        &[],
    ),
    row(
        "DBAHI",
        &[],
        "start of the buffer or its list, bits [63:32]",
        0x11c,
        RW,
        FeatureTmc::Etr,
        &[],
    ),
    row(
        "FFSR",
        &[],
        "formatter status",
        0x300,
        RO,
        FeatureTmc::All,
        &[
            field("FtStopped", 1, 1, "the formatter has stopped", YES),
            field("FlInProg", 0, 0, "a flush is in progress", YES),
        ],
    ),
    row(
        "FFCR",
        &[],
        "formatter control",
        0x304,
        RW,
        FeatureTmc::All,
        &[
            field("StopOnTrigEvt", 13, 13, "stop on a trigger event", YES),
            field("StopOnFl", 12, 12, "stop after a flush", YES),
            field("TrigOnFl", 10, 10, "mark a flush as a trigger", YES),
            field("TrigOnTrigEvt", 9, 9, "mark a trigger event", YES),
            field("TrigOnTrigIn", 8, 8, "mark the trigger input", YES),
            field("FlushMan", 6, 6, "manual flush", YES),
            field("FOnTrigEvt", 5, 5, "flush on a trigger event", YES),
            field("FOnFlIn", 4, 4, "flush on the flush input", YES),
            field("EnTI", 1, 1, "triggers in the frames (ETB: EnFCont)", YES),
            field("EnFt", 0, 0, "formatter enabled (ETB: EnFTC)", YES),
        ],
    ),
    row("PSCR", &[], "frames between synchronisation packets", 0x308, RW, FeatureTmc::Tmc, &[]),
];

const RO: Access = Access::ReadOnly;
const RW: Access = Access::ReadWrite;

const fn row(
    name: &'static str,
    aliases: &'static [&'static str],
    about: &'static str,
    offset: u16,
    access: Access,
    versions: FeatureTmc,
    fields: &'static [tracewright_base::Field],
) -> Register<FeatureTmc> {
    let (offset, section) = (Some(offset), "DDI 0461, 3.3");
    Register { name, aliases, about, offset, bits: 32, access, versions, fields, section }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_ascend() {
        let offsets: Vec<_> = REGISTERS.iter().filter_map(|register| register.offset).collect();
        assert!(offsets.is_sorted() && offsets.len() == REGISTERS.len());
    }
}
