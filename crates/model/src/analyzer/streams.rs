//! Streams whose meaning a decoder easily gets wrong, each with the section that gives it.

use super::tests::{Program, short};
use super::{Malformed, Output, Unit, analyze};
use crate::differential::{Code, Trial};

/// Alignment Synchronization; Trace Info, context EL1 secure A64, address 0x1000.
const P: &str = "S 01 00 04 81 11 9a 00 08 00 00";
/// The same with the address 0x4000, where TSTART is.
const PT: &str = "S 01 00 04 81 11 9a 00 20 00 00";

fn stream(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    for word in text.replace("PT", PT).replace('P', P).split_whitespace() {
        match word {
            "S" => bytes.extend([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x80]),
            byte => bytes.push(u8::from_str_radix(byte, 16).unwrap()),
        }
    }
    bytes
}

/// MAXSPEC, bytes, outputs: `!` where the stream is malformed.
#[rustfmt::skip]
const ROWS: &[(u32, &str, &str)] = &[
    // K10.5.6.2.2: an atom with an address and without a context gives up the address.
    (0, "S 01 00 9a 00 08 00 00 f7 f6 81 11 f7", ""),
    (0, "S 01 00 9a 00 08 00 00 b4 01 81 11 f7", ""),
    // K10.5.5.6.1, K10.5.6.3.12: no instructions before exceptions of types 0 and 25.
    (0, "P 06 01 9a 00 10 00 00", "on exc0:0"),
    (0, "P 06 33 9a 02 08 00 00", "on exc25:0"),
    // K10.5.2.13.1: an unknown address, with any type.
    (0, "P 06 1d 70 9a 40 08 00 00 f7", "on exc14:0 1100 1104E"),
    // K10.5.2.13.1: an exception without an address is reserved.
    (0, "P 06 1d S 01 00 82 00 18 00 00 11 f6", "on !"),
    (0, "P 06 1d 71 9a 02 08 00 00", "on !"),
    (0, "P 06 1d 81 11 9a 02 08 00 00", "on !"),
    // K10.5.5.6.1: a conditional branch before an exception was not taken.
    (0, "P 06 1d 9a 02 08 00 00", "on 1000 1004 exc14:1008"),
    // K10.5.2.11.2, K10.5.2.18.3: a Q element counts before its address.
    (2, "P f7 f6 af", "on 1000 1004E"),
    // K10.5.5.15.1: nothing is known of a Q element without a count.
    (4, "P f7 af 2d 02 9a 00 18 00 00", "on 1000 1004E Q None from 0x3000 to 0x3000"),
    (4, "P f7 af 2d 02 f7 2d 01", "on 1000 1004E Q None from 0x3000 !"),
    (4, "P f7 ac 04 2d 02 9a 00 18 00 00", "on 1000 1004E Q Some(4) from 0x3000 to 0x3000"),
    (4, "P f7 af 06 1d 9a 04 18 00 00 2d 03", "on 1000 1004E Q None from 0x3000 !"),
    // K10.5.4.3.1: a commit stays one before a Discard element.
    (0, "PT f7 0a f6 0b 00 03", "on 4000 start 4004 4008 commit Lost(Discard)"),
    (8, "PT f7 0a f6 2d 03 0b 00 03", "on 4000 start 4004 4008 commit Lost(Discard)"),
    // K10.5.3.4, Table K10-2: a Transaction Start element that is cancelled did not occur.
    (8, "PT f7 0a f6 2e 02 2d 01 00 03", "on 4000 Lost(Discard)"),
    // K10.5.2.13.2: a failure with E of 01 gives no address.
    (0, "PT f7 0a 06 31 9a 00 18 00 00 f7", "on 4000 failure !"),
    // K10.5.2.13.2: the context of an exception comes before it, and with E of 01 not at all.
    (0, "P f7 06 5c 82 00 10 00 00 20", "on 1000 1004E exc14:2000/0"),
    (0, "P f7 06 1d 82 00 18 00 00 20", "on 1000 1004E exc14:3000/1"),
    // K10.5.2.14.9: a Context packet without payload repeats the context, zero after Trace Info.
    (0, "S 01 00 80 9a 00 08 00 00 06 1d 9a 00 08 00 00", "exc14:1000/0"),
    // K10.5.2.13.2: E of 10 and no address is a Target Address element: the stack stays.
    (0, "P f7 06 40 70 9a 00 18 00 00 06 1d 90", "on 1000 1004E exc0:0 exc14:3000"),
    // K10.5.3.2: a Mispredict element for a P0 element from before the start.
    (8, "S 01 04 02 30 2d 02 04 81 11 9a 00 08 00 00 06 1d 90 2d 01", "on exc14:1000"),
    // K10.5.3: events, timestamps and Trace On elements at the end are certain.
    (0, "P 71 02 05 04", "on Event(0) Timestamp { value: 5, cycles: None } on"),
    // K10.5.2.6.1: SPEC has 96 bits; PLCTL bit 1 and INFO bit 7 are reserved.
    (8, "S 01 04 81 80 80 80 80 00 04 81 11 9a 00 08 00 00 f7 2d 02", "on 1000 1004E"),
    (0, "S 01 02 00", "!"),
    (0, "S 01 01 80 00", "!"),
    // K10.5.5.11: a Mispredict element applies to the last atom, though the program does not have
    // its instruction.
    (0, "P f7 f7 30", "on 1000 1004E no code at 0x3000"),
    // K10.5.2.13.2, K10.5.3.4: an exception that is cancelled leaves its Target Address element.
    (4, "P f7 06 5c 9a 00 20 00 00 2e 01 f7 2d 02", "on 1000 1004E 4000"),
    // K10.5.2.13.2: a PE Reset ends a transaction, and no target address comes between.
    (0, "PT f7 0a 06 40 9a 01 08 00 00", "on 4000 failure exc0:0"),
    (0, "PT f7 0a 06 01 70", "on 4000 failure exc0:0"),
    // K10.5.3.5: what is committed stays.
    (0, "P ac 01 95 01 00 03", "on Q Some(1) from 0x1000 to 0x1004 Lost(Discard)"),
    (4, "P ac 01 2d 01 06 5c 95 01 00 05", "on Q Some(1) from 0x1000 to 0x1004 Lost(Overflow)"),
    // K10.5.5.11: the branch before an atom without an instruction is not the last one.
    (0, "P 32", "on 1000 1004E no code at 0x3000"),
    (0, "P f7 f6 9a 01 08 00 00 30 33", "on 1000 1004E no code at 0x3000"),
    // K10.5.5.7.1: the instructions before the source address, up to the end of the code.
    (0, "P b4 08", "on 1000 1004 1008 no code at 0x100c"),
    // K10.5.3.4, K10.5.4.4: a Mispredict element is cancelled or fails with the transaction.
    (8, "PT f7 f7 0a 30 2e 01 2d 02", "on 4000 4004 4008E"),
    (0, "PT f7 f7 0a 30 06 31 70", "on 4000 4004 4008E failure"),
    // K10.5.5.11: a Mispredict element after a Q element contradicts nothing before it.
    (8, "P ac 02 9a 00 18 00 00 30 2d 01", "on Q Some(2) from 0x1000 to 0x3000 !"),
    // K10.5.2.18.3, K10.5.3.4: the address of a committed Q element after cancelled elements.
    (2, "P ac 02 06 1d 90 06 1d 90 2e 02 95 01", "on Q Some(2) from 0x1000 to 0x1004"),
    // K10.5.2.13.2, K10.5.3.4: the unknown target of a branch before a cancelled exception is 0.
    (4, "P f7 06 60 70 2e 01 f7 2d 02", "on 1000 1004E no code at 0x0"),
    // K10.5.2.13.1: bit 7 of the payload of an exception is not read.
    (0, "P 06 9d 95 02", "on 1000 1004 exc14:1008"),
    // K10.5.5.15.1: a count of 0 is none.
    (0, "P a5 02 00", "on Q None from 0x1000 to 0x1008"),
    // K10.5.5.18.2: an empty return stack waits for an address.
    (0, "S 01 00 f7 81 11 9a 00 08 00 00 f7", "1000 1004E"),
    // K10.5.5.7.1: a source address is ignored where the address is unknown.
    (0, "S 01 00 81 11 b6 01 08 00 00", ""),
];

