//! Receives the frames of call stacks, and makes tiles, long frames and sums of them.

use std::collections::BTreeMap;
use std::sync::Arc;

use tracewright_analysis::stacks::{Begin, Ending, Entry, FunctionId, Position, Time, Visitor};
use tracewright_analysis::tasks::ThreadList;

use super::frame::{self, ViewFrame};
use super::granule::{CallLengths, FunctionSums, GRANULE_TILES, Granule, put_lengths, put_sums};
use super::listener::Counted;
use super::names::{Names, ViewThread};
use super::shares::{Shares, TRACKED};
use super::stacks::{OpenFrame, OpenThread, SavedView};
use super::sums::Sums;
use super::tile::{self, Counts, Tile};
use super::values::ValueSums;
use super::{MOST_LEVELS, ViewShape};
use crate::bytes::put;
use crate::segment::Times;

/// Bytes of trace for each entry of how long calls take: the entries, of 4 bytes mostly, take a
/// 64th of the trace.
const LENGTHS_SHARE: u64 = 4 * 64;

/// The frames that are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// Those that last longer than a tile.
    Long,
    /// None.
    None,
    /// The first `most` that end at `offset` or later.
    Since { offset: u64, most: usize },
    /// Whole calls of a function that end at `offset` or later.
    Calls { function: u32, offset: u64 },
    /// Those that an exception begins.
    Handlers,
}

/// A frame that is open.
#[derive(Clone, Copy, Debug)]
struct OpenCall {
    function: u32,
    entry: Entry,
    frame: OpenFrame,
    /// The tile in which it began.
    tile: u64,
    /// Its own instructions that are in the sums.
    summed: u64,
    /// No frame of the same function is beneath it.
    outermost: bool,
}

/// A thread.
#[derive(Clone, Debug, Default)]
struct Open {
    source: usize,
    calls: Vec<OpenCall>,
    beneath: i32,
    instructions: u64,
    first: Option<(u64, u64)>,
    /// Instructions at the beginning of the tile, and of the granule.
    at_tile: u64,
    at_granule: u64,
    /// By function: the number of open frames.
    open: Vec<u32>,
    /// The tiles of each level.
    shares: Vec<Shares>,
    /// It executed in the tile, or in the granule.
    in_tile: bool,
    in_granule: bool,
}

impl Open {
    fn save(&self) -> OpenThread {
        OpenThread {
            frames: self.calls.iter().map(|call| call.frame).collect(),
            beneath: self.beneath,
            instructions: self.instructions,
            first: self.first,
        }
    }

    fn opened(&mut self, function: u32) -> bool {
        let n = function as usize;
        if self.open.len() <= n {
            self.open.resize(n + 1, 0);
        }
        self.open.get_mut(n).is_some_and(|count| {
            *count += 1;
            *count == 1
        })
    }

    fn closed(&mut self, function: u32) {
        if let Some(count) = self.open.get_mut(function as usize) {
            *count = count.saturating_sub(1);
        }
    }
}

/// A source.
#[derive(Clone, Debug, Default)]
struct Own {
    time: Option<u64>,
    instructions: u64,
    /// Instructions before the last count of cycles; unknown after lost trace.
    counted: Option<u64>,
    /// By level: the tile so far, and its first instruction.
    tiles: Vec<(Tile, u64)>,
    /// By level: the tiles that ended.
    ended: Vec<Vec<Tile>>,
    sums: Sums,
    granules: Vec<Granule>,
    frames: Vec<ViewFrame>,
}

/// Receives the frames.
#[derive(Debug)]
pub(crate) struct Collected {
    pub(super) shape: ViewShape,
    /// Parts that are decoded again share those of the view.
    pub(super) names: Arc<Names>,
    threads: Vec<Open>,
    sources: Vec<Own>,
    /// The tile of level 0.
    tile: u64,
    /// The threads that executed in the tile, and in the granule.
    active: Vec<usize>,
    active_in_granule: Vec<usize>,
    /// By level: the threads that executed in its tile.
    active_in_level: Vec<Vec<usize>>,
    /// The end of the bytes so far, and of those whose lengths of calls are stored.
    end: u64,
    lengths_until: u64,
    wanted: Wanted,
    /// What is received is known already: stacks are restored.
    is_restored: bool,
    /// Where the trace is decoded from the middle: the numbers that threads have in the view.
    numbers: Option<Vec<u32>>,
    /// The outermost functions, where tasks are named by them.
    pub(super) list: Option<ThreadList>,
}

