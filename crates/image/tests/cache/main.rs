//! The results of the cache equal those of a walk without a cache, in any order of the calls.

mod growth;
mod held;
mod riscv;

use std::collections::HashSet;
use std::sync::Arc;

use tracewright_base::{
    BLOCK_CLASSES, Block, BlockCache, BlockId, Code, CodeSpace, End, Instruction, Isa, Kind, Last,
    Links, MAX_EXPANSION, Miss, Pc, Security, Space, Waypoints,
};
use tracewright_image::{
    Bytes, Cache, CacheOptions, Image, MAX_BLOCK_INSTRUCTIONS, OpcodeCheck, Region, SpaceMask,
};
use tracewright_isa::assemble::{a64, rv};
use tracewright_isa::is_illegal;
use tracewright_isa::rv::Extensions;
use tracewright_testing::Random;

const ANY: Space = Space::ANY;
const NO_WAYPOINTS: Waypoints = Waypoints::BRANCHES;
const DEFAULT: CacheOptions = CacheOptions {
    check_opcodes: OpcodeCheck::Illegal,
    blocks: 1 << 16,
    explored: usize::MAX,
    riscv: Extensions::NONE,
    max_expansion: MAX_EXPANSION,
};
const CHECKED: CacheOptions = CacheOptions { check_opcodes: OpcodeCheck::Undefined, ..DEFAULT };

// A64.
const NOP: u32 = 0xd503_201f;
const ISB: u32 = 0xd503_3fdf;
const DSB: u32 = 0xd503_3f9f;
const WFI: u32 = 0xd503_207f;
const RET: u32 = 0xd65f_03c0;
/// `B .+8`
const B_8: u32 = 0x1400_0002;
const UDF: u32 = 0x0000_0001;
/// In a group without instructions.
const UNALLOCATED: u32 = 0x0200_0000;

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

fn halves(halves: &[u16]) -> Vec<u8> {
    halves.iter().flat_map(|half| half.to_le_bytes()).collect()
}

fn pc(isa: Isa, address: u64) -> Pc {
    Pc { address, isa, space: ANY }
}

fn cache(regions: impl IntoIterator<Item = Region>, options: CacheOptions) -> Cache {
    Cache::new(Arc::new(Image::new(regions)), Waypoints { isb: true, ..NO_WAYPOINTS }, options)
}

/// A block as a row of a table: bytes, instructions, last, end.
fn row(block: &Block) -> (u32, u32, Kind, End) {
    (block.bytes, block.instructions, block.last.kind, block.end)
}

#[test]
fn a_block_ends_at_the_first_waypoint() {
    use End::{Invalid, NoCode, Waypoint};
    use Kind::{Barrier, Branch, Indirect, Isb, Plain, Undefined, Wait};
    let isb = Waypoints { isb: true, ..NO_WAYPOINTS };
    let barrier = Waypoints { barrier: true, ..NO_WAYPOINTS };
    let wait = Waypoints { wait: true, ..NO_WAYPOINTS };
    for (code, waypoints, options, want) in [
        (&[NOP, B_8, NOP][..], NO_WAYPOINTS, DEFAULT, (8, 2, Branch, Waypoint)),
        (&[RET, NOP], NO_WAYPOINTS, DEFAULT, (4, 1, Indirect, Waypoint)),
        (&[ISB, RET], NO_WAYPOINTS, DEFAULT, (8, 2, Indirect, Waypoint)),
        (&[NOP, ISB, RET], isb, DEFAULT, (8, 2, Isb, Waypoint)),
        (&[NOP, DSB, RET], isb, DEFAULT, (12, 3, Indirect, Waypoint)),
        (&[NOP, DSB, RET], barrier, DEFAULT, (8, 2, Barrier, Waypoint)),
        (&[WFI, RET], barrier, DEFAULT, (8, 2, Indirect, Waypoint)),
        (&[WFI, RET], wait, DEFAULT, (4, 1, Wait, Waypoint)),
        (&[NOP, NOP], isb, DEFAULT, (8, 2, Plain, NoCode)),
        (&[NOP, UDF, RET], isb, DEFAULT, (4, 1, Plain, Invalid)),
        (&[NOP, UNALLOCATED, RET], isb, DEFAULT, (12, 3, Indirect, Waypoint)),
        (&[NOP, UNALLOCATED, RET], isb, CHECKED, (4, 1, Plain, Invalid)),
        (&[NOP, UDF, RET], isb, CHECKED, (4, 1, Plain, Invalid)),
        (&[UDF, RET], isb, CHECKED, (0, 0, Undefined, Invalid)),
    ] {
        let image = Image::new([Region::new("code", 0x1000, words(code))]);
        let mut cache = Cache::new(Arc::new(image), waypoints, options);
        let block = cache.block(pc(Isa::A64, 0x1000)).unwrap();
        assert_eq!(row(block), want, "{code:x?}");
        assert_eq!(block.start, 0x1000);
    }
}

