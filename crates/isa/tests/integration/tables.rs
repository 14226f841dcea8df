//! Opcodes laid out from the Arm architecture manuals, and what each is.

use tracewright_base::{Instruction, Isa, Kind, Role};
use tracewright_isa::{ItState, classify};

use Isa::{A32, A64, T32, ThumbEe};

/// Where the instructions of the tables lie.
const AT: u64 = 0x0001_0000;

/// What a row expects. `Cond` marks what a condition decides on.
#[derive(Clone, Copy, Debug)]
enum Is {
    Plain,
    CondPlain,
    /// A direct branch by this many bytes.
    Branch(Role, i64),
    Cond(Role, i64),
    /// A direct branch by this many bytes, to this instruction set.
    Switch(Role, i64, Isa),
    Indirect(Role),
    CondIndirect(Role),
    Other(Kind),
    CondOther(Kind),
}

fn expected(isa: Isa, size: u8, is: Is) -> Instruction {
    let plain =
        Instruction { size, isa, target_isa: isa, kind: Kind::Plain, ..Instruction::default() };
    let branch = |role, by| Instruction {
        kind: Kind::Branch,
        role,
        target: Some(AT.wrapping_add_signed(by) & isa.address_mask()),
        ..plain
    };
    match is {
        Is::Plain => plain,
        Is::CondPlain => Instruction { conditional: true, ..plain },
        Is::Branch(role, by) => branch(role, by),
        Is::Cond(role, by) => Instruction { conditional: true, ..branch(role, by) },
        Is::Switch(role, by, target_isa) => Instruction { target_isa, ..branch(role, by) },
        Is::Indirect(role) => Instruction { kind: Kind::Indirect, role, ..plain },
        Is::CondIndirect(role) => {
            Instruction { kind: Kind::Indirect, role, conditional: true, ..plain }
        }
        Is::Other(kind) => Instruction { kind, ..plain },
        Is::CondOther(kind) => Instruction { kind, conditional: true, ..plain },
    }
}

/// Bytes of an opcode as memory holds them.
fn bytes(isa: Isa, opcode: u32) -> Vec<u8> {
    match isa {
        T32 | ThumbEe if opcode <= 0xffff => (opcode as u16).to_le_bytes().to_vec(),
        T32 | ThumbEe => opcode.rotate_left(16).to_le_bytes().to_vec(),
        _ => opcode.to_le_bytes().to_vec(),
    }
}

#[track_caller]
fn check(isa: Isa, rows: &[(u32, Is)]) {
    for &(opcode, is) in rows {
        let bytes = bytes(isa, opcode);
        let want = expected(isa, bytes.len() as u8, is);
        for len in 0..bytes.len() {
            assert_eq!(classify(isa, &bytes[..len], AT, &mut ItState::default()), None);
        }
        let got = classify(isa, &bytes, AT, &mut ItState::default());
        assert_eq!(got, Some(want), "{isa} {opcode:08x}");
        let more = [&bytes[..], &[0xff; 4]].concat();
        assert_eq!(classify(isa, &more, AT, &mut ItState::default()), got);
    }
}

/// Arm ARM, "Branches, Exception Generating and System instructions".
/// The opcodes that are plain by their group are classified so, and most others are not.
#[test]
fn groups_of_plain_opcodes() {
    let mut seed = 1u32;
    for _ in 0..1 << 20 {
        seed = seed.wrapping_mul(0x0019_660d).wrapping_add(0x3c6e_f35f);
        let opcode = if seed >> 28 == 0 { 0xd503_2000 | seed & 0xfff } else { seed.rotate_left(7) };
        let found = tracewright_isa::a64::classify(opcode, 0x1000);
        let plain = tracewright_isa::a64::classify(0x9100_0000, 0x1000);
        assert_eq!((found.kind, plain.kind), (found.kind, Kind::Plain));
        if tracewright_isa::a64::is_plain(opcode) {
            assert_eq!(found, plain, "{opcode:08x}");
        }
    }
    assert!(tracewright_isa::a64::is_plain(0xf940_0000));
    assert!(!tracewright_isa::a64::is_plain(0xd65f_03c0));
}

