//! Identification and configuration registers. (IHI 0014, chapter 3; bits of ETMv3.5 from issue Q)

use tracewright_base::{CoreType, MissingRegister, Profile, Register};

use crate::fields::{YES, field};

/// How the trace unit was programmed, and its features.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// ETMCR: how the unit was programmed.
    pub control: Control,
    /// ETMIDR: the version of the unit.
    pub id: Id,
    /// ETMCCER: the encoding of timestamps.
    pub extension: Extension,
    /// ETMTRACEIDR, bits \[6:0]: the trace ID on the ATB.
    pub trace_id: u8,
    /// The profile of the core, which selects the numbers of exceptions.
    pub profile: Profile,
}

impl Config {
    /// Makes the configuration from registers by name.
    ///
    /// # Errors
    /// [`MissingRegister`] where ETMCR or ETMIDR is absent.
    pub fn new(
        core: Option<CoreType>,
        register: &dyn Fn(&str) -> Option<u64>,
    ) -> Result<Self, MissingRegister> {
        let required = |name: &'static str, about: &'static str| {
            register(name).map(|value| value as u32).ok_or(MissingRegister { name, about })
        };
        Ok(Config {
            control: Control(required("ETMCR", "what is traced")?),
            id: Id(required("ETMIDR", "version of the trace unit")?),
            extension: Extension(register("ETMCCER").unwrap_or(0) as u32),
            trace_id: (register("ETMTRACEIDR").unwrap_or(0) & 0x7f) as u8,
            profile: core.map_or(Profile::Application, |core| core.profile),
        })
    }

    /// Whether the core is of the M profile: T32 only, exception numbers of nine bits.
    pub const fn m_profile(&self) -> bool {
        matches!(self.profile, Profile::Microcontroller)
    }

    /// Width of a timestamp in bits: 48 or 64.
    pub const fn timestamp_width(&self) -> u8 {
        if self.extension.timestamp_64() { 64 } else { 48 }
    }
}

/// ETMCR. (3.5.1, "ETM Control Register")
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Control(pub u32);

impl Control {
    /// Bits \[3:2] and \[1]: some data or coprocessor transfers are traced.
    pub const fn data(self) -> bool {
        self.0 & 0b1110 != 0
    }
    /// Bit \[2]: data values are traced.
    pub const fn values(self) -> bool {
        self.0 >> 2 & 1 != 0 || self.only_coprocessor()
    }
    /// Bit \[3]: data addresses are traced.
    pub const fn addresses(self) -> bool {
        self.0 >> 3 & 1 != 0
    }
    /// MonitorCPRT, bit \[1], without bits \[3:2]: only the values of coprocessor transfers.
    const fn only_coprocessor(self) -> bool {
        self.0 & 0b1110 == 0b0010
    }
    /// Bit \[8]: direct branches have branch packets as well.
    pub const fn branch_output(self) -> bool {
        self.0 >> 8 & 1 != 0
    }
    /// Bit \[12]: cycle-accurate tracing. It selects the table of P-headers.
    pub const fn cycle_accurate(self) -> bool {
        self.0 >> 12 & 1 != 0
    }
    /// ContextIDSize, bits \[15:14]: bytes of a context ID that are traced: 0, 1, 2 or 4.
    pub const fn context_bytes(self) -> usize {
        match self.0 >> 14 & 0b11 {
            0 => 0,
            1 => 1,
            2 => 2,
            _ => 4,
        }
    }
    /// VMIDEn, bit \[30], from ETMv3.5: virtual machine IDs are traced.
    pub const fn vmid(self) -> bool {
        self.0 >> 30 & 1 != 0
    }
    /// Bit \[20], from ETMv3.1: no instructions are traced, only data.
    pub const fn data_only(self) -> bool {
        self.0 >> 20 & 1 != 0
    }
}

/// ETMIDR. (3.5.18, "ETM ID Register")
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Id(pub u32);

