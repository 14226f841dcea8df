//! A trace link outside of Tracewright: what a probe sends of two trace buffers, in blocks.
//!
//! | bytes | contents |
//! |---|---|
//! | `b5` | a block begins |
//! | 1 | the buffer, 0 or 1 |
//! | 1 | the number of frames, 1 to 15 |
//! | 16 each | formatter frames of the buffer |
//! | 1 | the exclusive or of all bytes before |
//!
//! Both buffers have trace IDs up to 0x3f: those of the second are 0x40 higher here.

use tracewright::base::Fault;
use tracewright::frames::{Event, FRAME, Framing, Link, Split, SplitLink, Splitter};

/// The first byte of a block.
pub const START: u8 = 0xb5;
/// The bytes before the frames.
const HEADER: usize = 3;
/// The most frames of a block.
const FRAMES: u8 = 15;
/// What the trace IDs of the second buffer are increased by.
const SECOND: u16 = 0x40;

/// The state of the link.
#[derive(Clone, Debug, PartialEq)]
pub struct Blocks {
    /// A block that is not complete, and the offset of its first byte.
    block: Vec<u8>,
    at: u64,
    /// The frames of each buffer.
    frames: [Splitter; 2],
}

impl Default for Blocks {
    fn default() -> Self {
        let frames = || Splitter::new(Link::new(Framing::Coresight));
        Blocks { block: Vec::new(), at: 0, frames: [frames(), frames()] }
    }
}

impl SplitLink for Blocks {
    fn split<S: Split>(&mut self, at: u64, bytes: &[u8], out: &mut S) {
        for (at, &byte) in (at..).zip(bytes) {
            if self.block.is_empty() {
                self.at = at;
            }
            self.block.push(byte);
            self.take(out);
        }
    }

    fn finish<S: Split>(&mut self, _at: u64, out: &mut S) {
        self.lose(self.block.len(), Fault::Truncated, out);
        for n in 0..self.frames.len() {
            self.frames(n, &mut |frames, out| frames.finish(out), out);
        }
        *self = Blocks::default();
    }
}

impl Blocks {
    /// Takes the block, if it is complete, and bytes that begin none.
    fn take<S: Split>(&mut self, out: &mut S) {
        while !self.block.is_empty() {
            match whole(&self.block) {
                // More bytes are needed.
                None => return,
                Some(false) => self.lose(1, Fault::Unsynchronised, out),
                Some(true) => {
                    let block = core::mem::take(&mut self.block);
                    let (at, end) = (self.at, block.len() - 1);
                    out.event(at, Event::Null { len: HEADER as u32 });
                    let from = at + HEADER as u64;
                    let mut split = |frames: &mut Splitter, out: &mut Shifted<'_, S>| {
                        frames.split(from, &block[HEADER..end], out);
                    };
                    self.frames(block[1].into(), &mut split, out);
                    out.event(at + end as u64, Event::Null { len: 1 });
                }
            }
        }
    }

    /// Calls `split` with the frames of a buffer.
    fn frames<S: Split>(
        &mut self,
        buffer: usize,
        split: &mut dyn FnMut(&mut Splitter, &mut Shifted<'_, S>),
        out: &mut S,
    ) {
        let add = if buffer == 0 { 0 } else { SECOND };
        if let Some(frames) = self.frames.get_mut(buffer) {
            split(frames, &mut Shifted { add, out });
        }
    }

    /// The first bytes are undecodable.
    fn lose<S: Split>(&mut self, len: usize, fault: Fault, out: &mut S) {
        if len > 0 {
            out.event(self.at, Event::Bad { len: len as u32, fault });
            self.block.drain(..len);
            self.at += len as u64;
        }
    }
}

/// Whether these bytes are a block: `None` where more of them are needed, `Some(false)` where their
/// first one begins none.
fn whole(block: &[u8]) -> Option<bool> {
    let is_start = |byte: &u8| *byte == START;
    let is_count = |count: &u8| (1..=FRAMES).contains(count);
    let begins = block.first().is_none_or(is_start)
        && block.get(1).is_none_or(|buffer| *buffer < 2)
        && block.get(2).is_none_or(is_count);
    if !begins {
        return Some(false);
    }
    let len = HEADER + usize::from(*block.get(2)?) * FRAME + 1;
    let (sum, bytes) = block.get(..len)?.split_last()?;
    Some(bytes.iter().fold(0, |sum, byte| sum ^ byte) == *sum)
}

/// Passes pieces on with other IDs.
struct Shifted<'a, S> {
    add: u16,
    out: &'a mut S,
}

impl<S: Split> Split for Shifted<'_, S> {
    const FRAGMENTS: bool = S::FRAGMENTS;

    fn piece(&mut self, id: u16, at: u64, fragment: bool, bytes: &[u8]) {
        self.out.piece(id + self.add, at, fragment, bytes);
    }

    fn event(&mut self, at: u64, event: Event) {
        self.out.event(at, event);
    }

    fn packed(&mut self, at: u64, bytes: &[u8]) {
        self.out.packed(at, bytes);
    }
}
