//! The buffers of a capture with the threads of a system, such as a `perf.data` file: whose trace
//! they have, and their order, so that the call stacks of a thread continue from one to the next.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::vec::IntoIter;

use tracewright_analysis::stacks::{
    BufferSource, BufferSources, Join, Part, Stacks, ThreadIdentifier, Visitor,
};
use tracewright_analysis::tasks::TaskThread;
use tracewright_analysis::{ThreadNames, Transfer, TransferKind, Transfers};
use tracewright_capture::{Capture, Linux, Queue, Source};
use tracewright_decode::input::Input;
use tracewright_decode::{
    Caches, Fork, Jobs, Listener, Merge, Merging, More, Plan, Session, Tally, ordered,
};
use tracewright_image::ContextKey;

use crate::error::DecodeError;

/// The buffers of a capture, and how the trace of a thread continues in them.
#[derive(Clone, Debug)]
pub struct JoinedBuffers<'a> {
    capture: &'a Capture,
    linux: &'a Linux,
    /// The buffers of each CPU or thread, in their order.
    pub series: Vec<Vec<usize>>,
    /// A thread has one stack, on whichever CPUs it executes. Otherwise the order of the CPUs is
    /// not known, and it has a stack on each.
    pub shared: bool,
    /// The series are taken in the order of their timestamps.
    pub by_time: bool,
    /// The buffer before, in the series.
    before: BTreeMap<usize, usize>,
}

impl<'a> JoinedBuffers<'a> {
    /// How these `buffers` of `capture` continue each other. `None` where the capture does not
    /// record whose trace a buffer has.
    pub fn new(capture: &'a Capture, buffers: &[usize]) -> Option<JoinedBuffers<'a>> {
        let linux = capture.linux.as_deref()?;
        let mut queues: BTreeMap<Queue, Vec<usize>> = BTreeMap::new();
        for &buffer in buffers {
            queues.entry(linux.parts.get(buffer)?.queue).or_default().push(buffer);
        }
        let cpus = queues.keys().filter(|queue| matches!(queue, Queue::Cpu(_))).count();
        let mut sources = capture.sources.iter().filter(|source| !source.buffers.is_empty());
        let timed = sources.all(traces_time);
        let series: Vec<Vec<usize>> = queues
            .into_values()
            .map(|mut series| {
                series.sort_unstable();
                series
            })
            .collect();
        let pairs = series.iter().flat_map(|series| series.iter().zip(series.iter().skip(1)));
        let before = pairs.map(|(before, after)| (*after, *before)).collect();
        let (shared, by_time) = (cpus < 2 || timed, cpus > 1 && timed);
        Some(JoinedBuffers { capture, linux, series, shared, by_time, before })
    }

    /// The sources of a buffer, by its plan.
    pub fn sources(&self, plan: &Plan) -> BufferSources {
        let part = self.linux.parts.get(plan.buffer);
        let sources = plan.sources.iter().map(|planned| {
            let identifier = self.identifier(planned.source);
            let is_thread = part.is_some_and(|part| matches!(part.queue, Queue::Thread(_)));
            // The trace reports the thread before its instructions.
            let known = identifier == ThreadIdentifier::None || is_thread;
            let thread = part.filter(|_| known).and_then(|part| part.thread).map(u64::from);
            BufferSource { source: planned.source, thread, identifier }
        });
        let lost = |buffer: usize| self.linux.parts.get(buffer).is_some_and(|part| part.lost);
        BufferSources {
            sources: sources.collect(),
            offset: part.map_or(0, |part| part.offset),
            lost: self
                .before
                .get(&plan.buffer)
                .is_some_and(|&before| lost(before) || lost(plan.buffer)),
        }
    }

    /// What identifies the threads of a source.
    fn identifier(&self, source: usize) -> ThreadIdentifier {
        let key = self.linux.keys.get(source).copied().unwrap_or_default();
        let Some(source) = self.capture.sources.get(source) else {
            return ThreadIdentifier::None;
        };
        let field = |name, mask: u64| source.register(name).is_some_and(|value| value & mask != 0);
        match key {
            // TRCCONFIGR.CID, ETMCR.ContextIDSize.
            ContextKey::ContextId if field("TRCCONFIGR", 1 << 6) || field("ETMCR", 3 << 14) => {
                ThreadIdentifier::ContextId
            }
            // TRCCONFIGR.VMID, ETMCR\[30].
            ContextKey::Vmid if field("TRCCONFIGR", 1 << 7) || field("ETMCR", 1 << 30) => {
                ThreadIdentifier::Vmid
            }
            ContextKey::ContextId | ContextKey::Vmid => ThreadIdentifier::None,
        }
    }

    /// Whether threads are known by the records of the buffers only, and not by their trace.
    pub fn threads_of_records(&self) -> bool {
        let traced = |source: &usize| self.identifier(*source) != ThreadIdentifier::None;
        let parts = self.series.iter().flatten().filter_map(|n| self.linux.parts.get(*n));
        let cpus = parts.filter(|part| matches!(part.queue, Queue::Cpu(_)));
        let mut sources = cpus.flat_map(|part| &part.sources).peekable();
        sources.peek().is_some() && !sources.any(traced)
    }

    /// The names of the threads.
    pub fn names(&self) -> ThreadNames {
        let sources = self.capture.sources.iter().map(|source| source.name.clone());
        let spaces = Arc::clone(&self.linux.spaces);
        ThreadNames { spaces, sources: sources.collect(), shared: self.shared }
    }

    /// The names of threads, each with the source that executed it first and its identifier.
    pub fn thread_names(
        &self,
        threads: impl IntoIterator<Item = (usize, Option<u64>)>,
    ) -> Vec<String> {
        self.threads(threads).into_iter().map(|thread| thread.text).collect()
    }

    /// The same threads, with what identifies each.
    pub fn threads(
        &self,
        threads: impl IntoIterator<Item = (usize, Option<u64>)>,
    ) -> Vec<TaskThread> {
        let names = self.names();
        let numbered = threads.into_iter().enumerate();
        numbered.map(|(n, (source, id))| names.thread(source, id, n + 1)).collect()
    }
}

/// Whether the registers of `source` enable timestamps: TRCCONFIGR.TS, ETMCR\[28].
pub fn traces_time(source: &Source) -> bool {
    let bit = |name, bit: u32| source.register(name).is_some_and(|value| value >> bit & 1 != 0);
    bit("TRCCONFIGR", 11) || bit("ETMCR", 28)
}

/// A buffer that is ready to be decoded.
pub struct OpenBuffer<L> {
    /// The session, in its initial state.
    pub session: Session,
    /// Finds the transfers of the sources of the buffer.
    pub transfers: Transfers,
    /// Another listener.
    pub listener: L,
    /// The bytes.
    pub input: Box<dyn Input>,
    /// The name of the buffer.
    pub name: String,
    /// The sources.
    pub sources: BufferSources,
}

/// Decodes the buffers of [`JoinedBuffers`].
pub trait DecodeBuffers<L: Fork>: Sync {
    /// Why a buffer cannot be decoded.
    type Error: From<DecodeError> + Send;

