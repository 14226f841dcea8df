//! One buffer on several threads, with the answer of one.
//!
//! The buffer is cut into stretches. Each is decoded on a worker that knows nothing of what came before
//! it, with checkpoints on the way (segments end there). Whoever joins them knows where the trace
//! really is at the beginning of a stretch. It decodes the head of the stretch again from there, **until it
//! is in the same state as the worker was at a checkpoint**: from there on the worker said what anyone
//! would have said, and it is taken as it stands. What the state is: that of the link, of each source with
//! the bytes that make no whole packet yet, and of the listener. See `docs/parallel.md`.
//!
//! Sources that are silent need not be in the same state: a segment is taken where all that speak in it
//! are.

mod board;
mod join;
mod pace;
mod turns;
mod worker;

use std::collections::VecDeque;
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::thread;
use std::{io, mem};

use self::board::{Board, Closes, From, Task};
use self::join::Truth;
use self::pace::Pace;
pub use self::turns::{Part, each};
use crate::input::{Input, More};
use crate::{Fork, Listener, Session};

/// How many threads, and how the bytes are cut for them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Jobs {
    /// Threads that decode. One decodes in the caller's.
    pub count: usize,
    /// Bytes that a session is fed at a time, whatever `count` is: checkpoints are this far apart at
    /// least. A multiple of the frame's 16, so that a worker begins with a whole frame.
    pub step: usize,
    /// The length of stretches, in bytes: the first is as short as this allows.
    pub stretch: RangeInclusive<usize>,
}

impl Jobs {
    /// The usual cuts for `count` threads.
    pub const fn new(count: usize) -> Self {
        Jobs { count, step: 1 << 12, stretch: 1 << 15..=1 << 22 }
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
    pub stretches: u64,
    /// Those of them that were taken as they stand, but for their head.
    pub joined: u64,
    /// The most memory that what workers had said took while it waited to be taken, in bytes, about.
    pub waiting: usize,
}

/// Decodes `input` to its end, on as many threads as `jobs` says. `said` gets what the listener says, in
/// order, and the place up to which that is all; it answers whether more is wanted. Neither depends on
/// how many threads there are, but for the places where `said` is called.
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
    said: S,
) -> io::Result<Work>
where
    L: Listener + Fork + Send,
    I: Input + ?Sized,
    S: FnMut(L::Said, u64) -> bool,
{
    let mut pace = Pace::new(jobs);
    let mut stretches = Stretches {
        input,
        step: jobs.step.max(1),
        buffer: Vec::new(),
        spare: Vec::new(),
        ended: false,
    };
    let mut truth = Truth::new(session, listener, said, stretches.step);
    // What the listener had to say before anything came.
    truth.hand_on();
    let done = if jobs.count <= 1 {
        in_turn(&mut stretches, &mut truth, &mut pace)
    } else {
        apart(&mut stretches, &mut truth, &mut pace, jobs.count)
    };
    truth.finish();
    done.map(|()| truth.work())
}

/// The input, cut.
struct Stretches<'a, I: ?Sized> {
    input: &'a mut I,
    step: usize,
    /// Bytes that make no whole stretch yet.
    buffer: Vec<u8>,
    /// Room that stretches before had, to be used again.
    spare: Vec<Vec<u8>>,
    ended: bool,
}

impl<I: Input + ?Sized> Stretches<'_, I> {
    /// The next stretch, of `len` bytes where the input has so many now. `None` at the end, and where there
    /// is too little yet and the caller has something else to do: is not `idle`.
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
        let mut stretch = mem::replace(&mut self.buffer, self.spare.pop().unwrap_or_default());
        self.buffer.extend_from_slice(stretch.get(whole..).unwrap_or_default());
        stretch.truncate(whole);
        Ok((!stretch.is_empty()).then_some(stretch))
    }

    /// How long the next stretch is, where that of `len` would be right, for `count` workers: near the end they get
    /// shorter, so that no worker is left alone with a long one.
    fn share(&self, len: usize, count: usize) -> usize {
        let Some(left) = self.input.left() else { return len };
        let left = usize::try_from(left).unwrap_or(usize::MAX).saturating_add(self.buffer.len());
        len.min((left / (2 * count)).next_multiple_of(self.step).max(LAST * self.step))
    }

    /// Takes the room of a stretch that is done with.
    fn reuse(&mut self, mut stretch: Vec<u8>) {
        stretch.clear();
        self.spare.push(stretch);
    }
}

