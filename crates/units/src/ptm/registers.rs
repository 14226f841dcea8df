//! Registers of a PTM whose fields differ from those of an ETMv3.5, and the numbers of all. (IHI
//! 0035, "Register descriptions")

use tracewright_base::{Field, fields};

const NO_YES: &[(u64, &str)] = &[(0, "no"), (1, "yes")];

/// The fields of ETMCR.
pub const CONTROL: &[Field] = fields! {
    "VMID trace enable"[30] "the virtual machine identifier is traced (PFTv1.1)" NO_YES;
    "Return stack enable"[29] "returns that the return stack predicts are atoms" NO_YES;
    "Timestamp enable"[28] "timestamps are traced" NO_YES;
    "Processor select"[27:25] "the processor that a shared unit traces";
    "Instrumentation resources"[24] "only privileged code may change the resources" NO_YES;
    ContextIDSize[15:14] "bytes of CONTEXTIDR that are traced" {
        0 "nothing", 1 "1 byte", 2 "2 bytes", 3 "4 bytes",
    };
    CycleAccurate[12] "packets have cycle counts" NO_YES;
    "Programming bit"[10] "the unit is being programmed and traces nothing" NO_YES;
    "Debug request control"[9] "the trigger stops the processor" NO_YES;
    "Branch broadcast"[8] "direct branches have branch address packets as well" NO_YES;
    "Stall processor"[7] "the processor stalls to avoid an overflow" NO_YES;
    "Power down"[0] "the unit is powered down" NO_YES;
};

/// The fields of ETMCCER.
pub const EXTENSION: &[Field] = fields! {
    "Timestamp size"[29] "width of a timestamp (PFTv1.1)" {0 "48 bits", 1 "64 bits"};
    "Timestamp encoding"[28] "encoding of a timestamp (PFTv1.1)" {0 "Gray code", 1 "binary"};
    "Reduced function counter"[27] "counter 1 only counts down and reloads" NO_YES;
    "Virtualization Extensions"[26] "the unit supports Hyp mode and VMID" NO_YES;
    "Barrier timestamps"[25] "DMB and DSB have timestamps" NO_YES;
    "Barrier waypoints"[24] "DMB and DSB are waypoints" NO_YES;
    "Return stack implemented"[23] "the unit has a return stack" NO_YES;
    "Timestamping implemented"[22] "the unit supports timestamps" NO_YES;
    "EmbeddedICE behaviour"[21] "ETMEIBCR is implemented" NO_YES;
    "EmbeddedICE start/stop"[20] "EmbeddedICE inputs can start and stop tracing" NO_YES;
    "EmbeddedICE inputs"[19:16] "number of inputs";
    "Instrumentation resources"[15:13] "number of resources";
    "No data comparisons"[12] "data addresses are not compared" NO_YES;
    "Registers readable"[11] "all registers can be read" NO_YES;
    "Extended external inputs"[10:3] "width of the bus";
    "External input selectors"[2:0] "number of selectors";
};

/// The fields of ETMIDR.
pub const IDENTIFICATION: &[Field] = fields! {
    Implementer[31:24] "designer of the unit" {
        0x41 "Arm", 0x4d "Freescale", 0x51 "Qualcomm", 0x69 "Intel",
    };
    "Branch encoding"[20] "the alternative encoding of addresses" NO_YES;
    "Security Extensions"[19] "the processor has the Security Extensions" NO_YES;
    "32-bit Thumb"[18] "a 32-bit T32 instruction is one instruction" NO_YES;
    "Processor class"[15:12] "15: the processor's registers identify it";
    "Major version"[11:8] "of the architecture" {3 "PFTv1"};
    "Minor version"[7:4] "of the architecture";
    Revision[3:0] "of the implementation";
};

/// The fields of ETMTRACEIDR.
pub const TRACE_ID: &[Field] = fields! {
    "Trace ID"[6:0] "0x01 to 0x6f for a trace source";
};

/// The fields of ETMSCR.
pub const SYSTEM: &[Field] = fields! {
    Cores[14:12] "cores that share the unit, less 1";
    "Port mode supported"[11] "the port mode that is selected is supported" NO_YES;
    "Port size supported"[10] "the port size that is selected is supported" NO_YES;
    "Maximum port size 3"[9] "top bit of the largest port size" NO_YES;
    FIFOFULL[8] "the system supports stalling" NO_YES;
    "Maximum port size"[2:0] "low bits of the largest port size";
};

/// First and last numbers of the registers that a PTM has.
const NUMBERS: &[(u16, u16)] = &[
    (0x000, 0x002),
    (0x004, 0x006),
    (0x008, 0x009),
    (0x00b, 0x00b),
    (0x010, 0x02f),
    (0x050, 0x065),
    (0x067, 0x080),
    (0x090, 0x090),
    (0x0c0, 0x0c2),
    (0x0c4, 0x0c5),
    (0x380, 0x3c0),
    (0x3e8, 0x3e9),
    (0x3ec, 0x3ee),
    (0x3f2, 0x3ff),
];

/// Whether a PTM has the register `number`.
pub fn has(number: u16) -> bool {
    NUMBERS.iter().any(|(first, last)| (*first..=*last).contains(&number))
}

/// The fields of the register `number`, where they are not those of an ETMv3.5.
pub const fn own_fields(number: u16) -> Option<&'static [Field]> {
    Some(match number {
        0x000 => CONTROL,
        0x005 => SYSTEM,
        0x079 => IDENTIFICATION,
        0x07a => EXTENSION,
        0x080 => TRACE_ID,
        _ => return None,
    })
}
