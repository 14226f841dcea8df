//! RISC-V opcodes laid out from the instruction set listings, and what each is.

use tracewright_base::{Instruction, Isa, Kind, Role};
use tracewright_isa::rv::{self, Custom, Extensions, Upper};
use tracewright_isa::{ItState, assemble::rv as asm, classify};

use Isa::{Rv32, Rv64};

/// Where the instructions of the tables lie.
const AT: u64 = 0x8000_0000;

const NONE: Extensions = Extensions::NONE;
const ZCM: Extensions = Extensions { zcm: true, ..NONE };

/// Kind, role, conditional, by how many bytes.
type Is = (Kind, Role, bool, Option<i64>);

const PLAIN: Is = (Kind::Plain, Role::Jump, false, None);
const UNDEFINED: Is = (Kind::Undefined, Role::Jump, false, None);

const fn to(role: Role) -> Is {
    (Kind::Indirect, role, false, None)
}

const fn branch(role: Role, by: i64) -> Is {
    (Kind::Branch, role, false, Some(by))
}

const fn conditional(by: i64) -> Is {
    (Kind::Branch, Role::Jump, true, Some(by))
}

const fn other(kind: Kind) -> Is {
    (kind, Role::Jump, false, None)
}

#[track_caller]
fn check(isa: Isa, opcode: u32, extensions: &Extensions, (kind, role, conditional, by): Is) {
    let size = rv::size(opcode as u16);
    let target = by.map(|by| AT.wrapping_add_signed(by) & isa.address_mask());
    let want = Instruction { kind, role, size, conditional, isa, target_isa: isa, target };
    assert_eq!(rv::classify(isa, opcode.into(), AT, extensions), want, "{isa} {opcode:08x}");
    if *extensions == NONE {
        let bytes = opcode.to_le_bytes();
        let bytes = &bytes[..usize::from(size.min(4))];
        let it = &mut ItState::default();
        assert_eq!(classify(isa, bytes, AT, it), Some(want));
        assert_eq!(classify(isa, &[bytes, &[0xff; 4]].concat(), AT, it), Some(want));
        for len in 0..bytes.len() {
            assert_eq!(classify(isa, &bytes[..len], AT, it), None);
        }
    }
}

/// "RV32I Base Instruction Set", "Zifencei", "Trap-Return Instructions", "Wait for Interrupt".
#[test]
fn base() {
    use Role::*;
    for isa in [Rv32, Rv64] {
        for (opcode, is) in [
            // lui a0, 1; auipc ra, 0; addi x0, x0, 0; lw; sd; add; fadd.s; amoadd.w
            (0x0000_1537, PLAIN),
            (0x0000_0097, PLAIN),
            (0x0000_0013, PLAIN),
            (0x0005_2503, PLAIN),
            (0x00b5_3023, PLAIN),
            (0x00b5_0533, PLAIN),
            (0x00b5_7553, PLAIN),
            (0x00b5_252f, PLAIN),
            // jal x0 +0; jal ra -4; jal t0 +0x7fe; jal t1 +2048; jal to the farthest places
            (0x0000_006f, branch(Jump, 0)),
            (0xffdf_f0ef, branch(Call, -4)),
            (0x7fe0_02ef, branch(Call, 0x7fe)),
            (0x0010_036f, branch(Link, 0x800)),
            (0x8000_006f, branch(Jump, -0x10_0000)),
            (0x7fff_f06f, branch(Jump, 0xf_fffe)),
            // beq a0, a1, +8; bne -2; blt; bge; bltu; bgeu; 010 and 011
            (0x00b5_0463, conditional(8)),
            (0xfeb5_1fe3, conditional(-2)),
            (0x80b5_4063, conditional(-0x1000)),
            (0x7eb5_5fe3, conditional(0xffe)),
            (0x00b5_6463, conditional(8)),
            (0x00b5_7463, conditional(8)),
            (0x00b5_2463, UNDEFINED),
            (0x00b5_3463, UNDEFINED),
            // jalr: (rd, rs1) in the order of the table of hints
            (0x0005_0067, to(Jump)),
            (0x0000_8067, to(Return)),
            (0x0002_8067, to(Return)),
            (0x0005_00e7, to(Call)),
            (0x0005_02e7, to(Call)),
            (0x0000_82e7, to(Swap)),
            (0x0002_80e7, to(Swap)),
            (0x0000_80e7, to(Call)),
            (0x0002_82e7, to(Call)),
            (0x0005_0367, to(Link)),
            (0x0000_8367, to(Return)),
            (0xfff5_0067, to(Jump)),
            (0x0005_1067, UNDEFINED),
            // fence, fence.i, cbo.zero
            (0x0ff0_000f, other(Kind::Barrier)),
            (0x0000_100f, other(Kind::Isb)),
            (0x0045_200f, PLAIN),
            // ecall, ebreak, csrrw, sfence.vma
            (0x0000_0073, PLAIN),
            (0x0010_0073, PLAIN),
            (0x3405_1573, PLAIN),
            (0x1200_0073, PLAIN),
            // uret, sret, mret, mnret, dret; wfi, wrs.nto, wrs.sto
            (0x0020_0073, to(ExceptionReturn)),
            (0x1020_0073, to(ExceptionReturn)),
            (0x3020_0073, to(ExceptionReturn)),
            (0x7020_0073, to(ExceptionReturn)),
            (0x7b20_0073, to(ExceptionReturn)),
            (0x1050_0073, other(Kind::Wait)),
            (0x00d0_0073, other(Kind::TimedWait)),
            (0x01d0_0073, other(Kind::TimedWait)),
            // 48 bits, 64 bits, and the illegal instruction of all ones
            (0x0000_001f, UNDEFINED),
            (0x0000_003f, UNDEFINED),
            (0xffff_ffff, UNDEFINED),
            (0xc000_1073, UNDEFINED), // UNIMP
        ] {
            check(isa, opcode, &NONE, is);
        }
    }
    assert_eq!([0x0001, 0x0013, 0x001f, 0x003f, 0xffff].map(rv::size), [2, 4, 6, 8, 4]);
}

