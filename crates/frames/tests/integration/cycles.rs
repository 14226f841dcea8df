//! Captures of cycles, laid out from IHI 0014 and converted between all formats.

use tracewright_frames::cycles::port::{
    Driver, Levels, MICTOR, MICTOR_B, Mode, PAIRS, Rates, Sampler, Wiring,
};
use tracewright_frames::cycles::{
    Cycle, Version, Width, cycles, etb, etmp, openocd, records, text,
};
use tracewright_frames::pins::Action;
use tracewright_testing::Random;

fn v1(words: &str) -> Vec<Cycle> {
    text::cycles(words, Version::V1).collect::<Result<_, _>>().unwrap()
}

/// IHI 0014, 5.3.2, Example 5-1.
const EXAMPLE_5_1: &str = "TD:01 x4 IE:01 TD:01 x5 ID:11 TD:01 x5 ID:11 WT:22 TD:01 x2 WT:11 WT:22 WT:33 WT:44 \
    ID:01 TD:01 x3 IE:01 BE*:00 A0:00 A0:00";

/// Words of the RAM of an ETB: the example of section 5.3.2, and one sample of each port.
#[test]
fn etb_words() {
    let example = v1(EXAMPLE_5_1);
    let words = [
        0x00f00f, 0x00f00f, 0x00f008, 0x00f00f, 0x00f00f, 0x00f089, 0x00f00f, 0x00f00f, 0x113089,
        0x00f00f, 0x11308b, 0x22319b, 0x00f009, 0x00f00f, 0x804008, 0x000000,
    ];
    assert_eq!(etb::write(example.clone(), Width::W8).collect::<Vec<_>>(), words);
    assert_eq!(etb::read(words, Width::W8).collect::<Vec<_>>(), example);

    let four = v1("BE*:d WT:a ID:5");
    assert_eq!(etb::write(four.clone(), Width::W4).collect::<Vec<_>>(), [0x2953ec]);
    assert_eq!(etb::read([0x2953ec], Width::W4).collect::<Vec<_>>(), four);
    let sixteen = v1("BE*:8180");
    assert_eq!(etb::write(sixteen.clone(), Width::W16).collect::<Vec<_>>(), [0xc0c04]);
    assert_eq!(etb::read([0xc0c04], Width::W16).collect::<Vec<_>>(), sixteen);
}

/// A full RAM begins at the write pointer.
#[test]
fn etb_order() {
    let ram = [1, 2, 3, 4];
    for (pointer, full, want) in [
        (0, true, &[1, 2, 3, 4][..]),
        (3, true, &[4, 1, 2, 3]),
        (3, false, &[1, 2, 3]),
        (0, false, &[]),
        (9, true, &[1, 2, 3, 4]),
    ] {
        assert_eq!(etb::in_order(&ram, pointer, full).collect::<Vec<_>>(), want);
    }
}

/// Three cycles as OpenOCD writes them; and a trigger, whose replaced status is in the first word.
#[test]
fn openocd_dumps() {
    let words = [0x0c, 0x0001_081c, 3, 4, 0x80, 1, 0, 0x80, 0, 0, 0x82, 0];
    let bytes: Vec<u8> = words.iter().flat_map(|word| u32::to_be_bytes(*word)).collect();
    let dump = openocd::Dump::read(&bytes).unwrap();
    assert_eq!((dump.status, dump.control), (0x0c, 0x0001_081c));
    let sent = v1("BE*:80 A0:80 A0:82");
    assert_eq!(dump.cycles().collect::<Vec<_>>(), sent);
    let mut again = Vec::new();
    openocd::write(0x0c, 0x0001_081c, &sent, &mut again);
    assert_eq!(again, bytes);

    let trigger = v1("TR:5b");
    let mut file = Vec::new();
    openocd::write(2, 0, &trigger, &mut file);
    assert_eq!(file[12..], [0, 0, 0, 3, 0, 0, 0, 0x5b, 0, 0, 0, 2]);
    assert_eq!(openocd::Dump::read(&file).unwrap().cycles().collect::<Vec<_>>(), trigger);

    use openocd::NotDump;
    assert_eq!(openocd::Dump::read(&bytes[..8]), Err(NotDump::Short));
    assert_eq!(openocd::Dump::read(&bytes[..47]), Err(NotDump::Count(3)));
    file[15] = 8;
    assert_eq!(openocd::Dump::read(&file), Err(NotDump::Row(0)));
}

