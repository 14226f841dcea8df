//! Tables from the System Trace Protocol, version 2. Each digit is a nibble.

use std::borrow::ToOwned;
use std::string::String;
use std::vec;
use std::vec::Vec;

use tracewright_base::{
    Channel, Element, Fault, Gap, NoMemory, OffsetMap, Parse, Piece, Software, SyncSearch, Wire,
};

use super::decode::{from_gray, to_gray};
use super::{Config, Format, Packet, Size, Stamp, Stm};
use crate::protocol::Protocol;
use crate::stream::Stream;
use crate::ways::{self, Random};

/// ASYNC, and VERSION with binary timestamps.
const SYNC: &str = "fffffffffffffffffffff0 f003";
/// The number of nibbles of [`SYNC`].
const SYNCED: u64 = 26;

fn nibbles(digits: &str) -> Vec<u8> {
    digits.chars().filter_map(|digit| digit.to_digit(16)).map(|n| n as u8).collect()
}

fn parse(digits: &str) -> Parse<Packet> {
    Packet::parse(&nibbles(digits), &Config::default())
}

/// The software elements of `digits` after [`SYNC`], decoded in every way. Offsets count nibbles
/// from the first of `digits`.
#[track_caller]
fn after(sync: &str, digits: &str) -> Vec<(u64, Software)> {
    let (sync, digits) = (nibbles(sync), nibbles(digits));
    let bytes = [sync.as_slice(), &digits].concat();
    let elements = ways::check::<Stm, _>(&Config::default(), &mut NoMemory, &bytes).elements;
    assert_eq!(elements.first(), Some(&(0, Element::Gap(Gap::Start))));
    assert_eq!(elements.last().map(|(_, last)| *last), Some(Element::End));
    elements[1..elements.len() - 1]
        .iter()
        .map(|&(at, element)| match element {
            Element::SoftwareWrite(software) => (at - sync.len() as u64, software),
            other => panic!("{other:?} at {at}"),
        })
        .collect()
}

fn write(master: u16, channel: u16, bits: u8, value: u64) -> Software {
    let channel = Channel::Master { master: Some(master), channel: Some(channel) };
    Software::new(channel, bits, value)
}

fn time(bits: u64, nibbles: u8) -> Option<Stamp> {
    Some(Stamp { bits, nibbles })
}

/// "Packet opcodes": each opcode with its payload, parsed and emitted.
#[test]
fn opcodes() {
    let data = |size, bits, marker, time| Packet::Data { size, bits, marker, time };
    let (b, h, w, d) = (0x12, 0x1234, 0x1234_5678, 0x1234_5678_9abc_def0);
    for (digits, want) in [
        ("0", Packet::Null { time: None }),
        ("1 40", Packet::Master8(0x40)),
        ("2 01", Packet::MasterError(0x01)),
        ("3 7f", Packet::Channel8(0x7f)),
        ("4 12", data(Size::Byte, b, false, None)),
        ("5 1234", data(Size::Half, h, false, None)),
        ("6 12345678", data(Size::Word, w, false, None)),
        ("7 123456789abcdef0", data(Size::Double, d, false, None)),
        ("8 12 2ab", data(Size::Byte, b, true, time(0xab, 2))),
        ("9 1234 1a", data(Size::Half, h, true, time(0xa, 1))),
        ("a 12345678 0", data(Size::Word, w, true, time(0, 0))),
        ("b 123456789abcdef0 3abc", data(Size::Double, d, true, time(0xabc, 3))),
        ("c 9", data(Size::Nibble, 9, false, None)),
        ("d 9 15", data(Size::Nibble, 9, true, time(5, 1))),
        ("e 15", Packet::Flag { time: time(5, 1) }),
        ("f1 0180", Packet::Master16(0x0180)),
        ("f2 03", Packet::GlobalError(0x03)),
        ("f3 0480", Packet::Channel16(0x0480)),
        ("f4 12 15", data(Size::Byte, b, false, time(5, 1))),
        ("f5 1234 15", data(Size::Half, h, false, time(5, 1))),
        ("f6 12345678 15", data(Size::Word, w, false, time(5, 1))),
        ("f7 123456789abcdef0 15", data(Size::Double, d, false, time(5, 1))),
        ("f8 12", data(Size::Byte, b, true, None)),
        ("f9 1234", data(Size::Half, h, true, None)),
        ("fa 12345678", data(Size::Word, w, true, None)),
        ("fb 123456789abcdef0", data(Size::Double, d, true, None)),
        ("fc 9 15", data(Size::Nibble, 9, false, time(5, 1))),
        ("fd 9", data(Size::Nibble, 9, true, None)),
        ("fe", Packet::Flag { time: None }),
        ("fffffffffffffffffffff0", Packet::Async),
        ("f00 2", Packet::Version { format: Format::Delta, revision: None }),
        ("f00 3", Packet::Version { format: Format::Natural, revision: None }),
        ("f00 4", Packet::Version { format: Format::Gray, revision: None }),
        ("f00 b 82", Packet::Version { format: Format::Natural, revision: Some(0x82) }),
        ("f01 15", Packet::Null { time: time(5, 1) }),
        ("f02 0 7", Packet::User { nibbles: 1, bits: 7, time: None }),
        ("f03 f 123456789abcdef0 15", Packet::User { nibbles: 16, bits: d, time: time(5, 1) }),
        ("f06 2a", Packet::Trigger { id: 0x2a, time: None }),
        ("f07 2a 15", Packet::Trigger { id: 0x2a, time: time(5, 1) }),
        ("f08 0124f800", Packet::Frequency { hertz: 19_200_000, time: None }),
        ("f09 0124f800 15", Packet::Frequency { hertz: 19_200_000, time: time(5, 1) }),
        ("f0a 2a", Packet::CrossSync { id: 0x2a, time: None }),
        ("f0b 2a 15", Packet::CrossSync { id: 0x2a, time: time(5, 1) }),
        ("f0f0 0100000000", Packet::Frequency40 { hertz: 1 << 32, time: None }),
        ("f0f1 0100000000 15", Packet::Frequency40 { hertz: 1 << 32, time: time(5, 1) }),
        ("f0f3 05", Packet::ChannelError(5)),
        // Lengths 13 and 14 of a timestamp are 14 and 16 nibbles.
        ("e c 123456789abc", Packet::Flag { time: time(0x1234_5678_9abc, 12) }),
        ("e d 123456789abcde", Packet::Flag { time: time(0x12_3456_789a_bcde, 14) }),
        ("e e 123456789abcdef0", Packet::Flag { time: time(d, 16) }),
    ] {
        let bytes = nibbles(digits);
        assert_eq!(parse(digits), Parse::Packet(want, bytes.len()), "{digits}");
        let mut out = Vec::new();
        want.emit(&Config::default(), &mut out);
        assert_eq!(out, bytes, "{want}");
        ways::round_trip::<Stm>(&Config::default(), want, 0);
    }
}