    /// Opens a buffer with the caches of another one. `frames`: the frames of each part are looked
    /// for.
    ///
    /// # Errors
    /// Where it cannot be decoded.
    fn open(
        &self,
        buffer: usize,
        frames: bool,
        caches: Caches,
    ) -> Result<OpenBuffer<L>, Self::Error>;

    /// Decodes an open buffer on the threads of `jobs`. `write` receives its parts in order, and
    /// returns whether more is wanted. Returns the counts, and the caches of the session.
    ///
    /// # Errors
    /// Where it cannot be read.
    fn decode(
        &self,
        buffer: usize,
        open: OpenBuffer<L>,
        jobs: Jobs,
        write: &mut dyn FnMut((Part, L::Output)) -> bool,
    ) -> Result<(Tally, Caches), Self::Error>;
}

/// How a part of the trace is added to call stacks. The last argument is called after pieces of the
/// part, and returns whether more is wanted; so does the function.
pub type Take<V> = fn(&mut Stacks<V>, &Part, &mut dyn FnMut(&mut V) -> bool) -> bool;

/// How buffers are decoded to call stacks.
pub struct Taking<V: Visitor> {
    /// The frames of each part are looked for.
    pub frames: bool,
    /// Adds a part.
    pub take: Take<V>,
}

impl<V: Visitor> Taking<V> {
    /// The transfers are taken in order.
    pub fn in_order() -> Taking<V> {
        let take: Take<V> = |stacks, part, more| {
            let mut transfers = part.transfers().peekable();
            while transfers.peek().is_some() {
                stacks.transfers(transfers.by_ref().take(PIECE));
                if !more(&mut stacks.visitor) {
                    return false;
                }
            }
            stacks.may_end(part);
            true
        };
        Taking { frames: false, take }
    }

