//! The filters of IHI 0014, 2.6, over instructions with their data, and over the steps of a log.

use tracewright_base::{self as base, Access, Direction, Retired, Step};

use super::behaviour::{access, cycle, executed, settings};
use crate::etm::event::{Event, Resource};
use crate::etm::model::{CycleEnd, Inputs, LogFilter, Model};
use crate::etm::settings::{Settings, number};
use crate::etm::version::Version;
use crate::verdict::Filter;
use crate::verdict::Requirement::{self, May, Must, MustNot};

/// 2.6.4: an instruction that a single address comparator excludes or includes is so with its data.
#[test]
fn data_of_specific_instructions() {
    let single = [(number::TRACE_ENABLE_2, 1), (number::ADDRESS, 0x8004)];
    for version in Version::ALL.into_iter().filter(|version| *version >= Version::V1_2) {
        for (data_only, excludes, of_it, of_others) in [
            (false, true, [MustNot, MustNot], [Must, Must]),
            (false, false, [Must, Must], [MustNot, MustNot]),
            (true, true, [MustNot, MustNot], [MustNot, Must]),
            (true, false, [MustNot, Must], [MustNot, MustNot]),
        ] {
            if data_only && version < Version::V3_1 {
                continue;
            }
            let mut all = settings(version, &single);
            all.set(number::ACCESS_TYPE, 0x19);
            all.set(number::TRACE_ENABLE_1, u32::from(excludes) << 24);
            all.set(number::CONTROL, 0x80c | u32::from(data_only) << 20);
            let mut model = Model::new(all);
            for (address, want) in [(0x8000, of_others), (0x8004, of_it), (0x8008, of_others)] {
                let (verdicts, _) = cycle(&mut model, &[executed(address), access(0x2000, true)]);
                let what = format!("{version} {data_only} {excludes} {address:x}");
                assert_eq!(verdicts, want, "{what}");
                let revised = model.last_instruction().map(|verdict| verdict.requirement);
                assert_eq!(revised, Some(want[0]), "{what}");
            }
        }
    }
    // Data in a later cycle than its instruction: the comparator fires for one cycle.
    for (version, want) in [(Version::V3_3, MustNot), (Version::V3_2, Must)] {
        let mut all = settings(version, &single);
        all.set(number::ACCESS_TYPE, 0x19);
        let mut model = Model::new(all);
        assert_eq!(cycle(&mut model, &[executed(0x8004)]).0, [MustNot]);
        assert_eq!(cycle(&mut model, &[access(0x2000, true)]).0, [want], "{version}");
    }
}

/// The step of an instruction that passes its condition.
fn retired(address: u64) -> Step {
    let instruction = base::Instruction { size: 4, ..base::Instruction::default() };
    Step::Retired(Retired { address, taken: true, instruction, ..Retired::default() })
}

/// The step of a store of a word.
fn store(address: u64, value: u64, flags: u8) -> Step {
    Step::Access(Access::new(Direction::Write, 4, flags).at(address).of(value))
}

/// The verdict on each instruction and access, and the number of triggers.
fn run(filter: &mut LogFilter, steps: &[Step]) -> (Vec<Requirement>, usize) {
    let (mut verdicts, mut triggers) = (Vec::new(), 0);
    // The end of the last cycle is reported with the next step.
    for step in steps.iter().chain([&Step::Cycles(1)]) {
        let outcome = filter.step(step);
        verdicts.extend(outcome.verdict.map(|verdict| verdict.requirement));
        triggers += usize::from(outcome.trigger);
    }
    (verdicts, triggers)
}

/// 2.6.2: between `Off` and `On` nothing is traced, instruction comparators do not match, and
/// counters run.
#[test]
fn prohibited_regions_of_a_log() {
    let values = [
        (number::ADDRESS, 0x8008),
        (number::ACCESS_TYPE, 0x19),
        (number::TRIGGER, Event::one(Resource::Address(1)).bits()),
        (number::RELOAD_VALUE, 9),
        (number::COUNT_ENABLE, Event::one(Resource::Prohibited).bits()),
        (number::RELOAD_EVENT, Event::FALSE.bits()),
    ];
    let mut filter = LogFilter::new(settings(Version::V3_3, &values));
    let steps = [
        retired(0x8000),
        Step::Off,
        retired(0x8008),
        store(0x2000, 0, 0),
        retired(0x800c),
        Step::On,
        retired(0x8010),
    ];
    assert_eq!(run(&mut filter, &steps), (vec![Must, MustNot, MustNot, MustNot, Must], 0));
    assert_eq!(filter.model.counter(1), 7);
    assert_eq!(run(&mut filter, &[retired(0x8008)]), (vec![Must], 1));
}

