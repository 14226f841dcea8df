//! Decoding of packets that were written by hand from IHI 0014. V1 to V42 are worked examples of
//! the specification's text.

use std::string::String;
use std::vec::Vec;

use super::program::{Program, arm, described, thumb};
use super::*;
use crate::etmv3::history::from_gray;
use crate::etmv3::{Etmv3, History, Packet};
use crate::ways;

const NOP: u32 = 0xe1a0_0000;
const BX_LR: u32 = 0xe12f_ff1e;
/// `movs pc, lr`
const MOVS_PC_LR: u32 = 0xe1b0_f00e;
const T_NOP: u16 = 0x46c0;
const T_BX_LR: u16 = 0x4770;

/// I-syncs at 0x8000: tracing enabled, secure.
const ARM: &[u8] = &[0x08, 0x21, 0x00, 0x80, 0x00, 0x00];
const THUMB: &[u8] = &[0x08, 0x21, 0x01, 0x80, 0x00, 0x00];

/// The elements of an I-sync.
const ON_ARM: [&str; 3] = ["gap: start of trace", "on", "in A32"];
const ON_THUMB: [&str; 3] = ["gap: start of trace", "on", "in T32"];

#[track_caller]
fn check(config: &Config, code: &Program, isync: &[u8], bytes: &[u8], want: &[&str]) {
    let on = if isync == THUMB { ON_THUMB } else { ON_ARM };
    let got = described(config, code, isync, bytes);
    let (head, got) = got.split_at(on.len().min(got.len()));
    assert_eq!(head, on, "{bytes:02x?}");
    let want: Vec<String> = want.iter().map(|&word| word.into()).collect();
    assert_eq!(got, want, "{bytes:02x?}");
}

#[test]
fn instructions() {
    let plain = unit(5, 0);
    // 8000 nop; 8004 b 0x8010; 8008 nop; 800c nop; 8010 bx lr; 8014 nop
    let code = &arm(&[NOP, 0xea00_0001, NOP, NOP, BX_LR, NOP]);
    for (bytes, want) in [
        (&[0x88][..], &["8000E", "8004E"][..]),
        (&[0xc8], &["8000E", "8004E", "8010N"]),
        (&[0xc4, 0x84], &["8000E", "8004N", "8008E"]),
        // The branch packet has the target of the indirect branch.
        (&[0x8c, 0x03, 0x84], &["8000E", "8004E", "8010E", "8004E"]),
        // Without it the next address is unknown.
        (&[0x90], &["8000E", "8004E", "8010E", "inconsistency: NoAddress"]),
        // Of several packets for one instruction the last one is valid.
        (&[0x8c, 0x01, 0x03, 0x84], &["8000E", "8004E", "8010E", "8004E"]),
        // The instruction before a branch packet is none that leads to its target.
        (
            &[0x84, 0x0b, 0x88, 0x84],
            &["8000E", "inconsistency: AddressNotReached", "8014E", "no code at 8018"],
        ),
        (&[0x80, 0x84], &["8000E"]),
    ] {
        check(&plain, code, ARM, bytes, want);
    }
}

/// V34, V35: a CBZ that falls through is N. Every other write to the PC is an indirect branch.
#[test]
fn branches_of_the_program() {
    // 8000 cbz r0, 0x8004; 8002 nop; 8004 nop
    let code = &thumb(&[0xb100, T_NOP, T_NOP]);
    let one = config(0x4108_f230 | 1 << 18, 0, 0, Profile::Application);
    check(&one, code, THUMB, &[0xc0, 0x84], &["t8000N", "t8002E"]);
    check(&one, code, THUMB, &[0x88], &["t8000E", "t8004E"]);
    // 8000 add pc, pc, #4
    let code = &arm(&[0xe28f_f004, NOP, NOP, NOP]);
    check(&one, code, ARM, &[0x84, 0x07, 0x84], &["8000E", "800cE"]);
    check(&one, code, ARM, &[0x88], &["8000E", "inconsistency: NoAddress"]);
}

