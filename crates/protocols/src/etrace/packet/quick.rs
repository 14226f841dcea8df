//! A fast reader of the most frequent packets: formats 1 and 2 whose fields after the address are
//! omitted.

use super::branches::{Branches, Map, Report};
use super::envelope::Envelope;
use super::fields::low;
use super::{INSTRUCTION_MESSAGE, Packet, Payload};
use crate::etrace::config::{Compression, Framing, Params};

/// A packet of format 1 or 2 with a payload of at most 8 bytes that has only branches and an
/// address.
#[derive(Clone, Copy, Debug)]
pub(in crate::etrace) struct Quick {
    /// The branches, none in format 2.
    pub(in crate::etrace) map: Map,
    /// The sign-extended address or difference, without the bits below `iaddress_lsb`. `None` with
    /// a full map.
    pub(in crate::etrace) address: Option<i64>,
    /// Bytes of the packet.
    pub(in crate::etrace) len: usize,
    /// The source number.
    pub(in crate::etrace) source: u16,
    header: u8,
}

/// The layout of such packets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::etrace) struct Shape {
    /// The header bits that are the same in all such packets: mask and value.
    mask: u8,
    header: u8,
    /// The type before the payload: mask, value and width.
    kinds: u8,
    kind: u8,
    kind_width: u32,
    /// The width of an address.
    width: u32,
    /// The header has a flow.
    flow: bool,
    /// Bits of the source number, between the header and the type. Those beyond whole bytes are in
    /// the payload.
    source: u32,
}

/// The length of the longest such packet: a header, two bytes of a source number, and the payload.
const MAX_PACKET_LEN: usize = 1 + 2 + 8;

impl Shape {
    /// `None` if the unit has no such packets.
    #[inline(always)]
    pub(in crate::etrace) const fn of(params: &Params) -> Option<Shape> {
        let Params { link, choices, .. } = params;
        let (mask, header, kind_width) = match link.framing {
            Framing::Encapsulated => (0x80, 0, link.type_width & 0b11),
            Framing::Siemens => (0xe0, 0x40, 0),
            Framing::PulpTrdb | Framing::Esp32 | Framing::PulpRecords | Framing::PulpLines => {
                return None;
            }
        };
        let odd = params.is_draft()
            || matches!(choices.compression, Compression::Address)
            || choices.plain_notify;
        if odd {
            return None;
        }
        let kinds = (1 << kind_width) - 1;
        Some(Shape {
            mask,
            header,
            kinds,
            kind: INSTRUCTION_MESSAGE as u8 & kinds,
            kind_width: kind_width as u32,
            width: params.widths.address(),
            flow: mask == 0x80,
            source: link.source_width as u32,
        })
    }

    /// Reads the packet at the start of `bytes`. Without source numbers `bytes` must have at least
    /// 9 bytes, however short the packet is.
    #[inline(always)]
    pub(in crate::etrace) fn read(&self, bytes: &[u8]) -> Option<Quick> {
        if self.source > 0 {
            return self.numbered(bytes);
        }
        let &[header, ref payload @ ..] = bytes.first_chunk::<9>()?;
        let len = u32::from(header & 0x1f);
        if header & self.mask != self.header || len.wrapping_sub(1) > 7 {
            return None;
        }
        let above = 64 - len * 8;
        // The omitted bits repeat the last bit of the payload.
        let word = (u64::from_le_bytes(*payload) << above) as i64 >> above;
        self.payload(header, word, len * 8, len as usize + 1)
    }

    /// Reads a packet with a source number.
    #[inline]
    fn numbered(&self, bytes: &[u8]) -> Option<Quick> {
        let (whole, skip) = (self.source as usize / 8, self.source % 8);
        let &header = bytes.first()?;
        let len = u32::from(header & 0x1f);
        let all = 1 + whole + len as usize;
        if header & self.mask != self.header || len.wrapping_sub(1) > 7 || bytes.len() < all {
            return None;
        }
        let mut room = [0; MAX_PACKET_LEN];
        let chunk = match bytes.first_chunk::<MAX_PACKET_LEN>() {
            Some(chunk) => chunk,
            // Fewer bytes are left than the longest packet has.
            None => {
                room.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
                &room
            }
        };
        let &[_, first, second, ..] = chunk;
        let source = low(u16::from_le_bytes([first, second]).into(), self.source) as u16;
        let payload = chunk.get(1 + whole..)?.first_chunk()?;
        let above = 64 - len * 8;
        let word = (u64::from_le_bytes(*payload) << above) as i64 >> above >> skip;
        let quick = self.payload(header, word, len * 8 - skip, all)?;
        Some(Quick { source, ..quick })
    }

