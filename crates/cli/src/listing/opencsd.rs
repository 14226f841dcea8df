//! Listings in the format of OpenCSD.
//!
//! The text of a line depends on the lines before it. A part of a trace is therefore decoded from
//! the beginning of the buffer, without an index.

use std::cell::Cell;
use std::io;

use tracewright::decode::input::{Counting, Input as Bytes};
use tracewright::decode::{Merge, Merging, Tally};
use tracewright::index::window;
use tracewright::views::Stats;
use tracewright::views::opencsd::{ListedBuffer, Listing, Selection, Shown};

use super::{Write, decode};
use crate::args::{SelectArgs, WindowArgs};
use crate::fail::Fail;
use crate::index::Selected;
use crate::input::{Input, Job};
use crate::run::RunOptions;
use crate::select;

/// The part of the trace that `args` select; `None` for everything.
pub fn selected(
    input: &Input,
    args: Option<&WindowArgs>,
    committed: bool,
) -> Result<Option<Selected>, Fail> {
    let Some(args) = args else { return Ok(None) };
    let why = "with --format opencsd, elements and instructions are not those that `find` and the \
               other formats number; select them with --offset";
    if let Some(at) = args.at {
        return Err(Fail::option("--at", &at.to_string(), why));
    }
    if let Some(numbers) = &args.instruction {
        return Err(Fail::option("--instruction", &format!("{}..", numbers.start), why));
    }
    Selected::whole(input, Some(args), committed)
}

/// A buffer that is listed.
pub struct OpencsdBuffer<'a> {
    pub job: &'a Job<'a>,
    /// Its number among the buffers that are listed, from 0.
    pub n: usize,
    /// The number of buffers that are listed.
    pub count: usize,
    pub shown: Shown,
    pub select: &'a SelectArgs,
}

impl OpencsdBuffer<'_> {
    /// Lists the buffer, whose bytes are `bytes`, to `write`.
    pub fn list(
        &self,
        bytes: &mut dyn Bytes,
        options: &RunOptions<'_>,
        stats: &mut Option<Stats>,
        write: &mut Write<'_>,
    ) -> Result<Tally, Fail> {
        let OpencsdBuffer { job, n, count, shown, select } = *self;
        let (number, name, packets) = (n + 1, &job.buffer.name, shown.packets);
        let listed = ListedBuffer { plan: &job.plan, number, count, name, packets };
        write(listed.head().into_bytes());
        let filter = select::filter(select, job)?;
        let Some(part) = options.selected else {
            let selection = Selection::new(None, None, filter, job.sources.clone());
            let view = Listing::new(Vec::new(), &job.plan, shown, n > 0).with_selection(selection);
            let mut bytes = Counting::new(bytes);
            let (view, tally) = decode(job, &mut bytes, options, view, stats, &mut *write)?;
            write(view.rest());
            write(listed.end(bytes.taken()).into_bytes());
            return Ok(tally);
        };
        let (offset, time) = (part.window.offset.clone(), part.window.time.clone());
        let selection = Selection::new(offset, time, filter, job.sources.clone());
        let closed = Cell::new(false);
        let lines = Lines { write, closed: &closed };
        let mut view = Listing::new(lines, &job.plan, shown, n > 0).with_selection(selection);
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
        .map_err(|error| Fail::read(name, &error))?;
        // An error of the writer means that no more is wanted.
        let _ = view.finish();
        if !closed.get() {
            write(listed.end(job.buffer.len()).into_bytes());
        }
        Ok(tally)
    }
}

/// Lines, which are written as they come.
struct Lines<'a, 'b> {
    write: &'a mut Write<'b>,
    /// No more are wanted.
    closed: &'a Cell<bool>,
}

impl io::Write for Lines<'_, '_> {
    fn write(&mut self, lines: &[u8]) -> io::Result<usize> {
        if !lines.is_empty() && !(self.write)(lines.to_vec()) {
            self.closed.set(true);
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        Ok(lines.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
