//! Takes a listener's output while it receives elements, so that it holds little at any time.

use std::ops::Range;

use tracewright_base::{
    self as base, BlockId, BlockTransfer, CachedBlocks, Element, Fault, FunctionMarks, OffsetMap,
    Path, RangeSum,
};
use tracewright_frames::{Event, Frame};
use tracewright_protocols::registry::AnyPacket;

use crate::fork::Fork;
use crate::listener::Listener;
use crate::listener::pass_on;
use crate::session::Session;

/// Receives output and its size, and returns whether more is wanted.
type Send<'a, L> = dyn FnMut(<L as Fork>::Output, usize) -> bool + 'a;

/// Passes everything on to `listener`. Whenever the listener's output takes `limit` bytes of memory
/// or more, it is taken and passed to `send`. One element makes little output before it is
/// taken again ([`Fork::start`]), and there are few packets in a block of bytes, so that the
/// memory does not depend on the number of elements of the block.
struct Bounded<'a, L: Fork> {
    listener: &'a mut L,
    limit: usize,
    /// The weight of the output at which it is taken: more than `limit` where the listener retains
    /// a part of its output.
    due: usize,
    /// Behind a pointer, so that the decoders are compiled once for all that receive the output.
    send: &'a mut Send<'a, L>,
    /// No more output is wanted: elements are ignored.
    stopped: bool,
}

impl<L: Listener + Fork> Bounded<'_, L> {
    /// Takes output until the listener has made all output of the last element, one of `source`.
    #[cold]
    #[inline(never)]
    fn take(&mut self, source: usize, mut unfinished: bool) {
        loop {
            let weight = self.listener.weight();
            if weight >= self.due {
                let output = self.listener.take();
                self.listener.enter_source(source);
                self.stopped = !(self.send)(output, weight);
                self.due = self.listener.weight() + self.limit;
            }
            if self.stopped || !unfinished {
                return;
            }
            unfinished = self.listener.more();
        }
    }
}

impl<L: Listener + Fork> Listener for Bounded<'_, L> {
    const PACKETS: bool = L::PACKETS;
    const ERASED: bool = L::ERASED;
    const BY_SOURCE: bool = L::BY_SOURCE;
    const FRAMES: bool = L::FRAMES;
    const PATHS: bool = L::PATHS;
    const BRANCH_PATHS: bool = L::BRANCH_PATHS;
    const SUMS: bool = L::SUMS;
    const FUNCTIONS: bool = L::FUNCTIONS;

    #[inline(always)]
    fn sums_within(&self, source: usize) -> (u64, u64) {
        self.listener.sums_within(source)
    }

    // A sum makes no output.
    #[inline(always)]
    fn sum(&mut self, source: usize, at: u64, sum: &RangeSum) {
        if !self.stopped {
            self.listener.sum(source, at, sum);
        }
    }

    #[inline(always)]
    fn transfers(
        &mut self,
        source: usize,
        at: u64,
        transfers: &[BlockTransfer],
        blocks: &CachedBlocks<'_>,
    ) {
        if self.stopped {
            return;
        }
        self.listener.transfers(source, at, transfers, blocks);
        if self.listener.weight() >= self.due {
            self.take(source, false);
        }
    }

    #[inline]
    fn take_marks(&mut self, source: usize, blocks: &CachedBlocks<'_>) -> FunctionMarks {
        self.listener.take_marks(source, blocks)
    }

    #[inline]
    fn return_marks(&mut self, source: usize, marks: FunctionMarks) {
        self.listener.return_marks(source, marks);
    }

    #[inline]
    fn path(&mut self, source: usize, at: u64, path: &Path, blocks: &CachedBlocks<'_>) {
        if self.stopped {
            return;
        }
        self.listener.path(source, at, path, blocks);
        if self.listener.weight() >= self.due {
            self.take(source, false);
        }
    }

    #[inline]
    fn element(&mut self, source: usize, at: u64, element: Element) {
        if self.stopped {
            return;
        }
        let unfinished = self.listener.start(source, at, element);
        if unfinished || self.listener.weight() >= self.due {
            self.take(source, unfinished);
        }
    }

    #[inline(always)]
    fn cached_range(&mut self, source: usize, at: u64, range: base::Range) {
        if self.stopped {
            return;
        }
        let unfinished = self.listener.start_cached(source, at, range);
        if unfinished || self.listener.weight() >= self.due {
            self.take(source, unfinished);
        }
    }

    #[inline(always)]
    fn cached_block(&mut self, source: usize, at: u64, id: BlockId, range: base::Range) {
        if self.stopped {
            return;
        }
        let unfinished = self.listener.start_block(source, at, id, range);
        if unfinished || self.listener.weight() >= self.due {
            self.take(source, unfinished);
        }
    }

    fn repeat_block(
        &mut self,
        source: usize,
        at: u64,
        id: BlockId,
        range: base::Range,
        times: u32,
    ) {
        for _ in 0..times {
            self.cached_block(source, at, id, range);
        }
    }

    fn repeat(&mut self, source: usize, at: u64, range: base::Range, times: u32) {
        for _ in 0..times {
            if self.stopped {
                return;
            }
            self.element(source, at, Element::Range(range));
        }
    }

    fn repeat_unlisted(&mut self, source: usize, at: u64, ranges: &[base::Range], times: u64) {
        if self.stopped {
            return;
        }
        // A listener whose output grows makes one line of them.
        self.listener.repeat_unlisted(source, at, ranges, times);
        if self.listener.weight() >= self.due {
            self.take(source, false);
        }
    }

    fn wants_each_packet(&self) -> bool {
        self.listener.wants_each_packet()
    }

    fn wants_frames(&self) -> bool {
        self.listener.wants_frames()
    }

    pass_on!(|this| (!this.stopped).then_some(&mut *this.listener));

    fn full(&self) -> bool {
        self.stopped || self.listener.full()
    }
}

/// Feeds `bytes` to `session`, or ends the trace for `None`. `send` receives output of `listener`
/// that takes `limit` bytes of memory or more, with its size, and returns whether more is wanted;
/// the rest remains with the listener. Returns whether more is wanted.
pub(super) fn feed<L: Listener + Fork>(
    session: &mut Session,
    bytes: Option<&[u8]>,
    listener: &mut L,
    limit: usize,
    mut send: impl FnMut(L::Output, usize) -> bool,
) -> bool {
    if !L::GROWS {
        match bytes {
            Some(bytes) => session.feed(bytes, listener),
            None => session.finish(listener),
        }
        return true;
    }
    let mut bounded = Bounded { listener, limit, due: limit, send: &mut send, stopped: false };
    match bytes {
        Some(bytes) => session.feed(bytes, &mut bounded),
        None => session.finish(&mut bounded),
    }
    !bounded.stopped
}
