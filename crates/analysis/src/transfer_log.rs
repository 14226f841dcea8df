//! The transfers of a part of a trace, in order, in little memory.

use std::ops::Range;
use std::sync::{Arc, Mutex};

use crate::entered::{BlockTransfer, SharedBlocks};
use crate::transfer::Transfer;

/// Consecutive transfers between cached blocks of a source.
#[derive(Clone, Debug)]
struct Batch {
    /// The number of transfers in batches before it.
    first: usize,
    /// What is added to the offsets.
    base: u64,
    source: u16,
    blocks: SharedBlocks,
}

/// Memory of at most `MOST` vectors that are not needed any more.
#[derive(Debug)]
pub(crate) struct SpareMemory<T, const MOST: usize>(Arc<Mutex<Vec<Vec<T>>>>);

/// The least memory of a vector that is retained, in bytes: less is allocated as fast.
const LEAST: usize = 1 << 14;

impl<T, const MOST: usize> Default for SpareMemory<T, MOST> {
    fn default() -> Self {
        SpareMemory(Arc::default())
    }
}

impl<T, const MOST: usize> Clone for SpareMemory<T, MOST> {
    fn clone(&self) -> Self {
        SpareMemory(Arc::clone(&self.0))
    }
}

impl<T, const MOST: usize> SpareMemory<T, MOST> {
    /// Retains the memory of vectors.
    pub(crate) fn put(&self, vectors: impl IntoIterator<Item = Vec<T>>) {
        let Ok(mut spare) = self.0.lock() else { return };
        for mut vector in vectors {
            if vector.capacity() * size_of::<T>() >= LEAST && spare.len() < MOST {
                vector.clear();
                spare.push(vector);
            }
        }
    }

    /// An empty vector for `len` elements.
    pub(crate) fn take(&self, len: usize) -> Vec<T> {
        let large = len * size_of::<T>() >= LEAST;
        let spare = self.0.lock().ok().filter(|_| large).and_then(|mut spare| spare.pop());
        spare.unwrap_or_else(|| Vec::with_capacity(len))
    }
}

/// The transfers in a piece of the log. In pieces, it grows without being moved, and all memory
/// that it leaves is of one size. The last piece of each log is used in part.
const PIECE: usize = LEAST / size_of::<BlockTransfer>();

/// The most pieces that are retained: 16 MiB.
const SPARE_PIECES: usize = (16 << 20) / LEAST;

/// Transfers that are made whole at once: they fit into the nearest cache.
const AT_ONCE: usize = 128;

/// Transfers in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct TransferLog {
    /// Those between cached blocks, in 16 bytes each: [`PIECE`] of them in each vector but the last
    /// one.
    short: Vec<Vec<BlockTransfer>>,
    /// The number of these.
    count: usize,
    batches: Vec<Batch>,
    /// The others, each with the number of transfers before it.
    others: Vec<(usize, Transfer)>,
    /// Where the memory goes.
    spare: SpareMemory<BlockTransfer, SPARE_PIECES>,
}

impl Drop for TransferLog {
    fn drop(&mut self) {
        self.spare.put(self.short.drain(..));
    }
}

impl TransferLog {
    /// An empty log with memory of logs that were dropped.
    pub(crate) fn next(&self) -> TransferLog {
        let mut next = TransferLog::default();
        next.spare = self.spare.clone();
        next
    }

