//! Assembled instructions are classified as the requested instructions.

use tracewright_base::{Instruction, Isa, Kind, Role};
use tracewright_isa::assemble::{a32, a64, assemble, t32};
use tracewright_isa::{ItState, classify};

const KINDS: [Kind; 9] = [
    Kind::Plain,
    Kind::Branch,
    Kind::Indirect,
    Kind::Isb,
    Kind::Barrier,
    Kind::Wait,
    Kind::TimedWait,
    Kind::TransactionStart,
    Kind::Undefined,
];
const ROLES: [Role; 9] = [
    Role::Jump,
    Role::Call,
    Role::Return,
    Role::ExceptionReturn,
    Role::ImpliedReturn,
    Role::Loop,
    Role::Compare,
    Role::Swap,
    Role::Link,
];

/// Every mix of fields, at offsets around each reach and at the ends of the address space. The
/// numbers of those that exist come from counting the encodings by hand.
#[test]
fn instructions() {
    let reaches = [0x80u32, 0x100, 0x800, 0x8000, 0x10_0000, 0x100_0000, 0x200_0000, 0x800_0000];
    let mut offsets = vec![0i64, 2, 4, 8];
    for reach in reaches {
        for near in [-4, -2, 0, 2, 4, 6, 8, 10] {
            offsets.extend([i64::from(reach) + near, -i64::from(reach) + near]);
        }
    }
    for isa in [Isa::A64, Isa::A32, Isa::T32, Isa::Rv32, Isa::Rv64] {
        let mut forms = std::collections::BTreeSet::new();
        for kind in KINDS {
            for role in ROLES {
                for (size, conditional) in [(2, false), (2, true), (4, false), (4, true)] {
                    for target_isa in [isa, Isa::A32, Isa::T32] {
                        for &offset in &offsets {
                            for address in [0u64, 0x8000, 0x8002] {
                                let target = (kind == Kind::Branch).then_some(
                                    address.wrapping_add_signed(offset) & isa.address_mask(),
                                );
                                let i = Instruction {
                                    kind,
                                    role,
                                    size,
                                    conditional,
                                    isa,
                                    target_isa,
                                    target,
                                };
                                let Some(opcode) = assemble(&i, address) else { continue };
                                let bytes = match size {
                                    2 => (opcode as u16).to_le_bytes().to_vec(),
                                    _ if isa == Isa::T32 => {
                                        opcode.rotate_left(16).to_le_bytes().to_vec()
                                    }
                                    _ => opcode.to_le_bytes().to_vec(),
                                };
                                let got = classify(isa, &bytes, address, &mut ItState::default());
                                assert_eq!(got, Some(i), "{opcode:08x}");
                                forms.insert(format!(
                                    "{kind:?}{role:?}{size}{conditional}{target_isa:?}"
                                ));
                            }
                        }
                    }
                }
            }
        }
        let want = match isa {
            // NOP, B, B.cond, CBEQ, BL, BR, BLR, RET, ERET, ISB, DSB, WFI, WFIT, TSTART, UDF.
            Isa::A64 => 15,
            // NOP, B, BL, BX, BLX, BX LR, ERET, ISB, DSB, WFI and UDF, each twice; BLX to T32.
            Isa::A32 => 23,
            // NOP, B<cond>, JAL X0 and UNDEFINED in both sizes; JAL to X1 and X6; JALR as jump,
            // return, call and swap in both sizes, and linking; MRET, FENCE.I, FENCE, WFI, WRS.NTO.
            Isa::Rv64 => 24,
            // C.JAL, too.
            Isa::Rv32 => 25,
            // NOP, B, B.cond, BX, BX LR, WFI and UDF in both sizes (jumps and returns are loads
            // when wide); BL, BLX, BLX of a register, ERET, ISB, DSB; LE and WLS.
            _ => 21,
        };
        assert_eq!(forms.len(), want, "{isa}: {forms:#?}");
    }
}

