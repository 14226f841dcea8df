//! What one flipped bit of a real capture costs.
//!
//! Each trial flips one bit and compares the elements with those of the whole capture, source by
//! source, outside a window: from 64 bytes before the packet with the bit to 64 bytes after the
//! packet with which decoding starts behind the source's next alignment synchronisation, in ETMv3
//! and PTM an I-sync. A bit of a frame that gives bytes to another source damages all of these: the
//! window then begins before the first and ends behind the last of them, for both sources. The bit
//! is anywhere, or one of a source in the 8 bytes before an alignment synchronisation.
//! `TRACEWRIGHT_TIMES=1000` makes 1000 trials of each capture; `--nocapture` shows the table.

use std::ops::Range;

use tracewright::base::Element;
use tracewright::decode::{Event, Listener, Memory, Options, Plan, Session, Wants};
use tracewright::protocols::registry::AnyPacket;
use tracewright::protocols::{etmv3, etmv4, etmv4d, ptm};
use tracewright_testing::{Random, shared, short_or_long, times};

/// Bytes before and after the damage where elements may differ.
const MARGIN: u64 = 64;

/// Captures of each protocol and kind of framing, with a synchronisation inside. In the last one
/// the I-sync of an ETMv3 comes about 125 bytes behind the alignment synchronisation.
const CAPTURES: [&str; 12] = [
    "conformance/arm/snapshots/001-ack_test",
    "conformance/arm/snapshots/Snowball",
    "conformance/arm/snapshots/TC2",
    "conformance/arm/snapshots/infrastructure",
    "conformance/arm/snapshots/itm_only_raw",
    "conformance/arm/snapshots/juno-uname-001",
    "conformance/arm/snapshots/juno_r1_1",
    "conformance/arm/snapshots/src_addr",
    "conformance/arm/snapshots/stm_only",
    "conformance/arm/snapshots/tc2-ptm-rstk-t32",
    "conformance/arm/snapshots/tme_test",
    "captures/ti-am243x-r5f/freertos",
];

/// What was decoded from one source.
#[derive(Clone, Default)]
struct Decoded {
    elements: Vec<(u64, Element)>,
    /// The offsets of all packets.
    packets: Vec<u64>,
    /// The offsets of alignment synchronisation packets.
    alignments: Vec<u64>,
    /// The offsets of packets where decoding starts after an alignment synchronisation.
    syncs: Vec<u64>,
    /// The number of bytes; for an STM of nibbles.
    len: usize,
}

impl Decoded {
    /// Where elements may differ after damage of the bytes from `first` to `last`.
    fn window(&self, [first, last]: [u64; 2]) -> Range<u64> {
        let before = self.packets.partition_point(|packet| *packet <= first);
        let start = before.checked_sub(1).and_then(|n| self.packets.get(n)).unwrap_or(&first);
        let aligned = self.alignments.iter().copied().find(|alignment| *alignment > last);
        let restart = aligned.and_then(|at| self.syncs.iter().copied().find(|sync| *sync >= at));
        start.saturating_sub(MARGIN)..restart.map_or(u64::MAX, |sync| sync + MARGIN)
    }
}

/// What was decoded, by source.
struct Record(Vec<Decoded>);

impl Listener for Record {
    fn element(&mut self, source: usize, at: u64, element: Element) {
        self.0[source].elements.push((at, element));
    }

    fn event(&mut self, event: &Event<'_>) {
        match event {
            Event::Packet { source, bytes, packet } => {
                let (at, of) = (bytes.at(), &mut self.0[*source]);
                of.len += bytes.span.len();
                of.packets.push(at);
                if is_alignment(*packet) {
                    of.alignments.push(at);
                }
                if packet.is_sync() {
                    of.syncs.push(at);
                }
            }
            Event::Undecodable { source, bytes, .. } => self.0[*source].len += bytes.span.len(),
            _ => {}
        }
    }

    fn wants(&self) -> Wants {
        Wants::EACH_PACKET
    }
}

/// The offsets of the bytes of each source.
struct Places(Vec<Vec<u64>>);

impl Listener for Places {
    fn element(&mut self, _: usize, _: u64, _: Element) {}

    fn event(&mut self, event: &Event<'_>) {
        if let Event::Packet { source, bytes, .. } | Event::Undecodable { source, bytes, .. } =
            event
        {
            self.0[*source].extend(bytes.span.clone().map(|n| bytes.offsets.at(n)));
        }
    }