/// Can withdraws the last instruction, for all packets between them and all packings of atoms.
#[test]
fn cancelled_instructions() {
    let plain = unit(3, 0);
    let cycles = unit(4, CYCLES);
    let code = &arm(&[NOP, NOP, NOP, NOP, NOP, NOP, NOP]);
    // IRQ to 0x8018, with Can and without.
    let irq = |can: u8| [0x8d, 0x80, 0x81, 0x80, 0x48, 0x1c | can << 5];
    let periodic = [0x08, 0x01, 0x04, 0x80, 0x00, 0x00];
    for (config, before, want) in [
        (&plain, &[0x84][..], &[][..]),
        (&plain, &[0x88], &["8000E"]),
        (&plain, &[0x84, 0x84], &["8000E"]),
        (&plain, &[0xc4], &["8000E"]),
        (&plain, &[0x84, 0x66], &[]),
        (&plain, &[0x84, 0x0c], &["trigger"]),
        (&plain, &[0x84, 0, 0, 0, 0, 0, 0, 0x80], &[]),
        (&plain, &periodic, &["in A32"]),
        (&cycles, &[0x84, 0xa4], &["2 cycles", "1 cycles"]),
    ] {
        let mut bytes = before.to_vec();
        if before == periodic {
            bytes.insert(0, 0x84);
        }
        bytes.extend(irq(1));
        bytes.push(0x84);
        let next = if config == &cycles { "8018E/1" } else { "8018E" };
        let want: Vec<&str> = [want, &["exception e", next]].concat();
        check(config, code, ARM, &bytes, &want);
    }
    let bytes = [&[0x88][..], &irq(0), &[0x84]].concat();
    check(&plain, code, ARM, &bytes, &["8000E", "8004E", "exception e", "8018E"]);
}

/// r14 of a FIQ and Can both indicate whether the last traced instruction, at r14 - 4 or at r14 -
/// 8, completed. (4.5.3)
#[test]
fn fast_interrupts() {
    let code = &arm(&[NOP, NOP, NOP]);
    // To 0x1c, in both forms of the packet.
    let new = |can: bool| [0x8f, 0x80, 0x80, 0x80, 0x48, 0x1e | u8::from(can) << 5].to_vec();
    let old = |can: bool| [0x8f, 0x80, 0x80, 0x80, 0xa8 | u8::from(can) << 6].to_vec();
    // r14 is 0x8008: the handler returns to 0x8004, which did not execute, whether traced or not.
    for (traced, last, can) in [(0x88, "8004E", true), (0x84, "8000E", false)] {
        for exception in [new(can), old(can)] {
            let bytes = [&[traced][..], &exception].concat();
            check(&unit(3, 0), code, ARM, &bytes, &["8000E", "exception f"]);
        }
        let all: &[&str] = if can { &["8000E", last] } else { &[last] };
        check(&unit(3, 0), code, ARM, &[traced], all);
    }
}

/// Exceptions in the deprecated form take their number from the vector. (Table 7-9)
#[test]
fn deprecated_exceptions() {
    let code = &arm(&[NOP]);
    for (bytes, want) in [
        (&[0x85, 0x80, 0x80, 0x80, 0x80][..], &["8000E", "exception a"][..]),
        (&[0x8f, 0x80, 0x80, 0x80, 0xa8], &["8000E", "exception f"]),
        (&[0x89, 0x80, 0x80, 0x80, 0xc0], &["exception c"]),
        (&[0x8d, 0x80, 0x80, 0x80, 0x88], &["8000E", "exception e"]),
        (&[0x8d, 0x80, 0x80, 0x80, 0x90], &["8000E", "inconsistency: Unexpected"]),
    ] {
        let bytes = [&[0x84], bytes].concat();
        check(&unit(0, 0), code, ARM, &bytes, want);
    }
}

/// Security state and Hyp mode. A missing information byte 1 means "not Hyp".
#[test]
fn privilege() {
    let code = &arm(&[NOP, NOP, NOP, NOP, NOP]);
    let ns = [0x89, 0x80, 0x81, 0x80, 0x48, 0x01];
    // To 0x8010: Hyp mode entry.
    let hyp = [0x89, 0x80, 0x81, 0x80, 0x48, 0x87, 0x20];
    check(&unit(5, 0), code, ARM, &ns, &["in A32 ns"]);
    // Of two successive packets the last one is valid, also for the exception.
    let bytes = [&hyp[..], &ns].concat();
    check(&unit(5, 0), code, ARM, &bytes, &["in A32 ns hyp", "in A32 ns"]);
    // 0x8010 does not follow itself.
    let bytes = [&hyp[..], &[0x84], &ns].concat();
    let contradiction = "inconsistency: AddressNotReached";
    let want = ["in A32 ns hyp", "exception 3", "8010E", "in A32 ns", contradiction];
    check(&unit(5, 0), code, ARM, &bytes, &want);
    // Halting debug: the address has no meaning.
    let halt = [0xb5, 0x9c, 0xab, 0x80, 0x57, 0x22];
    check(
        &unit(3, 0),
        code,
        ARM,
        &[&[0x88][..], &halt, &[0x84]].concat(),
        &["8000E", "exception 1"],
    );
}