#[test]
fn reserved() {
    for (digits, len, fault) in [
        ("ef", 2, Fault::Reserved(0xf)), // a timestamp's length
        ("d9f", 3, Fault::Reserved(0xf)),
        ("f04", 3, Fault::Reserved(0x4)), // TIME
        ("f05", 3, Fault::Reserved(0x5)),
        ("f0c", 3, Fault::Reserved(0xc)),
        ("f0d", 3, Fault::Reserved(0xd)),
        ("f0e", 3, Fault::Reserved(0xe)),
        ("f0f2", 4, Fault::Reserved(0xf2)), // DIP
        ("f0ff", 4, Fault::Reserved(0xff)),
        ("f000", 4, Fault::ReservedForConfig(0)), // STPv1
        ("f001", 4, Fault::ReservedForConfig(1)),
        ("f005", 4, Fault::ReservedForConfig(5)),
        ("f00f", 4, Fault::ReservedForConfig(15)),
    ] {
        assert_eq!(parse(digits), Parse::Bad(len, fault), "{digits}");
    }
}

#[test]
fn synchronisation() {
    let run = |ones: usize, end: &str| nibbles(&("f".repeat(ones) + end));
    for (bytes, want) in [
        (run(21, ""), Parse::Partial),
        (run(21, "0"), Parse::Packet(Packet::Async, 22)),
        (run(20, "0"), Parse::Bad(20, Fault::Sequence)),
        (run(21, "1"), Parse::Bad(21, Fault::Sequence)),
        (run(22, "0"), Parse::Bad(1, Fault::Sequence)),
        (run(2, "4"), Parse::Bad(2, Fault::Sequence)),
    ] {
        assert_eq!(Packet::parse(&bytes, &Config::default()), want, "{bytes:x?}");
    }
}

#[test]
fn search() {
    for (digits, want) in [
        (String::new(), SyncSearch::NotIn(0)),
        (String::from("1234"), SyncSearch::NotIn(4)),
        (String::from("12ff"), SyncSearch::NotIn(2)),
        ("1".to_owned() + &"f".repeat(21), SyncSearch::NotIn(1)),
        ("1".to_owned() + &"f".repeat(21) + "0", SyncSearch::At(1)),
        ("f".repeat(20) + "0", SyncSearch::NotIn(21)),
        // Nibbles 0xf before the last 21 are payload.
        ("f".repeat(30), SyncSearch::NotIn(9)),
        ("f".repeat(30) + "0", SyncSearch::At(9)),
    ] {
        assert_eq!(Stm::sync(&Config::default(), &nibbles(&digits)), want, "{digits}");
    }
}

