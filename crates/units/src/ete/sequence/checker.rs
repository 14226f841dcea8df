//! The check of a recording: a state machine that observes each access.

mod buffer;
mod switch;
mod tracing;

use std::collections::{BTreeMap, BTreeSet};

use self::buffer::TraceBuffer;
use self::switch::{STATE, Saved};
use super::access::{Part, exists, part, shown};
use super::episode::{Accessed, Await, End, Episode, Machine, Quiet};
use super::rules::{self, Rule};
use super::state::ENABLE;
use crate::ete::implementation::Implementation;
use crate::ete::registers::Named;
use crate::finding::Finding;
use crate::program::{Barrier, BusAccess, BusKind};
use crate::values::Values;

/// What is wrong with `accesses` of `unit`, in their order. Rules about barriers apply to an ETE,
/// whose registers are System registers; the memory-mapped registers of an ETMv4 are Device memory.
pub fn check(unit: &Implementation, accesses: &[BusAccess]) -> Vec<Finding> {
    let parts: Vec<Part> = accesses.iter().map(|access| part(&access.register)).collect();
    let mut checker = Checker::new(unit, accesses, &parts);
    for (n, (access, part)) in accesses.iter().zip(&parts).enumerate() {
        checker.at = n;
        if matches!(access.kind, BusKind::Write | BusKind::Read) && !exists(unit, &access.register)
        {
            checker.broken_by(&rules::UNKNOWN_REGISTER, Some(unit.name.to_owned()));
            continue;
        }
        match access.kind {
            BusKind::Barrier(barrier) => checker.barrier(barrier),
            BusKind::Write => checker.write(*part, access.value.unwrap_or(0)),
            BusKind::Read => checker.read(*part, access.value),
            BusKind::Exception(level) => checker.exception(level),
            BusKind::Return(level) => checker.exception_return(level),
        }
    }
    checker.at = accesses.len();
    checker.end();
    checker.findings
}

/// The reads of IDLE as 1 with which software waits in vain for a unit that it programmed.
const IDLE_READS: u8 = 3;

/// The routine that an exception interrupts.
struct Outer {
    level: u8,
    machine: Machine,
    episode: Episode,
    /// The process that executed.
    pub tables: Option<u64>,
    /// What the handler saved of it.
    pub saved: Saved,
}

struct Checker<'a> {
    pub unit: &'a Implementation,
    accesses: &'a [BusAccess],
    /// The part of each access.
    parts: &'a [Part],
    /// Number of the current access.
    pub at: usize,
    findings: Vec<Finding>,
    /// Barriers order the accesses: they are System register accesses.
    system: bool,
    pub machine: Machine,
    pub episode: Episode,
    /// The routines that exceptions interrupted, the innermost last.
    pub outer: Vec<Outer>,
    /// The Exception level at which the software executes.
    pub level: u8,
    /// A register was written since the last context synchronization event.
    pub dirty: bool,
    /// TRCPRGCTLR or the OS Lock was written since then.
    control_dirty: bool,
    /// The OS Lock was unlocked since then.
    unlock_dirty: bool,
    /// TRCSTATR was read since then.
    status_read: bool,
    /// The trace buffer was disabled since then.
    pub sink_off_dirty: bool,
    pub buffer: TraceBuffer,
    /// The registers of higher levels with known values.
    pub values: Values,
    /// TRCEVENTCTL1R.ATB as it was written last.
    triggers: bool,
    /// TTBR0 as it was written last: the process that executes.
    pub tables: Option<u64>,
    /// What was saved for each process, by its TTBR0.
    pub processes: BTreeMap<u64, Saved>,
    /// The values that were saved while the OS Lock was locked.
    pub power: Saved,
    /// Registers of higher levels that were saved with a process.
    pub saved_levels: BTreeSet<&'static str>,
    /// A register of the trace buffer was accessed.
    pub uses_buffer: bool,
    /// The recording has TRFCR_EL1 or TRFCR_EL12.
    filters_el1: bool,
}

