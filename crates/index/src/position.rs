//! What is known at a place of a trace without decoding what comes before.

use tracewright_base::Context;

use crate::segment::Segment;

/// What is known at the beginning of a segment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Position {
    /// The number of elements before it.
    pub elements: u64,
    /// The number of instructions before it, of all sources.
    pub instructions: u64,
    /// By source: the last timestamp.
    pub times: Vec<Option<u64>>,
    /// By source: the last context, and the offset of its element.
    pub contexts: Vec<Option<(u64, Context)>>,
}

impl Position {
    /// Goes to the end of `segment`.
    pub fn pass(&mut self, segment: &Segment) {
        for stream in &segment.streams {
            self.elements = self.elements.saturating_add(stream.elements);
            self.instructions = self.instructions.saturating_add(stream.instructions);
            let n = usize::from(stream.source);
            if let (Some(time), Some(times)) = (self.times.get_mut(n), &stream.times) {
                *time = Some(times.last);
            }
            if let (Some(context), Some(last)) = (self.contexts.get_mut(n), stream.context) {
                *context = Some(last);
            }
        }
    }
}
