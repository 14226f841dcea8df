//! The body of one function.

use std::ops::Range;

use tracewright_base::Isa;
use tracewright_isa::assemble::{a32, a64, t32};

use super::Recipe;
use super::code::{Code, To};
use crate::Random;

/// The purpose of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// The main function, which never returns.
    Main,
    Function,
    /// A function that handlers may call.
    Safe,
    Handler,
}

/// Registers for data.
const DATA: [u8; 5] = [0, 1, 2, 3, 7];
/// The register that points to memory.
const BASE: u8 = 4;
/// Registers that count loops, the outer first.
const COUNTERS: [u8; 2] = [5, 6];

/// Writes a function.
pub(super) struct Body<'a> {
    recipe: &'a Recipe,
    random: &'a mut Random,
    code: Code,
    place: Place,
    /// The functions that the function may call.
    callees: Range<usize>,
    loops: usize,
    /// Whether the function saves its return address.
    saves: bool,
}

impl<'a> Body<'a> {
    pub(super) fn new(
        recipe: &'a Recipe,
        random: &'a mut Random,
        isa: Isa,
        place: Place,
        callees: Range<usize>,
    ) -> Self {
        let saves = match place {
            Place::Main => false,
            // T32 has no 16-bit POP of LR, and a handler must preserve LR.
            Place::Handler => isa != Isa::T32,
            Place::Function | Place::Safe => !callees.is_empty() && !random.one_in(4),
        };
        Body { recipe, random, code: Code::new(isa), place, callees, loops: 0, saves }
    }

    pub(super) fn write(mut self) -> Code {
        let top = self.code.label();
        self.code.here(top);
        if self.saves {
            self.save();
        }
        let statements = if self.place == Place::Handler { 2 } else { 3 + self.random.below(8) };
        for _ in 0..statements {
            self.statement(0);
        }
        match self.place {
            Place::Main => self.code.jump(top),
            _ => self.leave(),
        }
        // A decoder that reads 4 bytes at once finds them.
        if self.code.isa == Isa::T32 {
            self.code.push(t32::NOP);
            self.code.push(t32::NOP);
        }
        self.code
    }

    /// Whether calls are allowed here.
    fn calls(&self) -> bool {
        !self.callees.is_empty() && (self.saves || self.place == Place::Main)
    }

    fn statement(&mut self, depth: u32) {
        let kinds = if depth < 2 { 12 } else { 6 };
        match self.random.below(kinds) {
            0 | 1 => {
                let n = 1 + self.random.below(6);
                self.straight(n);
            }
            2 | 3 if self.calls() => self.call(),
            4 => self.special(),
            6 | 7 => self.branch(depth),
            8 if self.loops < COUNTERS.len() && self.saves | (self.place == Place::Main) => {
                self.repeat(depth);
            }
            9 => self.switch(depth),
            10 if self.recipe.transactions && self.code.isa == Isa::A64 => self.transaction(),
            _ => {
                let n = 1 + self.random.below(2);
                self.straight(n);
            }
        }
    }

    fn data(&mut self) -> u8 {
        self.random.pick(&DATA)
    }

    /// Data processing instructions.
    fn straight(&mut self, n: u64) {
        for _ in 0..n {
            let (d, a, b) = (self.data(), self.data(), self.data());
            let small = self.random.below(256) as u8;
            let offset = self.random.below(31) as u32;
            match self.code.isa {
                Isa::A64 => self.a64(d, a, b, small, offset),
                Isa::A32 => self.a32(d, a, b, small, offset),
                _ => self.t32(d, a, b, small, offset),
            }
        }
    }

    fn a64(&mut self, d: u8, a: u8, b: u8, small: u8, offset: u32) {
        use a64::Alu::*;
        let opcode = match self.random.below(8) {
            0 => a64::add_immediate(d, a, small.into()),
            1 => a64::lsr(d, a, small & 15),
            2 => a64::ldr(d, BASE, offset * 8),
            3 => a64::str(d, BASE, offset * 8),
            4 => a64::movz(d, 0, u16::from(small) << 3 | 1),
            _ => a64::alu(self.random.pick(&[Add, Sub, Subs, And, Orr, Eor, Mul]), d, a, b),
        };
        self.code.push(opcode);
    }

    fn a32(&mut self, d: u8, a: u8, b: u8, small: u8, offset: u32) {
        use a32::Alu::*;
        let condition =
            if self.random.one_in(6) { self.random.below(14) as u8 } else { a32::ALWAYS };
        let flags = self.random.one_in(4);
        let operation = self.random.pick(&[And, Eor, Sub, Add, Orr, Mov]);
        let opcode = match self.random.below(6) {
            0 => a32::alu_immediate(condition, operation, flags, d, a, small),
            1 => a32::move_word(condition, true, d, BASE, offset * 4),
            2 => a32::move_word(condition, false, d, BASE, offset * 4),
            3 => a32::mov16(condition, small & 1 != 0, d, u16::from(small) << 5),
            _ => a32::alu(condition, operation, flags, d, a, b, small & 7),
        };
        self.code.push(opcode);
    }