    /// The frames of each part are taken, where their order does not matter: workers find them.
    pub fn by_frames() -> Taking<V>
    where
        V: Join,
    {
        let take: Take<V> = |stacks, part, _| {
            stacks.part(part);
            true
        };
        Taking { frames: true, take }
    }
}

/// Transfers between two calls of what takes the output of a visitor, so that it is not collected.
const PIECE: usize = 1 << 12;

/// A buffer of at most this many bytes is decoded on one thread, at the same time as others.
const SMALL: u64 = 1 << 20;

/// Receives what [`JoinedBuffers::decode`] passes on. Returns whether more is wanted.
pub type Receive<'a, V, O, E> = dyn FnMut(&mut V, Joined<O>) -> Result<bool, E> + 'a;

/// The sources of a buffer, the parts of its trace, each with the output of the other listener, and
/// its counts.
type Parts<O> = (BufferSources, Vec<(Part, O)>, Tally);

impl JoinedBuffers<'_> {
    /// Decodes the buffers to `stacks`: in the order of their timestamps, or one after another, of
    /// which small ones are decoded at the same time. Returns the number of threads, where the
    /// system started fewer than those of `jobs`.
    ///
    /// # Errors
    /// Those of `decoder` and `receive`, and [`DecodeError::Read`].
    pub fn decode<V: Visitor, L: Listener + Fork + Send, D: DecodeBuffers<L>>(
        &self,
        decoder: &D,
        stacks: &mut Stacks<V>,
        taking: &Taking<V>,
        jobs: &Jobs,
        receive: &mut Receive<'_, V, L::Output, D::Error>,
    ) -> Result<Option<usize>, D::Error> {
        if self.by_time {
            let open = |buffer, caches| decoder.open(buffer, false, caches);
            by_time(&self.series, stacks, open, receive)?;
            return Ok(None);
        }
        let all: Vec<usize> = self.series.iter().flatten().copied().collect();
        let size = |buffer: &usize| self.capture.buffers.get(*buffer)?.size();
        let small = |buffer: &usize| size(buffer).is_some_and(|size| size <= SMALL);
        let several = jobs.count > 1 && all.len() > 1;
        let (mut caches, mut refused) = (Caches::default(), None);
        for part in all.chunk_by(|a, b| several && small(a) && small(b)) {
            // So the results that wait are few.
            for batch in part.chunks(2 * jobs.count.max(1)) {
                let wanted = if let &[buffer] = batch {
                    let open = decoder.open(buffer, taking.frames, std::mem::take(&mut caches))?;
                    stacks.begin_buffer(&open.sources);
                    let mut done = Ok(true);
                    let (tally, own) =
                        decoder.decode(buffer, open, jobs.clone(), &mut |(part, output)| {
                            done = taking.add(stacks, &part, (buffer, output), receive);
                            matches!(done, Ok(true))
                        })?;
                    caches = own;
                    let wanted = done?;
                    receive(&mut stacks.visitor, Joined::End(buffer, tally))? && wanted
                } else {
                    at_once(decoder, batch, stacks, (taking, jobs), receive, &mut refused)?
                };
                if !wanted {
                    return Ok(refused);
                }
            }
        }
        Ok(refused)
    }
}

