//! Clock values between what happened before them and what states it.

use tracewright_base::{Exception, Gap, Instruction};
use tracewright_symbols::{Candidate, Functions};

use super::*;

/// Three functions: two of them behind one another.
fn transfers() -> Transfers {
    let function = |start: u64| Candidate {
        symbol: format!("f{start:x}"),
        start,
        size: 0x100,
        limit: 0x100,
        ..Candidate::default()
    };
    let functions = [0x1000, 0x1100, 0x8000].map(function);
    Transfers::new(Code::of(Functions::new(functions.to_vec()), 1), Vec::new())
}

fn range(start: u64, end: u64, role: Option<Role>) -> Element {
    let kind = match role {
        None => Effect::Plain,
        Some(Role::Return | Role::ExceptionReturn) => Effect::Indirect,
        Some(_) => Effect::Branch,
    };
    let instruction = Instruction {
        kind,
        role: role.unwrap_or_default(),
        size: 4,
        isa: Isa::A64,
        ..Instruction::default()
    };
    let bytes = (end - start) as u32;
    Element::Range(Range {
        start,
        bytes,
        instructions: bytes / 4,
        cycles: Counted::UNKNOWN,
        last: Last::new(&instruction, role.is_some()),
    })
}

fn time(value: u64) -> Element {
    Element::Timestamp { value, cycles: None }
}

fn exception(return_address: u64, tail_chain: bool) -> Element {
    Element::Exception(Exception {
        number: 15,
        return_address: Some(return_address),
        also_target: false,
        tail_chain,
    })
}

/// The kinds of the transfers, and the values of those of a clock.
fn found(part: &Part) -> Vec<(Kind, u64)> {
    let value = |transfer: Transfer| match transfer.kind {
        Kind::Timestamp | Kind::Cycles => (transfer.kind, transfer.target),
        kind => (kind, 0),
    };
    part.transfers().map(value).collect()
}

/// Elements, and the kinds of their transfers.
type Row<'a> = (&'a [Element], &'a [(Kind, u64)]);

/// What is before a clock value, and states where it leads only after it, precedes it. What may be
/// before or after it is not bounded by it.
#[test]
fn clock_values_follow_what_precedes_them() {
    use Kind::{
        Call, Cycles, CyclesLost, Enter, Exception, ExceptionReturn, Fall, Jump, Lost, Return, Run,
        TailChain, Timestamp, Untraced,
    };
    let begin = range(0x1000, 0x1008, None);
    let call = range(0x1008, 0x1010, Some(Role::Call));
    let callee = range(0x8000, 0x8010, Some(Role::Return));
    let handler = range(0x8080, 0x8090, Some(Role::ExceptionReturn));
    let counted = |cycles| Element::Cycles(Some(cycles));
    let on = Element::TraceOn(Start::Normal);
    let lost = Element::Gap(Gap::Overflow);
    let (start, end) = ((Enter, 0), (Run, 0));
    let rows: &[Row<'_>] = &[
        (&[begin, time(5), call], &[start, (Timestamp, 5), end]),
        (
            &[call, time(5), time(6), callee],
            &[start, (Call, 0), (Timestamp, 5), (Timestamp, 6), end],
        ),
        (&[call, counted(5), callee], &[start, (Call, 0), (Cycles, 5), end]),
        (
            &[call, callee, time(5), begin, Element::Cycles(None), begin],
            &[start, (Call, 0), (Return, 0), (Timestamp, 5), (Enter, 0), (CyclesLost, 0), end],
        ),
        (
            &[range(0x1000, 0x1010, Some(Role::Jump)), time(5), callee],
            &[start, (Jump, 0), (Timestamp, 5), end],
        ),
        // Execution runs into the next function before or after the clock value.
        (
            &[begin, time(5), counted(7), range(0x1008, 0x1108, None), counted(8)],
            &[start, (Fall, 0), end],
        ),
        (
            &[begin, time(5), exception(0x1008, false), time(6), handler, time(7), begin],
            &[
                start,
                (Timestamp, 5),
                (Exception, 0),
                (Timestamp, 6),
                (ExceptionReturn, 0),
                (Timestamp, 7),
                end,
            ],
        ),
        (
            &[call, time(5), exception(0x8000, false), time(6), handler],
            &[start, (Call, 0), (Timestamp, 5), (Exception, 0), (Timestamp, 6), end],
        ),
        // One handler ended before the clock value, the other one begins after it.
        (
            &[
                begin,
                exception(0x1008, false),
                handler,
                Element::ExceptionReturn,
                time(5),
                counted(7),
                exception(0x1008, true),
                handler,
                range(0x8090, 0x8094, None),
                counted(8),
                range(0x8094, 0x8098, None),
            ],
            &[start, (Exception, 0), (TailChain, 0), (ExceptionReturn, 0), (Cycles, 15), end],
        ),
        // What is lost may have ended functions before the clock value.
        (
            &[call, time(5), lost, time(6), callee],
            &[start, (Lost, 0), (Timestamp, 5), (Timestamp, 6), (Enter, 0), end],
        ),
        (&[call, time(5), on, time(6), begin], &[start, (Enter, 0), (Timestamp, 6), end]),
        (
            &[begin, exception(0x1008, false), time(5), on, time(6), call],
            &[start, (Untraced, 0), (Timestamp, 5), (Enter, 0), (Timestamp, 6), end],
        ),
    ];
    for (elements, expected) in rows {
        let mut transfers = transfers();
        for (at, element) in (0..).zip(*elements) {
            transfers.element(0, at, *element);
        }
        assert_eq!(found(&transfers.take()), *expected, "{elements:?}");
        // A part ends after each element.
        for cut in 0..elements.len() {
            let mut parts = super::tests::transfers();
            let mut all = Vec::new();
            for (at, element) in (0..).zip(*elements) {
                parts.element(0, at, *element);
                if at as usize == cut {
                    all.extend(found(&parts.take()));
                    let (state, mut next) = (parts.state(), parts.fork());
                    next.resume(state);
                    parts = next;
                }
            }
            all.extend(found(&parts.take()));
            let clock = |all: &[(Kind, u64)]| -> Vec<(Kind, u64)> {
                all.iter().copied().filter(|own| own.0 != Run).collect()
            };
            assert_eq!(clock(&all), clock(expected), "{elements:?} cut at {cut}");
        }
    }
}

/// However many wait, the first ones and the last one remain, and the sum of counts is the same.
#[test]
fn clock_values_that_wait_are_few() {
    let mut transfers = transfers();
    transfers.element(0, 0, range(0x1008, 0x1010, Some(Role::Call)));
    for n in 1..=1000 {
        transfers.element(0, n, time(n));
        transfers.element(0, n, Element::Cycles(Some(2)));
    }
    transfers.element(0, 0, range(0x8000, 0x8010, None));
    let all = found(&transfers.take());
    let of = |kind| all.iter().filter(move |own| own.0 == kind).map(|own| own.1);
    assert!(all.len() < 40, "{}", all.len());
    assert_eq!(
        (of(Kind::Timestamp).next(), of(Kind::Timestamp).next_back()),
        (Some(1), Some(1000))
    );
    assert_eq!(of(Kind::Cycles).sum::<u64>(), 2000);
    // A clock that runs backwards is a loss where there are many.
    transfers.element(0, 0, range(0x8010, 0x8020, None));
    for n in (1..=100_000).rev() {
        transfers.element(0, n, time(n));
    }
    assert!(found(&transfers.take()).iter().any(|own| own.0 == Kind::Lost));
}
