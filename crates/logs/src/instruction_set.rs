//! The instruction set of a log that does not record it.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use tracewright_base::{Isa, Kind, Step};

use crate::assembler::Assembler;
use crate::entry::{Entry, Event, Opcode};
use crate::format::Format;
use crate::lookup::Lookup;
use crate::map::LogMap;
use crate::reader::Reader;
use crate::{qemu, rvfi, spike};

/// The instruction set of the instructions for which a log states none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InstructionSet {
    /// The log states it, or its addresses and opcodes are those of no other one.
    Known(Isa),
    /// The log does not show which one it is, and this one is usual.
    Assumed(Isa),
    /// The log does not show which one it is.
    Unknown,
}

/// Number of first bytes of a log that are searched.
const HEAD: usize = 1 << 16;

/// The instruction set of a log of `format` that begins with `head`. `map` is its description,
/// where a user gave one.
pub fn of(format: Format, map: Option<&LogMap>, head: &[u8]) -> InstructionSet {
    use InstructionSet::{Assumed, Known};
    if format == Format::Rvfi {
        return rvfi::width(head).map_or(Assumed(Isa::Rv32), Known);
    }
    let head = head.get(..HEAD).unwrap_or(head);
    let qemu = Some(head).filter(|_| format == Format::Qemu).and_then(qemu::riscv);
    if let Some((isa, is_known)) = qemu {
        return if is_known { Known(isa) } else { Assumed(isa) };
    }
    let reader = |isa| match map {
        Some(map) => Reader::with_map(map.clone(), isa),
        None => Reader::new(format, isa),
    };
    let first = |isa| {
        let found = entries(reader(isa), head).into_iter().find_map(|entry| match entry.event {
            Event::Instruction(executed) => Some(executed.isa),
            _ => None,
        });
        found.flatten()
    };
    let usual = match format {
        Format::Qemu | Format::Tarmac => return first(Isa::A64).map_or(Assumed(Isa::A64), Known),
        Format::Rvvi => return Known(first(Isa::Rv32).unwrap_or(Isa::Rv32)),
        Format::Spike => return spike::width(head).map_or(Assumed(Isa::Rv64), Known),
        Format::SpikeCsv => return Assumed(Isa::Rv64),
        // Only a program shows it.
        Format::BranchFlow => return InstructionSet::Unknown,
        Format::Rvfi | Format::Kanata => None,
        Format::Csv => {
            // Without instructions, nothing depends on it.
            let Some(isa) = first(Isa::A64) else { return Known(Isa::A64) };
            if first(Isa::Rv64) == Some(isa) {
                return Known(isa);
            }
            Some(Isa::A64)
        }
        Format::Mapped(known) => known.map().usual_isa(head),
        Format::Described => map.and_then(|map| map.usual_isa(head)),
    };
    if let (Some(isa), Format::Mapped(_) | Format::Described) = (usual, format) {
        return Known(isa);
    }
    match (of_opcodes(&reader, head), usual) {
        (InstructionSet::Unknown, Some(isa)) => Assumed(isa),
        (found, _) => found,
    }
}

/// The entries of the whole lines of `head`, up to the first that cannot be read.
fn entries(mut reader: Reader, head: &[u8]) -> Vec<Entry> {
    let mut all = Vec::new();
    // The error is reported when the log is read.
    let _ = reader.feed(head, &mut |entry| all.push(entry));
    let _ = reader.finish(&mut |entry| all.push(entry));
    all
}

/// The instruction sets that are distinguished.
const SETS: [Isa; 5] = [Isa::Rv64, Isa::Rv32, Isa::T32, Isa::A32, Isa::A64];

/// One of this many instructions may contradict the instruction set, such as by an exception that
/// the log does not have.
const TOLERATED: u64 = 20;
/// The least evidence, in bits, for an instruction set that others do not contradict.
const LEAST: f64 = 6.0;
/// The least number of different instructions.
const FEW: usize = 4;
/// From this number of different instructions on, RV64 has opcodes that RV32 has not.
const MANY: usize = 64;

/// A log that is read as instructions of one instruction set.
struct Trial {
    isa: Isa,
    /// Different addresses.
    addresses: usize,
    /// Instructions that are undefined, or that do not lead to the next one.
    contradictions: u64,
    /// By how much the opcodes are likelier than those of any other instruction set, in bits.
    evidence: f64,
    /// An address or opcode that RV32 does not have.
    is_wide: bool,
}

