use std::format;
use std::string::ToString;
use std::vec::Vec;

use tracewright_base::{Fault, Isa, Parse, SyncSearch, Wire};

use super::super::packet::{
    Atoms, Branch, DataAddress, Info, InfoBytes, Isync, MException, Reason, State, Value,
    exception_name,
};
use super::super::{Config, History, Packet, sync};
use super::*;
use crate::realign::BitSearch;

/// Parses all of `bytes`, and emits the packet again.
#[track_caller]
fn packet(bytes: &[u8], config: &Config) -> Packet {
    let parsed = Packet::parse(bytes, config);
    let Parse::Packet(packet, len) = parsed else { panic!("{bytes:02x?}: {parsed:?}") };
    assert_eq!(len, bytes.len(), "{bytes:02x?}: {packet:?}");
    let mut out = Vec::new();
    packet.emit(config, &mut out);
    assert_eq!(out, bytes, "{packet:?}");
    for cut in 0..bytes.len() {
        assert_eq!(Packet::parse(&bytes[..cut], config), Parse::Partial, "{cut} of {bytes:02x?}");
    }
    packet
}

#[track_caller]
fn bad(bytes: &[u8], config: &Config, len: usize, fault: Fault) {
    assert_eq!(Packet::parse(bytes, config), Parse::Bad(len, fault), "{bytes:02x?}");
}

/// Table 7-1: each of the 256 headers, for an ETMv3.5 that traces everything, cycle-accurate or
/// not.
#[test]
fn every_header() {
    /// Lengths of the packets that begin with each even header below 0x80, followed by 0xff bytes;
    /// 0: reserved.
    fn length(header: u8) -> usize {
        match header {
            0x0c | 0x50 | 0x62 | 0x66 | 0x6a | 0x76 | 0x7e => 1,
            0x54 | 0x58 | 0x5c => 1,
            0x74 | 0x78 | 0x7c | 0x7a => 6,
            0x20 | 0x40 | 0x60 | 0x02 => 1,
            0x24 | 0x44 | 0x64 | 0x06 | 0x3c => 2,
            0x28 | 0x48 | 0x68 | 0x0a => 3,
            0x2c | 0x4c | 0x6c | 0x0e | 0x6e => 5,
            0x22 => 6,
            0x26 => 7,
            0x2a => 8,
            0x2e => 10,
            0x42 | 0x46 => 10,
            0x04 => 6,
            _ => 0,
        }
    }
    for cycles in [0, CYCLES] {
        let config = unit(5, VALUES | ADDRESSES | CONTEXT4 | cycles);
        for header in 0..=255u8 {
            let mut bytes = [0xff; 24];
            bytes[0] = header;
            let parsed = Packet::parse(&bytes, &config);
            match header {
                0 => assert_eq!(parsed, Parse::Bad(1, Fault::Sequence)),
                // A deprecated exception in the fifth byte.
                h if h & 0x81 == 0x81 => {
                    assert!(matches!(parsed, Parse::Packet(Packet::Branch(_), 5)));
                }
                h if h & 1 == 1 => {
                    assert!(matches!(parsed, Parse::Packet(Packet::Branch(_), 1)));
                }
                h if h & 0x80 != 0 => {
                    let reserved = if cycles == 0 {
                        h & 3 == 2 && h & 0xf0 != 0x80
                    } else {
                        h == 0x80 || h & 0x23 == 0x22 || h & 0xe3 == 0xc2 || h & 0xfb == 0x9a
                    };
                    match parsed {
                        Parse::Packet(Packet::Atoms(atoms), 1) => {
                            assert!(!reserved, "{h:02x}");
                            assert_eq!(atoms.header(), h);
                        }
                        _ => {
                            assert!(reserved, "{h:02x}");
                            assert_eq!(parsed, Parse::Bad(1, Fault::Reserved(h)));
                        }
                    }
                }
                // Information byte 0xff: Load/Store in Progress, Jazelle, and a full address.
                0x08 => assert!(matches!(parsed, Parse::Packet(Packet::Isync(_), 15))),
                0x70 if cycles != 0 => {
                    assert!(matches!(parsed, Parse::Packet(Packet::Isync(_), 20)));
                }
                0x70 | 0x04 if cycles == 0 => {
                    assert_eq!(parsed, Parse::Bad(1, Fault::ReservedForConfig(header)));
                }
                h => match length(h) {
                    0 => assert_eq!(parsed, Parse::Bad(1, Fault::Reserved(h))),
                    n => assert!(
                        matches!(parsed, Parse::Packet(_, len) if len == n),
                        "{h:02x}: {parsed:?}"
                    ),
                },
            }
        }
    }
}

