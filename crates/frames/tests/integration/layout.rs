//! Frames laid out from IHI 0029, "Formatter data processing", byte by byte.

use crate::ways;

use tracewright_base::Fault;
use tracewright_frames::{Event, Framing, Joiner, Link, ReservedId};
use ways::{Item, cut, whole};

fn piece(id: u16, at: u64, fragment: bool, bytes: &[u8]) -> Item {
    Item::Piece { id, at, fragment, bytes: bytes.into() }
}

fn event(at: u64, event: Event) -> Item {
    Item::Event(at, event)
}

/// Splits `bytes` in every way. `capture` and `opencsd` are the expected output for each numbering.
#[track_caller]
fn check(framing: Framing, bytes: &[u8], capture: &[Item], opencsd: &[Item]) {
    for (link, want) in [(Link::new(framing), capture), (Link::new(framing).opencsd(), opencsd)] {
        assert_eq!(whole(link, bytes).out(), want, "{:?}", link.numbering);
        for at in 0..=bytes.len() {
            assert_eq!(cut(link, bytes, &[at]).out(), want, "{:?}, cut at {at}", link.numbering);
        }
    }
}

#[track_caller]
fn joins(framing: Framing, runs: &[(u8, &[u8])], bytes: &[u8]) {
    let (mut joiner, mut out) = (Joiner::new(framing), Vec::new());
    for &(id, run) in runs {
        joiner.push(id, run, &mut out).unwrap();
    }
    joiner.finish(&mut out);
    assert_eq!(out, bytes);
}

#[rustfmt::skip]
const ONE: [u8; 32] = [
    // ID 0x10; bits 1 and 7 of the last byte are bit 0 of bytes 2 and 14.
    0x21, 0x11,  0x22, 0x33,  0x44, 0x55,  0x66, 0x77,  0x88, 0x99,  0xaa, 0xbb,  0xcc, 0xdd,  0xee, 0b1000_0010,
    // No ID byte; then ID 0 for the remaining bytes, and 0x41 still belongs to 0x10.
    0x12, 0x13,  0x14, 0x15,  0x01, 0x41,  0x00, 0x00,  0x00, 0x00,  0x00, 0x00,  0x00, 0x00,  0x00, 0b0000_0101,
];

#[test]
fn one_source() {
    let first =
        [0x11, 0x23, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xef];
    check(
        Framing::Coresight,
        &ONE,
        &[
            piece(0x10, 1, true, &first),
            piece(0x10, 16, true, &[0x13, 0x13, 0x14, 0x15]),
            piece(0x10, 21, false, &[0x41]),
            event(22, Event::Null { len: 9 }),
        ],
        &[
            piece(0x10, 0, true, &first),
            piece(0x10, 16, true, &[0x13, 0x13, 0x14, 0x15, 0x41]),
            event(20, Event::Null { len: 9 }),
        ],
    );
    joins(Framing::Coresight, &[(0x10, &first), (0x10, &[0x13, 0x13, 0x14, 0x15, 0x41])], &ONE);
}

#[test]
fn a_byte_after_the_id_belongs_to_the_old_id() {
    #[rustfmt::skip]
    let frames = [
        // One byte after the first ID byte has no source: bit 0 of the last byte is set. Then 0x10
        // from byte 2 on.
        0x21, 0xa0,  0xa2, 0xa3,  0x23, 0xa5,  0xb6, 0xb7,  0x21, 0xb9,  0xaa, 0xab,  0x23, 0xad,  0x21, 0b0101_0001,
        // 0x10 since byte 14. 0x10 again at byte 4: no change, whatever its bit.
        0x02, 0x03,  0x04, 0x05,  0x21, 0x07,  0x08, 0x09,  0x0a, 0x0b,  0x0c, 0x0d,  0x0e, 0x0f,  0x10, 0b0000_0100,
    ];
    check(
        Framing::Coresight,
        &frames,
        &[
            event(1, Event::NoSource { len: 1 }),
            piece(0x10, 2, true, &[0xa2, 0xa3]),
            piece(0x11, 5, true, &[0xa5, 0xb6, 0xb7]),
            piece(0x11, 9, false, &[0xb9]),
            piece(0x10, 10, true, &[0xaa, 0xab]),
            piece(0x10, 13, false, &[0xad]),
            // 0x11 had byte 12 to 13: nothing.
            piece(0x10, 16, true, &[0x02, 0x03, 0x04, 0x05]),
            piece(0x10, 21, false, &[0x07, 0x08, 0x09, 0x0a, 0x0b, 0x0c, 0x0d, 0x0e, 0x0f, 0x10]),
        ],
        &[
            event(0, Event::NoSource { len: 1 }),
            piece(0x10, 0, true, &[0xa2, 0xa3]),
            piece(0x11, 4, true, &[0xa5, 0xb6, 0xb7, 0xb9]),
            piece(0x10, 8, true, &[0xaa, 0xab, 0xad]),
            piece(0x10, 16, true, &[2, 3, 4, 5, 7, 8, 9, 0x0a, 0x0b, 0x0c, 0x0d, 0x0e, 0x0f, 0x10]),
        ],
    );
}

