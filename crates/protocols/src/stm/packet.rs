//! The encoding of STPv2 packets.

use core::fmt;

use tracewright_base::{Fault, Parse, Wire};

use super::Config;
use crate::kind::packet_kinds;

/// Nibbles 0xf in a synchronisation packet, before its 0x0.
pub(super) const ASYNC_ONES: usize = 21;

/// The format of timestamps. (VERSION, bits \[2:0])
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// 2, STPv2 NATDELTA: each timestamp is the difference to the previous one.
    Delta,
    /// 3, STPv2 NAT: the low bits of the time. Higher bits have not changed.
    Natural,
    /// 4, STPv2 GRAY: the low bits of the time's Gray code. Higher bits have not changed.
    Gray,
}

/// A timestamp as it was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Stamp {
    /// The bits.
    pub bits: u64,
    /// The number of their nibbles: 0 to 12, 14 or 16.
    pub nibbles: u8,
}

/// The width of data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Size {
    /// D4: 4 bits.
    Nibble,
    /// D8: 8 bits.
    Byte,
    /// D16: 16 bits.
    Half,
    /// D32: 32 bits.
    Word,
    /// D64: 64 bits.
    Double,
}

/// One STPv2 packet. The opcodes are given as nibbles. A `time` adds one nibble for its length, and
/// its nibbles. Numbers are sent with the top nibble first. (MIPI System Trace Protocol 2.x)
///
/// Revision 2.2 can also send the lowest nibble first ([`LITTLE_ENDIAN`]). Packets store such
/// numbers as if the top nibble were first: the decoder reverses the nibbles.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Packet {
    /// ASYNC: 21 nibbles 0xf and 0x0. The next nibble is an opcode.
    Async,
    /// VERSION, F00: resets master and channel to 0.
    Version {
        /// Bits \[2:0].
        format: Format,
        /// Present where bit 3 is set. Bit 7 is [`LITTLE_ENDIAN`], bits \[2:0] are the revision:
        /// 1 STP 2.2, 2 STP 2.3, 3 STP 2.4.
        revision: Option<u8>,
    },
    /// NULL, 0, or NULL_TS, F01: padding, or a timestamp alone.
    Null {
        /// The timestamp, if there is one.
        time: Option<Stamp>,
    },
    /// M8, 1: bits \[7:0] of the master of the packets that follow. The channel is 0.
    Master8(u8),
    /// M16, F1: the master of the packets that follow. The channel is 0.
    Master16(u16),
    /// C8, 3: bits \[7:0] of the channel.
    Channel8(u8),
    /// C16, F3: the channel.
    Channel16(u16),
    /// MERR, 2: the master lost data or reports an error. The channel is 0.
    MasterError(u8),
    /// GERR, F2: an unknown master lost data, or the unit reports an error. Master and channel are
    /// 0.
    GlobalError(u8),
    /// CERR, F0F3: the channel reports an error. (Revision 2.2)
    ChannelError(u8),
    /// D4 to D64, C and 4 to 7; with a timestamp FC and F4 to F7; marked FD and F8 to FB; both D
    /// and 8 to B.
    Data {
        /// The width.
        size: Size,
        /// The data written.
        bits: u64,
        /// M: the data has a marker.
        marker: bool,
        /// The timestamp, if there is one.
        time: Option<Stamp>,
    },
    /// FLAG, FE, or FLAG_TS, E.
    Flag {
        /// The timestamp, if there is one.
        time: Option<Stamp>,
    },
    /// USER, F02, or USER_TS, F03: one nibble has the number of nibbles that follow, minus 1.
    User {
        /// The number of nibbles, 1 to 16.
        nibbles: u8,
        /// The value of the nibbles.
        bits: u64,
        /// The timestamp, if there is one.
        time: Option<Stamp>,
    },
    /// TRIG, F06, or TRIG_TS, F07.
    Trigger {
        /// The number.
        id: u8,
        /// The timestamp, if there is one.
        time: Option<Stamp>,
    },
    /// FREQ, F08, or FREQ_TS, F09: the timestamp clock's frequency.
    Frequency {
        /// In hertz.
        hertz: u32,
        /// The timestamp, if there is one.
        time: Option<Stamp>,
    },
    /// FREQ_40, F0F0, or FREQ_40_TS, F0F1. (Revision 2.2)
    Frequency40 {
        /// In hertz, 40 bits.
        hertz: u64,
        /// The timestamp, if there is one.
        time: Option<Stamp>,
    },
    /// XSYNC, F0A, or XSYNC_TS, F0B: marks the same point in time in several traces.
    CrossSync {
        /// The number.
        id: u8,
        /// The timestamp, if there is one.
        time: Option<Stamp>,
    },
}

