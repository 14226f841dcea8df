//! Configuration registers. (IHI 0014, 3.5.1 and 3.5.50)

use tracewright_base::{Field, MissingRegister, Register};
use tracewright_frames::cycles::Width;

use crate::port;
pub use crate::port::Control;

/// How the trace unit was programmed, and the configuration of its core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// ETMCR: how the unit was programmed.
    pub control: Control,
    /// ETMIDR: the version of the unit.
    pub id: Id,
    /// Properties of the core that the trace does not contain.
    pub core: port::Core,
}

impl Config {
    /// Makes the configuration from registers by name.
    ///
    /// # Errors
    /// [`MissingRegister`] where ETMCR or ETMIDR is absent.
    pub fn new(register: &dyn Fn(&str) -> Option<u64>) -> Result<Self, MissingRegister> {
        let required = |name: &'static str, about: &'static str| {
            register(name).map(|value| value as u32).ok_or(MissingRegister { name, about })
        };
        Ok(Config {
            control: Control(required("ETMCR", "what is traced, and the width of the port")?),
            id: Id(required("ETMIDR", "version of the trace unit")?),
            core: port::Core::new(register),
        })
    }

    /// Bytes of a context ID that are traced: 0, 1, 2 or 4.
    pub const fn context_bytes(&self) -> usize {
        self.control.context_bytes()
    }

    /// Number of TRACEPKT pins.
    pub const fn width(&self) -> Width {
        self.control.width()
    }
}

/// ETMIDR. (3.5.50, "ETM ID Register")
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Id(pub u32);

impl Id {
    /// Bits \[7:4]: the minor version, 0 or 1.
    pub const fn minor(self) -> u8 {
        (self.0 >> 4 & 0xf) as u8
    }
    /// Bit \[16], ETMv2.1: a load multiple reads the new PC first.
    pub const fn loads_pc_first(self) -> bool {
        self.0 >> 16 & 1 != 0
    }
}

const fn field(name: &'static str, high: u8, low: u8, about: &'static str) -> Field {
    Field { name, high, low, about, values: &[] }
}

/// The registers that a capture of this unit may hold.
pub const REGISTERS: &[Register] = &[
    port::ETMCR,
    Register {
        name: "ETMIDR",
        aliases: &["ETMID"],
        about: "identification of the trace unit",
        required: true,
        fields: &[
            Field {
                values: &[(0x41, "Arm")],
                ..field("Implementer", 31, 24, "designer of the unit")
            },
            Field {
                values: &[(0, "no"), (1, "yes")],
                ..field("PCFirst", 16, 16, "a load multiple reads the new PC first (2.1)")
            },
            Field {
                values: &[(0, "Arm7"), (1, "Arm9"), (2, "Arm10"), (3, "Arm11")],
                ..field("Core", 15, 12, "core series")
            },
            Field {
                values: &[(0, "ETMv1"), (1, "ETMv2"), (2, "ETMv3")],
                ..field("Major", 11, 8, "architecture")
            },
            field("Minor", 7, 4, "minor version of the architecture"),
            field("Revision", 3, 0, "revision of the implementation"),
        ],
    },
    Register { required: false, about: "implemented features", ..port::ETMCCR },
    Register {
        name: "ETMSYNCFR",
        aliases: &["ETMSyncFreq"],
        about: "cycles between synchronisations; 1024 by default",
        required: false,
        fields: &[field("Frequency", 11, 0, "cycles")],
    },
    port::HIVECS,
    port::BIGEND,
    port::COPROCESSORS,
];