#[test]
fn a64() {
    use Is::*;
    use Role::*;
    check(
        A64,
        &[
            (0xd503_201f, Plain), // NOP
            (0x1400_0000, Branch(Jump, 0)),
            (0x1400_0001, Branch(Jump, 4)),
            (0x17ff_ffff, Branch(Jump, -4)),
            (0x1600_0000, Branch(Jump, -0x800_0000)),
            (0x9400_0002, Branch(Call, 8)),
            (0x97ff_fffe, Branch(Call, -8)),
            (0x5400_0040, Is::Cond(Jump, 8)),             // B.EQ
            (0x54ff_ffe1, Is::Cond(Jump, -4)),            // B.NE
            (0x5400_004e, Is::Cond(Jump, 8)),             // B.AL
            (0x5400_0050, Is::Cond(Jump, 8)),             // BC.EQ
            (0x5480_0000, Is::Cond(Jump, -0x10_0000)),    // the furthest
            (0x3400_0040, Is::Cond(Jump, 8)),             // CBZ W0
            (0xb500_005f, Is::Cond(Jump, 8)),             // CBNZ XZR
            (0x3600_0040, Is::Cond(Jump, 8)),             // TBZ W0, #0
            (0xb7ff_ffe0, Is::Cond(Jump, -4)),            // TBNZ X0, #63
            (0x3604_0000, Is::Cond(Jump, -0x8000)),       // the furthest
            (0x7401_0040, Is::Cond(Compare, 8)),          // CBGT W0, W1
            (0xf4e1_2000, Is::Cond(Compare, -0x400)),     // CBNE X0, X1
            (0x7421_8040, Is::Cond(Compare, 8)),          // CBBGE W0, W1
            (0x7423_a005, Is::Cond(Compare, -1024)),      // CBBGE W5, W3
            (0x74c1_c040, Is::Cond(Compare, 8)),          // CBHEQ W0, W1
            (0x7500_8040, Is::Cond(Compare, 8)),          // CBGT W0, #1
            (0xf5df_8040, Is::Cond(Compare, 8)),          // CBEQ X0, #63
            (0x7481_0040, Other(Kind::Undefined)),        // no such condition
            (0xf421_8040, Other(Kind::Undefined)),        // CBB has no 64-bit form
            (0x7401_4040, Other(Kind::Undefined)),        // bits [15:14] are 01
            (0x7500_4040, Other(Kind::Undefined)),        // bit 14 is set
            (0xd61f_0200, Indirect(Jump)),                // BR X16
            (0xd61f_0a1f, Indirect(Jump)),                // BRAAZ X16
            (0xd61f_0e1f, Indirect(Jump)),                // BRABZ X16
            (0xd71f_0a11, Indirect(Jump)),                // BRAA X16, X17
            (0xd71f_0e1f, Indirect(Jump)),                // BRAB X16, SP
            (0xd63f_0200, Indirect(Call)),                // BLR X16
            (0xd63f_0a1f, Indirect(Call)),                // BLRAAZ X16
            (0xd63f_0e1f, Indirect(Call)),                // BLRABZ X16
            (0xd73f_0a11, Indirect(Call)),                // BLRAA X16, X17
            (0xd73f_0e11, Indirect(Call)),                // BLRAB X16, X17
            (0xd65f_03c0, Indirect(Return)),              // RET
            (0xd65f_0200, Indirect(Return)),              // RET X16
            (0xd65f_0bff, Indirect(Return)),              // RETAA
            (0xd65f_0fff, Indirect(Return)),              // RETAB
            (0xd65f_0be2, Indirect(Return)),              // RETAASPPC X2
            (0xd65f_0fe2, Indirect(Return)),              // RETABSPPC X2
            (0x5500_001f, Indirect(Return)),              // RETAASPPC to itself
            (0x5520_00ff, Indirect(Return)),              // RETABSPPC 28 back
            (0xd69f_03e0, Indirect(ExceptionReturn)),     // ERET
            (0xd69f_0bff, Indirect(ExceptionReturn)),     // ERETAA
            (0xd69f_0fff, Indirect(ExceptionReturn)),     // ERETAB
            (0xd6ff_03e0, Indirect(ExceptionReturn)),     // TEXIT
            (0xd6ff_07e0, Indirect(ExceptionReturn)),     // TEXIT NB
            (0xd6bf_03e0, Plain),                         // DRPS
            (0xd69f_0000, Other(Kind::Undefined)),        // ERET names no register
            (0xd61f_0201, Other(Kind::Undefined)),        // BR with op4
            (0xd79f_03e0, Other(Kind::Undefined)),        // opc 1100
            (0x5500_0000, Other(Kind::Undefined)),        // RETAASPPC without its ones
            (0x5540_001f, Other(Kind::Undefined)),        // opc 010
            (0xd400_0001, Plain),                         // SVC
            (0xd400_0002, Plain),                         // HVC
            (0xd400_0003, Plain),                         // SMC
            (0xd420_0000, Plain),                         // BRK
            (0xd440_0000, Plain),                         // HLT
            (0xd460_0000, Plain),                         // TCANCEL
            (0xd4a0_0001, Plain),                         // DCPS1
            (0xd400_0000, Other(Kind::Undefined)),        // LL 00
            (0xd4c0_0000, Other(Kind::Undefined)),        // opc 110
            (0xd503_205f, Other(Kind::Wait)),             // WFE
            (0xd503_207f, Other(Kind::Wait)),             // WFI
            (0xd503_1000, Other(Kind::TimedWait)),        // WFET X0
            (0xd503_103e, Other(Kind::TimedWait)),        // WFIT X30
            (0xd503_1040, Plain),                         // no such wait
            (0xd503_203f, Plain),                         // YIELD
            (0xd503_209f, Plain),                         // SEV
            (0xd580_0001, Plain),                         // TCHANGEF X1, X0
            (0xd586_03ff, Plain),                         // TCHANGEB XZR, XZR, NB
            (0xd590_0fe1, Plain),                         // TCHANGEF X1, #127
            (0xd580_0400, Other(Kind::Undefined)),        // bit 10 is set
            (0xd590_1000, Other(Kind::Undefined)),        // bit 12 is set
            (0xd588_0000, Other(Kind::Undefined)),        // bit 19 is set
            (0xd503_3f9f, Other(Kind::Barrier)),          // DSB SY
            (0xd503_3b9f, Other(Kind::Barrier)),          // DSB ISH
            (0xd503_3e3f, Other(Kind::Barrier)),          // DSB SYnXS
            (0xd503_323f, Other(Kind::Barrier)),          // DSB OSHnXS
            (0xd503_333f, Plain),                         // CRm is not xx10
            (0xd503_309f, Other(Kind::Barrier)),          // SSBB
            (0xd503_349f, Other(Kind::Barrier)),          // PSSBB
            (0xd503_3bbf, Other(Kind::Barrier)),          // DMB ISH
            (0xd503_3fdf, Other(Kind::Isb)),              // ISB
            (0xd503_3f5f, Plain),                         // CLREX
            (0xd503_30ff, Plain),                         // SB
            (0xd503_307f, Plain),                         // TCOMMIT
            (0xd523_3060, Other(Kind::TransactionStart)), // TSTART X0
            (0xd523_3160, Plain),                         // TTEST X0
            (0xd538_0000, Plain),                         // MRS
            (0x0000_0000, Other(Kind::Undefined)),        // UDF #0
            (0x0000_ffff, Other(Kind::Undefined)),        // UDF #65535
            (0x0001_0000, Other(Kind::Undefined)),
            (0x0200_0000, Other(Kind::Undefined)), // op0 0001
            (0xe600_0000, Other(Kind::Undefined)), // op0 0011
            (0xffff_ffff, Other(Kind::Undefined)), // erased memory
            (0x8080_0000, Plain),                  // SME
            (0x0400_0000, Plain),                  // SVE
            (0xd503_41ff, Plain),                  // MSR SPSel
        ],
    );
}