/// 3.4.2: a register that is not known leaves open what is traced where its value matters. Rows:
/// the values that select it, the register, and the verdicts on an instruction at 0x8004 and its
/// store to 0x2000 without it, which are `Must` with it.
#[test]
fn unknown_registers() {
    let single = [(number::ADDRESS, 0x8004), (number::ACCESS_TYPE, 0x19)];
    let range = [
        (number::ADDRESS + 2, 0x2000),
        (number::ADDRESS + 3, 0x2008),
        (number::ACCESS_TYPE + 2, 0x1c),
        (number::ACCESS_TYPE + 3, 0x1c),
    ];
    let included = [single.as_slice(), &[(number::TRACE_ENABLE_1, 0), (number::TRACE_ENABLE_2, 1)]];
    let included = included.concat();
    let view = [range.as_slice(), &[(number::VIEW_DATA_3, 0b10)]].concat();
    let started =
        [single.as_slice(), &[(number::TRACE_ENABLE_1, 0x300_0000), (number::START_STOP, 1)]]
            .concat();
    let value = [
        &view[..2],
        &[
            (number::ACCESS_TYPE + 2, 0x3c),
            (number::ACCESS_TYPE + 3, 0x3c),
            (number::VIEW_DATA_3, 0b10),
            (number::DATA_VALUE + 2, 0),
            (number::DATA_MASK + 2, 0),
        ],
    ]
    .concat();
    for (values, unknown, want) in [
        (vec![], number::TRACE_ENABLE_EVENT, [May, May]),
        (vec![], number::TRACE_ENABLE_1, [May, May]),
        (vec![], number::VIEW_DATA_EVENT, [Must, May]),
        (vec![], number::VIEW_DATA_1, [Must, May]),
        (vec![], number::VIEW_DATA_2, [Must, May]),
        (vec![], number::VIEW_DATA_3, [Must, May]),
        (included.clone(), number::TRACE_ENABLE_2, [May, May]),
        (included.clone(), number::ADDRESS, [May, May]),
        (included, number::ACCESS_TYPE, [May, May]),
        (started.clone(), number::START_STOP, [May, May]),
        (started, number::ADDRESS, [May, May]),
        (view.clone(), number::ADDRESS + 2, [Must, May]),
        (view.clone(), number::ADDRESS + 3, [Must, May]),
        (view.clone(), number::ACCESS_TYPE + 2, [Must, May]),
        (view, number::ACCESS_TYPE + 3, [Must, May]),
        (value.clone(), number::DATA_VALUE + 2, [Must, May]),
        (value, number::DATA_MASK + 2, [Must, May]),
    ] {
        let mut all = settings(Version::V3_4, &values);
        let items = [executed(0x8004), access(0x2000, true)];
        let run = |all: &Settings| cycle(&mut Model::new(all.clone()), &items).0;
        assert_eq!(run(&all), [Must, Must], "{values:x?}");
        all.forget(unknown);
        assert_eq!(run(&all), want, "{values:x?} {unknown:#x}");
    }
    // What is known decides alone: an address that is not in the range, a context ID that is equal.
    let mut all = settings(Version::V3_4, &range);
    all.set(number::VIEW_DATA_3, 0b10);
    all.forget(number::ADDRESS + 3);
    let mut model = Model::new(all);
    assert_eq!(cycle(&mut model, &[executed(0x8004), access(0x1000, true)]).0, [Must, MustNot]);
}

