//! IHI 0014: worked example 2.7.10, Tables 2-1 and 2-16, Examples 2-2 and 2-3, the rules of 2.2.3,
//! 2.6 and 2.11, and the examples of 3.7.

use tracewright_testing::Random;

use crate::etm::event::{Event, Function, Resource};
use crate::etm::lint;
use crate::etm::model::{
    CycleEnd, Inputs, Instruction, Instrumentation, Item, Model, Transfer, Tri,
    fold_instrumentation,
};
use crate::etm::resources::Resources;
use crate::etm::settings::{Settings, number};
use crate::etm::version::Version;
use crate::verdict::Requirement::{self, May, Must, MustNot};

pub(super) fn settings(version: Version, values: &[(u16, u32)]) -> Settings {
    let mut settings = Settings::new(Resources::largest(version));
    settings.set(number::CONTROL, 0x80c);
    settings.set(number::TRIGGER, Event::FALSE.bits());
    settings.set(number::TRACE_ENABLE_EVENT, Event::TRUE.bits());
    settings.set(number::TRACE_ENABLE_1, 1 << 24);
    if version >= Version::V1_2 {
        settings.set(number::TRACE_ENABLE_2, 0);
    }
    settings.set(number::VIEW_DATA_EVENT, Event::TRUE.bits());
    settings.set(number::VIEW_DATA_1, 0);
    settings.set(number::VIEW_DATA_2, 0);
    settings.set(number::VIEW_DATA_3, 1 << 16);
    for (number, value) in values {
        settings.set(*number, *value);
    }
    settings
}

pub(super) fn executed(address: u32) -> Item {
    Item::Instruction(Instruction { address, passed: true, ..Instruction::default() })
}

pub(super) fn access(address: u32, store: bool) -> Item {
    Item::Data(Transfer {
        address,
        size: 4,
        value: Some(0),
        store: Some(store),
        ..Transfer::default()
    })
}

/// The verdicts on the items of one cycle.
pub(super) fn cycle(model: &mut Model, items: &[Item]) -> (Vec<Requirement>, CycleEnd) {
    model.begin_cycle(&Inputs::default());
    let verdicts = items.iter().map(|item| model.item(item).requirement).collect();
    (verdicts, model.end_cycle())
}

/// Example 2-1 and Table 2-10: ARM instructions from 0x1000 to 0x1007, and stores of words from
/// 0x2000 to 0x2007. Columns: SAC1, SAC2, ARC1, SAC3, SAC4, ARC2.
#[test]
fn table_2_10() {
    let cycles: [(&[Item], [u8; 6]); 4] = [
        (&[executed(0x1000), access(0x2000, true)], [1, 0, 1, 1, 0, 1]),
        (&[executed(0x1004)], [0, 0, 1, 0, 0, 1]),
        (&[access(0x2004, false)], [0, 0, 1, 0, 0, 0]),
        (&[executed(0x1008)], [0, 1, 0, 0, 0, 0]),
    ];
    for version in Version::ALL {
        let mut model = Model::new(settings(
            version,
            &[
                (number::ADDRESS, 0x1000),
                (number::ADDRESS + 1, 0x1008),
                (number::ADDRESS + 2, 0x2000),
                (number::ADDRESS + 3, 0x2008),
                (number::ACCESS_TYPE, 0x19),
                (number::ACCESS_TYPE + 1, 0x19),
                (number::ACCESS_TYPE + 2, 0x1e),
                (number::ACCESS_TYPE + 3, 0x1e),
            ],
        ));
        for (n, (items, want)) in cycles.iter().enumerate() {
            model.begin_cycle(&Inputs::default());
            // A comparator matches in a cycle if it does for one of the items.
            let (mut single, mut ranges) = (0, 0);
            for item in *items {
                let _ = model.item(item);
                single |= model.matches().single;
                ranges |= model.matches().ranges;
            }
            let bit = |bits: u32, at: u32| (bits >> at & 1) as u8;
            let (single, ranges) = (u32::from(single), u32::from(ranges));
            let got = [
                bit(single, 0),
                bit(single, 1),
                bit(ranges, 0),
                bit(single, 2),
                bit(single, 3),
                bit(ranges, 1),
            ];
            assert_eq!(got, *want, "{version}, cycle {}", n + 1);
            let _ = model.end_cycle();
        }
    }
}

