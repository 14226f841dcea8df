//! What bytes make a decoder do.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tracewright::base::{BatchBuffer, CachedBlocks, OffsetMap, Piece, Turns};
use tracewright::capture::{self, Buffer, BufferRef, Capture};
use tracewright::decode::{Fork, Listener, Memory, Plan, Planned};
use tracewright::frames::Framing;
use tracewright::image::{Cache, CacheOptions, Image};
use tracewright::protocols::Observer;
use tracewright::protocols::registry::AnyConfig;
use tracewright::views::{Source, json, text};
use tracewright::{Element, Sink};
use tracewright_testing::processor_time;

/// The work and the output of a decoder.
#[derive(Clone, Copy, Debug, Default)]
pub struct Work {
    /// Without those of turns of counted loops that a listing does not have: they are no work.
    pub instructions: u64,
    pub elements: u64,
    /// Bytes of the listing of `decode`.
    pub text: u64,
    /// Bytes of the listing in JSON.
    pub json: u64,
    pub time: Duration,
}

/// Elements above this number are taken to be as long as those before.
const MAX_LISTED: u64 = 1 << 14;

/// The time for which decoding is repeated. The system reports times to a few milliseconds.
const MIN_TIME: Duration = Duration::from_millis(40);

/// Counts elements and instructions.
#[derive(Default)]
struct Count(Work);

impl Sink for Count {
    fn element(&mut self, _: u64, element: Element) {
        self.0.elements += 1;
        if let Element::Range(range) = element {
            self.0.instructions += u64::from(range.instructions);
        }
    }

    fn turns(&mut self, turns: Turns<'_>) {
        if !turns.listed {
            // A line for all of them.
            self.0.elements += 1;
            return;
        }
        for range in (0..turns.times).flat_map(|_| turns.ranges) {
            self.element(turns.at, Element::Range(*range));
        }
    }
}

impl Observer for Count {}

/// Lists elements.
struct Listed<L> {
    listing: L,
    left: u64,
}

impl<L: Listener> Sink for Listed<L> {
    fn element(&mut self, at: u64, element: Element) {
        if self.left > 0 {
            self.left -= 1;
            self.listing.element(0, at, element);
        }
    }

    fn turns(&mut self, turns: Turns<'_>) {
        if turns.listed {
            for range in (0..turns.times).flat_map(|_| turns.ranges) {
                self.element(turns.at, Element::Range(*range));
            }
        } else if self.left > 0 {
            self.left -= 1;
            let mut buffer = BatchBuffer::default();
            buffer.turns(turns);
            self.listing.batch(&buffer.batch(0, CachedBlocks::none()));
        }
    }
}

impl<L: Listener> Observer for Listed<L> {}

/// Decodes bytes with a program. `listed`: the length of the listings is measured, too. `timed`:
/// the time is measured.
pub fn measure(
    config: &AnyConfig,
    image: &Arc<Image>,
    bytes: &[u8],
    listed: bool,
    timed: bool,
) -> Work {
    let mut count = Count::default();
    decode(config, image, bytes, &mut count);
    let mut work = count.0;
    if timed {
        work.time = time(|| decode(config, image, bytes, &mut Count::default()));
    }
    if !listed || work.elements == 0 {
        return work;
    }
    let (plan, sources) = plan(config);
    let whole = |len: u64| {
        let shown = work.elements.min(MAX_LISTED);
        (u128::from(len) * u128::from(work.elements) / u128::from(shown)) as u64
    };
    let shown = text::Shown { elements: true, ..Default::default() };
    let listing = text::Listing::new(Vec::new(), sources.clone(), None, shown);
    let text = whole(list(config, image, bytes, listing));
    let shown = json::Shown { packets: false, elements: true, fields: false };
    let listing = json::Listing::new(Vec::new(), &plan, sources, "trace", None, shown);
    Work { text, json: whole(list(config, image, bytes, listing)), ..work }
}

/// The average time of many runs of `decode`.
fn time(mut decode: impl FnMut()) -> Duration {
    let begin = Instant::now();
    let now = || processor_time().unwrap_or_else(|| begin.elapsed());
    let start = now();
    let mut runs = 0;
    loop {
        decode();
        runs += 1;
        let time = now().saturating_sub(start);
        if time > MIN_TIME {
            return time / runs;
        }
    }
}

/// The length of a listing of at most [`MAX_LISTED`] elements.
fn list<L>(config: &AnyConfig, image: &Arc<Image>, bytes: &[u8], mut listing: L) -> u64
where
    L: Listener + Fork<Output = Vec<u8>>,
{
    // What comes before the first element does not count.
    listing.take();
    let mut listed = Listed { listing, left: MAX_LISTED };
    decode(config, image, bytes, &mut listed);
    listed.listing.take().len() as u64
}

fn decode<O: Observer>(config: &AnyConfig, image: &Arc<Image>, bytes: &[u8], observer: &mut O) {
    let mut stream = config.stream();
    let options = CacheOptions { riscv: config.riscv(), ..CacheOptions::default() };
    let mut cache = Cache::new(Arc::clone(image), config.waypoints(), options);
    let pieces = [Piece { start: 0, at: 0, fragment: true }];
    let offsets = OffsetMap::new(&pieces);
    let (offsets, units) = if stream.nibbles() {
        let units = bytes.iter().flat_map(|byte| [byte & 0xf, byte >> 4]).collect();
        (offsets.of_nibbles(), units)
    } else {
        (offsets, bytes.to_vec())
    };
    let taken = stream.feed(&units, &offsets, &mut cache, observer);
    stream.finish(&units[taken..], &offsets, &mut cache, observer);
}

/// A plan for one source, and the source.
fn plan(config: &AnyConfig) -> (Plan, Vec<Source>) {
    let capture = Capture {
        buffers: vec![Buffer::new("trace", capture::Format::CoreSight, Vec::new())],
        sources: vec![capture::Source {
            name: "core".to_owned(),
            buffers: vec![BufferRef { buffer: 0, stream: None }],
            ..capture::Source::default()
        }],
        ..Capture::default()
    };
    let planned = Planned::new(0, "core".to_owned(), 0x10, config.clone());
    let plan = Plan::with_sources(0, Framing::Raw, vec![planned]);
    let sources = Source::all(&capture, &plan, &Memory::new(&capture));
    (plan, sources)
}