/// Table 2-6: with exact match a comparator waits for the value of a late access, and then matches.
/// Rows: ETMACTR of the comparator or of the range, the value of the access, and whether it
/// matches.
#[test]
fn late_values_of_a_log() {
    const EXACT: u32 = 1 << 7;
    const EQUAL: u32 = 0b01 << 5;
    const DIFFERENT: u32 = 0b11 << 5;
    for (kind, value, matches) in [
        (0x1e | EXACT | EQUAL, 0x55, true),
        (0x1e | EXACT | EQUAL, 0x56, false),
        (0x1e | EXACT | DIFFERENT, 0x55, false),
        (0x1e | EXACT | DIFFERENT, 0x56, true),
        (0x1e | EXACT, 0x56, true),
        (0x1d | EXACT, 0x55, false),
        // The value is assumed to match.
        (0x1e | EQUAL, 0x56, true),
    ] {
        for version in Version::ALL.into_iter().filter(|version| *version >= Version::V2_0) {
            for event in [Event::one(Resource::Address(1)), Event::one(Resource::Range(1))] {
                let values = [
                    (number::ADDRESS, 0x2000),
                    (number::ADDRESS + 1, 0x2004),
                    (number::ACCESS_TYPE, kind),
                    (number::ACCESS_TYPE + 1, kind),
                    (number::DATA_VALUE, 0x55),
                    (number::DATA_MASK, 0),
                    (number::TRIGGER, event.bits()),
                ];
                let mut filter = LogFilter::new(settings(version, &values));
                let steps = [retired(0x8000), store(0x2000, value, Access::LATE), retired(0x8004)];
                let triggers = run(&mut filter, &steps).1;
                assert_eq!(triggers, usize::from(matches), "{version} {event} {kind:#x}");
            }
        }
    }
}

/// 2.6.5: ViewData is imprecise in the cycle in which its event changes, whether or not an earlier
/// cycle has data, and precise after it.
#[test]
fn changes_of_the_view_data_event() {
    let comparator = [(number::ADDRESS, 0x8004), (number::ACCESS_TYPE, 0x19)];
    let event =
        |event: Event| [&comparator[..], &[(number::VIEW_DATA_EVENT, event.bits())]].concat();
    let values = event(Event::one(Resource::Address(1)));
    let mut filter = LogFilter::new(settings(Version::V3_4, &values));
    let steps = [retired(0x8000), retired(0x8004), store(0x2000, 0, 0)];
    assert_eq!(run(&mut filter, &steps).0, [Must, Must, May]);

    // The comparator moves the sequencer from state 1 to state 2.
    let mut all = settings(Version::V3_4, &event(Event::one(Resource::Sequencer(2))));
    (0..6).for_each(|n| all.set(number::SEQUENCER + n, Event::FALSE.bits()));
    all.set(number::SEQUENCER, Event::one(Resource::Address(1)).bits());
    for (between, want) in
        [(vec![], May), (vec![retired(0x8008)], Must), (vec![Step::Cycles(3)], Must)]
    {
        let mut filter = LogFilter::new(all.clone());
        let first = [retired(0x8000), store(0x2000, 0, 0), retired(0x8004)];
        assert_eq!(run(&mut filter, &first).0, [Must, MustNot, Must]);
        let _ = run(&mut filter, &between);
        let last = [retired(0x800c), store(0x2000, 0, 0)];
        assert_eq!(run(&mut filter, &last).0, [Must, want], "{between:?}");
    }
}

/// Tables 2-8 and 2-9: an instruction range matches up to the next instruction.
#[test]
fn ranges_in_cycles_without_instructions() {
    let values = [
        (number::ADDRESS, 0x8000),
        (number::ADDRESS + 1, 0x8008),
        (number::ACCESS_TYPE, 0x19),
        (number::ACCESS_TYPE + 1, 0x19),
        (number::RELOAD_VALUE, 100),
        (number::COUNT_ENABLE, Event::one(Resource::Range(1)).bits()),
        (number::RELOAD_EVENT, Event::FALSE.bits()),
    ];
    let mut filter = LogFilter::new(settings(Version::V3_3, &values));
    let _ = run(&mut filter, &[retired(0x8004), Step::Cycles(10), retired(0x8008)]);
    assert_eq!(filter.model.counter(1), 90);
}

