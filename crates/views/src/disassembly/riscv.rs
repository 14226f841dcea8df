//! RISC-V instructions as text: RV32 and RV64 I, M, A, C and Zicsr, loads and stores of F and D,
//! and Zcmp and Zcmt where the processor has them. Custom instructions have their configured names.
//! Others are opcodes.

mod compressed;
mod csr;
mod wide;
mod zcm;

use tracewright_base::Isa;
use tracewright_isa::rv::{self, Extensions};

/// Registers by their names in the calling convention.
const REGISTERS: [&str; 32] = [
    "zero", "ra", "sp", "gp", "tp", "t0", "t1", "t2", "s0", "s1", "a0", "a1", "a2", "a3", "a4",
    "a5", "a6", "a7", "s2", "s3", "s4", "s5", "s6", "s7", "s8", "s9", "s10", "s11", "t3", "t4",
    "t5", "t6",
];

/// Conditions of branches, by funct3.
const BRANCHES: [&str; 8] = ["beq", "bne", "", "", "blt", "bge", "bltu", "bgeu"];

fn register(number: u32) -> &'static str {
    REGISTERS.get(number as usize & 31).copied().unwrap_or_default()
}

/// The text of an opcode of a processor with `extensions`, a compressed one in bits \[15:0]. `None`
/// for an unknown opcode.
pub(super) fn extended(
    isa: Isa,
    opcode: u32,
    address: u64,
    extensions: &Extensions,
) -> Option<String> {
    if extensions.has_custom() {
        // Only the first four bytes of longer opcodes are available, and they do not give the
        // target.
        let known = |custom: &&rv::Opcode| opcode & custom.mask as u32 == custom.bits as u32;
        if let Some(custom) = extensions.opcodes.as_slice().iter().find(known) {
            let name = Some(custom.name.as_str()).filter(|name| !name.is_empty())?;
            let target = custom.instruction(isa, opcode.into(), address).target;
            return Some(match target.filter(|_| custom.size <= 4) {
                Some(target) => format!("{name} 0x{target:x}"),
                None => name.into(),
            });
        }
        // Instructions that a function describes have no names.
        if extensions.custom(isa, opcode.into(), address).is_some() {
            return None;
        }
    }
    if extensions.zcm && opcode & 0xe003 == 0xa002 {
        return zcm::text(isa, opcode & 0xffff);
    }
    text(isa, opcode, address)
}

/// The text of a standard opcode.
fn text(isa: Isa, opcode: u32, address: u64) -> Option<String> {
    let target = rv::standard(isa, opcode, address, false).target.unwrap_or(0);
    if rv::size(opcode as u16) == 2 {
        let expanded = || text(isa, compressed::expanded(isa, opcode & 0xffff)?, address);
        return narrow(isa, opcode & 0xffff, target).or_else(expanded);
    }
    let (rd, rs1, rs2) = (opcode >> 7 & 31, opcode >> 15 & 31, opcode >> 20 & 31);
    let funct3 = opcode >> 12 & 0b111;
    Some(match opcode & 0x7f {
        0x6f if rd == 0 => format!("j 0x{target:x}"),
        0x6f if rd == 1 => format!("jal 0x{target:x}"),
        0x6f => format!("jal {}, 0x{target:x}", register(rd)),
        0x67 if opcode == 0x0000_8067 => "ret".into(),
        0x67 if funct3 == 0 => {
            let (offset, base) = (opcode as i32 >> 20, register(rs1));
            match rd {
                0 => format!("jr {offset}({base})"),
                1 => format!("jalr {offset}({base})"),
                _ => format!("jalr {}, {offset}({base})", register(rd)),
            }
        }
        0x63 if funct3 & 0b110 != 0b010 => {
            let name = BRANCHES.get(funct3 as usize).copied().unwrap_or_default();
            format!("{name} {}, {}, 0x{target:x}", register(rs1), register(rs2))
        }
        0x17 => format!("auipc {}, 0x{:x}", register(rd), opcode >> 12),
        0x37 => format!("lui {}, 0x{:x}", register(rd), opcode >> 12),
        0x0f if funct3 == 0 => "fence".into(),
        0x0f if funct3 == 1 => "fence.i".into(),
        _ => match opcode {
            0x0000_0013 => "nop",
            0x0000_0073 => "ecall",
            0x0010_0073 => "ebreak",
            0x0020_0073 => "uret",
            0x1020_0073 => "sret",
            0x3020_0073 => "mret",
            0x7020_0073 => "mnret",
            0x7b20_0073 => "dret",
            0x1050_0073 => "wfi",
            _ => return wide::text(isa, opcode),
        }
        .into(),
    })
}

/// Compressed jumps and branches, and compressed opcodes that expand to no standard opcode.
fn narrow(isa: Isa, opcode: u32, target: u64) -> Option<String> {
    let rs1 = opcode >> 7 & 31;
    Some(match (opcode & 0b11, opcode >> 13 & 0b111) {
        (0b00, _) if opcode == 0 => "c.unimp".into(),
        (0b01, 0b000) if opcode == 1 => "c.nop".into(),
        (0b01, 0b001) if isa == Isa::Rv32 => format!("c.jal 0x{target:x}"),
        (0b01, 0b101) => format!("c.j 0x{target:x}"),
        (0b01, 0b110) => format!("c.beqz {}, 0x{target:x}", register(8 + (opcode >> 7 & 7))),
        (0b01, 0b111) => format!("c.bnez {}, 0x{target:x}", register(8 + (opcode >> 7 & 7))),
        (0b10, 0b100) if opcode & 0x7c == 0 => match (opcode >> 12 & 1, rs1) {
            (0, 0) => return None,
            (0, 1) => "ret".into(),
            (0, _) => format!("c.jr {}", register(rs1)),
            (_, 0) => "c.ebreak".into(),
            (_, _) => format!("c.jalr {}", register(rs1)),
        },
        _ => return None,
    })
}
