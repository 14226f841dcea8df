//! The fast path: many branch messages at once.
//!
//! Nearly all messages of a trace are branches without trap and synchronisation, full histories and
//! full counters. The fast path reads them, follows the program as a path through cached blocks,
//! also through returns whose targets are on the return stack, and computes the position in the
//! decoder's own terms only when it is needed. It leaves every other case to [`Decoder::follow`].

use tracewright_base::{BlockCache, BlockId, CachedBlock, Feed, Role, Sink};

use super::granted::{Granted, PerByte, RESOURCE_FULL};
use super::outcomes::Outcomes;
use super::steps::Steps;
use super::walk::{End, Walk};
use super::{Branch, Decoder, EMPTY, MAX_CREDIT, Phase, Position};
use crate::cursor::Cursor;
use crate::ntrace::config::{Config, Mode, Profile};
use crate::ntrace::packet::quick::{Layout, Quick};
use crate::ntrace::packet::{END_OF_MESSAGE, mseo};

impl Decoder {
    /// Decodes messages until one is not for the fast path. Returns whether the walk finished the
    /// last message, so that the fast path can go on.
    #[inline(never)]
    pub(super) fn messages<K: BlockCache, S: Sink>(
        &mut self,
        feed: &mut Feed<'_>,
        config: &Config,
        code: &mut K,
        sink: &mut S,
    ) -> bool {
        let (Phase::Following, Position::At(pc), Some(_)) =
            (self.phase, self.position, self.reference)
        else {
            return false;
        };
        if config.profile == Profile::Ctte {
            // Its predictor and its cache take note of each message.
            return false;
        }
        let layout = Layout::of(config);
        let code_space = code.code_space(config.isa(), self.space);
        let each = PerByte::of(code);
        let mut cursor = Cursor::find(pc, config.isa(), code_space, code);
        let on = loop {
            let unfinished = match self.mode.filter(|_| !config.all_jumps) {
                Some(Mode::History) if !code.blocks().paths().is_empty() => {
                    self.histories(feed, &layout, &mut cursor, config, code, sink)
                }
                Some(Mode::Branch) => self.branches(feed, &layout, &mut cursor, config, code, sink),
                _ => None,
            };
            let (at, quick, mut walk) = match unfinished {
                Some(unfinished) => unfinished,
                None => {
                    let rest = feed.rest();
                    let Some(quick) = layout.read(rest) else {
                        if !rest.first().is_some_and(|&b| b == 0 || mseo(b) == END_OF_MESSAGE) {
                            break false;
                        }
                        // A byte between messages.
                        feed.last = feed.offsets.at(feed.taken);
                        (feed.taken, feed.packets) = (feed.taken + 1, feed.packets + 1);
                        continue;
                    };
                    let Some(walk) = self.begin(&quick, config) else { break false };
                    let at = take(feed, quick.len);
                    self.allowance = each.free(quick.len, quick.tcode);
                    (at, quick, walk)
                }
            };
            let done = self.walk_cached(at, &quick, &mut cursor, &mut walk, config, code, sink);
            if !done {
                let branch = self.branch;
                self.settle(cursor.take(), code);
                sink.prepare(&code.blocks(), true);
                let granted = Granted::of(at, quick.len, quick.tcode, code);
                self.allowance += granted.all.saturating_sub(granted.free);
                self.follow(at, walk, config, code, sink);
                self.settle_cost(at, granted, code);
                self.branch = branch.filter(|_| self.reference.is_some());
            }
            if quick.time.is_some() {
                self.time(at, quick.time, false, config, sink);
            }
            if !done {
                self.end_quick(at, &quick, config, sink);
                break true;
            }
        };
        self.settle(cursor, code);
        self.allowance = 0;
        on
    }

