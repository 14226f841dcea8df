//! Round trips of random programs through ETMv3 and PTM units of random configurations.
//! `TRACEWRIGHT_TIMES` sets the number of programs.

use std::sync::Arc;

use tracewright_base::{
    Access, Cause, Code, CoreType, Element, Isa, Kind, OffsetMap, Pc, Piece, Profile, Retired,
    Step, Taken, Waypoints,
};
use tracewright_image::{Cache, CacheOptions, Image};
use tracewright_model::{Machine, Random, Recipe, Sets, Stimulus, generate};
use tracewright_protocols::encoders::AnyUnit;
use tracewright_protocols::registry::{AnyConfig, AnyProtocol};

/// How often each property is tried.
fn times() -> u64 {
    tracewright_testing::times(300)
}

/// Programs that differ in their seeds, and their external events.
fn steps(random: &mut Random, cancels: bool) -> (Arc<Image>, Vec<Step>) {
    let recipe = Recipe {
        seed: random.next(),
        isa: random.pick(&[Sets::A32, Sets::T32, Sets::Both]),
        functions: 1 + random.below(10) as usize,
        far: random.one_in(3),
        transactions: false,
        waits: random.one_in(2),
        exceptions: !random.one_in(3),
    };
    let mut rate =
        |often: u64| if random.one_in(3) { 0 } else { (often + random.below(often * 8)) as u32 };
    let (interrupts, faults, resets) = (rate(20), rate(50), rate(300));
    let (halts, switches, timestamps) = (rate(300), rate(2), rate(20));
    let (pauses, overflows) = (rate(60), rate(100));
    let stimulus = Stimulus {
        seed: random.next(),
        interrupts,
        faults,
        resets,
        halts,
        switches,
        timestamps,
        pauses,
        overflows,
        cycles: random.one_in(2),
        accesses: true,
        ..Stimulus::default()
    };
    let program = generate::program(&recipe);
    let steps = Machine::new(&program, stimulus).collect(50 + random.below(1200) as usize);
    let image = program.image;
    let steps = if cancels { cancelled(&image, &steps, random) } else { steps };
    (image, steps)
}

/// Marks some faulting instructions as retired; the exception cancels them.
fn cancelled(image: &Arc<Image>, steps: &[Step], random: &mut Random) -> Vec<Step> {
    let mut cache = Cache::new(image.clone(), Waypoints::default(), CacheOptions::default());
    let mut out = Vec::new();
    for step in steps {
        if let Step::Exception(taken) = step
            && matches!(taken.cause, Cause::DataFault | Cause::InstructionFault)
            && random.one_in(2)
            && let Ok(instruction) = cache.instruction(Pc {
                address: taken.return_address,
                isa: taken.return_isa,
                ..Pc::default()
            })
            // A branch would have another successor.
            && !matches!(instruction.kind, Kind::Branch | Kind::Indirect)
            && matches!(out.last(), Some(Step::Retired(_) | Step::Access(_)))
        {
            let address = taken.return_address;
            out.push(Step::Retired(Retired {
                address,
                next: address.wrapping_add(instruction.size.into()),
                next_isa: taken.return_isa,
                taken: true,
                instruction,
            }));
            out.push(Step::Exception(Taken { cancels: true, ..*taken }));
            continue;
        }
        out.push(*step);
    }
    out
}

/// The content of a trace, expected or decoded.
#[derive(Debug, Default, PartialEq)]
struct Content {
    /// Addresses, in order; an exception is all ones. Bit \[0] is the first half of a 32-bit T32
    /// instruction without its second half.
    addresses: Vec<u64>,
    accesses: Vec<(u64, u64, u64)>,
    timestamps: Vec<u64>,
    cycles: u64,
    contexts: Vec<u32>,
    inconsistencies: Vec<String>,
}

const EXCEPTION: u64 = u64::MAX;
/// The first half of the instruction, which executed alone.
const FIRST_HALF: u64 = 1;