impl Collected {
    pub(super) fn new(shape: ViewShape, sources: usize) -> Collected {
        let levels = usize::from(shape.levels.min(MOST_LEVELS));
        let own = Own {
            tiles: vec![(Tile::default(), 0); levels],
            ended: vec![Vec::new(); levels],
            ..Own::default()
        };
        Collected {
            shape,
            names: Arc::default(),
            threads: Vec::new(),
            sources: vec![own; sources],
            tile: 0,
            active: Vec::new(),
            active_in_granule: Vec::new(),
            active_in_level: vec![Vec::new(); levels],
            end: 0,
            lengths_until: 0,
            wanted: Wanted::Long,
            is_restored: false,
            numbers: None,
            list: None,
        }
    }

    /// The frames that are open where stacks were saved, with the names of the whole trace. Until
    /// [`go_on`](Self::go_on), what is received are these frames.
    pub(crate) fn restored(
        shape: ViewShape,
        names: Arc<Names>,
        saved: &SavedView,
        wanted: Wanted,
    ) -> Collected {
        let shape = ViewShape { levels: 1, ..shape };
        let mut own = Collected::new(shape, saved.stacks.sources.len());
        (own.names, own.wanted, own.is_restored) = (names, wanted, true);
        let sources = own.sources.iter_mut().zip(&saved.stacks.sources).zip(&saved.times);
        for ((own, source), time) in sources {
            (own.instructions, own.time) = (source.instructions, *time);
        }
        for (open, thread) in saved.threads.iter().zip(&saved.stacks.threads) {
            let mut restored = Open {
                beneath: open.beneath,
                instructions: open.instructions,
                first: open.first,
                at_tile: open.instructions,
                at_granule: open.instructions,
                shares: vec![Shares::default()],
                ..Open::default()
            };
            for (frame, saved) in open.frames.iter().zip(&thread.frames) {
                let function = number(&mut own.names, saved.function);
                let outermost = restored.opened(function);
                restored.calls.push(OpenCall {
                    function,
                    entry: saved.entry,
                    frame: *frame,
                    tile: 0,
                    summed: frame.own,
                    outermost,
                });
            }
            own.threads.push(restored);
        }
        own.numbers = Some(Vec::new());
        own
    }

    /// What was decoded so far ends at offset `at`.
    pub(crate) fn reach(&mut self, at: u64) {
        self.end = at;
    }

    /// The stacks are restored.
    pub(crate) fn go_on(&mut self) {
        self.is_restored = false;
    }

    /// The number of a thread in the view.
    fn number(&self, thread: usize) -> u32 {
        let own = match &self.numbers {
            None => u32::try_from(thread).ok(),
            Some(numbers) => numbers.get(thread).copied(),
        };
        own.unwrap_or(u32::MAX)
    }

    /// The number of a thread in the view, and where its frames began.
    pub(crate) fn open_frames(&self, thread: usize) -> (u32, Vec<OpenFrame>) {
        let calls = self.threads.get(thread).map_or(&[][..], |own| own.calls.as_slice());
        (self.number(thread), calls.iter().map(|call| call.frame).collect())
    }

    /// Takes the frames that ended, by source.
    pub(crate) fn take_frames(&mut self) -> Vec<Vec<ViewFrame>> {
        self.sources.iter_mut().map(|own| std::mem::take(&mut own.frames)).collect()
    }

    /// The frames that are open, by source. They end where the source is.
    pub(crate) fn open_calls(&self) -> Vec<Vec<ViewFrame>> {
        let mut all = vec![Vec::new(); self.sources.len()];
        for (number, thread) in self.threads.iter().enumerate() {
            let (Some(list), Some(own)) =
                (all.get_mut(thread.source), self.sources.get(thread.source))
            else {
                continue;
            };
            list.extend(thread.calls.iter().map(|call| ViewFrame {
                thread: self.number(number),
                function: call.function,
                depth: call.frame.depth,
                entry: call.entry,
                ending: Ending::TraceEnd,
                uncertain: false,
                offsets: (call.frame.at, self.end.max(call.frame.at)),
                instructions: (call.frame.instructions, own.instructions),
                times: (call.frame.time, own.time),
                own: call.frame.own,
                total: thread.instructions.saturating_sub(call.frame.of_thread),
            }));
        }
        all
    }