/// Headers that a version or a configuration does not have.
#[test]
fn headers_by_version_and_configuration() {
    let all = VALUES | ADDRESSES;
    for (header, minor) in [(0x50, 1), (0x76, 4), (0x7e, 4), (0x3c, 5), (0x42, 5), (0x46, 5)] {
        bad(&[header, 0, 0], &unit(minor - 1, all), 1, Fault::Reserved(header));
        assert!(matches!(Packet::parse(&[header, 0, 0], &unit(minor, all)), Parse::Packet(..)));
    }
    for header in [0x02, 0x2e, 0x20, 0x54, 0x6a, 0x62, 0x50, 0x7e, 0x6e, 0x70, 0x04] {
        bad(&[header], &unit(4, 0), 1, Fault::ReservedForConfig(header));
    }
    for header in [0x84, 0x81, 0x01, 0x62, 0x7e, 0x76, 0x70, 0x04] {
        bad(&[header], &unit(4, all | DATA_ONLY), 1, Fault::ReservedForConfig(header));
    }
    bad(&[0x80], &unit(1, CYCLES), 1, Fault::Reserved(0x80));
    bad(&[0x92], &unit(2, CYCLES), 1, Fault::Reserved(0x92));
}

/// 7.3.1 and 7.3.3, with the worked examples below Tables 7-2 and 7-3.
#[test]
fn p_headers() {
    for (header, minor, cycles, text) in [
        (0xc8, 4, 0, "EEN"),
        (0x8a, 4, 0, "NE"),
        (0x82, 4, 0, "EE"),
        (0x86, 4, 0, "EN"),
        (0x8e, 4, 0, "NN"),
        (0xbc, 4, 0, "EEEEEEEEEEEEEEE"),
        (0xfc, 4, 0, "EEEEEEEEEEEEEEEN"),
        (0xc0, 4, 0, "N"),
        (0x80, 4, 0, ""),
        (0xc8, 4, CYCLES, "WEWEWN"),
        (0x8a, 4, CYCLES, "WNE"),
        (0xe8, 4, CYCLES, "WWWE"),
        (0xbc, 4, CYCLES, "WWWWWWWW"),
        (0xa0, 4, CYCLES, "W"),
        (0x9c, 4, CYCLES, "WEWEWEWEWEWEWE"),
        (0x92, 4, CYCLES, "E"),
        (0x96, 4, CYCLES, "N"),
        (0x80, 0, CYCLES, "W"),
    ] {
        let got = packet(&[header], &unit(minor, cycles));
        let Packet::Atoms(atoms) = got else { panic!("{got:?}") };
        assert_eq!(atoms.to_string(), text, "{header:02x}");
        let count = |letters: &[char]| text.matches(letters).count();
        assert_eq!(usize::from(atoms.len()), count(&['E', 'N']));
        assert_eq!(usize::from(atoms.cycles()), count(&['W']));
    }
    // Table 7-24: the atoms of an ETMv2 cycle.
    for (atoms, text) in [
        (Atoms::CycleRun { passed: 1, failed: false }, "WE"),
        (Atoms::CycleRun { passed: 0, failed: true }, "WN"),
        (Atoms::Cycles { cycles: 1, passed: false }, "W"),
        (Atoms::CyclePair { failed: [false, false] }, "WEE"),
        (Atoms::CyclePair { failed: [false, true] }, "WEN"),
        (Atoms::CyclePair { failed: [true, false] }, "WNE"),
        (Atoms::CyclePair { failed: [true, true] }, "WNN"),
    ] {
        assert_eq!(atoms.to_string(), text);
    }
}

/// 7.3.4: 1 to 5 bytes; upper bits that are not sent are 0; 0 is "unknown".
#[test]
fn cycle_counts() {
    let config = unit(4, CYCLES);
    for (bytes, cycles) in [
        (&[0x04, 0x00][..], 0),
        (&[0x04, 0x7f], 0x7f),
        (&[0x04, 0xac, 0x02], 300),
        (&[0x04, 0xff, 0xff, 0xff, 0x7f], 0x0fff_ffff),
        (&[0x04, 0xff, 0xff, 0xff, 0xff, 0x0f], u32::MAX),
    ] {
        assert_eq!(packet(bytes, &config), Packet::CycleCount(cycles));
    }
}

const fn short(bits: u32, count: u8) -> Branch {
    Branch { bits, count, state: None, info: None }
}

const fn full(state: State, bits: u32) -> Branch {
    let count = match state {
        State::A32 => 30,
        State::T32 => 31,
        State::Jazelle => 32,
    };
    Branch { bits, count, state: Some(state), info: None }
}

const NO_INFO: InfoBytes = InfoBytes {
    non_secure: false,
    exception: 0,
    cancel: false,
    alternative: false,
    hyp: false,
    resume: 0,
};

