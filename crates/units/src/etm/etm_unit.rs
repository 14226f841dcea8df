//! An ETM by name, and by its identification registers.

use super::presets::{PRESETS, Preset};
use super::resources::{Identification, Resources};
use super::settings::{self, Settings};
use super::version::Version;
use crate::values::{Values, register_offset};

/// An ETM.
#[derive(Clone, Debug)]
pub struct Etm {
    /// Name of the unit.
    pub name: String,
    /// The resources, where no register reports others.
    pub resources: Resources,
}

/// The identification registers among `values`.
fn identification(values: &Values) -> Identification {
    let register = |name| values.get(name).map(|value| value as u32);
    Identification {
        configuration: register("ETMCCR"),
        id: register("ETMIDR"),
        extension: register("ETMCCER"),
        system: register("ETMSCR"),
    }
}

impl Etm {
    /// The unit, core or version `name`. A version stands for the largest unit of it.
    pub fn named(name: &str) -> Option<Etm> {
        if let Some(preset) = Preset::named(name) {
            let first = preset.names.first().copied().unwrap_or(name);
            return Some(Etm { name: first.to_owned(), resources: preset.resources() });
        }
        let version = Version::named(name)?;
        Some(Etm { name: version.to_string(), resources: Resources::largest(version) })
    }

    /// The unit with the resources that `values` report.
    pub fn settings(&self, values: &Values) -> Settings {
        Settings::with(self.resources.reported(&identification(values)), values)
    }

    /// The unit with these values in its identification registers, whose keys are names, offsets or
    /// numbers. `None` where the registers of an ETM are not among them.
    pub fn identified(values: &Values) -> Option<Etm> {
        let mut by_name = Values::default();
        for (key, value) in values.iter() {
            let number =
                register_offset(key).map(|offset| offset / 4).or_else(|| settings::number_of(key));
            if let Some(name) = number.and_then(settings::name) {
                by_name.set(&name, value);
            }
        }
        let registers = identification(&by_name);
        let version = registers.version()?;
        // The revision does not change the resources.
        let preset = PRESETS.iter().find(|preset| {
            let same = |a: u32, b: u32| a >> 4 == b >> 4;
            preset.registers.id.zip(registers.id).is_some_and(|(a, b)| same(a, b))
        });
        Some(match preset {
            Some(preset) => Etm {
                name: preset.names.first().copied().unwrap_or_default().to_owned(),
                resources: preset.resources().reported(&registers),
            },
            None => Etm {
                name: version.to_string(),
                resources: Resources::largest(version).reported(&registers),
            },
        })
    }
}
