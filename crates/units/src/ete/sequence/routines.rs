//! The routines, as data.

use super::sink::{start, stop};
use super::state::{BUFFER, ENABLE, LIMIT, State};
use super::step::{barrier, poll, read, write};
use crate::ete::implementation::Implementation;
use crate::ete::registers::{Named, all};
use crate::program::{Barrier, ProgramStep, Slot};
use crate::routine::Routine;
use crate::sink::Sink;
use crate::values::Values;

/// TRFCR_EL1.E1TRE and E0TRE.
const TRACE: u64 = 3;
/// TRCSTATR.IDLE.
const IDLE: u64 = 1;
/// TRCSTATR.PMSTABLE.
const STABLE: u64 = 2;

impl State<'_> {
    /// Reads a register of the state and saves it.
    fn save(&self, name: &str, why: &str) -> ProgramStep {
        ProgramStep { slot: self.slot(name, 0), ..read(name, why) }
    }

    /// Writes the saved value of a register, but the bits `clear`.
    fn restore(&self, name: &str, clear: u64, why: &str) -> ProgramStep {
        let value = self.value(name) & !clear;
        ProgramStep { slot: self.slot(name, clear), ..write(name, value, why) }
    }

    fn slot(&self, name: &str, clear: u64) -> Option<Slot> {
        self.names().position(|known| known == name).map(|index| Slot { index, clear })
    }
}

/// The steps of `routine` with `state`.
pub fn steps(routine: Routine, state: &State<'_>) -> Vec<ProgramStep> {
    match routine {
        Routine::Enable => enable(state.unit, state.values, state.sink),
        Routine::Disable => {
            let mut steps = disable(state);
            steps.extend(state.sink.map(stop).unwrap_or_default());
            steps
        }
        Routine::Save => save(state),
        Routine::Restore => restore(state),
        Routine::SwitchOut => switch_out(state),
        Routine::SwitchOutTracing => switch_out_tracing(state),
        Routine::SwitchIn => switch_in(state),
    }
}

/// Writes of `values` in the order of the table, without TRCPRGCTLR.
pub fn program_registers(unit: &Implementation, values: &Values) -> Vec<ProgramStep> {
    let registers = all().filter(|named| unit.has(*named) && named.row.register.name != ENABLE);
    registers
        .filter_map(|named| {
            let name = named.to_string();
            let value = values.get(&name)?;
            named.row.saved.then(|| write(&name, value, &purpose(named)))
        })
        .collect()
}

/// The description of a register, with its number in place of `n`.
fn purpose(named: Named) -> String {
    let about = named.row.register.about.split(';').next().unwrap_or_default();
    let words = about.split(' ').map(|word| match word {
        "n" => named.number.to_string(),
        "n+1" => (named.number + 1).to_string(),
        word => word.to_owned(),
    });
    words.collect::<Vec<_>>().join(" ")
}

/// Programs a unit and enables it, its sink first. (Arm ARM K10.5.7.1, K10.5.7.1.1)
pub fn enable(unit: &Implementation, values: &Values, sink: Option<&Sink>) -> Vec<ProgramStep> {
    let mut steps = sink.map(start).unwrap_or_default();
    if !unit.version.is_ete() {
        steps.push(write("TRCLAR", 0xc5ac_ce55, "the registers are unlocked"));
        steps.push(write("TRCOSLAR", 0, "the OS Lock is unlocked"));
        steps.push(write(ENABLE, 0, "the unit is disabled while it is programmed"));
        steps.push(poll("TRCSTATR", IDLE, IDLE, "the unit is idle"));
    }
    steps.extend(program_registers(unit, values));
    if unit.version.is_ete() {
        steps.push(barrier(Barrier::Isb, "the registers are valid before the unit is enabled"));
    }
    steps.push(write(ENABLE, 1, "the unit is enabled"));
    if unit.version.is_ete() {
        steps.push(barrier(Barrier::Isb, "each read of TRCSTATR is after a synchronisation"));
    }
    steps.push(poll("TRCSTATR", IDLE, 0, "the unit has left the idle state"));
    if !unit.version.is_ete() {
        steps.push(barrier(Barrier::Dsb, "the writes are complete"));
        steps.push(barrier(Barrier::Isb, "the unit traces the instructions from here on"));
    }
    steps
}

/// Makes tracing prohibited and flushes the trace.
fn prohibit(state: &State<'_>) -> Vec<ProgramStep> {
    vec![
        state.save("TRFCR_EL1", "the value to restore"),
        state.restore("TRFCR_EL1", TRACE, "tracing is prohibited at EL0 and EL1"),
        barrier(Barrier::Isb, "the processor is in a prohibited region"),
        barrier(Barrier::Tsb, "the trace has reached the trace buffer"),
    ]
}

fn permit(state: &State<'_>) -> ProgramStep {
    state.restore("TRFCR_EL1", 0, "tracing is permitted as before")
}

/// Disables a unit. (Arm ARM K10.5.7.1.2)
pub fn disable(state: &State<'_>) -> Vec<ProgramStep> {
    let ete = state.unit.version.is_ete();
    let mut steps = if ete { prohibit(state) } else { Vec::new() };
    steps.push(write(ENABLE, 0, "the unit is disabled"));
    if ete {
        steps.push(barrier(Barrier::Isb, "each read of TRCSTATR is after a synchronisation"));
    }
    steps.push(poll("TRCSTATR", IDLE | STABLE, IDLE | STABLE, "the unit is idle and stable"));
    steps.extend(ete.then(|| permit(state)));
    steps
}

