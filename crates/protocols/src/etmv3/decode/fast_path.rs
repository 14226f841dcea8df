//! The fast path of the decoder: runs of P-headers.
//!
//! Almost all packets of a trace without data are P-headers. For this unit every instruction is a
//! separate block ([`Waypoints::each`](tracewright_base::Waypoints::each)), and the block cache
//! stores the successors of each. The fast path holds a [`BlockId`] as its position, so an atom
//! takes one load. An instruction that another one follows cannot be withdrawn, so only the last
//! instruction of a run of P-headers, and the cycles after it, become pending. The state of the
//! decoder is updated from the last instruction alone, where it is needed.

use tracewright_base::{BlockCache, BlockId, Counted, Element, Feed, Isa, Range, Sink};

use super::halves::First;
use super::{Decoder, Flow, Phase};
use crate::cursor::Cursor;
use crate::etmv3::Config;
use crate::etmv3::packet::atoms::{Atoms, Headers, Steps};

impl Decoder {
    /// Takes a run of P-headers. It takes nothing where data are traced.
    // In line, its loop would share the registers with the parser of all other packets.
    #[inline(never)]
    pub(super) fn fast_path<K: BlockCache, S: Sink>(
        &mut self,
        feed: &mut Feed<'_>,
        config: &Config,
        code: &mut K,
        sink: &mut S,
    ) {
        if self.phase != Phase::Synced || config.control.data() || config.control.data_only() {
            return;
        }
        if self.halves.first.is_some() {
            return;
        }
        let headers = Atoms::headers(config.control.cycle_accurate(), config.id.minor());
        let run = Run::of(feed, headers);
        if run.end == feed.taken {
            return;
        }
        self.pending.settle(sink);
        self.data.other_packet();
        if run.known > feed.taken {
            // An instruction follows, so the pending one completed.
            self.pending.commit(sink);
            if config.id.thumb32_is_one() {
                self.run_atoms::<false, K, S>(feed, run.known, headers, config, code, sink);
            } else {
                self.run_atoms::<true, K, S>(feed, run.known, headers, config, code, sink);
            }
        }
        feed.packets += run.end - feed.taken;
        while feed.taken < run.end
            && let Some(&header) = feed.bytes.get(feed.taken)
        {
            let cycles = headers[usize::from(header)].cycles();
            feed.last = feed.offsets.at(feed.taken);
            feed.taken += 1;
            self.cycles(feed.last, cycles.into(), sink);
        }
    }

    /// Takes P-headers up to `end`. `HALVES`: a 32-bit T32 instruction is traced as two.
    fn run_atoms<const HALVES: bool, K: BlockCache, S: Sink>(
        &mut self,
        feed: &mut Feed<'_>,
        end: usize,
        headers: &Headers,
        config: &Config,
        code: &mut K,
        sink: &mut S,
    ) {
        let bytes = feed.bytes.get(..end).unwrap_or_default();
        let accurate = config.control.cycle_accurate();
        let mut cursor = self.find(code);
        let mut steps = Steps::default();
        // The remaining instructions of `steps`: their number, the ones that passed from bit 0 on,
        // and the number of W before the first.
        let (mut left, mut bits, mut cycles) = (0, 0, 0);
        // How many of them the inner loop leaves: the last instruction of the run, which becomes
        // pending.
        let mut reserved = 0;
        let (mut at, mut taken) = (feed.last, feed.taken);
        // The difference between trace offset and index, valid up to index `until`.
        let (mut add, mut until) = (0, taken);
        loop {
            let blocks = code.blocks();
            // Whether the loop needs an instruction that is not cached.
            let mut enter = 'fast_path: loop {
                while left > reserved {
                    let Some((cached, class)) = blocks.get(cursor.next) else {
                        break 'fast_path true;
                    };
                    let passed = bits & 1 != 0;
                    let range = cached.range(class, passed);
                    let mut count = u32::from(cycles);
                    (left, bits, cycles) = (left - 1, bits >> 1, steps.others());
                    if HALVES && range.bytes == 4 && range.last.isa != Isa::A32 {
                        let Some(first) = self.halves.first.take() else {
                            self.data.completed(&mut self.pending);
                            let first = First { cycles: count, passed, ..First::default() };
                            self.halves.first = Some(first);
                            continue;
                        };
                        count = self.second_half(count, first);
                    }
                    let id = cursor.next;
                    cursor = cursor.pass(passed, &blocks);
                    match accurate {
                        true => {
                            let range = Range { cycles: Counted::of(count), ..range };
                            sink.element(at, Element::Range(range));
                        }
                        false => sink.step(at, id, passed, &blocks),
                    }
                }
                // Up to the next header with an instruction.
                while left <= reserved {
                    let Some(&header) = bytes.get(taken) else { break 'fast_path false };
                    if taken >= until {
                        (at, until) = feed.offsets.run(taken);
                        add = at.wrapping_sub(taken as u64);
                    }
                    at = add.wrapping_add(taken as u64);
                    taken += 1;
                    reserved = u8::from(taken == end);
                    steps = headers[usize::from(header)];
                    (left, bits, cycles) = (steps.len(), steps.passed(), steps.cycles());
                    if left == 0 && cycles > 0 {
                        match &mut self.halves.first {
                            Some(first) if HALVES => first.after += u32::from(cycles),
                            _ => sink.element(at, Element::Cycles(Some(cycles.into()))),
                        }
                    }
                }
            };
            if !enter && left > 0 {
                if let Some((cached, class)) = blocks.get(cursor.next) {
                    let passed = bits & 1 != 0;
                    let range = cached.range(class, passed);
                    let cycles = u32::from(cycles);
                    left = 0;
                    if self.last_atom::<HALVES, S>(at, range, passed, cycles, accurate, sink) {
                        cursor = cursor.pass(passed, &blocks);
                    }
                } else {
                    enter = true;
                }
            }
            self.settle(cursor, code);
            if !enter {
                break;
            }
            cursor = self.enter(cursor, code);
            if cursor.next == BlockId::NONE {
                self.single_atoms(at, steps.last(left), taken < end, config, code, sink);
                left = 0;
                cursor = self.find(code);
            }
        }
        feed.packets += taken - feed.taken;
        (feed.last, feed.taken) = (at, taken);
    }

