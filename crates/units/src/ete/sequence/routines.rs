//! The routines, as data.

use super::sink::{restored, start};
use super::steps::{barrier, poll, read, write};
use crate::ete::implementation::Implementation;
use crate::ete::registers::{Named, all};
use crate::program::{Barrier, ProgramStep};
use crate::sink::Sink;
use crate::values::Values;

/// TRFCR_EL1.E1TRE and E0TRE.
const TRACE: u64 = 3;
/// TRCSTATR.IDLE.
const IDLE: u64 = 1;
/// TRCSTATR.PMSTABLE.
const STABLE: u64 = 2;

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

const ENABLE: &str = "TRCPRGCTLR";

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

/// Makes tracing prohibited and flushes the trace. `filter` is the value of TRFCR_EL1.
fn prohibit(filter: u64) -> Vec<ProgramStep> {
    vec![
        read("TRFCR_EL1", "the value to restore"),
        write("TRFCR_EL1", filter & !TRACE, "tracing is prohibited at EL0 and EL1"),
        barrier(Barrier::Isb, "the processor is in a prohibited region"),
        barrier(Barrier::Tsb, "the trace has reached the trace buffer"),
    ]
}

/// Disables a unit. `filter` is the value of TRFCR_EL1. (Arm ARM K10.5.7.1.2)
pub fn disable(unit: &Implementation, filter: u64) -> Vec<ProgramStep> {
    let ete = unit.version.is_ete();
    let mut steps = if ete { prohibit(filter) } else { Vec::new() };
    steps.push(write(ENABLE, 0, "the unit is disabled"));
    if ete {
        steps.push(barrier(Barrier::Isb, "each read of TRCSTATR is after a synchronisation"));
    }
    steps.push(poll("TRCSTATR", IDLE | STABLE, IDLE | STABLE, "the unit is idle and stable"));
    if ete {
        steps.push(write("TRFCR_EL1", filter, "tracing is permitted as before"));
    }
    steps
}

/// The registers of the state of a unit. (Arm ARM K10.5.7.6)
fn state(unit: &Implementation) -> impl Iterator<Item = String> {
    all().filter(|named| unit.saves(*named)).map(|named| named.to_string())
}

/// Saves a unit before its power is removed. `filter` is the value of TRFCR_EL1. (Arm ARM
/// K10.5.7.1.3)
pub fn save(unit: &Implementation, filter: u64) -> Vec<ProgramStep> {
    let ete = unit.version.is_ete();
    let lock = if ete { "OSLAR_EL1" } else { "TRCOSLAR" };
    let mut steps = if ete { prohibit(filter) } else { Vec::new() };
    steps.push(write(lock, 1, "the OS Lock is locked: the unit stops"));
    steps.push(barrier(Barrier::Isb, "each read of TRCSTATR is after a synchronisation"));
    steps.push(poll("TRCSTATR", STABLE, STABLE, "the registers have their last values"));
    if ete {
        steps.push(write("TRFCR_EL1", filter, "tracing is permitted as before"));
    }
    steps.extend(state(unit).map(|name| read(&name, "saved")));
    steps.push(barrier(Barrier::Isb, "each read of TRCSTATR is after a synchronisation"));
    steps.push(poll("TRCSTATR", IDLE, IDLE, "the unit is idle: power may be removed"));
    steps
}

/// Restores a unit after its power has returned. A register without a value is restored as 0. (Arm
/// ARM K10.5.7.1.3)
pub fn restore(unit: &Implementation, values: &Values) -> Vec<ProgramStep> {
    let lock = if unit.version.is_ete() { "OSLAR_EL1" } else { "TRCOSLAR" };
    let value = |name: &str| values.get(name).unwrap_or(0);
    let mut steps: Vec<ProgramStep> =
        state(unit).map(|name| write(&name, value(&name), "restored")).collect();
    steps.push(write(lock, 0, "the OS Lock is unlocked: the unit works as before"));
    steps.push(barrier(Barrier::Isb, "the unlock is complete"));
    steps
}

/// Switches out a process that is traced. `filter` is the value of TRFCR_EL1, `tables` that of
/// TTBR0_EL1 for the process that is switched to. (Arm ARM K10.5.10, the sequence in which tracing
/// is prohibited)
pub fn switch_out(
    unit: &Implementation,
    filter: u64,
    buffer: u64,
    tables: u64,
) -> Vec<ProgramStep> {
    let mut steps = prohibit(filter);
    steps.push(write(ENABLE, 0, "the unit is disabled: its state can be read"));
    steps.extend(buffer_out(buffer));
    steps.extend(context_out(unit, tables));
    steps
}

/// Switches out a process that is traced while tracing is permitted. Trace of its last instructions
/// may be discarded. (Arm ARM K10.5.10, the second sequence)
pub fn switch_out_tracing(unit: &Implementation, buffer: u64, tables: u64) -> Vec<ProgramStep> {
    let mut steps = vec![
        write(ENABLE, 0, "the unit is disabled"),
        barrier(Barrier::Isb, "no more trace is generated"),
        barrier(Barrier::Tsb, "the trace has reached the trace buffer"),
    ];
    steps.extend(buffer_out(buffer));
    steps.extend(context_out(unit, tables));
    steps
}

/// Disables the trace buffer. `limit` is TRBLIMITR_EL1 without its enable.
fn buffer_out(limit: u64) -> [ProgramStep; 3] {
    [
        write("TRBLIMITR_EL1", limit & !1, "the trace buffer uses address translation no more"),
        barrier(Barrier::Dsb, "the trace is in memory"),
        barrier(Barrier::Isb, "the register writes have their effect, and reads are up to date"),
    ]
}

fn context_out(unit: &Implementation, tables: u64) -> Vec<ProgramStep> {
    let buffer = ["TRBPTR_EL1", "TRBSR_EL1", "TRBBASER_EL1", "TRBTRG_EL1"];
    let mut steps: Vec<ProgramStep> = vec![read("BUFFER", "the trace is copied")];
    steps.extend(buffer.map(|name| read(name, "saved")));
    steps.extend(state(unit).filter(|name| name != ENABLE).map(|name| read(&name, "saved")));
    steps.push(write("TTBR0_EL1", tables, "the address space of the other process"));
    steps
}

/// Switches in a process that is traced. (Arm ARM K10.5.10, the last sequence)
pub fn switch_in(
    unit: &Implementation,
    values: &Values,
    filter: u64,
    sink: &Sink,
    tables: u64,
) -> Vec<ProgramStep> {
    let value = |name: &str| values.get(name).unwrap_or(0);
    let mut steps = Vec::new();
    let mut buffer = restored(sink);
    let limit = buffer.pop();
    steps.extend(buffer.iter().map(|(name, value)| write(name, *value, "restored")));
    let registers = state(unit).filter(|name| name != ENABLE);
    steps.extend(registers.map(|name| write(&name, value(&name), "restored")));
    steps.push(write("TRFCR_EL1", filter, "tracing is permitted where the process is traced"));
    steps.push(write("TTBR0_EL1", tables, "the address space of the process"));
    steps.push(barrier(Barrier::Isb, "the trace buffer and the unit observe the registers"));
    if let Some((name, value)) = limit {
        steps.push(write(name, value, "the trace buffer is enabled"));
    }
    steps.push(write(ENABLE, 1, "the unit is enabled"));
    steps.push(barrier(Barrier::Isb, "tracing is permitted; usually the ERET to the process"));
    steps
}
