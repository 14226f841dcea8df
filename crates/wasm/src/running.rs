//! A buffer that is decoded to text.

use tracewright::Listener;
use tracewright::capture::Buffer;
use tracewright::decode::input::{self, Input, More};
use tracewright::decode::pulled::Pull;
use tracewright::decode::{Fork, Jobs, Merging, Session, Tally, TimedText};
use tracewright::index::Window;
use tracewright::run::{self, Selection};

use crate::reply::Problem;

/// The bytes of trace that are decoded at once.
const STEP: usize = 1 << 12;

/// What decoding of a buffer returns.
pub(crate) struct Ran<L> {
    pub(crate) listener: L,
    pub(crate) tally: Tally,
}

/// A buffer that is decoded step by step.
pub(crate) struct Running<L> {
    pub(crate) session: Session,
    input: Box<dyn Input>,
    pub(crate) listener: L,
    tally: Merging<Tally>,
    bytes: Vec<u8>,
    ended: bool,
    failed: Option<Problem>,
}

impl<L: Listener + Fork<Output = TimedText> + Send> Running<L> {
    /// Decodes `buffer` with a `session` in its initial state.
    pub(crate) fn new(session: Session, buffer: &Buffer, listener: L) -> Running<L> {
        let (input, tally) = (input::of(buffer), Merging(Tally::default()));
        let (bytes, ended, failed) = (Vec::new(), false, None);
        Running { session, input, listener, tally, bytes, ended, failed }
    }
}

impl<L: Listener + Fork<Output = TimedText> + Send> Pull for Running<L> {
    type Result = Result<Ran<L>, Problem>;

    fn next(&mut self) -> Option<TimedText> {
        if self.ended {
            return None;
        }
        self.bytes.clear();
        let more = self.input.more(STEP, true, &mut self.bytes);
        let mut both = (&mut self.listener, &mut self.tally.0);
        match more {
            Ok(More::Some) => self.session.feed(&self.bytes, &mut both),
            Ok(More::End | More::Later) => {
                self.session.finish(&mut both);
                self.ended = true;
            }
            Err(error) => {
                self.failed = Some(Problem::of(&error));
                self.ended = true;
            }
        }
        self.ended |= self.listener.full();
        Some(self.listener.take())
    }

    fn finish(self) -> Self::Result {
        let Running { listener, tally, failed, .. } = self;
        match failed {
            Some(problem) => Err(problem),
            None => Ok(Ran { listener, tally: tally.0 }),
        }
    }
}

/// Decodes the part of `buffer` inside `window`, and passes its text to `write`.
pub(crate) fn part<L: Listener + Fork<Output = TimedText> + Send>(
    session: Session,
    buffer: &Buffer,
    window: &Window,
    listener: L,
    mut write: impl FnMut(TimedText) -> bool,
) -> Result<Ran<L>, Problem> {
    let selection = Selection {
        window: window.clone(),
        running: None,
        index: None,
        parts: None,
        jobs: Jobs::new(1),
        stop_after: None,
    };
    let bytes = &mut *input::of(buffer);
    let write = |text, _, _: &Tally| write(text);
    let ran = run::run(session, buffer, bytes, &selection, listener, write);
    let ran = ran.map_err(|error| Problem::of(&error))?;
    Ok(Ran { listener: ran.listener, tally: ran.tally })
}
