//! Packets to elements. The bytes and elements were written by hand from IHI 0035.

use std::vec::Vec;

use tracewright_base::{
    Context, Counted, Element, Exception, Fault, Gap, Inconsistency, Instruction, Isa, Kind, Last,
    Range, Role, Security, Space, Start,
};

use super::program::{ARM, Program, THUMB, program, straight};
use super::{CONFIGS, COUNTED, PLAIN, RICH, STACK};
use crate::ptm::{Config, Ptm};
use crate::ways;

/// A-sync, and an I-sync at 0x8000: A32, secure, periodic. 12 bytes.
const HEAD: &[u8] = &[0, 0, 0, 0, 0, 0x80, 0x08, 0x00, 0x80, 0x00, 0x00, 0x01];

const SECURE: Context = Context {
    context_id: None,
    vmid: None,
    el: None,
    security: Some(Security::Secure),
    bits64: false,
    isa: Isa::A32,
};

/// The elements of [`HEAD`].
const STARTED: [(u64, Element); 3] = [
    (0, Element::Gap(Gap::Start)),
    (6, Element::TraceOn(Start::Normal)),
    (6, Element::Context(SECURE)),
];

/// Decodes `HEAD` and `bytes`. `want` has the elements of `bytes`, with offsets from their first
/// byte.
#[track_caller]
fn after_head(config: &Config, code: &Program, bytes: &[u8], want: &[(u64, Element)]) {
    let want = want.iter().map(|&(at, element)| (at + HEAD.len() as u64, element));
    let end = (HEAD.len() + bytes.len()) as u64;
    let want: Vec<_> = STARTED.into_iter().chain(want).collect();
    let bytes = [HEAD, bytes].concat();
    let mut got = ways::check::<Ptm, _>(config, &mut code.clone(), &bytes).elements;
    // The end has the offset of the last packet.
    let last = got.pop();
    assert!(matches!(last, Some((at, Element::End)) if at <= end), "{last:?}");
    assert_eq!(got, want);
}

/// A range with its last instruction, and whether that was taken.
fn ran(start: u64, instructions: u32, last: Instruction, taken: bool) -> Element {
    counted(start, instructions, last, taken, Counted::UNKNOWN)
}

fn counted(
    start: u64,
    instructions: u32,
    last: Instruction,
    taken: bool,
    cycles: Counted,
) -> Element {
    let bytes = instructions * u32::from(last.size);
    Element::Range(Range { start, bytes, instructions, cycles, last: Last::new(&last, taken) })
}

const fn branch(of: Instruction) -> Instruction {
    Instruction { kind: Kind::Branch, ..of }
}

const fn conditional(of: Instruction) -> Instruction {
    Instruction { conditional: true, ..of }
}

const fn call(of: Instruction) -> Instruction {
    Instruction { role: Role::Call, ..of }
}

const fn indirect(of: Instruction) -> Instruction {
    Instruction { kind: Kind::Indirect, ..of }
}

const fn back(of: Instruction) -> Instruction {
    Instruction { role: Role::ImpliedReturn, ..indirect(of) }
}

const ISB: Instruction = Instruction { kind: Kind::Isb, ..ARM };

#[test]
fn instruction_sync() {
    let turned_on = |reason: u8| [0x08, 0x10, 0x80, 0x00, 0x00, reason << 5 | 1];
    let code = program();
    // Periodic: the address and the context are known.
    after_head(&PLAIN, &code, &HEAD[6..], &[]);
    for (reason, start) in [(1, Start::Normal), (2, Start::Overflow), (3, Start::Debug)] {
        let want = [(0, Element::TraceOn(start)), (6, ran(0x8010, 1, branch(ARM), true))];
        after_head(&PLAIN, &code, &[&turned_on(reason)[..], &[0x84]].concat(), &want);
    }
    // Another instruction set, NS and Hyp: a context, and code of another memory space.
    let want = [
        (0, Element::TraceOn(Start::Normal)),
        (
            0,
            Element::Context(Context {
                el: Some(2),
                security: Some(Security::NonSecure),
                isa: Isa::T32,
                ..SECURE
            }),
        ),
        (
            6,
            Element::NoCode {
                address: 0xa000,
                space: Space::new(Some(2), Some(Security::NonSecure)),
            },
        ),
    ];
    after_head(&PLAIN, &code, &[0x08, 0x01, 0xa0, 0x00, 0x00, 0x2b, 0x84], &want);
    // A periodic I-sync at another address: the program image is wrong.
    let want = [
        (0, Element::Inconsistency(Inconsistency::AddressNotReached)),
        (6, ran(0x8010, 1, branch(ARM), true)),
    ];
    after_head(&PLAIN, &code, &[&turned_on(0)[..], &[0x84]].concat(), &want);
}

