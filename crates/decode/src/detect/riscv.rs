//! The profile, version and widths of unframed RISC-V messages.

use tracewright_protocols::etrace::Params;
use tracewright_protocols::etrace::config::{PARAMETERS, Profile, Version, units};
use tracewright_protocols::registry::{AnyConfig, AnyProtocol};

use super::configs::Setting;
use super::processor::Processor;
use super::trial::{Bench, Trial};
use super::{Given, Inference, LONG, SHORT};

/// Parameters of units whose packets are different: each is tried on its own.
const CHANGES: &[&[(&str, u64)]] = &[
    &[],
    &[("iaddress_lsb", 0)],
    &[("call_counter_size", 9)],
    &[("iaddress_lsb", 0), ("call_counter_size", 9)],
    &[("return_stack_size", 7)],
    &[("return_stack_size", 7), ("time_width", 1)],
    &[("full_address", 1)],
    &[("context_width", 0)],
];

/// The unit that a inference is about.
#[derive(Clone, Copy)]
struct Unit {
    version: Version,
    profile: Profile,
    rv64: bool,
    changes: &'static [(&'static str, u64)],
    aligned: bool,
}

impl Unit {
    fn params(&self) -> Option<Params> {
        let mut params = Params::new(self.version, self.profile, self.rv64).ok()?;
        params.link.aligned = self.aligned;
        for (name, value) in self.changes {
            let parameter = PARAMETERS.iter().find(|p| p.name() == *name)?;
            (parameter.set)(&mut params, *value);
        }
        Some(params)
    }

    /// The parameters as registers.
    fn setting(&self) -> Setting {
        let mut setting = Setting::default();
        setting.set("profile", self.profile.number());
        setting.set("version", self.version.number());
        setting.set("xlen", if self.rv64 { 64 } else { 32 });
        self.changes.iter().for_each(|&(name, value)| setting.set(name, value));
        if !self.aligned {
            setting.set("aligned", 0);
        }
        setting
    }
}

/// The best inferences for `stream`, those of different units.
pub(super) fn inferences(stream: &[u8], bench: &Bench, given: &Given<'_>) -> Vec<Inference> {
    let plain = Bench::empty();
    let part = |len: usize| stream.get(..len).unwrap_or(stream);
    let run = |bench: &Bench, part: &[u8], unit: &Unit, least: i64| -> Option<(i64, Trial)> {
        let trial = bench.run_for(part, &AnyConfig::Etrace(unit.params()?), least)?;
        Some((trial.score(AnyProtocol::Etrace), trial))
    };
    let given_xlen = (given.registers)("xlen").map(|xlen| xlen == 64);
    let target = match bench.processors.first() {
        Some(Processor::RiscV(rv64)) => Some(rv64),
        _ => None,
    };
    let mut all: Vec<(i64, Unit, Trial)> = Vec::new();
    for aligned in [true, false] {
        for (version, profile) in units() {
            let usual = given_xlen.or(target).unwrap_or(profile.is_wide());
            let widths = match given_xlen.or(target) {
                Some(_) => vec![usual],
                None => vec![usual, !usual],
            };
            for rv64 in widths {
                for changes in CHANGES {
                    let unit = Unit { version, profile, rv64, changes, aligned };
                    let trial = run(&plain, part(SHORT / 2), &unit, LEAST_SCORE);
                    all.extend(trial.map(|(score, trial)| (score, unit, trial)));
                }
            }
        }
        if !all.is_empty() {
            break;
        }
    }
    all.sort_by_key(|(score, unit, _)| (-score, unit.changes.len()));
    all.truncate(MAX_TRIED);
    let again = all.into_iter().filter_map(|(_, unit, _)| {
        let (score, trial) = run(bench, part(LONG), &unit, 0)?;
        Some((score, unit, trial))
    });
    let mut all: Vec<_> = again.collect();
    all.sort_by_key(|(score, unit, trial)| {
        let c = &trial.counts;
        let open = c.no_code + c.inconsistencies;
        (-score, open, u64::MAX - c.instructions, unit.changes.len())
    });
    let inference = |(score, unit, trial): (i64, Unit, Trial)| {
        let c = &trial.counts;
        let mut reasons = vec![format!(
            "{} messages and {} synchronisations in {} bytes, {} undecodable",
            c.packets,
            c.syncs,
            trial.len,
            c.undecodable + c.unsynchronised - c.truncated
        )];
        if bench.has_code() {
            reasons.push(format!(
                "{} instructions in the images, {} inconsistencies, {} addresses outside",
                c.instructions, c.inconsistencies, c.no_code
            ));
        }
        // Where the program is not followed, it does not distinguish the profiles.
        let unconfirmed = c.instructions < c.packets;
        Inference {
            protocol: AnyProtocol::Etrace,
            setting: unit.setting(),
            score,
            reasons,
            a64: false,
            t32: false,
            start: 0,
            read: (trial.read() * 1000 / trial.len.max(1)) as i64,
            unconfirmed,
            counts: *c,
        }
    };
    all.into_iter().map(inference).collect()
}

/// The score of a unit whose messages the first bytes can be.
const LEAST_SCORE: i64 = 700;

/// Units of which a longer part is decoded.
const MAX_TRIED: usize = 64;
