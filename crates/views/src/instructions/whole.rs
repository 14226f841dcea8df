//! The lines of whole ranges, where no line says when it was.

use std::io;

use tracewright_base::Range;

use crate::Lines;
use crate::render_cache::RenderCache;

/// A range of a source in a context.
type Where = (usize, (usize, Range));

/// Keeps what was written for a range of a source in a context.
#[derive(Debug, Default)]
pub(super) struct Whole {
    render_cache: RenderCache<Where>,
    /// The range that is being written, where its text begins, and how often text was written by then.
    current: Option<(Where, usize, u64)>,
}

impl Whole {
    /// Appends the lines of `range`, if they were kept. Otherwise they are kept with the next
    /// [`keep`](Self::keep).
    #[inline]
    pub(super) fn recall<W: io::Write>(
        &mut self,
        source: usize,
        range: &Range,
        context: usize,
        lines: &mut Lines<W>,
    ) -> bool {
        let thing = (source, (context, *range));
        if self.render_cache.recall(thing, &mut lines.text) {
            lines.relieve();
            return true;
        }
        self.current = Some((thing, lines.text.len(), lines.writes));
        false
    }

    /// Keeps what was written since, if it is all there still.
    pub(super) fn keep<W: io::Write>(&mut self, lines: &Lines<W>) {
        if let Some((thing, start, writes)) = self.current.take()
            && writes == lines.writes
        {
            self.render_cache.keep(thing, lines.text.get(start..).unwrap_or_default());
        }
    }
}