/// Saves a unit before its power is removed. (Arm ARM K10.5.7.1.3)
pub fn save(state: &State<'_>) -> Vec<ProgramStep> {
    let ete = state.unit.version.is_ete();
    let lock = if ete { "OSLAR_EL1" } else { "TRCOSLAR" };
    let mut steps = if ete { prohibit(state) } else { Vec::new() };
    steps.push(write(lock, 1, "the OS Lock is locked: the unit stops"));
    steps.push(barrier(Barrier::Isb, "each read of TRCSTATR is after a synchronisation"));
    steps.push(poll("TRCSTATR", STABLE, STABLE, "the registers have their last values"));
    steps.extend(ete.then(|| permit(state)));
    steps.extend(state.unit_registers().map(|name| state.save(&name, "saved")));
    steps.push(barrier(Barrier::Isb, "each read of TRCSTATR is after a synchronisation"));
    steps.push(poll("TRCSTATR", IDLE, IDLE, "the unit is idle: power may be removed"));
    steps
}

/// Restores a unit after its power has returned. (Arm ARM K10.5.7.1.3)
pub fn restore(state: &State<'_>) -> Vec<ProgramStep> {
    let lock = if state.unit.version.is_ete() { "OSLAR_EL1" } else { "TRCOSLAR" };
    let registers = state.unit_registers();
    let mut steps: Vec<ProgramStep> =
        registers.map(|name| state.restore(&name, 0, "restored")).collect();
    steps.push(write(lock, 0, "the OS Lock is unlocked: the unit works as before"));
    steps.push(barrier(Barrier::Isb, "the unlock is complete"));
    steps
}

/// Switches out a process that is traced. (Arm ARM K10.5.10, the sequence in which tracing is
/// prohibited) Software at an Exception level where TRFCR_EL1 prohibits tracing already needs no
/// step before TSB CSYNC.
pub fn switch_out(state: &State<'_>) -> Vec<ProgramStep> {
    let mut steps = prohibit(state);
    steps.push(state.save(ENABLE, "whether the process is traced"));
    steps.push(write(ENABLE, 0, "the unit is disabled: its state can be read"));
    steps.extend(buffer_out(state));
    steps.extend(context_out(state));
    steps
}

/// Switches out a process that is traced while tracing is permitted. Trace of its last instructions
/// may be discarded. (Arm ARM K10.5.10, the second sequence)
pub fn switch_out_tracing(state: &State<'_>) -> Vec<ProgramStep> {
    let mut steps = vec![
        state.save("TRFCR_EL1", "the value to restore"),
        state.save(ENABLE, "whether the process is traced"),
        write(ENABLE, 0, "the unit is disabled"),
        barrier(Barrier::Isb, "no more trace is generated"),
        barrier(Barrier::Tsb, "the trace has reached the trace buffer"),
    ];
    steps.extend(buffer_out(state));
    steps.extend(context_out(state));
    steps
}

/// Disables the trace buffer.
fn buffer_out(state: &State<'_>) -> [ProgramStep; 4] {
    [
        state.save(LIMIT, "the limit, the modes, and whether the buffer is enabled"),
        state.restore(LIMIT, 1, "the trace buffer uses address translation no more"),
        barrier(Barrier::Dsb, "the trace is in memory"),
        barrier(Barrier::Isb, "the register writes have their effect, and reads are up to date"),
    ]
}

fn context_out(state: &State<'_>) -> Vec<ProgramStep> {
    let mut steps: Vec<ProgramStep> = vec![read("BUFFER", "the trace is copied")];
    steps.extend(BUFFER.into_iter().chain(state.levels()).map(|name| state.save(name, "saved")));
    let registers = state.unit_registers().filter(|name| name != ENABLE);
    steps.extend(registers.map(|name| state.save(&name, "saved")));
    steps.push(write("TTBR0_EL1", state.tables, "the address space of the other process"));
    steps
}

/// Switches in a process that is traced. (Arm ARM K10.5.10, the last sequence)
pub fn switch_in(state: &State<'_>) -> Vec<ProgramStep> {
    let first = BUFFER.into_iter().chain(state.levels()).map(str::to_owned);
    let registers = state.unit_registers().filter(|name| name != ENABLE);
    let mut steps: Vec<ProgramStep> =
        first.chain(registers).map(|name| state.restore(&name, 0, "restored")).collect();
    steps.push(state.restore("TRFCR_EL1", 0, "tracing is permitted where the process is traced"));
    steps.push(write("TTBR0_EL1", state.tables, "the address space of the process"));
    steps.push(barrier(Barrier::Isb, "the trace buffer and the unit observe the registers"));
    steps.push(state.restore(LIMIT, 0, "the trace buffer is as it was, and is enabled again"));
    steps.push(state.restore(ENABLE, 0, "the unit is as it was, and is enabled again"));
    steps.push(barrier(Barrier::Isb, "tracing is permitted; usually the ERET to the process"));
    steps
}
