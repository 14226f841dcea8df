//! Tables laid out from the list of headers; each row is taken every way.

use std::string::ToString;
use std::vec::Vec;

use tracewright_base::{Element, Fault, Gap, NoMemory, Parse, SyncSearch, Wire};

use super::packet::Info;
use super::{Config, Etmv4d, Header, Packet, sync};
use crate::protocol::Protocol;
use crate::ways;

const CONFIG: Config = Config { trace_id: 0x10, configuration: Some(0b11 << 16) };

/// Alignment Sync, and a Trace Info without sections: 15 bytes.
const HEAD: &[u8] = &[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x80, 0x00, 0x01, 0x00];

/// Every header is one of the table, or reserved, and is written as it was read.
#[test]
fn headers() {
    let mut reserved = 0;
    for byte in 0..=0xff {
        match Header::from_byte(byte) {
            Some(header) => assert_eq!(header.byte(), byte, "{header:?}"),
            None => {
                reserved += 1;
                let bad = Parse::Bad(1, Fault::Reserved(byte));
                assert_eq!(Packet::parse(&[byte], &CONFIG), bad);
            }
        }
    }
    assert_eq!(reserved, 11 + 53);
    for (byte, header) in [
        (0b0111_1010, Header::Address { format: 1, bits: 10 }),
        (0b1010_0001, Header::Address { format: 2, bits: 33 }),
        (0b0001_0111, Header::Address { format: 3, bits: 3 }),
        (0b0110_0101, Header::Address { format: 4, bits: 5 }),
        (0b1111_1110, Header::Address { format: 5, bits: 6 }),
        (0b1111_0111, Header::Address { format: 6, bits: 1 }),
        (0b1111_0101, Header::Address { format: 7, bits: 0 }),
        (0b0010_1001, Header::Value { format: 1, bits: 9 }),
        (0b0011_0101, Header::Value { format: 2, bits: 5 }),
        (0b0101_0001, Header::Value { format: 3, bits: 17 }),
        (0b0001_0010, Header::Value { format: 4, bits: 2 }),
        (0b0001_1100, Header::Value { format: 5, bits: 4 }),
        (0b0011_1001, Header::Value { format: 6, bits: 1 }),
    ] {
        assert_eq!(Header::from_byte(byte), Some(header));
        // What follows is not known, and not guessed.
        assert_eq!(Packet::parse(&[byte, 0], &CONFIG), Parse::Bad(1, Fault::Opaque(byte)));
    }
}

#[test]
fn packets() {
    let info = Info { sections: 0b101, values: [1, 0, 0x1234, 0, 0, 0, 0] };
    for (bytes, packet, words) in [
        (&HEAD[..12], Packet::Align, "alignment sync"),
        (&HEAD[12..], Packet::Info(Info::default()), "trace info"),
        (
            &[0x00, 0x01, 0x05, 0x01, 0xb4, 0x24],
            Packet::Info(info),
            "trace info, section 0 0x1, section 2 0x1234",
        ),
        (&[0x00, 0x03], Packet::Discard, "discard"),
        (&[0x00, 0x05], Packet::Overflow, "overflow"),
        (&[0x00, 0x1b], Packet::NumberedMarker(5), "data synchronisation marker 5"),
        (&[0x01], Packet::Marker, "data synchronisation marker"),
        (
            &[0x02, 0x81, 0x01],
            Packet::Timestamp { bits: 0x81, count: 14 },
            "timestamp, low 14 bits 0x81",
        ),
        (&[0x03], Packet::Suppression, "suppression"),
        (&[0x04], Packet::Event, "event 0"),
    ] {
        assert_eq!(Packet::parse(bytes, &CONFIG), Parse::Packet(packet, bytes.len()));
        let mut out = Vec::new();
        packet.emit(&CONFIG, &mut out);
        assert_eq!(out, bytes, "{packet:?}");
        ways::round_trip::<Etmv4d>(&CONFIG, packet, 0);
        assert_eq!(packet.to_string(), words);
    }
}