packet_kinds!(
    Packet:
    Async, Version, Null, Master8, Master16, Channel8, Channel16, MasterError, GlobalError,
    ChannelError, Data, Flag, User, Trigger, Frequency, Frequency40, CrossSync,
);

/// Bit 7 of the revision byte of a [`Packet::Version`]: numbers are sent with the lowest nibble
/// first.
pub const LITTLE_ENDIAN: u8 = 0x80;

impl Size {
    /// The number of nibbles.
    pub const fn nibbles(self) -> u8 {
        match self {
            Size::Nibble => 1,
            Size::Byte => 2,
            Size::Half => 4,
            Size::Word => 8,
            Size::Double => 16,
        }
    }

    /// The width for the low two bits of the opcodes 4 to 7, 8 to B, F4 to F7 and F8 to FB.
    const fn of(opcode: u8) -> Size {
        match opcode & 0b11 {
            0 => Size::Byte,
            1 => Size::Half,
            2 => Size::Word,
            _ => Size::Double,
        }
    }
}

impl Wire<Config> for Packet {
    /// `bytes` has one nibble in each byte.
    #[inline]
    fn parse(bytes: &[u8], _: &Config) -> Parse<Self> {
        let mut nibbles = Nibbles { all: bytes, at: 0 };
        match read(&mut nibbles) {
            Ok(packet) => Parse::Packet(packet, nibbles.at),
            Err(Stop::More) => Parse::Partial,
            Err(Stop::Bad(fault)) => Parse::Bad(nibbles.at, fault),
        }
    }

    fn emit(&self, _: &Config, out: &mut impl Extend<u8>) {
        let time = match *self {
            Packet::Async => {
                out.extend([0xf; ASYNC_ONES]);
                out.extend([0x0]);
                None
            }
            Packet::Version { format, revision } => {
                let format = match format {
                    Format::Delta => 2,
                    Format::Natural => 3,
                    Format::Gray => 4,
                };
                match revision {
                    None => out.extend([0xf, 0, 0, format]),
                    Some(byte) => out.extend([0xf, 0, 0, 0b1000 | format, byte >> 4, byte & 0xf]),
                }
                None
            }
            Packet::Null { time } => opcode(&[0x0], &[0xf, 0x0, 0x1], time, out),
            Packet::Master8(id) => number(&[0x1], id.into(), 2, out),
            Packet::Master16(id) => number(&[0xf, 0x1], id.into(), 4, out),
            Packet::Channel8(id) => number(&[0x3], id.into(), 2, out),
            Packet::Channel16(id) => number(&[0xf, 0x3], id.into(), 4, out),
            Packet::MasterError(code) => number(&[0x2], code.into(), 2, out),
            Packet::GlobalError(code) => number(&[0xf, 0x2], code.into(), 2, out),
            Packet::ChannelError(code) => number(&[0xf, 0x0, 0xf, 0x3], code.into(), 2, out),
            Packet::Data { size, bits, marker, time } => {
                // The opcodes of D8. Those of D16, D32 and D64 are the next ones.
                let more = match size {
                    Size::Nibble | Size::Byte => 0,
                    Size::Half => 1,
                    Size::Word => 2,
                    Size::Double => 3,
                };
                match (size, marker, time.is_some()) {
                    (Size::Nibble, false, false) => out.extend([0xc]),
                    (Size::Nibble, true, true) => out.extend([0xd]),
                    (Size::Nibble, false, true) => out.extend([0xf, 0xc]),
                    (Size::Nibble, true, false) => out.extend([0xf, 0xd]),
                    (_, false, false) => out.extend([0x4 + more]),
                    (_, true, true) => out.extend([0x8 + more]),
                    (_, false, true) => out.extend([0xf, 0x4 + more]),
                    (_, true, false) => out.extend([0xf, 0x8 + more]),
                }
                number(&[], bits, size.nibbles(), out);
                time
            }
            Packet::Flag { time } => opcode(&[0xf, 0xe], &[0xe], time, out),
            Packet::User { nibbles, bits, time } => {
                opcode(&[0xf, 0x0, 0x2], &[0xf, 0x0, 0x3], time, out);
                number(&[nibbles.saturating_sub(1)], bits, nibbles, out);
                time
            }
            Packet::Trigger { id, time } => {
                opcode(&[0xf, 0x0, 0x6], &[0xf, 0x0, 0x7], time, out);
                number(&[], id.into(), 2, out);
                time
            }
            Packet::Frequency { hertz, time } => {
                opcode(&[0xf, 0x0, 0x8], &[0xf, 0x0, 0x9], time, out);
                number(&[], hertz.into(), 8, out);
                time
            }
            Packet::Frequency40 { hertz, time } => {
                opcode(&[0xf, 0x0, 0xf, 0x0], &[0xf, 0x0, 0xf, 0x1], time, out);
                number(&[], hertz, 10, out);
                time
            }
            Packet::CrossSync { id, time } => {
                opcode(&[0xf, 0x0, 0xa], &[0xf, 0x0, 0xb], time, out);
                number(&[], id.into(), 2, out);
                time
            }
        };
        if let Some(Stamp { bits, nibbles }) = time {
            let length = match nibbles {
                14 => 0xd,
                16 => 0xe,
                n => n,
            };
            number(&[length], bits, nibbles, out);
        }
    }
}

