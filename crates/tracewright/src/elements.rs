//! Elements as an iterator.

use tracewright_base::Element;
use tracewright_decode::{Queue, Session, Tally};

use crate::chunks::Chunks;
use crate::error::DecodeError;
use crate::summary::Summary;
use crate::trace::Trace;

/// One element of the trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Item {
    /// The source that it comes from: an index into [`Trace::sources`].
    pub source: usize,
    /// Offset in the buffer of its source, in bytes: of the packet that traced it; for RISC-V, of
    /// the packet at which it is emitted. Offsets do not always rise.
    pub offset: u64,
    /// What the trace reports.
    pub element: Element,
}

/// The elements of a [`Trace`], in the order in which they become certain. Made by
/// [`Trace::elements`].
///
/// The buffer is decoded as the iterator is advanced: a chunk at a time, on the caller's thread.
#[derive(Debug)]
pub struct Elements<'a> {
    trace: &'a Trace,
    /// Which of the trace's plans is next, and the number of its first source.
    next: (usize, usize),
    running: Option<Running<'a>>,
    items: Queue,
    summary: Summary,
    failed: bool,
}

/// The buffer that is being decoded.
#[derive(Debug)]
struct Running<'a> {
    session: Session,
    input: Chunks<'a>,
    tally: Tally,
    /// The number of sources up to its last one.
    sources: usize,
}

impl Trace {
    /// The elements of all buffers, one after the other, as an iterator.
    ///
    /// ```
    /// let trace = tracewright::Trace::new(tracewright::Capture::default());
    /// // A capture without a buffer has nothing to decode.
    /// assert!(trace.elements().is_err());
    /// ```
    ///
    /// # Errors
    /// As [`decode`](Trace::decode). A buffer that cannot be read to its end is an item of the
    /// iterator.
    pub fn elements(&self) -> Result<Elements<'_>, DecodeError> {
        self.check()?;
        Ok(Elements::new(self))
    }
}

impl<'a> Elements<'a> {
    pub(crate) fn new(trace: &'a Trace) -> Elements<'a> {
        let summary = Summary::new(trace.left_out());
        let items = Queue::default();
        Elements { trace, next: (0, 0), running: None, items, summary, failed: false }
    }

    /// The counts of the buffers that are decoded to their end, and what was left out.
    pub fn summary(&self) -> &Summary {
        &self.summary
    }

    /// The bytes of the element that was returned last, if it is [`Element::Custom`]; of others
    /// there are none.
    pub fn content(&self) -> &[u8] {
        self.items.content()
    }

    /// Decodes until there is an element. `false` at the end of the last buffer.
    fn advance(&mut self) -> Result<bool, DecodeError> {
        while self.items.is_empty() {
            let Some(running) = &mut self.running else {
                let (n, first) = self.next;
                let Some(plan) = self.trace.plans().get(n) else { return Ok(false) };
                let session = self.trace.session(plan)?.numbered_from(first);
                let sources = first + plan.sources.len();
                let (input, tally) =
                    (Chunks::of(&self.trace.capture().buffers[plan.buffer]), Tally::default());
                self.running = Some(Running { session, input, tally, sources });
                self.next = (n + 1, sources);
                continue;
            };
            let Running { session, input, tally, sources } = running;
            let mut both = (&mut self.items, &mut *tally);
            if !input.next(|bytes| session.feed(bytes, &mut both))? {
                session.finish(&mut both);
                let decoded = self.trace.sources().get(..*sources).unwrap_or_default();
                self.summary.add(decoded, std::mem::take(tally));
                self.running = None;
            }
        }
        Ok(true)
    }
}

impl Iterator for Elements<'_> {
    type Item = Result<Item, DecodeError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.failed {
            return None;
        }
        match self.advance() {
            Ok(true) => {
                let (source, offset, element) = self.items.take()?;
                Some(Ok(Item { source, offset, element }))
            }
            Ok(false) => None,
            Err(error) => {
                self.failed = true;
                Some(Err(error))
            }
        }
    }
}