#[test]
fn the_length_of_a_block_is_limited() {
    let code = words(&[vec![NOP; 1024 + 3], vec![RET]].concat());
    let mut cache = cache([Region::new("code", 0, code)], DEFAULT);
    let block = *cache.block(pc(Isa::A64, 0)).unwrap();
    assert_eq!(row(&block), (4096, 1024, Kind::Plain, End::Limit));
    let block = cache.block(pc(Isa::A64, block.next())).unwrap();
    assert_eq!(row(block), (16, 4, Kind::Indirect, End::Waypoint));
}

/// Walks through straight code from different addresses share their blocks after the first one.
#[test]
fn straight_code_is_divided_at_the_same_addresses() {
    const LEN: u64 = 1 << 16;
    let auipc: Vec<u8> = words(&vec![rv::auipc(6, 0); LEN as usize / 4]);
    let t32: Vec<u8> = 0xbf00u16.to_le_bytes().repeat(LEN as usize / 2);
    let a64 = words(&vec![NOP; LEN as usize / 4]);
    for (isa, code, step) in
        [(Isa::A64, a64.clone(), 4), (Isa::T32, t32, 2), (Isa::Rv64, auipc, 4), (Isa::A32, a64, 4)]
    {
        let mut cache = cache([Region::new("code", 0, code)], DEFAULT);
        let mut starts = HashSet::new();
        for start in (0..1 << 13).step_by(step) {
            let mut at = start;
            while let Ok(block) = cache.block(pc(isa, at)) {
                assert!(
                    block.instructions <= MAX_BLOCK_INSTRUCTIONS,
                    "{isa} {start:#x}: {block:?}"
                );
                starts.insert(at);
                at = block.next();
                assert_eq!(at % (1 << 11), 0, "{isa} {start:#x}");
            }
            assert_eq!(at, LEN, "{isa} {start:#x}");
        }
        assert!(starts.len() <= (1 << 13) / step + LEN as usize / (1 << 11), "{isa}");
    }
}

#[test]
fn misses_report_the_first_address_that_cannot_be_read() {
    let code = Region::new("code", 0x1000, vec![0; 6]);
    let mut cache = cache([code], DEFAULT);
    for (isa, address, missing) in [
        (Isa::A64, 0xffc, 0xffc),
        (Isa::A64, 0x1004, 0x1006),
        (Isa::A64, 0x1008, 0x1008),
        // Not aligned.
        (Isa::A64, 0x1002, 0x1002),
        (Isa::A32, 0x1001, 0x1001),
        (Isa::T32, 0x1001, 0x1001),
        // Addresses of AArch32 have 32 bits.
        (Isa::A32, 0xffff_0000_0000_2000, 0x2000),
        // No instructions to read.
        (Isa::Jazelle, 0x1000, 0x1000),
    ] {
        let miss = Err(Miss { address: missing });
        assert_eq!(cache.block(pc(isa, address)).copied(), miss, "{isa} 0x{address:x}");
        assert_eq!(cache.instruction(pc(isa, address)), miss.map(|b| b.last), "{isa}");
    }
    assert!(cache.is_empty());
}

#[test]
fn instructions_cross_regions() {
    // LDR.W r0, [r0] is f8d0 0000; BX LR is 4770.
    let code = halves(&[0xf8d0, 0x0000, 0x4770]);
    for cut in 0..=code.len() {
        let (low, high) = code.split_at(cut);
        let mut cache = cache(
            [
                Region::new("low", 0x1000, low.to_vec()),
                Region::new("high", 0x1000 + cut as u64, high.to_vec()),
            ],
            DEFAULT,
        );
        let block = cache.block(pc(Isa::T32, 0x1000)).unwrap();
        assert_eq!(row(block), (6, 2, Kind::Indirect, End::Waypoint), "cut at {cut}");
        let sizes = [0x1000, 0x1004].map(|at| cache.instruction(pc(Isa::T32, at)).unwrap().size);
        assert_eq!(sizes, [4, 2]);
    }
}

