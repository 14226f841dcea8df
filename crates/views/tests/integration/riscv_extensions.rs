//! The text of Zcmp, Zcmt and custom opcodes.

use tracewright_base::Isa;
use tracewright_isa::rv::{Custom, Extensions, Opcodes};
use tracewright_views::disassembly::{Disassembler, disassemble, disassemble_with};

/// Opcodes and their assembler text. (LLVM, `rv32zcmp-valid.s`, `rv64zcmp-valid.s`,
/// `rv32zcmt-valid.s`)
#[test]
fn zcmp_and_zcmt() {
    let zcm = Extensions { zcm: true, ..Extensions::NONE };
    for (isa, opcode, want) in [
        (Isa::Rv64, 0xbe62, "cm.popret {ra, s0-s1}, 32"),
        (Isa::Rv32, 0xbe62, "cm.popret {ra, s0-s1}, 16"),
        (Isa::Rv64, 0xbc42, "cm.popretz {ra}, 16"),
        (Isa::Rv64, 0xbc46, "cm.popretz {ra}, 32"),
        (Isa::Rv32, 0xbe5e, "cm.popret {ra, s0}, 64"),
        (Isa::Rv32, 0xb8fe, "cm.push {ra, s0-s11}, -112"),
        (Isa::Rv64, 0xb8f2, "cm.push {ra, s0-s11}, -112"),
        (Isa::Rv32, 0xbae2, "cm.pop {ra, s0-s9}, 48"),
        (Isa::Rv64, 0xbae2, "cm.pop {ra, s0-s9}, 96"),
        (Isa::Rv32, 0xacaa, "cm.mvsa01 s1, s2"),
        (Isa::Rv32, 0xacfe, "cm.mva01s s1, s7"),
        (Isa::Rv32, 0xa002, "cm.jt 0"),
        (Isa::Rv32, 0xa07e, "cm.jt 31"),
        (Isa::Rv32, 0xa082, "cm.jalt 32"),
        (Isa::Rv32, 0xa3fe, "cm.jalt 255"),
        // Register lists below 4 are reserved.
        (Isa::Rv32, 0xb832, ".inst 0xb832"),
        // Other opcodes do not depend on the extension.
        (Isa::Rv32, 0x8082, "ret"),
    ] {
        assert_eq!(disassemble_with(isa, opcode, 0x8000, &zcm), want, "{isa} {opcode:04x}");
    }
    assert!(!disassemble(Isa::Rv32, 0xbe62, 0).contains("cm."), "as it is without them");
}

#[test]
fn custom_opcodes() {
    let mut opcodes = Opcodes::NONE;
    for text in [
        "name=cv.beqimm mask=0x707f match=0x600b kind=branch offset=B",
        "name=qc.e.jal mask=0x1f1f07f match=0xc01f kind=call offset=47:32,19:17,31,7,30:25,11:8",
        "name=back mask=0xffff match=0x8102 kind=return",
        "mask=0x7f match=0x5b kind=plain",
    ] {
        opcodes.push(text.parse().expect(text)).expect("room");
    }
    let mut riscv = Extensions { opcodes, ..Extensions::NONE };
    let mut words = Disassembler::new(riscv);
    for (opcode, want) in [
        (0x0055_660b, "cv.beqimm 0x800c"),
        // Only four of six bytes are available, and they do not give the target.
        (0xfe0e_cc9f, "qc.e.jal"),
        (0x8102, "back"),
        (0x1234_565b, ".inst 0x1234565b"),
        (0x0000_0013, "nop"),
    ] {
        assert_eq!(words.text(Isa::Rv32, opcode, 0x8000), want);
    }
    // An opcode that a function describes has no standard text.
    riscv.custom = Some(Custom(|isa, opcode, at| {
        let plain = tracewright_isa::rv::standard(isa, 0x13, at, false);
        (opcode & 0x7f == 0x33).then_some(plain)
    }));
    assert_eq!(disassemble_with(Isa::Rv32, 0x00b5_0533, 0, &riscv), ".inst 0x00b50533");
}
