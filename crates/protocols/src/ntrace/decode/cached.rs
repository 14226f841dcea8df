//! The path through cached blocks: of each only the successor is looked up.

use tracewright_base::{
    BlockCache, BlockId, CachedBlock, CachedBlocks, Kind, Path, Pc, Role, Sink, Turns,
};

use super::outcomes::Outcomes;
use super::steps::Steps;
use super::walk::{End, JUMP, Last, Walk};
use super::{Decoder, Position};
use crate::cursor::Cursor;
use crate::ntrace::config::{Config, Mode};
use crate::riscv::last_address;

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
        let mut cursor = Cursor::find(pc, isa, code_space, code);
        if cursor.next == BlockId::NONE {
            cursor = cursor.enter(Pc { address: pc, isa, space: self.space }, false, code);
        }
        while cursor.next != BlockId::NONE {
            self.blocks(at, &mut cursor, walk, config, &code.blocks(), sink);
            if cursor.next != BlockId::NONE || walk.is_done() {
                self.settle(cursor, code);
                return;
            }
            cursor = self.enter_block(cursor, config, code);
        }
    }

    /// Updates the position with the last block. Where that ends with an indirect jump, the
    /// position is known.
    #[inline]
    pub(super) fn settle<K: BlockCache>(&mut self, cursor: Cursor, code: &K) {
        let Some(block) = cursor.unsettled(code) else { return };
        self.last = Last::new(last_address(&block), &block.last);
        if block.last.kind != Kind::Indirect {
            self.position = match block.last.target {
                Some(target) if cursor.taken => Position::At(target),
                None if cursor.taken => Position::Jump { target: None },
                _ => Position::At(block.next()),
            };
        }
    }

    /// Settles the position and caches the block there: the position before it.
    pub(super) fn enter_block<K: BlockCache>(
        &mut self,
        cursor: Cursor,
        config: &Config,
        code: &mut K,
    ) -> Cursor {
        self.settle(cursor, code);
        let Position::At(address) = self.position else { return Cursor::before(BlockId::NONE) };
        let pc = Pc { address, isa: config.isa(), space: self.space };
        let last = code.blocks().get(cursor.last);
        let linked = last.is_some_and(|(last, _)| !last.is_any_of(CachedBlock::INDIRECT));
        cursor.enter(pc, linked, code)
    }

    /// Emits blocks up to the first one that is not cached, or needs more than its successor.
    pub(super) fn blocks<S: Sink>(
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
        let Cursor { mut next, mut last, mut taken } = *cursor;
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
            let outcome = if unconditional {
                if cached.is_any_of(CachedBlock::CALL) {
                    self.returns.push(cached.end(class));
                }
                true
            } else if outcomes.len > 0 {
                let times = u64::from(outcomes.map.trailing_ones());
                if times > 1
                    && cached.is_any_of(CachedBlock::LOOP)
                    && times * size <= count
                    && times * price <= allowance
                {
                    // A loop of one block: one iteration for each consecutive taken branch.
                    let ranges = &[cached.range(class, true)];
                    sink.turns(Turns { at, ranges, times, listed: true });
                    (outcomes.map, outcomes.len) =
                        (outcomes.map >> times, outcomes.len - times as u32);
                    allowance -= times * price;
                    match counted {
                        true => count -= times * size,
                        false => ahead += times * size,
                    }
                    (last, taken) = (next, true);
                    continue;
                }
                let outcome = outcomes.map & 1 != 0;
                (outcomes.map, outcomes.len) = (outcomes.map >> 1, outcomes.len - 1);
                outcome
            } else if history {
                break;
            } else if size == count {
                if walk.end != End::Taken {
                    break;
                }
                true
            } else {
                false
            };
            allowance = left;
            match counted {
                true => count -= size,
                false => ahead += size,
            }
            sink.step(at, next, outcome, blocks);
            (last, taken) = (next, outcome);
            next = successors[usize::from(outcome)];
        }
        (walk.count, walk.outcomes) = (count, outcomes);
        (self.ahead, self.allowance) = (ahead, allowance);
        *cursor = Cursor { next, last, taken };
    }

    /// Emits stored paths of several branches, as far as their blocks are known and the walk goes,
    /// also through returns whose targets are on the return stack. With `COUNTED`, the walk has a
    /// number of half-words, and ends with an indirect branch whose target has the address field
    /// `end`. Returns whether it is at its end; otherwise also where `steps` have no room.
    #[inline(always)]
    pub(super) fn paths<K: BlockCache, const COUNTED: bool>(
        &mut self,
        cursor: &mut Cursor,
        walk: &mut Walk,
        end: u64,
        config: &Config,
        (code, blocks): (&K, &CachedBlocks<'_>),
        steps: &mut Steps<'_>,
    ) -> bool {
        let (mut now, mut left) = (*cursor, walk.count);
        let Outcomes { mut map, mut len } = walk.outcomes;
        let (mut passed, mut allowance) = (0, self.allowance);
        let done = loop {
            if !COUNTED && len == 0 {
                break true;
            }
            let branches = len.min(Path::BRANCHES);
            let way = map as u32 & ((1 << branches) - 1) | 1 << branches;
            let to_indirect = COUNTED && len <= Path::BRANCHES;
            if !steps.has_room() {
                break false;
            }
            let Some(path) = blocks.branch_path(now.next, way, to_indirect) else {
                break false;
            };
            let size = u64::from(path.half_words());
            let outcomes = path.indirect().unwrap_or(branches);
            let jumps = u64::from(path.ranges() - outcomes);
            let price = u64::from(path.instructions()) + if COUNTED { 0 } else { jumps * JUMP };
            if price > allowance || COUNTED && size > left {
                break false;
            }
            let ends = COUNTED && size == left && outcomes == len;
            let alone = path.ranges() == 1 && now.last == BlockId::NONE;
            let mut next = Cursor { next: path.next, last: path.last, taken: path.taken() };
            let target = match path.indirect() {
                None => None,
                Some(_) => {
                    let calls = path.has_calls().then_some(path.only_call());
                    let found = match ends {
                        true => Some(config.address(end)),
                        false if COUNTED && size == left => None,
                        false => self.returned_through(path.last, alone, calls, code, blocks),
                    };
                    let last = blocks.get(path.last);
                    let (Some(address), Some((cached, class))) = (found, last) else { break false };
                    let role = class.last[1].role;
                    if role == Role::ExceptionReturn {
                        break false;
                    }
                    next.next = code.find(address & config.isa().address_mask(), class.code_space);
                    Some((address, role, cached.end(class)))
                }
            };
            if path.has_calls() {
                match blocks.get(path.only_call()) {
                    Some((cached, class)) => self.returns.push(cached.end(class)),
                    None => self.push_calls(now.next, way, to_indirect, blocks),
                }
            }
            if let Some((address, role, end)) = target {
                self.position = Position::At(address);
                self.jumped(role, end);
            }
            steps.add_path(&path, blocks);
            allowance -= price;
            (map, len, now) = (map >> outcomes, len - outcomes, next);
            if COUNTED {
                left -= size;
            } else {
                passed += size;
            }
            if ends {
                self.reference = Some(end);
                break true;
            }
        };
        (*cursor, walk.count, walk.outcomes) = (now, left, Outcomes { map, len });
        self.allowance = allowance;
        self.ahead += passed;
        done
    }

    /// The target of the return at the end of the block `last` of a path, from the calls of the
    /// path (`None` without, else the only one), or from the stack. `alone`: as of
    /// [`returned_to`](Decoder::returned_to).
    #[inline]
    fn returned_through<K: BlockCache>(
        &self,
        last: BlockId,
        alone: bool,
        calls: Option<BlockId>,
        code: &K,
        blocks: &CachedBlocks<'_>,
    ) -> Option<u64> {
        let target = self.returned_to(last, alone, code)?;
        let Some(call) = calls else { return target };
        let (cached, class) = blocks.get(call)?;
        Some(cached.end(class))
    }

    /// Pushes the return addresses of the direct calls of a path. It is found again, so that the
    /// loop over paths needs no memory for it.
    #[cold]
    #[inline(never)]
    fn push_calls(
        &mut self,
        first: BlockId,
        steps: u32,
        to_indirect: bool,
        blocks: &CachedBlocks<'_>,
    ) {
        if let Some(path) = blocks.branch_path(first, steps, to_indirect) {
            path.for_each_step(blocks, |id, _| self.push_call(id, blocks));
        }
    }

    /// The effect of an indirect branch of this role on the return stack. `next`: the address
    /// behind it.
    #[inline]
    pub(super) fn jumped(&mut self, role: Role, next: u64) {
        if matches!(role, Role::Return | Role::Swap) {
            self.returns.pop();
        }
        if matches!(role, Role::Call | Role::Swap) {
            self.returns.push(next);
        }
    }

    /// Pushes the return address of the block `id`, if it ends with a call.
    #[inline]
    pub(super) fn push_call(&mut self, id: BlockId, blocks: &CachedBlocks<'_>) {
        if let Some((cached, class)) = blocks.get(id)
            && cached.is_any_of(CachedBlock::CALL)
            && !cached.is_any_of(CachedBlock::INDIRECT)
        {
            self.returns.push(cached.end(class));
        }
    }
}