/// V17, V18: Tables 7-15 and 7-16, and instruction sets across P-headers.
#[test]
fn instruction_sets() {
    // 8000 blx 0x8008; 8004 nop; T32 from 8008: nop; bx lr
    let code = &arm(&[0xfa00_0000, NOP, u32::from(T_NOP) | u32::from(T_BX_LR) << 16]);
    // T32 after BLX without a packet; the short branch packet is to A32.
    for bytes in [&[0x8c, 0x03, 0x84][..], &[0x84, 0x84, 0x84, 0x03, 0x84]] {
        let id = config(0x4108_f230 | 1 << 18, 0, 0, Profile::Application);
        check(&id, code, ARM, bytes, &["8000E", "t8008E", "t800aE", "8004E"]);
    }
    // 8000 movs pc, lr; ThumbEE from 8004: leavex; T32: nop
    let code = &arm(&[MOVS_PC_LR, 0x8f0f_f3bf, u32::from(T_NOP) | u32::from(T_BX_LR) << 16]);
    let id = config(0x4108_f230 | 1 << 18, 0, 0, Profile::Application);
    // To 0x8004, ThumbEE; LEAVEX; T32; the short branch packet is to ThumbEE.
    let bytes = [0x84, 0x85, 0x80, 0x82, 0x80, 0x50, 0x40, 0x84, 0x88, 0x05, 0x84];
    check(&id, code, ARM, &bytes, &["8000E", "x8004E", "t8008E", "t800aE", "x8004E"]);
}

/// ETMIDR bit 18 is 0: a 32-bit T32 instruction is two atoms.
#[test]
fn halves() {
    let two = config(0x4100_f230, 0, 0, Profile::Application);
    // 8000 ldr.w r2, [r3], #4; 8004 nop
    let code = &thumb(&[0xf853, 0x2b04, T_NOP]);
    check(&two, code, THUMB, &[0x8c], &["t8000E", "t8004E"]);
    check(&two, code, THUMB, &[0x84, 0x88], &["t8000E", "t8004E"]);
    // An exception between the halves.
    let irq = [0x81, 0x80, 0x82, 0x80, 0x50, 0x3c];
    check(&two, code, THUMB, &[&[0x84][..], &irq].concat(), &["exception e"]);
    // An I-sync between the halves.
    let periodic = [0x08, 0x01, 0x03, 0x80, 0x00, 0x00];
    let bytes = [&[0x84][..], &periodic, &[0x88]].concat();
    check(&two, code, THUMB, &bytes, &["in T32", "t8000E", "t8004E"]);
}

/// 7.3.3, 7.3.4: cycles of instructions and of gaps.
#[test]
fn cycles() {
    let data = unit(4, CYCLES | VALUES | ADDRESSES);
    let (old, new) = (unit(0, CYCLES), unit(4, CYCLES));
    let code = &arm(&[NOP, 0xe591_0000, NOP]);
    check(&new, code, ARM, &[0x88], &["8000E/1", "8004E/1"]);
    check(&new, code, ARM, &[0xe8, 0x8a], &["8000E/3", "8004N/1", "8008E/0"]);
    check(&new, code, ARM, &[0xa4, 0x84, 0x92], &["2 cycles", "8000E/1", "8004E/0"]);
    // V6: the second instruction of a cycle, after the data of the first one.
    let code = &arm(&[0xe591_0000, NOP]);
    let bytes = [0x84, 0x26, 0xb4, 0xa4, 0x80, 0x80, 0x02, 0x11, 0x92];
    check(&data, code, ARM, &bytes, &["8000E/1", "8000 r4 20001234=11", "8004E/0"]);
    // Gaps: in the I-sync, in a packet after it, and lost.
    let gap = [0x70, 0xac, 0x02, 0x21, 0x00, 0x80, 0x00, 0x00];
    check(&new, code, ARM, &gap, &["300 cycles", "on", "in A32"]);
    let lost = [0x70, 0x00, 0x21, 0x00, 0x80, 0x00, 0x00];
    check(&new, code, ARM, &lost, &["? cycles", "on", "in A32"]);
    check(&new, code, ARM, &[0x04, 0x07], &["7 cycles"]);
    check(&new, code, ARM, &[0x04, 0x00], &["? cycles"]);
    // The count of ETMv3.0 is not valid after an overflow.
    let overflow = [0x08, 0x41, 0x00, 0x80, 0x00, 0x00, 0x04, 0x07];
    let want = ["on after overflow", "in A32", "? cycles"];
    check(&old, code, ARM, &overflow, &want);
}