    fn t32(&mut self, d: u8, a: u8, b: u8, small: u8, offset: u32) {
        use t32::Alu::*;
        let opcode = match self.random.below(10) {
            0 => t32::immediate(self.random.pick(&[0, 2, 3]), d, small),
            1 => t32::move_word(true, d, BASE, offset * 4),
            2 => t32::move_word(false, d, BASE, offset * 4),
            3 => t32::move_word_w(true, d, BASE, offset * 4),
            4 => t32::mov16(small & 1 != 0, d, u16::from(small) << 5),
            5 => t32::add_w(d, a, b),
            6 => t32::eor_w(d, a, b),
            7 => t32::lsr(d, a, 1 + small % 7),
            8 => t32::add(small & 1 != 0, d, a, b),
            _ => t32::alu(self.random.pick(&[And, Eor, Orr, Mul, Cmp]), d, a),
        };
        self.code.push(opcode);
    }

    /// Sets flags.
    fn compare(&mut self) {
        let (a, small) = (self.data(), self.random.below(256) as u8);
        self.code.push(match self.code.isa {
            Isa::A64 => a64::subs_immediate(31, a, small.into()),
            Isa::A32 => a32::alu_immediate(a32::ALWAYS, a32::Alu::Cmp, true, 0, a, small),
            _ => t32::immediate(1, a, small),
        });
    }

    /// An if statement, with or without else.
    fn branch(&mut self, depth: u32) {
        let (end, register) = (self.code.label(), self.data());
        let nonzero = self.random.one_in(2);
        match self.random.below(4) {
            0 => self.code.zero(nonzero, register, end),
            1 if self.code.isa == Isa::A64 => {
                let bit = self.random.below(40) as u8;
                self.code.bit(nonzero, register, bit, end);
            }
            _ => {
                self.compare();
                let condition = self.random.below(14) as u8;
                self.code.when(condition, end);
            }
        }
        self.statement(depth + 1);
        if self.random.one_in(3) {
            let over = self.code.label();
            self.code.jump(over);
            self.code.here(end);
            self.statement(depth + 1);
            self.code.here(over);
        } else {
            self.code.here(end);
        }
    }

    /// A loop of a few iterations.
    fn repeat(&mut self, depth: u32) {
        let counter = COUNTERS[self.loops];
        let turns = 1 + self.random.below(9) as u8;
        self.loops += 1;
        self.code.push(match self.code.isa {
            Isa::A64 => a64::movz(counter, 0, turns.into()),
            Isa::A32 => a32::alu_immediate(a32::ALWAYS, a32::Alu::Mov, false, counter, 0, turns),
            _ => t32::immediate(0, counter, turns),
        });
        let top = self.code.label();
        self.code.here(top);
        self.statement(depth + 1);
        self.code.push(match self.code.isa {
            Isa::A64 => a64::subs_immediate(counter, counter, 1),
            Isa::A32 => a32::alu_immediate(a32::ALWAYS, a32::Alu::Sub, true, counter, counter, 1),
            _ => t32::immediate(3, counter, 1),
        });
        self.code.when(1, top);
        self.loops -= 1;
    }

    fn call(&mut self) {
        let n = self.callees.end - self.callees.start;
        let function = self.callees.start + self.random.below(n as u64) as usize;
        let direct = self.place == Place::Handler || !self.random.one_in(3);
        if direct && !self.recipe.far {
            let condition = match self.code.isa {
                Isa::A32 if self.random.one_in(4) => self.random.below(14) as u8,
                _ => a32::ALWAYS,
            };
            return self.code.call(condition, function);
        }
        if self.place == Place::Handler {
            return self.straight(1);
        }
        let register = self.target();
        self.code.address(register, To::Function(function));
        self.code.push(match self.code.isa {
            Isa::A64 => a64::blr(register),
            Isa::A32 => a32::blx_register(a32::ALWAYS, register),
            _ => t32::blx_register(register),
        });
    }

    /// The register for targets of branches.
    fn target(&self) -> u8 {
        if self.code.isa == Isa::A64 { 16 } else { 12 }
    }

