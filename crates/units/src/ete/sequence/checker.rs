//! The check of a recording: a state machine that observes each access.

use std::collections::BTreeSet;

use super::access::{Part, part, shown};
use super::overview::Overview;
use super::rules::{self, Rule};
use crate::ete::implementation::Implementation;
use crate::ete::registers::{Named, all, by_name};
use crate::finding::Finding;
use crate::program::{Barrier, BusAccess, BusKind};

/// What is wrong with `accesses` of `unit`, in their order. Rules about barriers apply to an ETE,
/// whose registers are System registers; the memory-mapped registers of an ETMv4 are Device memory.
pub fn check(unit: &Implementation, accesses: &[BusAccess]) -> Vec<Finding> {
    let parts: Vec<Part> = accesses.iter().map(|access| part(&access.register)).collect();
    let mut checker = Checker::new(unit, accesses, &parts);
    for (n, (access, part)) in accesses.iter().zip(&parts).enumerate() {
        checker.at = n;
        match access.kind {
            BusKind::Barrier(barrier) => checker.barrier(barrier),
            BusKind::Write => checker.write(*part, access.value.unwrap_or(0)),
            BusKind::Read => checker.read(*part, access.value),
        }
    }
    checker.at = accesses.len();
    checker.end();
    checker.findings
}

/// How far the end of tracing has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum End {
    /// A register is written.
    Written,
    /// A context synchronization event followed.
    Synchronised,
    /// TSB CSYNC followed.
    Flushed,
}

/// The change of state that TRCSTATR has to show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Await {
    Running,
    Stopped,
}

struct Checker<'a> {
    unit: &'a Implementation,
    accesses: &'a [BusAccess],
    overview: Overview,
    /// Number of the current access.
    at: usize,
    findings: Vec<Finding>,
    /// Barriers order the accesses: they are System register accesses.
    system: bool,
    /// TRCPRGCTLR.EN as it was written last.
    enabled: Option<bool>,
    /// The OS Lock as it was written last.
    locked: Option<bool>,
    awaited: Option<Await>,
    /// IDLE and PMSTABLE were read as 1 since the unit was stopped.
    idle: bool,
    stable: bool,
    /// The OS Lock was locked, and IDLE was not read as 1 since.
    lock_awaited: bool,
    /// A register was written since the last context synchronization event.
    dirty: bool,
    /// TRCPRGCTLR or the OS Lock was written since then.
    control_dirty: bool,
    /// The OS Lock was unlocked since then.
    unlock_dirty: bool,
    /// TRCSTATR was read since then.
    status_read: bool,
    /// TRFCR prohibits tracing.
    prohibited: Option<End>,
    /// TRFCR was read before, and has not been restored.
    filter_saved: bool,
    filter_cleared: bool,
    filter_written: bool,
    /// The unit was disabled while tracing was permitted.
    disabled: Option<End>,
    /// TSB CSYNC was executed while tracing was permitted.
    flushed_early: bool,
    /// The trace buffer or sink is enabled.
    sink: Option<bool>,
    sink_off_dirty: bool,
    /// TSB CSYNC, then DSB, then a context synchronization event.
    tsb: bool,
    dsb: bool,
    current: bool,
    /// Registers written since the unit was disabled, and registers read while it was stopped.
    written: BTreeSet<String>,
    saved: BTreeSet<String>,
    /// Registers of the trace buffer that were written, with their values.
    buffer: Vec<(String, u64)>,
}

impl<'a> Checker<'a> {
    fn new(unit: &'a Implementation, accesses: &'a [BusAccess], parts: &[Part]) -> Self {
        let overview = Overview::new(accesses, parts);
        Checker {
            unit,
            accesses,
            overview,
            at: 0,
            findings: Vec::new(),
            system: unit.version.is_ete(),
            enabled: None,
            locked: overview.unlock.map(|_| true),
            awaited: None,
            idle: false,
            stable: false,
            lock_awaited: false,
            dirty: false,
            control_dirty: false,
            unlock_dirty: false,
            status_read: false,
            prohibited: None,
            filter_saved: false,
            filter_cleared: false,
            filter_written: false,
            disabled: None,
            flushed_early: false,
            sink: None,
            sink_off_dirty: false,
            tsb: false,
            dsb: false,
            current: false,
            written: BTreeSet::new(),
            saved: BTreeSet::new(),
            buffer: Vec::new(),
        }
    }

