//! The address bytes of a branch or a waypoint update: the low bits that changed.

use core::fmt;

use tracewright_base::{Fault, Isa};

/// The low bits of an address, in units of the instruction set's alignment.
///
/// (IHI 0035, "Branch address packet") Each byte is `Cxxx_xxxx`. In the last byte C is 0, and bit E
/// below it states that information bytes follow:
///
/// | byte | address bits | in T32 state: bit 0 is never sent |
/// |---|---|---|
/// | 1 | `Cxxx_xxx1` | \[6:1] |
/// | 2 | `1xxx_xxxx` or `0Exx_xxxx` | \[13:7] or \[12:7] |
/// | 3 | the same | \[20:14] or \[19:14] |
/// | 4 | the same | \[27:21] or \[26:21] |
/// | 5 | `0E00_1xxx` A32, `0E01_xxxx` T32, `0E1x_xxxx` Jazelle | \[31:28] |
///
/// A32 addresses are the same bits shifted left by one, Jazelle addresses shifted right by one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Address {
    bits: u32,
    bytes: u8,
    state: Option<State>,
}

/// The instruction set in the fifth address byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// `001x` in bits \[5:3]: A32.
    Arm,
    /// `01xx`: T32 or ThumbEE.
    Thumb,
    /// `1xxx`: Jazelle.
    Jazelle,
}

/// Number of address bits in 1 to 4 bytes.
const WIDTHS: [u8; 4] = [6, 12, 19, 26];

impl Default for Address {
    /// The shortest address, all bits clear.
    fn default() -> Self {
        Address { bits: 0, bytes: 1, state: None }
    }
}

/// An address, whether information bytes follow, and its length; or an invalid length and its
/// fault.
type Parsed = Result<(Address, bool, usize), (usize, Fault)>;

impl Address {
    /// All of `address`, in five bytes.
    pub const fn full(address: u32, state: State) -> Self {
        let bits = match state {
            State::Arm => address >> 2,
            State::Thumb => address >> 1,
            State::Jazelle => address,
        };
        Address { bits, bytes: 5, state: Some(state) }
    }

    /// The low bits of `address` in `bytes` bytes, 1 to 4, in the instruction set `isa`.
    pub const fn low(address: u32, bytes: u8, isa: Isa) -> Self {
        let bytes = if bytes < 1 {
            1
        } else if bytes > 4 {
            4
        } else {
            bytes
        };
        let bits = address >> shift(isa) & mask(WIDTHS[bytes as usize - 1]);
        Address { bits, bytes, state: None }
    }

    /// Length in bytes, 1 to 5.
    pub const fn bytes(&self) -> u8 {
        self.bytes
    }

    /// The instruction set, which only an address of five bytes has.
    pub const fn state(&self) -> Option<State> {
        self.state
    }

    /// The low bits of the byte address in the instruction set `isa`, and their number.
    pub fn value(&self, isa: Isa) -> (u32, u8) {
        let by = match self.state {
            Some(State::Arm) => 2,
            Some(State::Thumb) => 1,
            Some(State::Jazelle) => 0,
            None => shift(isa),
        };
        let width = WIDTHS.get(usize::from(self.bytes.wrapping_sub(1))).map_or(32, |w| w + by);
        (self.bits << by, width)
    }

    /// The address of a Branch packet without information bytes, and its length. `None`: another
    /// packet, or bytes are missing.
    #[inline]
    pub(in crate::ptm) fn alone(bytes: &[u8]) -> Option<(Address, usize)> {
        if let Some(first) = bytes.first_chunk() {
            let word = u32::from_le_bytes(*first);
            // The last byte is the first one with bit 7 clear.
            let last = (!word & 0x8080_8080).trailing_zeros() / 8;
            if last < 4 && word & 1 != 0 {
                let word = word & u32::MAX >> (24 - 8 * last);
                // Information bytes follow.
                if last > 0 && word >> (8 * last) & 0x40 != 0 {
                    return None;
                }
                let groups = [word >> 1 & 0x3f, word >> 2 & 0x1fc0, word >> 3 & 0xf_e000];
                let bits = groups[0] | groups[1] | groups[2] | word >> 4 & 0x7f0_0000;
                let address = Address { bits, bytes: last as u8 + 1, state: None };
                return Some((address, last as usize + 1));
            }
        }
        if bytes.first()? & 1 == 0 {
            return None;
        }
        match Address::parse(bytes)? {
            Ok((address, false, len)) => Some((address, len)),
            _ => None,
        }
    }

