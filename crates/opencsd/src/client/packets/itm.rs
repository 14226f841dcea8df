//! Packets of ITM, `ocsd_itm_pkt` of 1.8.0.

use tracewright_base::{Fault, TimeDelay};
use tracewright_protocols::itm::{Config, Data, Packet};

use crate::itm::ItmText;
use crate::itm::begun;
use crate::packet_text::PacketText;

/// A packet. Nothing in it is from earlier packets.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct ItmPacket {
    kind: u32,
    /// Port; discriminator; delays of a local timestamp, bits \[1:0]; of a global one bit 0 the
    /// clock changed, 1 it wrapped; of an extension bit 7 hardware, \[4:0] the highest bit.
    source: u8,
    value: u32,
    /// The size of the value in bytes.
    size: u8,
    /// Bits above 32 of a global timestamp.
    high: u8,
    error_kind: u32,
}

const _: () = assert!(size_of::<ItmPacket>() == 20);

/// Kinds of packets.
#[allow(missing_docs, reason = "the names are those of the packets")]
mod kind {
    pub const NOT_SYNC: u32 = 0;
    pub const INCOMPLETE: u32 = 1;
    pub const NO_ERROR: u32 = 2;
    pub const SYNC: u32 = 3;
    pub const OVERFLOW: u32 = 4;
    pub const SOFTWARE: u32 = 5;
    pub const HARDWARE: u32 = 6;
    pub const LOCAL_TIME: u32 = 7;
    pub const GLOBAL_TIME_1: u32 = 8;
    pub const GLOBAL_TIME_2: u32 = 9;
    pub const EXTENSION: u32 = 10;
    pub const BAD_SEQUENCE: u32 = 11;
    pub const RESERVED: u32 = 12;
}

/// The names of the kinds that a bad packet can begin.
const NAMES: [(&str, u32); 7] = [
    ("ITM_ASYNC", kind::SYNC),
    ("ITM_SWIT", kind::SOFTWARE),
    ("ITM_DWT", kind::HARDWARE),
    ("ITM_TS_LOCAL", kind::LOCAL_TIME),
    ("ITM_GTS_1", kind::GLOBAL_TIME_1),
    ("ITM_GTS_2", kind::GLOBAL_TIME_2),
    ("ITM_EXTENSION", kind::EXTENSION),
];

/// The highest bit of the value of an extension packet, by the number of bytes after the header.
const EXTENSION_BITS: [u8; 5] = [2, 9, 16, 23, 31];

impl ItmPacket {
    fn new(kind: u32, source: u8, value: u32, size: u8) -> Self {
        ItmPacket { kind, source, value, size, high: 0, error_kind: kind::NO_ERROR }
    }

    /// The packet as a client receives it.
    pub fn of(packet: &Packet) -> Self {
        let new = ItmPacket::new;
        match *packet {
            Packet::Sync { .. } => new(kind::SYNC, 0, 0, 0),
            Packet::Overflow => new(kind::OVERFLOW, 0, 0, 0),
            Packet::LocalTime { delay, ticks, bytes } => {
                let delays = match delay {
                    TimeDelay::None => 0,
                    TimeDelay::Timestamp => 1,
                    TimeDelay::Packet => 2,
                    TimeDelay::Both => 3,
                };
                new(kind::LOCAL_TIME, delays, ticks, bytes)
            }
            Packet::LocalTimeShort { ticks } => new(kind::LOCAL_TIME, 0, ticks.into(), 1),
            Packet::GlobalTimeLow { bits, bytes, clock_changed, wrapped } => {
                let flags = u8::from(clock_changed) | u8::from(wrapped) << 1;
                new(kind::GLOBAL_TIME_1, flags, bits, bytes)
            }
            Packet::GlobalTimeHigh { bits, bytes } => {
                let high = (bits >> 32) as u8;
                // 5 stands for the bits of `value` and `high`.
                ItmPacket { high, ..new(kind::GLOBAL_TIME_2, 0, bits as u32, bytes.min(5)) }
            }
            Packet::Page(page) => new(kind::EXTENSION, 2, page.into(), 4),
            Packet::Extension { hardware, value, bytes } => {
                let top = EXTENSION_BITS.get(usize::from(bytes)).copied().unwrap_or(31);
                new(kind::EXTENSION, u8::from(hardware) << 7 | top, value, 4)
            }
            Packet::Software { port, data } => new(kind::SOFTWARE, port, data.value(), data.size()),
            Packet::Hardware { discriminator, data } => {
                new(kind::HARDWARE, discriminator, data.value(), data.size())
            }
        }
    }

