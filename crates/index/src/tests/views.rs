//! Views, compared with sums over all frames and all runs of a decoding of the whole trace.

use std::collections::{BTreeMap, BTreeSet};

use tracewright_analysis::Transfers;
use tracewright_analysis::stacks::{
    Begin, Ending, Entry, FunctionId, Position, SavedFrame, Stacks, Time, Visitor,
};
use tracewright_base::{Batch, Element};
use tracewright_decode::{Fork, Listener, Plan};

use tracewright_testing::{Random, times};

use super::{Case, captures, making, shared};
use crate::bytes::Reader;
use crate::chain::Shape;
use crate::format::Section;
use crate::halves::{Half, join};
use crate::index::{Index, IndexedBuffer};
use crate::key::{Key, Kind};
use crate::tiles::builder::Program;
use crate::tiles::granule::{read_lengths, read_sums};
use crate::view::{
    COUNTS, FunctionSums, GRANULE_TILES, MOST_ROWS, Names, Player, Series, Tile, TilePart, TileRow,
    ValueSums, View, ViewFrame, length_class,
};
use crate::writer::Making;

mod numbers;

use numbers::by_source;

/// A run of instructions with the whole stack beneath it, or another event of a thread.
#[derive(Clone, Debug)]
struct Event {
    tile: u64,
    source: usize,
    thread: usize,
    what: What,
}

#[derive(Clone, Debug)]
enum What {
    /// Depths and functions of all open frames, and of each whether it has no other frame of the
    /// function beneath it.
    Run {
        instructions: u64,
        stack: Vec<(i32, u32, bool)>,
    },
    Begin {
        function: u32,
        is_call: bool,
    },
    End {
        function: u32,
        whole: Option<u64>,
        at: u64,
    },
}

/// A frame of the whole trace.
#[derive(Clone, Debug)]
struct Frame {
    frame: ViewFrame,
    source: usize,
    tiles: (u64, u64),
    /// The tile in which it was found.
    found: u64,
}

/// Records everything.
#[derive(Default)]
struct Record {
    sources: usize,
    tile: u64,
    end: u64,
    functions: Vec<FunctionId>,
    /// The source of each thread.
    threads: Vec<usize>,
    stacks: BTreeMap<usize, Vec<usize>>,
    beneath: BTreeMap<usize, i32>,
    first: BTreeMap<usize, (u64, u64)>,
    frames: Vec<Frame>,
    executed: BTreeMap<usize, u64>,
    times: BTreeMap<usize, u64>,
    /// By source: the instructions before the last count of cycles. By source and tile: cycles, and
    /// their instructions.
    counted: BTreeMap<usize, u64>,
    cycles: BTreeMap<(usize, u64), (u64, u64)>,
    events: Vec<Event>,
}

impl Record {
    fn function(&mut self, begin: &Begin) -> u32 {
        let known = self.functions.iter().position(|own| *own == begin.function);
        known.unwrap_or_else(|| {
            self.functions.push(begin.function);
            self.functions.len() - 1
        }) as u32
    }

    fn event(&mut self, position: &Position, what: What) {
        let Position { source, thread, .. } = *position;
        self.events.push(Event { tile: self.tile, source, thread, what });
    }
}

impl Visitor for Record {
    type Node = ();

    fn thread(&mut self, source: usize, thread: usize, _: Option<u64>) {
        if thread == self.threads.len() {
            self.threads.push(source);
        }
    }

    fn begin(&mut self, position: &Position, (): (), begin: &Begin) {
        let function = self.function(begin);
        let beneath = self.beneath.get(&position.thread).copied().unwrap_or(0);
        let total = self.executed.get(&position.thread).copied().unwrap_or(0);
        let time = self.times.get(&position.source).copied();
        self.first.entry(position.thread).or_insert((position.at, position.instructions));
        let frame = ViewFrame {
            thread: position.thread as u32,
            function,
            depth: position.depth as i32 - beneath,
            entry: begin.entry,
            ending: Ending::TraceEnd,
            uncertain: false,
            offsets: (position.at, 0),
            instructions: (position.instructions, 0),
            times: (time, None),
            own: 0,
            total,
        };
        let n = self.frames.len();
        self.frames.push(Frame {
            frame,
            source: position.source,
            tiles: (self.tile, 0),
            found: self.tile,
        });
        self.stacks.entry(position.thread).or_default().push(n);
        self.event(position, What::Begin { function, is_call: begin.entry.is_call() });
    }