    fn wants(&self) -> Wants {
        Wants::EACH_PACKET
    }
}

/// The first and the last of the bytes that only one of two captures gives to a source. `None`
/// where both give it the same.
fn given_otherwise(clean: &[u64], damaged: &[u64]) -> Option<[u64; 2]> {
    let same = clean.iter().zip(damaged).take_while(|(a, b)| a == b).count();
    let first = clean.get(same).into_iter().chain(damaged.get(same)).min()?;
    let (clean, damaged) = (clean.iter().rev(), damaged.iter().rev());
    let same = clean.clone().zip(damaged.clone()).take_while(|(a, b)| a == b).count();
    let last = clean.skip(same).take(1).chain(damaged.skip(same).take(1)).max()?;
    Some([*first, *last])
}

/// Whether a packet is an alignment synchronisation.
fn is_alignment(packet: AnyPacket<'_>) -> bool {
    match packet {
        AnyPacket::Etmv3(packet) => matches!(packet, etmv3::Packet::Async { .. }),
        AnyPacket::Etmv4(packet) | AnyPacket::Ete(packet) => {
            matches!(packet, etmv4::Packet::AlignSync)
        }
        AnyPacket::Ptm(packet) => matches!(packet, ptm::Packet::Align),
        AnyPacket::Etmv4d(packet) => matches!(packet, etmv4d::Packet::Align),
        AnyPacket::Itm(_) | AnyPacket::Stm(_) => packet.is_sync(),
        _ => false,
    }
}

/// How the elements outside the windows compare.
#[derive(Clone, Copy, Debug, Default)]
struct Outcome {
    /// Elements of the whole capture.
    outside: usize,
    /// Those that the damaged capture does not have at the same offset.
    lost: usize,
    /// Ranges that only the damaged capture has.
    invented: usize,
    /// Inconsistencies that only the damaged capture has.
    inconsistencies: usize,
    /// Elements of other kinds that only the damaged capture has.
    added: usize,
}

impl Outcome {
    fn add(&mut self, other: Outcome) {
        self.outside += other.outside;
        self.lost += other.lost;
        self.invented += other.invented;
        self.inconsistencies += other.inconsistencies;
        self.added += other.added;
    }
}

/// Compares the elements of a source outside `window`.
fn compare(clean: &Decoded, damaged: &Decoded, window: Range<u64>) -> Outcome {
    let outside = |decoded: &Decoded| -> Vec<(u64, Element)> {
        let all = decoded.elements.iter().copied();
        let mut all: Vec<_> = all
            .filter(|(at, element)| match element {
                // The offset of the end is that of the last packet.
                Element::End => false,
                Element::Undecodable { len, .. } => {
                    at.saturating_add((*len).into()) < window.start || *at >= window.end
                }
                _ => !window.contains(at),
            })
            .collect();
        all.sort_by_key(|(at, _)| *at);
        all
    };
    let (clean, damaged) = (outside(clean), outside(damaged));
    let mut outcome = Outcome { outside: clean.len(), ..Outcome::default() };
    let (mut clean, mut damaged) = (&clean[..], &damaged[..]);
    while let Some(at) = [clean, damaged].iter().filter_map(|all| Some(all.first()?.0)).min() {
        let group = |all: &mut &[(u64, Element)]| {
            let (group, rest) = all.split_at(all.iter().take_while(|(a, _)| *a == at).count());
            *all = rest;
            group.iter().map(|(_, element)| *element).collect::<Vec<_>>()
        };
        let (had, mut got) = (group(&mut clean), group(&mut damaged));
        for element in had {
            match got.iter().position(|other| *other == element) {
                Some(n) => drop(got.remove(n)),
                None => outcome.lost += 1,
            }
        }
        for element in got {
            match element {
                Element::Range(_) => outcome.invented += 1,
                Element::Inconsistency(reason) if !reason.is_ambiguity() => {
                    outcome.inconsistencies += 1;
                }
                _ => outcome.added += 1,
            }
        }
    }
    outcome
}

#[test]
fn a_flipped_bit_costs_what_lies_before_the_next_synchronisation() {
    let [source, frame] = flip(29, times(2), Flips::Anywhere);
    // Bits that make another plausible trace may cost what depends on them.
    assert!(source.lost * 100_000 <= source.outside, "{source:?}");
    assert!(frame.lost * short_or_long(1000, 100_000) <= frame.outside, "{frame:?}");
    assert_eq!((frame.invented, frame.inconsistencies), (0, 0), "{frame:?}");
}

