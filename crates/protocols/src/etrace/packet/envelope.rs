//! What stands before a payload: how long it is, whose it is, when it was.

use tracewright_base::Fault;

use super::fields::{Fields, Reader, Writer, low};
use crate::etrace::config::{Framing, Params};

/// What an encapsulation says beside the payload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Envelope {
    /// The source (`srcID`, index). For ESP32: the running number of the packet.
    pub source: u16,
    /// Where the packet goes to (`flow`). Siemens framing has the type there.
    pub flow: u8,
    /// When it was, in the units of the transport.
    pub timestamp: Option<u64>,
}

/// What kind of message a payload is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    /// No payload.
    Null { alignment: bool },
    /// Instruction trace. 0.026: what the payload's own type says.
    Instruction,
    /// te_support, where the header tells. (0.026)
    Support,
    /// Data trace.
    Data,
    /// A counter's value (PULP `trdb`).
    Timer,
    /// A word that software wrote (PULP `trdb`).
    Software,
}

/// An envelope that was opened.
pub(super) struct Opened {
    pub(super) envelope: Envelope,
    pub(super) class: Class,
    /// Of all bytes.
    pub(super) len: usize,
    /// At the first bit of the payload.
    pub(super) reader: Reader,
}

/// Why none was.
pub(super) enum Closed {
    Partial,
    Bad(usize, Fault),
}

/// How far the message at the start of some bytes goes, and whose it is.
pub(in crate::etrace) enum Extent {
    /// A header without payload.
    Null,
    /// More bytes must follow.
    Partial,
    /// No message begins so.
    Bad,
    /// So many bytes, of the source with this number.
    Of { len: usize, source: u16 },
}

/// Message types of Siemens framing and of the encapsulation: te_inst and te_data.
const INSTRUCTION: u8 = 0b10;
const DATA: u8 = 0b11;

/// The message type of te_support. (0.026, Table 6.4)
const SUPPORT: u8 = 0b00;

impl Envelope {
    #[inline]
    pub(super) fn open(bytes: &[u8], params: &Params) -> Result<Opened, Closed> {
        let Some(&header) = bytes.first() else { return Err(Closed::Partial) };
        match params.link.framing {
            Framing::Encapsulated | Framing::Siemens => encapsulated(header, bytes, params),
            Framing::PulpTrdb => trdb(header, bytes),
            Framing::Esp32 => esp32(header, bytes),
            Framing::PulpRecords | Framing::PulpLines => record(bytes, params.link.framing),
        }
    }

    /// How far the message at the start of `bytes` goes, where messages have their sources' numbers.
    pub(in crate::etrace) fn extent(bytes: &[u8], params: &Params) -> Extent {
        let Some(&header) = bytes.first() else { return Extent::Partial };
        let (len, extend) = (usize::from(header & 0x1f), header >> 7 != 0);
        match len {
            0 => return Extent::Null,
            _ if extend && params.link.timestamp_bytes == 0 => return Extent::Bad,
            _ => {}
        }
        let width = u32::from(params.link.source_width);
        let Some(number) = bytes.get(1..1 + width.div_ceil(8) as usize) else {
            return Extent::Partial;
        };
        let number = number.iter().rev().fold(0u32, |all, &byte| all << 8 | u32::from(byte));
        let source = low(number.into(), width) as u16;
        Extent::Of { len: 1 + (head_bits(params, extend) / 8) as usize + len, source }
    }

    /// What the header of instruction trace says of its flow, where it is a plain one.
    #[inline(always)]
    pub(super) const fn plain(header: u8, params: &Params) -> Option<u8> {
        match (params.link.framing, header >> 5 & 0b11) {
            (Framing::Encapsulated, flow) => Some(flow),
            (Framing::Siemens, INSTRUCTION) => Some(0),
            _ => None,
        }
    }