/// IHI 0014, 4.4.1 and 4.4.2.
#[test]
fn capture_devices() {
    let actions = |version, words| -> Vec<Action> {
        let cycles = text::cycles(words, version).map(Result::unwrap);
        cycles.map(|cycle| cycle.action(version)).collect()
    };
    let (store, trigger, drop) = (Action::Store, Action::StoreTrigger, Action::Discard);
    let words = "IE:00 ID:00 IN:00 WT:00 BE:00 BD:00 TR:00 TR:01 TD:00 TD:fe TD:01";
    let want = [store, store, store, store, store, store, trigger, trigger, drop, drop, store];
    assert_eq!(actions(Version::V1, words), want);
    let words = "TR:00 TD:00 TD:10 TD:01 TD:07 TD:19 PNIN:00 PNDN:00 PNDN:01 WT:00";
    let want = [trigger, drop, drop, store, store, store, store, store, store, store];
    assert_eq!(actions(Version::V2, words), want);
}

/// IHI 0014, Table 2-17.
#[test]
fn rates() {
    let wiring = |half_rate, mode| Wiring { mode, half_rate, width: Width::W8 };
    for (half, mode, both_edges, clock, data, pins) in [
        (false, Mode::Normal, false, (1, 1), (1, 1), (1, 1)),
        (false, Mode::Multiplexed, true, (1, 1), (2, 1), (1, 2)),
        (false, Mode::Demultiplexed, false, (1, 2), (1, 2), (2, 1)),
        (true, Mode::Normal, true, (1, 2), (1, 1), (1, 1)),
        (true, Mode::Demultiplexed, true, (1, 4), (1, 2), (2, 1)),
    ] {
        let wiring = wiring(half, mode);
        assert_eq!(wiring.rates(), Some(Rates { both_edges, clock, data, pins }));
        // The levels of 8 cycles have the number of edges, and of samples, of the table.
        let mut levels = Vec::new();
        Driver::new(wiring).push(&[Cycle::NOTHING; 8], &mut levels);
        let clocks = levels.windows(2).filter(|pair| !pair[0].clock && pair[1].clock).count();
        assert_eq!(clocks, 8 * usize::from(clock.0) / usize::from(clock.1), "{wiring:?}");
        let edges = if both_edges { levels.len() - 1 } else { clocks };
        assert_eq!(edges, 8 * usize::from(data.0) / usize::from(data.1), "{wiring:?}");
    }
    assert_eq!(wiring(true, Mode::Multiplexed).rates(), None);
    // Of a 4, 8 or 16-bit port half the signals, PIPESTAT[2:0] and trace signal 4 among them.
    for (width, pins) in [(Width::W4, 4), (Width::W8, 6), (Width::W16, 10)] {
        let signals = |pair: &&(u8, u8)| pair.1 < 4 + width.pins();
        assert_eq!(PAIRS.iter().filter(signals).count(), pins);
    }
    let control = |bits: u32| Wiring::of_control(bits);
    assert_eq!(control(0x12), Some(Wiring::default().with(Width::W8)));
    assert_eq!(control(1 << 16).map(|w| w.mode), Some(Mode::Multiplexed));
    assert_eq!(
        control(2 << 16 | 1 << 13).map(|w| (w.mode, w.half_rate)),
        Some((Mode::Demultiplexed, true))
    );
    assert_eq!((control(3 << 16), control(3 << 4)), (None, None));
}

trait With {
    fn with(self, width: Width) -> Self;
}

impl With for Wiring {
    fn with(self, width: Width) -> Self {
        Wiring { width, ..self }
    }
}

