//! Bytes to packets and back.

use std::string::ToString;
use std::vec::Vec;

use tracewright_base::{Fault, Isa, Parse, SyncSearch as Found, Wire};

use super::{COUNTED, PLAIN, RICH, STACK};
use crate::ptm::history::{binary, gray};
use crate::ptm::packet::{Address, Atoms, Branch, Info, Reason, State, Sync, Timestamp, Waypoint};
use crate::ptm::{Config, History, Packet, sync};
use crate::ways;

/// `bytes` parse to `packet`, which emits them again. Every strict prefix is `Partial`.
#[track_caller]
fn both_ways(config: &Config, bytes: &[u8], packet: Packet, words: &str) {
    assert_eq!(Packet::parse(bytes, config), Parse::Packet(packet, bytes.len()));
    let mut out = Vec::new();
    packet.emit(config, &mut out);
    assert_eq!(out, bytes, "{packet:?}");
    ways::round_trip::<crate::ptm::Ptm>(config, packet, 0);
    assert_eq!(packet.to_string(), words);
}

fn low(address: u32, bytes: u8, isa: Isa) -> Address {
    Address::low(address, bytes, isa)
}

#[test]
fn packets() {
    let sync = Sync { address: 0x8000_0554, reason: Reason::DebugExit, ..Sync::default() };
    let timed = Sync {
        address: 0xc001_8dde,
        thumb: true,
        reason: Reason::TraceOn,
        cycles: Some(51),
        ..Sync::default()
    };
    let named = Sync {
        address: 0xc000_8000,
        non_secure: true,
        hyp: true,
        context_id: Some(0x1234_5678),
        ..Sync::default()
    };
    let irq = Info { exception: 14, non_secure: true, ..Info::default() };
    let time = Timestamp { bits: 0x58_e90b_b867, count: 48, ..Timestamp::default() };
    for (config, bytes, packet, words) in [
        // five zero bytes | 1000_0000
        (PLAIN, &[0, 0, 0, 0, 0, 0x80][..], Packet::Align, "alignment sync"),
        // header | address, bit 0 T | 0 | reason 6:5 = 3 | NS 3 | AltISA 2 | Hyp 1 | 1
        (
            PLAIN,
            &[0x08, 0x54, 0x05, 0x00, 0x80, 0x61],
            Packet::Sync(sync),
            "instruction sync, left debug state, 0x80000554 A32, secure",
        ),
        // reason 1 and cycles: 3 in bits 5:2 of the first, 3 * 16 in the second
        (
            COUNTED,
            &[0x08, 0xdf, 0x8d, 0x01, 0xc0, 0x21, 0xcc, 0x03],
            Packet::Sync(timed),
            "instruction sync, trace on, 0xc0018dde T32, secure, 51 cycles",
        ),
        // reason 0, NS, Hyp, four bytes of CONTEXTIDR
        (
            RICH,
            &[0x08, 0x00, 0x80, 0x00, 0xc0, 0x0b, 0x78, 0x56, 0x34, 0x12],
            Packet::Sync(named),
            "instruction sync, periodic, 0xc0008000 A32, non-secure Hyp, context 0x12345678",
        ),
        (
            COUNTED,
            &[0xe8, 0x20],
            Packet::TimedAtom { taken: true, cycles: 522 },
            "atom E, 522 cycles",
        ),
        (COUNTED, &[0x86], Packet::TimedAtom { taken: false, cycles: 1 }, "atom N, 1 cycles"),
        // the longest count: 4 + 4 * 7 bits
        (
            COUNTED,
            &[0xfe, 0xff, 0xff, 0xff, 0x7f],
            Packet::TimedAtom { taken: false, cycles: u32::MAX },
            "atom N, 4294967295 cycles",
        ),
        // C 0 | address 6:1 | 1
        (
            PLAIN,
            &[0x2f],
            Packet::Branch(Branch { address: low(0x5c, 1, Isa::A32), ..Branch::default() }),
            "branch to low 6 bits 0x17",
        ),
        // five address bytes, A32, E | NS and exception 14 | 10 cycles
        (
            COUNTED,
            &[0x8d, 0x80, 0xfe, 0xff, 0x4f, 0x1d, 0x28],
            Packet::Branch(Branch {
                address: Address::full(0xffff_0018, State::Arm),
                info: Some(irq),
                cycles: Some(10),
            }),
            "branch to 0xffff0018 A32, exception 14 (IRQ), non-secure, 10 cycles",
        ),
        // both information bytes: exception 3, Hyp
        (
            PLAIN,
            &[0x95, 0x80, 0x80, 0x80, 0x48, 0x87, 0x20],
            Packet::Branch(Branch {
                address: Address::full(0x28, State::Arm),
                info: Some(Info { exception: 3, non_secure: true, hyp: true, alternative: false }),
                cycles: None,
            }),
            "branch to 0x00000028 A32, exception 3 (entry to Hyp mode), non-secure Hyp",
        ),
        (
            PLAIN,
            &[0x72, 0x79],
            Packet::Waypoint(Waypoint { address: low(0xf0, 1, Isa::A32), alternative: None }),
            "waypoint update to low 6 bits 0x3c",
        ),
        (
            PLAIN,
            &[0x72, 0x81, 0x80, 0x80, 0x80, 0x58, 0x40],
            Packet::Waypoint(Waypoint {
                address: Address::full(0x8000_0000, State::Thumb),
                alternative: Some(true),
            }),
            "waypoint update to 0x80000000 T32",
        ),
        (PLAIN, &[0x0c], Packet::Trigger, "trigger"),
        (
            RICH,
            &[0x6e, 0x78, 0x56, 0x34, 0x12],
            Packet::ContextId(0x1234_5678),
            "context id 0x12345678",
        ),
        (RICH, &[0x3c, 0x42], Packet::Vmid(0x42), "vmid 0x42"),
        // 48 bits: six groups of 7 and one of 6
        (
            PLAIN,
            &[0x42, 0xe7, 0xf0, 0xae, 0xc8, 0x8e, 0x8b, 0x00],
            Packet::Timestamp(time),
            "timestamp, low 48 bits 0x58e90bb867",
        ),
        // R: the clock changed; cycles after the last group
        (
            COUNTED,
            &[0x46, 0x81, 0x15, 0x64, 0x01],
            Packet::Timestamp(Timestamp {
                clock_changed: true,
                bits: 0xa81,
                count: 14,
                cycles: Some(25),
            }),
            "timestamp, low 14 bits 0xa81, clock changed, 25 cycles",
        ),
        // 64 bits: eight groups of 7 and a whole byte
        (
            RICH,
            &[0x42, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0xff],
            Packet::Timestamp(Timestamp { bits: 0xff << 56, count: 64, ..Timestamp::default() }),
            "timestamp, low 64 bits 0xff00000000000000",
        ),
        (PLAIN, &[0x76], Packet::ExceptionReturn, "exception return"),
        (PLAIN, &[0x66], Packet::Ignore, "ignore"),
    ] {
        both_ways(&config, bytes, packet, words);
    }
}

