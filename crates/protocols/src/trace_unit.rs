//! What a protocol defines so that it can be encoded: its trace unit in software.

use tracewright_base::Encode;

use crate::protocol::{InvalidRegister, Protocol};

/// A protocol with a trace unit in software.
pub trait Encodes: Protocol {
    /// The encoder: processor steps to packets.
    type Encoder: Encode<Self::Config, Self::Packet>;

    /// Default register values, used where the user gives none. They include identification and
    /// programming registers, so a unit with these values alone traces.
    const USUAL: &'static [(&'static str, u64)];

    /// The value of `name` where the user gives none: that of [`USUAL`](Self::USUAL), without what a
    /// unit with the other values of `register` does not have.
    fn usual(name: &str, register: &dyn Fn(&str) -> Option<u64>) -> Option<u64> {
        let _ = register;
        Self::USUAL.iter().find(|(known, _)| *known == name).map(|&(_, value)| value)
    }

    /// The name of a core that has such a unit; empty where the core makes no difference.
    const CORE: &'static str;

    /// Settings beside the registers that a decoder reads: further registers (filters, periods),
    /// and properties for which no real unit has a register (lower case: faults and choices to
    /// inject).
    const SETTINGS: &'static [Setting];

    /// Checks that a unit with this configuration can have the settings.
    ///
    /// # Errors
    /// The name of a register or setting to change, and why the combination is refused.
    fn check(
        config: &Self::Config,
        setting: &dyn Fn(&str) -> Option<u64>,
    ) -> Result<(), InvalidRegister> {
        let _ = (config, setting);
        Ok(())
    }

    /// Reads those settings; an absent one has its default.
    fn settings(
        config: &Self::Config,
        setting: &dyn Fn(&str) -> Option<u64>,
    ) -> <Self::Encoder as Encode<Self::Config, Self::Packet>>::Settings;
}

/// A setting of a trace unit in software.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// Its name: that of a register, or lower case words with hyphens.
    pub name: &'static str,
    /// Its meaning, in one line.
    pub about: &'static str,
}

impl Setting {
    /// A setting in one line.
    pub const fn new(name: &'static str, about: &'static str) -> Self {
        Setting { name, about }
    }
}