/// Instructions, addresses and values of data accesses. (7.4)
#[test]
fn data_accesses() {
    let both = &unit(4, VALUES | ADDRESSES);
    let at = |low: u8| [low | 0x80, 0xa4, 0x80, 0x80, 0x02];
    let (ldr, str, ldrd, nop) = (0xe591_0000, 0xe581_0000, 0xe1c1_40d0, NOP);
    let first = |header: u8, low: u8, value: &[u8]| [&[header][..], &at(low), value].concat();
    let row = |code: &[u32], bytes: &[&[u8]], want: &[&str]| {
        check(both, &arm(code), ARM, &bytes.concat(), want);
    };
    // Two stores; the second address has one byte.
    row(
        &[str, str],
        &[&[0x84], &first(0x26, 0x34, &[0x11]), &[0x84, 0x26, 0x38, 0x55]],
        &["8000E", "8000 w4 20001234=11", "8004E", "8004 w4 20001238=55"],
    );
    // Data of a load that come after later instructions.
    row(
        &[ldr, nop, nop],
        &[&[0x88], &first(0x26, 0x34, &[0x11])],
        &["8000E", "8004E", "8000 r4 20001234=11"],
    );
    // An instruction that failed its condition makes no accesses.
    row(
        &[ldr, ldr],
        &[&[0xc4], &first(0x22, 0x34, &[])],
        &["8000E", "8004N", "8000 r4 20001234=0"],
    );
    // V28: LDRD and LDR in parallel.
    row(
        &[ldrd, ldr],
        &[&[0x84], &first(0x26, 0x34, &[4]), &[0x06, 5, 0x84], &[0x26, 0x50, 10]],
        &["8000E", "8000 r4 20001234=4", "8000 r4 20001238=5 +", "8004E", "8004 r4 20001250=a"],
    );
    // A transfer without its value, and one that is not contiguous.
    row(
        &[0xe890_000e],
        &[&[0x84], &first(0x7a, 0x34, &[]), &[0x06, 2, 0x26, 0x60, 3]],
        &["8000E", "8000 r4 20001234=? untraced", "8000 r4 20001238=2 +", "8000 r4 20001260=3 +"],
    );
    // A branch packet does not end the accesses of a load multiple.
    row(
        &[0xe893_8007, nop],
        &[&[0x84], &first(0x26, 0x34, &[1]), &[0x03, 0x06, 2, 0x84]],
        &["8000E", "8000 r4 20001234=1", "8000 r4 20001238=2 +", "8004E"],
    );
    // V29: a byte is not extended.
    row(&[0xe1d1_00d0], &[&[0x84], &first(0x26, 0x34, &[0xab])], &["8000E", "8000 r1 20001234=ab"]);
    // A coprocessor transfer has no address, and does not change the base of addresses.
    row(
        &[str, 0xee0d_0f30, str],
        &[&[0x84], &first(0x26, 0x34, &[1]), &[0x84, 0x06, 9, 0x84, 0x26, 0x38, 2]],
        &["8000E", "8000 w4 20001234=1", "8004E", "8004 w4 ?=9 cp", "8008E", "8008 w4 20001238=2"],
    );
    // Addresses are not known before the first whole one.
    row(&[str], &[&[0x84, 0x26, 0x34, 0x11]], &["8000E", "8000 w4 ?=11"]);
    // Accesses are big-endian until an address changes the byte order.
    row(
        &[str, str],
        &[&[0x84, 0x26, 0xb4, 0xa4, 0x80, 0x80, 0x12, 0x11, 0x84, 0x26, 0x38, 0x55]],
        &["8000E", "8000 w4 20001234=11 be", "8004E", "8004 w4 20001238=55 be"],
    );
    // SWP reads and writes.
    row(
        &[0xe102_0091],
        &[&[0x84], &first(0x26, 0x34, &[1]), &[0x26, 0x34, 2]],
        &["8000E", "8000 r4 20001234=1", "8000 w4 20001234=2 +"],
    );
    // The data of a cancelled instruction are withdrawn.
    row(
        &[str, str],
        &[
            &[0x84],
            &first(0x26, 0x34, &[1]),
            &[0x84, 0x26, 0x38, 2],
            &[0x89, 0x80, 0x81, 0x80, 0x48, 0x38],
        ],
        &["8000E", "8000 w4 20001234=1", "exception c"],
    );
}

