//! Alignment: a message begins after a byte with MSEO 11.

use tracewright_base::{Parse, SyncSearch, Wire};

use super::config::Config;
use super::packet::{END_OF_MESSAGE, MAX_LEN, Message, Packet, mseo};

/// The number of valid messages in a row that prove that one begins at the first byte.
const CHAIN: usize = 4;

/// Finds the first offset where a message begins: the first byte, if `CHAIN` messages follow one
/// another from there, or the byte after the first one with MSEO 11.
pub fn find(bytes: &[u8], config: &Config) -> SyncSearch {
    match chain(bytes, config) {
        Chain::Whole => SyncSearch::At(0),
        Chain::Unfinished { .. } => SyncSearch::NotIn(0),
        Chain::Broken => find_end(bytes),
    }
}

/// Finds the byte after the first one with MSEO 11.
pub fn find_end(bytes: &[u8]) -> SyncSearch {
    end_of_message(bytes).map_or(SyncSearch::NotIn(bytes.len()), SyncSearch::At)
}

/// The offset in the last bytes of a trace: fewer messages suffice if they reach the end.
pub fn find_at_end(bytes: &[u8], config: &Config) -> Option<usize> {
    match chain(bytes, config) {
        Chain::Whole => Some(0),
        Chain::Unfinished { messages } if messages > 0 => Some(0),
        Chain::Unfinished { .. } | Chain::Broken => end_of_message(bytes),
    }
}

fn end_of_message(bytes: &[u8]) -> Option<usize> {
    bytes.iter().position(|&byte| mseo(byte) == END_OF_MESSAGE).map(|at| at + 1)
}

/// The messages from the first byte on.
enum Chain {
    /// Enough.
    Whole,
    /// The number of messages up to the end of the bytes.
    Unfinished { messages: usize },
    /// Bytes that are no message.
    Broken,
}

fn chain(bytes: &[u8], config: &Config) -> Chain {
    // A run of zeros that is longer than any message is memory that was not written.
    let mut at = bytes.iter().take(MAX_LEN).take_while(|byte| **byte == 0).count();
    if at == MAX_LEN || bytes.first().is_some_and(|&byte| mseo(byte) == END_OF_MESSAGE) {
        return Chain::Whole;
    }
    let mut messages = 0;
    while messages < CHAIN {
        match Packet::parse(bytes.get(at..).unwrap_or_default(), config) {
            Parse::Packet(packet, len) if proves(&packet) => at += len,
            Parse::Packet(..) | Parse::Bad(..) => return Chain::Broken,
            Parse::Partial => return Chain::Unfinished { messages },
        }
        messages += 1;
    }
    Chain::Whole
}

/// Whether an encoder sends such a message, or a byte between two of them.
fn proves(packet: &Packet) -> bool {
    match packet.message {
        Message::Idle { byte } => byte == 0xff,
        Message::Opaque(raw) => matches!(raw.tcode(), 56..=62),
        _ => true,
    }
}
