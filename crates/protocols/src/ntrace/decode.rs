//! Messages to elements.

use tracewright_base::{BlockCache, Decode, Fault, Sink, Spanned};

use super::config::Config;
use super::packet::Packet;

/// Decodes the messages of one encoder. It is a plain value: it holds the state that the next
/// message depends on, and no totals. The default is the state before the first message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Decoder {}

impl Decode<Config, Packet> for Decoder {
    fn packet<K: BlockCache, S: Sink>(
        &mut self,
        _p: Spanned<&Packet>,
        _config: &Config,
        _code: &mut K,
        _sink: &mut S,
    ) {
    }

    fn bad<S: Sink>(&mut self, _at: u64, _fault: Fault, _sink: &mut S) {}

    fn finish<K: BlockCache, S: Sink>(
        &mut self,
        _at: u64,
        _config: &Config,
        _code: &mut K,
        _sink: &mut S,
    ) {
    }
}
