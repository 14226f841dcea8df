//! Conditional non-branch instructions and their results. (IHI 0064, "Conditional tracing"; ETMv4)

use core::fmt;

use tracewright_base::Fault;

use super::read::{Bytes, Stop};
use crate::bits::emit_groups;

/// A packet of conditional tracing. TRCIDR0.CONDTYPE determines the meaning of its keys and tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Conditional {
    /// `0110_1100` and a key: one conditional instruction.
    Instruction1 {
        /// Its key.
        key: u32,
    },
    /// `0100_00tt`, tt in 0..=2: one or two conditional instructions, keys from the last.
    Instruction2(u8),
    /// `0110_1101` and a byte: several conditional instructions, keys from the last.
    Instruction3 {
        /// The number of instructions: bits \[6:1] of the byte, 0 to 63.
        count: u8,
        /// Bit \[0]: one more instruction with a shared key.
        last: bool,
    },
    /// `0100_0011`: keys start again.
    Flush,
    /// `0110_10cc`, or `0110_111c` with one payload: results with their keys.
    Result1 {
        /// The older.
        first: Outcome,
        /// The newer, if there are two.
        second: Option<Outcome>,
    },
    /// `0100_1ktt`, tt in 0..=2: a result, its key from the last and `k`.
    Result2 {
        /// One key is skipped.
        skip: bool,
        /// The result.
        token: u8,
    },
    /// `0101_tttt` and a byte: up to six results of two bits, the last above 0b11 the end.
    Result3 {
        /// 12 bits.
        tokens: u16,
    },
    /// `0100_01tt`, tt in 0..=2: a result, with the key of the last.
    Result4 {
        /// The result.
        token: u8,
    },
}

/// A result with its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Outcome {
    /// Pass or fail, or APSR flags, 4 bits.
    pub result: u8,
    /// The key of the instruction.
    pub key: u32,
    /// A Conditional Instruction element belongs to it. (`CI`)
    pub interleaved: bool,
}

impl Outcome {
    /// A byte with key bits \[2:0] and the result, then groups of 7 key bits.
    fn parse(interleaved: bool, bytes: &mut Bytes<'_>) -> Result<Self, Stop> {
        let mut byte = bytes.byte()?;
        let result = byte & 0xf;
        let mut key = u64::from(byte >> 4 & 0b111);
        let mut count = 3;
        while byte & 0x80 != 0 {
            if count > 31 {
                return Err(bytes.bad(Fault::Overlong));
            }
            byte = bytes.byte()?;
            key |= u64::from(byte & 0x7f) << count;
            count += 7;
        }
        match u32::try_from(key) {
            Ok(key) => Ok(Outcome { result, key, interleaved }),
            Err(_) => Err(bytes.bad(Fault::Overlong)),
        }
    }

    fn emit(self, out: &mut impl Extend<u8>) {
        let mut key = self.key >> 3;
        let more = |key| if key != 0 { 0x80 } else { 0 };
        out.extend([self.result & 0xf | (self.key as u8 & 0b111) << 4 | more(key)]);
        while key != 0 {
            out.extend([key as u8 & 0x7f | more(key >> 7)]);
            key >>= 7;
        }
    }
}

impl Conditional {
    /// Whether `header` is that of one of these packets.
    pub(super) const fn is_header(header: u8) -> bool {
        matches!(header, 0x40..=0x46 | 0x48..=0x4a | 0x4c..=0x4e | 0x50..=0x5f | 0x68..=0x6f)
    }

    /// Reads the packet with `header`, `0100_xxxx` to `0110_xxxx`. `None`: the header is reserved.
    pub(super) fn parse(header: u8, bytes: &mut Bytes<'_>) -> Option<Result<Self, Stop>> {
        Some(Ok(match header {
            0x40..=0x42 => Conditional::Instruction2(header & 0b11),
            0x43 => Conditional::Flush,
            0x44..=0x46 => Conditional::Result4 { token: header & 0b11 },
            0x48..=0x4a | 0x4c..=0x4e => {
                Conditional::Result2 { skip: header & 0b100 != 0, token: header & 0b11 }
            }
            _ => return Self::parse_long(header, bytes).transpose(),
        }))
    }

    fn parse_long(header: u8, bytes: &mut Bytes<'_>) -> Result<Option<Self>, Stop> {
        Ok(Some(match header {
            0x50..=0x5f => {
                let tokens = u16::from(header & 0xf) << 8 | u16::from(bytes.byte()?);
                Conditional::Result3 { tokens }
            }
            0x68..=0x6b => {
                let first = Outcome::parse(header & 0b01 != 0, bytes)?;
                let second = Some(Outcome::parse(header & 0b10 != 0, bytes)?);
                Conditional::Result1 { first, second }
            }
            0x6c => Conditional::Instruction1 { key: bytes.uleb(32)? },
            0x6d => {
                let byte = bytes.byte()?;
                Conditional::Instruction3 { count: byte >> 1 & 0x3f, last: byte & 1 != 0 }
            }
            0x6e..=0x6f => {
                let first = Outcome::parse(header & 1 != 0, bytes)?;
                Conditional::Result1 { first, second: None }
            }
            _ => return Ok(None),
        }))
    }

    pub(super) fn emit(self, out: &mut impl Extend<u8>) {
        match self {
            Conditional::Instruction1 { key } => {
                out.extend([0x6c]);
                emit_groups(key.into(), 32 - key.leading_zeros() as u8, 32, out);
            }
            Conditional::Instruction2(kind) => out.extend([0x40 | kind.min(2)]),
            Conditional::Instruction3 { count, last } => {
                out.extend([0x6d, (count & 0x3f) << 1 | u8::from(last)]);
            }
            Conditional::Flush => out.extend([0x43]),
            Conditional::Result1 { first, second: None } => {
                out.extend([0x6e | u8::from(first.interleaved)]);
                first.emit(out);
            }
            Conditional::Result1 { first, second: Some(second) } => {
                let flags = u8::from(first.interleaved) | u8::from(second.interleaved) << 1;
                out.extend([0x68 | flags]);
                first.emit(out);
                second.emit(out);
            }
            Conditional::Result2 { skip, token } => {
                out.extend([0x48 | u8::from(skip) << 2 | token.min(2)]);
            }
            Conditional::Result3 { tokens } => {
                out.extend([0x50 | (tokens >> 8) as u8 & 0xf, tokens as u8]);
            }
            Conditional::Result4 { token } => out.extend([0x44 | token.min(2)]),
        }
    }
}

impl fmt::Display for Conditional {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Conditional::Instruction1 { key } => {
                write!(f, "conditional instruction, key {key} (format 1)")
            }
            Conditional::Instruction2(kind) => {
                write!(f, "conditional instruction, kind {kind} (format 2)")
            }
            Conditional::Instruction3 { count, last } => {
                let more = if last { " and a last" } else { "" };
                write!(f, "conditional instructions, {count}{more} (format 3)")
            }
            Conditional::Flush => f.write_str("conditional flush"),
            Conditional::Result1 { first, second } => {
                write!(f, "conditional result {} of key {}", first.result, first.key)?;
                if let Some(second) = second {
                    write!(f, ", {} of key {}", second.result, second.key)?;
                }
                f.write_str(" (format 1)")
            }
            Conditional::Result2 { skip, token } => {
                let skip = if skip { ", one key left out" } else { "" };
                write!(f, "conditional result {token}{skip} (format 2)")
            }
            Conditional::Result3 { tokens } => {
                write!(f, "conditional results 0x{tokens:03x} (format 3)")
            }
            Conditional::Result4 { token } => write!(f, "conditional result {token} (format 4)"),
        }
    }
}
