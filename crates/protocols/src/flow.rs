//! One instruction after another, as trace units without atoms have them: A32, T32 and Jazelle before
//! Thumb-2. ETMv1 and ETMv2 share it.

use tracewright_base::{Code, Context, Counted, Element, Instruction, Isa, Kind, Last, Pc, Range};

/// Where the program is. A plain value; its default is nowhere.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Flow {
    next: Next,
    /// The first half of the BL at the next address was executed.
    half: bool,
    /// Cycles that belong to the next instruction.
    cycles: u32,
}

/// The next instruction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Next {
    /// Not known, and the trace has said why.
    #[default]
    Unknown,
    /// Known.
    At(u32, Isa),
    /// The target of an indirect branch: its address must come first.
    Branch(Isa),
}

/// What came of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Walked {
    /// It was executed.
    Instruction(Range, Instruction),
    /// It was the first half of a BL: both are said together.
    Half,
    /// It is not known which it was; why has been said.
    Unknown,
    /// It is a byte code, one or a part of one.
    ByteCode,
    /// It cannot be followed, for this reason.
    Stop(Element),
}

impl Flow {
    /// The next instruction.
    pub(crate) const fn next(&self) -> Next {
        self.next
    }

    /// The address of the next instruction, of its second half where the first was executed.
    pub(crate) const fn address(&self) -> Option<u32> {
        match self.next {
            Next::At(address, _) if self.half => Some(address.wrapping_add(2)),
            Next::At(address, _) => Some(address),
            _ => None,
        }
    }

    /// The first half of a BL came last.
    pub(crate) const fn is_half(&self) -> bool {
        self.half
    }

    /// The program goes on at `address`.
    pub(crate) const fn go(&mut self, address: u32, isa: Isa) {
        (self.next, self.half) = (Next::At(address, isa), false);
    }

    /// It is not known where the program goes on.
    pub(crate) const fn lose(&mut self) {
        (self.next, self.half) = (Next::Unknown, false);
    }

    /// The cycles that passed without an instruction that could be said.
    pub(crate) const fn take_cycles(&mut self) -> u32 {
        core::mem::replace(&mut self.cycles, 0)
    }

    /// These cycles passed.
    pub(crate) const fn pass(&mut self, cycles: u32) {
        self.cycles = self.cycles.saturating_add(cycles);
    }

    /// The first half of a BL, where that was executed and the second will not be now.
    pub(crate) fn lone_half(&mut self) -> Option<Range> {
        let Next::At(address, isa) = self.next else { return None };
        if !core::mem::take(&mut self.half) {
            return None;
        }
        let half = Instruction { size: 2, isa, target_isa: isa, ..Instruction::default() };
        // Where cycles are counted, it took one.
        let counts = self.cycles > 0;
        Some(self.range(address, &half, true, counts))
    }

    fn range(&mut self, start: u32, what: &Instruction, passed: bool, counts: bool) -> Range {
        let cycles = if counts { Counted::of(self.take_cycles()) } else { Counted::UNKNOWN };
        Range {
            start: start.into(),
            bytes: what.size.into(),
            instructions: 1,
            cycles,
            last: Last::new(what, passed),
        }
    }

    /// Executes the next instruction. `counts`: the trace counts cycles.
    pub(crate) fn walk<K: Code>(
        &mut self,
        passed: bool,
        counts: bool,
        context: &Context,
        code: &mut K,
    ) -> Walked {
        let (address, isa) = match self.next {
            Next::At(_, Isa::Jazelle) => return Walked::ByteCode,
            Next::At(address, isa) => (address, isa),
            Next::Branch(_) | Next::Unknown => return Walked::Unknown,
        };
        let pc = Pc { address: address.into(), isa, space: context.space() };
        let instruction = match instruction(pc, code) {
            Ok(instruction) => instruction,
            Err(element) => {
                self.lose();
                return Walked::Stop(element);
            }
        };
        if isa == Isa::T32 && instruction.size == 4 && passed && !self.half {
            self.half = true;
            return Walked::Half;
        }
        self.half = false;
        let range = self.range(address, &instruction, passed, counts);
        self.next = after(address, &instruction, passed);
        Walked::Instruction(range, instruction)
    }
}

/// Where the flow is after `instruction`.
fn after(address: u32, instruction: &Instruction, passed: bool) -> Next {
    match (instruction.kind, instruction.target) {
        (Kind::Branch, Some(target)) if passed => Next::At(target as u32, instruction.target_isa),
        (Kind::Indirect | Kind::Branch, _) if passed => Next::Branch(instruction.isa),
        _ => Next::At(address.wrapping_add(instruction.size.into()), instruction.isa),
    }
}

