//! IHI 0014, Example 2-2, the rules of 2.11, EmbeddedICE inputs (Tables 3-51 and 7-21), FIFOFULL
//! and data suppression (2.6.6, Tables 2-3 and 3-21), and the modes that ETMv3.5 compares.

use tracewright_base::{self as base, Isa, Retired, Step};

use crate::etm::event::{Event, Resource};
use crate::etm::lint;
use crate::etm::model::{
    CycleEnd, Inputs, Instruction, Item, LogFilter, Model, Transfer, Tri, Use,
};
use crate::etm::resources::Resources;
use crate::etm::settings::{Settings, number};
use crate::etm::version::Version;
use crate::verdict::Filter;
use crate::verdict::Requirement::{self, May, Must, MustNot};

fn settings(version: Version, values: &[(u16, u32)]) -> Settings {
    let mut settings = Settings::new(Resources::largest(version));
    for (number, value) in [
        (number::CONTROL, 0x80c),
        (number::TRIGGER, Event::FALSE.bits()),
        (number::TRACE_ENABLE_EVENT, Event::TRUE.bits()),
        (number::TRACE_ENABLE_1, 1 << 24),
        (number::TRACE_ENABLE_2, 0),
        (number::VIEW_DATA_EVENT, Event::TRUE.bits()),
        (number::VIEW_DATA_1, 0),
        (number::VIEW_DATA_2, 0),
        (number::VIEW_DATA_3, 1 << 16),
    ] {
        settings.set(number, value);
    }
    values.iter().for_each(|(number, value)| settings.set(*number, *value));
    settings
}

fn executed(address: u32) -> Item {
    Item::Instruction(Instruction { address, passed: true, ..Instruction::default() })
}

fn load(address: u32) -> Transfer {
    Transfer { address, size: 4, value: Some(0), store: Some(false), ..Transfer::default() }
}

fn cycle(model: &mut Model, items: &[Item]) -> (Vec<Requirement>, CycleEnd) {
    let (verdicts, end) = model.cycle(&Inputs::default(), items);
    (verdicts.iter().map(|verdict| verdict.requirement).collect(), end)
}

/// Example 2-2: LDRD r4, \[r1] and LDR r10, \[r2] in one cycle, as five items in order. Any of them
/// starts, and any other one stops.
#[test]
fn example_2_2() {
    let items = [
        executed(0x8000),
        Item::Data(load(0x2000)),
        Item::Data(load(0x2004)),
        executed(0x8004),
        Item::Data(load(0x3000)),
    ];
    let comparators =
        [(0x8000, 0x19), (0x2000, 0x1d), (0x2004, 0x1d), (0x8004, 0x19), (0x3000, 0x1d)];
    for version in Version::ALL.into_iter().filter(|v| *v >= Version::V2_0) {
        for (start, stop) in (0..5usize).flat_map(|a| (0..5).map(move |b| (a, b))) {
            if start == stop {
                continue;
            }
            for before in [false, true] {
                let mut values = vec![
                    (number::TRACE_ENABLE_1, 0x300_0000),
                    (number::START_STOP, 1 << start | 1 << (16 + stop)),
                ];
                for (n, (address, kind)) in (0..).zip(comparators) {
                    values.push((number::ADDRESS + n, address));
                    values.push((number::ACCESS_TYPE + n, kind));
                }
                let mut model = Model::new(settings(version, &values));
                if before {
                    let _ = cycle(&mut model, &items[start..=start]);
                }
                assert_eq!(model.start_stop() == Tri::Yes, before);
                // The items for which the block is on, from the order of the example.
                let on = |item: usize| match (item >= start, item >= stop) {
                    (false, false) => before,
                    (true, true) => start > stop,
                    (started, _) => started,
                };
                // An instruction is traced if it or its data is.
                let traced = [0..3, 3..5].map(|mut own| own.any(on));
                let (got, _) = cycle(&mut model, &items);
                let case = format!("{version}: start {start}, stop {stop}, before {before}");
                assert_eq!(model.start_stop() == Tri::Yes, start > stop, "{case}");
                for (at, traced, other) in [(0, traced[0], traced[1]), (3, traced[1], traced[0])] {
                    let want = match (traced, other) {
                        (true, _) => Must,
                        (false, true) => May,
                        (false, false) => MustNot,
                    };
                    assert_eq!(got[at], want, "{case}, item {at}");
                }
            }
        }
    }
}

