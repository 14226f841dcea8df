//! Small random programs: A64, A32 and T32 code that branches within and between its regions.

use tracewright_base::Isa;
use tracewright_isa::assemble::{a32, a64, t32};

use crate::Random;
use crate::analyzer::Memory;

/// A program: its memory, and the addresses of its instructions.
#[derive(Clone, Debug, Default)]
pub struct Code {
    /// The memory.
    pub memory: Memory,
    /// Addresses of A64 instructions.
    pub a64: Vec<u64>,
    /// Addresses of A32 instructions.
    pub a32: Vec<u64>,
    /// Addresses of T32 instructions.
    pub t32: Vec<u64>,
}

impl Code {
    /// A random program with a region for each instruction set.
    pub fn random(random: &mut Random, waits: bool) -> Code {
        let mut code = Code::default();
        let base = random.pick(&[0x1000, 0xffff_ff80_0800_0000, 0x7fff_0000]);
        let count = random.between(8, 40) as u64;
        code.a64 = (0..count).map(|n| base + 4 * n).collect();
        let base = random.pick(&[0x8000u64, 0x4_8000]);
        code.a32 = (0..random.between(8, 30) as u64).map(|n| base + 4 * n).collect();
        let mut address = random.pick(&[0xc000u64, 0x8_0000]);
        let sizes: Vec<u64> = (0..random.between(8, 40)).map(|_| random.pick(&[2, 2, 4])).collect();
        for size in &sizes {
            code.t32.push(address);
            address += size;
        }
        let mut bytes = Vec::new();
        for at in &code.a64 {
            bytes.extend(code.word64(random, *at, waits).to_le_bytes());
        }
        code.add(Isa::A64, bytes);
        let mut bytes = Vec::new();
        for at in &code.a32 {
            bytes.extend(code.word32(random, *at).to_le_bytes());
        }
        code.add(Isa::A32, bytes);
        let mut bytes = Vec::new();
        for (at, size) in code.t32.iter().zip(&sizes) {
            let opcode = code.thumb(random, *at, *size == 4);
            if *size == 4 {
                bytes.extend(opcode.rotate_left(16).to_le_bytes());
            } else {
                bytes.extend((opcode as u16).to_le_bytes());
            }
        }
        code.add(Isa::T32, bytes);
        code
    }

    fn add(&mut self, isa: Isa, bytes: Vec<u8>) {
        let start = self.addresses(isa).first().copied().unwrap_or(0);
        self.memory.blocks.push((start, bytes));
    }

    /// The addresses of the instructions of a set.
    pub fn addresses(&self, isa: Isa) -> &[u64] {
        match isa {
            Isa::A64 => &self.a64,
            Isa::A32 => &self.a32,
            _ => &self.t32,
        }
    }

    /// The distance to a random instruction, rarely to an address without memory.
    fn by(&self, random: &mut Random, from: u64, isa: Isa) -> i32 {
        let target = random.pick(self.addresses(isa));
        let target = if random.one_in(40) { target.wrapping_add(0x400) } else { target };
        target.wrapping_sub(from) as i32
    }

    fn word64(&self, random: &mut Random, at: u64, waits: bool) -> u32 {
        let by = self.by(random, at, Isa::A64);
        let branch = match random.index(20) {
            0..=3 => a64::b_cond(random.below(14) as u8, by),
            4 => a64::cbz(random.chance(128), 1, by),
            5 => a64::tbz(random.chance(128), 2, 3, by),
            6 => a64::b(by),
            7 | 8 => a64::bl(by),
            9 => Some(a64::ret(30)),
            10 => Some(random.pick(&[a64::br(3), a64::blr(4)])),
            // ERET
            11 if random.chance(64) => Some(0xd69f_03e0),
            // ISB
            12 => Some(0xd503_3fdf),
            // TSTART X0
            13 => Some(0xd523_3060),
            14 if waits => Some(random.pick(&[0xd503_205f, 0xd503_207f])),
            _ => None,
        };
        branch.unwrap_or(0xd503_201f)
    }

    fn word32(&self, random: &mut Random, at: u64) -> u32 {
        let always = 14;
        let condition = random.pick(&[always, always, 0, 1, 11]);
        let by = self.by(random, at, Isa::A32);
        let branch = match random.index(16) {
            0..=2 => a32::b(random.below(14) as u8, by),
            3 => a32::b(always, by),
            4 | 5 => a32::bl(condition, by),
            6 => a32::blx(self.by(random, at, Isa::T32)),
            7 => Some(a32::bx(condition, 14)),
            8 => Some(a32::pop(condition, 0x8010)),
            9 => Some(a32::blx_register(condition, 3)),
            // ISB
            10 => Some(0xf57f_f06f),
            _ => None,
        };
        branch.unwrap_or_else(|| a32::nop(always))
    }

    fn thumb(&self, random: &mut Random, at: u64, wide: bool) -> u32 {
        let by = self.by(random, at, Isa::T32);
        let branch = match (random.index(16), wide) {
            (0..=2, false) => t32::b_cond(random.below(14) as u8, by),
            (3, false) => t32::cbz(random.chance(128), 1, by),
            (4, false) => t32::b(by),
            (5 | 6, false) => Some(t32::bx(14)),
            (7, false) => Some(t32::blx_register(3)),
            (8, false) => Some(t32::pop(0x10, true)),
            (0..=2, true) => t32::b_cond_w(random.below(14) as u8, by),
            (3, true) => t32::b_w(by),
            (4..=6, true) => t32::bl(by),
            (7 | 8, true) => t32::blx(at, self.by(random, at & !3, Isa::A32)),
            // ISB
            (9, true) => Some(0xf3bf_8f6f),
            _ => None,
        };
        branch.unwrap_or(if wide { 0xf3af_8000 } else { 0xbf00 })
    }
}
