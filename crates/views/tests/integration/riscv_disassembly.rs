//! The text of RISC-V instructions against that of binutils' `riscv64-unknown-elf-objdump`, for
//! programs of `../shared/captures/riscv`. Skipped where either is missing.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;

use tracewright_base::Isa;
use tracewright_testing::{shared, tool_since};
use tracewright_views::disassembly::disassemble;

const OBJDUMP: &str = "riscv64-unknown-elf-objdump";

fn programs() -> Option<Vec<PathBuf>> {
    let root = shared("captures/riscv")?;
    let mut files = Vec::new();
    for folder in ["etrace-ref/elf", "pulp"] {
        let entries = std::fs::read_dir(root.join(folder)).ok()?.flatten();
        let program =
            |path: &PathBuf| path.extension().is_some_and(|end| end == "riscv" || end == "elf");
        files.extend(entries.map(|entry| entry.path()).filter(program));
    }
    files.sort();
    Some(files)
}

/// Left out: jumps and branches, whose format differs, and floating-point arithmetic, which has no
/// text.
fn is_compared(name: &str) -> bool {
    const FLOW: &[&str] = &[
        "j", "jal", "jr", "jalr", "ret", "beq", "bne", "blt", "bge", "bltu", "bgeu", "beqz",
        "bnez", "blez", "bgez", "bltz", "bgtz", "nop", "ebreak", "unimp", "fence", "fence.i",
        "bgt", "ble",
    ];
    let float = name.starts_with('f') && !matches!(name, "flw" | "fld" | "fsw" | "fsd");
    // Data, and custom instructions of the processor.
    !(FLOW.contains(&name) || float || name.starts_with('.') || name.starts_with("0x"))
}

/// The text of objdump in Tracewright's format: objdump omits the `i` of immediate instructions.
fn objdump_text(name: &str, operands: &str) -> String {
    let operands = operands.split([' ', '#', '<']).next().unwrap_or_default();
    let last = operands.rsplit(',').next().unwrap_or_default();
    let number = last.starts_with(|c: char| c.is_ascii_digit() || c == '-') && !last.contains('(');
    let name = match (name, number) {
        ("add" | "and" | "or" | "xor" | "sll" | "srl" | "sra" | "slt", true)
        | ("csrw" | "csrs" | "csrc" | "csrrw" | "csrrs" | "csrrc", true) => format!("{name}i"),
        ("sltu", true) => "sltiu".into(),
        ("addw" | "sllw" | "srlw" | "sraw", true) => name.replace('w', "iw"),
        _ => name.into(),
    };
    format!("{name} {}", operands.replace(',', ", ")).trim().into()
}

#[test]
fn text_equals_that_of_objdump() {
    let (Some(files), Some(objdump)) =
        (programs(), tool_since(&[(OBJDUMP, "binutils-riscv64-unknown-elf")], (2, 40)))
    else {
        return;
    };
    let mut compared = 0;
    let mut wrong = BTreeMap::new();
    for file in &files {
        let output = Command::new(objdump).arg("-d").arg(file).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        let isa = if text.contains("elf32") { Isa::Rv32 } else { Isa::Rv64 };
        for line in text.lines() {
            let cells: Vec<_> = line.split('\t').collect();
            let &[offset, opcode, name, ref rest @ ..] = &cells[..] else { continue };
            let offset = offset.trim().trim_end_matches(':');
            let Ok(offset) = u64::from_str_radix(offset, 16) else { continue };
            let Ok(opcode) = u32::from_str_radix(opcode.trim(), 16) else { continue };
            if !is_compared(name) {
                continue;
            }
            let want = objdump_text(name, rest.first().copied().unwrap_or_default());
            let got = disassemble(isa, opcode, offset);
            compared += 1;
            if got != want {
                wrong.entry(name.to_owned()).or_insert_with(|| {
                    format!("{} {opcode:08x}: {got:?}, not {want:?}", file.display())
                });
            }
        }
    }
    println!("{compared} instructions of {} programs", files.len());
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(compared > 10_000, "{compared}");
}