/// 2.11.1: in include mode the instruction that matches must be traced, and the other one may be;
/// in exclude mode the one that does not match.
#[test]
fn include_and_exclude_in_a_cycle() {
    for (exclude, want) in [(0, [Must, May]), (1 << 24, [May, Must])] {
        let values = [
            (number::TRACE_ENABLE_1, exclude),
            (number::TRACE_ENABLE_2, 1),
            (number::ADDRESS, 0x8000),
            (number::ACCESS_TYPE, 0x19),
        ];
        let mut model = Model::new(settings(Version::V3_3, &values));
        let items = [executed(0x8000), executed(0x9000)];
        assert_eq!(cycle(&mut model, &items).0, want);
        // One after the other, none is permitted that is not required.
        let one = items.map(|item| cycle(&mut model, &[item]).0[0]);
        assert_eq!(one, want.map(|want| if want == May { MustNot } else { want }));
    }
}

/// 2.11.2: the start/stop block is on for the first instruction only, and the include region
/// matches the second one only.
#[test]
fn start_stop_and_include_of_different_instructions() {
    let values = [
        (number::TRACE_ENABLE_1, 1 << 25),
        (number::TRACE_ENABLE_2, 0b10),
        (number::START_STOP, 0x2_0001),
        (number::ADDRESS, 0x8000),
        (number::ADDRESS + 1, 0x9000),
        (number::ACCESS_TYPE, 0x19),
        (number::ACCESS_TYPE + 1, 0x19),
    ];
    let mut model = Model::new(settings(Version::V3_3, &values));
    let items = [executed(0x8000), executed(0x9000)];
    assert_eq!(cycle(&mut model, &items).0, [May, May]);
    for item in items {
        assert_eq!(cycle(&mut model, &[item]).0, [MustNot]);
    }
}

/// 2.11.1: a resource is active in an event for the entire cycle if it matched for any instruction.
/// The example is the start/stop resource in the event of ViewData.
#[test]
fn events_are_active_for_the_whole_cycle() {
    let values = [
        (number::VIEW_DATA_EVENT, Event::one(Resource::StartStop).bits()),
        (number::START_STOP, 0x2_0001),
        (number::ADDRESS, 0x8000),
        (number::ADDRESS + 1, 0x8004),
        (number::ACCESS_TYPE, 0x19),
        (number::ACCESS_TYPE + 1, 0x19),
    ];
    let mut model = Model::new(settings(Version::V3_3, &values));
    // The block is on for the first instruction, and off for the second, whose data is traced.
    let items = [executed(0x8000), executed(0x8004), Item::Data(load(0x2000))];
    let (got, _) = cycle(&mut model, &items);
    assert_eq!(got, [Must, Must, Must]);
    assert_eq!(model.start_stop(), Tri::No);
    // Also where the match comes after the data.
    let mut model = Model::new(settings(Version::V3_3, &values));
    let items = [executed(0x7000), Item::Data(load(0x2000)), executed(0x8000)];
    assert_eq!(cycle(&mut model, &items).0, [Must, Must, Must]);
}

/// 2.11.3 and 2.11.4: a counter counts once a cycle, and a sequencer with two transitions stays.
#[test]
fn counter_and_sequencer_in_a_cycle() {
    let either = Event {
        function: crate::etm::event::Function::Or,
        a: Resource::Address(1),
        b: Resource::Address(2),
    };
    let mut values = vec![
        (number::ADDRESS, 0x8000),
        (number::ADDRESS + 1, 0x9000),
        (number::ACCESS_TYPE, 0x19),
        (number::ACCESS_TYPE + 1, 0x19),
        (number::RELOAD_VALUE, 9),
        (number::COUNT_ENABLE, either.bits() | 1 << 17),
        (number::RELOAD_EVENT, Event::FALSE.bits()),
        (number::OUTPUT_EVENT, Event::one(Resource::Sequencer(1)).bits()),
    ];
    values.extend((0..6).map(|n| (number::SEQUENCER + n, Event::FALSE.bits())));
    values.push((number::SEQUENCER, Event::one(Resource::Address(1)).bits()));
    values.push((number::SEQUENCER + 5, Event::one(Resource::Address(2)).bits()));
    let mut model = Model::new(settings(Version::V3_3, &values));
    let _ = cycle(&mut model, &[executed(0x8000), executed(0x9000)]);
    assert_eq!((model.counter(1), model.sequencer()), (8, 1));
    let _ = cycle(&mut model, &[executed(0x8000), executed(0x8004)]);
    assert_eq!((model.counter(1), model.sequencer()), (7, 2));
}

