//! Round trips of software writes through an ITM and an STM. `TRACEWRIGHT_TIMES` sets their number.

use tracewright_base::{Channel, DwtEvent, Element, NoMemory, OffsetMap, Piece, Software, Step};
use tracewright_model::Random;
use tracewright_protocols::encoders::AnyUnit;
use tracewright_protocols::registry::{AnyConfig, AnyProtocol};

/// How often each property is tried.
fn times() -> u64 {
    tracewright_testing::times(300)
}

fn encode(
    protocol: AnyProtocol,
    registers: &[(&'static str, u64)],
    steps: &[Step],
) -> (AnyConfig, Vec<u8>) {
    let usual = AnyUnit::usual(protocol);
    let register = |name: &str| {
        let mut all = registers.iter().chain(usual);
        all.find(|(known, _)| *known == name).map(|&(_, value)| value)
    };
    let mut unit = AnyUnit::new(protocol, None, &register).unwrap().unwrap();
    let mut bytes = Vec::new();
    unit.steps(steps, &mut bytes);
    unit.finish(&mut bytes);
    (unit.config(), bytes)
}

fn decode(config: &AnyConfig, bytes: &[u8]) -> Vec<Element> {
    let mut elements: Vec<(u64, Element)> = Vec::new();
    let mut stream = config.stream();
    let pieces = [Piece { start: 0, at: 0, fragment: true }];
    let offsets = OffsetMap::new(&pieces);
    let taken = stream.feed(bytes, &offsets, &mut NoMemory, &mut elements);
    assert_eq!(taken, bytes.len(), "the last packet is whole");
    stream.finish(&[], &offsets, &mut NoMemory, &mut elements);
    elements.into_iter().map(|(_, element)| element).collect()
}

/// A number of up to `bits` bits: small ones as often as large ones.
fn up_to(random: &mut Random, bits: u64) -> u64 {
    let bits = random.below(bits);
    random.below(1 << bits)
}

#[test]
fn itm() {
    for seed in 0..times() {
        let mut random = Random::new(seed);
        let prescale = random.below(4);
        let wide = random.below(2);
        let registers = [
            ("ITMTCR", 0x10_0c0f | prescale << 8),
            ("sync-every", random.pick(&[0, 3, 20])),
            ("wide-time", wide),
        ];
        let (mut steps, mut time) = (Vec::new(), random.below(1 << 50));
        let mut overflowed = false;
        let (mut writes, mut reports, mut times) = (Vec::new(), Vec::new(), Vec::new());
        let mut cycles = 0u64;
        for _ in 0..random.below(200) {
            match random.below(10) {
                0..=3 => {
                    let page = Some(random.pick(&[0, 0, 3, 7]));
                    let port = random.below(32) as u8;
                    let bits = random.pick(&[8, 16, 32]);
                    let value = random.next() & ((1 << bits) - 1);
                    let write = Software::new(Channel::Port { page, port }, bits, value);
                    steps.push(Step::SoftwareWrite(write));
                    let lost = core::mem::take(&mut overflowed);
                    writes.push(if lost { write.with(Software::AFTER_OVERFLOW) } else { write });
                }
                4..=6 => {
                    let size = random.pick(&[1, 2, 4]);
                    let value = random.next() as u32 & (u32::MAX >> (32 - 8 * u32::from(size)));
                    let discriminator = random.below(24) as u8;
                    let report = DwtEvent { discriminator, size, value, after_overflow: false };
                    steps.push(Step::DwtEvent(report));
                    let after_overflow = core::mem::take(&mut overflowed);
                    reports.push(DwtEvent { after_overflow, ..report });
                }
                7 => {
                    let n = up_to(&mut random, 20) as u32;
                    cycles += u64::from(n);
                    steps.push(Step::Cycles(n));
                }
                8 => {
                    time += up_to(&mut random, 40);
                    steps.push(Step::Timestamp(time));
                    times.push(if wide == 1 { time } else { time & ((1 << 48) - 1) });
                    overflowed = false;
                }
                _ if random.one_in(3) => {
                    steps.push(Step::Overflow);
                    overflowed = true;
                }
                _ => {}
            }
        }
        let (config, bytes) = encode(AnyProtocol::Itm, &registers, &steps);
        let (mut got_writes, mut got_reports, mut got_times) = (Vec::new(), Vec::new(), Vec::new());
        let mut local = 0;
        for element in decode(&config, &bytes) {
            match element {
                Element::SoftwareWrite(write) => got_writes.push(write),
                Element::DwtEvent(report) => got_reports.push(report),
                Element::GlobalTimestamp { value, .. } => got_times.push(value),
                Element::LocalTimestamp(time) => local = time.total,
                Element::Undecodable { .. } | Element::Inconsistency(_) => {
                    panic!("seed {seed}: {element:?}")
                }
                _ => {}
            }
        }
        assert_eq!((got_writes, got_reports), (writes, reports), "seed {seed}");
        assert_eq!(got_times, times, "seed {seed}");
        // A timestamp that is pending at the end has no packet; an overflow loses timestamps.
        assert!(local <= cycles, "seed {seed}: {local} of {cycles}");
        let ends = |step: &Step| matches!(step, Step::SoftwareWrite(_) | Step::DwtEvent(_));
        let whole = !steps.contains(&Step::Overflow) && steps.last().is_some_and(ends);
        assert!(!whole || cycles - local < 4u64.pow(prescale as u32), "seed {seed}");
    }
}

/// A random write to a random channel.
fn write(random: &mut Random, time: &mut u64) -> Software {
    let master = Some(random.pick(&[0, 1, 0x41, 0x140, 0x8000]));
    let channel = Some(random.pick(&[0, 1, 2, 0xff, 0x100, 0xffff]));
    let here = Channel::Master { master, channel };
    let low = |random: &mut Random, bits: u8| random.next() & (u64::MAX >> (64 - bits));
    let write = match random.below(20) {
        0 => Software::new(here, 0, 0).with(Software::FLAG),
        1 => Software::new(here, 8, low(random, 8)).with(Software::TRIGGER),
        2 => Software::new(here, 8, low(random, 8)).with(Software::CROSS_SYNC),
        3 => Software::new(here, 32, low(random, 32)).with(Software::FREQUENCY),
        4 => Software::new(here, 40, low(random, 40)).with(Software::FREQUENCY),
        5 => {
            let bits = 4 * (1 + random.below(16)) as u8;
            Software::new(here, bits, low(random, bits)).with(Software::USER)
        }
        6 => {
            // An error of a master is on channel 0.
            let master = Channel::Master { master, channel: Some(0) };
            return Software::new(master, 8, low(random, 8)).with(Software::MASTER_ERROR);
        }
        7 => {
            let nobody = Channel::Master { master: None, channel: None };
            return Software::new(nobody, 8, low(random, 8)).with(Software::GLOBAL_ERROR);
        }
        8 => return Software::new(here, 8, low(random, 8)).with(Software::CHANNEL_ERROR),
        _ => {
            let bits = random.pick(&[4, 8, 16, 32, 64]);
            let write = Software::new(here, bits, low(random, bits));
            if random.one_in(3) { write.with(Software::MARKER) } else { write }
        }
    };
    if random.one_in(2) {
        *time += up_to(random, 50);
        return write.at_time(*time);
    }
    write
}

#[test]
fn stm() {
    for seed in 0..times() {
        let mut random = Random::new(seed);
        let mut registers = vec![
            ("sync-every", random.pick(&[0, 5, 40])),
            ("time-format", random.pick(&[2, 3, 4])),
        ];
        if random.one_in(2) {
            registers.push(("revision", random.pick(&[1, 9])));
        }
        let mut time = random.below(1 << 60);
        let writes: Vec<Software> =
            (0..1 + random.below(200)).map(|_| write(&mut random, &mut time)).collect();
        let steps: Vec<Step> = writes.iter().copied().map(Step::SoftwareWrite).collect();
        let (config, nibbles) = encode(AnyProtocol::Stm, &registers, &steps);
        let got: Vec<Software> = decode(&config, &nibbles)
            .into_iter()
            .filter_map(|element| match element {
                Element::SoftwareWrite(write) => Some(write),
                Element::Undecodable { .. } => panic!("seed {seed}: {element:?}"),
                _ => None,
            })
            .collect();
        let first = writes.iter().zip(&got).position(|(a, b)| a != b);
        let shown = first.map(|n| (writes[n], got[n]));
        assert_eq!((writes.len(), None), (got.len(), shown), "seed {seed} {registers:?}");
    }
}

/// STMTCSR.COMPEN: the smallest packet that holds the value.
#[test]
fn stm_compression() {
    let here = Channel::Master { master: Some(1), channel: Some(2) };
    let widths = [(0u64, 4), (0xf, 4), (0x10, 8), (0x100, 16), (0x1_0000, 32), (1 << 40, 64)];
    let steps: Vec<Step> = widths
        .iter()
        .map(|(value, _)| Step::SoftwareWrite(Software::new(here, 64, *value)))
        .collect();
    let (config, nibbles) = encode(AnyProtocol::Stm, &[("STMTCSR", 0x10_0027)], &steps);
    let got: Vec<(u64, u8)> = decode(&config, &nibbles)
        .into_iter()
        .filter_map(|element| match element {
            Element::SoftwareWrite(write) => Some((write.value(), write.bits)),
            _ => None,
        })
        .collect();
    assert_eq!(got, widths);
}
