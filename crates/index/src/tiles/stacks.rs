//! The call stacks at the beginning of segments.
//!
//! Of a batch, the first stacks are complete; the others have the threads that changed, and of
//! those the frames above the ones that did not.

use tracewright_analysis::stacks::{
    Begin, FunctionId, SavedCoroutine, SavedFrame, SavedSource, SavedStacks, SavedThread,
};

use super::frame::{put_entry, read_entry};
use super::names::{put_function, read_function};
use crate::bytes::{Reader, put, put_option, unzigzag, zigzag};

/// Where an open frame began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OpenFrame {
    /// The number of frames beneath it. It is negative for callers that were found later.
    pub depth: i32,
    /// The offset; of a caller that was found later, that of its thread.
    pub at: u64,
    /// Instructions of the source before it.
    pub instructions: u64,
    /// Instructions of the thread before it.
    pub of_thread: u64,
    /// The last timestamp of the source before it.
    pub time: Option<u64>,
    /// Instructions in the function itself so far.
    pub own: u64,
}

/// The call stacks of all threads at the beginning of a segment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SavedView {
    /// The stacks.
    pub stacks: SavedStacks,
    /// By thread: where its open frames began, its callers that were found later, its instructions,
    /// and where it began.
    pub threads: Vec<OpenThread>,
    /// By source: the last timestamp.
    pub times: Vec<Option<u64>>,
    /// By source: the fingerprint of the state of its transfers.
    pub prints: Vec<u32>,
}

/// What is stored of a thread beside its stack.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OpenThread {
    /// Where the open frames began.
    pub frames: Vec<OpenFrame>,
    /// Callers that were found beneath its first frame.
    pub beneath: i32,
    /// Instructions so far.
    pub instructions: u64,
    /// Where its first frame began: the offset, and instructions of the source before it.
    pub first: Option<(u64, u64)>,
}

impl SavedView {
    /// Appends what is not as in `before`. `at`: the offset of the segment. `tasks`: with what
    /// systems name.
    pub(crate) fn put(&self, before: Option<&SavedView>, at: u64, tasks: bool, out: &mut Vec<u8>) {
        let blank = SavedView::default();
        let before = before.unwrap_or(&blank);
        put(out, self.stacks.sources.len() as u64);
        for (n, source) in self.stacks.sources.iter().enumerate() {
            out.extend(self.prints.get(n).copied().unwrap_or(0).to_le_bytes());
            put_option(out, self.times.get(n).copied().flatten());
            put_source(source, before.stacks.sources.get(n), out);
            if tasks {
                put_named(source, out);
            }
        }
        put(out, self.stacks.threads.len() as u64);
        let threads = self.stacks.threads.iter().zip(&self.threads).enumerate();
        let old = |n: usize| Some((before.stacks.threads.get(n)?, before.threads.get(n)?));
        let changed = threads.filter(|(n, own)| old(*n) != Some(*own));
        put(out, changed.clone().count() as u64);
        for (n, (thread, open)) in changed {
            put(out, n as u64);
            put_thread((thread, open), old(n), at, out);
            if tasks {
                put_option_of(out, thread.named);
            }
        }
        let same = self.stacks.coroutines == before.stacks.coroutines;
        put(out, if same { 0 } else { self.stacks.coroutines.len() as u64 + 1 });
        if !same {
            self.stacks.coroutines.iter().for_each(|coroutine| put_coroutine(coroutine, out));
        }
    }

    /// Reads what changed since this state.
    pub(crate) fn read(&mut self, at: u64, tasks: bool, from: &mut Reader<'_>) -> Option<()> {
        let sources = from.count()?;
        self.prints.clear();
        self.times.clear();
        self.stacks.sources.resize(sources, SavedSource::default());
        for source in &mut self.stacks.sources {
            self.prints.push(from.u32()?);
            self.times.push(from.option()?);
            read_source(source, from)?;
            if tasks {
                read_named(source, from)?;
            }
        }
        let threads = usize::try_from(from.number()?).ok()?;
        let changed = from.count()?;
        // New threads have changed.
        if threads > self.threads.len().saturating_add(changed) || threads < self.threads.len() {
            return None;
        }
        self.stacks.threads.resize(threads, SavedThread::default());
        self.threads.resize(threads, OpenThread::default());
        for _ in 0..changed {
            let n = usize::try_from(from.number()?).ok()?;
            let (thread, open) = (self.stacks.threads.get_mut(n)?, self.threads.get_mut(n)?);
            read_thread(thread, open, at, from)?;
            if tasks {
                thread.named = read_option_of(from)?;
            }
        }
        if let Some(count) = from.number()?.checked_sub(1) {
            self.stacks.coroutines.clear();
            for _ in 0..count {
                self.stacks.coroutines.push(read_coroutine(from)?);
            }
        }
        Some(())
    }
}

