//! The trace unit in software: the port, the filters, and the quirks of the profiles.

use alloc::vec;
use alloc::vec::Vec;

use tracewright_base::{
    Cause, Context, Encode, Instruction, Isa, Kind, Retired, Role, Step, Taken, Wire,
};

use crate::etrace::config::{Params, Profile, Version};
use crate::etrace::encode::{
    Block, Comparator, Compare, ContextType, Cycle, Encoder, Filter, Function, Input, Itype, Match,
    Quirks, Settings, Sideband,
};
use crate::etrace::packet::{Packet, Payload, Qualification};

pub fn params(profile: Profile) -> Params {
    Params::of(profile, true)
}

/// An instruction of 4 bytes.
pub fn step(address: u64, kind: Kind, role: Role, next: u64) -> Step {
    let conditional = kind == Kind::Branch && role == Role::Jump;
    let target = (kind == Kind::Branch).then_some(if conditional { address + 64 } else { next });
    let instruction = Instruction {
        kind,
        role,
        size: 4,
        conditional,
        isa: Isa::Rv64,
        target_isa: Isa::Rv64,
        target,
    };
    let taken = next != address + 4;
    Step::Retired(Retired { address, next, next_isa: Isa::Rv64, taken, instruction })
}

pub fn plain(address: u64) -> Step {
    step(address, Kind::Plain, Role::Jump, address + 4)
}

pub fn jump(address: u64, next: u64) -> Step {
    step(address, Kind::Indirect, Role::Jump, next)
}

fn mret(address: u64, next: u64) -> Step {
    step(address, Kind::Indirect, Role::ExceptionReturn, next)
}

pub fn trap(code: u16, epc: u64, target: u64, value: u64) -> Step {
    Step::Exception(Taken {
        cause: Cause::Riscv { code, interrupt: false },
        return_address: epc,
        return_isa: Isa::Rv64,
        target,
        target_isa: Isa::Rv64,
        value: Some(value),
        cancels: false,
    })
}

pub fn level(el: u8) -> Step {
    Step::Context(Context { el: Some(el), isa: Isa::Rv64, bits64: true, ..Context::default() })
}

pub fn encode(steps: &[Step], params: &Params, settings: &Settings) -> Vec<Payload> {
    let mut encoder = Encoder::new(params, settings);
    let mut packets: Vec<Packet> = Vec::new();
    for step in steps {
        encoder.step(step, params, &mut packets);
    }
    encoder.finish(params, &mut packets);
    packets.into_iter().map(|packet| packet.payload).collect()
}

fn with(steps: &[Step], profile: Profile) -> Vec<Payload> {
    encode(steps, &params(profile), &Settings::default())
}

/// The addresses of the packets of format 3, and their kinds.
fn reported(payloads: &[Payload]) -> Vec<(char, u64)> {
    payloads
        .iter()
        .filter_map(|payload| match payload {
            Payload::Start(start) => Some(('s', start.address << 1)),
            Payload::Trap(trap) if trap.thaddr => Some(('t', trap.address? << 1)),
            Payload::Trap(trap) => Some(('e', trap.address? << 1)),
            _ => None,
        })
        .collect()
}

/// A trap at the target of a return to another privilege level: nothing was retired there.
#[test]
fn start_of_an_unretired_instruction() {
    let steps = [
        plain(0x1000),
        mret(0x1004, 0x2000),
        level(0),
        trap(2, 0x2000, 0x3000, 0),
        level(3),
        plain(0x3000),
        plain(0x3004),
    ];
    assert_eq!(
        reported(&with(&steps, Profile::Spec)),
        [('s', 0x1000), ('e', 0x2000), ('s', 0x3000)]
    );
    let reference = reported(&with(&steps, Profile::ReferenceFlow));
    assert_eq!(reference, [('s', 0x1000), ('s', 0x2000), ('t', 0x3000)]);
}

/// The reference flow has 8 bits of causes and trap values.
#[test]
fn trap_values_are_whole() {
    let steps = [plain(0x1000), trap(0x105, 0x1004, 0x3000, 0x1234), plain(0x3000)];
    let value = |profile| {
        with(&steps, profile).into_iter().find_map(|payload| match payload {
            Payload::Trap(trap) => Some((trap.ecause, trap.tval)),
            _ => None,
        })
    };
    assert_eq!(value(Profile::Spec), Some((0x105, Some(0x1234))));
    assert_eq!(value(Profile::ReferenceFlow), Some((0x05, Some(0x34))));
}