/// Nothing is reported before the first I-sync, but a context ID before it is stored.
#[test]
fn before_instruction_sync() {
    let bytes = [
        &[0x42, 0x01][..],
        &HEAD[..6],
        &[0xc8, 0x2f, 0x0c, 0x76, 0x3c, 0x05, 0x42, 0x01, 0x6e, 1, 0, 0, 0],
        &[0x08, 0x00, 0x80, 0x00, 0x00, 0x01, 2, 0, 0, 0],
    ]
    .concat();
    let context = Context { vmid: Some(5), context_id: Some(2), ..SECURE };
    let got = ways::check::<Ptm, _>(&RICH, &mut program(), &bytes).elements;
    assert_eq!(
        got,
        [
            (0, Element::Gap(Gap::Start)),
            (0, Element::Undecodable { len: 2, fault: Fault::Unsynchronised }),
            (21, Element::TraceOn(Start::Normal)),
            (21, Element::Context(context)),
            (21, Element::End),
        ]
    );
}

#[test]
fn atoms_follow_the_program() {
    // N at 0x8004, E at 0x800c
    let want = [
        (0, ran(0x8000, 2, conditional(branch(ARM)), false)),
        (0, ran(0x8008, 2, call(branch(ARM)), true)),
    ];
    after_head(&PLAIN, &program(), &[0b1000_1100], &want);
    // E at 0x8004, E at 0x8014 into T32
    let want = [
        (0, ran(0x8000, 2, conditional(branch(ARM)), true)),
        (0, ran(0x8014, 1, call(branch(ARM)), true)),
        (1, ran(0x9000, 2, back(THUMB), false)),
    ];
    // N for an unconditional branch indicates a wrong image: the BX at 0x9002.
    let want =
        [&want[..], &[(1, Element::Inconsistency(Inconsistency::UnconditionalNotTaken))]].concat();
    after_head(&PLAIN, &program(), &[0b1000_1000, 0b1000_0110], &want);
}

#[test]
fn branches() {
    let sync = |address: u8| [0x08, address, 0x80, 0x00, 0x00, 0x21];
    let on = (0, Element::TraceOn(Start::Normal));
    // ISB is a waypoint; a branch address is also the E of the BLX; then BX LR.
    let want = [
        on,
        (6, ran(0x8018, 1, ISB, true)),
        (7, ran(0x801c, 1, call(indirect(ARM)), true)),
        (8, ran(0x8024, 2, back(ARM), true)),
        (9, ran(0x8020, 1, conditional(indirect(ARM)), false)),
    ];
    // 0x8024 >> 2 & 0x3f = 0b00_1001; 0x8020 >> 2 & 0x3f = 0b00_1000
    let bytes = [&sync(0x18)[..], &[0x84, 0b0001_0011, 0b0001_0001, 0x86]].concat();
    after_head(&PLAIN, &program(), &bytes, &want);
    // No exception, but NS: the branch is also an E, and the security state changes.
    let context = Context { security: Some(Security::NonSecure), ..SECURE };
    let want = [
        on,
        (6, ran(0x8024, 2, back(ARM), true)),
        (6, Element::Context(context)),
        (9, ran(0x8010, 1, branch(ARM), true)),
    ];
    // two address bytes: 0x8010 >> 2 & 0xfff = 0x004, E | NS
    let bytes = [&sync(0x24)[..], &[0b1000_1001, 0b0100_0000, 0x01, 0x84]].concat();
    after_head(&PLAIN, &program(), &bytes, &want);
}