impl<'a> Checker<'a> {
    fn new(unit: &'a Implementation, accesses: &'a [BusAccess], parts: &'a [Part]) -> Self {
        let locked = unlocks_first(accesses, parts).then_some(true);
        let filters_el1 = accesses
            .iter()
            .zip(parts)
            .any(|(access, part)| *part == Part::Filter && shown(&access.register) != "TRFCR_EL2");
        Checker {
            unit,
            accesses,
            parts,
            at: 0,
            findings: Vec::new(),
            system: unit.version.is_ete(),
            machine: Machine { locked, ..Machine::default() },
            episode: Episode::default(),
            outer: Vec::new(),
            level: 1,
            dirty: false,
            control_dirty: false,
            unlock_dirty: false,
            status_read: false,
            sink_off_dirty: false,
            buffer: TraceBuffer::default(),
            values: Values::default(),
            triggers: false,
            tables: None,
            processes: BTreeMap::new(),
            power: Saved::new(),
            saved_levels: BTreeSet::new(),
            uses_buffer: false,
            filters_el1,
        }
    }

    pub fn broken(&mut self, rule: &Rule) {
        self.broken_by(rule, None);
    }

    pub fn broken_by(&mut self, rule: &Rule, detail: Option<String>) {
        self.findings.push(rule.broken(self.place(), detail));
    }

    /// A finding about values at the current access.
    pub fn found(&mut self, finding: Finding) {
        let at = format!("{}, {}", self.place(), finding.at);
        self.findings.push(Finding { at, ..finding });
    }

    /// The current access.
    fn place(&self) -> String {
        let Some(access) = self.accesses.get(self.at) else { return "at the end".to_owned() };
        let place = match access.line {
            0 => format!("access {}", self.at + 1),
            line => format!("line {line}"),
        };
        match access.kind {
            BusKind::Barrier(barrier) => format!("{place}, {}", barrier.instruction()),
            BusKind::Write => format!("{place}, write of {}", shown(&access.register)),
            BusKind::Read => format!("{place}, read of {}", shown(&access.register)),
            BusKind::Exception(level) => format!("{place}, exception to EL{level}"),
            BusKind::Return(level) => format!("{place}, exception return to EL{level}"),
        }
    }

    pub fn name(&self) -> String {
        self.accesses.get(self.at).map(|access| shown(&access.register)).unwrap_or_default()
    }

    fn barrier(&mut self, barrier: Barrier) {
        match barrier {
            Barrier::Isb => self.synchronise(),
            Barrier::Tsb => self.trace_barrier(),
            Barrier::Dsb => {
                (self.episode.dsb, self.episode.current) = (self.episode.tsb, false);
            }
        }
    }

    /// A context synchronization event.
    fn synchronise(&mut self) {
        self.dirty = false;
        self.control_dirty = false;
        self.unlock_dirty = false;
        self.status_read = false;
        self.sink_off_dirty = false;
        self.buffer.model.synchronize();
        self.buffer.model.violations.clear();
        self.episode.synchronise();
    }

    /// An exception is taken to `level`. One that is taken in a routine interrupts it.
    fn exception(&mut self, level: u8) {
        self.synchronise();
        if self.level > 0 {
            let handler = self.episode.handler();
            let episode = std::mem::replace(&mut self.episode, handler);
            let (machine, tables) = (self.machine, self.tables);
            let saved = Saved::new();
            self.outer.push(Outer { level: self.level, machine, episode, tables, saved });
        }
        self.go(level, true);
    }

    /// An exception return to `level`. A routine that was interrupted goes on as it was.
    fn exception_return(&mut self, level: u8) {
        self.synchronise();
        if level == 0 {
            self.unlocked();
        }
        let interrupted = level > 0 && self.outer.last().is_some_and(|outer| outer.level == level);
        if !interrupted {
            return self.go(level, false);
        }
        self.complete();
        let Some(outer) = self.outer.pop() else { return };
        let mut changes = outer.machine.changes(&self.machine);
        let tables = outer.tables.zip(self.tables);
        changes.extend(tables.filter(|(a, b)| a != b).map(|_| "TTBR0"));
        if !changes.is_empty() {
            self.broken_by(&rules::HANDLER_CHANGED, Some(changes.join(", ")));
        }
        (self.machine, self.episode, self.level) = (outer.machine, outer.episode, level);
        self.tables = outer.tables.or(self.tables);
    }

