//! Round trips of ETMv3 data trace: late values, untraced values, suppressed accesses, failed
//! stores, both byte orders, data without instructions, and stacking of the M profile.
//! `TRACEWRIGHT_TIMES` sets the number of programs.

use std::sync::Arc;

use tracewright_base::{
    Access, Cause, Code, CoreType, Direction, Element, Isa, OffsetMap, Pc, Piece, Profile, Retired,
    Step, Taken,
};
use tracewright_image::{Cache, CacheOptions, Image, Region};
use tracewright_model::{Machine, Random, Recipe, Sets, Stimulus, generate};
use tracewright_protocols::encoders::AnyUnit;
use tracewright_protocols::registry::{AnyConfig, AnyProtocol};

/// How often each property is tried.
fn times() -> u64 {
    tracewright_testing::times(200)
}

/// The traced part of an access: address, value, flags.
type Shown = (Option<u64>, Option<u64>, u8);

/// The flags of an access that the trace contains.
const FLAGS: u8 = Access::LATE
    | Access::STORE_FAILED
    | Access::VALUE_NOT_TRACED
    | Access::SUPPRESSED
    | Access::BIG_ENDIAN
    | Access::EXCEPTION;

/// The registers of a trace unit that affect data trace.
#[derive(Clone, Copy, Debug)]
struct Unit {
    minor: u64,
    values: bool,
    addresses: bool,
    data_only: bool,
    period: u64,
    microcontroller: bool,
}

impl Unit {
    fn any(random: &mut Random, microcontroller: bool) -> Unit {
        let minor = if microcontroller { 4 + random.below(2) } else { random.below(6) };
        let (values, addresses) =
            random.pick(&[(true, true), (true, true), (true, false), (false, true)]);
        let data_only = minor >= 1 && !microcontroller && random.one_in(3);
        let period = random.pick(&[0, 64, 200, 1024]);
        Unit { minor, values, addresses, data_only, period, microcontroller }
    }

    fn register(&self, name: &str) -> Option<u64> {
        Some(match name {
            "ETMCR" => {
                u64::from(self.values) << 2
                    | u64::from(self.addresses) << 3
                    | u64::from(self.data_only) << 20
            }
            "ETMIDR" => 0x410c_f200 | self.minor << 4,
            "ETMSYNCFR" => self.period,
            _ => return None,
        })
    }

    /// The configuration, and the trace of `steps`.
    fn encode(&self, steps: &[Step]) -> (AnyConfig, Vec<u8>) {
        let profile = match self.microcontroller {
            true => Profile::Microcontroller,
            false => Profile::Application,
        };
        let core = Some(CoreType { profile, version: 7 });
        let unit = AnyUnit::new(AnyProtocol::Etmv3, core, &|name| self.register(name));
        let (mut unit, mut bytes) = (unit.unwrap().unwrap(), Vec::new());
        unit.steps(steps, &mut bytes);
        unit.finish(&mut bytes);
        (unit.config(), bytes)
    }

    /// The expected trace of an access: 64 bits are two words.
    fn shows(&self, access: &Access, out: &mut Vec<Shown>) {
        let mut flags = access.flags & FLAGS;
        if access.has(Access::SUPPRESSED) {
            return out.push((None, None, Access::SUPPRESSED));
        }
        // The byte order is traced with an address. Data-only trace has no instruction addresses.
        if !self.addresses {
            flags &= !Access::BIG_ENDIAN;
        }
        if self.data_only {
            flags &= !Access::EXCEPTION;
        }
        let hidden = access.has(Access::VALUE_NOT_TRACED) || !self.values;
        let words = if access.size == 8 { 2 } else { 1 };
        for k in 0..words {
            let address = access.address().filter(|_| self.addresses);
            let value = access.value().filter(|_| !hidden);
            out.push((
                address.map(|address| address + 4 * k),
                value.map(|value| value >> (32 * k) & 0xffff_ffff),
                flags,
            ));
        }
    }
}