/// Table 2-1: MonitorCPRT, FilterCPRT, and the verdicts with ViewData inactive and active.
#[test]
fn table_2_1() {
    for (monitor, filter, inactive, active) in
        [(0, 0, MustNot, MustNot), (0, 1, May, May), (1, 0, Must, Must), (1, 1, MustNot, Must)]
    {
        for (view, want) in [(Event::FALSE, inactive), (Event::TRUE, active)] {
            let control = 0x80c | monitor << 1 | filter << 19;
            let values = [(number::CONTROL, control), (number::VIEW_DATA_EVENT, view.bits())];
            let mut model = Model::new(settings(Version::V3_0, &values));
            let (verdicts, _) = cycle(&mut model, &[executed(0x8000), Item::Coprocessor]);
            assert_eq!(verdicts, [Must, want], "{monitor} {filter} {view}");
            assert_eq!(model.unpredictable().is_some(), (monitor, filter) == (0, 1));
        }
    }
    // Before ETMv3.0 ViewData has no part in it.
    let values = [(number::CONTROL, 0x80e), (number::VIEW_DATA_EVENT, Event::FALSE.bits())];
    let mut model = Model::new(settings(Version::V2_1, &values));
    let (verdicts, _) = cycle(&mut model, &[executed(0x8000), Item::Coprocessor]);
    assert_eq!(verdicts, [Must, Must]);
}

/// Table 2-16 and 2.9: the state in the cycle, and after it.
#[test]
fn instrumentation() {
    use Instrumentation::{Clear, Pulse, Set};
    for before in [false, true] {
        for (operations, now, after) in [
            (&[Set, Clear][..], true, false),
            (&[Clear, Set], true, true),
            (&[Pulse, Clear], true, false),
            (&[Clear, Pulse], true, false),
            (&[Pulse, Set], true, true),
            (&[Clear, Clear], before, false),
            (&[], before, before),
        ] {
            assert_eq!(
                fold_instrumentation(before, operations, true),
                (now, after),
                "{operations:?}"
            );
        }
        assert_eq!(fold_instrumentation(before, &[Clear], true), (false, false));
        assert_eq!(fold_instrumentation(before, &[Clear], false), (before, false));
    }
    // The twelve hints, in both instruction sets.
    for option in 0..16u8 {
        let want = match option {
            0..=3 => Some((Set, option + 1)),
            4..=7 => Some((Clear, option - 3)),
            8..=11 => Some((Pulse, option - 7)),
            _ => None,
        };
        assert_eq!(Instrumentation::of(option), want);
        let opcode = u32::from(option);
        assert_eq!(Instrumentation::option(0xe320_f0f0 | opcode, false), Some(option));
        assert_eq!(Instrumentation::option(0xf3af_80f0 | opcode, true), Some(option));
    }
    assert_eq!(Instrumentation::option(0xe320_f000, false), None);
    assert_eq!(Instrumentation::option(0x0320_f0f0, false), Some(0));
    assert_eq!(Instrumentation::option(0xf320_f0f0, false), None);
    // A resource in the TraceEnable event, and privileged code only.
    let hint = |option, privileged| {
        Item::Instruction(Instruction {
            address: 0x8000,
            passed: true,
            hint: Some(option),
            level: Some(u8::from(privileged)),
            ..Instruction::default()
        })
    };
    let values = [
        (number::TRIGGER, Event::one(Resource::Instrumentation(2)).bits()),
        (number::CONTROL, 0x80c | 1 << 24),
    ];
    let mut model = Model::new(settings(Version::V3_3, &values));
    assert!(!cycle(&mut model, &[hint(1, false)]).1.trigger);
    assert!(!cycle(&mut model, &[hint(0, true)]).1.trigger);
    assert!(cycle(&mut model, &[hint(1, true)]).1.trigger);
}

