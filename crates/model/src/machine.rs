//! A processor that runs programs and emits steps: integer instructions, branches, calls, loads and
//! stores, exceptions and transactions of A64, A32 and T32.
//!
//! The machine executes opcodes. An unknown opcode is an undefined instruction. External events
//! (interrupts, faults, time) are random, from a seed.

mod a32;
mod a64;
mod cpu;
mod t32;

use std::collections::HashMap;

use tracewright_base::{
    Access, Cause, Context, Direction, Instruction, Isa, Kind, Retired, Security, Step, Taken,
    Transaction,
};
use tracewright_isa::{ItState, classify};

use self::cpu::Cpu;
use crate::Random;
use crate::program::Program;

/// Rates of external events: each value is the mean number of instructions between two events, 0
/// for no events.
#[derive(Clone, Copy, Debug, Default)]
pub struct Stimulus {
    /// Seed of all events.
    pub seed: u64,
    /// Interrupts, one in four of them fast, one in eight a system error.
    pub interrupts: u32,
    /// Loads, stores and fetches that fail once.
    pub faults: u32,
    /// Resets.
    pub resets: u32,
    /// Debug state is entered and left.
    pub halts: u32,
    /// Changes of the context ID on return from an exception.
    pub switches: u32,
    /// Timestamps.
    pub timestamps: u32,
    /// Trace unit events.
    pub events: u32,
    /// Instrumentation of the program (FEAT_ITE).
    pub instrumentation: u32,
    /// Tracing is disabled and enabled again.
    pub pauses: u32,
    /// Overflows of the trace unit.
    pub overflows: u32,
    /// Failures of transactions.
    pub failures: u32,
    /// Whether cycles are counted.
    pub cycles: bool,
    /// Whether loads and stores are emitted.
    pub accesses: bool,
    /// Whether a faulting instruction is emitted as retired, and the exception cancels it.
    pub cancels: bool,
}

/// The state to which a return from an exception returns.
#[derive(Clone, Copy, Debug)]
struct Frame {
    cpu: Resume,
    context: Context,
}

#[derive(Clone, Copy, Debug)]
struct Resume {
    pc: u64,
    isa: Isa,
    it: ItState,
    flags: u8,
}

/// The outcome of an instruction.
enum Outcome {
    /// Execution continues at an address. `taken` is false if a condition failed.
    Go { taken: bool, pc: u64, isa: Isa },
    /// The instruction retires and causes an exception.
    Raise(Cause),
    /// The instruction does not retire and causes an exception; the handler returns to the next
    /// instruction.
    Skip(Cause),
    /// The instruction does not retire and causes an exception; the handler returns to the
    /// instruction.
    Retry(Cause),
    /// Return from an exception.
    Return,
    /// A transaction begins, or ends.
    Transaction(Transaction),
}

/// A processor and its memory.
#[derive(Clone, Debug)]
pub struct Machine {
    program: Program,
    cpu: Cpu,
    context: Context,
    frames: Vec<Frame>,
    /// The state that a failed transaction restores.
    transaction: Option<Box<Cpu>>,
    stimulus: Stimulus,
    random: Random,
    /// Classified instructions by address and instruction set, outside IT blocks.
    known: HashMap<(u64, Isa), (u32, Instruction)>,
    time: u64,
    paused: bool,
    /// The last access faulted; the next access does not fault.
    forgiven: bool,
    steps: Vec<Step>,
}

impl Machine {
    /// A processor before the first instruction.
    pub fn new(program: &Program, stimulus: Stimulus) -> Machine {
        let mut random = Random::new(stimulus.seed);
        let context = Context {
            context_id: Some(random.below(1 << 16) as u32),
            vmid: Some(random.below(1 << 8) as u32),
            el: Some(0),
            security: Some(Security::NonSecure),
            bits64: program.isa == Isa::A64,
            isa: program.isa,
        };
        Machine {
            cpu: Cpu::new(program),
            program: program.clone(),
            context,
            frames: Vec::new(),
            transaction: None,
            stimulus,
            random,
            known: HashMap::new(),
            time: random.below(1 << 40),
            paused: false,
            forgiven: false,
            steps: vec![Step::Context(context)],
        }
    }

    /// Runs up to the given number of instructions, as long as there is code, and emits the steps.
    pub fn run(&mut self, instructions: usize, mut each: impl FnMut(&Step)) {
        for _ in 0..instructions {
            let going = self.step();
            self.steps.drain(..).for_each(|step| each(&step));
            if !going {
                break;
            }
        }
    }

    /// Runs up to the given number of instructions and collects the steps.
    pub fn collect(&mut self, instructions: usize) -> Vec<Step> {
        let mut steps = Vec::new();
        self.run(instructions, |step| steps.push(*step));
        steps
    }

