//! The words for the packets of one source, whatever its protocol.

use std::fmt::Write;
use std::ops::Range;

use tracewright_base::{Element, Fault, OffsetMap};
use tracewright_protocols::registry::{AnyConfig, AnyPacket};

use super::etmv3::Etmv3Text;
use super::etmv4::Etmv4Text;
use super::itm::ItmText;
use super::ptm::Ptm;
use super::stm::StmText;
use super::unsynced::Group;

/// What the words for the next packet depend on.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum SourceText {
    Etmv3(Etmv3Text),
    Etmv4(Etmv4Text),
    /// The reference has no words for these: they have ours.
    Etmv4d,
    /// Nor for these.
    Cycles,
    Etrace,
    Ptm(Ptm),
    Itm(ItmText),
    Stm(StmText),
}

impl SourceText {
    pub(super) fn new(config: &AnyConfig) -> Self {
        match config {
            AnyConfig::Etmv3(_) => SourceText::Etmv3(Etmv3Text::default()),
            AnyConfig::Etmv4(_) | AnyConfig::Ete(_) => SourceText::Etmv4(Etmv4Text::default()),
            AnyConfig::Etmv4d(_) => SourceText::Etmv4d,
            AnyConfig::Etmv1(_) | AnyConfig::Etmv2(_) => SourceText::Cycles,
            AnyConfig::Etrace(_) => SourceText::Etrace,
            AnyConfig::Ptm(_) => SourceText::Ptm(Ptm::default()),
            AnyConfig::Itm(_) => SourceText::Itm(ItmText::default()),
            AnyConfig::Stm(_) => SourceText::Stm(StmText::default()),
        }
    }