/// Addresses are those of the instruction, and the words of a value are in memory order. (4.9)
#[test]
fn endianness() {
    let both = &unit(4, VALUES | ADDRESSES);
    // vldr d0, [r1]: from 0x2000, little-endian and big-endian.
    let code = &arm(&[0xed91_0b00]);
    for (last, little, big) in [
        (0x00, "8000 r4 2000=11", "8000 r4 2004=22 +"),
        (0x10, "8000 r4 2000=11 be", "8000 r4 2004=22 + be"),
    ] {
        let bytes = [0x84, 0x26, 0x80, 0xc0, 0x80, 0x80, last, 0x11, 0x06, 0x22];
        check(both, code, ARM, &bytes, &["8000E", little, big]);
    }
    // ldrb r0, [r1]: in BE-32 the byte of 0x2000 comes from 0x2003; the trace has 0x2000.
    let bytes = [0x84, 0x26, 0x80, 0xc0, 0x80, 0x80, 0x00, 0xab];
    check(both, &arm(&[0xe5d1_0000]), ARM, &bytes, &["8000E", "8000 r1 2000=ab"]);
}

/// ETMv3.0 does not repeat the address for the write of SWP.
#[test]
fn swap_of_the_first_version() {
    let bytes = [0x84, 0x26, 0xb4, 0xa4, 0x80, 0x80, 0x02, 1, 0x06, 2];
    let want = ["8000E", "8000 r4 20001234=1", "8000 w4 20001234=2 +"];
    check(&unit(0, VALUES | ADDRESSES), &arm(&[0xe102_0091]), ARM, &bytes, &want);
}

/// V32: a load multiple that reads the PC first. (3.5.50, bit 16)
#[test]
fn pc_first() {
    let id = config(0x4105_f240, VALUES | ADDRESSES, 0, Profile::Application);
    let code = &arm(&[0xe893_8007, NOP]);
    // The PC from 0x100c; then r0, r1 and r2.
    let all = [0x84, 0x26, 0x8c, 0xa0, 0x80, 0x80, 0x00, 4, 0x06, 1, 0x06, 2, 0x06, 3];
    let want =
        ["8000E", "8000 r4 100c=4", "8000 r4 1000=1 +", "8000 r4 1004=2 +", "8000 r4 1008=3 +"];
    check(&id, code, ARM, &all, &want);
    // The last two of four: the PC is not among them.
    let some = [0x84, 0x26, 0x84, 0xa0, 0x80, 0x80, 0x00, 2, 0x06, 3, 0x03, 0x84];
    let mut got = described(&id, code, ARM, &some);
    got.sort();
    assert!(got.contains(&"8000 r4 1004=2".into()) && got.contains(&"8000 r4 1008=3 +".into()));
    // A core that sends the address of the second transfer.
    let bytes = [0x84, 0x26, 0x8c, 0xa0, 0x80, 0x80, 0x00, 4, 0x26, 0x00, 1, 0x06, 2, 0x06, 3];
    let mut got = described(&id, code, ARM, &bytes);
    let mut want: Vec<String> = ON_ARM.into_iter().chain(want).map(String::from).collect();
    got.sort();
    want.sort();
    assert_eq!(got, want);
}

/// 7.4.3: late values, by tag.
#[test]
fn out_of_order() {
    let both = &unit(4, VALUES | ADDRESSES);
    let code = &arm(&[0xe591_0000, 0xe591_0000, 0xe1c1_40d0]);
    let placeholder = |tag: u8, low: u8| [0x70 | tag << 2, low | 0x80, 0xa4, 0x80, 0x80, 0x02];
    let row = |bytes: &[&[u8]], want: &[&str]| check(both, code, ARM, &bytes.concat(), want);
    row(
        &[&[0x84], &placeholder(1, 0x34), &[0x84], &placeholder(2, 0x38), &[0x44, 7, 0x24, 6]],
        &["8000E", "8004E", "8004 r4 20001238=7 late", "8000 r4 20001234=6 late"],
    );
    // Two successive placeholders with one tag: 64 bits.
    row(
        &[&[0x8c], &placeholder(3, 0x34), &[0x5c, 0x64, 1, 0x64, 2]],
        &["8000E", "8004E", "8008E", "8008 r4 20001234=1 late", "8008 r4 20001238=2 + late"],
    );
    // A value without a placeholder is ignored.
    row(&[&[0x84, 0x24, 6]], &["8000E"]);
    // A tag that is used again: the value is lost.
    row(
        &[&[0x84], &placeholder(1, 0x34), &[0x84], &placeholder(1, 0x38), &[0x24, 6]],
        &["8000E", "8004E", "8000 r4 20001234=? late", "8004 r4 20001238=6 late"],
    );
    row(
        &[&[0x84], &placeholder(1, 0x34), &[0x08, 0x41, 0x00, 0x80, 0x00, 0x00, 0x24, 6]],
        &["8000E", "on after overflow", "in A32", "8000 r4 20001234=6 late"],
    );
    // After an overflow or a stop of tracing the value may still come.
    row(
        &[&[0x84], &placeholder(1, 0x34), &[0x08, 0x21, 0x00, 0x80, 0x00, 0x00, 0x24, 6]],
        &["8000E", "on", "in A32", "8000 r4 20001234=6 late"],
    );
}