/// The expected trace content of `steps`.
fn wanted(steps: &[Step], config: &AnyConfig) -> Content {
    let control = match config {
        AnyConfig::Etmv3(c) => c.control.0,
        AnyConfig::Ptm(c) => c.control,
        _ => 0,
    };
    let etm = matches!(config, AnyConfig::Etmv3(_));
    let mut content = Content::default();
    // Of several branch packets for one instruction the last one counts. (IHI 0014, 7.3.5)
    let exception = |addresses: &mut Vec<u64>| {
        if !(etm && addresses.last() == Some(&EXCEPTION)) {
            addresses.push(EXCEPTION);
        }
    };
    // With ETMIDR bit [18] clear a 32-bit T32 instruction is traced as two, and a cancelling
    // exception cancels the most recently traced one: the second half. The first half executed, and
    // must be reported. No other unit reports halves. (IHI 0014, 4.5.4 and Table 7-10, bit Can)
    let halves = matches!(config, AnyConfig::Etmv3(c) if !c.id.thumb32_is_one());
    let mut last_is_two = false;
    let (mut off, mut started) = (false, false);
    for step in steps {
        match *step {
            Step::Off => (off, started) = (true, false),
            Step::On => off = false,
            Step::Overflow => started = false,
            Step::Halted => {
                if started {
                    exception(&mut content.addresses);
                }
                started = false;
            }
            Step::Cycles(n) => content.cycles += u64::from(n),
            _ if off => {}
            Step::Retired(retired) => {
                started = true;
                let instruction = retired.instruction;
                last_is_two = halves && instruction.isa == Isa::T32 && instruction.size == 4;
                content.addresses.push(retired.address);
            }
            Step::Exception(taken) if started => {
                if taken.cancels {
                    let last = content.addresses.pop().filter(|_| last_is_two);
                    content.addresses.extend(last.map(|address| address | FIRST_HALF));
                }
                exception(&mut content.addresses);
            }
            Step::Access(access) if started && etm && control & 0b1100 != 0 => {
                words(&access, control, &mut content.accesses);
            }
            Step::Timestamp(value) if started && control >> 28 & 1 != 0 => {
                content.timestamps.push(value);
            }
            _ => {}
        }
    }
    if control >> 12 & 1 == 0 {
        content.cycles = 0;
    }
    content
}

/// An access as words of 32 bits, of which the trace has the value or the address or both.
fn words(access: &Access, control: u32, out: &mut Vec<(u64, u64, u64)>) {
    let (address, value) = (access.address().unwrap(), access.value().unwrap());
    for k in 0..if access.size == 8 { 2 } else { 1 } {
        let size = u64::from(access.size.min(4));
        let word = value >> (32 * k) & 0xffff_ffff;
        let address = if control & 0b1000 != 0 { address + 4 * k } else { 0 };
        out.push((address, if control & 0b0100 != 0 { word } else { 0 }, size));
    }
}

/// The decoded content of a trace.
fn decoded(config: &AnyConfig, image: &Arc<Image>, bytes: &[u8], control: u32) -> Content {
    let mut elements: Vec<(u64, Element)> = Vec::new();
    let mut stream = config.stream();
    let mut cache = Cache::new(image.clone(), config.waypoints(), CacheOptions::default());
    let pieces = [Piece { start: 0, at: 0, fragment: true }];
    let offsets = OffsetMap::new(&pieces);
    let taken = stream.feed(bytes, &offsets, &mut cache, &mut elements);
    let rest = [Piece { start: 0, at: taken as u64, fragment: true }];
    stream.finish(&bytes[taken..], &OffsetMap::new(&rest), &mut cache, &mut elements);
    let mut content = Content::default();
    for (at, element) in elements {
        match element {
            Element::Range(range) => {
                content.cycles += u64::from(range.cycles.get().unwrap_or(0));
                let mut address = range.start;
                for _ in 0..range.instructions {
                    content.addresses.push(address);
                    let pc = Pc { address, isa: range.last.isa, ..Pc::default() };
                    address += u64::from(cache.instruction(pc).unwrap().size);
                }
                if range.last.isa == Isa::T32 && range.bytes == 2 && address == range.end() + 2 {
                    let whole = content.addresses.pop();
                    content.addresses.extend(whole.map(|address| address | FIRST_HALF));
                    address = range.end();
                }
                assert_eq!(address, range.end());
            }
            Element::Exception(_) => content.addresses.push(EXCEPTION),
            Element::Cycles(Some(cycles)) => content.cycles += u64::from(cycles),
            Element::Timestamp { value, .. } => content.timestamps.push(value),
            Element::DataAccess(access) => {
                let address = if control & 8 != 0 { access.address().unwrap_or(1) } else { 0 };
                let value = if control & 4 != 0 { access.value().unwrap_or(1) } else { 0 };
                content.accesses.push((address, value, access.size.into()));
            }
            Element::Inconsistency(_) | Element::Undecodable { .. } | Element::NoCode { .. } => {
                content.inconsistencies.push(format!("{at}: {element:?}"));
            }
            _ => {}
        }
    }
    content
}

