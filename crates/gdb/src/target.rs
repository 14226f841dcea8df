//! The registers of each architecture, and their description for gdb. (gdb, appendix G.5)

use std::fmt::Write;

use tracewright::base::Isa;

/// An architecture of gdb.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Architecture {
    /// AArch64.
    A64,
    /// AArch32: A32 and T32.
    A32,
    /// The M profile of Arm: T32.
    MProfile,
    /// RISC-V, XLEN 32.
    Rv32,
    /// RISC-V, XLEN 64.
    Rv64,
}

/// A register that the server knows something of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Known {
    /// The program counter.
    Pc,
    /// A register that a frame may need, by its number in DWARF.
    Dwarf(u16),
    /// The number of instructions before the position.
    Instruction,
    /// The last timestamp.
    Time,
    /// The thread that executes the instruction at the position.
    Thread,
    /// The status of an Arm processor, of which only the instruction set is known.
    Status,
    /// Always 0.
    Zero,
    /// Never known.
    Nothing,
}

/// A register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Register {
    /// Its number in the protocol.
    pub(crate) number: u64,
    /// Its size in bytes.
    pub(crate) size: usize,
    pub(crate) known: Known,
}

const RISCV: [&str; 33] = [
    "zero", "ra", "sp", "gp", "tp", "t0", "t1", "t2", "fp", "s1", "a0", "a1", "a2", "a3", "a4",
    "a5", "a6", "a7", "s2", "s3", "s4", "s5", "s6", "s7", "s8", "s9", "s10", "s11", "t3", "t4",
    "t5", "t6", "pc",
];

impl Architecture {
    /// The architecture of an instruction set. `m_profile`: of an Arm processor of the M profile.
    pub fn of(isa: Isa, m_profile: bool) -> Architecture {
        match isa {
            Isa::A64 => Architecture::A64,
            Isa::Rv32 => Architecture::Rv32,
            Isa::Rv64 => Architecture::Rv64,
            _ if m_profile => Architecture::MProfile,
            _ => Architecture::A32,
        }
    }

    /// The size of an address in bytes.
    pub(crate) fn address_size(self) -> usize {
        match self {
            Architecture::A64 | Architecture::Rv64 => 8,
            Architecture::A32 | Architecture::MProfile | Architecture::Rv32 => 4,
        }
    }

    /// The number of the program counter in the protocol.
    pub(crate) fn pc(self) -> u64 {
        match self {
            Architecture::A64 | Architecture::Rv32 | Architecture::Rv64 => 32,
            Architecture::A32 | Architecture::MProfile => 15,
        }
    }

    /// The number of the stack pointer in DWARF.
    pub(crate) fn sp(self) -> u16 {
        match self {
            Architecture::A64 => 31,
            Architecture::A32 | Architecture::MProfile => 13,
            Architecture::Rv32 | Architecture::Rv64 => 2,
        }
    }

    /// The number in DWARF of the register that a call writes the return address into.
    pub(crate) fn link(self) -> u16 {
        match self {
            Architecture::A64 => 30,
            Architecture::A32 | Architecture::MProfile => 14,
            Architecture::Rv32 | Architecture::Rv64 => 1,
        }
    }

    /// The status with the instruction set only: T, bit 5 of the CPSR, bit 24 of the xPSR. The mode
    /// is 0, which no processor has. (Arm ARM, G8.2.33; Armv7-M ARM, B1.4.2)
    pub(crate) fn status(self, isa: Isa) -> u64 {
        let t = matches!(isa, Isa::T32 | Isa::ThumbEe);
        match self {
            Architecture::MProfile => u64::from(t) << 24,
            _ => u64::from(t) << 5,
        }
    }

    /// The alignment of the stack.
    pub(crate) fn stack_alignment(self) -> u64 {
        match self {
            Architecture::A32 | Architecture::MProfile => 8,
            _ => 16,
        }
    }

    /// All registers in order of their numbers.
    pub(crate) fn registers(self) -> Vec<Register> {
        let (size, arm) = (self.address_size(), [Architecture::A32, Architecture::MProfile]);
        let core = match arm.contains(&self) {
            true => 0..16,
            false => 0..33,
        };
        let known = |number: u64| match number {
            _ if number == self.pc() => Known::Pc,
            0 if matches!(self, Architecture::Rv32 | Architecture::Rv64) => Known::Zero,
            _ => Known::Dwarf(number as u16),
        };
        let mut all: Vec<Register> =
            core.map(|number| Register { number, size, known: known(number) }).collect();
        // The status: its flags are not traced.
        match self {
            Architecture::A64 => all.push(Register { number: 33, size: 4, known: Known::Nothing }),
            _ if arm.contains(&self) => {
                all.push(Register { number: 25, size: 4, known: Known::Status });
            }
            _ => {}
        }
        let first = self.first_own();
        all.push(Register { number: first, size: 8, known: Known::Instruction });
        all.push(Register { number: first + 1, size: 8, known: Known::Time });
        all.push(Register { number: first + 2, size: 8, known: Known::Thread });
        all
    }

