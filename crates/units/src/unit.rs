//! What every trace unit and trace buffer can do.

use std::borrow::Cow;

use tracewright_base::{Field, Invalid};

use crate::finding::{Finding, Severity};
use crate::program::{BusAccess, Program};
use crate::register::{Access, Register};
use crate::request::{Refusal, Request};
use crate::values::{self, Values};
use crate::verdict::Filter;

/// One register of a unit, as it is shown.
#[derive(Clone, Debug)]
pub struct View {
    /// Name in the specification. A register with several instances has its number in the name.
    pub name: Cow<'static, str>,
    /// Other names.
    pub aliases: Vec<Cow<'static, str>>,
    /// Description in one line.
    pub about: Cow<'static, str>,
    /// Offset in the memory-mapped registers, in bytes.
    pub offset: Option<u16>,
    /// Size in bits.
    pub bits: u8,
    /// What software can do with the register.
    pub access: Access,
    /// The fields, from the most significant bit down.
    pub fields: Cow<'static, [Field]>,
    /// The specification and the section.
    pub section: &'static str,
}

impl<V> From<&Register<V>> for View {
    fn from(register: &Register<V>) -> View {
        View {
            name: Cow::Borrowed(register.name),
            aliases: register.aliases.iter().map(|alias| Cow::Borrowed(*alias)).collect(),
            about: Cow::Borrowed(register.about),
            offset: register.offset,
            bits: register.bits,
            access: register.access,
            fields: Cow::Borrowed(register.fields),
            section: register.section,
        }
    }
}

impl View {
    /// Whether `name` names the register, in any letter case.
    pub fn is_named(&self, name: &str) -> bool {
        let names = std::iter::once(&self.name).chain(&self.aliases);
        names.into_iter().any(|n| n.eq_ignore_ascii_case(name))
    }

    /// The bits of `value` that no field covers; none of a register that is one value.
    pub fn unknown_bits(&self, value: u64) -> u64 {
        if self.fields.is_empty() {
            return 0;
        }
        self.fields.iter().fold(value, |rest, field| rest & !(field.of(u64::MAX) << field.low))
    }

    /// The largest value: that of the size, or with all fields where the register has some.
    fn largest(&self) -> u64 {
        let fields = self.fields.iter().map(|field| field.high + 1).max();
        let partial = PARTS.contains(&self.name.as_ref());
        let bits = fields.filter(|_| !partial).unwrap_or(self.bits).min(self.bits);
        u64::MAX >> (64 - bits.clamp(1, 64))
    }

    /// The finding that `value` is wider than the register. `at` is where it is.
    pub(crate) fn wide(&self, value: u64, at: String) -> Option<Finding> {
        let largest = self.largest();
        let bits = largest.count_ones();
        (value > largest).then(|| Finding {
            rule: "value-wide",
            severity: Severity::Error,
            at,
            what: format!("{value:#x} has more than the {bits} bits of {}", self.name),
            remedy: format!("write at most {largest:#x}"),
            section: self.section,
        })
    }
}

/// Registers of which the tables have the fields of tracing only.
const PARTS: &[&str] = &["MDCR_EL2", "MDCR_EL3"];

/// A trace unit or a trace buffer with its resources. Values are those of the registers that the
/// unit has; identification registers among them are the unit's own.
pub trait Unit {
    /// Name of the unit.
    fn name(&self) -> String;

    /// The architecture and the resources of the unit, one a line.
    fn about(&self) -> Vec<String>;

    /// The unit with the resources that the identification registers in `values` report. `None`
    /// where it is the same.
    fn with(&self, values: &Values) -> Option<Box<dyn Unit>> {
        let _ = values;
        None
    }

    /// The registers that the unit has, in the order of their offsets.
    fn registers(&self) -> Vec<View>;

    /// The register with the name `key`, with the memory-mapped offset `key` (`0x` and hexadecimal
    /// digits, of which the low 12 bits count), or with the register number `key` (`#` and a
    /// decimal number).
    fn register(&self, key: &str) -> Option<View> {
        let mut all = self.registers().into_iter();
        match values::register_offset(key) {
            Some(offset) => all.find(|register| register.offset == Some(offset)),
            None => all.find(|register| register.is_named(key)),
        }
    }

