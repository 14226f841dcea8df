//! Statuses and addresses, from IHI 0014, chapter 5.

use std::string::ToString;
use std::vec;

use tracewright_base::{Fault, Isa, Parse};

use super::*;
use crate::etmv1::History;
use crate::etmv1::packet::{Address, Last, Pins, Reason};

/// Table 3-5, Table 1-1.
#[test]
fn configuration() {
    let all = unit_with(3, 0xffff_ffff, &[("HIVECS", 1), ("BIGEND", 1), ("LDCWORDS", 0x41)]);
    assert_eq!((all.minor, all.width().pins(), all.context_bytes()), (3, 16, 4));
    assert!(all.core.high_vectors && all.core.big_endian);
    assert_eq!((all.core.words(0), all.core.words(1), all.core.words(2)), (Some(1), Some(4), None));
    for (code, minor) in [(0, 0), (1, 1), (2, 2), (3, 3), (4, 2), (5, 3), (7, 3)] {
        assert_eq!(unit(code, 0).minor, minor, "protocol {code}");
    }
    for (bits, pins) in [(0, 4), (1, 8), (2, 16)] {
        assert_eq!(unit(0, bits << 4).width().pins(), pins);
    }
    for (bits, bytes) in [(0, 0), (1, 1), (2, 2), (3, 4)] {
        assert_eq!(unit(2, bits << 14).context_bytes(), bytes);
        assert_eq!(unit(1, bits << 14).context_bytes(), 0);
    }
    let missing = Config::new(&|name| (name == "ETMCR").then_some(0)).unwrap_err();
    assert_eq!(missing.name, "ETMCCR");
}

/// Table 5-1, on each port.
#[test]
fn every_status() {
    let pins = Pins { sync: true, packet: 0x3 };
    let table = [
        (0b000, Packet::Executed(pins), "IE* 03"),
        (0b001, Packet::ExecutedData(pins), "ID* 03"),
        (0b010, Packet::NotExecuted(pins), "IN* 03"),
        (0b011, Packet::Wait(pins), "WT* 03"),
        (0b100, Packet::Branch(pins), "BE* 03"),
        (0b101, Packet::BranchData(pins), "BD* 03"),
        (0b110, Packet::Trigger(pins), "TR* 03"),
        (0b111, Packet::Disabled(pins), "TD* 03"),
    ];
    for width in [W4, W8, W16] {
        let config = unit(3, width);
        for (status, packet, text) in table {
            assert_eq!(packet.cycle().status, status);
            assert_eq!(packet.to_string(), text);
            ways::round_trip::<Etmv1>(&config, packet, 0);
        }
    }
    // Pins that the port does not have.
    for (width, bytes) in [(W8, vec![0, 0x10]), (W16, vec![0, 0, 0x10, 0])] {
        let bad = Packet::parse(&bytes, &unit(3, width));
        assert_eq!(bad, Parse::Bad(bytes.len(), Fault::NoSuchPins));
    }
}

const fn whole(bits: u32, reason: Reason) -> Address {
    Address { bits, count: 32, last: Some(Last { reason, jazelle: false, context_id: None }) }
}

const fn low(bits: u32, count: u8) -> Address {
    Address { bits, count, last: None }
}

#[track_caller]
fn both_ways(config: &Config, bytes: &[u8], want: Address) {
    assert_eq!(Address::parse(bytes, config), Parse::Packet(want, bytes.len()), "{bytes:02x?}");
    for len in 0..bytes.len() {
        assert_eq!(Address::parse(&bytes[..len], config), Parse::Partial);
    }
    let mut out = Vec::new();
    want.emit(config, &mut out);
    assert_eq!(out, bytes);
}