/// 2.11.2: instructions executed under a data instruction, and its data.
#[test]
fn independent_load_store_unit() {
    let under = |address| {
        Item::Instruction(Instruction {
            address,
            passed: true,
            under: true,
            ..Instruction::default()
        })
    };
    let late = |address| Item::Data(Transfer { earlier: true, ..load(address) });
    let of = |values: &[(u16, u32)], items: &[Item]| {
        let mut model = Model::new(settings(Version::V3_3, values));
        items.iter().map(|item| cycle(&mut model, &[*item]).0[0]).collect::<Vec<_>>()
    };
    // Only the data instruction is included: those under it may be traced, until its data ends.
    let include = [
        (number::TRACE_ENABLE_1, 0),
        (number::TRACE_ENABLE_2, 1),
        (number::ADDRESS, 0x8000),
        (number::ACCESS_TYPE, 0x19),
    ];
    let run = [executed(0x8000), under(0x8004), late(0x2000), under(0x8008), executed(0x800c)];
    assert_eq!(of(&include, &run), [Must, May, Must, May, MustNot]);
    let run = [executed(0x7000), under(0x7004), late(0x2000)];
    assert_eq!(of(&include, &run), [MustNot, MustNot, MustNot]);
    // ViewData includes data of the instruction at 0x8000, whatever executes since.
    let view = [
        (number::VIEW_DATA_1, 1),
        (number::VIEW_DATA_3, 0),
        (number::ADDRESS, 0x8000),
        (number::ACCESS_TYPE, 0x19),
    ];
    let run = [executed(0x8000), under(0x8004), late(0x2000), late(0x2004)];
    assert_eq!(of(&view, &run), [Must, Must, Must, Must]);
    // It matches an instruction under another data instruction, whose data may be traced as well.
    let run = [executed(0x7ffc), under(0x8000), late(0x2000)];
    assert_eq!(of(&view, &run), [Must, Must, May]);
    let run = [executed(0x7ff8), under(0x7ffc), late(0x2000)];
    assert_eq!(of(&view, &run), [Must, Must, MustNot]);
    // A data comparator matches when the transfer occurs, with a later instruction.
    let data = [
        (number::OUTPUT_EVENT, Event::one(Resource::Address(1)).bits()),
        (number::ADDRESS, 0x2000),
        (number::ACCESS_TYPE, 0x1c),
    ];
    let mut model = Model::new(settings(Version::V3_3, &data));
    assert_eq!(cycle(&mut model, &[executed(0x8000)]).1.outputs & 1, 0);
    assert_eq!(cycle(&mut model, &[under(0x8004), late(0x2000)]).1.outputs & 1, 1);
}

/// Table 2-16 in the model: two DBG instructions in one cycle. The outputs are the resource in the
/// cycle and in the next one.
#[test]
fn table_2_16() {
    // Hints of resource 1: 0 sets, 4 clears, 8 pulses; 12 has no effect.
    for (first, second, now, next) in [
        (12, 0, Some(true), true),
        (12, 4, None, false),
        (4, 0, Some(true), true),
        (4, 8, Some(true), false),
        (12, 8, Some(true), false),
        (0, 4, Some(true), false),
        (8, 4, Some(true), false),
    ] {
        for before in [false, true] {
            let event = Event::one(Resource::Instrumentation(1)).bits();
            let mut model = Model::new(settings(Version::V3_3, &[(number::OUTPUT_EVENT, event)]));
            // The resource is cleared from the next cycle on, as the table has it.
            model.choices.clear_at_once = false;
            let hint = |option| {
                Item::Instruction(Instruction {
                    passed: true,
                    hint: Some(option),
                    ..Instruction::default()
                })
            };
            let _ = cycle(&mut model, &[hint(if before { 0 } else { 4 })]);
            let (_, end) = cycle(&mut model, &[hint(first), hint(second)]);
            let case = format!("{first} {second} {before}");
            assert_eq!(end.outputs & 1 != 0, now.unwrap_or(before), "{case}");
            let (_, end) = cycle(&mut model, &[executed(0)]);
            assert_eq!(end.outputs & 1 != 0, next, "{case}");
        }
    }
}

