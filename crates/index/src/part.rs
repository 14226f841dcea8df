//! A run of segments for a listener whose output depends on what was before it.
//!
//! The output of all runs of a buffer, in order, is that of the whole buffer. An element belongs to
//! the segment in which it is emitted. A listener with a state, such as one that counts what
//! follows a branch, must begin in the state that it has there: it is found by decoding segments
//! before the run for two listeners, one of which has received something else before. Where both
//! are in the same state, it does not depend on what was before. Otherwise decoding begins further
//! ahead, at worst at the beginning of the buffer. [`Ran`] has the states at both ends, so that who
//! adds up the runs can compare them.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use std::{error, fmt, io};

use tracewright_base::Element;
use tracewright_capture::Buffer;
use tracewright_decode::{
    Checkpoint, Event, Fork, ForkState, Listener, Merge, Merging, Session, Tally,
};

use crate::build::{fill, from};
use crate::checksum::Checksum;
use crate::collect::Collector;
use crate::error::IndexError;
use crate::index::IndexedBuffer;
use crate::probe::Nothing;
use crate::segment::Segment;

/// Bytes that are decoded at a time.
const STEP: usize = 1 << 14;

/// What is decoded.
#[derive(Clone, Copy, Debug)]
pub struct PartOf<'a> {
    /// The buffer.
    pub buffer: &'a Buffer,
    /// Its index, which is complete.
    pub index: &'a IndexedBuffer,
}

/// A run of segments that was decoded.
#[derive(Debug)]
pub struct Ran<S> {
    /// The counts.
    pub tally: Tally,
    /// The state of the listener before the first segment.
    pub begin: S,
    /// The state after the last one.
    pub end: S,
    /// The bytes before the run that were decoded to find the states.
    pub lead: u64,
}

/// Why a run of segments has no output.
#[derive(Debug)]
#[non_exhaustive]
pub enum PartError {
    /// The buffer cannot be read.
    Read(io::Error),
    /// The index is damaged.
    Damaged(IndexError),
    /// The index does not have all segments, or the run is none.
    NoSegments {
        /// The run.
        segments: Range<usize>,
        /// The number of segments.
        len: usize,
        /// The index has all segments.
        complete: bool,
    },
    /// The bytes of a segment are not those that the index was made of.
    OtherBytes {
        /// The number of the segment, and the offset of its first byte.
        segment: usize,
        /// The offset.
        at: u64,
    },
    /// The elements of a segment are not those that the index was made of.
    OtherElements {
        /// The number of the segment.
        segment: usize,
        /// The offset of its first byte.
        at: u64,
        /// The name of the source.
        source: String,
    },
}

impl fmt::Display for PartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PartError::Read(error) => error.fmt(f),
            PartError::Damaged(error) => write!(f, "the index cannot be used: {error}"),
            PartError::NoSegments { complete: false, .. } => {
                f.write_str("the index ends before the buffer does: make it again")
            }
            PartError::NoSegments { segments: Range { start, end }, len, .. } => {
                write!(f, "there are no segments {start}..{end}: the index has {len}")
            }
            PartError::OtherBytes { segment, at } => write!(
                f,
                "segment {segment}, at offset {at}: the bytes are not those of which the index was \
                 made: the file is damaged or was changed"
            ),
            PartError::OtherElements { segment, at, source } => write!(
                f,
                "segment {segment}, at offset {at}: the elements of source {source} are not those of \
                 the index: the program memory or the decoder is another one"
            ),
        }
    }
}

impl error::Error for PartError {}

impl From<io::Error> for PartError {
    fn from(error: io::Error) -> PartError {
        PartError::Read(error)
    }
}

