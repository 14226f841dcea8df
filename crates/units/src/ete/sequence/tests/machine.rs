//! A processor with a trace unit and a trace buffer that executes routines, and what goes wrong: it
//! has the buffer's model, and shares nothing with the check of recordings.

use std::collections::BTreeMap;

use crate::buffers::trbe::{Bytes, Limit, Reg, Trbe};
use crate::program::{Action, Barrier, BusAccess, BusKind, ProgramStep};

/// The bytes of the buffer of one process.
pub(super) const SIZE: u64 = 0x4000;

/// The buffers that an address space has room for.
const BUFFERS: usize = 8;

/// The memory of the buffers in an address space.
fn buffers() -> Bytes {
    Bytes::new(base(0), BUFFERS * SIZE as usize)
}

/// The first address of the buffer of a process.
pub(super) fn base(process: u8) -> u64 {
    0x1000_0000 + u64::from(process) * SIZE
}

/// TTBR0_EL1 of a process.
pub(super) fn tables(process: u8) -> u64 {
    0x4000_0000 + u64::from(process) * 0x1000
}

/// What a processor does.
#[derive(Clone, Debug)]
pub(super) enum Op {
    /// A step of a routine, with the number of the state that it saves or restores.
    Step(ProgramStep, usize),
    /// An exception to EL1.
    Exception,
    /// An exception return to this level.
    Return(u8),
    /// Instructions of the process at EL0.
    Run(u8),
    /// Power of the unit is removed, and returns.
    PowerDown,
    /// The state is that of the last remembered one with this number.
    Same(usize),
    /// Remembers the state.
    Remember(usize),
    /// All trace of the process is in its buffer.
    Collect(u8),
}

/// Whether `name` is a register of the unit that a program sets, other than TRCPRGCTLR.
fn is_unit(name: &str) -> bool {
    name.starts_with("TRC") && name != "TRCPRGCTLR" && name != "TRCSTATR"
}

/// The registers that a routine must leave as they were.
type Registers = BTreeMap<String, u64>;

pub(super) struct Machine {
    level: u8,
    /// Registers as software wrote them last, and as the processor sees them.
    written: Registers,
    seen: Registers,
    /// Registers that were written since the last context synchronization event, in order.
    pending: Vec<String>,
    trbe: Trbe,
    /// The memory of each process: addresses are virtual.
    memory: BTreeMap<u8, Bytes>,
    /// Trace in the unit: the process of each byte.
    unit: Vec<u8>,
    /// Bytes that were generated for each process.
    emitted: BTreeMap<u8, usize>,
    saved: BTreeMap<(usize, usize), u64>,
    remembered: BTreeMap<usize, Registers>,
    /// What went wrong.
    pub wrong: Vec<String>,
    /// What an observer of the accesses records.
    pub recording: Vec<BusAccess>,
}

impl Machine {
    pub fn new() -> Machine {
        // Some process executes.
        let first = Registers::from([("TTBR0_EL1".to_owned(), tables(0))]);
        Machine {
            level: 1,
            written: first.clone(),
            seen: first,
            pending: Vec::new(),
            trbe: Trbe::default(),
            memory: BTreeMap::new(),
            unit: Vec::new(),
            emitted: BTreeMap::new(),
            saved: BTreeMap::new(),
            remembered: BTreeMap::new(),
            wrong: Vec::new(),
            recording: Vec::new(),
        }
    }

    /// Executes `ops`.
    pub fn run(ops: &[Op]) -> Machine {
        let mut machine = Machine::new();
        for op in ops {
            machine.op(op);
        }
        machine
    }

    fn fail(&mut self, what: String) {
        self.wrong.push(what);
    }

    fn seen(&self, name: &str) -> u64 {
        self.seen.get(name).copied().unwrap_or(0)
    }

    fn is_on(&self) -> bool {
        self.seen("TRCPRGCTLR") & 1 != 0 && self.seen("OSLAR_EL1") & 1 == 0
    }

    fn permits(&self) -> bool {
        let bit = if self.level == 0 { 0 } else { 1 };
        self.seen("TRFCR_EL1") >> bit & 1 != 0
    }

    /// The process whose address space is in use.
    fn process(&self) -> u8 {
        ((self.seen("TTBR0_EL1").wrapping_sub(tables(0))) / 0x1000) as u8
    }

    /// An instruction executes.
    fn execute(&mut self) {
        if self.is_on() && self.permits() {
            let process = self.process();
            self.unit.push(process);
            *self.emitted.entry(process).or_default() += 1;
        }
    }