    /// What `value` means as a value of `field` of `register`, where the names of values in the
    /// table are not enough: an event as an expression, for example.
    fn field(&self, register: &View, field: &Field, value: u64) -> Option<String> {
        let _ = (register, field, value);
        None
    }

    /// What the unit does when it is programmed with `values`, in sentences.
    fn explain(&self, values: &Values) -> Vec<String>;

    /// What is wrong with `values`.
    fn lint(&self, values: &Values) -> Vec<Finding>;

    /// The values and the sequence of accesses that make the unit do what `request` contains.
    ///
    /// # Errors
    /// Each part of the request that the unit cannot do.
    fn program(&self, request: &Request) -> Result<Program, Vec<Refusal>>;

    /// The request that `values` fulfil. `None` where no request has this result.
    fn request(&self, values: &Values) -> Option<Request> {
        let _ = values;
        None
    }

    /// What is wrong with a sequence of accesses.
    fn sequence(&self, accesses: &[BusAccess]) -> Vec<Finding>;

    /// The unit with `values`, which observes execution. `None` for a unit that selects nothing.
    fn filter(&self, values: &Values) -> Option<Box<dyn Filter>> {
        let _ = values;
        None
    }

    /// The registers that identify the unit and its resources, where they are known. A decoder
    /// needs some of them.
    fn identification(&self) -> Values {
        Values::default()
    }

    /// Whether a request may have a sink.
    fn has_sinks(&self) -> bool {
        false
    }

    /// `program` as Tcl for OpenOCD, for registers at `base`.
    fn openocd(&self, program: &Program, base: u64) -> String {
        program.openocd(base)
    }

    /// `program` as a C function, for registers at `base`. Without an address, `None` where the
    /// registers are not System registers.
    fn c(&self, program: &Program, base: Option<u64>) -> Option<String> {
        base.map(|base| program.c(base))
    }

    /// `program` as writes to the files of the Linux driver. `None` where there is no driver.
    fn sysfs(&self, program: &Program) -> Option<String> {
        let _ = program;
        None
    }
}

/// `keys` with their values, by the names in the table of `unit`. A key that is the address of the
/// upper half of a 64-bit register sets bits \[63:32] of it.
///
/// # Errors
/// The first key that is no register of the unit.
pub fn values(unit: &dyn Unit, keys: &[(String, u64)]) -> Result<Values, Invalid> {
    let mut values = Values::default();
    for (key, value) in keys {
        if let Some(register) = unit.register(key) {
            values.set(&register.name, *value);
        } else if let Some(register) = with_upper_half(unit, key) {
            let low = values.get(&register.name).unwrap_or(0) & 0xffff_ffff;
            values.set(&register.name, value << 32 | low);
        } else {
            return Err(Invalid::new(key.as_str()));
        }
    }
    Ok(values)
}

/// The 64-bit register whose upper half is at the address `key`.
fn with_upper_half(unit: &dyn Unit, key: &str) -> Option<View> {
    let hex = key.strip_prefix("0x").or_else(|| key.strip_prefix("0X"))?;
    let low = u64::from_str_radix(hex, 16).ok()?.checked_sub(4)?;
    unit.register(&format!("{low:#x}")).filter(|register| register.bits == 64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue;

    /// A memory dump of words: the halves of a 64-bit register are one value.
    #[test]
    fn halves_of_registers() {
        for (unit, keys, want) in [
            ("ETMv4", &[("0x23040400", 0x1000), ("0x23040404", 0xffff_0000)][..], "TRCACVR0"),
            ("ETE", &[("0x404", 0xffff_0000), ("TRCACVR1", 7)], "TRCACVR0"),
            ("TRBE", &[("0x010", 0x1000), ("0x014", 0xffff_0000)], "TRBLIMITR_EL1"),
        ] {
            let unit = catalogue::named(unit).unwrap();
            let keys: Vec<_> =
                keys.iter().map(|(key, value)| ((*key).to_owned(), *value)).collect();
            let values = values(&*unit, &keys).unwrap();
            assert_eq!(values.get(want).map(|value| value >> 32), Some(0xffff_0000), "{want}");
        }
        // TRCVICTLR has 32 bits, and 0x07c is no register.
        let unit = catalogue::named("ETMv4").unwrap();
        for key in ["0x00000000", "0x07c", "0x014", "TRCX"] {
            assert_eq!(values(&*unit, &[(key.to_owned(), 0)]), Err(key.into()));
        }
    }
}