#[test]
fn a_short_instruction_is_read_from_the_last_two_bytes() {
    let mut cache = cache([Region::new("code", 0x1000, halves(&[0x4770, 0xf8d0]))], DEFAULT);
    assert_eq!(row(cache.block(pc(Isa::T32, 0x1000)).unwrap()).0, 2);
    let miss = Miss { address: 0x1004 };
    assert_eq!(cache.block(pc(Isa::T32, 0x1002)).copied(), Err(miss));
}

#[test]
fn aarch32_continues_at_address_0() {
    let regions = [
        // MOV r0, r0; then r1, r1 and B .
        Region::new("top", 0xffff_fffc, words(&[0xe1a0_0000, 0xe1a0_1001])),
        Region::new("bottom", 0, words(&[0xe1a0_1001, 0xeaff_fffe])),
    ];
    let mut cache = cache(regions, DEFAULT);
    let block = *cache.block(pc(Isa::A32, 0xffff_fffc)).unwrap();
    assert_eq!(row(&block), (12, 3, Kind::Branch, End::Waypoint));
    assert_eq!((block.last.target, block.next()), (Some(4), 8));
    // In AArch64 the same bytes are consecutive.
    assert_eq!(row(cache.block(pc(Isa::A64, 0xffff_fffc)).unwrap()).3, End::NoCode);
}

#[test]
fn an_it_block_is_detected_from_within() {
    // ITE EQ; MOVEQ r0, r0; LDRNE.W r0, [r0]; MOV r0, r0; and B.W, whose second half looks like an
    // IT instruction, before MOV r0, r0.
    let code = halves(&[0xbf0c, 0x4600, 0xf8d0, 0x0000, 0x4600, 0xf000, 0xbf0c, 0x4600, 0x4600]);
    let mut cache = cache([Region::new("code", 0x1000, code)], DEFAULT);
    let slots = [
        (0x1000, 2, false),
        (0x1002, 2, true),
        (0x1004, 4, true),
        (0x1008, 2, false),
        (0x100a, 4, false),
        (0x100e, 2, false),
        (0x1010, 2, false),
    ];
    for (address, size, conditional) in slots.into_iter().chain(slots.into_iter().rev()) {
        let i = cache.instruction(pc(Isa::T32, address)).unwrap();
        assert_eq!((i.size, i.conditional), (size, conditional), "0x{address:x}");
    }
}

#[test]
fn spaces_with_the_same_memory_share_blocks() {
    use Security::{NonSecure, Secure};
    let space = |el, security| Space::new(Some(el), Some(security));
    let mut cache = cache(
        [
            Region::new("el1", 0, words(&[RET])).within(SpaceMask::EL1N),
            Region::new("el2", 0, words(&[NOP, B_8])).within(SpaceMask::EL2N),
        ],
        DEFAULT,
    );
    for (space, want, blocks) in [
        (space(0, NonSecure), Some(1), 1),
        (space(1, NonSecure), Some(1), 1),
        (space(2, NonSecure), Some(2), 2),
        (space(1, NonSecure), Some(1), 2),
        (space(1, Secure), None, 2),
        (space(2, NonSecure), Some(2), 2),
    ] {
        let block = cache.block(Pc { address: 0, isa: Isa::A64, space }).ok();
        assert_eq!(block.map(|b| b.instructions), want, "{space}");
        assert_eq!(cache.len(), blocks);
    }
}

/// Opcodes that are defined to be illegal do so in any case, other undefined ones if checked.
#[test]
fn a_block_ends_before_an_illegal_opcode() {
    const ALWAYS: bool = true;
    let rv = |word| vec![0x0000_0013, word, 0x0000_8067];
    for (isa, code, always) in [
        (Isa::A64, [NOP, 0x0000_0000, RET].to_vec(), ALWAYS),
        (Isa::A64, [NOP, 0x0000_1234, RET].to_vec(), ALWAYS),
        (Isa::A64, [NOP, 0xffff_ffff, RET].to_vec(), ALWAYS),
        (Isa::A64, [NOP, 0x0001_0000, RET].to_vec(), !ALWAYS),
        (Isa::A32, [0xe1a0_0000, 0xffff_ffff, 0xe12f_ff1e].to_vec(), ALWAYS),
        (Isa::A32, [0xe1a0_0000, 0xe7f0_00f0, 0xe12f_ff1e].to_vec(), !ALWAYS),
        (Isa::T32, [0xf3af_8000u32.rotate_left(16), 0xffff_ffff, 0x4770_4770].to_vec(), ALWAYS),
        (Isa::Rv32, rv(0x0000_0000), ALWAYS),
        (Isa::Rv64, rv(0x4501_0000), ALWAYS),
        (Isa::Rv64, rv(0xffff_ffff), ALWAYS),
        (Isa::Rv64, rv(0xc000_1073), ALWAYS),
        // Reserved: a custom extension may have them.
        (Isa::Rv64, rv(0x0000_2063), !ALWAYS),
        (Isa::Rv64, rv(0x0001_8002), !ALWAYS),
    ] {
        for options in [DEFAULT, CHECKED] {
            let mut cache = cache([Region::new("code", 0, words(&code))], options);
            let ends = always || options.check_opcodes == OpcodeCheck::Undefined;
            let block = cache.block(pc(isa, 0)).unwrap();
            assert_eq!(block.end == End::Invalid, ends, "{isa:?} {code:08x?}");
            assert_eq!(block.instructions == 1, ends, "{isa:?} {code:08x?}");
        }
    }
}

