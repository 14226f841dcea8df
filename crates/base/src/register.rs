//! Configuration registers as tables: what a decoder needs, and words to explain them with.

use core::fmt;

/// One configuration or identification register of a trace source.
#[derive(Clone, Copy, Debug)]
pub struct Register {
    /// Its name in the specification and in captures.
    pub name: &'static str,
    /// Other names that captures use for it.
    pub aliases: &'static [&'static str],
    /// What it is, in one line.
    pub about: &'static str,
    /// Decoding needs it.
    pub required: bool,
    /// Its fields, from the top bit down.
    pub fields: &'static [Field],
}

/// A field of a register.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// Its name in the specification.
    pub name: &'static str,
    /// Top bit.
    pub high: u8,
    /// Bottom bit.
    pub low: u8,
    /// What it says, in one line.
    pub about: &'static str,
    /// The words for its values. A value that is not here is shown as a number.
    pub values: &'static [(u64, &'static str)],
}

impl Field {
    /// The field's value in `register`.
    pub const fn of(&self, register: u64) -> u64 {
        register >> self.low & (u64::MAX >> (63 - (self.high - self.low)))
    }

    /// The word for `value`, where the table has one.
    pub fn word(&self, value: u64) -> Option<&'static str> {
        self.values.iter().find(|(v, _)| *v == value).map(|(_, word)| *word)
    }
}

/// A register that decoding needs is not in the capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MissingRegister {
    /// Its name.
    pub name: &'static str,
    /// What it is for.
    pub about: &'static str,
}

impl core::error::Error for MissingRegister {}

impl fmt::Display for MissingRegister {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no register {} ({})", self.name, self.about)
    }
}