    /// The number of the first register that only the trace has.
    fn first_own(self) -> u64 {
        match self {
            Architecture::A64 | Architecture::A32 | Architecture::MProfile => 34,
            Architecture::Rv32 | Architecture::Rv64 => 33,
        }
    }

    /// The description of the registers. Without an operating system: for Linux on RISC-V gdb steps
    /// by breakpoints, and needs the values of registers to find where a branch goes.
    pub(crate) fn description(self) -> String {
        let (name, feature) = match self {
            Architecture::A64 => ("aarch64", "org.gnu.gdb.aarch64.core"),
            Architecture::A32 => ("arm", "org.gnu.gdb.arm.core"),
            Architecture::MProfile => ("arm", "org.gnu.gdb.arm.m-profile"),
            Architecture::Rv32 => ("riscv:rv32", "org.gnu.gdb.riscv.cpu"),
            Architecture::Rv64 => ("riscv:rv64", "org.gnu.gdb.riscv.cpu"),
        };
        let mut out = format!(
            "<?xml version=\"1.0\"?>\n<!DOCTYPE target SYSTEM \"gdb-target.dtd\">\n\
             <target version=\"1.0\">\n<architecture>{name}</architecture>\n\
             <osabi>none</osabi>\n\
             <feature name=\"{feature}\">\n"
        );
        for register in self.registers() {
            let Register { number, size, .. } = register;
            if number == self.first_own() {
                out += "</feature>\n<feature name=\"dev.tracewright.trace\">\n";
            }
            let kind = match register.known {
                Known::Pc => " type=\"code_ptr\"",
                Known::Dwarf(number) if number == self.sp() => " type=\"data_ptr\"",
                Known::Instruction | Known::Time | Known::Thread => {
                    " type=\"uint64\" group=\"tracewright\" save-restore=\"no\""
                }
                _ => "",
            };
            let bits = size * 8;
            let name = self.name(&register);
            let _ = writeln!(
                out,
                "<reg name=\"{name}\" bitsize=\"{bits}\" regnum=\"{number}\"{kind}/>"
            );
        }
        out + "</feature>\n</target>\n"
    }

    fn name(self, register: &Register) -> String {
        match (self, register.known, register.number) {
            (_, Known::Instruction, _) => "tw_instruction".into(),
            (_, Known::Time, _) => "tw_time".into(),
            (_, Known::Thread, _) => "tw_thread".into(),
            (Architecture::Rv32 | Architecture::Rv64, _, number) => {
                RISCV.get(number as usize).copied().unwrap_or_default().into()
            }
            (_, Known::Pc, _) => "pc".into(),
            (Architecture::A64, _, 31) => "sp".into(),
            (Architecture::A64, _, 33) => "cpsr".into(),
            (Architecture::A64, _, number) => format!("x{number}"),
            (_, _, 13) => "sp".into(),
            (_, _, 14) => "lr".into(),
            (Architecture::MProfile, _, 25) => "xpsr".into(),
            (_, _, 25) => "cpsr".into(),
            (_, _, number) => format!("r{number}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registers_are_in_order_and_named_once() {
        use Architecture::{A32, A64, MProfile, Rv32, Rv64};
        for (architecture, count, bytes) in [
            (A64, 37, 33 * 8 + 4 + 24),
            (A32, 20, 17 * 4 + 24),
            (MProfile, 20, 17 * 4 + 24),
            (Rv32, 36, 33 * 4 + 24),
            (Rv64, 36, 33 * 8 + 24),
        ] {
            let all = architecture.registers();
            assert_eq!(all.len(), count, "{architecture:?}");
            assert!(all.is_sorted_by_key(|register| register.number));
            assert_eq!(all.iter().map(|register| register.size).sum::<usize>(), bytes);
            let pc: Vec<_> = all.iter().filter(|one| one.known == Known::Pc).collect();
            assert_eq!((pc.len(), pc[0].number), (1, architecture.pc()));
            let text = architecture.description();
            let mut names: Vec<&str> = text
                .split("<reg name=\"")
                .skip(1)
                .filter_map(|rest| rest.split('"').next())
                .collect();
            assert_eq!(names.len(), count);
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), count, "{names:?}");
            assert_eq!(text.matches("<feature").count(), text.matches("</feature").count());
        }
    }
}
