//! The listing of one worker of a parallel decode.

use std::mem;

use tracewright_base::Gap;
use tracewright_decode::{Fork, ForkState, Size};
use tracewright_views::range_tails::RangeTails;

use super::super::frames::RawFrames;
use super::super::order::Order;
use super::selection::SelectionState;
use super::source::{Source, UnsyncedLine};
use super::{Listing, MAX_WAITING, WRITTEN};

/// Lines of at least this many bytes are taken as they are. Fewer are copied, so that they take no
/// more memory than their length.
const LARGE: usize = 1 << 17;

/// What the text of later lines depends on.
#[derive(Clone, Debug)]
pub struct State {
    sources: Vec<Source>,
    frames: RawFrames,
    /// Lines that wait for late elements.
    line: String,
    order: Order,
    selection: Option<SelectionState>,
}

impl ForkState for State {
    fn same(&self, source: usize, other: &Self) -> bool {
        self.sources.get(source) == other.sources.get(source)
            && self.selection.same(source, &other.selection)
    }

    fn same_beside(&self, other: &Self) -> bool {
        self.frames == other.frames && self.line == other.line && self.order == other.order
    }

    fn adopt(&mut self, source: usize, other: &Self) {
        if let (Some(mine), Some(its)) = (self.sources.get_mut(source), other.sources.get(source)) {
            mine.clone_from(its);
        }
        self.selection.adopt(source, &other.selection);
    }
}

impl Listing<Vec<u8>> {
    /// Ends the listing and returns the lines that wait.
    pub fn rest(mut self) -> Vec<u8> {
        self.write(true);
        self.out
    }
}

impl Fork for Listing<Vec<u8>> {
    type State = State;
    type Output = Vec<u8>;

    fn fork(&self) -> Self {
        let sources = self.sources.iter().map(|source| {
            // Without packets listed, no loss is listed either.
            let lost = if self.shown.packets { Some(Gap::Start) } else { source.lost };
            // A worker that lists bytes before its first synchronisation does not know whether a
            // worker before it has listed such a line.
            let unsynced_line = match source.unsynced_line {
                UnsyncedLine::Yes => UnsyncedLine::Yes,
                _ => UnsyncedLine::NotHere,
            };
            Source::new(source.id, &source.config, lost, unsynced_line)
        });
        Listing {
            out: Vec::new(),
            packet_errors: self.packet_errors,
            shown: self.shown,
            framed: self.framed,
            frames: self.frames.fork(),
            sources: sources.collect(),
            line: String::new(),
            offset: (u64::MAX, None),
            tails: RangeTails::default(),
            constant: self.constant.clone(),
            octets: Vec::new(),
            order: Order::default(),
            late: String::new(),
            error: None,
            limit: WRITTEN,
            selection: self.selection.as_ref().map(|selection| selection.fork().into()),
            before: self.before,
        }
    }

    fn state(&self) -> State {
        State {
            sources: self.sources.clone(),
            frames: self.frames.clone(),
            line: self.line.clone(),
            order: self.order.clone(),
            selection: self.selection.as_ref().map(|selection| selection.state()),
        }
    }

    fn resume(&mut self, state: State) {
        let State { sources, frames, line, order, selection: selected } = state;
        (self.sources, self.frames, self.line, self.order) = (sources, frames, line, order);
        if let (Some(selection), Some(state)) = (&mut self.selection, selected) {
            selection.resume(state);
        }
        self.out.clear();
    }

    fn take(&mut self) -> Vec<u8> {
        let sure = self.order.sure(self.line.len());
        // Lines are not copied to `out`, but remain where they were made until they are taken. As
        // many may wait for late elements as before.
        self.limit = MAX_WAITING;
        if sure >= LARGE && self.out.is_empty() && self.selection.is_none() {
            self.order.written(sure);
            let mut room = String::with_capacity(self.line.len().next_multiple_of(LARGE));
            room.push_str(self.line.get(sure..).unwrap_or_default());
            let mut lines = mem::replace(&mut self.line, room).into_bytes();
            lines.truncate(sure);
            return lines;
        }
        self.write_sure(sure);
        mem::take(&mut self.out)
    }

    #[inline]
    fn size(&self) -> Size {
        let output = self.out.len() + self.line.len();
        Size { state: self.line.len() + self.order.weight(), ..Size::of(output) }
    }
}
