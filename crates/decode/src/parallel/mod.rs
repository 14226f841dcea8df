//! Decodes one buffer on several threads, with the output of one.
//!
//! The buffer is cut into chunks. A worker decodes each chunk from the initial state and takes
//! checkpoints at the ends of segments. The joiner knows the actual state at the beginning of a
//! chunk. The head of the chunk is decoded again from there, by the worker of the chunk before or
//! by the joiner, **until the state equals the worker's state at a checkpoint**. From that
//! checkpoint on the worker's output is that of a decoder that has seen the whole trace, and the
//! joiner takes it unchanged. The state consists of that of the trace link, that of each source
//! with the bytes that make no whole packet yet, and that of the listener. See `docs/parallel.md`.
//!
//! Sources without bytes in a segment need not be in the same state: a segment is taken where the
//! states of all sources that have bytes in the segment are equal. A loss or a barrier of the link,
//! which concerns all sources, counts as their bytes.

mod any_fork;
mod bounded;
mod joiner;
mod scheduler;
mod work_queue;
mod worker;

use std::collections::VecDeque;
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::thread;
use std::{io, mem};

use self::any_fork::{AnyFork, Output, Write};
use self::joiner::Joiner;
use self::scheduler::Scheduler;
use self::work_queue::{Chunk, CloseOnDrop, StartPoint, Task, WorkQueue};
use crate::checkpoint::Checkpoint;
use crate::fork::{Fork, Growth};
use crate::input::{Input, More};
use crate::listener::Listener;
use crate::session::Session;

/// The number of threads, and how the bytes are cut for them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Jobs {
    /// Threads that decode, at most 4096. With 1 the calling thread decodes. A thread is started
    /// when there is a chunk for it; where the system starts no more, fewer decode
    /// ([`Work::refused`]).
    pub count: usize,
    /// Bytes that a session is fed at a time, whatever `count` is. Checkpoints are at least this
    /// far apart. A multiple of the 16 bytes of a frame, so that a worker begins with a whole
    /// frame.
    pub step: usize,
    /// The shortest and the longest chunk, in bytes. The first chunk has the shortest
    /// length: a shorter buffer is decoded on one thread. Neither a chunk nor a step is longer than
    /// 64 MiB.
    pub chunk: RangeInclusive<usize>,
    /// Output is passed on when it takes about this many bytes of memory, also within a step.
    pub output: usize,
}

impl Jobs {
    /// The usual cuts for `count` threads.
    pub const fn new(count: usize) -> Self {
        Jobs { count, step: 1 << 12, chunk: 1 << 15..=1 << 22, output: 1 << 20 }
    }

    /// One thread for each core.
    pub fn all() -> Self {
        Jobs::new(thread::available_parallelism().map_or(1, |n| n.get()))
    }

    /// The same, where no sum of lengths overflows.
    fn limited(&self) -> Self {
        let [shortest, longest] =
            [self.chunk.start(), self.chunk.end()].map(|len| *len.min(&LONGEST));
        Jobs {
            count: self.count.min(MOST_THREADS),
            step: self.step.clamp(1, LONGEST),
            chunk: shortest..=longest.max(shortest),
            output: self.output,
        }
    }
}

/// The longest step and the longest chunk.
const LONGEST: usize = 1 << 26;
/// The most threads.
const MOST_THREADS: usize = 1 << 12;

impl Default for Jobs {
    fn default() -> Self {
        Jobs::all()
    }
}

/// The work done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// Bytes of the input that were decoded; of a run that ended before the end of the input, at
    /// most those whose output was passed on.
    pub bytes: u64,
    /// Bytes among them that were decoded twice, because a worker's output for them was not taken.
    pub again: u64,
    /// Bytes among those whose output is that of the worker of the chunk before. The calling thread
    /// decoded the others.
    pub prepared: u64,
    /// Chunks that workers decoded from the initial state.
    pub chunks: u64,
    /// Chunks among them that joined: the worker's output was taken except for the head.
    pub joined: u64,
    /// The most memory that output of workers took while it waited for the joiner, in bytes,
    /// approximately.
    pub waiting: usize,
    /// Where the system refused to start a thread: the number of threads that decoded.
    pub refused: Option<usize>,
}