/// Original encoding: 6, 13, 20, 27 bits, then all of them.
#[test]
fn branches_original() {
    let config = unit(4, 0);
    for (bytes, want) in [
        (&[0x07][..], short(0x800c >> 2 & 0x3f, 6)),
        (&[0x81, 0x01], short(0x8100 >> 2 & 0x1fff, 13)),
        (&[0xff, 0x7f], short(0x1fff, 13)),
        (&[0x81, 0x80, 0x01], short(1 << 13, 20)),
        (&[0x81, 0x80, 0x80, 0x01], short(1 << 20, 27)),
        (&[0xb5, 0x9c, 0xab, 0x80, 0x17], full(State::T32, 0x700a_ce34 >> 1)),
        (&[0xa7, 0xe2, 0x95, 0xc0, 0x0b], full(State::A32, 0x700a_e24c >> 2)),
        (&[0x81, 0xc0, 0x80, 0x80, 0x30], full(State::Jazelle, 0x8000_1000)),
    ] {
        assert_eq!(packet(bytes, &config), Packet::Branch(want), "{bytes:02x?}");
    }
}

/// Tables 7-7, 7-8 and 7-9: each value of the fifth byte.
#[test]
fn branches_fifth_byte() {
    let config = unit(4, 0);
    for byte in 0..=255u8 {
        let bytes = [0x81, 0x80, 0x80, 0x80, byte, 0x00];
        if byte & 0x80 != 0 {
            let branch = packet(&bytes[..5], &config);
            let Packet::Branch(branch) = branch else { panic!("{branch:?}") };
            assert_eq!(branch.state, Some(State::A32));
            assert_eq!(branch.bits, u32::from(byte & 7) << 27);
            let (cancel, code) = (byte & 0x40 != 0, byte >> 3 & 7);
            assert_eq!(branch.info, Some(Info::Old { cancel, code }));
            continue;
        }
        let want = match byte & 0x3f {
            0x00..=0x07 => {
                bad(&bytes, &config, 5, Fault::Sequence);
                continue;
            }
            b @ 0x08..=0x0f => full(State::A32, u32::from(b & 7) << 27),
            b @ 0x10..=0x1f => full(State::T32, u32::from(b & 0xf) << 27),
            b => full(State::Jazelle, u32::from(b & 0x1f) << 27),
        };
        if byte & 0x40 == 0 {
            assert_eq!(packet(&bytes[..5], &config), Packet::Branch(want), "{byte:02x}");
        } else {
            let want = Branch { info: Some(Info::Bytes(NO_INFO)), ..want };
            assert_eq!(packet(&bytes, &config), Packet::Branch(want), "{byte:02x}");
        }
    }
}

/// Table 7-9: the exceptions of the deprecated form.
#[test]
fn branches_old_exceptions() {
    for (code, address, exception) in [
        (0, 0x00, Some(0x8)),
        (0, 0xffff_0004, Some(0x9)),
        (0, 0x08, Some(0xa)),
        (0, 0x0c, Some(0xb)),
        (0, 0xffff_0010, Some(0xc)),
        (0, 0x14, None),
        (1, 0x18, Some(0xe)),
        (2, 0x18, None),
        (3, 0x18, None),
        (4, 0x8000, Some(0x5)),
        (5, 0x1c, Some(0xf)),
        (6, 0x10, Some(0x4)),
        (7, 0x00, Some(0x1)),
    ] {
        let old = Info::Old { cancel: false, code };
        assert_eq!(old.exception(address), exception, "code {code} at {address:x}");
    }
}

/// Alternative encoding: 6, 12, 19, 26 bits, then all of them.
#[test]
fn branches_alternative() {
    let config = alternative(0);
    let from = |address: u32, count: u32| (address >> 1) & ((1 << count) - 1);
    for (bytes, want) in [
        (&[0x11][..], short(from(0x8010, 6), 6)),
        (&[0x91, 0x08], short(from(0x8410, 12), 12)),
        (&[0x91, 0xa8, 0x02], short(from(0x9410, 19), 19)),
        (&[0x91, 0xe8, 0xc8, 0x00], short(from(0x12_3410, 26), 26)),
        (&[0x91, 0xa8, 0x82, 0x80, 0x14], full(State::T32, 0x4000_9410 >> 1)),
    ] {
        assert_eq!(packet(bytes, &config), Packet::Branch(want), "{bytes:02x?}");
    }
}