/// 7.4.6, 7.4.7: suppressed data, and store-exclusives.
#[test]
fn suppressed_and_failed() {
    let both = &unit(4, VALUES | ADDRESSES);
    let code = &arm(&[0xe182_0f91, 0xe591_0000]);
    let bytes = [0x84, 0x22, 0xb4, 0xa4, 0x80, 0x80, 0x02, 0x50, 0x84];
    check(both, code, ARM, &bytes, &["8000E", "8000 w4 20001234=0 failed", "8004E"]);
    let bytes = [0x84, 0x22, 0xb4, 0xa4, 0x80, 0x80, 0x02, 0x84, 0x62];
    let want = ["8000E", "8000 w4 20001234=0", "8004E", "8004 r0 ?=? suppressed"];
    check(both, code, ARM, &bytes, &want);
    // Up to ETMv3.2 the next address comes whole; from ETMv3.3 it is compressed.
    for (minor, want) in [(2, "8004 r4 ?=5"), (3, "8004 r4 20001238=5")] {
        let bytes = [0x84, 0x22, 0xb4, 0xa4, 0x80, 0x80, 0x02, 0x62, 0x84, 0x26, 0x38, 5];
        let got = described(&unit(minor, VALUES | ADDRESSES), code, ARM, &bytes);
        assert_eq!(got.last().unwrap(), want);
    }
}

/// 7.4.10: data-only mode.
#[test]
fn data_only() {
    let only = &unit(4, VALUES | ADDRESSES | DATA_ONLY);
    let bytes = [0x26, 0xb4, 0xa4, 0x80, 0x80, 0x02, 1, 0x06, 2, 0x26, 0x60, 3];
    let got = described(only, &arm(&[]), &[0x08, 0x21], &bytes);
    let want = [
        "gap: start of trace",
        "on",
        // The instruction set is not traced.
        "in A64",
        "? x0 20001234=1",
        "? x0 20001238=2 +",
        "? x0 20001260=3",
    ];
    assert_eq!(got, want);
}

/// 7.7.3, Load/Store in Progress.
#[test]
fn in_progress() {
    let both = &unit(4, VALUES | ADDRESSES);
    let code = &arm(&[0xe591_0000, NOP, NOP, NOP]);
    let bytes =
        [0x08, 0xa1, 0x00, 0x80, 0x00, 0x00, 0x05, 0x26, 0xb4, 0xa4, 0x80, 0x80, 0x02, 1, 0x84];
    let want = ["on", "in A32", "8000E", "8000 r4 20001234=1", "8008E"];
    check(both, code, ARM, &bytes, &want);
    // Nothing executes: the branch packet has the next address.
    let bytes = [0x05, 0x26, 0xb4, 0xa4, 0x80, 0x80, 0x02, 1, 0x84];
    check(both, code, ARM, &bytes, &["8000 r4 20001234=1", "8008E"]);
}