    fn broken(&mut self, rule: &Rule) {
        self.broken_by(rule, None);
    }

    fn broken_by(&mut self, rule: &Rule, detail: Option<String>) {
        let at = match self.accesses.get(self.at) {
            None => "at the end".to_owned(),
            Some(access) => {
                let place = match access.line {
                    0 => format!("access {}", self.at + 1),
                    line => format!("line {line}"),
                };
                match access.kind {
                    BusKind::Barrier(barrier) => format!("{place}, {}", barrier.instruction()),
                    BusKind::Write => format!("{place}, write of {}", shown(&access.register)),
                    BusKind::Read => format!("{place}, read of {}", shown(&access.register)),
                }
            }
        };
        self.findings.push(rule.broken(at, detail));
    }

    fn name(&self) -> String {
        self.accesses.get(self.at).map(|access| shown(&access.register)).unwrap_or_default()
    }

    fn barrier(&mut self, barrier: Barrier) {
        match barrier {
            Barrier::Isb => {
                self.dirty = false;
                self.control_dirty = false;
                self.unlock_dirty = false;
                self.status_read = false;
                self.sink_off_dirty = false;
                for end in [&mut self.prohibited, &mut self.disabled].into_iter().flatten() {
                    *end = (*end).max(End::Synchronised);
                }
                self.current = self.dsb;
            }
            Barrier::Tsb => {
                if self.prohibited == Some(End::Written) || self.disabled == Some(End::Written) {
                    self.broken(&rules::PROHIBIT_UNSYNCHRONISED);
                }
                if self.prohibited.is_none() && self.disabled.is_none() {
                    self.flushed_early = self.enabled != Some(false);
                }
                for end in [&mut self.prohibited, &mut self.disabled].into_iter().flatten() {
                    *end = End::Flushed;
                }
                (self.tsb, self.dsb, self.current) = (true, false, false);
            }
            Barrier::Dsb => (self.dsb, self.current) = (self.tsb, false),
        }
    }

    fn write(&mut self, part: Part, value: u64) {
        let bit = value & 1 != 0;
        match part {
            Part::Enable if self.locked == Some(true) => {
                self.enabled = Some(bit);
                self.written.insert("TRCPRGCTLR".to_owned());
                self.dirty = true;
            }
            Part::Enable if bit => self.enable(),
            Part::Enable => self.disable(),
            Part::OsLock if bit => self.lock(),
            Part::OsLock => self.unlock(),
            Part::Unit(named) => self.program(named),
            Part::Filter => self.filter(value),
            Part::BufferEnable if bit => self.buffer_on(value),
            Part::BufferEnable => self.buffer_off(),
            Part::SinkEnable => {
                if !bit && self.stops_later() {
                    self.broken(&rules::SINK_FIRST);
                }
                self.sink = Some(bit);
            }
            Part::Buffer => {
                if self.sink == Some(true) {
                    self.broken(&rules::BUFFER_ENABLED);
                }
                self.dirty = true;
                let name = self.name();
                self.buffer.push((name, value));
            }
            Part::Translation => {
                let used = self.sink == Some(true)
                    || self.sink.is_none()
                        && (self.overview.last_sink_off.is_some()
                            || self.overview.buffer && self.overview.last_sink.is_none());
                if used {
                    self.broken(&rules::TRANSLATION_ENABLED);
                } else if self.sink_off_dirty {
                    self.broken(&rules::SINK_UNSYNCHRONISED);
                }
                self.dirty = true;
            }
            Part::Contents | Part::Status | Part::Management | Part::Other => {}
        }
    }

    /// The unit is enabled, or may be and is disabled later, with the sink as it is.
    fn stops_later(&self) -> bool {
        let later = self.accesses.get(self.at + 1..).unwrap_or_default();
        let next = later.iter().filter(|access| access.kind == BusKind::Write).find_map(|access| {
            let bit = access.value.unwrap_or(0) & 1 != 0;
            match part(&access.register) {
                Part::Enable => Some(!bit),
                Part::BufferEnable | Part::SinkEnable if bit => Some(false),
                _ => None,
            }
        });
        self.enabled.unwrap_or(next == Some(true))
    }