/// Decodes small `buffers` at the same time. Returns whether more is wanted.
fn at_once<V: Visitor, L: Listener + Fork + Send, D: DecodeBuffers<L>>(
    decoder: &D,
    buffers: &[usize],
    stacks: &mut Stacks<V>,
    (taking, jobs): (&Taking<V>, &Jobs),
    receive: &mut Receive<'_, V, L::Output, D::Error>,
    refused: &mut Option<usize>,
) -> Result<bool, D::Error> {
    let work = |_: usize, &buffer: &usize, _: &mut dyn FnMut(Vec<u8>) -> bool| {
        let open = decoder.open(buffer, taking.frames, Caches::default())?;
        let (sources, mut parts) = (open.sources.clone(), Vec::new());
        let one = Jobs { count: 1, ..jobs.clone() };
        let (tally, _) = decoder.decode(buffer, open, one, &mut |part| {
            parts.push(part);
            true
        })?;
        Ok::<Parts<L::Output>, D::Error>((sources, parts, tally))
    };
    let mut add = |n: usize, found: ordered::Part<Result<Parts<L::Output>, D::Error>>| {
        let (ordered::Part::Done(found), Some(&buffer)) = (found, buffers.get(n)) else {
            return Ok(true);
        };
        let (sources, parts, tally) = found?;
        stacks.begin_buffer(&sources);
        for (part, output) in parts {
            if !taking.add(stacks, &part, (buffer, output), receive)? {
                return Ok(false);
            }
        }
        receive(&mut stacks.visitor, Joined::End(buffer, tally))
    };
    let mut result = Ok(true);
    let threads = ordered::each(jobs.count, buffers, work, |n, found| {
        result = add(n, found);
        matches!(result, Ok(true))
    });
    *refused = refused.or(threads);
    result
}

impl<V: Visitor> Taking<V> {
    /// Adds a part of a buffer. Returns whether more is wanted.
    fn add<O, E>(
        &self,
        stacks: &mut Stacks<V>,
        part: &Part,
        (buffer, output): (usize, O),
        receive: &mut Receive<'_, V, O, E>,
    ) -> Result<bool, E> {
        let mut done = Ok(true);
        let wanted = (self.take)(stacks, part, &mut |visitor| {
            done = receive(visitor, Joined::Transfers);
            matches!(done, Ok(true))
        });
        done?;
        if !wanted {
            return Ok(false);
        }
        receive(&mut stacks.visitor, Joined::Output(buffer, output))
    }
}

/// What [`JoinedBuffers::decode`] passes on.
#[derive(Debug)]
pub enum Joined<O> {
    /// Transfers were added to the stacks.
    Transfers,
    /// Output of the other listener of a buffer.
    Output(usize, O),
    /// A buffer ends.
    End(usize, Tally),
}

/// Bytes that are decoded at a time.
const CHUNK: usize = 1 << 14;
/// The trace of a buffer before its first timestamp has the time of that timestamp, if it has at
/// most this many bytes.
const HEAD: usize = 1 << 18;

/// Decodes the buffers of several `series` to `stacks`, in the order of the timestamps, each opened
/// by `open` with the caches of the one before. `receive` returns whether more is wanted.
///
/// A transfer has the time of the last timestamp before it in its series. Of series with the same
/// time the first is decoded first.
///
/// # Errors
/// Those of `open` and `receive`, and [`DecodeError::Read`].
fn by_time<V, L, E>(
    series: &[Vec<usize>],
    stacks: &mut Stacks<V>,
    mut open: impl FnMut(usize, Caches) -> Result<OpenBuffer<L>, E>,
    receive: &mut Receive<'_, V, L::Output, E>,
) -> Result<(), E>
where
    V: Visitor,
    L: Listener + Fork,
    E: From<DecodeError>,
{
    let mut readers: Vec<Reader<L>> = series.iter().map(|own| Reader::new(own.clone())).collect();
    loop {
        for reader in &mut readers {
            reader.fill(&mut open)?;
        }
        let mut times: Vec<(u64, usize)> = readers
            .iter()
            .enumerate()
            .filter_map(|(n, reader)| Some((reader.items.front()?.0, n)))
            .collect();
        times.sort_unstable();
        let Some(&(_, first)) = times.first() else { return Ok(()) };
        let second = times.get(1).copied().unwrap_or((u64::MAX, usize::MAX));
        let Some(reader) = readers.get_mut(first) else { return Ok(()) };
        stacks.select(&reader.sources);
        let mut any = false;
        while reader.items.front().is_some_and(|own| (own.0, first) < second) {
            let Some((_, item)) = reader.items.pop_front() else { break };
            let wanted = match item {
                Item::Transfer(transfer) => {
                    stacks.transfers([transfer]);
                    any = true;
                    true
                }
                Item::Begin(sources) => {
                    stacks.begin_buffer(&sources);
                    reader.sources = sources;
                    true
                }
                Item::Output(buffer, output) => {
                    receive(&mut stacks.visitor, Joined::Output(buffer, output))?
                }
                Item::End(buffer, tally) => {
                    receive(&mut stacks.visitor, Joined::End(buffer, tally))?
                }
            };
            if !wanted {
                return Ok(());
            }
        }
        if any && !receive(&mut stacks.visitor, Joined::Transfers)? {
            return Ok(());
        }
    }
}