/// V10 to V16: the address bits of each length, by encoding and instruction set.
#[test]
fn branches_by_length() {
    let (original, other) = (unit(4, 0), alternative(0));
    let more = [0x81, 0x80, 0x80, 0x80];
    for (config, info, start, last, lengths) in [
        // Thumb, A32 and Jazelle: bits up to 6, 13, 20, 27, 31.
        (&original, false, [0x21, 1], 0x10, [7, 14, 21, 28, 32]),
        (&original, false, [0x21, 0], 0x08, [8, 15, 22, 29, 32]),
        (&original, false, [0x31, 0], 0x20, [6, 13, 20, 27, 32]),
        (&other, false, [0x21, 1], 0x10, [7, 13, 20, 27, 32]),
        (&other, false, [0x21, 0], 0x08, [8, 14, 21, 28, 32]),
        (&other, false, [0x31, 0], 0x20, [6, 12, 19, 26, 32]),
        // With an exception the shortest packet has two address bytes.
        (&other, true, [0x21, 1], 0x50, [0, 13, 20, 27, 32]),
        (&other, true, [0x21, 0], 0x48, [0, 14, 21, 28, 32]),
        (&other, true, [0x31, 0], 0x60, [0, 12, 19, 26, 32]),
    ] {
        for (n, known) in (1..=5).zip(lengths).filter(|(_, known)| *known > 0) {
            let end = match (n, info) {
                (5, _) => last,
                (1, _) => 0x01,
                (_, true) => 0x40,
                (_, false) => 0x00,
            };
            let mut bytes = more[..n - 1].to_vec();
            bytes.push(end);
            bytes.extend(info.then_some(0x1c));
            let Packet::Branch(branch) = packet(&bytes, config) else { panic!("{bytes:02x?}") };
            let mut history = History::default();
            let isync = [0x08, start[0], start[1], 0x80, 0x00, 0xc0];
            history.packet(&packet(&isync, config), config);
            let target = history.branch(&branch, config);
            assert_eq!((target.updated, target.known), (known, 32), "{bytes:02x?}");
            let upper = if known < 32 { 0xc000_8000_u32 & (u32::MAX << known) } else { 0 };
            assert_eq!(target.address, upper, "{bytes:02x?}");
        }
    }
}

/// Tables 7-10, 7-17 and 7-18: the sets of exception information bytes.
#[test]
fn branches_with_information() {
    let m = m3(0);
    let bits = 0x8100 >> 1 & 0xfff;
    let info = |exception, cancel, resume| InfoBytes { exception, cancel, resume, ..NO_INFO };
    for (bytes, info) in [
        (&[0x81, 0x42, 0x02][..], info(1, false, 0)),
        (&[0x81, 0x42, 0x90, 0x01], info(0x18, false, 0)),
        (&[0x81, 0x42, 0x82, 0x01], info(0x11, false, 0)),
        (&[0x81, 0x42, 0xa6, 0x01], info(0x13, true, 0)),
        (&[0x81, 0x42, 0x9e, 0x1f], info(0x1ff, false, 0)),
        (&[0x81, 0x42, 0xa2, 0x43], info(1, true, 3)),
        (&[0x81, 0x42, 0xb0, 0x81, 0x43], info(0x18, true, 3)),
        (&[0x81, 0x42, 0x80, 0x43], info(0, false, 3)),
    ] {
        let want = Branch { info: Some(Info::Bytes(info)), ..short(bits, 12) };
        assert_eq!(packet(bytes, &m), Packet::Branch(want), "{bytes:02x?}");
    }
    // The same information byte twice.
    bad(&[0x81, 0x42, 0x80, 0x80, 0x00], &m, 5, Fault::Sequence);

    // Original encoding: an IRQ that cancels; a change of only the security state.
    let config = unit(5, 0);
    let irq = InfoBytes { exception: 0xe, cancel: true, ..NO_INFO };
    let to = |address: u32| full(State::A32, address >> 2);
    for (bytes, address, info) in [
        (&[0x8d, 0x80, 0x80, 0x80, 0x48, 0x3c][..], 0x18, irq),
        (&[0x89, 0x80, 0x81, 0x80, 0x48, 0x01], 0x8010, InfoBytes { non_secure: true, ..NO_INFO }),
        (
            &[0x8b, 0x80, 0x80, 0x80, 0x48, 0x87, 0x20],
            0x14,
            InfoBytes { non_secure: true, exception: 3, hyp: true, ..NO_INFO },
        ),
    ] {
        let want = Branch { info: Some(Info::Bytes(info)), ..to(address) };
        assert_eq!(packet(bytes, &config), Packet::Branch(want), "{bytes:02x?}");
    }

    // Con is ignored up to ETMv3.3, AltISA up to ETMv3.2.
    for (minor, alternative) in [(2, false), (3, true)] {
        let bytes = [0x8d, 0x80, 0x80, 0x80, 0x58, 0xc0, 0x84];
        let parsed = Packet::parse(&bytes, &unit(minor, 0));
        let info = Some(Info::Bytes(InfoBytes { alternative, ..NO_INFO }));
        let want = Branch { info, ..full(State::T32, (0x0c >> 1) | 8 << 27) };
        assert_eq!(parsed, Parse::Packet(Packet::Branch(want), 6));
    }
}