    /// Executes one instruction or one exception. `false` if there is no code.
    fn step(&mut self) -> bool {
        if self.outside() {
            return true;
        }
        let Some((opcode, instruction)) = self.fetch() else { return false };
        let Cpu { pc: address, isa, it, .. } = self.cpu;
        if isa == Isa::T32 {
            self.cpu.it = it.after(opcode);
        }
        let after = address.wrapping_add(instruction.size.into()) & isa.address_mask();
        let fault = self.random.one_in(self.stimulus.faults.into()) && !self.forgiven;
        let outcome = match isa {
            _ if fault => Outcome::Retry(Cause::InstructionFault),
            _ if !self.cpu.passes(opcode, isa, it) => Outcome::Go { taken: false, pc: after, isa },
            Isa::A64 => self.a64(opcode, &instruction, after),
            Isa::A32 => self.a32(opcode, &instruction, after),
            _ => self.t32(opcode, &instruction, after, it.in_block()),
        };
        self.forgiven = matches!(outcome, Outcome::Retry(_));
        let retired = |taken, next, next_isa| {
            Step::Retired(Retired { address, next, next_isa, taken, instruction })
        };
        let accesses = core::mem::take(&mut self.cpu.accesses);
        match outcome {
            Outcome::Go { taken, pc, isa } => {
                self.steps.push(retired(taken, pc, isa));
                if self.stimulus.accesses {
                    self.steps.extend(accesses.into_iter().map(Step::Access));
                }
                (self.cpu.pc, self.cpu.isa) = (pc, isa);
                if taken && matches!(instruction.kind, Kind::Branch | Kind::Indirect) {
                    self.cpu.it = ItState::default();
                }
            }
            Outcome::Raise(cause) => {
                self.steps.push(retired(true, after, isa));
                self.cpu.pc = after;
                self.raise(cause, after, after);
            }
            Outcome::Skip(cause) => self.raise(cause, address, after),
            Outcome::Retry(cause) => {
                self.cpu.it = it;
                let cancels =
                    self.stimulus.cancels && self.transaction.is_none() && self.random.one_in(2);
                if cancels {
                    self.steps.push(retired(true, after, isa));
                }
                self.raise(cause, address, address);
                for step in &mut self.steps {
                    if let Step::Exception(taken) = step {
                        taken.cancels = cancels;
                    }
                }
            }
            Outcome::Return => {
                let Some(Frame { cpu, context }) = self.frames.pop() else {
                    self.raise(Cause::Trap, address, after);
                    return true;
                };
                (self.cpu.pc, self.cpu.isa) = (cpu.pc, cpu.isa);
                (self.cpu.it, self.cpu.flags) = (cpu.it, cpu.flags);
                self.steps.push(retired(true, cpu.pc, cpu.isa));
                self.context = Context { context_id: self.context.context_id, ..context };
                if self.random.one_in(self.stimulus.switches.into()) {
                    self.context.context_id = Some(self.random.below(1 << 32) as u32);
                }
                self.steps.push(Step::Context(self.context));
            }
            Outcome::Transaction(step) => {
                self.steps.push(retired(true, after, isa));
                self.cpu.pc = after;
                self.transaction = (step == Transaction::Start).then(|| Box::new(self.cpu.clone()));
                self.steps.push(Step::Transaction(step));
            }
        }
        if self.stimulus.cycles {
            let cycles = 1 + self.random.below(3) as u32 + 40 * u32::from(self.random.one_in(30));
            self.steps.push(Step::Cycles(cycles));
            self.time += u64::from(cycles);
        } else {
            self.time += 1;
        }
        true
    }

    /// The instruction at the program counter. `None` if there is no code.
    fn fetch(&mut self) -> Option<(u32, Instruction)> {
        let Cpu { pc, isa, it, .. } = self.cpu;
        let plain = !it.conditional();
        if plain && let Some(known) = self.known.get(&(pc, isa)) {
            return Some(*known);
        }
        let mut bytes = [0; 4];
        let image = &self.program.image;
        let view = image.view(self.context.space());
        let len = image.read(view, pc, isa.address_mask(), &mut bytes);
        let bytes = bytes.get(..len)?;
        let instruction = classify(isa, bytes, pc, &mut { it })?;
        let word = bytes.iter().rev().fold(0, |word, &byte| word << 8 | u32::from(byte));
        let opcode = match (isa, instruction.size) {
            (Isa::T32, 2) => word & 0xffff,
            (Isa::T32, _) => word.rotate_left(16),
            _ => word,
        };
        if plain {
            self.known.insert((pc, isa), (opcode, instruction));
        }
        Some((opcode, instruction))
    }