/// Writes one of two opcodes, and returns the timestamp to be written after the payload.
fn opcode(
    bare: &[u8],
    timed: &[u8],
    time: Option<Stamp>,
    out: &mut impl Extend<u8>,
) -> Option<Stamp> {
    out.extend(if time.is_some() { timed } else { bare }.iter().copied());
    time
}

/// Writes an opcode, and a number with the top nibble first. No timestamp follows.
fn number(opcode: &[u8], bits: u64, nibbles: u8, out: &mut impl Extend<u8>) -> Option<Stamp> {
    out.extend(opcode.iter().copied());
    out.extend((0..nibbles).rev().map(|k| (bits >> (4 * k)) as u8 & 0xf));
    None
}

/// Why nibbles are not a packet.
enum Stop {
    /// The nibbles end too early.
    More,
    /// The nibbles are undecodable.
    Bad(Fault),
}

/// A reader of nibbles.
struct Nibbles<'a> {
    all: &'a [u8],
    /// The number of nibbles read.
    at: usize,
}

impl Nibbles<'_> {
    #[inline]
    fn next(&mut self) -> Result<u8, Stop> {
        let nibble = self.all.get(self.at).ok_or(Stop::More)?;
        self.at += 1;
        Ok(*nibble)
    }

    /// Reads a number of `nibbles`, the top nibble first.
    #[inline]
    fn number(&mut self, nibbles: u8) -> Result<u64, Stop> {
        let end = self.at + usize::from(nibbles);
        let number = self.all.get(self.at..end).ok_or(Stop::More)?;
        self.at = end;
        Ok(number.iter().fold(0, |bits, n| bits << 4 | u64::from(n & 0xf)))
    }

    fn byte(&mut self) -> Result<u8, Stop> {
        self.number(2).map(|bits| bits as u8)
    }

    /// Reads a timestamp, if the opcode has one.
    #[inline]
    fn time(&mut self, timed: bool) -> Result<Option<Stamp>, Stop> {
        if !timed {
            return Ok(None);
        }
        let nibbles = match self.next()? {
            n @ 0..=12 => n,
            13 => 14,
            14 => 16,
            n => return Err(Stop::Bad(Fault::Reserved(n))),
        };
        Ok(Some(Stamp { bits: self.number(nibbles)?, nibbles }))
    }

    #[inline]
    fn data(&mut self, size: Size, marker: bool, timed: bool) -> Result<Packet, Stop> {
        let bits = self.number(size.nibbles())?;
        Ok(Packet::Data { size, bits, marker, time: self.time(timed)? })
    }
}

#[inline]
fn read(n: &mut Nibbles<'_>) -> Result<Packet, Stop> {
    Ok(match n.next()? {
        0x0 => Packet::Null { time: None },
        0x1 => Packet::Master8(n.byte()?),
        0x2 => Packet::MasterError(n.byte()?),
        0x3 => Packet::Channel8(n.byte()?),
        code @ 0x4..=0x7 => n.data(Size::of(code), false, false)?,
        code @ 0x8..=0xb => n.data(Size::of(code), true, true)?,
        0xc => n.data(Size::Nibble, false, false)?,
        0xd => n.data(Size::Nibble, true, true)?,
        0xe => Packet::Flag { time: n.time(true)? },
        0xf => match n.next()? {
            0x0 => return read_third(n),
            0x1 => Packet::Master16(n.number(4)? as u16),
            0x2 => Packet::GlobalError(n.byte()?),
            0x3 => Packet::Channel16(n.number(4)? as u16),
            code @ 0x4..=0x7 => n.data(Size::of(code), false, true)?,
            code @ 0x8..=0xb => n.data(Size::of(code), true, false)?,
            0xc => n.data(Size::Nibble, false, true)?,
            0xd => n.data(Size::Nibble, true, false)?,
            0xe => Packet::Flag { time: None },
            _ => return read_async(n),
        },
        other => return Err(Stop::Bad(Fault::Reserved(other))),
    })
}

