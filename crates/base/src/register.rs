//! Tables of configuration registers: requirements of decoders, and descriptions of fields.

use core::fmt;

/// One configuration or identification register of a trace source.
#[derive(Clone, Copy, Debug)]
pub struct Register {
    /// Name in the specification and in captures.
    pub name: &'static str,
    /// Other names in captures.
    pub aliases: &'static [&'static str],
    /// Description in one line.
    pub about: &'static str,
    /// Whether decoding needs the register.
    pub required: bool,
    /// The fields, from the most significant bit down.
    pub fields: &'static [Field],
}

impl Register {
    /// The value that `register` knows by the name or by an alias.
    pub fn read(&self, register: &dyn Fn(&str) -> Option<u64>) -> Option<u64> {
        register(self.name).or_else(|| self.aliases.iter().find_map(|alias| register(alias)))
    }
}

/// A field of a register.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// Name in the specification.
    pub name: &'static str,
    /// Most significant bit.
    pub high: u8,
    /// Least significant bit.
    pub low: u8,
    /// Description in one line.
    pub about: &'static str,
    /// Names of values. Other values are shown as numbers.
    pub values: &'static [(u64, &'static str)],
}

impl Field {
    /// The value of the field in `register`.
    pub const fn of(&self, register: u64) -> u64 {
        register >> self.low & (u64::MAX >> (63 - (self.high - self.low)))
    }

    /// The name of `value`, if the table has one.
    pub fn word(&self, value: u64) -> Option<&'static str> {
        self.values.iter().find(|(v, _)| *v == value).map(|(_, word)| *word)
    }
}

/// The error that the capture lacks a register that decoding needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MissingRegister {
    /// Name of the register.
    pub name: &'static str,
    /// Purpose of the register.
    pub about: &'static str,
}

impl core::error::Error for MissingRegister {}

impl fmt::Display for MissingRegister {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no register {} ({})", self.name, self.about)
    }
}