/// "RVC Instruction Set Listings".
#[test]
fn compressed() {
    use Role::*;
    for isa in [Rv32, Rv64] {
        for (opcode, is) in [
            // c.unimp; c.addi4spn; c.lw; c.sw; c.nop; c.li; c.addi16sp; c.lui; c.slli; c.swsp;
            // c.fsdsp
            (0x0000, UNDEFINED),
            (0x0028, PLAIN),
            (0x4108, PLAIN),
            (0xc108, PLAIN),
            (0x0001, PLAIN),
            (0x4501, PLAIN),
            (0x6105, PLAIN),
            (0x6505, PLAIN),
            (0x0506, PLAIN),
            (0xc02a, PLAIN),
            (0xbe02, PLAIN),
            (0xa082, PLAIN),
            // c.j +0, -2, and each bit of the offset alone
            (0xa001, branch(Jump, 0)),
            (0xbffd, branch(Jump, -2)),
            (0xa009, branch(Jump, 2)),
            (0xa011, branch(Jump, 4)),
            (0xa021, branch(Jump, 8)),
            (0xa801, branch(Jump, 16)),
            (0xa005, branch(Jump, 32)),
            (0xa081, branch(Jump, 64)),
            (0xa041, branch(Jump, 128)),
            (0xa201, branch(Jump, 256)),
            (0xa401, branch(Jump, 512)),
            (0xa101, branch(Jump, 1024)),
            (0xb001, branch(Jump, -2048)),
            // c.beqz a0, and each bit of the offset; c.bnez
            (0xc101, conditional(0)),
            (0xc109, conditional(2)),
            (0xc111, conditional(4)),
            (0xc501, conditional(8)),
            (0xc901, conditional(16)),
            (0xc105, conditional(32)),
            (0xc121, conditional(64)),
            (0xc141, conditional(128)),
            (0xd101, conditional(-256)),
            (0xfd7d, conditional(-2)),
            // c.jr a0, ra, t0, x0; c.jalr a0, ra, t0; c.ebreak; c.mv; c.add
            (0x8502, to(Jump)),
            (0x8082, to(Return)),
            (0x8282, to(Return)),
            (0x8002, UNDEFINED),
            (0x9502, to(Call)),
            (0x9082, to(Call)),
            (0x9282, to(Swap)),
            (0x9002, PLAIN),
            (0x852e, PLAIN),
            (0x952e, PLAIN),
        ] {
            check(isa, opcode, &NONE, is);
        }
    }
    // C.JAL and C.ADDIW share an opcode.
    check(Rv32, 0x2009, &NONE, branch(Call, 2));
    check(Rv64, 0x2009, &NONE, PLAIN);
}

/// "Zc*", table jumps and pushes and pops: where C.FSDSP would be.
#[test]
fn zcm() {
    let table = |role| (Kind::Branch, role, false, None);
    for (opcode, is) in [
        // cm.push {ra}; cm.pop; cm.popretz; cm.popret; a reserved list; cm.mvsa01; cm.mva01s
        (0xb842, PLAIN),
        (0xba42, PLAIN),
        (0xbc42, to(Role::Return)),
        (0xbef2, to(Role::Return)),
        (0xbe32, PLAIN),
        (0xac22, PLAIN),
        (0xac62, PLAIN),
        // cm.jt 0, 31; cm.jalt 32, 255
        (0xa002, table(Role::Jump)),
        (0xa07e, table(Role::Jump)),
        (0xa082, table(Role::Call)),
        (0xa3fe, table(Role::Call)),
    ] {
        check(Rv32, opcode, &ZCM, is);
        check(Rv32, opcode, &NONE, PLAIN);
    }
    assert_eq!(
        [0xa002, 0xa07e, 0xa3fe, 0xa402].map(rv::table_index),
        [Some(0), Some(31), Some(255), None]
    );
}