#[test]
fn return_stack() {
    let call_and_return = [
        (0, ran(0x8000, 2, conditional(branch(ARM)), false)),
        (0, ran(0x8008, 2, call(branch(ARM)), true)),
        (0, ran(0x8024, 2, back(ARM), true)),
    ];
    // N, E to 0x8024, E back to 0x8010
    let want = [&call_and_return[..], &[(0, ran(0x8010, 1, branch(ARM), true))]].concat();
    after_head(&STACK, &program(), &[0b1011_0000], &want);
    // The stack is not used: an E without an address.
    let lost =
        [&call_and_return[..], &[(0, Element::Inconsistency(Inconsistency::ReturnStackEmpty))]]
            .concat();
    after_head(&PLAIN, &program(), &[0b1011_0000], &lost);
    // From A32 to T32 and back: the entry has the instruction set.
    let want = [
        (0, ran(0x8000, 2, conditional(branch(ARM)), true)),
        (0, ran(0x8014, 1, call(branch(ARM)), true)),
        (0, ran(0x9000, 2, back(THUMB), true)),
        (0, ran(0x8018, 1, ISB, true)),
    ];
    after_head(&STACK, &program(), &[0b1010_0000], &want);
    // An I-sync empties the stack.
    let want = [
        (0, ran(0x8000, 2, conditional(branch(ARM)), false)),
        (0, ran(0x8008, 2, call(branch(ARM)), true)),
        (7, ran(0x8024, 2, back(ARM), true)),
        (7, Element::Inconsistency(Inconsistency::ReturnStackEmpty)),
        // A branch address resumes decoding.
        (9, ran(0x8018, 1, ISB, true)),
    ];
    let bytes = [0b1000_1100, 0x08, 0x24, 0x80, 0, 0, 0x01, 0x84, 0b0000_1101, 0x84];
    after_head(&STACK, &program(), &bytes, &want);
    // A branch address pops no entry.
    let want = [
        (0, ran(0x8000, 2, conditional(branch(ARM)), false)),
        (0, ran(0x8008, 2, call(branch(ARM)), true)),
        (1, ran(0x8024, 2, back(ARM), true)),
        (2, ran(0x8024, 2, back(ARM), true)),
        (2, ran(0x8010, 1, branch(ARM), true)),
    ];
    after_head(&STACK, &program(), &[0b1000_1100, 0b0001_0011, 0b1000_1000], &want);
}

