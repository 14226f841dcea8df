//! An ETM as one of the units of the catalogue.

use tracewright_base::fields;

use super::etm_unit::Etm;
use super::event::Event;
use super::presets::{PRESETS, Preset};
use super::registers::{self, KINDS, Kind};
use super::resources::{DataTracing, Resources};
use super::settings;
use super::version::Version;
use super::{explain, lint, permission, program, sequence, topology};
use crate::finding::Finding;
use crate::group::Group;
use crate::program::{BusAccess, Program};
use crate::register::{Access, Field};
use crate::request::{Refusal, Request};
use crate::unit::Unit;
use crate::unit::View;
use crate::values::Values;
use crate::verdict::Filter;
use crate::width;

/// The ETMs of the catalogue.
pub const GROUP: Group = Group { names, named, identified };

fn names() -> Vec<&'static str> {
    let presets = PRESETS.iter().flat_map(|preset| preset.names).copied();
    presets.chain(["ETMv1.0 to ETMv3.5"]).collect()
}

fn named(name: &str) -> Option<Box<dyn Unit>> {
    Some(Box::new(Etm::named(name)?))
}

fn identified(values: &Values) -> Option<Box<dyn Unit>> {
    Some(Box::new(Etm::identified(values)?))
}

impl Etm {
    fn view(&self, kind: &'static Kind, index: u8, number: u16) -> View {
        let unit = &self.resources;
        let mut view = View::from(&kind.register);
        if kind.count > 1 {
            view.name = settings::instance(kind, index).into();
        }
        view.offset = Some(number * 4);
        view.access = kind.rule.access(unit.version, unit.readable, unit.fixed_sync);
        view.fields = kind.fields(unit.version).copied().collect();
        view
    }
}

impl Unit for Etm {
    fn name(&self) -> String {
        match self.name.starts_with("ETMv") {
            true => self.name.clone(),
            false => format!("{} ({})", self.name, self.resources.version),
        }
    }

    fn about(&self) -> Vec<String> {
        about(&self.resources)
    }

    fn with(&self, values: &Values) -> Option<Box<dyn Unit>> {
        let resources = self.settings(values).unit;
        let name = self.name.clone();
        (resources != self.resources).then(|| Box::new(Etm { name, resources }) as Box<dyn Unit>)
    }

    fn registers(&self) -> Vec<View> {
        let version = self.resources.version;
        let kinds = KINDS.iter().filter(|kind| kind.register.versions.contains(version));
        let all = kinds.flat_map(|kind| kind.numbers().map(move |number| (*kind, number)));
        let mut all: Vec<_> = all
            .filter_map(|(kind, number)| Some(self.view(kind, kind.index(number)?, number)))
            .collect();
        all.sort_by_key(|view| view.offset);
        all.extend(watchpoints(&self.resources));
        all
    }

    fn field(&self, register: &View, field: &Field, value: u64) -> Option<String> {
        let number = register.offset? / 4;
        let (kind, _) = registers::numbered(number)?;
        match (kind.register.name, field.name) {
            (_, "Event") => Some(Event::of(value as u32).to_string()),
            ("ETMCIDCVR" | "ETMACVR" | "ETMDCVR" | "ETMDCMR" | "ETMCIDCMR", _) => None,
            (
                "ETMTSSCR" | "ETMTECR2" | "ETMVDCR1" | "ETMVDCR2" | "ETMTECR1" | "ETMVDCR3"
                | "ETMFFRR" | "ETMTESSEICR" | "ETMEIBCR",
                "Stop" | "Start" | "Comparators" | "Ranges" | "MemoryMap" | "Include" | "Latch",
            )
            | ("ETMVDCR1" | "ETMVDCR2" | "ETMVDCR3", "Exclude") => {
                let numbers = settings::Selection::numbers(value as u32);
                let numbers: Vec<_> = numbers.map(|n| n.to_string()).collect();
                Some(match numbers.is_empty() {
                    true => "none".into(),
                    false => numbers.join(", "),
                })
            }
            _ => None,
        }
    }

    fn explain(&self, values: &Values) -> Vec<String> {
        let mut sentences = explain::sentences(&self.settings(values));
        sentences.extend(permission::sentences(values));
        sentences
    }

    fn lint(&self, values: &Values) -> Vec<Finding> {
        let mut findings = lint::wide(values);
        findings.extend(lint::findings(&self.settings(values)));
        findings
    }

    fn program(&self, request: &Request) -> Result<Program, Vec<Refusal>> {
        width::checked(self, program::make(&self.resources, request)?)
    }

    fn request(&self, values: &Values) -> Option<Request> {
        program::request(&self.settings(values))
    }

    fn sequence(&self, accesses: &[BusAccess]) -> Vec<Finding> {
        // The other rules are about the low 32 bits.
        let mut findings = sequence::findings(&self.resources, accesses);
        findings.extend(width::recorded(self, accesses, u32::MAX.into()));
        findings
    }