/// "Atom packet": the oldest atom is the highest bit; 0 is E.
#[test]
fn atoms() {
    for (header, words) in [
        (0b1000_0100, "E"),
        (0b1000_0110, "N"),
        (0b1000_1010, "EN"),
        (0b1001_1100, "NNE"),
        (0b1010_0010, "EEEN"),
        (0b1011_1100, "NNNE"),
        (0b1100_1000, "EENEE"),
        (0b1111_0000, "NNEEE"),
    ] {
        let atoms = Atoms::from_header(header).unwrap();
        assert_eq!(usize::from(atoms.len()), words.len());
        let words = ["atoms ", words].concat();
        both_ways(&STACK, &[header], Packet::Atoms(atoms), &words);
    }
    let all = (0..=0xff).filter_map(Atoms::from_header);
    assert_eq!(all.count(), 2 + 4 + 8 + 16 + 32);
}

/// "Branch address packet": the addresses of each length in each instruction set.
#[test]
fn addresses() {
    // Before: 0xc0010ef0 in the instruction set given.
    for (isa, bytes, address, after) in [
        (Isa::A32, &[0x79][..], 0xc001_0ef0u32, Isa::A32),
        (Isa::T32, &[0x7d], 0xc001_0efc, Isa::T32),
        (Isa::A32, &[0xf9, 0x0e], 0xc001_0ef0, Isa::A32),
        (Isa::A32, &[0xff, 0x26], 0xc001_26fc, Isa::A32),
        (Isa::T32, &[0xff, 0x26], 0xc001_137e, Isa::T32),
        (Isa::T32, &[0xbb, 0xb6, 0x3d], 0xc00f_5b3a, Isa::T32),
        (Isa::T32, &[0xbb, 0xb6, 0xbd, 0x01], 0xc02f_5b3a, Isa::T32),
        (Isa::A32, &[0xfd, 0x9e, 0x80, 0x80, 0x18], 0x8000_0f7c, Isa::T32),
        (Isa::T32, &[0x8d, 0x80, 0xfe, 0xff, 0x0f], 0xffff_0018, Isa::A32),
        (Isa::A32, &[0x8b, 0x80, 0x80, 0x80, 0x30], 0x8000_0005, Isa::Jazelle),
    ] {
        let mut history = History::default();
        let thumb = isa == Isa::T32;
        let start = Sync { address: 0xc001_0ef0, thumb, ..Sync::default() };
        history.take(&Packet::Sync(start), &PLAIN);
        let Parse::Packet(packet, len) = Packet::parse(bytes, &PLAIN) else {
            panic!("{bytes:02x?}")
        };
        assert_eq!(len, bytes.len());
        ways::round_trip::<crate::ptm::Ptm>(&PLAIN, packet, 0);
        history.take(&packet, &PLAIN);
        assert_eq!(history.address(), Some(address), "{bytes:02x?} after {isa}");
        assert_eq!(history.isa(), Some(after), "{bytes:02x?}");
    }
}

