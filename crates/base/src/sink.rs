//! The receiver of elements.

use alloc::vec::Vec;

use crate::batch::{BatchBuffer, Turns};
use crate::cached_block::{BlockId, CachedBlocks};
use crate::custom::Custom;
use crate::element::Element;

/// Receives elements. `at` is the offset in the trace buffer of the packet that traced the element;
/// for RISC-V, of the packet at which it is emitted. Offsets do not always rise.
///
/// Only [`element`](Sink::element) has to be implemented. By default it receives each executed
/// block, and each turn of a loop.
pub trait Sink {
    /// Whether packets are received between the elements: an element is then emitted after the
    /// packet after which [`Decode::packet`](crate::Decode::packet) emits it, not earlier.
    const WITH_PACKETS: bool = false;

    /// Takes one element.
    fn element(&mut self, at: u64, element: Element);

    /// Takes the block `id` of `blocks`, whose waypoint took effect if `taken`.
    #[inline]
    fn step(&mut self, at: u64, id: BlockId, taken: bool, blocks: &CachedBlocks<'_>) {
        if let Some((cached, class)) = blocks.get(id) {
            self.element(at, Element::Range(cached.range(class, taken)));
        }
    }

    /// Takes [`Element::Custom`] of this kind. A sink without batches drops the bytes.
    fn custom(&mut self, at: u64, kind: &'static str, bytes: &[u8]) {
        let len = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
        self.element(at, Element::Custom(Custom::new(kind, len)));
    }

    /// Takes turns of a loop.
    fn turns(&mut self, turns: Turns<'_>) {
        for _ in 0..turns.times {
            for range in turns.ranges {
                self.element(turns.at, Element::Range(*range));
            }
        }
    }

    /// Where a decoder writes steps of `blocks` from offset `at` on, with room for
    /// [`BatchBuffer::ROOM`] of them.
    #[inline]
    fn take_steps(&mut self, at: u64, blocks: &CachedBlocks<'_>) -> BatchBuffer {
        let _ = (at, blocks);
        BatchBuffer::default()
    }

    /// Takes the steps that were written. `blocks` are those for which the buffer was taken.
    fn return_steps(&mut self, buffer: BatchBuffer, blocks: &CachedBlocks<'_>) {
        let batch = buffer.batch(0, *blocks);
        for &step in batch.steps() {
            self.step(batch.at(step), step.id(), step.taken(), blocks);
        }
    }

    /// Elements of a packet follow, `many` if there may be very many. `blocks` are those of the
    /// steps so far.
    #[inline]
    fn prepare(&mut self, blocks: &CachedBlocks<'_>, many: bool) {
        let _ = (blocks, many);
    }
}

impl<S: Sink + ?Sized> Sink for &mut S {
    #[inline]
    fn element(&mut self, at: u64, element: Element) {
        (**self).element(at, element);
    }

    #[inline]
    fn step(&mut self, at: u64, id: BlockId, taken: bool, blocks: &CachedBlocks<'_>) {
        (**self).step(at, id, taken, blocks);
    }

    fn custom(&mut self, at: u64, kind: &'static str, bytes: &[u8]) {
        (**self).custom(at, kind, bytes);
    }

    fn turns(&mut self, turns: Turns<'_>) {
        (**self).turns(turns);
    }

    #[inline]
    fn take_steps(&mut self, at: u64, blocks: &CachedBlocks<'_>) -> BatchBuffer {
        (**self).take_steps(at, blocks)
    }

    #[inline]
    fn return_steps(&mut self, buffer: BatchBuffer, blocks: &CachedBlocks<'_>) {
        (**self).return_steps(buffer, blocks);
    }

    #[inline]
    fn prepare(&mut self, blocks: &CachedBlocks<'_>, many: bool) {
        (**self).prepare(blocks, many);
    }
}

impl Sink for Vec<(u64, Element)> {
    fn element(&mut self, at: u64, element: Element) {
        self.push((at, element));
    }
}

/// Drops all elements.
impl Sink for () {
    #[inline]
    fn element(&mut self, _at: u64, _element: Element) {}
}

/// Passes each element to both sinks.
impl<A: Sink, B: Sink> Sink for (A, B) {
    #[inline]
    fn element(&mut self, at: u64, element: Element) {
        self.0.element(at, element);
        self.1.element(at, element);
    }

    fn custom(&mut self, at: u64, kind: &'static str, bytes: &[u8]) {
        self.0.custom(at, kind, bytes);
        self.1.custom(at, kind, bytes);
    }

    fn turns(&mut self, turns: Turns<'_>) {
        self.0.turns(turns);
        self.1.turns(turns);
    }
}