fn put_source(source: &SavedSource, before: Option<&SavedSource>, out: &mut Vec<u8>) {
    let known = before.map_or(0, |before| before.threads.len());
    let is_more =
        before.is_none_or(|before| source.threads.get(..known) == Some(&before.threads[..]));
    let retained = if is_more { known } else { 0 };
    put(out, source.current);
    put(out, retained as u64);
    let more = source.threads.get(retained..).unwrap_or_default();
    put(out, more.len() as u64);
    more.iter().for_each(|thread| put(out, *thread));
    put(out, source.instructions);
    put_function(out, source.here);
    put(out, source.switched << 1 | u64::from(source.has_ids));
    put_option_of(out, source.stub_return);
    out.push(source.deferred.is_some().into());
    if let Some((instructions, cycles, begin)) = source.deferred {
        put(out, instructions);
        put(out, cycles);
        put_function(out, begin.function);
        put_entry(out, begin.entry, 0);
        put_option_of(out, begin.address);
    }
}

fn read_source(source: &mut SavedSource, from: &mut Reader<'_>) -> Option<()> {
    source.current = from.number()?;
    let retained = usize::try_from(from.number()?).ok().filter(|n| *n <= source.threads.len())?;
    source.threads.truncate(retained);
    for _ in 0..from.count()? {
        source.threads.push(from.number()?);
    }
    source.instructions = from.number()?;
    source.here = read_function(from)?;
    let switched = from.number()?;
    (source.switched, source.has_ids) = (switched >> 1, switched & 1 != 0);
    source.stub_return = read_option_of(from)?;
    source.deferred = match from.u8()? {
        0 => None,
        _ => {
            let (instructions, cycles) = (from.number()?, from.number()?);
            let (function, (entry, _)) = (read_function(from)?, read_entry(from)?);
            Some((instructions, cycles, Begin { function, entry, address: read_option_of(from)? }))
        }
    };
    Some(())
}

/// What the system names.
fn put_named(source: &SavedSource, out: &mut Vec<u8>) {
    put_option_of(out, source.named);
    out.push(source.by_context.into());
    put_option_of(out, source.unknown);
}

fn read_named(source: &mut SavedSource, from: &mut Reader<'_>) -> Option<()> {
    source.named = read_option_of(from)?;
    source.by_context = from.u8()? != 0;
    source.unknown = read_option_of(from)?;
    Some(())
}

fn put_thread(
    (thread, open): (&SavedThread, &OpenThread),
    before: Option<(&SavedThread, &OpenThread)>,
    at: u64,
    out: &mut Vec<u8>,
) {
    let flags = u64::from(thread.lost)
        | u64::from(thread.untraced.is_some()) << 1
        | u64::from(thread.parked.is_some()) << 2
        | u64::from(thread.beyond.is_some()) << 3
        | u64::from(open.first.is_some()) << 4;
    put(out, flags);
    put_option(out, thread.id);
    if let Some(ret) = thread.untraced {
        put_option_of(out, ret);
    }
    if let Some(parked) = thread.parked {
        put(out, parked);
        put(out, thread.since);
    }
    if let Some((frames, calls)) = thread.beyond {
        put(out, frames);
        put(out, calls);
    }
    put(out, zigzag(i64::from(open.beneath) as u64));
    put(out, open.instructions);
    if let Some((at, instructions)) = open.first {
        put(out, at);
        put(out, instructions);
    }
    let own = || thread.frames.iter().zip(&open.frames);
    let retained = before.map_or(0, |(thread, open)| {
        let both = own().zip(thread.frames.iter().zip(&open.frames));
        both.take_while(|(own, before)| own == before).count()
    });
    put(out, retained as u64);
    put(out, (thread.frames.len() - retained.min(thread.frames.len())) as u64);
    for (frame, open) in own().skip(retained) {
        put_function(out, frame.function);
        let flags = u64::from(frame.exception)
            | u64::from(frame.signal) << 1
            | u64::from(frame.uncertain) << 2
            | u64::from(frame.ret.is_some()) << 3
            | u64::from(open.time.is_some()) << 4;
        put_entry(out, frame.entry, flags);
        frame.ret.into_iter().for_each(|ret| put(out, ret));
        put(out, zigzag(i64::from(open.depth) as u64));
        put(out, zigzag(at.wrapping_sub(open.at)));
        put(out, open.instructions);
        put(out, zigzag(open.instructions.wrapping_sub(open.of_thread)));
        put(out, open.own);
        open.time.into_iter().for_each(|time| put(out, time));
    }
}