/// 2.2.3: the counters after any number of cycles are those after as many single cycles.
#[test]
fn cycles_without_instructions() {
    let counter = |n| Event::one(Resource::Counter(n)).bits();
    let chain = |first, second| {
        vec![
            (number::RELOAD_VALUE, first),
            (number::COUNT_ENABLE, Event::TRUE.bits()),
            (number::RELOAD_EVENT, counter(1)),
            (number::RELOAD_VALUE + 1, second),
            (number::COUNT_ENABLE + 1, counter(1)),
            (number::RELOAD_EVENT + 1, counter(2)),
            (number::TRIGGER, counter(2)),
        ]
    };
    for values in [chain(9, 10), chain(0, 3), chain(96, 1), chain(3, 0), chain(700, 40)] {
        for cycles in [0, 1, 2, 3, 10, 11, 99, 100, 101, 5000, 40_000] {
            let model = Model::new(settings(Version::V3_4, &values));
            let (mut one, mut many) = (model.clone(), model);
            let mut end = CycleEnd::default();
            for _ in 0..cycles {
                one.begin_cycle(&Inputs::default());
                let last = one.end_cycle();
                end = CycleEnd { trigger: end.trigger | last.trigger, ..last };
            }
            assert_eq!(many.idle(&Inputs::default(), cycles), end, "{values:x?} {cycles}");
            assert_eq!(many, one, "{values:x?} {cycles}");
        }
    }
    // A reload value of n makes a period of n + 1 cycles: 10,000 times 10 and one.
    let mut model = Model::new(settings(Version::V3_4, &chain(9_999, 10)));
    assert!(!model.idle(&Inputs::default(), 99_999).trigger);
    assert_eq!((model.counter(1), model.counter(2)), (0, 1));
    assert!(model.idle(&Inputs::default(), 2).trigger);
    let _ = model.idle(&Inputs::default(), u32::MAX);
    let all = 100_001 + u64::from(u32::MAX);
    assert_eq!(u64::from(model.counter(1)), 9_999 - all % 10_000);
}

/// A state that does not repeat within the steps that the model follows is unknown.
#[test]
fn cycles_that_are_not_followed() {
    let mut all = settings(Version::V3_4, &[]);
    for (n, value) in (0..4).zip([96, 88, 82, 78]) {
        let zero = Event::one(Resource::Counter(n as u8 + 1)).bits();
        all.set(number::RELOAD_VALUE + n, value);
        all.set(number::COUNT_ENABLE + n, Event::TRUE.bits());
        all.set(number::RELOAD_EVENT + n, zero);
    }
    all.set(number::TRACE_ENABLE_EVENT, Event::one(Resource::Counter(1)).bits());
    for (cycles, want) in [(100_000, MustNot), (u32::MAX, May)] {
        let mut model = Model::new(all.clone());
        let _ = model.idle(&Inputs::default(), cycles);
        assert_eq!(cycle(&mut model, &[executed(0x8000)]).0, [want], "{cycles}");
    }
}

/// The step of a T32 instruction of `size` bytes.
fn thumb(address: u64, size: u8) -> Step {
    let instruction =
        base::Instruction { size, isa: base::Isa::T32, ..base::Instruction::default() };
    Step::Retired(Retired { address, taken: true, instruction, ..Retired::default() })
}