    /// Parses an address. `None`: bytes are missing.
    #[inline]
    pub(super) fn parse(bytes: &[u8]) -> Option<Parsed> {
        let first = *bytes.first()?;
        let mut bits = u32::from(first >> 1 & 0x3f);
        if first & 0x80 == 0 {
            return Some(Ok((Address { bits, bytes: 1, state: None }, false, 1)));
        }
        let mut at = 6;
        for k in 1..4u8 {
            let byte = *bytes.get(usize::from(k))?;
            if byte & 0x80 == 0 {
                bits |= u32::from(byte & 0x3f) << at;
                let address = Address { bits, bytes: k + 1, state: None };
                return Some(Ok((address, byte & 0x40 != 0, usize::from(k) + 1)));
            }
            bits |= u32::from(byte & 0x7f) << at;
            at += 7;
        }
        let last = *bytes.get(4)?;
        if last & 0x80 != 0 {
            return Some(Err((5, Fault::Overlong)));
        }
        let (state, top) = match last & 0x3f {
            top @ 0x20..=0x3f => (State::Jazelle, top & 0x1f),
            top @ 0x10..=0x1f => (State::Thumb, top & 0x0f),
            top @ 0x08..=0x0f => (State::Arm, top & 0x07),
            _ => return Some(Err((5, Fault::Sequence))),
        };
        bits |= u32::from(top) << at;
        Some(Ok((Address { bits, bytes: 5, state: Some(state) }, last & 0x40 != 0, 5)))
    }

    /// Writes the bytes. An address with information bytes takes at least two bytes.
    pub(super) fn emit(&self, info: bool, out: &mut impl Extend<u8>) {
        let follow = if info { 0x40 } else { 0 };
        let bytes = if info { self.bytes.max(2) } else { self.bytes };
        let first = 1 | (self.bits as u8 & 0x3f) << 1;
        out.extend([first | if bytes > 1 { 0x80 } else { 0 }]);
        let mut rest = self.bits >> 6;
        for k in 2..=bytes {
            out.extend([match (k, self.state) {
                (5, Some(State::Jazelle)) => 0x20 | rest as u8 & 0x1f | follow,
                (5, Some(State::Thumb)) => 0x10 | rest as u8 & 0x0f | follow,
                (5, _) => 0x08 | rest as u8 & 0x07 | follow,
                _ if k == bytes => rest as u8 & 0x3f | follow,
                _ => 0x80 | rest as u8,
            }]);
            rest >>= 7;
        }
    }
}

/// Number of address bits below those that are sent. An unknown instruction set is read as T32.
const fn shift(isa: Isa) -> u8 {
    match isa {
        Isa::A32 => 2,
        Isa::Jazelle => 0,
        _ => 1,
    }
}

const fn mask(width: u8) -> u32 {
    u32::MAX >> (32 - width)
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let isa = match self.state {
            Some(State::Arm) => "A32",
            Some(State::Thumb) => "T32",
            Some(State::Jazelle) => "Jazelle",
            None => {
                let width = WIDTHS.get(usize::from(self.bytes.wrapping_sub(1))).unwrap_or(&32);
                return write!(f, "to low {width} bits 0x{:x}", self.bits);
            }
        };
        write!(f, "to 0x{:08x} {isa}", self.value(Isa::A32).0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_alone_is_parsed_as_any_other() {
        const BYTES: [u8; 10] = [0x00, 0x01, 0x15, 0x3f, 0x40, 0x5a, 0x81, 0xaa, 0xc0, 0xff];
        for n in 0..100_000usize {
            let byte = |k: u32| BYTES[n / 10usize.pow(k) % 10];
            let all = [byte(0) | 1, byte(1), byte(2), byte(3), byte(4)];
            for len in 1..=all.len() {
                let bytes = &all[..len];
                let want = match Address::parse(bytes) {
                    Some(Ok((address, false, len))) => Some((address, len)),
                    _ => None,
                };
                assert_eq!(Address::alone(bytes), want, "{bytes:02x?}");
            }
            assert_eq!(Address::alone(&[all[0] & !1, all[1], all[2], all[3]]), None);
        }
    }
}