impl Id {
    /// Bits \[7:4]: the minor version, 0 to 5 for ETMv3.0 to ETMv3.5.
    pub const fn minor(self) -> u8 {
        (self.0 >> 4 & 0xf) as u8
    }
    /// A load multiple reads the new PC first: bit \[16], or an ETM11RV r0p0, whose bit is wrong.
    pub const fn loads_pc_first(self) -> bool {
        self.0 >> 16 & 1 != 0 || self.0 == 0x4100_3210
    }
    /// Bit \[18], from ETMv3.2: a 32-bit T32 instruction is one atom. Otherwise it is two.
    pub const fn thumb32_is_one(self) -> bool {
        self.0 >> 18 & 1 != 0
    }
    /// Bit \[20], from ETMv3.4: the alternative encoding of branch addresses.
    pub const fn alternative_branches(self) -> bool {
        self.minor() >= 4 && self.0 >> 20 & 1 != 0
    }
}

/// ETMCCER. (3.5.19, "Configuration Code Extension Register")
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Extension(pub u32);

impl Extension {
    /// Bit \[28], ETMv3.5: timestamps are natural binary numbers. Otherwise they are Gray codes.
    pub const fn timestamp_natural(self) -> bool {
        self.0 >> 28 & 1 != 0
    }
    /// Bit \[29], ETMv3.5: timestamps have 64 bits. Otherwise 48.
    pub const fn timestamp_64(self) -> bool {
        self.0 >> 29 & 1 != 0
    }
}

