//! Switches between processes, and what is saved and restored.

use std::collections::{BTreeMap, BTreeSet};

use super::Checker;
use super::buffer::USED;
use crate::ete::registers::{all, by_name};
use crate::ete::sequence::access::Part;
use crate::ete::sequence::rules::{self, Rule};
use crate::ete::sequence::state::{ENABLE, LIMIT};

/// Registers that are read in a switch, so that they can be restored; where they are not, software
/// must have their values from elsewhere.
const CONTROLS: [&str; 3] = [ENABLE, LIMIT, "TRBMAR_EL1"];

/// Registers beside those that every switch restores, which are restored where they were saved.
const LEVELS: [&str; 6] =
    ["MDCR_EL3", "MDCR_EL2", "TRBMAR_EL1", "TRBMPAM_EL1", "TRBSR_EL2", "TRBSR_EL3"];

/// The registers that each program of an ETE writes. (Arm ARM Table K10-3; DDI 0601, TRCRSR)
const MINIMAL: &[&str] = &[
    "TRCCONFIGR",
    "TRCEVENTCTL0R",
    "TRCEVENTCTL1R",
    "TRCRSR",
    "TRCSTALLCTLR",
    "TRCSYNCPR",
    "TRCTRACEIDR",
    "TRCTSCTLR",
    "TRCVICTLR",
    "TRCVIIECTLR",
    "TRCVISSCTLR",
];

/// The fewest registers that are taken to be a saved state.
pub(super) const STATE: usize = 8;

/// The registers with known values that were saved.
pub(super) type Saved = BTreeMap<String, u64>;