/// 7.5: stack pushes and pops, tail-chaining, and interrupted load multiples.
#[test]
fn m_profile() {
    let both = &m3(VALUES | ADDRESSES);
    // 8000 ldmia r0!, {r1, r2}; 8002 nop; 8004 bx lr; 8006 nop
    let code = &thumb(&[0xc806, T_NOP, T_BX_LR, T_NOP]);
    let push = [0x7e, 0x22, 0x80, 0xc0, 0x80, 0x80, 0x02];
    // IRQ1 to 0x8004; a normal branch to 0x8002.
    let irq1 = [0x85, 0x40, 0x02];
    let row = |bytes: &[&[u8]], want: &[&str]| check(both, code, THUMB, &bytes.concat(), want);
    // V40: tracing starts in the push; V36: push, exception, return with a pop.
    row(
        &[&push, &[0x02], &irq1, &[0x84, 0x76, 0x02, 0x03, 0x84]],
        &[
            "? w4 20002000=0 exc",
            "? w4 20002004=0 + exc",
            "exception 1",
            "t8004E",
            "return",
            "? r4 ?=0 exc",
            "t8002E",
        ],
    );
    // V36: another exception after the first instruction of the handler: two pushes.
    row(
        &[&push, &irq1, &[0x84, 0x7e, 0x22, 0xe0, 0x3f], &[0x87, 0x40, 0x04], &[0x84]],
        &[
            "? w4 20002000=0 exc",
            "exception 1",
            "t8004E",
            "? w4 20001fe0=0 exc",
            "exception 2",
            "t8006E",
        ],
    );
    // V37: the later exception is taken first: one push, and the first one is tail-chained.
    row(
        &[&push, &[0x85, 0x40, 0x04], &[0x84, 0x76], &[0x87, 0x40, 0x02], &[0x84]],
        &["? w4 20002000=0 exc", "exception 2", "t8004E", "return", "tail exception 1", "t8006E"],
    );
    // V38: tail-chained: no pop.
    row(
        &[&irq1, &[0x84, 0x76], &[0x87, 0x40, 0x04], &[0x84]],
        &["exception 1", "t8004E", "return", "tail exception 2", "t8006E"],
    );
    // V39: the pop is pre-empted; the return instruction is not withdrawn.
    row(
        &[&irq1, &[0x84, 0x76, 0x02], &[0x87, 0x40, 0x24], &[0x84]],
        &["exception 1", "t8004E", "tail exception 2", "t8006E"],
    );
    // Table 7-18: interrupted after one transfer, and resumed.
    row(
        &[
            &[0x84, 0x26, 0x80, 0xc0, 0x80, 0x80, 0x02, 1],
            &[0x85, 0x40, 0xa2, 0x41],
            &[0x84, 0x76],
            &[0x81, 0x40, 0x80, 0x41],
            &[0x84, 0x26, 0x04, 2, 0x84],
        ],
        &[
            "8000 r4 20002000=1",
            "exception 1",
            "t8004E",
            "return",
            "t8000E",
            "8000 r4 20002004=2 +",
            "t8002E",
        ],
    );
    // Without data trace it has the packets of a cancelled one; the return is to the next address.
    let only = &m3(0);
    let irq = [0x85, 0x40, 0x22];
    let bytes = [&[0x84][..], &irq, &[0x84, 0x76, 0x03, 0x84]].concat();
    let want = ["exception 1", "t8004E", "return", "t8000E", "t8002E"];
    check(only, code, THUMB, &bytes, &want);
    // It restarts.
    let bytes = [&[0x84][..], &irq, &[0x84, 0x76, 0x01, 0x84]].concat();
    check(only, code, THUMB, &bytes, &["exception 1", "t8004E", "return", "t8000E"]);
}

/// ETMCR.VMIDEn.
const VMIDS: u64 = 1 << 30;

/// Context IDs and virtual machine IDs. A reset makes the context ID unknown.
#[test]
fn contexts() {
    let code = &arm(&[NOP, NOP]);
    let isync = [0x08, 0x11, 0x22, 0x33, 0x44, 0x21, 0x00, 0x80, 0x00, 0x00];
    let reset = [0x81, 0x80, 0x80, 0x80, 0x48, 0x10];
    let bytes = [&[0x3c, 0x05, 0x84, 0x6e, 1, 2, 3, 4, 0x84][..], &reset].concat();
    assert_eq!(
        described(&unit(5, CONTEXT4 | VMIDS), code, &isync, &bytes)[1..],
        [
            "on",
            "in A32 id 44332211",
            "in A32 id 44332211 vmid 5",
            "8000E",
            "in A32 id 4030201 vmid 5",
            "8004E",
            "exception 8",
            "in A32 vmid 5",
        ]
    );
}

/// ETMv3.5: timestamps in both encodings, compressed; 0 is not a timestamp.
#[test]
fn timestamps() {
    let natural = &config(0x4104_f250, 0, 1 << 28, Profile::Application);
    let gray = &config(0x4104_f250, 0, 0, Profile::Application);
    let code = &arm(&[NOP]);
    let whole = [0x42, 0x81, 0x81, 0x81, 0x81, 0x81, 0x81, 0x3f];
    // Before a whole timestamp the value is not known.
    check(natural, code, ARM, &[0x42, 0x05], &[]);
    let bytes = [&whole[..], &[0x46, 0x05, 0x42, 0x83, 0x01]].concat();
    let want = ["time fc0810204081", "time fc0810204085", "time fc0810204083"];
    check(natural, code, ARM, &bytes, &want);
    // Gray code 0x83 is 0xfd.
    let bytes =
        [&[0x42, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x00][..], &[0x42, 0x83, 0x01]].concat();
    check(gray, code, ARM, &bytes, &["time fd"]);
    for value in [0u64, 1, 2, 0xfd, 0x1234_5678_9abc, u64::MAX] {
        assert_eq!(from_gray(value ^ value >> 1), value);
    }
    let mut history = History::default();
    assert_eq!(history.timestamp(0x83, 14, gray), (0xfd, 14));
}