    /// Writes the payload in `payload` with its envelope.
    pub(super) fn close(
        &self,
        class: Class,
        payload: &Writer,
        params: &Params,
        out: &mut impl Extend<u8>,
    ) {
        let bytes = payload.at().div_ceil(8) as usize;
        match params.link.framing {
            // The payload's first two bits are in the header.
            Framing::PulpTrdb => {
                let kind = match class {
                    Class::Null { .. } => return out.extend([0]),
                    Class::Timer => 1,
                    Class::Software => 3,
                    Class::Instruction | Class::Support | Class::Data => 2,
                };
                let first = payload.byte_at(0) & 0xc0;
                out.extend([first | kind << 4 | (bytes as u8).saturating_sub(1) & 0xf]);
                out.extend(payload.bytes(1..bytes));
            }
            Framing::Esp32 => {
                if let Class::Null { alignment } = class {
                    return out.extend([u8::from(alignment) << 7]);
                }
                out.extend([(bytes + ESP32_HEADER) as u8 & 0x1f]);
                out.extend(self.source.to_le_bytes());
                out.extend(payload.bytes(0..bytes));
            }
            Framing::PulpRecords | Framing::PulpLines => {
                let len = if let Class::Null { .. } = class { 0 } else { bytes.min(PAYLOAD) };
                let mut record = [0; RECORD];
                let extend = u8::from(self.timestamp.is_some());
                let header = extend << 7 | (self.flow & 0b11) << 5 | len as u8;
                let time = self.timestamp.unwrap_or(0).to_le_bytes();
                let all = core::iter::once(header).chain(time).chain(payload.bytes(0..len));
                record.iter_mut().zip(all).for_each(|(to, from)| *to = from);
                out.extend(turned(record, params.link.framing));
            }
            Framing::Encapsulated | Framing::Siemens => {
                if let Class::Null { alignment } = class {
                    return out.extend([u8::from(alignment) << 7 | self.flow << 5]);
                }
                let flow = match (params.link.framing, class) {
                    (Framing::Encapsulated, _) => self.flow & 0b11,
                    (_, Class::Data) => DATA,
                    (_, Class::Support) => SUPPORT,
                    // 0.026 does not say what its flow is.
                    (_, Class::Instruction) if self.flow != 0 && params.is_draft() => {
                        self.flow & 0b11
                    }
                    _ => INSTRUCTION,
                };
                let extend = u8::from(self.timestamp.is_some() && params.link.timestamp_bytes > 0);
                // Bits of the source beyond whole bytes count as payload.
                let before = head_bits(params, extend != 0) / 8;
                let len = bytes.saturating_sub(before as usize) as u8;
                out.extend([extend << 7 | flow << 5 | len & 0x1f]);
                out.extend(payload.bytes(0..bytes));
            }
        }
    }

    /// How many bytes [`close`](Self::close) has room for.
    pub(super) const fn room(&self, params: &Params) -> u32 {
        match params.link.framing {
            Framing::PulpTrdb => 16,
            Framing::Esp32 => 31 - ESP32_HEADER as u32,
            Framing::PulpRecords | Framing::PulpLines => PAYLOAD as u32,
            Framing::Encapsulated | Framing::Siemens => {
                31 + head_bits(params, self.timestamp.is_some()) / 8
            }
        }
    }

    /// Writes what comes between the header byte and the payload.
    pub(super) fn head(&self, class: Class, params: &Params, out: &mut Writer) {
        match params.link.framing {
            // The payload begins in the top two bits of the header.
            Framing::PulpTrdb if matches!(class, Class::Timer | Class::Software) => {
                out.uint("", 0, 8);
            }
            Framing::PulpTrdb => {
                out.uint("", 0, 6);
            }
            Framing::Esp32 | Framing::PulpRecords | Framing::PulpLines => {}
            Framing::Encapsulated | Framing::Siemens => {
                out.uint("", self.source.into(), params.link.source_width.into());
                if let Some(time) = self.timestamp {
                    out.uint("", time, u32::from(params.link.timestamp_bytes) * 8);
                }
                if params.link.framing == Framing::Encapsulated {
                    let kind = if class == Class::Data { DATA } else { INSTRUCTION };
                    out.uint("", kind.into(), params.link.type_width.into());
                }
            }
        }
    }
}

/// A packet of `len` bytes that the header cannot begin. It is waited for, so that what is bad does not
/// depend on how the bytes come.
fn reserved(header: u8, len: usize, bytes: &[u8]) -> Closed {
    if bytes.len() < len { Closed::Partial } else { Closed::Bad(len, Fault::Reserved(header)) }
}

/// Bits between the header byte and the type.
const fn head_bits(params: &Params, extend: bool) -> u32 {
    let time = if extend { params.link.timestamp_bytes as u32 * 8 } else { 0 };
    params.link.source_width as u32 + time
}

/// Header: length \[4:0], flow or type \[6:5], extend \[7]. ("Packet Encapsulation"; draft 0.026,
/// Figure 6.1)
#[inline]
fn encapsulated(header: u8, bytes: &[u8], params: &Params) -> Result<Opened, Closed> {
    let (len, flow, extend) = (usize::from(header & 0x1f), header >> 5 & 0b11, header >> 7 != 0);
    let siemens = params.link.framing == Framing::Siemens;
    let mut envelope = Envelope { flow: if siemens { 0 } else { flow }, ..Envelope::default() };
    if len == 0 {
        // It is a header alone. A type that Siemens messages do not have is none.
        let class = Class::Null { alignment: extend };
        let reader = Reader::new(bytes, 0, 1, 0).ok_or(Closed::Partial)?;
        envelope.flow = flow;
        return Ok(Opened { envelope, class, len: 1, reader });
    }
    let class = match (siemens, flow) {
        (false, _) | (true, INSTRUCTION) => Class::Instruction,
        (true, DATA) => Class::Data,
        (true, SUPPORT) if params.names_support() => Class::Support,
        // 0.026 does not say what its flow is.
        (true, _) if params.is_draft() => Class::Instruction,
        (true, _) => return Err(reserved(header, 1 + len, bytes)),
    };
    if siemens && class == Class::Instruction && flow != INSTRUCTION {
        envelope.flow = flow;
    }
    if extend && params.link.timestamp_bytes == 0 {
        return Err(Closed::Bad(1, Fault::ReservedForConfig(header)));
    }
    let head = head_bits(params, extend);
    let (start, skip) = (1 + (head / 8) as usize, head % 8);
    if head > 0 {
        let bits = bytes.get(1..start + usize::from(skip > 0)).ok_or(Closed::Partial)?;
        let mut head = Reader::new(bits, 0, bits.len(), 0).ok_or(Closed::Partial)?;
        envelope.source = head.uint("", 0, params.link.source_width.into()) as u16;
        if extend {
            let width = u32::from(params.link.timestamp_bytes) * 8;
            envelope.timestamp = Some(head.uint("", 0, width));
        }
    }
    let mut reader = Reader::new(bytes, start, len, skip).ok_or(Closed::Partial)?;
    let mut opened = class;
    if !siemens && params.link.type_width > 0 {
        let kind = reader.uint("", 0, params.link.type_width.into());
        opened = match kind {
            _ if kind == low(INSTRUCTION.into(), params.link.type_width.into()) => class,
            _ if kind == low(DATA.into(), params.link.type_width.into()) => Class::Data,
            _ => return Err(Closed::Bad(start + len, Fault::Reserved(header))),
        };
    }
    Ok(Opened { envelope, class: opened, len: start + len, reader })
}

