//! The result of decoding: the counts of each source, and the sources that were left out.

use std::fmt;

use tracewright_decode::tally::Counts;
use tracewright_decode::{Merge, Skipped, Tally};
use tracewright_views::Source;

/// Counts for each source, and what was left out. [`Display`](fmt::Display) prints a line for each.
#[derive(Clone, Debug, Default)]
#[must_use = "a summary reports whether anything was left out, undecodable or inconsistent"]
#[non_exhaustive]
pub struct Summary {
    /// Name and counts of each decoded source, in the order of
    /// [`Trace::sources`](crate::Trace::sources).
    pub sources: Vec<(String, Counts)>,
    /// The sources that could not be decoded, and why: empty unless
    /// [`Trace::partial`](crate::Trace::partial) allowed it.
    pub left_out: Vec<Skipped>,
    /// Counts of what belongs to no source: trace IDs that no source has, padding, undecodable
    /// frames.
    pub formatter: Tally,
    /// How often memory that is read while the trace is decoded was not known yet: code may be
    /// missing.
    pub late_memory: u64,
}

impl Summary {
    pub(crate) fn new(left_out: Vec<Skipped>) -> Summary {
        Summary { left_out, ..Summary::default() }
    }

    /// Adds the counts of buffers. `sources` are those of this buffer and of the ones before it.
    pub(crate) fn add(&mut self, sources: &[Source], tally: Tally) {
        let decoded = sources.iter().enumerate().skip(self.sources.len());
        self.sources.extend(decoded.map(|(n, source)| (source.name.clone(), tally.of(n))));
        let mut formatter = tally;
        formatter.sources.clear();
        self.formatter.merge(formatter);
    }

    /// Adds the counts of a buffer with these sources.
    pub(crate) fn add_buffer(&mut self, sources: &[Source], mut tally: Tally) {
        let counts = sources.iter().enumerate();
        self.sources.extend(counts.map(|(n, source)| (source.name.clone(), tally.of(n))));
        tally.sources.clear();
        self.formatter.merge(tally);
    }

    /// Whether nothing is missing from what was decoded: no source left out, no byte undecodable,
    /// no packet inconsistent, no program memory missing, and no bytes of trace IDs without a
    /// source.
    pub fn is_complete(&self) -> bool {
        let clean = |counts: &Counts| {
            counts.undecodable == 0
                && counts.unsynchronised == 0
                && counts.inconsistencies == 0
                && counts.no_code == 0
        };
        self.left_out.is_empty()
            && self.late_memory == 0
            && self.formatter.unknown_ids.is_empty()
            && self.formatter.bad_frames == 0
            && self.sources.iter().all(|(_, counts)| clean(counts))
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, c) in &self.sources {
            write!(
                f,
                "{name}: {} bytes, {} packets, {} elements, {} instructions",
                c.bytes(),
                c.packets,
                c.elements,
                c.instructions,
            )?;
            if c.unknown_instructions > 0 {
                write!(f, ", {} further instructions on unknown paths", c.unknown_instructions)?;
            }
            writeln!(
                f,
                "; {} bytes undecodable, {} before synchronisation, {} inconsistencies, program \
                 memory missing {} times",
                c.undecodable, c.unsynchronised, c.inconsistencies, c.no_code,
            )?;
        }
        for skipped in &self.left_out {
            writeln!(f, "left out: {}", skipped.message)?;
        }
        for (id, bytes) in &self.formatter.unknown_ids {
            writeln!(f, "trace ID {id:#04x}: {bytes} bytes, no configured source")?;
        }
        if self.late_memory > 0 {
            let times = self.late_memory;
            writeln!(f, "program memory was not known yet {times} times: code may be missing")?;
        }
        Ok(())
    }
}