/// Table 7-12 and Table 7-17.
#[test]
fn exceptions() {
    let names: Vec<_> = (0..17).map(exception_name).collect();
    let table = [
        "none",
        "debug halt",
        "SMC",
        "Hyp mode entry",
        "asynchronous data abort",
        "Jazelle or ThumbEE",
        "reserved",
        "reserved",
        "reset",
        "undefined instruction",
        "SVC",
        "prefetch abort or breakpoint",
        "data abort or watchpoint",
        "generic",
        "IRQ",
        "FIQ",
        "reserved",
    ];
    assert_eq!(names, table);
    for (number, name, architectural) in [
        (0, "none", None),
        (1, "IRQ1", Some(17)),
        (2, "IRQ2", Some(18)),
        (3, "IRQ3", Some(19)),
        (4, "IRQ4", Some(20)),
        (5, "IRQ5", Some(21)),
        (6, "IRQ6", Some(22)),
        (7, "IRQ7", Some(23)),
        (8, "IRQ0", Some(16)),
        (9, "UsageFault", Some(6)),
        (0xa, "NMI", Some(2)),
        (0xb, "SVC", Some(11)),
        (0xc, "DebugMonitor", Some(12)),
        (0xd, "MemManage", Some(4)),
        (0xe, "PendSV", Some(14)),
        (0xf, "SysTick", Some(15)),
        (0x10, "reserved", None),
        (0x11, "reset", Some(1)),
        (0x12, "reserved", None),
        (0x13, "HardFault", Some(3)),
        (0x14, "reserved", None),
        (0x15, "BusFault", Some(5)),
        (0x16, "reserved", None),
        (0x17, "reserved", None),
    ] {
        assert_eq!(MException(number).to_string(), name);
        assert_eq!(MException(number).architectural(), architectural, "{name}");
    }
    for number in 0x18..=0x1ff {
        assert_eq!(MException(number).to_string(), format!("IRQ{}", number - 0x10));
        assert_eq!(MException(number).architectural(), Some(16 + (number - 0x10)));
    }
}

const ISYNC: Isync = Isync {
    cycles: None,
    context_id: None,
    reason: Reason::Enabled,
    jazelle: false,
    non_secure: false,
    alternative: false,
    hyp: false,
    address: Some(0x8000),
    current: None,
};

