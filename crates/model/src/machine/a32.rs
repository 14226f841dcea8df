//! A32: execution of the opcodes of generated programs. The condition has passed.

use tracewright_base::{Cause, Instruction, Isa, Kind, Role};

use super::cpu::{Cpu, LR, SP};
use super::{Machine, Outcome};

impl Machine {
    pub(super) fn a32(&mut self, opcode: u32, i: &Instruction, after: u64) -> Outcome {
        let go = |pc| Outcome::Go { taken: true, pc, isa: Isa::A32 };
        match i.kind {
            Kind::Branch => {
                if i.role == Role::Call {
                    self.cpu.x[LR] = after;
                }
                let pc = i.target.unwrap_or(after);
                return Outcome::Go { taken: true, pc, isa: i.target_isa };
            }
            Kind::Indirect if i.role == Role::ExceptionReturn => return Outcome::Return,
            Kind::Indirect => {
                // BX, BLX.
                if opcode & 0x0fff_ffd0 == 0x012f_ff10 {
                    let target = self.cpu.x[(opcode & 0xf) as usize];
                    if i.role == Role::Call {
                        self.cpu.x[LR] = after;
                    }
                    return interwork(target);
                }
                if opcode & 0x0fff_0000 == 0x08bd_0000 {
                    return self.pop(opcode as u16, after, Isa::A32);
                }
                return Outcome::Skip(Cause::Undefined);
            }
            Kind::Undefined | Kind::TransactionStart => return Outcome::Skip(Cause::Undefined),
            Kind::Isb | Kind::Barrier | Kind::Wait | Kind::TimedWait => return go(after),
            Kind::Plain => {}
        }
        let (n, d, m) = (opcode >> 16 & 0xf, opcode >> 12 & 0xf, opcode & 0xf);
        match opcode >> 20 & 0xff {
            // NOP and other hints; MOVW, MOVT.
            0x32 => {}
            0x30 | 0x34 => {
                let bits = u64::from(n << 12 | opcode & 0xfff);
                let register = &mut self.cpu.x[d as usize];
                *register =
                    if opcode >> 22 & 1 != 0 { *register & 0xffff | bits << 16 } else { bits };
            }
            0xf0..=0xff => return Outcome::Raise(Cause::Call),
            0x58 | 0x59 => {
                let load = opcode >> 20 & 1 != 0;
                return self.word(load, d, n, opcode & 0xfff, go(after));
            }
            0x92 if n == 13 => return self.push(opcode as u16, go(after)),
            0x8b if n == 13 => return self.pop(opcode as u16, after, Isa::A32),
            field @ 0x00..=0x3f => {
                let a = self.cpu.x[n as usize];
                let b = match field {
                    0x20.. => u64::from(opcode & 0xff),
                    // The second operand, with an optional right shift by a constant.
                    _ => self.cpu.x[m as usize] >> (opcode >> 7 & 0x1f),
                };
                let flags = field & 1 != 0;
                let shift = opcode >> 7 & 0x1f;
                if flags && field < 0x20 && shift > 0 {
                    self.cpu.set_c(self.cpu.x[m as usize] >> (shift - 1) & 1 != 0);
                }
                let result = match field >> 1 & 0xf {
                    0 => a & b,
                    1 => a ^ b,
                    2 if flags => self.cpu.subtract(a, b, 32),
                    2 => a.wrapping_sub(b),
                    4 if flags => self.cpu.add(a, b),
                    4 => a.wrapping_add(b),
                    10 => {
                        self.cpu.subtract(a, b, 32);
                        return go(after);
                    }
                    12 => a | b,
                    13 => b,
                    _ => return Outcome::Skip(Cause::Undefined),
                };
                if flags && !matches!(field >> 1 & 0xf, 2 | 4) {
                    self.cpu.set_nz(result, 32);
                }
                if d == 15 {
                    return Outcome::Skip(Cause::Undefined);
                }
                self.cpu.x[d as usize] = result & 0xffff_ffff;
            }
            _ => return Outcome::Skip(Cause::Undefined),
        }
        go(after)
    }

    /// LDR or STR of a word.
    pub(super) fn word(
        &mut self,
        load: bool,
        t: u32,
        n: u32,
        offset: u32,
        then: Outcome,
    ) -> Outcome {
        let address = self.cpu.x[n as usize].wrapping_add(offset.into()) & 0xffff_ffff;
        let write = (!load).then_some(self.cpu.x[t as usize]);
        match self.access(address, 4, write) {
            Ok(value) if load => self.cpu.x[t as usize] = value,
            Ok(_) => {}
            Err(outcome) => return outcome,
        }
        then
    }

    /// PUSH of registers up to LR.
    pub(super) fn push(&mut self, list: u16, then: Outcome) -> Outcome {
        let size = 4 * u64::from(list.count_ones());
        let base = self.cpu.x[SP].wrapping_sub(size) & 0xffff_ffff;
        let mut address = base;
        for register in (0..15).filter(|r| list >> r & 1 != 0) {
            if let Err(outcome) = self.access(address, 4, Some(self.cpu.x[register])) {
                return outcome;
            }
            address += 4;
        }
        self.cpu.x[SP] = base;
        then
    }

    /// POP of registers up to PC.
    pub(super) fn pop(&mut self, list: u16, after: u64, isa: Isa) -> Outcome {
        let mut address = self.cpu.x[SP];
        let mut outcome = Outcome::Go { taken: true, pc: after, isa };
        let mut x = self.cpu.x;
        for register in (0..16).filter(|r| list >> r & 1 != 0) {
            match self.access(address, 4, None) {
                Ok(value) if register == 15 => outcome = interwork(value),
                Ok(value) => x[register] = value,
                Err(outcome) => return outcome,
            }
            address += 4;
        }
        self.cpu.x = x;
        self.cpu.x[SP] = address & 0xffff_ffff;
        outcome
    }
}

/// The instruction set and address of an interworking address, with the instruction set in bit
/// \[0].
pub(super) fn interwork(address: u64) -> Outcome {
    let (pc, isa) = Cpu::interworking(address);
    Outcome::Go { taken: true, pc, isa }
}