    fn write(&mut self, part: Part, value: u64) {
        let bit = value & 1 != 0;
        let locked = self.machine.locked == Some(true);
        match part {
            Part::Enable if locked => {
                self.machine.enabled = Some(bit);
                self.compare_power(ENABLE, value);
                self.written(ENABLE.to_owned(), value);
                self.dirty = true;
            }
            Part::Enable if bit => self.enable(value),
            Part::Enable => self.disable(value),
            Part::OsLock if bit => self.lock(),
            Part::OsLock => self.unlock(),
            Part::Unit(named) => self.program(named, value),
            Part::Filter if self.is_filter() => self.filter(value),
            Part::BufferEnable | Part::Buffer => {
                self.uses_buffer = true;
                self.buffer_write(value);
            }
            Part::SinkEnable => {
                if !bit && self.stops_later() {
                    self.broken(&rules::SINK_FIRST);
                }
                self.machine.sink = Some(bit);
            }
            Part::Translation => self.translation(value),
            Part::Level | Part::Filter => {
                let name = self.name();
                self.values.set(&name, value);
                self.episode.buffer_written.insert(name);
            }
            Part::Contents | Part::Status | Part::Management | Part::Other => {}
        }
    }

    /// Whether the register of the current access prohibits tracing where the software executes:
    /// TRFCR_EL1, which at EL2 can be TRFCR_EL2, or TRFCR_EL2 where the recording has no other.
    fn is_filter(&self) -> bool {
        self.name() != "TRFCR_EL2" || !self.filters_el1
    }

    fn written(&mut self, name: String, value: u64) {
        let written = Accessed { value: Some(value), at: self.at };
        self.episode.written.insert(name, written);
    }

    /// The unit is enabled, or may be and is disabled later, with the sink as it is.
    pub fn stops_later(&self) -> bool {
        let next = self.later().find_map(|(part, bit)| match part {
            Part::Enable => Some(!bit),
            Part::BufferEnable | Part::SinkEnable if bit => Some(false),
            _ => None,
        });
        self.machine.enabled.unwrap_or(next == Some(true))
    }