fn program() -> Program {
    Program::new(&[
        // MOV; B.EQ 0x3000
        (0x1000, &[0xd503_201f, 0x5400_ffe0, 0xd503_201f]),
        // MOV; B 0x1104
        (0x1100, &[0xd503_201f, 0x1400_0000]),
        // TSTART; MOV; B.EQ 0x4008
        (0x4000, &[0xd523_3060, 0xd503_201f, 0x5400_0000, 0xd503_201f]),
    ])
}

/// An ETE with a return stack, identifiers of 4 bytes, and `TransactionStart` as a P0 element.
fn registers(max_spec_depth: u32) -> Vec<(&'static str, u32)> {
    vec![
        ("TRCCONFIGR", 0x7001),
        ("TRCTRACEIDR", 0x10),
        ("TRCIDR0", 0x0801_8ea1),
        ("TRCIDR1", 0x4100_f463),
        ("TRCIDR2", 0x1088),
        ("TRCIDR8", max_spec_depth),
        ("TRCDEVARCH", 0x4770_5a13),
    ]
}

/// The decoder finds the same.
#[test]
fn decoder() {
    let memory = program().memory;
    let differences = ROWS.iter().filter_map(|&(max_spec_depth, text, _)| {
        let trial = Trial {
            ete: true,
            registers: registers(max_spec_depth),
            code: Code { memory: memory.clone(), ..Code::default() },
            packets: vec![stream(text)],
        };
        trial.compare().err().map(|difference| format!("{text}: {difference}"))
    });
    let differences: Vec<String> = differences.collect();
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

#[test]
fn streams() {
    let program = program();
    let mut wrong = Vec::new();
    for &(max_spec_depth, text, want) in ROWS {
        let registers = registers(max_spec_depth);
        let register = |name: &str| registers.iter().find(|r| r.0 == name).map_or(0, |r| r.1);
        let unit = Unit::read(true, &register);
        let outputs = analyze(&unit, &program.memory, &stream(text));
        // The level of an exception's context, where the row has it.
        let levels = want.contains('/');
        let mut got = short(&outputs);
        if let (true, Some(Output::Exception { context: Some(context), .. })) =
            (levels, outputs.last())
        {
            got += &format!("/{}", context.exception_level);
        }
        if let Some(Output::Malformed(malformed)) = outputs.last() {
            assert_ne!(*malformed, Malformed::NoTraceInfo, "{text}");
            got = got.replace(&format!("Malformed({malformed:?})"), "!");
        }
        if got != want {
            wrong.push(format!("{text}: {got}, not {want}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
