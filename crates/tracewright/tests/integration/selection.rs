//! A unit in software traces what its control registers select: random ETMv4 and ETE units, random
//! register values, random programs.

use tracewright::base::Step;
use tracewright::logs::selection::Selection;
use tracewright::protocols::registry::AnyProtocol;
use tracewright::units::verdict::Requirement;
use tracewright_model::round_trip::decode;
use tracewright_model::trial::Trial;
use tracewright_model::{Ran, Random, Way};

/// Control registers with which `addresses` of the program are compared.
fn registers(random: &mut Random, addresses: &[u64]) -> Vec<(String, u64)> {
    let mut all: Vec<(String, u64)> = Vec::new();
    let mut set = |name: &str, value: u64| all.push((name.to_owned(), value));
    let address = |random: &mut Random| random.pick(addresses);
    // Four ranges and eight single addresses of sixteen comparators.
    for n in 0..4 {
        let (a, b) = (address(random), address(random));
        let context = if random.one_in(4) { random.below(4) << 2 } else { 0 };
        let levels = if random.one_in(4) { random.below(0x80) << 8 } else { 0 };
        for (n, value) in [(2 * n, a.min(b)), (2 * n + 1, a.max(b))] {
            set(&format!("TRCACVR{n}"), value);
            set(&format!("TRCACATR{n}"), context | levels);
        }
    }
    for n in 8..16 {
        set(&format!("TRCACVR{n}"), address(random));
        set(&format!("TRCACATR{n}"), 0);
    }
    set("TRCCIDCVR0", random.below(4));
    set("TRCVMIDCVR0", random.below(4));
    for n in 2..8 {
        let group = random.pick(&[0u64, 2, 3, 4, 5, 6, 7]);
        let low = if group == 4 { 8 } else { 0 };
        let select = 1 << (low + random.below(4)) | 1 << (low + random.below(4));
        let inverted = random.below(2) << 20 | random.below(2) << 21;
        set(&format!("TRCRSCTLR{n}"), inverted | group << 16 | select);
    }
    let event = |random: &mut Random| match random.below(3) {
        0 => random.below(2),
        1 => 2 + random.below(6),
        _ => 0x81 + random.below(3),
    };
    for n in 0..2 {
        set(&format!("TRCCNTVR{n}"), random.below(20));
        set(&format!("TRCCNTRLDVR{n}"), random.below(20));
        let control = event(random) | event(random) << 8 | random.below(2) << 16;
        set(&format!("TRCCNTCTLR{n}"), control | (n & random.below(2)) << 17);
    }
    for n in 0..3 {
        set(&format!("TRCSEQEVR{n}"), event(random) | event(random) << 8);
    }
    set("TRCSEQRSTEVR", event(random));
    set("TRCSSCCR0", 1 << (8 + random.below(8)) | random.below(2) << 24);
    set("TRCSSCSR0", 1);
    set("TRCEVENTCTL0R", event(random) | event(random) << 8);
    set("TRCVIIECTLR", random.pick(&[0, 0, 1, 3, 0xf]) | random.pick(&[0, 0, 2, 8]) << 16);
    if random.one_in(2) {
        set("TRCVISSCTLR", 1 << (8 + random.below(4)) | 1 << (28 + random.below(4)));
    }
    let levels = if random.one_in(3) { random.below(0x80) << 16 } else { 0 };
    let selected = if random.one_in(3) { event(random) } else { 1 };
    set("TRCVICTLR", levels | random.below(8).min(1) << 9 | selected);
    all
}

/// One trial. Returns how many instructions must, must not and may be traced.
fn trial(seed: u64) -> [u64; 3] {
    let mut random = Random::new(seed);
    let mut trial = Trial::new(random.next());
    // The filter of the encoder is not the one that is tested, and what a filter does with an
    // instruction that is cancelled is defined by the implementation.
    trial.way.registers.retain(|(name, _)| !name.starts_with("TRCVI"));
    trial.stimulus.cancels = false;
    let (program, steps) = trial.steps();
    let addresses: Vec<u64> = steps
        .iter()
        .filter_map(|step| match step {
            Step::Retired(retired) => Some(retired.address),
            _ => None,
        })
        .collect();
    let control = registers(&mut random, &addresses);
    let Way { protocol, registers, .. } = &trial.way;
    let mut all: Vec<(String, u64)> =
        registers.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
    all.extend(control.iter().cloned());
    let given = |name: &str| control.iter().any(|(known, _)| known == name);
    let mut selection = Selection::new(*protocol, &all, &given, seed).unwrap();

    // What the encoder receives: tracing is on where it must be, and off where it must not be.
    let (mut marked, mut on, mut counts) = (Vec::new(), true, [0; 3]);
    let mut permitted = true;
    for step in &steps {
        let before = marked.len();
        let judged = selection.step(step, &mut |step| marked.push(*step));
        permitted = match step {
            Step::On => true,
            Step::Off => false,
            _ => permitted,
        };
        let mut traced = false;
        for step in &marked[before..] {
            match step {
                Step::On => on = true,
                Step::Off => on = false,
                Step::Retired(_) => traced = on,
                _ => {}
            }
        }
        let (Step::Retired(_), Some((verdict, wanted))) = (step, judged) else { continue };
        assert_eq!(traced, wanted, "seed {seed}");
        let n = match verdict.requirement {
            Requirement::Must => {
                assert_eq!(wanted, permitted, "seed {seed}: {verdict:?}");
                0
            }
            Requirement::MustNot => {
                assert!(!wanted, "seed {seed}: {verdict:?}");
                1
            }
            Requirement::May => 2,
        };
        counts[n] += 1;
    }
    // The trace decodes to instructions for which tracing is on, and no other.
    let (config, bytes) = trial.way.encode(&marked).unwrap();
    let mut on = true;
    let mut traced = marked.iter().filter_map(|step| match step {
        Step::On | Step::Off => {
            on = *step == Step::On;
            None
        }
        Step::Retired(retired) => on.then_some(retired.address),
        _ => None,
    });
    for (_, ran) in decode(&config, &program.image, &bytes) {
        if let Ran::Instruction { address, .. } = ran {
            assert!(traced.any(|other| other == address), "seed {seed}: {address:#x}");
        }
    }
    // It decodes to all of them but those behind the last waypoint of a run, and to the events.
    if let Err(error) = trial.way.round_trip(&program.image, &marked) {
        panic!("seed {seed}: {error}");
    }
    counts
}

#[test]
fn units_trace_what_is_selected() {
    let mut total = [0; 3];
    for seed in 0..tracewright_testing::times(30) {
        let counts = trial(seed);
        total = std::array::from_fn(|n| total[n] + counts[n]);
    }
    println!("{} must, {} must not, {} may", total[0], total[1], total[2]);
    assert!(total.iter().all(|count| *count > 150), "{total:?}");
}

/// A unit without control registers selects nothing: its encoder does as before.
#[test]
fn options_do_not_select() {
    let registers = [("TRCCONFIGR".to_owned(), 0x18c1), ("TRCSYNCPR".to_owned(), 12)];
    assert!(Selection::new(AnyProtocol::Ete, &registers, &|_| true, 1).is_none());
    let registers = [("TRCVICTLR".to_owned(), 0x201)];
    assert!(Selection::new(AnyProtocol::Ete, &registers, &|_| true, 1).is_some());
    assert!(Selection::new(AnyProtocol::Itm, &registers, &|_| true, 1).is_none());
}
