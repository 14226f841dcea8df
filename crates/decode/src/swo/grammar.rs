//! How well bytes can be parsed as packets of an ITM.

use std::collections::HashMap;

use tracewright_base::{Dwt, DwtEvent, Parse, Wire};
use tracewright_protocols::itm::{Config, Data, Packet};

/// The longest packet but for a synchronisation: a global timestamp with 6 bytes after its header.
pub(super) const LONGEST: usize = 7;

/// Bytes of the trace that are examined to find the first packet.
const EXAMINED: usize = 1 << 12;

/// A kind of packets that the first bytes have so often is not there by accident.
const REPEATED: u32 = 3;

/// A packet, or bytes that are none.
pub(super) struct Parsed {
    pub(super) len: usize,
    pub(super) packet: Option<Packet>,
}

/// The packets of `bytes` from the first byte on. An incomplete packet ends them.
pub(super) fn packets(bytes: &[u8]) -> impl Iterator<Item = Parsed> {
    let config = Config { assume_synced: true, ..Config::default() };
    let mut rest = bytes;
    std::iter::from_fn(move || {
        let (len, packet) = match Packet::parse(rest, &config) {
            _ if rest.is_empty() => return None,
            Parse::Packet(packet, len) => (len, Some(packet)),
            Parse::Bad(len, _) => (len.clamp(1, rest.len()), None),
            Parse::Partial => return None,
        };
        rest = rest.get(len..).unwrap_or_default();
        Some(Parsed { len, packet })
    })
}

/// Whether a trace unit sends `packet`. The architecture reserves the others.
pub(super) fn is_defined(packet: &Packet) -> bool {
    let reserved = matches!(meaning(packet), Some(Dwt::Reserved { .. }));
    !reserved && !matches!(packet, Packet::Extension { .. })
}

/// The event of the DWT in `packet`.
pub(super) fn meaning(packet: &Packet) -> Option<Dwt> {
    let Packet::Hardware { discriminator, data } = *packet else { return None };
    let (size, value) = (data.size(), data.value());
    Some(DwtEvent { discriminator, size, value, after_overflow: false }.meaning())
}

/// Whether `packet` has an address of a size that units of Armv8-M send only.
fn is_short_address(packet: &Packet) -> bool {
    match meaning(packet) {
        Some(Dwt::DataPc { size, .. }) => size != 4,
        Some(Dwt::DataAddress { size, .. }) => size != 2,
        _ => false,
    }
}

/// The share of `bytes` in packets that a trace unit sends, from 0 to 1. Pages are not counted:
/// their headers are frequent values of other bytes, and few units have them. Neither are addresses
/// of sizes that only Armv8-M has, which letters of text look like: where the trace has timestamps
/// or synchronisation packets they are left out, and otherwise a unit does not send them.
pub(super) fn share(bytes: &[u8]) -> f64 {
    let (mut good, mut all, mut short, mut timed) = (0, 0, 0, false);
    for Parsed { len, packet } in packets(bytes) {
        all += len;
        timed |= matches!(
            packet,
            Some(Packet::Sync { .. } | Packet::LocalTime { .. } | Packet::GlobalTimeLow { .. })
        );
        match packet {
            Some(Packet::Page(_)) => {}
            Some(packet) if is_short_address(&packet) => short += len,
            Some(packet) if is_defined(&packet) => good += len,
            _ => {}
        }
    }
    let counted = if timed { all - short } else { all };
    if counted == 0 { 0.0 } else { good as f64 / counted as f64 }
}

/// What packets of one kind have in common.
pub(super) fn kind(packet: &Packet) -> (u8, u8, u8) {
    let size = |data: &Data| data.size();
    match packet {
        Packet::Sync { .. } => (0, 0, 0),
        Packet::Overflow => (1, 0, 0),
        Packet::LocalTime { .. } | Packet::LocalTimeShort { .. } => (2, 0, 0),
        Packet::GlobalTimeLow { .. } => (3, 0, 0),
        Packet::GlobalTimeHigh { .. } => (4, 0, 0),
        Packet::Page(page) => (5, *page, 0),
        Packet::Extension { .. } => (6, 0, 0),
        Packet::Software { port, data } => (7, *port, size(data)),
        Packet::Hardware { discriminator, data } => (8, *discriminator, size(data)),
    }
}

/// The number of bytes before the first packet, where the trace may begin inside one.
///
/// Wherever parsing begins, after a few packets it is at the packets that were sent. Of the first
/// bytes, that one begins the first packet from which on the fewest packets are reserved or of a
/// kind that the trace has hardly anywhere else.
pub(super) fn first_packet(bytes: &[u8]) -> usize {
    let bytes = bytes.get(..EXAMINED).unwrap_or(bytes);
    let beginning = bytes.len().min(64);
    let mut kinds: HashMap<(u8, u8, u8), u32> = HashMap::new();
    let mut at = 0;
    for Parsed { len, packet } in packets(bytes) {
        if at >= beginning
            && let Some(packet) = packet
        {
            *kinds.entry(kind(&packet)).or_default() += 1;
        }
        at += len;
    }
    if kinds.values().sum::<u32>() < 8 {
        // Too few packets to compare with.
        return 0;
    }
    let faults = |from: usize| {
        let rest = bytes.get(from..beginning).unwrap_or_default();
        let mut own: HashMap<(u8, u8, u8), u32> = HashMap::new();
        let parsed = packets(rest).filter_map(|parsed| parsed.packet);
        parsed.for_each(|packet| *own.entry(kind(&packet)).or_default() += 1);
        let is_known = |packet: &Packet| {
            let kind = kind(packet);
            kinds.contains_key(&kind) || own.get(&kind).is_some_and(|&count| count >= REPEATED)
        };
        let odd = packets(rest).filter(|parsed| match &parsed.packet {
            Some(Packet::Sync { .. }) => false,
            Some(packet) => !is_defined(packet) || !is_known(packet),
            None => true,
        });
        odd.count()
    };
    (0..LONGEST).min_by_key(|&from| (faults(from), from)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Samples of the program counter and exceptions, cut inside a packet.
    #[test]
    fn cut_packets_are_skipped() {
        let mut bytes = Vec::new();
        for n in 0..100u8 {
            bytes.extend([0x17, n, 0x02, 0x00, 0x08, 0xc0, 0x85, 0x02]);
        }
        assert!(share(&bytes) > 0.99);
        for cut in 0..bytes.len() - 200 {
            let start = first_packet(&bytes[cut..]);
            let want = [0, 4, 3, 2, 1, 0, 2, 1][cut % 8];
            assert_eq!(start, want, "cut at {cut}");
        }
    }

    /// Addresses of one byte with timestamps, and text, which has bytes of the same values.
    #[test]
    fn short_addresses_are_packets() {
        let data = [0x4d, 0x40, 0xc0, 0x05, 0x5d, 0x44, 0xc0, 0x05].repeat(12);
        assert!(share(&data) > 0.99);
        let text = b"{\"type\": \"exception\", \"number\": 16}\n".repeat(12);
        assert!(share(&text) < 0.9, "{}", share(&text));
    }

    #[test]
    fn the_beginning_of_a_trace_is_not_skipped() {
        // A line on a port that is not written again, and samples.
        let mut bytes = b"\x09h\x09i\x09!".to_vec();
        (0..100u8).for_each(|n| bytes.extend([0x17, n, 0x02, 0x00, 0x08]));
        assert_eq!(first_packet(&bytes), 0);
        assert_eq!(first_packet(b"\x01h\x01i\x01\n"), 0);
        assert_eq!(first_packet(b""), 0);
    }
}
