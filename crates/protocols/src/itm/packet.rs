//! The encoding of ITM packets.

use core::fmt;

use tracewright_base::{DwtEvent, Fault, Parse, TimeDelay, Wire};

use super::Config;
use crate::kind::packet_kinds;

/// The last byte of a synchronisation packet.
pub(super) const SYNC_END: u8 = 0x80;
/// Zero bytes in a synchronisation packet: at least 47 zero bits before a one bit.
pub(super) const SYNC_ZEROS: usize = 5;
/// The most zero bytes that are parsed as one synchronisation packet.
pub(super) const SYNC_ZEROS_MOST: usize = u8::MAX as usize;

/// The payload of a source packet: 1, 2 or 4 bytes, little-endian.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Data {
    /// SS = 1.
    Byte(u8),
    /// SS = 2.
    Half(u16),
    /// SS = 3.
    Word(u32),
}

/// One ITM packet. (Armv7-M ARM, appendix D4; Armv8-M ARM, "Instrumentation and Data Watchpoint and
/// Trace packet protocol")
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Packet {
    /// `zeros` bytes 0x00, at least 5, and 0x80: the next byte is a header.
    Sync {
        /// The number of bytes 0x00.
        zeros: u8,
    },
    /// `0111_0000`: packets were lost before this one.
    Overflow,
    /// `11tt_0000` and 1 to 4 bytes of 7 bits: a local timestamp, format 1. `tt` is the delay.
    LocalTime {
        /// TC: whether the timestamp or the packet before it is delayed.
        delay: TimeDelay,
        /// Timestamp counter ticks since the last local timestamp.
        ticks: u32,
        /// Payload bytes, 1 to 4.
        bytes: u8,
    },
    /// `0ttt_0000`, ttt in 1 to 6: a local timestamp, format 2. It is not delayed.
    LocalTimeShort {
        /// Timestamp counter ticks since the last local timestamp.
        ticks: u8,
    },
    /// `1001_0100` and 1 to 4 bytes of 7 bits: bits \[25:0] of the global timestamp, or the low
    /// bits that fit the bytes. Higher bits have not changed.
    GlobalTimeLow {
        /// The bits, aligned to bit 0 of the timestamp.
        bits: u32,
        /// Payload bytes, 1 to 4.
        bytes: u8,
        /// ClkCh, bit 5 of the fourth byte: the clock that drives the counter changed.
        clock_changed: bool,
        /// Wrap, bit 6 of the fourth byte: bits \[63:26] changed; a [`Packet::GlobalTimeHigh`]
        /// follows.
        wrapped: bool,
    },
    /// `1011_0100` and 1 to 6 bytes of 7 bits: bits \[47:26] (4 bytes) or \[63:26] (6 bytes) of the
    /// global timestamp.
    GlobalTimeHigh {
        /// The bits. Bit 0 is bit 26 of the timestamp.
        bits: u64,
        /// Payload bytes, 1 to 6.
        bytes: u8,
    },
    /// `0ppp_1000`: the ports of the packets that follow are in page `ppp`.
    Page(u8),
    /// `cxxx_1h00` and up to 4 bytes: any other extension. The architecture defines none.
    Extension {
        /// SH: 1 from the DWT, 0 from the ITM.
        hardware: bool,
        /// Its value; bits \[2:0] are in the header.
        value: u32,
        /// Bytes after the header, 0 to 4. The fourth has 8 bits, the others 7.
        bytes: u8,
    },
    /// `aaaa_a0ss` and 1, 2 or 4 bytes: a write to stimulus port `aaaaa` of the page.
    Software {
        /// The port in its page, 0 to 31.
        port: u8,
        /// The data written.
        data: Data,
    },
    /// `dddd_d1ss` and 1, 2 or 4 bytes: a hardware source packet, an event of the DWT.
    Hardware {
        /// `ddddd`: the kind of event.
        discriminator: u8,
        /// The payload.
        data: Data,
    },
}

packet_kinds!(
    Packet:
    Sync, Overflow, LocalTime, LocalTimeShort, GlobalTimeLow, GlobalTimeHigh, Page, Extension,
    Software, Hardware,
);

impl Data {
    /// Its value.
    pub const fn value(self) -> u32 {
        match self {
            Data::Byte(value) => value as u32,
            Data::Half(value) => value as u32,
            Data::Word(value) => value,
        }
    }

    /// Its size in bytes.
    pub const fn size(self) -> u8 {
        match self {
            Data::Byte(_) => 1,
            Data::Half(_) => 2,
            Data::Word(_) => 4,
        }
    }

    /// SS, bits \[1:0] of the header.
    const fn code(self) -> u8 {
        match self {
            Data::Byte(_) => 1,
            Data::Half(_) => 2,
            Data::Word(_) => 3,
        }
    }