    fn end(&mut self, position: &Position, (): (), ending: Ending, uncertain: bool) {
        let n = self.stacks.get_mut(&position.thread).unwrap().pop().expect("a frame");
        let Frame { frame, tiles, .. } = &mut self.frames[n];
        tiles.1 = self.tile;
        let at = if position.at == u64::MAX { self.end } else { position.at }.max(frame.offsets.0);
        frame.offsets.1 = at;
        frame.instructions.1 = position.instructions;
        frame.times.1 = self.times.get(&position.source).copied();
        (frame.ending, frame.uncertain) = (ending, uncertain);
        frame.total = self.executed.get(&position.thread).copied().unwrap_or(0) - frame.total;
        let ended = matches!(ending, Ending::Return | Ending::Replaced | Ending::Unwound);
        let whole = (frame.entry.is_call() && ended && !uncertain).then_some(frame.total);
        let function = frame.function;
        self.event(position, What::End { function, whole, at });
    }

    fn beneath(&mut self, position: &Position, (): (), begin: &Begin) -> ((), ()) {
        let function = self.function(begin);
        let beneath = self.beneath.entry(position.thread).or_default();
        *beneath += 1;
        let depth = -*beneath;
        let (at, instructions) =
            *self.first.entry(position.thread).or_insert((position.at, position.instructions));
        let frame = ViewFrame {
            thread: position.thread as u32,
            function,
            depth,
            entry: begin.entry,
            ending: Ending::TraceEnd,
            uncertain: false,
            offsets: (at, 0),
            instructions: (instructions, 0),
            times: (None, None),
            own: 0,
            total: self.executed.get(&position.thread).copied().unwrap_or(0),
        };
        let n = self.frames.len();
        self.frames.push(Frame { frame, source: position.source, tiles: (0, 0), found: self.tile });
        self.stacks.entry(position.thread).or_default().insert(0, n);
        ((), ())
    }

    fn run(&mut self, position: &Position, (): (), instructions: u64, _: u64) {
        *self.executed.entry(position.thread).or_default() += instructions;
        let stack = self.stacks.entry(position.thread).or_default();
        if let Some(top) = stack.last() {
            self.frames[*top].frame.own += instructions;
        }
        let frames: Vec<(i32, u32)> = stack
            .iter()
            .map(|n| (self.frames[*n].frame.depth, self.frames[*n].frame.function))
            .collect();
        let outermost = |n: usize| frames[..n].iter().all(|(_, f)| *f != frames[n].1);
        let stack = (0..frames.len()).map(|n| (frames[n].0, frames[n].1, outermost(n))).collect();
        self.event(position, What::Run { instructions, stack });
    }

    fn time(&mut self, position: &Position, time: Time) {
        let own = position.source;
        if let Time::Timestamp(time) = time {
            self.times.insert(own, time);
            return;
        }
        let before = self.counted.insert(own, position.instructions);
        if let (Time::Cycles(cycles), Some(before)) = (time, before) {
            let sums = self.cycles.entry((own, self.tile)).or_default();
            *sums = (sums.0 + cycles, sums.1 + position.instructions - before);
        }
    }

    fn lost(&mut self, position: &Position) {
        self.counted.remove(&position.source);
    }
}

/// Counts of other elements by tile and source.
#[derive(Default)]
struct Others {
    tile: u64,
    found: BTreeMap<(usize, u64), ([u64; COUNTS], Vec<u64>)>,
    /// By source, tile and series: the values.
    values: BTreeMap<(usize, u64, Series), Vec<u64>>,
}