/// Table 7-21: each use of input 1 without ETMEIBCR, in the cycle of a sample and in the next one,
/// which has none. Table 3-51: with it, as its bit is.
#[test]
fn embedded_ice_inputs() {
    for (usage, latches) in [
        (Use::Trigger, false),
        (Use::TraceEnable, true),
        (Use::StartStop, false),
        (Use::ViewData, true),
        (Use::Counter, false),
        (Use::Sequencer, false),
        (Use::Output, false),
    ] {
        assert_eq!(usage.latches(), latches, "{usage:?}");
    }
    let event = Event::one(Resource::Ice(1)).bits();
    for (behaviour, latches) in [(None, None), (Some(0), Some(false)), (Some(1), Some(true))] {
        let mut all = settings(
            Version::V3_4,
            &[
                (number::TRACE_ENABLE_EVENT, event),
                (number::VIEW_DATA_EVENT, event),
                (number::OUTPUT_EVENT, event),
                (number::RELOAD_VALUE, 9),
                (number::COUNT_ENABLE, event),
                (number::RELOAD_EVENT, Event::FALSE.bits()),
            ],
        );
        all.unit.ice_behaviour = behaviour.is_some();
        all.set(number::ICE_BEHAVIOUR, behaviour.unwrap_or(0));
        let mut model = Model::new(all);
        model.choices.imprecise_cycles = 0;
        let mut run = |ice, ice_waits| {
            let inputs = Inputs { ice, ice_waits, ..Inputs::default() };
            let (got, end) = model.cycle(&inputs, &[executed(0x8000), Item::Data(load(0x2000))]);
            let got = [got[0].requirement, got[1].requirement].map(|got| got == Must);
            (got, end.outputs & 1 != 0, model.counter(1))
        };
        assert_eq!(run(0, 0), ([false; 2], false, 9));
        assert_eq!(run(1, 0), ([true; 2], true, 8));
        let filters = latches.unwrap_or(true);
        let others = latches.unwrap_or(false);
        let count = if others { 6 } else { 8 };
        assert_eq!(run(1, 1), ([filters; 2], others, count + u16::from(others)));
        assert_eq!(run(0, 1), ([filters; 2], others, count));
        // The next sample ends it.
        assert_eq!(run(0, 0), ([false; 2], false, count));
    }
}

/// 7.6.1: inputs of the start/stop block are pulses, so that a start that is held does not hide a
/// stop.
#[test]
fn embedded_ice_starts_and_stops() {
    let values = [
        (number::TRACE_ENABLE_1, 0x300_0000),
        (number::START_STOP, 0),
        (number::START_STOP_ICE, 0x2_0001),
    ];
    let mut all = settings(Version::V3_4, &values);
    all.unit.ice_behaviour = false;
    let mut model = Model::new(all);
    let mut run = |ice, ice_waits| {
        let inputs = Inputs { ice, ice_waits, ..Inputs::default() };
        model.cycle(&inputs, &[executed(0x8000)]).0[0].requirement
    };
    assert_eq!([run(0, 0), run(1, 0), run(0, 1)], [MustNot, Must, Must]);
    // Input 1 was HIGH at its last sample; input 2 stops.
    assert_eq!([run(0b10, 1), run(0, 3)], [MustNot, MustNot]);
}