/// 2.11.1: start and stop in one cycle. S start, P stop, - neither; the block before; whether it is
/// active in the cycle, and after it.
#[test]
fn start_stop_in_a_cycle() {
    let values = [
        (number::START_STOP, 0x2_0001),
        (number::ADDRESS, 0x8000),
        (number::ADDRESS + 1, 0x9000),
        (number::ACCESS_TYPE, 0x19),
        (number::ACCESS_TYPE + 1, 0x19),
        (number::TRIGGER, Event::one(Resource::StartStop).bits()),
    ];
    for (before, items, active, after) in [
        (false, "S", true, true),
        (true, "S", true, true),
        (true, "P", false, false),
        (false, "P", false, false),
        (true, "-P", true, false),
        (true, "P-", false, false),
        (false, "SP", true, false),
        (false, "-SP", true, false),
        (true, "PS", true, true),
        (false, "--", false, false),
        (true, "--", true, true),
    ] {
        let mut model = Model::new(settings(Version::V3_2, &values));
        if before {
            // In a unit whose trigger is not used up by the first cycle.
            let set = [values.as_slice(), &[(number::STATUS, 0b100)]].concat();
            model = Model::new(settings(Version::V3_2, &set));
        }
        let items: Vec<_> = items
            .bytes()
            .map(|item| match item {
                b'S' => executed(0x8000),
                b'P' => executed(0x9000),
                _ => executed(0x1000),
            })
            .collect();
        // The verdicts see the state at each item; the event sees the cycle.
        model.begin_cycle(&Inputs::default());
        let mut seen = false;
        for item in &items {
            let _ = model.item(item);
            seen |= model.start_stop() == Tri::Yes;
        }
        let _ = model.end_cycle();
        assert_eq!((seen, model.start_stop() == Tri::Yes), (active, after), "{before} {items:?}");
    }
}

/// 2.6.4: the instruction that starts is traced, the one that stops is not; a stop by data is after
/// its instruction.
#[test]
fn start_stop_and_trace_enable() {
    let values = [
        (number::TRACE_ENABLE_1, 0x300_0000),
        (number::START_STOP, 0x6_0001),
        (number::ADDRESS, 0x8000),
        (number::ADDRESS + 1, 0x9000),
        (number::ADDRESS + 2, 0x2000),
        (number::ACCESS_TYPE, 0x19),
        (number::ACCESS_TYPE + 1, 0x19),
        (number::ACCESS_TYPE + 2, 0x1c),
    ];
    let mut model = Model::new(settings(Version::V3_3, &values));
    let run: [(&[Item], &[Requirement]); 7] = [
        (&[executed(0x7ffc)], &[MustNot]),
        (&[executed(0x8000)], &[Must]),
        (&[executed(0x8004)], &[Must]),
        (&[executed(0x9000)], &[MustNot]),
        (&[executed(0x8000)], &[Must]),
        // The data stops the block; its instruction stays enabled to its end.
        (&[executed(0x8004), access(0x2000, true)], &[Must, Must]),
        (&[executed(0x8008)], &[MustNot]),
    ];
    for (items, want) in run {
        assert_eq!(cycle(&mut model, items).0, want, "{items:?}");
    }
}

/// Example 2-3: of two transitions at once the state stays; with A and not B for one of them, B
/// wins.
#[test]
fn sequencer() {
    let input = Resource::Input;
    for (first, second, inputs, state) in [
        (Event::one(input(1)), Event::one(input(2)), 0b00, 1),
        (Event::one(input(1)), Event::one(input(2)), 0b01, 2),
        (Event::one(input(1)), Event::one(input(2)), 0b10, 3),
        (Event::one(input(1)), Event::one(input(2)), 0b11, 1),
        (
            Event { function: Function::NotAAndB, a: input(2), b: input(1) },
            Event::one(input(2)),
            0b11,
            3,
        ),
    ] {
        let never = Event::FALSE.bits();
        let mut all = settings(Version::V3_3, &[(number::SEQUENCER, first.bits())]);
        all.set(number::SEQUENCER + 5, second.bits());
        (1..5).for_each(|n| all.set(number::SEQUENCER + n, never));
        all.set(number::TRIGGER, Event::one(Resource::Sequencer(3)).bits());
        let mut model = Model::new(all);
        model.begin_cycle(&Inputs { external: inputs, ..Inputs::default() });
        let _ = model.end_cycle();
        assert_eq!(model.sequencer(), state, "{first}; {second}; {inputs:02b}");
    }
    // A transition that is not programmed.
    let values = [(number::TRIGGER, Event::one(Resource::Sequencer(3)).bits())];
    let mut model = Model::new(settings(Version::V3_3, &values));
    let _ = cycle(&mut model, &[executed(0x8000)]);
    assert!(model.unpredictable().is_some());
}

