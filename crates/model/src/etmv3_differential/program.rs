//! Small random programs: A32 and T32 code with branches and data instructions.

use tracewright_base::Isa;
use tracewright_isa::assemble::{a32, t32};

use crate::Random;
use crate::analyzer::Memory;

/// A program: its memory, and the addresses of its instructions.
#[derive(Clone, Debug, Default)]
pub struct Program {
    /// The memory.
    pub memory: Memory,
    /// Addresses of A32 instructions.
    pub a32: Vec<u32>,
    /// Addresses of T32 instructions.
    pub t32: Vec<u32>,
}

/// A32 data instructions without a condition: LDR, STR, LDM, STM, LDRD, LDREX, STREX, STREXD, SWP,
/// MCR, MRC, MRRC, VLDM, and LDM and LDR of the PC.
const A32_DATA: [u32; 16] = [
    0x0591_0000,
    0x0581_0000,
    0x0891_001c,
    0x0881_001c,
    0x01c1_40d0,
    0x0191_0f9f,
    0x0181_0f92,
    0x01a1_0f94,
    0x0101_0092,
    0x0e01_0f10,
    0x0e11_0f10,
    0x0c51_0f10,
    0x0c91_0b04,
    0x0891_8005,
    0x08bd_8010,
    0x0591_f000,
];

/// 16-bit T32 data instructions: LDR, STR, LDRB, STRH, LDM, STM, PUSH, POP, POP of the PC.
const T32_DATA: [u32; 9] = [0x6808, 0x6008, 0x7808, 0x8008, 0xc90c, 0xc10c, 0xb510, 0xbc0c, 0xbd14];

/// 32-bit T32 data instructions: LDR, STR, LDM, STRD, STREX, MRC, TBB, and LDM of the PC.
const T32_WIDE_DATA: [u32; 8] = [
    0xf8d1_0000,
    0xf8c1_0000,
    0xe891_001c,
    0xe9c1_2300,
    0xe841_2000,
    0xee11_0f10,
    0xe8df_f000,
    0xe891_8005,
];

impl Program {
    /// A random program. `thumb`: it has no A32 code.
    pub fn random(random: &mut Random, thumb: bool) -> Program {
        let mut program = Program::default();
        if !thumb {
            let base = random.pick(&[0x8000, 0x0, 0xffff_0000]);
            program.a32 = (0..random.between(8, 40) as u32).map(|n| base + 4 * n).collect();
        }
        let mut address = random.pick(&[0xc000u32, 0x8_0000, 0xa000_1000]);
        let sizes: Vec<u32> = (0..random.between(8, 40)).map(|_| random.pick(&[2, 2, 4])).collect();
        for size in &sizes {
            program.t32.push(address);
            address += size;
        }
        let mut bytes = Vec::new();
        for at in &program.a32 {
            bytes.extend(program.word(random, *at).to_le_bytes());
        }
        program.add(Isa::A32, bytes);
        let mut bytes = Vec::new();
        for (at, size) in program.t32.iter().zip(&sizes) {
            let opcode = program.thumb(random, *at, *size == 4, thumb);
            match size {
                4 => bytes.extend(opcode.rotate_left(16).to_le_bytes()),
                _ => bytes.extend((opcode as u16).to_le_bytes()),
            }
        }
        program.add(Isa::T32, bytes);
        program
    }

    fn add(&mut self, isa: Isa, bytes: Vec<u8>) {
        if let Some(&start) = self.addresses(isa).first() {
            self.memory.blocks.push((start.into(), bytes));
        }
    }

    /// The addresses of the instructions of a set.
    pub fn addresses(&self, isa: Isa) -> &[u32] {
        if isa == Isa::A32 { &self.a32 } else { &self.t32 }
    }

    /// The distance to a random instruction, rarely to an address without memory.
    fn by(&self, random: &mut Random, from: u32, isa: Isa) -> i32 {
        let addresses = self.addresses(isa);
        if addresses.is_empty() {
            return 0;
        }
        let target = random.pick(addresses);
        let target = if random.one_in(40) { target.wrapping_add(0x400) } else { target };
        target.wrapping_sub(from) as i32
    }

    fn word(&self, random: &mut Random, at: u32) -> u32 {
        let condition = random.pick(&[14, 14, 14, 0, 1, 11]);
        let by = self.by(random, at, Isa::A32);
        let branch = match random.index(24) {
            0..=2 => a32::b(random.below(14) as u8, by),
            3 => a32::b(14, by),
            4 | 5 => a32::bl(condition, by),
            6 => a32::blx(self.by(random, at, Isa::T32)),
            7 => Some(a32::bx(condition, 14)),
            8 => Some(a32::blx_register(condition, 3)),
            9..=16 => Some(random.pick(&A32_DATA) | u32::from(condition) << 28),
            _ => None,
        };
        branch.unwrap_or_else(|| a32::nop(condition))
    }

    fn thumb(&self, random: &mut Random, at: u32, wide: bool, only: bool) -> u32 {
        let by = self.by(random, at, Isa::T32);
        let branch = match (random.index(20), wide) {
            (0..=2, false) => t32::b_cond(random.below(14) as u8, by),
            (3, false) => t32::cbz(random.chance(128), 1, by),
            (4, false) => t32::b(by),
            (5 | 6, false) => Some(t32::bx(14)),
            (7, false) => Some(t32::blx_register(3)),
            (8..=13, false) => Some(random.pick(&T32_DATA)),
            (0 | 1, true) => t32::b_cond_w(random.below(14) as u8, by),
            (2, true) => t32::b_w(by),
            (3..=5, true) => t32::bl(by),
            (6, true) if !only => t32::blx(at.into(), self.by(random, at & !3, Isa::A32)),
            (8..=13, true) => Some(random.pick(&T32_WIDE_DATA)),
            _ => None,
        };
        branch.unwrap_or(if wide { 0xf3af_8000 } else { 0xbf00 })
    }
}