/// Gives some accesses the properties that real units give them. Late accesses are compared
/// separately: their values are out of order.
fn vary(steps: &[Step], unit: &Unit, random: &mut Random) -> Vec<Step> {
    let mut out = Vec::new();
    let (mut dropped, mut big_endian) = (false, false);
    for (n, step) in steps.iter().enumerate() {
        let &Step::Access(mut access) = step else {
            dropped = false;
            // The byte order of an instruction is that of all its accesses.
            big_endian = unit.minor >= 1 && random.one_in(6);
            out.push(*step);
            continue;
        };
        if dropped {
            continue;
        }
        let alone = |n: usize| !matches!(steps.get(n), Some(Step::Access(_)));
        let single = alone(n + 1) && (n == 0 || alone(n - 1));
        let store = access.direction == Direction::Write;
        match random.below(8) {
            0 if single && (unit.minor >= 1 || !store) => access.flags |= Access::LATE,
            1 => access.flags |= Access::VALUE_NOT_TRACED,
            2 if !unit.data_only => {
                dropped = true;
                access = Access::new(access.direction, 0, Access::SUPPRESSED);
            }
            3 if single && store && unit.minor >= 1 && unit.values => {
                access.flags |= Access::STORE_FAILED
            }
            _ => {}
        }
        if big_endian && !access.has(Access::SUPPRESSED) {
            access.flags |= Access::BIG_ENDIAN;
        }
        out.push(Step::Access(access));
    }
    out
}

/// Accesses in order, late accesses, and instructions.
#[derive(Debug, Default, PartialEq)]
struct Content {
    accesses: Vec<Shown>,
    late: Vec<Shown>,
    ran: Vec<u64>,
    inconsistencies: Vec<String>,
}

const EXCEPTION: u64 = u64::MAX;

impl Content {
    fn sort(mut self, mut accesses: Vec<Shown>) -> Content {
        self.late = accesses.extract_if(.., |(.., flags)| *flags & Access::LATE != 0).collect();
        self.late.sort_unstable();
        self.accesses = accesses;
        self
    }
}

fn wanted(steps: &[Step], unit: &Unit) -> Content {
    let (mut content, mut accesses) = (Content::default(), Vec::new());
    for step in steps {
        match step {
            Step::Retired(retired) if !unit.data_only => content.ran.push(retired.address),
            Step::Exception(_) if !unit.data_only => content.ran.push(EXCEPTION),
            Step::Access(access) => unit.shows(access, &mut accesses),
            _ => {}
        }
    }
    content.sort(accesses)
}

fn decoded(config: &AnyConfig, image: &Arc<Image>, bytes: &[u8], unit: &Unit) -> Content {
    let mut elements: Vec<(u64, Element)> = Vec::new();
    let mut cache = Cache::new(image.clone(), config.waypoints(), CacheOptions::default());
    let mut stream = config.stream();
    let pieces = [Piece { start: 0, at: 0, fragment: true }];
    let offsets = OffsetMap::new(&pieces);
    let taken = stream.feed(bytes, &offsets, &mut cache, &mut elements);
    stream.finish(&bytes[taken..], &offsets, &mut cache, &mut elements);
    let (mut content, mut accesses) = (Content::default(), Vec::new());
    for (at, element) in elements {
        match element {
            Element::Range(range) => {
                let mut address = range.start;
                for _ in 0..range.instructions {
                    content.ran.push(address);
                    let pc = Pc { address, isa: range.last.isa, ..Pc::default() };
                    address += u64::from(cache.instruction(pc).unwrap().size);
                }
            }
            Element::Exception(_) => content.ran.push(EXCEPTION),
            Element::DataAccess(access) => {
                let address = access.address().filter(|_| unit.addresses);
                accesses.push((address, access.value(), access.flags & FLAGS));
            }
            Element::Inconsistency(_) | Element::Undecodable { .. } | Element::NoCode { .. } => {
                content.inconsistencies.push(format!("{at}: {element:?}"));
            }
            _ => {}
        }
    }
    content.sort(accesses)
}

fn round_trip(seed: u64, unit: Unit, image: &Arc<Image>, steps: &[Step]) {
    let (config, bytes) = unit.encode(steps);
    let (want, got) = (wanted(steps, &unit), decoded(&config, image, &bytes, &unit));
    for (what, want, got) in
        [("accesses", &want.accesses, &got.accesses), ("late accesses", &want.late, &got.late)]
    {
        let first = want.iter().zip(got).position(|(a, b)| a != b);
        assert_eq!(
            (want.len(), first),
            (got.len(), None),
            "seed {seed} {unit:?}, {what}: {:x?} {:x?} {:?}",
            first.map(|n| want[n]),
            first.map(|n| got[n]),
            decoded(&config, image, &bytes, &unit).inconsistencies,
        );
    }
    assert_eq!(want.ran, got.ran, "seed {seed} {unit:?}");
    assert_eq!(got.inconsistencies, [""; 0], "seed {seed} {unit:?}");
}