    /// Sums begin here.
    pub(crate) fn restart_sums(&mut self) {
        self.leave_granule(0);
        self.sources.iter_mut().for_each(|own| own.granules.clear());
    }

    /// Takes the sums of each source.
    pub(crate) fn take_sums(&mut self) -> Vec<Vec<(u32, FunctionSums)>> {
        self.active_in_granule = (0..self.threads.len()).collect();
        self.leave_granule(0);
        let take = |own: &mut Own| {
            let granules = std::mem::take(&mut own.granules).into_iter();
            granules.flat_map(|granule| granule.functions).collect()
        };
        self.sources.iter_mut().map(take).collect()
    }

    /// The threads, and the last timestamp of each source.
    pub(super) fn open(&self) -> (Vec<OpenThread>, Vec<Option<u64>>) {
        let threads = self.threads.iter().map(Open::save).collect();
        (threads, self.sources.iter().map(|source| source.time).collect())
    }

    /// What follows is in this tile of level 0.
    pub(super) fn go_to(&mut self, tile: u64) {
        if tile != self.tile {
            self.leave_tile(Some(tile));
            self.tile = tile;
        }
    }

    /// The trace ends.
    pub(super) fn finish(&mut self) {
        self.leave_tile(None);
    }

    pub(super) fn count(&mut self, source: usize, counted: &Counted) {
        let Collected { sources, names, .. } = self;
        let Some((tile, _)) = sources.get_mut(source).and_then(|own| own.tiles.first_mut()) else {
            return;
        };
        for (series, sums) in &counted.values {
            let number = u16::try_from(source).ok();
            if let Some(number) =
                number.and_then(|source| Arc::make_mut(names).add_series(source, *series))
            {
                add_values(&mut tile.values, &[(number, *sums)]);
            }
        }
        add_counts(&mut tile.counts, &counted.counts);
        if let Some(Times { first, last, .. }) = counted.times {
            add_times(&mut tile.times, (first, last));
        }
    }

    /// Ends the tile; the next one is `next`.
    fn leave_tile(&mut self, next: Option<u64>) {
        for number in std::mem::take(&mut self.active) {
            let Some(thread) = self.threads.get_mut(number) else { continue };
            thread.in_tile = false;
            let Open { calls, shares, instructions, at_tile, .. } = thread;
            let Some(shares) = shares.first_mut() else { continue };
            for call in calls.iter().take(TRACKED) {
                let since = call.frame.of_thread.max(*at_tile);
                if *instructions > since {
                    shares.add(call.frame.depth, call.function, instructions.saturating_sub(since));
                }
            }
            shares.instructions = instructions.saturating_sub(*at_tile);
            *at_tile = *instructions;
            if let Some(active) = self.active_in_level.first_mut() {
                active.push(number);
            }
        }
        let granule = self.tile / GRANULE_TILES;
        if next.is_none_or(|next| next / GRANULE_TILES != granule) {
            self.leave_granule(granule);
        }
        for level in 0..self.shape.levels {
            let number = self.tile >> (2 * level);
            if next.is_some_and(|next| next >> (2 * level) == number) {
                return;
            }
            self.leave_level(usize::from(level), number);
        }
    }

    /// Ends the tile of a level, and adds it to that of the next level.
    fn leave_level(&mut self, level: usize, number: u64) {
        let mut active =
            self.active_in_level.get_mut(level).map(std::mem::take).unwrap_or_default();
        active.sort_unstable();
        active.dedup();
        if let Some(above) = self.active_in_level.get_mut(level + 1) {
            above.extend_from_slice(&active);
        }
        for n in active {
            let Some(thread) = self.threads.get_mut(n) else { continue };
            let Some((own, above)) = thread.shares.split_at_mut_checked(level + 1) else {
                continue;
            };
            let Some(shares) = own.last_mut().filter(|shares| !shares.is_empty()) else { continue };
            if let Some((tile, _)) =
                self.sources.get_mut(thread.source).and_then(|own| own.tiles.get_mut(level))
            {
                tile.parts.push(shares.part(u32::try_from(n).unwrap_or(u32::MAX)));
            }
            if let Some(above) = above.first_mut() {
                above.join(shares);
            }
            shares.clear();
        }
        for own in &mut self.sources {
            let Some((tile, first)) = own.tiles.get_mut(level) else { continue };
            let mut ended = std::mem::take(tile);
            (ended.number, ended.before) = (number, *first);
            *first = own.instructions;
            if let Some((above, _)) = own.tiles.get_mut(level + 1) {
                add_counts(&mut above.counts, &ended.counts);
                add_values(&mut above.values, &ended.values);
                above.cycles.0 = above.cycles.0.saturating_add(ended.cycles.0);
                above.cycles.1 = above.cycles.1.saturating_add(ended.cycles.1);
                if let Some(times) = ended.times {
                    add_times(&mut above.times, times);
                }
            }
            if !ended.is_empty()
                && let Some(list) = own.ended.get_mut(level)
            {
                list.push(ended);
            }
        }
    }