    /// The writes after the current access, without those of handlers of exceptions in a routine:
    /// the part, and the value.
    fn later_values(&self) -> impl Iterator<Item = (Part, u64)> + use<'a> {
        let all = self.accesses.iter().zip(self.parts).skip(self.at + 1);
        let (mut handlers, mut user) = (0u32, self.level == 0);
        all.filter_map(move |(access, part)| {
            match access.kind {
                BusKind::Exception(_) if !std::mem::take(&mut user) => handlers += 1,
                BusKind::Return(0) => user = true,
                BusKind::Return(_) => handlers = handlers.saturating_sub(1),
                _ => {}
            }
            let counts = handlers == 0 && access.kind == BusKind::Write;
            counts.then(|| (*part, access.value.unwrap_or(0)))
        })
    }

    /// The writes after the current access: the part, and bit 0 of the value.
    pub fn later(&self) -> impl Iterator<Item = (Part, bool)> + use<'a> {
        self.later_values().map(|(part, value)| (part, value & 1 != 0))
    }

    fn enable(&mut self, value: u64) {
        if self.dirty && self.system {
            self.broken(&rules::ENABLE_UNSYNCHRONISED);
        }
        self.saved_all();
        if self.episode.was_enabled {
            self.unflushed();
        }
        self.episode.disabled = None;
        if self.episode.awaited == Some(Await::Stopped) && !self.episode.is_still() {
            self.broken(&rules::DISABLE_NOT_AWAITED);
        }
        self.missing();
        self.compare_written();
        self.compare_restored(ENABLE, value);
        // A sink that is enabled before the unit is disabled again.
        let mut until = self.later().take_while(|(part, _)| *part != Part::Enable);
        let later =
            until.any(|(part, bit)| matches!(part, Part::BufferEnable | Part::SinkEnable) && bit);
        // A buffer that is programmed and not enabled.
        let later = later || !self.episode.buffer_written.is_empty();
        // A process whose buffer was disabled has its trace elsewhere.
        let elsewhere = self.episode.restored_off;
        if self.machine.sink.map_or(later, |on| !on) && !elsewhere {
            self.broken(&rules::SINK_LAST);
        }
        self.permitted();
        if self.triggers && self.watermark() {
            self.broken(&rules::WATERMARK_TRIGGER);
        }
        self.machine.enabled = Some(true);
        self.control_dirty = true;
        let at = self.at;
        let episode = &mut self.episode;
        episode.enabled_in_switch = episode.switched;
        episode.awaited = Some(Await::Running);
        (episode.idle, episode.stable) = (false, false);
        episode.flushed_early = false;
        (episode.tsb, episode.dsb, episode.current) = (false, false, false);
        episode.quiet = Quiet::No;
        (episode.programmed_off, episode.idle_reads) = (false, 0);
        episode.end_switch();
        // The trace from here on is not flushed.
        episode.prohibited = episode.prohibited.map(|end| end.min(End::Synchronised));
        episode.begin(at);
    }

    /// Checks that TRFCR permits tracing somewhere when the unit is enabled, or soon.
    fn permitted(&mut self) {
        let soon = self.later_values().find_map(|(part, value)| match part {
            Part::Filter => Some(value & 3 != 0),
            Part::Enable | Part::OsLock => Some(false),
            _ => None,
        });
        let episode = &self.episode;
        let closed = match self.machine.filter {
            Some(filter) if episode.switched => {
                filter & 3 == 0 && self.saved_filter() != Some(filter)
            }
            Some(filter) => filter & 3 == 0 && episode.filter_pending(),
            None => {
                let switched = episode.switched && self.uses_buffer;
                switched && self.restores() && !episode.filter_written
            }
        };
        if closed && soon != Some(true) && self.system {
            self.broken(&rules::FILTER_NOT_RESTORED);
        }
    }

    /// Checks that tracing has ended before the unit stops.
    fn stops(&mut self) {
        let known = self.machine.enabled == Some(true);
        match self.episode.prohibited {
            Some(End::Written | End::Synchronised)
                if self.system && (known || self.episode.filter_cleared) =>
            {
                self.broken(&rules::NOT_FLUSHED);
            }
            None if self.episode.flushed_early => self.broken(match self.machine.filter {
                Some(_) => &rules::NOT_PROHIBITED,
                None => &rules::PROHIBITION_UNKNOWN,
            }),
            _ => {}
        }
        if self.episode.filter_cleared && !self.episode.filter_saved {
            self.broken(&rules::FILTER_NOT_SAVED);
        }
    }

    fn disable(&mut self, value: u64) {
        let off = self.machine.enabled == Some(false);
        self.saved_all();
        if !self.episode.written.is_empty() {
            self.compare_written();
            self.compare_restored(ENABLE, value);
            let restored = self.machine.sink == Some(true) && self.episode.tsb_since_written;
            if restored && self.machine.enabled != Some(true) {
                self.broken(&rules::NOT_ENABLED);
            }
        }
        let was_enabled = self.machine.enabled == Some(true);
        if was_enabled && self.episode.awaited == Some(Await::Running) {
            match self.episode.enabled_in_switch {
                false => self.broken(&rules::ENABLE_NOT_AWAITED),
                true if self.control_dirty => self.broken(&rules::ENABLE_END),
                true => {}
            }
        }
        let flushed = self.episode.prohibited == Some(End::Flushed);
        let programmed = !self.episode.written.is_empty() && !self.episode.switched;
        self.episode.programmed_off = programmed && !was_enabled;
        if !off {
            self.stops();
        }
        self.episode.change(ENABLE);
        let at = self.at;
        let episode = &mut self.episode;
        if !off {
            (episode.idle, episode.stable) = (false, false);
            episode.quiet = match flushed || episode.flushed_early {
                true => Quiet::Unsynchronised,
                false => Quiet::Unflushed,
            };
            episode.was_enabled = was_enabled;
            let traced = episode.prohibited.is_none() && !episode.flushed_early;
            episode.disabled = traced.then_some((End::Written, at));
            (episode.buffer_left, episode.buffer_read) = (false, false);
            episode.awaited = Some(Await::Stopped);
        }
        episode.end_switch();
        episode.begin(at);
        self.machine.enabled = Some(false);
        self.control_dirty = true;
    }

    fn lock(&mut self) {
        self.saved_all();
        if self.machine.enabled != Some(false) {
            self.stops();
            let episode = &self.episode;
            if episode.prohibited.is_none() && self.machine.enabled == Some(true) && self.system {
                self.broken(&rules::NOT_PROHIBITED);
            }
        }
        self.machine.locked = Some(true);
        self.control_dirty = true;
        let at = self.at;
        let episode = &mut self.episode;
        episode.lock_awaited = true;
        (episode.idle, episode.stable) = (false, false);
        (episode.buffer_left, episode.buffer_read) = (false, false);
        episode.begin(at);
    }

    fn unlock(&mut self) {
        if self.machine.locked == Some(true) {
            self.power_restored();
        }
        if self.machine.enabled == Some(true) && self.system {
            self.permitted();
        }
        self.machine.locked = Some(false);
        self.unlock_dirty = true;
        self.control_dirty = true;
        self.power.clear();
        let at = self.at;
        let episode = &mut self.episode;
        episode.lock_awaited = false;
        // Trace may be generated again.
        episode.prohibited = episode.prohibited.map(|end| end.min(End::Synchronised));
        if self.machine.enabled == Some(true) {
            episode.quiet = Quiet::No;
            (episode.idle, episode.stable) = (false, false);
        }
        episode.begin(at);
    }

    fn program(&mut self, named: Named, value: u64) {
        let name = named.to_string();
        if self.machine.locked == Some(true) {
            self.compare_power(&name, value);
        } else {
            self.saved_all();
            if self.machine.enabled == Some(true) {
                self.broken(&rules::PROGRAMMED_ENABLED);
            } else if self.episode.awaited == Some(Await::Stopped) && !self.episode.is_still() {
                self.broken(&rules::NOT_IDLE);
            }
            self.compare_restored(&name, value);
        }
        if named.row.register.name == "TRCEVENTCTL1R" {
            self.triggers = value >> 11 & 1 != 0;
        }
        self.dirty = true;
        self.episode.tsb_since_written &= !self.episode.written.is_empty();
        self.written(name, value);
    }

    fn read(&mut self, part: Part, value: Option<u64>) {
        match part {
            Part::Status => self.status(value),
            Part::Enable if self.machine.locked == Some(true) => self.save(value),
            Part::Enable => {
                let at = self.at;
                self.machine.enabled = self.machine.enabled.or(value.map(|value| value & 1 != 0));
                self.episode.saved.insert(ENABLE.to_owned(), Accessed { value, at });
            }
            Part::Unit(named) if named.row.saved => self.save(value),
            Part::Filter if self.is_filter() => self.filter_read(value),
            Part::Contents => self.contents(),
            Part::Buffer | Part::BufferEnable => {
                self.uses_buffer = true;
                self.buffer_read(value);
            }
            Part::Level | Part::Filter => {
                let (at, name) = (self.at, self.name());
                if let Some(value) = value {
                    self.values.set(&name, value);
                }
                self.episode.saved.insert(name, Accessed { value, at });
            }
            Part::Translation if self.name().starts_with("TTBR0_EL") => {
                self.tables = value.or(self.tables);
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
        let Machine { enabled, locked, .. } = self.machine;
        let locked = locked == Some(true);
        let running = self.episode.awaited == Some(Await::Running) && !locked;
        let value = value.unwrap_or(if running { 0 } else { 3 });
        if running {
            if value & 1 == 0 {
                self.episode.awaited = None;
            }
            return;
        }
        let episode = &self.episode;
        let stopped = locked || enabled == Some(false);
        let programmed = !episode.written.is_empty();
        let off = enabled == Some(false) && episode.is_still() && !locked;
        let idle_reads = if programmed && value & 1 != 0 { episode.idle_reads + 1 } else { 0 };
        self.episode.idle_reads = idle_reads.min(IDLE_READS + 1);
        let waits = value & 1 == 0 && programmed && (!stopped || off);
        let in_vain = idle_reads == IDLE_READS && !locked;
        if waits || in_vain || std::mem::take(&mut self.episode.programmed_off) {
            self.broken(&rules::NOT_ENABLED);
        } else if value & 3 != 0 && self.episode.prohibited == Some(End::Flushed) && !stopped {
            self.broken(&rules::NOT_DISABLED);
        } else if self.reads_in_vain() {
            match value & 3 {
                3 if stopped => self.broken(&rules::NOT_ENABLED),
                0 if enabled == Some(true) && !locked => self.broken(&rules::NOT_DISABLED),
                _ => {}
            }
        }
        let episode = &mut self.episode;
        episode.idle |= value & 1 != 0;
        episode.stable |= value & 2 != 0;
        if episode.idle {
            episode.lock_awaited = false;
        }
        if episode.idle && episode.stable && episode.awaited == Some(Await::Stopped) {
            episode.awaited = None;
        }
    }

    /// Whether this read of TRCSTATR is one more than [`IDLE_READS`] that return the same value,
    /// with nothing but barriers between them: software waits for another value.
    fn reads_in_vain(&self) -> bool {
        let before = self.accesses.iter().zip(self.parts).take(self.at + 1).rev();
        let mut values = before
            .filter(|(access, _)| !matches!(access.kind, BusKind::Barrier(_)))
            .map(|(access, part)| {
                let status = access.kind == BusKind::Read && *part == Part::Status;
                access.value.filter(|_| status)
            });
        let last = values.next().flatten();
        let same = values.take_while(|value| last.is_some() && *value == last).take(8).count();
        same == usize::from(IDLE_READS)
    }

    /// A register of the state of the unit is read.
    fn save(&mut self, value: Option<u64>) {
        let name = self.name();
        let Machine { enabled, locked, .. } = self.machine;
        let locked = locked == Some(true);
        let episode = &self.episode;
        let stopping = episode.awaited == Some(Await::Stopped);
        if !episode.stable && !episode.is_still() {
            let ends = episode.prohibited == Some(End::Flushed) || episode.flushed_early;
            if locked && enabled != Some(false) || stopping {
                self.broken(&rules::READ_UNSTABLE);
            } else if !locked && (enabled == Some(true) || ends && enabled.is_none()) {
                self.broken(&rules::SAVED_ENABLED);
            }
        }
        // The unit need not be awaited where K10.5.10 does not.
        let episode = &mut self.episode;
        if stopping && episode.quiet == Quiet::Yes && episode.buffer_left {
            episode.awaited = None;
        }
        let at = self.at;
        episode.saved.insert(name, Accessed { value, at });
    }

    /// What a routine that is complete must have done: at the end of a recording, and where an
    /// exception handler returns.
    fn complete(&mut self) {
        self.saved_all();
        self.unlocked();
        let awaited = self.episode.awaited;
        match awaited {
            Some(Await::Running) if !self.episode.enabled_in_switch => {
                self.broken(&rules::ENABLE_NOT_AWAITED);
            }
            Some(Await::Running) if self.control_dirty => self.broken(&rules::ENABLE_END),
            Some(Await::Stopped) => self.broken(&rules::DISABLE_NOT_AWAITED),
            Some(Await::Running) | None => {}
        }
        self.unflushed();
        if self.episode.lock_awaited {
            self.broken(&rules::SAVE_NOT_IDLE);
        }
        if self.unlock_dirty && self.system {
            self.broken(&rules::UNLOCK_UNSYNCHRONISED);
        }
        if self.sink_off_dirty {
            self.broken(&rules::SINK_UNSYNCHRONISED);
        }
        if self.episode.filter_saved && self.episode.filter_pending() {
            self.broken(&rules::FILTER_NOT_RESTORED);
        }
    }

    /// A state that was restored under the OS Lock has to be unlocked.
    fn unlocked(&mut self) {
        if self.machine.locked == Some(true) && self.episode.written.len() >= STATE {
            self.broken(&rules::RESTORED_LOCKED);
            self.episode.written.clear();
        }
    }

    /// The unit was disabled while tracing was permitted, and its trace is not flushed.
    fn unflushed(&mut self) {
        let Some((_, at)) = self.episode.disabled.take() else { return };
        let here = std::mem::replace(&mut self.at, at);
        if self.uses_buffer {
            self.broken(&rules::NOT_FLUSHED);
        } else if self.episode.was_enabled && self.system {
            self.broken(&rules::LAST_LOST);
        }
        self.at = here;
    }

    fn end(&mut self) {
        self.complete();
        let restored = !self.episode.written.is_empty() && self.machine.locked != Some(true);
        let switch = self.episode.switched && self.machine.sink == Some(true);
        if switch && restored && self.machine.enabled != Some(true) {
            self.broken(&rules::NOT_ENABLED);
        }
    }
}

/// Whether the OS Lock is unlocked before it is locked and before TRCSTATR is read: power has
/// returned.
fn unlocks_first(accesses: &[BusAccess], parts: &[Part]) -> bool {
    let mut all = accesses.iter().zip(parts);
    let first = all.find_map(|(access, part)| match (access.kind, part) {
        (BusKind::Write, Part::OsLock) => Some(access.value.unwrap_or(0) & 1 == 0),
        (BusKind::Read, Part::Status) => Some(false),
        _ => None,
    });
    first == Some(true)
}