/// Zeros are instructions in A32 and T32, but not without end.
#[test]
fn a_block_ends_in_zeros() {
    for (isa, zeros, want) in [
        (Isa::A32, 14, End::Waypoint),
        (Isa::A32, 4096, End::Invalid),
        (Isa::T32, 14, End::Waypoint),
        (Isa::T32, 4096, End::Invalid),
    ] {
        let mut code = vec![0; zeros];
        code.push(if isa == Isa::A32 { 0xe12f_ff1e } else { 0x4770_4770 });
        let mut cache = cache([Region::new("code", 0, words(&code))], DEFAULT);
        let block = *cache.block(pc(isa, 0)).unwrap();
        assert_eq!(block.end, want, "{isa:?}");
        if want == End::Invalid {
            assert_eq!(block.bytes, 64 - isa.alignment() as u32, "{isa:?}");
            // The rest of the zeros is no program either.
            let rest = *cache.block(pc(isa, block.next())).unwrap();
            assert_eq!((rest.instructions, rest.end), (0, End::Invalid), "{isa:?}");
        }
    }
}

#[test]
fn a_change_of_memory_removes_blocks() {
    let before = Arc::new(Image::new([Region::new("code", 0, words(&[NOP, RET]))]));
    let after = Arc::new(before.with([Region::new("patch", 0, words(&[RET]))]));
    let mut cache = Cache::new(Arc::clone(&before), NO_WAYPOINTS, DEFAULT);
    for image in [&before, &before, &after, &before] {
        cache.set_image(Arc::clone(image));
        let long = Arc::ptr_eq(image, &before);
        let here = pc(Isa::A64, 0);
        assert_eq!(cache.block(here).unwrap().instructions, if long { 2 } else { 1 });
        assert_eq!(cache.instruction(here).unwrap().kind == Kind::Plain, long);
    }
}

#[test]
fn a_hint_begins_no_it_block() {
    // ITT EQ; NOPEQ; BXEQ lr.
    let code = halves(&[0xbf04, 0xbf00, 0x4770]);
    let mut cache = cache([Region::new("code", 0x1000, code)], DEFAULT);
    let i = cache.instruction(pc(Isa::T32, 0x1004)).unwrap();
    assert!(i.conditional);
    assert!(cache.block(pc(Isa::T32, 0x1004)).unwrap().last.conditional);
}

/// A block as the cache defines it, one instruction at a time.
fn naive(cache: &mut Cache, waypoints: Waypoints, check: bool, pc: Pc) -> Result<Block, Miss> {
    let mut block = Block { start: pc.address, ..Block::default() };
    let mut at = pc;
    loop {
        let step: Instruction = match cache.instruction(at) {
            Ok(step) => step,
            Err(miss) if block.instructions == 0 => return Err(miss),
            Err(_) => return Ok(Block { end: End::NoCode, ..block }),
        };
        let illegal = cache.opcode(at).is_some_and(|opcode| is_illegal(at.isa, opcode));
        if step.kind == Kind::Undefined && (check || illegal) {
            let last = if block.instructions == 0 { step } else { block.last };
            return Ok(Block { end: End::Invalid, last, ..block });
        }
        block.bytes += u32::from(step.size);
        block.instructions += 1;
        block.last = step;
        let ends = match step.kind {
            _ if waypoints.each => true,
            Kind::Branch | Kind::Indirect => true,
            Kind::Isb => waypoints.isb,
            Kind::Barrier => waypoints.barrier,
            Kind::Wait => waypoints.wait,
            Kind::TimedWait => waypoints.timed_wait,
            Kind::TransactionStart => waypoints.transaction,
            Kind::Plain | Kind::Undefined => false,
        };
        if ends {
            return Ok(Block { end: End::Waypoint, ..block });
        }
        at.address = at.address.wrapping_add(u64::from(step.size)) & pc.isa.address_mask();
    }
}