    fn leave_granule(&mut self, number: u64) {
        for active in std::mem::take(&mut self.active_in_granule) {
            let Some(thread) = self.threads.get_mut(active) else { continue };
            thread.in_granule = false;
            let Some(own) = self.sources.get_mut(thread.source) else { continue };
            for call in &mut thread.calls {
                let since = call.frame.of_thread.max(thread.at_granule);
                let total =
                    if call.outermost { thread.instructions.saturating_sub(since) } else { 0 };
                let unsummed = call.frame.own.saturating_sub(call.summed);
                if total | unsummed > 0
                    && let Some(sums) = own.sums.of(call.function)
                {
                    sums.own = sums.own.saturating_add(unsummed);
                    sums.total = sums.total.saturating_add(total);
                }
                call.summed = call.frame.own;
            }
            thread.at_granule = thread.instructions;
        }
        for own in &mut self.sources {
            let functions = own.sums.take();
            if !functions.is_empty() {
                own.granules.push(Granule { number, functions });
            }
        }
    }

    /// The thread executes, or its stack changes.
    #[inline]
    fn active(&mut self, position: &Position) -> Option<(&mut Open, &mut Own, &mut Arc<Names>)> {
        let Collected { threads, sources, names, active, active_in_granule, .. } = self;
        let thread = threads.get_mut(position.thread)?;
        if !thread.in_tile {
            thread.in_tile = true;
            active.push(position.thread);
            if !thread.in_granule {
                thread.in_granule = true;
                active_in_granule.push(position.thread);
            }
        }
        let own = sources.get_mut(thread.source)?;
        Some((thread, own, names))
    }
}

/// The number of a function, which gets one where it has none.
#[inline]
fn number(names: &mut Arc<Names>, function: FunctionId) -> u32 {
    match names.number(function) {
        Some(number) => number,
        None => Arc::make_mut(names).add(function),
    }
}

/// Adds counts.
fn add_counts(sums: &mut Counts, counts: &Counts) {
    for (sum, count) in sums.iter_mut().zip(counts) {
        *sum = sum.saturating_add(*count);
    }
}

/// Adds values.
fn add_values(values: &mut Vec<(u32, ValueSums)>, more: &[(u32, ValueSums)]) {
    for (series, sums) in more {
        match values.binary_search_by_key(series, |own| own.0) {
            Ok(n) => {
                if let Some((_, own)) = values.get_mut(n) {
                    own.join(sums);
                }
            }
            Err(n) => values.insert(n, (*series, *sums)),
        }
    }
}

/// Adds later times.
fn add_times(times: &mut Option<(u64, u64)>, later: (u64, u64)) {
    *times = Some((times.map_or(later.0, |(first, _)| first), later.1));
}

/// Whether a frame is one whole call.
pub(crate) fn is_whole(entry: Entry, ending: Ending, uncertain: bool) -> bool {
    entry.is_call()
        && matches!(ending, Ending::Return | Ending::Replaced | Ending::Unwound)
        && !uncertain
}

impl Visitor for Collected {
    type Node = ();

