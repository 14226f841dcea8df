//! Integers in groups of seven bits. (DWARF 5, section 7.6; varint of protobuf)

use alloc::vec::Vec;

/// Appends an unsigned integer in LEB128: groups of seven bits, the least significant first; bit 7
/// of a byte is set where another byte follows.
pub fn put_uleb128(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Takes an unsigned integer in LEB128 from the start of `bytes`. `None`: the bytes end before it,
/// or it has more than 64 bits.
pub fn take_uleb128(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0u64;
    for shift in (0..u64::BITS).step_by(7) {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        let group = u64::from(byte & 0x7f);
        value |= group << shift;
        if value >> shift != group {
            return None;
        }
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows from DWARF 5, table 7.6, and the greatest values.
    #[test]
    fn integers() {
        for (bytes, want) in [
            (&[2][..], Some(2)),
            (&[127], Some(127)),
            (&[0x80, 1], Some(128)),
            (&[0x81, 1], Some(129)),
            (&[0x39 | 0x80, 0x64], Some(12857)),
            (&[0x80, 0x80, 0], Some(0)),
            (&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1], Some(u64::MAX)),
            (&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2], None),
            (&[0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0], None),
            (&[0x80], None),
            (&[], None),
        ] {
            let mut rest = bytes;
            assert_eq!(take_uleb128(&mut rest), want, "{bytes:x?}");
            assert!(want.is_none() || rest.is_empty());
            // The row of 0 has groups that it does not need.
            let mut out = Vec::new();
            put_uleb128(&mut out, want.unwrap_or_default());
            assert!(want.is_none() || want == Some(0) || out == bytes, "{bytes:x?}");
        }
    }
}