#[test]
fn special_ids() {
    #[rustfmt::skip]
    let frame = [
        // 0x7d trigger, 0x7b flush, 0x70 reserved, 0x7f reserved, 0x00 null.
        0xfb, 0x10,  0x10, 0x12,  0xf7, 0x20,  0xe1, 0x30,  0x32, 0x31,  0xff, 0x40,  0x01, 0x00,  0x00, 0b0000_0010,
    ];
    let want = |flush, reserved, sync, null| {
        [flush - 4, flush - 3, flush - 2]
            .into_iter()
            .zip([0x10, 0x11, 0x12])
            .map(|(at, byte)| event(at, Event::Trigger(byte)))
            .chain([
                event(flush, Event::Flush(0x20)),
                event(reserved, Event::Reserved { id: 0x70, len: 3 }),
                event(sync, Event::Reserved { id: 0x7f, len: 1 }),
                event(null, Event::Null { len: 2 }),
            ])
            .collect::<Vec<_>>()
    };
    check(Framing::Coresight, &frame, &want(5, 7, 11, 13), &want(4, 6, 10, 12));
}

#[test]
fn undecodable_bytes() {
    // A truncated frame.
    check(
        Framing::Coresight,
        &ONE[..7],
        &[event(0, Event::Bad { len: 7, fault: Fault::Truncated })],
        &[event(0, Event::Bad { len: 7, fault: Fault::Truncated })],
    );
    // A port never synchronised; the last bytes might have been the beginning of synchronisation.
    let unsynchronised = event(0, Event::Bad { len: 18, fault: Fault::Unsynchronised });
    check(
        Framing::Tpiu,
        &[&ONE[..16], &[0xff, 0xff]].concat(),
        std::slice::from_ref(&unsynchronised),
        std::slice::from_ref(&unsynchronised),
    );
}

const FULL: [u8; 4] = [0xff, 0xff, 0xff, 0x7f];

#[test]
fn port_synchronisation() {
    let bytes = [
        &[0x01, 0x02, 0xff][..], // nobody's
        &FULL,
        &FULL,
        &ONE[..2], // a frame begins at 11
        &FULL,     // too early
        &ONE[..6], // a frame begins at 17
        &[0xff, 0x7f],
        &ONE[6..16],
        &ONE[..5], // ends early, at 35
    ]
    .concat();
    let head = [
        event(0, Event::Bad { len: 3, fault: Fault::Unsynchronised }),
        event(3, Event::FullSync),
        event(7, Event::FullSync),
        event(11, Event::Bad { len: 2, fault: Fault::Frame }),
        event(13, Event::FullSync),
        event(23, Event::HalfSync),
    ];
    let tail = [event(35, Event::Bad { len: 5, fault: Fault::Truncated })];
    let data = [0x11, 0x23, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xef];
    let capture = [piece(0x10, 18, true, &data[..5]), piece(0x10, 25, false, &data[5..])];
    let opencsd = [piece(0x10, 17, true, &data)];
    for framing in [Framing::Tpiu, Framing::TpiuHalf] {
        check(
            framing,
            &bytes,
            &[&head[..], &capture, &tail].concat(),
            &[&head[..], &opencsd, &tail].concat(),
        );
    }
}