/// ECALL is not retired: the instruction before it is the last.
#[test]
fn calls_are_not_retired() {
    let steps = [plain(0x1000), plain(0x1004), trap(11, 0x1008, 0x3000, 0), plain(0x3000)];
    let last = |profile| {
        with(&steps, profile).into_iter().find_map(|payload| match payload {
            Payload::Address(report) => Some(0x1000 + (report.address << 1)),
            _ => None,
        })
    };
    assert_eq!(last(Profile::Spec), Some(0x1004));
    assert_eq!(last(Profile::ReferenceFlow), Some(0x1008));
}

/// The target of a jump, then an ECALL that is retired: a packet of format 2 is next, not one of
/// format 3.
#[test]
fn updiscon_before_a_packet_of_format_3() {
    let steps = [
        plain(0x1000),
        jump(0x1004, 0x2000),
        plain(0x2000),
        trap(11, 0x2004, 0x3000, 0),
        plain(0x3000),
    ];
    let marked = |always| {
        let mut params = params(Profile::Spec);
        params.choices.ecall_retires = true;
        let quirks = Quirks { updiscon_before_any_trap: always, ..Quirks::NONE };
        let settings = Settings { quirks: Some(quirks), ..Settings::default() };
        let payloads = encode(&steps, &params, &settings);
        let reports: Vec<_> = payloads.iter().filter_map(Payload::report).collect();
        reports.iter().map(|report| report.updiscon).collect::<Vec<_>>()
    };
    assert_eq!(marked(false), [false, false]);
    assert_eq!(marked(true), [true, false]);
}

/// Two traps after a jump are two packets with a cause; the reference flow sends three.
#[test]
fn a_trap_is_reported_once() {
    let steps = [
        plain(0x1000),
        jump(0x1004, 0x2000),
        trap(1, 0x2000, 0x3000, 0),
        trap(5, 0x3000, 0x4000, 0),
        plain(0x4000),
        plain(0x4004),
    ];
    let causes = |profile| {
        let payloads = with(&steps, profile);
        payloads
            .iter()
            .filter_map(|payload| match payload {
                Payload::Trap(trap) => Some((trap.ecause, trap.thaddr)),
                _ => None,
            })
            .collect::<Vec<_>>()
    };
    assert_eq!(causes(Profile::Spec), [(1, false), (5, true)]);
    assert_eq!(causes(Profile::ReferenceFlow), [(1, false), (1, false), (5, true)]);
}

/// `irdepth` without `irreport` repeats the bit before it; in the reference flow it is ones.
#[test]
fn idle_depths_compress() {
    let steps = [plain(0x1000), jump(0x1004, 0x1800), plain(0x1800), plain(0x1804)];
    let size = |profile| {
        let mut params = params(profile);
        params.widths.call_counter_size = 9;
        let mut bytes: Vec<u8> = Vec::new();
        for payload in encode(&steps, &params, &Settings::default()) {
            if let Payload::Address(_) = payload {
                Packet::from(payload).emit(&params, &mut bytes);
                break;
            }
        }
        bytes.len()
    };
    assert_eq!((size(Profile::Spec), size(Profile::ReferenceFlow)), (3, 10));
}

/// The last instruction is reported once, and `qual_status` states whether only because of the end.
#[test]
fn last_instruction() {
    let end = |steps: &[Step], profile| {
        let payloads = with(steps, profile);
        let reports = payloads.iter().filter(|p| matches!(p, Payload::Address(_))).count();
        match payloads.last() {
            Some(Payload::Support(support)) => (reports, support.enabled, support.qualification),
            other => panic!("{other:?}"),
        }
    };
    let come_by = [plain(0x1000), plain(0x1004)];
    let jumped = [plain(0x1000), jump(0x1004, 0x2000), plain(0x2000)];
    let (reported, anyway) = (Qualification::EndedReported, Qualification::EndedUnreported);
    assert_eq!(end(&come_by, Profile::Spec), (1, false, reported));
    assert_eq!(end(&jumped, Profile::Spec), (1, false, anyway));
    assert_eq!(end(&come_by, Profile::ReferenceFlow), (1, false, reported));
    assert_eq!(end(&jumped, Profile::ReferenceFlow), (2, false, reported));
}

