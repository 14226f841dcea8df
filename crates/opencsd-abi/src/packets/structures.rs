//! The structure of the packets of each protocol.

use std::borrow::Cow;
use std::ffi::c_void;
use std::ops::Range;
use std::ptr;

use tracewright_base::{Fault, OffsetMap};
use tracewright_protocols::registry::{AnyConfig, AnyPacket};

use super::etmv4::Etmv4Maker;

/// Makes the packets of one source as a client receives them. A packet is valid until the next one
/// is made.
#[derive(Clone, Debug)]
pub enum Structures {
    /// ETMv4 and ETE.
    Etmv4(Box<Etmv4Maker>),
}

impl Structures {
    /// Before the first packet. `None` for a protocol without a structure.
    pub fn new(config: &AnyConfig) -> Option<Self> {
        match config {
            AnyConfig::Etmv4(config) | AnyConfig::Ete(config) => {
                Some(Structures::Etmv4(Box::new(Etmv4Maker::new(config))))
            }
            _ => None,
        }
    }

    /// Whether bytes come as halves of bytes.
    pub fn has_half_bytes(&self) -> bool {
        false
    }

    /// The offset of the packet that begins at `index` of a block.
    pub fn offset(&self, _packet: AnyPacket<'_>, offsets: &OffsetMap<'_>, index: usize) -> u64 {
        offsets.at(index)
    }

    /// The bytes `block[span]`.
    pub fn octets<'a>(
        &self,
        _offsets: &OffsetMap<'_>,
        span: Range<usize>,
        block: &'a [u8],
    ) -> Cow<'a, [u8]> {
        Cow::Borrowed(block.get(span).unwrap_or_default())
    }

    /// A packet.
    pub fn packet(&mut self, packet: AnyPacket<'_>) -> *const c_void {
        match (self, packet) {
            (Structures::Etmv4(maker), AnyPacket::Etmv4(packet) | AnyPacket::Ete(packet)) => {
                ptr::from_ref(maker.packet(packet)).cast()
            }
            _ => ptr::null(),
        }
    }

    /// Undecodable bytes.
    pub fn bad(&mut self, bytes: &[u8], fault: Fault) -> *const c_void {
        match self {
            Structures::Etmv4(maker) => ptr::from_ref(maker.bad(bytes, fault)).cast(),
        }
    }
}
