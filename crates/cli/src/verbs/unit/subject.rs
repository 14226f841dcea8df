//! The unit and the register values that the command line selects.

use std::path::Path;

use tracewright::units::values::{self, Values};
use tracewright::units::{Unit, catalogue, unit};

use crate::fail::Fail;
use crate::inputs::read_text;

/// A unit and the values of its registers.
pub struct Subject {
    /// Where the values come from: the name of a source of a snapshot, or nothing.
    pub label: String,
    pub unit: Box<dyn Unit>,
    pub values: Values,
    /// Registers that are recorded and that the unit's table does not have.
    pub unknown: Vec<(String, u64)>,
}

/// Whether `word` names a register of the unit called `unit`, or else of any unit.
fn is_register(unit: Option<&String>, word: &str) -> bool {
    let has = |unit: Box<dyn Unit>| unit.registers().iter().any(|own| own.is_named(word));
    match unit {
        Some(name) => catalogue::named(name).is_some_and(has),
        None => catalogue::names().into_iter().filter_map(catalogue::named).any(has),
    }
}

/// Reads the arguments `what`: optionally a unit, then registers, files or snapshots.
pub fn read(what: &[String]) -> Result<Vec<Subject>, Fail> {
    let (name, rest) = match what.split_first() {
        Some((first, rest)) if catalogue::named(first).is_some() => (Some(first), rest),
        _ => (None, what),
    };
    let (mut keys, mut snapshots) = (Vec::new(), Vec::new());
    for item in rest {
        let path = Path::new(item);
        if item.contains('=') && !path.exists() {
            let read = values::read(item).map_err(|_| {
                let why = "this is not a register and its value, such as ETMCR=0x400 or #0=0x400";
                Fail::option("register", item, why)
            })?;
            keys.extend(read);
        } else if !path.exists() && is_register(name, item) {
            return Err(Fail::option("register", item, "write its value: NAME=VALUE"));
        } else if !path.exists() {
            let names = catalogue::names().join(", ");
            let why = format!("this is neither a unit nor a file; units are {names}");
            return Err(Fail::option("unit", item, &why));
        } else if path.is_dir() || path.file_name().is_some_and(|name| name == "snapshot.ini") {
            snapshots.push(path);
        } else {
            let text = read_text(path)?;
            let read = values::read(&text).map_err(|e| Fail::input(path, &e.to_string()))?;
            keys.extend(read);
        }
    }
    let mut subjects = Vec::new();
    for path in snapshots {
        let before = subjects.len();
        let capture = tracewright::capture::open(path)?;
        let sources = capture.sources.iter().map(|source| (&source.name, &source.registers, true));
        // A trace buffer is a device of its own, which is read where no source is the unit.
        let devices = capture.others.iter().map(|other| (&other.name, &other.registers, false));
        let mut sources_have = false;
        for (label, registers, is_source) in sources.chain(devices) {
            if !is_source && sources_have {
                break;
            }
            let recorded = registers.0.iter();
            let recorded =
                recorded.filter_map(|r| Some((r.name.clone(), u64::try_from(r.value).ok()?, r.id)));
            let mut all: Vec<_> = recorded.collect();
            all.extend(keys.iter().map(|(key, value)| (key.clone(), *value, None)));
            let named: Vec<_> = all.iter().map(|(name, value, _)| (name.clone(), *value)).collect();
            if let Some(unit) = select(name, &named) {
                let (values, unknown) = known(unit.as_ref(), &all);
                // Another unit than the one that is named, or another device.
                if values.is_empty() && (!is_source || !all.is_empty()) {
                    continue;
                }
                sources_have |= is_source;
                let unit = unit.with(&values).unwrap_or(unit);
                subjects.push(Subject { label: label.clone(), unit, values, unknown });
            }
        }
        if subjects.len() == before {
            return Err(Fail::input(
                path,
                "no source of this capture has the identification registers of a unit, and no \
                 device has registers of the unit that is named; name the unit before the capture",
            ));
        }
    }
    if subjects.is_empty() {
        let unit = select(name, &keys).ok_or_else(|| {
            let names = catalogue::names().join(", ");
            let why = format!(
                "the identification registers that select a unit are missing; begin with a unit: \
                 {names}"
            );
            Fail::option("unit", &what.join(" "), &why)
        })?;
        let values = unit::values(unit.as_ref(), &keys).map_err(|key| {
            let why = format!("{} has no such register", unit.name());
            Fail::option("register", &key.to_string(), &why)
        })?;
        let unit = unit.with(&values).unwrap_or(unit);
        subjects.push(Subject { label: String::new(), unit, values, unknown: Vec::new() });
    }
    Ok(subjects)
}

/// The unit with the name, with the resources that its identification registers report.
fn select(name: Option<&String>, keys: &[(String, u64)]) -> Option<Box<dyn Unit>> {
    match name {
        Some(name) => catalogue::named(name),
        None => catalogue::identified(&keys.iter().cloned().collect()),
    }
}

/// The values of registers that the unit has, and the other registers.
fn known(unit: &dyn Unit, keys: &[(String, u64, Option<u32>)]) -> (Values, Vec<(String, u64)>) {
    let (mut values, mut unknown) = (Values::default(), Vec::new());
    for (key, value, id) in keys {
        // A capture can have other names for the numbers.
        let numbered = || unit.register(&format!("#{}", (*id)?));
        match unit.register(key).or_else(numbered) {
            Some(register) => values.set(&register.name, *value),
            None => unknown.push((key.clone(), *value)),
        }
    }
    (values, unknown)
}
