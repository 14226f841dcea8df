//! Steps that the fast path writes into the batch itself.

use tracewright_base::{BatchBuffer, BlockId, BlockStep, CachedBlocks, Path, Sink};

/// Places for steps.
pub(super) struct Steps<'a> {
    places: &'a mut [BlockStep; BatchBuffer::STEPS],
    used: usize,
    /// What the batch adds to offsets.
    start: u64,
    /// The offset of the message, minus `start`.
    offset: u64,
}

impl Steps<'_> {
    /// Calls `write` with places for steps of `blocks` from offset `at` on, which are given to
    /// `sink`. `None` where it has no places.
    #[inline(always)]
    pub(super) fn of<S: Sink, T>(
        at: u64,
        blocks: &CachedBlocks<'_>,
        sink: &mut S,
        write: impl FnOnce(&mut Steps<'_>) -> T,
    ) -> Option<T> {
        let mut buffer = sink.take_steps(at, blocks);
        let (start, mut used) = (buffer.begin(at), buffer.len());
        let written = buffer.places().map(|places| {
            let mut steps = Steps { places, used, start, offset: at.wrapping_sub(start) };
            let written = write(&mut steps);
            used = steps.used;
            written
        });
        buffer.set_len(used);
        sink.return_steps(buffer, blocks);
        written
    }

    /// Whether there is room for a message at offset `at`, whose steps follow.
    #[inline(always)]
    pub(super) const fn begin(&mut self, at: u64) -> bool {
        self.offset = at.wrapping_sub(self.start);
        self.has_room() && self.offset <= BatchBuffer::FAR
    }

    /// Whether there is room for [`BatchBuffer::ROOM`] steps.
    #[inline(always)]
    pub(super) const fn has_room(&self) -> bool {
        self.used <= BatchBuffer::STEPS - BatchBuffer::ROOM
    }

    /// The number of steps in the batch.
    #[inline(always)]
    pub(super) const fn len(&self) -> usize {
        self.used
    }

    /// The steps from `first` on.
    pub(super) fn since(&self, first: usize) -> &[BlockStep] {
        self.places.get(first..self.used).unwrap_or_default()
    }

    /// Adds the steps of `path` through `blocks`.
    // The number of steps is a variable of its own, which may be in a register.
    #[inline(always)]
    pub(super) fn add_path(&mut self, path: &Path, blocks: &CachedBlocks<'_>) {
        let (places, offset, mut used) = (&mut *self.places, self.offset, self.used);
        path.for_each_branch_step(blocks, |id, taken| {
            places[used % BatchBuffer::STEPS] = BlockStep::new(id, taken, offset);
            used += 1;
        });
        self.used = used;
    }

    #[inline(always)]
    pub(super) fn add(&mut self, id: BlockId, taken: bool) {
        self.places[self.used % BatchBuffer::STEPS] = BlockStep::new(id, taken, self.offset);
        self.used += 1;
    }
}
