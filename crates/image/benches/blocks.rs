//! Nanoseconds for each block: a loop, code larger than the processor's caches, and code that is
//! decoded again.

use std::hint::black_box;
use std::sync::Arc;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use tracewright_base::{Block, Code, Isa, Pc, Space, Waypoints};
use tracewright_image::{Cache, CacheOptions, Image, Region};

const NOP: u32 = 0xd503_201f;

/// `count` blocks of three instructions; block `k` ends in `B.NE` to block `target(k)`.
fn image(count: usize, mut target: impl FnMut(usize) -> usize) -> Arc<Image> {
    let code = (0..count).flat_map(|k| {
        let words = target(k) as i64 * 3 - (k as i64 * 3 + 2);
        [NOP, NOP, 0x5400_0001 | (words as u32 & 0x7_ffff) << 5]
    });
    let bytes: Vec<u8> = code.flat_map(u32::to_le_bytes).collect();
    Arc::new(Image::new([Region::new("code", 0x8000, bytes)]))
}

fn cache(image: &Arc<Image>) -> Cache {
    Cache::new(Arc::clone(image), Waypoints::default(), CacheOptions::default())
}

/// Follows `count` atoms from the start; `taken` returns each.
fn follow(cache: &mut Cache, count: usize, mut taken: impl FnMut() -> bool) -> u64 {
    let mut at = Pc { address: 0x8000, isa: Isa::A64, space: Space::default() };
    let mut instructions = 0;
    for _ in 0..count {
        let Ok(block) = cache.block(at) else {
            at.address = 0x8000;
            continue;
        };
        instructions += u64::from(block.instructions);
        at.address = next(block, taken());
    }
    instructions
}

fn next(block: &Block, taken: bool) -> u64 {
    match block.last.target {
        Some(target) if taken => target,
        _ => block.next(),
    }
}

fn random(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

const ATOMS: usize = 100_000;

fn blocks(c: &mut Criterion) {
    let mut group = c.benchmark_group("block");
    group.throughput(Throughput::Elements(ATOMS as u64));

    let round = image(8, |k| (k + 1) % 8);
    let mut warm = cache(&round);
    group.bench_function("a loop of 8 blocks", |b| {
        b.iter(|| black_box(follow(&mut warm, ATOMS, || true)));
    });

    // Each block has two successors; the branch goes to a random block.
    for (name, count) in [("1 000 blocks", 1_000), ("60 000 blocks", 60_000)] {
        let mut seed = 1;
        let maze = image(count, |_| random(&mut seed) as usize % count);
        let mut warm = cache(&maze);
        let mut seed = 2;
        follow(&mut warm, 40 * count, || random(&mut seed) & 1 != 0);
        group.bench_function(format!("random paths through {name}"), |b| {
            b.iter(|| black_box(follow(&mut warm, ATOMS, || random(&mut seed) & 1 != 0)));
        });
    }

    // More blocks than are cached: most must be decoded again.
    let mut seed = 1;
    let maze = image(170_000, |k| (k + random(&mut seed) as usize % 1000) % 170_000);
    let mut small = cache(&maze);
    let mut seed = 3;
    group.bench_function("more blocks than are cached", |b| {
        b.iter(|| black_box(follow(&mut small, ATOMS, || random(&mut seed) & 1 != 0)));
    });

    let mut instructions = cache(&round);
    group.bench_function("single instructions of a loop", |b| {
        b.iter(|| {
            let mut at = Pc { address: 0x8000, isa: Isa::A64, space: Space::default() };
            for _ in 0..ATOMS {
                let Ok(i) = instructions.instruction(at) else { break };
                at.address = i.target.unwrap_or(at.address + u64::from(i.size));
            }
            black_box(at)
        });
    });
    group.finish();
}

criterion_group!(benches, blocks);
criterion_main!(benches);
