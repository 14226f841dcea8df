//! The evidence that packets are those of an ITM, in bits.

use std::collections::HashMap;

use tracewright_base::Dwt;
use tracewright_protocols::itm::{Data, Packet};

use super::grammar::{LONGEST, is_defined, kind, meaning, packets};

/// The evidence by which a form exceeds any other one.
pub(super) const MARGIN: f64 = 16.0;

/// The share of packets of a kind that has not occurred before.
const NOVEL: f64 = 0.1;

/// The number of kinds, about that of headers that are not rare.
pub(super) const KINDS: f64 = 128.0;

/// The number of ports in a page, and the share of packets that are written to ports at random.
const PORTS: f64 = 32.0;
const SPREAD: f64 = 0.5;

/// Evidence against a form: undecodable bytes, and packets that few units send.
pub(super) const BAD: f64 = -16.0;
pub(super) const RARE: f64 = -8.0;

/// Evidence against a trace that begins inside a packet or a frame.
pub(super) const CUT: f64 = 4.0;

/// Bytes in which first packets are compared.
const COMPARED: usize = 1 << 10;

/// How many ports are written to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ports {
    /// Few of them: each one is evidence.
    Few,
    /// Any number: those that are written in one size are evidence together.
    Many,
}

/// The first packet of a trace: that at `start`, or one with far more evidence in the first bytes.
pub(super) fn better_start(bytes: &[u8], start: usize) -> usize {
    let head = bytes.get(..COMPARED).unwrap_or(bytes);
    let of = |start: usize| (start, from(head, start, Ports::Many));
    let own = of(start);
    let better =
        |best: (usize, f64), other: (usize, f64)| if other.1 > best.1 { other } else { best };
    let best = (0..LONGEST).map(of).fold(own, better);
    if best.1 >= own.1 + MARGIN { best.0 } else { start }
}

/// Whether the packets of `bytes`, which may begin inside one, are likely those of an ITM.
pub(crate) fn is_likely_itm(bytes: &[u8]) -> bool {
    let head = bytes.get(..COMPARED).unwrap_or(bytes);
    (0..LONGEST).any(|start| from(head, start, Ports::Many) >= MARGIN)
}

/// The evidence for packets from byte `start` on.
pub(super) fn from(head: &[u8], start: usize, ports: Ports) -> f64 {
    bits(head.get(start..).unwrap_or_default(), ports) - if start == 0 { 0.0 } else { CUT }
}

/// The evidence for packets in the first bytes, which may begin inside one, in bits for each byte.
pub(crate) fn evidence_a_byte(bytes: &[u8]) -> f64 {
    let head = bytes.get(..COMPARED).unwrap_or(bytes);
    let most = (0..LONGEST).map(|start| from(head, start, Ports::Many)).fold(0.0, f64::max);
    most / head.len().max(1) as f64
}

/// The offsets of packets from byte `start` on.
pub(super) fn boundaries(head: &[u8], start: usize) -> Vec<usize> {
    let mut at = start;
    let mut all = vec![start];
    for parsed in packets(head.get(start..).unwrap_or_default()) {
        at += parsed.len;
        all.push(at);
    }
    all
}

/// Whether two rows of offsets have one in common: the packets after it are the same.
pub(super) fn meet(a: &[usize], b: &[usize]) -> bool {
    b.iter().any(|at| a.binary_search(at).is_ok())
}

/// The evidence that the packets of `bytes` are those of an ITM.
pub(super) fn bits(bytes: &[u8], ports: Ports) -> f64 {
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
        let share = match ports {
            Ports::Few => share,
            Ports::Many => share.max(seen / PORTS * SPREAD * headers(&packet)),
        };
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
