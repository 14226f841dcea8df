//! One worker: stretches to segments.

use super::work_queue::{Closes, From, Segment, Task, WorkQueue};
use crate::{Fork, Listener, Session};

/// So much that was said makes a segment of its own.
const HEAVY: usize = 1 << 20;

/// From so many steps on, checkpoints of a stretch are further apart the further they are from its
/// beginning, as few stretches join there: by one part in so many.
const DENSE: usize = 2;

/// Decodes stretches until there are no more. `session` and `listener` know nothing.
pub(super) fn work<L: Listener + Fork>(
    queue: &WorkQueue<L>,
    mut session: Session,
    mut listener: L,
    step: usize,
) {
    // Where one panics, the others need not go on. Where none does, it is closed already.
    let _closes = Closes(queue);
    let blank = session.state().clone();
    while let Some((n, Task { at, bytes, from })) = queue.task() {
        match from {
            From::Known(checkpoint, state) => {
                session.resume(checkpoint);
                listener.resume(state);
            }
            From::Link(link, state) => {
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
            session.feed(part, &mut listener);
            end += part.len();
            let weight = listener.weight();
            if end >= due || end == bytes.len() || weight >= HEAVY {
                due = end + step.max(end / DENSE);
                let output = listener.take();
                let (checkpoint, state) = (session.state().clone(), listener.state());
                queue.send(n, Segment { end, checkpoint, state, output, weight });
            }
        }
        // Whoever joins it has a use for the room.
        drop(bytes);
        queue.done(n);
    }
}
