//! Tables from the specification, in its order.

use std::string::ToString;
use std::vec::Vec;

use tracewright_base::{Fault, Parse, Wire};
use tracewright_testing::Random;

use super::config::{Config, Profile};
use super::packet::quick::{Layout, Quick};
use super::packet::{Message, Packet, Process};

fn bytes(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(|c| !c.is_ascii_whitespace()).collect();
    digits
        .chunks(2)
        .map(|pair| u8::from_str_radix(core::str::from_utf8(pair).unwrap(), 16).unwrap())
        .collect()
}

fn spec() -> Config {
    Config::default()
}

fn with_sources(bits: u8) -> Config {
    let mut config = spec();
    config.link.source_bits = bits;
    config
}

fn extended() -> Config {
    Config { extend_msb: true, ..spec() }
}

fn sifive() -> Config {
    Config::of(Profile::Sifive, true)
}

/// Bytes, their message as text, and whether the bytes are the shortest form.
#[test]
fn messages() {
    let four = Config { extend_msb: true, ..with_sources(4) };
    for (config, hex, want, canonical) in [
        (spec(), "ff", "idle", true),
        (spec(), "fb", "idle 0xfb", false),
        (spec(), "00", "unwritten", true),
        // "N-Trace Messages", in the order of TCODE.
        (spec(), "08 c8 3b", "Ownership PROCESS 0x3b2 (VU, scontext 0x1d)", true),
        (spec(), "08 33", "Ownership PROCESS 0xc (M)", true),
        (with_sources(2), "08 07", "Ownership SRC 1, PROCESS 0x0 (U)", true),
        (spec(), "0c 13", "DirectBranch I-CNT 4", true),
        (spec(), "10 88 05 83", "IndirectBranch B-TYPE 2 (exception), I-CNT 24, U-ADDR 0x20", true),
        (four, "20 24 41 07", "Error SRC 9, ETYPE 0 (FIFO overrun), ECODE 0x4, TSTAMP +1", true),
        (
            four,
            "24 e4 01 00 80 01 03",
            "ProgTraceSync SRC 9, SYNC 3 (exit from debug mode), I-CNT 0, F-ADDR 0x800, TSTAMP 0",
            true,
        ),
        (
            four,
            "10 24 29 00 80 00 00 00 05 17",
            "IndirectBranch SRC 9, B-TYPE 0, I-CNT 10, U-ADDR 0x40000800, TSTAMP +5",
            true,
        ),
        (
            four,
            "6c 64 90 90 68 08 00 21 34 33",
            "ResourceFull SRC 9, RCODE 1 (HIST), RDATA 0x80026a49, TSTAMP +781",
            true,
        ),
        (
            four,
            "6c 24 00 00 11 03",
            "ResourceFull SRC 9, RCODE 0 (I-CNT), RDATA 0x1000, TSTAMP +0",
            true,
        ),
        (
            spec(),
            "6c c8 fc fc fc fc fd 23",
            "ResourceFull RCODE 2 (HIST repeated), RDATA 0xffffffff, HREPEAT 8",
            true,
        ),
        (spec(), "78 1b", "RepeatBranch B-CNT 6", true),
        (
            spec(),
            "84 50 ec 09 1b",
            "ProgTraceCorrelation EVCODE 4 (trace disabled), CDF 1, I-CNT 187, HIST 0x6",
            true,
        ),
        // One byte of an empty I-CNT, and none.
        (spec(), "84 00 03", "ProgTraceCorrelation EVCODE 0 (debug mode), CDF 0, I-CNT 0", true),
        (spec(), "84 03", "ProgTraceCorrelation EVCODE 0 (debug mode), CDF 0, I-CNT 0", false),
        // The specification's example: its last byte is 0xff.
        (
            spec(),
            "70 d0 1d 1d f8 ff",
            "IndirectBranchHist B-TYPE 0, I-CNT 125, U-ADDR 0x7, HIST 0xffe",
            true,
        ),
        (spec(), "e4 fc fc 07", "TCODE 57 (vendor defined) e4 fc fc 07", true),
        (spec(), "fc 03", "TCODE 63 (vendor extension) fc 03", true),
        (spec(), "84 80 03", "TCODE 33 (ProgTraceCorrelation) 84 80 03", true),
        (
            sifive(),
            "1c 01 d0 30 fc 60 fc 05 0f",
            "DataAcquisition IDTAG 0x0, DQDATA 0x7f63f334, TSTAMP +3",
            true,
        ),
        (
            sifive(),
            "8c 00 01 44 37",
            "InCircuitTraceSync CKSRC 0 (control), CKDF 0, CKDATA0 0x0, TSTAMP 849",
            true,
        ),
        (spec(), "1c 01 03", "TCODE 7 (DataAcquisition) 1c 01 03", true),
    ] {
        is_message(config, hex, want, canonical);
    }
}

