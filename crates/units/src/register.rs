//! Elements of the register tables: a register, its place, its access and its fields.

pub use tracewright_base::register::Access;
pub use tracewright_base::{Field, RegisterRow};

/// One register of a trace unit or a trace buffer.
#[derive(Clone, Copy, Debug)]
pub struct Register<V: 'static> {
    /// Name in the specification and in captures.
    pub name: &'static str,
    /// Other names, in captures and in drivers.
    pub aliases: &'static [&'static str],
    /// Description in one line.
    pub about: &'static str,
    /// Offset in the 4 KiB of memory-mapped registers, in bytes, or `None` for a register that is
    /// a System register only.
    pub offset: Option<u16>,
    /// Size in bits: 32 or 64.
    pub bits: u8,
    /// What software can do with the register.
    pub access: Access,
    /// The versions of the architecture in which the register exists.
    pub versions: V,
    /// The fields, from the most significant bit down.
    pub fields: &'static [Field],
    /// The specification and the section that describe the register.
    pub section: &'static str,
}

impl<V> Register<V> {
    /// The register of a row, of 32 bits.
    pub const fn of(row: RegisterRow, versions: V) -> Self {
        let RegisterRow { name, aliases, about, offset, access, section, fields } = row;
        Register { name, aliases, about, offset, bits: 32, access, versions, fields, section }
    }

    /// Whether `name` names the register, in any letter case.
    pub fn is_named(&self, name: &str) -> bool {
        let names = core::iter::once(&self.name).chain(self.aliases);
        names.into_iter().any(|n| n.eq_ignore_ascii_case(name))
    }

    /// The bits of `value` that no field covers.
    pub fn unknown_bits(&self, value: u64) -> u64 {
        self.fields.iter().fold(value, |rest, field| {
            rest & !((u64::MAX >> (63 - (field.high - field.low))) << field.low)
        })
    }
}

#[cfg(test)]
mod tests {
    use tracewright_base::fields;

    use super::*;

    const LOCK: Register<()> = Register {
        name: "TRCLAR",
        aliases: &["LAR"],
        about: "software lock",
        offset: Some(0xfb0),
        bits: 32,
        access: Access::WriteOnly,
        versions: (),
        fields: fields! { KEY[15:0] "the key that opens the lock" },
        section: "a test",
    };

    #[test]
    fn names_in_any_case() {
        assert!(LOCK.is_named("trclar") && LOCK.is_named("lar") && !LOCK.is_named("LSR"));
    }

    #[test]
    fn bits_of_no_field() {
        assert_eq!(LOCK.unknown_bits(0xc5ac_ce55), 0xc5ac_0000);
    }
}