fn read_thread(
    thread: &mut SavedThread,
    open: &mut OpenThread,
    at: u64,
    from: &mut Reader<'_>,
) -> Option<()> {
    let flags = from.number()?;
    let has = |bit: u64| flags >> bit & 1 != 0;
    thread.lost = has(0);
    thread.id = from.option()?;
    thread.untraced = if has(1) { Some(read_option_of(from)?) } else { None };
    (thread.parked, thread.since) =
        if has(2) { (Some(from.number()?), from.number()?) } else { (None, 0) };
    thread.beyond = if has(3) { Some((from.number()?, from.number()?)) } else { None };
    open.beneath = i32::try_from(unzigzag(from.number()?) as i64).ok()?;
    open.instructions = from.number()?;
    open.first = if has(4) { Some((from.number()?, from.number()?)) } else { None };
    let retained = usize::try_from(from.number()?).ok()?;
    if retained > thread.frames.len() || thread.frames.len() != open.frames.len() {
        return None;
    }
    thread.frames.truncate(retained);
    open.frames.truncate(retained);
    for _ in 0..from.count()? {
        let function = read_function(from)?;
        let (entry, flags) = read_entry(from)?;
        let has = |bit: u64| flags >> bit & 1 != 0;
        let ret = if has(3) { Some(from.number()?) } else { None };
        let (exception, signal, uncertain) = (has(0), has(1), has(2));
        thread.frames.push(SavedFrame { function, ret, entry, exception, signal, uncertain });
        let depth = i32::try_from(unzigzag(from.number()?) as i64).ok()?;
        let at = at.wrapping_sub(unzigzag(from.number()?));
        let instructions = from.number()?;
        let of_thread = instructions.wrapping_sub(unzigzag(from.number()?));
        let own = from.number()?;
        let time = if has(4) { Some(from.number()?) } else { None };
        open.frames.push(OpenFrame { depth, at, instructions, of_thread, time, own });
    }
    Some(())
}

fn put_coroutine(coroutine: &SavedCoroutine, out: &mut Vec<u8>) {
    put(out, coroutine.thread);
    put(out, coroutine.resume);
    put(out, coroutine.frames.len() as u64);
    for (function, ret) in &coroutine.frames {
        put_function(out, *function);
        put_option_of(out, *ret);
    }
}

fn read_coroutine(from: &mut Reader<'_>) -> Option<SavedCoroutine> {
    let (thread, resume) = (from.number()?, from.number()?);
    let mut frames: Vec<(FunctionId, Option<u64>)> = Vec::new();
    for _ in 0..from.count()? {
        frames.push((read_function(from)?, read_option_of(from)?));
    }
    Some(SavedCoroutine { thread, resume, frames })
}

/// An optional number that may be all ones, such as an address.
fn put_option_of(out: &mut Vec<u8>, value: Option<u64>) {
    out.push(value.is_some().into());
    value.into_iter().for_each(|value| put(out, value));
}

fn read_option_of(from: &mut Reader<'_>) -> Option<Option<u64>> {
    Some(match from.u8()? {
        0 => None,
        _ => Some(from.number()?),
    })
}