impl PartOf<'_> {
    /// Decodes `segments` with `session`, which is in its initial state, for `listener`, which is
    /// in its initial state, too, and passes the output to `write`. `disturb` gives something to a
    /// listener that is to have another state than before.
    ///
    /// The bytes and the elements of each segment are compared with the checksums of the index.
    ///
    /// # Errors
    /// [`PartError`]: then the output that was written is not to be used.
    pub fn run<L: Listener + Fork>(
        &self,
        session: &mut Session,
        segments: Range<usize>,
        mut listener: L,
        disturb: &dyn Fn(&mut L, usize),
        write: &mut dyn FnMut(L::Output),
    ) -> Result<Ran<L::State>, PartError> {
        let PartOf { index, .. } = *self;
        let (len, complete) = (index.len(), index.is_complete());
        if !complete || segments.start > segments.end || segments.end > len {
            return Err(PartError::NoSegments { segments, len, complete });
        }
        index.prepare(segments.start);
        self.undamaged()?;
        let mut runner = Runner { part: *self, blank: session.state().clone(), session, lead: 0 };
        let begin = runner.state_at(segments.start, &listener, disturb)?;
        runner.go(segments.start)?;
        listener.resume(begin.clone());
        let mut both = (listener, Merging(Tally::default()));
        let mut tally = Tally::default();
        let functions = index.sources().iter().map(|_| Arc::from([]) as Arc<[u64]>);
        let mut collector = Collector::new(functions.collect(), false);
        for n in segments {
            runner.segment(n, &mut both, &mut collector)?;
            let (output, counts) = both.take();
            tally.merge(counts);
            write(output);
        }
        let end = both.0.state();
        self.undamaged()?;
        let lead = runner.lead;
        runner.session.resume(runner.blank);
        Ok(Ran { tally, begin, end, lead })
    }

    fn undamaged(&self) -> Result<(), PartError> {
        self.index.damage().map_or(Ok(()), |damage| Err(PartError::Damaged(damage)))
    }
}

/// Decodes segments.
struct Runner<'a> {
    part: PartOf<'a>,
    session: &'a mut Session,
    /// The initial state of the session.
    blank: Checkpoint,
    lead: u64,
}

