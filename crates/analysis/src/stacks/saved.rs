//! The state of call stacks as a value: what continues from it makes the frames that the original
//! stacks would make.

use std::collections::VecDeque;

use super::engine::Source;
use super::frame::NOT_NAMED;
use super::suspended::{Named, Suspended};
use super::{Begin, Beyond, Entry, Frame, FunctionId, Position, Stacks, Thread, Visitor};

/// A frame that is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SavedFrame {
    /// The function.
    pub function: FunctionId,
    /// The address to which it returns.
    pub ret: Option<u64>,
    /// How it began.
    pub entry: Entry,
    /// It is the first frame of an exception.
    pub exception: bool,
    /// It is the first frame of the handler of a signal.
    pub signal: bool,
    /// Trace was lost since the frame began.
    pub uncertain: bool,
}

/// A thread.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SavedThread {
    /// Its identifier in the trace.
    pub id: Option<u64>,
    /// The open frames, the outermost first.
    pub frames: Vec<SavedFrame>,
    /// Where calls have no frame of their own: the frames beneath them, and their number.
    pub beyond: Option<(u64, u64)>,
    /// Trace was lost, and it is not known yet where execution continues.
    pub lost: bool,
    /// The handler of an exception with this return address executes, and is not traced.
    pub untraced: Option<Option<u64>>,
    /// Where the thread continues, if it does not execute.
    pub parked: Option<u64>,
    /// The number of switches of its source when it was parked; 0 if it is not.
    pub since: u64,
    /// The number of the frame of the handler in which the system named the task that continues.
    pub named: Option<u64>,
}

/// A source.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SavedSource {
    /// The number of the current thread.
    pub current: u64,
    /// The numbers of its threads.
    pub threads: Vec<u64>,
    /// Instructions so far.
    pub instructions: u64,
    /// The function in which it executes.
    pub here: FunctionId,
    /// Instructions and cycles in a stub, and the frame that follows it.
    pub deferred: Option<(u64, u64, Begin)>,
    /// The return address of the stub.
    pub stub_return: Option<u64>,
    /// Threads are known by identifiers in the trace.
    pub has_ids: bool,
    /// Switches of the thread.
    pub switched: u64,
    /// The task that the system named last.
    pub named: Option<u64>,
    /// Tasks are named by context IDs.
    pub by_context: bool,
    /// The number of the thread of what executes where the task is not known.
    pub unknown: Option<u64>,
}

/// Frames of a coroutine that were unwound, and continue.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SavedCoroutine {
    /// The thread.
    pub thread: u64,
    /// The address at which they continue.
    pub resume: u64,
    /// Functions and return addresses, the outermost first.
    pub frames: Vec<(FunctionId, Option<u64>)>,
}

/// The state of [`Stacks`] that are not [joined](Stacks::joined).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SavedStacks {
    /// The sources.
    pub sources: Vec<SavedSource>,
    /// The threads of all sources.
    pub threads: Vec<SavedThread>,
    /// The coroutines.
    pub coroutines: Vec<SavedCoroutine>,
}

impl<V: Visitor> Stacks<V> {
    /// The state between two transfers. `None` while it is not known which task continues, and for
    /// joined buffers.
    pub fn save(&self) -> Option<SavedStacks> {
        if self.joined.is_some() || self.sources.iter().any(|own| own.choice.is_some()) {
            return None;
        }
        let source = |(n, own): (usize, &Source)| SavedSource {
            current: own.current as u64,
            threads: own.threads.iter().map(|thread| *thread as u64).collect(),
            instructions: own.instructions,
            here: own.here,
            deferred: own.deferred,
            stub_return: self.switches.returns.get(n).copied().flatten(),
            has_ids: own.has_ids,
            switched: own.switched,
            named: own.named.value,
            by_context: own.named.by_context,
            unknown: own.unknown.map(|thread| thread as u64),
        };
        let coroutine = |(thread, resume, frames): &(usize, u64, Vec<Suspended>)| SavedCoroutine {
            thread: *thread as u64,
            resume: *resume,
            frames: frames.iter().map(|frame| (frame.function, frame.ret)).collect(),
        };
        Some(SavedStacks {
            sources: self.sources.iter().enumerate().map(source).collect(),
            threads: self.threads.iter().map(Thread::save).collect(),
            coroutines: self.switches.suspended.iter().map(coroutine).collect(),
        })
    }

    /// The number of open frames of all threads.
    pub fn open_frames(&self) -> u64 {
        self.counts.open()
    }

    /// The thread that a source executes, and its open frames, the outermost first.
    pub fn current(&self, source: usize) -> Option<(usize, Vec<SavedFrame>)> {
        let number = self.sources.get(source)?.current;
        let thread = self.threads.get(number)?;
        Some((number, thread.frames.iter().map(Frame::save).collect()))
    }