/// The registers that a capture of this unit may hold.
pub const REGISTERS: &[Register] = &[
    Register {
        name: "ETMCR",
        aliases: &["ETMControl"],
        about: "main control register",
        required: true,
        fields: &[
            field("VMIDEn", 30, 30, "virtual machine IDs are traced (3.5)", YES),
            field("TimestampEn", 28, 28, "timestamps are traced (3.5)", YES),
            field("CoreSelect", 27, 25, "the core that a shared unit traces", &[]),
            field(
                "InstrResPriv",
                24,
                24,
                "instrumentation resources obey privileged code only",
                YES,
            ),
            field("NoSoftwareWrite", 23, 23, "software cannot write the registers", YES),
            field("NoDebugWrite", 22, 22, "the debugger cannot write the registers", YES),
            field("PortSize3", 21, 21, "top bit of the port size", &[]),
            field("DataOnly", 20, 20, "no instructions are traced, only data", YES),
            field(
                "FilterCPRT",
                19,
                19,
                "ViewData decides which coprocessor transfers are traced",
                YES,
            ),
            field("SuppressData", 18, 18, "data is dropped when the FIFO is nearly full", YES),
            field("PortMode", 17, 16, "clocking of the trace port, low bits", &[]),
            field(
                "ContextIDSize",
                15,
                14,
                "bytes of a context ID that are traced",
                &[(0, "none"), (1, "1 byte"), (2, "2 bytes"), (3, "4 bytes")],
            ),
            field("PortMode2", 13, 13, "clocking of the trace port, top bit", &[]),
            field("CycleAccurate", 12, 12, "every cycle is traced", YES),
            field("ETMEN", 11, 11, "the trace port belongs to this unit", YES),
            field("Programming", 10, 10, "the unit is being programmed", YES),
            field("DebugRequest", 9, 9, "the trigger stops the processor", YES),
            field("BranchOutput", 8, 8, "direct branches have an address as well", YES),
            field("Stall", 7, 7, "the processor waits when the FIFO is nearly full", YES),
            field("PortSize", 6, 4, "width of the trace port, low bits", &[]),
            field(
                "DataAccess",
                3,
                2,
                "traced parts of a data access",
                &[(0, "nothing"), (1, "value"), (2, "address"), (3, "address and value")],
            ),
            field("MonitorCPRT", 1, 1, "coprocessor register transfers are traced", YES),
            field("PowerDown", 0, 0, "the unit is powered down", YES),
        ],
    },
    Register {
        name: "ETMIDR",
        aliases: &["ETMID"],
        about: "identification of the trace unit",
        required: true,
        fields: &[
            field(
                "Implementer",
                31,
                24,
                "designer of the unit",
                &[
                    (0x41, "Arm"),
                    (0x44, "DEC"),
                    (0x4d, "Motorola, Freescale or NXP"),
                    (0x51, "Qualcomm"),
                    (0x56, "Marvell"),
                    (0x69, "Intel"),
                ],
            ),
            field(
                "BranchEncoding",
                20,
                20,
                "encoding of branch addresses (3.4)",
                &[(0, "original"), (1, "alternative")],
            ),
            field("Security", 19, 19, "the Security Extensions are supported (3.2)", YES),
            field(
                "Thumb32",
                18,
                18,
                "a 32-bit T32 instruction is traced as (3.2)",
                &[(0, "two instructions"), (1, "one instruction")],
            ),
            field("PCFirst", 16, 16, "a load multiple reads the new PC first", YES),
            field(
                "Core",
                15,
                12,
                "core series",
                &[(0, "Arm7"), (1, "Arm9"), (2, "Arm10"), (3, "Arm11"), (15, "see elsewhere")],
            ),
            field(
                "Major",
                11,
                8,
                "architecture",
                &[(0, "ETMv1"), (1, "ETMv2"), (2, "ETMv3"), (3, "PFTv1")],
            ),
            field("Minor", 7, 4, "minor version of the architecture", &[]),
            field("Revision", 3, 0, "revision of the implementation", &[]),
        ],
    },
    Register {
        name: "ETMCCER",
        aliases: &["ETMConfigCodeExt"],
        about: "further features; without this register timestamps are 48-bit Gray codes",
        required: false,
        fields: &[
            field(
                "TimestampSize",
                29,
                29,
                "width of timestamps (3.5)",
                &[(0, "48 bits"), (1, "64 bits")],
            ),
            field(
                "TimestampCode",
                28,
                28,
                "code of timestamps (3.5)",
                &[(0, "Gray"), (1, "natural binary")],
            ),
            field("ReducedCounter", 27, 27, "counter 1 has a reduced function (3.5)", YES),
            field("Virtualization", 26, 26, "the Virtualization Extensions are supported", YES),
            field("Timestamps", 22, 22, "timestamps are implemented (3.5)", YES),
            field("EIBCR", 21, 21, "the EmbeddedICE behaviour register is implemented", YES),
            field("EICEStartStop", 20, 20, "EmbeddedICE inputs can drive start/stop", YES),
            field("EICEInputs", 19, 16, "EmbeddedICE watchpoint comparator inputs", &[]),
            field("InstrRes", 15, 13, "instrumentation resources", &[]),
            field("NoDataCompare", 12, 12, "data address comparisons are missing", YES),
            field("Readable", 11, 11, "all registers can be read", YES),
            field("ExtBus", 10, 3, "size of the extended external input bus", &[]),
            field("ExtSelectors", 2, 0, "extended external input selectors", &[]),
        ],
    },
    Register {
        name: "ETMTRACEIDR",
        aliases: &["ETMTraceID"],
        about: "the trace ID on the ATB",
        required: false,
        fields: &[field("TraceID", 6, 0, "trace ID", &[])],
    },
    Register {
        name: "ETMCCR",
        aliases: &["ETMConfigCode"],
        about: "implemented features",
        required: false,
        fields: &[
            field("IDRegister", 31, 31, "ETMIDR is present", YES),
            field(
                "CoprocessorAccess",
                27,
                27,
                "registers are reached as coprocessor or memory",
                YES,
            ),
            field("StartStop", 26, 26, "the start/stop block is present", YES),
            field("ContextComparators", 25, 24, "context ID comparators", &[]),
            field("FIFOFULL", 23, 23, "the processor can be stalled", YES),
            field("ExternalOut", 22, 20, "external outputs", &[]),
            field("ExternalIn", 19, 17, "external inputs", &[]),
            field("Sequencer", 16, 16, "the sequencer is present", YES),
            field("Counters", 15, 13, "counters", &[]),
            field("MemoryMap", 12, 8, "memory map decoders", &[]),
            field("DataComparators", 7, 4, "data value comparators", &[]),
            field("AddressPairs", 3, 0, "pairs of address comparators", &[]),
        ],
    },
    Register {
        name: "ETMSCR",
        aliases: &["ETMSYSCONF", "ETMSystemConfig"],
        about: "limits of the system around the unit",
        required: false,
        fields: &[
            field("NoFetchCompare", 17, 17, "fetch comparisons are missing", YES),
            field("Cores", 14, 12, "cores that share the unit, less 1", &[]),
            field("PortModeOk", 11, 11, "the port mode that is set is supported", YES),
            field("PortSizeOk", 10, 10, "the port size that is set is supported", YES),
            field("MaxPortSize3", 9, 9, "largest port size, top bit", &[]),
            field("FIFOFULL", 8, 8, "the system supports stalling", YES),
            field("MaxPortSize", 2, 0, "largest port size, low bits", &[]),
        ],
    },
];