#[test]
fn waypoint_updates() {
    let here = |isa_bytes: &[u8]| [&[0x72][..], isa_bytes].concat();
    // Up to and including 0x8000: one instruction, and then the exception.
    let irq = Element::Exception(Exception {
        number: 14,
        return_address: Some(0x8004),
        also_target: false,
        tail_chain: false,
    });
    let bytes = [&here(&[0x01])[..], &[0x8d, 0x80, 0xfe, 0xff, 0x4f, 0x1c]].concat();
    let want = [(0, ran(0x8000, 1, ARM, true)), (2, irq)];
    after_head(&PLAIN, &program(), &bytes, &want);
    // Short blocks before the target; then the atom continues from there.
    let mut code = straight(5000);
    let sync = [0x08, 0x00, 0x00, 0x01, 0x00, 0x21];
    // 0x10000 + 4 * 3000 = 0x12ee0: three address bytes, bits 20:2 = 0x4bb8
    let bytes = [&sync[..], &here(&[0x80 | 0x38 << 1 | 1, 0x80 | 0x2e, 0x02])].concat();
    let want = [(0, Element::TraceOn(Start::Normal)), (6, ran(0x1_0000, 3001, ARM, true))];
    after_head(&PLAIN, &code, &bytes, &want);
    // The program has no waypoint for an atom: the code ends first.
    let want = [&want[..], &[(10, ran(0x1_2ee4, 1999, ARM, true)), no_code(10, 0x1_4e20)]].concat();
    after_head(&PLAIN, &code, &[&bytes[..], &[0x84]].concat(), &want);
    // Not reached: after a branch; backwards; not at the address of an instruction.
    let inconsistency = Element::Inconsistency(Inconsistency::AddressNotReached);
    for (address, ran_before) in [
        (0x8008, Some(ran(0x8000, 2, conditional(branch(ARM)), true))),
        (0x7ffc, None),
        (0x8002, Some(ran(0x8000, 1, ARM, true))),
    ] {
        let bits = address >> 1;
        let at = |k: u32| 0x80 | (bits >> k) as u8 & 0x7f;
        // A whole address in T32 form has bit 1.
        let first = 0x80 | (bits as u8 & 0x3f) << 1 | 1;
        let last = 0x10 | (bits >> 27) as u8 & 0x0f;
        let bytes = here(&[first, at(6), at(13), at(20), last]);
        let want: Vec<_> = ran_before.into_iter().chain([inconsistency]).map(|e| (0, e)).collect();
        after_head(&PLAIN, &program(), &bytes, &want);
    }
    code = straight(1);
    let want = [
        (0, Element::TraceOn(Start::Normal)),
        (6, ran(0x1_0000, 1, ARM, true)),
        no_code(6, 0x1_0004),
    ];
    let bytes = [&sync[..], &here(&[0x80 | 0x04 << 1 | 1, 0x00])].concat();
    after_head(&PLAIN, &code, &bytes, &want);
}

fn no_code(at: u64, address: u64) -> (u64, Element) {
    (at, Element::NoCode { address, space: SECURE.space() })
}

/// A walk to a waypoint ends after a limited amount of straight code.
#[test]
fn long_runs_end() {
    let bytes = [0x08, 0x00, 0x00, 0x01, 0x00, 0x21, 0x84, 0x84];
    let want = [
        (0, Element::TraceOn(Start::Normal)),
        (6, ran(0x1_0000, 0x4000, ARM, true)),
        (6, Element::Inconsistency(Inconsistency::AddressNotReached)),
    ];
    after_head(&PLAIN, &straight(20_000), &bytes, &want);
}

#[test]
fn exceptions() {
    let taken = |number, return_address| {
        Element::Exception(Exception {
            number,
            return_address,
            also_target: false,
            tail_chain: false,
        })
    };
    // Secure monitor call from secure to non-secure state at 0x8024, exception 2.
    // two address bytes, 0x8024 >> 2 & 0xfff = 0x009
    let context = Context { security: Some(Security::NonSecure), ..SECURE };
    let want = [
        (0, taken(2, Some(0x8000))),
        (0, Element::Context(context)),
        (3, ran(0x8024, 2, back(ARM), true)),
        (4, Element::ExceptionReturn),
    ];
    let bytes = [0b1001_0011, 0b0100_0000, 0b0000_0101, 0b0001_0001, 0x76];
    after_head(&PLAIN, &program(), &bytes, &want);
    // Entry to Debug state: the address has no meaning; atoms are ignored up to an I-sync.
    let want = [
        (0, taken(1, Some(0x8000))),
        (7, Element::TraceOn(Start::Debug)),
        (13, ran(0x8010, 1, branch(ARM), true)),
    ];
    let bytes = [
        &[0x81, 0x80, 0x80, 0x80, 0x48, 0x02, 0xc0][..],
        &[0x08, 0x10, 0x80, 0x00, 0x00, 0x61, 0x84],
    ]
    .concat();
    after_head(&PLAIN, &program(), &bytes, &want);
    // Entry to Hyp mode: both information bytes.
    let hyp = Context { el: Some(2), ..context };
    let want = [(0, taken(3, Some(0x8000))), (0, Element::Context(hyp))];
    after_head(&PLAIN, &program(), &[0b1001_0011, 0b0100_0000, 0b1000_0111, 0x20], &want);
}