/// IHI 0014, Table 8-8: for each signal the pin and the edge that it is on.
#[test]
fn multiplexed_pairs() {
    let wiring = Wiring { mode: Mode::Multiplexed, half_rate: false, width: Width::W16 };
    // Rising, falling: numbers of TRACEPKT pins; 100 and up PIPESTAT, 103 also TRACESYNC.
    let table = [
        (100, 103),
        (101, 1),
        (102, 2),
        (0, 3),
        (4, 5),
        (6, 7),
        (8, 9),
        (10, 11),
        (12, 13),
        (14, 15),
    ];
    let signal = |name: u8| match name {
        100..=102 => Cycle { status: 1 << (name - 100), sync: false, packet: 0 },
        103 => Cycle { status: 0, sync: true, packet: 0 },
        n => Cycle { status: 0, sync: false, packet: 1 << n },
    };
    for (pin, (rising, falling)) in table.into_iter().enumerate() {
        for (name, edge) in [(rising, 1), (falling, 2)] {
            let mut levels = Vec::new();
            Driver::new(wiring).push(&[signal(name)], &mut levels);
            let on = Levels { clock: edge == 1, a: 1 << pin, b: 0 };
            assert_eq!(levels.len(), 3);
            assert_eq!(levels[edge], on, "{name}");
            assert_eq!(levels[3 - edge].a, 0, "{name}");
        }
    }
}

/// IHI 0014, 8.2.5: the `_B` pins have the older cycle.
#[test]
fn demultiplexed_order() {
    let wiring = Wiring { mode: Mode::Demultiplexed, half_rate: false, width: Width::W4 };
    let (mut sampler, mut got) = (Sampler::new(wiring), Vec::new());
    let (older, newer) = (v1("BE*:5")[0], v1("WT:a")[0]);
    for clock in [false, true, false] {
        sampler.sample(Levels { clock, a: newer.signals(), b: older.signals() }, &mut got);
    }
    assert_eq!(got, [older, newer]);
}

/// IHI 0014, Tables 8-3 and 8-9: no two signals share a pin.
#[test]
fn connectors() {
    let mut pins: Vec<_> = MICTOR.to_vec();
    pins.sort_unstable();
    pins.dedup();
    assert_eq!(pins.len(), 20);
    assert_eq!(MICTOR[..4], [38, 36, 34, 32]);
    assert!(MICTOR_B.iter().all(|pin| !MICTOR[..8].contains(pin)));
}

fn any_cycles(seed: u64, width: Width, len: usize) -> Vec<Cycle> {
    let mut random = Random::new(seed);
    let mut cycle = || {
        let bits = random.next() >> 20;
        let packet = (bits >> 8) as u16 & width.mask();
        Cycle { status: bits as u8 & 0b111, sync: bits >> 3 & 1 != 0, packet }
    };
    (0..len).map(|_| cycle()).collect()
}

/// Each format of a capture has the same cycles.
#[test]
fn formats_are_equal() {
    for (n, width) in (1..).zip(Width::ALL) {
        for len in 0..40 {
            let sent = any_cycles(n * 1000 + len as u64, width, len);
            let bytes: Vec<u8> = records(sent.iter().copied(), width).collect();
            assert_eq!(bytes.len(), len * width.record());
            assert_eq!(cycles(&bytes, width).collect::<Vec<_>>(), sent);

            let words: Vec<u32> = etb::write(sent.iter().copied(), width).collect();
            let got: Vec<Cycle> = etb::read(words, width).collect();
            assert_eq!(got[..len], sent);
            assert!(got[len..].iter().all(|cycle| *cycle == Cycle::NOTHING));

            let mut file = Vec::new();
            openocd::write(0, 0, &sent, &mut file);
            let dump = openocd::Dump::read(&file).unwrap();
            assert_eq!(dump.cycles().collect::<Vec<_>>(), sent);

            for (major, version) in [(1, Version::V1), (2, Version::V2)] {
                let head = etmp::Head { major, width, cycles: len as u64, ..Default::default() };
                let mut out = String::new();
                text::write(&head, sent.iter().copied(), &mut out).unwrap();
                let (got, rest) = text::read(&out).unwrap();
                assert_eq!(got, head);
                let got: Result<Vec<_>, _> = text::cycles(rest, version).collect();
                assert_eq!(got.unwrap(), sent);
            }

            for mode in [Mode::Normal, Mode::Multiplexed, Mode::Demultiplexed] {
                for half_rate in [false, true] {
                    let wiring = Wiring { mode, half_rate, width };
                    if wiring.rates().is_none() {
                        continue;
                    }
                    let (mut levels, mut got) = (Vec::new(), Vec::new());
                    let mut driver = Driver::new(wiring);
                    driver.push(&sent, &mut levels);
                    driver.finish(&mut levels);
                    let mut sampler = Sampler::new(wiring);
                    for level in levels {
                        // Oversampled twice.
                        sampler.sample(level, &mut got);
                        sampler.sample(level, &mut got);
                    }
                    assert_eq!(got[..len], sent, "{wiring:?}");
                    assert!(got.len() <= len + 1);
                }
            }
        }
    }
}