/// 5.5.4: the bytes of addresses, and the completed addresses.
#[test]
fn addresses() {
    let config = unit(3, W8);
    let jazelle = Address {
        bits: 0x12345,
        count: 32,
        last: Some(Last { reason: Reason::Branch, jazelle: true, context_id: None }),
    };
    for (bytes, want) in [
        (&[0x80, 0x80, 0x82, 0x80, 0x10][..], whole(0x8000, Reason::Enabled)),
        (&[0x80, 0x80, 0x82, 0x80, 0x40], whole(0x8000, Reason::Periodic)),
        (&[0xec, 0xfd, 0xb6, 0xf5, 0x2d], whole(0xdead_beec, Reason::Overflow)),
        (&[0xc5, 0xc6, 0x84, 0x80, 0x80], jazelle),
        (&[0x10], low(0x10, 7)),
        (&[0x84, 0x02], low(0x104, 14)),
        (&[0x81, 0x04], low(0x201, 14)),
        (&[0x98, 0x80, 0x00], low(0x18, 21)),
        (&[0x98, 0x80, 0xfc, 0xff, 0x0f], whole(0xffff_0018, Reason::Branch)),
        (&[0x84, 0x82, 0xa2, 0x01], low(0x0028_8104 & 0x0fff_ffff | 0x20_0000, 28)),
    ] {
        both_ways(&config, bytes, want);
    }

    // The J bit exists from ETMv1.3 on: an earlier unit never sets it, and ignores it.
    let (earlier, mut out) = (unit(2, W8), Vec::new());
    jazelle.emit(&earlier, &mut out);
    assert_eq!(out, [0xc5, 0xc6, 0x84, 0x80, 0x00]);
    let plain = Parse::Packet(whole(0x12345, Reason::Branch), 5);
    assert_eq!(Address::parse(&[0xc5, 0xc6, 0x84, 0x80, 0x80], &earlier), plain);

    // Each address is completed by the one before. (5.5.4, with its example of A[19])
    let mut history = History::default();
    for (bytes, address, isa) in [
        (&[0x80, 0x80, 0x82, 0x80, 0x10][..], 0x8000, Isa::A32),
        (&[0x10], 0x8010, Isa::A32),
        (&[0x84, 0x02], 0x8104, Isa::A32),
        (&[0x84, 0x82, 0x22], 0x0008_8104, Isa::A32),
        (&[0x84, 0x82, 0x02], 0x8104, Isa::A32),
        (&[0x81, 0x04], 0x8200, Isa::T32),
        (&[0x84, 0x02], 0x8104, Isa::A32),
        (&[0x98, 0x80, 0x00], 0x18, Isa::A32),
        (&[0x98, 0x80, 0xfc, 0xff, 0x0f], 0xffff_0018, Isa::A32),
        (&[0xc5, 0xc6, 0x84, 0x80, 0x80], 0x12345, Isa::Jazelle),
        // In Jazelle state bit 0 belongs to the byte code's address.
        (&[0x46], 0x12346, Isa::Jazelle),
        (&[0x81, 0x80, 0x82, 0x80, 0x00], 0x8000, Isa::T32),
        // Bit 1 of an A32 address has no meaning.
        (&[0x06], 0x8004, Isa::A32),
    ] {
        let Parse::Packet(sent, _) = Address::parse(bytes, &config) else { panic!() };
        let target = history.branch(&sent);
        assert_eq!((target.address, target.isa, target.known), (address, isa, 32), "{bytes:02x?}");
    }

    // Before the first whole address only the bits that were sent are known.
    let mut history = History::default();
    assert_eq!(history.branch(&low(0x104, 14)).known, 14);
    assert_eq!(history.branch(&low(0x10, 7)).known, 14);
    assert_eq!(history.base(), None);
}

/// Table 5-3.
#[test]
fn reasons() {
    for (bits, reason, starts) in [
        (0b000, Reason::Branch, false),
        (0b001, Reason::Enabled, true),
        (0b010, Reason::Overflow, true),
        (0b011, Reason::Debug, true),
        (0b100, Reason::Periodic, false),
        (0b101, Reason::Reserved(0b101), false),
        (0b110, Reason::Reserved(0b110), false),
        (0b111, Reason::Reserved(0b111), false),
    ] {
        assert_eq!(Reason::of_bits(bits), reason);
        assert_eq!(reason.bits(), bits);
        assert_eq!(reason.start().is_some(), starts);
        both_ways(&unit(3, W8), &[0x80, 0x80, 0x82, 0x80, bits << 4], whole(0x8000, reason));
    }
}