/// Random programs of A32 and T32.
#[test]
fn data_of_every_kind() {
    let (mut late, mut dropped, mut alone) = (0, 0, 0);
    for seed in 0..times() {
        let mut random = Random::new(seed);
        let unit = Unit::any(&mut random, false);
        let recipe = Recipe {
            seed: random.next(),
            isa: random.pick(&[Sets::A32, Sets::T32, Sets::Both]),
            functions: 1 + random.below(6) as usize,
            transactions: false,
            exceptions: false,
            ..Recipe::default()
        };
        let stimulus = Stimulus { seed: random.next(), accesses: true, ..Stimulus::default() };
        let program = generate::program(&recipe);
        let steps = Machine::new(&program, stimulus).collect(50 + random.below(800) as usize);
        let steps = vary(&steps, &unit, &mut random);
        round_trip(seed, unit, &program.image, &steps);
        let has = |flag: u8| move |step: &&Step| matches!(step, Step::Access(a) if a.has(flag));
        late += steps.iter().filter(has(Access::LATE)).count();
        dropped += steps.iter().filter(has(Access::SUPPRESSED)).count();
        alone += usize::from(unit.data_only);
    }
    let least = times() as usize / 10;
    assert!(late > least && dropped > least && alone > least, "{late} {dropped} {alone}");
}

/// An M-profile processor: a loop with interrupts, which stack registers.
#[test]
fn exceptions_of_the_m_profile() {
    // 8000: LDR r1, [r0]; ADDS r1, #1; STR r1, [r0]; B 0x8000. 9000: STR r2, [r3]; BX lr.
    let halves =
        |halves: &[u16]| halves.iter().flat_map(|half| half.to_le_bytes()).collect::<Vec<_>>();
    let image = Arc::new(Image::new(vec![
        Region::new("loop", 0x8000, halves(&[0x6801, 0x3101, 0x6001, 0xe7fb])),
        Region::new("handler", 0x9000, halves(&[0x601a, 0x4770])),
    ]));
    let config = Unit::any(&mut Random::new(0), true).encode(&[]).0;
    let mut cache = Cache::new(image.clone(), config.waypoints(), CacheOptions::default());
    for seed in 0..times() {
        let mut random = Random::new(seed);
        let unit = Unit::any(&mut random, true);
        let mut steps = Vec::new();
        let mut retire = |steps: &mut Vec<Step>, address: u64, next: u64| {
            let pc = Pc { address, isa: Isa::T32, ..Pc::default() };
            let instruction = cache.instruction(pc).unwrap();
            let retired = Retired { address, next, next_isa: Isa::T32, taken: true, instruction };
            steps.push(Step::Retired(retired));
        };
        let moved = |direction, address: u64, value: u64, flags| {
            Step::Access(Access::new(direction, 4, flags).at(address).of(value & 0xffff_ffff))
        };
        let mut at = 0x8000;
        for _ in 0..100 + random.below(200) {
            let next = if at == 0x8006 { 0x8000 } else { at + 2 };
            retire(&mut steps, at, next);
            match at {
                0x8000 => steps.push(moved(Direction::Read, 0x2000_0000, random.next(), 0)),
                0x8004 => steps.push(moved(Direction::Write, 0x2000_0000, random.next(), 0)),
                _ => {}
            }
            at = next;
            if !random.one_in(7) {
                continue;
            }
            steps.push(Step::Exception(Taken {
                cause: Cause::Vector(16 + random.below(40) as u16),
                return_address: at,
                return_isa: Isa::T32,
                target: 0x9000,
                target_isa: Isa::T32,
                value: None,
                cancels: false,
            }));
            let frame: Vec<u64> = (0..8).map(|_| random.next()).collect();
            let registers = |direction| {
                let all = frame.iter().zip((0x2000_1000..).step_by(4));
                all.map(move |(&r, at)| moved(direction, at, r, Access::EXCEPTION))
            };
            steps.extend(registers(Direction::Write));
            retire(&mut steps, 0x9000, 0x9002);
            steps.push(moved(Direction::Write, 0x2000_0100, random.next(), 0));
            retire(&mut steps, 0x9002, at);
            steps.extend(registers(Direction::Read));
        }
        round_trip(seed, unit, &image, &steps);
    }
}
