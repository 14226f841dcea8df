//! The executed ranges of a trace.

use std::ops::Deref;

use tracewright_base::{Element, Range};

use crate::elements::Elements;
use crate::error::DecodeError;
use crate::summary::Summary;
use crate::trace::Trace;

/// Instructions that were executed one after another, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExecutedRange {
    /// The number of the source among [`Trace::sources`].
    pub source: usize,
    /// The offset in the trace buffer of the packet that made it.
    pub offset: u64,
    /// The symbol of the first instruction: `main`, or `main+0x14`. Empty where none is known.
    pub symbol: String,
    /// The instructions.
    pub range: Range,
}

impl Deref for ExecutedRange {
    type Target = Range;

    fn deref(&self) -> &Range {
        &self.range
    }
}

/// The executed ranges, in order: [`Trace::ranges`].
#[derive(Debug)]
pub struct Ranges<'a> {
    trace: &'a Trace,
    elements: Elements<'a>,
}

impl Ranges<'_> {
    /// Counts of what was decoded so far.
    pub fn summary(&self) -> &Summary {
        self.elements.summary()
    }
}

impl Iterator for Ranges<'_> {
    type Item = Result<ExecutedRange, DecodeError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let item = match self.elements.next()? {
                Ok(item) => item,
                Err(error) => return Some(Err(error)),
            };
            if let Element::Range(range) = item.element {
                let symbol = self.trace.symbol(item.source, range.start).unwrap_or_default();
                let (source, offset) = (item.source, item.offset);
                return Some(Ok(ExecutedRange { source, offset, symbol, range }));
            }
        }
    }
}

impl Trace {
    /// The executed ranges of all buffers.
    ///
    /// # Errors
    /// As [`elements`](Trace::elements).
    pub fn ranges(&self) -> Result<Ranges<'_>, DecodeError> {
        Ok(Ranges { trace: self, elements: self.elements()? })
    }
}
