//! Alignment: packets have no mark at their beginning, but their lengths lead from one to the next.

use tracewright_base::{Parse, SyncSearch, Wire};

use super::config::{Framing, Params};
use super::packet::{Packet, Payload, PrivilegeContext};

/// The number of valid packets in a row that prove the alignment.
const CHAIN: usize = 8;

/// The longest payload, in bytes.
const MAX_PACKET_LEN: usize = 31;

/// The number of bytes that decide whether packets begin at an offset: eight of the longest
/// packets, each with a header, 8 bytes of timestamp and 2 of source number.
pub const LOOKED_AHEAD: usize = CHAIN * (1 + MAX_PACKET_LEN + 8 + 2);

/// Bytes of the longest message without its header.
pub(super) fn longest(params: &Params) -> usize {
    match params.link.framing {
        Framing::Encapsulated | Framing::Siemens => {
            MAX_PACKET_LEN
                + usize::from(params.link.timestamp_bytes)
                + usize::from(params.link.source_width / 8)
        }
        Framing::PulpTrdb | Framing::Esp32 | Framing::PulpRecords | Framing::PulpLines => {
            MAX_PACKET_LEN
        }
    }
}

/// Finds the first offset from which eight packets follow one another, or that follows more null
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

/// Finds the first offset in the last bytes of a trace: fewer packets suffice if they reach the
/// end.
pub fn find_at_end(bytes: &[u8], params: &Params) -> Option<usize> {
    (0..bytes.len()).find(|&at| match chain(bytes.get(at..).unwrap_or_default(), params) {
        Chain::Whole => true,
        Chain::Unfinished { packets } => packets > 0,
        Chain::Broken => false,
    })
}

/// The packets after an offset.
enum Chain {
    /// Enough packets.
    Whole,
    /// The number of packets up to the end of the bytes.
    Unfinished { packets: usize },
    /// Bytes that are not a packet.
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
                // A run of null bytes counts only if it is longer than any packet.
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

/// Whether a processor can have the values of a packet.
pub(super) fn makes_sense(packet: &Packet, params: &Params) -> bool {
    let known = |privilege_context: &PrivilegeContext| match privilege_context.privilege {
        0 | 1 | 3 => true,
        4..=6 => params.widths.privilege > 2,
        _ => false,
    };
    match &packet.payload {
        Payload::Start(start) => known(&start.privilege_context),
        Payload::Trap(trap) => known(&trap.privilege_context),
        Payload::Context(context) => known(&context.privilege_context),
        _ => true,
    }
}