/// Decodes `input` to its end on the threads of `jobs`. `output` receives the listener's output in
/// order, each time with the offset up to which the output is complete, and returns whether more is
/// wanted. The output does not depend on the number of threads; the offsets at which `output` is
/// called do: output that [grows](Growth) is passed on for each chunk, and other output more
/// and more seldom. At the end of the input the session is [finished](Session::finish).
///
/// A listener that only counts needs [`Merge`](crate::Merge), and is forked by
/// [`Merging`](crate::Merging):
///
/// ```
/// use tracewright_base::Element;
/// use tracewright_capture::Buffer;
/// use tracewright_decode::{Jobs, Listener, Merge, Merging, Session, input, parallel};
///
/// #[derive(Default)]
/// struct Exceptions(u64);
///
/// impl Listener for Exceptions {
///     fn element(&mut self, _: usize, _: u64, element: Element) {
///         self.0 += u64::from(matches!(element, Element::Exception(_)));
///     }
/// }
///
/// impl Merge for Exceptions {
///     fn merge(&mut self, later: Self) {
///         self.0 += later.0;
///     }
/// }
///
/// fn exceptions(mut session: Session, buffer: &Buffer) -> std::io::Result<u64> {
///     let (mut listener, mut all) = (Merging(Exceptions::default()), Exceptions::default());
///     let mut bytes = input::of(buffer);
///     parallel::run(&mut session, &mut *bytes, &mut listener, &Jobs::all(), |part, _| {
///         all.merge(part);
///         true
///     })?;
///     Ok(all.0)
/// }
/// ```
///
/// `session` and `listener` are left at the end of the trace, or where no more output was wanted:
/// where `output` returned `false`, or where the listener is [full](Listener::full) after a step. A
/// limit by which a listener is full belongs to its [`State`](Fork::State); it is simpler to count
/// in `output`.
///
/// # Errors
/// Where the input cannot be read. The trace ends there: the output for the bytes before is passed
/// on.
pub fn run<L, I, S>(
    session: &mut Session,
    input: &mut I,
    listener: &mut L,
    jobs: &Jobs,
    mut output: S,
) -> io::Result<Work>
where
    L: Listener + Fork + Send,
    I: Input + ?Sized,
    S: FnMut(L::Output, u64) -> bool,
{
    let mut write = |found: Output, at| {
        // Always of this type: that of a fork of `listener`.
        found.downcast().is_ok_and(|found| output(*found, at))
    };
    run_any((session, None), &mut &mut *input, listener, jobs, &mut write)
}

/// As [`run`], of a part of a trace: `session` is in the actual state at its beginning, `blank` is
/// the initial state of `session` at the beginning of the buffer, and the session is not finished.
///
/// # Errors
/// Where the input cannot be read.
pub fn run_part<L, I, S>(
    (session, blank): (&mut Session, &Checkpoint),
    input: &mut I,
    listener: &mut L,
    jobs: &Jobs,
    mut output: S,
) -> io::Result<Work>
where
    L: Listener + Fork + Send,
    I: Input + ?Sized,
    S: FnMut(L::Output, u64) -> bool,
{
    let mut write = |found: Output, at| found.downcast().is_ok_and(|found| output(*found, at));
    run_any((session, Some(blank)), &mut &mut *input, listener, jobs, &mut write)
}

/// Decodes a part where the initial state of workers is given, otherwise all.
fn run_any<'a>(
    (session, blank): (&'a mut Session, Option<&Checkpoint>),
    input: &mut dyn Input,
    listener: &'a mut dyn AnyFork,
    jobs: &Jobs,
    output: &'a mut Write<'a>,
) -> io::Result<Work> {
    let jobs = &jobs.limited();
    let mut scheduler = Scheduler::new(jobs);
    let mut chunks = Chunks {
        input,
        step: jobs.step,
        buffer: Vec::new(),
        spare: Vec::new(),
        ended: false,
        error: None,
    };
    let mut joiner = Joiner::new(session, listener, output, jobs);
    // Output that the listener has before the first byte.
    joiner.flush();
    if jobs.count <= 1 {
        decode_alone(&mut chunks, &mut joiner, &mut scheduler);
    } else {
        decode_with_workers(&mut chunks, &mut joiner, &mut scheduler, (jobs, blank));
    }
    if blank.is_none() {
        joiner.finish();
    }
    chunks.error.map_or_else(|| Ok(joiner.work()), Err)
}