    /// Whether the packet at the start of `bytes` can be of format 0.
    #[inline]
    pub(in crate::etrace) fn may_be_extension(&self, bytes: &[u8]) -> bool {
        let payload = bytes.get(1 + self.source as usize / 8..).and_then(|rest| rest.first_chunk());
        let start = |payload: &[u8; 2]| u16::from_le_bytes(*payload) >> (self.source % 8);
        payload.is_none_or(|payload| start(payload) >> self.kind_width & 0b11 == 0)
    }

    /// The source number of a message. `None` if it is not complete.
    #[inline]
    pub(in crate::etrace) fn number(&self, message: &[u8]) -> Option<u16> {
        let &[_, first, second] = message.first_chunk()?;
        Some(low(u16::from_le_bytes([first, second]).into(), self.source) as u16)
    }

    /// The packet with the payload in the lowest `left` bits of `word`, after the source number.
    /// The bits above repeat the last one.
    #[inline(always)]
    fn payload(&self, header: u8, word: i64, left: u32, len: usize) -> Option<Quick> {
        if word as u8 & self.kinds != self.kind {
            return None;
        }
        let (word, left) = (word >> self.kind_width, left.saturating_sub(self.kind_width));
        // The format and the number of branches are hard to predict, so that a table replaces
        // branches.
        let Row { at, count, kind } = ROWS[(word & 0x7f) as usize];
        let bits = (word >> 7) as u32 & ((1 << count) - 1);
        let map = Map { bits, len: count };
        let (at, source) = (u32::from(at), 0);
        match kind {
            // The bits after the address repeat its last one: the fields after it are omitted.
            Kind::Address => {
                let address = Some(word >> at);
                (left <= at + self.width).then_some(Quick { map, address, len, source, header })
            }
            // The payload has bytes after its last field.
            Kind::Full => {
                (left < at + 8).then_some(Quick { map, address: None, len, source, header })
            }
            Kind::Other => None,
        }
    }

    /// The address field of an address.
    #[inline(always)]
    pub(in crate::etrace) const fn bits(&self, address: i64) -> u64 {
        low(address as u64, self.width)
    }

    /// The complete packet.
    #[inline(always)]
    pub(super) fn packet(&self, quick: &Quick) -> Packet {
        let flow = if self.flow { quick.header >> 5 & 0b11 } else { 0 };
        let envelope = Envelope { flow, source: quick.source, timestamp: None };
        let report = quick
            .address
            .map(|address| Report { address: self.bits(address), ..Report::default() });
        let payload = match report {
            Some(report) if quick.map.len == 0 => Payload::Address(report),
            _ => Payload::Branches(Branches { full: false, map: quick.map, report }),
        };
        Packet { envelope, payload }
    }
}

/// The meaning of `format` and `branches`.
#[derive(Clone, Copy)]
struct Row {
    /// The first bit of the address.
    at: u8,
    /// The number of branches.
    count: u8,
    kind: Kind,
}

/// The field after the branches.
#[derive(Clone, Copy)]
enum Kind {
    Address,
    /// Nothing: the map is full.
    Full,
    /// The format is another one.
    Other,
}

/// By `format` \[1:0] and `branches` \[6:2].
const ROWS: [Row; 1 << 7] = {
    let mut rows = [Row { at: 0, count: 0, kind: Kind::Other }; 1 << 7];
    let mut index = 0;
    while index < rows.len() {
        let branches = (index >> 2) as u8;
        let at = 2 + 5 + Map::later_width(branches) as u8;
        match (index & 0b11, branches) {
            (1, 0) => rows[index] = Row { at, count: Map::FULL, kind: Kind::Full },
            (1, count) => rows[index] = Row { at, count, kind: Kind::Address },
            (2, _) => rows[index] = Row { at: 2, count: 0, kind: Kind::Address },
            _ => {}
        }
        index += 1;
    }
    rows
};