/// 7.7.3: normal, with a cycle count, Load/Store in Progress, data-only, with context IDs.
#[test]
fn isyncs() {
    let plain = unit(5, 0);
    for (bytes, want) in [
        (&[0x08, 0x21, 0x00, 0x80, 0x00, 0x00][..], ISYNC),
        (&[0x08, 0x21, 0x01, 0x80, 0x00, 0x00], Isync { address: Some(0x8001), ..ISYNC }),
        (&[0x08, 0x2b, 0x00, 0x80, 0x00, 0x00], Isync { non_secure: true, hyp: true, ..ISYNC }),
        (
            &[0x08, 0x75, 0x00, 0x80, 0x00, 0x00],
            Isync { reason: Reason::Debug, jazelle: true, alternative: true, ..ISYNC },
        ),
        (
            &[0x08, 0xa1, 0x00, 0x80, 0x00, 0x00, 0x09],
            Isync { current: Some(short(4, 6)), ..ISYNC },
        ),
        (
            &[0x08, 0xa1, 0x00, 0x80, 0x00, 0x00, 0x89, 0x80, 0x81, 0x80, 0x48, 0x01],
            Isync {
                current: Some(Branch {
                    info: Some(Info::Bytes(InfoBytes { non_secure: true, ..NO_INFO })),
                    ..full(State::A32, 0x8010 >> 2)
                }),
                ..ISYNC
            },
        ),
    ] {
        assert_eq!(packet(bytes, &plain), Packet::Isync(want), "{bytes:02x?}");
    }
    let bytes = [0x08, 0x11, 0x22, 0x33, 0x44, 0x21, 0x00, 0x80, 0x00, 0x00];
    let want = Isync { context_id: Some(0x4433_2211), ..ISYNC };
    assert_eq!(packet(&bytes, &unit(5, CONTEXT4)), Packet::Isync(want));
    let bytes = [0x08, 0x11, 0x22, 0x21, 0x00, 0x80, 0x00, 0x00];
    let want = Isync { context_id: Some(0x2211), ..ISYNC };
    assert_eq!(packet(&bytes, &unit(5, 2 << 14)), Packet::Isync(want));
    let bytes = [0x08, 0x11, 0x21, 0x00, 0x80, 0x00, 0x00];
    let want = Isync { context_id: Some(0x11), ..ISYNC };
    assert_eq!(packet(&bytes, &unit(5, 1 << 14)), Packet::Isync(want));
    // 300 cycles; data instruction at 0xc0008000; next instruction at 0xc0008010.
    let bytes = [0x70, 0xac, 0x02, 0xa1, 0x00, 0x80, 0x00, 0xc0, 0x89, 0x00];
    let want = Isync {
        cycles: Some(300),
        address: Some(0xc000_8000),
        current: Some(short(4, 13)),
        ..ISYNC
    };
    assert_eq!(packet(&bytes, &unit(5, CYCLES)), Packet::Isync(want));
    let want = Isync { address: None, ..ISYNC };
    assert_eq!(packet(&[0x08, 0x21], &unit(5, VALUES | DATA_ONLY)), Packet::Isync(want));
    // Bit 0 of the information byte is always 1.
    bad(&[0x08, 0x20, 0, 0, 0, 0], &plain, 2, Fault::Sequence);
    bad(&[0x08, 0xa1, 0, 0, 0, 0, 0x08], &plain, 7, Fault::Sequence);
    // Table 7-22. In the two reserved combinations AltISA is ignored. AltISA exists from ETMv3.3
    // on.
    for (jazelle, t, alternative, isa) in [
        (0, 0, 0, Isa::A32),
        (0, 0, 1, Isa::A32),
        (0, 1, 0, Isa::T32),
        (0, 1, 1, Isa::ThumbEe),
        (1, 0, 0, Isa::Jazelle),
        (1, 1, 0, Isa::Jazelle),
        (1, 0, 1, Isa::Jazelle),
        (1, 1, 1, Isa::Jazelle),
    ] {
        // Bit 0 of the address is T, or an address bit in Jazelle state.
        let info = jazelle << 4 | alternative << 2 | 1;
        let address = 0x8000 | u32::from(t & jazelle);
        let bytes = [0x08, info, t, 0x80, 0, 0];
        let Packet::Isync(isync) = packet(&bytes, &unit(3, 0)) else { panic!("{bytes:02x?}") };
        assert_eq!(isync.start_address(), Some((address, isa)), "{bytes:02x?}");
        let old = if isa == Isa::ThumbEe { Isa::T32 } else { isa };
        let Parse::Packet(Packet::Isync(isync), 6) = Packet::parse(&bytes, &unit(2, 0)) else {
            panic!("{bytes:02x?}")
        };
        assert_eq!(isync.start_address(), Some((address, old)), "{bytes:02x?}");
    }
    // Table 7-23.
    for (info, reason) in [
        (0x01, Reason::Periodic),
        (0x21, Reason::Enabled),
        (0x41, Reason::Overflow),
        (0x61, Reason::Debug),
    ] {
        let Packet::Isync(isync) = packet(&[0x08, info, 0, 0, 0, 0], &plain) else { panic!() };
        assert_eq!(isync.reason, reason);
    }
}

/// 7.4.10: the lengths of data-only trace, for a word and for a value of one byte.
#[test]
fn data_only_is_shorter() {
    for (value, alone, with_instructions) in [(0xdead_beef_u32, 5, 12), (0x11, 2, 9)] {
        let code = if value > 0xff { 3 } else { 1 };
        let value = Some(Value { bits: value, code });
        let data = Packet::Data { first: false, address: None, value };
        let len = |packets: &[Packet], config: &Config| {
            let mut bytes = Vec::new();
            packets.iter().for_each(|packet| packet.emit(config, &mut bytes));
            bytes.len()
        };
        let one = Packet::Atoms(Atoms::from_header(0x84, false, 4).unwrap());
        assert_eq!(len(&[data], &unit(4, VALUES | DATA_ONLY)), alone);
        let all = [Packet::Isync(ISYNC), one, data];
        assert_eq!(len(&all, &unit(4, VALUES)), with_instructions);
    }
}