    /// The unit passes its trace to the buffer, of which the addresses are those of the process
    /// that executes.
    fn flush(&mut self) {
        for process in std::mem::take(&mut self.unit) {
            let used = self.process();
            let memory = self.memory.entry(used).or_insert_with(buffers);
            if self.trbe.offer(&[process + 1], memory).accepted != 1 {
                self.fail(format!("trace of process {process} is lost"));
            } else if used != process {
                self.fail(format!("trace of process {process} is in the tables of {used}"));
            }
        }
    }

    /// A context synchronization event.
    fn synchronise(&mut self) {
        let pending = std::mem::take(&mut self.pending);
        let enabled = pending.iter().position(|name| name == "TRCPRGCTLR");
        let (on, tables) = (self.is_on(), self.seen("TTBR0_EL1"));
        let enabled =
            enabled.filter(|_| self.written.get("TRCPRGCTLR").is_some_and(|v| v & 1 != 0));
        let before = pending.get(..enabled.unwrap_or(0)).unwrap_or_default();
        // The unit does not work before the OS Lock is unlocked.
        let locked = self.seen("OSLAR_EL1") & 1 != 0;
        if before.iter().any(|name| is_unit(name)) && !locked {
            self.fail("the unit is enabled with old registers".to_owned());
        }
        self.seen = self.written.clone();
        if on && !self.is_on() && self.permits() {
            // Trace of the last instructions may be discarded. (K10.5.10)
            for process in std::mem::take(&mut self.unit) {
                *self.emitted.entry(process).or_default() -= 1;
            }
        }
        if self.trbe.is_enabled() && tables != 0 && tables != self.seen("TTBR0_EL1") {
            self.fail("address translation changes under the trace buffer".to_owned());
        }
        self.trbe.prohibit(!self.permits());
        self.trbe.synchronize();
    }

    fn op(&mut self, op: &Op) {
        match op {
            Op::Step(step, state) => {
                self.execute();
                self.step(step, *state);
            }
            Op::Exception => {
                self.record(BusKind::Exception(1), "", None);
                self.level = 1;
                self.synchronise();
            }
            Op::Return(level) => {
                self.record(BusKind::Return(*level), "", None);
                self.level = *level;
                self.synchronise();
            }
            Op::Run(count) => (0..*count).for_each(|_| self.execute()),
            Op::PowerDown => {
                if !self.is_idle() {
                    self.fail("power is removed from a unit that is not idle".to_owned());
                }
                for (_, value) in self.written.iter_mut().filter(|(name, _)| is_unit(name)) {
                    *value = 0x5555;
                }
                // TRCPRGCTLR.EN and OSLSR_EL1.OSLK have values after a reset. (DDI 0601)
                self.written.insert("TRCPRGCTLR".to_owned(), 0);
                self.written.insert("OSLAR_EL1".to_owned(), 1);
                self.seen = self.written.clone();
            }
            Op::Remember(state) => {
                let registers = self.registers();
                self.remembered.insert(*state, registers);
            }
            Op::Same(state) => {
                let now = self.registers();
                if self.remembered.get(state) != Some(&now) {
                    self.fail(format!("state {state} is not as it was"));
                }
            }
            Op::Collect(process) => self.collect(*process),
        }
    }

    /// What a routine must leave as it was. The exception return that follows synchronises it.
    fn registers(&self) -> Registers {
        let (mut all, mut trbe) = (self.written.clone(), self.trbe.clone());
        trbe.synchronize();
        // The unit changes these itself.
        let changing = ["TRBPTR_EL1", "TRBSR_EL1", "TRBTRG_EL1"];
        all.retain(|name, value| *value != 0 && !changing.contains(&name.as_str()));
        all.insert("buffer".to_owned(), u64::from(trbe.is_enabled()));
        all
    }

    fn collect(&mut self, process: u8) {
        let emitted = self.emitted.remove(&process).unwrap_or(0);
        let Some(memory) = self.memory.remove(&process) else {
            if emitted != 0 {
                self.fail(format!("process {process} has no trace of {emitted} bytes"));
            }
            return;
        };
        // A byte of trace is the number of the process, from 1; the first pointer can be anywhere.
        let stored = (0..BUFFERS as u8).map(|buffer| {
            let bytes = memory.at(base(buffer), SIZE as usize);
            let trace = bytes.iter().skip_while(|byte| **byte == 0);
            trace.take_while(|byte| **byte == process + 1).count()
        });
        let stored: usize = stored.sum();
        if stored != emitted {
            self.fail(format!("process {process} has {stored} of {emitted} bytes"));
        }
    }

