//! Execution of a program until its trace has the requested length.

use tracewright_model::Random;

use crate::{Op, Program, Taken, Unit};

/// A trace with the expected totals.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Traced {
    /// The trace.
    pub bytes: Vec<u8>,
    /// Number of executed branches, which is the expected number of ranges.
    pub branches: u64,
    /// Number of instructions up to the last branch.
    pub instructions: u64,
    /// The sum of the addresses of the branches.
    pub addresses: u64,
}

/// The trace of `program`, of about `bytes` bytes. `None` if it cannot be traced.
pub fn trace(program: &Program, seed: u64, bytes: usize) -> Option<Traced> {
    run(program, seed, bytes, Unit::new(program.at(0), bytes)?)
}

/// The same with timestamps.
pub fn timed(program: &Program, seed: u64, bytes: usize) -> Option<Traced> {
    run(program, seed, bytes, Unit::new(program.at(0), bytes)?.timed())
}

fn run(program: &Program, seed: u64, bytes: usize, mut unit: Unit) -> Option<Traced> {
    let mut random = Random::from_state(seed);
    // For each branch with `Taken::Times`, how often it was taken.
    let mut counts = vec![0u32; program.ops.len()];
    let mut calls: Vec<usize> = Vec::new();
    let mut traced = Traced::default();
    let (mut pc, mut instructions) = (0, 0);
    while unit.bytes.len() < bytes {
        let op = program.ops.get(pc)?;
        let after = pc + 1;
        instructions += 1;
        if *op != Op::Plain {
            traced.branches += 1;
            traced.instructions = instructions;
            traced.addresses = traced.addresses.wrapping_add(program.at(pc));
        }
        pc = match op {
            Op::Plain => after,
            Op::Conditional(to, when) => {
                let taken = match when {
                    Taken::Often(often) => random.chance(*often),
                    Taken::Times(times) => {
                        let count = counts.get_mut(pc)?;
                        *count = if *count == *times { 0 } else { *count + 1 };
                        *count != 0
                    }
                };
                let next = if taken { *to } else { after };
                unit.branch(taken, program.at(next));
                next
            }
            Op::Jump(to) => {
                unit.branch(true, program.at(*to));
                *to
            }
            Op::Call(to) => {
                calls.push(after);
                unit.call(program.at(after), program.at(*to));
                *to
            }
            Op::CallOneOf(list) => {
                let to = *list.get(random.index(list.len()))?;
                calls.push(after);
                unit.call_indirect(program.at(after), program.at(to));
                to
            }
            Op::JumpOneOf(list) => {
                let to = *list.get(random.index(list.len()))?;
                unit.indirect(program.at(to));
                to
            }
            Op::Return => {
                let to = calls.pop()?;
                unit.ret(program.at(to));
                to
            }
        };
    }
    unit.flush();
    traced.bytes = unit.bytes;
    Some(traced)
}
