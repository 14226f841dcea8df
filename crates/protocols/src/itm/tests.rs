//! Tables from Armv7-M ARM appendix D4, in its order.

use std::string::String;
use std::vec;
use std::vec::Vec;

use tracewright_base::{
    Channel, Dwt, DwtEvent, Element, Encode, Fault, Gap, LocalTimestamp, NoMemory, OffsetMap,
    Parse, Piece, Software, Step, SyncSearch, TimeDelay, Wire,
};

use super::packet::SYNC_ZEROS_MOST;
use super::{Config, Data, Encoder, Itm, Packet, Search, Settings};
use crate::protocol::Protocol;
use crate::stream::Stream;
use crate::ways::{self, Output, Random};

const SYNC: [u8; 6] = [0, 0, 0, 0, 0, 0x80];
const RAW: Config = Config { control: 0, assume_synced: true };

/// Decodes `bytes` in every way.
#[track_caller]
fn check(config: &Config, bytes: &[u8]) -> Output<Itm> {
    ways::check::<Itm, _>(config, &mut NoMemory, bytes)
}

/// The elements of `bytes` after a synchronisation packet, without the first gap and the end.
/// Offsets count from the first of `bytes`.
#[track_caller]
fn after_sync(config: &Config, bytes: &[u8]) -> Vec<(u64, Element)> {
    let mut elements = check(config, &[&SYNC, bytes].concat()).elements;
    assert_eq!(elements.remove(0), (0, Element::Gap(Gap::Start)));
    assert_eq!(elements.pop().map(|(_, last)| last), Some(Element::End));
    elements.into_iter().map(|(at, element)| (at - 6, element)).collect()
}

fn parse(bytes: &[u8]) -> Parse<Packet> {
    Packet::parse(bytes, &Config::default())
}

fn packet(bytes: &[u8]) -> Packet {
    match parse(bytes) {
        Parse::Packet(packet, len) if len == bytes.len() => packet,
        other => panic!("{other:?} from {bytes:02x?}"),
    }
}

fn write(page: Option<u8>, port: u8, bits: u8, value: u64) -> Software {
    Software::new(Channel::Port { page, port }, bits, value)
}

#[test]
fn synchronisation() {
    for (bytes, want) in [
        (&[0, 0, 0, 0, 0, 0x80][..], Parse::Packet(Packet::Sync { zeros: 5 }, 6)),
        (&[0, 0, 0, 0, 0, 0, 0, 0x80], Parse::Packet(Packet::Sync { zeros: 7 }, 8)),
        (&[0, 0, 0, 0, 0], Parse::Partial),
        // Too short, and the byte that ends it may be a header.
        (&[0, 0, 0, 0, 0x80], Parse::Bad(4, Fault::Sequence)),
        (&[0, 0, 0, 0, 0, 0, 0x70], Parse::Bad(6, Fault::Sequence)),
    ] {
        assert_eq!(parse(bytes), want, "{bytes:02x?}");
    }
    let run = |zeros| [vec![0; zeros], vec![0x80]].concat();
    assert_eq!(packet(&run(SYNC_ZEROS_MOST)), Packet::Sync { zeros: 255 });
    assert_eq!(parse(&run(SYNC_ZEROS_MOST + 1)), Parse::Bad(1, Fault::Sequence));
}

#[test]
fn search() {
    for (bytes, want) in [
        (&[][..], SyncSearch::NotIn(0)),
        (&[1, 2, 3], SyncSearch::NotIn(3)),
        (&[1, 0, 0], SyncSearch::NotIn(1)),
        (&[0, 0, 0, 0, 0x80, 0, 0, 0, 0, 0], SyncSearch::NotIn(5)),
        (&[9, 0, 0, 0, 0, 0, 0x80], SyncSearch::At(1)),
        (&[9, 0, 0, 0, 0, 0, 0, 0x80], SyncSearch::At(1)),
    ] {
        assert_eq!(Itm::sync(&Config::default(), bytes), want, "{bytes:02x?}");
        assert_eq!(Itm::sync(&RAW, bytes), SyncSearch::At(0));
    }
    let long = [vec![0; 300], vec![0x80]].concat();
    assert_eq!(Itm::sync(&Config::default(), &long), SyncSearch::At(45));
    check(&Config::default(), &long);
}