/// Messages of whole runs: with all options, of traps, of Linux.
#[test]
fn runs() {
    let four = Config { extend_msb: true, ..with_sources(4) };
    let linux = Config { link: with_sources(2).link, ..sifive() };
    for (config, hex, want) in [
        (four, "08 a4 ac 0d 03", "Ownership SRC 9, PROCESS 0x3ae (M, scontext 0x1d), TSTAMP +0"),
        (
            four,
            "24 e4 05 0c 1c 00 00 00 05 3c 38 13",
            "ProgTraceSync SRC 9, SYNC 7 (restart after overrun), I-CNT 0, F-ADDR 0x400001c3, \
             TSTAMP 17295",
        ),
        (
            spec(),
            "24 0d 00 83",
            "ProgTraceSync SYNC 3 (exit from debug mode), I-CNT 0, F-ADDR 0x800",
        ),
        (spec(), "10 a1 00 80 00 00 00 07", "IndirectBranch B-TYPE 0, I-CNT 10, U-ADDR 0x40000800"),
        (spec(), "10 09 d8 13", "IndirectBranch B-TYPE 2 (exception), I-CNT 0, U-ADDR 0x136"),
        (spec(), "84 00 13", "ProgTraceCorrelation EVCODE 0 (debug mode), CDF 0, I-CNT 4"),
        (spec(), "24 05 00 13", "ProgTraceSync SYNC 1 (exit from reset), I-CNT 0, F-ADDR 0x100"),
        (spec(), "10 41 00 1b", "IndirectBranch B-TYPE 0, I-CNT 4, U-ADDR 0x180"),
        (
            linux,
            "24 54 01 40 3c e8 a0 dc a8 a8 2b",
            "ProgTraceSync SRC 1, SYNC 5 (trace enabled), I-CNT 0, F-ADDR 0x2aaab7a3a3d0",
        ),
        (linux, "08 24 f0 63", "Ownership SRC 1, PROCESS 0x63c2 (U, scontext 0x31e)"),
        (
            linux,
            "70 c4 09 98 d8 05 0b",
            "IndirectBranchHist SRC 1, B-TYPE 0, I-CNT 11, U-ADDR 0x1da6, HIST 0x2",
        ),
        (
            linux,
            "70 55 88 a8 5c 84 08 00 00 c1 0f",
            "IndirectBranchHist SRC 1, B-TYPE 1 (exception or interrupt), I-CNT 1, \
             U-ADDR 0xc00002857aa2, HIST 0x3",
        ),
        (linux, "08 47", "Ownership SRC 1, PROCESS 0x4 (S)"),
    ] {
        is_message(config, hex, want, true);
    }
}

/// The bytes are the message, and the message the bytes, if they are the shortest form.
#[track_caller]
fn is_message(config: Config, hex: &str, want: &str, canonical: bool) {
    let given = bytes(hex);
    match Packet::parse(&given, &config) {
        Parse::Packet(packet, len) => {
            assert_eq!((packet.to_string().as_str(), len), (want, given.len()), "{hex}");
            let mut out = Vec::new();
            packet.emit(&config, &mut out);
            if canonical {
                assert_eq!(out, given, "{hex}");
            }
            assert_eq!(Packet::parse(&out, &config), Parse::Packet(packet, out.len()), "{hex}");
        }
        other => panic!("{hex}: {other:?}"),
    }
    for cut in 1..given.len() {
        assert_eq!(Packet::parse(&given[..cut], &config), Parse::Partial, "{hex} cut at {cut}");
    }
}

/// "Virtual Addresses Optimization": addresses of a ProgTraceSync message.
#[test]
fn addresses() {
    for (pc, config, hex) in [
        (0xffff_ffff_8000_31f4, extended(), "24 15 e8 8c 04 00 00 ff"),
        (0xffff_ffff_8000_31f4, spec(), "24 15 e8 8c 04 00 00 fc fc fc fc fc 1f"),
        (0xbfff_ffff_ffff_fffe, extended(), "24 15 fc fc fc fc fc fc fc fc fc fc 17"),
        (0xbfff_ffff_ffff_fffe, spec(), "24 15 fc fc fc fc fc fc fc fc fc fc 17"),
        (0x0000_001f_ffff_fffe, extended(), "24 15 fc fc fc fc fc fc 03"),
        (0x0000_001f_ffff_fffe, spec(), "24 15 fc fc fc fc fc ff"),
        (0xffff_fffe_3fff_fffe_u64, extended(), "24 15 fc fc fc fc 7c f3"),
    ] {
        let packet = Packet::from(Message::ProgTraceSync { sync: 5, icnt: 0, faddr: pc >> 1 });
        let mut out = Vec::new();
        packet.emit(&config, &mut out);
        assert_eq!(out, bytes(hex), "0x{pc:x}");
        assert_eq!(Packet::parse(&out, &config), Parse::Packet(packet, out.len()), "0x{pc:x}");
    }
}