    fn thread(&mut self, source: usize, thread: usize, id: Option<u64>) {
        if let Some(list) = &mut self.list {
            list.thread(source, thread, id);
        }
        if let Some(numbers) = self.numbers.as_mut().filter(|numbers| numbers.len() <= thread) {
            // The threads of a source come in the same order.
            let of_source = self.threads.iter().take(thread).filter(|own| own.source == source);
            let before = of_source.count();
            numbers.push(self.names.threads_of(source).nth(before).unwrap_or(u32::MAX));
        }
        if self.threads.len() <= thread {
            self.threads.resize(thread + 1, Open::default());
        }
        if let Some(own) = self.threads.get_mut(thread) {
            own.source = source;
            own.shares.resize(usize::from(self.shape.levels), Shares::default());
        }
        if self.numbers.is_some() {
            return;
        }
        let source = u16::try_from(source).unwrap_or(u16::MAX);
        Arc::make_mut(&mut self.names).thread(thread, ViewThread { source, id });
    }

    fn entered(&mut self, thread: usize, function: FunctionId) {
        if let Some(list) = &mut self.list {
            list.entered(thread, function);
        }
    }

    fn begin(&mut self, position: &Position, (): (), begin: &Begin) {
        if self.is_restored {
            return;
        }
        if let Some(list) = &mut self.list {
            list.begin(position, (), begin);
        }
        let tile = self.tile;
        let Some((thread, own, names)) = self.active(position) else { return };
        let function = number(names, begin.function);
        let frame = OpenFrame {
            depth: depth(position.depth, thread.beneath),
            at: position.at,
            instructions: position.instructions,
            of_thread: thread.instructions,
            time: own.time,
            own: 0,
        };
        if begin.entry.is_call()
            && let Some(sums) = own.sums.of(function)
        {
            sums.calls += 1;
        }
        thread.first.get_or_insert((position.at, position.instructions));
        if let Some(shares) = thread.shares.first_mut() {
            shares.begun += 1;
        }
        let outermost = thread.opened(function);
        let entry = begin.entry;
        thread.calls.push(OpenCall { function, entry, frame, tile, summed: 0, outermost });
    }

    fn end(&mut self, position: &Position, (): (), ending: Ending, uncertain: bool) {
        let (log2, now, end, wanted) = (self.shape.log2, self.tile, self.end, self.wanted);
        let number = self.number(position.thread);
        let Some((thread, own, _)) = self.active(position) else { return };
        let Some(call) = thread.calls.pop() else { return };
        thread.closed(call.function);
        let OpenCall { function, entry, frame, tile, summed, outermost } = call;
        let total = thread.instructions.saturating_sub(frame.of_thread);
        // The position of frames that are open at the end of the trace is not known.
        let at = if position.at == u64::MAX { end } else { position.at };
        let at = at.max(frame.at);
        let in_tile = thread.instructions.saturating_sub(frame.of_thread.max(thread.at_tile));
        if in_tile > 0
            && thread.calls.len() < TRACKED
            && let Some(shares) = thread.shares.first_mut()
        {
            shares.add(frame.depth, function, in_tile);
        }
        let in_granule = thread.instructions.saturating_sub(frame.of_thread.max(thread.at_granule));
        let outer = if outermost { in_granule } else { 0 };
        let whole = is_whole(entry, ending, uncertain).then_some((total, at));
        own.sums.end(function, frame.own.saturating_sub(summed), outer, whole);
        let wanted = match wanted {
            Wanted::Long => at - frame.at >= 1 << log2 || now.saturating_sub(tile) > 1,
            Wanted::None => false,
            Wanted::Handlers => matches!(entry, Entry::Exception(_)),
            Wanted::Since { offset, most } => at >= offset && own.frames.len() < most,
            Wanted::Calls { function: only, offset } => {
                function == only && whole.is_some() && at >= offset
            }
        };
        if wanted {
            own.frames.push(ViewFrame {
                thread: number,
                function,
                depth: frame.depth,
                entry,
                ending,
                uncertain,
                offsets: (frame.at, at),
                instructions: (frame.instructions, position.instructions),
                times: (frame.time, own.time),
                own: frame.own,
                total,
            });
        }
    }

    fn beneath(&mut self, position: &Position, (): (), begin: &Begin) -> ((), ()) {
        if let Some(list) = &mut self.list {
            list.beneath(position, (), begin);
        }
        let Some((thread, _, names)) = self.active(position) else { return ((), ()) };
        let function = number(names, begin.function);
        let (at, instructions) = thread.first.unwrap_or((position.at, position.instructions));
        thread.beneath = thread.beneath.saturating_add(1);
        let depth = thread.beneath.saturating_neg();
        let of_thread = thread.instructions;
        let frame = OpenFrame { depth, at, instructions, of_thread, time: None, own: 0 };
        let outermost = thread.opened(function);
        let call = OpenCall { function, entry: begin.entry, frame, tile: 0, summed: 0, outermost };
        thread.calls.insert(0, call);
        ((), ())
    }

