//! A checksum of ranges that other decoders can also compute.

use std::fmt;

use tracewright_base::{Batch, Element, Isa, Kind, Part, Range, Role};
use tracewright_decode::{Listener, Merge, Wants};

use super::step_table::StepTables;
use crate::fold::{Fold, mix};

/// Folds the ranges of each source in order, with the fields of OpenCSD's
/// `OCSD_GEN_TRC_ELEM_INSTR_RANGE`: start, end, number of instructions; and of the last instruction
/// type, subtype, instruction set, size, whether it took effect and whether it is conditional.
/// Equal checksums of two decoders mean the same ranges of each source in the same order. The
/// checksums of sources are added, because decoders interleave sources differently.
///
/// Fields that differ between OpenCSD's decoders are left out: cycles; that an instruction is a
/// data barrier or a wait; and the condition of a T32 instruction other than a direct branch
/// (OpenCSD's decoders of ETMv3 and PTM do not decode IT blocks).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RangeChecksum {
    /// By source.
    folds: Vec<Fold>,
    /// What is folded of each step.
    steps: StepTables<u64>,
}

impl RangeChecksum {
    /// The number.
    pub fn value(&self) -> u64 {
        let used = self.folds.iter().filter(|fold| fold.count > 0);
        used.fold(0, |sum, fold| sum.wrapping_add(mix(fold.sum, fold.count)))
    }

    /// The number of ranges.
    pub fn ranges(&self) -> u64 {
        self.folds.iter().map(|fold| fold.count).sum()
    }

    #[inline]
    fn of(&mut self, source: usize) -> Option<&mut Fold> {
        if source >= self.folds.len() {
            self.folds.resize(source + 1, Fold::default());
        }
        self.folds.get_mut(source)
    }
}

impl fmt::Display for RangeChecksum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.value())
    }
}

impl Listener for RangeChecksum {
    #[inline]
    fn element(&mut self, source: usize, _: u64, element: Element) {
        if let Element::Range(range) = element
            && let Some(fold) = self.of(source)
        {
            fold.push(value(&range));
        }
    }

    fn batch(&mut self, batch: &Batch<'_>) {
        let source = batch.source;
        let values = self
            .steps
            .of(source, &batch.blocks, |step| batch.range(step).map_or(0, |range| value(&range)));
        if source >= self.folds.len() {
            self.folds.resize(source + 1, Fold::default());
        }
        let Some(fold) = self.folds.get_mut(source) else { return };
        for part in batch.parts() {
            match part {
                Part::Steps(steps) => {
                    let values = steps.iter().filter_map(|step| values.get(step.index()));
                    values.for_each(|value| fold.push(*value));
                }
                Part::Element(_, Element::Range(range)) => fold.push(value(&range)),
                Part::Element(..) => {}
                Part::Turns(turns) => {
                    let mut turn = Fold::default();
                    turns.ranges.iter().for_each(|range| turn.push(value(range)));
                    fold.join_times(turn, turns.times);
                }
            }
        }
    }

    fn wants(&self) -> Wants {
        Wants::ANY_ORDER
    }
}

#[inline]
fn value(range: &Range) -> u64 {
    let end = range.end();
    let rest = u64::from(range.instructions) << 32 | u64::from(last(range));
    mix(range.start, end).wrapping_add(mix(rest, end))
}

impl Merge for RangeChecksum {
    fn merge(&mut self, later: Self) {
        for (source, later) in later.folds.into_iter().enumerate() {
            if let Some(fold) = self.of(source) {
                fold.join(later);
            }
        }
    }
}

/// The last instruction: type, bits \[3:0]; subtype, \[7:4]; instruction set, \[11:8]; size in
/// bytes, \[15:12]; took effect, 16; conditional, 17. `benches/reference/driver.c` uses the same
/// layout.
const fn last(range: &Range) -> u32 {
    let last = range.last;
    let kind = match last.kind {
        Kind::Plain | Kind::Undefined | Kind::Barrier | Kind::Wait | Kind::TimedWait => 0,
        Kind::Branch => 1,
        Kind::Indirect => 2,
        Kind::Isb => 3,
        Kind::TransactionStart => 6,
    };
    let a64 = matches!(last.isa, Isa::A64);
    let role = match last.role {
        Role::Jump | Role::Loop | Role::Compare | Role::Swap | Role::Link => 0,
        Role::Call => 1,
        Role::Return => 2,
        Role::ExceptionReturn => 3 * a64 as u32,
        Role::ImpliedReturn => 4,
    };
    let isa = match last.isa {
        Isa::A32 => 0,
        Isa::T32 => 1,
        Isa::A64 => 2,
        Isa::ThumbEe => 3,
        Isa::Jazelle => 4,
        Isa::Rv32 | Isa::Rv64 => 5,
    };
    let ignored = matches!(last.isa, Isa::T32) && !matches!(last.kind, Kind::Branch);
    let known = !ignored && !matches!(last.role, Role::Loop | Role::Compare);
    let conditional = last.conditional() && known;
    kind | role << 4
        | isa << 8
        | (last.size() as u32) << 12
        | (last.taken() as u32) << 16
        | (conditional as u32) << 17
}

#[cfg(test)]
mod tests {
    use tracewright_base::{Counted, Instruction, Last};

    use super::*;

    /// A condition is stated where OpenCSD knows it: not of T32 instructions that are no direct
    /// branches, and not of CBZ and the like or loop ends.
    #[test]
    fn conditions_that_are_stated() {
        for (isa, kind, role, stated) in [
            (Isa::T32, Kind::Branch, Role::Jump, true),
            (Isa::T32, Kind::Indirect, Role::Return, false),
            (Isa::T32, Kind::Plain, Role::Jump, false),
            (Isa::T32, Kind::Branch, Role::Compare, false),
            (Isa::T32, Kind::Branch, Role::Loop, false),
            (Isa::T32, Kind::Indirect, Role::Loop, false),
            (Isa::A64, Kind::Branch, Role::Compare, false),
            (Isa::A64, Kind::Indirect, Role::Jump, true),
            (Isa::A32, Kind::Indirect, Role::Return, true),
        ] {
            for conditional in [false, true] {
                let own =
                    Instruction { kind, role, isa, size: 4, conditional, ..Default::default() };
                let last_one = Last::new(&own, true);
                let cycles = Counted::UNKNOWN;
                let range = Range { start: 0, bytes: 4, instructions: 1, cycles, last: last_one };
                let bit = last(&range) >> 17 & 1 == 1;
                assert_eq!(bit, conditional && stated, "{own:?}");
            }
        }
    }
}