#[test]
fn cycle_counts() {
    let n = Counted::of;
    let cycles = |count| Element::Cycles(Some(count));
    // Atom N with 3 cycles, E with 16 | 1, branch address with 10, all in ranges.
    let want = [
        (0, counted(0x8000, 2, conditional(branch(ARM)), false, n(3))),
        (1, counted(0x8008, 2, call(branch(ARM)), true, n(17))),
        (3, counted(0x8024, 2, back(ARM), true, n(10))),
        // The count of an exception comes before it.
        (5, cycles(2)),
        (
            5,
            Element::Exception(Exception {
                number: 14,
                return_address: Some(0x8010),
                also_target: false,
                tail_chain: false,
            }),
        ),
        // So does the count of a trace-on. 0xffff0018 is not in the program.
        (12, cycles(51)),
        (12, Element::TraceOn(Start::Normal)),
        (20, counted(0x8010, 1, branch(ARM), true, n(1))),
    ];
    let bytes = [
        &[0x8e, 0xc4, 0x01, 0b0000_1001, 10 << 2][..],
        &[0x8d, 0x80, 0xfe, 0xff, 0x4f, 0x1c, 2 << 2],
        &[0x08, 0x10, 0x80, 0x00, 0x00, 0x21, 0xcc, 0x03],
        &[0x84],
    ]
    .concat();
    after_head(&COUNTED, &program(), &bytes, &want);
    // A count without a range is a separate element: the sum of all is the elapsed time.
    let want = [
        (0, counted(0x8000, 2, conditional(branch(ARM)), true, n(1))),
        (1, counted(0x8014, 1, call(branch(ARM)), true, n(1))),
        (2, counted(0x9000, 2, back(THUMB), true, n(1))),
        (2, Element::Inconsistency(Inconsistency::ReturnStackEmpty)),
        (3, cycles(4)),
    ];
    after_head(&COUNTED, &program(), &[0x84, 0x84, 0x84, 0x90], &want);
    // From PFTv1.1 the count of an I-sync after an overflow or from Debug state is not valid.
    let newer = Config { id: Some(0x411c_f312), ..COUNTED };
    for (reason, start) in [(0x41, Start::Overflow), (0x61, Start::Debug)] {
        let bytes = [0x08, 0x10, 0x80, 0x00, 0x00, reason, 0xcc, 0x03];
        let on = (0, Element::TraceOn(start));
        after_head(&COUNTED, &program(), &bytes, &[(0, cycles(51)), on]);
        after_head(&newer, &program(), &bytes, &[(0, Element::Cycles(None)), on]);
    }
}

#[test]
fn timestamps() {
    let time = |value| Element::Timestamp { value, cycles: None };
    // Gray code of 48 bits: in part, then whole, then the low 7 bits of it.
    let bytes = [
        &[0x42, 0x7f, 0x04][..],
        &[0x42, 0xe7, 0xf0, 0xae, 0xc8, 0x8e, 0x8b, 0x00, 0x0c],
        &[0x42, 0x60, 0x00],
    ]
    .concat();
    let want = [
        // 0x7f and seven bits of 48: not known, but the cycles are
        (0, Element::Cycles(Some(1))),
        (3, Element::Cycles(Some(3))),
        (3, time(0x6f_4e0d_2fba)),
        (12, Element::Cycles(Some(0))),
        // 0x58e90bb860
        (12, time(0x6f_4e0d_2fbf)),
    ];
    after_head(&COUNTED, &program(), &bytes, &want);
    // Binary of 64 bits.
    let wide = Config { control: 0, ..RICH };
    let bytes =
        [&[0x42, 0xcc, 0x97, 0xc6, 0xce, 0xaf, 0x90, 0x80, 0x80, 0x00][..], &[0x46, 0x80, 0x18]]
            .concat();
    let want = [(0, time(0x82_f9d1_8bcc)), (10, time(0x82_f9d1_8c00))];
    after_head(&wide, &program(), &bytes, &want);
}