/// The search does not depend on how the bytes are cut.
#[test]
fn search_in_pieces() {
    for (bytes, want) in [
        (&[1, 0, 0, 0, 0, 0, 0x80, 1][..], true),
        (&[0, 0, 0, 0, 0, 0, 0, 0x80], true),
        (&[0, 0, 0, 0, 0x80, 0, 0, 0, 0, 0, 1, 0x80], false),
    ] {
        for cut in 0..=bytes.len() {
            let mut search = Search::default();
            let (head, tail) = bytes.split_at(cut);
            assert_eq!(search.feed(head) | search.feed(tail), want, "{bytes:02x?} cut at {cut}");
        }
    }
}

/// "Table D4-2 ITM and DWT packet protocol encodings": the packet of each header.
#[test]
fn headers() {
    for header in 0..=255u8 {
        let bytes = [header, 0x01, 0x02, 0x03, 0x04];
        let one = |n: u8| match n {
            1 => Data::Byte(0x01),
            2 => Data::Half(0x0201),
            _ => Data::Word(0x0403_0201),
        };
        let (source, ss) = (header >> 3, header & 0b11);
        let size = usize::from(one(ss).size());
        let want = match (header, ss) {
            (_, 1..=3) if header & 0b100 == 0 => {
                Parse::Packet(Packet::Software { port: source, data: one(ss) }, 1 + size)
            }
            (_, 1..=3) => {
                Parse::Packet(Packet::Hardware { discriminator: source, data: one(ss) }, 1 + size)
            }
            (0x00, _) => Parse::Bad(1, Fault::Sequence),
            (0x70, _) => Parse::Packet(Packet::Overflow, 1),
            (0x10 | 0x20 | 0x30 | 0x40 | 0x50 | 0x60, _) => {
                Parse::Packet(Packet::LocalTimeShort { ticks: header >> 4 }, 1)
            }
            (0xc0 | 0xd0 | 0xe0 | 0xf0, _) => {
                let delay = match header {
                    0xc0 => TimeDelay::None,
                    0xd0 => TimeDelay::Timestamp,
                    0xe0 => TimeDelay::Packet,
                    _ => TimeDelay::Both,
                };
                Parse::Packet(Packet::LocalTime { delay, ticks: 1, bytes: 1 }, 2)
            }
            (0x94, _) => {
                let low = Packet::GlobalTimeLow {
                    bits: 1,
                    bytes: 1,
                    clock_changed: false,
                    wrapped: false,
                };
                Parse::Packet(low, 2)
            }
            (0xb4, _) => Parse::Packet(Packet::GlobalTimeHigh { bits: 1, bytes: 1 }, 2),
            (0x08 | 0x18 | 0x28 | 0x38 | 0x48 | 0x58 | 0x68 | 0x78, _) => {
                Parse::Packet(Packet::Page(header >> 4), 1)
            }
            (_, 0) if header & 0x08 != 0 => {
                let (hardware, bytes) = (header & 0b100 != 0, header >> 7);
                let value = u32::from(header >> 4 & 0b111) | u32::from(bytes) << 3;
                let len = 1 + usize::from(bytes);
                Parse::Packet(Packet::Extension { hardware, value, bytes }, len)
            }
            _ => Parse::Bad(1, Fault::Reserved(header)),
        };
        assert_eq!(parse(&bytes), want, "header {header:#04x}");
        if let Parse::Packet(packet, len) = want {
            let mut out = Vec::new();
            packet.emit(&Config::default(), &mut out);
            assert_eq!(out, bytes[..len], "{packet}");
            ways::round_trip::<Itm>(&Config::default(), packet, 0);
        }
    }
}