impl Listener for Others {
    fn element(&mut self, source: usize, _: u64, element: Element) {
        let tile = self.tile;
        if let Some(time) = element.ticks() {
            self.found.entry((source, tile)).or_default().1.push(time);
        }
        let value = match element {
            Element::SoftwareWrite(write) if write.bits > 0 => {
                Some((Series::Write(crate::key::channel(write.channel)), write.value()))
            }
            Element::DwtEvent(event) if event.discriminator & 0b11000 == 0b10000 => {
                let comparator = event.discriminator >> 1 & 3;
                Some((Series::Comparator(comparator), event.value.into()))
            }
            _ => None,
        };
        if let Some((series, value)) = value {
            self.values.entry((source, tile, series)).or_default().push(value);
        }
        Key::each(&element, |key| {
            let kinds = [Kind::Exception, Kind::Gap, Kind::Write, Kind::Access, Kind::Event];
            let kinds: Vec<Kind> = kinds.into_iter().chain([Kind::Dwt, Kind::Context]).collect();
            let kind = if key.kind == Kind::Trigger { Kind::Event } else { key.kind };
            if let Some(n) = kinds.iter().position(|own| *own == kind) {
                self.found.entry((source, tile)).or_default().0[n] += 1;
            }
        });
    }

    fn batch(&mut self, batch: &Batch<'_>) {
        tracewright_decode::listener::each_element(self, batch);
    }
}

/// Decodes the whole buffer, tile by tile.
fn record(case: &Case, plan: &Plan, width: u64, segment: u64) -> (Record, Others) {
    let next = |at: u64| ((at / width + 1) * width).min((at / segment + 1) * segment);
    record_by(case, plan, next, |at| at / width)
}

/// Decodes the whole buffer, each time up to `next`. What is decoded from an offset on is in
/// `tile`.
fn record_by(
    case: &Case,
    plan: &Plan,
    next: impl Fn(u64) -> u64,
    tile: impl Fn(u64) -> u64,
) -> (Record, Others) {
    let subject = case.subject();
    let code = subject.code(plan);
    let mut transfers = subject.transfers(plan, &code);
    let mut stacks = Program::of(&code, None).stacks(plan.sources.len(), Record::default());
    let mut session = subject.session(plan).expect("a session");
    let bytes = case.capture.buffers[plan.buffer].bytes();
    let mut others = Others::default();
    let mut at = 0u64;
    while at < bytes.len() as u64 {
        let next = next(at).min(bytes.len() as u64);
        (stacks.visitor.tile, others.tile) = (tile(at), tile(at));
        session.feed(&bytes[at as usize..next as usize], &mut (&mut transfers, &mut others));
        stacks.transfers(by_source(&transfers.take()));
        at = next;
        stacks.visitor.end = at;
    }
    session.finish(&mut (&mut transfers, &mut others));
    stacks.transfers(by_source(&transfers.take()));
    stacks.finish();
    (stacks.visitor, others)
}

/// A share of 255, to the nearest.
fn share(part: u64, whole: u64) -> u8 {
    (part as f64 * 255.0 / whole.max(1) as f64 + 0.5).floor() as u8
}