/// Table 2-3: bits \[18, 7] of ETMCR; the check of values, and the model.
#[test]
fn table_2_3() {
    for (suppress, stall, prohibited) in [(0, 0, false), (0, 1, false), (1, 0, false), (1, 1, true)]
    {
        let values = [
            (number::CONTROL, 0x80c | suppress << 18 | stall << 7),
            (number::FIFOFULL_LEVEL, 8),
            (number::FIFOFULL_REGION, 1 << 24),
        ];
        let all = settings(Version::V3_3, &values);
        let found = lint::findings(&all);
        let found = found.iter().any(|finding| finding.rule == "stall-and-suppress");
        assert_eq!(found, prohibited, "{suppress} {stall}");
        let mut model = Model::new(all);
        let inputs = Inputs { free: Some(3), ..Inputs::default() };
        let (got, end) = model.cycle(&inputs, &[executed(0x8000), Item::Data(load(0x2000))]);
        assert_eq!(model.unpredictable().is_some(), prohibited, "{suppress} {stall}");
        if !prohibited {
            assert_eq!(end.fifofull, Some(stall == 1));
            let want = if suppress == 1 { MustNot } else { Must };
            assert_eq!(got[1].requirement, want);
        }
    }
}

/// 3.5.7, 3.5.8 and Table 3-21: FIFOFULL below the level, in the region of ranges and memory map
/// decodes.
#[test]
fn fifofull() {
    let base = |region: u32| {
        vec![
            (number::CONTROL, 0x88c),
            (number::FIFOFULL_LEVEL, 15),
            (number::FIFOFULL_REGION, region),
            (number::ADDRESS, 0x8000),
            (number::ADDRESS + 1, 0x9000),
            (number::ACCESS_TYPE, 0x19),
            (number::ACCESS_TYPE + 1, 0x19),
        ]
    };
    let of = |model: &mut Model, address, memory_map, free| {
        let inputs = Inputs { memory_map, free, ..Inputs::default() };
        model.cycle(&inputs, &[executed(address)]).1.fifofull
    };
    for (region, inside, outside, mapped) in [
        // Everywhere, and nowhere.
        (1 << 24, true, true, true),
        (0, false, false, false),
        (1, true, false, false),
        (1 << 24 | 1, false, true, true),
        (1 << 8, false, false, true),
        (1 << 24 | 1 << 8, true, true, false),
    ] {
        let mut model = Model::new(settings(Version::V3_3, &base(region)));
        assert_eq!(of(&mut model, 0x8800, 0, Some(14)), Some(inside), "{region:#x}");
        assert_eq!(of(&mut model, 0x9000, 0, Some(14)), Some(outside), "{region:#x}");
        assert_eq!(of(&mut model, 0x9000, 1, Some(14)), Some(mapped), "{region:#x}");
        // Fifteen free bytes are not less than the level.
        assert_eq!(of(&mut model, 0x8800, 1, Some(15)), Some(false), "{region:#x}");
        assert_eq!(of(&mut model, 0x8800, 1, None), None);
    }
    // A unit that ignores the level takes it as the size of the FIFO.
    let mut all = settings(Version::V2_1, &base(1 << 24));
    all.unit.fifo = Some(64);
    let mut model = Model::new(all);
    assert_eq!(of(&mut model, 0x8000, 0, Some(63)), Some(false));
    model.choices.level_ignored = true;
    assert_eq!(of(&mut model, 0x8000, 0, Some(63)), Some(true));
    assert_eq!(of(&mut model, 0x8000, 0, Some(64)), Some(false));
    // FIFOFULL has no effect on what is traced, and needs support of the system.
    let mut all = settings(Version::V3_3, &base(1 << 24));
    all.unit.system_fifofull = false;
    assert_eq!(of(&mut Model::new(all), 0x8000, 0, Some(0)), Some(false));
    // A level of 0 is UNPREDICTABLE.
    let mut all = settings(Version::V3_3, &base(1 << 24));
    all.set(number::FIFOFULL_LEVEL, 0);
    let mut model = Model::new(all);
    let _ = of(&mut model, 0x8000, 0, Some(0));
    assert!(model.unpredictable().is_some());
}

