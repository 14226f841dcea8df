//! Makes tiles, frames and sums of the pieces of segments, in order.

use std::sync::Arc;

use tracewright_analysis::Code;
use tracewright_analysis::stacks::{Part, SWITCHES, Stacks, Visitor};
use tracewright_analysis::tasks::{Tasks, ThreadList};
use tracewright_symbols::UnwindTargets;

use super::ViewShape;
use super::collected::Collected;
use super::listener::{Piece, SegmentPieces};
use super::stacks::SavedView;
use crate::bytes::put;

/// Segments from one with stored stacks to the next. To decode two segments more takes less than a
/// millisecond.
const EVERY: u64 = 3;

/// Open frames for each further segment: those of deep stacks take more memory.
const FRAMES_PER_SEGMENT: u64 = 512;

/// The sections of a batch.
#[derive(Clone, Debug, Default)]
pub(crate) struct ViewSections {
    pub(crate) names: Vec<u8>,
    pub(crate) tiles: Vec<u8>,
    pub(crate) frames: Vec<u8>,
    pub(crate) sums: Vec<u8>,
    pub(crate) functions: Vec<u8>,
    pub(crate) stacks: Vec<u8>,
}

/// What call stacks depend on beside transfers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Program {
    /// The functions that switch tasks.
    pub(crate) switches: Vec<u32>,
    pub(crate) unwind_targets: Arc<UnwindTargets>,
}

impl Program {
    /// With `tasks`, what these depend on, too.
    pub(crate) fn of(code: &Code, tasks: Option<&Tasks>) -> Program {
        let switches = match tasks {
            None => SWITCHES.iter().flat_map(|name| code.named(name)).collect(),
            Some(tasks) => tasks.switches().to_vec(),
        };
        Program { switches, unwind_targets: code.unwind_targets() }
    }

    /// Empty stacks of `sources` sources.
    pub(crate) fn stacks<V: Visitor>(&self, sources: usize, visitor: V) -> Stacks<V> {
        self.prepare(Stacks::new(sources, visitor))
    }

    /// Stacks that know what they depend on.
    pub(crate) fn prepare<V: Visitor>(&self, stacks: Stacks<V>) -> Stacks<V> {
        stacks
            .with_switches(self.switches.iter().copied())
            .with_unwind_targets(Arc::clone(&self.unwind_targets))
    }
}

/// Makes the sections of one batch after another.
#[derive(Debug)]
pub(crate) struct Builder {
    stacks: Stacks<Collected>,
    /// The number of segments, and of bytes, so far.
    segments: u64,
    at: u64,
    /// The segment with the stacks that were stored last, in the batch.
    saved: Option<(u64, SavedView)>,
    saved_count: u64,
    saved_bytes: Vec<u8>,
    /// The index has tasks.
    tasks: bool,
}

impl Builder {
    pub(crate) fn new(
        shape: ViewShape,
        sources: usize,
        program: &Program,
        tasks: Option<&Tasks>,
    ) -> Builder {
        let mut collected = Collected::new(shape, sources);
        collected.list = tasks.map(ThreadList::new);
        Builder {
            stacks: program.stacks(sources, collected),
            segments: 0,
            at: 0,
            saved: None,
            saved_count: 0,
            saved_bytes: Vec::new(),
            tasks: tasks.is_some(),
        }
    }

    /// Takes the next segment.
    pub(crate) fn segment(&mut self, segment: &SegmentPieces) {
        self.save(&segment.prints);
        let mut first = 0;
        for piece in &segment.pieces {
            self.piece(piece, &segment.part, first);
            first = piece.transfers;
        }
        self.segments += 1;
    }

    /// Takes a piece, whose first transfer has this number.
    fn piece(&mut self, piece: &Piece, part: &Part, first: usize) {
        let log2 = self.stacks.visitor.shape.log2;
        // What the end of the trace makes certain has no bytes.
        if piece.end > self.at {
            self.stacks.visitor.go_to(self.at >> log2);
        }
        for (source, counted) in piece.counted.iter().enumerate() {
            self.stacks.visitor.count(source, counted);
        }
        part.each_by_source(first..piece.transfers, |some| self.stacks.transfers(some));
        self.at = piece.end;
        self.stacks.visitor.reach(piece.end);
    }

    /// Stores the stacks at the beginning of some segments. Those of many open frames are stored
    /// less often.
    fn save(&mut self, prints: &[u32]) {
        let since = self.saved.as_ref().map(|(segment, _)| self.segments - segment);
        let due = EVERY + self.stacks.open_frames() / FRAMES_PER_SEGMENT;
        if since.is_some_and(|since| since < due) {
            return;
        }
        let Some(stacks) = self.stacks.save() else { return };
        let (threads, times) = self.stacks.visitor.open();
        let saved = SavedView { threads, times, prints: prints.to_vec(), stacks };
        let before = self.saved.as_ref();
        let mut bytes = Vec::new();
        saved.put(before.map(|(_, saved)| saved), self.at, self.tasks, &mut bytes);
        put(&mut self.saved_bytes, self.segments - before.map_or(0, |(segment, _)| *segment));
        put(&mut self.saved_bytes, bytes.len() as u64);
        self.saved_bytes.extend(bytes);
        self.saved_count += 1;
        self.saved = Some((self.segments, saved));
    }

    /// Takes the sections of the segments since the last call. `last`: the trace ends.
    pub(crate) fn take(&mut self, last: bool) -> ViewSections {
        if last {
            self.stacks.finish();
            self.stacks.visitor.finish();
        }
        let mut sections = ViewSections::default();
        let own = &mut self.stacks.visitor;
        let names = Arc::make_mut(&mut own.names);
        names.put_new(&mut sections.names);
        if let Some(list) = &own.list {
            // Later trace may show another one.
            if last {
                names.set_outermost(list.outermost());
            }
            names.put_outermost(&mut sections.names);
        }
        own.put_tiles(&mut sections.tiles);
        own.put_frames(&mut sections.frames);
        own.put_sums(&mut sections.sums);
        own.put_functions(last, &mut sections.functions);
        put(&mut sections.stacks, std::mem::take(&mut self.saved_count));
        sections.stacks.append(&mut self.saved_bytes);
        self.saved = None;
        sections
    }
}
