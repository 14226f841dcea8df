//! The worked examples of K10.5.8, Tables K10-6 to K10-19, as elements and as bytes.

use super::{AnalyzerContext, Element, Memory, Output, SubIsa, Unit, analyze, analyze_elements};

const MOV: u32 = 0xd503_201f;
const ISB: u32 = 0xd503_3fdf;
const RET: u32 = 0xd65f_03c0;
const TSTART: u32 = 0xd523_3060;

/// B, BL and B.EQ from `address` to `target`.
fn b(address: u32, target: u32) -> u32 {
    0x1400_0000 | (target.wrapping_sub(address) >> 2 & 0x3ff_ffff)
}
fn bl(address: u32, target: u32) -> u32 {
    0x8000_0000 | b(address, target)
}
fn beq(address: u32, target: u32) -> u32 {
    0x5400_0000 | (target.wrapping_sub(address) >> 2 & 0x7_ffff) << 5
}

fn memory(blocks: &[(u64, &[u32])]) -> Memory {
    let bytes = |words: &[u32]| words.iter().flat_map(|w| w.to_le_bytes()).collect();
    Memory { blocks: blocks.iter().map(|(at, words)| (*at, bytes(words))).collect() }
}

/// A program of A64 words.
pub(super) struct Program {
    pub(super) memory: Memory,
}

impl Program {
    pub(super) fn new(blocks: &[(u64, &[u32])]) -> Program {
        Program { memory: memory(blocks) }
    }
}

/// The program of Tables K10-6 to K10-10.
fn basic() -> Memory {
    memory(&[
        (0x1000, &[b(0x1000, 0x2000)]),
        (0x2000, &[MOV, MOV, MOV, beq(0x200c, 0x3000), MOV, MOV, MOV, MOV]),
    ])
}

fn unit(max_spec_depth: u32) -> Unit {
    Unit {
        ete: true,
        max_spec_depth,
        commit_mode_1: false,
        transaction_start_is_p0: true,
        context_id_bytes: 4,
        vmid_bytes: 4,
        wfx: false,
        return_stack: false,
    }
}

const INFO: Element = Element::TraceInfo { current_spec_depth: 0, in_transaction: false };
const ON: Element = Element::TraceOn;
const E: Element = Element::Atom { e: true };
const N: Element = Element::Atom { e: false };

fn context(context_id: u32) -> Element {
    Element::Context(AnalyzerContext {
        context_id,
        exception_level: 1,
        sixty_four_bit: true,
        ..AnalyzerContext::default()
    })
}

fn to(address: u64) -> Element {
    Element::TargetAddress(address, SubIsa::Is0)
}

fn irq(address: u64) -> Element {
    Element::Exception { kind: 14, address: Some(address) }
}

/// Outputs in short: the address of an instruction, `E` for a taken branch, `@` and the context
/// identifier if it is not 0.
pub(super) fn short(outputs: &[Output]) -> String {
    let id = |context: &AnalyzerContext| match context.context_id {
        0 => String::new(),
        id => format!("@{id:x}"),
    };
    let texts = outputs.iter().map(|output| match output {
        Output::Instruction { address, taken, context, .. } => {
            format!("{address:x}{}{}", if *taken { "E" } else { "" }, id(context))
        }
        Output::Exception { kind, address, context } => {
            let id = context.as_ref().map(id).unwrap_or_default();
            format!("exc{kind}:{:x}{id}", address.unwrap_or(0))
        }
        Output::TraceOn => String::from("on"),
        Output::TransactionStart => String::from("start"),
        Output::TransactionCommit => String::from("commit"),
        Output::TransactionFailure => String::from("failure"),
        other => other.to_string(),
    });
    texts.collect::<Vec<_>>().join(" ")
}

#[track_caller]
fn check(unit: &Unit, memory: &Memory, elements: &[Element], bytes: &str, want: &str) {
    let got = analyze_elements(unit, memory, elements.iter().copied());
    assert_eq!(short(&got), want, "elements");
    let mut stream = vec![0; 11];
    stream.push(0x80);
    stream.extend(bytes.split_whitespace().map(|b| u8::from_str_radix(b, 16).unwrap()));
    assert_eq!(short(&analyze(unit, memory, &stream)), want, "bytes");
}

/// Trace Info, Trace On, context EL1 secure A64 with the address 0x1000, E.
const START: &str = "01 00 04 82 00 08 00 00 11 f7 ";
const STARTS: [Element; 5] =
    [INFO, ON, context_0(), Element::TargetAddress(0x1000, SubIsa::Is0), E];