/// 2.6.6: data suppression, to the end of the instruction, whatever the FIFOFULL region is.
#[test]
fn data_suppression() {
    let values = [
        (number::CONTROL, 0x80c | 1 << 18),
        (number::FIFOFULL_LEVEL, 15),
        (number::FIFOFULL_REGION, 0),
    ];
    let mut model = Model::new(settings(Version::V3_3, &values));
    let mut run = |free: Option<u8>, item: Item| {
        model.cycle(&Inputs { free, ..Inputs::default() }, &[item]).0[0].requirement
    };
    let data = || Item::Data(load(0x2000));
    assert_eq!(run(Some(60), executed(0x8000)), Must);
    assert_eq!(run(Some(60), data()), Must);
    // The bytes of the transfer can cross the level.
    assert_eq!(run(Some(20), data()), May);
    assert_eq!(run(None, data()), May);
    assert_eq!(run(Some(14), data()), MustNot);
    assert_eq!(run(Some(60), data()), MustNot);
    assert_eq!(run(Some(10), executed(0x8004)), Must);
    assert_eq!(run(Some(60), data()), Must);
}

/// 2.14: outputs are held, or LOW, while non-invasive debug is disabled; counters are held.
#[test]
fn non_invasive_debug_disabled() {
    let values = [
        (number::OUTPUT_EVENT, Event::TRUE.bits()),
        (number::RELOAD_VALUE, 9),
        (number::COUNT_ENABLE, Event::TRUE.bits()),
        (number::RELOAD_EVENT, Event::FALSE.bits()),
    ];
    for low in [false, true] {
        let mut model = Model::new(settings(Version::V3_3, &values));
        model.choices.outputs_low = low;
        assert_eq!(cycle(&mut model, &[executed(0x8000)]).1.outputs & 1, 1);
        model.enabled = false;
        let (got, end) = cycle(&mut model, &[executed(0x8004)]);
        assert_eq!((got[0], end.outputs & 1), (MustNot, u8::from(!low)));
        assert_eq!(model.counter(1), 8);
        model.enabled = true;
        assert_eq!(cycle(&mut model, &[executed(0x8008)]).0, [Must]);
        assert_eq!(model.counter(1), 7);
    }
}

/// Table 3-27, bits \[11:10], and ETMv3.5's bits \[15:10]: Non-secure from bits \[13, 11], Secure
/// from \[12, 10], Hyp mode from \[14]. Columns: User, privileged and Hyp mode in Non-secure state;
/// User and privileged modes in Secure state.
#[test]
fn states_and_modes() {
    let rows: [(u32, Version, [bool; 5]); 12] = [
        (0 << 10, Version::V3_2, [true; 5]),
        (1 << 10, Version::V3_2, [true, true, true, false, false]),
        (2 << 10, Version::V3_4, [false, false, false, true, true]),
        (0 << 10, Version::V3_5, [true, true, false, true, true]),
        (1 << 10, Version::V3_5, [true, true, false, false, false]),
        (2 << 10, Version::V3_5, [false, false, false, true, true]),
        (1 << 13, Version::V3_5, [false, true, false, true, true]),
        (1 << 13 | 1 << 11, Version::V3_5, [true, false, false, true, true]),
        (1 << 12, Version::V3_5, [true, true, false, false, true]),
        (1 << 12 | 1 << 10, Version::V3_5, [true, true, false, true, false]),
        (1 << 14, Version::V3_5, [true; 5]),
        (1 << 14 | 3 << 10, Version::V3_5, [false, false, true, false, false]),
    ];
    for (bits, version, want) in rows {
        let values = [
            (number::TRACE_ENABLE_1, 0),
            (number::TRACE_ENABLE_2, 1),
            (number::ADDRESS, 0x8000),
            (number::ACCESS_TYPE, 0x19 | bits),
        ];
        let states = [(true, 0), (true, 1), (true, 2), (false, 0), (false, 1)];
        for ((non_secure, level), want) in states.into_iter().zip(want) {
            let mut model = Model::new(settings(version, &values));
            let item = |level| {
                Item::Instruction(Instruction {
                    address: 0x8000,
                    passed: true,
                    non_secure,
                    level,
                    ..Instruction::default()
                })
            };
            let want = if want { Must } else { MustNot };
            assert_eq!(cycle(&mut model, &[item(Some(level))]).0, [want], "{bits:#x} {level}");
        }
    }
    // Where the mode matters and is not known.
    let values = [
        (number::TRACE_ENABLE_1, 0),
        (number::TRACE_ENABLE_2, 1),
        (number::ADDRESS, 0x8000),
        (number::ACCESS_TYPE, 0x19 | 1 << 12),
    ];
    let mut model = Model::new(settings(Version::V3_5, &values));
    assert_eq!(cycle(&mut model, &[executed(0x8000)]).0, [May]);
    // Bit [15]: the virtual machine.
    let values = [
        (number::TRACE_ENABLE_1, 0),
        (number::TRACE_ENABLE_2, 1),
        (number::ADDRESS, 0x8000),
        (number::ACCESS_TYPE, 0x19 | 1 << 15),
        (number::VMID, 7),
    ];
    for (vmid, want) in [(Some(7), Must), (Some(8), MustNot), (None, May)] {
        let mut model = Model::new(settings(Version::V3_5, &values));
        let item = Instruction { address: 0x8000, passed: true, vmid, ..Instruction::default() };
        assert_eq!(cycle(&mut model, &[Item::Instruction(item)]).0, [want], "{vmid:?}");
    }
}