/// 0.026, Table 6.4; "Format 3 subformat 3 qual_status field": tracing ends right after a trap,
/// because the trace is over, or because only U mode is traced. The instruction before the trap was
/// reported because of the trap, unless it is the target of a jump.
#[test]
fn ends_after_a_trap() {
    let passed = [level(0), plain(0x1000), plain(0x1004), trap(5, 0x1008, 0x3000, 0)];
    let jumped = [level(0), jump(0x1000, 0x2000), plain(0x2000), trap(5, 0x2004, 0x3000, 0)];
    let handler = [level(3), plain(0x3000), plain(0x3004)];
    let (reported, anyway) = (Qualification::EndedReported, Qualification::EndedUnreported);
    let user = Filter { privilege: Some(1), ..Filter::default() };
    let filtered = Settings { filters: vec![user], ..Settings::default() };
    for version in [Version::Draft, Version::V1_0, Version::V2_0, Version::V2_1] {
        for (steps, want) in [(&passed, reported), (&jumped, anyway)] {
            let params = Params::spec(version, true);
            let ended = |steps: &[Step], settings: &Settings| {
                let payloads = encode(steps, &params, settings);
                payloads.iter().find_map(|payload| match payload {
                    Payload::Support(support) => Some(support.qualification)
                        .filter(|status| *status != Qualification::NoChange),
                    _ => None,
                })
            };
            assert_eq!(ended(steps, &Settings::default()), Some(want), "{version}");
            let handled = [&steps[..], &handler].concat();
            assert_eq!(ended(&handled, &filtered), Some(want), "{version}, filtered");
        }
    }
}

/// Tracing ends at the target of an implied return, which was reported because of a notification.
#[test]
fn ends_after_an_implied_return() {
    let call = step(0x1000, Kind::Branch, Role::Call, 0x2000);
    let back = step(0x2000, Kind::Indirect, Role::Return, 0x1004);
    let mut params = params(Profile::Spec);
    params.options.implicit_return = true;
    params.widths.return_stack_size = 3;
    let payloads =
        encode(&[call, back, Step::Trigger, plain(0x1004)], &params, &Settings::default());
    let Some(Payload::Support(support)) = payloads.last() else { panic!("{payloads:?}") };
    assert_eq!(support.qualification, Qualification::EndedUnreported);
}

/// Tracing starts at the first instruction of a handler: the packet is a trap, not a start.
#[test]
fn a_trap_first() {
    let steps = [trap(3, 0x1000, 0x3000, 7), plain(0x3000), plain(0x3004)];
    assert_eq!(reported(&with(&steps, Profile::Spec)), [('t', 0x3000)]);
}

/// 0.026, tables 3.1 and 3.2; 1.0, "Instruction Type (itype) encoding".
#[test]
fn termination_types() {
    use Itype::*;
    for (itype, draft, sequential, four, three) in [
        (None, Some(0), Some(0), Some(0), Some(0)),
        (Exception, Some(1), Some(1), Some(1), Some(1)),
        (Interrupt, Some(2), Some(2), Some(2), Some(2)),
        (TrapReturn, Some(3), Some(3), Some(3), Some(3)),
        (NotTaken, Some(0), Some(0), Some(4), Some(4)),
        (Taken, Some(6), Some(6), Some(5), Some(5)),
        (UninferableCall, Some(8), Some(9), Some(8), Some(6)),
        (InferableCall, Some(9), Some(9), Some(9), Some(0)),
        (UninferableJump, Some(8), Some(9), Some(10), Some(6)),
        (InferableJump, Some(13), Some(13), Some(11), Some(0)),
        (Swap, Some(8), Some(9), Some(12), Some(6)),
        (Return, Some(10), Some(11), Some(13), Some(6)),
        (OtherUninferable, Some(12), Some(12), Some(14), Some(6)),
        (OtherInferable, Some(13), Some(13), Some(15), Some(0)),
    ] {
        assert_eq!(itype.code(Version::Draft, 4, false), draft, "{itype:?}");
        assert_eq!(itype.code(Version::Draft, 4, true), sequential, "{itype:?}");
        assert_eq!(itype.code(Version::V2_0, 4, false), four, "{itype:?}");
        assert_eq!(itype.code(Version::V1_0, 3, false), three, "{itype:?}");
        if let Some(code) = four {
            assert_eq!(Itype::of_code(Version::V2_0, 4, code), Some(itype));
        }
    }
    // 3 bits of 0.026 have no jumps.
    assert_eq!(UninferableCall.code(Version::Draft, 3, false), Option::None);
    for reserved in [4, 5, 7, 14, 15] {
        assert_eq!(Itype::of_code(Version::Draft, 4, reserved), Option::None);
    }
    assert_eq!(Itype::of_code(Version::V2_0, 4, 7), Option::None);
    for (kind, draft, later) in [
        (ContextType::Unreported, Option::None, Some(0)),
        (ContextType::Imprecise, Some(2), Some(1)),
        (ContextType::Precise, Some(1), Some(2)),
        (ContextType::Discontinuity, Some(0), Some(3)),
        (ContextType::Notification, Some(3), Option::None),
    ] {
        assert_eq!((kind.code(Version::Draft), kind.code(Version::V2_0)), (draft, later));
    }
}