/// The tiles of a source by the definition.
fn tiles(record: &Record, others: &Others, names: &Names, source: usize, shift: u32) -> Vec<Tile> {
    let mut tiles = BTreeMap::<u64, Tile>::new();
    for ((_, tile), counted) in record.cycles.iter().filter(|(key, _)| key.0 == source) {
        let tile = tiles.entry(tile >> shift).or_default();
        tile.cycles = (tile.cycles.0 + counted.0, tile.cycles.1 + counted.1);
    }
    let mut values = BTreeMap::<(u64, u32), Vec<u64>>::new();
    for ((_, tile, series), found) in others.values.iter().filter(|(key, _)| key.0 == source) {
        let number = names.series().iter().position(|own| *own == (source as u16, *series));
        let number = number.expect("few series") as u32;
        values.entry((tile >> shift, number)).or_default().extend(found);
    }
    for ((tile, series), found) in values {
        let text = |value: &u64| {
            let bytes = value.to_le_bytes();
            let text = String::from_utf8_lossy(&bytes);
            let text = text.trim_end_matches('\0');
            let known = |c: char| c.is_ascii_graphic() || " \t\n\r\u{1b}".contains(c);
            !text.is_empty() && text.chars().all(known)
        };
        let sums = ValueSums {
            count: found.len() as u64,
            text: found.iter().filter(|value| text(value)).count() as u64,
            least: *found.iter().min().expect("a value"),
            most: *found.iter().max().expect("a value"),
            sum: found.iter().map(|value| u128::from(*value)).sum(),
        };
        tiles.entry(tile).or_default().values.push((series, sums));
    }
    for ((_, number), (counts, times)) in others.found.iter().filter(|(key, _)| key.0 == source) {
        let tile = tiles.entry(number >> shift).or_default();
        for (sum, count) in tile.counts.iter_mut().zip(counts) {
            *sum += count;
        }
        if let (Some(first), Some(last)) = (times.first(), times.last()) {
            tile.times = Some((tile.times.map_or(*first, |times| times.0), *last));
        }
    }
    let mut parts = BTreeMap::<(u64, usize), Vec<&Event>>::new();
    for event in record.events.iter().filter(|event| event.source == source) {
        parts.entry((event.tile >> shift, event.thread)).or_default().push(event);
    }
    for ((number, thread), events) in parts {
        let mut part = TilePart { thread: thread as u32, ..TilePart::default() };
        let mut least = None;
        let mut executed = BTreeMap::<i32, BTreeMap<u32, u64>>::new();
        for event in events {
            match &event.what {
                What::Run { instructions, stack } => {
                    part.instructions += instructions;
                    let top = stack.last().expect("a frame").0;
                    least = Some(least.map_or(top, |least: i32| least.min(top)));
                    for (depth, function, _) in stack.iter().take(256) {
                        *executed.entry(*depth).or_default().entry(*function).or_default() +=
                            instructions;
                    }
                }
                What::Begin { .. } => part.begun += 1,
                What::End { .. } => {}
            }
        }
        if part.instructions + part.begun == 0 {
            continue;
        }
        part.least_depth = least.unwrap_or(0);
        for depth in (part.least_depth..).take(MOST_ROWS) {
            let Some(own) = executed.get(&depth) else { break };
            let all = share(own.values().sum(), part.instructions);
            // The first of the greatest.
            let (function, most) = own.iter().rev().max_by_key(|(_, n)| **n).expect("a function");
            if all == 0 {
                break;
            }
            let weight = share(*most, part.instructions);
            part.rows.push(TileRow { function: *function, weight, all });
        }
        tiles.entry(number).or_default().parts.push(part);
    }
    let named = tiles.into_iter().map(|(number, tile)| Tile { number, before: 0, ..tile });
    named.collect()
}

/// The sums of a part of the tiles.
fn sums(record: &Record, source: usize, of: impl Fn(u64) -> bool) -> Vec<(u32, FunctionSums)> {
    let mut sums = BTreeMap::<u32, FunctionSums>::new();
    for event in record.events.iter().filter(|e| e.source == source && of(e.tile)) {
        match &event.what {
            What::Run { instructions, stack } => {
                for (_, function, outermost) in stack {
                    sums.entry(*function).or_default().total +=
                        if *outermost { *instructions } else { 0 };
                }
                let top = stack.last().expect("a frame").1;
                sums.entry(top).or_default().own += instructions;
            }
            What::Begin { function, is_call } => {
                sums.entry(*function).or_default().calls += u64::from(*is_call);
            }
            What::End { function, whole: Some(length), at } => {
                let own = sums.entry(*function).or_default();
                let none = own.ended == 0;
                own.least = if none { *length } else { own.least.min(*length) };
                if none || *length > own.most {
                    (own.most, own.most_at) = (*length, *at);
                }
                own.ended += 1;
                own.sum += length;
            }
            What::End { .. } => {}
        }
    }
    sums.retain(|_, own| *own != FunctionSums::default());
    sums.into_iter().collect()
}

