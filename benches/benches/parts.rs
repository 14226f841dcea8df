//! Benchmarks of single parts: formatter frames, packets, atoms by protocol, blocks of code, sinks,
//! listings.
//!
//! Method: criterion, wall clock time. Throughput is in bytes of input, or in elements where the
//! name of the benchmark has the unit. Inputs are the workloads of this package. Benchmarks of
//! other captures are skipped if the capture is absent.

use std::hint::black_box;
use std::path::PathBuf;

use benches::{Workload, capture, trace, unit};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use tracewright::base::{
    Code, Counted, Element, Instruction, Isa, Last, Parse, Pc, Range, Space, Waypoints, Wire,
};
use tracewright::decode::{Memory, Options, Plan, Session};
use tracewright::frames::{Event, Framing, Joiner, Link, Split, Splitter};
use tracewright::image::{Cache, CacheOptions};
use tracewright::opencsd;
use tracewright::protocols::etmv4;
use tracewright::views::sinks::{Bitmap, Checksum, Count, Coverage, Edges};
use tracewright::views::{Source, json, text};
use tracewright::{Capture, Listener};

const BYTES: usize = 1 << 18;

/// Counts and reads the bytes in frames.
struct Pieces(usize);

impl Split for Pieces {
    fn piece(&mut self, _: u16, _: u64, _: bool, bytes: &[u8]) {
        self.0 += black_box(bytes).len();
    }

    fn event(&mut self, _: u64, _: Event) {}
}

fn frames(c: &mut Criterion) {
    let mut group = c.benchmark_group("frames");
    for (name, ids) in [("one source", 1u8), ("four sources interleaved", 4)] {
        let mut link = Vec::new();
        let mut joiner = Joiner::new(Framing::Coresight);
        for (n, chunk) in vec![0x5a; BYTES].chunks(40).enumerate() {
            joiner.push(0x10 + n as u8 % ids, chunk, &mut link).unwrap();
        }
        joiner.finish(&mut link);
        group.throughput(Throughput::Bytes(link.len() as u64));
        group.bench_function(name, |b| {
            b.iter(|| {
                let mut pieces = Pieces(0);
                Splitter::new(Link::new(Framing::Coresight)).split(
                    0,
                    black_box(&link),
                    &mut pieces,
                );
                pieces.0
            });
        });
    }
    group.finish();
}

fn packets(c: &mut Criterion) {
    let register = |name: &str| unit::REGISTERS.iter().find(|r| r.0 == name).map(|r| r.1);
    let config = etmv4::Config::etmv4(None, &register).unwrap();
    let mut group = c.benchmark_group("packets of ETMv4");
    for workload in Workload::ALL {
        let bytes = trace(&workload.program(), capture::SEED, BYTES).unwrap().bytes;
        group.throughput(Throughput::Bytes(bytes.len() as u64));
        group.bench_function(workload.name(), |b| {
            b.iter(|| {
                let (mut at, mut count) = (0, 0);
                while let Some(rest) = bytes.get(at..).filter(|rest| !rest.is_empty()) {
                    match etmv4::Packet::parse(black_box(rest), &config) {
                        Parse::Packet(packet, len) => {
                            black_box(packet);
                            at += len;
                        }
                        Parse::Bad(len, _) => at += len,
                        Parse::Partial => break,
                    }
                    count += 1;
                }
                count
            });
        });
    }
    group.finish();
}

/// A capture with its plan and memory.
struct Ready {
    capture: Capture,
    options: Options,
    plan: Plan,
    memory: Memory,
}

impl Ready {
    fn of(capture: Capture) -> Self {
        let options = Options::default();
        let plan = Plan::new(&capture, 0, &options).unwrap();
        let memory = Memory::new(&capture);
        Ready { capture, options, plan, memory }
    }

    fn decode<L: Listener>(&self, mut listener: L) -> L {
        Session::new(&self.capture, &self.plan, &self.memory, &self.options)
            .unwrap()
            .run(self.capture.buffers[0].parts(), &mut listener);
        listener
    }

    fn sources(&self) -> Vec<Source> {
        Source::all(&self.capture, &self.plan, &self.memory)
    }
}

/// A capture of the conformance tests, repeated up to 1 MB.
fn captured(name: &str) -> Option<Ready> {
    let beside = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared"));
    let shared = std::env::var_os("TRACEWRIGHT_SHARED").map_or(beside, PathBuf::from);
    let path = shared.join("conformance/arm/snapshots").join(name);
    let capture = capture::repeated(&path, 1 << 20).ok();
    if capture.is_none() {
        eprintln!("skipped: {name}: it is not in {}", shared.display());
    }
    capture.map(Ready::of)
}