    /// External events before the next instruction. `true` if an event changed the program counter.
    fn outside(&mut self) -> bool {
        let Stimulus { interrupts, resets, halts, timestamps, events, .. } = self.stimulus;
        if self.random.one_in(timestamps.into()) {
            self.steps.push(Step::Timestamp(self.time));
        }
        if self.random.one_in(events.into()) {
            let events = 1 + self.random.below(15) as u8;
            self.steps.push(Step::Events(events));
        }
        if self.random.one_in(self.stimulus.instrumentation.into()) {
            let value = self.random.next();
            self.steps.push(Step::Instrumentation { el: self.context.el.unwrap_or(0), value });
        }
        if self.random.one_in(self.stimulus.pauses.into()) {
            self.steps.push(if self.paused { Step::On } else { Step::Off });
            self.paused = !self.paused;
        }
        if self.random.one_in(self.stimulus.overflows.into()) && !self.paused {
            self.steps.push(Step::Overflow);
        }
        if self.transaction.is_some() && self.random.one_in(self.stimulus.failures.into()) {
            self.fail_transaction();
            return true;
        }
        if self.random.one_in(halts.into()) {
            self.fail_transaction();
            self.steps.push(Step::Halted);
        }
        if self.random.one_in(resets.into()) {
            self.fail_transaction();
            let pc = self.cpu.pc;
            self.frames.clear();
            self.raise(Cause::Reset, pc, pc);
            self.frames.clear();
            return true;
        }
        if self.frames.len() < 3 && self.random.one_in(interrupts.into()) {
            self.fail_transaction();
            let cause = match self.random.below(8) {
                0 => Cause::SystemError,
                1 | 2 => Cause::Fiq,
                _ => Cause::Irq,
            };
            let pc = self.cpu.pc;
            self.raise(cause, pc, pc);
            return true;
        }
        false
    }

    /// Restores the state before the current transaction, if there is one.
    fn fail_transaction(&mut self) {
        if let Some(cpu) = self.transaction.take() {
            self.cpu = *cpu;
            // The reason of the failure: not zero.
            self.cpu.x[0] = 1;
            self.steps.push(Step::Transaction(Transaction::Failure));
        }
    }

    /// Takes an exception with `return_address`, whose handler returns to `resume`.
    fn raise(&mut self, cause: Cause, return_address: u64, resume: u64) {
        let (mut return_address, mut resume) = (return_address, resume);
        if self.transaction.is_some() {
            self.fail_transaction();
            (return_address, resume) = (self.cpu.pc, self.cpu.pc);
        }
        let (target, target_isa) = self.program.vector(cause);
        self.steps.push(Step::Exception(Taken {
            cause,
            return_address,
            return_isa: self.cpu.isa,
            target,
            target_isa,
            value: None,
            cancels: false,
        }));
        if cause == Cause::Reset {
            self.cpu = Cpu::new(&self.program);
            self.context.el = Some(0);
        } else {
            let Cpu { isa, flags, .. } = self.cpu;
            let it = core::mem::take(&mut self.cpu.it);
            let cpu = Resume { pc: resume, isa, it, flags };
            self.frames.push(Frame { cpu, context: self.context });
            (self.cpu.pc, self.cpu.isa) = (target, target_isa);
            self.context.el = Some(1);
        }
        self.context.isa = target_isa;
        self.context.bits64 = target_isa == Isa::A64;
        self.steps.push(Step::Context(self.context));
    }

    /// Reads or writes memory, or faults.
    fn access(&mut self, address: u64, size: u8, write: Option<u64>) -> Result<u64, Outcome> {
        let (base, len) = self.program.ram;
        let at = address.wrapping_sub(base) as usize;
        let fault = self.random.one_in(self.stimulus.faults.into()) && !self.forgiven;
        let end = at.checked_add(size.into()).filter(|&end| end <= len);
        let Some(bytes) = end.and_then(|end| self.cpu.ram.get_mut(at..end)) else {
            return Err(Outcome::Skip(Cause::DataFault));
        };
        if fault {
            return Err(Outcome::Retry(Cause::DataFault));
        }
        let value = match write {
            Some(value) => {
                bytes.copy_from_slice(&value.to_le_bytes()[..size.into()]);
                value
            }
            None => bytes.iter().rev().fold(0, |all, &byte| all << 8 | u64::from(byte)),
        };
        let direction = if write.is_some() { Direction::Write } else { Direction::Read };
        let access = Access::new(direction, size, 0).at(address).of(value);
        self.cpu.accesses.push(access);
        Ok(value)
    }
}

#[cfg(test)]
mod tests;
