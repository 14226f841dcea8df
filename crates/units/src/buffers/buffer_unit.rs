//! A trace buffer as a [`Unit`]: its registers field by field, and its state in sentences.

use tracewright_base::Field;
use tracewright_base::remedy::SINK;

use super::tmc::FeatureTmc;
use super::{mtb, tmc, trbe};
use crate::finding::Finding;
use crate::group::Group;
use crate::program::{BusAccess, Program};
use crate::request::{Refusal, Request};
use crate::unit::{Unit, View};
use crate::values::Values;

/// The trace buffers by name.
pub const GROUP: Group = Group { names, named, identified };

/// A kind of trace buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BufferUnit {
    /// The Trace Buffer Extension.
    Trbe,
    /// A TMC that writes to system memory.
    Etr,
    /// A TMC with its own memory: an ETF, or a TMC that is configured as ETB.
    Etf,
    /// The older Embedded Trace Buffer, whose pointers count words.
    Etb,
    /// The Micro Trace Buffer.
    Mtb,
}

/// The buffers by name.
const NAMES: &[(&str, BufferUnit)] = &[
    ("TRBE", BufferUnit::Trbe),
    ("ETR", BufferUnit::Etr),
    ("ETF", BufferUnit::Etf),
    ("TMC", BufferUnit::Etf),
    ("ETB", BufferUnit::Etb),
    ("MTB", BufferUnit::Mtb),
];

/// Prefixes of register names in captures.
const PREFIXES: &[&str] = &["TMC_", "ETR_", "ETF_", "ETB_", "MTB_"];

fn names() -> Vec<&'static str> {
    NAMES.iter().map(|(name, _)| *name).collect()
}

fn named(name: &str) -> Option<Box<dyn Unit>> {
    let (_, unit) = NAMES.iter().find(|(known, _)| known.eq_ignore_ascii_case(name))?;
    Some(Box::new(*unit))
}

/// A TRBE is known by its write pointer. The registers of the others have names that further
/// devices have.
fn identified(values: &Values) -> Option<Box<dyn Unit>> {
    let pointer = values.get("TRBPTR_EL1").or_else(|| values.get("TRBPTR"));
    pointer.map(|_| Box::new(BufferUnit::Trbe) as Box<dyn Unit>)
}

impl Unit for BufferUnit {
    fn name(&self) -> String {
        match self {
            BufferUnit::Trbe => "TRBE",
            BufferUnit::Etr => "ETR",
            BufferUnit::Etf => "ETF",
            BufferUnit::Etb => "ETB",
            BufferUnit::Mtb => "MTB",
        }
        .to_owned()
    }

    fn about(&self) -> Vec<String> {
        let about = match self {
            BufferUnit::Trbe => "Trace Buffer Extension: the trace of one core, in memory",
            BufferUnit::Etr => "CoreSight Trace Memory Controller that writes to system memory",
            BufferUnit::Etf => "CoreSight Trace Memory Controller with its own memory",
            BufferUnit::Etb => "CoreSight Embedded Trace Buffer, whose pointers count words",
            BufferUnit::Mtb => "Micro Trace Buffer of a Cortex-M core",
        };
        vec![about.to_owned()]
    }

    fn registers(&self) -> Vec<View> {
        let tmc = |there: fn(FeatureTmc) -> bool| {
            let rows = tmc::REGISTERS.iter();
            rows.filter(|row| there(row.versions)).map(View::from).collect::<Vec<_>>()
        };
        match self {
            BufferUnit::Trbe => trbe::REGISTERS.iter().map(View::from).collect(),
            BufferUnit::Etr => tmc(|_| true),
            BufferUnit::Etf => tmc(|feature| feature != FeatureTmc::Etr),
            BufferUnit::Etb => tmc(|feature| feature == FeatureTmc::All),
            BufferUnit::Mtb => mtb::REGISTERS.iter().map(View::from).collect(),
        }
    }

    fn register(&self, key: &str) -> Option<View> {
        let mut all = self.registers().into_iter();
        if let Some(number) = key.strip_prefix('#') {
            let offset = number.parse::<u16>().ok()?.checked_mul(4)?;
            return all.find(|register| register.offset == Some(offset));
        }
        if let Some(hex) = key.strip_prefix("0x").or_else(|| key.strip_prefix("0X")) {
            let offset = (u64::from_str_radix(hex, 16).ok()? & 0xfff) as u16;
            return all.find(|register| register.offset == Some(offset));
        }
        let key = key.to_ascii_uppercase();
        let short = PREFIXES.iter().find_map(|prefix| key.strip_prefix(prefix));
        all.find(|register| register.is_named(short.unwrap_or(&key)))
    }

    fn explain(&self, values: &Values) -> Vec<String> {
        match self {
            BufferUnit::Trbe => trbe::explain(values),
            BufferUnit::Etr => tmc::explain(values, tmc::Kind::Etr),
            BufferUnit::Etf => tmc::explain(values, tmc::Kind::Etf),
            BufferUnit::Etb => tmc::explain(values, tmc::Kind::Etb),
            BufferUnit::Mtb => mtb::explain(values),
        }
    }

