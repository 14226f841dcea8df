//! A small program for the tests.

use std::vec::Vec;

use tracewright_base::{
    Block, BlockCache, Code, End, Instruction, Isa, Kind, Miss, Pc, Role, Space,
};

/// Instructions by address, in order.
#[derive(Clone, Debug, Default)]
pub(super) struct Program {
    code: Vec<(u64, Instruction)>,
    block: Block,
    /// The most instructions of a block.
    limit: u32,
    /// The memory space of the last request.
    pub(super) last_space: Space,
}

const fn plain(isa: Isa, size: u8) -> Instruction {
    Instruction {
        kind: Kind::Plain,
        role: Role::Jump,
        size,
        conditional: false,
        isa,
        target_isa: isa,
        target: None,
    }
}

const fn to(target: u64, target_isa: Isa, of: Instruction) -> Instruction {
    Instruction { kind: Kind::Branch, target: Some(target), target_isa, ..of }
}

pub(super) const ARM: Instruction = plain(Isa::A32, 4);
pub(super) const THUMB: Instruction = plain(Isa::T32, 2);

/// The program of these tests:
///
/// | address | A32 | | address | T32 |
/// |---|---|---|---|---|
/// | 0x8000 | plain | | 0x9000 | plain |
/// | 0x8004 | B<cond> 0x8014 | | 0x9002 | BX LR |
/// | 0x8008 | plain | | | |
/// | 0x800c | BL 0x8024 | | | |
/// | 0x8010 | B 0x8018 | | | |
/// | 0x8014 | BLX 0x9000 | | | |
/// | 0x8018 | ISB | | | |
/// | 0x801c | BLX Rm | | | |
/// | 0x8020 | LDR<cond> PC | | | |
/// | 0x8024 | plain | | | |
/// | 0x8028 | BX LR | | | |
/// | 0x802c | plain, the last | | | |
pub(super) fn program() -> Program {
    let back = Instruction { kind: Kind::Indirect, role: Role::ImpliedReturn, ..ARM };
    let call = Instruction { role: Role::Call, ..ARM };
    let arm = [
        ARM,
        Instruction { conditional: true, ..to(0x8014, Isa::A32, ARM) },
        ARM,
        to(0x8024, Isa::A32, call),
        to(0x8018, Isa::A32, ARM),
        to(0x9000, Isa::T32, call),
        Instruction { kind: Kind::Isb, ..ARM },
        Instruction { kind: Kind::Indirect, ..call },
        Instruction { kind: Kind::Indirect, conditional: true, ..ARM },
        ARM,
        back,
        ARM,
    ];
    let thumb = [THUMB, Instruction { kind: Kind::Indirect, role: Role::ImpliedReturn, ..THUMB }];
    let arm = arm.into_iter().enumerate().map(|(n, i)| (0x8000 + 4 * n as u64, i));
    let thumb = thumb.into_iter().enumerate().map(|(n, i)| (0x9000 + 2 * n as u64, i));
    Program { code: arm.chain(thumb).collect(), limit: 64, ..Program::default() }
}

/// `count` plain A32 instructions from 0x10000 on.
pub(super) fn straight(count: u32) -> Program {
    let code = (0..count).map(|n| (0x1_0000 + 4 * u64::from(n), ARM)).collect();
    Program { code, limit: 64, ..Program::default() }
}

impl BlockCache for Program {}

impl Code for Program {
    fn block(&mut self, pc: Pc) -> Result<&Block, Miss> {
        let mut at = pc;
        let mut instructions = 0;
        let (last, end) = loop {
            let last = match self.instruction(at) {
                Ok(instruction) => instruction,
                Err(miss) if instructions == 0 => return Err(miss),
                Err(_) => break (self.block.last, End::NoCode),
            };
            self.block.last = last;
            instructions += 1;
            at.address += u64::from(last.size);
            if last.kind != Kind::Plain {
                break (last, End::Waypoint);
            }
            if instructions == self.limit {
                break (last, End::Limit);
            }
        };
        let bytes = (at.address - pc.address) as u32;
        self.block = Block { start: pc.address, bytes, instructions, last, end };
        Ok(&self.block)
    }

    fn instruction(&mut self, pc: Pc) -> Result<Instruction, Miss> {
        self.last_space = pc.space;
        match self.code.binary_search_by_key(&pc.address, |(at, _)| *at) {
            Ok(n) if self.code[n].1.isa == pc.isa => Ok(self.code[n].1),
            _ => Err(Miss { address: pc.address }),
        }
    }
}
