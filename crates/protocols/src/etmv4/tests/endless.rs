//! Memory without a waypoint.

use std::vec::Vec;

use tracewright_base::{
    Block, Code, Element, End, Inconsistency, Instruction, Isa, Miss, OffsetMap, Pc, Piece,
    Uncached,
};

use super::config;
use crate::Stream;
use crate::etmv4::Etmv4;

/// Plain instructions at every address, and the number of blocks that were requested.
#[derive(Default)]
struct Endless {
    block: Block,
    requested: u32,
}

impl Code for Endless {
    fn block(&mut self, pc: Pc) -> Result<&Block, Miss> {
        self.requested += 1;
        let last =
            Instruction { size: 4, isa: Isa::A64, target_isa: Isa::A64, ..Instruction::default() };
        self.block = Block {
            start: pc.address,
            bytes: 1 << 14,
            instructions: 1 << 12,
            last,
            end: End::Limit,
        };
        Ok(&self.block)
    }

    fn instruction(&mut self, _: Pc) -> Result<Instruction, Miss> {
        Ok(Instruction { size: 4, isa: Isa::A64, target_isa: Isa::A64, ..Instruction::default() })
    }
}

/// A walk that reaches no waypoint is bounded and reported. (ETE K10.5.5 has no bound.)
#[test]
fn a_walk_to_a_waypoint_ends() {
    let mut bytes = std::vec![0; 11];
    // Alignment Sync, Trace Info, Trace On, an address with context, an Atom.
    bytes.extend([0x80, 0x01, 0x00, 0x04, 0x82, 0x00, 0x08, 0x00, 0x00, 0x11, 0xf7]);
    let mut stream = Stream::<Etmv4>::new(config(false, None, &[("TRCIDR1", 0x4100_f403)]));
    let mut code = Uncached(Endless::default());
    let mut elements: Vec<(u64, Element)> = Vec::new();
    let pieces = [Piece { start: 0, at: 0, fragment: true }];
    stream.feed(&bytes, &OffsetMap::new(&pieces), &mut code, &mut elements);
    let inconsistencies = elements
        .iter()
        .filter(|(_, e)| *e == Element::Inconsistency(Inconsistency::AddressNotReached))
        .count();
    assert_eq!(inconsistencies, 1, "{elements:?}");
    assert!(code.0.requested <= 1 << 13, "{}", code.0.requested);
}