/// 2.2.3: a counter counts to 0 and stays; a reload wins; it is active at 0. 2.4: the trigger
/// occurs once. 3.5.12: bit 17 in ETMv1.
#[test]
fn counters_and_trigger() {
    let values = [
        (number::RELOAD_VALUE, 2),
        (number::COUNT_ENABLE, Event::one(Resource::Address(1)).bits() | 1 << 17),
        (number::RELOAD_EVENT, Event::one(Resource::Address(2)).bits()),
        (number::TRIGGER, Event::one(Resource::Counter(1)).bits()),
        (number::ADDRESS, 0x8000),
        (number::ADDRESS + 1, 0x9000),
        (number::ACCESS_TYPE, 0x19),
        (number::ACCESS_TYPE + 1, 0x19),
        (number::CONTROL, 0xa0c),
    ];
    for version in Version::ALL {
        let mut model = Model::new(settings(version, &values));
        let mut seen = Vec::new();
        for address in [0x8000, 0x8004, 0x8000, 0x8000, 0x9000, 0x8000, 0x8000, 0x8000] {
            let end = cycle(&mut model, &[executed(address)]).1;
            assert_eq!(end.trigger, end.debug_request);
            seen.push((model.counter(1), end.trigger));
        }
        let counts: Vec<_> = seen.iter().map(|(count, _)| *count).collect();
        assert_eq!(counts, [1, 1, 0, 0, 2, 1, 0, 0], "{version}");
        // The event sees the counter as it was at the start of the cycle.
        let triggers: Vec<_> = seen.iter().filter(|(_, trigger)| *trigger).collect();
        assert_eq!(triggers.len(), 1, "{version}");
        assert!(seen[3].1, "{version}");
    }
    // Without bit 17 an ETMv1 counts each cycle.
    let free = [(number::RELOAD_VALUE, 9), (number::COUNT_ENABLE, Event::FALSE.bits())];
    for (version, count) in [(Version::V1_3, 8), (Version::V2_0, 9)] {
        let mut model = Model::new(settings(version, &free));
        let _ = cycle(&mut model, &[executed(0)]);
        assert_eq!(model.counter(1), count, "{version}");
    }
}

/// 2.5 and 3.4.4: outputs follow their events, and are inactive while Programming is set.
#[test]
fn outputs() {
    let values = [
        (number::OUTPUT_EVENT, Event::TRUE.bits()),
        (number::OUTPUT_EVENT + 1, Event::one(Resource::Input(1)).bits()),
        (number::OUTPUT_EVENT + 2, Event::FALSE.bits()),
        (number::OUTPUT_EVENT + 3, Event::one(Resource::NonSecure).bits()),
    ];
    let mut model = Model::new(settings(Version::V3_3, &values));
    model.begin_cycle(&Inputs { external: 1, ..Inputs::default() });
    assert_eq!(model.end_cycle().outputs, 0b0011);
    model.begin_cycle(&Inputs::default());
    assert_eq!(model.end_cycle().outputs, 0b0001);
    for control in [0xc0c, 0x80d] {
        let values = [values.as_slice(), &[(number::CONTROL, control)]].concat();
        let mut model = Model::new(settings(Version::V3_3, &values));
        let (verdicts, end) = cycle(&mut model, &[executed(0x8000)]);
        assert_eq!((verdicts[0], end.outputs), (MustNot, 0));
    }
    let mut model = Model::new(settings(Version::V3_3, &values));
    model.os_lock = true;
    assert_eq!(cycle(&mut model, &[executed(0x8000)]), (vec![MustNot], CycleEnd::default()));
    let mut model = Model::new(settings(Version::V3_3, &values));
    model.enabled = false;
    assert_eq!(cycle(&mut model, &[executed(0x8000)]).0, [MustNot]);
}

