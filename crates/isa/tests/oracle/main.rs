//! Every classification against an independent disassembler, over sweeps of opcodes.
//!
//! The test parses the text of the oracle. If the classifications differ, a row of [`known`] must
//! cover the opcode and give the reason. A row without a difference is an error.

mod known;
mod text;

use std::collections::BTreeMap;

use capstone::Capstone;
use capstone::arch::{BuildsCapstone, BuildsCapstoneExtraMode, arm, arm64};
use tracewright_base::{Instruction, Isa, Kind};
use tracewright_isa::{a32, a64, t32};

use tracewright_testing::Random;

use known::Known;
use text::Parsed;

/// Where the instructions of the sweeps lie: far from both ends of the address space.
const AT: u64 = 0x4000_0000;

/// 32 random bits.
fn word(random: &mut Random) -> u32 {
    (random.next() >> 32) as u32
}

struct Sweep {
    oracle: Capstone,
    isa: Isa,
    known: &'static [Known],
    used: Vec<u32>,
    surprises: BTreeMap<String, (u32, u32, u32, u32)>,
    count: u32,
    compared: u32,
}

impl Sweep {
    fn new(isa: Isa, known: &'static [Known]) -> Self {
        let oracle = match isa {
            Isa::A64 => Capstone::new().arm64().mode(arm64::ArchMode::Arm).build(),
            Isa::A32 => Capstone::new()
                .arm()
                .mode(arm::ArchMode::Arm)
                .extra_mode([arm::ArchExtraMode::V8].into_iter())
                .build(),
            _ => Capstone::new()
                .arm()
                .mode(arm::ArchMode::Thumb)
                .extra_mode([arm::ArchExtraMode::V8].into_iter())
                .build(),
        }
        .unwrap();
        let used = vec![0; known.len()];
        Sweep { oracle, isa, known, used, surprises: BTreeMap::new(), count: 0, compared: 0 }
    }

    fn check(&mut self, opcode: u32) {
        self.count += 1;
        let (ours, bytes) = match self.isa {
            Isa::A64 => (a64::classify(opcode, AT), opcode.to_le_bytes()),
            Isa::A32 => (a32::classify(opcode, AT), opcode.to_le_bytes()),
            _ if opcode <= 0xffff => (t32::classify(opcode, AT), opcode.to_le_bytes()),
            _ => (t32::classify(opcode, AT), opcode.rotate_left(16).to_le_bytes()),
        };
        let found = self.oracle.disasm_count(&bytes[..ours.size.into()], AT, 1).unwrap();
        let (text, parsed) = match found.iter().next() {
            Some(i) => {
                let (mnemonic, operands) = (i.mnemonic().unwrap(), i.op_str().unwrap());
                let parsed = text::read(self.isa, i.bytes().len(), mnemonic, operands);
                (format!("{mnemonic} {operands}"), Some(parsed))
            }
            None => ("no instruction".to_owned(), None),
        };
        self.compared += u32::from(parsed.is_some());
        if agree(&ours, parsed) {
            return;
        }
        let row = self
            .known
            .iter()
            .position(|k| opcode & k.mask == k.value && text.starts_with(k.oracle));
        match row {
            Some(row) => self.used[row] += 1,
            None => {
                let mnemonic = text.split(' ').next().unwrap_or_default();
                let class =
                    format!("{mnemonic} {:?} {:?} {}", ours.kind, ours.role, ours.conditional);
                let class = self.surprises.entry(class).or_insert((0, opcode, !0, !0));
                // How many, the first, the bits that are 1 in all and 0 in all.
                *class = (class.0 + 1, class.1, class.2 & opcode, class.3 & !opcode);
            }
        }
    }

    #[track_caller]
    fn finish(self) {
        for (class, (count, first, ones, zeros)) in &self.surprises {
            let (mask, value) = (ones | zeros, ones);
            println!("{count} as {first:08x}, mask {mask:08x} value {value:08x}: oracle {class}");
        }
        let unused: Vec<_> = self
            .known
            .iter()
            .zip(&self.used)
            .filter(|(_, n)| **n == 0)
            .map(|(k, _)| k.why)
            .collect();
        println!("{}: {} opcodes, {} known to the oracle", self.isa, self.count, self.compared);
        assert_eq!(self.surprises.len(), 0, "differences that no row explains");
        assert!(unused.is_empty(), "rows that nothing needs: {unused:?}");
        // An oracle that refuses everything would agree with much.
        assert!(self.compared > self.count / 4);
    }
}

