//! 32-bit T32 instructions that are traced as two. (IHI 0014, 4.5.4 and ETMIDR bit \[18])
//!
//! The two halves are reported together. Where an exception, a gap or the end of the trace comes
//! between them, each is reported on its own. Until then the first half is pending.

use alloc::vec::Vec;

use tracewright_base::{BlockCache, Counted, Element, Instruction, Isa, Last, Range, Sink};

use super::{Decoder, Flow};
use crate::etmv3::Config;
use crate::flow::is_second_half;
use crate::pending::Withdrawal;

/// The halves of such instructions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Halves {
    /// The second half is next. The position is the address of the first half.
    pub(super) first: Option<First>,
    /// The first half of the last instruction whose second half was traced.
    pub(super) last_first: First,
    /// The address of the last second half that was reported on its own.
    pub(super) last_second: Option<u32>,
    /// Addresses of second halves that are still to execute, the most recent last.
    second: Vec<u32>,
}

/// A first half that was traced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct First {
    /// Cycles up to its atom. 0 where cycles are not traced.
    pub(super) cycles: u32,
    /// Cycles after its atom that no other atom has.
    pub(super) after: u32,
    /// It passed its condition code test.
    pub(super) passed: bool,
    /// It was reported on its own.
    pub(super) reported: bool,
}

/// Limit of the addresses of second halves: one for each preemption level.
const LIMIT: usize = 16;

impl Decoder {
    /// Continues at `address`, which may be that of a second half.
    #[inline]
    pub(super) fn go(&mut self, address: u32) {
        (self.flow, self.halves.first) = (Flow::At(address), None);
        if !self.halves.second.is_empty() {
            self.go_to_half(address);
        }
    }

    #[cold]
    fn go_to_half(&mut self, address: u32) {
        let second = &mut self.halves.second;
        if self.context.isa == Isa::T32
            && let Some(k) = second.iter().rposition(|&half| half == address)
        {
            second.remove(k);
            self.enter_second_half(address);
        }
    }

    /// Continues with the second half at `address`.
    fn enter_second_half(&mut self, address: u32) {
        self.flow = Flow::At(address.wrapping_sub(2));
        self.halves.first = Some(First { passed: true, reported: true, ..First::default() });
    }

    /// Tracing begins at `address`. If that is the second half of a BL or BLX, continues there.
    pub(super) fn find_second_half<K: BlockCache>(
        &mut self,
        address: u32,
        config: &Config,
        code: &mut K,
    ) {
        if self.halves.first.is_none()
            && !config.id.thumb32_is_one()
            && is_second_half(self.pc(address), code)
        {
            self.enter_second_half(address);
        }
    }

    /// A first half was traced. Until the second half comes, it is pending on its own.
    pub(super) fn first_half<S: Sink>(
        &mut self,
        at: u64,
        address: u32,
        isa: Isa,
        first: First,
        sink: &mut S,
    ) {
        self.pending.instruction(at, first_half(address, isa, first), sink);
        self.halves.first = Some(first);
        self.returned = false;
    }

    /// The second half does not follow the first, which stays pending on its own.
    #[inline]
    pub(super) fn flush_half<S: Sink>(&mut self, at: u64, sink: &mut S) {
        if self.halves.first.is_some() {
            self.part_halves(at, sink);
        }
    }

    #[cold]
    fn part_halves<S: Sink>(&mut self, at: u64, sink: &mut S) {
        if let (Some(first), Flow::At(address)) = (self.halves.first.take(), self.flow) {
            self.cycles(at, first.after, sink);
            self.expect_second_half(address);
        }
    }

    /// Reports cycles without an instruction, or counts them with the halves between which they
    /// are.
    #[inline]
    pub(super) fn cycles<S: Sink>(&mut self, at: u64, cycles: u32, sink: &mut S) {
        match &mut self.halves.first {
            _ if cycles == 0 => {}
            Some(first) if !first.reported => first.after = first.after.saturating_add(cycles),
            _ => self.pending.cycles(at, cycles, sink),
        }
    }

    /// The first half of the instruction at `address` executed, and the second half did not.
    fn expect_second_half(&mut self, address: u32) {
        let half = address.wrapping_add(2);
        let second = &mut self.halves.second;
        if !second.contains(&half) {
            if second.len() >= LIMIT {
                second.remove(0);
            }
            second.push(half);
        }
    }

    /// Withdraws a first half whose atom came last, and what belongs to its instruction unless that
    /// continues. Returns `false` where there is none.
    pub(super) fn cancel_half<S: Sink>(&mut self, at: u64, resume: u8, sink: &mut S) -> bool {
        let (Some(first), Flow::At(address)) = (self.halves.first, self.flow) else { return false };
        let Some(first) = Some(first).filter(|first| !first.reported) else { return false };
        self.halves.first = None;
        if resume > 0 {
            self.pending.withdraw_last();
        } else {
            self.pending.cancel();
            self.data.cancel(Withdrawal::Instruction);
        }
        let cycles = first.cycles.saturating_add(first.after);
        let first = First { cycles, ..first };
        let range = first_half(address, self.context.isa, first);
        self.withdrawn_cycles(at, Some(range), sink);
        true
    }

    /// `last`, of the packet at `at`, was withdrawn. If that was a second half, reports the first
    /// half, which stays. Returns what was withdrawn.
    pub(super) fn first_of<S: Sink>(
        &mut self,
        at: u64,
        last: Range,
        config: &Config,
        sink: &mut S,
    ) -> Range {
        if config.id.thumb32_is_one() || last.last.isa == Isa::A32 {
            return last;
        }
        let start = last.start as u32;
        if last.bytes == 2 && self.halves.last_second == Some(start) {
            self.expect_second_half(start.wrapping_sub(2));
        }
        if last.bytes != 4 {
            return last;
        }
        let first = self.halves.last_first;
        // The instruction may have changed the instruction set.
        sink.element(at, Element::Range(first_half(start, last.last.isa, first)));
        self.expect_second_half(start);
        let cycles = last
            .cycles
            .get()
            .map_or(Counted::UNKNOWN, |cycles| Counted::of(cycles.saturating_sub(first.cycles)));
        Range { cycles, ..last }
    }
}

/// The first half of the instruction at `address` on its own.
fn first_half(address: u32, isa: Isa, first: First) -> Range {
    let what = Instruction { size: 2, isa, target_isa: isa, ..Instruction::default() };
    Range {
        start: address.into(),
        bytes: 2,
        instructions: 1,
        // Where cycles are traced, the half took at least one.
        cycles: if first.cycles > 0 { Counted::of(first.cycles) } else { Counted::UNKNOWN },
        last: Last::new(&what, first.passed),
    }
}
