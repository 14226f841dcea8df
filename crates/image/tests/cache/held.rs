//! The numbers of blocks stay valid as long as they are held.

use std::sync::Arc;

use tracewright_base::{BlockCache, BlockId, Code, Context, Isa, Numbering};
use tracewright_image::{
    AddressSpaces, Cache, CacheOptions, Change, ContextKey, Host, Region, Thread, Viewpoint,
};
use tracewright_testing::Random;

use super::{ANY, DEFAULT, NO_WAYPOINTS, RET, cache, pc, words};

/// They do where the cache grows or is full, too, and the results are those of any other cache.
#[test]
fn numbers_that_are_held_stay_valid() {
    for (blocks, words_of_code, explored) in [
        (1 << 17, 100_000, usize::MAX),
        // Pieces of code are divided at once.
        (1 << 17, 100_000, 1 << 15),
        (1 << 16, 1000, usize::MAX),
        (700, 1000, usize::MAX),
    ] {
        let region = Region::new("code", 0, words(&vec![RET; words_of_code as usize]));
        let mut cache = cache([region], CacheOptions { blocks, explored, ..DEFAULT });
        let code_space = cache.code_space(Isa::A64, ANY);
        let (mut random, mut cleared, mut sorted) = (Random::new(3), 0, 0);
        for _ in 0..6 {
            let before = cache.len();
            cache.hold_numbers(true);
            let mut numbers = Vec::new();
            for _ in 0..words_of_code.min(25_000) * 3 / 2 {
                let address = 4 * random.below(words_of_code);
                let id = match random.below(2) {
                    0 => cache.enter(pc(Isa::A64, address), None),
                    _ => {
                        assert_eq!(cache.block(pc(Isa::A64, address)).unwrap().start, address);
                        cache.find(address, code_space)
                    }
                };
                if id != BlockId::NONE {
                    numbers.push((id, address));
                }
            }
            for (id, address) in &numbers {
                assert_eq!(cache.cached_block(*id).map(|block| block.start), Some(*address));
                assert_eq!(cache.find(*address, code_space), *id);
            }
            assert!(cache.len() >= before && cache.len() <= blocks, "{}", cache.len());
            let full = cache.len() == blocks;
            let numbering = cache.blocks().numbering().map(Numbering::downgrade).unwrap();
            cache.hold_numbers(false);
            cleared += u32::from(cache.is_empty());
            assert_eq!(full, cache.is_empty());
            // Where blocks are removed or sorted, they have another numbering, and else the same.
            let same = cache.blocks().numbering().is_some_and(|now| now.is(&numbering));
            let moved = numbers.iter().any(|(id, address)| cache.find(*address, code_space) != *id);
            assert_eq!(moved, !same);
            sorted += u32::from(moved && !full);
        }
        assert_eq!((cleared > 0, sorted > 0), (blocks < 1000, words_of_code > 1 << 15));
    }
}

/// More memories in turn than the cache has at once: each has its own instructions, and where
/// numbers stay valid, they do so over all of them.
#[test]
fn many_memories_in_one_cache() {
    const THREADS: u32 = 2500;
    let mut spaces = AddressSpaces::default();
    for thread in 1..=THREADS {
        // A branch to an address of the thread's own.
        let code = words(&[0x1400_0000 + thread]);
        spaces.change(Some(thread), 0, Change::Load(vec![Region::new("code", 0x1000, code)]));
        spaces.add_thread(0, Thread { id: thread, process: thread, name: None });
    }
    let viewpoint = Viewpoint {
        spaces: Arc::new(spaces),
        key: ContextKey::ContextId,
        host: Host::Any,
        thread: None,
        moment: 1,
        clock: None,
    };
    let mut cache = Cache::of_viewpoint(viewpoint, NO_WAYPOINTS, DEFAULT);
    for hold in [true, false, true] {
        cache.hold_numbers(hold);
        let mut numbers = Vec::new();
        for thread in (1..=THREADS).chain((1..=THREADS).rev()) {
            cache.enter_context(&Context { context_id: Some(thread), ..Context::default() });
            let pc = pc(Isa::A64, 0x1000);
            let target = Some(0x1000 + 4 * u64::from(thread));
            assert_eq!(cache.block(pc).unwrap().last.target, target);
            numbers.push((cache.enter(pc, None), target));
        }
        // There are more memories than classes of blocks.
        numbers.retain(|(id, _)| hold && *id != BlockId::NONE);
        assert_eq!(hold, numbers.len() > 2000);
        for (id, target) in &numbers {
            assert_eq!(cache.cached_block(*id).and_then(|block| block.last.target), *target);
        }
        cache.hold_numbers(false);
    }
}
