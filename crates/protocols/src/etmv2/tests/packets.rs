//! Statuses, headers and addresses, from IHI 0014, chapter 6.

use std::string::ToString;
use std::vec;

use tracewright_base::{Fault, Isa, Parse};

use super::*;
use crate::etmv2::History;
use crate::etmv2::packet::{Branch, DataAddress, Item, Offset, Reason, State, Status, Tfo, Value};

/// 3.5.1, 3.5.50.
#[test]
fn configuration() {
    let config = unit_with(0x4101_2110, 0xffff, &[("HIVECS", 1)]);
    assert_eq!((config.id.minor(), config.context_bytes()), (1, 4));
    assert!(config.id.loads_pc_first() && config.core.high_vectors);
    assert!(!unit(0, 0).id.loads_pc_first());
    let missing = Config::new(&|name| (name == "ETMCR").then_some(0)).unwrap_err();
    assert_eq!(missing.name, "ETMIDR");
}

/// Table 6-1, and the ETMv3 atoms that correspond to each status, Table 7-24.
#[test]
fn every_status() {
    let names = tracewright_frames::cycles::text::V2;
    for (bits, name, atoms) in [
        (0x0, "IE", "WE"),
        (0x1, "DE", "WE"),
        (0x2, "IN", "WN"),
        (0x3, "DN", "WN"),
        (0x4, "WT", "W"),
        (0x5, "DW", "W"),
        (0x8, "PTIE", "WEE"),
        (0x9, "PTDE", "WEE"),
        (0xa, "PTIN", "WEN"),
        (0xb, "PTDN", "WEN"),
        (0xc, "PNIE", "WNE"),
        (0xd, "PNDE", "WNE"),
        (0xe, "PNIN", "WNN"),
        (0xf, "PNDN", "WNN"),
    ] {
        assert_eq!(names[usize::from(bits)], name);
        let status = Status::of_pipestat(bits).unwrap();
        assert_eq!(status.pipestat(), bits);
        assert_eq!(status.data, name.contains('D'), "{name}");
        let atom = |passed: Option<bool>| match passed {
            Some(true) => "E",
            Some(false) => "N",
            None => "",
        };
        let mut got = String::from("W");
        got += atom(status.phantom);
        got += atom(status.passed);
        assert_eq!(got, atoms, "{name}");
        for width in [W4, W8, W16] {
            let packet = Packet::Cycle { status, pins: 0xa };
            assert_eq!(packet.to_string(), std::format!("{name} 0a"));
            ways::round_trip::<Etmv2>(&unit(0, width), packet, 0);
        }
    }
    assert_eq!((Status::of_pipestat(6), Status::of_pipestat(7)), (None, None));
    for (packet, text) in
        [(Packet::Trigger { pins: 4 }, "TR 04"), (Packet::Disabled { pins: 7 }, "TD 07")]
    {
        assert_eq!(packet.to_string(), text);
        ways::round_trip::<Etmv2>(&unit(0, W8), packet, 0);
    }
    let bad = Packet::parse(&[0, 0x10], &unit(0, W8));
    assert_eq!(bad, Parse::Bad(2, Fault::NoSuchPins));
}

/// Table 6-4: every value of TRACEPKT[3:0], and the encoding of every number.
#[test]
fn offsets() {
    for (low, first) in [(0x9, 0), (0xb, 16), (0xd, 32), (0xf, 48), (0x1, 64), (0x3, 80)] {
        for number in 0..16 {
            let pins = number << 4 | low;
            assert_eq!(Offset::of_pins(pins), Offset::Bytes(first + number));
            assert_eq!(Offset::pins(first + number), Some(pins));
        }
    }
    for upper in 0..16 {
        assert_eq!(Offset::of_pins(upper << 4 | 0x7), Offset::Filler);
        assert_eq!(Offset::of_pins(upper << 4 | 0x5), Offset::Reserved);
        for low in (0..16).step_by(2) {
            assert_eq!(Offset::of_pins(upper << 4 | low), Offset::Nothing);
        }
    }
    assert!((96..=255).all(|bytes| Offset::pins(bytes).is_none()));
    // 6.5.1, Example 6-1, and other values.
    for (bytes, pins) in [
        (1, 0b0001_1001),
        (0, 0x09),
        (15, 0xf9),
        (16, 0x0b),
        (31, 0xfb),
        (47, 0xfd),
        (63, 0xff),
        (64, 0x01),
        (80, 0x03),
        (95, 0xf3),
    ] {
        assert_eq!(Offset::pins(bytes), Some(pins));
    }
}

