//! The packets of a data stream with a public encoding.

use core::fmt;

use tracewright_base::{Fault, Parse, Wire};

use super::config::Config;
use super::header::Header;
use crate::bits;
use crate::kind::packet_kinds;

/// One packet of a data stream. (IHI 0064, "Data trace packets") It does not include the packets of
/// data transfers: see the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packet {
    /// `00` eleven times or more, then `1000_0000`: Alignment Sync.
    Align,
    /// `00`, `0000_0001`, and groups of seven bits: Trace Info.
    Info(Info),
    /// `00`, `0000_0011`: the unresolved elements are discarded.
    Discard,
    /// `00`, `0000_0101`: the trace unit's buffer overflowed.
    Overflow,
    /// `00`, `0001_nnn1`: data synchronisation marker n, which is also in the instruction stream.
    NumberedMarker(u8),
    /// `0000_0001`: a data synchronisation marker.
    Marker,
    /// `0000_0010` and 1 to 9 bytes: a timestamp.
    Timestamp {
        /// The low bits of the timestamp. The others do not change.
        bits: u64,
        /// The number of bits: 7, 14, .. 56, or 64.
        count: u8,
    },
    /// `0000_0011`: data transfers were not traced because the buffer was full.
    Suppression,
    /// `0000_0100`: event 0 of the trace unit.
    Event,
}

packet_kinds!(
    Packet:
    Align, Info, Discard, Overflow, NumberedMarker, Marker, Timestamp, Suppression, Event,
);

/// A Trace Info packet: its sections (PLCTL) and their values, the low section first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Info {
    /// PLCTL, bit \[n]: section n is present.
    pub sections: u8,
    /// The sections in order; absent ones are 0.
    pub values: [u32; INFO_SECTIONS],
}

/// The number of sections in PLCTL: bits \[6:0].
const INFO_SECTIONS: usize = 7;
/// Bits of a section.
const SECTION_BITS: u8 = 32;

impl Wire<Config> for Packet {
    fn parse(bytes: &[u8], _config: &Config) -> Parse<Self> {
        let Some((&first, rest)) = bytes.split_first() else {
            return Parse::Partial;
        };
        match Header::from_byte(first) {
            Some(Header::Extension) => bits::or_partial(extension(bytes)),
            Some(Header::Marker) => Parse::Packet(Packet::Marker, 1),
            Some(Header::Timestamp) => match bits::groups(rest, 64) {
                Some(groups) => {
                    let (bits, count) = (groups.bits, groups.count);
                    Parse::Packet(Packet::Timestamp { bits, count }, 1 + groups.len)
                }
                None => Parse::Partial,
            },
            Some(Header::Suppression) => Parse::Packet(Packet::Suppression, 1),
            Some(Header::Event) => Parse::Packet(Packet::Event, 1),
            Some(Header::Address { .. } | Header::Value { .. }) => {
                Parse::Bad(1, Fault::Opaque(first))
            }
            None => Parse::Bad(1, Fault::Reserved(first)),
        }
    }

    fn emit(&self, _config: &Config, out: &mut impl Extend<u8>) {
        match *self {
            Packet::Align => {
                out.extend([0; ALIGN_ZEROS]);
                out.extend([0x80]);
            }
            Packet::Info(Info { sections, values }) => {
                out.extend([0x00, 0x01, sections & 0x7f]);
                for (n, &value) in values.iter().enumerate() {
                    if sections >> n & 1 != 0 {
                        let count = (u32::BITS - value.leading_zeros()) as u8;
                        bits::emit_groups(value.into(), count.max(1), SECTION_BITS, out);
                    }
                }
            }
            Packet::Discard => out.extend([0x00, 0x03]),
            Packet::Overflow => out.extend([0x00, 0x05]),
            Packet::NumberedMarker(n) => out.extend([0x00, 0x11 | (n & 0b111) << 1]),
            Packet::Marker => out.extend([0x01]),
            Packet::Timestamp { bits, count } => {
                out.extend([0x02]);
                bits::emit_groups(bits, count, 64, out);
            }
            Packet::Suppression => out.extend([0x03]),
            Packet::Event => out.extend([0x04]),
        }
    }
}

/// The minimum number of zero bytes in an Alignment Sync.
pub(super) const ALIGN_ZEROS: usize = 11;

/// The maximum number of zero bytes before the `1000_0000` of an Alignment Sync. More are
/// undecodable.
const ALIGN_LIMIT: usize = 64;

/// `None` if bytes are missing.
fn extension(bytes: &[u8]) -> Option<Parse<Packet>> {
    let packet = match bytes.get(1)? {
        0x00 => {
            let zeros = bytes.iter().take(ALIGN_LIMIT + 1).take_while(|&&b| b == 0).count();
            if zeros > ALIGN_LIMIT {
                return Some(Parse::Bad(1, Fault::Sequence));
            }
            return Some(match bytes.get(zeros)? {
                0x80 if zeros >= ALIGN_ZEROS => Parse::Packet(Packet::Align, zeros + 1),
                _ => Parse::Bad(zeros, Fault::Sequence),
            });
        }
        0x01 => return info(bytes),
        0x03 => Packet::Discard,
        0x05 => Packet::Overflow,
        second if second & 0xf1 == 0x11 => Packet::NumberedMarker(second >> 1 & 0b111),
        _ => return Some(Parse::Bad(2, Fault::Sequence)),
    };
    Some(Parse::Packet(packet, 2))
}

fn info(bytes: &[u8]) -> Option<Parse<Packet>> {
    let sections = *bytes.get(2)?;
    if sections & 0x80 != 0 {
        return Some(Parse::Bad(3, Fault::Overlong));
    }
    let mut info = Info { sections, ..Info::default() };
    let mut at = 3;
    for (n, value) in info.values.iter_mut().enumerate() {
        if sections >> n & 1 != 0 {
            let groups = bits::groups(bytes.get(at..)?, SECTION_BITS)?;
            *value = groups.bits as u32;
            at += groups.len;
        }
    }
    Some(Parse::Packet(Packet::Info(info), at))
}

impl fmt::Display for Packet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Packet::Align => f.write_str("alignment sync"),
            Packet::Info(info) => {
                f.write_str("trace info")?;
                for (n, value) in info.values.iter().enumerate() {
                    if info.sections >> n & 1 != 0 {
                        write!(f, ", section {n} 0x{value:x}")?;
                    }
                }
                Ok(())
            }
            Packet::Discard => f.write_str("discard"),
            Packet::Overflow => f.write_str("overflow"),
            Packet::NumberedMarker(n) => write!(f, "data synchronisation marker {n}"),
            Packet::Marker => f.write_str("data synchronisation marker"),
            Packet::Timestamp { bits, count } => {
                write!(f, "timestamp, low {count} bits 0x{bits:x}")
            }
            Packet::Suppression => f.write_str("suppression"),
            Packet::Event => f.write_str("event 0"),
        }
    }
}
