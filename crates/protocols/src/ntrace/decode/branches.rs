//! The fast path of branch trace: messages of one branch each, whose I-CNT alone determines the
//! path.

use tracewright_base::{BatchBuffer, BlockCache, CachedBlock, CachedBlocks, Feed, Role, Sink};

use super::fast_path::take;
use super::granted::PerByte;
use super::outcomes::Outcomes;
use super::steps::Steps;
use super::walk::{End, Walk};
use super::{Branch, Decoder, EMPTY, Position};
use crate::cursor::Cursor;
use crate::ntrace::config::{Config, Mode};
use crate::ntrace::packet::quick::{Layout, Quick};

impl Decoder {
    /// Decodes DirectBranch and IndirectBranch messages without traps and timestamps, as long as
    /// cached blocks are all of their paths. Returns the last one, if some of its walk is left.
    // The variables of the loop are in registers: it calls nothing for a direct branch.
    #[inline(never)]
    pub(super) fn branches<K: BlockCache, S: Sink>(
        &mut self,
        feed: &mut Feed<'_>,
        layout: &Layout,
        cursor: &mut Cursor,
        config: &Config,
        code: &K,
        sink: &mut S,
    ) -> Option<(u64, Quick, Walk)> {
        let (blocks, each) = (code.blocks(), PerByte::of(code));
        // An instruction has at least one half-word: the message takes nothing from the reserve.
        let read = |feed: &Feed<'_>| {
            let quick = layout.branch(feed.rest())?;
            (quick.count.wrapping_sub(1) < each.free(quick.len, quick.tcode)).then_some(quick)
        };
        let mut message = read(feed);
        let is_usual = self.mode(config) == Some(Mode::Branch);
        if message.is_none() || !is_usual || (self.credit, self.ahead) != (0, 0) {
            return None;
        }
        // Made again, so that the compiler knows that both slices have the same length.
        let table = CachedBlocks::new(blocks.all(), blocks.successors(), blocks.classes());
        let (mut now, mut unfinished, mut finished) = (*cursor, None, None);
        while message.is_some() && unfinished.is_none() {
            let from = feed.offsets.at(feed.taken);
            let written = Steps::of(from, &blocks, sink, |steps| {
                while let Some(quick) = message
                    && let at = feed.offsets.at(feed.taken)
                    && steps.begin(at)
                {
                    take(feed, quick.len);
                    let first = steps.len();
                    let left = self.branch_path(&quick, &mut now, steps, config, (code, &table));
                    finished = Some((quick.count, quick.tcode));
                    if left > 0 {
                        let cached = steps.since(first).iter().filter_map(|s| table.get(s.id()));
                        let spent: u32 = cached.map(|(cached, _)| cached.instructions()).sum();
                        let free = each.free(quick.len, quick.tcode);
                        self.allowance = free - u64::from(spent);
                        unfinished = Some((at, quick, left));
                        break;
                    }
                    message = read(feed);
                }
            });
            if written.is_none() {
                break;
            }
        }
        *cursor = now;
        // The address field of an indirect branch that is finished is in `reference`.
        let uaddr = unfinished.map_or(0, |(_, quick, _)| quick.uaddr);
        if let (Some((count, tcode)), Some(reference)) = (finished, self.reference) {
            let indirect = (tcode != 3).then_some((0, reference ^ uaddr));
            self.branch = Some(Branch { count, hist: EMPTY, indirect });
        }
        let (at, quick, count) = unfinished?;
        let end = if quick.tcode == 3 { End::Taken } else { End::NotTaken };
        Some((at, quick, Walk { count, outcomes: Outcomes::default(), predicted: 0, end }))
    }

    /// Follows the path of a message through cached blocks. Returns the half-words that are left.
    #[inline(always)]
    fn branch_path<K: BlockCache>(
        &mut self,
        quick: &Quick,
        cursor: &mut Cursor,
        steps: &mut Steps<'_>,
        config: &Config,
        (code, table): (&K, &CachedBlocks<'_>),
    ) -> u64 {
        let (mut left, direct) = (quick.count, quick.tcode == 3);
        let limit = steps.len() + BatchBuffer::ROOM;
        while let Some((cached, successors, class)) = table.step(cursor.next) {
            let size = u64::from(cached.bytes() / 2);
            let ends = size == left;
            if size > left || steps.len() == limit {
                break;
            }
            if cached.is_any_of(CachedBlock::INDIRECT) || ends && !direct {
                let role = class.last[1].role;
                let reports = cached.is_any_of(CachedBlock::INDIRECT) && ends && !direct;
                let Some(reference) = self.reference.filter(|_| reports) else { break };
                if role == Role::ExceptionReturn {
                    break;
                }
                let target = reference ^ quick.uaddr;
                let address = config.address(target);
                self.jumped(role, cached.end(class));
                (self.position, self.reference) = (Position::At(address), Some(target));
                steps.add(cursor.next, true);
                let next = code.find(address & config.isa().address_mask(), class.code_space);
                *cursor = Cursor { next, last: cursor.next, taken: true };
                return 0;
            }
            let unconditional = cached.is_any_of(CachedBlock::UNCONDITIONAL);
            if unconditional && cached.is_any_of(CachedBlock::CALL) {
                self.returns.push(cached.end(class));
            }
            let taken = unconditional || ends;
            steps.add(cursor.next, taken);
            let next = successors[usize::from(taken)];
            *cursor = Cursor { next, last: cursor.next, taken };
            left -= size;
            if ends {
                break;
            }
        }
        left
    }
}