/// 7.4 and Table 7-19.
#[test]
fn data_packets() {
    let both = unit(4, VALUES | ADDRESSES);
    let at = |bits, count| Some(DataAddress { bits, count, big_endian: None });
    let all = |bits, big| Some(DataAddress { bits, count: 32, big_endian: Some(big) });
    let value = |bits, code| Some(Value { bits, code });
    let data = |first, address, value| Packet::Data { first, address, value };
    for (bytes, want) in [
        (
            &[0x2e, 0xb4, 0xa4, 0x80, 0x80, 0x02, 0xef, 0xbe, 0xad, 0xde][..],
            data(true, all(0x2000_1234, false), value(0xdead_beef, 3)),
        ),
        (
            &[0x26, 0xb4, 0xa4, 0x80, 0x80, 0x12, 0x11],
            data(true, all(0x2000_1234, true), value(0x11, 1)),
        ),
        (&[0x26, 0x38, 0x55], data(true, at(0x38, 7), value(0x55, 1))),
        (&[0x22, 0xb4, 0xa4, 0x80, 0x80, 0x02], data(true, all(0x2000_1234, false), value(0, 0))),
        (&[0x22, 0xb4, 0x24], data(true, at(0x1234, 14), value(0, 0))),
        (&[0x22, 0xb4, 0xa4, 0x01], data(true, at(0x5234, 21), value(0, 0))),
        (&[0x22, 0xb4, 0xa4, 0x81, 0x01], data(true, at(0x20_5234, 28), value(0, 0))),
        (&[0x0a, 0x34, 0x12], data(false, None, value(0x1234, 2))),
        (&[0x02], data(false, None, value(0, 0))),
        (
            &[0x74, 0xb4, 0xa4, 0x80, 0x80, 0x02],
            Packet::Placeholder { tag: 1, first: true, address: all(0x2000_1234, false) },
        ),
        (&[0x5c], Packet::Placeholder { tag: 3, first: false, address: None }),
        (&[0x2c, 0xef, 0xbe, 0xad, 0xde], Packet::Late { tag: 1, value: value(0xdead_beef, 3) }),
        (&[0x60], Packet::Late { tag: 3, value: value(0, 0) }),
        (&[0x6a], Packet::ValueNotTraced { first: false, address: None }),
        (
            &[0x7a, 0xb4, 0xa4, 0x80, 0x80, 0x02],
            Packet::ValueNotTraced { first: true, address: all(0x2000_1234, false) },
        ),
        (&[0x50], Packet::StoreFailed),
        (&[0x62], Packet::Suppressed),
        (&[0x66], Packet::Ignore),
        (&[0x0c], Packet::Trigger),
        (&[0x76], Packet::ExceptionReturn),
        (&[0x7e], Packet::ExceptionEntry),
    ] {
        assert_eq!(packet(bytes, &both), want, "{bytes:02x?}");
    }
    // The fields depend on ETMCR.
    assert_eq!(
        packet(&[0x22, 0xb4, 0xa4, 0x80, 0x80, 0x12], &unit(4, ADDRESSES)),
        data(true, all(0x2000_1234, true), None),
    );
    assert_eq!(packet(&[0x26, 0x11], &unit(4, VALUES)), data(true, None, value(0x11, 1)));
    // SS has no meaning where values are not traced.
    let parsed = Packet::parse(&[0x2e, 0x34, 0x84], &unit(4, ADDRESSES));
    assert_eq!(parsed, Parse::Packet(data(true, at(0x34, 7), None), 2));
}

/// Context IDs, virtual machine IDs and timestamps.
#[test]
fn other_packets() {
    for (size, bytes, id) in [
        (3, &[0x6e, 1, 2, 3, 4][..], 0x0403_0201),
        (2, &[0x6e, 1, 2], 0x0201),
        (1, &[0x6e, 1], 0x01),
    ] {
        assert_eq!(packet(bytes, &unit(4, size << 14)), Packet::ContextId(id));
    }
    let short = config(0x4104_f250, 0, 1 << 28, Profile::Application);
    let long = config(0x4104_f250, 0, 3 << 28, Profile::Application);
    assert_eq!(packet(&[0x3c, 0x05], &short), Packet::Vmid(5));
    let time = |bits, count, clock_changed| Packet::Timestamp { bits, count, clock_changed };
    for (bytes, config, want) in [
        (
            &[0x42, 0x81, 0x81, 0x81, 0x81, 0x81, 0x81, 0x3f][..],
            &short,
            time(0xfc08_1020_4081, 48, false),
        ),
        (&[0x46, 0x05], &short, time(5, 7, true)),
        (&[0x42, 0x83, 0x01], &short, time(0x83, 14, false)),
        (&[0x42, 0x00], &short, time(0, 7, false)),
        (
            &[0x42, 0x81, 0x81, 0x81, 0x81, 0x81, 0x81, 0x81, 0x81, 0xff],
            &long,
            time(0xff02_0408_1020_4081 | 0x81 & 0x7f, 64, false),
        ),
    ] {
        assert_eq!(packet(bytes, config), want, "{bytes:02x?}");
    }
}