/// What was compared.
#[derive(Debug, Default)]
struct Compared {
    tiles: usize,
    values: usize,
    counted: usize,
    rows: usize,
    frames: usize,
    granules: usize,
    threads: usize,
    stacks: usize,
    deep: usize,
    /// Batches before the last one that have lengths of calls, and that leave them to a later one.
    stored: usize,
    left: usize,
}

/// Lengths of calls are few beside the trace, except in the last batch.
fn check_lengths(index: &Index, buffer: &IndexedBuffer, source: usize, compared: &mut Compared) {
    let (mut since, mut calls) = (0, 0);
    let (_, others) = buffer.batches().split_last().expect("a batch");
    for batch in others {
        let bytes = index.section(batch, Section::Functions).expect("functions");
        let mut from = Reader(&bytes);
        let mut lengths = Vec::new();
        for n in 0..=source {
            let sums = read_sums(&mut from).expect("sums");
            lengths = read_lengths(&mut from).expect("lengths");
            calls += if n == source { sums.iter().map(|(_, own)| own.ended).sum() } else { 0 };
        }
        match lengths.len() as u64 {
            0 => compared.left += usize::from(calls > 0),
            entries => {
                compared.stored += 1;
                assert!(entries * 256 <= batch.end - since, "{entries} from {since}");
                (since, calls) = (batch.end, 0);
            }
        }
    }
}

fn check(case: &Case, making: &Making, compared: &mut Compared) {
    let making = Making { view: true, ..*making };
    let bytes = case.index_bytes(&making);
    for jobs in [2, 3] {
        let other = case.index_bytes(&Making { jobs, ..making });
        assert!(bytes == other, "{}: {jobs} threads make another index", case.name);
    }
    let half = |half, jobs| case.index_bytes(&Making { half, jobs, ..making });
    let (segments, view) = (half(Half::Segments, 2), half(Half::View, 1));
    let joined = join(&segments, &view).expect("two halves");
    assert!(joined == bytes, "{}: two halves make another index", case.name);
    let index = Index::read(bytes.into()).expect("an index");
    for plan in &case.plans {
        let buffer = index.buffer(plan.buffer).expect("the buffer");
        let view = View::new(&index, buffer).expect("a view").expect("a view");
        let shape = view.shape();
        let (record, others) = record(case, plan, shape.tile(0), making.shape.segment);
        assert_eq!(view.names().functions(), record.functions, "{}", case.name);
        compared.threads += view.names().threads().len();
        for source in 0..plan.sources.len() {
            for level in 0..shape.levels {
                let mut found = view.tiles(source, level, 0..u64::MAX).expect("tiles");
                let mut before = 0;
                for tile in &mut found {
                    assert_eq!(tile.before, before, "{}: {}", case.name, tile.number);
                    before += tile.instructions();
                    tile.before = 0;
                }
                let want = tiles(&record, &others, view.names(), source, 2 * u32::from(level));
                assert_eq!(found.len(), want.len(), "{} level {level}", case.name);
                for (found, want) in found.iter().zip(&want) {
                    assert_eq!(found, want, "{} level {level}", case.name);
                }
                compared.tiles += found.len();
                compared.values += found.iter().map(|tile| tile.values.len()).sum::<usize>();
                compared.counted += found.iter().filter(|tile| tile.cycles.1 > 0).count();
                let rows = found.iter().flat_map(|tile| &tile.parts).map(|part| part.rows.len());
                compared.rows += rows.sum::<usize>();
                // Any part is found, too.
                let some = 3..found.last().map_or(0, |tile| tile.number / 2);
                let part = view.tiles(source, level, some.clone()).expect("tiles");
                let mut own: Vec<Tile> =
                    want.iter().filter(|tile| some.contains(&tile.number)).cloned().collect();
                own.iter_mut().zip(&part).for_each(|(own, part)| own.before = part.before);
                assert_eq!(part, own, "{} level {level}", case.name);
            }
            check_frames(case, &view, source, &record, compared);
            let mut granules = Vec::new();
            view.granules(source, 0..u64::MAX, |granule| granules.push(granule)).expect("sums");
            compared.granules += granules.len();
            for granule in &granules {
                let want = sums(&record, source, |tile| tile / GRANULE_TILES == granule.number);
                assert_eq!(granule.functions, want, "{}", case.name);
            }
            // Those of batches are the sums of their granules.
            let mut of_batches = 0;
            for batch in 0..view.batch_count() {
                let own = view.granules_of(batch);
                let inside = granules.iter().filter(|granule| own.contains(&granule.number));
                of_batches += inside.count();
                let want = sums(&record, source, |tile| own.contains(&(tile / GRANULE_TILES)));
                let found = view.batch_sums(batch).expect("sums");
                assert_eq!(found[source], want, "{}: batch {batch}", case.name);
            }
            assert_eq!(of_batches, granules.len());
            check_lengths(&index, buffer, source, compared);
            let all = view.sums(0..u64::MAX).expect("sums");
            assert_eq!(all.functions[source], sums(&record, source, |_| true), "{}", case.name);
            assert_eq!(all.offsets, 0..buffer.covered());
            let mut lengths = BTreeMap::<(u32, u8), u64>::new();
            for event in record.events.iter().filter(|event| event.source == source) {
                if let What::End { function, whole: Some(length), .. } = &event.what {
                    *lengths.entry((*function, length_class(*length) as u8)).or_default() += 1;
                }
            }
            let lengths: Vec<_> =
                lengths.into_iter().map(|((f, class), n)| (f, class, n)).collect();
            assert_eq!(view.lengths(source).expect("lengths"), lengths, "{}", case.name);
        }
    }
}