/// Near the end stretches have so many steps at least: shorter ones are decoded twice to a large part.
const LAST: usize = 32;

/// So many stretches more than there are workers are begun or wait for a worker: the one that is being joined, and
/// one for whoever is done first.
const AHEAD: usize = 2;

/// One stretch after another.
fn in_turn<L, I, S>(
    stretches: &mut Stretches<'_, I>,
    truth: &mut Truth<'_, L, S>,
    pace: &mut Pace,
) -> io::Result<()>
where
    L: Listener + Fork,
    I: Input + ?Sized,
    S: FnMut(L::Said, u64) -> bool,
{
    while truth.wants_more()
        && let Some(stretch) = stretches.next(pace.len, true)?
    {
        truth.decode(&stretch);
        pace.said(stretch.len(), 0);
        stretches.reuse(stretch);
    }
    Ok(())
}

/// Stretches on `count` workers.
fn apart<L, I, S>(
    stretches: &mut Stretches<'_, I>,
    truth: &mut Truth<'_, L, S>,
    pace: &mut Pace,
    count: usize,
) -> io::Result<()>
where
    L: Listener + Fork + Send,
    I: Input + ?Sized,
    S: FnMut(L::Said, u64) -> bool,
{
    let Some(first) = stretches.next(pace.len, true)? else { return Ok(()) };
    if stretches.ended {
        truth.decode(&first);
        return Ok(());
    }
    let board = Board::new(count);
    thread::scope(|scope| {
        let _closes = Closes(&board);
        for _ in 0..count {
            let (board, session, listener) = (&board, truth.session.clone(), truth.listener.fork());
            let step = stretches.step;
            scope.spawn(move || worker::work(board, session, listener, step));
        }
        let mut next = Some(first);
        // Stretches that workers have: where they are, their bytes, and whether they began where the trace
        // was known to be.
        let mut lanes: VecDeque<(Arc<Vec<u8>>, bool)> = VecDeque::new();
        let mut at = truth.session.state().at();
        // To split is quick. So the link is followed here, and workers know the id that each begins with.
        let mut link = truth.session.state().route.clone();
        loop {
            while lanes.len() < count + AHEAD && (pace.hold == 0 || lanes.is_empty()) {
                let stretch = match next.take() {
                    Some(first) => Some(first),
                    None => stretches.next(stretches.share(pace.len, count), lanes.is_empty())?,
                };
                let Some(stretch) = stretch else { break };
                let known = lanes.is_empty();
                if known && pace.hold > 0 {
                    pace.hold -= 1;
                    at += stretch.len() as u64;
                    truth.decode(&stretch);
                    stretches.reuse(stretch);
                    if !truth.wants_more() {
                        return Ok(());
                    }
                    continue;
                }
                let from = if known {
                    let (checkpoint, state) = truth.place();
                    link.clone_from(&checkpoint.route);
                    From::Known(checkpoint, state)
                } else {
                    From::Link(link.clone(), truth.listener.fork().state())
                };
                link.skip(at, &stretch);
                let bytes = Arc::new(stretch);
                lanes.push_back((Arc::clone(&bytes), known));
                let len = bytes.len() as u64;
                board.give(Task { at, bytes, from });
                at += len;
            }
            let Some((bytes, known)) = lanes.pop_front() else { return Ok(()) };
            truth.join(&board, &bytes, known, pace);
            truth.work.waiting = truth.work.waiting.max(board.most());
            if !truth.wants_more() {
                return Ok(());
            }
            // The worker has let go of it.
            Arc::into_inner(bytes).into_iter().for_each(|stretch| stretches.reuse(stretch));
        }
    })
}
