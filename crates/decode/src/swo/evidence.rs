//! Whether few bytes suffice to determine the form of a trace.
//!
//! Packets of an ITM can be parsed from nearly any bytes, so that the share of bytes in packets is
//! weak evidence for few of them. The evidence for a form is the number of bits by which a simple
//! model of its packets and frames describes the bytes shorter than 8 bits a byte: few kinds of
//! packets that are repeated, text, addresses near each other, few ID bytes.

use std::collections::{BTreeMap, HashMap};

use tracewright_base::Dwt;
use tracewright_frames::{Event, FRAME, Frame, Framing, Split};
use tracewright_protocols::itm::{Data, Packet};

use super::form::{framings, splitter};
use super::grammar::{LONGEST, first_packet, is_defined, kind, meaning, packets};
use super::{Form, Wanted};

/// The evidence for a form, in bits, from which on it may be used.
const ENOUGH: f64 = 16.0;

/// Frames have more ways to be found by accident.
const ENOUGH_FOR_FRAMES: f64 = 32.0;

/// The evidence by which a form exceeds any other one.
const MARGIN: f64 = 16.0;

/// The share of packets of a kind that has not occurred before.
const NOVEL: f64 = 0.1;

/// The number of kinds, about that of headers that are not rare.
const KINDS: f64 = 128.0;

/// Evidence against a form: undecodable bytes, and packets that few units send.
const BAD: f64 = -16.0;
const RARE: f64 = -8.0;

/// The number of ports in a page, and the share of packets that are written to ports at random.
const PORTS: f64 = 32.0;
const SPREAD: f64 = 0.5;

/// Bytes in which first packets are compared.
const COMPARED: usize = 1 << 10;

/// The share of the even bytes of frames that are ID bytes.
const ID_BYTES: f64 = 0.15;

/// Evidence against a trace that begins inside a packet or a frame.
const CUT: f64 = 4.0;

/// A form, and the evidence for it.
struct Candidate {
    form: Form,
    bits: f64,
}

