//! Blocks of RISC-V code.

use tracewright_base::{Code, End, Isa, Kind, Miss, Role};
use tracewright_image::{CacheOptions, Region};
use tracewright_isa::assemble::rv;
use tracewright_isa::rv::Extensions;

use crate::{DEFAULT, cache, pc, row, words};

/// RISC-V instructions of both sizes, a jump that the instruction before it makes predictable, and
/// one that is jumped to, past that instruction.
#[test]
fn riscv_blocks() {
    let code: Vec<u8> = [
        &(rv::C_NOP as u16).to_le_bytes()[..],
        &rv::auipc(6, 0x1000).to_le_bytes(),
        &rv::jalr(0, 6, 8).unwrap().to_le_bytes(),
        &(rv::c_beqz(8, -10).unwrap() as u16).to_le_bytes(),
        &rv::ECALL.to_le_bytes(),
        &(rv::c_jr(1) as u16).to_le_bytes(),
    ]
    .concat();
    for (isa, base) in [(Isa::Rv32, 0xffff_f000), (Isa::Rv64, 0x8000_0000)] {
        let at = |offset: u64| (base + offset) & isa.address_mask();
        let mut cache = cache([Region::new("code", base, code.clone())], DEFAULT);
        let want = (10, 3, Kind::Indirect, End::Waypoint);
        let block = *cache.block(pc(isa, base)).unwrap();
        assert_eq!((row(&block), block.last.target), (want, Some(at(0x1000 + 2 + 8))));
        let block = *cache.block(pc(isa, base + 6)).unwrap();
        assert_eq!((row(&block), block.last.target), ((4, 1, want.2, want.3), None));
        let block = *cache.block(pc(isa, base + 10)).unwrap();
        assert_eq!((row(&block).2, block.last.target), (Kind::Branch, Some(base)));
        assert!(block.last.conditional);
        let block = *cache.block(pc(isa, base + 12)).unwrap();
        assert_eq!(row(&block), (6, 2, Kind::Indirect, End::Waypoint));
        assert_eq!(cache.instruction(pc(isa, base + 2)).unwrap().size, 4);
        assert_eq!(cache.opcode(pc(isa, base)), Some(rv::C_NOP));
        assert_eq!(cache.opcode(pc(isa, base + 12)), Some(rv::ECALL));
        assert_eq!(cache.opcode(pc(isa, base + 16)), Some(rv::c_jr(1)));
        assert_eq!(cache.block(pc(isa, base + 18)), Err(Miss { address: base + 18 }));
    }
}

/// A pair that makes a jump predictable is in one block, however long the code before it.
#[test]
fn the_longest_block_takes_no_pair_apart() {
    let mut code = vec![rv::NOP; 1023];
    code.extend([rv::auipc(6, 0), rv::jalr(0, 6, 8).unwrap()]);
    let mut cache = cache([Region::new("code", 0, words(&code))], DEFAULT);
    let block = cache.block(pc(Isa::Rv64, 0)).unwrap();
    assert_eq!(row(block), (4 * 1025, 1025, Kind::Indirect, End::Waypoint));
    assert_eq!(block.last.target, Some(4 * 1023 + 8));
}

/// The jump table of Zcmt is read from the image.
#[test]
fn table_jumps() {
    let code = (rv::cm_jt(3) as u16).to_le_bytes();
    let regions = || {
        let table: Vec<u8> = (0u32..8).flat_map(|n| (0x2001 + n * 16).to_le_bytes()).collect();
        [Region::new("code", 0x1000, code.to_vec()), Region::new("table", 0x40, table)]
    };
    let target = |zcm, jump_table, isa| {
        let riscv = Extensions { zcm, jump_table, ..Extensions::NONE };
        let mut cache = cache(regions(), CacheOptions { riscv, ..DEFAULT });
        let last = cache.block(pc(isa, 0x1000)).unwrap().last;
        (last.kind, last.target)
    };
    assert_eq!(target(true, Some(0x40), Isa::Rv32), (Kind::Branch, Some(0x2030)));
    assert_eq!(target(true, Some(0x40), Isa::Rv64), (Kind::Branch, Some(0x0000_2071_0000_2060)));
    assert_eq!(target(true, None, Isa::Rv32), (Kind::Branch, None));
    assert_eq!(target(true, Some(0x400), Isa::Rv32), (Kind::Branch, None));
    assert_eq!(target(false, Some(0x40), Isa::Rv32), (Kind::Plain, None));
}

/// A processor's own opcodes end blocks where they let the program go elsewhere, up to eight bytes
/// long. One that memory does not hold whole is not there.
#[test]
fn own_opcodes() {
    let mut riscv = Extensions::NONE;
    for text in [
        "mask=0x1f1f07f match=0xc01f kind=call offset=47:32,19:17,31,7,30:25,11:8",
        "mask=0xffff match=0x8102 kind=return",
        "mask=0x7f match=0x0b kind=plain",
        // LUI is not one any more: what it would leave for the jump after it does not count.
        "mask=0xfff match=0x337 kind=plain",
    ] {
        riscv.opcodes.push(text.parse().expect(text)).expect("room");
    }
    let options = CacheOptions { riscv, ..DEFAULT };
    // c.nop; 4 bytes of custom-0; a call of 6 bytes, 0x100 on; c.nop; a return
    let call = [0x1f, 0xc0, 0x00, 0x10, 0x00, 0x00];
    let code =
        [&[0x01, 0x00, 0x0b, 0x00, 0x00, 0x00], &call[..], &[0x01, 0x00, 0x02, 0x81]].concat();
    let lui = words(&[rv::lui(6, 0x1000), rv::jalr(0, 6, 8).unwrap()]);
    let regions = || {
        [
            Region::new("code", 0x1000, code.clone()),
            Region::new("cut", 0x2000, call[..5].to_vec()),
            Region::new("lui", 0x3000, lui.clone()),
        ]
    };
    let mut cache = self::cache(regions(), options);
    let block = *cache.block(pc(Isa::Rv32, 0x1000)).unwrap();
    assert_eq!(row(&block), (12, 3, Kind::Branch, End::Waypoint));
    assert_eq!((block.last.size, block.last.target), (6, Some(0x1006 + 0x100)));
    let block = *cache.block(pc(Isa::Rv32, 0x100c)).unwrap();
    assert_eq!(row(&block), (4, 2, Kind::Indirect, End::Waypoint));
    assert_eq!(cache.instruction(pc(Isa::Rv32, 0x1006)).map(|i| i.size), Ok(6));
    assert_eq!(cache.block(pc(Isa::Rv32, 0x2000)), Err(Miss { address: 0x2005 }));
    let block = *cache.block(pc(Isa::Rv32, 0x3000)).unwrap();
    assert_eq!((block.last.kind, block.last.target), (Kind::Indirect, None));
    // Without the table.
    let mut plain = self::cache(regions(), DEFAULT);
    let block = *plain.block(pc(Isa::Rv32, 0x3000)).unwrap();
    assert_eq!(block.last.target, Some(0x1008));
    // It is C.JR of X2 then.
    assert_eq!(plain.instruction(pc(Isa::Rv32, 0x100e)).map(|i| i.role), Ok(Role::Jump));
    // What an opcode is that memory does not hold.
    let at = pc(Isa::Rv32, 0x9000);
    assert_eq!(cache.classify(at, 0x8102, Default::default()).role, Role::Return);
    assert_eq!(plain.classify(at, 0x8102, Default::default()).role, Role::Jump);
}