    fn enable(&mut self) {
        if self.dirty && self.system {
            self.broken(&rules::ENABLE_UNSYNCHRONISED);
        }
        self.missing();
        let later = self.overview.last_sink.is_some_and(|last| last > self.at);
        if self.sink == Some(false) || self.sink.is_none() && later {
            self.broken(&rules::SINK_LAST);
        }
        if self.overview.switch && !self.filter_written && self.overview.buffer {
            self.broken(&rules::FILTER_NOT_RESTORED);
        }
        let trigger = self.accesses.get(..self.at).unwrap_or_default().iter().any(|access| {
            shown(&access.register) == "TRCEVENTCTL1R" && access.value.unwrap_or(0) >> 11 & 1 != 0
        });
        if trigger && self.watermark() {
            self.broken(&rules::WATERMARK_TRIGGER);
        }
        self.enabled = Some(true);
        self.awaited = Some(Await::Running);
        self.control_dirty = true;
        (self.idle, self.stable) = (false, false);
        (self.disabled, self.flushed_early) = (None, false);
        self.written.clear();
    }

    /// The trigger counter makes an interrupt at a watermark.
    fn watermark(&self) -> bool {
        let value = |name: &str| {
            self.buffer.iter().rev().find(|(known, _)| known == name).map_or(0, |(_, v)| *v)
        };
        value("TRBTRG_EL1") != 0 && value("TRBSR_EL1") >> 21 & 1 != 0
    }

    /// The registers that are missing before the unit is enabled.
    fn missing(&mut self) {
        // A program with one register at least; a unit may be enabled again as it is.
        if self.written.is_empty() {
            return;
        }
        if self.overview.switch {
            self.incomplete(&rules::RESTORE_INCOMPLETE, true);
            return;
        }
        for name in MINIMAL {
            let named = by_name(name).filter(|named| self.unit.has(*named));
            if named.is_some() && !self.written.contains(*name) {
                self.broken_by(&rules::UNPROGRAMMED, Some((*name).to_owned()));
            }
        }
    }

    /// Reports each register of the state that is not among those written or saved.
    fn incomplete(&mut self, rule: &Rule, written: bool) {
        let state: Vec<String> = all()
            .filter(|named| self.unit.saves(*named))
            .map(|named| named.to_string())
            .filter(|name| !(self.overview.switch && name == "TRCPRGCTLR"))
            .collect();
        for name in state {
            let set = if written { &self.written } else { &self.saved };
            if !set.contains(&name) {
                self.broken_by(rule, Some(name));
            }
        }
    }

    /// Checks that tracing has ended before the unit stops.
    fn stops(&mut self) {
        match self.prohibited {
            Some(End::Written | End::Synchronised) if self.system => {
                self.broken(&rules::NOT_FLUSHED);
            }
            None if self.flushed_early => self.broken(&rules::NOT_PROHIBITED),
            _ => {}
        }
        if self.filter_cleared && !self.filter_saved {
            self.broken(&rules::FILTER_NOT_SAVED);
        }
    }

    fn disable(&mut self) {
        if self.enabled != Some(false) {
            self.stops();
            if self.prohibited.is_none() && !self.flushed_early {
                if self.system && self.enabled == Some(true) {
                    self.broken(&rules::LAST_LOST);
                }
                self.disabled = Some(End::Written);
            }
        }
        if self.enabled == Some(true) && self.awaited == Some(Await::Running) {
            self.broken(&rules::ENABLE_NOT_AWAITED);
        }
        self.enabled = Some(false);
        self.awaited = Some(Await::Stopped);
        self.control_dirty = true;
        (self.idle, self.stable) = (false, false);
        self.written.clear();
    }

    fn lock(&mut self) {
        if self.enabled != Some(false) {
            self.stops();
            if self.prohibited.is_none() && self.enabled == Some(true) && self.system {
                self.broken(&rules::NOT_PROHIBITED);
            }
        }
        self.locked = Some(true);
        self.lock_awaited = true;
        self.control_dirty = true;
        (self.idle, self.stable) = (false, false);
    }

