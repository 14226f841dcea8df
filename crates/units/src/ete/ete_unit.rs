//! An ETMv4 or an ETE as a [`Unit`].

use tracewright_base::Field;

use super::implementation::{Implementation, PRESETS};
use super::model::Model;
use super::registers::{self, Named, Version, by_name};
use super::settings::Event;
use super::{explain, forms, lint, request, sequence, sysfs};
use crate::finding::Finding;
use crate::group::Group;
use crate::program::{BusAccess, Program};
use crate::request::{Refusal, Request};
use crate::unit::{Unit, View};
use crate::values::{Values, register_offset};
use crate::verdict::Filter;
use crate::width;

/// The units of ETMv4 and ETE by name and by identification registers.
pub const GROUP: Group = Group { names, named, identified };

fn names() -> Vec<&'static str> {
    PRESETS.iter().map(|unit| unit.name).collect()
}

fn named(name: &str) -> Option<Box<dyn Unit>> {
    Some(Box::new(TraceUnit { implementation: Implementation::named(name)? }))
}

fn identified(values: &Values) -> Option<Box<dyn Unit>> {
    Some(Box::new(TraceUnit { implementation: Implementation::identified(values)? }))
}

/// An ETMv4 or an ETE.
#[derive(Clone, Copy, Debug)]
pub struct TraceUnit {
    /// What it implements.
    pub implementation: Implementation,
}

impl TraceUnit {
    /// The unit with the identification registers in `values`.
    fn read(&self, values: &Values) -> Implementation {
        let mut unit = self.implementation;
        unit.read(values);
        unit
    }
}

/// The register of `version` as it is shown: with its number, and with a field for bits that are
/// always one.
fn view(named: Named, version: Version) -> View {
    let mut fields = named.fields(version).to_vec();
    let ones = named.row.ones;
    if ones != 0 {
        let (low, high) = (ones.trailing_zeros() as u8, 63 - ones.leading_zeros() as u8);
        let at = fields.iter().position(|field| field.high < low).unwrap_or(fields.len());
        fields.insert(at, Field { name: "RES1", high, low, about: "always one", values: &[] });
    }
    View {
        name: named.to_string().into(),
        offset: named.offset(),
        fields: fields.into(),
        ..View::from(&named.row.register)
    }
}

impl Unit for TraceUnit {
    fn name(&self) -> String {
        let Implementation { name, version, .. } = &self.implementation;
        if version.to_string().starts_with(name) {
            return version.to_string();
        }
        format!("{name} ({version})")
    }

    fn about(&self) -> Vec<String> {
        explain::resources(&self.implementation)
    }

    fn registers(&self) -> Vec<View> {
        let version = self.implementation.version;
        let there = |named: &Named| named.row.register.versions.contains(version);
        let all = registers::all().filter(there);
        let mut all: Vec<View> = all.map(|named| view(named, version)).collect();
        all.sort_by_key(|view| view.offset);
        all
    }

    fn register(&self, key: &str) -> Option<View> {
        if let Some(offset) = register_offset(key) {
            return self.registers().into_iter().find(|view| view.offset == Some(offset));
        }
        let named = by_name(key)?;
        let version = self.implementation.version;
        let there = named.row.register.versions.contains(version);
        there.then(|| view(named, version))
    }

    fn field(&self, register: &View, field: &Field, value: u64) -> Option<String> {
        // SEL of an event, without its TYPE: the selectors that are constant.
        let event = field.name.ends_with("SEL") || field.name.starts_with("SEL");
        let inputs = register.name.starts_with("TRCEXTINSELR");
        match (event && !inputs, Event::new(value).constant()) {
            (true, Some(true)) => Some("TRUE, as a selector".to_owned()),
            (true, Some(false)) => Some("FALSE".to_owned()),
            _ => None,
        }
    }

    fn explain(&self, values: &Values) -> Vec<String> {
        explain::program(&self.read(values), values)
    }

    fn lint(&self, values: &Values) -> Vec<Finding> {
        lint::check(&self.read(values), values)
    }

    fn program(&self, request: &Request) -> Result<Program, Vec<Refusal>> {
        width::checked(self, request::program(&self.implementation, request)?)
    }

    fn request(&self, values: &Values) -> Option<Request> {
        request::fulfilled(&self.implementation, values)
    }

    fn sequence(&self, accesses: &[BusAccess]) -> Vec<Finding> {
        let mut findings = sequence::check(&self.implementation, accesses);
        findings.extend(width::recorded(self, accesses, 0));
        findings
    }

    fn filter(&self, values: &Values) -> Option<Box<dyn Filter>> {
        Some(Box::new(Model::new(&self.read(values), values)))
    }

    fn identification(&self) -> Values {
        let known = self.implementation.identification();
        known.map(|(name, value)| (name, u64::from(value))).collect()
    }

    fn has_sinks(&self) -> bool {
        true
    }

    fn openocd(&self, program: &Program, base: u64) -> String {
        forms::openocd(program, base)
    }

    fn c(&self, program: &Program, base: Option<u64>) -> Option<String> {
        Some(forms::c(program, base))
    }

    fn sysfs(&self, program: &Program) -> Option<String> {
        sysfs::script(&self.implementation, program)
    }
}

#[cfg(test)]
mod tests {
    use crate::catalogue;

    #[test]
    fn units_by_name_and_by_registers() {
        for name in ["ETE", "ete1.3", "Cortex-A53", "ETMv4.4"] {
            assert!(catalogue::named(name).is_some(), "{name}");
        }
        let values = [("TRCIDR1", 0x4100_f403), ("TRCIDR4", 0x1117_0004)].into_iter().collect();
        assert_eq!(catalogue::identified(&values).unwrap().name(), "ETMv4.0");
        let unit = catalogue::named("ETE").unwrap();
        assert_eq!(unit.name(), "ETE 1.0");
        assert_eq!(unit.register("0x080").unwrap().name, "TRCVICTLR");
        assert_eq!(unit.register("#32").unwrap().name, "TRCVICTLR");
        assert_eq!(unit.register("trcacvr3").unwrap().name, "TRCACVR3");
        assert!(unit.register("TRCVDCTLR").is_none());
        assert_eq!(unit.register("0x120").unwrap().name, "TRCEXTINSELR0");
        assert_eq!(unit.register("TRCCONFIGR").unwrap().unknown_bits(0x18c1), 0);
        assert_eq!(unit.register("TRCIDR1").unwrap().unknown_bits(0x4100_fff0), 0);
        assert_eq!(unit.register("TRCSYNCPR").unwrap().unknown_bits(0x8c), 0x80);
    }

    /// IHI 0064, TRCACATRn and TRCVICTLR; DDI 0601, the same: an ETMv4 has data value comparators
    /// and no Realm state, an ETE the opposite.
    #[test]
    fn fields_of_each_architecture() {
        for (unit, register, unknown) in [
            ("ETMv4", "TRCACATR0", 0x40_8080),
            ("ETE", "TRCACATR0", 0x78_8080),
            ("ETMv4", "TRCVICTLR", 0x780_0000),
            ("ETE", "TRCVICTLR", 0x080_0000),
        ] {
            let all = if register == "TRCVICTLR" { 0x7ff_0201 } else { 0x7f_ffff };
            let view = catalogue::named(unit).unwrap().register(register).unwrap();
            assert_eq!(view.unknown_bits(all), unknown, "{unit} {register}");
        }
    }
}
