//! The envelope of a payload: its length, its source and its time.

use tracewright_base::Fault;

use super::fields::{Fields, Reader, Writer, low};
use crate::etrace::config::{Framing, Params};

/// The fields of an encapsulation beside the payload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Envelope {
    /// The source (`srcID`, index). For ESP32: the index of the packet.
    pub source: u16,
    /// The destination of the packet (`flow`). Siemens framing has the type in its bits.
    pub flow: u8,
    /// The timestamp, in the units of the transport.
    pub timestamp: Option<u64>,
}

/// The kind of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    /// No payload.
    Null { alignment: bool },
    /// Instruction trace. 0.026: the payload has a type of its own.
    Instruction,
    /// te_support, if the header distinguishes it. (0.026)
    Support,
    /// Data trace.
    Data,
    /// A message that this project defines (no specification has it).
    Own,
    /// The value of a counter (PULP `trdb`).
    Timer,
    /// A software write (PULP `trdb`).
    Software,
}

/// An envelope that was read.
pub(super) struct Opened {
    pub(super) envelope: Envelope,
    pub(super) class: Class,
    /// The length of the packet in bytes.
    pub(super) len: usize,
    /// A reader at the first bit of the payload.
    pub(super) reader: Reader,
}

/// Why no envelope was read.
pub(super) enum Closed {
    Partial,
    Bad(usize, Fault),
}

/// The extent and the source of the message at the start of some bytes.
pub(in crate::etrace) enum Extent {
    /// A header without payload.
    Null,
    /// More bytes must follow.
    Partial,
    /// No message begins with these bytes.
    Bad,
    /// The length in bytes, and the source number.
    Of { len: usize, source: u16 },
}

/// Message types of Siemens framing and of the encapsulation: te_inst and te_data.
const INSTRUCTION: u8 = 0b10;
const DATA: u8 = 0b11;
/// The message type of the messages that this project defines.
const OWN: u8 = 0b01;

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

    /// The extent of the message at the start of `bytes`, if messages have source numbers.
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

    /// The flow of a plain header of instruction trace.
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
            // The first two bits of the payload are in the header.
            Framing::PulpTrdb => {
                let kind = match class {
                    Class::Null { .. } => return out.extend([0]),
                    Class::Timer => 1,
                    Class::Software => 3,
                    Class::Instruction | Class::Support | Class::Data | Class::Own => 2,
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
                    (_, Class::Own) => OWN,
                    (_, Class::Support) => SUPPORT,
                    // 0.026 does not define the flow, unless it is `msg_type`.
                    (_, Class::Instruction)
                        if self.flow != 0 && params.is_draft() && !params.names_support() =>
                    {
                        self.flow & 0b11
                    }
                    _ => INSTRUCTION,
                };
                let extend = u8::from(self.timestamp.is_some() && params.link.timestamp_bytes > 0);
                // Bits of the source number beyond whole bytes count as payload.
                let before = head_bits(params, extend != 0) / 8;
                let len = bytes.saturating_sub(before as usize) as u8;
                out.extend([extend << 7 | flow << 5 | len & 0x1f]);
                out.extend(payload.bytes(0..bytes));
            }
        }
    }

    /// The most payload bytes of [`close`](Self::close).
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

    /// Writes the fields between the header byte and the payload.
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
                    let kind = match class {
                        Class::Data => DATA,
                        Class::Own => OWN,
                        _ => INSTRUCTION,
                    };
                    out.uint("", kind.into(), params.link.type_width.into());
                }
            }
        }
    }
}

/// A malformed packet of `len` bytes. The reader waits for all of them, so that the extent of
/// undecodable bytes does not depend on the chunks of the input.
fn reserved(header: u8, len: usize, bytes: &[u8]) -> Closed {
    if bytes.len() < len { Closed::Partial } else { Closed::Bad(len, Fault::Reserved(header)) }
}

/// The number of bits between the header byte and the type.
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
        // A header alone. Siemens messages have no other types.
        let class = Class::Null { alignment: extend };
        let reader = Reader::new(bytes, 0, 1, 0).ok_or(Closed::Partial)?;
        envelope.flow = flow;
        return Ok(Opened { envelope, class, len: 1, reader });
    }
    let class = match (siemens, flow) {
        (false, _) | (true, INSTRUCTION) => Class::Instruction,
        (true, DATA) => Class::Data,
        (true, OWN) if params.own.any() => Class::Own,
        (true, SUPPORT) if params.names_support() => Class::Support,
        // 0.026 does not define the flow, unless it is `msg_type`.
        (true, _) if params.is_draft() && !params.names_support() => Class::Instruction,
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
            _ if kind == OWN.into() && params.own.any() => Class::Own,
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

/// Bytes before an ESP32 payload: the length of the packet, and the index.
const ESP32_HEADER: usize = 3;

/// Header: length \[4:0] of the packet with its header, and an index of 16 bits.
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

/// Bytes of a record of PULP `rv_tracer`: a header, a timestamp of 8 bytes, and the longest
/// payload.
const RECORD: usize = 1 + TIME + PAYLOAD;
const TIME: usize = 8;
const PAYLOAD: usize = 31;

/// Reverses a record between the order of transmission and the order of the file.
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

/// Header: length \[4:0], flow \[6:5], extend \[7]. The timestamp is always present. (PULP
/// `rv_encapsulator`, `encap_pkg`: 8, 64 and 248 bits; bits beyond the length are ignored.)
fn record(bytes: &[u8], framing: Framing) -> Result<Opened, Closed> {
    let record = turned(*bytes.first_chunk().ok_or(Closed::Partial)?, framing);
    let [header, rest @ ..] = record;
    let (len, flow, extend) = (usize::from(header & 0x1f), header >> 5 & 0b11, header >> 7 != 0);
    // A unit writes no empty records.
    if len == 0 {
        return Err(Closed::Bad(RECORD, Fault::Reserved(header)));
    }
    let time = rest.first_chunk().map(|time| u64::from_le_bytes(*time)).filter(|_| extend);
    let envelope = Envelope { source: 0, flow, timestamp: time };
    let reader = Reader::new(&rest, TIME, len, 0).ok_or(Closed::Partial)?;
    Ok(Opened { envelope, class: Class::Instruction, len: RECORD, reader })
}
