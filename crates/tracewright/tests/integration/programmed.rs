//! Trace units of ETMv1, ETMv2 and ETMv3 that are programmed: what is decoded is what the filters
//! of the unit require.

use std::collections::BTreeSet;

use tracewright::base::{Element, Isa, Step, StepSink};
use tracewright::frames::Framing;
use tracewright::logs::{Recorder, Recording};
use tracewright::protocols::encoders::AnyUnit;
use tracewright::protocols::registry::AnyProtocol::{self, Etmv1, Etmv2, Etmv3};
use tracewright::units::Unit as _;
use tracewright::units::etm::Etm;
use tracewright::units::values::Values;
use tracewright::units::verdict::Requirement;
use tracewright_model::generate::{self, Recipe, Sets};
use tracewright_model::round_trip::decode;
use tracewright_model::{Machine, Ran, Stimulus};
use tracewright_testing::Random;

type Registers = Vec<(String, u64)>;

/// Everything that is traced, in order.
#[derive(Debug, Default, PartialEq, Eq)]
struct Traced {
    instructions: Vec<(u64, Isa)>,
    /// Addresses and values of data accesses.
    data: Vec<(Option<u64>, Option<u64>)>,
    triggers: usize,
}

/// What the filters of a unit with `registers` require of `steps`. What may be traced is.
fn required(protocol: AnyProtocol, registers: &Registers, steps: &[Step]) -> Traced {
    let values: Values = registers.iter().cloned().collect();
    let unit = Etm::identified(&values).unwrap();
    let mut filter = unit.filter(&values).unwrap();
    let mut traced = Traced::default();
    let mut waiting: Option<((u64, Isa), Vec<_>)> = None;
    let chosen = |requirement| requirement != Requirement::MustNot;
    for step in steps.iter().chain([&Step::Halted]) {
        if !matches!(step, Step::Access(_))
            && let Some((instruction, data)) = waiting.take()
            && chosen(filter.revised().unwrap().requirement)
        {
            traced.instructions.push(instruction);
            traced.data.extend(data);
        }
        let outcome = filter.step(step);
        // A trigger of ETMv3 is a byte, which is decoded from the first synchronisation on; tracing
        // starts with one. The pins of ETMv1 and ETMv2 show it at any time.
        let synchronised = protocol != Etmv3 || !traced.instructions.is_empty();
        traced.triggers += usize::from(outcome.trigger && synchronised);
        match step {
            Step::Retired(retired) => {
                waiting = Some(((retired.address, retired.instruction.isa), Vec::new()));
            }
            Step::Access(access) => {
                let (_, data) = waiting.as_mut().unwrap();
                if chosen(outcome.verdict.unwrap().requirement) {
                    data.push((access.address(), access.value()));
                }
            }
            _ => {}
        }
    }
    traced
}

/// What the filters require of each instruction.
fn verdicts(registers: &Registers, steps: &[Step]) -> Vec<(Requirement, (u64, Isa))> {
    let values: Values = registers.iter().cloned().collect();
    let mut filter = Etm::identified(&values).unwrap().filter(&values).unwrap();
    let (mut all, mut waiting) = (Vec::new(), None);
    for step in steps.iter().chain([&Step::Halted]) {
        if !matches!(step, Step::Access(_))
            && let Some(instruction) = waiting.take()
        {
            all.push((filter.revised().unwrap().requirement, instruction));
        }
        filter.step(step);
        if let Step::Retired(retired) = step {
            waiting = Some((retired.address, retired.instruction.isa));
        }
    }
    all
}

/// Whether `got` has all that must be traced, nothing that must not, and any of the others.
fn fits(want: &[(Requirement, (u64, Isa))], got: &[(u64, Isa)]) -> bool {
    // The numbers of instructions of `got` that can have been matched.
    let mut matched = BTreeSet::from([0]);
    for (requirement, instruction) in want {
        let next = |n: &usize| (got.get(*n) == Some(instruction)).then_some(n + 1);
        let traced: BTreeSet<usize> = matched.iter().filter_map(next).collect();
        match requirement {
            Requirement::Must => matched = traced,
            Requirement::MustNot => {}
            Requirement::May => matched.extend(traced),
        }
    }
    matched.contains(&got.len())
}