    /// The number of transfers.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.count + self.others.len()
    }

    /// Memory in bytes, that of the last piece as a whole.
    #[inline]
    pub(crate) fn weight(&self) -> usize {
        self.short.len() * PIECE * size_of::<BlockTransfer>()
            + size_of_val(self.batches.as_slice())
            + size_of_val(self.others.as_slice())
    }

    pub(crate) fn clear(&mut self) {
        self.spare.put(self.short.drain(..));
        self.count = 0;
        self.batches.clear();
        self.others.clear();
    }

    /// Appends transfers of a source between `blocks`, whose functions and exits are known. `at` is
    /// added to the offsets, and `instructions` to those of the first one, whose sum is below 2^32.
    pub(crate) fn push_all(
        &mut self,
        transfers: &[BlockTransfer],
        (source, blocks): (u16, &SharedBlocks),
        at: u64,
        instructions: u32,
    ) {
        let known = self
            .batches
            .last()
            .is_some_and(|last| (last.source, last.base) == (source, at) && last.blocks.is(blocks));
        if !known {
            let (first, base, blocks) = (self.count, at, blocks.clone());
            self.batches.push(Batch { first, base, source, blocks });
        }
        let (piece, place) = (self.count / PIECE, self.count % PIECE);
        self.count += transfers.len();
        let mut left = transfers;
        while !left.is_empty() {
            match self.short.last_mut() {
                Some(piece) if piece.len() < PIECE => {
                    let (now, later) = left.split_at(left.len().min(PIECE - piece.len()));
                    piece.extend_from_slice(now);
                    left = later;
                }
                _ => self.short.push(self.spare.take(PIECE)),
            }
        }
        if let Some(first) = self.short.get_mut(piece).and_then(|piece| piece.get_mut(place)) {
            first.instructions = first.instructions.saturating_add(instructions);
        }
    }

    #[inline]
    pub(crate) fn push(&mut self, transfer: Transfer) {
        self.others.push((self.len(), transfer));
    }

    /// The transfers of a range, in order.
    pub(crate) fn range(&self, range: Range<usize>) -> InOrder<'_> {
        let other = self.others.partition_point(|(number, _)| *number < range.start);
        let batch = self.batches.partition_point(|batch| batch.first + other <= range.start);
        let numbers = range.start..range.end.min(self.len());
        InOrder { log: self, numbers, other, batch, whole: Vec::new(), next: 0 }
    }

    /// Passes the transfers of a range to `each`, in order, several at a time.
    pub(crate) fn each(&self, range: Range<usize>, mut each: impl FnMut(&[Transfer])) {
        let mut all = self.range(range);
        while all.fill() {
            each(&all.whole);
        }
    }

    /// Whether all transfers of a range are of one source.
    pub(crate) fn has_one_source(&self, range: Range<usize>) -> bool {
        let end = range.end.min(self.len());
        let before = |end: usize| self.others.partition_point(|(number, _)| *number < end);
        let (first, last) = (before(range.start), before(end));
        // The numbers of those between cached blocks.
        let (start, end) = (range.start.saturating_sub(first), end.saturating_sub(last));
        let next = |number| self.batches.partition_point(|batch| batch.first <= number);
        let batches = if start < end { next(start).saturating_sub(1)..next(end - 1) } else { 0..0 };
        let short = self.batches.get(batches).unwrap_or_default().iter().map(|own| own.source);
        let others = self.others.get(first..last).unwrap_or_default().iter();
        let mut sources = short.chain(others.map(|(_, transfer)| transfer.source));
        let one = sources.next();
        sources.all(|source| Some(source) == one)
    }

    /// Appends transfers between cached blocks. `next`: the number of batches that begin at the
    /// first of them or before it.
    fn whole_of(&self, numbers: Range<usize>, next: &mut usize, whole: &mut Vec<Transfer>) {
        let mut number = numbers.start;
        while number < numbers.end {
            let begins = |batch: &Batch| batch.first <= number;
            while self.batches.get(*next).is_some_and(begins) {
                *next += 1;
            }
            let Some(batch) = next.checked_sub(1).and_then(|n| self.batches.get(n)) else { return };
            let end = self.batches.get(*next).map_or(numbers.end, |next| next.first);
            // Those of one batch in one piece.
            let piece_end = (number / PIECE + 1) * PIECE;
            let end = end.min(numbers.end).min(piece_end);
            let place = number % PIECE;
            let piece = self.short.get(number / PIECE).map_or(&[][..], Vec::as_slice);
            let short = piece.get(place..place + (end - number)).unwrap_or_default();
            let (base, source) = (batch.base, batch.source);
            batch.blocks.transfers(short, |short, transfer| {
                let at = base.wrapping_add(short.from.offset());
                whole.push(Transfer { at, source, ..transfer });
            });
            number = end;
        }
    }
}

/// Transfers of a log, in order.
#[derive(Debug)]
pub(crate) struct InOrder<'a> {
    log: &'a TransferLog,
    /// The numbers of those that were not made whole yet.
    numbers: Range<usize>,
    /// The position of the next one among the others, and of the next batch.
    other: usize,
    batch: usize,
    /// Those that were made whole last, at most [`AT_ONCE`], and the next one of them.
    whole: Vec<Transfer>,
    next: usize,
}

impl InOrder<'_> {
    /// Makes the next transfers whole. Returns `false` at the end.
    #[inline(never)]
    fn fill(&mut self) -> bool {
        let InOrder { log, numbers: Range { start: number, end }, other, batch, whole, next } =
            self;
        whole.clear();
        whole.reserve((*end - *number).min(AT_ONCE));
        *next = 0;
        while *number < *end && whole.len() < AT_ONCE {
            if let Some((its, transfer)) = log.others.get(*other)
                && its == number
            {
                whole.push(*transfer);
                (*other, *number) = (*other + 1, *number + 1);
            } else {
                let until = log.others.get(*other).map_or(*end, |(its, _)| (*its).min(*end));
                let until = until.min(*number + AT_ONCE - whole.len());
                log.whole_of(*number - *other..until - *other, batch, whole);
                *number = until;
            }
        }
        !whole.is_empty()
    }
}