#[test]
fn overflow() {
    // The first element after an overflow is marked, whatever its kind. The page is not known after
    // an overflow.
    let bytes = [0x28, 0x70, 0x01, 0x41, 0x01, 0x42, 0x70, 0x10, 0x70, 0x17, 4, 3, 2, 1];
    let lost = write(None, 0, 8, 0x41).with(Software::AFTER_OVERFLOW);
    let (delta, total, delay) = (1, 1, TimeDelay::None);
    let time = LocalTimestamp { delta, total, delay, after_overflow: true };
    let pc = DwtEvent { discriminator: 2, size: 4, value: 0x0102_0304, after_overflow: true };
    assert_eq!(
        after_sync(&Config::default(), &bytes),
        [
            (2, Element::SoftwareWrite(lost)),
            (4, Element::SoftwareWrite(write(None, 0, 8, 0x42))),
            (7, Element::LocalTimestamp(time)),
            (9, Element::DwtEvent(pc)),
        ]
    );
}

#[test]
fn local_time() {
    // ITM_TCR.TSPrescale = 2: 16 clock cycles for each tick.
    let config = Config { control: 2 << 8, assume_synced: false };
    let bytes = [
        0x60, // 6 ticks, format 2
        0xc0, 0x82, 0xc8, 0x04, // 0x012402 = 4 << 14 | 0x48 << 7 | 2
        0xd0, 0x0d, // 13, timestamp delayed
        0xe0, 0xc2, 0x26, // 0x1342 = 0x26 << 7 | 0x42, packet delayed
        0xf0, 0xde, 0xfe, 0xd0, 0x3a, // 0x07543f5e, both
    ];
    let mut total = 0;
    let want = [
        (0, 6, TimeDelay::None),
        (1, 0x01_2402, TimeDelay::None),
        (5, 13, TimeDelay::Timestamp),
        (7, 0x1342, TimeDelay::Packet),
        (10, 0x0754_3f5e, TimeDelay::Both),
    ]
    .map(|(at, delta, delay)| {
        total += u64::from(delta) * 16;
        (at, Element::LocalTimestamp(LocalTimestamp { delta, total, delay, after_overflow: false }))
    });
    assert_eq!(after_sync(&config, &bytes), want);
    // Bit 7 of the fourth payload byte is 0.
    assert_eq!(parse(&[0xc0, 0x80, 0x80, 0x80, 0x80]), Parse::Bad(5, Fault::Overlong));
    // High groups that are zero are preserved.
    assert_eq!(
        packet(&[0xc0, 0x81, 0x00]),
        Packet::LocalTime { delay: TimeDelay::None, ticks: 1, bytes: 2 }
    );
}

#[test]
fn global_time() {
    let bytes = [
        &[0x94, 0x7a][..], // bits [6:0] only: those above are not known yet
        &[0xb4, 0x93, 0x98, 0xa0, 0xa0, 0x80, 0x00], // bits [63:26]: [25:7] are still not known
        &[0x94, 0xd6, 0xe8, 0xc8, 0x07], // bits [25:0]: all are known
        &[0x94, 0x92, 0x4e], // bits [13:0]
        &[0x94, 0x82, 0xcf, 0xfa, 0x77], // all of [25:0], clock changed, wrapped: [63:26] are old
        &[0x94, 0x5d],     // still old
        &[0xb4, 0x96, 0x9a, 0x92, 0x00], // bits [47:26]
    ];
    let time = |at, value, clock_changed| {
        (at, Element::GlobalTimestamp { value, clock_changed, after_overflow: false })
    };
    assert_eq!(
        after_sync(&Config::default(), &bytes.concat()),
        [
            time(9, 0x04_080c_13 << 26 | 0x00f2_3456, false),
            time(14, 0x04_080c_13 << 26 | 0x00f2_2712, false),
            time(24, 0x04_8d16 << 26 | 0x02fe_a7dd, true),
        ]
    );
    assert_eq!(parse(&[0x94, 0x80, 0x80, 0x80, 0x80]), Parse::Bad(5, Fault::Overlong));
    assert_eq!(parse(&[0xb4, 255, 255, 255, 255, 255, 255]), Parse::Bad(7, Fault::Overlong));
}