    fn lint(&self, values: &Values) -> Vec<Finding> {
        let registers = self.registers().into_iter();
        let wide = registers.filter_map(|register| {
            register.wide(values.get(&register.name)?, register.name.to_string())
        });
        let mut findings: Vec<_> = wide.collect();
        if *self == BufferUnit::Trbe {
            findings.extend(trbe::lint(values));
        }
        findings
    }

    fn program(&self, _: &Request) -> Result<Program, Vec<Refusal>> {
        Err(vec![Refusal {
            part: "the request".to_owned(),
            lacks: "a trace buffer selects nothing".to_owned(),
            needs: format!("program the trace unit, and name the buffer with {SINK}"),
        }])
    }

    fn sequence(&self, _: &[BusAccess]) -> Vec<Finding> {
        vec![Finding {
            rule: "buffer-of-a-trace-unit",
            severity: crate::finding::Severity::Error,
            at: self.name(),
            what: "the accesses of a trace buffer are not checked without its trace unit".into(),
            remedy: "check the sequence as one of the trace unit, such as ETE".to_owned(),
            section: "Arm ARM, K10.5",
        }]
    }

    fn field(&self, register: &View, field: &Field, value: u64) -> Option<String> {
        let address = match (self, field.name) {
            (BufferUnit::Trbe, "BASE" | "LIMIT") => value.checked_mul(0x1000)?,
            (BufferUnit::Mtb, "POINTER" | "WATERMARK") => value.checked_mul(8)?,
            _ => return None,
        };
        (!register.name.is_empty()).then(|| format!("{address:#x}"))
    }
}

#[cfg(test)]
mod tests {
    use crate::catalogue;
    use crate::values::Values;

    fn explained(unit: &str, values: &[(&str, u64)]) -> String {
        let values: Values = values.iter().copied().collect();
        catalogue::named(unit).unwrap().explain(&values).join("\n")
    }

    #[test]
    fn names_and_offsets() {
        let unit = catalogue::named("trbe").unwrap();
        assert_eq!(unit.register("TRBPTR").unwrap().name, "TRBPTR_EL1");
        assert_eq!(unit.register("0x018").unwrap().name, "TRBSR_EL1");
        let etb = catalogue::named("ETB").unwrap();
        assert_eq!(etb.register("etb_rwp").unwrap().name, "RWP");
        assert!(etb.register("DBALO").is_none());
        let values = [("TRBPTR_EL1", 0)].into_iter().collect();
        assert_eq!(catalogue::identified(&values).unwrap().name(), "TRBE");
    }

    /// DDI 0461, 3.3, and DDI 0480, 3.10: pointers of a TMC are bytes, those of an ETB words.
    #[test]
    fn units_of_pointers() {
        let values = [("RSZ", 0x100), ("RWP", 0x40), ("STS", 5), ("CTL", 1)];
        assert!(explained("ETF", &values).contains("oldest byte is at offset 0x40"));
        assert!(explained("ETB", &values).contains("oldest byte is at offset 0x100"));
        let etr = [("RSZ", 0x400), ("RWP", 0x8000_0010), ("DBALO", 0x8000_0000), ("STS", 0xc)];
        assert!(explained("ETR", &etr).contains("16 of 4096 bytes are trace"));
        // At the end of the buffer, STS has whether it is full or empty.
        for (status, text) in [
            (0xc, "has not wrapped: 4096 of 4096 bytes are trace"),
            (0xd, "has wrapped at its end: all 4096 bytes are trace"),
            (0x1c, "The buffer of 4096 bytes is empty."),
        ] {
            let at_end = [etr[0], ("RWP", 0x8000_1000), etr[2], ("STS", status)];
            assert!(explained("ETR", &at_end).contains(text), "{status:#x}");
        }
        let without_address = [("RSZ", 0x400), ("RWP", 0x8000_0010), ("STS", 0xc)];
        assert!(explained("ETR", &without_address).contains("DBALO, the address of the buffer,"));
        assert!(explained("ETF", &without_address).contains("outside of the buffer"));
    }

    /// DDI 0486, 3.2: MASK 6 is a buffer of 1 KiB, at a multiple of its size.
    #[test]
    fn buffer_of_an_mtb() {
        let text = explained("MTB", &[("POSITION", 0x844), ("MASTER", 0x8000_0006)]);
        assert!(text.contains("all 1024 bytes are trace, and the oldest byte is at offset 0x40"));
        assert!(text.starts_with("Tracing is enabled."), "{text}");
        let position = "POSITION is unknown";
        assert!(!text.contains(position), "{text}");
        assert!(explained("MTB", &[("MASTER", 0x8000_0006)]).contains(position));
        assert!(!explained("MTB", &[("POSITION", 0x844)]).contains(position));
    }
}