/// 5.6.3: a context ID follows a whole address whose reason is not a branch, from ETMv1.2.
#[test]
fn context_ids() {
    for (size, len) in [(0, 0), (1, 1), (2, 2), (3, 4)] {
        for (reason, id) in [(0x10, true), (0x20, true), (0x40, true), (0x00, false)] {
            let config = unit(2, W8 | size << 14);
            let mut bytes = vec![0x80, 0x80, 0x82, 0x80, reason];
            let mut want = whole(0x8000, Reason::of_bits(reason >> 4));
            if id && len > 0 {
                let word = 0x4433_2211u32;
                bytes.extend(word.to_le_bytes().into_iter().take(len));
                if let Some(last) = &mut want.last {
                    last.context_id = Some(word & (u32::MAX >> (32 - 8 * len)));
                }
            }
            both_ways(&config, &bytes, want);
            let old = Address::parse(&bytes, &unit(1, W8 | size << 14));
            assert!(matches!(old, Parse::Packet(_, 5)));
        }
    }
}

/// 5.5.4: the fewest bytes that hold all bits that changed.
#[test]
fn addresses_of_each_length() {
    let config = unit(3, W8);
    for count in [7, 14, 21, 28] {
        for bits in [0, 1, 0x55, (1u32 << count) - 1] {
            let want = low(bits & ((1 << count) - 1), count);
            let mut bytes = Vec::new();
            want.emit(&config, &mut bytes);
            assert_eq!(bytes.len(), usize::from(count / 7));
            both_ways(&config, &bytes, want);
        }
    }
}

/// The description of each cycle in its context: offsets are not statuses (5.6.1), a trigger
/// replaces one (5.1.1), an address continues to its end (5.5.4).
#[test]
fn descriptions() {
    let words = |config: &Config, cycles: &str| -> Vec<String> {
        let mut transcript = crate::etmv1::Transcript::default();
        let describe = |cycle: Result<_, _>| {
            let mut out = String::new();
            let packet = Packet::of(cycle.unwrap());
            transcript.cycle(&packet, config, &mut out).unwrap();
            out
        };
        text::cycles(cycles, Version::V1).map(describe).collect()
    };
    let both = ADDRESSES | VALUES;
    let cycles = "BE*:80 A0:80 A0:82 TR:02 IN:80 WT:10 WT:2a ID:84 BE*:10 A1:33 A0:44 TD:01 TD:00";
    assert_eq!(
        words(&unit(3, W8 | both | CONTEXT1), cycles),
        [
            "branch executed; address, byte 1",
            "address packet offset [1:0] = 0; address, byte 2",
            "address packet offset [3:2] = 0: no address before its own; address, byte 3",
            "trigger, replaces: instruction not executed",
            "instruction not executed; address, byte 4",
            "wait; address, byte 5",
            "wait; branch address 0x00008000 A32, trace enabled, context id 0x2a",
            "instruction executed with data; data or nothing: 84",
            "branch executed; branch address 7 bits 0x10: 0x00008010 A32",
            "address packet offset [1:0] = 1; data or nothing: 33",
            "address packet offset [3:2] = 0: 1 address before its own; data or nothing: 44",
            "trace disabled, the cycle counts",
            "trace disabled",
        ]
    );
    // A branch status during the offset of another. On a 16-bit port an address begins in the lower
    // half.
    assert_eq!(
        words(&unit(3, W16 | both), "BE*:0204 A3:2211 BD:4433 A3:6655 A3:8877 WT:aa99"),
        [
            "branch executed; branch address 7 bits 0x4, its upper bits are not known yet; data or nothing: 02",
            "address packet offset [1:0] = 3; data or nothing: 11 22",
            "branch executed with data; data or nothing: 33 44",
            "address packet offset [1:0] = 3; data or nothing: 55 66",
            "address packet offset [3:2] = 3: too large to encode; data or nothing: 77 88",
            "wait; data: 99, data or nothing: aa",
        ]
    );
    // TRACESYNC may stay high for the second half of a byte. Without data trace, pins may show
    // noise.
    assert_eq!(
        words(&unit(3, W4), "WT*:4 WT*:0 IE:7 WT:5"),
        [
            "wait; address, half a byte",
            "wait; branch address 7 bits 0x4, its upper bits are not known yet",
            "instruction executed",
            "wait; data, half a byte: 5",
        ]
    );
}