/// A trace unit with timestamps of 48 bits sends no bits above them. (D4.2.5)
#[test]
fn narrow_global_times() {
    let config = Config { control: 0xc01, assume_synced: true };
    let settings = Settings { period: 0, wide: false };
    let (mut encoder, mut packets) = (Encoder::new(&config, &settings), Vec::new());
    for value in [0x5_ffff_ffff_ffff, 0x5_ffff_ffff_e001, 0x6_0000_0000_0003] {
        encoder.step(&Step::Timestamp(value), &config, &mut packets);
    }
    let mut bytes = Vec::new();
    packets.iter().for_each(|packet| packet.emit(&config, &mut bytes));
    let want = [
        &[0x94, 0xff, 0xff, 0xff, 0x5f, 0xb4, 0xff, 0xff, 0xff, 0x01][..],
        &[0x94, 0x81, 0x40],
        &[0x94, 0x83, 0x80, 0x80, 0x40, 0xb4, 0x80, 0x80, 0x80, 0x00],
    ];
    assert_eq!(bytes, want.concat());
}

#[test]
fn pages() {
    // Port 10 of page 2, of page 4, and of page 0 after a synchronisation.
    let bytes = [&[0x28, 0x51, 1, 0x48, 0x51, 2][..], &SYNC, &[0x51, 3]].concat();
    assert_eq!(
        after_sync(&Config::default(), &bytes),
        [
            (1, Element::SoftwareWrite(write(Some(2), 10, 8, 1))),
            (4, Element::SoftwareWrite(write(Some(4), 10, 8, 2))),
            (12, Element::SoftwareWrite(write(Some(0), 10, 8, 3))),
        ]
    );
}

#[test]
fn extensions() {
    for (bytes, hardware, value) in [
        (&[0b0101_1100][..], true, 5),
        (&[0b1101_1000, 0x01], false, 1 << 3 | 5),
        (&[0b1000_1100, 0x80, 0x01], true, 1 << 10),
        (&[0b1000_1000, 0x80, 0x80, 0x01], false, 1 << 17),
        // The fourth byte has 8 bits.
        (&[0b1000_1000, 0x80, 0x80, 0x80, 0x81], false, 0x81 << 24),
    ] {
        let count = bytes.len() as u8 - 1;
        assert_eq!(packet(bytes), Packet::Extension { hardware, value, bytes: count });
        ways::round_trip::<Itm>(&Config::default(), packet(bytes), 0);
        assert_eq!(after_sync(&Config::default(), bytes), []);
    }
}

#[test]
fn software() {
    for (bytes, port, bits, value) in [
        (&[0b00000_001, 0x41][..], 0, 8, 0x41),
        (&[0b00011_010, 0x4f, 0x4b], 3, 16, 0x4b4f),
        (&[0b11111_011, 0x78, 0x56, 0x34, 0x12], 31, 32, 0x1234_5678),
    ] {
        let want = Element::SoftwareWrite(write(Some(0), port, bits, value));
        assert_eq!(after_sync(&Config::default(), bytes), [(0, want)]);
    }
}

