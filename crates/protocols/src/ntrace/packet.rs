//! A message: its fields, their reading, writing and display.
//!
//! ("N-Trace Transmission Protocol": a byte has MSEO in bits \[1:0] and six bits of data, MDO, in
//! bits \[7:2].)

pub mod fields;
mod message;
pub(super) mod quick;

use core::fmt;

use tracewright_base::{Fault, Parse, Wire};
use tracewright_frames::nexus_port::CALIBRATION;

use super::config::Config;
use super::names;
use crate::kind::{PacketKind, PacketKinds};
use crate::protocol::Field;
use fields::{Fields, Namer, Printer, Reader, Writer};

pub use message::{Message, Process, Raw};

/// MSEO 01: the last byte of a field of variable width.
pub const END_OF_FIELD: u8 = 0b01;
/// MSEO 11: the last byte of a message; at the beginning of a message, an idle byte.
pub const END_OF_MESSAGE: u8 = 0b11;
/// MSEO 10, which is reserved.
const RESERVED: u8 = 0b10;

/// The most bytes of a message. The longest of 1.0 has 38. ("Max Field Sizes")
pub const MAX_LEN: usize = 64;

/// The MSEO of a byte.
#[inline]
pub const fn mseo(byte: u8) -> u8 {
    byte & 0b11
}

/// A message: the values of its fields.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Packet {
    /// SRC; 0 where messages have none.
    pub source: u16,
    /// The fields between SRC and TSTAMP.
    pub message: Message,
    /// TSTAMP: absolute in messages with SYNC, else a difference.
    pub time: Option<u64>,
}

impl From<Message> for Packet {
    fn from(message: Message) -> Self {
        Packet { source: 0, message, time: None }
    }
}

/// The message comes first: its name is the kind of the packet.
impl fmt::Debug for Packet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} of source {} at {:?}", self.message, self.source, self.time)
    }
}

impl PacketKinds for Packet {
    const KINDS: &'static [PacketKind] = Message::KINDS;

    fn kind(&self) -> PacketKind {
        self.message.kind()
    }
}

/// The length of the message that begins at the first byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Span {
    /// A byte between messages: MSEO 11, or 00 in memory that was not written.
    Between,
    /// A calibration pattern: the number of its bytes.
    Calibration(usize),
    /// The number of bytes up to MSEO 11.
    Whole(usize),
    /// The message continues after the bytes.
    Partial,
    /// Bytes that are no message, up to the end of the message where it is known.
    Bad(usize, Fault),
}

impl Span {
    /// Finds the end of the message that begins at the first byte.
    #[inline]
    pub fn of(bytes: &[u8]) -> Span {
        match bytes.first() {
            None => return Span::Partial,
            Some(0) => return Span::Between,
            Some(&byte) if mseo(byte) == END_OF_MESSAGE => return Span::Between,
            Some(&byte) if mseo(byte) == RESERVED => {
                if let Some((_, len)) = Message::calibration(bytes) {
                    return Span::Calibration(len);
                }
            }
            Some(_) => {}
        }
        let window = bytes.get(..MAX_LEN).unwrap_or(bytes);
        let mut reserved = mseo(window.first().copied().unwrap_or_default()) != 0;
        for (n, &byte) in window.iter().enumerate() {
            match mseo(byte) {
                END_OF_MESSAGE if reserved => return Span::Bad(n + 1, Fault::Sequence),
                END_OF_MESSAGE => return Span::Whole(n + 1),
                RESERVED => reserved = true,
                _ => {}
            }
        }
        match window.len() {
            MAX_LEN => Span::Bad(MAX_LEN, Fault::Overlong),
            _ => Span::Partial,
        }
    }
}

/// A calibration pattern by its number: the ports that have it, and its bytes.
fn calibration(pattern: u8) -> (&'static str, &'static [u8]) {
    CALIBRATION.get(usize::from(pattern)).copied().unwrap_or_default()
}

impl Wire<Config> for Packet {
    fn parse(bytes: &[u8], config: &Config) -> Parse<Self> {
        match Span::of(bytes) {
            Span::Partial => Parse::Partial,
            Span::Bad(len, fault) => Parse::Bad(len, fault),
            Span::Between => Parse::Packet(Packet::between(bytes), 1),
            Span::Calibration(len) => Parse::Packet(Packet::between(bytes), len),
            Span::Whole(len) => {
                let message = bytes.get(..len).unwrap_or_default();
                match Packet::read(message, config) {
                    Ok(packet) => Parse::Packet(packet, len),
                    Err(fault) => Parse::Bad(len, fault),
                }
            }
        }
    }