/// After a reserved header decoding restarts at the next A-sync and I-sync.
#[test]
fn undecodable_bytes() {
    let code = &arm(&[NOP, NOP]);
    let bytes = [&[0x84, 0x10, 0x84, 0, 0, 0, 0, 0, 0x80, 0x84][..], ARM, &[0x84]].concat();
    let want =
        ["8000E", "gap: bad packet", "1 undecodable", "1 undecodable", "on", "in A32", "8000E"];
    check(&unit(5, 0), code, ARM, &bytes, &want);
    // A truncated packet at the end is undecodable.
    check(&unit(5, 0), code, ARM, &[0x84, 0x81], &["8000E", "1 undecodable"]);
}

/// A periodic I-sync is checked against a known address, and provides an unknown one.
#[test]
fn periodic_syncs() {
    let code = &arm(&[NOP, NOP, BX_LR, NOP]);
    let periodic = |low: u8| [0x08, 0x01, low, 0x80, 0x00, 0x00];
    let row = |bytes: &[&[u8]], want: &[&str]| {
        check(&unit(5, 0), code, ARM, &bytes.concat(), want);
    };
    row(&[&[0x84], &periodic(4), &[0x84]], &["8000E", "in A32", "8004E"]);
    row(
        &[&[0x84], &periodic(0xc), &[0x84]],
        &["8000E", "in A32", "inconsistency: AddressNotReached", "800cE"],
    );
    row(&[&[0x8c], &periodic(0xc), &[0x84]], &["8000E", "8004E", "8008E", "in A32", "800cE"]);
}

/// Random bytes cause no panic, and decode alike for any cut.
#[test]
fn garbage() {
    let mut random = ways::Random::new(0x3e7a_11d5);
    let code = arm(&[NOP, 0xe591_0000, 0xe893_8007, 0xe182_0f91, 0xea00_0001, NOP, NOP, BX_LR]);
    let configs = [
        unit(5, VALUES | ADDRESSES | CONTEXT4),
        unit(5, VALUES | ADDRESSES | CYCLES),
        unit(0, CYCLES),
        unit(4, VALUES | ADDRESSES | DATA_ONLY),
        m3(VALUES | ADDRESSES),
        alternative(0),
        config(0x4105_f240, VALUES | ADDRESSES, 0, Profile::Application),
    ];
    for config in &configs {
        for _ in 0..60 {
            let mut bytes = std::vec![0, 0, 0, 0, 0, 0x80];
            bytes.extend(ARM);
            for _ in 0..20 {
                bytes.extend([0x84, 0x88, 0x0c]);
                bytes.extend(random.bytes(8));
                if random.next().is_multiple_of(4) {
                    bytes.extend([0, 0, 0, 0, 0, 0x80]);
                    bytes.extend(ARM);
                }
            }
            ways::garbage::<Etmv3, _>(config, &mut code.clone(), &bytes);
        }
    }
}

/// The number of pending elements stays small, because committed elements are not retained.
#[test]
fn pending_elements_stay_few() {
    let config = unit(4, VALUES | ADDRESSES);
    let mut code = arm(&[0xe591_0000, 0xeaff_fffd]);
    let mut packets = std::vec![];
    for bytes in [&[0x08, 0x21, 0, 0x80, 0, 0][..], &[0x84], &[0x26, 0x34, 0x11], &[0x84]] {
        use tracewright_base::{Parse, Wire};
        let Parse::Packet(packet, _) = Packet::parse(bytes, &config) else { panic!() };
        packets.push(packet);
    }
    let looped: Vec<Packet> =
        packets[..1].iter().chain(packets[1..].iter().cycle().take(3000)).copied().collect();
    let elements = ways::decoded::<Etmv3, _>(&config, &mut code, &looped);
    let offsets: Vec<u64> = elements.iter().map(|(at, _)| *at).collect();
    assert!(offsets.is_sorted());
    assert_eq!(elements.len(), 3 + 3000 + 1);
}