/// Header: length \[3:0], message \[5:4], format \[7:6].
#[inline]
fn trdb(header: u8, bytes: &[u8]) -> Result<Opened, Closed> {
    let len = usize::from(header & 0xf);
    let (class, skip) = match header >> 4 & 0b11 {
        0 if header == 0 => (Class::Null { alignment: false }, 0),
        0 => return Err(reserved(header, 1 + len, bytes)),
        1 => (Class::Timer, 8),
        2 => (Class::Instruction, 6),
        _ => (Class::Software, 8),
    };
    let mut reader = Reader::new(bytes, 0, 1 + len, 0).ok_or(Closed::Partial)?;
    reader.uint("", 0, skip);
    Ok(Opened { envelope: Envelope::default(), class, len: 1 + len, reader })
}

/// Bytes before an ESP32 payload: the length of all, and the running number.
const ESP32_HEADER: usize = 3;

/// Header: length \[4:0] of the packet with its header, and 16 bits of a running number.
#[inline]
fn esp32(header: u8, bytes: &[u8]) -> Result<Opened, Closed> {
    let len = usize::from(header & 0x1f);
    if header & 0x7f == 0 {
        let reader = Reader::new(bytes, 0, 1, 0).ok_or(Closed::Partial)?;
        let (envelope, class) = (Envelope::default(), Class::Null { alignment: header >> 7 != 0 });
        return Ok(Opened { envelope, class, len: 1, reader });
    }
    if len <= ESP32_HEADER || header >> 5 != 0 {
        return Err(Closed::Bad(1, Fault::Reserved(header)));
    }
    let reader = Reader::new(bytes, ESP32_HEADER, len - ESP32_HEADER, 0).ok_or(Closed::Partial)?;
    let source = match bytes.get(1..ESP32_HEADER) {
        Some(&[low, high]) => u16::from_le_bytes([low, high]),
        _ => return Err(Closed::Partial),
    };
    let envelope = Envelope { source, ..Envelope::default() };
    Ok(Opened { envelope, class: Class::Instruction, len, reader })
}

/// Bytes of a record of PULP `rv_tracer`: a header, 8 of a timestamp, and room for the longest payload.
const RECORD: usize = 1 + TIME + PAYLOAD;
const TIME: usize = 8;
const PAYLOAD: usize = 31;

/// A record with its lowest bytes first as it is sent, or the other way round.
fn turned(mut record: [u8; RECORD], framing: Framing) -> [u8; RECORD] {
    if framing == Framing::PulpRecords {
        record.reverse();
    } else if let Some((_, rest)) = record.split_first_mut()
        && let Some((time, payload)) = rest.split_at_mut_checked(TIME)
    {
        time.reverse();
        payload.reverse();
    }
    record
}

/// Header: length \[4:0], flow \[6:5], extend \[7]. There is room for a timestamp in any case. (PULP
/// `rv_encapsulator`, `encap_pkg`: 8, 64 and 248 bits; what is beyond the length does not count.)
fn record(bytes: &[u8], framing: Framing) -> Result<Opened, Closed> {
    let record = turned(*bytes.first_chunk().ok_or(Closed::Partial)?, framing);
    let [header, rest @ ..] = record;
    let (len, flow, extend) = (usize::from(header & 0x1f), header >> 5 & 0b11, header >> 7 != 0);
    // A unit writes no records that say nothing.
    if len == 0 {
        return Err(Closed::Bad(RECORD, Fault::Reserved(header)));
    }
    let time = rest.first_chunk().map(|time| u64::from_le_bytes(*time)).filter(|_| extend);
    let envelope = Envelope { source: 0, flow, timestamp: time };
    let reader = Reader::new(&rest, TIME, len, 0).ok_or(Closed::Partial)?;
    Ok(Opened { envelope, class: Class::Instruction, len: RECORD, reader })
}