/// Frames of at least a tile are there, and each row beneath the least depth of a tile has one.
fn check_frames(
    case: &Case,
    view: &View<'_>,
    source: usize,
    record: &Record,
    compared: &mut Compared,
) {
    let width = view.shape().tile(0);
    let long = |frame: &&Frame| {
        frame.source == source && (frame.frame.len() >= width || frame.tiles.1 - frame.tiles.0 > 1)
    };
    let mut want: Vec<ViewFrame> =
        record.frames.iter().filter(long).map(|frame| frame.frame).collect();
    let order = |frame: &ViewFrame| (frame.offsets, frame.depth, frame.thread, frame.instructions);
    want.sort_by_key(order);
    let mut found = view.frames(source, 0..u64::MAX, 0).expect("frames");
    found.sort_by_key(order);
    assert_eq!(found, want, "{}", case.name);
    compared.frames += found.len();
    compared.deep +=
        found.iter().filter(|frame| matches!(frame.entry, Entry::Exception(_))).count();
    let middle = view.buffer().covered() / 2;
    let part = view.frames(source, middle..middle + width, 2 * width).expect("frames");
    want.retain(|frame| {
        frame.offsets.0 < middle + width && frame.offsets.1 >= middle && frame.len() >= 2 * width
    });
    assert_eq!(part.len(), want.len(), "{}", case.name);
    // What a tile does not show is in frames.
    let tiles = view.tiles(source, 0, 0..u64::MAX).expect("tiles");
    for tile in &tiles {
        for part in &tile.parts {
            let (begin, end) = (tile.number, tile.number);
            let covering = record.frames.iter().filter(|frame| {
                frame.frame.thread == part.thread
                    && frame.frame.depth < part.least_depth
                    && frame.tiles.0 < begin
                    && frame.tiles.1 > end
            });
            for frame in covering {
                assert!(found.contains(&frame.frame), "{}", case.name);
                compared.stacks += 1;
            }
        }
    }
}

#[test]
fn views_are_those_of_the_whole_trace() {
    let mut compared = Compared::default();
    for case in captures() {
        check(&case, &making(&case, false), &mut compared);
    }
    let Compared { tiles, rows, frames, granules, stacks, values, .. } = compared;
    assert!(values > 20, "{compared:?}");
    assert!(tiles > 1_000 && rows > 5_000 && frames > 1_000 && granules > 8, "{compared:?}");
    assert!(stacks > 10_000, "{compared:?}");
}