/// Without full synchronisation packets, the first frame begins at the first byte, or after half
/// synchronisation packets.
#[test]
fn half_synchronisation_only() {
    let half = [0xff, 0x7f];
    let bytes = [&half[..], &ONE[..6], &half, &half, &ONE[6..16], &half, &ONE[16..]].concat();
    let data = [0x11, 0x23, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xef];
    let (first, inside) =
        (event(0, Event::HalfSync), [event(8, Event::HalfSync), event(10, Event::HalfSync)]);
    let (between, end) = (event(22, Event::HalfSync), |at| event(at, Event::Null { len: 9 }));
    let last = [0x13, 0x13, 0x14, 0x15, 0x41];
    let capture = [
        piece(0x10, 3, true, &data[..5]),
        piece(0x10, 12, false, &data[5..]),
        between.clone(),
        piece(0x10, 24, true, &last[..4]),
        piece(0x10, 29, false, &last[4..]),
        end(30),
    ];
    let opencsd = [piece(0x10, 2, true, &data), between, piece(0x10, 24, true, &last), end(28)];
    let head = [&[first][..], &inside].concat();
    check(
        Framing::TpiuHalfOnly,
        &bytes,
        &[&head[..], &capture].concat(),
        &[&head[..], &opencsd].concat(),
    );
    let unsynchronised = Event::Bad { len: 46 - 6, fault: Fault::Unsynchronised };
    let want = whole(Link::new(Framing::TpiuHalf), &bytes).out();
    assert_eq!(want, [event(0, unsynchronised)]);
    // 13 pairs, one half synchronisation packet, the other three pairs.
    let joined = [&ONE[..26], &half, &ONE[26..]].concat();
    joins(Framing::TpiuHalfOnly, &[(0x10, &data), (0x10, &last)], &joined);
}

/// After a synchronisation packet that begins in a frame, the id is not known until the next ID
/// byte.
#[test]
fn damage_clears_the_id() {
    let mut second = [0x40; 16];
    second[6] = 0x23;
    second[15] = 0;
    let bytes = [&FULL[..], &ONE[..16], &ONE[16..27], &FULL, &second].concat();
    let want = whole(Link::new(Framing::Tpiu), &bytes).out();
    assert_eq!(
        want[2..],
        [
            event(20, Event::Bad { len: 11, fault: Fault::Frame }),
            event(31, Event::FullSync),
            event(35, Event::NoSource { len: 6 }),
            piece(0x11, 42, true, &[0x40; 8]),
        ]
    );
}

#[test]
fn dstream_blocks() {
    // 504 bytes of a block hold 25 frames with synchronisation and 4 bytes more.
    let mut block = [&FULL[..], &ONE[..16]].concat().repeat(25);
    block.extend(&ONE[..4]);
    let footer = [1, 2, 3, 4, 5, 6, 7, 8];
    let bytes = [&block[..], &footer, &ONE[4..16]].concat();
    let data = [0x11, 0x23, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xef];

    let got = whole(Link::new(Framing::Dstream), &bytes).out();
    assert_eq!(
        got[50..],
        [
            event(504, Event::Footer(footer)),
            // The frame's ID byte repeats the current ID: no fragment begins except with the frame.
            piece(0x10, 501, true, &data[..3]),
            piece(0x10, 512, false, &data[3..]),
        ]
    );
    let got = whole(Link::new(Framing::Dstream).opencsd(), &bytes).out();
    assert_eq!(got[50..], [event(504, Event::Footer(footer)), piece(0x10, 500, true, &data)]);
}

#[test]
fn raw_is_one_source() {
    let bytes = [7; 1500];
    let got = whole(Link::new(Framing::Raw), &bytes).out();
    assert_eq!(got, [piece(0, 0, true, &bytes)]);
    let got = whole(Link::new(Framing::Raw).opencsd(), &bytes).out();
    assert_eq!(got, [piece(0, 0, true, &bytes[..1024]), piece(0, 1024, true, &bytes[1024..])]);
}

#[test]
fn joined_as_a_formatter_does() {
    // No bytes.
    joins(Framing::Coresight, &[], &[]);
    // A change of ID after two bytes of the old ID, and after one.
    #[rustfmt::skip]
    joins(Framing::Coresight, &[(0x10, &[1, 2, 3]), (0x11, &[4, 5]), (0x12, &[7])], &[
        0x21, 0x01,  0x02, 0x03,  0x23, 0x04,  0x25, 0x05,  0x01, 0x07,  0x00, 0x00,  0x00, 0x00,  0x00, 0b0001_1000,
    ]);
    // The last pair has no data byte for the new id.
    #[rustfmt::skip]
    joins(Framing::Coresight, &[(0x10, &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13]), (0x11, &[15])], &[
        0x21, 0x01,  0x02, 0x03,  0x04, 0x05,  0x06, 0x07,  0x08, 0x09,  0x0a, 0x0b,  0x0c, 0x0d,  0x23, 0b0000_0000,
        0x01, 0x0f,  0x00, 0x00,  0x00, 0x00,  0x00, 0x00,  0x00, 0x00,  0x00, 0x00,  0x00, 0x00,  0x00, 0b0000_0001,
    ]);
    let (mut joiner, mut out) = (Joiner::new(Framing::Coresight), Vec::new());
    assert_eq!(joiner.push(0x7f, &[1], &mut out), Err(ReservedId(0x7f)));
    assert_eq!(joiner.push(0x7e, &[1], &mut out), Ok(()));
}