    /// Decodes messages with full histories and no timestamps, as long as stored paths are all of
    /// them. Returns the last one, if some of its walk is left.
    #[inline(always)]
    fn histories<K: BlockCache, S: Sink>(
        &mut self,
        feed: &mut Feed<'_>,
        layout: &Layout,
        cursor: &mut Cursor,
        config: &Config,
        code: &K,
        sink: &mut S,
    ) -> Option<(u64, Quick, Walk)> {
        if self.mode(config) != Some(Mode::History) {
            return None;
        }
        let allowance = PerByte::of(code).free(layout.full_len(), RESOURCE_FULL);
        let (blocks, mut unfinished) = (code.blocks(), None);
        let program = (code, &blocks);
        while unfinished.is_none() && layout.full_history(feed.rest()).is_some() {
            Steps::of(feed.offsets.at(feed.taken), &blocks, sink, |steps| {
                while let Some(hist) = layout.full_history(feed.rest())
                    && let Some(outcomes) = Outcomes::of(hist)
                    && steps.begin(feed.offsets.at(feed.taken))
                {
                    let at = take(feed, layout.full_len());
                    (self.branch, self.allowance) = (None, allowance);
                    let mut walk = Walk::to_last(outcomes);
                    if !self.paths::<K, false>(cursor, &mut walk, 0, config, program, steps) {
                        unfinished = Some((at, layout.full(hist), walk));
                        break;
                    }
                }
            })?;
        }
        unfinished
    }

    /// Begins a message: what it lets walk. `None` if the fast path cannot, with the state as it
    /// was.
    #[inline]
    fn begin(&mut self, quick: &Quick, config: &Config) -> Option<Walk> {
        let shown = match quick.tcode {
            3 => Some(Mode::Branch),
            28 => Some(Mode::History),
            27 if quick.hist != EMPTY => Some(Mode::History),
            _ => None,
        };
        if shown.is_some() && self.mode != shown {
            if self.mode(config).is_some_and(|mode| Some(mode) != shown) {
                return None;
            }
            self.mode = shown;
        }
        let outcomes = Outcomes::of(quick.hist)?;
        if quick.tcode == 27 {
            self.branch = None;
            self.credit = self.credit.saturating_add(quick.count).min(MAX_CREDIT);
            return Some(match outcomes.len {
                0 => Walk { count: 0, outcomes, predicted: 0, end: End::NotTaken },
                _ => Walk::to_last(outcomes),
            });
        }
        let total = quick.count.saturating_add(self.credit);
        let count = total.checked_sub(self.ahead).filter(|count| *count > 0)?;
        let indirect = match quick.tcode {
            3 => None,
            _ => Some((0, self.reference? ^ quick.uaddr)),
        };
        self.branch = Some(Branch { count: quick.count, hist: quick.hist, indirect });
        (self.credit, self.ahead) = (0, 0);
        let end = if quick.tcode == 3 { End::Taken } else { End::NotTaken };
        Some(Walk { count, outcomes, predicted: 0, end })
    }

    /// Walks to the end of the message through cached blocks. `false`: the rest of it is left.
    #[inline]
    #[expect(clippy::too_many_arguments, reason = "a walk, and its message")]
    fn walk_cached<K: BlockCache, S: Sink>(
        &mut self,
        at: u64,
        quick: &Quick,
        cursor: &mut Cursor,
        walk: &mut Walk,
        config: &Config,
        code: &mut K,
        sink: &mut S,
    ) -> bool {
        let reports = matches!(quick.tcode, 4 | 28);
        if self.paths_of(at, quick, cursor, walk, config, code, sink) {
            return true;
        }
        loop {
            if !walk.is_done() {
                self.blocks(at, cursor, walk, config, &code.blocks(), sink);
            }
            if walk.is_done() {
                // An indirect branch ends with an indirect jump, or its end is not usual.
                return walk.outcomes.len == 0 && !reports;
            }
            let Some((cached, class)) = code.blocks().get(cursor.next) else {
                *cursor = self.enter_block(*cursor, config, code);
                if cursor.next == BlockId::NONE {
                    return false;
                }
                continue;
            };
            let size = u64::from(cached.bytes() / 2);
            let role = class.last[1].role;
            let passes = cached.is_any_of(CachedBlock::INDIRECT)
                && role != Role::ExceptionReturn
                && size <= walk.count
                && u64::from(cached.instructions()) <= self.allowance;
            if !passes {
                return false;
            }
            let ends = size == walk.count && walk.outcomes.len == 0;
            let (range, next) = (cached.range(class, true), cached.end(class));
            let target = match self.reference {
                Some(reference) if ends && reports => {
                    let target = reference ^ quick.uaddr;
                    self.reference = Some(target);
                    config.address(target)
                }
                _ => match self.returned_to(cursor.next, cursor.last == BlockId::NONE, code) {
                    Some(Some(target)) if size < walk.count && !config.all_jumps => target,
                    _ => return false,
                },
            };
            self.jumped(role, next);
            self.allowance -= u64::from(range.instructions);
            match walk.is_counted() {
                true => walk.count -= size,
                false => self.ahead += size,
            }
            sink.step(at, cursor.next, true, &code.blocks());
            self.position = Position::At(target);
            let code_space = code.code_space(config.isa(), self.space);
            let found = code.find(target & config.isa().address_mask(), code_space);
            *cursor = Cursor { next: found, last: cursor.next, taken: true };
            if ends || self.more_paths(at, quick, cursor, walk, config, code, sink) {
                return true;
            }
        }
    }