    fn emit(&self, config: &Config, out: &mut impl Extend<u8>) {
        match self.message {
            Message::Idle { byte } => out.extend([byte]),
            Message::Unwritten => out.extend([0]),
            Message::Calibration { pattern } => out.extend(calibration(pattern).1.iter().copied()),
            Message::Opaque(raw) => out.extend(raw.bytes().iter().copied()),
            message => {
                let mut writer = Writer::new(config);
                writer.fixed("TCODE", message.tcode().into(), 6);
                writer.fixed("SRC", self.source.into(), config.link.source_bits.into());
                message.fields(&mut writer, config);
                writer.time(self.time);
                out.extend(writer.finish().iter().copied());
            }
        }
    }
}

impl Packet {
    /// The message that an encoder sends: with its source number.
    pub const fn sent(message: Message, time: Option<u64>, config: &Config) -> Packet {
        let source = if config.has_sources() { config.link.source } else { 0 };
        Packet { source, message, time }
    }

    /// A byte between messages, or a calibration pattern.
    fn between(bytes: &[u8]) -> Packet {
        if let Some((message, _)) = Message::calibration(bytes) {
            return message.into();
        }
        match bytes.first() {
            Some(&byte) if byte != 0 => Message::Idle { byte }.into(),
            _ => Message::Unwritten.into(),
        }
    }

    /// Reads the whole message `bytes`.
    fn read(bytes: &[u8], config: &Config) -> Result<Packet, Fault> {
        let mut reader = Reader::new(bytes, config);
        let packet = Packet::take(&mut reader, bytes, config);
        match reader.fault(matches!(packet.message, Message::Opaque(_))) {
            None => Ok(packet),
            Some(fault) => Err(fault),
        }
    }

    /// Takes the fields of the message `bytes` from `f`.
    fn take(f: &mut impl Fields, bytes: &[u8], config: &Config) -> Packet {
        let tcode = f.fixed("TCODE", 0, 6) as u8;
        let source = f.fixed("SRC", 0, config.link.source_bits.into()) as u16;
        let blank = Message::of_tcode(tcode, config.profile);
        let message = blank.and_then(|blank| blank.fields(f, config));
        match message {
            Some(message) => Packet { source, message, time: f.time(None) },
            None => Packet { source, message: Message::Opaque(Raw::new(bytes)), time: None },
        }
    }

    /// Lists the fields of the message that begins at the first byte, in their order. `at` counts
    /// data bits: the bits \[7:2] of each byte.
    pub fn explain(bytes: &[u8], config: &Config, each: &mut dyn FnMut(Field)) {
        if let Span::Whole(len) = Span::of(bytes) {
            let message = bytes.get(..len).unwrap_or_default();
            let mut namer = Namer::new(Reader::new(message, config), each);
            Packet::take(&mut namer, message, config);
        }
    }

    /// SYNC, for a message that has it.
    pub const fn sync(&self) -> Option<u8> {
        self.message.sync()
    }
}

impl fmt::Display for Packet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.message {
            Message::Idle { byte: 0xff } => f.write_str("idle"),
            Message::Idle { byte } => write!(f, "idle 0x{byte:02x}"),
            Message::Unwritten => f.write_str("unwritten"),
            Message::Calibration { pattern } => {
                write!(f, "calibration pattern ({})", calibration(pattern).0)
            }
            Message::Opaque(raw) => {
                let name = match raw.tcode() {
                    // Which vendor's it is is not known.
                    56..=62 => "vendor defined",
                    tcode => names::tcode(tcode),
                };
                write!(f, "TCODE {} ({name})", raw.tcode())?;
                raw.bytes().iter().try_for_each(|byte| write!(f, " {byte:02x}"))
            }
            message => {
                f.write_str(names::tcode(message.tcode()))?;
                let mut printer = Printer::new(f, message.tcode());
                if self.source != 0 {
                    printer.fixed("SRC", self.source.into(), 12);
                }
                message.fields(&mut printer, &Config::default());
                printer.time(self.time);
                printer.finish()
            }
        }
    }
}
