//! The examples that the specifications print: "Example code and packets", "Code fragment and
//! transport", and Table 3.4 of 0.026.

use std::vec::Vec;

use tracewright_base::{
    Cause, Encode, Instruction, Isa, Kind, Parse, Retired, Role, Step, Taken, Wire,
};

use crate::etrace::config::{Framing, Profile, Version};
use crate::etrace::encode::{Block, Cycle, Encoder, Itype, Settings};
use crate::etrace::packet::{Envelope, Payload, Report};
use crate::etrace::{Packet, Params};

/// An instruction of `size` bytes that goes to `next`.
fn step(address: u64, size: u8, (kind, role, conditional): (Kind, Role, bool), next: u64) -> Step {
    let target = match kind {
        Kind::Branch if conditional && next == address + u64::from(size) => Some(address + 64),
        Kind::Branch => Some(next),
        _ => None,
    };
    let isa = Isa::Rv64;
    let instruction = Instruction { kind, role, size, conditional, isa, target_isa: isa, target };
    let taken = !conditional || target == Some(next);
    Step::Retired(Retired { address, next, next_isa: isa, taken, instruction })
}

const PLAIN: (Kind, Role, bool) = (Kind::Plain, Role::Jump, false);
const BRANCH: (Kind, Role, bool) = (Kind::Branch, Role::Jump, true);
const CALL: (Kind, Role, bool) = (Kind::Branch, Role::Call, false);
const JUMP: (Kind, Role, bool) = (Kind::Indirect, Role::Jump, false);
const INDIRECT_CALL: (Kind, Role, bool) = (Kind::Indirect, Role::Call, false);
const RETURN: (Kind, Role, bool) = (Kind::Indirect, Role::Return, false);

pub fn plain(address: u64) -> Step {
    step(address, 4, PLAIN, address + 4)
}

pub fn jump(address: u64, next: u64) -> Step {
    step(address, 4, JUMP, next)
}

pub fn taken(address: u64, next: u64) -> Step {
    step(address, 4, BRANCH, next)
}

/// Instructions of these sizes from `address` on, one after another.
fn straight(address: u64, sizes: &[u8]) -> Vec<Step> {
    let mut at = address;
    sizes
        .iter()
        .map(|&size| {
            let here = at;
            at += u64::from(size);
            step(here, size, PLAIN, at)
        })
        .collect()
}

fn trap(code: u16, interrupt: bool, epc: u64, target: u64) -> Step {
    Step::Exception(Taken {
        cause: Cause::Riscv { code, interrupt },
        return_address: epc,
        return_isa: Isa::Rv64,
        target,
        target_isa: Isa::Rv64,
        value: Some(0),
        cancels: false,
    })
}

/// Packets of formats 1 and 2 after a jump to the first step: branches, and address or difference.
fn reports(steps: Vec<Step>, params: &Params) -> Vec<(Option<(u8, u32)>, Report)> {
    let (mut encoder, mut packets) =
        (Encoder::new(params, &Settings::default()), Vec::<Packet>::new());
    for step in steps {
        encoder.step(&step, params, &mut packets);
    }
    let report = |packet: &Packet| match packet.payload {
        Payload::Branches(b) => Some((Some((b.map.len, b.map.bits)), b.report?)),
        Payload::Address(report) => Some((None, report)),
        _ => None,
    };
    packets.iter().filter_map(report).collect()
}

/// A jump to `address`, which is reported: differences are to it.
fn from(address: u64) -> Vec<Step> {
    std::vec![plain(0x8000_3000), jump(0x8000_3004, address)]
}

