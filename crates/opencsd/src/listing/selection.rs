//! Which lines of a listing are written.
//!
//! The text of a line depends on what comes before it, and the line of a late element is inserted
//! before others. A listing with a selection therefore makes all lines. Each begins with a mark,
//! which states whether it is selected; the marks, and the lines that are not, are removed when
//! lines are written.

use std::io;
use std::ops::Range;

use tracewright_base::{self as base, Element};
use tracewright_protocols::registry::AnyPacket;
use tracewright_views::digits::ShortText;
use tracewright_views::filter::Filter;
use tracewright_views::interpretation::{self, Transcript};
use tracewright_views::loop_turns::KIND;
use tracewright_views::sources::Source;

use super::Listing;

/// The mark before a line, or the part of one, that is selected.
const SELECTED: char = '\u{1}';

/// The mark before one that is not.
const HIDDEN: char = '\u{0}';

/// The lines that are written: those that are inside each range that is given, and that the filter
/// selects. Lines of frames have no time, and no filter applies to them.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// The offsets that the lines state, from `Idx:`.
    offset: Option<Range<u64>>,
    /// Times: the last timestamp of the source, up to and including the element.
    time: Option<Range<u64>>,
    /// Packets and elements.
    filter: Filter,
    /// The sources, in the order of the plan.
    sources: Vec<Source>,
    /// By source: the last timestamp.
    times: Vec<Option<u64>>,
    /// By source: what the addresses of packets depend on.
    transcripts: Vec<Transcript>,
    /// The next line is selected.
    selected: bool,
    /// The last line that was written was selected.
    written: bool,
}

/// What the selection of later lines depends on, each by source: the last timestamp, what the
/// addresses of packets depend on, and the context ID.
pub(super) type SelectionState = ((Vec<Option<u64>>, Vec<Transcript>), Vec<Option<u32>>);

impl Selection {
    /// Selects lines inside `offset` and `time` that `filter` selects, of `sources`.
    #[must_use]
    pub fn new(
        offset: Option<Range<u64>>,
        time: Option<Range<u64>>,
        filter: Filter,
        sources: Vec<Source>,
    ) -> Selection {
        Selection { offset, time, filter, sources, ..Selection::default() }
    }

    /// Whether all lines are selected.
    fn is_all(&self) -> bool {
        self.offset.is_none() && self.time.is_none() && self.filter.is_all()
    }

    pub(super) fn fork(&self) -> Selection {
        let Selection { offset, time, filter, sources, .. } = self.clone();
        Selection::new(offset, time, filter, sources)
    }

    pub(super) fn state(&self) -> SelectionState {
        ((self.times.clone(), self.transcripts.clone()), self.filter.contexts())
    }

    pub(super) fn resume(&mut self, ((times, transcripts), contexts): SelectionState) {
        (self.times, self.transcripts) = (times, transcripts);
        self.filter.resume(contexts);
    }

    /// Whether a line of source `n` at `at` is inside the ranges.
    fn has(&self, n: usize, at: u64) -> bool {
        let ticks = self.times.get(n).copied().flatten();
        let inside = |range: &Range<u64>| ticks.is_some_and(|ticks| range.contains(&ticks));
        self.offset.as_ref().is_none_or(|range| range.contains(&at))
            && self.time.as_ref().is_none_or(inside)
    }

    fn element(&mut self, n: usize, at: u64, element: &Element) {
        if let Some(ticks) = element.ticks() {
            if self.times.len() <= n {
                self.times.resize(n + 1, None);
            }
            if let Some(time) = self.times.get_mut(n) {
                *time = Some(ticks);
            }
        }
        self.selected = self.filter.element(n, element) && self.has(n, at);
    }

    fn packet(&mut self, n: usize, at: u64, packet: AnyPacket<'_>) {
        let made = match (interpretation::of(&mut self.transcripts, n), self.sources.get(n)) {
            (Some(transcript), Some(source)) => transcript.address(source, packet),
            _ => None,
        };
        let address = made.and_then(|made| made.whole());
        let kind = packet.kind();
        self.selected = self.filter.packet(n, kind.as_str(), address) && self.has(n, at);
    }