/// What the trace of `steps` contains.
fn decoded(
    protocol: AnyProtocol,
    registers: &Registers,
    program: &tracewright_model::Program,
    steps: &[Step],
) -> Traced {
    let recording = Recording {
        protocol,
        registers: registers.clone(),
        texts: Vec::new(),
        framing: Framing::Raw,
        messages: false,
        core: AnyUnit::core(protocol).to_owned(),
        images: Vec::new(),
    };
    let mut recorder = Recorder::new(recording).unwrap();
    for step in steps.iter().chain([&Step::Halted]) {
        recorder.step(0, step);
    }
    let capture = recorder.finish().unwrap();
    let source = &capture.sources[0];
    let register = |name: &str| source.register(name);
    let config = protocol.configure(capture.core_type(source), &register).unwrap();
    let bytes = capture.buffers[0].head(usize::MAX);
    let mut traced = Traced::default();
    for (_, ran) in decode(&config, &program.image, &bytes) {
        match ran {
            Ran::Instruction { address, isa, .. } => traced.instructions.push((address, isa)),
            Ran::Element(Element::DataAccess(access)) => {
                traced.data.push((access.address(), access.value()));
            }
            Ran::Element(Element::Trigger) => traced.triggers += 1,
            Ran::Element(Element::Inconsistency(what)) => panic!("{what}"),
            Ran::Element(Element::Undecodable { .. }) => panic!("undecodable"),
            _ => {}
        }
    }
    traced
}

/// A random program of the filters, with addresses that the execution has.
fn filters(random: &mut Random, protocol: AnyProtocol, steps: &[Step]) -> Registers {
    let addresses: Vec<u64> = steps
        .iter()
        .filter_map(|step| if let Step::Retired(r) = step { Some(r.address) } else { None })
        .collect();
    let data: Vec<u64> = steps
        .iter()
        .filter_map(|step| if let Step::Access(a) = step { a.address() } else { None })
        .collect();
    let mut registers: Registers =
        AnyUnit::usual(protocol).iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
    let mut set = |name: &str, value: u64| {
        registers.retain(|(known, _)| known != name);
        registers.push((name.to_owned(), value));
    };
    // 16 pins, and the processor waits for the FIFO, so that nothing is lost.
    let data_bits = random.pick(&[0, 0x4, 0x8, 0xc]);
    match protocol {
        Etmv3 => set("ETMCR", 0x1000_0800 | data_bits),
        _ => set("ETMCR", 0x8a0 | data_bits),
    }
    let code = match protocol {
        Etmv1 => 0x30c9_9088,
        Etmv2 => 0x87c9_9088,
        _ => 0x8fc9_9088,
    };
    // Four to eight pairs of address comparators, one to four counters, and no or some data value
    // comparators.
    let (pairs, counters) = (4 + random.below(5), 1 + random.below(4));
    let values = random.below(pairs + 1);
    set("ETMCCR", code & !0xe0ff | counters << 13 | values << 4 | pairs);
    for n in 0..4 {
        // Pairs 1 and 2 are instructions, 3 and 4 data.
        let of = |random: &mut Random, list: &[u64]| match list {
            [] => 0x1000,
            list => list[random.index(list.len())] & !3,
        };
        let (list, kind) = if n < 2 { (&addresses, 0x19) } else { (&data, 0x1c) };
        let one = of(random, list);
        let other = of(random, list);
        let (low, high) = (one.min(other), one.max(other) + 4);
        for (k, value) in [(2 * n + 1, low), (2 * n + 2, high)] {
            set(&format!("ETMACVR{k}"), value);
            set(&format!("ETMACTR{k}"), kind);
        }
    }
    let exclude = random.below(2) << 24;
    let start_stop = random.below(2) << 25;
    let ranges = random.below(4);
    set("ETMTECR1", exclude | start_stop | ranges);
    // The encoder takes registers that are not given as 0, and a unit has unknown values.
    ["ETMTECR2", "ETMVDCR1", "ETMVDCR2"].iter().for_each(|name| set(name, 0));
    if random.one_in(3) {
        set("ETMTECR2", if exclude == 0 { 1 << random.below(8) } else { 1 << random.below(4) });
    }
    set("ETMTSSCR", 1 << random.below(2) | 1 << (18 + random.below(2)));
    set("ETMVDCR3", random.pick(&[0x1_0000, 0x4, 0x8, 0x1_0400, 0x1, 0x804]));
    // A counter of data stores, which the event of TraceEnable may use, and the trigger.
    let source = if protocol == Etmv1 { 1 << 17 } else { 0 };
    set("ETMCNTRLDVR1", 1 + random.below(20));
    set("ETMCNTENR1", random.pick(&[0x10, 0x12, 0x04, 0x6f]) | source);
    set("ETMCNTRLDEVR1", random.pick(&[0x406f, 0x11, 0x00]));
    set("ETMTEEVR", random.pick(&[0x6f, 0x6f, 0x6f, 0x40, 0x4040, 0x12]));
    set("ETMVDEVR", random.pick(&[0x6f, 0x6f, 0x4040]));
    set("ETMTRIGGER", random.pick(&[0x40, 0x10, 0x05, 0x406f]));
    registers
}