/// The opcode of all zeros is an instruction in A32 and T32.
#[test]
fn zeros() {
    let zeros = |isa| classify(isa, &[0; 4], AT, &mut ItState::default()).unwrap();
    let and_eq = zeros(A32);
    assert_eq!((and_eq.kind, and_eq.conditional, and_eq.size), (Kind::Plain, true, 4));
    let movs = zeros(T32);
    assert_eq!((movs.kind, movs.conditional, movs.size), (Kind::Plain, false, 2));
}

/// Arm ARM, "A32 Base Instruction Set Encoding".
#[test]
fn a32() {
    use Is::*;
    use Role::*;
    check(
        A32,
        &[
            (0xe320_f000, Plain),     // NOP
            (0x0320_f000, CondPlain), // NOPEQ
            (0xeaff_fffe, Branch(Jump, 0)),
            (0xea00_0000, Branch(Jump, 8)),
            (0xea80_0000, Branch(Jump, 8 - 0x200_0000)), // wraps
            (0x0a00_0000, Is::Cond(Jump, 8)),
            (0xebff_fffc, Branch(Call, -8)),
            (0xdbff_fffc, Is::Cond(Call, -8)),
            (0xfa00_0000, Switch(Call, 8, T32)),
            (0xfb00_0000, Switch(Call, 10, T32)),
            (0xe12f_ff1e, Indirect(ImpliedReturn)), // BX LR
            (0x012f_ff1e, CondIndirect(ImpliedReturn)), // BXEQ LR
            (0xe12f_ff1c, Indirect(Jump)),          // BX R12
            (0xe12f_ff2e, Indirect(Jump)),          // BXJ LR
            (0xe12f_ff3c, Indirect(Call)),          // BLX R12
            (0xe160_006e, Indirect(ExceptionReturn)), // ERET
            (0x0160_006e, CondIndirect(ExceptionReturn)), // ERETEQ
            (0xe1a0_f00e, Indirect(ImpliedReturn)), // MOV PC, LR
            (0xe1b0_f00e, Indirect(ExceptionReturn)), // MOVS PC, LR
            (0xe25e_f004, Indirect(ExceptionReturn)), // SUBS PC, LR, #4
            (0xe24e_f004, Indirect(Jump)),          // SUB PC, LR, #4
            (0xe08f_f103, Indirect(Jump)),          // ADD PC, PC, R3, LSL #2
            (0x908f_f103, CondIndirect(Jump)),      // ADDLS PC, PC, R3, LSL #2
            (0xe3a0_f000, Indirect(Jump)),          // MOV PC, #0
            (0xe1a0_e00f, Plain),                   // MOV LR, PC
            (0xe35f_0000, Plain),                   // CMP PC, #0
            (0xe350_f000, Plain),                   // CMPP R0, #0
            (0xe303_f000, Plain),                   // MOVW PC, unpredictable
            (0xe129_f000, Plain),                   // MSR
            (0xe10f_0000, Plain),                   // MRS
            (0xe16f_1f10, Plain),                   // CLZ
            (0xe120_0070, Plain),                   // BKPT
            (0xe140_0070, Plain),                   // HVC
            (0xe160_0070, Plain),                   // SMC
            (0xef00_0000, Plain),                   // SVC
            (0xe02f_0291, Plain),                   // MLA
            (0xe1df_f0b0, Plain),                   // LDRH PC, unpredictable
            (0xe49d_f004, Indirect(ImpliedReturn)), // POP {PC}
            (0xe59d_f004, Indirect(Jump)),          // LDR PC, [SP, #4]
            (0xe51f_f004, Indirect(Jump)),          // LDR PC, [PC, #-4]
            (0xe79f_f103, Indirect(Jump)),          // LDR PC, [PC, R3, LSL #2]
            (0xe5df_f000, Plain),                   // LDRB PC, unpredictable
            (0xe58d_f004, Plain),                   // STR PC
            (0xe8bd_8010, Indirect(ImpliedReturn)), // POP {R4, PC}
            (0x08bd_8010, CondIndirect(ImpliedReturn)), // POPEQ {R4, PC}
            (0xe8bd_a010, Indirect(Jump)),          // LDM SP!, {R4, SP, PC}
            (0xe89d_a800, Indirect(Jump)),          // LDM SP, {R11, SP, PC}
            (0xe91b_a800, Indirect(Jump)),          // LDMDB R11, {R11, SP, PC}
            (0xe8fd_8000, Indirect(ExceptionReturn)), // LDM SP!, {PC}^
            (0xe8bd_4010, Plain),                   // POP {R4, LR}
            (0xe92d_8000, Plain),                   // PUSH {PC}
            (0xf8bd_0a00, Indirect(ExceptionReturn)), // RFEIA SP!
            (0xf91d_0a00, Indirect(ExceptionReturn)), // RFEDB SP
            (0xf96d_0513, Plain),                   // SRSDB SP!, #19
            (0xf57f_f04f, Other(Kind::Barrier)),    // DSB SY
            (0xf57f_f05b, Other(Kind::Barrier)),    // DMB ISH
            (0xf57f_f06f, Other(Kind::Isb)),        // ISB
            (0xf57f_f01f, Plain),                   // CLREX
            (0xf57f_f070, Plain),                   // SB
            (0xee07_0f9a, Other(Kind::Barrier)),    // CP15DSB
            (0xee07_0fba, Other(Kind::Barrier)),    // CP15DMB
            (0xee07_3f95, Other(Kind::Isb)),        // CP15ISB
            (0x0e07_3f95, CondOther(Kind::Isb)),
            (0xee07_0f15, Plain),                 // ICIALLU
            (0xe320_f002, Other(Kind::Wait)),     // WFE
            (0xe320_f003, Other(Kind::Wait)),     // WFI
            (0x0320_f003, CondOther(Kind::Wait)), // WFIEQ
            (0xe7f0_00f0, Other(Kind::Undefined)),
            (0x07f0_00f0, CondOther(Kind::Undefined)),
            (0xffff_ffff, Other(Kind::Undefined)), // erased memory
        ],
    );
}