/// The instruction set whose instructions lead from each address to the next one.
fn of_opcodes(reader: &dyn Fn(Isa) -> Reader, head: &[u8]) -> InstructionSet {
    let trials: Vec<Trial> = SETS.into_iter().filter_map(|isa| tried(isa, reader, head)).collect();
    let best = trials.iter().max_by(|a, b| a.evidence.total_cmp(&b.evidence));
    let Some(best) = best else { return InstructionSet::Unknown };
    // No instruction set but those of RISC-V, or but this one, leads through the log.
    let is_only = trials.len() == 1 || trials.iter().all(Trial::is_riscv);
    if best.addresses < FEW || !is_only && best.isa != Isa::A64 && best.evidence < LEAST {
        return InstructionSet::Unknown;
    }
    let of = |isa| trials.iter().find(|trial| best.is_riscv() && trial.isa == isa);
    let (Some(rv64), Some(rv32)) = (of(Isa::Rv64), of(Isa::Rv32)) else {
        return InstructionSet::Known(best.isa);
    };
    match rv64.contradictions.cmp(&rv32.contradictions) {
        _ if rv64.is_wide => InstructionSet::Known(Isa::Rv64),
        Ordering::Less => InstructionSet::Known(Isa::Rv64),
        Ordering::Greater => InstructionSet::Known(Isa::Rv32),
        Ordering::Equal if rv64.addresses >= MANY => InstructionSet::Known(Isa::Rv32),
        Ordering::Equal => InstructionSet::Assumed(Isa::Rv64),
    }
}

/// Reads the log as `isa`. `None` where too many instructions contradict it.
fn tried(isa: Isa, reader: &dyn Fn(Isa) -> Reader, head: &[u8]) -> Option<Trial> {
    let mut assembler = Assembler::new(Lookup::default());
    assembler.isa = isa;
    let (mut executed, mut undefined) = (0u64, 0u64);
    let mut steps = |_: u16, step: &Step| {
        if let Step::Retired(retired) = step {
            executed += 1;
            undefined += u64::from(retired.instruction.kind == Kind::Undefined);
        }
    };
    let (mut seen, mut evidence, mut is_wide) = (BTreeSet::new(), 0.0, false);
    for mut entry in entries(reader(isa), head) {
        if let Event::Instruction(instruction) = &mut entry.event {
            instruction.isa = Some(isa);
            let Some(opcode) = instruction.opcode else { continue };
            if seen.insert(instruction.address) {
                evidence += likelihood(isa, opcode);
                is_wide |= instruction.address >> 32 != 0 || is_rv64_only(opcode);
            }
        }
        assembler.entry(&entry, &mut steps);
    }
    assembler.finish(&mut steps);
    let contradictions = undefined + assembler.summary.jumps;
    let fits = executed > 0 && contradictions.saturating_mul(TOLERATED) <= executed;
    fits.then_some(Trial { isa, addresses: seen.len(), contradictions, evidence, is_wide })
}

impl Trial {
    const fn is_riscv(&self) -> bool {
        matches!(self.isa, Isa::Rv32 | Isa::Rv64)
    }
}

/// How much likelier `opcode` is in `isa` than among random bits, in bits.
fn likelihood(isa: Isa, opcode: Opcode) -> f64 {
    match (isa, opcode.size) {
        // The two lowest bits are the length: 0b11, or one of the three others.
        (Isa::Rv32 | Isa::Rv64, 4) => 2.0,
        (Isa::Rv32 | Isa::Rv64, _) => 0.4,
        // Three of 32 first halfwords begin an instruction of 32 bits.
        (Isa::T32, 4) => 3.4,
        (Isa::T32, _) => 0.1,
        // Most instructions are not conditional: AL, 0b1110.
        (Isa::A32, _) if opcode.bits >> 28 == 0b1110 => 3.0,
        (Isa::A32, _) => -2.0,
        _ => 0.0,
    }
}

