//! OpenCSD's text for the packets of one source, whatever its protocol.

use std::fmt::Write;
use std::ops::Range;

use tracewright_base::{Element, Fault, Last, OffsetMap};
use tracewright_protocols::for_each_protocol;
use tracewright_protocols::registry::{AnyConfig, AnyPacket};

use super::element::Style;
use super::order::Order;
use super::packet_text::{Behaviour, OpencsdProtocol, PacketText, UNKNOWN_PACKET};
use super::plain::PLAIN;

type Text<P> = <P as OpencsdProtocol>::Text;

macro_rules! source_text {
    ($($(#[$doc:meta])* $name:ident: $protocol:ty,)*) => {
        /// The text of one source. Each method passes its arguments to [`PacketText`]; a
        /// configuration or a packet of another protocol has no text.
        #[derive(Clone, Debug, PartialEq)]
        pub(super) enum SourceText {
            $($(#[$doc])* $name(Text<$protocol>),)*
            /// A protocol of another crate, which is listed as those that OpenCSD does not decode.
            External,
        }

        impl SourceText {
            pub(super) fn new(config: &AnyConfig) -> Self {
                match config {
                    $(AnyConfig::$name(_) => SourceText::$name(Text::<$protocol>::default()),)*
                    AnyConfig::External(_) => SourceText::External,
                }
            }

            /// See [`OpencsdProtocol::DECODER`].
            pub(super) const fn decoder(&self) -> &'static str {
                match self {
                    $(SourceText::$name(_) => <$protocol as OpencsdProtocol>::DECODER,)*
                    SourceText::External => "DCD_EXTERNAL",
                }
            }

            /// See [`OpencsdProtocol::PACKET_PROCESSOR`].
            pub(super) const fn packet_processor(&self) -> &'static str {
                match self {
                    $(SourceText::$name(_) => <$protocol as OpencsdProtocol>::PACKET_PROCESSOR,)*
                    SourceText::External => "PKTP_EXTERNAL",
                }
            }

            /// See [`PacketText::BEHAVIOUR`].
            pub(super) const fn behaviour(&self) -> Behaviour {
                match self {
                    $(SourceText::$name(_) => Text::<$protocol>::BEHAVIOUR,)*
                    SourceText::External => PLAIN,
                }
            }

            /// See [`PacketText::style`].
            pub(super) fn style(config: &AnyConfig) -> Style {
                match config {
                    $(AnyConfig::$name(config) => Text::<$protocol>::style(config),)*
                    AnyConfig::External(_) => Style::default(),
                }
            }

            /// See [`PacketText::packet_error`].
            pub(super) fn packet_error(&self, fault: Fault) -> Option<&'static str> {
                match self {
                    $(SourceText::$name(_) => Text::<$protocol>::packet_error(fault),)*
                    SourceText::External => None,
                }
            }

            /// See [`PacketText::decoder_error`].
            pub(super) fn decoder_error(&self, fault: Fault) -> &'static str {
                match self {
                    $(SourceText::$name(_) => Text::<$protocol>::decoder_error(fault),)*
                    SourceText::External => UNKNOWN_PACKET,
                }
            }

            /// See [`PacketText::packet`].
            pub(super) fn packet(
                &mut self,
                config: &AnyConfig,
                packet: AnyPacket<'_>,
                out: &mut String,
            ) {
                match (self, config, packet) {
                    $((
                        SourceText::$name(text),
                        AnyConfig::$name(config),
                        AnyPacket::$name(packet),
                    ) => text.packet(config, packet, out),)*
                    (SourceText::External, _, packet) => _ = write!(out, "{packet}"),
                    _ => debug_assert!(false, "a source has one protocol"),
                }
            }

            /// See [`PacketText::octets`].
            pub(super) fn octets(
                &self,
                offsets: &OffsetMap<'_>,
                span: Range<usize>,
                bytes: &[u8],
                packet: AnyPacket<'_>,
                out: &mut Vec<u8>,
            ) -> bool {
                match (self, packet) {
                    $((SourceText::$name(text), AnyPacket::$name(packet)) => {
                        text.octets(packet, offsets, span, bytes, out)
                    })*
                    _ => false,
                }
            }

            /// See [`PacketText::offset`].
            pub(super) fn offset(
                &self,
                packet: AnyPacket<'_>,
                offsets: &OffsetMap<'_>,
                index: usize,
            ) -> u64 {
                match (self, packet) {
                    $((SourceText::$name(text), AnyPacket::$name(packet)) => {
                        text.offset(packet, offsets, index)
                    })*
                    _ => offsets.at(index),
                }
            }

            /// See [`PacketText::element`].
            pub(super) fn element(
                &mut self,
                config: &AnyConfig,
                element: &mut Element,
            ) -> Option<Option<u32>> {
                match (self, config) {
                    $((SourceText::$name(text), AnyConfig::$name(config)) => {
                        text.element(config, element)
                    })*
                    _ => Some(None),
                }
            }

            /// See [`PacketText::last`].
            pub(super) fn last(&self) -> fn(Last) -> Last {
                match self {
                    $(SourceText::$name(_) => Text::<$protocol>::last,)*
                    SourceText::External => |last| last,
                }
            }

            /// See [`PacketText::is_waiting`].
            pub(super) fn is_waiting(&self) -> bool {
                match self {
                    $(SourceText::$name(text) => text.is_waiting(),)*
                    SourceText::External => false,
                }
            }

            /// See [`PacketText::bad`].
            pub(super) fn bad(
                &mut self,
                config: &AnyConfig,
                bytes: &[u8],
                fault: Fault,
                out: &mut String,
            ) {
                match (self, config) {
                    $((SourceText::$name(text), AnyConfig::$name(config)) => {
                        text.bad(config, bytes, fault, out);
                    })*
                    (SourceText::External, _) => _ = write!(out, "{fault}"),
                    _ => debug_assert!(false, "a source has one protocol"),
                }
            }

            /// See [`PacketText::unsynced`].
            pub(super) fn unsynced(
                &mut self,
                offsets: &OffsetMap<'_>,
                span: Range<usize>,
                bytes: &[u8],
            ) {
                match self {
                    $(SourceText::$name(text) => text.unsynced(offsets, span, bytes),)*
                    SourceText::External => {}
                }
            }
        }

        /// See [`PacketText::is_constant`].
        pub(super) fn is_constant(packet: AnyPacket<'_>) -> bool {
            match packet {
                    $(AnyPacket::$name(packet) => Text::<$protocol>::is_constant(packet),)*
                    AnyPacket::External(_) => false,
                }
        }

        /// See [`PacketText::order`].
        pub(super) fn order(
            packet: AnyPacket<'_>,
            order: &mut Order,
            source: usize,
            at: u64,
            end: usize,
        ) {
            match packet {
                $(AnyPacket::$name(packet) => {
                    Text::<$protocol>::order(packet, order, source, at, end);
                })*
                AnyPacket::External(_) => {}
            }
        }
    };
}

for_each_protocol!(source_text);
