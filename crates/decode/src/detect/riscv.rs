//! The profile, version and widths of unframed E-Trace messages, and what the detection of all
//! RISC-V messages has in common.

use tracewright_protocols::etrace::Params;
use tracewright_protocols::etrace::config::{PARAMETERS, Profile, Version, units};
use tracewright_protocols::registry::{AnyConfig, AnyProtocol};

use super::configs::Setting;
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

/// A unit of E-Trace that is tried.
#[derive(Clone, Copy)]
struct Tried {
    version: Version,
    profile: Profile,
    rv64: bool,
    changes: &'static [(&'static str, u64)],
    aligned: bool,
}

impl Tried {
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
    let run = |bench: &Bench, part: &[u8], unit: &Tried, least: i64| -> Option<(i64, Trial)> {
        let trial = bench.run_for(part, &AnyConfig::Etrace(unit.params()?), least)?;
        Some((trial.score(AnyProtocol::Etrace), trial))
    };
    let mut all: Vec<(i64, Tried, Trial)> = Vec::new();
    for aligned in [true, false] {
        for (version, profile) in units() {
            for rv64 in widths(bench, given, profile.is_wide()) {
                for changes in CHANGES {
                    let unit = Tried { version, profile, rv64, changes, aligned };
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
        if trial.fits() || !bench.has_code() {
            return Some((score, unit, trial));
        }
        // A program that is not the traced one speaks for no unit.
        let (alone, _) = run(&plain, part(LONG), &unit, 0)?;
        Some((score.min(alone), unit, trial))
    });
    let units = again.map(|(score, unit, trial)| Unit {
        score,
        setting: unit.setting(),
        complexity: unit.changes.len(),
        trial,
    });
    ranked(AnyProtocol::Etrace, units.collect(), bench)
}

/// The score of a unit whose messages the first bytes can be.
const LEAST_SCORE: i64 = 700;

/// Units of which a longer part is decoded.
const MAX_TRIED: usize = 64;

/// Whether the processor is RV64: what the user or a program states, else both, the usual one
/// first.
pub(super) fn widths(bench: &Bench, given: &Given<'_>, usual: bool) -> Vec<bool> {
    let known = (given.registers)("xlen").map(|xlen| xlen == 64);
    match known.or_else(|| bench.processors.rv64()) {
        Some(known) => vec![known],
        None => vec![usual, !usual],
    }
}

/// A unit with its trial.
pub(super) struct Unit {
    /// How well it explains the bytes.
    pub(super) score: i64,
    /// Its parameters.
    pub(super) setting: Setting,
    /// Of two that explain the bytes as well, the one with the lower number is assumed.
    pub(super) complexity: usize,
    /// What it made of the bytes.
    pub(super) trial: Trial,
}

/// What the bytes may be, the best first.
pub(super) fn ranked(protocol: AnyProtocol, units: Vec<Unit>, bench: &Bench) -> Vec<Inference> {
    let mut units = units;
    units.sort_by_key(|unit| {
        let c = &unit.trial.counts;
        let open = c.no_code + c.inconsistencies;
        (-unit.score, open, u64::MAX - c.instructions, unit.complexity)
    });
    let inference = |Unit { score, setting, trial, .. }: Unit| {
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
        Inference {
            protocol,
            setting,
            score,
            reasons,
            a64: false,
            t32: false,
            start: 0,
            read: (trial.read() * 1000 / trial.len.max(1)) as i64,
            // Where the program is not followed, it does not distinguish the profiles.
            unconfirmed: c.instructions < c.packets,
            foreign: None,
            counts: *c,
        }
    };
    units.into_iter().map(inference).collect()
}