/// 2.6.2: in a prohibited region instruction comparators do not match, data ranges hold their
/// state, context ID comparators are disabled, Non-secure is inactive, and counters run.
#[test]
fn prohibited_regions() {
    let values = [
        (number::ADDRESS, 0x2000),
        (number::ADDRESS + 1, 0x3000),
        (number::ACCESS_TYPE, 0x1c),
        (number::ACCESS_TYPE + 1, 0x1c),
        (number::ADDRESS + 2, 0x8000),
        (number::ACCESS_TYPE + 2, 0x19),
        (number::CONTEXT, 7),
        (number::CONTEXT_MASK, 0),
        (number::OUTPUT_EVENT, Event::one(Resource::Context(1)).bits()),
        (number::OUTPUT_EVENT + 1, Event::one(Resource::NonSecure).bits()),
        (number::OUTPUT_EVENT + 2, Event::one(Resource::Prohibited).bits()),
        (number::OUTPUT_EVENT + 3, Event::one(Resource::Range(1)).bits()),
        (number::RELOAD_VALUE, 9),
        (number::COUNT_ENABLE, Event::TRUE.bits()),
        (number::RELOAD_EVENT, Event::FALSE.bits()),
    ];
    let mut model = Model::new(settings(Version::V3_3, &values));
    let at = |prohibited| {
        Item::Instruction(Instruction {
            address: 0x8000,
            passed: true,
            context: Some(7),
            non_secure: true,
            prohibited,
            ..Instruction::default()
        })
    };
    let (verdicts, end) = cycle(&mut model, &[at(false), access(0x2000, false)]);
    assert_eq!((verdicts, end.outputs), (vec![Must, Must], 0b1011));
    let (verdicts, end) = cycle(&mut model, &[at(true), access(0x5000, false)]);
    assert_eq!((verdicts, end.outputs), (vec![MustNot, MustNot], 0b1100));
    assert_eq!(model.matches().single, 0);
    assert_eq!(model.counter(1), 7);
}

/// 3.7.1: range 1 without two addresses in it, while the sequencer is in state 3. 0x8000 to 0x8100
/// are data addresses here.
#[test]
fn example_view_data() {
    let values = [
        (number::VIEW_DATA_EVENT, Event::one(Resource::Sequencer(3)).bits()),
        (number::VIEW_DATA_1, 0x000c_0000),
        (number::VIEW_DATA_2, 0),
        (number::VIEW_DATA_3, 0x1),
        (number::ADDRESS, 0x8000),
        (number::ADDRESS + 1, 0x8100),
        (number::ADDRESS + 2, 0x8074),
        (number::ADDRESS + 3, 0x8090),
        (number::SEQUENCER_STATE, 0b10),
    ];
    assert_eq!(values[0].1, 0x52);
    for version in Version::ALL.into_iter().filter(|v| *v >= Version::V3_1) {
        let mut all = settings(version, &values);
        (0..4).for_each(|n| all.set(number::ACCESS_TYPE + n, 0x1c));
        (0..6).for_each(|n| all.set(number::SEQUENCER + n, Event::FALSE.bits()));
        for state in 0..3 {
            all.set(number::SEQUENCER_STATE, state);
            let mut model = Model::new(all.clone());
            for address in (0x7ff0..0x8110).step_by(4) {
                let inside = (0x8000..0x8100).contains(&address);
                let want = match inside && !matches!(address, 0x8074 | 0x8090) && state == 2 {
                    true => Must,
                    false => MustNot,
                };
                let (verdicts, _) = cycle(&mut model, &[executed(0), access(address, true)]);
                assert_eq!(verdicts, [Must, want], "{version} {address:x} state {state}");
            }
        }
    }
}