#[test]
fn hardware() {
    use tracewright_base::ExceptionStep::{Entered, Exited, Returned};
    for (bytes, want) in [
        (&[0b00000_101, 0x15][..], Dwt::Counters(0x15)),
        (&[0b00001_110, 0x2c, 0x10], Dwt::Exception { number: 44, step: Entered }),
        (&[0b00001_110, 0x0f, 0x21], Dwt::Exception { number: 271, step: Exited }),
        (&[0b00001_110, 0x00, 0x30], Dwt::Exception { number: 0, step: Returned }),
        (&[0b00010_111, 0x18, 0x02, 0, 0x08], Dwt::PcSample(0x0800_0218)),
        (&[0b00010_101, 0x00], Dwt::Sleep),
        (&[0b00010_101, 0xff], Dwt::Prohibited),
        (&[0b00011_101, 0x81], Dwt::PmuCounters(0x81)),
        (&[0b00011_110, 0x81, 0], Dwt::Reserved { discriminator: 3, size: 2, value: 0x81 }),
        (&[0b01_01_0_111, 0x8c, 2, 0, 8], Dwt::DataPc { comparator: 1, size: 4, pc: 0x0800_028c }),
        (&[0b01_11_0_101, 1], Dwt::DataMatch { comparator: 3 }),
        (
            &[0b01_00_1_110, 0x10, 0x10],
            Dwt::DataAddress { comparator: 0, size: 2, address: 0x1010 },
        ),
        (
            &[0b10_01_0_101, 0x44],
            Dwt::DataValue { comparator: 1, write: false, size: 1, value: 0x44 },
        ),
        (
            &[0b10_10_1_111, 0x77, 0x66, 0x55, 0x44],
            Dwt::DataValue { comparator: 2, write: true, size: 4, value: 0x4455_6677 },
        ),
        (&[0b00110_111, 0, 0x20, 0, 0], Dwt::Reserved { discriminator: 6, size: 4, value: 0x2000 }),
    ] {
        let elements = after_sync(&Config::default(), bytes);
        let [(0, Element::DwtEvent(hardware))] = elements[..] else { panic!("{elements:?}") };
        assert_eq!(hardware.meaning(), want, "{bytes:02x?}");
    }
}

/// The length of a packet with a reserved header is not known: decoding resumes at the next
/// synchronisation.
#[test]
fn a_reserved_header_loses_synchronisation() {
    let bytes = [&SYNC[..], &[0x04, 0x01, 0x41], &SYNC, &[0x01, 0x42]].concat();
    let (at, reserved) = (6, Fault::Reserved(0x04));
    assert_eq!(
        check(&Config::default(), &bytes).elements,
        [
            (0, Element::Gap(Gap::Start)),
            (at, Element::Gap(Gap::BadPacket)),
            (at, Element::Undecodable { len: 1, fault: reserved }),
            (7, Element::Undecodable { len: 2, fault: Fault::Unsynchronised }),
            (15, Element::SoftwareWrite(write(Some(0), 0, 8, 0x42))),
            (15, Element::End),
        ]
    );
    // With `assume_synced`, the next byte is parsed as a header.
    let bare = check(&RAW, &bytes).elements;
    assert_eq!(bare[3], (7, Element::SoftwareWrite(write(None, 0, 8, 0x41))));
}

/// Zeros at the end of a packet may be the first ones of a synchronisation packet, but not where
/// bytes after them were lost.
#[test]
fn a_synchronisation_does_not_span_a_loss() {
    let fed = |payload: u8, lost: bool| {
        let (mut stream, mut output) =
            (Stream::<Itm>::new(Config::default()), Output::<Itm>::default());
        let first = [&SYNC[..], &[0x03], &[payload; 4]].concat();
        let next = [0, 0x80, 0x01, 0x42];
        for (at, bytes) in [(0, &first[..]), (11, &next)] {
            if at > 0 && lost {
                stream.lost(at, &mut output);
            }
            let pieces = [Piece { start: 0, at, fragment: true }];
            let taken = stream.feed(bytes, &OffsetMap::new(&pieces), &mut NoMemory, &mut output);
            assert_eq!(taken, bytes.len());
        }
        output.elements.into_iter().filter(|(at, _)| *at >= 11).collect::<Vec<_>>()
    };
    let write = (13, Element::SoftwareWrite(write(Some(0), 0, 8, 0x42)));
    assert_eq!(fed(0, false).last(), Some(&write));
    assert_ne!(fed(0, false), fed(1, false));
    assert_eq!(fed(0, true), fed(1, true));
}