/// Arm ARM, "T32 Instruction Set Encoding"; Armv8-M ARM for the loops.
#[test]
fn t32() {
    use Is::*;
    use Role::*;
    check(
        T32,
        &[
            (0xbf00, Plain), // NOP
            (0xe7fe, Branch(Jump, 0)),
            (0xe000, Branch(Jump, 4)),
            (0xd000, Is::Cond(Jump, 4)),
            (0xddfe, Is::Cond(Jump, 0)),
            (0xde00, Other(Kind::Undefined)),
            (0xdf00, Plain),                   // SVC
            (0xb100, Is::Cond(Jump, 4)),       // CBZ R0
            (0xbbf8, Is::Cond(Jump, 130)),     // CBNZ R0, the furthest
            (0x4770, Indirect(ImpliedReturn)), // BX LR
            (0x4774, Indirect(ImpliedReturn)), // BXNS LR
            (0x4718, Indirect(Jump)),          // BX R3
            (0x471c, Indirect(Jump)),          // BXNS R3
            (0x4798, Indirect(Call)),          // BLX R3
            (0x479c, Indirect(Call)),          // BLXNS R3
            (0x46f7, Indirect(ImpliedReturn)), // MOV PC, LR
            (0x469f, Indirect(Jump)),          // MOV PC, R3
            (0x449f, Indirect(Jump)),          // ADD PC, R3
            (0x459f, Plain),                   // CMP PC, R3
            (0x4699, Plain),                   // MOV R9, R3
            (0xbd10, Indirect(ImpliedReturn)), // POP {R4, PC}
            (0xbc10, Plain),                   // POP {R4}
            (0xbe00, Plain),                   // BKPT
            (0xbf20, Other(Kind::Wait)),       // WFE
            (0xbf30, Other(Kind::Wait)),       // WFI
            (0xbf40, Plain),                   // SEV
            (0xb700, Other(Kind::Undefined)),
            (0xf7ff_bffe, Branch(Jump, 0)),               // B.W
            (0xf000_b800, Branch(Jump, 4)),               // B.W
            (0xf400_9000, Branch(Jump, 4 - 0x100_0000)),  // B.W, the furthest back
            (0xf3ff_97ff, Branch(Jump, 4 + 0xff_fffe)),   // B.W, the furthest on
            (0xf43f_affe, Is::Cond(Jump, 0)),             // BEQ.W
            (0xf000_8000, Is::Cond(Jump, 4)),             // BEQ.W
            (0xf340_8000, Is::Cond(Jump, 4)),             // BLE.W
            (0xf440_8000, Is::Cond(Jump, 4 - 0x10_0000)), // BNE.W
            (0xf440_a000, Is::Cond(Jump, 4 - 0x10_0000 + 0x4_0000)), // BNE.W, J1
            (0xf440_8800, Is::Cond(Jump, 4 - 0x10_0000 + 0x8_0000)), // BNE.W, J2
            (0xf7ff_fffc, Branch(Call, -4)),              // BL
            (0xf000_e800, Switch(Call, 4, A32)),          // BLX
            (0xf7ff_effe, Switch(Call, 0, A32)),          // BLX
            (0xf3c2_8f00, Indirect(Jump)),                // BXJ R2
            (0xf3de_8f00, Indirect(ExceptionReturn)),     // ERET
            (0xf3de_8f04, Indirect(ExceptionReturn)),     // SUBS PC, LR, #4
            (0xf3ef_8000, Plain),                         // MRS
            (0xf7f0_8000, Plain),                         // SMC
            (0xf7f0_a000, Other(Kind::Undefined)),
            (0xf3af_8002, Other(Kind::Wait)),
            (0xf3af_8003, Other(Kind::Wait)),
            (0xf3af_8000, Plain),                     // NOP.W
            (0xf3bf_8f4f, Other(Kind::Barrier)),      // DSB
            (0xf3bf_8f5f, Other(Kind::Barrier)),      // DMB
            (0xf3bf_8f6f, Other(Kind::Isb)),          // ISB
            (0xf3bf_8f2f, Plain),                     // CLREX
            (0xf3bf_8f1f, Switch(Jump, 4, ThumbEe)),  // ENTERX
            (0xf3bf_8f0f, Branch(Jump, 4)),           // LEAVEX
            (0xee07_0f9a, Other(Kind::Barrier)),      // CP15DSB
            (0xee07_0fba, Other(Kind::Barrier)),      // CP15DMB
            (0xee07_0f95, Other(Kind::Isb)),          // CP15ISB
            (0xe8d0_f001, Indirect(Jump)),            // TBB
            (0xe8df_f011, Indirect(Jump)),            // TBH
            (0xe8d0_1f4f, Plain),                     // LDREXB
            (0xe8bd_8010, Indirect(ImpliedReturn)),   // POP.W {R4, PC}
            (0xe8b0_8010, Indirect(Jump)),            // LDM R0!, {R4, PC}
            (0xe91b_8010, Indirect(Jump)),            // LDMDB R11, {R4, PC}
            (0xe8bd_4010, Plain),                     // POP.W {R4, LR}
            (0xe89f_8000, Plain),                     // CLRM {APSR}
            (0xfb5e_cf1d, Indirect(ImpliedReturn)),   // BXAUT R12, LR, SP
            (0xfb52_1f13, Indirect(Jump)),            // BXAUT R1, R2, R3
            (0xfb52_1f03, Plain),                     // AUTG R1, R2, R3
            (0xfb52_f113, Plain),                     // SMMULR R1, R2, R3
            (0xe81d_c000, Indirect(ExceptionReturn)), // RFEDB SP
            (0xe9bd_c000, Indirect(ExceptionReturn)), // RFEIA SP!
            (0xe82d_c013, Plain),                     // SRSDB
            (0xf85d_fb04, Indirect(ImpliedReturn)),   // LDR PC, [SP], #4
            (0xf8df_f004, Indirect(Jump)),            // LDR PC, [PC, #4]
            (0xf85f_f004, Indirect(Jump)),            // LDR PC, [PC, #-4]
            (0xf8d0_f004, Indirect(Jump)),            // LDR PC, [R0, #4]
            (0xf850_f804, Other(Kind::Undefined)),    // LDR PC, neither P nor W
            (0xf850_f021, Indirect(Jump)),            // LDR PC, [R0, R1, LSL #2]
            (0xf8d0_1004, Plain),                     // LDR R1
            (0xf89f_f000, Plain),                     // PLD
            (0xe97f_e97f, Plain),                     // SG
            (0xf04e_c001, Is::Cond(Loop, 4)),         // WLS LR, LR
            (0xf040_c80b, Is::Cond(Loop, 4 + 22)),    // WLS LR, R0
            (0xf020_c003, Is::Cond(Loop, 4 + 4)),     // WLSTP.32 LR, R0
            (0xf00f_c003, Is::Cond(Loop, 4 - 4)),     // LE LR
            (0xf01f_c003, Is::Cond(Loop, 4 - 4)),     // LETP LR
            (0xf02f_c007, Branch(Loop, 4 - 12)),      // LE
            (0xf03f_c001, Other(Kind::Undefined)),
            (0xffff_ffff, Other(Kind::Undefined)), // erased memory
            (0xf040_e001, Plain),                  // DLS LR, R0
            (0xf00f_e001, Plain),                  // LCTP
            (0xf0c0_e001, Plain),                  // BF
            (0xf080_c001, Plain),                  // BFL
        ],
    );
}

