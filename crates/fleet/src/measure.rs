//! Decodes a piece of a capture, and counts.

use std::io;

use tracewright::analysis::coverage::Losses;
use tracewright::analysis::{BranchLister, BranchLists, Filter, Profile, Profiler, RawProfile};
use tracewright::capture::perf::BranchList;
use tracewright::decode::{
    self, CommittedListener, Fork, Jobs, Listener, Merge, Merging, Program, Tally, input, memory,
    parallel,
};
use tracewright::export::{Dialect, Format};
use tracewright::index::IndexedBuffer;
use tracewright::index::part::PartOf;
use tracewright::{DecodeError, Trace};

use crate::counts::{BufferCounts, disturb, state};
use crate::error::FleetError;
use crate::part::{Payload, States};
use crate::plan::Piece;

/// A buffer, and how it is decoded.
#[derive(Clone, Copy, Debug)]
pub struct Measured<'a> {
    /// The capture.
    pub trace: &'a Trace,
    /// The plan of the buffer.
    pub plan: &'a decode::Plan,
    /// Its index, where the buffer may be divided: see [`divided`](crate::divided).
    pub index: Option<&'a IndexedBuffer>,
    /// Elements of transactions are withheld until these commit. Then the buffer is not divided.
    pub committed: bool,
    /// The threads for a buffer that is not divided.
    pub jobs: &'a Jobs,
}

/// The states of a listener at both ends of what was decoded.
type Ends<L> = Option<[<L as Fork>::State; 2]>;

impl Measured<'_> {
    /// Adds the counts of `piece`.
    ///
    /// # Errors
    /// Where the piece cannot be decoded, or is not what the index was made of.
    pub fn counts(&self, piece: &Piece, to: &mut Payload) -> Result<(Tally, States), FleetError> {
        let profiler = Profiler::new(self.programs());
        let describe = profiler.fork();
        let listener = (profiler, Merging(Losses::default()));
        let mut all = (RawProfile::default(), Losses::default());
        let (tally, ends) = self.decode(
            piece,
            listener,
            &|own, source| disturb(&mut own.0, source),
            &mut |output| all.merge(output),
        )?;
        let counts = BufferCounts { raw: all.0, losses: all.1, tally: tally.clone() };
        counts.put(piece, to);
        Ok((tally, ends.map(|ends| ends.map(|(own, ())| state(&describe, &own)))))
    }

    /// Adds the branch list of `piece`.
    ///
    /// # Errors
    /// Where the piece cannot be decoded, or is not what the index was made of.
    pub fn branch_list(
        &self,
        piece: &Piece,
        to: &mut Payload,
    ) -> Result<(Tally, States), FleetError> {
        let programs = self.programs();
        let lister = BranchLister::new(programs.iter().cloned());
        let describe = lister.fork();
        let mut all = BranchLists::default();
        let (tally, ends) =
            self.decode(piece, lister, &|own, source| disturb(own, source), &mut |output| {
                all.merge(output)
            })?;
        let mut profile = Profile::default();
        let modules = memory::modules(self.trace.capture());
        profile.add_lists(all, &programs, &modules, &Filter::default());
        let bytes = Format::BranchList.write(&profile, Dialect::Full).map_err(io::Error::other)?;
        let list = BranchList::read(&bytes).map_err(|why| io::Error::other(why.to_string()))?;
        crate::lists::put(&list, to);
        Ok((tally, ends.map(|ends| ends.map(|own| state(&describe, &own)))))
    }

    /// The programs of the sources.
    fn programs(&self) -> Vec<Program> {
        let capture = self.trace.capture();
        let memory = self.trace.subject().memory;
        let own = self.plan.sources.iter();
        own.map(|own| memory.seen_by(capture, self.plan.buffer, own.source)).collect()
    }

    /// Decodes `piece` for `listener`.
    fn decode<L: Listener + Fork + Send>(
        &self,
        piece: &Piece,
        listener: L,
        disturb: &dyn Fn(&mut L, usize),
        write: &mut dyn FnMut(L::Output),
    ) -> Result<(Tally, Ends<L>), FleetError> {
        let Measured { trace, plan, index, committed, jobs } = *self;
        let mut session = trace.session(plan)?;
        let Some(buffer) = trace.capture().buffers.get(plan.buffer) else {
            return Ok((Tally::default(), None));
        };
        if let Some(index) = index.filter(|_| !committed) {
            let part = PartOf { buffer, index };
            let ran = part.run(&mut session, piece.range(), listener, disturb, write)?;
            return Ok((ran.tally, Some([ran.begin, ran.end])));
        }
        let mut tally = Tally::default();
        let listener = CommittedListener::when(committed, listener);
        let mut both = (listener, Merging(Tally::default()));
        let input = &mut *input::of(buffer);
        parallel::run(&mut session, input, &mut both, jobs, |(output, counts), _| {
            tally.merge(counts);
            write(output);
            true
        })
        .map_err(|error| DecodeError::Read { buffer: buffer.name.clone(), error })?;
        Ok((tally, None))
    }
}
