//! Configuration registers. (IHI 0014, 3.5.1 and 3.5.50)

use tracewright_base::{Field, MissingRegister, Register};
use tracewright_frames::cycles::Width;
use tracewright_units::etm::registers;
use tracewright_units::etm::version::Version;

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

const IDENTIFICATION: &[Field; 6] = &registers::IDENTIFICATION.fields_of(Version::V2_1);
const CONFIGURATION: &[Field; 11] = &registers::CONFIGURATION.fields_of(Version::V2_1);
const SYNC_FREQUENCY: &[Field; 1] = &registers::SYNC_FREQUENCY.fields_of(Version::V2_1);

/// The registers that a capture of this unit may hold.
pub const REGISTERS: &[Register] = &[
    port::ETMCR,
    port::register(&registers::IDENTIFICATION, true, IDENTIFICATION),
    port::register(&registers::CONFIGURATION, false, CONFIGURATION),
    Register {
        about: "cycles between synchronisations; 1024 by default",
        ..port::register(&registers::SYNC_FREQUENCY, false, SYNC_FREQUENCY)
    },
    port::HIVECS,
    port::BIGEND,
    port::COPROCESSORS,
];
