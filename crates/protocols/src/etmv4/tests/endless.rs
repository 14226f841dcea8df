//! Memory without a waypoint, and speculation without an end.

use std::vec::Vec;

use tracewright_base::{
    Block, Code, Element, End, Inconsistency, Instruction, Isa, Kind, MAX_EXPANSION, Miss,
    OffsetMap, Pc, Piece, Uncached,
};

use super::config;
use crate::etmv4::Etmv4;
use crate::stream::Stream;

/// Plain instructions at every address, and the number of blocks that were requested.
#[derive(Default)]
struct Endless {
    block: Block,
    requested: u32,
    max_expansion: u32,
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

    fn max_expansion(&self) -> u32 {
        self.max_expansion
    }
}

/// A walk that reaches no waypoint is bounded and reported. The instructions for one byte are
/// divided among the 24 atoms that it may have. A block is always taken. (ETE K10.5.5 has no
/// bound.)
#[test]
fn a_walk_to_a_waypoint_ends() {
    let mut bytes = std::vec![0; 11];
    // Alignment Sync, Trace Info, Trace On, an address with context, two Atoms.
    bytes.extend([0x80, 0x01, 0x00, 0x04, 0x82, 0x00, 0x08, 0x00, 0x00, 0x11, 0xf7, 0xf7]);
    for (max_expansion, want, why) in [
        (1, 1, Inconsistency::ExpansionLimit),
        (24 << 12, 1, Inconsistency::ExpansionLimit),
        (24 << 15, 8, Inconsistency::ExpansionLimit),
        (MAX_EXPANSION, 10, Inconsistency::ExpansionLimit),
        // 64 MiB are the end of any walk.
        (u32::MAX, 1 << 12, Inconsistency::AddressNotReached),
    ] {
        let mut stream = Stream::<Etmv4>::new(config(false, None, &[("TRCIDR1", 0x4100_f403)]));
        let mut code = Uncached(Endless { max_expansion, ..Endless::default() });
        let mut elements: Vec<(u64, Element)> = Vec::new();
        let pieces = [Piece { start: 0, at: 0, fragment: true }];
        let _ = stream.feed(&bytes, &OffsetMap::new(&pieces), &mut code, &mut elements);
        let [.., (_, Element::Range(range)), (at, last)] = elements[..] else {
            panic!("{elements:?}")
        };
        assert_eq!((at, last), (21, Element::Inconsistency(why)), "{max_expansion}");
        assert_eq!(range.instructions, want << 12, "{max_expansion}");
        // The fast path and the first attempt request the first block, too.
        assert!(code.0.requested <= want + 3, "{max_expansion}: {}", code.0.requested);
    }
}

/// A branch to itself.
#[derive(Default)]
struct Spin(Block);

impl Code for Spin {
    fn block(&mut self, pc: Pc) -> Result<&Block, Miss> {
        let last = self.instruction(pc)?;
        self.0 = Block { start: pc.address, bytes: 4, instructions: 1, last, end: End::Waypoint };
        Ok(&self.0)
    }

    fn instruction(&mut self, pc: Pc) -> Result<Instruction, Miss> {
        Ok(Instruction {
            size: 4,
            isa: Isa::A64,
            target_isa: Isa::A64,
            kind: Kind::Branch,
            target: Some(pc.address),
            ..Instruction::default()
        })
    }
}

/// At most 65,536 P0 elements are unresolved, whatever TRCIDR8.MAXSPEC is: the oldest are committed
/// then. Without that, memory would depend on a register of the capture.
#[test]
fn speculation_is_bounded() {
    const MOST: usize = 1 << 16;
    let mut bytes = std::vec![0; 11];
    // Alignment Sync, Trace Info, Trace On, an address with context.
    bytes.extend([0x80, 0x01, 0x00, 0x04, 0x82, 0x00, 0x08, 0x00, 0x00, 0x11]);
    for (depth, atoms, committed) in
        [(0x2_0000, MOST, 0), (0x2_0000, MOST + 1664, 1664), (8, 20, 12)]
    {
        let unit = config(false, None, &[("TRCIDR1", 0x4100_f403), ("TRCIDR8", depth)]);
        let mut stream = Stream::<Etmv4>::new(unit);
        let mut elements: Vec<(u64, Element)> = Vec::new();
        let trace = [&bytes[..], &std::vec![0xf7; atoms]].concat();
        let pieces = [Piece { start: 0, at: 0, fragment: true }];
        let _ = stream.feed(
            &trace,
            &OffsetMap::new(&pieces),
            &mut Uncached(Spin::default()),
            &mut elements,
        );
        let ranges = elements.iter().filter(|(_, e)| matches!(e, Element::Range(_))).count();
        assert_eq!(ranges, committed, "{depth:#x}, {atoms}");
    }
}
