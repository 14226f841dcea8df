//! A64 code, and what decides where its branches go.

use tracewright::isa::assemble::a64;

/// One instruction. Targets are places in [`Program::ops`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Op {
    /// Nothing that a trace unit reports.
    Plain,
    /// `B.cond`.
    Conditional(usize, Taken),
    /// `B`.
    Jump(usize),
    /// `BL`.
    Call(usize),
    /// `BLR`, to one of these.
    CallOneOf(Vec<usize>),
    /// `BR`, to one of these.
    JumpOneOf(Vec<usize>),
    /// `RET`.
    Return,
}

/// When a conditional branch is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taken {
    /// So many times in 256, at random.
    Often(u8),
    /// So many times, then once not.
    Times(u32),
}

/// A program. It begins with its first instruction and never ends.
#[derive(Clone, Debug)]
pub struct Program {
    /// Where it lies.
    pub address: u64,
    /// Its instructions.
    pub ops: Vec<Op>,
}

impl Program {
    /// The address of an instruction.
    pub fn at(&self, op: usize) -> u64 {
        self.address + 4 * op as u64
    }

    /// Its opcodes, little endian. `None` where a branch is too far.
    pub fn code(&self) -> Option<Vec<u8>> {
        let mut code = Vec::with_capacity(4 * self.ops.len());
        for (n, op) in self.ops.iter().enumerate() {
            let by = |to: usize| i32::try_from(4 * (to as i64 - n as i64)).ok();
            let opcode = match op {
                Op::Plain => a64::NOP,
                Op::Conditional(to, _) => a64::b_cond(1, by(*to)?)?,
                Op::Jump(to) => a64::b(by(*to)?)?,
                Op::Call(to) => a64::bl(by(*to)?)?,
                Op::CallOneOf(_) => a64::blr(16),
                Op::JumpOneOf(_) => a64::br(16),
                Op::Return => a64::ret(30),
            };
            code.extend(opcode.to_le_bytes());
        }
        Some(code)
    }

    /// Adds `count` plain instructions.
    pub fn plain(&mut self, count: usize) {
        self.ops.extend(std::iter::repeat_n(Op::Plain, count));
    }

    /// Adds an instruction and says where it is.
    pub fn op(&mut self, op: Op) -> usize {
        self.ops.push(op);
        self.ops.len() - 1
    }
}
