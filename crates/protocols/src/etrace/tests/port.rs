//! What a unit with given parameters can have: settings, blocks and signals.

use alloc::vec;
use alloc::vec::Vec;

use tracewright_base::{Context, Encode, Instruction, Kind, Retired, Role, Step};

use super::encode::{chunks, encode, level, params, plain, step};
use crate::etrace::config::{Params, Profile, Version};
use crate::etrace::encode::{
    Block, Comparator, Compare, ContextType, Cycle, DataSettings, Encoder, Filter, Function, Input,
    Itype, Match, Port, Settings, WrongCycle,
};
use crate::etrace::packet::Payload;

/// Chapter 4 of 0.026, use 5: tracing starts, or stops, when the context changes.
#[test]
fn filters_of_context_changes() {
    let context = |id| Step::Context(Context { context_id: Some(id), ..Context::default() });
    let mut steps = vec![context(1), plain(0x1000), plain(0x1004), context(2)];
    steps.extend([plain(0x1008), plain(0x100c), context(3), plain(0x1010), plain(0x1014)]);
    let change = Compare {
        input: Input::ContextChange,
        function: Function::Equal,
        value: 1,
        ..Compare::default()
    };
    let is = |input, value| Compare { input, function: Function::Equal, value, ..change };
    let traced = |primary, secondary| {
        let settings = Settings {
            filters: vec![Filter { comparators: [Some(0), None, None], ..Filter::default() }],
            comparators: vec![Comparator { primary, secondary, matches: Match::Latch }],
            context_type: ContextType::Unreported,
            ..Settings::default()
        };
        chunks(&steps, &settings)
    };
    // From the change to 2 to the first block of 3, and from a block to the next change.
    let from_change = traced(change, is(Input::Context, 3));
    assert_eq!(from_change, [('s', 0x1008), ('a', 0x1010)]);
    let to_change = traced(is(Input::Address, 0x1004), change);
    assert_eq!(to_change, [('s', 0x1004), ('a', 0x1008)]);
}

/// Each parameter of the port and the filters excludes what it does not have. (0.026, Table 3.7)
#[test]
fn refused_settings() {
    let compare = |input| Comparator {
        primary: Compare { input, ..Compare::default() },
        ..Comparator::default()
    };
    let with = |filter, comparator| Settings {
        filters: vec![filter],
        comparators: vec![comparator],
        ..Settings::default()
    };
    let none = Filter::default;
    let signal = Some(([0, 1, 0, 0], [0; 4]));
    let all: [(&str, &str, Settings); 9] = [
        ("comparators", "0", with(none(), compare(Input::Address))),
        ("filters", "0", with(none(), compare(Input::Address))),
        ("filter_context", "0", with(none(), compare(Input::Context))),
        ("filter_context", "0", with(none(), compare(Input::ContextChange))),
        ("filter_tval", "0", with(none(), compare(Input::Tval))),
        (
            "filter_privilege",
            "0",
            with(Filter { privilege: Some(8), ..none() }, compare(Input::Address)),
        ),
        (
            "filter_interrupt",
            "0",
            with(Filter { interrupt: Some(true), ..none() }, compare(Input::Address)),
        ),
        ("filter_ecause", "0", with(Filter { cause: Some(4), ..none() }, compare(Input::Address))),
        ("user_width", "64", with(Filter { user: signal, ..none() }, compare(Input::Address))),
    ];
    for (parameter, value, settings) in all {
        let mut params = params(Profile::Spec);
        assert_eq!(settings.check(&params), Ok(()));
        params.set(parameter, value).unwrap();
        let refused = settings.check(&params).unwrap_err();
        assert_eq!(refused.parameter, parameter);
        assert!(refused.why.contains(parameter), "{refused}");
    }
    // Four bits of a length cannot state that of the trap packets of PULP `rv_tracer`.
    let mut wide = params(Profile::PulpRvTracer);
    assert_eq!(Settings::default().check(&wide), Ok(()));
    wide.set("framing", "pulp-trdb").unwrap();
    let refused = Settings::default().check(&wide).unwrap_err();
    assert_eq!(refused.parameter, "framing");
    assert!(refused.why.contains("framing = pulp-trdb"), "{refused}");
    // What optional modes need, and what the standard support packet can state.
    for (version, mode, parameter, good, bad) in [
        (Version::V2_0, "branch_prediction", "bpred_size", "1", "0"),
        (Version::V1_0, "jump_target_cache", "cache_size", "1", "0"),
        (Version::V2_0, "implicit_return", "itype_width", "4", "3"),
        (Version::V2_1, "implicit_return", "time_width", "16", "20"),
    ] {
        let mut params = Params::spec(version, true);
        for (name, value) in [(mode, "1"), ("return_stack_size", "3"), (parameter, good)] {
            params.set(name, value).unwrap();
        }
        assert_eq!(Settings::default().check(&params), Ok(()), "{parameter}");
        params.set(parameter, bad).unwrap();
        let refused = Settings::default().check(&params).unwrap_err();
        assert_eq!(refused.parameter, parameter);
        assert!(refused.why.contains(parameter), "{refused}");
    }
    // Only the standard support packet has the width of the time.
    let mut narrow = Params::spec(Version::V2_0, true);
    narrow.set("time_width", "20").unwrap();
    assert_eq!(Settings::default().check(&narrow), Ok(()));
    // Data packets have an address or data.
    let data = DataSettings { enabled: true, ..DataSettings::default() };
    let data = Settings { data, ..Settings::default() };
    let mut nothing = Params::spec(Version::V2_0, true);
    nothing.set("no_address", "1").unwrap();
    assert_eq!(data.check(&nothing), Ok(()));
    nothing.set("no_data", "1").unwrap();
    assert_eq!(data.check(&nothing).unwrap_err().parameter, "no_data");
    assert_eq!(Settings::default().check(&nothing), Ok(()));
    // The types of a context, with two bits and with one.
    let precise = Settings { context_type: ContextType::Precise, ..Settings::default() };
    let notification = Settings { context_type: ContextType::Notification, ..Settings::default() };
    let mut later = Params::spec(Version::V2_0, true);
    assert!(notification.check(&later).is_err());
    later.set("context_type_width", "1").unwrap();
    assert_eq!(precise.check(&later).unwrap_err().parameter, "context_type_width");
    let mut draft = Params::spec(Version::Draft, true);
    assert_eq!(notification.check(&draft), Ok(()));
    draft.set("context_type_width", "1").unwrap();
    assert_eq!(precise.check(&draft), Ok(()));
    assert_eq!(notification.check(&draft).unwrap_err().parameter, "context_type_width");
    draft.set("itype_width", "3").unwrap();
    assert_eq!(precise.check(&draft).unwrap_err().parameter, "itype_width");
}