    /// Reads the payload after `header`, whose SS is not 0.
    const fn read(header: u8, rest: &[u8]) -> Option<Data> {
        match (header & 0b11, rest) {
            (1, [a, ..]) => Some(Data::Byte(*a)),
            (2, [a, b, ..]) => Some(Data::Half(u16::from_le_bytes([*a, *b]))),
            (3, [a, b, c, d, ..]) => Some(Data::Word(u32::from_le_bytes([*a, *b, *c, *d]))),
            _ => None,
        }
    }
}

impl Wire<Config> for Packet {
    #[inline]
    fn parse(bytes: &[u8], _: &Config) -> Parse<Self> {
        let Some((&header, rest)) = bytes.split_first() else { return Parse::Partial };
        if header & 0b11 != 0 {
            let Some(data) = Data::read(header, rest) else { return Parse::Partial };
            let source = header >> 3;
            let packet = if header & 0b100 == 0 {
                Packet::Software { port: source, data }
            } else {
                Packet::Hardware { discriminator: source, data }
            };
            return Parse::Packet(packet, 1 + usize::from(data.size()));
        }
        match header {
            0b0000_0000 => sync(bytes),
            0b0111_0000 => Parse::Packet(Packet::Overflow, 1),
            0b0001_0000 | 0b0010_0000 | 0b0011_0000 | 0b0100_0000 | 0b0101_0000 | 0b0110_0000 => {
                Parse::Packet(Packet::LocalTimeShort { ticks: header >> 4 }, 1)
            }
            0b1100_0000 | 0b1101_0000 | 0b1110_0000 | 0b1111_0000 => match groups(rest, 4) {
                Groups::Read(bits, n) => {
                    let delay = delay(header >> 4);
                    Parse::Packet(
                        Packet::LocalTime { delay, ticks: bits as u32, bytes: n },
                        1 + usize::from(n),
                    )
                }
                other => other.without(4),
            },
            0b1001_0100 => match groups(rest, 4) {
                Groups::Read(bits, n) => {
                    // The two flags are above bits [25:21] in the fourth byte.
                    let flags = if n == 4 { bits >> 26 } else { 0 };
                    let packet = Packet::GlobalTimeLow {
                        bits: bits as u32 & LOW,
                        bytes: n,
                        clock_changed: flags & 1 != 0,
                        wrapped: flags & 2 != 0,
                    };
                    Parse::Packet(packet, 1 + usize::from(n))
                }
                other => other.without(4),
            },
            0b1011_0100 => match groups(rest, 6) {
                Groups::Read(bits, n) => {
                    Parse::Packet(Packet::GlobalTimeHigh { bits, bytes: n }, 1 + usize::from(n))
                }
                other => other.without(6),
            },
            _ if header & 0b1000_1111 == 0b0000_1000 => Parse::Packet(Packet::Page(header >> 4), 1),
            _ if header & 0b1000 != 0 => extension(header, rest),
            _ => Parse::Bad(1, Fault::Reserved(header)),
        }
    }

    fn emit(&self, _: &Config, out: &mut impl Extend<u8>) {
        match *self {
            Packet::Sync { zeros } => {
                out.extend(core::iter::repeat_n(0, usize::from(zeros)));
                out.extend([SYNC_END]);
            }
            Packet::Overflow => out.extend([0b0111_0000]),
            Packet::LocalTime { delay, ticks, bytes } => {
                let code = match delay {
                    TimeDelay::None => 0,
                    TimeDelay::Timestamp => 1,
                    TimeDelay::Packet => 2,
                    TimeDelay::Both => 3,
                };
                out.extend([0b1100_0000 | code << 4]);
                emit_groups(ticks.into(), bytes, out);
            }
            Packet::LocalTimeShort { ticks } => out.extend([ticks << 4]),
            Packet::GlobalTimeLow { bits, bytes, clock_changed, wrapped } => {
                let flags = u64::from(clock_changed) | u64::from(wrapped) << 1;
                out.extend([0b1001_0100]);
                emit_groups(u64::from(bits) | flags << 26, bytes, out);
            }
            Packet::GlobalTimeHigh { bits, bytes } => {
                out.extend([0b1011_0100]);
                emit_groups(bits, bytes, out);
            }
            Packet::Page(page) => out.extend([0b0000_1000 | page << 4]),
            Packet::Extension { hardware, value, bytes } => {
                let more = if bytes > 0 { 0x80 } else { 0 };
                let header = 0b0000_1000 | (value as u8 & 0b111) << 4;
                out.extend([header | more | u8::from(hardware) << 2]);
                for k in 0..bytes {
                    let group = value >> (3 + 7 * k);
                    out.extend([match (k, k + 1 < bytes) {
                        (3, _) => group as u8,
                        (_, more) => group as u8 & 0x7f | u8::from(more) << 7,
                    }]);
                }
            }
            Packet::Software { port, data } => emit_source(port << 3, data, out),
            Packet::Hardware { discriminator, data } => {
                emit_source(discriminator << 3 | 0b100, data, out);
            }
        }
    }
}