/// Without a synchronisation packet nothing is decoded, unless `assume_synced` is set.
#[test]
fn a_capture_that_begins_in_the_middle() {
    let bytes = [0x01, 0x41, 0x10];
    assert_eq!(
        check(&Config::default(), &bytes).elements[..2],
        [
            (0, Element::Gap(Gap::Start)),
            (0, Element::Undecodable { len: 3, fault: Fault::Unsynchronised }),
        ]
    );
    let time = LocalTimestamp { delta: 1, total: 1, delay: TimeDelay::None, after_overflow: false };
    assert_eq!(
        check(&RAW, &bytes).elements,
        [
            (0, Element::Gap(Gap::Start)),
            (0, Element::SoftwareWrite(write(None, 0, 8, 0x41))),
            (2, Element::LocalTimestamp(time)),
            (2, Element::End),
        ]
    );
}

#[test]
fn registers() {
    let config = |name: &'static str, value| {
        Itm::configure(None, &|asked| (asked == name).then_some(value)).unwrap()
    };
    for name in ["ITMTCR", "CONTROL_REGISTER"] {
        let config = config(name, 0x0014_030f);
        assert_eq!((Itm::trace_id(&config), config.prescale()), (0x14, 64), "{name}");
    }
    assert_eq!(config("none", 0).prescale(), 1);
}

#[test]
fn any_bytes_at_all() {
    for seed in 1..=300 {
        let mut random = Random::new(seed);
        let mut bytes = random.bytes(64);
        // Half of the inputs have synchronisation packets and runs of zeros.
        if seed % 2 == 0 {
            bytes.splice(20..20, SYNC);
            bytes.splice(40..44, [0; 4]);
        }
        ways::garbage::<Itm, _>(&Config::default(), &mut NoMemory, &bytes);
        ways::garbage::<Itm, _>(&RAW, &mut NoMemory, &bytes);
        check(&RAW, &bytes);
    }
}

fn shared(path: &str) -> Option<Vec<u8>> {
    tracewright_testing::shared(path).map(|path| tracewright_testing::unpacked(&path))
}

/// Stream 1 of a Cortex-M3's SWO capture, compared with the output of sigrok's decoder line by
/// line.
#[test]
fn a_cortex_m3_capture_as_sigrok_decodes_it() {
    let folder = "captures/sigrok-stm32f105";
    let (Some(bytes), Some(want)) = (
        shared(&std::format!("{folder}/sigrok_tpiu_s1.txt")),
        shared(&std::format!("{folder}/sigrok_itm.txt")),
    ) else {
        return;
    };
    let bytes: Vec<u8> = String::from_utf8_lossy(&bytes)
        .lines()
        .filter_map(|line| u8::from_str_radix(line.rsplit_once("0x")?.1, 16).ok())
        .collect();
    let elements = ways::decode::<Itm, _>(&RAW, &mut NoMemory, &bytes, &[]).elements;
    let (lines, texts) = sigrok_lines(&elements);
    let want = String::from_utf8_lossy(&want).into_owned();
    let want: Vec<&str> = want.lines().filter_map(|l| l.strip_prefix("arm_itm-1: ")).collect();
    // sigrok joins bytes to text and prints the text late. Its names of lines, functions and modes
    // are not in the trace.
    let (quoted, want): (Vec<&str>, Vec<&str>) = want.into_iter().partition(|l| l.contains('"'));
    let words = ["PC: ", "Watchpoint ", "0: ", "1: ", "Enter: ", "Exit: ", "Resume: ", "Overflow"];
    let want: Vec<&str> =
        want.into_iter().filter(|l| words.iter().any(|word| l.starts_with(word))).collect();
    assert_eq!(lines.len(), want.len());
    for (line, (got, want)) in lines.iter().zip(want).enumerate() {
        // The bytes from 1191 on, `17 f6 02 00 08` between whole packets, are a PC sample. sigrok
        // drops a packet in which the line pauses, and parses the last three bytes as a write of
        // 0x0800 to port 0.
        let want = if want == "0: 0x0800" { "PC: 0x080002f6" } else { want };
        assert_eq!(got, want, "line {line}");
    }
    for (port, text) in texts.iter().enumerate() {
        let want: String = quoted
            .iter()
            .filter_map(|l| l.strip_prefix(&std::format!("{port}: "))?.split('"').nth(1))
            .collect();
        assert_eq!(text, &want, "port {port}");
        assert!(!text.is_empty());
    }
}