/// A signal above `user_width` is not on the port, and a privilege above 7 passes no filter.
#[test]
fn signals_of_the_port() {
    let steps = [Step::Signals([0, 0, 0, 1 << 63]), plain(0x1000), plain(0x1004)];
    let high = Some(([0, 0, 0, 1 << 63], [0, 0, 0, 1 << 63]));
    let settings = Settings {
        filters: vec![Filter { user: high, ..Filter::default() }],
        ..Settings::default()
    };
    for (width, traced) in [(256, true), (255, false)] {
        let mut params = params(Profile::Spec);
        params.port.user_width = width;
        let starts = |payload: &Payload| matches!(payload, Payload::Start(_));
        assert_eq!(encode(&steps, &params, &settings).iter().any(starts), traced, "{width}");
    }
    let only = Filter { privilege: Some(0b10), ..Filter::default() };
    let settings = Settings { filters: vec![only], ..Settings::default() };
    assert_eq!(chunks(&[level(9), plain(0x1000), plain(0x1004)], &settings), []);
    assert!(!chunks(&[level(1), plain(0x1000), plain(0x1004)], &settings).is_empty());
}

/// The blocks of the port depend on `ntkn_width` and `ilastsize_width`.
#[test]
fn blocks_of_the_port() {
    let branch = |n: u64| step(n, Kind::Branch, Role::Jump, n + 4);
    let cycles = |params: &Params, steps: &[Step]| -> Vec<(u16, u8)> {
        let mut port = Port::new(params.port_limits(8), ContextType::default());
        let mut list = Vec::new();
        let mut take = |cycle: &Cycle| {
            assert_eq!(cycle.check(params), Ok(()));
            let blocks = cycle.blocks.iter().filter(|block| !block.is_empty());
            list.extend(blocks.map(|block| (block.iretire, block.ntkn)));
        };
        steps.iter().for_each(|step| port.step(step, &mut take));
        port.flush(&mut take);
        list
    };
    let mut params = Params::spec(Version::Draft, true);
    params.port.iretire_width = 8;
    // A plain instruction, three branches not taken, and a plain one.
    let steps = [plain(0x1000), branch(0x1004), branch(0x1008), branch(0x100c), plain(0x1010)];
    assert_eq!(cycles(&params, &steps), [(10, 3)]);
    params.port.ntkn_width = 1;
    assert_eq!(cycles(&params, &steps), [(2, 0), (2, 1), (2, 1), (2, 1), (2, 0)]);
    let mut params = Params::spec(Version::V2_0, true);
    params.port.iretire_width = 8;
    let short = |n: u64| match step(n, Kind::Plain, Role::Jump, n + 2) {
        Step::Retired(retired) => Step::Retired(Retired {
            instruction: Instruction { size: 2, ..retired.instruction },
            ..retired
        }),
        other => other,
    };
    let steps = [plain(0x1000), short(0x1004), plain(0x1006)];
    assert_eq!(cycles(&params, &steps), [(5, 0)]);
    // Without the signal every instruction has four bytes.
    params.port.ilastsize_width = 0;
    assert_eq!(cycles(&params, &steps), [(2, 0), (1, 0), (2, 0)]);
}

