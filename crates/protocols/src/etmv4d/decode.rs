//! Packets to elements: those that do not depend on the packets of data transfers.

use tracewright_base::{BlockCache, Decode, Element, Fault, Gap, Sink, Spanned};

use super::config::Config;
use super::packet::Packet;
use crate::bits;

/// A plain value: it holds the state for the next packet and no totals. By default nothing is
/// known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Decoder {
    started: bool,
    /// The last timestamp. Trace Info sets it to 0; before that it is not known.
    time: Option<u64>,
}

impl Decoder {
    fn start<S: Sink>(&mut self, at: u64, sink: &mut S) {
        if !self.started {
            self.started = true;
            sink.element(at, Element::Gap(Gap::Start));
        }
    }
}

impl Decode<Config, Packet> for Decoder {
    fn packet<K: BlockCache, S: Sink>(
        &mut self,
        p: Spanned<&Packet>,
        _config: &Config,
        _code: &mut K,
        sink: &mut S,
    ) {
        let Spanned { at, packet, .. } = p;
        self.start(at, sink);
        let element = match *packet {
            Packet::Align | Packet::Marker | Packet::NumberedMarker(_) => return,
            Packet::Info(_) => {
                self.time = Some(0);
                return;
            }
            Packet::Discard => Element::Gap(Gap::Discard),
            Packet::Overflow | Packet::Suppression => Element::Gap(Gap::Overflow),
            Packet::Event => Element::Events(0b0001),
            Packet::Timestamp { bits, count } => {
                let old = if count == 64 { Some(0) } else { self.time };
                self.time = old.map(|old| bits::replace_low(old, bits, count));
                match self.time {
                    Some(value) => Element::Timestamp { value, cycles: None },
                    None => return,
                }
            }
        };
        sink.element(at, element);
    }

    fn bad<S: Sink>(&mut self, at: u64, fault: Fault, sink: &mut S) {
        self.start(at, sink);
        if matches!(fault, Fault::Reserved(_) | Fault::Sequence | Fault::Overlong) {
            sink.element(at, Element::Gap(Gap::BadPacket));
        }
        self.time = None;
    }

    // No element waits.
    fn finish<K: BlockCache, S: Sink>(&mut self, _: u64, _: &Config, _: &mut K, _: &mut S) {}
}