    fn unlock(&mut self) {
        if self.locked == Some(true) && self.written.len() >= 3 {
            self.incomplete(&rules::RESTORE_INCOMPLETE, true);
            self.written.clear();
        }
        self.locked = Some(false);
        self.lock_awaited = false;
        self.unlock_dirty = true;
        self.control_dirty = true;
    }

    fn program(&mut self, named: Named) {
        if self.locked != Some(true) {
            if self.enabled == Some(true) {
                self.broken(&rules::PROGRAMMED_ENABLED);
            } else if self.awaited == Some(Await::Stopped) && !self.idle {
                self.broken(&rules::NOT_IDLE);
            }
        }
        self.dirty = true;
        self.written.insert(named.to_string());
    }

    fn filter(&mut self, value: u64) {
        self.dirty = true;
        if value & 3 == 0 {
            self.prohibited = Some(End::Written);
            self.filter_cleared = true;
            return;
        }
        if self.prohibited.is_some() {
            let stopped = match self.awaited {
                Some(Await::Stopped) => self.idle && self.stable,
                _ if self.lock_awaited => self.stable,
                _ => true,
            };
            let switched = self.overview.switch && self.sink == Some(false);
            if !stopped && !switched {
                self.broken(&rules::FILTER_EARLY);
            }
        }
        self.prohibited = None;
        self.filter_cleared = false;
        self.filter_written = true;
    }

    fn buffer_on(&mut self, value: u64) {
        if self.dirty {
            self.broken(&rules::BUFFER_UNSYNCHRONISED);
        }
        if self.enabled == Some(true) && self.sink != Some(true) {
            self.broken(&rules::SINK_LAST);
        }
        if self.sink == Some(true) {
            self.broken(&rules::BUFFER_ENABLED);
        }
        let value_of = |name: &str| {
            self.buffer.iter().rev().find(|(known, _)| known == name).map(|(_, value)| *value)
        };
        let (base, pointer) = (value_of("TRBBASER_EL1"), value_of("TRBPTR_EL1"));
        let (count, status) = (value_of("TRBTRG_EL1"), value_of("TRBSR_EL1"));
        let missing: Vec<&str> = ["TRBBASER_EL1", "TRBPTR_EL1", "TRBSR_EL1", "TRBTRG_EL1"]
            .into_iter()
            .filter(|name| value_of(name).is_none())
            .filter(|name| *name != "TRBTRG_EL1" || value >> 3 & 3 != 3 || self.overview.switch)
            .collect();
        if !self.buffer.is_empty() {
            for name in missing {
                self.broken_by(&rules::BUFFER_UNPROGRAMMED, Some(name.to_owned()));
            }
        }
        if let (Some(base), Some(pointer)) = (base, pointer)
            && !(base <= pointer && pointer < value & !0xfff)
        {
            self.broken_by(&rules::POINTER_OUTSIDE, Some(format!("{pointer:#x}")));
        }
        let armed = status.unwrap_or(0) >> 21 & 1 != 0;
        if value >> 3 & 3 == 1 && count.unwrap_or(0) != 0 && !armed {
            self.broken(&rules::WATERMARK_UNARMED);
        }
        self.sink = Some(true);
    }

    fn buffer_off(&mut self) {
        if self.stops_later() {
            self.broken(&rules::SINK_FIRST);
        } else if self.enabled == Some(false)
            && self.prohibited.or(self.disabled).is_some_and(|end| end != End::Flushed)
        {
            self.broken(&rules::NOT_FLUSHED);
        }
        self.sink = Some(false);
        self.sink_off_dirty = true;
        self.dirty = true;
    }

