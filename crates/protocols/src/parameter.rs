//! Parameters by name: one table for registers, files, the command line and `info`.

use alloc::string::String;
use core::fmt;

use tracewright_base::{Field, Register};

/// One parameter of the configuration `C`.
#[derive(Debug)]
pub struct Parameter<C> {
    /// The name, other names, the meaning, and the words for the values.
    pub register: Register,
    /// The least value.
    pub least: u64,
    /// The greatest value.
    pub most: u64,
    /// Reads the value. `None` if it is not known.
    pub get: fn(&C) -> Option<u64>,
    /// Sets a value that the parameter [`takes`](Self::takes).
    pub set: fn(&mut C, u64),
}

impl<C> Clone for Parameter<C> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<C> Copy for Parameter<C> {}

impl<C> PartialEq for Parameter<C> {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name()
    }
}

impl<C> Eq for Parameter<C> {}

impl<C> Parameter<C> {
    /// The name.
    pub const fn name(&self) -> &'static str {
        self.register.name
    }

    /// The words for the values.
    pub fn words(&self) -> &'static [(u64, &'static str)] {
        self.register.fields.first().map_or(&[], |field| field.values)
    }

    /// Whether the parameter can have this value.
    pub fn takes(&self, value: u64) -> bool {
        let words = self.words();
        (self.least..=self.most).contains(&value)
            && (words.is_empty() || words.iter().any(|(number, _)| *number == value))
    }

    /// The number of a word of the parameter, or a decimal or hexadecimal number. The parameter may
    /// not [take](Self::takes) it.
    pub fn number(&self, text: &str) -> Option<u64> {
        let word = self.words().iter().find(|(_, word)| word.eq_ignore_ascii_case(text));
        word.map(|(number, _)| *number).or_else(|| parse_number(text))
    }

    /// What the parameter takes, for a message: `a number from 0 to 12`.
    pub fn values(&self) -> impl fmt::Display {
        Values { words: self.words(), least: self.least, most: self.most }
    }
}

/// What a parameter takes.
struct Values {
    words: &'static [(u64, &'static str)],
    least: u64,
    most: u64,
}

impl fmt::Display for Values {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.words.is_empty() {
            return write!(f, "a number from {} to {}", self.least, self.most);
        }
        f.write_str("one of")?;
        self.words.iter().try_for_each(|(_, word)| write!(f, " {word}"))
    }
}

/// The parameter of `table` with the name `name`, in any case; a hyphen counts as an underscore.
pub fn find<C>(table: &'static [Parameter<C>], name: &str) -> Option<&'static Parameter<C>> {
    let plain = |c: u8| if c == b'-' { b'_' } else { c.to_ascii_lowercase() };
    let is = |known: &&str| known.bytes().map(plain).eq(name.bytes().map(plain));
    table.iter().find(|p| is(&p.register.name) || p.register.aliases.iter().any(&is))
}

/// A number in the syntax of TOML.
pub fn parse_number(text: &str) -> Option<u64> {
    let digits: String = text.chars().filter(|c| *c != '_').collect();
    match digits.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16).ok(),
        None => digits.parse().ok(),
    }
}

/// The words of a flag.
pub const NO_YES: &[(u64, &str)] = &[(0, "false"), (1, "true")];

/// A parameter without words.
pub const NUMBER: &[(u64, &str)] = &[];

/// A parameter whose only field is the whole register.
pub const fn field(
    name: &'static str,
    about: &'static str,
    values: &'static [(u64, &'static str)],
) -> Field {
    Field { name, high: 63, low: 0, about, values }
}

/// A parameter: name, other names, range, words, meaning, reader and writer.
macro_rules! parameter {
    ($name:literal, $aliases:tt, ($least:expr, $most:expr), $words:expr, $about:literal, $get:expr, $set:expr) => {
        $crate::parameter::Parameter {
            register: ::tracewright_base::Register {
                name: $name,
                aliases: &$aliases,
                about: $about,
                required: false,
                fields: &[$crate::parameter::field($name, $about, $words)],
            },
            least: $least,
            most: $most,
            get: $get,
            set: $set,
        }
    };
}

/// A number in a field of the configuration.
macro_rules! number {
    ($name:literal $aliases:tt $least:literal..=$most:literal $($at:ident).+ as $type:ty, $about:literal) => {
        $crate::parameter::parameter!(
            $name, $aliases, ($least, $most), $crate::parameter::NUMBER, $about,
            |p| Some(p.$($at).+ as u64), |p, v| p.$($at).+ = v as $type)
    };
}

/// A flag in a field of the configuration.
macro_rules! flag {
    ($name:literal $aliases:tt $($at:ident).+, $about:literal) => {
        $crate::parameter::parameter!(
            $name, $aliases, (0, 1), $crate::parameter::NO_YES, $about,
            |p| Some(p.$($at).+ as u64), |p, v| p.$($at).+ = v != 0)
    };
}

/// A named choice in a field of the configuration: a type of `choices!`.
macro_rules! choice {
    ($name:literal $aliases:tt $type:ident $($at:ident).+, $about:literal) => {
        $crate::parameter::parameter!(
            $name, $aliases, (0, u64::MAX), $type::WORDS, $about,
            |p| Some(p.$($at).+.number()),
            |p, v| p.$($at).+ = $type::of_number(v).unwrap_or(p.$($at).+))
    };
}

/// Enums of named values, each with its number in a register and its word in a file.
macro_rules! choices {
    ($($(#[$doc:meta])* $name:ident { $($(#[$of:meta])* $choice:ident = $number:literal $word:literal,)* })*) => {
        $($(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
        pub enum $name { $($(#[$of])* $choice = $number,)* }

        impl $name {
            /// The numbers and words of the values.
            pub const WORDS: &'static [(u64, &'static str)] = &[$(($number, $word),)*];

            /// The value with this number.
            pub const fn of_number(number: u64) -> Option<Self> {
                match number { $($number => Some($name::$choice),)* _ => None }
            }

            /// The number of the value.
            pub const fn number(self) -> u64 {
                self as u64
            }

            /// The word of the value.
            pub const fn word(self) -> &'static str {
                match self { $($name::$choice => $word,)* }
            }
        }

        impl core::fmt::Display for $name {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.write_str(self.word())
            }
        })*
    };
}

pub(crate) use {choice, choices, flag, number, parameter};

/// The registers of a table of `N` parameters.
pub const fn registers<C, const N: usize>(table: &'static [Parameter<C>]) -> [Register; N] {
    let mut registers = [table[0].register; N];
    let mut n = 0;
    while n < N {
        registers[n] = table[n].register;
        n += 1;
    }
    registers
}
