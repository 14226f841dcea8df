//! The path through cached blocks: of each only the successor is looked up.

use tracewright_base::{BlockCache, BlockId, CachedBlock, CachedBlocks, Pc, Sink};

use super::walk::{JUMP, Last, Walk};
use super::{Decoder, Position};
use crate::ntrace::config::{Config, Mode};
use crate::riscv::last_address;

/// A position among cached blocks.
struct Cursor {
    /// The block to execute next.
    next: BlockId,
    /// The block that was emitted last, and whether its waypoint took effect.
    last: Option<(BlockId, bool)>,
}

impl Decoder {
    /// Walks from cached block to cached block, as far as their waypoints are branches and direct
    /// jumps. [`follow`](Decoder::follow) takes all others.
    #[inline]
    pub(super) fn follow_cached<K: BlockCache, S: Sink>(
        &mut self,
        at: u64,
        pc: u64,
        walk: &mut Walk,
        config: &Config,
        code: &mut K,
        sink: &mut S,
    ) {
        let isa = config.isa();
        let code_space = code.code_space(isa, self.space);
        let mut next = code.find(pc & isa.address_mask(), code_space);
        if next == BlockId::NONE {
            next = code.enter(Pc { address: pc, isa, space: self.space }, None);
        }
        while next != BlockId::NONE {
            let mut cursor = Cursor { next, last: None };
            self.blocks(at, &mut cursor, walk, config, &code.blocks(), sink);
            let Some((last, taken)) = cursor.last else { return };
            let Some(block) = code.cached_block(last) else { return };
            self.last = Last::new(last_address(&block), &block.last);
            self.position = match block.last.target {
                Some(target) if taken => Position::At(target),
                None if taken => Position::Jump { target: None },
                _ => Position::At(block.next()),
            };
            next = cursor.next;
            let Position::At(pc) = self.position else { return };
            if next != BlockId::NONE || walk.is_done() {
                return;
            }
            let pc = Pc { address: pc, isa, space: self.space };
            next = code.enter(pc, Some((last, taken)));
        }
    }

    /// Emits blocks up to the first one that is not cached, or needs more than its successor.
    fn blocks<S: Sink>(
        &mut self,
        at: u64,
        cursor: &mut Cursor,
        walk: &mut Walk,
        config: &Config,
        blocks: &CachedBlocks<'_>,
        sink: &mut S,
    ) {
        let jumps = if config.all_jumps { CachedBlock::UNCONDITIONAL } else { 0 };
        let needs_more = CachedBlock::INDIRECT | jumps;
        let history = self.mode(config) == Some(Mode::History);
        let counted = walk.is_counted();
        let (mut next, mut last) = (cursor.next, cursor.last);
        let (mut count, mut outcomes) = (walk.count, walk.outcomes);
        let (mut ahead, mut allowance) = (self.ahead, self.allowance);
        while let Some((cached, successors, class)) = blocks.step(next) {
            let size = u64::from(cached.bytes() / 2);
            if size > count || cached.is_any_of(needs_more) || !counted && outcomes.len == 0 {
                break;
            }
            let unconditional = cached.is_any_of(CachedBlock::UNCONDITIONAL);
            let price =
                u64::from(cached.instructions()) + if unconditional && !counted { JUMP } else { 0 };
            let Some(left) = allowance.checked_sub(price) else { break };
            let taken = if unconditional {
                if cached.is_any_of(CachedBlock::CALL) {
                    self.returns.push(cached.end(class));
                }
                true
            } else if outcomes.len > 0 {
                let taken = outcomes.map & 1 != 0;
                (outcomes.map, outcomes.len) = (outcomes.map >> 1, outcomes.len - 1);
                taken
            } else if history || size == count {
                break;
            } else {
                false
            };
            allowance = left;
            if counted {
                count -= size;
            } else {
                ahead += size;
            }
            sink.cached_block(at, next, cached.range(class, taken));
            last = Some((next, taken));
            next = successors[usize::from(taken)];
        }
        (walk.count, walk.outcomes) = (count, outcomes);
        (self.ahead, self.allowance) = (ahead, allowance);
        *cursor = Cursor { next, last };
    }
}
