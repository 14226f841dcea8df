//! Blocks and their successors stay valid while the cache grows, in place or in another order.

use std::sync::Weak;

use tracewright_base::{BlockCache, BlockId, Code, Isa, Numbering};
use tracewright_image::{Cache, CacheOptions, Region};

use super::{ANY, B_8, DEFAULT, RET, assert_successors, cache, pc, words};

const LARGE: CacheOptions = CacheOptions { blocks: 1 << 17, ..DEFAULT };

fn numbering(cache: &Cache) -> Option<Weak<()>> {
    cache.blocks().numbering().map(Numbering::downgrade)
}

/// Whether the numbers of blocks are those of `known`.
fn has(cache: &Cache, known: Option<&Weak<()>>) -> bool {
    cache.blocks().numbering().zip(known).is_some_and(|(numbering, known)| numbering.is(known))
}

/// A program of jumps, each over the next one. The blocks are cached from the middle outwards.
/// Each successor is recorded and stays correct, in a small cache, whose numbers stay valid, and in
/// a large one, which sorts its blocks: only the block before one with which it does so has none.
#[test]
fn successors_are_preserved_when_the_cache_grows() {
    for (blocks, sorted) in [(1000u64, 0), (70_000, 1 << 16)] {
        let code = words(&vec![B_8; blocks as usize + 2]);
        let mut cache = cache([Region::new("code", 0, code)], LARGE);
        let code_space = cache.code_space(Isa::A64, ANY);
        let middle_out = (0..blocks).map(|n| {
            let half = n.div_ceil(2);
            4 * if n % 2 == 0 { blocks / 2 + half } else { blocks / 2 - half }
        });
        let (mut renumbered, mut first) = (0, None);
        for address in middle_out {
            cache.block(pc(Isa::A64, address)).unwrap();
            let known = numbering(&cache);
            let from = cache.find(address, code_space);
            assert_ne!(from, BlockId::NONE);
            cache.enter(pc(Isa::A64, address + 8), Some((from, true)));
            if has(&cache, known.as_ref()) {
                assert_eq!(cache.find(address, code_space), from);
                let [not, taken] = cache.blocks().successors()[from.index()];
                let (to, class) = cache.blocks().get(taken).unwrap();
                assert_eq!((not, to.start(class)), (BlockId::NONE, address + 8));
            } else {
                renumbered += 1;
            }
            first = first.or(known);
        }
        let mut linked = 0;
        for at in (0..4 * blocks).step_by(4) {
            let id = cache.find(at, code_space);
            let (cached, class) = cache.blocks().get(id).unwrap();
            assert_eq!(cached.range(class, true).end(), at + 4);
            if let Some((to, class)) = cache.blocks().get(cache.blocks().next(id, true)) {
                assert_eq!(to.start(class), at + 8);
                linked += 1;
            }
        }
        assert_successors(&cache);
        assert!(linked >= blocks - renumbered && renumbered <= 2, "{linked} {renumbered}");
        assert_eq!(has(&cache, first.as_ref()), sorted == 0);
        let starts: Vec<u64> = (0..cache.len())
            .map(|index| cache.blocks().get(BlockId::new(index)).unwrap())
            .map(|(cached, class)| cached.start(class))
            .collect();
        assert!(starts[..sorted].is_sorted(), "all but the last ones are in order");
    }
}

/// Blocks are not moved before a cache holds many, and more than were expected.
#[test]
fn expected_blocks_are_not_sorted() {
    for (expected, blocks, sorted) in
        [(0, 1000u64, false), (0, 40_000, true), (40_000, 40_000, false)]
    {
        let region = Region::new("code", 0, words(&vec![RET; blocks as usize + 1]));
        let mut cache = cache([region], LARGE);
        cache.reserve(expected);
        let code_space = cache.code_space(Isa::A64, ANY);
        let mut first = None;
        for n in (1..=blocks).rev() {
            cache.block(pc(Isa::A64, 4 * n)).unwrap();
            first = first.or_else(|| numbering(&cache));
        }
        let ids = |cache: &Cache| {
            let addresses = (1..=blocks).rev().map(|n| 4 * n);
            let ids = addresses.map(|address| cache.find(address, code_space).index());
            ids.collect::<Vec<_>>()
        };
        let is_first = |cache: &Cache| ids(cache).iter().copied().eq(0..blocks as usize);
        assert_eq!((is_first(&cache), has(&cache, first.as_ref())), (!sorted, !sorted));
        cache.block(pc(Isa::A64, 0)).unwrap();
        if expected > 0 {
            assert!(ids(&cache).iter().rev().is_sorted(), "sorted when it grows");
            assert!(!has(&cache, first.as_ref()));
        }
    }
}
