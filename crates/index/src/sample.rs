//! Decodes tiles here and there, before there is an index: a coarse picture of a long trace.
//!
//! A decoder begins in its initial state before the tile, and a second one closer to it, after the
//! first one has synchronised. Where both are in the same state at the beginning of the tile, or
//! emit the same in it, this does not depend on what was before, and the tile has what a decoding
//! of the whole trace has there. Otherwise what a source did in the tile is not known.

use std::collections::BTreeMap;
use std::io;

use tracewright_analysis::FunctionId;
use tracewright_analysis::flat::{FlatCode, FlatProfile, PAGE};
use tracewright_base::{Batch, Element, Gap, Part};
use tracewright_capture::Buffer;
use tracewright_decode::{Checkpoint, Event, ForeignPlan, Listener, Plan, Session, Wants};
use tracewright_image::Selection;

use crate::build::{fill, from};
use crate::chain::Shape;
use crate::probe::{Nothing, Probe, place};
use crate::tiles::listener::Counted;
use crate::tiles::tile::Counts;
use crate::writer::Subject;

/// Bytes that are decoded at a time, at most.
const STEP: usize = 1 << 14;

/// The longest lead, as a multiple of [`Shape::near`].
const MOST_LEAD: u64 = 2;

/// What ran in a tile.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sample {
    /// The offset of its first byte, and the offset after its last one.
    pub offsets: (u64, u64),
    /// By source. `None` where it is not known: the state of the decoder at the beginning of the
    /// tile was not found from the bytes before it.
    pub sources: Vec<Option<Sampled>>,
}

/// What one source did in a tile: what a decoder emits while it receives the bytes of the tile.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sampled {
    /// Instructions by function. A range counts where it begins.
    pub functions: BTreeMap<FlatCode, u64>,
    /// Exceptions, gaps and others, as a [tile](crate::view::Tile) has them.
    pub counts: Counts,
}

/// Decodes tiles of a buffer.
#[derive(Debug)]
pub struct Sampler<'a> {
    buffer: &'a Buffer,
    session: Session,
    blank: Checkpoint,
    probe: Probe,
    /// By source: it traces instructions.
    instructions: Vec<bool>,
    seen: Seen,
    shape: Shape,
    /// How far before a tile the second decoder begins. The first begins as far before that.
    lead: u64,
}

/// Receives what is emitted in a tile.
#[derive(Debug)]
struct Seen {
    flat: FlatProfile,
    /// By source.
    counted: Vec<Counted>,
    /// By source: trace is lost for a reason that a decoder has, too, which lacks what was before.
    lost: Vec<bool>,
}

impl Seen {
    /// What all sources emitted since the last call. `None` where that may lack what was before;
    /// `whole`: nothing was.
    fn take_all(&mut self, whole: bool) -> Vec<Option<Sampled>> {
        let lost = std::mem::replace(&mut self.lost, vec![false; self.counted.len()]);
        let all = lost.into_iter().enumerate();
        all.map(|(n, lost)| Some(self.take(n)).filter(|_| whole || !lost)).collect()
    }

    fn take(&mut self, source: usize) -> Sampled {
        let counted = self.counted.get_mut(source).map(std::mem::take).unwrap_or_default();
        Sampled { functions: self.flat.take(source), counts: counted.counts }
    }

    fn count(&mut self, source: usize, element: &Element) {
        match element {
            Element::Range(_) => return,
            Element::Gap(Gap::Start | Gap::BadPacket | Gap::BadImage) => {
                if let Some(lost) = self.lost.get_mut(source) {
                    *lost = true;
                }
            }
            _ => {}
        }
        if let Some(own) = self.counted.get_mut(source) {
            own.add(element);
        }
    }
}

impl Listener for Seen {
    fn element(&mut self, source: usize, at: u64, element: Element) {
        self.count(source, &element);
        self.flat.element(source, at, element);
    }

    fn batch(&mut self, batch: &Batch<'_>) {
        for part in batch.parts() {
            if let Part::Element(_, element) = part {
                self.count(batch.source, &element);
            }
        }
        self.flat.batch(batch);
    }

    fn event(&mut self, event: &Event<'_>) {
        self.flat.event(event);
    }

    fn wants(&self) -> Wants {
        self.flat.wants()
    }
}

/// What is in the state of a decoding from the beginning of the buffer, where a tile begins.
struct Settled {
    link: bool,
    /// By source.
    sources: Vec<Settling>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Settling {
    /// It is in that state.
    Same,
    /// It is synchronised. What it emits may depend on what was before.
    Synchronised,
    Unknown,
}

/// By source: instructions were emitted after trace was lost last, or others by a source that
/// traces none. Other packets may be decoded before the synchronisation.
struct Emitted<'a> {
    instructions: &'a [bool],
    sources: Vec<bool>,
}

