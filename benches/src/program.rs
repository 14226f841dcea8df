//! A64 code, with the behaviour of its branches.

use tracewright::isa::assemble::a64;

/// One instruction. A target is an index in [`Program::ops`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Op {
    /// An instruction that is no waypoint.
    Plain,
    /// `B.cond`.
    Conditional(usize, Taken),
    /// `B`.
    Jump(usize),
    /// `BL`.
    Call(usize),
    /// `BLR` to one of the targets.
    CallOneOf(Vec<usize>),
    /// `BR` to one of the targets.
    JumpOneOf(Vec<usize>),
    /// `RET`.
    Return,
}

/// The outcomes of a conditional branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taken {
    /// Taken with this probability in units of 1/256.
    Often(u8),
    /// Taken this number of times, then not taken once.
    Times(u32),
}

/// A program without an end. Execution starts at the first instruction.
#[derive(Clone, Debug)]
pub struct Program {
    /// Address of the first instruction.
    pub address: u64,
    /// The instructions.
    pub ops: Vec<Op>,
}

impl Program {
    /// The address of an instruction.
    pub fn at(&self, op: usize) -> u64 {
        self.address + 4 * op as u64
    }

    /// The opcodes, little-endian. `None` if a branch is out of range.
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

    /// Adds an instruction and returns its index.
    pub fn op(&mut self, op: Op) -> usize {
        self.ops.push(op);
        self.ops.len() - 1
    }
}