/// The addresses at which tracing starts and ends.
pub fn chunks(steps: &[Step], settings: &Settings) -> Vec<(char, u64)> {
    let mut at = 0;
    let mut list = Vec::new();
    for payload in encode(steps, &params(Profile::Spec), settings) {
        match payload {
            Payload::Start(start) => {
                at = start.address << 1;
                list.push(('s', at));
            }
            Payload::Address(report) => {
                at = at.wrapping_add(report.difference(&params(Profile::Spec)));
                list.push((if report.notify { 'n' } else { 'a' }, at));
            }
            _ => {}
        }
    }
    list
}

/// Chapter 4 of 0.026: comparators of addresses with each function, of contexts and trap values;
/// and everything that filters match.
#[test]
fn filters() {
    let line: Vec<Step> = (0..8).map(|n| plain(0x1000 + 4 * n)).collect();
    let compare = |function, value| Compare { function, value, ..Compare::default() };
    let one = |comparator: Comparator, steps: &[Step]| {
        let settings = Settings {
            filters: vec![Filter { comparators: [Some(0), None, None], ..Filter::default() }],
            comparators: vec![comparator],
            ..Settings::default()
        };
        chunks(steps, &settings)
    };
    let primary = |function, value| {
        one(Comparator { primary: compare(function, value), ..Comparator::default() }, &line)
    };
    assert_eq!(primary(Function::Equal, 0x1008), [('s', 0x1008)]);
    assert_eq!(primary(Function::Less, 0x1008), [('s', 0x1000), ('a', 0x1004)]);
    assert_eq!(primary(Function::LessOrEqual, 0x1008), [('s', 0x1000), ('a', 0x1008)]);
    assert_eq!(primary(Function::Greater, 0x1008), [('s', 0x100c), ('a', 0x101c)]);
    assert_eq!(primary(Function::GreaterOrEqual, 0x1008), [('s', 0x1008), ('a', 0x101c)]);
    assert_eq!(primary(Function::Always, 0), [('s', 0x1000), ('a', 0x101c)]);
    let but = [('s', 0x1000), ('a', 0x1004), ('s', 0x100c), ('a', 0x101c)];
    assert_eq!(primary(Function::NotEqual, 0x1008), but);
    let pair = |matches, p, s| one(Comparator { primary: p, secondary: s, matches }, &line);
    let (from, to) = (compare(Function::GreaterOrEqual, 0x1008), compare(Function::Less, 0x1010));
    assert_eq!(pair(Match::Both, from, to), [('s', 0x1008), ('a', 0x100c)]);
    let outside = [('s', 0x1000), ('a', 0x1004), ('s', 0x1010), ('a', 0x101c)];
    assert_eq!(pair(Match::NotBoth, from, to), outside);
    let (from, to) = (compare(Function::Equal, 0x1004), compare(Function::Equal, 0x1010));
    assert_eq!(pair(Match::Latch, from, to), [('s', 0x1004), ('a', 0x1010)]);
    // A notification without a filter.
    let watch = Comparator {
        primary: Compare { notify: true, ..compare(Function::Equal, 0x1008) },
        ..Comparator::default()
    };
    let settings = Settings { comparators: vec![watch], ..Settings::default() };
    assert_eq!(chunks(&line, &settings), [('s', 0x1000), ('n', 0x1008), ('a', 0x101c)]);
    // A context.
    let context = |id| Step::Context(Context { context_id: Some(id), ..Context::default() });
    let steps =
        [plain(0x1000), context(7), plain(0x1004), plain(0x1008), context(8), plain(0x100c)];
    let seven = Compare { input: Input::Context, ..compare(Function::Equal, 7) };
    let seven = one(Comparator { primary: seven, ..Comparator::default() }, &steps);
    assert_eq!(seven, [('s', 0x1004), ('a', 0x1008)]);
    // Privilege, and handlers: of a cause, of interrupts or not, of a trap value; and nested ones.
    let handled = [
        plain(0x1000),
        trap(5, 0x1004, 0x3000, 0x77),
        plain(0x3000),
        trap(2, 0x3004, 0x4000, 0),
        plain(0x4000),
        mret(0x4004, 0x3004),
        plain(0x3004),
        mret(0x3008, 0x1004),
        plain(0x1004),
    ];
    let traced = |filter: Filter, steps: &[Step]| {
        let settings = Settings { filters: vec![filter], ..Settings::default() };
        let payloads = encode(steps, &params(Profile::Spec), &settings);
        reported(&payloads)
    };
    let cause = |n: u64| Filter { cause: Some(1 << n), ..Filter::default() };
    assert_eq!(traced(cause(5), &handled), [('t', 0x3000), ('s', 0x3004)]);
    assert_eq!(traced(cause(2), &handled), [('t', 0x4000)]);
    assert_eq!(traced(cause(3), &handled), []);
    let interrupts = Filter { interrupt: Some(true), ..Filter::default() };
    assert_eq!(traced(interrupts, &handled), []);
    let none = Filter { interrupt: Some(false), ..Filter::default() };
    assert_eq!(traced(none, &handled), [('t', 0x3000), ('t', 0x4000)]);
    let value = Compare { input: Input::Tval, ..compare(Function::Equal, 0x77) };
    let value = one(Comparator { primary: value, ..Comparator::default() }, &handled);
    assert!(!value.is_empty());
    let levels = [plain(0x1000), level(0), plain(0x1004), plain(0x1008), level(3), plain(0x100c)];
    let user = Filter { privilege: Some(0b0001), ..Filter::default() };
    assert_eq!(traced(user, &levels), [('s', 0x1004)]);
}

