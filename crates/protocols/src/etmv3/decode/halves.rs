//! 32-bit T32 instructions that are traced as two. (IHI 0014, 4.5.4 and ETMIDR bit \[18])
//!
//! The two halves are reported together. Where an exception, a gap or the end of the trace comes
//! between them, each is reported on its own.

use alloc::vec::Vec;

use tracewright_base::{BlockCache, Counted, Instruction, Isa, Last, Range, Sink};

use super::{Decoder, Flow};
use crate::etmv3::Config;
use crate::flow::is_second_half;

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
        self.halves.first = Some(First { cycles: 0, passed: true, reported: true });
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

    /// Reports a first half on its own, because the second half does not follow.
    #[inline]
    pub(super) fn flush_half<S: Sink>(&mut self, at: u64, sink: &mut S) {
        if self.halves.first.is_some() {
            self.report_half(at, sink);
        }
    }

    #[cold]
    fn report_half<S: Sink>(&mut self, at: u64, sink: &mut S) {
        let (Some(first), Flow::At(address)) = (self.halves.first.take(), self.flow) else {
            return;
        };
        if !first.reported {
            self.pending.instruction(at, self.first_half(address, first), sink);
        }
        self.expect_second_half(address);
    }

    fn first_half(&self, address: u32, first: First) -> Range {
        let isa = self.context.isa;
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

    /// Withdraws a first half whose atom came last. Returns `false` where there is none.
    pub(super) fn cancel_half<S: Sink>(&mut self, at: u64, sink: &mut S) -> bool {
        let (Some(first), Flow::At(address)) = (self.halves.first, self.flow) else { return false };
        let Some(first) = Some(first).filter(|first| !first.reported) else { return false };
        self.halves.first = None;
        let range = self.first_half(address, first);
        self.withdrawn_cycles(at, Some(range), sink);
        true
    }

    /// `last` was withdrawn. If that was a second half, the first half stays. Returns what was
    /// withdrawn.
    pub(super) fn first_of<S: Sink>(
        &mut self,
        at: u64,
        last: Range,
        config: &Config,
        sink: &mut S,
    ) -> Option<Range> {
        if config.id.thumb32_is_one() || last.last.isa == Isa::A32 {
            return Some(last);
        }
        let start = last.start as u32;
        if last.bytes == 2 && self.halves.last_second == Some(start) {
            self.expect_second_half(start.wrapping_sub(2));
        }
        if last.bytes != 4 {
            return Some(last);
        }
        let first = self.halves.last_first;
        let range = Range { ..self.first_half(start, first) };
        self.pending.instruction(at, range, sink);
        self.expect_second_half(start);
        let cycles = last
            .cycles
            .get()
            .map_or(Counted::UNKNOWN, |cycles| Counted::of(cycles.saturating_sub(first.cycles)));
        Some(Range { cycles, ..last })
    }
}