/// A packet may begin on either half of a byte: its offset is that of the byte with its first
/// nibble.
#[test]
fn either_half_of_a_byte() {
    for (before, at) in [("", 13), ("7", 13), ("77", 14)] {
        let bytes = nibbles(&std::format!("{before}{SYNC} 4 2a"));
        let pieces = [Piece { start: 0, at: 0, fragment: true }];
        let offsets = OffsetMap::new(&pieces).of_nibbles();
        let mut elements = Vec::new();
        let mut stream = Stream::<Stm>::new(Config::default());
        let _ = stream.feed(&bytes, &offsets, &mut NoMemory, &mut elements);
        let want = (at, Element::SoftwareWrite(write(0, 0, 8, 0x2a)));
        assert_eq!(elements.last(), Some(&want), "after {before:?}");
    }
}

#[test]
fn versions() {
    // Before a VERSION packet, master, channel and format of time are not known.
    let nobody = Channel::Master { master: None, channel: None };
    assert_eq!(after(&SYNC[..22], "f4 2a 15"), [(0, Software::new(nobody, 8, 0x2a))]);
    // A VERSION packet resets master and channel to 0.
    assert_eq!(
        after(SYNC, "1 40 3 07 4 01 f003 4 02"),
        [(6, write(0x40, 7, 8, 1)), (13, write(0, 0, 8, 2))]
    );
}

#[test]
fn lowest_nibble_first() {
    let little = "fffffffffffffffffffff0 f00 b 81";
    assert_eq!(
        after(little, "f1 0810 3 a4 fa 87654321 e4 4321 f00 3 5 1234"),
        [
            (9, write(0x0180, 0x4a, 32, 0x1234_5678).with(Software::MARKER)),
            (19, write(0x0180, 0x4a, 0, 0).with(Software::FLAG).at_time(0x1234)),
            (29, write(0, 0, 16, 0x1234)),
        ]
    );
    let double = after(little, "7 0fedcba987654321");
    assert_eq!(double, [(0, write(0, 0, 64, 0x1234_5678_9abc_def0))]);
}

#[test]
fn masters_and_channels() {
    assert_eq!(
        after(SYNC, "c1 f1 1234 f3 5678 c2 3 9a c3 1 bc c4"),
        [
            (0, write(0, 0, 4, 1)),
            (14, write(0x1234, 0x5678, 4, 2)),
            (19, write(0x1234, 0x569a, 4, 3)),
            (24, write(0x12bc, 0, 4, 4)),
        ]
    );
}

#[test]
fn data() {
    let d = 0xfedc_ba98_7654_3210;
    assert_eq!(
        after(SYNC, "c5 4 0a 5 000b 6 0000000c 7 fedcba9876543210 0 fd6 8 0a 17"),
        [
            (0, write(0, 0, 4, 5)),
            (2, write(0, 0, 8, 0xa)),
            (5, write(0, 0, 16, 0xb)),
            (10, write(0, 0, 32, 0xc)),
            (19, write(0, 0, 64, d)),
            (37, write(0, 0, 4, 6).with(Software::MARKER)),
            (40, write(0, 0, 8, 0xa).with(Software::MARKER).at_time(7)),
        ]
    );
}

#[test]
fn events() {
    for (digits, want) in [
        ("fe", write(0, 0, 0, 0).with(Software::FLAG)),
        ("e15", write(0, 0, 0, 0).with(Software::FLAG).at_time(5)),
        ("f06 2a", write(0, 0, 8, 0x2a).with(Software::TRIGGER)),
        ("f07 2a 15", write(0, 0, 8, 0x2a).with(Software::TRIGGER).at_time(5)),
        ("f02 2 abc", write(0, 0, 12, 0xabc).with(Software::USER)),
        ("f03 2 abc 15", write(0, 0, 12, 0xabc).with(Software::USER).at_time(5)),
        ("f08 0124f800", write(0, 0, 32, 19_200_000).with(Software::FREQUENCY)),
        ("f0f0 0100000000", write(0, 0, 40, 1 << 32).with(Software::FREQUENCY)),
        ("f0a 07", write(0, 0, 8, 7).with(Software::CROSS_SYNC)),
        ("f01 15", write(0, 0, 0, 0).at_time(5)),
    ] {
        assert_eq!(after(SYNC, digits), [(0, want)], "{digits}");
    }
    assert_eq!(after(SYNC, "000"), []);
}

