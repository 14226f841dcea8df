//! The contents of data packets: an address and a value. (IHI 0014, 7.4)

use core::fmt;

use super::isync::little_endian;

/// A data address as it was sent: low bits that replace those of the previous data address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DataAddress {
    /// The bits that were sent.
    pub bits: u32,
    /// Number of bits: 7, 14, 21, 28 or 32.
    pub count: u8,
    /// BE, in an address of five bytes: the access is big-endian (from ETMv3.1).
    pub big_endian: Option<bool>,
}

impl DataAddress {
    /// Reads an address. Returns it and its length.
    pub(super) fn read(bytes: &[u8]) -> Option<(Self, usize)> {
        let (mut bits, mut count) = (0, 0);
        for k in 0..4 {
            let byte = *bytes.get(k)?;
            bits |= u32::from(byte & 0x7f) << count;
            count += 7;
            if byte & 0x80 == 0 {
                return Some((DataAddress { bits, count, big_endian: None }, k + 1));
            }
        }
        let byte = *bytes.get(4)?;
        bits |= u32::from(byte & 0xf) << 28;
        let big_endian = Some(byte & 0x10 != 0);
        Some((DataAddress { bits, count: 32, big_endian }, 5))
    }

    pub(super) fn emit(&self, out: &mut impl Extend<u8>) {
        for shift in [0, 7, 14, 21] {
            let more = if self.count > shift + 7 { 0x80 } else { 0 };
            out.extend([(self.bits >> shift) as u8 & 0x7f | more]);
            if more == 0 {
                return;
            }
        }
        let big_endian = self.big_endian.unwrap_or(false) as u8;
        out.extend([(self.bits >> 28) as u8 & 0xf | big_endian << 4]);
    }
}

impl fmt::Display for DataAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.big_endian {
            Some(big) => {
                write!(f, "0x{:08x}{}", self.bits, if big { " big-endian" } else { "" })
            }
            None => write!(f, "{} bits 0x{:x}", self.count, self.bits),
        }
    }
}

/// A data value without its leading zero bytes. (Table 7-19)
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Value {
    /// The value.
    pub bits: u32,
    /// SS: 0, 1, 2 or 3 for 0, 1, 2 or 4 bytes in the packet.
    pub code: u8,
}

impl Value {
    /// Reads a value of size code `code`. Returns it and its length.
    pub(super) fn read(code: u8, bytes: &[u8]) -> Option<(Self, usize)> {
        let len = Self::len(code);
        Some((Value { bits: little_endian(bytes.get(..len)?), code }, len))
    }

    const fn len(code: u8) -> usize {
        match code & 3 {
            3 => 4,
            n => n as usize,
        }
    }

    pub(super) fn emit(&self, out: &mut impl Extend<u8>) {
        out.extend(self.bits.to_le_bytes().into_iter().take(Self::len(self.code)));
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "0x{:x}", self.bits)
    }
}