/// Bits \[25:0] of the global timestamp.
pub(super) const LOW: u32 = (1 << 26) - 1;

/// TC, bits \[5:4] of the header of a local timestamp.
const fn delay(code: u8) -> TimeDelay {
    match code & 0b11 {
        0 => TimeDelay::None,
        1 => TimeDelay::Timestamp,
        2 => TimeDelay::Packet,
        _ => TimeDelay::Both,
    }
}

/// A synchronisation packet starts with the zero at `bytes[0]`.
fn sync(bytes: &[u8]) -> Parse<Packet> {
    let run = bytes.iter().take(SYNC_ZEROS_MOST + 1).take_while(|&&b| b == 0).count();
    match bytes.get(run) {
        _ if run > SYNC_ZEROS_MOST => Parse::Bad(1, Fault::Sequence),
        None => Parse::Partial,
        Some(&SYNC_END) if run >= SYNC_ZEROS => {
            Parse::Packet(Packet::Sync { zeros: run as u8 }, run + 1)
        }
        // The byte that ends the run may be a header.
        Some(_) => Parse::Bad(run, Fault::Sequence),
    }
}

/// An extension that is not a page.
fn extension(header: u8, rest: &[u8]) -> Parse<Packet> {
    let hardware = header & 0b100 != 0;
    let mut value = u32::from(header >> 4 & 0b111);
    let mut more = header & 0x80 != 0;
    let mut bytes = 0;
    while more {
        let Some(&byte) = rest.get(usize::from(bytes)) else { return Parse::Partial };
        let group = if bytes == 3 { byte } else { byte & 0x7f };
        value |= u32::from(group) << (3 + 7 * bytes);
        more = byte & 0x80 != 0 && bytes < 3;
        bytes += 1;
    }
    Parse::Packet(Packet::Extension { hardware, value, bytes }, 1 + usize::from(bytes))
}

/// A run of 7-bit groups, low group first.
enum Groups {
    /// The bits, and the number of their bytes.
    Read(u64, u8),
    /// The bytes end before the last group.
    More,
    /// Too many bytes have the continuation bit set.
    Overlong,
}

impl Groups {
    /// The result for an incomplete or overlong packet of at most `most` groups.
    const fn without(self, most: usize) -> Parse<Packet> {
        match self {
            Groups::Overlong => Parse::Bad(1 + most, Fault::Overlong),
            _ => Parse::Partial,
        }
    }
}

fn groups(bytes: &[u8], most: u8) -> Groups {
    let mut bits = 0;
    for k in 0..most {
        let Some(&byte) = bytes.get(usize::from(k)) else { return Groups::More };
        bits |= u64::from(byte & 0x7f) << (7 * k);
        if byte & 0x80 == 0 {
            return Groups::Read(bits, k + 1);
        }
    }
    Groups::Overlong
}

fn emit_groups(bits: u64, count: u8, out: &mut impl Extend<u8>) {
    for k in 0..count {
        let more = u8::from(k + 1 < count) << 7;
        out.extend([(bits >> (7 * k)) as u8 & 0x7f | more]);
    }
}

fn emit_source(header: u8, data: Data, out: &mut impl Extend<u8>) {
    out.extend([header | data.code()]);
    out.extend(data.value().to_le_bytes().into_iter().take(usize::from(data.size())));
}

impl fmt::Display for Packet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Packet::Sync { .. } => f.write_str("sync"),
            Packet::Overflow => f.write_str("overflow"),
            Packet::LocalTime { delay, ticks, .. } => write!(f, "local time +{ticks}, {delay}"),
            Packet::LocalTimeShort { ticks } => write!(f, "local time +{ticks}"),
            Packet::GlobalTimeLow { bits, bytes, clock_changed, wrapped } => {
                let top = (7 * u32::from(bytes) - 1).min(25);
                write!(f, "global time [{top}:0] = 0x{bits:x}")?;
                f.write_str(if wrapped { ", upper bits changed" } else { "" })?;
                f.write_str(if clock_changed { ", clock changed" } else { "" })
            }
            Packet::GlobalTimeHigh { bits, bytes } => {
                let top = if bytes > 4 { 63 } else { 47 };
                write!(f, "global time [{top}:26] = 0x{bits:x}")
            }
            Packet::Page(page) => write!(f, "page {page}"),
            Packet::Extension { hardware, value, .. } => {
                write!(
                    f,
                    "{} extension 0x{value:x}",
                    if hardware { "hardware" } else { "software" }
                )
            }
            Packet::Software { port, data } => write!(f, "port {port}: {data}"),
            Packet::Hardware { discriminator, data } => {
                let hardware = DwtEvent {
                    discriminator,
                    size: data.size(),
                    value: data.value(),
                    after_overflow: false,
                };
                write!(f, "hardware {discriminator}: {data} ({})", hardware.meaning())
            }
        }
    }
}

impl fmt::Display for Data {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = usize::from(self.size()) * 2;
        write!(f, "0x{:0width$x}", self.value())
    }
}