impl Emitted<'_> {
    fn set(&mut self, source: usize, emitted: bool) {
        if let Some(own) = self.sources.get_mut(source) {
            *own = emitted;
        }
    }
}

impl Listener for Emitted<'_> {
    fn element(&mut self, source: usize, _: u64, element: Element) {
        match element {
            Element::Gap(_) => self.set(source, false),
            Element::Undecodable { .. } => {}
            Element::Range(_) => self.set(source, true),
            _ if self.instructions.get(source) == Some(&true) => {}
            _ => self.set(source, true),
        }
    }

    fn batch(&mut self, batch: &Batch<'_>) {
        for part in batch.parts() {
            match part {
                Part::Element(at, element) => self.element(batch.source, at, element),
                Part::Steps(_) | Part::Turns(_) => self.set(batch.source, true),
            }
        }
    }

    fn wants(&self) -> Wants {
        Wants::ANY_ORDER
    }
}

impl<'a> Sampler<'a> {
    /// A sampler of the buffer of `plan`, with the tiles of an index of this shape. `None` where
    /// the capture has no such buffer.
    ///
    /// # Errors
    /// [`ForeignPlan`] where the plan was made for another capture.
    pub fn new(
        subject: &Subject<'a>,
        plan: &Plan,
        shape: Shape,
    ) -> Result<Option<Self>, ForeignPlan> {
        let Some(buffer) = subject.capture.buffers.get(plan.buffer) else { return Ok(None) };
        let session = subject.session(plan)?;
        let (blank, probe) = (session.state().clone(), Probe::new(&session));
        let sources = blank.sources();
        let seen = Seen {
            flat: FlatProfile::new(subject.code(plan)),
            counted: vec![Counted::default(); sources],
            lost: vec![false; sources],
        };
        let traced = plan.sources.iter().map(|own| own.config.protocol().traces_instructions());
        let instructions = traced.collect();
        let lead = (shape.near / 2).next_multiple_of(shape.step as u64);
        Ok(Some(Sampler { buffer, session, blank, probe, instructions, seen, shape, lead }))
    }

    /// The number of tiles. The last one may be shorter.
    pub fn tiles(&self) -> u64 {
        self.buffer.len().div_ceil(self.tile_len())
    }

    /// The length of a tile in bytes.
    pub fn tile_len(&self) -> u64 {
        1 << self.shape.tile_log2
    }

    /// The name of what was counted: of a function, or the addresses of a page.
    pub fn name(&self, code: FlatCode) -> String {
        match code {
            FlatCode::Function(number) => {
                self.seen.flat.code().name(FunctionId::Known(number)).into_owned()
            }
            FlatCode::Page(first) => format!("{first:#x}..{:#x}", first.wrapping_add(PAGE)),
        }
    }

    /// Decodes a tile. What the end of the trace makes certain is in none.
    ///
    /// # Errors
    /// Where the buffer cannot be read.
    pub fn tile(&mut self, number: u64) -> io::Result<Sample> {
        loop {
            let sample = self.attempt(number)?;
            let most = MOST_LEAD * self.shape.near;
            if self.lead >= most || sample.offsets.0 == 0 || !sample.sources.contains(&None) {
                return Ok(sample);
            }
            self.lead = (2 * self.lead).min(most);
        }
    }

    fn attempt(&mut self, number: u64) -> io::Result<Sample> {
        let len = self.tile_len();
        let begin = number.saturating_mul(len).min(self.buffer.len());
        let end = begin.saturating_add(len).min(self.buffer.len());
        let near = begin.saturating_sub(self.lead);
        let far = near.saturating_sub(self.lead);
        place(&mut self.session, &self.blank, far, None);
        let mut reader = from(self.buffer, far);
        let Settled { link, sources } = self.settle(&mut *reader, (far, near, begin))?;
        let before = self.activity();
        let mut sampled = self.emitted(&mut *reader, end, far == 0)?;
        // Without bytes, a source emits nothing in any state.
        let is_idle = |(before, after): (&u64, u64)| *before == after;
        let idle: Vec<bool> = before.iter().zip(self.activity()).map(is_idle).collect();
        let compares = |(settling, idle): (&Settling, &bool)| match settling {
            Settling::Synchronised => !idle,
            Settling::Same | Settling::Unknown => false,
        };
        let second = if sources.iter().zip(&idle).any(compares) {
            self.again(near, begin, end)?
        } else {
            Vec::new()
        };
        for (n, own) in sampled.iter_mut().enumerate() {
            let known = match sources.get(n) {
                _ if !link => false,
                _ if idle.get(n) == Some(&true) => true,
                Some(Settling::Same) => true,
                // Decoders that are not synchronised any more emit nothing, too.
                Some(Settling::Synchronised) => {
                    second.get(n) == Some(own) && *own != Some(Sampled::default())
                }
                Some(Settling::Unknown) | None => false,
            };
            if !known {
                *own = None;
            }
        }
        Ok(Sample { offsets: (begin, end), sources: sampled })
    }

