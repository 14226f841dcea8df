//! Listings in the format of OpenCSD.
//!
//! The text of a line depends on the lines before it. A part of a trace is therefore decoded from
//! the beginning of the buffer, without an index.

use std::io;

use tracewright::decode::input::{Counting, Input as Bytes};
use tracewright::decode::{Merge, Merging, Tally};
use tracewright::index::window;
use tracewright::opencsd::{ListedBuffer, Listing, Selection, Shown};
use tracewright::views::{Filter, Stats};

use super::{Write, decode};
use crate::args::WindowArgs;
use crate::fail::Fail;
use crate::index::Selected;
use crate::input::{Input, Job};
use crate::run::RunOptions;

/// The part of the trace that `args` select; `None` for everything.
pub fn selected(
    input: &Input,
    args: &WindowArgs,
    stop_after: Option<u64>,
    committed: bool,
) -> Result<Option<Selected>, Fail> {
    let why = "with --format opencsd, elements and instructions are not those that `find` and the \
               other formats number; select them with --offset";
    if let Some(at) = args.at {
        return Err(Fail::option("--at", &at.to_string(), why));
    }
    if let Some(numbers) = &args.instruction {
        return Err(Fail::option("--instruction", &format!("{}..", numbers.start), why));
    }
    let selected = Selected::whole(input, Some(args), committed)?;
    match stop_after {
        Some(errors) if selected.is_some() => Err(Fail::option(
            "--stop-after",
            &errors.to_string(),
            "with --format opencsd, errors are counted from the beginning of the trace, not in a \
             part of it",
        )),
        _ => Ok(selected),
    }
}

/// A buffer that is listed.
#[derive(Clone, Copy)]
pub struct OpencsdBuffer<'a> {
    pub job: &'a Job<'a>,
    /// Its number among the buffers that are listed, from 0.
    pub n: usize,
    /// The number of buffers that are listed.
    pub count: usize,
    pub shown: Shown,
}

impl<'a> OpencsdBuffer<'a> {
    /// The lines around the packets and elements.
    pub fn listed(self) -> ListedBuffer<'a> {
        let OpencsdBuffer { job, n, count, shown: Shown { packets, .. } } = self;
        ListedBuffer { plan: job.plan, number: n + 1, count, name: &job.buffer.name, packets }
    }

    /// Lists what `filter` selects of the buffer, whose bytes are `bytes`, to `write`. Returns the
    /// counts and the lines after the packets and elements.
    pub fn list(
        self,
        bytes: &mut dyn Bytes,
        options: &RunOptions<'_>,
        filter: Filter,
        stats: &mut Option<Stats>,
        write: &mut Write<'_>,
    ) -> Result<(Tally, String), Fail> {
        let OpencsdBuffer { job, n, shown, .. } = self;
        let Some(part) = options.selected else {
            let selection = Selection::new(None, None, filter, job.sources.to_vec());
            let view = Listing::new(Vec::new(), job.plan, shown, n > 0).with_selection(selection);
            let mut bytes = Counting::new(bytes);
            let (view, tally) = decode(job, &mut bytes, options, view, stats, &mut *write)?;
            write(view.rest());
            return Ok((tally, self.listed().end(bytes.taken())));
        };
        let (offset, time) = (part.window.offset.clone(), part.window.time.clone());
        let selection = Selection::new(offset, time, filter, job.sources.to_vec());
        let mut view = Listing::new(Lines(write), job.plan, shown, n > 0).with_selection(selection);
        // The counts are those of the part.
        let counts =
            (stats.is_some().then(|| Merging(Stats::default())), Merging(Tally::default()));
        let mut tally = Tally::default();
        let session = job.session()?;
        window::run_beside(session, job.buffer, &part.window, &mut view, counts, &mut |counts| {
            stats.merge(counts.0);
            tally.merge(counts.1);
            true
        })
        .map_err(|error| Fail::read(&job.buffer.name, &error))?;
        // An error of the writer means that no more is wanted.
        let _ = view.finish();
        Ok((tally, self.listed().end(job.buffer.len())))
    }
}

/// Lines, which are written as they come.
struct Lines<'a, 'b>(&'a mut Write<'b>);

impl io::Write for Lines<'_, '_> {
    fn write(&mut self, lines: &[u8]) -> io::Result<usize> {
        match lines.is_empty() || (self.0)(lines.to_vec()) {
            true => Ok(lines.len()),
            false => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