fn decoding(c: &mut Criterion) {
    let mut group = c.benchmark_group("decode, ranges");
    group.sample_size(20);
    let made = Workload::ALL.into_iter().map(|workload| {
        let name = format!("ETMv4 {}", workload.name());
        (name, capture::made(workload, BYTES).map(Ready::of))
    });
    let real = [
        ("ETMv4", "trace_file_vmid"),
        ("ETE", "ete_mem"),
        ("PTM", "tc2-ptm-rstk-t32"),
        ("ETMv3 and PTM", "TC2"),
    ];
    let real = real.map(|(protocol, name)| (format!("{protocol} {name}"), captured(name)));
    for (name, ready) in made.chain(real) {
        let Some(ready) = ready else { continue };
        group.throughput(Throughput::Elements(ready.decode(Count::default()).ranges));
        group.bench_function(name, |b| b.iter(|| ready.decode(Checksum::default())));
    }
    group.finish();
}

fn blocks(c: &mut Criterion) {
    let mut group = c.benchmark_group("blocks of code");
    for workload in [Workload::Branchy, Workload::Large] {
        let ready = Ready::of(capture::made(workload, 1 << 10).unwrap());
        let image = ready.sources()[0].image.clone();
        let program = workload.program();
        let pcs: Vec<Pc> = (0..4096)
            .map(|n| Pc {
                address: program.at(n * 1663 % program.ops.len()),
                isa: Isa::A64,
                space: Space::default(),
            })
            .collect();
        group.throughput(Throughput::Elements(pcs.len() as u64));
        let cache = || Cache::new(image.clone(), Waypoints::default(), CacheOptions::default());
        let mut warm = cache();
        let name = workload.name();
        group.bench_function(format!("{name}, walked before"), |b| {
            b.iter(|| pcs.iter().filter(|&&pc| black_box(warm.block(pc)).is_ok()).count());
        });
        group.bench_function(format!("{name}, walked anew"), |b| {
            b.iter_batched_ref(
                cache,
                |cold| pcs.iter().filter(|&&pc| black_box(cold.block(pc)).is_ok()).count(),
                criterion::BatchSize::LargeInput,
            );
        });
    }
    group.finish();
}

/// Ranges of a program with the given number of blocks.
fn ranges(blocks: u64) -> Vec<Element> {
    let last = |taken| Last::new(&Instruction { size: 4, ..Instruction::default() }, taken);
    let range = |n: u64| {
        let (start, instructions) =
            (0x8000 + n * 7919 % blocks * 16, 1 + (n * 7919 % blocks % 4) as u32);
        let (bytes, cycles) = (4 * instructions, Counted::UNKNOWN);
        Element::Range(Range {
            start,
            bytes,
            instructions,
            cycles,
            last: last(!n.is_multiple_of(3)),
        })
    };
    (0..10_000).map(range).collect()
}

fn fed<L: Listener>(elements: &[Element], mut listener: L) -> L {
    for (at, element) in elements.iter().enumerate() {
        listener.element(0, at as u64 / 3, *black_box(element));
    }
    listener
}

fn sinks(c: &mut Criterion) {
    let elements = ranges(1600);
    let mut group = c.benchmark_group("sinks, ranges");
    group.throughput(Throughput::Elements(elements.len() as u64));
    group.bench_function("checksum", |b| b.iter(|| fed(&elements, Checksum::default())));
    group.bench_function("count", |b| b.iter(|| fed(&elements, Count::default())));
    group.bench_function("edges", |b| b.iter(|| fed(&elements, Edges::default())));
    group.bench_function("coverage", |b| b.iter(|| fed(&elements, Coverage::default())));
    group.bench_function("bitmap", |b| b.iter(|| fed(&elements, Bitmap::default())));
    group.finish();
}

fn listings(c: &mut Criterion) {
    let ready = Ready::of(capture::made(Workload::Calls, 1 << 12).unwrap());
    let (plan, sources) = (&ready.plan, ready.sources());
    let mut group = c.benchmark_group("listings, ranges");
    for (name, elements) in [
        // A thousand ranges, which repeat.
        ("cached", ranges(500)),
        // Each range is different: no cached text applies.
        ("anew", {
            let mut elements = ranges(500);
            for (n, element) in elements.iter_mut().enumerate() {
                if let Element::Range(range) = element {
                    range.start += n as u64 * 0x1_0000;
                }
            }
            elements
        }),
    ] {
        group.throughput(Throughput::Elements(elements.len() as u64));
        group.bench_function(format!("text, {name}"), |b| {
            let shown = text::Shown { elements: true, ..Default::default() };
            b.iter(|| {
                let listing =
                    text::Listing::new(std::io::sink(), sources.clone(), Some(1 << 20), shown);
                fed(&elements, listing).finish()
            });
        });
        group.bench_function(format!("json, {name}"), |b| {
            let shown = json::Shown { elements: true, ..json::Shown::default() };
            b.iter(|| {
                let out = std::io::sink();
                let listing = json::Listing::new(out, plan, sources.clone(), "b", Some(0), shown);
                fed(&elements, listing).finish(&Default::default(), None)
            });
        });
        group.bench_function(format!("opencsd, {name}"), |b| {
            let shown = opencsd::Shown { elements: true, ..Default::default() };
            b.iter(|| {
                let listing = opencsd::Listing::new(std::io::sink(), plan, shown, false);
                fed(&elements, listing).finish()
            });
        });
    }
    group.finish();
}

criterion_group!(parts, frames, packets, decoding, blocks, sinks, listings);
criterion_main!(parts);
