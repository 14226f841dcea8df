//! The positions of the elements of ETMv3 sources in a listing of OpenCSD.
//!
//! OpenCSD lists most elements directly after their packet. It delays two of them until the next
//! packet of the source: an instruction that is the only element of its packet, and an exception
//! return. It does not delay them where another element was delayed until their packet.
//! Tracewright's decoder delays more elements, because any instruction can be cancelled. Lines are
//! therefore buffered while elements can be inserted before them.

use tracewright_base::Element;
use tracewright_protocols::etmv3::Packet;

/// The most positions. An element is late by a few packets of its source.
const MAX_MARKS: usize = 1 << 16;

/// The positions of elements in buffered lines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Order {
    /// One for each packet, in the order of their lines.
    marks: Vec<Mark>,
    /// Sources whose last packet has a delayed element.
    waiting: Vec<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Mark {
    source: usize,
    /// The offset of the packet in the capture.
    at: u64,
    /// The position after the line of the packet and the lines of its elements so far.
    end: usize,
    /// The number of packets that its only element is delayed by.
    waits: usize,
    /// The cycle count of an I-sync packet, which OpenCSD lists with the context.
    cycles: Option<u32>,
}

/// The position of the line of an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Put {
    /// A position, and the cycle count that ends the line.
    At(usize, Option<u32>),
    /// No line: another line contains the element.
    Nowhere,
}

impl Order {
    /// Records that the line of a packet was written. All lines now end at `end`.
    pub(crate) fn packet(&mut self, source: usize, at: u64, packet: &Packet, end: usize) {
        let before = self.waiting.iter().position(|&waiting| waiting == source);
        let waits = match packet {
            Packet::Atoms(atoms) => atoms.len() == 1 && before.is_none(),
            Packet::ExceptionReturn => {
                // The returning instruction is delayed together with the return.
                let mut own = self.marks.iter_mut().rev().filter(|mark| mark.source == source);
                if before.is_some()
                    && let Some(returns) = own.next()
                {
                    returns.waits += 1;
                }
                true
            }
            _ => false,
        };
        match before {
            Some(before) if !waits => {
                self.waiting.swap_remove(before);
            }
            None if waits => self.waiting.push(source),
            _ => {}
        }
        let cycles = if let Packet::Isync(isync) = packet { isync.cycles } else { None };
        self.marks.push(Mark { source, at, end, waits: waits.into(), cycles });
    }

    /// Records that the line of undecodable bytes was written.
    pub(crate) fn bad(&mut self, source: usize, at: u64, end: usize) {
        if self.marks.iter().any(|mark| mark.source == source) {
            self.marks.push(Mark { source, at, end, waits: 0, cycles: None });
        }
    }

    /// The position of the line of an element. All lines end at `end`.
    pub(crate) fn put(&mut self, source: usize, at: u64, element: &Element, end: usize) -> Put {
        let mut own = self.marks.iter().enumerate().filter(|(_, mark)| mark.source == source);
        // Most elements are of the packet of the first mark, or of the second.
        let first = own.next();
        let Some((n, &mark)) =
            first.filter(|(_, mark)| mark.at == at).or_else(|| own.find(|(_, mark)| mark.at == at))
        else {
            return Put::At(end, None);
        };
        if matches!(element, Element::Gap(_) | Element::End) {
            self.lost(source);
            return Put::At(end, None);
        }
        // Elements come in order: no later element belongs to an earlier packet.
        for k in (first.map_or(n, |(first, _)| first)..n).rev() {
            if self.marks.get(k).is_some_and(|mark| mark.source == source) {
                self.marks.remove(k);
            }
        }
        let waits = matches!(element, Element::Range(_) | Element::ExceptionReturn);
        match (mark.cycles, element) {
            (Some(_), Element::Cycles(_)) => Put::Nowhere,
            (cycles @ Some(_), Element::Context(_)) => Put::At(mark.end, cycles),
            _ if waits && mark.waits > 0 => {
                let mut own = self.marks.iter().filter(|m| m.source == source).skip(mark.waits);
                Put::At(own.next().map_or(end, |next| next.end), None)
            }
            _ => Put::At(mark.end, None),
        }
    }

    /// Records that a line of `len` bytes was inserted at `offset`.
    pub(crate) fn inserted(&mut self, offset: usize, len: usize) {
        for mark in self.marks.iter_mut().filter(|mark| mark.end >= offset) {
            mark.end += len;
        }
    }

    /// The length of the lines before which no element can be inserted. All lines end at `end`.
    pub(crate) fn sure(&self, end: usize) -> usize {
        self.marks.first().map_or(end, |mark| mark.end)
    }

    /// Records that the first `len` bytes were written out.
    pub(crate) fn written(&mut self, len: usize) {
        for mark in &mut self.marks {
            mark.end = mark.end.saturating_sub(len);
        }
    }

    /// Records that the packets of `source` so far have no more elements.
    pub(crate) fn lost(&mut self, source: usize) {
        self.marks.retain(|mark| mark.source != source);
    }

    /// Whether there are more positions than late elements can need.
    pub(crate) fn is_long(&self) -> bool {
        self.marks.len() > MAX_MARKS
    }

    /// The size of the positions in bytes of memory.
    pub(crate) fn weight(&self) -> usize {
        size_of_val(&self.marks[..])
    }

    /// Drops all positions: later elements are listed at the end.
    pub(crate) fn give_up(&mut self) {
        self.marks.clear();
    }
}
