//! Registers of a PTM whose fields differ from those of an ETMv3.5, and the numbers of all. (IHI
//! 0035, "Register descriptions")

use tracewright_base::Field;

const NO_YES: &[(u64, &str)] = &[(0, "no"), (1, "yes")];

const fn bit(name: &'static str, at: u8, about: &'static str) -> Field {
    Field { name, high: at, low: at, about, values: NO_YES }
}

const fn bits(name: &'static str, high: u8, low: u8, about: &'static str) -> Field {
    Field { name, high, low, about, values: &[] }
}

/// The fields of ETMCR.
pub const CONTROL: &[Field] = &[
    bit("VMID trace enable", 30, "the virtual machine identifier is traced (PFTv1.1)"),
    bit("Return stack enable", 29, "returns that the return stack predicts are atoms"),
    bit("Timestamp enable", 28, "timestamps are traced"),
    bits("Processor select", 27, 25, "the processor that a shared unit traces"),
    bit("Instrumentation resources", 24, "only privileged code may change the resources"),
    Field {
        name: "ContextIDSize",
        high: 15,
        low: 14,
        about: "bytes of CONTEXTIDR that are traced",
        values: &[(0, "nothing"), (1, "1 byte"), (2, "2 bytes"), (3, "4 bytes")],
    },
    bit("CycleAccurate", 12, "packets have cycle counts"),
    bit("Programming bit", 10, "the unit is being programmed and traces nothing"),
    bit("Debug request control", 9, "the trigger stops the processor"),
    bit("Branch broadcast", 8, "direct branches have branch address packets as well"),
    bit("Stall processor", 7, "the processor stalls to avoid an overflow"),
    bit("Power down", 0, "the unit is powered down"),
];

/// The fields of ETMCCER.
pub const EXTENSION: &[Field] = &[
    Field {
        name: "Timestamp size",
        high: 29,
        low: 29,
        about: "width of a timestamp (PFTv1.1)",
        values: &[(0, "48 bits"), (1, "64 bits")],
    },
    Field {
        name: "Timestamp encoding",
        high: 28,
        low: 28,
        about: "encoding of a timestamp (PFTv1.1)",
        values: &[(0, "Gray code"), (1, "binary")],
    },
    bit("Reduced function counter", 27, "counter 1 only counts down and reloads"),
    bit("Virtualization Extensions", 26, "the unit supports Hyp mode and VMID"),
    bit("Barrier timestamps", 25, "DMB and DSB have timestamps"),
    bit("Barrier waypoints", 24, "DMB and DSB are waypoints"),
    bit("Return stack implemented", 23, "the unit has a return stack"),
    bit("Timestamping implemented", 22, "the unit supports timestamps"),
    bit("EmbeddedICE behaviour", 21, "ETMEIBCR is implemented"),
    bit("EmbeddedICE start/stop", 20, "EmbeddedICE inputs can start and stop tracing"),
    bits("EmbeddedICE inputs", 19, 16, "number of inputs"),
    bits("Instrumentation resources", 15, 13, "number of resources"),
    bit("No data comparisons", 12, "data addresses are not compared"),
    bit("Registers readable", 11, "all registers can be read"),
    bits("Extended external inputs", 10, 3, "width of the bus"),
    bits("External input selectors", 2, 0, "number of selectors"),
];

/// The fields of ETMIDR.
pub const IDENTIFICATION: &[Field] = &[
    Field {
        name: "Implementer",
        high: 31,
        low: 24,
        about: "designer of the unit",
        values: &[(0x41, "Arm"), (0x4d, "Freescale"), (0x51, "Qualcomm"), (0x69, "Intel")],
    },
    bit("Branch encoding", 20, "the alternative encoding of addresses"),
    bit("Security Extensions", 19, "the processor has the Security Extensions"),
    bit("32-bit Thumb", 18, "a 32-bit T32 instruction is one instruction"),
    bits("Processor class", 15, 12, "15: the processor's registers identify it"),
    Field {
        name: "Major version",
        high: 11,
        low: 8,
        about: "of the architecture",
        values: &[(3, "PFTv1")],
    },
    bits("Minor version", 7, 4, "of the architecture"),
    bits("Revision", 3, 0, "of the implementation"),
];

/// The fields of ETMTRACEIDR.
pub const TRACE_ID: &[Field] = &[bits("Trace ID", 6, 0, "0x01 to 0x6f for a trace source")];

/// The fields of ETMSCR.
pub const SYSTEM: &[Field] = &[
    bits("Cores", 14, 12, "cores that share the unit, less 1"),
    bit("Port mode supported", 11, "the port mode that is selected is supported"),
    bit("Port size supported", 10, "the port size that is selected is supported"),
    bit("Maximum port size 3", 9, "top bit of the largest port size"),
    bit("FIFOFULL", 8, "the system supports stalling"),
    bits("Maximum port size", 2, 0, "low bits of the largest port size"),
];

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
