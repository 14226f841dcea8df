//! Where in a listing the reference puts the elements of ETMv3 sources.
//!
//! The reference says most elements right after their packet. Only an instruction that is the one
//! element of its packet, and a return from an exception, wait for the next packet of the source;
//! and not even they, where another one waited for their packet.
//! Our decoder holds back more, because any instruction may be cancelled. So lines that may still
//! have elements put before them wait, and an element goes where the reference has it.

use tracewright_base::Element;
use tracewright_protocols::etmv3::Packet;

/// Lines that wait, and where in them elements belong.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Order {
    /// In the order of their lines.
    marks: Vec<Mark>,
    /// Sources whose last packet left an element waiting.
    waiting: Vec<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Mark {
    source: usize,
    /// Place of the packet in the capture.
    at: u64,
    /// After the packet's line and those of its elements that are there.
    end: usize,
    /// Its only element waits for so many packets.
    waits: usize,
    /// The cycle count of an I-sync: it is said with the context.
    cycles: Option<u32>,
}

/// What becomes of an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::opencsd) enum Put {
    /// Its line goes there; with it these cycles.
    At(usize, Option<u32>),
    /// Another line says it.
    Nowhere,
}

impl Order {
    /// The line of a packet was written: all lines now end at `end`.
    pub(in crate::opencsd) fn packet(
        &mut self,
        source: usize,
        at: u64,
        packet: &Packet,
        end: usize,
    ) {
        let before = self.waiting.iter().position(|&waiting| waiting == source);
        let waits = match packet {
            Packet::Atoms(atoms) => atoms.len() == 1 && before.is_none(),
            Packet::ExceptionReturn => {
                // The instruction that returns waits with it.
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

    /// The line of bytes that are no packet was written.
    pub(in crate::opencsd) fn bad(&mut self, source: usize, at: u64, end: usize) {
        if self.marks.iter().any(|mark| mark.source == source) {
            self.marks.push(Mark { source, at, end, waits: 0, cycles: None });
        }
    }

    /// Where an element of a source with order goes; all lines end at `end`.
    pub(in crate::opencsd) fn put(
        &mut self,
        source: usize,
        at: u64,
        element: &Element,
        end: usize,
    ) -> Put {
        let of_packet = |mark: &Mark| mark.source == source && mark.at == at;
        let Some(&mark) = self.marks.iter().find(|mark| of_packet(mark)) else {
            return Put::At(end, None);
        };
        if matches!(element, Element::Gap(_) | Element::End) {
            self.lost(source);
            return Put::At(end, None);
        }
        // Elements come in order: nothing more belongs before this packet.
        let mut passed = false;
        self.marks.retain(|mark| {
            passed |= of_packet(mark);
            passed || mark.source != source
        });
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

    /// A line of `len` bytes was put at `offset`.
    pub(in crate::opencsd) fn inserted(&mut self, offset: usize, len: usize) {
        for mark in self.marks.iter_mut().filter(|mark| mark.end >= offset) {
            mark.end += len;
        }
    }

    /// How much of lines that end at `end` is sure.
    pub(in crate::opencsd) fn sure(&self, end: usize) -> usize {
        self.marks.first().map_or(end, |mark| mark.end)
    }

    /// The first `len` bytes were written out.
    pub(in crate::opencsd) fn written(&mut self, len: usize) {
        for mark in &mut self.marks {
            mark.end = mark.end.saturating_sub(len);
        }
    }

    /// No element of the packets of `source` so far comes any more.
    pub(in crate::opencsd) fn lost(&mut self, source: usize) {
        self.marks.retain(|mark| mark.source != source);
    }

    /// Too much waits: what is there stays as it is.
    pub(in crate::opencsd) fn give_up(&mut self) {
        self.marks.clear();
    }
}