    /// What a decoder emits in the tile that begins at `near`.
    fn again(&mut self, near: u64, begin: u64, end: u64) -> io::Result<Vec<Option<Sampled>>> {
        place(&mut self.session, &self.blank, near, None);
        let mut reader = from(self.buffer, near);
        let mut space = [0; STEP];
        while self.session.state().at() < begin {
            let bytes = next(&self.session, &mut *reader, begin, &mut space)?;
            self.session.feed(bytes, &mut Nothing);
        }
        self.emitted(&mut *reader, end, false)
    }

    /// What is emitted up to offset `end`, by source.
    fn emitted(
        &mut self,
        reader: &mut dyn io::Read,
        end: u64,
        whole: bool,
    ) -> io::Result<Vec<Option<Sampled>>> {
        for (source, selection) in self.selections() {
            self.seen.event(&Event::Select { source, selection });
        }
        let mut space = [0; STEP];
        while self.session.state().at() < end {
            let bytes = next(&self.session, reader, end, &mut space)?;
            self.session.feed(bytes, &mut self.seen);
        }
        Ok(self.seen.take_all(whole))
    }

    /// Decodes from `far` up to `begin`. Its state there does not depend on what is before `far`
    /// where a decoder that began at `near` is in the same state, and this one had been
    /// synchronised before that: otherwise both depend on the same bytes.
    fn settle(
        &mut self,
        reader: &mut dyn io::Read,
        (far, near, begin): (u64, u64, u64),
    ) -> io::Result<Settled> {
        let sources = vec![false; self.blank.sources()];
        let mut emitted = Emitted { instructions: &self.instructions, sources };
        let mut space = [0; STEP];
        let first = self.activity();
        while self.session.state().at() < near {
            let bytes = next(&self.session, reader, near, &mut space)?;
            self.session.feed(bytes, &mut emitted);
        }
        // Bytes of a source: its trace ID had been found.
        let routed = self.activity() != first;
        if far > 0 {
            self.probe.start(&mut self.session);
        }
        while self.session.state().at() < begin {
            let step = self.session.state().at() + self.shape.step as u64;
            let bytes = next(&self.session, reader, step.min(begin), &mut space)?;
            self.session.feed(bytes, &mut Nothing);
            self.probe.feed(bytes, &mut self.session, &mut Vec::new());
        }
        let probe = &self.probe;
        let settled = |(n, emitted)| match (far, emitted) {
            (0, _) => Settling::Same,
            (_, true) if probe.is_verified(n) => Settling::Same,
            (_, true) => Settling::Synchronised,
            (_, false) => Settling::Unknown,
        };
        let sources = emitted.sources.into_iter().enumerate().map(settled).collect();
        let link = far == 0 || routed && probe.is_linked();
        self.probe.stop();
        Ok(Settled { link, sources })
    }

    /// By source: what changes where it receives bytes.
    fn activity(&self) -> Vec<u64> {
        let state = self.session.state();
        (0..state.sources()).map(|n| state.activity(n)).collect()
    }

    /// The program memory that is selected, by source.
    fn selections(&self) -> Vec<(usize, Selection)> {
        let sources = 0..self.session.state().sources();
        sources.filter_map(|n| Some((n, self.session.selected(n)?.1))).collect()
    }
}

/// The next bytes for `session`, at most up to offset `end`.
fn next<'b>(
    session: &Session,
    reader: &mut dyn io::Read,
    end: u64,
    space: &'b mut [u8; STEP],
) -> io::Result<&'b [u8]> {
    let left = usize::try_from(end - session.state().at()).unwrap_or(STEP).min(STEP);
    let bytes = fill(reader, space.get_mut(..left).unwrap_or_default())?;
    match bytes.is_empty() {
        true => Err(io::ErrorKind::UnexpectedEof.into()),
        false => Ok(bytes),
    }
}