/// Encodings that the classifier does not examine are plain, allocated or not.
fn agree(ours: &Instruction, parsed: Option<Parsed>) -> bool {
    match parsed {
        None => matches!(ours.kind, Kind::Plain | Kind::Undefined),
        Some(parsed) => {
            let flows = matches!(ours.kind, Kind::Branch | Kind::Indirect);
            parsed.size == ours.size
                && parsed.kind == ours.kind
                && (!flows || parsed.role == ours.role && parsed.conditional == ours.conditional)
                && parsed.target == ours.target
                && parsed.target_isa.is_none_or(|isa| isa == ours.target_isa)
        }
    }
}

/// All values of the 16 upper bits, with lower bits at random; then the branch and system space
/// in more depth.
#[test]
fn a64_opcodes() {
    let mut sweep = Sweep::new(Isa::A64, known::A64);
    let mut random = Random::new(1);
    for high in 0..=0xffffu32 {
        for _ in 0..4 {
            sweep.check(high << 16 | word(&mut random) & 0xffff);
        }
    }
    // Hints, barriers and waits: CRm, op2 and the register.
    for low in 0..=0xffff {
        sweep.check(0xd503_0000 | low);
    }
    // Branches to registers: op2 all ones; op3, Rn and op4 of zeros, ones and in between.
    for opc in 0..16 {
        for op3 in 0..64 {
            for (rn, op4) in [(0, 0), (31, 31), (31, 0), (16, 31), (16, 17), (31, 2), (30, 0)] {
                sweep.check(0xd61f_0000 | opc << 21 | op3 << 10 | rn << 5 | op4);
            }
        }
    }
    // Exceptions: opc, and all of op2 and LL.
    for bits in 0..256 {
        sweep.check(0xd400_0000 | bits >> 5 << 21 | bits & 0b11111);
    }
    for _ in 0..200_000 {
        sweep.check(0b101 << 26 | word(&mut random) & !(0b111 << 26));
    }
    sweep.finish();
}

/// All values of the 12 upper bits and of bits \[7:4\], with the rest at random, zeros, ones, and
/// the PC where the destination is.
#[test]
fn a32_opcodes() {
    let mut sweep = Sweep::new(Isa::A32, known::A32);
    let mut random = Random::new(2);
    for bits in 0..=0xffffu32 {
        let opcode = bits >> 4 << 20 | (bits & 0xf) << 4;
        let rest = 0x000f_ff0f;
        for filler in
            [word(&mut random), word(&mut random), word(&mut random) | 0xf000, 0xffff_ffff, 0xff00]
        {
            sweep.check(opcode | filler & rest);
        }
    }
    // BX, ERET, hints, MSR, barriers, UDF, MCR and the like have fixed fields.
    for low in 0..=0xffffu32 {
        for high in [0xe12f, 0xe160, 0xe320, 0xf57f, 0xee07, 0x0e07, 0xe1a0, 0xe8bd] {
            sweep.check(high << 16 | low);
        }
    }
    sweep.finish();
}

/// All narrow opcodes.
#[test]
fn t32_narrow_opcodes() {
    let mut sweep = Sweep::new(Isa::T32, known::T32_NARROW);
    for opcode in (0..=0xffffu16).filter(|&o| !t32::is_wide(o)) {
        sweep.check(opcode.into());
    }
    sweep.finish();
}

/// All first halfwords, with the second at random and in the patterns that matter.
#[test]
fn t32_wide_opcodes() {
    let mut sweep = Sweep::new(Isa::T32, known::T32_WIDE);
    let mut random = Random::new(3);
    for first in (0..=0xffffu32).filter(|&o| t32::is_wide(o as u16)) {
        for high in 0..16 {
            for _ in 0..6 {
                sweep.check(first << 16 | high << 12 | word(&mut random) & 0xfff);
            }
        }
        for second in [0xf000, 0xf001, 0xfb04, 0x8f00, 0x8000, 0xa000, 0xf010, 0xc000, 0xf021] {
            sweep.check(first << 16 | second);
        }
    }
    for first in [0xf3af, 0xf3bf, 0xf3de, 0xee07, 0xe8d0, 0xe8df, 0xf85d, 0xf7f0, 0xf3c0, 0xe8bd] {
        for second in 0..=0xffff {
            sweep.check(first << 16 | second);
        }
    }
    sweep.finish();
}