    /// An indirect branch to one of two targets.
    fn switch(&mut self, depth: u32) {
        // The register for targets is not saved.
        if matches!(self.place, Place::Handler | Place::Safe) {
            return self.straight(1);
        }
        let (one, two, end) = (self.code.label(), self.code.label(), self.code.label());
        let chosen = self.code.label();
        let register = self.target();
        self.code.address(register, To::Label(one));
        self.compare();
        let condition = self.random.below(14) as u8;
        self.code.when(condition, chosen);
        self.code.address(register, To::Label(two));
        self.code.here(chosen);
        self.code.push(match self.code.isa {
            Isa::A64 => a64::br(register),
            Isa::A32 => a32::bx(a32::ALWAYS, register),
            _ => t32::bx(register),
        });
        self.code.here(one);
        self.statement(depth + 1);
        self.code.jump(end);
        self.code.here(two);
        self.statement(depth + 1);
        self.code.here(end);
    }

    /// Barriers, waits, exceptions, IT blocks.
    fn special(&mut self) {
        let isa = self.code.isa;
        let quiet = !self.recipe.exceptions || matches!(self.place, Place::Safe | Place::Handler);
        match self.random.below(10) {
            0 | 1 => self.code.push(match isa {
                Isa::A64 => a64::ISB,
                Isa::A32 => a32::ISB,
                _ => t32::ISB,
            }),
            2 => self.code.push(match isa {
                Isa::A64 => a64::DSB,
                Isa::A32 => a32::DSB,
                _ => t32::DSB,
            }),
            3 | 4 if self.recipe.waits => self.code.push(match isa {
                Isa::A64 => a64::WFI,
                Isa::A32 => a32::wfi(a32::ALWAYS),
                _ => t32::WFI,
            }),
            5 | 6 if !quiet => self.code.push(match isa {
                Isa::A64 => a64::SVC,
                Isa::A32 => a32::svc(a32::ALWAYS),
                _ => t32::SVC,
            }),
            7 if !quiet => self.code.push(match isa {
                Isa::A64 => a64::UDF,
                Isa::A32 => a32::udf(a32::ALWAYS),
                _ => t32::UDF,
            }),
            8 if !quiet => {
                let (t, n) = (self.data(), self.data());
                self.code.push(match isa {
                    Isa::A64 => a64::ldr(t, n, 0),
                    Isa::A32 => a32::move_word(a32::ALWAYS, true, t, n, 0),
                    _ => t32::move_word(true, t, n, 0),
                });
            }
            _ if isa == Isa::T32 => self.it_block(),
            _ => self.straight(1),
        }
    }

    /// 1 to 4 conditional instructions.
    fn it_block(&mut self) {
        let more = self.random.below(4) as usize;
        let then: Vec<bool> = (0..more).map(|_| self.random.one_in(2)).collect();
        let condition = self.random.below(14) as u8;
        if let Some(it) = t32::it(condition, &then) {
            self.code.push(it);
            for _ in 0..=more {
                // No CMP, which would change the conditions of the following instructions.
                let (d, a) = (self.data(), self.data());
                self.code.push(t32::add_w(d, d, a));
            }
        }
    }

    /// A transaction without branches.
    fn transaction(&mut self) {
        let failed = self.code.label();
        self.code.push(a64::TSTART);
        self.code.zero(true, 0, failed);
        self.straight(2);
        let skip = self.code.label();
        self.code.zero(false, 1, skip);
        self.straight(2);
        self.code.here(skip);
        self.code.push(a64::TCOMMIT);
        self.code.here(failed);
    }

    fn save(&mut self) {
        match self.code.isa {
            Isa::A64 => {
                self.code.push(a64::push(5, 30));
                self.code.push(a64::push(6, 29));
            }
            Isa::A32 => self.code.push(a32::push(a32::ALWAYS, 0x4060)),
            _ => self.code.push(t32::push(0x60, true)),
        }
    }

    /// A return, or a tail call of another function.
    fn leave(&mut self) {
        let isa = self.code.isa;
        let returns = isa == Isa::A64 || self.place == Place::Handler || self.random.one_in(3);
        if self.saves {
            match isa {
                Isa::A64 => {
                    self.code.push(a64::pop(6, 29));
                    self.code.push(a64::pop(5, 30));
                }
                Isa::A32 if returns => self.code.push(a32::pop(a32::ALWAYS, 0x4060)),
                Isa::A32 => return self.code.push(a32::pop(a32::ALWAYS, 0x8060)),
                _ => return self.code.push(t32::pop(0x60, true)),
            }
        }
        if self.place == Place::Handler {
            self.code.push(match isa {
                Isa::A64 => a64::ERET,
                Isa::A32 => a32::eret(a32::ALWAYS),
                _ => t32::ERET,
            });
            return;
        }
        let tail = !self.callees.is_empty() && !self.recipe.far && self.random.one_in(5);
        let function = self.callees.end.saturating_sub(1);
        if tail && isa == Isa::A64 {
            return self.code.jump_to_function(function);
        }
        self.code.push(match isa {
            Isa::A64 => a64::ret(30),
            Isa::A32 => a32::bx(a32::ALWAYS, 14),
            _ => t32::bx(14),
        });
    }
}
