//! The processor's side of the port: steps to cycles.

use alloc::vec::Vec;

use tracewright_base::{Cause, Retired, Step, Taken};

use crate::ingress::{BLOCKS, Block, ContextType, Cycle, Itype, is_ecall, riscv_cause};

/// The limits of a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortLimits {
    /// Instructions in a block, at most.
    pub retires: u8,
    /// Blocks in a cycle, at most.
    pub blocks: u8,
    /// Half words in a block, at most.
    pub halfwords: u16,
    /// Branches not taken in a block, at most, where such a branch does not end it. (0.026)
    pub not_taken: Option<u8>,
    /// `ilastsize_width`.
    pub ilastsize_width: u8,
    /// ECALL and EBREAK are retired before their trap.
    pub ecall_retires: bool,
}

/// Gathers steps into cycles of the ingress port.
#[derive(Clone, Debug)]
pub struct Port {
    limits: PortLimits,
    /// `ctype` of a context change.
    context_type: ContextType,
    /// The next cycle, as far as it is filled.
    next: Cycle,
    count: usize,
    /// The block that is being filled, and the number of its instructions.
    block: Block,
    instructions: u32,
    /// Branches not taken after that block. In 0.026 such a branch is neither the first nor the
    /// last instruction of a block of several instructions.
    tail: Vec<Block>,
}

impl Port {
    /// A port before the first step. `context_type` is the report of a context that changes.
    pub fn new(limits: PortLimits, context_type: ContextType) -> Self {
        let retires = limits.retires.max(1);
        let blocks = limits.blocks.clamp(1, BLOCKS as u8);
        Port {
            limits: PortLimits { retires, blocks, ..limits },
            context_type,
            next: Cycle { privilege: 3, ..Cycle::default() },
            count: 0,
            block: Block::default(),
            instructions: 0,
            tail: Vec::new(),
        }
    }

    /// Takes a step. Passes each cycle that it completes to `out`.
    pub fn step(&mut self, step: &Step, out: &mut impl FnMut(&Cycle)) {
        match step {
            Step::Retired(retired) => self.retired(retired, out),
            Step::Exception(taken) => self.exception(taken, out),
            Step::Context(context) => {
                self.flush(out);
                self.next.privilege = context.el.unwrap_or(self.next.privilege);
                self.next.context = context.context_id.unwrap_or(self.next.context);
                self.next.ctype = self.context_type;
            }
            Step::Timestamp(time) => {
                self.flush(out);
                self.next.time = *time;
            }
            Step::Trigger => {
                self.flush(out);
                self.block.notify = true;
            }
            // The instructions before the time are in a cycle of their own.
            Step::Cycles(1..) => self.flush(out),
            Step::Signals(signals) => {
                self.flush(out);
                self.next.side.user = *signals;
            }
            Step::Off => {
                self.flush(out);
                self.pulse(|cycle| cycle.side.trace_off = true, out);
            }
            Step::On => {
                self.flush(out);
                self.pulse(|cycle| cycle.side.trace_on = true, out);
            }
            Step::Halted => {
                self.flush(out);
                self.pulse(|cycle| cycle.side.halted = true, out);
            }
            _ => {}
        }
    }

    /// Completes the current cycle.
    pub fn flush(&mut self, out: &mut impl FnMut(&Cycle)) {
        self.close(out);
        if self.count > 0 {
            out(&self.next);
            self.next.blocks = [Block::default(); BLOCKS];
            self.count = 0;
        }
    }

    /// A cycle without blocks, for the sideband signals.
    fn pulse(&mut self, set: impl FnOnce(&mut Cycle), out: &mut impl FnMut(&Cycle)) {
        let mut cycle = Cycle { blocks: [Block::default(); BLOCKS], ..self.next };
        set(&mut cycle);
        out(&cycle);
    }