/// Random code with many branches in it, at the top of 32-bit memory and in the middle.
fn random_image(random: &mut Random) -> Image {
    let space = [SpaceMask::ANY, SpaceMask::EL1N, SpaceMask::SECURE, SpaceMask::EL2N];
    Image::new((0..6).map(|_| {
        let address = 0xffff_fe00 + random.below(0x100) * 2;
        let spaces = space[random.below(4) as usize];
        let words = random.below(64);
        let code = (0..words).flat_map(|_| match random.below(8) {
            0 => RET.to_le_bytes(),
            1 => (0x5400_0000 | (random.below(1 << 6) as u32) << 5).to_le_bytes(),
            2 => ISB.to_le_bytes(),
            3 => UDF.to_le_bytes(),
            // T32: IT, BX LR, BEQ.
            4 => [0x08 | random.below(256) as u8, 0xbf, 0x70, 0x47],
            5 => [random.below(256) as u8, 0xd0, random.below(256) as u8, 0xbf],
            6 => NOP.to_le_bytes(),
            _ => (random.below(1 << 32) as u32).to_le_bytes(),
        });
        Region::new("random", address, code.collect::<Vec<u8>>()).within(spaces)
    }))
}

#[test]
fn cached_chained_and_bounded_equal_a_naive_walk() {
    let mut random = Random::new(7);
    let isas = [Isa::A64, Isa::A32, Isa::T32, Isa::ThumbEe, Isa::T32];
    let mut blocks = 0;
    for round in 0..60 {
        let waypoints =
            Waypoints { isb: random.below(2) == 0, each: round % 4 == 3, ..NO_WAYPOINTS };
        let check = random.below(2) == 0;
        let limit = [1, 2, 7, 64, 1 << 16][round % 5];
        let explored = [usize::MAX, 0, 50][round % 3];
        let check_opcodes = if check { OpcodeCheck::Undefined } else { OpcodeCheck::Illegal };
        let options = CacheOptions { check_opcodes, blocks: limit, explored, ..DEFAULT };
        let image = Arc::new(random_image(&mut random));
        let mut cache = Cache::new(Arc::clone(&image), waypoints, options);
        if round % 2 == 0 {
            cache.reserve([1, 100, 1 << 14][round % 3]);
        }
        let mut at = pc(Isa::A64, 0xffff_fe00);
        for _ in 0..400 {
            // Follow the code as a decoder does, with occasional jumps.
            let got = cache.block(at).copied();
            assert!(cache.len() <= limit);
            let mut fresh = Cache::new(Arc::clone(&image), waypoints, options);
            assert_eq!(got, fresh.block(at).copied(), "fresh, {at:x?}");
            assert_eq!(got, naive(&mut fresh, waypoints, check, at), "naive, {at:x?}");
            assert_eq!(cache.instruction(at), fresh.instruction(at));
            blocks += u32::from(got.is_ok());
            at = match got {
                Ok(block) if random.below(8) > 0 && block.instructions > 0 => {
                    let target = block.last.target.filter(|_| random.below(2) == 0);
                    Pc { address: target.unwrap_or(block.next()), ..at }
                }
                _ => Pc {
                    address: 0xffff_fe00 + random.below(0x200) * 2,
                    isa: isas[random.below(5) as usize],
                    space: Space::new(
                        [None, Some(1), Some(2)][random.below(3) as usize],
                        [None, Some(Security::NonSecure)][random.below(2) as usize],
                    ),
                },
            };
            at.address &= at.isa.address_mask();
        }
        assert_successors(&cache);
    }
    // Most addresses have code.
    assert!(blocks > 10_000, "{blocks}");
}

/// Each successor is the block at the target or after the block, or is not known. An unconditional
/// branch has no not-taken successor. The links lead to the same blocks.
fn assert_successors(cache: &Cache) {
    let all = cache.blocks();
    let links = all.all().iter().zip(all.successors()).flat_map(|(one, next)| Links::of(one, next));
    assert!(links.eq(all.links().iter().copied()));
    let ids = (0..cache.len()).map(BlockId::new);
    for block in
        ids.filter_map(|id| cache.cached_block(id).zip(cache.blocks().successors().get(id.index())))
    {
        let (Block { last, .. }, successors) = block;
        let [not, taken] = successors.map(|id| cache.cached_block(id));
        if let Some(to) = not {
            assert!(last.conditional, "{block:x?}");
            assert_eq!((to.start, to.last.isa), (block.0.next(), last.isa));
        }
        if let Some(to) = taken {
            let target = last.target.map(|target| target & last.target_isa.address_mask());
            assert_eq!((last.kind, target), (Kind::Branch, Some(to.start)), "{block:x?}");
            assert_eq!(to.last.isa, last.target_isa);
        }
    }
}

