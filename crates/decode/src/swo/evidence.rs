//! Whether few bytes suffice to determine the form of a trace.
//!
//! Packets of an ITM can be parsed from nearly any bytes, so that the share of bytes in packets is
//! weak evidence for few of them. The evidence for a form is the number of bits by which a simple
//! model of its packets and frames describes the bytes shorter than 8 bits a byte: few kinds of
//! packets that are repeated, text, addresses near each other, few ID bytes.

use std::collections::BTreeMap;

use tracewright_frames::{Event, FRAME, Frame, Framing, Split};

use super::form::{framings, splitter};
use super::grammar::{LONGEST, first_packet};
use super::packet_evidence::{BAD, CUT, KINDS, MARGIN, Ports, RARE, bits, boundaries, from, meet};
use super::{Form, Wanted};

/// The evidence for a form, in bits, from which on it may be used.
const ENOUGH: f64 = 16.0;

/// Frames have more ways to be found by accident.
const ENOUGH_FOR_FRAMES: f64 = 32.0;

/// The share of the even bytes of frames that are ID bytes.
const ID_BYTES: f64 = 0.15;

/// A form, and the evidence for it.
struct Candidate {
    form: Form,
    bits: f64,
}

/// The form of a trace with the first bytes `head`, where they suffice. What is `wanted` is given.
pub(super) fn few(head: &[u8], wanted: &Wanted) -> Option<Form> {
    let mut candidates = Vec::new();
    if wanted.framing.is_none_or(|framing| framing == Framing::Raw) && wanted.id.is_none() {
        candidates.push(unframed(head));
    }
    for (framing, skip) in framings(head, wanted.framing, 0) {
        candidates.extend(framed(head, framing, skip, wanted));
    }
    candidates.sort_by(|a, b| b.bits.total_cmp(&a.bits));
    let [best, rest @ ..] = candidates.as_slice() else { return None };
    let enough = match (best.form.framing, best.form.id) {
        (Framing::Raw, _) => ENOUGH,
        (_, Some(_)) => ENOUGH_FOR_FRAMES,
        // The frames have other sources so far.
        (_, None) => return None,
    };
    let other = rest.iter().find(|other| other.form.id != best.form.id || differs(other, best));
    let certain = best.bits >= enough && other.is_none_or(|other| best.bits >= other.bits + MARGIN);
    certain.then_some(best.form)
}

/// Whether the frames begin at other bytes. Half synchronisation packets are a part of some
/// framings only, which are the same where there are none.
fn differs(a: &Candidate, b: &Candidate) -> bool {
    (a.form.framing == Framing::Raw) != (b.form.framing == Framing::Raw)
        || a.form.skip != b.form.skip
}

/// The candidate of unframed bytes from the first packet with the most evidence on. It has none
/// where packets from another byte on, which differ up to the last byte, have about as much.
fn unframed(head: &[u8]) -> Candidate {
    let of = |start: usize, ports| (start, from(head, start, ports));
    let better =
        |best: (usize, f64), other: (usize, f64)| if other.1 > best.1 { other } else { best };
    let first = of(0, Ports::Many);
    let best = (1..LONGEST).map(|start| of(start, Ports::Many)).fold(first, better);
    let ends = boundaries(head, best.0);
    let others = (0..LONGEST).filter(|other| !meet(&ends, &boundaries(head, *other)));
    let exceeds = |ports| {
        let own = from(head, best.0, ports);
        move |other: usize| own >= from(head, other, ports) + MARGIN
    };
    let (few, many) = (exceeds(Ports::Few), exceeds(Ports::Many));
    let certain = others.into_iter().all(|other| few(other) || many(other));
    let bits = if certain { from(head, best.0, Ports::Few) } else { 0.0 };
    Candidate { form: Form { framing: Framing::Raw, skip: 0, id: None, start: best.0 }, bits }
}

/// The candidates of frames from byte `skip` on: one for each source that may be the ITM, and one
/// for frames with other sources.
fn framed(head: &[u8], framing: Framing, skip: usize, wanted: &Wanted) -> Vec<Candidate> {
    let mut frames = Frames { len: head.len() as u64, ..Frames::default() };
    let mut splitter = splitter(framing);
    splitter.split(skip as u64, head.get(skip..).unwrap_or_default(), &mut frames);
    // The last frame is incomplete: its data bytes are known but for bit 0 of some.
    splitter.split(head.len() as u64, &[0; FRAME - 1], &mut frames);
    let link = if skip == 0 { frames.bits } else { frames.bits - CUT };
    let form = Form { framing, skip, id: None, start: 0 };
    let mut candidates = vec![Candidate { form, bits: link }];
    for (&id, bytes) in &frames.sources {
        let id = u8::try_from(id).ok();
        if wanted.id.is_none() || wanted.id == id {
            let start = first_packet(bytes);
            let bits = link + bits(bytes.get(start..).unwrap_or_default(), Ports::Few);
            candidates.push(Candidate { form: Form { id, start, ..form }, bits });
        }
    }
    candidates
}

/// The bytes of each trace ID, and the evidence of the ID bytes.
#[derive(Default)]
struct Frames {
    sources: BTreeMap<u16, Vec<u8>>,
    /// Bytes from this offset on are not in the trace.
    len: u64,
    bits: f64,
}

impl Split for Frames {
    fn piece(&mut self, id: u16, at: u64, _: bool, bytes: &[u8]) {
        let known = usize::try_from(self.len.saturating_sub(at)).unwrap_or(usize::MAX);
        let bytes = bytes.get(..known).unwrap_or(bytes);
        self.sources.entry(id).or_default().extend_from_slice(bytes);
    }

    fn frame(&mut self, frame: &Frame<'_>) {
        for i in (0..FRAME).step_by(2).filter(|&i| frame.offset(i) < self.len) {
            let id = u16::from(frame.bytes.get(i).map_or(0, |byte| byte >> 1));
            self.bits += match id {
                _ if !frame.is_id(i) => (2.0 * (1.0 - ID_BYTES)).log2(),
                0 | 0x70.. => RARE,
                _ if self.sources.contains_key(&id) => {
                    (2.0 * ID_BYTES * KINDS / self.sources.len() as f64).log2()
                }
                // The first ID is at the beginning of most traces.
                _ if self.sources.is_empty() => 0.0,
                _ => RARE,
            };
            if frame.is_id(i) && (1..0x70).contains(&id) {
                self.sources.entry(id).or_default();
            }
        }
    }

    fn event(&mut self, _: u64, event: Event) {
        match event {
            Event::Bad { .. } | Event::Reserved { .. } => self.bits += BAD,
            Event::FullSync => self.bits += 16.0,
            _ => {}
        }
    }
}