#[test]
fn contexts() {
    let config = Config { control: 1 << 30 | 0b10 << 14, ..PLAIN };
    let with = |context_id, vmid| Element::Context(Context { context_id, vmid, ..SECURE });
    let sync = [0x08, 0x00, 0x80, 0x00, 0x00, 0x21, 0x34, 0x12];
    let bytes = [
        HEAD,
        &[0x07, 0x00],
        &[0x6e, 0x07, 0x00],
        &[0x6e, 0x34, 0x12],
        &[0x3c, 0x09],
        &[0x3c, 0x09],
        &sync[..],
        // periodic, nothing new; then something new
        &[0x08, 0x00, 0x80, 0x00, 0x00, 0x01, 0x34, 0x12],
        &[0x08, 0x00, 0x80, 0x00, 0x00, 0x01, 0x35, 0x12],
    ]
    .concat();
    let got = ways::check::<Ptm, _>(&config, &mut program(), &bytes).elements;
    assert_eq!(
        got,
        [
            STARTED[0],
            STARTED[1],
            (6, with(Some(7), None)),
            (17, with(Some(0x1234), None)),
            (20, with(Some(0x1234), Some(9))),
            (24, Element::TraceOn(Start::Normal)),
            (24, with(Some(0x1234), Some(9))),
            (40, with(Some(0x1235), Some(9))),
            (40, Element::End),
        ]
    );
}

#[test]
fn trigger_and_ignore() {
    after_head(
        &PLAIN,
        &program(),
        &[0x0c, 0x66, 0x0c],
        &[(0, Element::Trigger), (2, Element::Trigger)],
    );
}

/// After undecodable bytes decoding restarts at the next A-sync and I-sync.
#[test]
fn undecodable_bytes() {
    let bytes = [&[0x0c, 0x10, 0xc8, 0x0c][..], HEAD, &[0x86]].concat();
    after_head(
        &PLAIN,
        &program(),
        &bytes,
        &[
            (0, Element::Trigger),
            (1, Element::Gap(Gap::BadPacket)),
            (1, Element::Undecodable { len: 1, fault: Fault::Reserved(0x10) }),
            (2, Element::Undecodable { len: 2, fault: Fault::Unsynchronised }),
            (10, Element::TraceOn(Start::Normal)),
            (10, Element::Context(SECURE)),
            (16, ran(0x8000, 2, conditional(branch(ARM)), false)),
        ],
    );
    // A truncated packet at the end withdraws nothing.
    after_head(
        &PLAIN,
        &program(),
        &[0x86, 0x42],
        &[
            (0, ran(0x8000, 2, conditional(branch(ARM)), false)),
            (1, Element::Undecodable { len: 1, fault: Fault::Truncated }),
        ],
    );
}

/// ThumbEE and Jazelle code is not followed. Decoding resumes at the next address.
#[test]
fn instruction_sets_that_cannot_be_followed() {
    let back_to_arm = [0x89, 0x80, 0x81, 0x80, 0x08];
    let go_on = |at| (at, ran(0x8010, 1, branch(ARM), true));
    for enter in [&[0x81, 0x80, 0x80, 0x80, 0x58, 0x40][..], &[0x81, 0x80, 0x80, 0x80, 0x30]] {
        let n = enter.len() as u64;
        let bytes = [enter, &[0xc0, 0x84], &back_to_arm, &[0x84]].concat();
        after_head(
            &PLAIN,
            &program(),
            &bytes,
            &[
                // the branch itself: 0x8004 was taken, to where it does not lead
                (0, ran(0x8000, 2, conditional(branch(ARM)), true)),
                (0, Element::Inconsistency(Inconsistency::AddressNotReached)),
                (n, Element::Inconsistency(Inconsistency::UnsupportedIsa)),
                go_on(n + 7),
            ],
        );
    }
}

#[test]
fn garbage() {
    let mut random = ways::Random::new(0x9e37_79b9_7f4a_7c15);
    for _ in 0..400 {
        let mut bytes = HEAD.to_vec();
        bytes.extend(random.bytes(60));
        for config in &CONFIGS {
            ways::garbage::<Ptm, _>(config, &mut program(), &bytes);
            ways::garbage::<Ptm, _>(config, &mut program(), &bytes[13..]);
        }
    }
}