/// The blocks of a piece of code are made together when the cache holds many blocks and has room.
#[test]
fn adjacent_blocks_are_explored() {
    let b_eq = |by: i32| a64::b_cond(0, by).unwrap();
    let code = [
        b_eq(16),                // 0: into the middle of the block at 8
        a64::bl(0x100).unwrap(), // 4
        NOP,                     // 8
        NOP,                     // 12
        NOP,                     // 16
        b_eq(-12),               // 20: into the same block
        RET,                     // 24
        RET,                     // 28: another function
        NOP,                     // 32: without an end
    ];
    let regions = || [Region::new("code", 0, words(&code))];
    for (explored, blocks, count) in [(0, 64, 6), (1, 64, 1), (0, 1, 1), (0, 5, 1)] {
        let mut cache = cache(regions(), CacheOptions { explored, blocks, ..DEFAULT });
        let code_space = cache.code_space(Isa::A64, ANY);
        let first = cache.enter(pc(Isa::A64, 0), None);
        assert_eq!((cache.find(0, code_space), cache.len()), (first, count), "{explored} {blocks}");
        assert_successors(&cache);
        if count == 6 {
            let at = |address| cache.find(address, code_space);
            let next = |address| cache.blocks().successors()[at(address).index()];
            assert_eq!(next(0), [at(4), at(16)]);
            // The call's target is not known.
            assert_eq!(next(4), [at(8).behind_call(), BlockId::NONE]);
            assert_eq!(next(8), [at(24), at(8)]);
            assert_eq!(next(16), [at(24), at(8)]);
            assert_eq!((next(24), next(28)), ([BlockId::NONE; 2], [BlockId::NONE; 2]));
            let ids = [0, 4, 8, 16, 24, 28].map(|address| at(address).index());
            assert!(ids.is_sorted() && ids[5] == 5, "{ids:?}");
        }
        assert_eq!(cache.enter(pc(Isa::A64, 12), None), cache.find(12, code_space));
        assert_successors(&cache);
    }
}

/// Pieces of code are divided one by one, a block that ends in the next piece included. Each block
/// equals that of a cache that makes them singly.
#[test]
fn pieces_equal_single_blocks() {
    let mut random = Random::new(11);
    let opcode = |random: &mut Random| match random.below(12) {
        0 => a64::b_cond(1, 4 * (random.below(600) as i32 - 300)).unwrap(),
        1 => a64::bl(4 * (random.below(3000) as i32 - 1500)).unwrap(),
        2 => RET,
        // UDF, and an opcode that is not allocated.
        3 if random.below(8) == 0 => 0,
        4 if random.below(8) == 0 => 0x0400_0000,
        _ => NOP,
    };
    let mut chained = 0;
    for (round, start) in [0x4000, 0x4004, 0x43fc, u64::MAX - 0x3fff].into_iter().enumerate() {
        // A long block, which is not cached, and a jump from the last piece.
        let mut code: Vec<u32> = (0..0x1000).map(|_| opcode(&mut random)).collect();
        code[700..900].fill(NOP);
        for check_opcodes in [OpcodeCheck::Off, OpcodeCheck::Illegal, OpcodeCheck::Undefined] {
            let region = || [Region::new("code", start, words(&code))];
            let all = DEFAULT.explored;
            let options = |explored| CacheOptions { check_opcodes, explored, ..DEFAULT };
            let mut cache = [cache(region(), options(0)), cache(region(), options(all))];
            for _ in 0..300 {
                let address = start + 4 * random.below(0x1000);
                let [got, want] =
                    cache.each_mut().map(|cache| cache.block(pc(Isa::A64, address)).copied());
                assert_eq!(got, want, "{round} {address:x}");
            }
            let [divided, mut single] = cache;
            assert!(divided.len() > 4 * single.len(), "{} {}", divided.len(), single.len());
            let code_space = divided.code_space(Isa::A64, ANY);
            let mut starts = Vec::new();
            for index in 0..divided.len() {
                let block = divided.cached_block(BlockId::new(index)).unwrap();
                assert_eq!(divided.find(block.start, code_space).index(), index, "cached once");
                assert_eq!(single.block(pc(Isa::A64, block.start)), Ok(&block));
                starts.push(block.start);
            }
            // Single ones are after the others.
            let descents = starts.array_windows().filter(|[a, b]| a > b).count();
            assert!(descents < starts.len() / 4, "{descents} of {}", starts.len());
            assert_successors(&divided);
            let known = |[not, taken]: &[BlockId; 2]| {
                usize::from(*not != BlockId::NONE) + usize::from(*taken != BlockId::NONE)
            };
            chained += divided.blocks().successors().iter().map(known).sum::<usize>();
        }
    }
    assert!(chained > 10_000, "{chained}");
}

