//! Data encodings of packets. (K10.5.6.4)

use super::Malformed;

/// The bytes that are not consumed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bytes<'a>(pub(super) &'a [u8]);

/// Why a field cannot be read.
#[derive(Clone, Copy, Debug)]
pub(super) enum Stop {
    /// The stream ends.
    End,
    /// The stream is malformed.
    Malformed(Malformed),
}

impl From<Malformed> for Stop {
    fn from(malformed: Malformed) -> Stop {
        Stop::Malformed(malformed)
    }
}

impl Bytes<'_> {
    /// `ReadAndConsume(8)`. (K10.5.2.18.1)
    pub(super) fn byte(&mut self) -> Result<u8, Stop> {
        let (first, rest) = self.0.split_first().ok_or(Stop::End)?;
        self.0 = rest;
        Ok(*first)
    }

    /// `POD`: `bytes` bytes, little endian. (K10.5.6.4.1)
    pub(super) fn pod(&mut self, bytes: u32) -> Result<u64, Stop> {
        let mut value = 0;
        for n in 0..bytes {
            value |= u64::from(self.byte()?) << (8 * n);
        }
        Ok(value)
    }

    /// `BitReplacement`: continuable data of `n` bits that replaces the low bits of `original`.
    /// (K10.5.6.4.3)
    pub(super) fn bit_replacement(&mut self, n: u32, original: u128) -> Result<u128, Stop> {
        let mut r = original;
        let mut i = 0;
        let mut byte;
        loop {
            byte = self.byte()?;
            r = r & !(0x7f << i) | u128::from(byte & 0x7f) << i;
            i += 7;
            if byte & 0x80 == 0 || i + 8 >= n {
                break;
            }
        }
        if byte & 0x80 != 0 {
            byte = self.byte()?;
            r = r & !(0xff << i) | u128::from(byte) << i;
            if i + 8 > n {
                let end = if n.is_multiple_of(7) { 7 } else { n % 7 };
                if byte >> end != 0 {
                    return Err(Malformed::ShouldBeZero.into());
                }
            }
        }
        Ok(r)
    }

    /// `ULEB128`. (K10.5.6.4.2)
    pub(super) fn uleb128(&mut self, n: u32) -> Result<u128, Stop> {
        self.bit_replacement(n, 0)
    }
}