/// Armv7-A ARM, chapter A9.
#[test]
fn thumbee() {
    use Is::*;
    use Role::*;
    check(
        ThumbEe,
        &[
            (0xbf00, Plain),
            (0xe7fe, Branch(Jump, 0)),
            (0xf7ff_fffc, Branch(Call, -4)),
            (0xf000_e800, Switch(Call, 4, A32)), // BLX
            (0x4770, Indirect(ImpliedReturn)),
            (0xc01f, Indirect(Jump)), // HBP #0, #31
            (0xc2ff, Indirect(Jump)), // HB #255
            (0xc301, Indirect(Call)), // HBL #1
            (0xc400, Indirect(Call)), // HBLP #0, #0
            (0xc7ff, Indirect(Call)), // HBLP #31, #31
            (0xc100, Other(Kind::Undefined)),
            (0xc800, Plain),                     // LDR R0, [R0]
            (0xca00, Plain),                     // CHKA R0, R0
            (0xcc00, Plain),                     // LDR R0, [R9]
            (0xf3bf_8f1f, Branch(Jump, 4)),      // ENTERX
            (0xf3bf_8f0f, Switch(Jump, 4, T32)), // LEAVEX
        ],
    );
}

/// Arm ARM, IT: an IT block is 1 to 4 instructions long, 2 or 4 bytes each.
#[test]
fn it_blocks() {
    // Opcodes, and whether a condition decides on each.
    let blocks: [&[(u32, bool)]; 7] = [
        &[(0xbf08, false), (0x4770, true), (0x4770, false)], // IT EQ
        &[(0xbf14, false), (0xbf00, true), (0xf000_b800, true), (0xbf00, false)], // ITE NE
        &[(0xbfc6, false), (0xbf00, true), (0xbf00, true), (0xe000, true), (0xe000, false)],
        &[(0xbf01, false), (0xbf00, true), (0xbf00, true), (0xbf00, true), (0xe000, true)],
        &[(0xbfe8, false), (0x4770, false), (0x4770, false)], // IT AL
        &[(0xbf08, false), (0xf3bf_8f6f, true), (0xf3bf_8f6f, false)], // ISB
        &[(0xbf10, false), (0x4770, false)],                  // YIELD is no IT
    ];
    for block in blocks {
        let mut it = ItState::default();
        for (i, &(opcode, conditional)) in block.iter().enumerate() {
            let got = classify(T32, &bytes(T32, opcode), AT, &mut it).unwrap();
            assert_eq!(got.conditional, conditional, "instruction {i} of {block:x?}");
        }
    }
}