    fn read(&mut self, part: Part, value: Option<u64>) {
        match part {
            Part::Status => self.status(value),
            Part::Enable if self.locked == Some(true) => self.save(),
            Part::Unit(named) if named.row.saved => self.save(),
            Part::Filter => {
                self.filter_saved |= !self.filter_cleared;
                // Tracing is prohibited where the software executes, at EL1.
                if value.is_some_and(|value| value & 2 == 0) && self.prohibited.is_none() {
                    self.prohibited = Some(End::Written);
                }
            }
            Part::Contents if self.sink != Some(true) && !self.dsb => {
                self.broken(&rules::CONTENTS_INCOMPLETE);
            }
            Part::Buffer => {
                let name = self.name();
                let reported = matches!(name.as_str(), "TRBPTR_EL1" | "TRBSR_EL1");
                if reported && (self.tsb && !self.current || self.sink_off_dirty) {
                    self.broken(&rules::STATUS_STALE);
                }
                self.saved.insert(name);
            }
            _ => {}
        }
    }

    fn status(&mut self, value: Option<u64>) {
        if self.system {
            if self.control_dirty {
                self.broken(&rules::STATUS_UNSYNCHRONISED);
            } else if self.status_read {
                self.broken(&rules::POLL_UNSYNCHRONISED);
            }
        }
        self.status_read = true;
        let running = self.awaited == Some(Await::Running) && self.locked != Some(true);
        let value = value.unwrap_or(if running { 0 } else { 3 });
        if running {
            if value & 1 == 0 {
                self.awaited = None;
            }
            return;
        }
        let stopped = self.locked == Some(true) || self.enabled == Some(false);
        if value & 1 == 0 && !self.written.is_empty() && !stopped {
            self.broken(&rules::NOT_ENABLED);
        } else if value & 3 != 0 && self.prohibited == Some(End::Flushed) && !stopped {
            self.broken(&rules::NOT_DISABLED);
        }
        self.idle |= value & 1 != 0;
        self.stable |= value & 2 != 0;
        self.lock_awaited &= !self.idle;
    }

    /// A register of the state of the unit is read.
    fn save(&mut self) {
        let name = self.name();
        let locked = self.locked == Some(true);
        let stopping = self.awaited == Some(Await::Stopped);
        if !self.stable && !self.idle {
            let switched = self.sink == Some(false) && !self.sink_off_dirty;
            if locked && self.enabled != Some(false) || stopping && !switched {
                self.broken(&rules::READ_UNSTABLE);
            } else if (self.prohibited.is_some() || self.flushed_early)
                && self.enabled != Some(false)
                && !locked
                || self.enabled == Some(true) && !locked
            {
                self.broken(&rules::SAVED_ENABLED);
            }
        }
        self.saved.insert(name);
    }

    fn end(&mut self) {
        let switch = self.overview.switch;
        match self.awaited {
            Some(Await::Running) if switch && self.control_dirty => {
                self.broken(&rules::ENABLE_END);
            }
            Some(Await::Running) if !switch => self.broken(&rules::ENABLE_NOT_AWAITED),
            Some(Await::Stopped) if !(switch || self.idle && self.stable) => {
                self.broken(&rules::DISABLE_NOT_AWAITED);
            }
            _ => {}
        }
        if self.disabled.is_some_and(|end| end != End::Flushed) && self.overview.buffer {
            self.broken(&rules::NOT_FLUSHED);
        }
        if self.lock_awaited {
            self.broken(&rules::SAVE_NOT_IDLE);
        }
        if self.unlock_dirty && self.system {
            self.broken(&rules::UNLOCK_UNSYNCHRONISED);
        }
        if self.sink_off_dirty {
            self.broken(&rules::SINK_UNSYNCHRONISED);
        }
        if self.filter_saved && self.filter_cleared && !switch {
            self.broken(&rules::FILTER_NOT_RESTORED);
        }
        if self.saved.len() >= 8 {
            self.incomplete(&rules::SAVE_INCOMPLETE, false);
            let buffer = ["TRBPTR_EL1", "TRBSR_EL1", "TRBBASER_EL1", "TRBTRG_EL1"];
            for name in buffer.into_iter().filter(|_| switch) {
                if !self.saved.contains(name) {
                    self.broken_by(&rules::SAVE_INCOMPLETE, Some(name.to_owned()));
                }
            }
        }
        let restored = !self.written.is_empty() && self.locked != Some(true);
        if switch && restored && self.sink == Some(true) && self.enabled.is_none() {
            self.broken(&rules::NOT_ENABLED);
        }
    }
}

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