/// "Example code and packets", 1 to 5.
#[test]
fn calls_and_returns() {
    let params = Params::default();
    let difference = |by: u64| Report { address: by >> 1 & (u64::MAX >> 1), ..Report::default() };
    // 1: the target of the JAL is inferable. 2: that of the RET is not.
    let full = {
        let mut params = params;
        params.options.full_address = true;
        params
    };
    let mut steps = from(0x8000_1a80);
    steps.extend([plain(0x8000_1a80), step(0x8000_1a84, 4, CALL, 0x8000_1178)]);
    steps.extend([step(0x8000_1178, 2, PLAIN, 0x8000_117a), jump(0x8000_117a, 0x8000_1188)]);
    steps.extend([step(0x8000_1188, 2, PLAIN, 0x8000_118a)]);
    steps.extend([step(0x8000_118a, 2, RETURN, 0x8000_1a88), plain(0x8000_1a88)]);
    steps.push(plain(0x8000_1a8c));
    let all = reports(steps, &full);
    let address = |address: u64| Report { address: address >> 1, ..Report::default() };
    let want = [0x8000_1a80, 0x8000_1188, 0x8000_1a88].map(|at| (None, address(at)));
    assert_eq!(all, want);

    // 3: a taken branch, then a RET.
    let mut steps = from(0x8000_10da);
    steps.extend(straight(0x8000_10da, &[2]));
    steps.push(taken(0x8000_10dc, 0x8000_10ec));
    steps.extend(straight(0x8000_10ec, &[2, 2, 2, 2, 2]));
    steps.extend([step(0x8000_10f6, 2, RETURN, 0x8000_1b8a), plain(0x8000_1b8a)]);
    steps.push(plain(0x8000_1b8e));
    let all = reports(steps, &params);
    assert_eq!(all.last(), Some(&(Some((1, 0b0)), difference(0xab0))));

    // 4: three branches, then a RET.
    let mut steps = from(0x8000_1110);
    steps.extend(straight(0x8000_1110, &[2, 2, 2]));
    steps.push(step(0x8000_1116, 4, BRANCH, 0x8000_111a));
    steps.push(step(0x8000_111a, 2, BRANCH, 0x8000_111c));
    steps.extend(straight(0x8000_111c, &[2]));
    steps.push(taken(0x8000_111e, 0x8000_115e));
    steps.extend(straight(0x8000_115e, &[2, 2, 2, 2, 2]));
    steps.extend([step(0x8000_1168, 2, RETURN, 0x8000_1258), plain(0x8000_1258)]);
    steps.push(plain(0x8000_125c));
    let all = reports(steps, &params);
    assert_eq!(all.last(), Some(&(Some((3, 0b011)), difference(0x148))));

    // 5: two branches, two JALs and a RET; and a packet of format 3 follows.
    let mut steps = from(0x8000_121c);
    steps.extend(straight(0x8000_121c, &[2]));
    steps.push(step(0x8000_121e, 2, BRANCH, 0x8000_124a));
    steps.extend(straight(0x8000_124a, &[2, 2, 4, 2]));
    steps.push(step(0x8000_1254, 4, CALL, 0x8000_1100));
    steps.extend(straight(0x8000_1100, &[2, 2, 2, 2, 2, 2]));
    steps.push(step(0x8000_110c, 4, CALL, 0x8000_10f8));
    steps.extend(straight(0x8000_10f8, &[2, 4]));
    steps.push(step(0x8000_10fe, 2, RETURN, 0x8000_1110));
    steps.push(step(0x8000_1110, 2, BRANCH, 0x8000_1112));
    steps.extend([trap(7, true, 0x8000_1112, 0x8000_01b0), plain(0x8000_01b0)]);
    steps.push(plain(0x8000_01b4));
    let all = reports(steps, &params);
    let last = Report { updiscon: true, ..difference(0xffff_ffff_ffff_fef4) };
    assert_eq!(all.last(), Some(&(Some((2, 0b10)), last)));
}

/// The unit of the printed fragments: full addresses, `iaddress_lsb` 0.
fn fragments() -> Params {
    let mut params = Params::of(Profile::ReferenceFlow, true);
    params.widths.iaddress_lsb = 0;
    params.options.full_address = true;
    params
}

/// Payloads that steps give, without headers.
fn payloads(steps: &[Step], params: &Params) -> Vec<Vec<u8>> {
    let (mut encoder, mut packets) =
        (Encoder::new(params, &Settings::default()), Vec::<Packet>::new());
    steps.iter().for_each(|step| encoder.step(step, params, &mut packets));
    let bytes = |packet: &Packet| {
        let mut bytes = Vec::new();
        packet.emit(params, &mut bytes);
        bytes.split_off(1)
    };
    packets.iter().map(bytes).collect()
}

/// "Illegal Opcode test": an exception at the target of a jump.
#[test]
fn illegal_opcode() {
    let steps = [
        plain(0x8000_0150),
        taken(0x8000_0154, 0x8000_0154),
        step(0x8000_0154, 2, INDIRECT_CALL, 0x8000_0104),
        plain(0x8000_0104),
        plain(0x8000_0108),
        step(0x8000_010c, 2, JUMP, 0x8000_0222),
        trap(2, false, 0x8000_0222, 0x8000_01b0),
        step(0x8000_01b0, 2, PLAIN, 0x8000_01e0),
        plain(0x8000_01e0),
        plain(0x8000_01e4),
    ];
    let got = payloads(&steps, &fragments());
    let [.., jumped, last, exception, handler] = &got[..] else { panic!("{got:02x?}") };
    assert_eq!(jumped[..], [0x05, 0x04, 0x01, 0x00, 0x80, 0x00]);
    assert_eq!(last[..], [0x32, 0x04, 0x00, 0x00, 0x02]);
    assert_eq!(exception[..], [0x77, 0x00, 0x00, 0x00, 0x00, 0x81, 0x88, 0x00, 0x00, 0x20]);
    // What is printed for the start, 6c 00 00 10 at its end, is not the address beside it.
    assert_eq!(handler[..], [0x73, 0x00, 0x00, 0x00, 0x00, 0xd8, 0x00, 0x00, 0x40]);
}

