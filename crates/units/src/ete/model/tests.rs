use tracewright_base::{Cause, Context, Security, Step};

use super::*;
use crate::ete::implementation::Implementation;
use crate::ete::settings::{Event, Settings};
use crate::values::Values;
use crate::verdict::{Filter, Requirement};

use Requirement::{May, Must, MustNot};
use Security::{NonSecure, Realm, Root, Secure};

fn unit() -> Implementation {
    Implementation::named("ETE-max").unwrap()
}

fn model(registers: &[(&str, u64)]) -> Model {
    Model::new(&unit(), &registers.iter().copied().collect())
}

fn at(el: u8, security: Security) -> Context {
    Context { el: Some(el), security: Some(security), ..Context::default() }
}

/// What must be traced of instructions at `addresses`, in Non-secure EL0.
fn traced(registers: &[(&str, u64)], addresses: &[u64]) -> Vec<Requirement> {
    let mut model = model(registers);
    model.step(&Step::Context(at(0, NonSecure)));
    addresses.iter().map(|address| model.instruction(*address).requirement).collect()
}

fn execute(r: &mut Resources, settings: &Settings, comparators: Comparators, timed: bool) {
    r.observe(settings, comparators);
    r.follow(settings, timed);
}

/// Arm ARM Table K10-3: the value of each register, with what its description states.
const MINIMAL: [(&str, u64); 10] = [
    ("TRCCONFIGR", 0x18c1),
    ("TRCEVENTCTL0R", 0),
    ("TRCEVENTCTL1R", 0),
    ("TRCSTALLCTLR", 0),
    ("TRCSYNCPR", 0xc),
    ("TRCTRACEIDR", 0x10),
    ("TRCTSCTLR", 0),
    ("TRCVICTLR", 0x006f_0201),
    ("TRCVIIECTLR", 0),
    ("TRCVISSCTLR", 0),
];