/// One round trip of random steps through a unit of a random configuration.
fn round_trip(
    seed: u64,
    protocol: AnyProtocol,
    cancels: bool,
    registers: impl FnOnce(&mut Random) -> Vec<(&'static str, u64)>,
) {
    let mut random = Random::new(seed);
    let registers = registers(&mut random);
    let (image, steps) = steps(&mut random, cancels);
    let usual = AnyUnit::usual(protocol);
    let register = |name: &str| {
        let all = registers.iter().chain(usual);
        all.clone().find(|(known, _)| *known == name).map(|&(_, value)| value)
    };
    let core = Some(CoreType { profile: Profile::Application, version: 7 });
    let mut unit = AnyUnit::new(protocol, core, &register).unwrap().unwrap();
    let (config, mut bytes) = (unit.config(), Vec::new());
    unit.steps(&steps, &mut bytes);
    unit.finish(&mut bytes);

    let control = register("ETMCR").unwrap() as u32;
    let (mut want, mut got) = (wanted(&steps, &config), decoded(&config, &image, &bytes, control));
    // Time is lost with trace on overflow, and before the first I-sync.
    let lossy = steps.iter().any(|step| matches!(step, Step::Overflow | Step::Halted | Step::Off));
    if lossy {
        (want.cycles, got.cycles) = (0, 0);
    }
    if protocol == AnyProtocol::Ptm && got.cycles < want.cycles {
        // Cycles after the last packet with a count are not traced.
        let last = |step: &&Step| match step {
            Step::Retired(r) => {
                !matches!(r.instruction.kind, Kind::Branch | Kind::Indirect | Kind::Isb)
            }
            Step::Exception(_) | Step::Timestamp(_) => false,
            _ => true,
        };
        let tail = steps.iter().rev().take_while(last);
        let tail: u64 = tail.map(|s| if let Step::Cycles(n) = s { u64::from(*n) } else { 0 }).sum();
        // The machine emits the cycles of an instruction after the instruction.
        assert!(
            want.cycles - got.cycles <= tail + 43,
            "seed {seed}: {} of {}",
            got.cycles,
            want.cycles
        );
        got.cycles = want.cycles;
    }
    if let AnyConfig::Etmv3(etm) = &config
        && etm.id.minor() < 3
        && got.cycles > want.cycles
    {
        // Only ETMv3.3 and later can trace two instructions in one cycle; earlier units add cycles,
        // and subtract them from later counts.
        want.cycles = got.cycles;
    }
    let first = want.addresses.iter().zip(&got.addresses).position(|(a, b)| a != b);
    assert_eq!(
        (want.addresses.len(), first),
        (got.addresses.len(), None),
        "seed {seed} {registers:x?}: {:x?} {:x?} {:?}",
        &want.addresses[first.unwrap_or(0)..][..4.min(want.addresses.len() - first.unwrap_or(0))],
        &got.addresses[first.unwrap_or(0)..][..4.min(got.addresses.len() - first.unwrap_or(0))],
        got.inconsistencies
    );
    (want.addresses, got.addresses) = (Vec::new(), Vec::new());
    let first = want.accesses.iter().zip(&got.accesses).position(|(a, b)| a != b);
    assert_eq!(
        (want.accesses.len(), first),
        (got.accesses.len(), None),
        "seed {seed} {registers:x?}: {:x?} {:x?}",
        first.map(|n| want.accesses[n]),
        first.map(|n| got.accesses[n]),
    );
    (want.accesses, got.accesses) = (Vec::new(), Vec::new());
    assert_eq!(want, got, "seed {seed} {registers:x?}");
}

fn etmv3_registers(random: &mut Random) -> Vec<(&'static str, u64)> {
    let one = |random: &mut Random, bit: u32| u64::from(random.one_in(2)) << bit;
    let minor = random.below(6);
    // Branch output, cycles, data, context ids, timestamps, virtual machine ids.
    let mut control = one(random, 8) | one(random, 12) | random.below(4) << 14;
    if random.one_in(2) {
        control |= random.below(4) << 2;
    }
    control |= one(random, 28) | one(random, 30);
    // One atom or two for 32-bit T32 instructions; the alternative encoding.
    let mut id = 0x4100_f200 | minor << 4 | one(random, 18) | 1 << 19;
    if minor >= 4 {
        id |= one(random, 20);
    }
    let extension = one(random, 28) | one(random, 29) | 1 << 22;
    let control = if minor < 5 { control & !(1 << 28) } else { control };
    vec![
        ("ETMCR", control),
        ("ETMIDR", id),
        ("ETMCCER", extension),
        ("ETMSYNCFR", random.pick(&[0, 64, 200, 1024])),
        ("late-gaps", random.below(2)),
    ]
}

#[test]
fn etmv3() {
    for seed in 0..times() {
        round_trip(seed, AnyProtocol::Etmv3, true, etmv3_registers);
    }
}

#[test]
fn ptm() {
    for seed in 0..times() {
        round_trip(seed, AnyProtocol::Ptm, true, |random| {
            let one = |random: &mut Random, bit: u32| u64::from(random.one_in(2)) << bit;
            let control = one(random, 8)
                | one(random, 12)
                | random.below(4) << 14
                | one(random, 28)
                | one(random, 29)
                | one(random, 30);
            let extension = one(random, 24) | one(random, 28) | one(random, 29);
            vec![
                ("ETMCR", control),
                ("ETMIDR", 0x411c_f302 | random.below(2) << 4),
                ("ETMCCER", extension),
                ("ETMSYNCFR", random.pick(&[0, 64, 200, 1024])),
                ("return-stack-depth", random.below(16)),
            ]
        });
    }
}

/// The instruction set in the expectations above, which is never A64.
#[test]
fn programs_are_of_aarch32() {
    let (_, steps) = steps(&mut Random::new(3), false);
    let isas = steps.iter().filter_map(|step| match step {
        Step::Retired(retired) => Some(retired.instruction.isa),
        _ => None,
    });
    assert!(isas.into_iter().all(|isa| matches!(isa, Isa::A32 | Isa::T32)));
}