#[test]
fn views_of_several_cores_are_those_of_the_whole_trace() {
    let mut compared = Compared::default();
    let cases = shared(&["juno_r1_1", "TC2", "stm-issue-27", "maxspec0_commopt1"]);
    for case in &cases {
        check(case, &making(case, true), &mut compared);
    }
    assert!(cases.is_empty() || compared.counted > 20 && compared.left > 0, "{compared:?}");
}

/// Captures whose bytes are damaged, in shapes that tiles and segments do not share.
#[test]
fn views_of_damaged_traces_are_those_of_the_whole_trace() {
    let mut random = Random::new(53);
    let mut compared = Compared::default();
    let cases = captures();
    for _ in 0..times(12) {
        let case = &cases[random.index(cases.len())];
        let mut capture = case.capture.clone();
        for buffer in &mut capture.buffers {
            let mut bytes = buffer.bytes().into_owned();
            for _ in 0..random.below(6) {
                let n = random.index(bytes.len().max(1));
                if let Some(byte) = bytes.get_mut(n) {
                    *byte ^= 1 << random.below(8);
                }
            }
            let (name, format) = (buffer.name.clone(), buffer.format.clone());
            *buffer = tracewright_capture::Buffer::new(name, format, bytes);
        }
        let case = Case::of(case.name.clone(), capture);
        let len = case.capture.buffers.iter().map(|buffer| buffer.len()).max().unwrap_or(0);
        let shape = Shape::new(64 + random.below(len / 8 + 1), 1 + random.below(6));
        let making = Making { shape, jobs: 1, full: random.one_in(2), ..Making::default() };
        check(&case, &making, &mut compared);
    }
    assert!(compared.stored > 2, "{compared:?}");
}

/// Decodes the whole trace, and takes the stacks after some elements.
struct Stopping {
    transfers: Transfers,
    stacks: Stacks<Record>,
    next: u64,
    wanted: BTreeSet<u64>,
    found: Vec<(u64, Vec<Open>)>,
}

/// The stack of a source: its frames, and the depth, offset and instruction of each begin.
type Open = (Vec<SavedFrame>, Vec<(i32, u64, u64)>);

impl Listener for Stopping {
    fn element(&mut self, source: usize, at: u64, element: Element) {
        self.transfers.element(source, at, element);
        if self.wanted.contains(&self.next) {
            self.stacks.transfers(self.transfers.take().transfers());
            let of = |source: usize| {
                let (thread, frames) = self.stacks.current(source).expect("a thread");
                let visitor = &self.stacks.visitor;
                let open = visitor.stacks.get(&thread).map_or(&[][..], Vec::as_slice);
                let open = open.iter().map(|n| {
                    let frame = &visitor.frames[*n].frame;
                    (frame.depth, frame.offsets.0, frame.instructions.0)
                });
                (frames, open.collect())
            };
            let sources = self.stacks.visitor.sources;
            self.found.push((self.next, (0..sources).map(of).collect()));
        }
        self.next += 1;
    }
}

/// The view of the index of a plan, with small segments.
fn with_view(case: &Case, check: impl Fn(&Plan, &View<'_>, &mut Player<'_>)) {
    let index = case.index(&Making { view: true, ..making(case, false) });
    for plan in &case.plans {
        let buffer = index.buffer(plan.buffer).expect("the buffer");
        let view = View::new(&index, buffer).expect("a view").expect("a view");
        let mut player = Player::new(case.subject(), plan, &view).expect("its own plan");
        check(plan, &view, &mut player);
    }
}