/// Table 2-15 in a log: the unit knows the DBG instructions of the program, and external inputs are
/// the signals 0 to 3; EmbeddedICE inputs are the last eight.
#[test]
fn hints_and_signals_of_a_log() {
    let values = [
        (number::OUTPUT_EVENT, Event::one(Resource::Instrumentation(2)).bits()),
        (number::OUTPUT_EVENT + 1, Event::one(Resource::Input(3)).bits()),
        (number::OUTPUT_EVENT + 2, Event::one(Resource::Extended(1)).bits()),
        (number::OUTPUT_EVENT + 3, Event::one(Resource::Ice(2)).bits()),
        (number::INPUT_SELECTION, 0x51),
    ];
    let mut filter = LogFilter::new(settings(Version::V3_3, &values));
    // DBG #1, NOP, DBG #5 in A32, and DBG #9 in T32 at an address that A32 does not have.
    let mut code = Vec::new();
    for word in [0xe320_f0f1u32, 0xe320_f000, 0xe320_f0f5] {
        code.extend(word.to_le_bytes());
    }
    code.extend([0x00, 0xbf, 0xaf, 0xf3, 0xf9, 0x80, 0x00, 0xbf]);
    filter.code(0x8000, &code);
    let mut run = |step: Step| {
        let _ = filter.step(&step);
        // The end of the cycle is reported with the next step.
        filter.step(&Step::Cycles(1)).outputs
    };
    let executed = |address, isa, taken| {
        let instruction = base::Instruction { isa, size: 4, ..base::Instruction::default() };
        Step::Retired(Retired { address, taken, instruction, ..Retired::default() })
    };
    let at = |address, isa| executed(address, isa, true);
    assert_eq!(run(at(0x8004, Isa::A32)), 0);
    // A hint of which the condition fails has no effect.
    assert_eq!(run(executed(0x8000, Isa::A32, false)), 0);
    assert_eq!(run(at(0x8000, Isa::A32)), 1);
    assert_eq!(run(at(0x8004, Isa::A32)), 1);
    assert_eq!(run(at(0x8008, Isa::A32)), 0);
    assert_eq!(run(at(0x800e, Isa::T32)), 1);
    assert_eq!(run(at(0x800e, Isa::ThumbEe)), 1);
    assert_eq!(run(at(0x8004, Isa::A32)), 0);
    let mut signals = [0u64; 4];
    signals[0] = 1 << 2;
    let _ = run(Step::Signals(signals));
    assert_eq!(run(at(0x8004, Isa::A32)), 2);
    signals = [0, 1 << (0x51 - 64), 0, 0];
    let _ = run(Step::Signals(signals));
    assert_eq!(run(at(0x8004, Isa::A32)), 4);
    for (bit, outputs) in [(56, 0), (57, 8), (58, 0)] {
        let _ = run(Step::Signals([0, 0, 0, 1 << bit]));
        assert_eq!(run(at(0x8004, Isa::A32)), outputs, "{bit}");
    }
}