/// "Timer Long Loop": an interrupt after 15 branches.
#[test]
fn timer_long_loop() {
    let mut steps = std::vec![plain(0x8000_0180)];
    // Every other branch was taken: 21845 is 101010101010101 in binary, the oldest not taken.
    for n in 0..15 {
        let at = 0x8000_0184 + 4 * n;
        steps.push(step(at, 4, BRANCH, if n % 2 == 0 { at + 4 } else { at + 4 + 64 }));
    }
    steps.extend(straight(0x8000_01a2, &[4]));
    steps.extend([trap(7, true, 0x8000_01a6, 0x8000_01b0)]);
    steps.extend(straight(0x8000_01b0, &[2]));
    steps.extend([plain(0x8000_01e0), plain(0x8000_01e4)]);
    let got = payloads(&steps, &fragments());
    let [.., last, interrupt] = &got[..] else { panic!("{got:02x?}") };
    assert_eq!(last[..], [0xbd, 0xaa, 0xaa, 0x68, 0x00, 0x00, 0x20]);
    assert_eq!(interrupt[..], [0x77, 0x00, 0x00, 0x00, 0x80, 0x33, 0x6c, 0x00, 0x00, 0x20]);
}

/// "Startup xrle": the support packet, and the first start.
#[test]
fn startup() {
    let steps = straight(0x2001_0522, &[2, 2, 2, 2, 4]);
    let got = payloads(&steps, &fragments());
    let [support, start] = &got[..] else { panic!("{got:02x?}") };
    assert_eq!(support[..2], [0x1f, 0x04]);
    assert_eq!(start[..], [0x73, 0x00, 0x00, 0x00, 0x00, 0x91, 0x82, 0x00, 0x10]);
}

/// "Siemens transport": a header byte, an index of 6 bits, 2 bits of type, the payload.
#[test]
fn siemens_transport() {
    let mut params = fragments();
    params.link.framing = Framing::Encapsulated;
    (params.link.source_width, params.link.type_width) = (6, 2);
    let report = Report { address: 0x8000_010c, ..Report::default() };
    let envelope = Envelope { source: 1, ..Envelope::default() };
    let packet = Packet { envelope, payload: Payload::Address(report) };
    let mut bytes = Vec::new();
    packet.emit(&params, &mut bytes);
    // It prints 0x41 for the second byte, with a type of 01; te_inst is 10. The encapsulation
    // counts that byte, whose bits are not whole ones of the index, in the length.
    assert_eq!(bytes, [0x06, 0x81, 0x32, 0x04, 0x00, 0x00, 0x02]);
    assert_eq!(Packet::parse(&bytes, &params), Parse::Packet(packet, bytes.len()));
}

/// The blocks of Table 3.4 (0.026), by the codes that it prints: `itype` 4 for C.JALR, 6 for the
/// taken branch; and 9 instructions in one cycle.
#[test]
fn nine_instructions_in_a_cycle() {
    let mut params = Params::spec(Version::Draft, true);
    params.choices.itype4_call = true;
    let mut cycle = Cycle { privilege: 3, ..Cycle::default() };
    for (block, (iaddr, iretire, ilastsize, itype, ntkn)) in cycle.blocks.iter_mut().zip([
        (0x1000, 7, 1, 4, 0),
        (0x940, 4, 1, 6, 1),
        (0x988, 4, 2, 0, 0),
    ]) {
        let itype = Itype::read(itype, &params).unwrap();
        *block = Block { iaddr, iretire, ilastsize, itype, ntkn, ..Block::default() };
    }
    // Half words: 2 + 2 + 2 + 1; 2 + 1 + 1, the table's 1004 and 1008 are 944 and 946; 2 + 2.
    let lasts: Vec<_> = cycle.blocks[..3].iter().map(Block::last).collect();
    assert_eq!(lasts, [0x100c, 0x946, 0x98c]);
    params.port.taken_branches = 3;
    let settings = Settings::default();
    let (mut encoder, mut packets) = (Encoder::new(&params, &settings), Vec::<Packet>::new());
    encoder.cycle(&cycle, &params, &mut packets).unwrap();
    encoder.finish(&params, &mut packets);

    // The same, one instruction at a time: two branches, not three.
    let mut steps = straight(0x1000, &[4, 4, 4]);
    steps.push(step(0x100c, 2, INDIRECT_CALL, 0x940));
    steps.extend(straight(0x940, &[4]));
    steps.push(step(0x944, 2, BRANCH, 0x946));
    steps.push(step(0x946, 2, BRANCH, 0x988));
    steps.extend(straight(0x988, &[4, 4]));
    let (mut single, mut want) = (Encoder::new(&params, &settings), Vec::<Packet>::new());
    steps.iter().for_each(|step| single.step(step, &params, &mut want));
    single.finish(&params, &mut want);
    assert_eq!(packets, want);
    let Some(Payload::Branches(rest)) = packets.iter().rev().nth(1).map(|p| p.payload) else {
        panic!("{packets:?}")
    };
    assert_eq!((rest.map.len, rest.map.bits), (2, 0b01));
}