/// 3.7.2, Table 3-84: a function that starts at 0x1000 and ends at 0x1100, 0x1104 or 0x1108,
/// without ranges 3 and 4.
#[test]
fn example_trace_enable() {
    let mut values = vec![
        (number::TRACE_ENABLE_EVENT, 0x6f),
        (number::TRACE_ENABLE_1, 0x0300_000c),
        (number::TRACE_ENABLE_2, 0),
        (number::START_STOP, 0x000e_0001),
    ];
    let addresses = [0x1000, 0x1100, 0x1104, 0x1108, 0x1010, 0x1020, 0x4000, 0x5000];
    for (n, address) in (0..).zip(addresses) {
        values.extend([(number::ADDRESS + n, address), (number::ACCESS_TYPE + n, 0x19)]);
    }
    for version in Version::ALL.into_iter().filter(|v| *v >= Version::V1_2) {
        for stop in [0x1100, 0x1104, 0x1108] {
            let mut model = Model::new(settings(version, &values));
            for (address, want) in [
                (0x0ffc, MustNot),
                (0x1000, Must),
                (0x1010, MustNot),
                (0x101c, MustNot),
                (0x1020, Must),
                (0x4000, MustNot),
                (0x4ffc, MustNot),
                (0x5000, Must),
                // A call outside of the function is traced.
                (0x9000, Must),
                (stop, MustNot),
                (0x9000, MustNot),
            ] {
                let (verdicts, _) = cycle(&mut model, &[executed(address)]);
                assert_eq!(verdicts, [want], "{version} {address:x}");
            }
        }
    }
}

/// 2.6.4: data that makes TraceEnable active makes its instruction be traced.
#[test]
fn instructions_by_their_data() {
    let values = [
        (number::TRACE_ENABLE_1, 0),
        (number::TRACE_ENABLE_2, 1),
        (number::ADDRESS, 0x2000),
        (number::ACCESS_TYPE, 0x1e),
    ];
    let mut model = Model::new(settings(Version::V3_3, &values));
    model.begin_cycle(&Inputs::default());
    assert_eq!(model.item(&executed(0x8000)).requirement, MustNot);
    assert_eq!(model.item(&access(0x3000, true)).requirement, MustNot);
    assert_eq!(model.item(&access(0x2000, true)).requirement, Must);
    assert_eq!(model.last_instruction().unwrap().requirement, Must);
    // Before ETMv1.2 a data comparator is imprecise for TraceEnable, and ETMTECR2 does not exist.
    let ranges = [
        (number::TRACE_ENABLE_1, 1),
        (number::ADDRESS, 0x2000),
        (number::ADDRESS + 1, 0x3000),
        (number::ACCESS_TYPE, 0x1c),
        (number::ACCESS_TYPE + 1, 0x1c),
    ];
    let mut model = Model::new(settings(Version::V1_1, &ranges));
    let (verdicts, _) = cycle(&mut model, &[executed(0x8000), access(0x2000, true)]);
    assert_eq!(verdicts, [MustNot, May]);
}

/// 2.6.4: what makes TraceEnable imprecise when it changes.
#[test]
fn imprecise_changes() {
    let address = |kind| {
        vec![
            (number::TRACE_ENABLE_1, 1),
            (number::ADDRESS, 0x8000),
            (number::ADDRESS + 1, 0x8100),
            (number::ACCESS_TYPE, kind),
            (number::ACCESS_TYPE + 1, kind),
            (number::CONTEXT, 0),
            (number::CONTEXT_MASK, u32::MAX),
        ]
    };
    let event = vec![
        (number::TRACE_ENABLE_EVENT, Event::one(Resource::Address(1)).bits()),
        (number::ADDRESS, 0x8000),
        (number::ACCESS_TYPE, 0x19),
    ];
    // A comparator with a context ID, where the context ID changes.
    let context = |kind| {
        let mut values = address(kind);
        values.extend([(number::CONTEXT, 4), (number::CONTEXT_MASK, 0)]);
        values
    };
    for (version, values, want) in [
        (Version::V3_3, address(0x19), Must),
        (Version::V3_3, address(0x18), May),
        (Version::V3_3, address(0x99), May),
        (Version::V3_3, address(0x119), Must),
        (Version::V3_3, context(0x119), May),
        (Version::V2_1, context(0x119), Must),
        (Version::V3_3, event, May),
    ] {
        let mut model = Model::new(settings(version, &values));
        let at = |address| {
            let context = Some(if address < 0x8000 { 3 } else { 4 });
            Item::Instruction(Instruction {
                address,
                passed: true,
                context,
                ..Instruction::default()
            })
        };
        assert_eq!(cycle(&mut model, &[at(0x7000)]).0, [MustNot], "{values:x?}");
        assert_eq!(cycle(&mut model, &[at(0x8000)]).0, [want], "{version} {values:x?}");
    }
}

