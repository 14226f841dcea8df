//! Where a decoder may start: packets have no mark, but their lengths lead from one to the next.

use tracewright_base::{Parse, SyncSearch, Wire};

use super::config::{Framing, Params};
use super::packet::{Packet, Payload, Who};

/// So many packets one after another that make sense are no accident.
const CHAIN: usize = 8;

/// The longest payload, in bytes.
const LONGEST: usize = 31;

/// So many bytes from a place on may decide whether packets begin there: eight of the longest packets,
/// each with a header, 8 bytes of timestamp and 2 of the source's number.
pub const LOOKED_AHEAD: usize = CHAIN * (1 + LONGEST + 8 + 2);

/// Bytes of the longest message, but for its header.
pub(super) fn longest(params: &Params) -> usize {
    match params.link.framing {
        Framing::Encapsulated | Framing::Siemens => {
            LONGEST
                + usize::from(params.link.timestamp_bytes)
                + usize::from(params.link.source_width / 8)
        }
        Framing::PulpTrdb | Framing::Esp32 | Framing::PulpRecords | Framing::PulpLines => LONGEST,
    }
}

/// Finds the first place from where eight packets follow one another, or that comes after more null
/// bytes than a packet can have. ("Packet Encapsulation", "Synchronization")
pub fn find(bytes: &[u8], params: &Params) -> SyncSearch {
    for at in 0..bytes.len() {
        match chain(bytes.get(at..).unwrap_or_default(), params) {
            Chain::Whole => return SyncSearch::At(at),
            Chain::Unfinished { .. } => return SyncSearch::NotIn(at),
            Chain::Broken => {}
        }
    }
    SyncSearch::NotIn(bytes.len())
}

/// The same where no more bytes follow: fewer packets suffice if they go on to the end.
pub fn find_at_end(bytes: &[u8], params: &Params) -> Option<usize> {
    (0..bytes.len()).find(|&at| match chain(bytes.get(at..).unwrap_or_default(), params) {
        Chain::Whole => true,
        Chain::Unfinished { packets } => packets > 0,
        Chain::Broken => false,
    })
}

/// What follows a place.
enum Chain {
    /// Packets enough.
    Whole,
    /// So many packets, up to the end of the bytes.
    Unfinished { packets: usize },
    /// Something that is no packet.
    Broken,
}

fn chain(bytes: &[u8], params: &Params) -> Chain {
    let nulls = longest(params);
    let (mut at, mut packets, mut run) = (0, 0, 0);
    while packets < CHAIN {
        let rest = bytes.get(at..).unwrap_or_default();
        let len = match Packet::parse(rest, params) {
            Parse::Packet(Packet { payload: Payload::Null { .. }, .. }, len) => {
                run += len;
                // A run of nulls before the first packet is one only if no packet can hold it.
                if run > nulls {
                    return if packets == 0 { Chain::Whole } else { Chain::Broken };
                }
                len
            }
            Parse::Packet(packet, len) if makes_sense(&packet, params) => {
                if run > 0 && packets == 0 {
                    return Chain::Broken;
                }
                packets += 1;
                run = 0;
                len
            }
            Parse::Partial => return Chain::Unfinished { packets },
            Parse::Packet(..) | Parse::Bad(..) => return Chain::Broken,
        };
        at += len;
    }
    Chain::Whole
}

/// Whether a packet has values that a processor can have.
pub(super) fn makes_sense(packet: &Packet, params: &Params) -> bool {
    let known = |who: &Who| match who.privilege {
        0 | 1 | 3 => true,
        4..=6 => params.widths.privilege > 2,
        _ => false,
    };
    match &packet.payload {
        Payload::Start(start) => known(&start.who),
        Payload::Trap(trap) => known(&trap.who),
        Payload::Context(context) => known(&context.who),
        _ => true,
    }
}
