//! Data encodings: POD, ULEB128, BitReplacement. (Arm ARM K10.5.6.4)

use tracewright_base::{Fault, Parse, Wire};

use super::super::Packet;
use super::{ete_1_3, etmv4_0};

/// ULEB128 of 32 bits: 5 bytes, of which the last has 4 bits.
#[test]
fn of_32_bits() {
    for (payload, want) in [
        (&[0x00][..], Some(0)),
        (&[0x7f], Some(0x7f)),
        (&[0x80, 0x01], Some(0x80)),
        (&[0xff, 0x7f], Some(0x3fff)),
        (&[0xff, 0xff, 0x7f], Some(0x1f_ffff)),
        (&[0xff, 0xff, 0xff, 0x7f], Some(0xfff_ffff)),
        (&[0xff, 0xff, 0xff, 0xff, 0x0f], Some(0xffff_ffff)),
        // Zeros above the width are valid.
        (&[0x81, 0x80, 0x80, 0x80, 0x00], Some(1)),
        // Bits 32 to 35, or a continuation.
        (&[0x80, 0x80, 0x80, 0x80, 0x10], None),
        (&[0x80, 0x80, 0x80, 0x80, 0x80], None),
    ] {
        let bytes = [&[0x2d], payload, &[0x00]].concat();
        let len = 1 + payload.len();
        let want = match want {
            Some(count) => Parse::Packet(Packet::Commit(count), len),
            None => Parse::Bad(len, Fault::Overlong),
        };
        for config in [etmv4_0(), ete_1_3()] {
            assert_eq!(Packet::parse(&bytes, &config), want, "{bytes:02x?}");
        }
    }
}

/// ULEB128 of 20 bits: 3 bytes, of which the last has 6 bits.
#[test]
fn of_20_bits() {
    for (payload, want) in [
        (&[0x00][..], Some(0)),
        (&[0xff, 0x7f], Some(0x3fff)),
        (&[0xff, 0xff, 0x3f], Some(0xf_ffff)),
        (&[0x80, 0x80, 0x40], None),
        (&[0x80, 0x80, 0x80], None),
    ] {
        let bytes = [&[0x03, 0x11], payload, &[0x00]].concat();
        let len = 2 + payload.len();
        let want = match want {
            Some(cycles) => {
                let packet = Packet::Timestamp { bits: 0x11, count: 7, cycles: Some(cycles) };
                Parse::Packet(packet, len)
            }
            None => Parse::Bad(len, Fault::Overlong),
        };
        assert_eq!(Packet::parse(&bytes, &etmv4_0()), want, "{bytes:02x?}");
    }
}

/// BitReplacement of 64 bits: 9 bytes, the last has all 8 bits.
#[test]
fn of_64_bits() {
    for count in 1..=9usize {
        let mut bytes = [0x02, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff];
        if count < 9 {
            bytes[count] = 0x7f;
        }
        let bits = if count < 9 { (1 << (7 * count)) - 1 } else { u64::MAX };
        let replaced = if count < 9 { 7 * count as u8 } else { 64 };
        let packet = Packet::Timestamp { bits, count: replaced, cycles: None };
        assert_eq!(Packet::parse(&bytes, &etmv4_0()), Parse::Packet(packet, 1 + count));
    }
}

/// BitReplacement of 15 bits: 2 bytes, the last has all 8 bits. It cannot be overlong.
#[test]
fn of_15_bits() {
    use super::super::{Address, SubIsa};
    for (payload, bits, count) in
        [(&[0x7f][..], 0x7f, 7), (&[0xff, 0x00], 0x7f, 15), (&[0x80, 0xff], 0x7f80, 15)]
    {
        let bytes = [&[0x95], payload, &[0xff]].concat();
        let address = Address::Short { is: SubIsa::Is0, bits: bits << 2, count: count + 2 };
        let want = Parse::Packet(Packet::Address(address), 1 + payload.len());
        assert_eq!(Packet::parse(&bytes, &etmv4_0()), want);
        let bytes = [&[0x96], payload, &[0xff]].concat();
        let address = Address::Short { is: SubIsa::Is1, bits: bits << 1, count: count + 1 };
        let want = Parse::Packet(Packet::Address(address), 1 + payload.len());
        assert_eq!(Packet::parse(&bytes, &etmv4_0()), want);
    }
}
