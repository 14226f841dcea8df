//! What is collected of the pieces of tiles, on the threads that decode.

use tracewright_analysis::stacks::Part;
use tracewright_analysis::{SourceState, Transfers};
use tracewright_base::{Batch, Element, Part as Executed};
use tracewright_decode::{Fork, Listener, Wants};

use super::tile::{COUNTS, Counts};
use super::values::{Series, Values};
use crate::key::{Key, Kind};
use crate::segment::Times;

/// What a decoder emits while it receives the bytes up to the end of a tile or a segment.
#[derive(Clone, Debug)]
pub(crate) struct Piece {
    /// The offset at which it ends.
    pub(crate) end: u64,
    /// The number of transfers of the segment before its end.
    pub(crate) transfers: usize,
    /// By source: what else there is.
    pub(crate) counted: Vec<Counted>,
}

/// What one source has beside ranges.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counted {
    pub(crate) counts: Counts,
    pub(crate) times: Option<Times>,
    pub(crate) values: Values,
}

/// The pieces of one segment.
#[derive(Clone, Debug, Default)]
pub(crate) struct SegmentPieces {
    /// By source: the [fingerprint](SourceState::fingerprint) of its state at the beginning.
    pub(crate) prints: Vec<u32>,
    pub(crate) pieces: Vec<Piece>,
    /// Its transfers.
    pub(crate) part: Part,
}

/// Collects pieces.
#[derive(Debug)]
pub(crate) struct Pieces {
    transfers: Transfers,
    counted: Vec<Counted>,
    segment: SegmentPieces,
    /// The length of a tile.
    tile: u64,
}

impl Clone for Pieces {
    fn clone(&self) -> Pieces {
        let mut own = Pieces::new(self.transfers.fork(), self.counted.len(), self.tile);
        own.resume(self.state());
        own
    }
}

impl Pieces {
    pub(crate) fn new(transfers: Transfers, sources: usize, tile: u64) -> Pieces {
        let counted = vec![Counted::default(); sources];
        let mut own = Pieces { transfers, counted, segment: SegmentPieces::default(), tile };
        own.begin();
        own
    }

    /// The length of a tile.
    pub(crate) const fn tile(&self) -> u64 {
        self.tile
    }

    /// What later transfers depend on.
    pub(crate) fn state(&self) -> Vec<SourceState> {
        self.transfers.state()
    }

    /// Continues from a state.
    pub(crate) fn resume(&mut self, state: Vec<SourceState>) {
        self.transfers.resume(state);
        self.begin();
    }

    /// Begins in the initial state.
    pub(crate) fn reset(&mut self) {
        self.resume(vec![SourceState::default(); self.counted.len()]);
    }

    /// A segment begins here. What was collected is dropped.
    pub(crate) fn begin(&mut self) {
        drop(self.transfers.take());
        self.counted.iter_mut().for_each(|own| *own = Counted::default());
        self.segment = SegmentPieces { prints: prints(&self.state()), ..SegmentPieces::default() };
    }

    /// What was decoded so far ends at offset `at`: a piece, where that is the end of a tile.
    pub(crate) fn reach(&mut self, at: u64) {
        if at.is_multiple_of(self.tile) {
            self.cut(at);
        }
    }

    /// A piece ends at offset `end`.
    pub(crate) fn cut(&mut self, end: u64) {
        let counted = self.counted.iter_mut().map(std::mem::take).collect();
        let transfers = self.transfers.mark();
        self.segment.pieces.push(Piece { end, transfers, counted });
    }

    /// The segment ends, and the next one begins.
    pub(crate) fn take(&mut self) -> SegmentPieces {
        let next = SegmentPieces { prints: prints(&self.state()), ..SegmentPieces::default() };
        SegmentPieces { part: self.transfers.take(), ..std::mem::replace(&mut self.segment, next) }
    }
}

/// The fingerprints of states.
pub(crate) fn prints(states: &[SourceState]) -> Vec<u32> {
    states.iter().map(|state| state.fingerprint() as u32).collect()
}

/// The position of the count of a kind in [`Counts`].
const fn counter(kind: Kind) -> Option<usize> {
    Some(match kind {
        Kind::Exception => 0,
        Kind::Gap => 1,
        Kind::Write => 2,
        Kind::Access => 3,
        Kind::Event | Kind::Trigger => 4,
        Kind::Dwt => 5,
        Kind::Context => 6,
        Kind::Function | Kind::Time | Kind::Sync => return None,
    })
}

const _: () = assert!(COUNTS == 7);

impl Counted {
    /// Counts an element.
    pub(crate) fn add(&mut self, element: &Element) {
        if let Some(time) = element.ticks() {
            match &mut self.times {
                Some(times) => times.add(time),
                times => *times = Some(Times::of(time)),
            }
        }
        if let Some((series, value, bits)) = Series::of(element) {
            self.values.entry(series).or_default().add(value, bits);
        }
        Key::each(element, |key| {
            if let Some(count) = counter(key.kind).and_then(|n| self.counts.get_mut(n)) {
                *count += 1;
            }
        });
    }
}

impl Pieces {
    fn count(&mut self, source: usize, element: &Element) {
        if !matches!(element, Element::Range(_))
            && let Some(own) = self.counted.get_mut(source)
        {
            own.add(element);
        }
    }
}

impl Listener for Pieces {
    fn element(&mut self, source: usize, at: u64, element: Element) {
        self.count(source, &element);
        self.transfers.element(source, at, element);
    }

    fn batch(&mut self, batch: &Batch<'_>) {
        for part in batch.parts() {
            if let Executed::Element(_, element) = part {
                self.count(batch.source, &element);
            }
        }
        self.transfers.batch(batch);
    }

    /// The stacks of one source do not depend on those of another.
    fn wants(&self) -> Wants {
        Wants::ANY_ORDER
    }
}
