//! What is assembled is classified as what was asked for.

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
            // NOP, B<cond>, JAL X0 and UNDEFINED in both sizes; JAL to X1 and X6; JALR as jump, return,
            // call and swap in both sizes, and linking; MRET, FENCE.I, FENCE, WFI, WRS.NTO.
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

/// Encoders reach exactly as far as the manuals say: the last offset that fits, and the next.
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