/// Cycles that the port does not have are refused. (0.026, "Instruction Interface")
#[test]
fn refused_cycles() {
    let block = Block { iaddr: 0x1000, iretire: 2, ilastsize: 2, ..Block::default() };
    let trap = Block { itype: Itype::Exception, ..block };
    let jump = Block { itype: Itype::UninferableJump, ..block };
    let cycle = |blocks: &[Block]| {
        let mut cycle = Cycle::default();
        cycle.blocks[..blocks.len()].copy_from_slice(blocks);
        cycle
    };
    let mut params = Params::spec(Version::Draft, true);
    params.port.taken_branches = 3;
    let none = Block::default();
    for (blocks, want) in [
        (&[block, jump, trap][..], Ok(())),
        (&[trap, trap], Err(WrongCycle::Trap)),
        (&[trap, block], Err(WrongCycle::Trap)),
        (&[none, block], Err(WrongCycle::Group)),
        (&[block; 4], Err(WrongCycle::Group)),
        (&[Block { iretire: 8, ..block }], Err(WrongCycle::Retired)),
        (&[Block { ntkn: 32, ..block }], Err(WrongCycle::NotTaken)),
        (&[Block { iretire: 6, ilastsize: 4, ..block }], Err(WrongCycle::LastSize)),
    ] {
        assert_eq!(cycle(blocks).check(&params), want, "{blocks:?}");
    }
    params.port.itype_width = 3;
    let mut encoder = Encoder::new(&params, &Settings::default());
    let mut packets = Vec::new();
    let refused = encoder.cycle(&cycle(&[jump]), &params, &mut packets);
    assert_eq!(refused, Err(WrongCycle::Itype(Itype::UninferableJump)));
    assert!(packets.is_empty());
}

/// Implicit returns without `irets`: a call after an implied return is reported. In the algorithm
/// of the specification it is not.
#[test]
fn calls_after_implied_returns() {
    let mut params = Params::spec(Version::V2_0, true);
    (params.options.implicit_return, params.widths.return_stack_size) = (true, 3);
    let call = |at: u64, to: u64| step(at, Kind::Branch, Role::Call, to);
    let ret = |at: u64, to: u64| step(at, Kind::Indirect, Role::Return, to);
    // Four calls of a callee without a branch at 2000; no branch follows them.
    let mut steps = vec![plain(0x0ffc)];
    for at in (0x1000..0x1010).step_by(4) {
        steps.extend([call(at, 0x2000), plain(0x2000), ret(0x2004, at + 4)]);
    }
    steps.extend([plain(0x1010), plain(0x1014)]);
    let reports = |settings: &Settings| {
        let payloads = encode(&steps, &params, settings);
        payloads.iter().filter(|payload| payload.report().is_some()).count()
    };
    let specified = Settings { reports_calls: false, ..Settings::default() };
    // One report is that of the last instruction. The first call follows no implied return.
    assert_eq!((reports(&Settings::default()), reports(&specified)), (4, 1));
}

/// A note where returns are implied by a counter alone.
#[test]
fn note_on_counters() {
    let mut params = Params::spec(Version::V2_0, true);
    (params.options.implicit_return, params.widths.call_counter_size) = (true, 9);
    assert!(params.note().is_some_and(|note| note.contains("call_counter_size")));
    params.widths.return_stack_size = 3;
    assert_eq!(params.note(), None);
}