/// The form of a trace with the first bytes `head`, where they suffice. What is `wanted` is given.
pub(super) fn few(head: &[u8], wanted: &Wanted) -> Option<Form> {
    let mut candidates = Vec::new();
    if wanted.framing.is_none_or(|framing| framing == Framing::Raw) && wanted.id.is_none() {
        candidates.extend(unframed(head));
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

/// Whether the frames, or the packets of unframed bytes, begin at other bytes. Half synchronisation packets are a part of some
/// framings only, which are the same where there are none.
fn differs(a: &Candidate, b: &Candidate) -> bool {
    let raw = |candidate: &Candidate| candidate.form.framing == Framing::Raw;
    raw(a) != raw(b) || a.form.skip != b.form.skip || raw(a) && a.form.start != b.form.start
}

/// The candidates of unframed bytes: the best one, and the best of those with other packets up to
/// the last byte.
fn unframed(head: &[u8]) -> Vec<Candidate> {
    let form = |start| Form { framing: Framing::Raw, skip: 0, id: None, start };
    let mut all: Vec<Candidate> = (0..LONGEST)
        .map(|start| Candidate { form: form(start), bits: from(head, start) })
        .collect();
    // The first of the best.
    all.sort_by(|a, b| b.bits.total_cmp(&a.bits));
    let Some(best) = all.first().map(|best| best.form.start) else { return all };
    let ends = boundaries(head, best);
    let mut all = all.into_iter();
    let first = all.next();
    let other = all.find(|other| !meet(&ends, &boundaries(head, other.form.start)));
    first.into_iter().chain(other).collect()
}

/// The evidence for packets from byte `start` on.
fn from(head: &[u8], start: usize) -> f64 {
    bits(head.get(start..).unwrap_or_default()) - if start == 0 { 0.0 } else { CUT }
}

/// The offsets of packets from byte `start` on.
fn boundaries(head: &[u8], start: usize) -> Vec<usize> {
    let mut at = start;
    let mut all = vec![start];
    for parsed in packets(head.get(start..).unwrap_or_default()) {
        at += parsed.len;
        all.push(at);
    }
    all
}

/// Whether two rows of offsets have one in common: the packets after it are the same.
fn meet(a: &[usize], b: &[usize]) -> bool {
    b.iter().any(|at| a.binary_search(at).is_ok())
}

/// A first packet with far more evidence than that at `start`, in the first bytes of a trace; how
/// certain it is that the packets begin there, in bits.
pub(super) fn better_start(bytes: &[u8], start: usize) -> (usize, f64) {
    let head = bytes.get(..COMPARED).unwrap_or(bytes);
    let of = |start: usize| (start, from(head, start));
    let own = of(start);
    let best =
        (0..LONGEST).map(of).fold(own, |best, other| if other.1 > best.1 { other } else { best });
    let chosen = if best.1 >= own.1 + MARGIN { best } else { own };
    let ends = boundaries(head, chosen.0);
    let others = (0..LONGEST).filter(|other| !meet(&ends, &boundaries(head, *other)));
    let next = others.map(|other| from(head, other)).fold(f64::NEG_INFINITY, f64::max);
    (chosen.0, chosen.1 - next)
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
            let bits = link + bits(bytes.get(start..).unwrap_or_default());
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

/// The evidence that the packets of `bytes` are those of an ITM.
fn bits(bytes: &[u8]) -> f64 {
    let mut kinds: HashMap<(u8, u8, u8), (f64, u32)> = HashMap::new();
    let mut classes: HashMap<(u8, u8), f64> = HashMap::new();
    let (mut all, mut bits) = (0.0, 0.0);
    for parsed in packets(bytes) {
        let Some(packet) = parsed.packet else {
            bits += BAD;
            continue;
        };
        // The alignment packets of other trace units have zeros, too.
        if matches!(packet, Packet::Sync { .. }) {
            continue;
        }
        if !is_defined(&packet) || matches!(packet, Packet::Page(_)) {
            bits += RARE;
            continue;
        }
        let class = class(&packet);
        let known = kinds.len();
        let (count, last) = kinds.entry(kind(&packet)).or_default();
        let share = match *count {
            0.0 if known == 0 => 1.0 / KINDS,
            0.0 => NOVEL / KINDS,
            count => (1.0 - NOVEL) * count / all,
        };
        // Many ports may be written in one size, each seldom.
        let of_class = classes.entry(class).or_default();
        let seen = if all == 0.0 { 0.0 } else { (1.0 - NOVEL) * *of_class / all };
        let share = share.max(seen / PORTS * SPREAD * headers(&packet));
        *of_class += 1.0;
        bits += (share * 256.0 / headers(&packet)).log2() + payload(&packet, *last, *count > 0.0);
        *count += 1.0;
        all += 1.0;
        *last = value(&packet);
    }
    bits
}

/// What packets of all ports, or of all discriminators, have in common.
fn class(packet: &Packet) -> (u8, u8) {
    let (source, _, size) = kind(packet);
    (source, size)
}

/// The number of headers of the kind of `packet`.
const fn headers(packet: &Packet) -> f64 {
    match packet {
        Packet::LocalTimeShort { .. } => 6.0,
        Packet::LocalTime { .. } => 4.0,
        _ => 1.0,
    }
}

const fn value(packet: &Packet) -> u32 {
    match packet {
        Packet::Software { data, .. } | Packet::Hardware { data, .. } => data.value(),
        _ => 0,
    }
}

/// The evidence of the payload. `last` is that of the last packet of the kind, if there was one.
fn payload(packet: &Packet, last: u32, repeated: bool) -> f64 {
    let text = |data: &Data| {
        let bytes = data.value().to_le_bytes();
        let bytes = bytes.get(..usize::from(data.size())).unwrap_or_default();
        bytes.iter().all(|byte| matches!(byte, b' '..=b'~' | b'\n' | b'\r' | b'\t'))
    };
    match packet {
        Packet::Software { data, .. } if text(data) => f64::from(data.size()) * 1.4,
        Packet::Software { data, .. } if data.size() == 1 => -1.0,
        Packet::Hardware { .. } => match meaning(packet) {
            // Five bits are zero, and two are not.
            Some(Dwt::Exception { .. }) => 5.0,
            Some(Dwt::PcSample(pc)) if repeated && pc >> 16 == last >> 16 => 14.0,
            _ => 0.0,
        },
        _ => 0.0,
    }
}