    fn identification(&self) -> Values {
        let unit = &self.resources;
        let mut values = Values::default();
        let preset = Preset::named(&self.name).map(|preset| preset.registers).unwrap_or_default();
        let later = unit.version >= Version::V2_0;
        let major_minor =
            u32::from(unit.version.major() - 1) << 8 | u32::from(unit.version.minor()) << 4;
        let id = preset.id.or(later.then_some(0x4100_f000 | major_minor));
        let code = preset.configuration.unwrap_or_else(|| unit.configuration());
        let extension = preset.extension.or_else(|| unit.extension());
        for (name, value) in [
            ("ETMCCR", Some(code)),
            ("ETMIDR", id),
            ("ETMCCER", extension),
            ("ETMSCR", preset.system),
        ] {
            if let Some(value) = value {
                values.set(name, value.into());
            }
        }
        values
    }

    fn filter(&self, values: &Values) -> Option<Box<dyn Filter>> {
        Some(Box::new(super::model::LogFilter::new(self.settings(values))))
    }

    fn sysfs(&self, program: &Program) -> Option<String> {
        program::sysfs(&self.settings(&program.values))
    }
}

/// The registers of the DWT that drive the EmbeddedICE inputs of a unit of the M profile. (Armv7-M
/// ARM, C1.8)
fn watchpoints(unit: &Resources) -> Vec<View> {
    let count = if unit.pairs == 0 && unit.ice_start_stop { unit.ice_inputs.min(4) } else { 0 };
    let view = |n: u8, name: &str, about, fields: &'static [Field]| View {
        name: format!("{name}{n}").into(),
        aliases: Vec::new(),
        about,
        offset: None,
        bits: 32,
        access: Access::ReadWrite,
        fields: fields.into(),
        section: "Armv7-M ARM, C1.8",
    };
    let registers = |n| {
        [
            view(n, "DWT_COMP", "value that the DWT compares".into(), COMPARED),
            view(n, "DWT_MASK", "bits of the address that the DWT does not compare".into(), MASK),
            view(n, "DWT_FUNCTION", "what the DWT compares, and for whom".into(), FUNCTION),
        ]
    };
    (0..count).flat_map(registers).collect()
}

const COMPARED: &[Field] = fields! { COMP[31:0] "address" };
const MASK: &[Field] = fields! { MASK[4:0] "number of low bits" };
const FUNCTION: &[Field] = fields! {
    MATCHED[24] "the comparator has matched" {0 "no", 1 "yes"};
    DATAVMATCH[8] "data values are compared" {0 "no", 1 "yes"};
    CYCMATCH[7] "cycles are compared" {0 "no", 1 "yes"};
    EMITRANGE[5] "data address packets" {0 "no", 1 "yes"};
    FUNCTION[3:0] "function" {
        0 "disabled", 8 "executed address, for the ETM", 9 "read, for the ETM",
        10 "write, for the ETM", 11 "read or write, for the ETM",
    };
};

/// The resources in words, one group a line.
fn about(unit: &Resources) -> Vec<String> {
    let some = |n: u8, one: &str, many: &str| match n {
        0 => None,
        1 => Some(format!("1 {one}")),
        n => Some(format!("{n} {many}")),
    };
    let mut lines = Vec::new();
    let mut line = |title: &str, parts: Vec<Option<String>>| {
        let parts: Vec<_> = parts.into_iter().flatten().collect();
        let parts = if parts.is_empty() { "none".to_owned() } else { parts.join(", ") };
        lines.push(format!("{title:<14}{parts}"));
    };
    let flag = |set: bool, text: &str| set.then(|| text.to_owned());
    line(
        "comparators",
        vec![
            some(unit.pairs, "pair of address comparators", "pairs of address comparators"),
            some(unit.data_comparators, "data value comparator", "data value comparators"),
            some(unit.context_comparators, "context ID comparator", "context ID comparators"),
            some(unit.memory_map, "memory map decode", "memory map decodes"),
            some(unit.ice_inputs, "EmbeddedICE input", "EmbeddedICE inputs"),
            flag(unit.pairs > 0 && !unit.data_addresses, "instruction addresses only"),
        ],
    );
    line(
        "derived",
        vec![
            some(unit.counters, "counter", "counters"),
            flag(unit.sequencer, "sequencer"),
            flag(unit.start_stop, "start/stop block"),
            some(unit.instrumentation, "instrumentation resource", "instrumentation resources"),
        ],
    );
    line(
        "inputs",
        vec![
            some(unit.inputs, "external input", "external inputs"),
            some(unit.selectors, "selector", "selectors").map(|n| format!("{n} of {}", unit.bus)),
            some(unit.outputs, "external output", "external outputs"),
        ],
    );
    if unit.memory_mapped {
        let count = |kind: topology::Kind| some(kind.count(unit), kind.name(), kind.names());
        line("interfaces", topology::Kind::ALL.map(count).to_vec());
    }
    line(
        "trace",
        vec![
            Some(
                match unit.data {
                    DataTracing::Full => "data addresses and values",
                    DataTracing::Addresses => "data addresses",
                    DataTracing::Values => "data values",
                    DataTracing::None => "instructions only",
                }
                .to_owned(),
            ),
            flag(unit.stalls(), "processor stalling"),
            flag(unit.suppression, "data suppression"),
            flag(unit.cycles, "cycles"),
            flag(unit.context_ids, "context IDs"),
            flag(unit.timestamps, "timestamps"),
            flag(unit.virtualization, "virtual machine IDs"),
        ],
    );
    lines
}