/// The range of each encoder is that of the manual: the last offset that fits, and the next.
#[test]
fn reach() {
    type Encode = fn(i32) -> Option<u32>;
    let rows: [(Isa, Encode, i32, i32, i32); 15] = [
        // Instruction set, encoder, step, least and greatest offset.
        (Isa::A64, a64::b, 4, -0x800_0000, 0x7ff_fffc),
        (Isa::A64, a64::bl, 4, -0x800_0000, 0x7ff_fffc),
        (Isa::A64, |by| a64::b_cond(11, by), 4, -0x10_0000, 0xf_fffc),
        (Isa::A64, |by| a64::cbz(true, 30, by), 4, -0x10_0000, 0xf_fffc),
        (Isa::A64, |by| a64::tbz(true, 30, 63, by), 4, -0x8000, 0x7ffc),
        (Isa::A64, |by| a64::cbeq(0, 30, by), 4, -0x400, 0x3fc),
        (Isa::A32, |by| a32::b(a32::ALWAYS, by), 4, -0x1ff_fff8, 0x200_0004),
        (Isa::A32, a32::blx, 2, -0x1ff_fff8, 0x200_0006),
        (Isa::T32, t32::b, 2, -0x7fc, 0x802),
        (Isa::T32, |by| t32::b_cond(13, by), 2, -0xfc, 0x102),
        (Isa::T32, |by| t32::cbz(true, 7, by), 2, 4, 130),
        (Isa::T32, t32::b_w, 2, -0xff_fffc, 0x100_0002),
        (Isa::T32, |by| t32::b_cond_w(13, by), 2, -0xf_fffc, 0x10_0002),
        (Isa::T32, t32::le, 2, 4 - 0xffe, 4),
        (Isa::T32, |by| t32::wls(14, by), 2, 4, 4 + 0xffe),
    ];
    for (row, (isa, encode, step, least, greatest)) in rows.into_iter().enumerate() {
        let at = 0x4000_0000u64;
        for by in [least, least + step, 16.clamp(least, greatest), greatest - step, greatest] {
            let opcode = encode(by).unwrap_or_else(|| panic!("row {row}: {by}"));
            let got = match isa {
                Isa::A64 => tracewright_isa::a64::classify(opcode, at),
                Isa::A32 => tracewright_isa::a32::classify(opcode, at),
                _ => tracewright_isa::t32::classify(opcode, at),
            };
            assert_eq!(got.kind, Kind::Branch, "row {row}: {opcode:08x}");
            assert_eq!(got.target, Some(at.wrapping_add_signed(by.into())), "row {row}: {by}");
        }
        for by in [least - step, greatest + step, least + 1, i32::MIN, i32::MAX] {
            assert_eq!(encode(by), None, "row {row}: {by}");
        }
    }
}

/// An IT block makes conditional what is in it, and no more. (Arm ARM, IT)
#[test]
fn it() {
    for (opcode, condition, then) in [
        (0xbf08, 0, &[][..]),
        (0xbf18, 1, &[]),
        (0xbf04, 0, &[true]),
        (0xbf0c, 0, &[false]),
        (0xbf1c, 1, &[true]),
        (0xbf14, 1, &[false]),
        (0xbf01, 0, &[true, true, true]),
        (0xbf0f, 0, &[false, false, false]),
        (0xbfc6, 12, &[true, false]),
    ] {
        assert_eq!(t32::it(condition, then), Some(opcode));
        let mut it = ItState::default().after(opcode);
        for _ in 0..=then.len() {
            assert!(it.conditional());
            it = it.after(t32::NOP);
        }
        assert_eq!(it, ItState::default());
    }
    assert_eq!(t32::it(0, &[true; 4]), None);
}

