//! How fast frames are taken apart and put together.
//!
//! Method: 1 MiB of link bytes, given in blocks of 64 KiB; each source's block is consumed after
//! each. `cargo bench -p tracewright-frames -- WORDS` does what has the words in its line. The best
//! of 80 rounds, after one to warm up: each is short enough to run undisturbed now and then. GB/s
//! are 10^9 link bytes a second.

use std::{hint::black_box, time::Instant};

use tracewright_frames::{Event, Framing, Joiner, Link, Sources, Split, Splitter};

const BYTES: usize = 1 << 20;
const BLOCK: usize = 64 << 10;

/// Takes everything and keeps nothing but a sum.
#[derive(Default)]
struct Count(u64);

impl Split for Count {
    fn piece(&mut self, id: u16, at: u64, _fragment: bool, bytes: &[u8]) {
        let first = bytes.first().copied().unwrap_or_default();
        self.0 = self.0.wrapping_add(at ^ u64::from(id ^ u16::from(first)) ^ bytes.len() as u64);
    }

    fn event(&mut self, at: u64, _event: Event) {
        self.0 ^= at;
    }
}

/// Bytes of `ids` sources that take turns every `run` bytes.
fn link(framing: Framing, ids: u8, run: usize) -> Vec<u8> {
    let mut joiner = Joiner::new(framing);
    let (mut out, mut seed, mut id) = (Vec::new(), 1u64, 0);
    while out.len() < BYTES {
        let bytes: Vec<u8> = (0..run)
            .map(|_| {
                seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                (seed >> 33) as u8
            })
            .collect();
        joiner.push(0x10 + id, &bytes, &mut out).expect("a source's id");
        id = (id + 1) % ids;
    }
    joiner.finish(&mut out);
    out
}

/// Times `round` of `bytes`, if the line is asked for, and prints it.
fn time(asked: &Option<String>, line: &str, bytes: usize, frames: usize, mut round: impl FnMut()) {
    if asked.as_ref().is_some_and(|words| !line.contains(words.as_str())) {
        return;
    }
    round();
    let time = |_| {
        let start = Instant::now();
        round();
        start.elapsed().as_secs_f64()
    };
    let best = (0..80).map(time).fold(f64::INFINITY, f64::min);
    let (gb, ns) = (bytes as f64 / best / 1e9, best * 1e9 / frames as f64);
    println!("{line:58} {gb:8.2} {ns:10.2}");
}

fn main() {
    let asked = std::env::args().skip(1).find(|word| !word.starts_with("--"));
    println!("{:58} {:>8} {:>10}", "", "GB/s", "ns/frame");
    for (name, framing, ids, run) in [
        ("coresight, one source", Framing::Coresight, 1, 4096),
        ("coresight, 2 sources, 60 bytes a turn", Framing::Coresight, 2, 60),
        ("coresight, 4 sources, 7 bytes a turn", Framing::Coresight, 4, 7),
        ("tpiu, one source, a sync each 64 frames", Framing::Tpiu, 1, 4096),
        ("tpiu-half, the same, a half sync each 13 pairs", Framing::TpiuHalf, 1, 4096),
        ("dstream, the same", Framing::Dstream, 1, 4096),
    ] {
        let bytes = link(framing, ids, run);
        let (len, frames) = (bytes.len(), bytes.len() / 16);
        let mut sources = Sources::default();
        time(&asked, &format!("{name}: into blocks"), len, frames, || {
            let mut splitter = Splitter::new(Link::new(framing));
            for (k, block) in bytes.chunks(BLOCK).enumerate() {
                splitter.split((k * BLOCK) as u64, block, &mut sources);
                for source in sources.iter_mut() {
                    black_box(source.bytes());
                    source.consume(usize::MAX);
                }
                sources.clear_events();
            }
        });
        time(&asked, &format!("{name}: passed on"), len, frames, || {
            let (mut splitter, mut count) = (Splitter::new(Link::new(framing)), Count::default());
            splitter.split(0, &bytes, &mut count);
            black_box(count.0);
        });
        time(&asked, &format!("{name}: skipped"), len, frames, || {
            let mut splitter = Splitter::new(Link::new(framing));
            splitter.skip(0, &bytes);
            black_box(splitter.id());
        });
    }

    let data = vec![0x5a; BYTES];
    let mut out = Vec::with_capacity(2 * BYTES);
    time(&asked, "join coresight, one source", BYTES, BYTES.div_ceil(15), || {
        out.clear();
        let mut joiner = Joiner::new(Framing::Coresight);
        joiner.push(0x10, &data, &mut out).expect("a source's id");
        joiner.finish(&mut out);
        black_box(out.len());
    });
}