#[test]
fn errors() {
    let nobody = Channel::Master { master: None, channel: None };
    assert_eq!(
        after(SYNC, "1 40 3 07 2 11 c1 f2 22 c2 f0f3 33"),
        [
            (6, write(0x40, 0, 8, 0x11).with(Software::MASTER_ERROR)),
            (9, write(0x40, 0, 4, 1)),
            (11, Software::new(nobody, 8, 0x22).with(Software::GLOBAL_ERROR)),
            (15, write(0, 0, 4, 2)),
            (17, write(0, 0, 8, 0x33).with(Software::CHANNEL_ERROR)),
        ]
    );
}

#[test]
fn natural_time() {
    let times: Vec<_> = after(SYNC, "e e 00000003aeb284c9 e 2 d6 e 3 536 e 0 e d 00000003aeb286")
        .into_iter()
        .map(|(_, flag)| flag.time())
        .collect();
    assert_eq!(
        times,
        [
            Some(0x3_aeb2_84c9),
            Some(0x3_aeb2_84d6),
            Some(0x3_aeb2_8536),
            Some(0x3_aeb2_8536),
            Some(0x3_aeb2_86),
        ]
    );
}

/// Each row is a time and the number of low nibbles of its Gray code that are sent.
#[test]
fn gray_time() {
    let gray = "fffffffffffffffffffff0 f00 4";
    let mut digits = String::new();
    let rows = [
        (0x0123_4567_89ab_cdef, 16),
        (0x0123_4567_89ab_cdf0, 2),
        // One more changes a single bit of the code.
        (0x0123_4567_89ab_cdf1, 1),
        (0x0123_4567_89ab_ffff, 4),
    ];
    for (value, count) in rows {
        let code = value ^ (value >> 1);
        let length = if count == 16 { 14 } else { count };
        let mask = u64::MAX >> (64 - 4 * count);
        digits += &std::format!("e {length:x} {:0w$x}", code & mask, w = count as usize);
    }
    let times: Vec<_> = after(gray, &digits).iter().filter_map(|(_, flag)| flag.time()).collect();
    assert_eq!(times, rows.map(|(value, _)| value));
    // The standard 3-bit Gray code.
    let codes: Vec<u64> = (0..8).map(to_gray).collect();
    assert_eq!(codes, [0b000, 0b001, 0b011, 0b010, 0b110, 0b111, 0b101, 0b100]);
    let mut random = Random::new(3);
    for _ in 0..100 {
        let value = random.next();
        assert_eq!(from_gray(to_gray(value)), value);
    }
}

#[test]
fn delta_time() {
    let delta = "fffffffffffffffffffff0 f00 2";
    let times: Vec<_> = after(delta, "e 2 10 e 1 5 f01 0 e 3 100")
        .iter()
        .filter_map(|(_, flag)| flag.time())
        .collect();
    assert_eq!(times, [0x10, 0x15, 0x15, 0x115]);
}

/// The length of a packet with a reserved opcode is not known: decoding resumes at the next
/// synchronisation.
#[test]
fn a_reserved_opcode_loses_synchronisation() {
    let bytes = nibbles(&std::format!("4 11 {SYNC} 1 40 f04 4 22 {SYNC} 4 33"));
    let elements = ways::check::<Stm, _>(&Config::default(), &mut NoMemory, &bytes).elements;
    let at = 3 + SYNCED + 3;
    assert_eq!(
        elements,
        [
            (0, Element::Gap(Gap::Start)),
            (0, Element::Undecodable { len: 3, fault: Fault::Unsynchronised }),
            (at, Element::Gap(Gap::BadPacket)),
            (at, Element::Undecodable { len: 3, fault: Fault::Reserved(4) }),
            (at + 3, Element::Undecodable { len: 3, fault: Fault::Unsynchronised }),
            (at + 6 + SYNCED, Element::SoftwareWrite(write(0, 0, 8, 0x33))),
            (at + 6 + SYNCED, Element::End),
        ]
    );
}

#[test]
fn registers() {
    let config = Stm::configure(None, &|name| (name == "STMTCSR").then_some(0x00a0_0007));
    assert_eq!(config.map(|config| Stm::trace_id(&config)), Ok(0x20));
}

#[test]
fn any_nibbles_at_all() {
    for seed in 1..=300 {
        let mut bytes: Vec<u8> = Random::new(seed).bytes(160).iter().map(|b| b & 0xf).collect();
        bytes.splice(40..40, nibbles(SYNC));
        if seed % 2 == 0 {
            bytes.splice(20..20, vec![0xf; 30]);
        }
        ways::garbage::<Stm, _>(&Config::default(), &mut NoMemory, &bytes);
        ways::check::<Stm, _>(&Config::default(), &mut NoMemory, &bytes);
    }
    // Bytes above 0xf do not panic either.
    ways::garbage::<Stm, _>(&Config::default(), &mut NoMemory, &Random::new(7).bytes(4096));
}
