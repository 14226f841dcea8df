//! One worker: decodes chunks to segments.

use super::any_fork::AnyFork;
use super::work_queue::{CloseOnDrop, Part, Segment, StartPoint, Task, WorkQueue};
use super::{Jobs, bounded};
use crate::session::Session;

/// The next checkpoint is due after one step, or after the offset in the chunk divided by this
/// number if that is more: chunks seldom join far from their beginning. Output of [`Jobs::output`]
/// bytes and the end of the chunk make earlier checkpoints. A step whose output takes more is sent
/// in parts.
const CHECKPOINT_DENSITY: usize = 2;

/// Decodes chunks until there are no more. `session` and `listener` are in their initial states.
pub(super) fn work(
    queue: &WorkQueue,
    mut session: Session,
    listener: &mut dyn AnyFork,
    jobs: &Jobs,
) {
    let parts = listener.size().growth.parts();
    let (step, output) = (jobs.step.max(1), jobs.output.saturating_mul(parts));
    // A panic in one worker stops the others. Without a panic the queue is closed already.
    let _close = CloseOnDrop(queue);
    let blank = session.state().clone();
    while let Some((n, Task { at, chunk, from })) = queue.task() {
        match from {
            StartPoint::Known((checkpoint, state)) => {
                session.resume(checkpoint);
                listener.resume(state);
            }
            StartPoint::Link(link, state) => {
                session.resume(blank.clone());
                session.begin(at, link);
                listener.resume(state);
            }
        }
        let (bytes, next) = chunk.split();
        let mut checkpoints = Checkpoints { step, output, len: bytes.len(), end: 0, due: 0 };
        for part in bytes.chunks(step) {
            if queue.closed() {
                return;
            }
            let send = |output, weight| queue.send(n, Part::Output(output, weight));
            if !bounded::feed(&mut session, Some(part), listener, output, send) {
                return;
            }
            if let Some(segment) = checkpoints.after(part.len(), &session, listener) {
                queue.send(n, Part::Segment(Box::new(segment)));
            }
        }
        // The head of the next chunk, with the checkpoints of the worker that begins there.
        let len = usize::MAX;
        let mut checkpoints = Checkpoints { step, output, len, end: 0, due: 0 };
        for part in next.chunks(step) {
            // Large output is left to the joiner.
            let mut large = false;
            bounded::feed(&mut session, Some(part), listener, output, |_, _| {
                large = true;
                false
            });
            if large || queue.closed() {
                break;
            }
            if let Some(segment) = checkpoints.after(part.len(), &session, listener) {
                let end = bytes.len() + segment.end;
                queue.send(n, Part::Segment(Box::new(Segment { end, ..segment })));
            }
        }
        listener.take();
        // The calling thread reuses the memory.
        drop(chunk);
        queue.done(n);
    }
}

/// Decides where the checkpoints of a chunk are.
struct Checkpoints {
    step: usize,
    /// The memory of the output at which a checkpoint is made.
    output: usize,
    /// The number of bytes after which a checkpoint is made in any case.
    len: usize,
    /// The number of bytes decoded.
    end: usize,
    /// The next checkpoint is made when this many bytes are decoded.
    due: usize,
}

impl Checkpoints {
    /// The segment that ends after the next `len` bytes, if a checkpoint is due there.
    fn after(
        &mut self,
        len: usize,
        session: &Session,
        listener: &mut dyn AnyFork,
    ) -> Option<Segment> {
        self.end += len;
        let size = listener.size();
        if self.end < self.due && self.end < self.len && size.output < self.output {
            return None;
        }
        self.due = self.end + self.step.max(self.end / CHECKPOINT_DENSITY);
        let output = listener.take();
        let weight = size.output + listener.size().state;
        let state = (session.state().clone(), listener.state());
        Some(Segment { end: self.end, state, output, weight })
    }
}
