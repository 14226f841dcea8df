//! The framing of a trace that contains the packets of an ITM.

use std::collections::BTreeMap;

use tracewright_frames::{Event, FRAME, Framing, Link, Split, Splitter, sync};

use super::Wanted;
use super::grammar::{first_packet, share};
use super::packet_evidence::better_start;
use crate::detect::fill::filled_from;
use crate::detect::frame_pairs;

/// A trace may have at least this share of bytes in packets.
const GOOD: f64 = 0.9;

/// The same for a trace without framing that begins with a synchronisation packet.
const GOOD_AFTER_SYNC: f64 = 0.8;

/// A synchronisation packet. (Armv7-M ARM, appendix D4)
const SYNC: [u8; 6] = [0, 0, 0, 0, 0, 0x80];

/// Frames must have this share more than unframed bytes, which are the rule.
const MORE: f64 = 0.05;

/// A trace has at most one source, and another one for each of this number of bytes. Bytes without
/// framing that are read as frames have more.
const EACH: usize = 4 * FRAME;

/// A trace ID with a smaller share of the bytes is not that of a trace source.
const RARE: f64 = 0.02;

/// Frames are not searched for in fewer bytes.
const LEAST: usize = 4 * FRAME;

/// How the packets of an ITM are contained in a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Form {
    /// The framing.
    pub framing: Framing,
    /// Bytes before the first frame.
    pub skip: usize,
    /// The trace ID of the ITM; `None` without framing.
    pub id: Option<u8>,
    /// Bytes of the ITM before its first packet.
    pub start: usize,
}

impl Form {
    /// The form of a trace with the first bytes `head`, and whether it is certain. What is `wanted`
    /// is given.
    pub fn find(head: &[u8], wanted: &Wanted) -> (Form, bool) {
        // What a trace did not fill is no form of it.
        let head = head.get(..filled_from(head)).unwrap_or(head);
        let mut best = Found::default();
        if wanted.framing.is_none_or(|framing| framing == Framing::Raw) {
            best = raw(head);
        }
        for (framing, skip) in framings(head, wanted.framing, LEAST) {
            let found = framed(head, framing, skip, wanted);
            let more = if best.form.framing == Framing::Raw { MORE } else { 0.0 };
            let given = wanted.framing.is_some() || wanted.id.is_some();
            if found.share > best.share + more || given && best.form.id.is_none() {
                best = found;
            }
        }
        let synced = best.form.framing == Framing::Raw && head.starts_with(&SYNC);
        (best.form, best.share >= if synced { GOOD_AFTER_SYNC } else { GOOD })
    }
}

/// A form, and the share of the bytes that are packets in it.
struct Found {
    form: Form,
    share: f64,
}

impl Default for Found {
    fn default() -> Self {
        let form = Form { framing: Framing::Raw, skip: 0, id: None, start: 0 };
        Found { form, share: 0.0 }
    }
}

fn raw(head: &[u8]) -> Found {
    let start = better_start(head, first_packet(head));
    let share = share(head.get(start..).unwrap_or_default());
    Found { form: Form { framing: Framing::Raw, skip: 0, id: None, start }, share }
}

/// The framings that are tried with at least `least` bytes, each with the number of bytes before
/// the first frame.
pub(super) fn framings(
    head: &[u8],
    wanted: Option<Framing>,
    least: usize,
) -> Vec<(Framing, usize)> {
    let synced = head.windows(sync::FULL.len()).any(|bytes| *bytes == sync::FULL);
    let half = head.windows(sync::HALF.len()).any(|bytes| *bytes == sync::HALF);
    let tried: &[Framing] = match wanted {
        Some(Framing::Raw) => &[],
        Some(ref framing) => std::slice::from_ref(framing),
        None if head.len() < least => &[],
        None if synced => &[Framing::Tpiu, Framing::TpiuHalf, Framing::Coresight],
        None if half => &[Framing::Coresight, Framing::TpiuHalfOnly],
        None => &[Framing::Coresight],
    };
    let offsets = |framing| match framing {
        // The bytes of the first frame may have half synchronisation packets between them.
        Framing::TpiuHalf | Framing::TpiuHalfOnly => {
            (0..2).flat_map(|odd| frame_pairs(head, odd).take(FRAME / 2)).collect()
        }
        _ => (0..FRAME).collect::<Vec<_>>(),
    };
    let all = tried
        .iter()
        .flat_map(|&framing| offsets(framing).into_iter().map(move |skip| (framing, skip)));
    all.collect()
}