impl Runner<'_> {
    /// Goes to the beginning of segment `n`, in the actual state.
    fn go(&mut self, n: usize) -> Result<(), PartError> {
        let PartOf { buffer, index, .. } = self.part;
        self.session.resume(self.blank.clone());
        if n == 0 {
            return Ok(());
        }
        let start = index.seek(self.session, buffer, n, &mut Nothing)?;
        self.session.resume(start.state);
        // The state of the link is not known at the beginning of each segment.
        let begin = index.begin(n).unwrap_or(0);
        self.feed(begin, &mut Nothing, &mut |_| ())
    }

    /// Decodes up to offset `end`.
    fn feed(
        &mut self,
        end: u64,
        listener: &mut dyn Listener,
        bytes: &mut dyn FnMut(&[u8]),
    ) -> Result<(), PartError> {
        let mut at = self.session.state().at();
        let mut reader = from(self.part.buffer, at);
        let mut space = vec![0; STEP];
        while at < end {
            let most = usize::try_from(end - at).unwrap_or(usize::MAX).min(STEP);
            let part = fill(&mut *reader, space.get_mut(..most).unwrap_or_default())?;
            if part.is_empty() {
                return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
            }
            bytes(part);
            self.session.feed(part, listener);
            at += part.len() as u64;
        }
        Ok(())
    }

    /// The state of a listener such as `listener` at the beginning of segment `n`: for each source
    /// that which it has at the end of the last segment in which the source is active.
    fn state_at<L: Listener + Fork>(
        &mut self,
        n: usize,
        listener: &L,
        disturb: &dyn Fn(&mut L, usize),
    ) -> Result<L::State, PartError> {
        let index = self.part.index;
        let mut blank = listener.fork();
        blank.take();
        let mut state = blank.state();
        let mut last: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for source in 0..self.blank.sources() {
            if let Some(active) = index.active_before(n, source) {
                last.entry(active).or_default().push(source);
            }
        }
        for (active, sources) in last {
            let mut back = 0;
            loop {
                let first = active.saturating_sub(back);
                let (one, other) = self.lead(first, active + 1, listener, disturb)?;
                let settled = |source: &usize| one.same(*source, &other);
                if first == 0 || sources.iter().all(settled) {
                    sources.iter().for_each(|source| state.adopt(*source, &one));
                    break;
                }
                back = back * 2 + 1;
            }
        }
        Ok(state)
    }

    /// The states at the beginning of segment `end` of two listeners that began in different ones
    /// at the beginning of segment `first`; the first of them is the actual state where that is the
    /// beginning of the buffer.
    fn lead<L: Listener + Fork>(
        &mut self,
        first: usize,
        end: usize,
        listener: &L,
        disturb: &dyn Fn(&mut L, usize),
    ) -> Result<(L::State, L::State), PartError> {
        let index = self.part.index;
        self.go(first)?;
        let (mut one, mut other) = (listener.fork(), listener.fork());
        if first > 0 {
            let contexts = index.position(first).contexts;
            for source in 0..self.blank.sources() {
                let selected = self.session.selected(source).map(|(_, selection)| selection);
                let context = contexts.get(source).copied().flatten();
                for own in [&mut one, &mut other] {
                    if let Some(selection) = selected {
                        own.event(&Event::Select { source, selection });
                    }
                    if let Some((at, context)) = context {
                        own.element(source, at, Element::Context(context));
                    }
                }
                disturb(&mut other, source);
            }
        }
        for n in first..end {
            let (at, to) = (self.session.state().at(), index.begin(n + 1).unwrap_or(0));
            self.lead += to.saturating_sub(at);
            let mut sum = Checksum::default();
            self.feed(to, &mut (&mut one, &mut other), &mut |part| sum.add(part))?;
            self.same_bytes(n, at, &sum)?;
        }
        one.take();
        other.take();
        Ok((one.state(), other.state()))
    }

    /// Fails where `sum` is not that of the bytes of segment `n`, which begins at offset `at`.
    fn same_bytes(&self, n: usize, at: u64, sum: &Checksum) -> Result<(), PartError> {
        match self.part.index.segment(n) {
            Some(known) if known.len == 0 || sum.value() == known.checksum => Ok(()),
            Some(_) => Err(PartError::OtherBytes { segment: n, at }),
            None => {
                let damage = self.part.index.damage().unwrap_or(IndexError::Damaged { at });
                Err(PartError::Damaged(damage))
            }
        }
    }

    /// Decodes segment `n`, and compares it with the index.
    fn segment(
        &mut self,
        n: usize,
        listener: &mut dyn Listener,
        collector: &mut Collector,
    ) -> Result<(), PartError> {
        let PartOf { index, .. } = self.part;
        let at = self.session.state().at();
        let mut sum = Checksum::default();
        let Some(len) = index.segment(n).map(|known| known.len) else {
            let damage = index.damage().unwrap_or(IndexError::Damaged { at });
            return Err(PartError::Damaged(damage));
        };
        self.feed(at + len, &mut (&mut *listener, &mut *collector), &mut |part| sum.add(part))?;
        self.same_bytes(n, at, &sum)?;
        if n + 1 == index.len() {
            self.session.finish(&mut (&mut *listener, &mut *collector));
        }
        let found = sums(&collector.take(&[]));
        let known = index.segment(n).map(|segment| sums(&segment)).unwrap_or_default();
        let differs = |source: &u16| found.get(source) != known.get(source);
        match known.keys().chain(found.keys()).find(|source| differs(source)) {
            None => Ok(()),
            Some(source) => {
                let own = index.sources().get(usize::from(*source));
                let source = own.map(|own| own.name.clone()).unwrap_or_default();
                Err(PartError::OtherElements { segment: n, at, source })
            }
        }
    }
}

/// By source: the numbers of elements and instructions, and the checksum.
fn sums(segment: &Segment) -> BTreeMap<u16, [u64; 3]> {
    let streams = segment.streams.iter();
    let own = streams.map(|own| (own.source, [own.elements, own.instructions, own.checksum]));
    own.filter(|(_, sums)| *sums != [0; 3]).collect()
}
