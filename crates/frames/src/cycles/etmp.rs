//! The `.etmp` file: one trace port's cycles, with all that decoding needs beside the program.
//!
//! A head of 64 bytes, then records ([`Cycle::record`](super::Cycle::record)) to the end. Numbers
//! are little endian.
//!
//! | offset | size | what |
//! |---|---|---|
//! | 0 | 8 | `ETMPORT1` |
//! | 8 | 2 | version of the format: 1 |
//! | 10 | 1 | major version of the architecture: 1 or 2 |
//! | 11 | 1 | its minor version |
//! | 12 | 1 | TRACEPKT pins: 4, 8 or 16 |
//! | 13 | 1 | how the port was wired: 0 normal, 1 multiplexed, 2 demultiplexed; the records do not depend on it |
//! | 14 | 1 | flags: 0 half-rate clocking, 1 Trace Disabled cycles were discarded, 2 the trigger's place is known, 3 the buffer wrapped |
//! | 15 | 1 | 1: exception vectors are at 0xffff0000 (HIVECS) |
//! | 16 | 4 | ETMCR |
//! | 20 | 4 | ETMCCR |
//! | 24 | 4 | ETMIDR; 0 for ETMv1 |
//! | 28 | 4 | synchronisation frequency; 0 for the default of 1024 cycles |
//! | 32 | 8 | number of cycles |
//! | 40 | 8 | number of the cycle with the trigger; all ones where there is none |
//! | 48 | 1 | 1: data in memory are big endian |
//! | 49 | 15 | 0 |

use core::fmt;

use super::Width;
use super::port::Mode;

/// The first bytes of a file.
pub const MAGIC: [u8; 8] = *b"ETMPORT1";
/// Bytes before the first record.
pub const HEAD: usize = 64;
const FORMAT: u16 = 1;
const NO_TRIGGER: u64 = u64::MAX;

/// What the head of a file says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Head {
    /// Major version of the architecture: 1 or 2.
    pub major: u8,
    /// Minor version of the architecture.
    pub minor: u8,
    /// The port's TRACEPKT pins.
    pub width: Width,
    /// How the port was wired.
    pub mode: Mode,
    /// The port's clock ran at half rate.
    pub half_rate: bool,
    /// Trace Disabled cycles that say nothing were not kept.
    pub discarded: bool,
    /// The buffer wrapped: what was first is lost.
    pub wrapped: bool,
    /// HIVECS: exception vectors are at 0xffff0000.
    pub high_vectors: bool,
    /// ETMCR.
    pub control: u32,
    /// ETMCCR.
    pub code: u32,
    /// ETMIDR; 0 for ETMv1.
    pub id: u32,
    /// ETMSYNCFR; 0 for the default.
    pub sync_frequency: u32,
    /// Number of cycles.
    pub cycles: u64,
    /// Number of the cycle with the trigger.
    pub trigger: Option<u64>,
    /// Data in memory are big endian.
    pub big_endian: bool,
}

/// Why bytes are no head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotHead {
    /// They are shorter than one.
    Short,
    /// They begin with something else.
    Magic,
    /// A version of the format that is not known.
    Format(u16),
    /// A byte at this offset has a value that it cannot have.
    Value(usize),
}

impl fmt::Display for NotHead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NotHead::Short => write!(f, "it is shorter than the {HEAD} bytes of its head"),
            NotHead::Magic => f.write_str("it does not begin with ETMPORT1"),
            NotHead::Format(version) => {
                write!(f, "format version {version} is not known, only {FORMAT}")
            }
            NotHead::Value(at) => {
                write!(f, "the byte at offset {at} has a value that it cannot have")
            }
        }
    }
}

impl Head {
    /// Reads the head at the start of `bytes`.
    ///
    /// # Errors
    /// [`NotHead`] where there is none.
    pub fn read(bytes: &[u8]) -> Result<Head, NotHead> {
        if !bytes.starts_with(&MAGIC) {
            return Err(NotHead::Magic);
        }
        let head: &[u8; HEAD] = bytes.first_chunk().ok_or(NotHead::Short)?;
        let word =
            |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        let long = |at: usize| u64::from(word(at)) | u64::from(word(at + 4)) << 32;
        let format = u16::from_le_bytes([head[8], head[9]]);
        if format != FORMAT {
            return Err(NotHead::Format(format));
        }
        let flag = |at: usize| match head[at] {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(NotHead::Value(at)),
        };
        if !matches!(head[10], 1 | 2) {
            return Err(NotHead::Value(10));
        }
        if head[14] > 0b1111 {
            return Err(NotHead::Value(14));
        }
        if let Some(at) = (49..HEAD).find(|&at| head[at] != 0) {
            return Err(NotHead::Value(at));
        }
        let flags = head[14];
        let trigger = Some(long(40)).filter(|&at| flags >> 2 & 1 != 0 && at != NO_TRIGGER);
        Ok(Head {
            major: head[10],
            minor: head[11],
            width: Width::of_pins(head[12]).ok_or(NotHead::Value(12))?,
            mode: Mode::of_bits(head[13].into()).ok_or(NotHead::Value(13))?,
            half_rate: flags & 1 != 0,
            discarded: flags >> 1 & 1 != 0,
            wrapped: flags >> 3 & 1 != 0,
            high_vectors: flag(15)?,
            control: word(16),
            code: word(20),
            id: word(24),
            sync_frequency: word(28),
            cycles: long(32),
            trigger,
            big_endian: flag(48)?,
        })
    }

    /// Writes it.
    pub fn write(&self) -> [u8; HEAD] {
        let mut head = [0; HEAD];
        let mut at = 0;
        let mut put = |bytes: &[u8]| {
            if let Some(place) = head.get_mut(at..at + bytes.len()) {
                place.copy_from_slice(bytes);
            }
            at += bytes.len();
        };
        let flags = u8::from(self.half_rate)
            | u8::from(self.discarded) << 1
            | u8::from(self.trigger.is_some()) << 2
            | u8::from(self.wrapped) << 3;
        put(&MAGIC);
        put(&FORMAT.to_le_bytes());
        put(&[self.major, self.minor, self.width.pins(), self.mode.bits(), flags]);
        put(&[self.high_vectors.into()]);
        for word in [self.control, self.code, self.id, self.sync_frequency] {
            put(&word.to_le_bytes());
        }
        put(&self.cycles.to_le_bytes());
        put(&self.trigger.unwrap_or(NO_TRIGGER).to_le_bytes());
        put(&[self.big_endian.into()]);
        head
    }
}
