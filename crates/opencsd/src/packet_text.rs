//! The interface between the listing and the text of one protocol.

use std::fmt::Debug;
use std::ops::Range;

use tracewright_base::{Element, Fault, Last, OffsetMap};
use tracewright_protocols::Protocol;

use super::element::Style;
use super::order::Order;
use super::unsynced::Group;

/// A protocol that can be listed. A protocol's implementation is in the file of its name; protocols
/// that OpenCSD does not decode are in `plain.rs`.
pub(super) trait OpencsdProtocol: Protocol {
    /// The text of its packets, and what the text of the next packet depends on.
    type Text: PacketText<Config = Self::Config, Packet = Self::Packet>
        + Clone
        + Debug
        + Default
        + PartialEq;
    /// OpenCSD's name for the decoder in its messages.
    const DECODER: &'static str;
    /// OpenCSD's name for the packet processor in its messages.
    const PACKET_PROCESSOR: &'static str;
}

/// How OpenCSD lists the sources of a protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Behaviour {
    /// How bytes before a synchronisation are grouped into lines.
    pub(super) unsynced: Group,
    /// Without the bytes of packets, one line stands for all bytes before a synchronisation.
    pub(super) one_unsynced_line: bool,
    /// A bad packet is an error of the decoder, and the loss is listed with the next packet.
    /// Otherwise the loss is listed with the bad packet.
    pub(super) reset_by_bad_packets: bool,
    /// Ranges are listed as they are decoded.
    pub(super) plain_ranges: bool,
    /// Elements are listed after their packet, though they are decoded later: see [`Order`].
    pub(super) late_elements: bool,
    /// At the end of the trace, bytes before a synchronisation are an incomplete packet, and the
    /// end states whether an overflow was before it.
    pub(super) incomplete_end: bool,
    /// A context or the start of trace is not listed where the trace ends before the next element
    /// of execution: see [`Held`](super::held::Held).
    pub(super) drops_at_end: bool,
    /// The end of the trace has the offset of the last line of bytes before a synchronisation.
    pub(super) end_at_last_line: bool,
    /// The lines of elements depend on the packets before them, whether those are listed or not.
    pub(super) elements_need_packets: bool,
    /// Cycle counts are elements of their own, and not fields of the element after them.
    pub(super) plain_cycles: bool,
}

impl Behaviour {
    /// The behaviour of most decoders.
    pub(super) const fn new(unsynced: Group) -> Self {
        Behaviour {
            unsynced,
            one_unsynced_line: false,
            reset_by_bad_packets: true,
            plain_ranges: false,
            late_elements: false,
            incomplete_end: false,
            drops_at_end: false,
            end_at_last_line: false,
            elements_need_packets: false,
            plain_cycles: true,
        }
    }
}

/// The message of most decoders after the line of a bad packet.
pub(super) const UNKNOWN_PACKET: &str = "Unknown packet type.";

/// OpenCSD's text for the packets of one source. The value holds what the text of the next packet
/// depends on.
pub trait PacketText {
    /// The configuration of the trace unit.
    type Config;
    /// A packet.
    type Packet;

    /// How OpenCSD lists sources of the protocol.
    const BEHAVIOUR: Behaviour;

    /// Appends the text for `packet`.
    fn packet(&mut self, config: &Self::Config, packet: &Self::Packet, out: &mut String);

    /// Appends the text for `bytes`, which are undecodable.
    fn bad(&mut self, config: &Self::Config, bytes: &[u8], fault: Fault, out: &mut String);

    /// The message of OpenCSD's packet processor that precedes the line of a bad packet, where no
    /// decoder takes the packets.
    fn packet_error(fault: Fault) -> Option<&'static str> {
        let _ = fault;
        None
    }

    /// The message of OpenCSD's decoder after the line of a bad packet.
    fn decoder_error(fault: Fault) -> &'static str {
        let _ = fault;
        UNKNOWN_PACKET
    }

    /// Changes `element` to what OpenCSD reports. Returns the cycle count that ends its text, or
    /// `None` where OpenCSD has no such element.
    fn element(&mut self, config: &Self::Config, element: &mut Element) -> Option<Option<u32>> {
        let _ = (config, element);
        Some(None)
    }

    /// The last instruction of a range as OpenCSD reports it: [`element`](Self::element) has it.
    fn last(last: Last) -> Last {
        last
    }

    /// Whether the next element depends on those before it.
    fn is_waiting(&self) -> bool {
        false
    }

    /// Appends the bytes that OpenCSD lists for `packet`. `false` where those are `block[span]`.
    fn octets(
        &self,
        packet: &Self::Packet,
        offsets: &OffsetMap<'_>,
        span: Range<usize>,
        block: &[u8],
        out: &mut Vec<u8>,
    ) -> bool {
        let _ = (packet, offsets, span, block, out);
        false
    }

    /// The offset that OpenCSD lists for `packet`, which begins at `index` of a block.
    fn offset(&self, packet: &Self::Packet, offsets: &OffsetMap<'_>, index: usize) -> u64 {
        let _ = packet;
        offsets.at(index)
    }

    /// Takes `block[span]`, which comes before a synchronisation.
    fn unsynced(&mut self, offsets: &OffsetMap<'_>, span: Range<usize>, block: &[u8]) {
        let _ = (offsets, span, block);
    }

    /// `packet` is one byte, and its text depends on that byte and the configuration alone, and
    /// that of later packets does not depend on it.
    fn is_constant(packet: &Self::Packet) -> bool {
        let _ = packet;
        false
    }

    /// Records in `order` that the line of `packet` of source `source`, at offset `at`, ends at
    /// `end`.
    fn order(packet: &Self::Packet, order: &mut Order, source: usize, at: u64, end: usize) {
        let _ = (packet, order, source, at, end);
    }

    /// What the text of elements depends on.
    fn style(config: &Self::Config) -> Style {
        let _ = config;
        Style::default()
    }
}
