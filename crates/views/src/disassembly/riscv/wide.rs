//! Instructions of 4 bytes that do not change the flow: I, M, A, Zicsr, and loads and stores of F
//! and D. (Unprivileged ISA, "RV32/64G Instruction Set Listings")

use tracewright_base::Isa;

use super::csr;
use super::register;

/// Floating-point registers by their names in the calling convention.
const FLOATS: [&str; 32] = [
    "ft0", "ft1", "ft2", "ft3", "ft4", "ft5", "ft6", "ft7", "fs0", "fs1", "fa0", "fa1", "fa2",
    "fa3", "fa4", "fa5", "fa6", "fa7", "fs2", "fs3", "fs4", "fs5", "fs6", "fs7", "fs8", "fs9",
    "fs10", "fs11", "ft8", "ft9", "ft10", "ft11",
];

fn float(number: u32) -> &'static str {
    FLOATS.get(number as usize & 31).copied().unwrap_or_default()
}

/// The name at index `n`; `None` where it is empty.
fn named(names: &[&'static str], n: u32) -> Option<&'static str> {
    names.get(n as usize).copied().filter(|name| !name.is_empty())
}

const LOADS: [&str; 8] = ["lb", "lh", "lw", "ld", "lbu", "lhu", "lwu", ""];
const STORES: [&str; 8] = ["sb", "sh", "sw", "sd", "", "", "", ""];
const IMMEDIATE: [&str; 8] = ["addi", "slli", "slti", "sltiu", "xori", "srli", "ori", "andi"];
const REGISTERS: [&str; 8] = ["add", "sll", "slt", "sltu", "xor", "srl", "or", "and"];
const MULTIPLY: [&str; 8] = ["mul", "mulh", "mulhsu", "mulhu", "div", "divu", "rem", "remu"];
const MULTIPLY_32: [&str; 8] = ["mulw", "", "", "", "divw", "divuw", "remw", "remuw"];

/// The text of `opcode`; `None` for an unknown opcode.
pub(super) fn text(isa: Isa, opcode: u32) -> Option<String> {
    let rv64 = isa == Isa::Rv64;
    let (rd, rs1, rs2) = (opcode >> 7 & 31, opcode >> 15 & 31, opcode >> 20 & 31);
    let (funct3, funct7) = (opcode >> 12 & 0b111, opcode >> 25);
    let (to, one, two) = (register(rd), register(rs1), register(rs2));
    let immediate = opcode as i32 >> 20;
    let stored = (opcode as i32 >> 25) << 5 | (opcode >> 7 & 31) as i32;
    let wide = |funct3: u32| rv64 || !matches!(funct3, 3 | 6);
    Some(match opcode & 0x7f {
        0x03 if wide(funct3) => format!("{} {to}, {immediate}({one})", named(&LOADS, funct3)?),
        0x07 => {
            let name = named(&["", "flh", "flw", "fld", "flq"], funct3)?;
            format!("{name} {}, {immediate}({one})", float(rd))
        }
        0x23 if wide(funct3) => format!("{} {two}, {stored}({one})", named(&STORES, funct3)?),
        0x27 => {
            let name = named(&["", "fsh", "fsw", "fsd", "fsq"], funct3)?;
            format!("{name} {}, {stored}({one})", float(rs2))
        }
        0x13 => match (funct3, rs1, immediate) {
            (0, 0, value) if rd != 0 => format!("li {to}, {value}"),
            (0, _, 0) if rd != 0 => format!("mv {to}, {one}"),
            (3, _, 1) => format!("seqz {to}, {one}"),
            (4, _, -1) => format!("not {to}, {one}"),
            (7, _, 255) => format!("zext.b {to}, {one}"),
            (1 | 5, ..) => {
                let bits = if rv64 { 6 } else { 5 };
                let by = opcode >> 20 & ((1 << bits) - 1);
                let name = match (funct3, opcode >> (20 + bits) << bits) {
                    (1, 0) => "slli",
                    (5, 0) => "srli",
                    (5, 0x400) => "srai",
                    _ => return None,
                };
                format!("{name} {to}, {one}, 0x{by:x}")
            }
            _ => format!("{} {to}, {one}, {immediate}", named(&IMMEDIATE, funct3)?),
        },
        0x1b if rv64 => match (funct3, funct7) {
            (0, _) if immediate == 0 => format!("sext.w {to}, {one}"),
            (0, _) => format!("addiw {to}, {one}, {immediate}"),
            (1, 0) => format!("slliw {to}, {one}, 0x{rs2:x}"),
            (5, 0) => format!("srliw {to}, {one}, 0x{rs2:x}"),
            (5, 0x20) => format!("sraiw {to}, {one}, 0x{rs2:x}"),
            _ => return None,
        },
        0x33 => match (funct7, funct3) {
            (0, 2) if rs2 == 0 => format!("sltz {to}, {one}"),
            (0, 2) if rs1 == 0 => format!("sgtz {to}, {two}"),
            (0, 3) if rs1 == 0 => format!("snez {to}, {two}"),
            (0x20, 0) if rs1 == 0 => format!("neg {to}, {two}"),
            (0, _) => format!("{} {to}, {one}, {two}", named(&REGISTERS, funct3)?),
            (1, _) => format!("{} {to}, {one}, {two}", named(&MULTIPLY, funct3)?),
            (0x20, 0) => format!("sub {to}, {one}, {two}"),
            (0x20, 5) => format!("sra {to}, {one}, {two}"),
            _ => return None,
        },
        0x3b if rv64 => match (funct7, funct3) {
            (0x20, 0) if rs1 == 0 => format!("negw {to}, {two}"),
            (1, _) => format!("{} {to}, {one}, {two}", named(&MULTIPLY_32, funct3)?),
            (0, 0) => format!("addw {to}, {one}, {two}"),
            (0, 1) => format!("sllw {to}, {one}, {two}"),
            (0, 5) => format!("srlw {to}, {one}, {two}"),
            (0x20, 0) => format!("subw {to}, {one}, {two}"),
            (0x20, 5) => format!("sraw {to}, {one}, {two}"),
            _ => return None,
        },
        0x2f => return atomic(rv64, opcode),
        0x73 if funct3 & 0b11 != 0 => csr::text(opcode),
        0x73 if funct3 == 0 && funct7 == 0x09 && rd == 0 => match (rs1, rs2) {
            (0, 0) => "sfence.vma".into(),
            (_, 0) => format!("sfence.vma {one}"),
            _ => format!("sfence.vma {one}, {two}"),
        },
        _ => return None,
    })
}

/// Load-reserved, store-conditional and atomic memory operations.
fn atomic(rv64: bool, opcode: u32) -> Option<String> {
    let (rd, rs1, rs2) = (opcode >> 7 & 31, opcode >> 15 & 31, opcode >> 20 & 31);
    let size = match opcode >> 12 & 0b111 {
        2 => "w",
        3 if rv64 => "d",
        _ => return None,
    };
    let name = match opcode >> 27 {
        0x00 => "amoadd",
        0x01 => "amoswap",
        0x02 if rs2 == 0 => "lr",
        0x03 => "sc",
        0x04 => "amoxor",
        0x08 => "amoor",
        0x0c => "amoand",
        0x10 => "amomin",
        0x14 => "amomax",
        0x18 => "amominu",
        0x1c => "amomaxu",
        _ => return None,
    };
    // aq, bit [26]; rl, bit [25].
    let order = match opcode >> 25 & 0b11 {
        0b00 => "",
        0b01 => ".rl",
        0b10 => ".aq",
        _ => ".aqrl",
    };
    let (to, base, from) = (register(rd), register(rs1), register(rs2));
    Some(match name {
        "lr" => format!("lr.{size}{order} {to}, ({base})"),
        _ => format!("{name}.{size}{order} {to}, {from}, ({base})"),
    })
}