/// 4.5.4: the comparators match on either halfword of a 32-bit T32 instruction that the unit traces
/// as two, and on the first halfword of one that it traces as one.
#[test]
fn halves_of_thumb_instructions() {
    let steps = [thumb(0x1000, 4), thumb(0x1004, 2), store(0x2000, 0, 0), thumb(0x1006, 4)];
    let single = |address| {
        [(number::TRACE_ENABLE_1, 0), (number::TRACE_ENABLE_2, 1), (number::ADDRESS, address)]
            .to_vec()
    };
    let start =
        [(number::TRACE_ENABLE_1, 0x300_0000), (number::START_STOP, 1), (number::ADDRESS, 0x1002)];
    let range =
        [(number::TRACE_ENABLE_1, 1), (number::ADDRESS, 0x1002), (number::ADDRESS + 1, 0x1004)];
    let exclude =
        [(number::TRACE_ENABLE_1, 1 << 24), (number::TRACE_ENABLE_2, 1), (number::ADDRESS, 0x1002)];
    for (values, two, one) in [
        (single(0x1000), [Must, MustNot, MustNot], [Must, MustNot, MustNot]),
        (single(0x1002), [Must, MustNot, MustNot], [MustNot; 3]),
        (single(0x1008), [MustNot, MustNot, Must], [MustNot; 3]),
        (range.to_vec(), [Must, MustNot, MustNot], [MustNot; 3]),
        (start.to_vec(), [Must; 3], [MustNot; 3]),
        // The first halfword is not excluded.
        (exclude.to_vec(), [Must; 3], [Must; 3]),
    ] {
        for (version, is_one, want) in
            [(Version::V3_4, true, one), (Version::V3_4, false, two), (Version::V1_2, false, two)]
        {
            let mut all = settings(version, &values);
            all.set(number::ACCESS_TYPE, 0x9);
            all.set(number::ACCESS_TYPE + 1, 0x9);
            all.unit.thumb32_is_one = is_one;
            let mut filter = LogFilter::new(all);
            let mut got = Vec::new();
            for step in &steps {
                let verdict = filter.step(step).verdict;
                if matches!(step, Step::Retired(_)) {
                    got.push(verdict.unwrap().requirement);
                }
            }
            assert_eq!(got, want, "{version} {is_one} {values:x?}");
        }
    }
    // ViewData by the address of either halfword.
    for (address, is_one, want) in [
        (0x1000, true, Must),
        (0x1002, true, MustNot),
        (0x1000, false, Must),
        (0x1002, false, Must),
    ] {
        let values = [
            (number::VIEW_DATA_3, 0),
            (number::VIEW_DATA_1, 1),
            (number::ADDRESS, address),
            (number::ACCESS_TYPE, 0x9),
        ];
        let mut all = settings(Version::V3_4, &values);
        all.unit.thumb32_is_one = is_one;
        let mut filter = LogFilter::new(all);
        let _ = filter.step(&thumb(0x1000, 4));
        let verdict = filter.step(&store(0x2000, 0, 0)).verdict.unwrap();
        assert_eq!(verdict.requirement, want, "{address:x} {is_one}");
    }
}

/// 2.11.1: a stop address that is the first item of a cycle makes the start/stop block inactive in
/// this cycle, for events, too; otherwise it is active to the end of the cycle.
#[test]
fn start_stop_as_an_event() {
    let values = [
        (number::START_STOP, 0x2_0001),
        (number::ADDRESS, 0x1004),
        (number::ADDRESS + 1, 0x100c),
        (number::ACCESS_TYPE, 0x19),
        (number::ACCESS_TYPE + 1, 0x19),
        (number::RELOAD_VALUE, 9),
        (number::COUNT_ENABLE, 0x5f),
        (number::RELOAD_EVENT, Event::FALSE.bits()),
        (number::TRIGGER, Event::one(Resource::Counter(1)).bits()),
    ];
    let (a, b, c) = (executed(0x1004), executed(0x1008), executed(0x100c));
    for (cycles, want) in [
        (&[vec![a], vec![b], vec![c], vec![executed(0x1010)]][..], 7),
        // Cycles without items between start and stop.
        (&[vec![a], vec![], vec![], vec![c], vec![]], 6),
        // The stop is not the first item of its cycle.
        (&[vec![a], vec![b, c], vec![]], 7),
        // The stop before the start, and the start before the stop.
        (&[vec![c, a], vec![b]], 7),
        (&[vec![a, c], vec![b]], 8),
    ] {
        let mut model = Model::new(settings(Version::V3_4, &values));
        for items in cycles {
            let _ = cycle(&mut model, items);
        }
        assert_eq!(model.counter(1), want, "{cycles:x?}");
    }
    // The state that was restored is on, and the first item is the stop.
    let mut restored = settings(Version::V3_4, &values);
    restored.set(number::STATUS, 1 << 2);
    let mut model = Model::new(restored);
    let _ = (cycle(&mut model, &[c]), cycle(&mut model, &[]));
    assert_eq!(model.counter(1), 9);
}

/// The cycle of the last instruction ends, too.
#[test]
fn trigger_of_the_last_instruction() {
    let values = [
        (number::TRIGGER, Event::one(Resource::Address(1)).bits()),
        (number::ADDRESS, 0x1004),
        (number::ACCESS_TYPE, 0x19),
    ];
    let mut filter = LogFilter::new(settings(Version::V3_4, &values));
    assert!(!filter.step(&retired(0x1000)).trigger);
    assert!(!filter.finish().trigger);
    assert!(!filter.step(&retired(0x1004)).trigger);
    assert!(filter.finish().trigger);
    assert!(!filter.step(&retired(0x1008)).trigger);
    assert!(!filter.finish().trigger);
}