/// A hook has the first word, and need not know the rest.
#[test]
fn custom_opcodes() {
    // custom-0 is a hardware loop's end here.
    let custom = Custom(|isa, opcode, address| {
        (opcode & 0x7f == 0x0b).then(|| Instruction {
            conditional: true,
            target: Some(address - 16),
            kind: Kind::Branch,
            ..rv::standard(isa, opcode as u32, address, false)
        })
    });
    let extensions = Extensions { custom: Some(custom), ..NONE };
    check(Rv32, 0x0000_000b, &extensions, conditional(-16));
    check(Rv32, 0x0000_000b, &NONE, PLAIN);
    check(Rv32, 0x0000_0013, &extensions, PLAIN);
    assert_eq!(extensions, extensions);
    assert_ne!(extensions, NONE);
}

/// A jump is predictable right after what made its base, and only of the same register.
#[test]
fn predictable_jumps() {
    let after = |isa, opcode| Upper::after(isa, opcode, AT);
    let rows = [
        // auipc t1, 0x12345; jalr x0, -4(t1)
        (Rv64, asm::auipc(6, 0x1234_5000), asm::jalr(0, 6, -4), Some(AT + 0x1234_4ffc)),
        (Rv64, asm::auipc(6, 0x8000_0000), asm::jalr(0, 6, 3), Some(2)),
        (Rv32, asm::auipc(6, 0x8000_0000), asm::jalr(1, 6, 2), Some(2)),
        // lui: sign extended in RV64
        (Rv64, asm::lui(10, 0x8000_0000), asm::jalr(1, 10, 0), Some(0xffff_ffff_8000_0000)),
        (Rv32, asm::lui(10, 0x8000_0000), asm::jalr(1, 10, -2), Some(0x7fff_fffe)),
        // c.lui
        (Rv64, asm::c_lui(10, 31).unwrap(), Some(asm::c_jr(10)), Some(0x1_f000)),
        (Rv64, asm::c_lui(1, -32).unwrap(), Some(asm::c_jr(1)), Some(0xffff_ffff_fffe_0000)),
        (Rv32, asm::c_lui(5, -1).unwrap(), Some(asm::c_jalr(5)), Some(0xffff_f000)),
        // another register; no jump; c.addi16sp; addi; X0
        (Rv64, asm::auipc(6, 0), asm::jalr(0, 7, 0), None),
        (Rv64, asm::auipc(6, 0), Some(asm::NOP), None),
        (Rv64, 0x6105, Some(asm::c_jr(2)), None),
        (Rv64, 0x0005_0513, asm::jalr(0, 10, 0), None),
        (Rv64, asm::lui(0, 0x1000), asm::jalr(0, 0, 0), None),
    ];
    for (isa, first, second, want) in rows {
        assert_eq!(after(isa, first).target(isa, second.unwrap()), want, "{isa} {first:08x}");
    }
    assert_eq!(Upper::default().target(Rv64, asm::c_jr(1)), None);
}

/// Instructions assembled by name have the opcodes of the listings. (Combinations of fields:
/// `assemble.rs`.)
#[test]
fn encoders() {
    for (got, want) in [
        (asm::beq(10, 11, 8), Some(0x00b5_0463)),
        (asm::beq(10, 11, -0x1000), Some(0x80b5_0063)),
        (asm::beq(10, 11, 0x1000), None),
        (asm::jal(1, -4), Some(0xffdf_f0ef)),
        (asm::jal(6, 0x800), Some(0x0010_036f)),
        (asm::jal(0, 0x10_0000), None),
        (asm::jal(0, 3), None),
        (asm::jalr(0, 1, 0), Some(0x0000_8067)),
        (asm::jalr(0, 1, 2048), None),
        (asm::c_j(-2048), Some(0xb001)),
        (asm::c_j(2048), None),
        (asm::c_beqz(10, -256), Some(0xd101)),
        (asm::c_beqz(16, 0), None),
        (asm::c_lui(2, 1), None),
        (asm::c_lui(10, 0), None),
        (Some(asm::cm_popret(4)), Some(0xbe42)),
        (Some(asm::cm_jt(255)), Some(0xa3fe)),
    ] {
        assert_eq!(got, want);
    }
}
