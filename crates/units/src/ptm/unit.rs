//! A PTM as one of the units of the catalogue.

use super::registers::{has, own_fields};
use crate::etm::Etm;
use crate::etm::resources::{DataTracing, Resources};
use crate::etm::version::Version;
use crate::finding::{Finding, Severity};
use crate::group::Group;
use crate::program::{BusAccess, Program};
use crate::register::Field;
use crate::request::{Refusal, Request};
use crate::unit::Unit;
use crate::unit::View;
use crate::values::Values;

/// The PTMs of the catalogue.
pub const GROUP: Group = Group { names, named, identified };

fn names() -> Vec<&'static str> {
    vec!["PTM"]
}

fn named(name: &str) -> Option<Box<dyn Unit>> {
    name.eq_ignore_ascii_case("PTM").then(|| Box::new(Ptm::new(None)) as Box<dyn Unit>)
}

/// ETMIDR has the major version 3, as a number from 0: PFTv1.
fn identified(values: &Values) -> Option<Box<dyn Unit>> {
    // Register 0x79.
    let id = values.get("ETMIDR").or_else(|| values.at(0x1e4))?;
    let is_pft = id >> 8 & 0xf == 3;
    is_pft.then(|| Box::new(Ptm::new(Some((id >> 4 & 0xf) as u8))) as Box<dyn Unit>)
}

/// A PTM.
#[derive(Clone, Debug)]
pub struct Ptm {
    /// The minor version of PFTv1. `None`: it is not known.
    minor: Option<u8>,
    /// The unit as an ETMv3.5 without data trace, for what both have.
    etm: Etm,
}

impl Ptm {
    fn new(minor: Option<u8>) -> Ptm {
        let resources = Resources {
            data: DataTracing::None,
            data_addresses: false,
            data_comparators: 0,
            suppression: false,
            fetches: false,
            memory_map: 0,
            jtag: false,
            ..Resources::largest(Version::V3_5)
        };
        Ptm { minor, etm: Etm { name: "PTM".to_owned(), resources } }
    }

    fn view(&self, mut view: View) -> Option<View> {
        let number = view.offset? / 4;
        if !has(number) {
            return None;
        }
        if let Some(fields) = own_fields(number) {
            view.fields = fields.into();
        }
        view.section = "IHI 0035, register descriptions";
        Some(view)
    }
}

impl Unit for Ptm {
    fn name(&self) -> String {
        match self.minor {
            Some(minor) => format!("PTM (PFTv1.{minor})"),
            None => "PTM".to_owned(),
        }
    }

    fn about(&self) -> Vec<String> {
        self.etm.about()
    }

    fn with(&self, values: &Values) -> Option<Box<dyn Unit>> {
        let resources = self.etm.settings(values).unit;
        let etm = Etm { resources, ..self.etm.clone() };
        (resources != self.etm.resources)
            .then(|| Box::new(Ptm { etm, ..self.clone() }) as Box<dyn Unit>)
    }

    fn registers(&self) -> Vec<View> {
        self.etm.registers().into_iter().filter_map(|view| self.view(view)).collect()
    }

    fn field(&self, register: &View, field: &Field, value: u64) -> Option<String> {
        self.etm.field(register, field, value)
    }

    fn explain(&self, values: &Values) -> Vec<String> {
        let mut sentences = self.etm.explain(values);
        sentences.retain(|sentence| sentence != "Traces no data.");
        if values.get("ETMCR").is_some_and(|control| control >> 29 & 1 != 0) {
            sentences.push("Returns that the return stack predicts have no address.".to_owned());
        }
        sentences
    }

    fn lint(&self, values: &Values) -> Vec<Finding> {
        let rest = |register: &View| {
            let value = values.get(&register.name)?;
            Some(register.unknown_bits(value)).filter(|rest| *rest != 0)
        };
        let registers = self.registers().into_iter();
        let found = registers.filter_map(|register| {
            let rest = rest(&register)?;
            Some(Finding {
                rule: "reserved-bits",
                severity: Severity::Error,
                at: register.name.to_string(),
                what: format!("bits {rest:#x} have no meaning"),
                remedy: "write 0 to them".to_owned(),
                section: register.section,
            })
        });
        found.collect()
    }

    fn program(&self, _request: &Request) -> Result<Program, Vec<Refusal>> {
        Err(vec![Refusal {
            part: "program".to_owned(),
            lacks: "programs of a PTM are not made".to_owned(),
            needs: "write the registers, and check them with explain".to_owned(),
        }])
    }

    fn sequence(&self, accesses: &[BusAccess]) -> Vec<Finding> {
        self.etm.sequence(accesses)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue;

    #[test]
    fn units_by_name_and_by_registers() {
        let values: Values = [("ETMIDR", 0x411c_f312)].into_iter().collect();
        let unit = catalogue::identified(&values).unwrap();
        assert_eq!(unit.name(), "PTM (PFTv1.1)");
        assert_eq!(unit.register("ETMCR").unwrap().unknown_bits(0x7f00_d781), 0);
        assert_eq!(unit.register("#9").unwrap().name, "ETMTECR1");
        assert!(unit.register("ETMVDEVR").is_none() && unit.register("ETMDCVR1").is_none());
        assert_eq!(catalogue::named("ptm").unwrap().name(), "PTM");
        let values: Values = [("ETMCR", 0x2000_0008)].into_iter().collect();
        assert_eq!(unit.lint(&values).len(), 1);
        assert!(unit.program(&Request::default()).is_err());
    }

    /// An ETM is not a PTM.
    #[test]
    fn other_versions() {
        for (id, name) in [(0x410c_f250, "ETM-A5 (ETMv3.5)"), (0x4100_f240, "ETMv3.4")] {
            let values: Values = [("ETMIDR", id)].into_iter().collect();
            assert_eq!(catalogue::identified(&values).unwrap().name(), name);
        }
    }
}