/// 2.6.4, ETMv1: the first transfer of a load or store multiple decides for all. From ETMv2.0 each
/// does.
#[test]
fn load_and_store_multiple() {
    let values = [
        (number::VIEW_DATA_3, 1),
        (number::ADDRESS, 0x2004),
        (number::ADDRESS + 1, 0x2008),
        (number::ACCESS_TYPE, 0x1c),
        (number::ACCESS_TYPE + 1, 0x1c),
    ];
    let items = [executed(0x8000), access(0x2000, true), access(0x2004, true)];
    for version in Version::ALL {
        let mut model = Model::new(settings(version, &values));
        let last = if version < Version::V2_0 { MustNot } else { Must };
        assert_eq!(cycle(&mut model, &items).0, [Must, MustNot, last], "{version}");
    }
}

/// A program without an error of the checks reaches no rule that is UNPREDICTABLE, whatever
/// executes.
#[test]
fn programs_without_errors_are_predictable() {
    let mut random = Random::new(7);
    let mut clean = 0;
    let times = tracewright_testing::times(4000);
    for _ in 0..times {
        let version = random.pick(&Version::ALL);
        let mut all = settings(version, &[]);
        let mut unit = all.unit;
        unit.pairs = 1 + random.below(4) as u8;
        unit.counters = random.below(3) as u8;
        unit.data_comparators = unit.data_comparators.min(unit.pairs);
        all.unit = unit;
        let any = |random: &mut Random| {
            // A resource that the unit does not have is seldom used.
            let resource = loop {
                let resource = Resource::of(random.below(0x70) as u8);
                if resource.exists(&unit) || random.one_in(200) {
                    break resource;
                }
            };
            let function = random.pick(&Function::ALL);
            Event { function, a: resource, b: Resource::True }.bits()
        };
        for n in 0..u16::from(unit.comparators()) {
            let kinds = [0x19, 0x1c, 0x1e, 0x0d, 0x99, 0x9c, 0x1a];
            all.set(number::ADDRESS + n, 0x1000 * u32::from(n + 1));
            all.set(number::ACCESS_TYPE + (n & !1), random.pick(&kinds));
            all.set(number::ACCESS_TYPE + n, all.value(number::ACCESS_TYPE + (n & !1)));
        }
        all.set(number::TRACE_ENABLE_EVENT, any(&mut random));
        all.set(number::TRIGGER, any(&mut random));
        all.set(number::VIEW_DATA_EVENT, any(&mut random));
        let flags = (random.below(4) as u32) << 24;
        all.set(number::TRACE_ENABLE_1, flags | random.below(4) as u32);
        if version >= Version::V1_2 {
            all.set(number::START_STOP, random.pick(&[0x2_0001, 0x1_0002, 0x1_0001, 0x2_0003]));
        }
        all.set(number::VIEW_DATA_3, random.below(4) as u32 | (random.below(2) as u32) << 16);
        all.set(number::CONTROL, 0x80c | (random.below(2) as u32) << 1);
        for n in 0..4 {
            all.set(number::RELOAD_VALUE + n, 3);
            all.set(number::COUNT_ENABLE + n, any(&mut random) | 1 << 17);
            all.set(number::RELOAD_EVENT + n, any(&mut random));
        }
        if random.below(2) == 0 {
            (0..6).for_each(|n| all.set(number::SEQUENCER + n, any(&mut random)));
        }
        let serious = lint::findings(&all);
        if serious.iter().any(|finding| finding.is_error()) {
            continue;
        }
        clean += 1;
        let mut model = Model::new(all);
        for _ in 0..40 {
            let address = (random.below(0x50) * 0x100) as u32;
            let mut items = vec![executed(address)];
            if random.below(2) == 0 {
                items.push(access((random.below(0x50) * 0x100) as u32, random.below(2) == 0));
            }
            let _ = cycle(&mut model, &items);
        }
        assert_eq!(model.unpredictable(), None, "{version}: {:?}", model.settings);
    }
    assert!(clean > times / 40, "{clean}");
}