/// Opcodes as another assembler has them.
#[test]
fn straight_code() {
    for (opcode, want, text) in [
        (a64::alu(a64::Alu::Add, 1, 2, 3), 0x8b03_0041, "add x1, x2, x3"),
        (a64::alu(a64::Alu::Sub, 1, 2, 3), 0xcb03_0041, "sub x1, x2, x3"),
        (a64::alu(a64::Alu::Subs, 1, 2, 3), 0xeb03_0041, "subs x1, x2, x3"),
        (a64::alu(a64::Alu::And, 1, 2, 3), 0x8a03_0041, "and x1, x2, x3"),
        (a64::alu(a64::Alu::Orr, 1, 2, 3), 0xaa03_0041, "orr x1, x2, x3"),
        (a64::alu(a64::Alu::Eor, 1, 2, 3), 0xca03_0041, "eor x1, x2, x3"),
        (a64::alu(a64::Alu::Mul, 1, 2, 3), 0x9b03_7c41, "mul x1, x2, x3"),
        (a64::add_immediate(1, 2, 0x123), 0x9104_8c41, "add x1, x2, #0x123"),
        (a64::subs_immediate(1, 2, 0x123), 0xf104_8c41, "subs x1, x2, #0x123"),
        (a64::lsr(1, 2, 13), 0xd34d_fc41, "lsr x1, x2, #13"),
        (a64::movz(1, 3, 0x1234), 0xd2e2_4681, "movz x1, #0x1234, lsl #48"),
        (a64::movk(1, 1, 0x1234), 0xf2a2_4681, "movk x1, #0x1234, lsl #16"),
        (a64::ldr(1, 2, 0x108), 0xf940_8441, "ldr x1, [x2, #0x108]"),
        (a64::str(1, 2, 0x108), 0xf900_8441, "str x1, [x2, #0x108]"),
        (a64::push(5, 30), 0xa9bf_7be5, "stp x5, x30, [sp, #-16]!"),
        (a64::pop(5, 30), 0xa8c1_7be5, "ldp x5, x30, [sp], #16"),
        (a32::alu(1, a32::Alu::And, false, 1, 2, 3, 0), 0x1002_1003, "andne r1, r2, r3"),
        (a32::alu(14, a32::Alu::Eor, true, 1, 2, 3, 5), 0xe032_12a3, "eors r1, r2, r3, lsr #5"),
        (a32::alu(14, a32::Alu::Sub, false, 1, 2, 3, 0), 0xe042_1003, "sub r1, r2, r3"),
        (a32::alu(14, a32::Alu::Add, false, 1, 2, 3, 0), 0xe082_1003, "add r1, r2, r3"),
        (a32::alu(14, a32::Alu::Cmp, false, 0, 2, 3, 0), 0xe152_0003, "cmp r2, r3"),
        (a32::alu(14, a32::Alu::Orr, false, 1, 2, 3, 0), 0xe182_1003, "orr r1, r2, r3"),
        (a32::alu(14, a32::Alu::Mov, false, 1, 0, 3, 0), 0xe1a0_1003, "mov r1, r3"),
        (a32::alu_immediate(14, a32::Alu::Add, false, 1, 2, 127), 0xe282_107f, "add r1, r2, #127"),
        (a32::alu_immediate(14, a32::Alu::Cmp, false, 0, 2, 127), 0xe352_007f, "cmp r2, #127"),
        (a32::alu_immediate(14, a32::Alu::Mov, true, 1, 0, 127), 0xe3b0_107f, "movs r1, #127"),
        (a32::mov16(14, false, 1, 0x1234), 0xe301_1234, "movw r1, #0x1234"),
        (a32::mov16(14, true, 1, 0x1234), 0xe341_1234, "movt r1, #0x1234"),
        (a32::move_word(14, true, 1, 2, 0x104), 0xe592_1104, "ldr r1, [r2, #0x104]"),
        (a32::move_word(14, false, 1, 2, 0x104), 0xe582_1104, "str r1, [r2, #0x104]"),
        (a32::push(14, 0x4060), 0xe92d_4060, "push {r5, r6, lr}"),
        (a32::pop(14, 0x8060), 0xe8bd_8060, "pop {r5, r6, pc}"),
        (a32::svc(14), 0xef00_0000, "svc #0"),
        (t32::alu(t32::Alu::And, 1, 2), 0x4011, "ands r1, r2"),
        (t32::alu(t32::Alu::Eor, 1, 2), 0x4051, "eors r1, r2"),
        (t32::alu(t32::Alu::Cmp, 1, 2), 0x4291, "cmp r1, r2"),
        (t32::alu(t32::Alu::Orr, 1, 2), 0x4311, "orrs r1, r2"),
        (t32::alu(t32::Alu::Mul, 1, 2), 0x4351, "muls r1, r2, r1"),
        (t32::add(false, 1, 2, 3), 0x18d1, "adds r1, r2, r3"),
        (t32::add(true, 1, 2, 3), 0x1ad1, "subs r1, r2, r3"),
        (t32::immediate(0, 1, 127), 0x217f, "movs r1, #127"),
        (t32::immediate(1, 1, 127), 0x297f, "cmp r1, #127"),
        (t32::immediate(2, 1, 127), 0x317f, "adds r1, #127"),
        (t32::immediate(3, 1, 127), 0x397f, "subs r1, #127"),
        (t32::lsr(1, 2, 5), 0x0951, "lsrs r1, r2, #5"),
        (t32::move_word(true, 1, 2, 0x44), 0x6c51, "ldr r1, [r2, #0x44]"),
        (t32::move_word(false, 1, 2, 0x44), 0x6451, "str r1, [r2, #0x44]"),
        (t32::move_word_w(true, 1, 2, 0x104), 0xf8d2_1104, "ldr.w r1, [r2, #0x104]"),
        (t32::move_word_w(false, 1, 2, 0x104), 0xf8c2_1104, "str.w r1, [r2, #0x104]"),
        (t32::add_w(1, 2, 3), 0xeb02_0103, "add.w r1, r2, r3"),
        (t32::eor_w(1, 2, 3), 0xea82_0103, "eor.w r1, r2, r3"),
        (t32::mov16(false, 1, 0xfb34), 0xf64f_3134, "movw r1, #0xfb34"),
        (t32::mov16(true, 1, 0x1834), 0xf6c1_0134, "movt r1, #0x1834"),
        (t32::push(0x60, true), 0xb560, "push {r5, r6, lr}"),
        (t32::pop(0x60, true), 0xbd60, "pop {r5, r6, pc}"),
        (t32::SVC, 0xdf00, "svc #0"),
    ] {
        assert_eq!(opcode, want, "{text}");
    }
}
