//! The code of one function before it has an address.

use tracewright_base::Isa;
use tracewright_isa::assemble::{a32, a64, t32};

/// The target of a branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum To {
    /// A label in this function.
    Label(usize),
    /// The beginning of a function.
    Function(usize),
}

/// Instructions that depend on addresses. Each has a fixed length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// B.
    Jump,
    /// B with a condition.
    When(u8),
    /// Branch if a register is zero, or is not. (A32: CMP and B)
    Zero { nonzero: bool, register: u8 },
    /// Branch on one bit. (A64)
    Bit { nonzero: bool, register: u8, bit: u8 },
    /// BL, or BLX to the other instruction set. (A32: BL with a condition)
    Call(u8),
    /// Load of the address into a register, with bit \[0] set for T32.
    Address(u8),
}

/// Code with placeholders for instructions that depend on addresses.
#[derive(Clone, Debug)]
pub(super) struct Code {
    pub(super) isa: Isa,
    bytes: Vec<u8>,
    open: Vec<(usize, Form, To)>,
    labels: Vec<Option<usize>>,
}

impl Code {
    pub(super) fn new(isa: Isa) -> Code {
        Code { isa, bytes: Vec::new(), open: Vec::new(), labels: Vec::new() }
    }

    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Appends an instruction.
    pub(super) fn push(&mut self, opcode: u32) {
        put(&mut self.bytes, self.isa, opcode);
    }

    /// A label without a position.
    pub(super) fn label(&mut self) -> usize {
        self.labels.push(None);
        self.labels.len() - 1
    }

    /// Sets the position of the label.
    pub(super) fn here(&mut self, label: usize) {
        self.labels[label] = Some(self.bytes.len());
    }

    pub(super) fn jump(&mut self, label: usize) {
        self.open(Form::Jump, To::Label(label), 4);
    }

    pub(super) fn jump_to_function(&mut self, function: usize) {
        self.open(Form::Jump, To::Function(function), 4);
    }

    pub(super) fn when(&mut self, condition: u8, label: usize) {
        self.open(Form::When(condition), To::Label(label), 4);
    }

    pub(super) fn zero(&mut self, nonzero: bool, register: u8, label: usize) {
        let len = match self.isa {
            Isa::A64 => 4,
            Isa::A32 => 8,
            _ => 6,
        };
        self.open(Form::Zero { nonzero, register }, To::Label(label), len);
    }

    pub(super) fn bit(&mut self, nonzero: bool, register: u8, bit: u8, label: usize) {
        self.open(Form::Bit { nonzero, register, bit }, To::Label(label), 4);
    }

    pub(super) fn call(&mut self, condition: u8, function: usize) {
        self.open(Form::Call(condition), To::Function(function), 4);
    }

    pub(super) fn address(&mut self, register: u8, to: To) {
        self.open(Form::Address(register), to, if self.isa == Isa::A64 { 16 } else { 8 });
    }

    fn open(&mut self, form: Form, to: To, len: usize) {
        self.open.push((self.bytes.len(), form, to));
        self.bytes.resize(self.bytes.len() + len, 0);
    }

    /// The code at address `at`, with the addresses of functions in `functions`. A branch that is
    /// out of range is left out.
    pub(super) fn link(&self, at: u64, functions: &[(u64, Isa)]) -> Vec<u8> {
        let mut bytes = self.bytes.clone();
        for &(offset, form, to) in &self.open {
            let here = at + offset as u64;
            let (target, isa) = match to {
                To::Label(label) => (at + self.labels[label].unwrap_or(0) as u64, self.isa),
                To::Function(function) => functions[function],
            };
            let mut filled = Vec::new();
            for opcode in self.fill(form, here, target, isa).unwrap_or_default() {
                put(&mut filled, self.isa, opcode);
            }
            bytes.splice(offset..offset + filled.len(), filled);
        }
        bytes
    }