    fn run(&mut self, position: &Position, (): (), instructions: u64, _: u64) {
        let Some((thread, own, _)) = self.active(position) else { return };
        own.instructions = position.instructions;
        thread.instructions = thread.instructions.saturating_add(instructions);
        let Some(call) = thread.calls.last_mut() else { return };
        call.frame.own = call.frame.own.saturating_add(instructions);
        let depth = call.frame.depth;
        if let Some(shares) = thread.shares.first_mut() {
            shares.top(depth);
        }
    }

    fn time(&mut self, position: &Position, time: Time) {
        let Some(own) = self.sources.get_mut(position.source) else { return };
        match (time, own.counted) {
            (Time::Timestamp(time), _) => {
                own.time = Some(time);
                return;
            }
            (Time::Cycles(cycles), Some(before)) => {
                if let Some((tile, _)) = own.tiles.first_mut() {
                    let instructions = position.instructions.saturating_sub(before);
                    tile.cycles.0 = tile.cycles.0.saturating_add(cycles);
                    tile.cycles.1 = tile.cycles.1.saturating_add(instructions);
                }
            }
            (Time::Cycles(_) | Time::CyclesLost | Time::TimestampsLost, _) => {}
        }
        own.counted = Some(position.instructions);
    }

    fn lost(&mut self, position: &Position) {
        if let Some(own) = self.sources.get_mut(position.source) {
            own.counted = None;
        }
    }
}

/// The depth of a frame above `frames` others, of which `beneath` were found later.
pub(crate) fn depth(frames: usize, beneath: i32) -> i32 {
    i32::try_from(frames).unwrap_or(i32::MAX).saturating_sub(beneath)
}

impl Collected {
    /// For each source and level: the number of tiles, their length in bytes; and then the tiles.
    pub(super) fn put_tiles(&mut self, out: &mut Vec<u8>) {
        for own in &mut self.sources {
            for ended in &mut own.ended {
                let (mut bytes, mut before) = (Vec::new(), tile::Before::default());
                ended.iter().for_each(|tile| before.put(tile, &mut bytes));
                put(out, ended.len() as u64);
                put(out, bytes.len() as u64);
                out.append(&mut bytes);
                ended.clear();
            }
        }
    }

    pub(super) fn put_frames(&mut self, out: &mut Vec<u8>) {
        for own in &mut self.sources {
            own.frames.sort_by_key(|frame| frame.offsets.0);
            put(out, own.frames.len() as u64);
            let mut before = frame::Before::default();
            own.frames.iter().for_each(|frame| before.put(frame, out));
            own.frames.clear();
        }
    }

    /// For each source: the number of granules, their length in bytes; and then the granules.
    pub(super) fn put_sums(&mut self, out: &mut Vec<u8>) {
        for own in &mut self.sources {
            put(out, own.granules.len() as u64);
            let mut bytes = Vec::new();
            let mut before = 0;
            own.granules.iter().for_each(|granule| granule.put(&mut before, &mut bytes));
            put(out, bytes.len() as u64);
            out.append(&mut bytes);
        }
    }

    /// For each source: the sums of the granules together, and how long calls take since they were
    /// stored last. `last`: the trace ends; before that, they are not stored where they are large.
    pub(super) fn put_functions(&mut self, last: bool, out: &mut Vec<u8>) {
        let entries: u64 = self.sources.iter().map(|own| own.sums.length_entries()).sum();
        let since = self.end.saturating_sub(self.lengths_until);
        let stores = last || entries.saturating_mul(LENGTHS_SHARE) <= since;
        if stores {
            self.lengths_until = self.end;
        }
        for own in &mut self.sources {
            let mut functions = BTreeMap::<u32, FunctionSums>::new();
            for (function, sums) in own.granules.drain(..).flat_map(|granule| granule.functions) {
                functions.entry(function).or_default().add(&sums);
            }
            let functions: Vec<_> = functions.into_iter().collect();
            put_sums(&functions, out);
            let lengths = if stores { own.sums.take_lengths() } else { CallLengths::new() };
            put_lengths(&lengths, out);
        }
    }
}