/// A splitter of frames, the first of which begins at the first byte. A trace port that is recorded
/// from the middle on has no synchronisation packet before it.
pub(super) fn splitter(framing: Framing) -> Splitter {
    let framing = match framing {
        Framing::Tpiu | Framing::TpiuHalf => Framing::TpiuHalfOnly,
        framing => framing,
    };
    Splitter::new(Link::new(framing))
}

fn framed(head: &[u8], framing: Framing, skip: usize, wanted: &Wanted) -> Found {
    let mut ids = Ids::default();
    let head = head.get(skip..).unwrap_or_default();
    splitter(framing).split(skip as u64, head, &mut ids);
    let all: usize = ids.bytes.values().map(Vec::len).sum();
    let rare = ids.bytes.values().map(Vec::len).filter(|&len| (len as f64) < RARE * all as f64);
    let stray = rare.sum::<usize>() + ids.bad;
    let valid = 1.0 - stray as f64 / (all + ids.bad).max(1) as f64;
    let of = |(&id, bytes): (&u16, &Vec<u8>)| {
        let start = first_packet(bytes);
        let share = valid * share(bytes.get(start..).unwrap_or_default());
        let id = u8::try_from(id).ok();
        Found { form: Form { framing, skip, id, start }, share }
    };
    if let Some(id) = wanted.id {
        let bytes = ids.bytes.remove(&u16::from(id)).unwrap_or_default();
        return of((&id.into(), &bytes));
    }
    let form = Form { framing, skip, id: None, start: 0 };
    let none = Found { form, share: 0.0 };
    if wanted.framing.is_none() && ids.bytes.len() > 1 + head.len() / EACH {
        return none;
    }
    let sources = ids.bytes.iter().filter(|(_, bytes)| bytes.len() >= FRAME / 2);
    sources.map(of).fold(none, |best, found| if found.share > best.share { found } else { best })
}

/// The bytes of each trace ID.
#[derive(Default)]
struct Ids {
    bytes: BTreeMap<u16, Vec<u8>>,
    bad: usize,
}

impl Split for Ids {
    fn piece(&mut self, id: u16, _: u64, _: bool, bytes: &[u8]) {
        self.bytes.entry(id).or_default().extend_from_slice(bytes);
    }

    fn event(&mut self, _: u64, event: Event) {
        match event {
            Event::Bad { len, .. } => self.bad += len as usize,
            Event::Reserved { len, .. } => self.bad += len as usize,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use tracewright_frames::Joiner;
    use tracewright_testing::Random;

    use super::*;

    /// At least `len` bytes of samples, exceptions and timestamps, after the first `cut` ones.
    fn trace(random: &mut Random, len: usize, cut: usize) -> Vec<u8> {
        let mut bytes = Vec::new();
        while bytes.len() < len + cut {
            match random.below(3) {
                0 => bytes.extend([0x17, random.next() as u8 & 0xfe, random.next() as u8, 0, 8]),
                1 => bytes.extend([0x0e, 0x10 + random.below(4) as u8, 0x10]),
                _ => {
                    bytes.extend([0x47, random.next() as u8, 0x02, 0, 8, 0x8d, random.next() as u8])
                }
            }
            bytes.extend([0xc0, random.next() as u8 | 0x80, random.below(20) as u8]);
        }
        bytes.split_off(cut)
    }

    #[test]
    fn few_unframed_bytes_are_no_frames() {
        let (mut random, mut framed) = (Random::new(1), 0);
        for _ in 0..2000 {
            let (len, cut) = (LEAST + random.index(40), random.index(7));
            let bytes = trace(&mut random, len, cut);
            let (form, _) = Form::find(&bytes, &Wanted::default());
            framed += usize::from(form.framing != Framing::Raw);
        }
        assert!(framed <= 2, "{framed} of 2000");
    }

    /// Frames of one source, and of two.
    #[test]
    fn few_frames_are_found() {
        let (mut random, mut found) = (Random::new(2), [0; 2]);
        for round in 0..400 {
            let (mut frames, mut joiner) = (Vec::new(), Joiner::new(Framing::Coresight));
            for part in trace(&mut random, LEAST, 0).chunks(20) {
                joiner.push(0x13, part, &mut frames).unwrap();
                if round % 2 == 1 {
                    joiner.push(0x14, &[random.next() as u8; 3], &mut frames).unwrap();
                }
            }
            joiner.finish(&mut frames);
            let (form, _) = Form::find(&frames, &Wanted::default());
            found[round % 2] += usize::from(form.id == Some(0x13) && form.skip == 0);
        }
        assert!(found.iter().all(|&found| found >= 190), "{found:?} of 200");
    }
}
