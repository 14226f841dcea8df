//! Configuration registers. (IHI 0014, 3.5.1 and 3.5.2)

use tracewright_base::{MissingRegister, Register};
use tracewright_frames::cycles::Width;

use crate::port;

/// How the trace unit was programmed, and the configuration of its core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// ETMCR: how the unit was programmed.
    pub control: Control,
    /// Minor version, 0 to 3 for ETMv1.0 to ETMv1.3.
    pub minor: u8,
    /// Properties of the core that the trace does not contain.
    pub core: port::Core,
}

impl Config {
    /// Makes the configuration from registers by name.
    ///
    /// # Errors
    /// [`MissingRegister`] where ETMCR or ETMCCR is absent.
    pub fn new(register: &dyn Fn(&str) -> Option<u64>) -> Result<Self, MissingRegister> {
        let required = |name: &'static str, about: &'static str| {
            register(name).map(|value| value as u32).ok_or(MissingRegister { name, about })
        };
        let control = Control(required("ETMCR", "what is traced, and the width of the port")?);
        let code = required("ETMCCR", "version of the trace unit")?;
        // Protocol version, bits [30:28], to the minor version of the architecture. (Table 1-1)
        let minor = match code >> 28 & 0b111 {
            0 => 0,
            1 => 1,
            2 | 4 => 2,
            _ => 3,
        };
        Ok(Config { control, minor, core: port::Core::new(register) })
    }

    /// Bytes of a context ID that are traced: 0, 1, 2 or 4. Traced from ETMv1.2.
    pub const fn context_bytes(&self) -> usize {
        if self.minor < 2 { 0 } else { self.control.context_bytes() }
    }
}

/// ETMCR of ETMv1 and ETMv2.
pub use port::Control;

impl Config {
    /// Number of TRACEPKT pins.
    pub const fn width(&self) -> Width {
        self.control.width()
    }
}

/// The registers that a capture of this unit may hold.
pub const REGISTERS: &[Register] =
    &[port::ETMCR, port::ETMCCR, port::HIVECS, port::BIGEND, port::COPROCESSORS];