    /// The reference's name for the decoder in its messages.
    pub(super) const fn component(&self) -> &'static str {
        match self {
            SourceText::Etmv3(_) => "DCD_ETMV3",
            SourceText::Etmv4(_) => "DCD_ETMV4",
            SourceText::Etmv4d => "DCD_ETMV4D",
            SourceText::Cycles => "DCD_CYCLES",
            SourceText::Etrace => "DCD_ETRACE",
            SourceText::Ptm(_) => "DCD_PTM",
            SourceText::Itm(_) => "DCD_ITM",
            SourceText::Stm(_) => "DCD_STM",
        }
    }

    /// The reference's name for the packet processor in its messages.
    pub(super) const fn packet_component(&self) -> &'static str {
        match self {
            SourceText::Etmv3(_) => "PKTP_ETMV3",
            SourceText::Etmv4(_) => "PKTP_ETMV4I",
            SourceText::Etmv4d => "PKTP_ETMV4D",
            SourceText::Cycles => "PKTP_CYCLES",
            SourceText::Etrace => "PKTP_ETRACE",
            SourceText::Ptm(_) => "PKTP_PTM",
            SourceText::Itm(_) => "PKTP_ITM",
            SourceText::Stm(_) => "PKTP_STM",
        }
    }

    /// What the reference's packet processor says of a bad packet before it lists it.
    pub(super) const fn packet_error(&self, fault: Fault) -> Option<&'static str> {
        match (self, fault) {
            (SourceText::Etmv4(_), Fault::Reserved(_)) => {
                Some("0x0014 (OCSD_ERR_INVALID_PCKT_HDR) [Invalid packet header]")
            }
            _ => None,
        }
    }

    /// Whether the reference takes a bad packet for an error of the decoder, and says that it is lost
    /// with the next packet only. Otherwise it says so with the bad packet.
    pub(super) const fn is_reset_by_bad_packets(&self) -> bool {
        !matches!(self, SourceText::Ptm(_))
    }

    pub(super) const fn unsynced_group(&self) -> Group {
        match self {
            SourceText::Etmv3(_) => Group::FragmentOrZeros,
            SourceText::Etmv4(_) | SourceText::Etmv4d | SourceText::Etrace | SourceText::Cycles => {
                Group::EightOrZero
            }
            SourceText::Ptm(_) => Group::FragmentOrSixteen,
            SourceText::Itm(_) => Group::EightOrZeros,
            SourceText::Stm(_) => Group::FragmentButOnes,
        }
    }

    /// Appends the words for `packet`.
    pub(super) fn packet(&mut self, config: &AnyConfig, packet: AnyPacket<'_>, out: &mut String) {
        match (self, config, packet) {
            (SourceText::Etmv3(text), AnyConfig::Etmv3(config), AnyPacket::Etmv3(packet)) => {
                text.packet(config, packet, out);
            }
            (
                SourceText::Etmv4(text),
                AnyConfig::Etmv4(config) | AnyConfig::Ete(config),
                AnyPacket::Etmv4(packet) | AnyPacket::Ete(packet),
            ) => text.packet(config, packet, out),
            (SourceText::Ptm(text), AnyConfig::Ptm(config), AnyPacket::Ptm(packet)) => {
                text.packet(config, packet, out);
            }
            (SourceText::Etmv4d | SourceText::Cycles, _, packet) => {
                let _ = write!(out, "{packet}");
            }
            (SourceText::Etrace, _, AnyPacket::Etrace(packet)) => {
                let _ = write!(out, "{packet}");
            }
            (SourceText::Itm(text), _, AnyPacket::Itm(packet)) => text.packet(packet, out),
            (SourceText::Stm(text), _, AnyPacket::Stm(packet)) => text.packet(packet, out),
            _ => debug_assert!(false, "a source has one protocol"),
        }
    }

    /// Appends the bytes that the reference lists for a packet, where those are not `bytes[span]`.
    pub(super) fn octets(
        &self,
        offsets: &OffsetMap<'_>,
        span: Range<usize>,
        bytes: &[u8],
        packet: AnyPacket<'_>,
        out: &mut Vec<u8>,
    ) -> bool {
        match (self, packet) {
            (SourceText::Stm(text), AnyPacket::Stm(packet)) => {
                text.octets(packet, offsets, span, bytes, out);
                true
            }
            (SourceText::Itm(text), AnyPacket::Itm(packet)) => {
                text.octets(packet, bytes.get(span).unwrap_or_default(), out)
            }
            _ => false,
        }
    }

    /// Where the reference sees `packet`, which is at `offset` of a block.
    pub(super) fn offset(
        &self,
        packet: AnyPacket<'_>,
        offsets: &OffsetMap<'_>,
        offset: usize,
    ) -> u64 {
        match (self, packet) {
            (SourceText::Stm(text), AnyPacket::Stm(packet)) => text.offset(packet, offsets, offset),
            _ => offsets.at(offset),
        }
    }

    /// `element` as the reference takes it, and the cycle count that it adds to the words. `None`
    /// where the reference has no element.
    pub(super) fn element(
        &mut self,
        config: &AnyConfig,
        element: Element,
    ) -> Option<(Element, Option<u32>)> {
        match (self, config) {
            (SourceText::Ptm(text), AnyConfig::Ptm(config)) => text.element(config, element),
            (SourceText::Etmv3(text), _) => Some((text.element(element), None)),
            (SourceText::Etmv4(text), AnyConfig::Etmv4(config) | AnyConfig::Ete(config)) => {
                text.element(config, element).map(|element| (element, None))
            }
            (SourceText::Itm(text), _) => Some((text.element(element), None)),
            (SourceText::Stm(text), _) => Some((text.element(element), None)),
            _ => Some((element, None)),
        }
    }

    /// Appends the words for `bytes` that are no packet.
    pub(super) fn bad(&mut self, config: &AnyConfig, bytes: &[u8], fault: Fault, out: &mut String) {
        match (self, config) {
            (SourceText::Etmv3(text), _) => {
                text.bad(bytes.first().copied().unwrap_or(0), fault, out);
            }
            (SourceText::Etmv4(text), AnyConfig::Etmv4(config) | AnyConfig::Ete(config)) => {
                text.bad(config, bytes, fault, out);
            }
            (SourceText::Ptm(text), AnyConfig::Ptm(_)) => {
                text.bad(bytes.first().copied().unwrap_or(0), fault, out);
            }
            (SourceText::Etmv4d | SourceText::Etrace | SourceText::Cycles, _) => {
                let _ = write!(out, "{fault}");
            }
            (SourceText::Itm(text), _) => text.bad(bytes, fault, out),
            (SourceText::Stm(text), _) => text.bad(bytes, fault, out),
            _ => debug_assert!(false, "a source has one protocol"),
        }
    }
}