/// Table 6-2: the packet of each header, by the bit patterns of the table.
#[test]
fn every_header() {
    let config = unit(0, W8 | VALUES | ADDRESSES | CONTEXT1);
    let like = |header: u8, pattern: &str| {
        let bits = pattern.bytes().filter(|b| *b != b'_').enumerate();
        bits.into_iter().all(|(n, letter)| {
            let bit = header >> (7 - n) & 1;
            match letter {
                b'0' => bit == 0,
                b'1' => bit == 1,
                _ => true,
            }
        })
    };
    let table = [
        ("CXXX_XXX1", "branch"),
        ("C0A0_SS10", "data"),
        ("C1A1_TT00", "load miss"),
        ("CTT0_SS00", "late data"),
        ("C110_1010", "value not traced"),
        ("C110_1110", "context id"),
    ];
    let reserved = ["X0X1_XX00", "X0X1_XX10", "X10X_XX10", "X110_0X10", "X111_XX10"];
    let mut counts = [0; 7];
    for header in 0..=255u8 {
        let rows: Vec<usize> = (0..table.len()).filter(|&n| like(header, table[n].0)).collect();
        let bytes = [&[header][..], &[0; 12]].concat();
        let parsed = Item::parse(&bytes, &config);
        match rows[..] {
            [row] => {
                counts[row] += 1;
                let Parse::Packet(item, len) = parsed else { panic!("{header:#x}: {parsed:?}") };
                assert!(item.to_string().starts_with(table[row].1), "{header:#x}: {item}");
                let mut out = Vec::new();
                item.emit(&config, &mut out);
                assert_eq!(out, bytes[..len], "{header:#x}");
                assert_eq!(item.more(), row > 0 && header & 0x80 != 0);
                for len in 0..len {
                    assert_eq!(Item::parse(&bytes[..len], &config), Parse::Partial);
                }
            }
            [] => {
                counts[6] += 1;
                assert_eq!(parsed, Parse::Bad(1, Fault::Reserved(header)));
                assert!(reserved.iter().any(|pattern| like(header, pattern)), "{header:#x}");
            }
            _ => panic!("{header:#x} is in {rows:?}"),
        }
    }
    assert_eq!(counts, [128, 16, 16, 32, 2, 2, 60]);
    // The context ID packet exists only where context IDs are traced.
    assert_eq!(Item::parse(&[0x6e, 0], &unit(0, W8)), Parse::Bad(1, Fault::Reserved(0x6e)));
}

#[track_caller]
fn both_ways(config: &Config, bytes: &[u8], want: Item) {
    assert_eq!(Item::parse(bytes, config), Parse::Packet(want, bytes.len()), "{bytes:02x?}");
    for len in 0..bytes.len() {
        assert_eq!(Item::parse(&bytes[..len], config), Parse::Partial);
    }
    let mut out = Vec::new();
    want.emit(config, &mut out);
    assert_eq!(out, bytes);
}

/// Table 6-3, and data addresses.
#[test]
fn values() {
    let both = unit(0, W8 | VALUES | ADDRESSES);
    for (value, size) in [(0, 0), (1, 1), (0xff, 1), (0x100, 2), (0xffff, 2), (0x1_0000, 4)] {
        assert_eq!(Value::of(value), Value { bits: value, size });
    }
    let at = |bits, count| Some(DataAddress { bits, count });
    for (config, bytes, first, address, value, more) in [
        (both, &[0x02][..], false, None, Some(Value { bits: 0, size: 0 }), false),
        (both, &[0x86, 0xab], false, None, Some(Value { bits: 0xab, size: 1 }), true),
        (both, &[0x0a, 0x34, 0x12], false, None, Some(Value { bits: 0x1234, size: 2 }), false),
        (
            both,
            &[0x2e, 0x84, 0x80, 0x80, 0x80, 0x02, 0x11, 0x22, 0x33, 0x44],
            true,
            at(0x2000_0004, 32),
            Some(Value { bits: 0x4433_2211, size: 4 }),
            false,
        ),
        (both, &[0x22, 0x08], true, at(0x08, 7), Some(Value { bits: 0, size: 0 }), false),
        (both, &[0x22, 0x88, 0x04], true, at(0x208, 14), Some(Value { bits: 0, size: 0 }), false),
        (unit(0, W8 | ADDRESSES), &[0x22, 0x08], true, at(0x08, 7), None, false),
        (unit(0, W8 | VALUES), &[0x26, 0x08], true, None, Some(Value { bits: 8, size: 1 }), false),
    ] {
        both_ways(&config, bytes, Item::Data { first, address, value, more });
    }
    both_ways(
        &both,
        &[0x74, 0x08],
        Item::Miss { tag: 1, first: true, address: at(8, 7), more: false },
    );
    both_ways(&both, &[0xdc], Item::Miss { tag: 3, first: false, address: None, more: true });
    both_ways(
        &both,
        &[0x28, 0x34, 0x12],
        Item::Late { tag: 1, value: Some(Value { bits: 0x1234, size: 2 }), more: false },
    );
    both_ways(&both, &[0x6a], Item::NotTraced { more: false });
    for (size, id) in [(1, 0x11), (2, 0x2211), (3, 0x4433_2211)] {
        let bytes: &[u8] = &[0xee, 0x11, 0x22, 0x33, 0x44];
        let len = [1, 2, 4][size as usize - 1];
        let config = unit(0, W8 | size << 14);
        both_ways(&config, &bytes[..1 + len], Item::ContextId { id, more: true });
    }
}

