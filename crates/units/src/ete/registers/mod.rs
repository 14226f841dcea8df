//! The registers of an ETMv4 and an ETE.
//!
//! One table; a register of which there are several has one row, with the name of `TRCACVR<n>`. A
//! number in a name selects one of them: `TRCACVR3`.

mod comparators;
pub mod control;
pub mod identification;
mod management;
mod resources;
mod view;

use tracewright_base::Field;

pub use crate::register::Access;
use crate::register::{Register, RegisterRow};

/// The versions of the architecture in which a register exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Versions {
    /// The first minor version of ETMv4 that has the register; `None`: no version has it.
    pub etmv4: Option<u8>,
    /// The first minor version of ETE that has the register; `None`: no version has it.
    pub ete: Option<u8>,
}

impl Versions {
    /// Every version of ETMv4 and of ETE.
    pub const ALL: Versions = Versions { etmv4: Some(0), ete: Some(0) };
    /// ETMv4 only. (Arm ARM K10.5.9)
    pub const ETMV4: Versions = Versions { etmv4: Some(0), ete: None };
    /// ETE only. (Arm ARM K10.5.9)
    pub const ETE: Versions = Versions { etmv4: None, ete: Some(0) };

    /// Whether `version` has the register.
    pub const fn contains(self, version: Version) -> bool {
        match version {
            Version::Etmv4(minor) => matches!(self.etmv4, Some(first) if first <= minor),
            Version::Ete(minor) => matches!(self.ete, Some(first) if first <= minor),
        }
    }
}

/// A version of the architecture, with its minor number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// ETMv4.0 to ETMv4.6.
    Etmv4(u8),
    /// ETE 1.0 to ETE 1.3.
    Ete(u8),
}

impl Version {
    /// Whether it is a version of ETE.
    pub const fn is_ete(self) -> bool {
        matches!(self, Version::Ete(_))
    }
}

impl core::fmt::Display for Version {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Version::Etmv4(minor) => write!(f, "ETMv4.{minor}"),
            Version::Ete(minor) => write!(f, "ETE 1.{minor}"),
        }
    }
}

/// A row of the table: a register, or several that differ in their number.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// The register. Its offset is that of number 0, even if number 0 does not exist.
    pub register: Register<Versions>,
    /// The fields in an ETMv4, where they are not those of an ETE.
    pub etmv4_fields: Option<&'static [Field]>,
    /// The first number, 0 for a single register.
    pub first: u8,
    /// How many registers the architecture has at most; 1 for a register without a number.
    pub count: u8,
    /// Bytes from one number to the next.
    pub stride: u8,
    /// Bits that are always one.
    pub ones: u64,
    /// Whether software saves and restores it with the context. (Arm ARM K10.5.7.6)
    pub saved: bool,
}

/// One register: a row and a number.
#[derive(Clone, Copy, Debug)]
pub struct Named {
    /// The row.
    pub row: &'static Row,
    /// The number; 0 for a register without one.
    pub number: u8,
}

impl PartialEq for Named {
    fn eq(&self, other: &Self) -> bool {
        self.row.register.name == other.row.register.name && self.number == other.number
    }
}

impl Eq for Named {}

impl core::fmt::Display for Named {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self.row.register.name.strip_suffix("<n>") {
            Some(stem) => write!(f, "{stem}{}", self.number),
            None => f.write_str(self.row.register.name),
        }
    }
}

impl Named {
    /// Offset in the 4 KiB of memory-mapped registers, in bytes.
    pub fn offset(self) -> Option<u16> {
        let base = self.row.register.offset?;
        Some(base + u16::from(self.number) * u16::from(self.row.stride))
    }

    /// The System register: op0, op1, CRn, CRm, op2. Bits \[9:7], \[3:0] and \[6:4] of the register
    /// number, which is a quarter of the offset. (IHI 0064, "System instructions to access
    /// registers")
    pub fn system(self) -> Option<[u8; 5]> {
        let number = self.offset()? / 4;
        let bits = |low: u16, mask: u16| (number >> low & mask) as u8;
        Some([2, 1, bits(7, 7), bits(0, 15), bits(4, 7)])
    }

    /// The bits of `value` that no field of `version` covers and that are not always one.
    pub fn unknown_bits(self, value: u64, version: Version) -> u64 {
        let fields = self.fields(version);
        Register { fields, ..self.row.register }.unknown_bits(value) & !self.row.ones
    }

    /// The fields in `version`.
    pub fn fields(self, version: Version) -> &'static [Field] {
        let own = self.row.etmv4_fields.filter(|_| !version.is_ete());
        own.unwrap_or(self.row.register.fields)
    }
}

/// The rows of the table by offset.
pub fn rows() -> impl Iterator<Item = &'static Row> {
    [
        control::ROWS,
        view::ROWS,
        resources::ROWS,
        identification::ROWS,
        comparators::ROWS,
        management::ROWS,
    ]
    .into_iter()
    .flatten()
}

/// Every register, in the order of the rows.
pub fn all() -> impl Iterator<Item = Named> {
    rows().flat_map(|row| (0..row.count).map(move |n| Named { row, number: row.first + n }))
}

/// The register `name`, in any letter case.
pub fn by_name(name: &str) -> Option<Named> {
    let name = name.trim();
    let digits = name.bytes().rev().take_while(u8::is_ascii_digit).count();
    let (stem, number) = name.split_at_checked(name.len() - digits)?;
    rows().find_map(|row| {
        if row.register.is_named(name) {
            return Some(Named { row, number: row.first });
        }
        let own = row.register.name.strip_suffix("<n>")?;
        let number: u8 = number.parse().ok()?;
        let last = row.first.checked_add(row.count)?;
        (own.eq_ignore_ascii_case(stem) && (row.first..last).contains(&number))
            .then_some(Named { row, number })
    })
}

/// The register at `offset`, in bytes. The upper half of a 64-bit register is no register of its
/// own.
pub fn by_offset(offset: u16) -> Option<Named> {
    all().find(|named| named.offset() == Some(offset))
}

/// Values of an on/off bit.
const OFF_ON: &[(u64, &str)] = &[(0, "off"), (1, "on")];
/// Values of a feature bit.
const YES: &[(u64, &str)] = &[(0, "no"), (1, "yes")];
/// Values of the type of a resource event.
const TYPES: &[(u64, &str)] = &[(0, "a resource selector"), (1, "a pair of resource selectors")];

/// A 32-bit register without a number, in every version, that software saves if it can write it.
const fn row(row: RegisterRow) -> Row {
    Row {
        saved: matches!(row.access, Access::ReadWrite),
        register: Register::of(row, Versions::ALL),
        etmv4_fields: None,
        first: 0,
        count: 1,
        stride: 0,
        ones: 0,
    }
}

impl Row {
    const fn several(mut self, first: u8, count: u8, stride: u8) -> Row {
        (self.first, self.count, self.stride) = (first, count, stride);
        self
    }

    const fn wide(mut self) -> Row {
        self.register.bits = 64;
        self
    }

    const fn only(mut self, versions: Versions) -> Row {
        self.register.versions = versions;
        self
    }

    const fn in_etmv4(mut self, fields: &'static [Field]) -> Row {
        self.etmv4_fields = Some(fields);
        self
    }

    const fn unsaved(mut self) -> Row {
        self.saved = false;
        self
    }

    const fn ones(mut self, ones: u64) -> Row {
        self.ones = ones;
        self
    }
}

#[cfg(test)]
mod tests;
