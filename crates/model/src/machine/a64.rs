//! A64: execution of the opcodes of generated programs.

use tracewright_base::{Cause, Instruction, Isa, Kind, Role, Transaction};
use tracewright_isa::assemble::a64;

use super::{Machine, Outcome};

impl Machine {
    pub(super) fn a64(&mut self, opcode: u32, i: &Instruction, after: u64) -> Outcome {
        let (d, n, m) = (opcode & 0x1f, opcode >> 5 & 0x1f, opcode >> 16 & 0x1f);
        let go = |taken, pc| Outcome::Go { taken, pc, isa: Isa::A64 };
        match i.kind {
            Kind::Branch => {
                let target = i.target.unwrap_or(after);
                if !i.conditional {
                    if i.role == Role::Call {
                        self.cpu.x[30] = after;
                    }
                    return go(true, target);
                }
                let taken = match opcode >> 24 {
                    0x54 => self.cpu.holds((opcode & 0xf) as u8),
                    // CBZ, CBNZ.
                    0xb4 => self.x(d) == 0,
                    0xb5 => self.x(d) != 0,
                    // TBZ, TBNZ.
                    0x36 | 0x37 | 0xb6 | 0xb7 => {
                        let bit = opcode >> 26 & 0x20 | opcode >> 19 & 0x1f;
                        self.x(d) >> bit & 1 == u64::from(opcode >> 24 & 1)
                    }
                    _ => return Outcome::Skip(Cause::Undefined),
                };
                return go(taken, if taken { target } else { after });
            }
            Kind::Indirect if i.role == Role::ExceptionReturn => return Outcome::Return,
            Kind::Indirect => {
                let target = self.x(n) & !3;
                if i.role == Role::Call {
                    self.cpu.x[30] = after;
                }
                return go(true, target);
            }
            Kind::TransactionStart if self.transaction.is_none() => {
                self.set(d, 0);
                return Outcome::Transaction(Transaction::Start);
            }
            Kind::TransactionStart | Kind::Undefined => return Outcome::Skip(Cause::Undefined),
            Kind::Isb | Kind::Barrier | Kind::Wait | Kind::TimedWait => return go(true, after),
            Kind::Plain => {}
        }
        match opcode {
            a64::SVC => return Outcome::Raise(Cause::Call),
            a64::NOP => return go(true, after),
            a64::TCOMMIT if self.transaction.is_some() => {
                return Outcome::Transaction(Transaction::Commit);
            }
            a64::TCOMMIT => return Outcome::Skip(Cause::Undefined),
            _ => {}
        }
        let (a, b) = (self.x(n), self.x(m));
        let immediate = u64::from(opcode >> 10 & 0xfff);
        let offset = immediate << 3;
        let half = 16 * (opcode >> 21 & 3);
        let bits = u64::from(opcode >> 5 & 0xffff) << half;
        match opcode & 0xff20_fc00 {
            0x8b00_0000 => self.set(d, a.wrapping_add(b)),
            0xcb00_0000 => self.set(d, a.wrapping_sub(b)),
            0xeb00_0000 => {
                let result = self.cpu.subtract(a, b, 64);
                self.set(d, result);
            }
            0x8a00_0000 => self.set(d, a & b),
            0xaa00_0000 => self.set(d, a | b),
            0xca00_0000 => self.set(d, a ^ b),
            0x9b00_7c00 => self.set(d, a.wrapping_mul(b)),
            _ => match opcode >> 22 {
                // 31 is SP in the immediate forms.
                0x244 => self.cpu.x[d as usize] = self.cpu.x[n as usize].wrapping_add(immediate),
                0x3c4 => {
                    let result = self.cpu.subtract(self.cpu.x[n as usize], immediate, 64);
                    self.set(d, result);
                }
                0x34d if opcode >> 10 & 0x3f == 0x3f => self.set(d, a >> (opcode >> 16 & 0x3f)),
                0x3e5 | 0x3e4 => {
                    let write = (opcode >> 22 == 0x3e4).then(|| self.x(d));
                    let address = self.cpu.x[n as usize].wrapping_add(offset);
                    match self.access(address, 8, write) {
                        Ok(_) if write.is_some() => {}
                        Ok(value) => self.set(d, value),
                        Err(outcome) => return outcome,
                    }
                }
                _ if opcode >> 23 == 0x1a5 => self.set(d, bits),
                _ if opcode >> 23 == 0x1e5 => self.set(d, self.x(d) & !(0xffff << half) | bits),
                _ if opcode & 0xffff_83e0 == 0xa9bf_03e0 => return self.pair(opcode, true, after),
                _ if opcode & 0xffff_83e0 == 0xa8c1_03e0 => return self.pair(opcode, false, after),
                _ => return Outcome::Skip(Cause::Undefined),
            },
        }
        go(true, after)
    }

    /// STP and LDP on the stack.
    fn pair(&mut self, opcode: u32, push: bool, after: u64) -> Outcome {
        let registers = [opcode & 0x1f, opcode >> 10 & 0x1f];
        let sp = self.cpu.x[31];
        let base = if push { sp.wrapping_sub(16) } else { sp };
        for (k, register) in (0..).zip(registers) {
            let write = push.then(|| self.x(register));
            match self.access(base.wrapping_add(8 * k), 8, write) {
                Ok(_) if push => {}
                Ok(value) => self.set(register, value),
                Err(outcome) => return outcome,
            }
        }
        self.cpu.x[31] = if push { base } else { sp.wrapping_add(16) };
        Outcome::Go { taken: true, pc: after, isa: Isa::A64 }
    }

    /// The value of a register; register 31 is zero.
    fn x(&self, register: u32) -> u64 {
        if register == 31 { 0 } else { self.cpu.x[register as usize] }
    }

    fn set(&mut self, register: u32, value: u64) {
        if register != 31 {
            self.cpu.x[register as usize] = value;
        }
    }
}