const fn context_0() -> Element {
    Element::Context(AnalyzerContext {
        context_id: 0,
        vmid: 0,
        exception_level: 1,
        non_secure: false,
        sixty_four_bit: true,
    })
}

#[track_caller]
fn check_from_1000(unit: &Unit, memory: &Memory, rest: &[Element], bytes: &str, want: &str) {
    let elements: Vec<Element> = STARTS.iter().chain(rest).copied().collect();
    check(unit, memory, &elements, &format!("{START}{bytes}"), want);
}

#[test]
fn k10_6_program_trace() {
    check_from_1000(
        &unit(0),
        &basic(),
        &[Element::Commit(1), N, Element::Commit(1), irq(0x2014), Element::Commit(1)],
        "f6 06 1d 9a 05 10 00 00",
        "on 1000E 2000 2004 2008 200c 2010 exc14:2014",
    );
}

/// The table does not show the context and the address after the second Trace On element, which
/// K10.5.1.1 and K10.5.2.7 require.
#[test]
fn k10_7_filtering() {
    let one = Element::Commit(1);
    check_from_1000(
        &unit(0),
        &basic(),
        &[one, ON, context(0), to(0x2010), irq(0x2014), one],
        "04 82 04 10 00 00 11 06 1d 9a 05 10 00 00",
        "on 1000E on 2010 exc14:2014",
    );
    // As printed: nothing is known after the second Trace On element.
    check_from_1000(
        &unit(0),
        &basic(),
        &[one, ON, irq(0x2014), one],
        "04 06 1d 9a 05 10 00 00",
        "on 1000E on exc14:2014",
    );
}

#[test]
fn k10_8_cancelled_by_an_interrupt() {
    check_from_1000(
        &unit(4),
        &basic(),
        &[N, Element::Cancel(1), irq(0x2000), Element::Commit(2)],
        "f6 2e 01 06 1d 9a 00 10 00 00 2d 02",
        "on 1000E exc14:2000",
    );
}

#[test]
fn k10_9_data_abort() {
    let abort = Element::Exception { kind: 12, address: Some(0x2004) };
    check_from_1000(
        &unit(4),
        &basic(),
        &[N, Element::Cancel(1), abort, Element::Commit(2)],
        "f6 2e 01 06 19 9a 01 10 00 00 2d 02",
        "on 1000E 2000 exc12:2004",
    );
}

#[test]
fn k10_10_two_exceptions() {
    let abort = Element::Exception { kind: 12, address: Some(0x2004) };
    let rest = [N, Element::Cancel(1), abort, to(0x4000), irq(0x4000), Element::Commit(3)];
    for second in ["06 5c 9a 00 20 00 00", "9a 00 20 00 00 06 1d 90"] {
        let bytes = format!("f6 2e 01 06 19 9a 01 10 00 00 {second} 2d 03");
        let want = "on 1000E 2000 exc12:2004 exc14:4000";
        check_from_1000(&unit(4), &basic(), &rest, &bytes, want);
    }
}

#[test]
fn k10_11_to_13_context() {
    let program = memory(&[
        (0x1000, &[b(0x1000, 0x2000)]),
        (0x2000, &[MOV, MOV, ISB, MOV, MOV]),
        (0x3000, &[b(0x3000, 0x4000)]),
    ]);
    let one = Element::Commit(1);
    let start = [INFO, ON, context(0xaa), to(0x1000), E, one];
    let end = [one, context(0xcc), to(0x3000), E, one];
    let before = "01 00 04 9a 00 08 00 00 81 91 aa 00 00 00 f7";
    let after = "81 91 cc 00 00 00 9a 00 18 00 00 f7";
    let isb = "f7 81 91 bb 00 00 00 06 1d";
    for (middle, bytes, want) in [
        (
            &[E, one, context(0xbb), irq(0x2010)][..],
            format!("{isb} 9a 04 10 00 00"),
            "on 1000E@aa 2000@aa 2004@aa 2008@aa 200c@bb exc14:2010@bb 3000E@cc",
        ),
        (
            &[E, one, context(0xbb), irq(0x200c)],
            format!("{isb} 9a 03 10 00 00"),
            "on 1000E@aa 2000@aa 2004@aa 2008@aa exc14:200c@bb 3000E@cc",
        ),
        (
            &[irq(0x2008)],
            String::from("06 1d 9a 02 10 00 00"),
            "on 1000E@aa 2000@aa 2004@aa exc14:2008@aa 3000E@cc",
        ),
    ] {
        let elements: Vec<Element> = start.iter().chain(middle).chain(&end).copied().collect();
        check(&unit(0), &program, &elements, &format!("{before} {bytes} {after}"), want);
    }
}