const fn arm(address: u32, cancels: bool) -> Branch {
    Branch { bits: address >> 2, count: 30, state: Some(State::Arm { cancels }) }
}

const fn thumb(address: u32) -> Branch {
    Branch { bits: address >> 1, count: 31, state: Some(State::Thumb) }
}

/// 6.7.1: the bytes of branches, and the completed addresses.
#[test]
fn branches() {
    let config = unit(0, W8);
    let low = |bits, count| Branch { bits, count, state: None };
    let mut history = History::default();
    for (bytes, branch, address, isa) in [
        (&[0x81, 0x80, 0x81, 0x80, 0x08][..], arm(0x8000, false), 0x8000, Isa::A32),
        (&[0x81, 0x80, 0x81, 0x80, 0x48], arm(0x8000, true), 0x8000, Isa::A32),
        (&[0x8d, 0x80, 0x80, 0x80, 0x48], arm(0x18, true), 0x18, Isa::A32),
        (&[0xf7, 0xbe, 0xdb, 0xfa, 0x0e], arm(0xdead_beec, false), 0xdead_beec, Isa::A32),
        (&[0xef, 0xfd, 0xb6, 0xf5, 0x1d], thumb(0xdead_beee), 0xdead_beee, Isa::T32),
        (&[0x81, 0x80, 0x82, 0x80, 0x10], thumb(0x8000), 0x8000, Isa::T32),
        (&[0x11], low(0x08, 6), 0x8010, Isa::T32),
        (&[0x81, 0x01], low(0x40, 13), 0x8080, Isa::T32),
        (&[0x81, 0x80, 0x81, 0x80, 0x08], arm(0x8000, false), 0x8000, Isa::A32),
        (&[0x09], low(0x04, 6), 0x8010, Isa::A32),
        (&[0x81, 0x01], low(0x40, 13), 0x8100, Isa::A32),
        (&[0x83, 0x01], low(0x41, 13), 0x8104, Isa::A32),
        // 6.7.1: A[19] is the highest bit that changed, so three bytes.
        (&[0x81, 0x80, 0x01], low(0x2000, 20), 0x8000, Isa::A32),
        (&[0x83, 0x81, 0x11], low(0x22041, 20), 0x0008_8104, Isa::A32),
        // The instruction set changes.
        (&[0x91, 0x80, 0x82, 0x80, 0x10], thumb(0x8010), 0x8010, Isa::T32),
    ] {
        both_ways(&config, bytes, Item::Branch(branch));
        let target = history.branch(&branch);
        assert_eq!((target.address, target.isa, target.known), (address, isa, 32), "{bytes:02x?}");
    }
}

/// Table 6-9: the fifth byte.
#[test]
fn fifth_bytes() {
    for last in 0..=255u8 {
        let bytes = [0x81, 0x80, 0x80, 0x80, last];
        let parsed = Item::parse(&bytes, &unit(0, W8));
        let state = match last {
            0x08..=0x0f => Some(State::Arm { cancels: false }),
            0x48..=0x4f => Some(State::Arm { cancels: true }),
            0x10..=0x1f => Some(State::Thumb),
            _ => None,
        };
        match parsed {
            Parse::Packet(Item::Branch(branch), 5) => assert_eq!(branch.state, state, "{last:#x}"),
            Parse::Bad(5, Fault::Reserved(bad)) => assert_eq!((bad, state), (last, None)),
            other => panic!("{last:#x}: {other:?}"),
        }
    }
}

