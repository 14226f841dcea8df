//! The structure of the packets of each protocol.

mod common;
pub mod etmv3;
pub mod etmv4;
pub mod itm;
pub mod ptm;
pub mod stm;

use std::borrow::Cow;
use std::ffi::c_void;
use std::ops::Range;
use std::ptr;

use tracewright_base::{Fault, OffsetMap};
use tracewright_protocols::registry::{AnyConfig, AnyPacket};
use tracewright_protocols::{itm as itm_protocol, stm as stm_protocol};

use self::etmv3::Etmv3Maker;
use self::etmv4::Etmv4Maker;
use self::itm::ItmPacket;
use self::ptm::PtmMaker;
use self::stm::StmMaker;
use crate::itm::ItmText;
use crate::packet_text::PacketText;
use crate::stm::StmText;

/// Makes the packets of one source as a client receives them. A packet is valid until the next one
/// is made.
#[derive(Clone, Debug)]
pub enum Structures {
    /// ETMv4 and ETE.
    Etmv4(Box<Etmv4Maker>),
    /// ETMv3.
    Etmv3(Box<Etmv3Maker>),
    /// PTM.
    Ptm(Box<PtmMaker>),
    /// STM, whose packets consist of halves of bytes: the text knows which bytes and which offset
    /// OpenCSD reports.
    Stm(Box<(StmMaker, stm_protocol::Config, StmText)>),
    /// ITM.
    Itm(ItmPacket),
}

impl Structures {
    /// Before the first packet. `None` for a protocol without a structure.
    pub fn new(config: &AnyConfig) -> Option<Self> {
        match config {
            AnyConfig::Etmv4(config) | AnyConfig::Ete(config) => {
                Some(Structures::Etmv4(Box::new(Etmv4Maker::new(config))))
            }
            AnyConfig::Etmv3(config) => Some(Structures::Etmv3(Box::new(Etmv3Maker::new(config)))),
            AnyConfig::Ptm(config) => Some(Structures::Ptm(Box::new(PtmMaker::new(config)))),
            AnyConfig::Stm(config) => {
                let parts = (StmMaker::default(), *config, StmText::default());
                Some(Structures::Stm(Box::new(parts)))
            }
            AnyConfig::Itm(_) => Some(Structures::Itm(ItmPacket::default())),
            _ => None,
        }
    }

    /// Whether bytes come as halves of bytes.
    pub fn has_half_bytes(&self) -> bool {
        matches!(self, Structures::Stm(_))
    }

    /// The offset of the packet that begins at `index` of a block.
    pub fn offset(&self, packet: AnyPacket<'_>, offsets: &OffsetMap<'_>, index: usize) -> u64 {
        match (self, packet) {
            (Structures::Stm(parts), AnyPacket::Stm(packet)) => {
                parts.2.offset(packet, offsets, index)
            }
            _ => offsets.at(index),
        }
    }

    /// The bytes of a packet in `block[span]`, or of undecodable bytes.
    pub fn octets<'a>(
        &self,
        packet: Option<AnyPacket<'_>>,
        offsets: &OffsetMap<'_>,
        span: Range<usize>,
        block: &'a [u8],
    ) -> Cow<'a, [u8]> {
        let mut whole = Vec::new();
        if let Some(AnyPacket::Itm(packet @ itm_protocol::Packet::GlobalTimeLow { .. })) = packet
            && ItmText::default().octets(packet, offsets, span.clone(), block, &mut whole)
        {
            return Cow::Owned(whole);
        }
        let Structures::Stm(parts) = self else {
            return Cow::Borrowed(block.get(span).unwrap_or_default());
        };
        let packet = match packet {
            Some(AnyPacket::Stm(packet)) => packet,
            _ => &stm_protocol::Packet::Null { time: None },
        };
        parts.2.octets(packet, offsets, span, block, &mut whole);
        Cow::Owned(whole)
    }

    /// A packet.
    pub fn packet(&mut self, packet: AnyPacket<'_>) -> *const c_void {
        match (self, packet) {
            (Structures::Etmv4(maker), AnyPacket::Etmv4(packet) | AnyPacket::Ete(packet)) => {
                ptr::from_ref(maker.packet(packet)).cast()
            }
            (Structures::Etmv3(maker), AnyPacket::Etmv3(packet)) => {
                ptr::from_ref(maker.packet(packet)).cast()
            }
            (Structures::Ptm(maker), AnyPacket::Ptm(packet)) => {
                ptr::from_ref(maker.packet(packet)).cast()
            }
            (Structures::Stm(parts), AnyPacket::Stm(packet)) => {
                let (maker, config, text) = &mut **parts;
                text.packet(config, packet, &mut String::new());
                ptr::from_ref(maker.packet(packet)).cast()
            }
            (Structures::Itm(made), AnyPacket::Itm(packet)) => {
                *made = ItmPacket::of(packet);
                ptr::from_ref(made).cast()
            }
            _ => ptr::null(),
        }
    }

    /// Undecodable bytes, or halves of bytes.
    pub fn bad(&mut self, bytes: &[u8], fault: Fault) -> *const c_void {
        match self {
            Structures::Etmv4(maker) => ptr::from_ref(maker.bad(bytes, fault)).cast(),
            Structures::Etmv3(maker) => ptr::from_ref(maker.bad(bytes, fault)).cast(),
            Structures::Ptm(maker) => ptr::from_ref(maker.bad(bytes, fault)).cast(),
            Structures::Stm(parts) => {
                let (maker, config, text) = &mut **parts;
                if fault != Fault::Unsynchronised {
                    text.bad(config, bytes, fault, &mut String::new());
                }
                ptr::from_ref(maker.bad(bytes, fault)).cast()
            }
            Structures::Itm(made) => {
                *made = ItmPacket::bad(bytes, fault);
                ptr::from_ref(made).cast()
            }
        }
    }

    /// Takes bytes before a synchronisation.
    pub fn unsynced(&mut self, offsets: &OffsetMap<'_>, span: Range<usize>, block: &[u8]) {
        if let Structures::Stm(parts) = self {
            parts.2.unsynced(offsets, span, block);
        }
    }
}