/// Cuts the input into chunks.
struct Chunks<'a> {
    input: &'a mut dyn Input,
    step: usize,
    /// Bytes that make no whole chunk yet.
    buffer: Vec<u8>,
    /// Memory of earlier chunks, to be reused.
    spare: Vec<Vec<u8>>,
    ended: bool,
    /// The error of the read that ended the input.
    error: Option<io::Error>,
}

impl Chunks<'_> {
    /// The next chunk: `len` bytes, or as many as are available now, and up to `overlap` bytes of
    /// the one after it. `None` at the end, and if too few bytes are available. If the caller is
    /// `idle`, that is if it has no other work, the call waits for bytes, and a chunk may be
    /// shorter.
    fn next(&mut self, len: usize, overlap: usize, idle: bool) -> Option<Chunk> {
        while !self.ended && self.buffer.len() < len + overlap {
            let wait = idle && self.buffer.len() < self.step;
            let room = len + overlap - self.buffer.len();
            self.buffer.reserve(room);
            match self.input.more(room, wait, &mut self.buffer) {
                Ok(More::Some) => {}
                Ok(More::End) => self.ended = true,
                Ok(More::Later) if idle => break,
                Ok(More::Later) => return None,
                Err(error) => (self.ended, self.error) = (true, Some(error)),
            }
        }
        // The ends of steps do not depend on the number of threads nor on when bytes arrive.
        let whole = match self.buffer.len() {
            all if all > len => len,
            all if self.ended => all,
            some => some / self.step * self.step,
        };
        let mut bytes = mem::replace(&mut self.buffer, self.spare.pop().unwrap_or_default());
        self.buffer.extend_from_slice(bytes.get(whole..).unwrap_or_default());
        let after = (bytes.len() - whole).min(overlap) / self.step * self.step;
        bytes.truncate(whole + after);
        (whole > 0).then_some(Chunk { bytes, len: whole })
    }

    /// The length of the next chunk for `count` workers: `len`, or less near the end, so that the
    /// workers end at about the same time.
    fn share(&self, len: usize, count: usize) -> usize {
        let Some(left) = self.input.left() else { return len };
        let left = usize::try_from(left).unwrap_or(usize::MAX).saturating_add(self.buffer.len());
        len.min((left / (2 * count)).next_multiple_of(self.step).max(LEAST_STEPS * self.step))
    }

    /// Takes back the memory of a chunk.
    fn reuse(&mut self, chunk: Chunk) {
        let mut bytes = chunk.bytes;
        bytes.clear();
        self.spare.push(bytes);
    }
}

/// The least number of steps of a chunk near the end: a large part of a shorter chunk is decoded
/// twice.
const LEAST_STEPS: usize = 32;

/// On one thread, this many bytes are read at a time, which stay in the processor's caches until
/// they are decoded.
const READ: usize = 1 << 16;

/// Decodes the input on the calling thread.
fn decode_alone(chunks: &mut Chunks<'_>, joiner: &mut Joiner<'_>, scheduler: &mut Scheduler) {
    let grows = joiner.listener.size().growth != Growth::None;
    // Output that does not grow is passed on less and less often: the tables that a listener has
    // made for it are lost each time.
    let mut until = if grows { scheduler.len } else { scheduler.longest };
    // Bytes whose output was not passed on.
    let mut fed = 0;
    while joiner.wants_more() {
        let len = READ.next_multiple_of(chunks.step).min(until - fed);
        let Some(chunk) = chunks.next(len, 0, true) else { break };
        joiner.feed_all(&chunk.bytes);
        fed += chunk.len;
        // No more bytes are available now, or the output is that of a chunk.
        if chunk.len < len || fed >= until {
            joiner.flush();
            scheduler.output(fed, 0);
            until = if grows { scheduler.len } else { (2 * until).min(LONGEST) };
            fed = 0;
        }
        chunks.reuse(chunk);
    }
}