/// Reads a packet after F0.
fn read_third(n: &mut Nibbles<'_>) -> Result<Packet, Stop> {
    let code = n.next()?;
    let timed = code & 1 != 0;
    Ok(match code {
        0x0 => return read_version(n),
        0x1 => Packet::Null { time: n.time(true)? },
        0x2 | 0x3 => {
            let nibbles = (n.next()? & 0xf) + 1;
            let bits = n.number(nibbles)?;
            Packet::User { nibbles, bits, time: n.time(timed)? }
        }
        0x6 | 0x7 => Packet::Trigger { id: n.byte()?, time: n.time(timed)? },
        0x8 | 0x9 => Packet::Frequency { hertz: n.number(8)? as u32, time: n.time(timed)? },
        0xa | 0xb => Packet::CrossSync { id: n.byte()?, time: n.time(timed)? },
        0xf => match n.next()? {
            code @ (0x0 | 0x1) => {
                Packet::Frequency40 { hertz: n.number(10)?, time: n.time(code == 1)? }
            }
            0x3 => Packet::ChannelError(n.byte()?),
            code => return Err(Stop::Bad(Fault::Reserved(0xf0 | code & 0xf))),
        },
        // The length of TIME and TIME_TS, F04 and F05, depends on the protocol of their clock.
        code => return Err(Stop::Bad(Fault::Reserved(code))),
    })
}

fn read_version(n: &mut Nibbles<'_>) -> Result<Packet, Stop> {
    let code = n.next()?;
    let format = match code & 0b111 {
        2 => Format::Delta,
        3 => Format::Natural,
        4 => Format::Gray,
        // 0 and 1 are STPv1, whose timestamps have no length.
        _ => return Err(Stop::Bad(Fault::ReservedForConfig(code))),
    };
    let revision = if code & 0b1000 != 0 { Some(n.byte()?) } else { None };
    Ok(Packet::Version { format, revision })
}

/// Reads a synchronisation packet after FF. Nothing else begins with FF.
fn read_async(n: &mut Nibbles<'_>) -> Result<Packet, Stop> {
    let ones = n.all.iter().take(ASYNC_ONES + 1).take_while(|&&nibble| nibble == 0xf).count();
    match n.all.get(ones) {
        Some(0) if ones == ASYNC_ONES => {
            n.at = ones + 1;
            Ok(Packet::Async)
        }
        None if ones <= ASYNC_ONES => Err(Stop::More),
        // More than 21 nibbles 0xf: the packet may begin with the next nibble.
        _ if ones > ASYNC_ONES => {
            n.at = 1;
            Err(Stop::Bad(Fault::Sequence))
        }
        _ => {
            n.at = ones;
            Err(Stop::Bad(Fault::Sequence))
        }
    }
}

impl fmt::Display for Packet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let time = match *self {
            Packet::Async => return f.write_str("sync"),
            Packet::Version { format, revision } => {
                f.write_str(match format {
                    Format::Delta => "version STPv2, time as differences",
                    Format::Natural => "version STPv2, time in binary",
                    Format::Gray => "version STPv2, time in Gray code",
                })?;
                return match revision {
                    Some(byte) => write!(f, ", revision 2.{}", (byte & 0b111) + 1),
                    None => Ok(()),
                };
            }
            Packet::Null { time } => {
                f.write_str("null")?;
                time
            }
            Packet::Master8(id) => return write!(f, "master 0x{id:02x}"),
            Packet::Master16(id) => return write!(f, "master 0x{id:04x}"),
            Packet::Channel8(id) => return write!(f, "channel 0x..{id:02x}"),
            Packet::Channel16(id) => return write!(f, "channel 0x{id:04x}"),
            Packet::MasterError(code) => return write!(f, "master error 0x{code:02x}"),
            Packet::GlobalError(code) => return write!(f, "global error 0x{code:02x}"),
            Packet::ChannelError(code) => return write!(f, "channel error 0x{code:02x}"),
            Packet::Data { size, bits, marker, time } => {
                let width = usize::from(size.nibbles());
                write!(f, "data 0x{bits:0width$x}{}", if marker { ", marked" } else { "" })?;
                time
            }
            Packet::Flag { time } => {
                f.write_str("flag")?;
                time
            }
            Packet::User { nibbles, bits, time } => {
                let width = usize::from(nibbles);
                write!(f, "user 0x{bits:0width$x}")?;
                time
            }
            Packet::Trigger { id, time } => {
                write!(f, "trigger 0x{id:02x}")?;
                time
            }
            Packet::Frequency { hertz, time } => {
                write!(f, "frequency {hertz} Hz")?;
                time
            }
            Packet::Frequency40 { hertz, time } => {
                write!(f, "frequency {hertz} Hz")?;
                time
            }
            Packet::CrossSync { id, time } => {
                write!(f, "cross-synchronisation 0x{id:02x}")?;
                time
            }
        };
        match time {
            Some(Stamp { bits, nibbles }) => {
                write!(f, ", time 0x{bits:0width$x}", width = usize::from(nibbles))
            }
            None => Ok(()),
        }
    }
}