/// The security state and Hyp mode are those of the last I-sync or information bytes.
#[test]
fn security_of_branches() {
    let branch = |info| Packet::Branch(Branch { address: low(0, 1, Isa::A32), info, cycles: None });
    let mut history = History::default();
    assert_eq!((history.non_secure(), history.hyp()), (None, None));
    for (packet, non_secure, hyp) in [
        (Packet::Sync(Sync { non_secure: true, ..Sync::default() }), true, false),
        (branch(None), true, false),
        (branch(Some(Info { non_secure: false, ..Info::default() })), false, false),
        (branch(Some(Info { non_secure: true, hyp: true, ..Info::default() })), true, true),
        (branch(None), true, true),
        (Packet::Sync(Sync { hyp: false, ..Sync::default() }), false, false),
    ] {
        history.take(&packet, &PLAIN);
        assert_eq!((history.non_secure(), history.hyp()), (Some(non_secure), Some(hyp)));
    }
}

/// An address before the first I-sync is known in part, its instruction set is not.
#[test]
fn addresses_in_part() {
    let mut history = History::default();
    let Parse::Packet(packet, 2) = Packet::parse(&[0xff, 0x26], &PLAIN) else { panic!() };
    history.take(&packet, &PLAIN);
    assert_eq!(history.address(), None);
    assert_eq!(history.low_address(), (0x137e, 13));
    assert_eq!(history.isa(), None);
}

/// ThumbEE state is entered and left only with an information byte.
#[test]
fn thumb_ee() {
    let full = [0x81, 0x80, 0x80, 0x80];
    let mut history = History::default();
    for (last, info, isa) in [
        (0x18, None, Isa::T32),
        (0x58, Some(0x40), Isa::ThumbEe),
        (0x18, None, Isa::ThumbEe),
        (0x58, Some(0x00), Isa::T32),
        (0x58, Some(0x40), Isa::ThumbEe),
        (0x0c, None, Isa::A32),
    ] {
        let mut bytes = full.to_vec();
        bytes.push(last);
        bytes.extend(info);
        let Parse::Packet(packet, _) = Packet::parse(&bytes, &PLAIN) else { panic!() };
        history.take(&packet, &PLAIN);
        assert_eq!(history.isa(), Some(isa), "{bytes:02x?}");
    }
}

/// Undecodable bytes.
#[test]
fn undecodable_bytes() {
    for (bytes, len, fault) in [
        // too few zero bytes
        (&[0, 0, 0, 0, 0x80][..], 5, Fault::Sequence),
        (&[0, 0, 0, 0, 0, 0, 0x42], 7, Fault::Sequence),
        // too many
        (&[0; 16], 1, Fault::Sequence),
        (&[0x10], 1, Fault::Reserved(0x10)),
        (&[0x6e], 1, Fault::ReservedForConfig(0x6e)),
        // no instruction set in the fifth byte; a sixth announced
        (&[0x81, 0x80, 0x80, 0x80, 0x07], 5, Fault::Sequence),
        (&[0x81, 0x80, 0x80, 0x80, 0x88], 5, Fault::Overlong),
        (&[0x72, 0x81, 0x80, 0x80, 0x80, 0x88], 6, Fault::Overlong),
    ] {
        assert_eq!(Packet::parse(bytes, &PLAIN), Parse::Bad(len, fault), "{bytes:02x?}");
        for cut in 0..bytes.len() {
            assert_eq!(Packet::parse(&bytes[..cut], &PLAIN), Parse::Partial, "{bytes:02x?}");
        }
    }
}

/// "A-sync": five zero bytes or more.
#[test]
fn alignment() {
    let zeros = |n: usize| [std::vec![0; n], std::vec![0x80]].concat();
    for n in 5..=15 {
        assert_eq!(Packet::parse(&zeros(n), &PLAIN), Parse::Packet(Packet::Align, n + 1));
    }
    for (bytes, found) in [
        (&[][..], Found::NotIn(0)),
        (&[0x42, 0x01, 0x02], Found::NotIn(3)),
        (&[0x42, 0, 0, 0], Found::NotIn(1)),
        (&[0, 0, 0, 0, 0x80, 0, 0, 0, 0, 0, 0x80], Found::At(5)),
        (&[1, 0, 0, 0, 0, 0, 0, 0x80, 7], Found::At(1)),
        (&[0; 40], Found::NotIn(25)),
    ] {
        assert_eq!(sync::find(bytes), found, "{bytes:02x?}");
    }
    assert_eq!(sync::find(&zeros(100)), Found::At(85));
}

/// "Encoding of the timestamp value", and two values from a capture of a Cortex-A9, whose
/// difference is the sum of the cycle counts between them.
#[test]
fn gray_code() {
    for (number, code) in [(0, 0), (1, 1), (2, 3), (3, 2), (4, 6), (7, 4), (8, 12)] {
        assert_eq!((gray(number), binary(code)), (code, number));
    }
    assert_eq!(binary(0x58_e908_3764) - binary(0x58_e909_3473), 111_269);
    assert_eq!(binary(0x58_e909_3473) - binary(0x58_e90b_b867), 63_464);
}