/// Decodes the chunks on `count` workers, which begin in the state `blank`, or that of the session.
fn decode_with_workers(
    chunks: &mut Chunks<'_>,
    joiner: &mut Joiner<'_>,
    scheduler: &mut Scheduler,
    (jobs, blank): (&Jobs, Option<&Checkpoint>),
) {
    let Some(first) = chunks.next(scheduler.len, 0, true) else { return };
    if chunks.ended {
        return joiner.decode(&first.bytes);
    }
    let mut count = jobs.count;
    let queue = WorkQueue::new(count);
    // Workers begin in the initial state.
    let mut session = joiner.session.clone();
    if let Some(blank) = blank {
        session.resume(blank.clone());
    }
    thread::scope(|scope| {
        let _close = CloseOnDrop(&queue);
        let start = |mut listener: Box<dyn AnyFork>| {
            let (queue, session) = (&queue, session.clone());
            let work = move || worker::work(queue, session, &mut *listener, jobs);
            thread::Builder::new().spawn_scoped(scope, work).is_ok()
        };
        let mut workers = 0;
        let mut next = Some(first);
        // The chunks that are not joined yet, and whether their workers began in the actual state.
        let mut pending: VecDeque<(Arc<Chunk>, bool)> = VecDeque::new();
        let mut at = joiner.session.state().at();
        // The state of the link at the beginning of each chunk: to follow the link is much faster
        // than to decode.
        let mut link = joiner.session.state().route.clone();
        loop {
            let most = scheduler.chunks(count);
            while pending.len() < most && (scheduler.hold == 0 || pending.is_empty()) {
                let chunk = match next.take() {
                    Some(first) => Some(first),
                    None => {
                        let len = chunks.share(scheduler.len, count);
                        let alone = most == 1 || pending.is_empty() && scheduler.hold > 0;
                        let overlap = if alone { 0 } else { scheduler.overlap(len) };
                        chunks.next(len, overlap, pending.is_empty())
                    }
                };
                let Some(chunk) = chunk else { break };
                let known = pending.is_empty();
                if known && scheduler.hold > 0 {
                    scheduler.hold -= 1;
                    at += chunk.len as u64;
                    joiner.decode(chunk.split().0);
                    chunks.reuse(chunk);
                    if !joiner.wants_more() {
                        return;
                    }
                    continue;
                }
                if workers < count && workers <= pending.len() {
                    if start(joiner.listener.fork()) {
                        workers += 1;
                    } else {
                        count = workers;
                        joiner.work.refused = Some(workers.max(1));
                    }
                }
                if workers == 0 {
                    joiner.decode(chunk.split().0);
                    return decode_alone(chunks, joiner, scheduler);
                }
                let from = if known {
                    let state = joiner.state();
                    link.clone_from(&state.0.route);
                    StartPoint::Known(state)
                } else {
                    StartPoint::Link(link.clone(), joiner.listener.fork().state())
                };
                link.skip(at, chunk.split().0);
                let chunk = Arc::new(chunk);
                pending.push_back((Arc::clone(&chunk), known));
                let len = chunk.len as u64;
                queue.give(Task { at, chunk, from });
                at += len;
            }
            let Some((chunk, known)) = pending.pop_front() else { return };
            joiner.join(&queue, chunk.split().0, known, scheduler);
            joiner.work.waiting = joiner.work.waiting.max(queue.most());
            if !joiner.wants_more() {
                return;
            }
            // The worker has dropped its reference.
            Arc::into_inner(chunk).into_iter().for_each(|chunk| chunks.reuse(chunk));
        }
    })
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::sync::Mutex;
    use std::sync::atomic::{AtomicU64, Ordering};

    use tracewright_base::Element;
    use tracewright_capture::{Buffer, BufferRef, Capture, Format, Source};

    use super::*;
    use crate::fork::{ForkState, Received, Size};
    use crate::input::Parts;
    use crate::memory::Memory;
    use crate::plan::{Options, Plan};

    #[derive(Default)]
    struct Offsets(Vec<u64>);

    impl Listener for Offsets {
        fn element(&mut self, _: usize, at: u64, _: Element) {
            self.0.push(at);
        }
    }

    impl Fork for Offsets {
        type State = ();
        type Output = Vec<u64>;

        fn fork(&self) -> Self {
            Offsets::default()
        }

        fn state(&self) {}

        fn resume(&mut self, (): ()) {
            self.0.clear();
        }

        fn take(&mut self) -> Vec<u64> {
            mem::take(&mut self.0)
        }
    }

    /// A capture of an ITM.
    fn itm(bytes: &[u8]) -> Capture {
        Capture {
            buffers: vec![Buffer::new("swo", Format::SourceData, bytes.to_vec())],
            sources: vec![Source {
                device_type: "ITM".into(),
                buffers: vec![BufferRef { buffer: 0, stream: None }],
                ..Source::default()
            }],
            ..Capture::default()
        }
    }

    #[test]
    fn cuts_may_have_any_numbers() {
        let bytes = [vec![0, 0, 0, 0, 0, 0x80], [0x01, b'h'].repeat(100)].concat();
        let capture = itm(&bytes);
        let (options, memory) = (Options::default(), Memory::new(&capture));
        let plan = Plan::new(&capture, 0, &options).expect("buffer 0");
        const MAX: usize = usize::MAX;
        for (count, step, shortest, longest, output) in [
            (1, 4096, 0, 0, 1),
            (0, 0, 0, 0, 0),
            (2, 0, 9, 5, 0),
            (1, MAX, MAX, MAX, MAX),
            (2, 16, MAX, MAX, MAX),
            (2, MAX, 1, 2, 1),
            (MAX, 16, 16, MAX, 16),
            (2, 16, 16, 16, 16),
        ] {
            let jobs = Jobs { count, step, chunk: shortest..=longest, output };
            let mut session = Session::new(&capture, &plan, &memory, &options).expect("a session");
            let mut offsets = Vec::new();
            let mut input = Parts::new([&bytes]);
            let done = run(&mut session, &mut input, &mut Offsets::default(), &jobs, |more, _| {
                offsets.extend(more);
                true
            });
            let done = done.expect("bytes");
            assert_eq!(done.bytes, bytes.len() as u64, "{jobs:?}");
            assert_eq!(offsets.len(), 102, "{jobs:?}");
            // All but the first chunk of 16 bytes begin in a state that is not known.
            let many = count == 2 && step == 16 && shortest == 16;
            assert!(done.joined <= done.chunks && (done.chunks > 1 || !many), "{done:?}");
        }
    }

    /// A part has the output that the whole has of it, and its end is not that of the trace.
    #[test]
    fn a_part_has_the_output_of_the_whole() {
        // The last byte begins a packet.
        let bytes = [vec![0, 0, 0, 0, 0, 0x80], [0x01, b'h'].repeat(2000), vec![0x01]].concat();
        let capture = itm(&bytes);
        let (options, memory) = (Options::default(), Memory::new(&capture));
        let plan = Plan::new(&capture, 0, &options).expect("buffer 0");
        let jobs = |count| Jobs { count, step: 16, chunk: 64..=256, output: 16 };
        let session = || Session::new(&capture, &plan, &memory, &options).expect("a session");
        let mut whole = Vec::new();
        let (mut input, mut listener) = (Parts::new([&bytes]), Offsets::default());
        let done = run(&mut session(), &mut input, &mut listener, &jobs(1), |more, _| {
            whole.extend(more);
            true
        });
        done.expect("bytes");
        for (count, cut) in [(1, 1000), (3, 1000), (3, 7), (2, 4000)] {
            let mut session = session();
            let blank = session.state().clone();
            let mut found = Offsets::default();
            session.feed(&bytes[..cut], &mut found);
            let mut input = Parts::new([&bytes[cut..]]);
            let mut own = mem::take(&mut found.0);
            let part = (&mut session, &blank);
            let work = run_part(part, &mut input, &mut listener, &jobs(count), |more, _| {
                own.extend(more);
                true
            });
            assert_eq!(work.expect("bytes").chunks > 1, count > 1 && cut < 4000);
            assert!(own.len() < whole.len() && whole.starts_with(&own), "{count} {cut}");
            session.finish(&mut found);
            own.append(&mut found.0);
            assert_eq!(own, whole, "{count} {cut}");
        }
    }

    /// Remembers the threads that decode.
    struct Threads(Arc<Mutex<HashSet<thread::ThreadId>>>);

    impl Listener for Threads {
        fn element(&mut self, _: usize, _: u64, _: Element) {
            self.0.lock().expect("no panic").insert(thread::current().id());
        }
    }

    impl Fork for Threads {
        type State = ();
        type Output = ();

        fn fork(&self) -> Self {
            Threads(Arc::clone(&self.0))
        }

        fn state(&self) {}

        fn resume(&mut self, (): ()) {}

        fn take(&mut self) {}
    }

    #[test]
    fn no_more_threads_decode_than_asked_for() {
        let bytes = [vec![0, 0, 0, 0, 0, 0x80], [0x01, b'h'].repeat(20_000)].concat();
        let capture = itm(&bytes);
        let (options, memory) = (Options::default(), Memory::new(&capture));
        let plan = Plan::new(&capture, 0, &options).expect("buffer 0");
        let threads = Arc::default();
        let jobs = Jobs { count: 3, step: 16, chunk: 64..=64, output: 16 };
        let mut session = Session::new(&capture, &plan, &memory, &options).expect("a session");
        let mut listener = Threads(Arc::clone(&threads));
        let work = run(&mut session, &mut Parts::new([&bytes]), &mut listener, &jobs, |_, _| true);
        assert!(work.expect("bytes").chunks > 3);
        // The joiner decodes, too.
        assert!((2..=4).contains(&threads.lock().expect("no panic").len()));
    }

    /// Makes [`Lines::OF_ONE`] bytes of output for each element, [`Lines::PART`] of them at a time.
    #[derive(Default)]
    struct Lines {
        text: Vec<u8>,
        rest: usize,
    }

    impl Lines {
        const OF_ONE: usize = 1000;
        const PART: usize = 10;
    }

    impl Listener for Lines {
        fn element(&mut self, _: usize, _: u64, _: Element) {
            self.text.resize(self.text.len() + Lines::OF_ONE, b'.');
        }
    }

    impl Fork for Lines {
        type State = ();
        type Output = Vec<u8>;

        fn fork(&self) -> Self {
            Lines::default()
        }

        fn state(&self) {}

        fn resume(&mut self, (): ()) {
            *self = Lines::default();
        }

        fn take(&mut self) -> Vec<u8> {
            mem::take(&mut self.text)
        }

        fn size(&self) -> Size {
            Size::of(self.text.len())
        }

        fn receive(&mut self, next: Option<Received>) -> bool {
            if next.is_some() {
                assert_eq!(self.rest, 0, "the output of the element before is complete");
                self.rest = Lines::OF_ONE;
            }
            self.text.resize(self.text.len() + Lines::PART, b'.');
            self.rest -= Lines::PART;
            self.rest > 0
        }
    }

    /// The number of the last element; output of each element takes [`Heavy::OF_ONE`] bytes.
    struct Heavy {
        last: u64,
        waiting: Vec<u64>,
        /// The elements that all listeners have received.
        received: Arc<AtomicU64>,
    }

    impl Heavy {
        const OF_ONE: usize = 1 << 14;
    }

    impl Listener for Heavy {
        fn element(&mut self, _: usize, _: u64, _: Element) {
            self.last += 1;
            self.waiting.push(self.last);
            self.received.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[derive(Clone)]
    struct Last(u64);

    impl ForkState for Last {
        fn same(&self, _: usize, other: &Self) -> bool {
            self.0 == other.0
        }

        fn adopt(&mut self, _: usize, other: &Self) {
            self.0 = other.0;
        }
    }

    impl Fork for Heavy {
        type State = Last;
        type Output = Vec<u64>;

        fn fork(&self) -> Self {
            Heavy { last: 0, waiting: Vec::new(), received: Arc::clone(&self.received) }
        }

        fn state(&self) -> Last {
            Last(self.last)
        }

        fn resume(&mut self, Last(last): Last) {
            self.last = last;
            self.waiting.clear();
        }

        fn take(&mut self) -> Vec<u64> {
            mem::take(&mut self.waiting)
        }

        fn size(&self) -> Size {
            Size::of(Heavy::OF_ONE * self.waiting.len())
        }
    }

    /// Chunks that do not join, and whose output is large, are seldom begun.
    #[test]
    fn large_output_is_not_made_in_vain() {
        const WRITES: u64 = 1 << 16;
        // A worker begins at the first synchronisation.
        let some = [vec![0, 0, 0, 0, 0, 0x80], [0x01, b'h'].repeat(64)].concat();
        let bytes = some.repeat(WRITES as usize / 64);
        let capture = itm(&bytes);
        let (options, memory) = (Options::default(), Memory::new(&capture));
        let plan = Plan::new(&capture, 0, &options).expect("buffer 0");
        for count in [1, 2, 3] {
            let jobs = Jobs { count, step: 1 << 10, chunk: 1 << 15..=1 << 15, output: 1 << 20 };
            let mut session = Session::new(&capture, &plan, &memory, &options).expect("a session");
            let received = Arc::new(AtomicU64::new(0));
            let mut heavy = Heavy { last: 0, waiting: Vec::new(), received: Arc::clone(&received) };
            let (mut input, mut found) = (Parts::new([&bytes]), Vec::new());
            let work = run(&mut session, &mut input, &mut heavy, &jobs, |more, _| {
                found.extend(more);
                true
            });
            let work = work.expect("bytes");
            assert_eq!(work.joined, 0, "{count}");
            // A gap is first, and the end is last.
            assert_eq!(found, (1..=WRITES + 2).collect::<Vec<_>>(), "{count}");
            let received = received.load(Ordering::Relaxed);
            let most = WRITES + 2 + if count > 1 { WRITES / 3 } else { 0 };
            assert!((WRITES + 2..=most).contains(&received), "{count}: {received}");
        }
    }

    /// The output of one element is taken while it is made, and no more of it is made where no more
    /// is wanted.
    #[test]
    fn output_of_an_element_is_taken_in_parts() {
        const WRITES: usize = 200;
        let bytes = [vec![0, 0, 0, 0, 0, 0x80], [0x01, b'h'].repeat(WRITES)].concat();
        let capture = itm(&bytes);
        let (options, memory) = (Options::default(), Memory::new(&capture));
        let plan = Plan::new(&capture, 0, &options).expect("buffer 0");
        // A gap is first, and the end is last.
        let all = (WRITES + 2) * Lines::OF_ONE;
        for (count, wanted) in [(1, all), (2, all), (3, all), (1, 2500), (2, 2500)] {
            let jobs = Jobs { count, step: 16, chunk: 64..=64, output: 100 };
            let mut session = Session::new(&capture, &plan, &memory, &options).expect("a session");
            let (mut len, mut most, mut input) = (0, 0, Parts::new([&bytes]));
            let mut listener = Lines::default();
            let work = run(&mut session, &mut input, &mut listener, &jobs, |text, _| {
                (len, most) = (len + text.len(), most.max(text.len()));
                len < wanted
            });
            work.expect("bytes");
            // Less than the output of one element, and what was made beyond the bound.
            assert!(most <= jobs.output + Lines::PART, "{count}: {most}");
            assert!((wanted..wanted + jobs.output + Lines::PART).contains(&len), "{count}: {len}");
        }
    }
}
