//! One worker: decodes chunks to segments.

use super::Jobs;
use super::bounded;
use super::work_queue::{CloseOnDrop, Part, Segment, StartPoint, Task, WorkQueue};
use crate::{Fork, Listener, Session};

/// The next checkpoint is due after one step, or after the offset in the chunk divided by this
/// number if that is more: chunks seldom join far from their beginning. Output of [`Jobs::output`]
/// bytes and the end of the chunk make earlier checkpoints. A step whose output takes more is sent
/// in parts.
const CHECKPOINT_DENSITY: usize = 2;

/// Decodes chunks until there are no more. `session` and `listener` are in their initial states.
pub(super) fn work<L: Listener + Fork>(
    queue: &WorkQueue<L>,
    mut session: Session,
    mut listener: L,
    jobs: &Jobs,
) {
    let (step, output) = (jobs.step.max(1), jobs.output.saturating_mul(L::PARTS));
    // A panic in one worker stops the others. Without a panic the queue is closed already.
    let _close = CloseOnDrop(queue);
    let blank = session.state().clone();
    while let Some((n, Task { at, bytes, from })) = queue.task() {
        match from {
            StartPoint::Known(checkpoint, state) => {
                session.resume(checkpoint);
                listener.resume(state);
            }
            StartPoint::Link(link, state) => {
                session.resume(blank.clone());
                session.begin(at, link);
                listener.resume(state);
            }
        }
        let (mut end, mut due) = (0, 0);
        for part in bytes.chunks(step) {
            if queue.closed() {
                return;
            }
            let send = |output, weight| queue.send(n, Part::Output(output, weight));
            if !bounded::feed(&mut session, Some(part), &mut listener, output, send) {
                return;
            }
            end += part.len();
            let weight = listener.weight();
            if end >= due || end == bytes.len() || weight >= output {
                due = end + step.max(end / CHECKPOINT_DENSITY);
                let output = listener.take();
                let weight = weight + listener.state_weight();
                let (checkpoint, state) = (session.state().clone(), listener.state());
                let segment = Segment { end, checkpoint, state, output, weight };
                queue.send(n, Part::Segment(Box::new(segment)));
            }
        }
        // The calling thread reuses the memory.
        drop(bytes);
        queue.done(n);
    }
}