    /// The instructions of a placeholder.
    fn fill(&self, form: Form, here: u64, target: u64, isa: Isa) -> Option<Vec<u32>> {
        let by = target.wrapping_sub(here) as i64;
        let by = if self.isa == Isa::A64 { i32::try_from(by).ok() } else { Some(by as i32) };
        let by = by.or(matches!(form, Form::Address(_)).then_some(0))?;
        let one = |opcode: Option<u32>| opcode.map(|opcode| vec![opcode]);
        // A 16-bit instruction if the target is in range, and padding.
        let narrow = |opcode: Option<u32>, fill: u32, wide: Option<Vec<u32>>| {
            opcode.map(|opcode| vec![opcode, fill]).or(wide)
        };
        match (self.isa, form) {
            (Isa::A64, Form::Jump) => one(a64::b(by)),
            (Isa::A64, Form::When(condition)) => one(a64::b_cond(condition, by)),
            (Isa::A64, Form::Zero { nonzero, register }) => one(a64::cbz(nonzero, register, by)),
            (Isa::A64, Form::Bit { nonzero, register, bit }) => {
                one(a64::tbz(nonzero, register, bit, by))
            }
            (Isa::A64, Form::Call(_)) => one(a64::bl(by)),
            (Isa::A64, Form::Address(register)) => {
                let half = |n: u8| (target >> (16 * n)) as u16;
                let next = |n: u8| a64::movk(register, n, half(n));
                Some(vec![a64::movz(register, 0, half(0)), next(1), next(2), next(3)])
            }
            (Isa::A32, Form::Jump) => one(a32::b(a32::ALWAYS, by)),
            (Isa::A32, Form::When(condition)) => one(a32::b(condition, by)),
            (Isa::A32, Form::Zero { nonzero, register }) => {
                let cmp = a32::alu_immediate(a32::ALWAYS, a32::Alu::Cmp, true, 0, register, 0);
                Some(vec![cmp, a32::b(nonzero.into(), by - 4)?])
            }
            (Isa::A32, Form::Call(_)) if isa == Isa::T32 => one(a32::blx(by)),
            (Isa::A32, Form::Call(condition)) => one(a32::bl(condition, by)),
            (Isa::A32, Form::Address(register)) => {
                let target = target as u32 | u32::from(isa == Isa::T32);
                let half = |top: bool| {
                    let bits = if top { target >> 16 } else { target } as u16;
                    a32::mov16(a32::ALWAYS, top, register, bits)
                };
                Some(vec![half(false), half(true)])
            }
            (_, Form::Jump) => narrow(t32::b(by), t32::NOP, one(t32::b_w(by))),
            (_, Form::When(condition)) => {
                narrow(t32::b_cond(condition, by), t32::NOP, one(t32::b_cond_w(condition, by)))
            }
            (_, Form::Zero { nonzero, register }) => {
                let cmp = t32::immediate(1, register, 0);
                let branch = t32::b_cond_w(nonzero.into(), by - 2);
                let wide = branch.map(|branch| vec![cmp, branch]);
                narrow(t32::cbz(nonzero, register, by), t32::NOP_W, wide)
            }
            (_, Form::Call(_)) if isa == Isa::A32 => one(t32::blx(here, by)),
            (_, Form::Call(_)) => one(t32::bl(by)),
            (_, Form::Address(register)) => {
                let target = target as u32 | u32::from(isa == Isa::T32);
                let low = t32::mov16(false, register, target as u16);
                Some(vec![low, t32::mov16(true, register, (target >> 16) as u16)])
            }
            (_, Form::Bit { .. }) => None,
        }
    }
}

/// Appends an opcode in memory byte order.
fn put(bytes: &mut Vec<u8>, isa: Isa, opcode: u32) {
    match isa {
        Isa::T32 if opcode >> 16 == 0 => bytes.extend((opcode as u16).to_le_bytes()),
        Isa::T32 => bytes.extend(opcode.rotate_left(16).to_le_bytes()),
        _ => bytes.extend(opcode.to_le_bytes()),
    }
}
