//! A cache of the lines of whole ranges, for formats whose lines have no offsets.

use std::io;

use tracewright_base::Range;

use crate::lines::Lines;
use crate::render_cache::RenderCache;

/// A range of a source in a context.
type Key = (usize, (usize, Range));

/// Caches the lines of each range of a source in a context.
#[derive(Debug, Default)]
pub(super) struct RangeLines {
    cache: RenderCache,
    /// The range that is being written, the position of its text in the buffer, and the number of
    /// writes of the buffer before it.
    current: Option<(Key, usize, u64)>,
}

impl RangeLines {
    /// Appends the cached lines of `range`. Where there are none, the next [`store`](Self::store)
    /// caches the lines written until then.
    #[inline]
    pub(super) fn recall<W: io::Write>(
        &mut self,
        source: usize,
        range: &Range,
        context: usize,
        lines: &mut Lines<W>,
    ) -> bool {
        let key = (source, (context, *range));
        if self.cache.recall(key, &mut lines.text) {
            lines.relieve();
            return true;
        }
        self.current = Some((key, lines.text.len(), lines.writes));
        false
    }

    /// Caches the lines written since [`recall`](Self::recall), if they are all still in the
    /// buffer.
    pub(super) fn store<W: io::Write>(&mut self, lines: &Lines<W>) {
        if let Some((key, start, writes)) = self.current.take()
            && writes == lines.writes
        {
            self.cache.store(key, lines.text.get(start..).unwrap_or_default());
        }
    }
}