/// Addresses wrap at the width of the instruction set.
#[test]
fn wrapping() {
    let target = |isa, opcode, at| {
        classify(isa, &bytes(isa, opcode), at, &mut ItState::default()).unwrap().target
    };
    assert_eq!(target(A64, 0x17ff_ffff, 0), Some(0xffff_ffff_ffff_fffc));
    assert_eq!(target(A64, 0x1400_0001, 0xffff_ffff_ffff_fffc), Some(0));
    assert_eq!(target(A32, 0xeaff_fffd, 0), Some(0xffff_fffc));
    assert_eq!(target(A32, 0xea00_0000, 0xffff_fffc), Some(4));
    assert_eq!(target(T32, 0xe7fd, 0), Some(0xffff_fffe));
    assert_eq!(target(T32, 0xe000, 0xffff_fffe), Some(2));
    // BLX is relative to a word.
    assert_eq!(target(T32, 0xf000_e800, 0x8002), Some(0x8004));
}

/// All bytes at all addresses are classified, with the properties that all instructions have.
#[test]
fn anything() {
    let mut random = 1u64;
    for i in 0..400_000u64 {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let opcode = ((random >> 32) as u32).to_le_bytes();
        let address = [0, 2, 0x7fff_fffe, 0xffff_fffe, u64::MAX - 3, random][(i % 6) as usize];
        let mut it = ItState::default();
        for isa in [A64, A32, T32, ThumbEe] {
            let got = classify(isa, &opcode, address, &mut it).unwrap();
            assert_eq!(got.isa, isa);
            assert_eq!(got.target.is_some(), got.kind == Kind::Branch);
            assert!(got.target.is_none_or(|t| t & !isa.address_mask() == 0));
            assert!(got.target.is_some() || got.target_isa == isa);
            assert!(got.role == Role::Jump || matches!(got.kind, Kind::Branch | Kind::Indirect));
            assert!(got.size == 4 || got.size == 2 && matches!(isa, T32 | ThumbEe));
        }
    }
}

#[test]
fn not_classified() {
    assert_eq!(classify(Isa::Jazelle, &[0; 8], AT, &mut ItState::default()), None);
}