#[test]
fn bad_bytes() {
    for (bytes, len, fault) in [
        // too few zero bytes, too many
        (&[0, 0, 0, 0x80][..], 3, Fault::Sequence),
        (&[0; 65], 1, Fault::Sequence),
        // extensions that do not exist
        (&[0, 0x07], 2, Fault::Sequence),
        (&[0, 0x21], 2, Fault::Sequence),
        (&[0, 0x01, 0x80], 3, Fault::Overlong),
    ] {
        assert_eq!(Packet::parse(bytes, &CONFIG), Parse::Bad(len, fault), "{bytes:02x?}");
    }
}

#[test]
fn alignment() {
    for (bytes, found) in [
        (&[][..], SyncSearch::NotIn(0)),
        (&[7, 0, 0], SyncSearch::NotIn(1)),
        (&[0; 20], SyncSearch::NotIn(9)),
        (HEAD, SyncSearch::At(0)),
        (&[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x80], SyncSearch::NotIn(11)),
    ] {
        assert_eq!(sync::find(bytes), found, "{bytes:02x?}");
    }
    assert_eq!(sync::find(&[&[9, 0, 0][..], HEAD].concat()), SyncSearch::At(3));
}

#[track_caller]
fn after_head(bytes: &[u8], want: &[(u64, Element)]) {
    let bytes = [HEAD, bytes].concat();
    let mut got = ways::check::<Etmv4d, _>(&CONFIG, &mut NoMemory, &bytes).elements;
    assert!(matches!(got.pop(), Some((_, Element::End))));
    assert_eq!(got.first(), Some(&(0, Element::Gap(Gap::Start))));
    let got: Vec<_> = got.iter().skip(1).map(|&(at, e)| (at - HEAD.len() as u64, e)).collect();
    assert_eq!(got, want);
}

#[test]
fn timestamps() {
    let time = |value| Element::Timestamp { value, cycles: None };
    after_head(
        &[0x02, 0x81, 0x01, 0x02, 0x05, 0x04],
        &[(0, time(0x81)), (3, time(0x85)), (5, Element::Events(1))],
    );
    // Without a Trace Info before it, only a whole one is known.
    let bytes = [
        &HEAD[..12],
        &[0x02, 0x01],
        &[0x02, 0x81, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01],
        &[0x02, 0x03],
    ]
    .concat();
    let got = ways::check::<Etmv4d, _>(&CONFIG, &mut NoMemory, &bytes).elements;
    assert_eq!(
        got,
        [
            (0, Element::Gap(Gap::Start)),
            (14, time(1 << 56 | 1)),
            (24, time(1 << 56 | 3)),
            (24, Element::End),
        ]
    );
}

/// What was lost is said; what cannot be read is said, and read on after the next Alignment Sync.
#[test]
fn losses() {
    let bytes = [&[0x00, 0x05, 0x03, 0x00, 0x03, 0x71, 0x12, 0x34][..], HEAD, &[0x04]].concat();
    after_head(
        &bytes,
        &[
            (0, Element::Gap(Gap::Overflow)),
            (2, Element::Gap(Gap::Overflow)),
            (3, Element::Gap(Gap::Discard)),
            (5, Element::Undecodable { len: 1, fault: Fault::Opaque(0x71) }),
            (6, Element::Undecodable { len: 2, fault: Fault::Unsynchronised }),
            (23, Element::Events(1)),
        ],
    );
    after_head(
        &[0x0f],
        &[
            (0, Element::Gap(Gap::BadPacket)),
            (0, Element::Undecodable { len: 1, fault: Fault::Reserved(0x0f) }),
        ],
    );
}

#[test]
fn registers() {
    let config = Etmv4d::configure(None, &|name| match name {
        "TRCTRACEIDR" => Some(0x10),
        "TRCCONFIGR" => Some(0x1_0000),
        _ => None,
    })
    .unwrap();
    assert_eq!(Etmv4d::trace_id(&config), 0x11);
    assert_eq!((config.traces_addresses(), config.traces_values()), (Some(true), Some(false)));
    assert_eq!(Etmv4d::configure(None, &|_| None).unwrap_err().name, "TRCTRACEIDR");
}

#[test]
fn garbage() {
    let mut random = ways::Random(0x2545_f491_4f6c_dd1d);
    for _ in 0..300 {
        let bytes = [HEAD, &random.bytes(40), HEAD, &random.bytes(3)].concat();
        ways::garbage::<Etmv4d, _>(&CONFIG, &mut NoMemory, &bytes);
    }
}