/// Elements in sigrok's format, and the bytes written to ports 0 and 1.
fn sigrok_lines(elements: &[(u64, Element)]) -> (Vec<String>, [String; 2]) {
    use tracewright_base::ExceptionStep::{Entered, Exited, Returned};
    let (mut lines, mut texts) = (Vec::new(), [const { String::new() }; 2]);
    for (_, element) in elements {
        let (lost, line) = match *element {
            Element::DwtEvent(hardware) => {
                let line = match hardware.meaning() {
                    Dwt::PcSample(pc) => std::format!("PC: {pc:#010x}"),
                    Dwt::DataPc { comparator, pc, .. } => {
                        std::format!("Watchpoint {comparator}: PC {pc:#010x}")
                    }
                    Dwt::DataAddress { comparator, address, .. } => {
                        std::format!("Watchpoint {comparator}: address 0x????{address:04x}")
                    }
                    Dwt::DataValue { comparator, write: true, value, .. } => {
                        std::format!("Watchpoint {comparator}: Write data {value:#010x}")
                    }
                    Dwt::Exception { number, step } => {
                        let verb = match step {
                            Entered => "Enter",
                            Exited => "Exit",
                            Returned => "Resume",
                        };
                        match number {
                            0 => std::format!("{verb}: Thread"),
                            _ => std::format!("{verb}: IRQ {}", number - 16),
                        }
                    }
                    other => std::format!("{other}"),
                };
                (hardware.after_overflow, line)
            }
            Element::SoftwareWrite(software) => {
                let Channel::Port { port, .. } = software.channel else { continue };
                let lost = software.has(Software::AFTER_OVERFLOW);
                if software.bits == 8 {
                    texts[usize::from(port)].push(software.value() as u8 as char);
                    lines.extend(lost.then(|| String::from("Overflow")));
                    continue;
                }
                (lost, std::format!("{port}: {:#010x}", software.value()))
            }
            _ => continue,
        };
        lines.extend(lost.then(|| String::from("Overflow")));
        lines.push(line);
    }
    (lines, texts)
}

/// A raw capture of exceptions with local timestamps, which begins at a header.
#[test]
fn exceptions_of_a_raw_capture() {
    let Some(bytes) = shared("captures/rtic-scope/itm-crate-itm.bin") else { return };
    let output = check(&RAW, &bytes);
    assert!(!output.elements.iter().any(|(_, e)| matches!(e, Element::Undecodable { .. })));
    let words: Vec<String> =
        output.elements[1..14].iter().map(|(_, e)| std::format!("{e}")).collect();
    assert_eq!(
        words,
        [
            "dwt-event  entered IRQ 6",
            "local-timestamp +1627 = 1627", // 0x0c << 7 | 0x5b
            "dwt-event  entered IRQ 8",
            "local-timestamp +183 = 1810", // 0x01 << 7 | 0x37
            "dwt-event  exited IRQ 8",
            "local-timestamp +1078 = 2888", // 0x08 << 7 | 0x36
            "dwt-event  entered IRQ 7",
            "local-timestamp +3 = 2891",
            "dwt-event  exited IRQ 7",
            "local-timestamp +565 = 3456", // 0x04 << 7 | 0x35
            "dwt-event  returned to IRQ 6",
            "local-timestamp +7 = 3463",
            "dwt-event  entered Thread",
        ]
    );
    // With `assume_synced` unset, all elements after the first synchronisation packet are the same.
    let synced = check(&Config::default(), &bytes).elements;
    assert_eq!(synced[1], (0, Element::Undecodable { len: 33, fault: Fault::Unsynchronised }));
    assert_eq!(synced.len() - 2, output.elements.len() - 13);
}