/// What waits of a series.
enum Item<O> {
    Begin(BufferSources),
    Transfer(Transfer),
    Output(usize, O),
    End(usize, Tally),
}

/// The listeners of a buffer.
type All<L> = ((Transfers, L), Merging<Tally>);

struct Running<L> {
    session: Session,
    listeners: All<L>,
    input: Box<dyn Input>,
    buffer: usize,
    name: String,
    tally: Tally,
}

/// Reads the buffers of a series.
struct Reader<L: Fork> {
    buffers: IntoIter<usize>,
    running: Option<Running<L>>,
    caches: Caches,
    /// What was decoded, each with its time.
    items: VecDeque<(u64, Item<L::Output>)>,
    time: u64,
    /// The sources of the buffer whose items are first.
    sources: BufferSources,
    block: Vec<u8>,
}

impl<L: Listener + Fork> Reader<L> {
    fn new(buffers: Vec<usize>) -> Reader<L> {
        Reader {
            buffers: buffers.into_iter(),
            running: None,
            caches: Caches::default(),
            items: VecDeque::new(),
            time: 0,
            sources: BufferSources::default(),
            block: Vec::new(),
        }
    }

    /// Decodes until something waits; the trace before the first timestamp of a buffer as a whole.
    fn fill<E: From<DecodeError>>(
        &mut self,
        open: &mut impl FnMut(usize, Caches) -> Result<OpenBuffer<L>, E>,
    ) -> Result<(), E> {
        while self.items.is_empty() {
            if self.running.is_none() {
                let Some(buffer) = self.buffers.next() else { return Ok(()) };
                let OpenBuffer { session, transfers, listener, input, name, sources } =
                    open(buffer, std::mem::take(&mut self.caches))?;
                let listeners = ((transfers, listener), Merging(Tally::default()));
                let tally = Tally::default();
                self.running = Some(Running { session, listeners, input, buffer, name, tally });
                let mut head = vec![Item::Begin(sources)];
                let mut bytes = 0;
                while bytes < HEAD && !head.iter().any(is_timestamp) && self.read(&mut head)? {
                    bytes += CHUNK;
                }
                let first = head.iter().find_map(timestamp).unwrap_or(0);
                self.time = self.time.max(first);
                self.push(head);
            } else {
                let mut items = Vec::new();
                self.read(&mut items)?;
                self.push(items);
            }
        }
        Ok(())
    }

    /// Decodes the next bytes of the buffer. Returns whether there are more.
    fn read(&mut self, items: &mut Vec<Item<L::Output>>) -> Result<bool, DecodeError> {
        let Some(running) = &mut self.running else { return Ok(false) };
        let Running { session, listeners, input, buffer, name, tally } = running;
        self.block.clear();
        let more = input.more(CHUNK, true, &mut self.block);
        let more = more.map_err(|error| DecodeError::Read { buffer: name.clone(), error })?;
        let ended = more == More::End;
        if ended {
            session.finish(listeners);
        } else {
            session.feed(&self.block, listeners);
        }
        let ((part, output), counts) = listeners.take();
        tally.merge(counts);
        items.extend(part.transfers().map(Item::Transfer));
        items.push(Item::Output(*buffer, output));
        if ended {
            items.push(Item::End(*buffer, std::mem::take(tally)));
            if let Some(running) = self.running.take() {
                self.caches = running.session.into_caches();
            }
        }
        Ok(!ended)
    }

    fn push(&mut self, items: Vec<Item<L::Output>>) {
        for item in items {
            self.time = self.time.max(timestamp(&item).unwrap_or(0));
            self.items.push_back((self.time, item));
        }
    }
}

/// The value of a timestamp. One that is 0 is not known.
fn timestamp<O>(item: &Item<O>) -> Option<u64> {
    match item {
        Item::Transfer(transfer) if transfer.kind == TransferKind::Timestamp => {
            Some(transfer.target).filter(|ticks| *ticks > 0)
        }
        _ => None,
    }
}

fn is_timestamp<O>(item: &Item<O>) -> bool {
    timestamp(item).is_some()
}