/// The damaged packet may take the first bytes of the synchronisation.
#[test]
fn a_flipped_bit_before_a_synchronisation_costs_what_lies_before_it() {
    let [source, _] = flip(31, times(5), Flips::BeforeAlignments);
    assert_eq!(source.lost, 0, "{source:?}");
}

/// The bits that are flipped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Flips {
    /// Any.
    Anywhere,
    /// Those of a source in the 8 bytes before an alignment synchronisation. The framing is not
    /// damaged: a flipped bit of a frame's ID takes the synchronisation from its source.
    BeforeAlignments,
}

/// Flips one bit in each trial. Returns the outcomes of bits of sources, and of those of frames
/// that give bytes to another source.
fn flip(seed: u64, trials: u64, flips: Flips) -> [Outcome; 2] {
    let mut random = Random::new(seed);
    println!(
        "capture, bits, trials with a difference, elements outside, lost, invented, inconsistencies, added"
    );
    let mut total = [Outcome::default(); 2];
    for name in CAPTURES {
        let Some(folder) = shared(name) else { continue };
        let capture = tracewright::read_capture(&folder).unwrap();
        let (memory, options) = (Memory::new(&capture), Options::default());
        let plan = Plan::new(&capture, 0, &options).unwrap();
        let start = Session::new(&capture, &plan, &memory, &options).unwrap();
        let decode = |bytes: &[u8]| {
            let mut record = Record(vec![Decoded::default(); plan.sources.len()]);
            start.clone().run([bytes], &mut record);
            record.0
        };
        let places = |bytes: &[u8]| {
            let mut places = Places(vec![Vec::new(); plan.sources.len()]);
            start.clone().run([bytes], &mut places);
            places.0
        };
        let mut bytes: Vec<u8> = capture.buffers[0].parts().flatten().copied().collect();
        let (clean, clean_places) = (decode(&bytes), places(&bytes));
        let alignments = clean.iter().flat_map(|decoded| decoded.alignments.iter().copied());
        let alignments: Vec<u64> = alignments.filter(|at| *at >= 8).collect();
        if flips == Flips::BeforeAlignments && alignments.is_empty() {
            continue;
        }
        let (mut all, mut differ, mut of, mut done) = ([Outcome::default(); 2], [0; 2], [0; 2], 0);
        while done < trials {
            let at = match flips {
                Flips::Anywhere => random.index(bytes.len()),
                Flips::BeforeAlignments => {
                    alignments[random.index(alignments.len())] as usize - 1 - random.index(8)
                }
            };
            let bit = 1 << random.index(8);
            bytes[at] ^= bit;
            let damaged = decode(&bytes);
            let lens = |all: &[Decoded]| all.iter().map(|of| of.len).collect::<Vec<_>>();
            let kind = usize::from(lens(&clean) != lens(&damaged));
            let moved = if kind == 1 { places(&bytes) } else { Vec::new() };
            bytes[at] ^= bit;
            if flips == Flips::BeforeAlignments && kind == 1 {
                continue;
            }
            done += 1;
            of[kind] += 1;
            let mut trial = Outcome::default();
            for (n, (clean, damaged)) in clean.iter().zip(&damaged).enumerate() {
                let at = at as u64;
                let moved = moved.get(n).and_then(|moved| given_otherwise(&clean_places[n], moved));
                let [first, last] = moved.unwrap_or([at, at]);
                trial.add(compare(clean, damaged, clean.window([first.min(at), last.max(at)])));
            }
            if trial.lost + trial.invented + trial.inconsistencies + trial.added > 0 {
                differ[kind] += 1;
                println!("  {name} {at:#x} bit {bit:#x}: {trial:?}");
            }
            all[kind].add(trial);
        }
        for kind in 0..2 {
            let Outcome { outside, lost, invented, inconsistencies, added } = all[kind];
            let (bits, differ, of) = (["source", "frame"][kind], differ[kind], of[kind]);
            println!(
                "{name}, {bits}, {differ} of {of}, {outside}, {lost}, {invented}, {inconsistencies}, {added}"
            );
            total[kind].add(all[kind]);
        }
    }
    println!("{total:?}");
    assert_eq!(total[0].invented, 0, "ranges that did not execute");
    assert_eq!(total[0].inconsistencies, 0, "contradictions of what is whole");
    total
}
