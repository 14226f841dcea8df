//! T32: execution of the opcodes of generated programs. The condition of an IT block has passed.

use tracewright_base::{Cause, Instruction, Isa, Kind, Role};

use super::a32::interwork;
use super::cpu::LR;
use super::{Machine, Outcome};

impl Machine {
    pub(super) fn t32(&mut self, opcode: u32, i: &Instruction, after: u64, in_it: bool) -> Outcome {
        let go = |pc| Outcome::Go { taken: true, pc, isa: Isa::T32 };
        match i.kind {
            Kind::Branch => {
                let taken = match opcode {
                    0xb100..=0xbbff => {
                        let zero = self.cpu.x[(opcode & 7) as usize] == 0;
                        zero != (opcode >> 11 & 1 != 0)
                    }
                    0xd000..=0xdfff => self.cpu.holds((opcode >> 8 & 0xf) as u8),
                    _ if opcode & 0xf800_d000 == 0xf000_8000 => {
                        self.cpu.holds((opcode >> 22 & 0xf) as u8)
                    }
                    _ if matches!(i.role, Role::Loop | Role::Link | Role::Swap) => {
                        return Outcome::Skip(Cause::Undefined);
                    }
                    _ => true,
                };
                if !taken {
                    return Outcome::Go { taken, pc: after, isa: Isa::T32 };
                }
                if i.role == Role::Call {
                    self.cpu.x[LR] = after | 1;
                }
                let pc = i.target.unwrap_or(after);
                return Outcome::Go { taken, pc, isa: i.target_isa };
            }
            Kind::Indirect if i.role == Role::ExceptionReturn => return Outcome::Return,
            Kind::Indirect => {
                return match opcode {
                    0x4700..=0x47ff => {
                        let target = self.cpu.x[(opcode >> 3 & 0xf) as usize];
                        if i.role == Role::Call {
                            self.cpu.x[LR] = after | 1;
                        }
                        interwork(target)
                    }
                    0xbd00..=0xbdff => self.pop((opcode & 0xff) as u16 | 1 << 15, after, Isa::T32),
                    _ => Outcome::Skip(Cause::Undefined),
                };
            }
            Kind::Undefined | Kind::TransactionStart => return Outcome::Skip(Cause::Undefined),
            Kind::Isb | Kind::Barrier | Kind::Wait | Kind::TimedWait => return go(after),
            Kind::Plain => {}
        }
        let [low, mid, high] = [0, 3, 6].map(|at| (opcode >> at & 7) as usize);
        let x = self.cpu.x;
        let (d, result) = match opcode {
            0x0800..=0x0fff => (low, x[mid] >> (opcode >> 6 & 0x1f)),
            0x1800..=0x1bff => {
                let subtract = opcode >> 9 & 1 != 0;
                return self.sum(low, x[mid], x[high], subtract, in_it, go(after));
            }
            0x2000..=0x3fff => {
                let d = (opcode >> 8 & 7) as usize;
                let immediate = u64::from(opcode & 0xff);
                match opcode >> 11 & 3 {
                    0 => (d, immediate),
                    1 => {
                        self.cpu.subtract(x[d], immediate, 32);
                        return go(after);
                    }
                    n => return self.sum(d, x[d], immediate, n == 3, in_it, go(after)),
                }
            }
            0x4000..=0x403f => (low, x[low] & x[mid]),
            0x4040..=0x407f => (low, x[low] ^ x[mid]),
            0x4280..=0x42bf => {
                self.cpu.subtract(x[low], x[mid], 32);
                return go(after);
            }
            0x4300..=0x433f => (low, x[low] | x[mid]),
            0x4340..=0x437f => (low, x[low].wrapping_mul(x[mid])),
            0x6000..=0x6fff => {
                let load = opcode >> 11 & 1 != 0;
                let offset = (opcode >> 6 & 0x1f) << 2;
                return self.word(load, low as u32, mid as u32, offset, go(after));
            }
            0xb400..=0xb5ff => {
                let list = (opcode & 0xff) as u16 | ((opcode >> 8 & 1) as u16) << 14;
                return self.push(list, go(after));
            }
            0xbc00..=0xbcff => return self.pop((opcode & 0xff) as u16, after, Isa::T32),
            0xbf00..=0xbfff | 0xf3af_8000 => return go(after),
            0xdf00..=0xdfff => return Outcome::Raise(Cause::Call),
            _ => return self.t32_wide(opcode, go(after)),
        };
        if !in_it {
            self.cpu.set_nz(result & 0xffff_ffff, 32);
            if let 0x0800..=0x0fff = opcode {
                let last = (opcode >> 6 & 0x1f).wrapping_sub(1) & 0x1f;
                self.cpu.set_c(x[mid] >> last & 1 != 0);
            }
        }
        self.cpu.x[d] = result & 0xffff_ffff;
        go(after)
    }

    /// ADDS and SUBS; in an IT block without flags.
    fn sum(
        &mut self,
        d: usize,
        a: u64,
        b: u64,
        subtract: bool,
        in_it: bool,
        then: Outcome,
    ) -> Outcome {
        let flags = self.cpu.flags;
        let result = if subtract { self.cpu.subtract(a, b, 32) } else { self.cpu.add(a, b) };
        if in_it {
            self.cpu.flags = flags;
        }
        self.cpu.x[d] = result;
        then
    }

    fn t32_wide(&mut self, opcode: u32, then: Outcome) -> Outcome {
        let (n, t, d) = (opcode >> 16 & 0xf, opcode >> 12 & 0xf, (opcode >> 8 & 0xf) as usize);
        let x = self.cpu.x;
        match opcode & 0xfff0_0000 {
            0xf8d0_0000 | 0xf8c0_0000 => {
                return self.word(opcode >> 20 & 1 != 0, t, n, opcode & 0xfff, then);
            }
            0xeb00_0000 if opcode & 0x70f0 == 0 => {
                let b = x[(opcode & 0xf) as usize];
                self.cpu.x[d] = x[n as usize].wrapping_add(b) & 0xffff_ffff;
            }
            0xea80_0000 if opcode & 0x70f0 == 0 => {
                self.cpu.x[d] = x[n as usize] ^ x[(opcode & 0xf) as usize];
            }
            0xf240_0000 | 0xf640_0000 | 0xf2c0_0000 | 0xf6c0_0000 => {
                let bits = n << 12 | (opcode >> 26 & 1) << 11 | (opcode >> 12 & 7) << 8;
                let bits = u64::from(bits | opcode & 0xff);
                let top = opcode >> 23 & 1 != 0;
                self.cpu.x[d] = if top { x[d] & 0xffff | bits << 16 } else { bits };
            }
            _ => return Outcome::Skip(Cause::Undefined),
        }
        then
    }
}