    /// [`paths_of`](Decoder::paths_of), behind an indirect branch.
    #[inline(never)]
    #[expect(clippy::too_many_arguments, reason = "a walk, and its message")]
    fn more_paths<K: BlockCache, S: Sink>(
        &mut self,
        at: u64,
        quick: &Quick,
        cursor: &mut Cursor,
        walk: &mut Walk,
        config: &Config,
        code: &K,
        sink: &mut S,
    ) -> bool {
        self.paths_of(at, quick, cursor, walk, config, code, sink)
    }

    /// Takes the paths of a message with history. Returns whether they are all of it.
    #[inline(always)]
    #[expect(clippy::too_many_arguments, reason = "a walk, and its message")]
    fn paths_of<K: BlockCache, S: Sink>(
        &mut self,
        at: u64,
        quick: &Quick,
        cursor: &mut Cursor,
        walk: &mut Walk,
        config: &Config,
        code: &K,
        sink: &mut S,
    ) -> bool {
        if code.blocks().paths().is_empty() || config.all_jumps || cursor.next == BlockId::NONE {
            return false;
        }
        let (blocks, reference) = (&code.blocks(), self.reference);
        let program = (code, blocks);
        let done = match (quick.tcode, reference) {
            (27, _) if !walk.is_counted() => Steps::of(at, blocks, sink, |steps| {
                self.paths::<K, false>(cursor, walk, 0, config, program, steps)
            }),
            (28, Some(reference)) if walk.count > 0 => Steps::of(at, blocks, sink, |steps| {
                let end = reference ^ quick.uaddr;
                self.paths::<K, true>(cursor, walk, end, config, program, steps)
            }),
            _ => None,
        };
        done == Some(true)
    }

    /// The target of the return at the end of the block `id`, from the stack, which may be empty.
    /// `None` if it is not a return, or its target may be inferred from the instruction before it.
    /// `fresh`: no block was passed before this one.
    #[inline]
    pub(super) fn returned_to<K: BlockCache>(
        &self,
        id: BlockId,
        fresh: bool,
        code: &K,
    ) -> Option<Option<u64>> {
        let block = code.cached_block(id)?;
        // Where a block was passed, the instruction before this one is a branch.
        let inferred = block.instructions == 1 && fresh || block.last.target.is_some();
        let is_return = matches!(block.last.role, Role::Return | Role::Swap);
        (is_return && !inferred).then(|| self.returns.last())
    }

    /// What a message that the walk has followed changes at its end.
    #[cold]
    fn end_quick<S: Sink>(&mut self, at: u64, quick: &Quick, config: &Config, sink: &mut S) {
        match (quick.tcode, self.reference) {
            (3, _) => self.direct(at, None, sink),
            (4 | 28, Some(reference)) => {
                self.indirect(at, 0, reference ^ quick.uaddr, config, sink);
            }
            _ => {}
        }
    }
}

/// Takes a message of `len` bytes. Returns its offset.
#[inline(always)]
pub(super) fn take(feed: &mut Feed<'_>, len: usize) -> u64 {
    let at = feed.offsets.at(feed.taken);
    (feed.last, feed.taken) = (at, feed.taken + len);
    feed.packets += 1;
    at
}
