//! One buffer on several threads, with the answer of one.
//!
//! The buffer is cut into stretches. Each is decoded on a worker that knows nothing of what came
//! before it, with checkpoints on the way (segments end there). Whoever joins them knows where the
//! trace really is at the beginning of a stretch. It decodes the head of the stretch again from
//! there, **until it is in the same state as the worker was at a checkpoint**: from there on the
//! worker said what anyone would have said, and it is taken as it stands. What the state is: that
//! of the link, of each source with the bytes that make no whole packet yet, and of the listener.
//! See `docs/parallel.md`.
//!
//! Sources that are silent need not be in the same state: a segment is taken where all that speak
//! in it are.

mod join;
mod scheduler;
mod work_queue;
mod worker;

use std::collections::VecDeque;
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::thread;
use std::{io, mem};

use self::join::Joiner;
use self::scheduler::Scheduler;
use self::work_queue::{Closes, From, Task, WorkQueue};
use crate::input::{Input, More};
use crate::{Fork, Listener, Session};

/// How many threads, and how the bytes are cut for them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Jobs {
    /// Threads that decode. One decodes in the caller's.
    pub count: usize,
    /// Bytes that a session is fed at a time, whatever `count` is: checkpoints are this far apart
    /// at least. A multiple of the frame's 16, so that a worker begins with a whole frame.
    pub step: usize,
    /// The length of stretches, in bytes: the first is as short as this allows.
    pub chunk: RangeInclusive<usize>,
}

impl Jobs {
    /// The usual cuts for `count` threads.
    pub const fn new(count: usize) -> Self {
        Jobs { count, step: 1 << 12, chunk: 1 << 15..=1 << 22 }
    }

    /// A thread for each core.
    pub fn all() -> Self {
        Jobs::new(thread::available_parallelism().map_or(1, |n| n.get()))
    }
}

impl Default for Jobs {
    fn default() -> Self {
        Jobs::all()
    }
}

/// How much was done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// Bytes of the input that were decoded.
    pub bytes: u64,
    /// Those of them that a worker decoded, too, not knowing what came before: in vain.
    pub again: u64,
    /// Stretches that workers began not knowing what came before.
    pub chunks: u64,
    /// Those of them that were taken as they stand, but for their head.
    pub joined: u64,
    /// The most memory that what workers had said took while it waited to be taken, in bytes,
    /// about.
    pub waiting: usize,
}

/// Decodes `input` to its end, on as many threads as `jobs` says. `output` gets what the listener
/// says, in order, and the place up to which that is all; it answers whether more is wanted.
/// Neither depends on how many threads there are, but for the places where `output` is called.
///
/// `session` and `listener` are left at the end of the trace, or where no more was wanted.
///
/// # Errors
/// Where the input cannot be read: what came before was said, and the trace ends there.
pub fn run<L, I, S>(
    session: &mut Session,
    input: &mut I,
    listener: &mut L,
    jobs: &Jobs,
    output: S,
) -> io::Result<Work>
where
    L: Listener + Fork + Send,
    I: Input + ?Sized,
    S: FnMut(L::Output, u64) -> bool,
{
    let mut scheduler = Scheduler::new(jobs);
    let mut chunks = Chunks {
        input,
        step: jobs.step.max(1),
        buffer: Vec::new(),
        spare: Vec::new(),
        ended: false,
    };
    let mut joiner = Joiner::new(session, listener, output, chunks.step);
    // What the listener had to say before anything came.
    joiner.hand_on();
    let done = if jobs.count <= 1 {
        in_turn(&mut chunks, &mut joiner, &mut scheduler)
    } else {
        apart(&mut chunks, &mut joiner, &mut scheduler, jobs.count)
    };
    joiner.finish();
    done.map(|()| joiner.work())
}

/// The input, cut.
struct Chunks<'a, I: ?Sized> {
    input: &'a mut I,
    step: usize,
    /// Bytes that make no whole stretch yet.
    buffer: Vec<u8>,
    /// Room that stretches before had, to be used again.
    spare: Vec<Vec<u8>>,
    ended: bool,
}

