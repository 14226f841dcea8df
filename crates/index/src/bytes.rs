//! Numbers as bytes, and parts of files.

use std::io::Read;
use std::ops::Range;

pub(crate) use tracewright_base::put_uleb128 as put;
use tracewright_base::{Context, Isa, Security, take_uleb128};
use tracewright_capture::Bytes;

/// Appends an optional number: 0, or the number plus 1; all ones saturate.
pub(crate) fn put_option(out: &mut Vec<u8>, value: Option<u64>) {
    put(out, value.map_or(0, |value| value.saturating_add(1)));
}

/// Bytes that are parsed from the front. Each method is `None` where the bytes end too early.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reader<'a>(pub(crate) &'a [u8]);

impl<'a> Reader<'a> {
    pub(crate) fn bytes(&mut self, len: usize) -> Option<&'a [u8]> {
        let (head, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(head)
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (head, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*head)
    }

    pub(crate) fn u8(&mut self) -> Option<u8> {
        self.array().map(|[byte]| byte)
    }

    pub(crate) fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_le_bytes)
    }

    pub(crate) fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    pub(crate) fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    /// A number that [`put`] wrote.
    #[inline]
    pub(crate) fn number(&mut self) -> Option<u64> {
        let (first, rest) = self.0.split_first()?;
        if first & 0x80 != 0 {
            return take_uleb128(&mut self.0);
        }
        self.0 = rest;
        Some((*first).into())
    }

    /// A number that is used as a count of things of at least one byte each: no greater than the
    /// number of bytes that are left.
    pub(crate) fn count(&mut self) -> Option<usize> {
        usize::try_from(self.number()?).ok().filter(|count| *count <= self.0.len())
    }

    /// A number that [`put_option`] wrote.
    pub(crate) fn option(&mut self) -> Option<Option<u64>> {
        Some(self.number()?.checked_sub(1))
    }
}

/// Appends a context in five numbers and two bytes.
pub(crate) fn put_context(out: &mut Vec<u8>, context: &Context) {
    put_option(out, context.context_id.map(u64::from));
    put_option(out, context.vmid.map(u64::from));
    put_option(out, context.el.map(u64::from));
    put(out, context.security.map_or(0, |security| 1 + security as u64));
    out.push(context.bits64.into());
    out.push(ISAS.iter().position(|isa| *isa == context.isa).unwrap_or(0) as u8);
}

/// The numbers of instruction sets are their positions here.
const ISAS: [Isa; 7] =
    [Isa::A64, Isa::A32, Isa::T32, Isa::ThumbEe, Isa::Jazelle, Isa::Rv32, Isa::Rv64];

/// A context that [`put_context`] wrote.
pub(crate) fn context(from: &mut Reader<'_>) -> Option<Context> {
    let narrow = |value: Option<u64>| match value {
        None => Some(None),
        Some(value) => Some(Some(u32::try_from(value).ok()?)),
    };
    Some(Context {
        context_id: narrow(from.option()?)?,
        vmid: narrow(from.option()?)?,
        el: match from.option()? {
            None => None,
            Some(el) => Some(u8::try_from(el).ok()?),
        },
        security: match from.number()? {
            0 => None,
            1 => Some(Security::Secure),
            2 => Some(Security::NonSecure),
            3 => Some(Security::Root),
            4 => Some(Security::Realm),
            _ => return None,
        },
        bits64: match from.u8()? {
            0 => false,
            1 => true,
            _ => return None,
        },
        isa: *ISAS.get(usize::from(from.u8()?))?,
    })
}

/// A difference with its sign in bit 0, so that small ones of both signs take few bytes.
pub(crate) const fn zigzag(difference: u64) -> u64 {
    difference << 1 ^ ((difference as i64) >> 63) as u64
}

/// The difference.
pub(crate) const fn unzigzag(value: u64) -> u64 {
    value >> 1 ^ (value & 1).wrapping_neg()
}

/// A part of the bytes. `None` where they end before it.
pub(crate) fn part(bytes: &Bytes, range: Range<u64>) -> Option<Vec<u8>> {
    let len = range.end.checked_sub(range.start)?;
    let part = bytes.part(range.start, len);
    if part.len() as u64 == len { read(&part) } else { None }
}

/// All bytes. `None` where they cannot be read.
pub(crate) fn read(bytes: &Bytes) -> Option<Vec<u8>> {
    let mut all = Vec::with_capacity(bytes.len());
    bytes.reader().read_to_end(&mut all).ok()?;
    (all.len() == bytes.len()).then_some(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_they_were_written() {
        let numbers = [0, 1, 0x7f, 0x80, 0x3fff, 0x4000, u64::from(u32::MAX), u64::MAX];
        for value in numbers {
            let mut out = Vec::new();
            put(&mut out, value);
            assert_eq!(Reader(&out).number(), Some(value));
            assert_eq!(Reader(&out[..out.len() - 1]).number(), None, "{value:#x} cut");
        }
        let mut out = Vec::new();
        for value in [None, Some(0), Some(9)] {
            put_option(&mut out, value);
        }
        let mut from = Reader(&out);
        assert_eq!(
            [from.option(), from.option(), from.option()],
            [Some(None), Some(Some(0)), Some(Some(9))]
        );
        // More than 64 bits.
        assert_eq!(
            Reader(&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2]).number(),
            None
        );
    }

    #[test]
    fn contexts_are_read_as_they_were_written() {
        for (n, isa) in ISAS.into_iter().enumerate() {
            let context = Context {
                context_id: (n % 2 == 0).then_some(n as u32),
                vmid: (n % 3 == 0).then_some(u32::MAX),
                el: (n < 4).then_some(n as u8),
                security: [None, Some(Security::Root), Some(Security::Secure)][n % 3],
                bits64: n == 0,
                isa,
            };
            let mut out = Vec::new();
            put_context(&mut out, &context);
            assert_eq!(super::context(&mut Reader(&out)), Some(context));
        }
    }

    #[test]
    fn differences_have_their_sign() {
        for value in [0, 1, -1, 63, -64, i64::MAX, i64::MIN] {
            assert_eq!(unzigzag(zigzag(value as u64)), value as u64, "{value}");
        }
        assert_eq!([zigzag(0), zigzag(u64::MAX), zigzag(1)], [0, 1, 2]);
    }
}