    /// Undecodable `bytes` as a client receives them.
    pub fn bad(bytes: &[u8], fault: Fault) -> Self {
        let kind = match fault {
            Fault::Unsynchronised => kind::NOT_SYNC,
            Fault::Reserved(_) | Fault::ReservedForConfig(_) => kind::RESERVED,
            Fault::Truncated => kind::INCOMPLETE,
            _ => kind::BAD_SEQUENCE,
        };
        let mut made = ItmPacket::new(kind, 0, 0, 0);
        if matches!(kind, kind::INCOMPLETE | kind::BAD_SEQUENCE) {
            let name = begun(bytes);
            let found = NAMES.iter().find(|(own, _)| *own == name);
            made.error_kind = found.map_or(kind::NO_ERROR, |(_, kind)| *kind);
        }
        made
    }

    /// The packet that the structure describes. `None` for undecodable bytes.
    fn packet(&self) -> Option<Packet> {
        let ItmPacket { source, value, size: bytes, .. } = *self;
        let data = match bytes {
            1 => Data::Byte(value as u8),
            2 => Data::Half(value as u16),
            _ => Data::Word(value),
        };
        Some(match self.kind {
            kind::SYNC => Packet::Sync { zeros: 5 },
            kind::OVERFLOW => Packet::Overflow,
            kind::SOFTWARE => Packet::Software { port: source, data },
            kind::HARDWARE => Packet::Hardware { discriminator: source, data },
            kind::LOCAL_TIME => {
                let delay = match source & 3 {
                    0 => TimeDelay::None,
                    1 => TimeDelay::Timestamp,
                    2 => TimeDelay::Packet,
                    _ => TimeDelay::Both,
                };
                Packet::LocalTime { delay, ticks: value, bytes: bytes.min(4) }
            }
            kind::GLOBAL_TIME_1 => Packet::GlobalTimeLow {
                bits: value,
                bytes: bytes.clamp(1, 4),
                clock_changed: source & 1 != 0,
                wrapped: source & 2 != 0,
            },
            kind::GLOBAL_TIME_2 => Packet::GlobalTimeHigh {
                bits: u64::from(self.high) << 32 | u64::from(value),
                bytes: if bytes < 5 { bytes.max(1) } else { 6 },
            },
            kind::EXTENSION if source == 2 => Packet::Page(value as u8),
            kind::EXTENSION => {
                let top = EXTENSION_BITS.iter().position(|top| *top == source & 0x1f);
                let bytes = top.unwrap_or(4) as u8;
                Packet::Extension { hardware: source & 0x80 != 0, value, bytes }
            }
            _ => return None,
        })
    }

    /// The text of the packet.
    pub fn text(&self) -> String {
        let mut out = String::new();
        if let Some(packet) = self.packet() {
            ItmText::default().packet(&Config::default(), &packet, &mut out);
            return out;
        }
        let (name, description) = match self.kind {
            kind::NOT_SYNC => return "ITM_NOTSYNC: ; 'ITM data stream not synchronised'".into(),
            kind::RESERVED => return "ITM_RESERVED: ; 'Reserved Packet Header'".into(),
            kind::INCOMPLETE => ("INCOMPLETE_EOT", "Incomplete packet flushed at end of trace"),
            kind::BAD_SEQUENCE => ("BAD_SEQUENCE", "Invalid sequence in packet"),
            _ => return "ITM_UNKNOWN: ; 'Unknown packet type'".into(),
        };
        let begun = NAMES.iter().find(|(_, kind)| *kind == self.error_kind);
        let begun = begun.map_or("ITM_NO_ERR_TYPE", |(name, _)| name);
        format!("ITM_{name}: [Init type: {begun}] ; '{description}'")
    }
}