    /// Takes the last instruction of a run, `range` without its cycles, which becomes pending.
    /// Whether it is complete: not the first half of one.
    #[inline]
    fn last_atom<const HALVES: bool, S: Sink>(
        &mut self,
        at: u64,
        range: Range,
        passed: bool,
        mut cycles: u32,
        accurate: bool,
        sink: &mut S,
    ) -> bool {
        if HALVES && range.bytes == 4 && range.last.isa != Isa::A32 {
            let Some(first) = self.halves.first.take() else {
                self.data.completed(&mut self.pending);
                let first = First { cycles, passed, ..First::default() };
                self.first_half(at, range.start as u32, range.last.isa, first, sink);
                return false;
            };
            cycles = self.second_half(cycles, first);
        }
        let cycles = if accurate { Counted::of(cycles) } else { Counted::UNKNOWN };
        self.pending.instruction(at, Range { cycles, ..range }, sink);
        true
    }

    /// The cycles of an instruction whose second half took `cycles`.
    #[inline]
    fn second_half(&mut self, cycles: u32, first: First) -> u32 {
        self.halves.last_first = first;
        cycles.saturating_add(first.cycles).saturating_add(first.after)
    }

    /// Takes atoms whose instructions are not cached, or not known. `more`: other atoms follow.
    #[cold]
    fn single_atoms<K: BlockCache, S: Sink>(
        &mut self,
        at: u64,
        steps: Steps,
        more: bool,
        config: &Config,
        code: &mut K,
        sink: &mut S,
    ) {
        self.atoms(at, steps, config, code, sink);
        if more {
            if self.halves.first.is_some() {
                self.pending.withdraw_last();
            }
            self.pending.commit(sink);
        }
    }

    /// The cached block at the position of the decoder.
    #[inline]
    fn find<K: BlockCache>(&self, code: &K) -> Cursor {
        match (self.flow, self.context.isa) {
            (Flow::At(_), Isa::Jazelle) | (Flow::Unknown | Flow::Branch, _) => {
                Cursor::before(BlockId::NONE)
            }
            (Flow::At(address), isa) => {
                let code_space = code.code_space(isa, self.context.space());
                Cursor::find(u64::from(address), isa, code_space, code)
            }
        }
    }

    /// Updates the decoder state to the position after an instruction.
    #[inline]
    fn settle<K: BlockCache>(&mut self, cursor: Cursor, code: &K) {
        if cursor.last == BlockId::NONE {
            return;
        }
        self.returned = false;
        // The instruction that follows in any case.
        if let Some((cached, class)) = code.blocks().get(cursor.next) {
            self.context.isa = class.isa();
            self.flow = Flow::At(cached.start(class) as u32);
            return;
        }
        let Some(block) = cursor.unsettled(code) else { return };
        self.context.isa = block.last.isa;
        self.flow = self.after(block.start as u32, &block.last, cursor.taken);
    }

    /// Caches the next instruction, the successor of the last one.
    #[cold]
    fn enter<K: BlockCache>(&self, cursor: Cursor, code: &mut K) -> Cursor {
        match self.flow {
            Flow::At(address) if self.context.isa != Isa::Jazelle => {
                cursor.enter(self.pc(address), true, code)
            }
            _ => Cursor::before(BlockId::NONE),
        }
    }
}

/// A run of P-headers.
struct Run {
    /// End of the last P-header with an instruction, or the start of the run.
    known: usize,
    /// End of the run.
    end: usize,
}

impl Run {
    #[inline]
    fn of(feed: &Feed<'_>, headers: &Headers) -> Run {
        let mut run = Run { known: feed.taken, end: feed.taken };
        while let Some(&header) = feed.bytes.get(run.end) {
            let steps = headers[usize::from(header)];
            if !steps.is_header() {
                break;
            }
            run.end += 1;
            if steps.len() > 0 {
                run.known = run.end;
            }
        }
        run
    }
}