#[test]
fn a_full_cache_is_cleared() {
    let code = words(&[RET; 300]);
    let options = CacheOptions { blocks: 100, ..DEFAULT };
    let mut cache = cache([Region::new("code", 0, code)], options);
    let mut most = 0;
    for address in (0..1200).step_by(4).chain((0..1200).step_by(4)) {
        assert_eq!(cache.block(pc(Isa::A64, address)).unwrap().start, address);
        most = most.max(cache.len());
    }
    assert_eq!(most, 100);
}

#[test]
fn successors_are_recorded() {
    let code = [a64::b_cond(0, 8).unwrap(), RET, a64::bl(0x100).unwrap(), RET];
    let regions = || [Region::new("code", 0, words(&code))];
    let mut all = cache(regions(), DEFAULT);
    let first = all.enter(pc(Isa::A64, 0), None);
    let second = all.enter(pc(Isa::A64, 4), Some((first, false)));
    let code_space = all.code_space(Isa::A64, ANY);
    assert_eq!((all.find(0, code_space), all.find(4, code_space)), (first, second));
    assert_eq!(
        (all.find(8, code_space), all.find(0, CodeSpace::NONE)),
        (BlockId::NONE, BlockId::NONE)
    );
    assert_eq!(all.blocks().successors()[first.index()], [second, BlockId::NONE]);
    let block = *all.block(pc(Isa::A64, 4)).unwrap();
    assert_eq!(all.cached_block(second), Some(block));
    let (cached, class) = all.blocks().get(second).unwrap();
    assert_eq!(cached.end(class), block.next());
    assert_eq!(cached.range(class, true).last, Last::new(&block.last, true));
    // A return has no not-taken successor. That of a call is reached by a return only.
    let call = all.enter(pc(Isa::A64, 8), Some((second, false)));
    assert_eq!(all.blocks().next(second, false), BlockId::NONE);
    let behind = all.enter(pc(Isa::A64, 12), Some((call, false)));
    assert_eq!(all.blocks().next(call, false), behind.behind_call());
    assert_eq!(all.blocks().after_return(call), behind);
    assert!(all.blocks().get(behind.behind_call()).is_none() && behind.can_be_next());
    assert_eq!(behind.behind_call().renumbered(|_| first), first.behind_call());
    // No block ends with a waypoint at the end of memory.
    assert_eq!(all.enter(pc(Isa::A64, 16), Some((second, true))), BlockId::NONE);

    // Other memory: no block is cached.
    all.set_image(Arc::new(Image::new([])));
    assert_eq!((all.find(0, code_space), all.blocks().all().len()), (BlockId::NONE, 0));

    // A cache of one block is cleared, and the removed block gets no successor.
    let mut one = cache(regions(), CacheOptions { blocks: 1, ..DEFAULT });
    let first = one.enter(pc(Isa::A64, 0), None);
    let second = one.enter(pc(Isa::A64, 4), Some((first, false)));
    assert_eq!(one.blocks().successors()[second.index()], [BlockId::NONE; 2]);
    assert_eq!((one.len(), one.find(0, code_space)), (1, BlockId::NONE));
}

/// Look-ups through a shared reference may be on any thread.
#[test]
fn a_cache_can_be_shared() {
    const fn is_shared<T: Send + Sync>() {}
    is_shared::<Cache>();
}

/// With many blocks the target cache is used: blocks are found again, also after the cache has
/// grown, but not after they are removed.
#[test]
fn blocks_of_large_programs_are_found_again() {
    const BLOCKS: u64 = 80_000;
    let options = CacheOptions { blocks: 1 << 20, ..DEFAULT };
    let mut cache = cache([Region::new("code", 0, words(&[RET; BLOCKS as usize]))], options);
    let code_space = cache.code_space(Isa::A64, ANY);
    let found = |cache: &Cache, n: u64| {
        [(); 2].map(|()| cache.cached_block(cache.find(4 * n, code_space)).map(|block| block.start))
    };
    for n in 0..BLOCKS {
        assert_eq!(found(&cache, n), [None; 2]);
        cache.block(pc(Isa::A64, 4 * n)).unwrap();
        for cached in [n, n / 2, n / 3] {
            assert_eq!(found(&cache, cached), [Some(4 * cached); 2]);
        }
    }
    assert_eq!(cache.find(4, CodeSpace::NONE), BlockId::NONE);
    cache.set_image(Arc::new(Image::new([])));
    assert!((0..BLOCKS).all(|n| found(&cache, n) == [None; 2]));
}