/// The stack of each source after random elements is that of the whole trace.
#[test]
fn stacks_are_those_of_the_whole_trace() {
    let depths = std::cell::RefCell::new(BTreeMap::<usize, usize>::new());
    let cases = captures().into_iter().chain(shared(&["juno_r1_1", "TC2"]));
    for case in cases {
        with_view(&case, |plan, view, player| {
            let mut random = Random::new(7);
            let elements: u64 = view.buffer().sums().map(|stream| stream.elements).sum();
            let wanted = (0..times(60)).map(|_| random.below(elements.max(1))).collect();
            let subject = case.subject();
            let code = subject.code(plan);
            let record = Record { sources: plan.sources.len(), ..Record::default() };
            let mut stopping = Stopping {
                transfers: subject.transfers(plan, &code),
                stacks: Program::of(&code, None).stacks(plan.sources.len(), record),
                next: 0,
                wanted,
                found: Vec::new(),
            };
            case.decode(plan, &mut stopping);
            for (number, sources) in &stopping.found {
                for (source, (frames, open)) in sources.iter().enumerate() {
                    let found = player.stack(*number, source).expect("a stack");
                    let (own, begun): (Vec<_>, Vec<_>) = found.frames.into_iter().unzip();
                    let name = &case.name;
                    assert_eq!(&own, frames, "{name}: element {number} of source {source}");
                    let begun: Vec<_> =
                        begun.iter().map(|open| (open.depth, open.at, open.instructions)).collect();
                    assert_eq!(&begun, open, "{name}: element {number} of source {source}");
                    *depths.borrow_mut().entry(frames.len()).or_default() += 1;
                }
            }
        });
    }
    let deep: usize = depths.borrow().iter().filter(|(depth, _)| **depth > 3).map(|(_, n)| n).sum();
    assert!(deep > 100, "{depths:?}");
}

/// The frames and the sums of random parts are those of the whole trace.
#[test]
fn parts_are_those_of_the_whole_trace() {
    let mut random = Random::new(11);
    let random = std::cell::RefCell::new(&mut random);
    let counted = std::cell::Cell::new((0, 0));
    for case in captures().into_iter().chain(shared(&["TC2"])) {
        with_view(&case, |plan, view, player| {
            let len = view.buffer().covered();
            for n in 0..times(4) {
                let mut random = random.borrow_mut();
                let first = random.below(len);
                let longest = if n % 2 == 0 { len / 30 + 1 } else { len };
                let last = (first + 1 + random.below(longest)).min(len);
                // The parts before, inside, and after.
                let next = |at: u64| {
                    if at < first {
                        first
                    } else if at < last {
                        last
                    } else {
                        len
                    }
                };
                let part = |at: u64| u64::from(at >= first) + u64::from(at >= last);
                let (mut record, _) = record_by(&case, plan, next, part);
                record.renumber(view.names());
                let detail = player.detail(first..last, usize::MAX, |_| {}).expect("frames");
                // The end of the trace ends what is open at the end of the buffer.
                let end = if last == len { 1 } else { 2 };
                let all_sums = player.sums(first..last).expect("sums");
                for (source, own_sums) in all_sums.into_iter().enumerate() {
                    let order = |frame: &ViewFrame| (frame.offsets, frame.depth, frame.thread);
                    let of_source = || record.frames.iter().filter(|own| own.source == source);
                    let ended =
                        of_source().filter(|own| own.tiles.1 < 2 && own.frame.offsets.1 >= first);
                    let mut want: Vec<ViewFrame> = ended.map(|own| own.frame).collect();
                    let mut found = detail.ended[source].clone();
                    want.sort_by_key(order);
                    found.sort_by_key(order);
                    assert_eq!(found, want, "{} {first}..{last}", case.name);
                    let begin = |frame: &ViewFrame| {
                        (frame.offsets.0, frame.instructions.0, frame.depth, frame.function)
                    };
                    let open = of_source().filter(|own| own.found < end && own.tiles.1 >= end);
                    let mut want: Vec<_> = open.map(|own| begin(&own.frame)).collect();
                    if end == 1 {
                        want.clear();
                    }
                    let mut found: Vec<_> = detail.open[source].iter().map(begin).collect();
                    want.sort();
                    found.sort();
                    assert_eq!(found, want, "{} {first}..{last}", case.name);
                    let want = sums(&record, source, |tile| tile == 1);
                    assert_eq!(own_sums, want, "{} {first}..{last}", case.name);
                    let (frames, functions) = counted.get();
                    counted.set((frames + detail.ended[source].len(), functions + want.len()));
                }
            }
        });
    }
    let (frames, functions) = counted.get();
    assert!(frames > 1_000 && functions > 300, "{frames} {functions}");
}