    /// Undecodable bytes: packets after them have no part of an address from before.
    fn undecodable(&mut self, n: usize, at: u64) {
        if let Some(transcript) = self.transcripts.get_mut(n) {
            *transcript = Transcript::default();
        }
        self.selected = self.filter.packet(n, "undecodable", None) && self.has(n, at);
    }

    fn frame(&mut self, at: u64, len: usize) {
        let end = at.saturating_add(len as u64);
        let touches = |range: &Range<u64>| at < range.end && end > range.start;
        self.selected = self.time.is_none() && self.offset.as_ref().is_none_or(touches);
    }

    /// The selected ones of `lines`, without marks.
    fn without_hidden(&mut self, lines: &str) -> String {
        let mut text = String::new();
        for part in lines.split_inclusive([SELECTED, HIDDEN]) {
            // A mark ends the part before it.
            let mark = part.chars().next_back().filter(|&mark| mark <= SELECTED);
            if self.written {
                text.push_str(
                    part.get(..part.len() - mark.map_or(0, char::len_utf8)).unwrap_or(part),
                );
            }
            self.written = mark.map_or(self.written, |mark| mark == SELECTED);
        }
        text
    }
}

impl<W: io::Write> Listing<W> {
    /// Writes only the lines of `selection`.
    #[must_use]
    pub fn with_selection(self, selection: Selection) -> Self {
        let selection = Some(Box::new(selection)).filter(|selection| !selection.is_all());
        Listing { selection, ..self }
    }

    /// The first `sure` bytes of the lines as they are written, where there is a selection.
    pub(super) fn selected_lines(&mut self, sure: usize) -> Option<String> {
        let lines = self.line.get(..sure).unwrap_or_default();
        self.selection.as_mut().map(|selection| selection.without_hidden(lines))
    }

    /// Selects the lines that follow by `choose`.
    #[cold]
    #[inline(never)]
    fn select(&mut self, choose: impl FnOnce(&mut Selection)) {
        let Some(selection) = &mut self.selection else { return };
        choose(selection);
        // The beginning of a line has the mark, and may be in the text of the last offset.
        self.before = match selection.selected {
            true => ShortText::new(b"\x01Idx:"),
            false => ShortText::new(b"\x00Idx:"),
        };
        self.offset = (u64::MAX, None);
    }

    /// The lines that follow are of an element, at `at` as it is listed.
    #[inline]
    pub(super) fn select_element(&mut self, n: usize, at: u64, element: &Element) {
        if self.selection.is_some() {
            self.select(|selection| selection.element(n, at, element));
        }
    }

    /// The line that follows is of turns of a loop.
    pub(super) fn select_turns(&mut self, n: usize, at: u64, ranges: &[base::Range]) {
        self.select(|selection| {
            selection.selected = selection.filter.turns(n, KIND, ranges) && selection.has(n, at);
        });
    }

    /// The line that follows is of a packet.
    #[inline]
    pub(super) fn select_packet(&mut self, n: usize, at: u64, packet: AnyPacket<'_>) {
        if self.selection.is_some() {
            self.select(|selection| selection.packet(n, at, packet));
        }
    }

    /// The line that follows is of undecodable bytes.
    pub(super) fn select_undecodable(&mut self, n: usize, at: u64) {
        self.select(|selection| selection.undecodable(n, at));
    }

    /// The lines that follow are of bytes of frames.
    pub(super) fn select_frame(&mut self, at: u64, len: usize) {
        if self.selection.is_some() {
            self.select(|selection| selection.frame(at, len));
            self.mark();
        }
    }

    /// Puts the mark before text that does not begin with an offset.
    pub(super) fn mark(&mut self) {
        if let Some(selection) = &self.selection {
            self.line.push(if selection.selected { SELECTED } else { HIDDEN });
        }
    }
}