/// 7.7.2: A-sync of any length, at any bit; zeros of other packets do not count.
#[test]
fn synchronisation() {
    let plain = unit(5, 0);
    assert_eq!(packet(&[0, 0, 0, 0, 0, 0x80], &plain), Packet::Async { zeros: 5 });
    assert_eq!(packet(&[0, 0, 0, 0, 0, 0, 0, 0x80], &plain), Packet::Async { zeros: 7 });
    bad(&[0, 0, 0, 0, 0x80], &plain, 4, Fault::Sequence);
    bad(&[0, 0, 0, 0, 0, 0, 0x84], &plain, 6, Fault::Sequence);

    for (bytes, want) in [
        (&[0, 0, 0, 0, 0, 0x80, 0x84][..], SyncSearch::At(0)),
        (&[0x08, 0x21, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x80], SyncSearch::At(6)),
        (&[0x84, 0, 0, 0, 0, 0x80], SyncSearch::NotIn(6)),
        (&[0x84, 0, 0, 0, 0], SyncSearch::NotIn(1)),
        (&[0, 0, 0, 0, 0, 0, 0], SyncSearch::NotIn(2)),
    ] {
        assert_eq!(sync::find(bytes), want, "{bytes:02x?}");
    }

    // 47 zero bits, a one, then a byte of atoms, at each shift.
    for shift in 0..8 {
        let mut bits = std::vec![true; shift];
        bits.extend([false; 47]);
        bits.push(true);
        bits.extend((0..8).map(|k| 0x84 >> k & 1 != 0));
        bits.resize(bits.len().next_multiple_of(8), false);
        let bytes: Vec<u8> = bits
            .chunks(8)
            .map(|byte| byte.iter().rev().fold(0, |b, &bit| b << 1 | u8::from(bit)))
            .collect();
        let want = match shift {
            0 => BitSearch::At(0),
            _ => BitSearch::After { byte: 6, shift: shift as u8 },
        };
        assert_eq!(sync::find_bit(&bytes, 0), want, "{bytes:02x?}");
    }
    let after = |byte, shift| BitSearch::After { byte, shift };
    for (bytes, zeros, want) in [
        // 45 zeros, in the example of the specification, are too few.
        (&[0x01, 0, 0, 0, 0, 0x40, 0x42][..], 0, BitSearch::NotIn(7)),
        (&[0x7f, 0, 0, 0, 0, 0, 0x40, 0x42], 0, after(6, 7)),
        // Zero bits before the bytes count.
        (&[0, 0, 0, 0, 0x40, 0x42], 9, after(4, 7)),
        (&[0, 0, 0, 0, 0x40, 0x42], 8, BitSearch::NotIn(6)),
        (&[0x80, 0x84], 40, after(1, 0)),
        // A buffer filled with zeros.
        (&[&[0; 12][..], &[0x08]].concat(), 0, after(12, 4)),
        (&[&[0; 16][..], &[0x08]].concat(), 0, BitSearch::NotIn(17)),
        (&[&[0; 16][..], &[0x80]].concat(), 0, BitSearch::At(11)),
        (&[0x84, 0, 0], 0, BitSearch::NotIn(1)),
    ] {
        assert_eq!(sync::find_bit(bytes, zeros), want, "{bytes:02x?}");
    }
}

/// The register descriptions include every field that decoding uses.
#[test]
fn configuration() {
    let tc2 = config(0x410c_f250, 0x1000_1860, 0x3440_08f2, Profile::Application);
    assert!(tc2.control.cycle_accurate() && !tc2.control.data());
    assert!(!tc2.id.alternative_branches() && tc2.id.minor() == 5);
    assert!(tc2.extension.timestamp_natural() && tc2.timestamp_width() == 64);
    assert_eq!(tc2.control.context_bytes(), 0);
    assert!(m3(0).id.alternative_branches() && m3(0).m_profile());
    // Table 3-47: ETMIDR selects the profile where the core is not known.
    for (id, m_profile) in [(0x4114_f240, true), (0x4114_f241, true), (0x4114_f250, false)] {
        let register = |name: &str| match name {
            "ETMCR" => Some(0),
            "ETMIDR" => Some(id),
            _ => None,
        };
        assert_eq!(Config::new(None, &register).unwrap().m_profile(), m_profile, "{id:#x}");
    }
    // Bit 20 has no meaning before ETMv3.4. An ETM11RV r0p0 reads the PC first regardless of bit
    // 16.
    assert!(!config(0x4114_f230, 0, 0, Profile::Application).id.alternative_branches());
    assert!(config(0x4100_3210, 0, 0, Profile::Application).id.loads_pc_first());
    for register in super::super::config::REGISTERS {
        let mut used = 0u64;
        for field in register.fields {
            let mask = field.of(u64::MAX) << field.low;
            assert_eq!(used & mask, 0, "{} {}", register.name, field.name);
            used |= mask;
        }
    }
    let missing = Config::new(None, &|name| (name == "ETMCR").then_some(0));
    assert_eq!(missing.unwrap_err().name, "ETMIDR");
}