/// Whether RV32 does not have the opcode. (RISC-V, "RV64I": loads and stores of 64 bits, LWU,
/// OP-IMM-32, OP-32; "A": atomics of 64 bits; "C": C.SUBW and C.ADDW)
const fn is_rv64_only(opcode: Opcode) -> bool {
    let Opcode { bits, size } = opcode;
    if size == 2 {
        return bits & 0xfc03 == 0x9c01 && bits & 0x40 == 0;
    }
    matches!(
        (bits & 0x7f, bits >> 12 & 0b111),
        (0x03, 0b011 | 0b110) | (0x23 | 0x2f, 0b011) | (0x1b | 0x3b, _)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(log: &str) -> InstructionSet {
        let format = Format::detect(log.as_bytes()).unwrap();
        of(format, None, log.as_bytes())
    }

    /// Lines of QEMU's plugin execlog: an address and the 32 bits there.
    fn execlog(lines: &[(u64, u32)]) -> String {
        let line = |(address, bits): &(u64, u32)| format!("0, {address:#x}, {bits:#x}, \"?\"\n");
        lines.iter().map(line).collect()
    }

    /// Programs that were assembled with binutils.
    #[test]
    fn opcodes_and_addresses_show_it() {
        use InstructionSet::{Assumed, Known, Unknown};
        let riscv = [
            (0x1000, 0x0000_0297),
            (0x1004, 0x0282_8613),
            (0x1008, 0xf140_2573),
            (0x100c, 0x0202_b583),
            (0x1010, 0x0182_b283),
            (0x1014, 0x0002_8067),
            (0x8000_0000, 0x0013_4481),
        ];
        assert_eq!(found(&execlog(&riscv)), Known(Isa::Rv64));
        // auipc, lw, addi, csrr, jalr: of both.
        let short = [
            (0x1000, 0x0000_0297),
            (0x1004, 0x0282_a613),
            (0x1008, 0xf140_2573),
            (0x100c, 0x0182_a283),
            (0x1010, 0x0002_8067),
            (0x8000_0000, 0x0000_0013),
        ];
        assert_eq!(found(&execlog(&short)), Assumed(Isa::Rv64));
        // ldr, mov, mov, ldr, br.
        let a64 = [
            (0x4000_0000, 0x5800_00c0),
            (0x4000_0004, 0xaa1f_03e1),
            (0x4000_0008, 0xaa1f_03e2),
            (0x4000_000c, 0x5800_00a4),
            (0x4000_0010, 0xd61f_0080),
            (0x4008_0000, 0xd503_201f),
        ];
        assert_eq!(found(&execlog(&a64)), Known(Isa::A64));
        // mov, mov, add, cmp, bne.
        let a32 = [
            (0x8000, 0xe3a0_0000),
            (0x8004, 0xe3a0_1005),
            (0x8008, 0xe080_0001),
            (0x800c, 0xe351_0000),
            (0x8010, 0x1aff_fffc),
            (0x8008, 0xe080_0001),
        ];
        assert_eq!(found(&execlog(&a32)), Known(Isa::A32));
        // mov.w, movs, subs, bne, movs, mov.w, nop.
        let t32 = [
            (0x8000, 0x0005_f04f),
            (0x8004, 0x3901_2105),
            (0x8006, 0xd1fd_3901),
            (0x8008, 0x2000_d1fd),
            (0x8006, 0xd1fd_3901),
            (0x8008, 0x2000_d1fd),
            (0x800a, 0xf04f_2000),
            (0x800c, 0x0007_f04f),
            (0x8010, 0xbf00_bf00),
        ];
        assert_eq!(found(&execlog(&t32)), Known(Isa::T32));
        // x86, and one instruction.
        let x86 =
            [(0xa12, 0xb8), (0xa17, 0x04ec_83), (0xa1a, 0xf6eb), (0xa12, 0xb8), (0xa17, 0x83)];
        assert_eq!(found(&execlog(&x86)), Unknown);
        assert_eq!(found("0, 0x8000, 0x13, \"?\"\n"), Unknown);
    }

    #[test]
    fn logs_state_it_or_not() {
        use InstructionSet::{Assumed, Known, Unknown};
        for (log, want) in [
            ("core   0: 0x80000000 (0x00100293) li      t0, 1\n", Known(Isa::Rv32)),
            ("core   0: 0x0000000080000000 (0x00100293) li      t0, 1\n", Known(Isa::Rv64)),
            ("address,isa\n8000,T32\n", Known(Isa::T32)),
            // QEMU 7.2 of RISC-V: compressed instructions, a trap, opcodes of machine mode.
            (
                "Trace 0: 0x7f3d [0000000000000000/00000000000100d6/00207600/00000201] \n",
                Known(Isa::Rv64),
            ),
            (
                "Trace 0: 0x7f3d [00000000/80000004/00027c03/00000201] \nriscv_cpu_do_interrupt: hart:0, async:0, \
                 cause:0000000b, epc:0x80000004, tval:0x00000000, desc=machine_ecall\n",
                Known(Isa::Rv32),
            ),
            (
                "0x80000000:  00000297          auipc           t0,0\n0x80000004:  02028613  addi\n\
                 0x80000008:  f1402573  csrrs\n0x8000000c:  0202b583  ld\n0x80000010:  0182b283  ld\n\
                 0x80000014:  00028067  jr\nTrace 0: 0x7f3d [00000000/0000000080000000/00027c03/00000201] \n",
                Assumed(Isa::Rv64),
            ),
            // QEMU of Arm.
            ("Trace 0: 0x7f9c [00800480/0001035c/00000000/00000201] main\n", Known(Isa::T32)),
            (
                "Trace 0: 0x7f9c [0000000000000000/00000000004000ac/00000001/00000201] \n",
                Known(Isa::A64),
            ),
            (
                "0x004000ac:  d2800103  movz\nTrace 0: 0x7f9c [0000000000000000/00000000004000ac/00000001/00000201] \n",
                Known(Isa::A64),
            ),
            ("address\n8000\n", Assumed(Isa::A64)),
            ("step,address,value\nsoftware-write,0,41\n", Known(Isa::A64)),
            (
                "address,opcode\n100,00000297\n104,02028613\n108,00028067\n200,0182b283\n",
                Known(Isa::Rv64),
            ),
            ("1000: system.cpu: T0 : 0x8000 @f    : nop : No_OpClass :\n", Unknown),
            (
                "pc,instr,gpr,csr,binary,mode,instr_str,operand,pad\n80000000,,,,00000297,3,,,\n",
                Known(Isa::Rv32),
            ),
            (
                "pc,instr,gpr,csr,binary,mode,instr_str,operand,pad\nffffffff80000000,,,,00000297,3,,,\n",
                Known(Isa::Rv64),
            ),
        ] {
            assert_eq!(found(log), want, "{log}");
        }
    }
}