/// Tables 6-6, 6-7 and 6-8.
#[test]
fn tfo_headers() {
    for header in 0..=255u8 {
        let bytes = [&[header, 0x2a][..], &[0x00, 0x80, 0, 0], &[0x09, 0, 0, 0, 0]].concat();
        let config = unit(0, W8 | CONTEXT1);
        let parsed = Tfo::parse(&bytes, &config);
        if header & 0x1f != 0 {
            assert_eq!(parsed, Parse::Bad(1, Fault::Reserved(header)));
            continue;
        }
        let Parse::Packet(tfo, len) = parsed else { panic!("{header:#x}: {parsed:?}") };
        let reasons = [Reason::Periodic, Reason::Enabled, Reason::Overflow, Reason::Debug];
        assert_eq!(tfo.reason, reasons[usize::from(header >> 5 & 3)]);
        assert_eq!((tfo.address, tfo.context_id), (0x8000, Some(0x2a)));
        assert_eq!(tfo.current.is_some(), header & 0x80 != 0);
        assert_eq!(len, if header & 0x80 == 0 { 6 } else { 7 });
        let mut out = Vec::new();
        tfo.emit(&config, &mut out);
        assert_eq!(out, bytes[..len]);
        for len in 0..len {
            assert_eq!(Tfo::parse(&bytes[..len], &config), Parse::Partial);
        }
    }
    // Context IDs of each size, and a whole address of the instruction beside.
    for (size, bytes) in [(0, 0), (1, 1), (2, 2), (3, 4)] {
        let config = unit(0, W8 | size << 14);
        let word = (bytes > 0).then(|| 0x4433_2211u32 & (u32::MAX >> (32 - 8 * bytes)));
        for current in [None, Some(thumb(0x8010))] {
            let tfo = Tfo { reason: Reason::Debug, context_id: word, address: 0x8001, current };
            let mut out = vec![];
            tfo.emit(&config, &mut out);
            assert_eq!(out.len(), 5 + bytes + if current.is_some() { 5 } else { 0 });
            assert_eq!(Tfo::parse(&out, &config), Parse::Packet(tfo, out.len()));
            assert_eq!(tfo.start_address(), (0x8000, Isa::T32));
        }
    }
    // The address of the instruction beside must be a branch packet.
    let bad = Tfo::parse(&[0x80, 0, 0, 0, 0, 0x02], &unit(0, W8));
    assert_eq!(bad, Parse::Bad(6, Fault::Reserved(0x02)));
}

/// The description of each cycle in its context: its status, and the packets that end in it. (6.1,
/// 6.3 to 6.5)
#[test]
fn descriptions() {
    let words = |config: &Config, cycles: &str| -> Vec<String> {
        let mut transcript = crate::etmv2::Transcript::default();
        let describe = |(at, cycle): (u64, Result<_, _>)| {
            let mut out = String::new();
            let packet = Packet::of(cycle.unwrap());
            transcript.cycle(at, &packet, config, &mut out).unwrap();
            out
        };
        (0..).zip(text::cycles(cycles, Version::V2)).map(describe).collect()
    };
    let config = unit(0, W16 | VALUES | ADDRESSES | CONTEXT1);
    let cycles = "WT:0 TD:0009 DE:2a20 PNIE:8000 DE:0000 IE:842e DE:8080 WT:0280 WT:2211 WT:4433 TD:0059 \
        DW:0874 IN:81ea TR:0000 DN:0001 WT:002a WT:0081 WT:2800 WT:1234 WT:808d WT:8080 WT:6648 TD:0007 TD:0 \
        WT:1122";
    assert_eq!(
        words(&config, cycles),
        [
            "wait; no offset so far",
            "trace FIFO offset; 0 bytes before the TFO packet",
            "instruction executed, packets in the FIFO",
            "branch phantom not taken, instruction executed",
            "instruction executed, packets in the FIFO; TFO packet, trace enabled, 0x00008000 A32, context id 0x2a (of 1)",
            "instruction executed",
            "instruction executed, packets in the FIFO",
            "wait",
            "wait",
            "wait; data at 0x20000004: 0x44332211 (of 2)",
            "trace FIFO offset; 5 bytes before the TFO packet",
            "wait, packets in the FIFO; load miss 1 at 7 bits 0x8, address 0x20000008 (of 4)",
            "instruction not executed; value not traced (of 6)",
            "trigger, replaces: instruction executed",
            "instruction not executed, packets in the FIFO; branch 13 bits 0x40: 0x00008100 A32 (of 6)",
            "wait",
            "wait",
            "wait; TFO packet, periodic, 0x00008100 A32, context id 0x2a (of 10)",
            "wait; late data 1: 0x1234 (of 11)",
            "wait",
            "wait",
            "wait; branch 0x00000018 A32, cancels (of 14)",
            "trace disabled, the cycle counts",
            "trace disabled",
            "wait; status and FIFO are inconsistent",
        ]
    );
    // Table 6-5.
    assert_eq!(
        words(&unit(0, W4 | VALUES), "DE:d IE:c WT:b TD:9 IE:1 TR:2 WT:f TD:5"),
        [
            "instruction executed, packets in the FIFO; no offset so far",
            "instruction executed; no offset so far",
            "wait; no offset so far",
            "trace FIFO offset",
            "instruction executed; 1 byte before the TFO packet",
            "trigger, replaces: instruction not executed",
            "wait",
            "trace disabled, reserved offset; status and FIFO are inconsistent",
        ]
    );
}