#[test]
fn traces_what_the_filters_require() {
    let mut random = Random::new(5);
    let (mut instructions, mut data, mut left_out, mut triggers) = (0, 0, 0, 0);
    for round in 0..tracewright_testing::times(60) {
        let protocol = random.pick(&[Etmv1, Etmv2, Etmv3]);
        let recipe = Recipe {
            seed: round + 1,
            isa: Sets::A32,
            waits: false,
            exceptions: false,
            ..Recipe::default()
        };
        let program = generate::program(&recipe);
        let stimulus = Stimulus { seed: round, accesses: true, ..Stimulus::default() };
        let steps = Machine::new(&program, stimulus).collect(400);
        let registers = filters(&mut random, protocol, &steps);
        let want = required(protocol, &registers, &steps);
        let got = decoded(protocol, &registers, &program, &steps);
        let case = format!("round {round}, {protocol:?}, {registers:x?}");
        assert_eq!(got.instructions, want.instructions, "{case}");
        assert_eq!(got.triggers, want.triggers, "{case}");
        let control = registers.iter().find(|(name, _)| name == "ETMCR").unwrap().1;
        let (values, addresses) = (control & 4 != 0, control & 8 != 0);
        if values || addresses {
            let shown = |all: &[(Option<u64>, Option<u64>)]| {
                let part = |(address, value): &(Option<u64>, Option<u64>)| {
                    (address.filter(|_| addresses), value.filter(|_| values))
                };
                all.iter().map(part).collect::<Vec<_>>()
            };
            let want = shown(&want.data);
            assert_eq!(got.data, want, "{case}");
            data += want.len();
        }
        let all = steps.iter().filter(|step| matches!(step, Step::Retired(_))).count();
        instructions += want.instructions.len();
        left_out += all - want.instructions.len();
        triggers += want.triggers;
    }
    assert!(instructions > 1000 && data > 100 && left_out > 1000 && triggers > 10);
}

/// A unit that chooses at random what it may trace: it traces all that must be, and nothing that
/// must not.
#[test]
fn chooses_among_what_may_be_traced() {
    let mut random = Random::new(8);
    let (mut may, mut left_out) = (0, 0);
    for round in 0..tracewright_testing::times(60) {
        let protocol = random.pick(&[Etmv1, Etmv2, Etmv3]);
        let recipe = Recipe {
            seed: round + 1,
            isa: Sets::A32,
            waits: false,
            exceptions: false,
            ..Recipe::default()
        };
        let program = generate::program(&recipe);
        let stimulus = Stimulus { seed: round, accesses: true, ..Stimulus::default() };
        let steps = Machine::new(&program, stimulus).collect(300);
        let mut registers = filters(&mut random, protocol, &steps);
        registers.push(("filter-seed".to_owned(), random.below(1 << 32)));
        let want = verdicts(&registers, &steps);
        let got = decoded(protocol, &registers, &program, &steps);
        let case = format!("round {round}, {protocol:?}, {registers:x?}");
        assert!(fits(&want, &got.instructions), "{case}: {want:x?} {:x?}", got.instructions);
        let count = |requirement| want.iter().filter(|(r, _)| *r == requirement).count();
        let permitted = count(Requirement::May);
        may += permitted;
        left_out += count(Requirement::Must) + permitted - got.instructions.len();
    }
    assert!(may > 100 && left_out > 30 && left_out < may, "{left_out} of {may}");
}