/// Bytes that are no message.
#[test]
fn framing() {
    for (hex, len, fault) in [
        ("24 02 03", 3, Fault::Sequence),
        ("01 0b", 2, Fault::Sequence),
        ("0c 01 01 07", 4, Fault::BytesAfterFields),
        ("24 07", 2, Fault::FieldsAfterBytes),
        ("10 07", 2, Fault::FieldsAfterBytes),
        // A fixed field that ends early.
        ("25 13", 2, Fault::Sequence),
        ("74 01 13", 3, Fault::FieldsAfterBytes),
        // More than 64 bits that are not padding.
        ("0c fc fc fc fc fc fc fc fc fc fc ff", 12, Fault::Overlong),
    ] {
        assert_eq!(Packet::parse(&bytes(hex), &spec()), Parse::Bad(len, fault), "{hex}");
    }
    let zeros = [0x0c, 0xfc, 0xfc, 0xfc, 0xfc, 0xfc, 0xfc, 0xfc, 0xfc, 0xfc, 0xfc, 0x3c, 0x03];
    let want = Message::DirectBranch { icnt: u64::MAX }.into();
    assert_eq!(Packet::parse(&zeros, &spec()), Parse::Packet(want, zeros.len()));
}

#[test]
fn process_fields() {
    let process = Process(0x3b2);
    assert_eq!((process.format(), process.privilege(), process.guest()), (2, 0, true));
    assert_eq!(process.context(), Some(0x1d));
    assert_eq!(Process::new(2, 0, true, 0x1d), process);
}

/// A message that a fast reader takes is the one that the parser reads, whatever the widths are.
#[test]
fn fast_readers() {
    let mut random = Random::new(28);
    let (mut taken, mut full) = (0, 0);
    for _ in 0..100_000 {
        let config =
            Config { extend_msb: random.one_in(2), ..with_sources(random.below(13) as u8) };
        let mut number = |bits: u64| random.next() >> random.below(64).max(64 - bits);
        let (icnt, uaddr, hist) = (number(22), number(63), number(32) | 1);
        let btype = u8::from(random.one_in(8));
        let message = match random.below(5) {
            0 => Message::ResourceFull { rcode: 1, rdata: 1 << 31 | hist, hrepeat: 0 },
            1 => Message::ResourceFull { rcode: random.below(2) as u8, rdata: hist, hrepeat: 0 },
            2 => Message::DirectBranch { icnt },
            3 => Message::IndirectBranch { btype, icnt, uaddr },
            _ => Message::IndirectBranchHist { btype, icnt, uaddr, hist },
        };
        let source = (random.next() & ((1 << config.link.source_bits) - 1)) as u16;
        let time = random.one_in(4).then(|| random.below(1 << 20));
        let mut bytes = Vec::new();
        Packet { source, message, time }.emit(&config, &mut bytes);
        let changed = random.index(bytes.len());
        bytes[changed] ^= if random.one_in(2) { 1 << random.below(8) } else { 0 };
        bytes.extend(random.bytes(40));
        let layout = Layout::of(&config);
        let parsed = match Packet::parse(&bytes, &config) {
            Parse::Packet(packet, len) => Some((packet.message, packet.time, len)),
            _ => None,
        };
        if let Some(hist) = layout.full_history(&bytes) {
            let want = Message::ResourceFull { rcode: 1, rdata: hist, hrepeat: 0 };
            assert_eq!(parsed, Some((want, None, layout.full_len())), "{config:?} {bytes:x?}");
            full += 1;
        }
        if let Some(Quick { tcode, count, uaddr, hist, time, len }) = layout.read(&bytes) {
            let message = match (tcode, hist) {
                (3, _) => Message::DirectBranch { icnt: count },
                (4, _) => Message::IndirectBranch { btype: 0, icnt: count, uaddr },
                (28, _) => Message::IndirectBranchHist { btype: 0, icnt: count, uaddr, hist },
                (_, 1) => Message::ResourceFull { rcode: 0, rdata: count, hrepeat: 0 },
                _ => Message::ResourceFull { rcode: 1, rdata: hist, hrepeat: 0 },
            };
            assert_eq!(parsed, Some((message, time, len)), "{config:?} {bytes:x?}");
            taken += 1;
        }
    }
    assert!(taken > 40_000 && full > 5000, "{taken} {full}");
}