    /// The threads that a source does not execute and that have open frames: the number of each,
    /// where it continues, if that is known, and its frames, the outermost first. Without the
    /// handler of the exception that has interrupted it.
    pub fn parked(&self, source: usize) -> Vec<(usize, Option<u64>, Vec<SavedFrame>)> {
        let Some(own) = self.sources.get(source) else { return Vec::new() };
        let others = own.threads.iter().filter(|number| **number != own.current);
        let parked = others.filter_map(|number| {
            let thread = self.threads.get(*number)?;
            let mut frames: Vec<SavedFrame> = thread.frames.iter().map(Frame::save).collect();
            let handler = frames.pop_if(|top| top.exception && thread.parked.is_none());
            let resume = thread.parked.or(handler.and_then(|handler| handler.ret));
            (!frames.is_empty()).then_some((*number, resume, frames))
        });
        parked.collect()
    }

    /// Stacks in the state `saved`. The visitor receives the threads in order of their numbers,
    /// and the begin of each open frame; their positions and addresses are not known. `None` where
    /// a number of `saved` is none of its threads.
    pub fn restore(saved: &SavedStacks, visitor: V) -> Option<Stacks<V>> {
        let mut stacks = Stacks::new(0, visitor);
        let mut owners = vec![None; saved.threads.len()];
        for (n, source) in saved.sources.iter().enumerate() {
            let threads: Vec<usize> = source
                .threads
                .iter()
                .map(|t| usize::try_from(*t))
                .collect::<Result<_, _>>()
                .ok()?;
            for thread in &threads {
                *owners.get_mut(*thread)? = Some(n);
            }
            let current = usize::try_from(source.current).ok().filter(|n| threads.contains(n))?;
            let mut own = Source::new(current, threads);
            (own.instructions, own.here) = (source.instructions, source.here);
            (own.deferred, own.has_ids) = (source.deferred, source.has_ids);
            own.switched = source.switched;
            own.named = Named { value: source.named, by_context: source.by_context };
            own.unknown = match source.unknown {
                None => None,
                Some(thread) => Some(usize::try_from(thread).ok()?),
            };
            if own.unknown.is_some_and(|thread| !own.threads.contains(&thread)) {
                return None;
            }
            stacks.sources.push(own);
            stacks.switches.set_return(n, source.stub_return);
        }
        for (number, (saved, owner)) in saved.threads.iter().zip(&owners).enumerate() {
            stacks.restore_thread(number, (*owner)?, saved)?;
        }
        let mut suspended = VecDeque::new();
        for coroutine in &saved.coroutines {
            let thread = usize::try_from(coroutine.thread).ok()?;
            let frame = |(function, ret): &_| Suspended { function: *function, ret: *ret };
            *stacks.switches.waiting.entry(coroutine.resume).or_default() += 1;
            let frames = coroutine.frames.iter().map(frame).collect();
            suspended.push_back((thread, coroutine.resume, frames));
        }
        stacks.switches.suspended = suspended;
        Some(stacks)
    }

    fn restore_thread(&mut self, number: usize, source: usize, saved: &SavedThread) -> Option<()> {
        let root = self.visitor.thread(source, number, saved.id);
        let mut thread = Thread::new(saved.id, root);
        if let (Some(id), Some(own)) = (saved.id, self.sources.get_mut(source)) {
            own.known.insert(id, number);
        }
        let instructions = self.sources.get(source)?.instructions;
        let mut parent = root;
        for (depth, frame) in saved.frames.iter().enumerate() {
            let position = Position { at: 0, source, thread: number, instructions, depth };
            let SavedFrame { function, ret, entry, exception, signal, uncertain } = *frame;
            parent =
                self.visitor.begin(&position, parent, &Begin { function, entry, address: None });
            thread.push(Frame { function, ret, node: parent, entry, exception, signal, uncertain });
        }
        self.counts.begun += saved.frames.len() as u64;
        thread.beyond = match saved.beyond {
            None => None,
            Some((frames, calls)) => Some(Beyond { frames: usize::try_from(frames).ok()?, calls }),
        };
        (thread.lost, thread.untraced) = (saved.lost, saved.untraced);
        (thread.parked, thread.since) = (saved.parked, saved.since);
        if let Some(named) = saved.named {
            thread.named = usize::try_from(named).ok()?;
        }
        self.threads.push(thread);
        Some(())
    }
}

impl<N: Copy> Thread<N> {
    fn save(&self) -> SavedThread {
        SavedThread {
            id: self.id,
            frames: self.frames.iter().map(Frame::save).collect(),
            beyond: self.beyond.map(|beyond| (beyond.frames as u64, beyond.calls)),
            lost: self.lost,
            untraced: self.untraced,
            parked: self.parked,
            since: if self.parked.is_some() { self.since } else { 0 },
            named: (self.named != NOT_NAMED).then_some(self.named as u64),
        }
    }
}

impl<N> Frame<N> {
    fn save(&self) -> SavedFrame {
        let Frame { function, ret, entry, exception, signal, uncertain, .. } = *self;
        SavedFrame { function, ret, entry, exception, signal, uncertain }
    }
}