impl Iterator for InOrder<'_> {
    type Item = Transfer;

    #[inline]
    fn next(&mut self) -> Option<Transfer> {
        if self.next == self.whole.len() && !self.fill() {
            return None;
        }
        let transfer = self.whole.get(self.next).copied();
        self.next += 1;
        transfer
    }
}

#[cfg(test)]
mod tests {
    use tracewright_base::{
        BlockId, BlockStep, Counted, Instruction, Isa, Kind as Effect, Last, Range as Executed,
        Role,
    };
    use tracewright_symbols::Found;

    use super::*;
    use crate::code::Place;
    use crate::entered::Entered;
    use crate::transfer::{Kind, empty};

    /// A call from block 0 to block 1, and a return from block 1 to block 2.
    fn entered() -> Entered {
        let mut entered = Entered::default();
        entered.resize(3);
        for (block, role) in [(0, Role::Call), (1, Role::Return)] {
            let (kind, size, isa) = (Effect::Indirect, 4, Isa::A64);
            let last = Instruction { kind, role, size, isa, ..Instruction::default() };
            let last = Last::new(&last, true);
            let start = 0x100 * block as u64;
            let (instructions, cycles) = (2, Counted::UNKNOWN);
            let range = Executed { start, bytes: 8, instructions, cycles, last };
            entered.learn(BlockId::new(block), &range);
            let target = 0x100 * (block as u64 + 1);
            let found = Found { start: target, last: target + 0xff, function: Some(block as u32) };
            let place = Place { found, whole: true, stub: false };
            entered.insert(BlockId::new(block + 1), target, place, false);
        }
        entered
    }

    fn transfer(from: usize, at: u32) -> BlockTransfer {
        let (from, to) =
            (BlockStep::new(BlockId::new(from), true, at.into()), BlockId::new(from + 1));
        BlockTransfer { from, to, instructions: 10 + at }
    }

    /// Batches that end in other pieces than they begin in, also in memory that was used before.
    #[test]
    fn a_log_has_pieces() {
        let entered = entered();
        let mut log = TransferLog::default();
        for turn in 0..2u32 {
            let batches = [1, PIECE - 1, 1, 2 * PIECE + 1, 5, PIECE - 6];
            let mut all = Vec::new();
            for len in batches {
                let from = all.len() as u32 + turn;
                let batch: Vec<_> = (from..).take(len).map(|at| transfer(0, at)).collect();
                log.push_all(&batch, (0, entered.shared()), 7, 0);
                all.extend(batch);
            }
            assert_eq!((log.len(), log.short.len()), (all.len(), all.len() / PIECE + 1));
            assert!(log.weight() >= log.short.len() * LEAST);
            let found = log.range(0..log.len()).map(|transfer| transfer.at);
            assert!(found.eq(all.iter().map(|transfer| 7 + transfer.from.offset())));
            for range in [0..log.len(), 1..PIECE + 3, PIECE..2 * PIECE, 5..5, 9..usize::MAX] {
                let mut each = Vec::new();
                log.each(range.clone(), |some| each.extend_from_slice(some));
                assert!(each.iter().copied().eq(log.range(range.start..range.end.min(log.len()))));
            }
            let spare = log.spare.clone();
            log = log.next();
            assert!(spare.0.lock().unwrap().len() >= 5, "pieces are retained");
        }
    }

    #[test]
    fn transfers_remain_in_order() {
        let entered = entered();
        let mut log = TransferLog::default();
        log.push(empty(1, 99));
        log.push_all(&[transfer(0, 0), transfer(1, 1)], (2, entered.shared()), 100, 5);
        log.push(empty(1, 102));
        log.push_all(&[transfer(0, 3)], (2, entered.shared()), 100, 0);
        let call = Transfer {
            target: 0x100,
            ret: Some(8),
            function: 0,
            instructions: 15,
            kind: Kind::Call,
            entry: true,
            ..empty(2, 100)
        };
        let all = [
            empty(1, 99),
            call,
            Transfer {
                target: 0x200,
                function: 1,
                instructions: 11,
                kind: Kind::Return,
                entry: true,
                ..empty(2, 101)
            },
            empty(1, 102),
            Transfer { at: 103, instructions: 13, ..call },
        ];
        assert_eq!(log.len(), all.len());
        for from in 0..=all.len() {
            for to in from..=all.len() {
                assert_eq!(log.range(from..to).collect::<Vec<_>>(), all[from..to]);
                let mut each = Vec::new();
                log.each(from..to, |some| each.extend_from_slice(some));
                assert_eq!(each, all[from..to]);
                let mut sources: Vec<u16> = each.iter().map(|own| own.source).collect();
                sources.dedup();
                assert_eq!(log.has_one_source(from..to), sources.len() < 2, "{from}..{to}");
            }
        }
    }
}