#[test]
fn records_with_other_signals_are_invalid() {
    assert_eq!(Cycle::of_record(&[0x04, 0x10], Width::W8), None);
    assert_eq!(Cycle::of_record(&[0, 0, 0x10, 0], Width::W16), None);
    assert_eq!(Cycle::of_record(&[0x04], Width::W8), None);
    assert!((0..=255).all(|byte| Cycle::of_record(&[byte], Width::W4).is_some()));
}

#[test]
fn heads() {
    let head = etmp::Head {
        major: 1,
        minor: 3,
        width: Width::W16,
        mode: Mode::Demultiplexed,
        half_rate: true,
        discarded: true,
        wrapped: true,
        high_vectors: true,
        control: 0x1234_5678,
        code: 0x9abc_def0,
        id: 0x4100_2100,
        sync_frequency: 512,
        cycles: 0x1_0000_0001,
        trigger: Some(17),
        big_endian: true,
    };
    let bytes = head.write();
    assert_eq!(etmp::Head::read(&bytes), Ok(head));
    let quiet = etmp::Head { trigger: None, ..head };
    assert_eq!(etmp::Head::read(&quiet.write()), Ok(quiet));
    let mut out = String::new();
    text::write(&head, [], &mut out).unwrap();
    assert_eq!(text::read(&out), Ok((head, "\n")));

    use etmp::NotHead;
    assert_eq!(etmp::Head::read(&bytes[..63]), Err(NotHead::Short));
    assert_eq!(etmp::Head::read(b"ETMPORT2"), Err(NotHead::Magic));
    for (at, value, why) in [
        (8, 2, NotHead::Format(2)),
        (10, 3, NotHead::Value(10)),
        (12, 5, NotHead::Value(12)),
        (13, 3, NotHead::Value(13)),
        (14, 16, NotHead::Value(14)),
        (15, 2, NotHead::Value(15)),
        (48, 2, NotHead::Value(48)),
        (63, 1, NotHead::Value(63)),
    ] {
        let mut bytes = bytes;
        bytes[at] = value;
        assert_eq!(etmp::Head::read(&bytes), Err(why));
    }
}

#[test]
fn invalid_text_is_reported() {
    let wrong = |words| text::cycles(words, Version::V1).find_map(Result::err);
    assert_eq!(wrong("IE:00\nXX:00").map(|e| (e.line, e.word)), Some((2, "XX:00")));
    for word in ["IE", "IE:", "IE:10000", "A4:0", "DE:0", "x3"] {
        assert!(wrong(word).is_some(), "{word}");
    }
    assert!(text::cycles("IE*:00", Version::V2).any(|cycle| cycle.is_err()));
    use text::NotFile;
    for (file, want) in [
        ("hello", NotFile::First),
        ("etmp 1\nwidth 5\ncycles\n", NotFile::Line(2, "width 5")),
        ("etmp 1\nwidth 4\ncycles\n", NotFile::Missing("arch")),
        ("etmp 1\narch 1.0\ncycles\n", NotFile::Missing("width")),
        ("etmp 1\narch 1.0\n", NotFile::NoCycles),
    ] {
        assert_eq!(text::read(file), Err(want));
    }
}
