//! The filters of IHI 0014, 2.6, over instructions with their data, and over the steps of a log.

use tracewright_base::{self as base, Access, Direction, Retired, Step};

use super::behaviour::{access, cycle, executed, settings};
use crate::etm::event::{Event, Resource};
use crate::etm::model::{LogFilter, Model};
use crate::etm::settings::number;
use crate::etm::version::Version;
use crate::verdict::Filter;
use crate::verdict::Requirement::{self, Must, MustNot};

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