impl<I: Input + ?Sized> Chunks<'_, I> {
    /// The next stretch, of `len` bytes where the input has so many now. `None` at the end, and
    /// where there is too little yet and the caller has something else to do: is not `idle`.
    fn next(&mut self, len: usize, idle: bool) -> io::Result<Option<Vec<u8>>> {
        while !self.ended && self.buffer.len() < len {
            let wait = idle && self.buffer.len() < self.step;
            let room = len - self.buffer.len();
            self.buffer.reserve(room);
            match self.input.more(room, wait, &mut self.buffer)? {
                More::Some => {}
                More::End => self.ended = true,
                More::Later if idle => break,
                More::Later => return Ok(None),
            }
        }
        // Cuts are where they would be without threads and without waiting.
        let whole = match self.buffer.len() {
            all if self.ended => all,
            some => some / self.step * self.step,
        };
        let mut chunk = mem::replace(&mut self.buffer, self.spare.pop().unwrap_or_default());
        self.buffer.extend_from_slice(chunk.get(whole..).unwrap_or_default());
        chunk.truncate(whole);
        Ok((!chunk.is_empty()).then_some(chunk))
    }

    /// How long the next stretch is, where that of `len` would be right, for `count` workers: near
    /// the end they get shorter, so that no worker is left alone with a long one.
    fn share(&self, len: usize, count: usize) -> usize {
        let Some(left) = self.input.left() else { return len };
        let left = usize::try_from(left).unwrap_or(usize::MAX).saturating_add(self.buffer.len());
        len.min((left / (2 * count)).next_multiple_of(self.step).max(LAST * self.step))
    }

    /// Takes the room of a stretch that is done with.
    fn reuse(&mut self, mut chunk: Vec<u8>) {
        chunk.clear();
        self.spare.push(chunk);
    }
}

/// Near the end stretches have so many steps at least: shorter ones are decoded twice to a large
/// part.
const LAST: usize = 32;

/// So many stretches more than there are workers are begun or wait for a worker: the one that is
/// being joined, and one for whoever is done first.
const AHEAD: usize = 2;

/// One stretch after another.
fn in_turn<L, I, S>(
    chunks: &mut Chunks<'_, I>,
    joiner: &mut Joiner<'_, L, S>,
    scheduler: &mut Scheduler,
) -> io::Result<()>
where
    L: Listener + Fork,
    I: Input + ?Sized,
    S: FnMut(L::Output, u64) -> bool,
{
    while joiner.wants_more()
        && let Some(chunk) = chunks.next(scheduler.len, true)?
    {
        joiner.decode(&chunk);
        scheduler.output(chunk.len(), 0);
        chunks.reuse(chunk);
    }
    Ok(())
}

/// Stretches on `count` workers.
fn apart<L, I, S>(
    chunks: &mut Chunks<'_, I>,
    joiner: &mut Joiner<'_, L, S>,
    scheduler: &mut Scheduler,
    count: usize,
) -> io::Result<()>
where
    L: Listener + Fork + Send,
    I: Input + ?Sized,
    S: FnMut(L::Output, u64) -> bool,
{
    let Some(first) = chunks.next(scheduler.len, true)? else { return Ok(()) };
    if chunks.ended {
        joiner.decode(&first);
        return Ok(());
    }
    let queue = WorkQueue::new(count);
    thread::scope(|scope| {
        let _closes = Closes(&queue);
        for _ in 0..count {
            let (queue, session, listener) =
                (&queue, joiner.session.clone(), joiner.listener.fork());
            let step = chunks.step;
            scope.spawn(move || worker::work(queue, session, listener, step));
        }
        let mut next = Some(first);
        // Stretches that workers have: where they are, their bytes, and whether they began where
        // the trace was known to be.
        let mut lanes: VecDeque<(Arc<Vec<u8>>, bool)> = VecDeque::new();
        let mut at = joiner.session.state().at();
        // To split is quick. So the link is followed here, and workers know the id that each begins
        // with.
        let mut link = joiner.session.state().route.clone();
        loop {
            while lanes.len() < count + AHEAD && (scheduler.hold == 0 || lanes.is_empty()) {
                let chunk = match next.take() {
                    Some(first) => Some(first),
                    None => chunks.next(chunks.share(scheduler.len, count), lanes.is_empty())?,
                };
                let Some(chunk) = chunk else { break };
                let known = lanes.is_empty();
                if known && scheduler.hold > 0 {
                    scheduler.hold -= 1;
                    at += chunk.len() as u64;
                    joiner.decode(&chunk);
                    chunks.reuse(chunk);
                    if !joiner.wants_more() {
                        return Ok(());
                    }
                    continue;
                }
                let from = if known {
                    let (checkpoint, state) = joiner.offset();
                    link.clone_from(&checkpoint.route);
                    From::Known(checkpoint, state)
                } else {
                    From::Link(link.clone(), joiner.listener.fork().state())
                };
                link.skip(at, &chunk);
                let bytes = Arc::new(chunk);
                lanes.push_back((Arc::clone(&bytes), known));
                let len = bytes.len() as u64;
                queue.give(Task { at, bytes, from });
                at += len;
            }
            let Some((bytes, known)) = lanes.pop_front() else { return Ok(()) };
            joiner.join(&queue, &bytes, known, scheduler);
            joiner.work.waiting = joiner.work.waiting.max(queue.most());
            if !joiner.wants_more() {
                return Ok(());
            }
            // The worker has let go of it.
            Arc::into_inner(bytes).into_iter().for_each(|chunk| chunks.reuse(chunk));
        }
    })
}