/// The instruction at `pc`, which may be the second half of a BL: before Thumb-2 the halves are
/// instructions of their own, and an exception may come between them.
fn instruction<K: Code>(pc: Pc, code: &mut K) -> Result<Instruction, Element> {
    let found = code.instruction(pc);
    let alone = found.is_ok_and(|instruction| instruction.size == 2);
    if pc.isa == Isa::T32 && !alone {
        let before = Pc { address: pc.address.wrapping_sub(2) & pc.isa.address_mask(), ..pc };
        let halves = code.opcode(before).map(|opcode| (opcode >> 27, opcode >> 11 & 0b1_1111));
        if let Some((0b1_1110, 0b1_1101 | 0b1_1111)) = halves
            && let Ok(whole) = code.instruction(before)
            && whole.kind == Kind::Branch
        {
            return Ok(Instruction { size: 2, ..whole });
        }
    }
    found.map_err(|miss| Element::NoCode { address: miss.address, space: pc.space })
}

/// Exception vectors of the classic architecture. (IHI 0014, 4.5.3)
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Vector {
    Reset,
    Undefined,
    Call,
    PrefetchAbort,
    DataAbort,
    Irq,
    Fiq,
}

/// The base of the vectors where HIVECS is high.
pub(crate) const HIGH_VECTORS: u32 = 0xffff_0000;

impl Vector {
    const ALL: [Vector; 7] = [
        Vector::Reset,
        Vector::Undefined,
        Vector::Call,
        Vector::PrefetchAbort,
        Vector::DataAbort,
        Vector::Irq,
        Vector::Fiq,
    ];

    /// The vector at `address`. All of them are A32 code.
    pub(crate) fn at(address: u32, isa: Isa, high: bool) -> Option<Vector> {
        let offset = address.wrapping_sub(if high { HIGH_VECTORS } else { 0 });
        Vector::ALL.into_iter().find(|v| v.offset() == offset).filter(|_| isa == Isa::A32)
    }

    /// Bytes from the base.
    pub(crate) const fn offset(self) -> u32 {
        match self {
            Vector::Reset => 0x00,
            Vector::Undefined => 0x04,
            Vector::Call => 0x08,
            Vector::PrefetchAbort => 0x0c,
            Vector::DataAbort => 0x10,
            Vector::Irq => 0x18,
            Vector::Fiq => 0x1c,
        }
    }

    /// The number that elements have: which word of the table it is.
    pub(crate) const fn number(self) -> u16 {
        (self.offset() / 4) as u16
    }

    /// The instruction on which the branch occurred did not execute.
    pub(crate) const fn cancels(self) -> bool {
        matches!(self, Vector::Reset | Vector::PrefetchAbort | Vector::Irq | Vector::Fiq)
    }

    /// What exception `number` is called.
    pub(crate) fn name(number: u16) -> Option<&'static str> {
        Some(match Vector::ALL.into_iter().find(|v| v.number() == number)? {
            Vector::Reset => "Reset",
            Vector::Undefined => "Undefined Instruction",
            Vector::Call => "SVC",
            Vector::PrefetchAbort => "Prefetch Abort",
            Vector::DataAbort => "Data Abort",
            Vector::Irq => "IRQ",
            Vector::Fiq => "FIQ",
        })
    }
}

/// Whether `address` lies in the table of vectors: direct branches there are traced as indirect ones.
/// (IHI 0014, 5.5.1)
pub(crate) const fn in_vector_table(address: u32, high: bool) -> bool {
    address.wrapping_sub(if high { HIGH_VECTORS } else { 0 }) < 0x20
}

#[cfg(test)]
mod tests {
    use super::*;

    /// IHI 0014, 4.5.3: which instruction the branch to a vector stands for.
    #[test]
    fn vectors() {
        for (offset, want, cancels) in [
            (0x00, Some(Vector::Reset), true),
            (0x04, Some(Vector::Undefined), false),
            (0x08, Some(Vector::Call), false),
            (0x0c, Some(Vector::PrefetchAbort), true),
            (0x10, Some(Vector::DataAbort), false),
            (0x14, None, false),
            (0x18, Some(Vector::Irq), true),
            (0x1c, Some(Vector::Fiq), true),
            (0x20, None, false),
        ] {
            for (high, base) in [(false, 0), (true, HIGH_VECTORS)] {
                let found = Vector::at(base + offset, Isa::A32, high);
                assert_eq!(found, want);
                assert_eq!(Vector::at(base + offset, Isa::A32, !high), None);
                assert_eq!(Vector::at(base + offset, Isa::T32, high), None);
                assert_eq!(found.is_some_and(Vector::cancels), cancels);
                assert_eq!(in_vector_table(base + offset, high), offset < 0x20);
            }
        }
        assert_eq!(Vector::name(6), Some("IRQ"));
        assert_eq!(Vector::name(5), None);
    }
}