fn with(extra: &[(&'static str, u64)]) -> Vec<(&'static str, u64)> {
    let mut all: Vec<_> =
        MINIMAL.iter().copied().filter(|(name, _)| extra.iter().all(|(e, _)| e != name)).collect();
    all.extend(extra);
    all
}

/// Arm ARM Table K10-3: a process at Non-secure EL0, and at Realm EL0, is traced, and nothing else.
#[test]
fn table_k10_3() {
    for (el, security, want) in [
        (0, NonSecure, Must),
        (1, NonSecure, MustNot),
        (2, NonSecure, MustNot),
        (0, Realm, Must),
        (1, Realm, MustNot),
        (2, Realm, MustNot),
        (0, Secure, MustNot),
        (1, Secure, MustNot),
        (2, Secure, MustNot),
        (3, Secure, MustNot),
        (3, Root, MustNot),
    ] {
        let mut model = model(&MINIMAL);
        model.step(&Step::Context(at(el, security)));
        for address in [0, 0x1000, 0xffff_ffff_ffff_fffc] {
            let verdict = model.instruction(address);
            assert_eq!(verdict.requirement, want, "EL{el} {security}");
            assert!(verdict.section.contains("Table K10-3"), "{verdict:?}");
        }
    }
    // The description of the other registers: no event, no data, timestamps, a return stack.
    let settings = Settings::new(&unit(), &MINIMAL.into_iter().collect());
    for (bit, want) in [(12, 1), (11, 1), (6, 1), (7, 1), (4, 0), (3, 0), (13, 0)] {
        assert_eq!(settings.config >> bit & 1, want, "TRCCONFIGR bit {bit}");
    }
    assert_eq!(Event::new(settings.events[0] & 0xff).constant(), Some(false));
    assert_eq!(Event::new(settings.timestamp).constant(), Some(false));
    assert_eq!(Event::new(0x006f_0201 & 0xff).constant(), Some(true));
}

/// Arm ARM K10.5.7.4 and K10.5.7.5: an excluded and an included range, both addresses inclusive.
#[test]
fn exclude_and_include() {
    let range = [("TRCACVR0", 0x2000), ("TRCACVR1", 0x200c), ("TRCACATR0", 0), ("TRCACATR1", 0)];
    let addresses = [0x1ffc, 0x2000, 0x2004, 0x200c, 0x2010];
    let of = |control| {
        let mut registers = with(&[("TRCVIIECTLR", control)]);
        registers.extend(range);
        traced(&registers, &addresses)
    };
    assert_eq!(of(0x0001_0000), [Must, MustNot, MustNot, MustNot, Must]);
    assert_eq!(of(0x0000_0001), [MustNot, Must, Must, Must, MustNot]);
    assert_eq!(of(0x0001_0001), [MustNot; 5]);
    // Each register of a comparator is UNKNOWN until it is written.
    for (unknown, _) in range {
        let mut registers = with(&[("TRCVIIECTLR", 1)]);
        registers.extend(range.into_iter().filter(|(name, _)| *name != unknown));
        assert_eq!(traced(&registers, &addresses), [May; 5], "{unknown}");
    }
}

/// TRCVICTLR.SSSTATUS, TRCVISSCTLR: from the start point up to and including the stop point.
#[test]
fn start_and_stop() {
    let points = [
        ("TRCACVR2", 0x2000),
        ("TRCACATR2", 0),
        ("TRCACVR3", 0x3000),
        ("TRCACATR3", 0),
        ("TRCVISSCTLR", 0x0008_0004),
    ];
    let addresses = [0x1000, 0x2000, 0x2004, 0x3000, 0x3004, 0x2000];
    let mut stopped = with(&[("TRCVICTLR", 0x006f_0001)]);
    stopped.retain(|(name, _)| *name != "TRCVISSCTLR");
    stopped.extend(points);
    assert_eq!(traced(&stopped, &addresses), [MustNot, Must, Must, Must, MustNot, Must]);
    let mut started = with(&[]);
    started.retain(|(name, _)| *name != "TRCVISSCTLR");
    started.extend(points);
    assert_eq!(traced(&started, &addresses), [Must, Must, Must, Must, MustNot, Must]);
    // One address starts and stops: afterwards the state is not known.
    let mut both = with(&[]);
    both.retain(|(name, _)| *name != "TRCVISSCTLR");
    both.extend([("TRCACVR2", 0x2000), ("TRCACATR2", 0), ("TRCVISSCTLR", 0x0004_0004)]);
    assert_eq!(traced(&both, &[0x1000, 0x2000, 0x2004]), [Must, May, May]);
}

/// TRCVIPCSSCTLR: PE comparator inputs start and stop.
#[test]
fn start_and_stop_by_the_processor() {
    let mut model = model(&with(&[("TRCVICTLR", 0x006f_0001), ("TRCVIPCSSCTLR", 0x0002_0001)]));
    model.step(&Step::Context(at(0, NonSecure)));
    let mut got = Vec::new();
    for inputs in [0, 1, 0, 2, 0] {
        model.resources.pe_inputs = inputs;
        got.push(model.instruction(0x1000).requirement);
    }
    assert_eq!(got, [MustNot, Must, Must, Must, MustNot]);
}

/// DDI 0601, TRCRSCTLR<n>.PAIRINV and INV: the functions of a pair, with A and B from two external
/// inputs. Columns: PAIRINV, INV of A, INV of B; the results for (A, B) = 00, 01, 10, 11, or
/// nothing where the function is reserved.
#[test]
fn functions_of_a_pair() {
    for (code, function) in [
        (0b000, Some([false, false, false, true])),
        (0b001, None),
        (0b010, Some([false, true, false, false])),
        (0b011, Some([true, false, false, false])),
        (0b100, Some([true, true, true, false])),
        (0b101, Some([true, true, false, true])),
        (0b110, None),
        (0b111, Some([false, true, true, true])),
    ] {
        let (pair, a, b) = (code >> 2, code >> 1 & 1, code & 1);
        let registers: Values = [
            ("TRCRSCTLR2", pair << 21 | a << 20 | 1),
            ("TRCRSCTLR3", b << 20 | 2),
            ("TRCEXTINSELR0", 5),
            ("TRCEXTINSELR1", 6),
        ]
        .into_iter()
        .collect();
        let settings = Settings::new(&unit(), &registers);
        let mut resources = Resources::new(&settings);
        for n in 0..4u64 {
            resources.events[0] = (n >> 1 & 1) << 5 | (n & 1) << 6;
            let got = resources.active(&settings, Event::Pair(1));
            let want = function.map(|row: [bool; 4]| row[n as usize]);
            assert_eq!(got, want, "{code:03b}, inputs {n:02b}");
        }
    }
    let settings = Settings::default();
    let fixed = Resources::new(&settings);
    assert_eq!(fixed.selector(&settings, 0), Some(false));
    assert_eq!(fixed.selector(&settings, 1), Some(true));
}

/// Every group of TRCRSCTLR<n>, active and not.
#[test]
fn groups_of_resources() {
    let registers: Values = [
        ("TRCRSCTLR2", 0x0_0001),
        ("TRCRSCTLR3", 0x1_0002),
        ("TRCRSCTLR4", 0x2_0001),
        ("TRCRSCTLR5", 0x2_0020),
        ("TRCRSCTLR6", 0x3_0001),
        ("TRCRSCTLR7", 0x4_0004),
        ("TRCRSCTLR8", 0x5_0002),
        ("TRCRSCTLR9", 0x6_0001),
        ("TRCRSCTLR10", 0x7_0001),
        ("TRCEXTINSELR0", 0x11),
        ("TRCCNTVR0", 1),
        ("TRCCNTCTLR0", 7),
        ("TRCSEQEVR0", 7),
        ("TRCSSCCR0", 4),
        ("TRCACVR2", 0x1000),
        ("TRCACVR3", 0x1ffc),
        ("TRCACATR2", 0),
        ("TRCACATR3", 0),
        ("TRCCIDCVR0", 0x1234),
        ("TRCVMIDCVR0", 0x56),
        ("TRCVMIDCCTLR0", 0x0e),
    ]
    .into_iter()
    .collect();
    let settings = Settings::new(&unit(), &registers);
    let mut resources = Resources::new(&settings);
    let values = |r: &Resources| (2..=10).map(|n| r.selector(&settings, n)).collect::<Vec<_>>();
    let compare = |address, id, vmid| {
        let context = Context { context_id: Some(id), vmid: Some(vmid), ..at(0, NonSecure) };
        Comparators::new(&settings, &Instruction { address, context: &context })
    };
    execute(&mut resources, &settings, compare(0x100, 0, 0), true);
    assert_eq!(values(&resources), [Some(false); 9]);
    resources.events[0] = 1 << 0x11;
    resources.pe_inputs = 2;
    // The address of comparator 2: the counter reaches zero, the sequencer moves, one shot fires.
    execute(&mut resources, &settings, compare(0x1000, 0x1234, 0xab56), true);
    assert_eq!(values(&resources), [Some(true); 9]);
    assert_eq!((resources.counters[0], resources.sequencer), (Some(0), 2));
    // It fires once. Identifiers that are not known give no result.
    let unknown = Context { context_id: None, vmid: None, ..at(0, NonSecure) };
    let comparators =
        Comparators::new(&settings, &Instruction { address: 0x1000, context: &unknown });
    execute(&mut resources, &settings, comparators, true);
    let got = values(&resources);
    assert_eq!(got[4], Some(false), "single-shot");
    assert_eq!(got[7..], [None, None]);
}

/// Counters: decrement, reload, self-reload, a chain. (DDI 0601, TRCCNTCTLR<n>)
#[test]
fn counters() {
    let run = |registers: &[(&str, u64)], cycles: &[u32]| {
        let settings = Settings::new(&unit(), &registers.iter().copied().collect());
        let mut resources = Resources::new(&settings);
        let mut got = Vec::new();
        for n in cycles {
            resources.cycles(&settings, *n);
            got.push((resources.counters[0].unwrap(), resources.counters[1].unwrap()));
        }
        got
    };
    let always = 1;
    let normal = [("TRCCNTVR0", 3), ("TRCCNTCTLR0", always)];
    assert_eq!(run(&normal, &[1, 1, 1, 5]), [(2, 0), (1, 0), (0, 0), (0, 0)]);
    let own = [("TRCCNTVR0", 2), ("TRCCNTRLDVR0", 2), ("TRCCNTCTLR0", 1 << 16 | always)];
    assert_eq!(run(&own, &[1, 1, 1, 1]), [(1, 0), (0, 0), (2, 0), (1, 0)]);
    let chain = [
        ("TRCCNTVR0", 1),
        ("TRCCNTRLDVR0", 1),
        ("TRCCNTCTLR0", 1 << 16 | always),
        ("TRCCNTVR1", 9),
        ("TRCCNTCTLR1", 1 << 17),
    ];
    assert_eq!(run(&chain, &[1, 1, 1, 1]), [(0, 9), (1, 8), (0, 8), (1, 7)]);
    // Without cycles, the number of cycles of an instruction is not known.
    let settings = Settings::new(&unit(), &normal.into_iter().collect());
    let mut resources = Resources::new(&settings);
    execute(&mut resources, &settings, Comparators::default(), false);
    assert_eq!(resources.counters[0], None);
}

/// The sequencer: forward, backward, reset; both ways at once leaves three states open.
#[test]
fn sequencer() {
    let registers: Values = [
        ("TRCRSCTLR2", 0x0_0001),
        ("TRCRSCTLR3", 0x0_0002),
        ("TRCRSCTLR4", 0x0_0004),
        ("TRCEXTINSELR1", 1),
        ("TRCEXTINSELR2", 2),
        ("TRCSEQEVR0", 0x0302),
        ("TRCSEQEVR1", 0x0302),
        ("TRCSEQEVR2", 0x0302),
        ("TRCSEQRSTEVR", 4),
    ]
    .into_iter()
    .collect();
    let settings = Settings::new(&unit(), &registers);
    let mut resources = Resources::new(&settings);
    let mut got = Vec::new();
    for inputs in [0, 1, 1, 1, 1, 2, 0, 4, 1, 3] {
        resources.events[0] = inputs;
        resources.cycles(&settings, 1);
        got.push(resources.sequencer);
    }
    assert_eq!(got, [1, 2, 4, 8, 8, 4, 4, 1, 2, 7]);
}

/// The ViewInst event: precise where it is constant, else not while it changes.
#[test]
fn the_event() {
    assert_eq!(traced(&with(&[("TRCVICTLR", 0x006f_0200)]), &[0x1000]), [MustNot]);
    let registers =
        with(&[("TRCVICTLR", 0x006f_0202), ("TRCRSCTLR2", 0x6_0001), ("TRCCIDCVR0", 7)]);
    let mut model = model(&registers);
    let mut run = |id, times: u32| {
        model.step(&Step::Context(Context { context_id: Some(id), ..at(0, NonSecure) }));
        (0..times).map(|_| model.instruction(0x1000).requirement).collect::<Vec<_>>()
    };
    assert_eq!(run(7, LATENCY + 1).last(), Some(&Must));
    let other = run(8, LATENCY + 2);
    assert_eq!(other[..LATENCY as usize], vec![May; LATENCY as usize][..]);
    assert_eq!(other.last(), Some(&MustNot));
}

/// Exceptions: as the instruction before, or forced. (DDI 0601, TRCVICTLR.TRCERR, TRCRESET)
#[test]
fn exceptions() {
    let run = |view, el, cause| {
        let mut model = model(&with(&[("TRCVICTLR", view)]));
        model.step(&Step::Context(at(el, NonSecure)));
        model.instruction(0x1000);
        model.exception(cause).requirement
    };
    assert_eq!(run(0x006f_0201, 0, Cause::Irq), Must);
    assert_eq!(run(0x006f_0201, 1, Cause::Irq), MustNot);
    assert_eq!(run(0x006f_0a01, 1, Cause::SystemError), Must);
    assert_eq!(run(0x006f_0a01, 1, Cause::Irq), MustNot);
    assert_eq!(run(0x006f_0601, 1, Cause::Reset), Must);
    // TRCRSR.TA: tracing was active before the unit was disabled.
    let first = |active: u64| {
        let mut model = model(&with(&[("TRCRSR", active << 12)]));
        model.exception(Cause::Irq).requirement
    };
    assert_eq!((first(0), first(1)), (MustNot, Must));
    // After a prohibited region, no exception is traced. (K10.5.9)
    let mut model = model(&with(&[("TRCRSR", 1 << 12)]));
    model.permit(false);
    model.permit(true);
    assert_eq!(model.exception(Cause::Irq).requirement, MustNot);
}

/// A prohibited region: nothing is traced, and the resources of an ETE are paused.
#[test]
fn prohibited_regions() {
    let registers = with(&[("TRCCNTVR0", 9), ("TRCCNTCTLR0", 1)]);
    let mut model = model(&registers);
    model.step(&Step::Context(at(0, NonSecure)));
    model.step(&Step::Off);
    let outcome = model.step(&Step::Cycles(3));
    assert_eq!((model.resources.counters[0], outcome.outputs), (Some(9), 0));
    assert_eq!(model.instruction(0x1000).requirement, MustNot);
    model.step(&Step::On);
    model.step(&Step::Cycles(3));
    assert_eq!(model.resources.counters[0], Some(6));
    assert_eq!(model.instruction(0x1000).requirement, Must);
}

/// Cycles of a log are known from its first instruction on: the counter of cycles reaches zero with
/// the 15th, wherever the first [`Step::Cycles`] is.
#[test]
fn counters_of_the_cycles_of_a_log() {
    use tracewright_base::Retired;
    let registers = with(&[
        ("TRCEVENTCTL0R", 2),
        ("TRCEVENTCTL1R", 1 << 11),
        ("TRCRSCTLR2", 2 << 16 | 1),
        ("TRCCNTRLDVR0", 15),
        ("TRCCNTVR0", 15),
        ("TRCCNTCTLR0", 1),
    ]);
    let instruction = Step::Retired(Retired { address: 0x1000, ..Retired::default() });
    let (five, fifteen) = (Step::Cycles(5), Step::Cycles(15));
    for (steps, triggers) in [
        (vec![instruction, five, instruction, five, instruction, five, instruction], 2),
        (vec![five, instruction, five, instruction, five, instruction], 2),
        (vec![instruction, instruction, instruction, fifteen, instruction], 2),
        (vec![instruction, five, instruction, five, instruction], 0),
        // Without cycles the counter is not known.
        (vec![instruction; 20], 0),
    ] {
        let mut model = model(&registers);
        let got = steps.iter().filter(|step| model.step(step).trigger).count();
        assert_eq!(got, triggers, "{steps:?}");
    }
}

/// An event that is always active occurs in each step, from selector 1 as from an inverted selector
/// of nothing.
#[test]
fn events_that_are_always_active() {
    use tracewright_base::Retired;
    let instruction = Step::Retired(Retired { address: 0x1000, ..Retired::default() });
    for (event, selector, outputs) in [(0, 0, 0), (1, 0, 1), (2, 1 << 20, 1), (2, 0, 0)] {
        let registers =
            with(&[("TRCEVENTCTL0R", event), ("TRCEVENTCTL1R", 1 << 11), ("TRCRSCTLR2", selector)]);
        let mut model = model(&registers);
        for step in [instruction, Step::Cycles(3)] {
            let outcome = model.step(&step);
            assert_eq!((outcome.outputs, outcome.trigger), (outputs, outputs != 0), "{event}");
        }
    }
}

/// Unknown fields of the context matter only where the registers depend on them.
#[test]
fn unknown_contexts() {
    let of = |view, context: Context| {
        let mut model = model(&with(&[("TRCVICTLR", view)]));
        model.step(&Step::Context(context));
        model.instruction(0x1000).requirement
    };
    let unknown = Context::default();
    assert_eq!(of(0x0000_0201, unknown), Must);
    assert_eq!(of(0x006f_0201, unknown), May);
    assert_eq!(of(0x007f_0201, unknown), MustNot);
    assert_eq!(of(0x006f_0201, Context { el: Some(3), ..unknown }), MustNot);
    assert_eq!(of(0x006f_0201, Context { el: Some(0), ..unknown }), May);
    let mut without = model(&[]);
    assert_eq!(without.instruction(0).requirement, May);
}

/// What the unit does not have, and what is programmed against its rules, is UNPREDICTABLE.
#[test]
fn unpredictable() {
    let of = |unit: &str, extra: &[(&'static str, u64)]| {
        let unit = Implementation::named(unit).unwrap();
        let mut model = Model::new(&unit, &with(extra).into_iter().collect());
        assert_eq!(model.unpredictable(), None);
        model.step(&Step::Context(at(0, NonSecure)));
        model.instruction(0x1000);
        model.unpredictable().is_some()
    };
    let range = |first: u64, last: u64, other: u64| {
        [("TRCACVR0", first), ("TRCACVR1", last), ("TRCACATR0", 0), ("TRCACATR1", other)]
    };
    for (unit, extra, want) in [
        ("ETE", vec![], false),
        ("ETE", vec![("TRCVICTLR", 0x6f_0202), ("TRCRSCTLR2", 6 << 16 | 1)], false),
        ("ETE", vec![("TRCVICTLR", 0x6f_0202), ("TRCRSCTLR2", 6 << 16 | 2)], true),
        ("ETE-max", vec![("TRCVICTLR", 0x6f_0202), ("TRCRSCTLR2", 6 << 16 | 2)], false),
        ("ETE-max", vec![("TRCVICTLR", 0x6f_0202), ("TRCRSCTLR2", 8 << 16 | 1)], true),
        ("ETE", vec![("TRCVICTLR", 0x6f_0210)], true),
        ("ETE-max", vec![("TRCVICTLR", 0x6f_0210)], false),
        ("ETE", vec![("TRCVICTLR", 0x6f_0281), ("TRCRSCTLR3", 1 << 20 | 1)], true),
        ("ETE", vec![("TRCVICTLR", 0x6f_0281), ("TRCRSCTLR2", 1 << 20 | 1)], false),
        ("ETE", [vec![("TRCVIIECTLR", 1)], range(0x1000, 0x2000, 0).to_vec()].concat(), false),
        ("ETE", [vec![("TRCVIIECTLR", 1)], range(0x2000, 0x1000, 0).to_vec()].concat(), true),
        ("ETE", [vec![("TRCVIIECTLR", 1)], range(0x1000, 0x2000, 4).to_vec()].concat(), true),
        ("ETE", range(0x2000, 0x1000, 0).to_vec(), false),
        (
            "ETE",
            [
                vec![("TRCVICTLR", 0x6f_0202), ("TRCRSCTLR2", 5 << 16 | 1)],
                range(0x2000, 0x1000, 0).to_vec(),
            ]
            .concat(),
            true,
        ),
        ("ETE", vec![("TRCVISSCTLR", 0x8_0004), ("TRCACVR2", 1), ("TRCACVR3", 2)], false),
        ("ETE", vec![("TRCVISSCTLR", 0x8_0004), ("TRCACVR2", 2), ("TRCACVR3", 1)], true),
        ("ETE", vec![("TRCVISSCTLR", 0x4_0004), ("TRCACVR2", 2)], true),
        ("ETE", vec![("TRCVISSCTLR", 1 << 15)], true),
    ] {
        assert_eq!(of(unit, &extra), want, "{unit} {extra:x?}");
    }
}

/// ETMv4: ViewData includes and excludes accesses by address, by value, and by the instruction.
#[test]
fn data_of_an_etmv4() {
    use tracewright_base::{Access, Direction, Instruction as Code, Isa, Retired};
    // TRCIDR0.TRCDATA and TRCIDR4: eight pairs, two data value comparators, data addresses.
    let base = [
        ("TRCIDR0", 0x0800_0ebf),
        ("TRCIDR1", 0x4100_f420),
        ("TRCIDR4", 0x1117_0128),
        ("TRCCONFIGR", 0x3_0006),
        ("TRCVICTLR", 0x201),
        ("TRCVDCTLR", 1),
        // Comparators 0 and 1 are data addresses from 0x2000 to 0x20ff, 2 is a store of a word
        // 0x55, 3 any access of 0x3010, 4 an instruction.
        ("TRCACVR0", 0x2000),
        ("TRCACVR1", 0x20ff),
        ("TRCACATR0", 3),
        ("TRCACATR1", 3),
        ("TRCACVR2", 0x3000),
        ("TRCACATR2", 2 | 1 << 16 | 2 << 18),
        ("TRCDVCVR1", 0x55),
        ("TRCACVR3", 0x3010),
        ("TRCACATR3", 3),
        ("TRCACVR4", 0x1000),
        ("TRCACATR4", 0),
    ];
    let access = |address, size, direction, value| {
        let mut access = Access::default().at(address).of(value);
        (access.size, access.direction) = (size, direction);
        Step::Access(access)
    };
    let (read, write) = (Direction::Read, Direction::Write);
    type Registers = &'static [(&'static str, u64)];
    let rows: [(Registers, u64, Step, Requirement); 22] = [
        (&[], 0x1000, access(0x9000, 4, read, 0), Must),
        (&[("TRCCONFIGR", 0x6)], 0x1000, access(0x9000, 4, read, 0), MustNot),
        (&[("TRCCONFIGR", 0x3_0000)], 0x1000, access(0x9000, 4, read, 0), MustNot),
        (&[("TRCCONFIGR", 0x3_0002)], 0x1000, access(0x9000, 4, write, 0), MustNot),
        (&[("TRCCONFIGR", 0x3_0004)], 0x1000, access(0x9000, 4, write, 0), Must),
        (&[("TRCVDCTLR", 0)], 0x1000, access(0x9000, 4, read, 0), MustNot),
        (&[("TRCVDCTLR", 1 << 10 | 1)], 0x1000, access(0x9000, 4, read, 0), May),
        (&[("TRCVICTLR", 0x200)], 0x1000, access(0x9000, 4, read, 0), MustNot),
        (&[("TRCVDARCCTLR", 1)], 0x1000, access(0x2000, 4, read, 0), Must),
        (&[("TRCVDARCCTLR", 1)], 0x1000, access(0x20ff, 1, read, 0), Must),
        (&[("TRCVDARCCTLR", 1)], 0x1000, access(0x2100, 4, read, 0), MustNot),
        (&[("TRCVDARCCTLR", 1)], 0x1000, access(0x1ffe, 4, read, 0), May),
        (&[("TRCVDARCCTLR", 1 << 16)], 0x1000, access(0x2000, 4, read, 0), MustNot),
        (&[("TRCVDARCCTLR", 1 << 16)], 0x1000, access(0x2100, 4, read, 0), Must),
        (&[("TRCVDSACCTLR", 4)], 0x1000, access(0x3000, 4, write, 0x55), Must),
        (&[("TRCVDSACCTLR", 4)], 0x1000, access(0x3000, 4, write, 0x56), MustNot),
        (&[("TRCVDSACCTLR", 4)], 0x1000, access(0x3000, 4, read, 0x55), MustNot),
        (&[("TRCVDSACCTLR", 4)], 0x1000, access(0x3000, 8, write, 0x55), May),
        (&[("TRCVDSACCTLR", 4), ("TRCDVCMR1", 3)], 0x1000, access(0x3000, 4, write, 0x56), Must),
        (&[("TRCVDSACCTLR", 8 << 16)], 0x1000, access(0x3010, 2, read, 0), MustNot),
        (&[("TRCVDSACCTLR", 0x10)], 0x1000, access(0x9000, 4, read, 0), Must),
        (&[("TRCVDSACCTLR", 0x10)], 0x1004, access(0x9000, 4, read, 0), MustNot),
    ];
    for (extra, address, step, want) in rows {
        let values: Values = base.iter().chain(extra).copied().collect();
        let unit = Implementation::identified(&values).unwrap();
        let mut model = Model::new(&unit, &values);
        let instruction = Code { isa: Isa::A64, size: 4, ..Code::default() };
        model.step(&Step::Retired(Retired { address, instruction, ..Retired::default() }));
        let outcome = model.step(&step);
        let verdict = outcome.verdict.unwrap();
        assert_eq!(verdict.requirement, want, "{extra:x?} {address:x} {step:x?}: {verdict:?}");
        assert_eq!(model.unpredictable(), None, "{extra:x?}");
    }
    // An ETE traces no data.
    let mut model = model(&MINIMAL);
    assert_eq!(model.step(&access(0x9000, 4, read, 0)).verdict, None);
}
