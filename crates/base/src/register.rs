//! Tables of registers: one form of row for all units, requirements of decoders, and descriptions
//! of fields.
//!
//! ```
//! use tracewright_base::{Register, RegisterRow, registers};
//!
//! const YES: &[(u64, &str)] = &[(0, "no"), (1, "yes")];
//!
//! const fn needed(row: RegisterRow) -> Register {
//!     row.required(true)
//! }
//!
//! const TABLE: &[Register] = registers! { needed:
//!     POSITION | MTB_POSITION 0x000 RW "where the next packet goes" "DDI 0486, 3.2" {
//!         POINTER[31:3] "offset, shifted right by 3";
//!         WRAP[2] "the buffer has wrapped" YES;
//!     },
//!     BASE 0x00c RO "address of the SRAM" "DDI 0486, 3.2",
//! };
//! assert_eq!(TABLE[0].fields[0].of(0x84), 0x10);
//! ```

use core::fmt;

/// A row of a register table, as [`registers!`](crate::registers) reads it.
#[derive(Clone, Copy, Debug)]
pub struct RegisterRow {
    /// Name in the specification and in captures.
    pub name: &'static str,
    /// Other names, in captures and in drivers.
    pub aliases: &'static [&'static str],
    /// Description in one line.
    pub about: &'static str,
    /// Offset in the memory-mapped registers, in bytes; `None` for a register that is a System
    /// register only.
    pub offset: Option<u16>,
    /// What software can do with the register.
    pub access: Access,
    /// The specification and the section that describe the register.
    pub section: &'static str,
    /// The fields, from the most significant bit down.
    pub fields: &'static [Field],
}

impl RegisterRow {
    /// The register as decoding reads it.
    pub const fn required(self, required: bool) -> Register {
        let RegisterRow { name, aliases, about, fields, .. } = self;
        Register { name, aliases, about, required, fields }
    }
}

/// What software can do with a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// It is read and written.
    ReadWrite,
    /// It is only read.
    ReadOnly,
    /// It is only written.
    WriteOnly,
}

/// A slice of register rows. Each is made of a [`RegisterRow`] by the function before the colon,
/// and may be followed by calls of the methods of what it makes; a name alone is a constant.
///
/// A row is the name, other names behind `|`, the offset, `RW`, `RO` or `WO`, a description, the
/// section, and the fields: those of [`fields!`](crate::fields), or `=` and a constant.
#[macro_export]
macro_rules! registers {
    ($make:ident: $($name:tt $(
        $(| $alias:tt)* $($offset:literal)? $access:ident $about:tt $section:tt
        $(= $table:ident)? $({ $($fields:tt)* })? $(. $method:ident ($($arg:tt)*))*
    )?),* $(,)?) => {
        &[$($crate::register! {
            $make: $name $(
                $(| $alias)* $($offset)? $access $about $section
                $(= $table)? $({ $($fields)* })?
            )?
        } $($(.$method($($arg)*))*)?),*]
    };
}

/// One row of [`registers!`](crate::registers).
#[macro_export]
macro_rules! register {
    (@name $name:ident) => { stringify!($name) };
    (@name $name:literal) => { $name };
    (@offset) => { None };
    (@offset $offset:literal) => { Some($offset) };
    (@access RW) => { $crate::register::Access::ReadWrite };
    (@access RO) => { $crate::register::Access::ReadOnly };
    (@access WO) => { $crate::register::Access::WriteOnly };
    (@fields) => { &[] };
    (@fields = $table:ident) => { $table };
    (@fields { $($fields:tt)* }) => { $crate::fields! { $($fields)* } };
    ($make:ident: $constant:ident) => { $constant };
    ($make:ident: $name:tt $(| $alias:tt)* $($offset:literal)? $access:ident $about:tt $section:tt
        $(= $table:ident)? $({ $($fields:tt)* })?) => {
        $make($crate::RegisterRow {
            name: $crate::register!(@name $name),
            aliases: &[$($crate::register!(@name $alias)),*],
            about: $about,
            offset: $crate::register!(@offset $($offset)?),
            access: $crate::register!(@access $access),
            section: $section,
            fields: $crate::register!(@fields $(= $table)? $({ $($fields)* })?),
        })
    };
}

/// A slice of fields, from the most significant bit down: name, bits, description, and the names of
/// values, which are a constant or written out. A name alone is a constant.
#[macro_export]
macro_rules! fields {
    ($($name:tt $(
        [$high:literal $(: $low:literal)?] $about:tt $($words:ident)?
        $({ $($value:literal $word:literal),* $(,)? })?
    )?);* $(;)?) => {
        &[$($crate::field! {
            $name $([$high $(: $low)?] $about $($words)? $({ $($value $word),* })?)?
        }),*]
    };
}

/// One field of [`fields!`](crate::fields).
#[macro_export]
macro_rules! field {
    (@low $high:literal) => { $high };
    (@low $high:literal $low:literal) => { $low };
    (@words) => { &[] };
    (@words $words:ident) => { $words };
    (@words { $($value:literal $word:literal),* }) => { &[$(($value, $word)),*] };
    ($constant:ident) => { $constant };
    ($name:tt [$high:literal $(: $low:literal)?] $about:tt $($words:ident)?
        $({ $($value:literal $word:literal),* $(,)? })?) => {
        $crate::Field {
            name: $crate::register!(@name $name),
            high: $high,
            low: $crate::field!(@low $high $($low)?),
            about: $about,
            values: $crate::field!(@words $($words)? $({ $($value $word),* })?),
        }
    };
}

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