    fn is_idle(&self) -> bool {
        !self.is_on() && self.unit.is_empty()
    }

    fn record(&mut self, kind: BusKind, register: &str, value: Option<u64>) {
        let register = register.to_owned();
        self.recording.push(BusAccess { kind, register, value, line: 0 });
    }

    fn step(&mut self, step: &ProgramStep, state: usize) {
        match &step.action {
            Action::Write { register, value } => {
                let slot = step.slot.map(|slot| {
                    let saved = self.saved.get(&(state, slot.index));
                    saved.map_or(*value, |saved| saved & !slot.clear)
                });
                let value = slot.unwrap_or(*value);
                self.record(BusKind::Write, &register.name, Some(value));
                self.write(&register.name, value);
            }
            Action::Read { register } => {
                let value = self.read(&register.name);
                self.record(BusKind::Read, &register.name, value);
                if let (Some(slot), Some(value)) = (step.slot, value) {
                    self.saved.insert((state, slot.index), value);
                }
            }
            Action::Poll { register, mask, value } => {
                for round in 0.. {
                    let read = self.read(&register.name).unwrap_or(0);
                    self.record(BusKind::Read, &register.name, Some(read));
                    if read & mask == *value {
                        break;
                    }
                    if round == 8 {
                        return self.fail(format!("{} is polled without end", register.name));
                    }
                    self.record(BusKind::Barrier(Barrier::Isb), "", None);
                    self.synchronise();
                    self.flush();
                }
            }
            Action::Barrier(barrier) => {
                self.record(BusKind::Barrier(*barrier), "", None);
                match barrier {
                    Barrier::Isb => self.synchronise(),
                    Barrier::Tsb => {
                        if !self.permits() || !self.is_on() {
                            self.flush();
                        }
                        self.trbe.trace_synchronize();
                    }
                    Barrier::Dsb => {
                        let process = self.process();
                        let memory = self.memory.entry(process).or_insert_with(buffers);
                        self.trbe.data_synchronize(memory);
                    }
                }
            }
            Action::Modify { .. } | Action::Outside { .. } => unreachable!(),
        }
        let violations = std::mem::take(&mut self.trbe.violations);
        violations.into_iter().for_each(|violation| self.fail(violation.to_string()));
    }

    fn write(&mut self, name: &str, value: u64) {
        let locked = self.seen("OSLAR_EL1") & 1 != 0;
        if is_unit(name) && !locked && !self.is_idle() {
            self.fail(format!("{name} is written while the unit is not idle"));
        }
        if let Some(register) = Reg::named(name) {
            if register == Reg::Limit && Limit(value).self_hosted() {
                let mut trbe = self.trbe.clone();
                trbe.write(register, value);
                trbe.prohibit(true);
                trbe.synchronize();
                if trbe.pointers().is_out_of_range() {
                    self.fail("the buffer is enabled with a bad pointer".to_owned());
                }
            }
            let on = self.written.get("TRCPRGCTLR").is_some_and(|value| value & 1 != 0);
            if register == Reg::Limit && !Limit(value).self_hosted() && on && !locked {
                self.fail("the buffer is disabled before the unit".to_owned());
            }
            self.trbe.write(register, value);
        }
        self.written.insert(name.to_owned(), value);
        self.pending.push(name.to_owned());
    }

    /// The value of a register. `None`: it is not known.
    fn read(&mut self, name: &str) -> Option<u64> {
        match name {
            "TRCSTATR" => return Some(u64::from(self.is_idle()) | u64::from(!self.is_on()) << 1),
            "BUFFER" => {
                if !self.trbe.is_stored() {
                    self.fail("the buffer is read before it is complete".to_owned());
                }
                return None;
            }
            name if is_unit(name) && (self.is_on() || !self.unit.is_empty()) => {
                self.fail(format!("{name} is read while the unit is not stable"));
            }
            _ => {}
        }
        match Reg::named(name) {
            Some(register) => {
                let word = self.trbe.read(register);
                if word.known().is_none() {
                    self.fail(format!("{name} is not known"));
                }
                word.known()
            }
            None => Some(self.written.get(name).copied().unwrap_or(0)),
        }
    }
}