    fn retired(&mut self, retired: &Retired, out: &mut impl FnMut(&Cycle)) {
        let (itype, sijump) = Itype::of(retired);
        let size = u16::from(retired.instruction.size / 2);
        let follows = self.tail.last().map_or(self.block.end(), Block::end) == retired.address;
        let waiting = self.block.iretire + self.tail.iter().map(|b| b.iretire).sum::<u16>();
        let branch = self.limits.not_taken.is_some() && itype == Itype::NotTaken;
        let not_taken = usize::from(self.block.ntkn) + self.tail.len();
        let full = self.instructions + self.tail.len() as u32 >= self.limits.retires.into()
            || waiting + size > self.limits.halfwords
            || branch && not_taken >= self.limits.not_taken.unwrap_or(0).into()
            || !has_size(size as u8, self.limits.ilastsize_width);
        if self.instructions > 0 && (!follows || full) {
            self.close(out);
        }
        let single = Block {
            iaddr: retired.address,
            iretire: size,
            ilastsize: size as u8,
            itype,
            ntkn: 0,
            sijump,
            notify: false,
        };
        if branch {
            let single = Block { itype: Itype::None, ntkn: 1, ..single };
            if self.instructions > 0 && !self.block.notify {
                self.tail.push(single);
            } else {
                self.block = Block { notify: self.block.notify, ..single };
                self.instructions = 1;
                self.close(out);
            }
            return;
        }
        if self.instructions == 0 {
            self.block = Block { notify: self.block.notify, ..single };
        } else {
            for branch in self.tail.drain(..) {
                self.block.iretire += branch.iretire;
                self.block.ntkn += 1;
                self.instructions += 1;
            }
            self.block.iretire += size;
            self.block.ilastsize = size as u8;
            self.block.itype = itype;
            self.block.sijump = sijump;
        }
        self.instructions += 1;
        if itype != Itype::None
            || self.block.notify
            || !has_size(size as u8, self.limits.ilastsize_width)
        {
            self.close(out);
        }
    }

    fn exception(&mut self, taken: &Taken, out: &mut impl FnMut(&Cycle)) {
        if let Cause::Reset | Cause::Halt = taken.cause {
            self.flush(out);
            let reset = taken.cause == Cause::Reset;
            return self
                .pulse(|cycle| (cycle.side.reset, cycle.side.halted) = (reset, !reset), out);
        }
        let Some((cause, interrupt)) = riscv_cause(taken.cause) else { return };
        let itype = if interrupt { Itype::Interrupt } else { Itype::Exception };
        // An interrupt may end a block after its last instruction.
        let attached = self.instructions > 0 && self.tail.is_empty() && interrupt;
        if attached {
            self.block.itype = itype;
            self.close(out);
        } else {
            self.close(out);
            if self.count == self.limits.blocks.into() {
                self.flush(out);
            }
            let retires = self.limits.ecall_retires && !interrupt && is_ecall(cause);
            let size = u8::from(retires) * 2;
            let block = Block {
                iaddr: taken.return_address,
                iretire: size.into(),
                ilastsize: size,
                itype,
                ..Block::default()
            };
            self.put(block, out);
        }
        (self.next.cause, self.next.tval) = (cause, taken.value.unwrap_or(0));
        self.flush(out);
        (self.next.cause, self.next.tval) = (0, 0);
    }

    /// Completes the current block.
    fn close(&mut self, out: &mut impl FnMut(&Cycle)) {
        if self.instructions > 0 {
            let block = core::mem::take(&mut self.block);
            self.instructions = 0;
            self.put(block, out);
        }
        for branch in core::mem::take(&mut self.tail) {
            self.put(branch, out);
        }
    }

    fn put(&mut self, block: Block, out: &mut impl FnMut(&Cycle)) {
        if self.count == self.limits.blocks.into() {
            out(&self.next);
            self.next.blocks = [Block::default(); BLOCKS];
            self.count = 0;
        }
        if let Some(place) = self.next.blocks.get_mut(self.count) {
            *place = block;
        }
        self.count += 1;
    }
}

/// Whether `ilastsize` of `width` bits has a code for an instruction of `halfwords`. The code n is
/// 2^n half words; without the signal all instructions have two half words.
pub(crate) const fn has_size(halfwords: u8, width: u8) -> bool {
    match width {
        0 => halfwords == 2,
        1 => matches!(halfwords, 1 | 2),
        _ => halfwords.is_power_of_two(),
    }
}
