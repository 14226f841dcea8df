//! Reading the payload of a packet.

use tracewright_base::Fault;

use crate::bits::{Groups, groups};

/// Why a packet cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    /// More bytes are needed.
    Partial,
    /// This number of bytes, from the header on, is undecodable.
    Bad(usize, Fault),
}

/// The bytes of a packet and the number of bytes read, including the header.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bytes<'a> {
    all: &'a [u8],
    pub(super) taken: usize,
}

impl<'a> Bytes<'a> {
    /// After the header.
    #[inline]
    pub(super) fn after_header(all: &'a [u8]) -> Self {
        Bytes { all, taken: 1 }
    }

    /// The bytes that have not been read.
    #[inline]
    pub(super) fn rest(&self) -> &'a [u8] {
        self.all.get(self.taken..).unwrap_or_default()
    }

    #[inline]
    pub(super) fn byte(&mut self) -> Result<u8, Stop> {
        let byte = *self.all.get(self.taken).ok_or(Stop::Partial)?;
        self.taken += 1;
        Ok(byte)
    }

    /// 8 bytes, the low one first.
    pub(super) fn u64(&mut self) -> Result<u64, Stop> {
        let bytes = *self.rest().first_chunk().ok_or(Stop::Partial)?;
        self.taken += 8;
        Ok(u64::from_le_bytes(bytes))
    }

    /// Groups of 7 bits for a field of `width` bits. Bits above the width must be zero.
    pub(super) fn groups(&mut self, width: u8) -> Result<Groups, Stop> {
        let field = groups(self.rest(), width).ok_or(Stop::Partial)?;
        self.taken += field.len;
        if width < 64 && field.bits >> width != 0 {
            return Err(self.bad(Fault::Overlong));
        }
        Ok(field)
    }

    /// A number of at most 32 bits in groups of 7. (`ULEB128`)
    #[inline]
    pub(super) fn uleb(&mut self, width: u8) -> Result<u32, Stop> {
        Ok(self.groups(width)?.bits as u32)
    }

    /// A number of at most 96 bits in groups of 7; above 32 bits it is `u32::MAX`. The 14th byte
    /// has no continuation: its bits above the number must be zero. (Arm ARM K10.5.6.4.3)
    pub(super) fn uleb_96(&mut self) -> Result<u32, Stop> {
        let mut value = 0u128;
        for group in 0..14 {
            let byte = self.byte()?;
            if group == 13 {
                if byte >> 5 != 0 {
                    return Err(self.bad(Fault::Overlong));
                }
                value |= u128::from(byte) << 91;
                break;
            }
            value |= u128::from(byte & 0x7f) << (7 * group);
            if byte & 0x80 == 0 {
                break;
            }
        }
        Ok(u32::try_from(value).unwrap_or(u32::MAX))
    }

    /// The bytes read are undecodable.
    pub(super) const fn bad(&self, fault: Fault) -> Stop {
        Stop::Bad(self.taken, fault)
    }

    /// Skips the bytes that another reader read from [`rest`](Self::rest).
    #[inline]
    pub(super) fn take<T>(&mut self, read: Option<(T, usize)>) -> Result<T, Stop> {
        let (value, len) = read.ok_or(Stop::Partial)?;
        self.taken += len;
        Ok(value)
    }
}