#[test]
fn k10_14_and_15_return_stack() {
    let program = memory(&[
        (0x1000, &[bl(0x1000, 0x2000), MOV, b(0x1008, 0x4000)]),
        (0x2000, &[MOV, MOV, MOV, beq(0x200c, 0x3000), MOV, RET]),
    ]);
    let want = "on 1000E 2000 2004 2008 200c 2010 2014E 1004 1008E";
    let rest = [N, E, to(0x1004), E, Element::Commit(4)];
    check_from_1000(&unit(4), &program, &rest, "f6 f7 9a 01 08 00 00 f7 2d 04", want);
    let stack = Unit { return_stack: true, ..unit(4) };
    let rest = [N, E, E, Element::Commit(4)];
    check_from_1000(&stack, &program, &rest, "f6 f7 f7 2d 04", want);
    // Without a return stack, the last atom has no address.
    let want = "on 1000E 2000 2004 2008 200c 2010 2014E";
    check_from_1000(&unit(4), &program, &rest, "f6 f7 f7 2d 04", want);
}

/// The programs of the transactions.
fn transactions() -> Memory {
    memory(&[
        (0x2000, &[TSTART, MOV, beq(0x2008, 0x2804), MOV]),
        (0x2804, &[b(0x2804, 0x3000)]),
        (0x3000, &[MOV, b(0x3004, 0x3000)]),
    ])
}

#[test]
fn k10_16_transaction() {
    let one = Element::Commit(1);
    let elements = [
        INFO,
        ON,
        context(0),
        to(0x2000),
        E,
        one,
        Element::TransactionStart,
        one,
        E,
        one,
        E,
        one,
        Element::TransactionCommit,
        E,
        one,
    ];
    check(
        &unit(0),
        &transactions(),
        &elements,
        "01 00 04 82 00 10 00 00 11 f7 0a f7 f7 0b f7",
        "on 2000 start 2004 2008E 2804E commit 3000 3004E",
    );
}

#[test]
fn k10_17_and_18_failed_transaction() {
    let one = Element::Commit(1);
    let start = [INFO, ON, context(0), to(0x2000), E, one, Element::TransactionStart, one];
    let end = [Element::TransactionFailure, to(0x2004), E, one];
    let bytes = "01 00 04 82 00 10 00 00 11 f7 0a";
    let want = "on 2000 failure 2004 2008E";
    let elements: Vec<Element> =
        start.iter().chain(&[E, one, E, one, to(0x3000)]).chain(&end).copied().collect();
    let rest = "f7 f7 9a 00 18 00 00 06 31 70 9a 01 10 00 00 f7";
    check(&unit(0), &transactions(), &elements, &format!("{bytes} {rest}"), want);

    let elements: Vec<Element> =
        start.iter().chain(&[E, E, to(0x3000), Element::Cancel(2)]).chain(&end).copied().collect();
    let rest = "2d 02 f7 f7 9a 00 18 00 00 2e 02 06 31 70 9a 01 10 00 00 f7 2d 01";
    check(&unit(8), &transactions(), &elements, &format!("{bytes} {rest}"), want);
}

#[test]
fn k10_19_misspeculated_transaction() {
    let program = memory(&[
        (0x1000, &[beq(0x1000, 0x2000), MOV, b(0x1008, 0x1000)]),
        (0x2000, &[TSTART, MOV, beq(0x2008, 0x2804), MOV]),
        (0x2804, &[b(0x2804, 0x3000)]),
    ]);
    let start = [E, Element::TransactionStart, E, E, Element::Cancel(4)];
    let end = [Element::Mispredict, E, Element::Commit(2)];
    let want = "on 1000 1004 1008E";
    let rest: Vec<Element> = start.iter().chain(&end).copied().collect();
    check_from_1000(&unit(8), &program, &rest, "f7 0a f7 f7 2e 04 30 f7 2d 02", want);
    // The Transaction Failure element is optional.
    let failed = [Element::TransactionFailure];
    let rest: Vec<Element> = start.iter().chain(&failed).chain(&end).copied().collect();
    let bytes = "f7 0a f7 f7 2e 04 06 31 70 30 f7 2d 02";
    check_from_1000(&unit(8), &program, &rest, bytes, want);
}