/// Sideband: user signals, halting, and triggers that switch trace on and off.
#[test]
fn sideband() {
    let params = params(Profile::Spec);
    let signals = |user: u64| Sideband { user: [user, 0, 0, 0], ..Sideband::default() };
    let cycle = |n: u64, side| {
        let mut cycle = Cycle { privilege: 3, side, ..Cycle::default() };
        cycle.blocks[0] =
            Block { iaddr: 0x1000 + 4 * n, iretire: 2, ilastsize: 2, ..Block::default() };
        cycle
    };
    let run = |settings: &Settings, sides: &[Sideband]| {
        let mut encoder = Encoder::new(&params, settings);
        let mut packets: Vec<Packet> = Vec::new();
        for (n, side) in (0..).zip(sides) {
            encoder.cycle(&cycle(n, *side), &params, &mut packets).unwrap();
        }
        encoder.finish(&params, &mut packets);
        reported(&packets.iter().map(|packet| packet.payload).collect::<Vec<_>>())
    };
    let filter = Filter { user: Some(([0b110, 0, 0, 0], [0b010, 0, 0, 0])), ..Filter::default() };
    let settings = Settings { filters: vec![filter], ..Settings::default() };
    let sides = [0b010, 0b011, 0b110, 0b000, 0b010].map(signals);
    assert_eq!(run(&settings, &sides), [('s', 0x1000), ('s', 0x1010)]);
    let off = Sideband { trace_off: true, ..Sideband::default() };
    let on = Sideband { trace_on: true, ..Sideband::default() };
    let idle = Sideband::default();
    let halted = Sideband { halted: true, ..idle };
    let open = Settings::default();
    assert_eq!(run(&open, &[idle, off, idle, on, idle]), [('s', 0x1000), ('s', 0x100c)]);
    assert_eq!(run(&open, &[idle, idle, halted, idle]), [('s', 0x1000), ('s', 0x1008)]);
}

/// Packets of ESP32 have indexes, which reveal losses.
#[test]
fn packet_indexes() {
    let params = params(Profile::Esp32);
    let mut encoder = Encoder::new(&params, &Settings::default());
    let mut packets: Vec<Packet> = Vec::new();
    for n in 0..40 {
        encoder.step(&plain(0x1000 + 0x100 * (n % 2)), &params, &mut packets);
        encoder.step(&mret(0x1004 + 0x100 * (n % 2), 0x1000), &params, &mut packets);
    }
    encoder.finish(&params, &mut packets);
    let numbers: Vec<u16> = packets.iter().map(|packet| packet.envelope.source).collect();
    assert!(numbers.len() > 20);
    assert_eq!(numbers, (0..numbers.len() as u16).collect::<Vec<_>>());
}

/// The target of a jump that is not traced does not enter the jump target cache.
#[test]
fn targets_of_untraced_jumps() {
    let steps = [
        Step::Off,
        jump(0x1000, 0x2000),
        Step::On,
        plain(0x2000),
        jump(0x2004, 0x4002),
        jump(0x4002, 0x2000),
        plain(0x2000),
    ];
    let mut params = params(Profile::Spec);
    params.options.jump_target_cache = true;
    params.options.resync_disabled = true;
    params.widths.cache_size = 1;
    let payloads = encode(&steps, &params, &Settings::default());
    assert!(!payloads.iter().any(|payload| matches!(payload, Payload::JumpTarget(_))));
}