impl Checker<'_> {
    /// A register of address translation is written.
    pub(super) fn translation(&mut self, value: u64) {
        let next = self.later().find_map(|(part, on)| match part {
            Part::BufferEnable | Part::SinkEnable => Some(on),
            _ => None,
        });
        // Where nothing before has the enable of the buffer: what comes next, or what is read.
        let left = next == Some(false) && self.machine.enabled == Some(false);
        let used = self.machine.sink.unwrap_or(left || self.episode.buffer_read);
        if used {
            self.broken(&rules::TRANSLATION_ENABLED);
        } else if self.sink_off_dirty {
            self.broken(&rules::SINK_UNSYNCHRONISED);
        }
        self.dirty = true;
        let name = self.name();
        if name.starts_with("TTBR0_EL") {
            self.save_process();
            self.tables = Some(value);
        }
        let episode = &mut self.episode;
        (episode.filter_saved, episode.filter_cleared) = (false, false);
        episode.switched_in |= !episode.written.is_empty();
        episode.switched = true;
    }

    /// What was saved belongs to the process that is switched out.
    fn save_process(&mut self) {
        self.saved_all();
        let saved = std::mem::take(&mut self.episode.saved).into_iter();
        let Some(tables) = self.tables else { return };
        let saved = saved.filter_map(|(name, read)| Some((name, read.value?)));
        let saved: Saved = saved.collect();
        if saved.len() < STATE {
            return;
        }
        // An exception handler saves the state of the routine that it interrupts.
        let interrupted = self.outer.last_mut().filter(|outer| outer.tables == Some(tables));
        match interrupted {
            Some(outer) if outer.saved.is_empty() => outer.saved = saved,
            _ => {
                self.processes.insert(tables, saved);
            }
        }
    }

    /// What was saved for the process that executes.
    fn saved(&self) -> Option<&Saved> {
        let interrupted = self.outer.last().filter(|outer| outer.tables == self.tables);
        let interrupted = interrupted.map(|outer| &outer.saved).filter(|saved| !saved.is_empty());
        interrupted.or_else(|| self.processes.get(&self.tables?))
    }

    /// The unit is enabled: the registers that must have been written.
    pub(super) fn missing(&mut self) {
        // A program with one register at least; a unit may be enabled again as it is.
        if self.episode.written.is_empty() {
            return;
        }
        if self.restores() {
            let written: BTreeSet<String> = self.episode.written.keys().cloned().collect();
            self.incomplete(&rules::RESTORE_INCOMPLETE, &written, true);
            self.levels_restored();
            return;
        }
        for name in MINIMAL {
            let named = by_name(name).filter(|named| self.unit.has(*named));
            if named.is_some() && !self.episode.written.contains_key(*name) {
                self.broken_by(&rules::UNPROGRAMMED, Some((*name).to_owned()));
            }
        }
    }

    /// Whether the registers that were written are a restored state, and not a program: address
    /// translation changed after the first of them, or they are more than three quarters of the
    /// state.
    pub(super) fn restores(&self) -> bool {
        let state = all().filter(|named| self.unit.saves(*named)).count();
        self.episode.switched_in || self.episode.written.len() > state / 4 * 3
    }

    /// Reports what was saved of the levels and is not restored.
    fn levels_restored(&mut self) {
        for name in LEVELS {
            let needed = name == "TRBMAR_EL1" && self.episode.switched && self.uses_buffer;
            if (needed || self.saved_levels.contains(name))
                && !self.episode.buffer_written.contains(name)
                && !self.episode.written.contains_key(name)
            {
                self.broken_by(&rules::CONTROL_NOT_RESTORED, Some(name.to_owned()));
            }
        }
    }

    /// TRFCR_EL1 as it was saved for the process that executes.
    pub(super) fn saved_filter(&self) -> Option<u64> {
        self.saved()?.get("TRFCR_EL1").copied()
    }

    /// A register is restored after the process is known: compares it with what was saved.
    pub(super) fn compare_restored(&mut self, name: &str, value: u64) {
        let saved = self.saved().and_then(|saved| saved.get(name));
        if self.episode.switched && saved.is_some_and(|saved| *saved != value) {
            self.broken_by(&rules::RESTORED_OTHERWISE, Some(name.to_owned()));
        }
    }

    /// Compares the registers that were restored before the process was known with what was saved.
    pub(super) fn compare_written(&mut self) {
        let Some(saved) = self.saved() else { return };
        let episode = &self.episode;
        if !episode.switched || !self.restores() {
            return;
        }
        let unit = episode.written.iter().filter(|(name, written)| {
            written.value.zip(saved.get(*name)).is_some_and(|(value, saved)| value != *saved)
        });
        let unit = unit.map(|(name, written)| (name.clone(), written.at));
        // A register of the buffer that is not written has the value of the other process.
        let buffer = saved.iter().filter_map(|(name, saved)| {
            let value = self.buffer.values.get(name).or_else(|| self.values.get(name))?;
            (value != *saved).then_some(name)
        });
        let (written, missing): (Vec<_>, Vec<_>) =
            buffer.cloned().partition(|name| episode.buffer_written.contains(name));
        let written = written.into_iter().filter(|name| name != LIMIT);
        let buffer = written.map(|name| (name, self.at));
        let filter = saved.get("TRFCR_EL1").zip(self.machine.filter);
        let filter = filter.filter(|(saved, filter)| *saved != filter);
        let filter = filter.map(|_| ("TRFCR_EL1".to_owned(), self.at));
        let differ: Vec<(String, usize)> = unit.chain(buffer).chain(filter).collect();
        for (name, at) in differ {
            let here = std::mem::replace(&mut self.at, at);
            self.broken_by(&rules::RESTORED_OTHERWISE, Some(name));
            self.at = here;
        }
        for name in missing {
            self.broken_by(&rules::CONTROL_NOT_RESTORED, Some(name));
        }
    }

    /// The state that was saved so far is complete, or something is missing.
    pub(super) fn saved_all(&mut self) {
        let unit = |name: &str| by_name(name).is_some();
        let read =
            self.episode.saved.iter().filter(|(name, _)| unit(name)).map(|(_, read)| read.at);
        let reads: Vec<usize> = read.collect();
        if reads.len() < STATE || std::mem::replace(&mut self.episode.saved_checked, true) {
            return;
        }
        let last = reads.into_iter().max().unwrap_or(self.at);
        let at = std::mem::replace(&mut self.at, last);
        let names: BTreeSet<String> = self.episode.saved.keys().cloned().collect();
        let switch = self.episode.buffer_left || self.episode.buffer_read;
        self.incomplete(&rules::SAVE_INCOMPLETE, &names, switch);
        if switch {
            let lacks = |name: &&&str| !names.contains(**name);
            for name in USED.iter().filter(lacks) {
                self.broken_by(&rules::SAVE_INCOMPLETE, Some((*name).to_owned()));
            }
            let filter = names.iter().any(|name| name.starts_with("TRFCR_EL"));
            let filter = (!filter && !self.episode.filter_cleared).then_some(&"TRFCR_EL1");
            let lost = self.episode.lost.clone();
            let controls = CONTROLS.iter().filter(|name| lacks(name) || lost.contains(*name));
            for name in controls.chain(filter) {
                self.broken_by(&rules::CONTROL_NOT_SAVED, Some((*name).to_owned()));
            }
            self.saved_levels.extend(LEVELS.into_iter().filter(|name| names.contains(*name)));
        }
        self.at = at;
    }

    /// Reports each register of the state that is not among `names`; in a switch of processes
    /// TRCPRGCTLR is not of them.
    fn incomplete(&mut self, rule: &Rule, names: &BTreeSet<String>, switch: bool) {
        let state = all().filter(|named| self.unit.saves(*named)).map(|named| named.to_string());
        let missing = state.filter(|name| !(names.contains(name) || switch && name == ENABLE));
        for name in missing.collect::<Vec<_>>() {
            self.broken_by(rule, Some(name));
        }
    }

    /// A register is written while the OS Lock is locked: after power has returned, or again.
    pub(super) fn compare_power(&mut self, name: &str, value: u64) {
        if !self.episode.saved.is_empty() {
            self.saved_all();
            let saved = std::mem::take(&mut self.episode.saved).into_iter();
            self.power = saved.filter_map(|(name, read)| Some((name, read.value?))).collect();
        }
        if self.power.get(name).is_some_and(|saved| *saved != value) {
            self.broken_by(&rules::RESTORED_OTHERWISE, Some(name.to_owned()));
        }
    }

    /// The restore over a power down is complete, or something is missing.
    pub(super) fn power_restored(&mut self) {
        if self.episode.written.len() < 3 {
            return;
        }
        let written: BTreeSet<String> = self.episode.written.keys().cloned().collect();
        self.incomplete(&rules::RESTORE_INCOMPLETE, &written, false);
    }
}
