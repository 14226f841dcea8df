//! Identification and configuration registers. (IHI 0014, chapter 3; bits of ETMv3.5 from issue Q)

use tracewright_base::{CoreType, Field, MissingRegister, Profile, Register};
use tracewright_units::etm::registers;
use tracewright_units::etm::version::Version;

use crate::port::register;

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
    /// The profile of the core, which selects the numbers of exceptions. Where the core is not
    /// known, the ETMIDR gives it.
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
        let control = Control(required("ETMCR", "what is traced")?);
        let id = Id(required("ETMIDR", "version of the trace unit")?);
        Ok(Config {
            control,
            id,
            extension: Extension(register("ETMCCER").unwrap_or(0) as u32),
            trace_id: (register("ETMTRACEIDR").unwrap_or(0) & 0x7f) as u8,
            profile: core.map_or(id.profile(), |core| core.profile),
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
    /// TimestampEnable, bit \[28], from ETMv3.5: timestamps are traced.
    pub const fn timestamps(self) -> bool {
        self.0 >> 28 & 1 != 0
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
    /// The profile of the cores that have this unit, A where the value does not determine it.
    const fn profile(self) -> Profile {
        if self.is_m3() { Profile::Microcontroller } else { Profile::Application }
    }
}

impl Id {
    /// Bits \[7:4]: the minor version, 0 to 5 for ETMv3.0 to ETMv3.5.
    pub const fn minor(self) -> u8 {
        (self.0 >> 4 & 0xf) as u8
    }
    /// A load multiple reads the new PC first: bit \[16], or an ETM11RV r0p0, whose bit is wrong.
    pub const fn loads_pc_first(self) -> bool {
        self.0 >> 16 & 1 != 0 || self.0 == 0x4100_3210
    }
    /// The unit of a Cortex-M3, of any revision. (Table 3-47) ETMIDR of a Cortex-M4 is that of a
    /// Cortex-R5, too.
    pub const fn is_m3(self) -> bool {
        self.0 & !0xf == 0x4114_f240
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

const CONTROL: &[Field; 23] = &registers::CONTROL.fields_of(Version::V3_5);
const IDENTIFICATION: &[Field; 9] = &registers::IDENTIFICATION.fields_of(Version::V3_5);
const EXTENSION: &[Field; 13] = &registers::CONFIGURATION_EXTENSION.fields_of(Version::V3_5);
const TRACE_ID: &[Field; 1] = &registers::TRACE_ID.fields_of(Version::V3_5);
const CONFIGURATION: &[Field; 12] = &registers::CONFIGURATION.fields_of(Version::V3_5);
const SYSTEM: &[Field; 8] = &registers::SYSTEM.fields_of(Version::V3_5);

/// The registers that a capture of this unit may hold.
pub const REGISTERS: &[Register] = &[
    register(&registers::CONTROL, true, CONTROL),
    register(&registers::IDENTIFICATION, true, IDENTIFICATION),
    Register {
        about: "further features; without this register timestamps are 48-bit Gray codes",
        ..register(&registers::CONFIGURATION_EXTENSION, false, EXTENSION)
    },
    register(&registers::TRACE_ID, false, TRACE_ID),
    register(&registers::CONFIGURATION, false, CONFIGURATION),
    register(&registers::SYSTEM, false, SYSTEM),
];