/// Blocks of more classes than the cache has, because they are more than 4 GiB apart: the cache is
/// cleared, and the results are the same.
#[test]
fn a_cache_of_many_classes() {
    let code = words(&[NOP, RET]);
    let far = |n: u64| n << 32;
    let count = 2 * BLOCK_CLASSES as u64 + 10;
    let regions = (0..count).map(|n| Region::new("far", far(n), code.clone()));
    let mut cache = cache(regions, DEFAULT);
    let mut most = 0;
    for n in (0..count).chain((0..count).rev()) {
        let block = *cache.block(pc(Isa::A64, far(n))).unwrap();
        assert_eq!((block.start, block.instructions), (far(n), 2));
        most = most.max(cache.len());
    }
    assert_eq!(most, BLOCK_CLASSES);
}

/// A block that is too long for the table is still returned.
#[test]
fn long_blocks_are_not_cached() {
    for (nops, cached) in [(126, true), (127, false), (1500, false)] {
        let mut code = vec![NOP; nops];
        code.push(RET);
        // Straight code from address 0 is divided after 1024 instructions; from here, after 1535.
        let start = 4;
        let mut cache = cache([Region::new("code", start, words(&code))], DEFAULT);
        for _ in 0..2 {
            let block = *cache.block(pc(Isa::A64, start)).unwrap();
            assert_eq!(
                row(&block),
                (4 * nops as u32 + 4, nops as u32 + 1, Kind::Indirect, End::Waypoint)
            );
        }
        assert_eq!(cache.enter(pc(Isa::A64, start), None) != BlockId::NONE, cached, "{nops}");
    }
}

/// Overlays without Context IDs: 16 KB of memory with four aliases, because bits \[15:14] of the
/// address are not decoded, and each overlay is linked to another alias. (IHI 0014, 9.1.1)
#[test]
fn overlays_at_aliases() {
    const SIZE: usize = 16 << 10;
    let alias = |n: u64| 0x3000_0000 | n << 14;
    let overlay = |n: u64| {
        let mut code = vec![NOP; SIZE / 4];
        code[n as usize] = RET;
        Region::new(["root", "one", "two", "three"][n as usize], alias(n), words(&code))
    };
    let image = Image::new((0..4).map(overlay));
    let view = image.view(ANY);
    let mut cache = Cache::new(Arc::new(image.clone()), NO_WAYPOINTS, DEFAULT);
    for n in (0..4).chain((0..4).rev()) {
        // The same word of memory in another program.
        let block = *cache.block(pc(Isa::A64, alias(n))).unwrap();
        assert_eq!((block.start, block.instructions), (alias(n), n as u32 + 1));
        let last = image.region(view, alias(n) + SIZE as u64 - 1).unwrap();
        assert_eq!(last.start(), alias(n));
    }

    // What is not overlaid is the same through all of them, and its bytes are there once.
    let shared: Bytes = words(&[NOP, ISB, RET]).into();
    let regions = (0..4).map(|n| Region::new("shared", alias(n), shared.clone()));
    let image = Image::new(regions);
    let mut cache = Cache::new(Arc::new(image.clone()), NO_WAYPOINTS, DEFAULT);
    for n in 0..4 {
        let run = image.run(image.view(ANY), alias(n));
        assert_eq!(run.as_ptr(), shared.as_ptr());
        let block = *cache.block(pc(Isa::A64, alias(n))).unwrap();
        assert_eq!((block.start, block.instructions), (alias(n), 3));
    }
}

/// A loop of branches over more code than the cache may hold.
#[test]
fn a_warm_cache_does_not_allocate() {
    let code = words(&[RET; 4096]);
    let options = CacheOptions { blocks: 1000, ..DEFAULT };
    let mut cache = cache([Region::new("code", 0, code)], options);
    let mut walk = || {
        for address in (0..4096 * 4).step_by(4) {
            assert!(cache.block(pc(Isa::A64, address)).is_ok());
            assert!(cache.instruction(pc(Isa::A64, address)).is_ok());
            assert!(cache.block(pc(Isa::A64, 1 << 40)).is_err());
        }
    };
    let cold = allocation_counter::measure(&mut walk);
    let warm = allocation_counter::measure(&mut walk);
    assert!(cold.count_total > 0);
    assert_eq!(warm.count_total, 0);
}
