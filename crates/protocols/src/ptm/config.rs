//! Configuration registers of a PTM.

use tracewright_base::{Field, MissingRegister, Register, Waypoints};

/// The configuration of a PTM: its registers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Config {
    /// ETMCR: how the unit was programmed.
    pub control: u32,
    /// ETMCCER: the features of the unit.
    pub extension: u32,
    /// ETMIDR: the version of the unit; `None` where the capture does not have it.
    pub id: Option<u32>,
    /// ETMTRACEIDR: the trace ID.
    pub trace_id: u32,
}

impl Config {
    /// Reads the configuration from registers by name.
    ///
    /// # Errors
    /// [`MissingRegister`] where a register that decoding needs is absent.
    pub fn from_registers(register: &dyn Fn(&str) -> Option<u64>) -> Result<Self, MissingRegister> {
        let read = |at: usize| {
            let Register { name, aliases, about, required, .. } = REGISTERS[at];
            let found = register(name).or_else(|| aliases.iter().find_map(|alias| register(alias)));
            match found {
                None if required => Err(MissingRegister { name, about }),
                value => Ok(value.map(|v| v as u32)),
            }
        };
        Ok(Config {
            control: read(0)?.unwrap_or(0),
            extension: read(1)?.unwrap_or(0),
            id: read(2)?,
            trace_id: read(3)?.unwrap_or(0),
        })
    }

    /// ETMCR bit \[12]: packets have cycle counts.
    #[inline]
    pub const fn counts_cycles(&self) -> bool {
        self.control >> 12 & 1 != 0
    }

    /// ETMCR bits \[15:14]: bytes of CONTEXTIDR that are traced: 0, 1, 2 or 4.
    #[inline]
    pub const fn context_id_bytes(&self) -> usize {
        match self.control >> 14 & 0b11 {
            0 => 0,
            1 => 1,
            2 => 2,
            _ => 4,
        }
    }

    /// ETMCR bit \[30], PFTv1.1: virtual machine IDs are traced.
    #[inline]
    pub const fn vmid(&self) -> bool {
        self.control >> 30 & 1 != 0
    }

    /// ETMCR bit \[29]: a return whose target the return stack predicts is an atom.
    #[inline]
    pub const fn uses_return_stack(&self) -> bool {
        self.control >> 29 & 1 != 0
    }

    /// ETMCCER bit \[29]: width of a timestamp, 48 or 64 bits. (PFTv1.0: always 48)
    #[inline]
    pub const fn timestamp_bits(&self) -> u8 {
        if self.extension >> 29 & 1 != 0 { 64 } else { 48 }
    }

    /// ETMCCER bit \[28]: timestamps are natural binary numbers, else Gray code. (PFTv1.0: always
    /// Gray code)
    #[inline]
    pub const fn timestamps_are_binary(&self) -> bool {
        self.extension >> 28 & 1 != 0
    }

    /// ETMIDR bits \[7:4]: the minor version, 0 for PFTv1.0 and 1 for PFTv1.1; `None` where the
    /// capture does not have the register.
    pub const fn minor_version(&self) -> Option<u8> {
        match self.id {
            Some(id) => Some((id >> 4 & 0xf) as u8),
            None => None,
        }
    }

    /// ETMTRACEIDR bits \[6:0].
    pub const fn atb_id(&self) -> u8 {
        (self.trace_id & 0x7f) as u8
    }

    /// ISB is always a waypoint; DSB and DMB are waypoints if ETMCCER bit \[24] is set.
    pub const fn waypoints(&self) -> Waypoints {
        let barrier = self.extension >> 24 & 1 != 0;
        Waypoints { isb: true, barrier, ..Waypoints::BRANCHES }
    }
}

const NO_YES: &[(u64, &str)] = &[(0, "no"), (1, "yes")];

const fn bit(name: &'static str, at: u8, about: &'static str) -> Field {
    Field { name, high: at, low: at, about, values: NO_YES }
}

const fn bits(name: &'static str, high: u8, low: u8, about: &'static str) -> Field {
    Field { name, high, low, about, values: &[] }
}

/// The registers, in the order of [`Config`]'s fields. (IHI 0035, "Register descriptions")
pub const REGISTERS: &[Register] = &[
    Register {
        name: "ETMCR",
        aliases: &[],
        about: "Main Control Register",
        required: true,
        fields: &[
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
        ],
    },
    Register {
        name: "ETMCCER",
        aliases: &[],
        about: "Configuration Code Extension Register",
        required: true,
        fields: &[
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
            bits("Instrumentation resources", 15, 13, "number of resources"),
            bit("Registers readable", 11, "all registers can be read"),
            bits("Extended external inputs", 10, 3, "width of the bus"),
            bits("External input selectors", 2, 0, "number of selectors"),
        ],
    },
    Register {
        name: "ETMIDR",
        aliases: &[],
        about: "ID Register",
        required: false,
        fields: &[
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
        ],
    },
    Register {
        name: "ETMTRACEIDR",
        aliases: &[],
        about: "CoreSight Trace ID Register",
        required: true,
        fields: &[bits("Trace ID", 6, 0, "0x01 to 0x6f for a trace source")],
    },
];
