//! The program flow of ETMv1 and ETMv2, instruction by instruction: A32, T32 before Thumb-2, and
//! Jazelle.

use tracewright_base::{
    BlockCache, Context, Counted, Element, Inconsistency, Instruction, Isa, Kind, Last, Pc, Range,
};

/// The position in the program. By default it is unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Flow {
    next: Next,
    /// The first half of the BL at the next address executed.
    half: bool,
    /// Cycles of the first half of the last BL, 0 where cycles are not counted. `None` where the
    /// half did not execute: an exception cancelled it.
    first_cycles: Option<u32>,
    /// Cycles that belong to the next instruction.
    cycles: u32,
}

/// The next instruction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Next {
    /// Not known, and the reason was reported.
    #[default]
    Unknown,
    /// Known.
    At(u32, Isa),
    /// The target of an indirect branch, whose address has not come.
    Branch(Isa),
}

/// The outcome of walking an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Walked {
    /// It executed.
    Instruction(Range, Instruction),
    /// It is the first half of a BL. Both halves are reported together.
    Half,
    /// The instruction is not known, and the reason was reported.
    Unknown,
    /// It is a byte code, or a part of one.
    ByteCode,
    /// It cannot be followed, for the reason that the element gives.
    Stop(Element),
}

impl Flow {
    /// The next instruction.
    pub(crate) const fn next(&self) -> Next {
        self.next
    }

    /// The address of the next instruction, or of its second half where the first half executed.
    pub(crate) const fn address(&self) -> Option<u32> {
        match self.next {
            Next::At(address, _) if self.half => Some(address.wrapping_add(2)),
            Next::At(address, _) => Some(address),
            _ => None,
        }
    }

    /// Whether the last instruction is the first half of a BL.
    pub(crate) const fn is_half(&self) -> bool {
        self.half
    }

    /// The program continues at `address`.
    pub(crate) const fn go(&mut self, address: u32, isa: Isa) {
        (self.next, self.half) = (Next::At(address, isa), false);
    }

    /// The next address is not known.
    pub(crate) const fn lose(&mut self) {
        (self.next, self.half) = (Next::Unknown, false);
    }

    /// Takes the cycles that belong to no instruction so far.
    pub(crate) const fn take_cycles(&mut self) -> u32 {
        core::mem::replace(&mut self.cycles, 0)
    }

    /// Adds cycles.
    pub(crate) const fn pass(&mut self, cycles: u32) {
        self.cycles = self.cycles.saturating_add(cycles);
    }

    /// Takes the range of the first half of a BL, where it executed and the second half does not
    /// follow.
    pub(crate) fn lone_half(&mut self) -> Option<Range> {
        let Next::At(address, isa) = self.next else { return None };
        if !core::mem::take(&mut self.half) {
            return None;
        }
        // Where cycles are counted, the half took at least one.
        let counts = self.cycles > 0;
        Some(self.range(address, &half(isa), true, counts))
    }

    /// The first half of `last`, the last instruction, if that is a BL whose first half executed.
    pub(crate) fn first_half_of(&self, last: &Range) -> Option<Range> {
        let isa = last.last.isa;
        let first = self.first_cycles?;
        let cycles = last.cycles.get().map_or(Counted::UNKNOWN, |_| Counted::of(first));
        (isa == Isa::T32 && last.bytes == 4).then_some(Range {
            bytes: 2,
            cycles,
            last: Last::new(&half(isa), true),
            ..*last
        })
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

    /// Walks the next instruction. `counts`: the trace counts cycles.
    pub(crate) fn walk<K: BlockCache>(
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
            (self.half, self.first_cycles) = (true, Some(self.cycles));
            return Walked::Half;
        }
        if !core::mem::take(&mut self.half) {
            self.first_cycles = None;
        }
        let range = self.range(address, &instruction, passed, counts);
        self.next = after(address, &instruction, passed);
        Walked::Instruction(range, instruction)
    }
}

/// The first half of a BL as an instruction.
fn half(isa: Isa) -> Instruction {
    Instruction { size: 2, isa, target_isa: isa, ..Instruction::default() }
}

/// The position after `instruction`.
fn after(address: u32, instruction: &Instruction, passed: bool) -> Next {
    match (instruction.kind, instruction.target) {
        (Kind::Branch, Some(target)) if passed => Next::At(target as u32, instruction.target_isa),
        (Kind::Indirect | Kind::Branch, _) if passed => Next::Branch(instruction.isa),
        _ => Next::At(address.wrapping_add(instruction.size.into()), instruction.isa),
    }
}

/// The instruction at `pc`, which may be the second half of a BL. Before Thumb-2 the halves are two
/// instructions, and an exception may come between them.
fn instruction<K: BlockCache>(pc: Pc, code: &mut K) -> Result<Instruction, Element> {
    let found = code.instruction(pc);
    let alone = found.is_ok_and(|instruction| instruction.size == 2);
    if !alone && let Some(whole) = second_half_of(pc, code) {
        return Ok(Instruction { size: 2, ..whole });
    }
    if found.is_ok_and(|found| ends_path(pc, &found, code)) {
        return Err(Element::Inconsistency(Inconsistency::InvalidOpcode));
    }
    found.map_err(|miss| pc.unreadable(miss.address))
}

/// Whether no processor executes the instruction at `pc`: the program image is missing or wrong
/// there. A block of undefined instructions ends before it.
pub(crate) fn ends_path<K: BlockCache>(pc: Pc, at: &Instruction, code: &mut K) -> bool {
    at.kind == Kind::Undefined && code.block(pc).is_ok_and(|block| block.instructions == 0)
}

/// Whether the code at `pc` is the second half of a BL or BLX and nothing else.
pub(crate) fn is_second_half<K: BlockCache>(pc: Pc, code: &mut K) -> bool {
    let alone = code.instruction(pc).is_ok_and(|instruction| instruction.size == 2);
    !alone && second_half_of(pc, code).is_some()
}

/// The BL or BLX whose second half is at `pc`, if the halfwords there and before may be one.
fn second_half_of<K: BlockCache>(pc: Pc, code: &mut K) -> Option<Instruction> {
    if pc.isa != Isa::T32 {
        return None;
    }
    let before = Pc { address: pc.address.wrapping_sub(2) & pc.isa.address_mask(), ..pc };
    let halves = code.opcode(before).map(|opcode| (opcode >> 27, opcode >> 11 & 0b1_1111));
    let (0b1_1110, 0b1_1101 | 0b1_1111) = halves? else { return None };
    code.instruction(before).ok().filter(|whole| whole.kind == Kind::Branch)
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

    /// The exception number in elements: the index of the word in the vector table.
    pub(crate) const fn number(self) -> u16 {
        (self.offset() / 4) as u16
    }

    /// Whether the instruction that the branch replaces did not execute.
    pub(crate) const fn cancels(self) -> bool {
        matches!(self, Vector::Reset | Vector::PrefetchAbort | Vector::Irq | Vector::Fiq)
    }

    /// The name of exception `number`.
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

/// Whether `address` is in the vector table. Direct branches to it are traced as indirect ones.
/// (IHI 0014, 5.5.1)
pub(crate) const fn in_vector_table(address: u32, high: bool) -> bool {
    address.wrapping_sub(if high { HIGH_VECTORS } else { 0 }) < 0x20
}

#[cfg(test)]
mod tests {
    use super::*;

    /// IHI 0014, 4.5.3: the vectors, and whether the branch replaces an instruction.
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
