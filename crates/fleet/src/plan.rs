//! Which units a job has.

use std::collections::BTreeMap;
use std::ops::Range;

use tracewright::analysis::coverage_runs::{Digest, Digester};
use tracewright::index::IndexedBuffer;

use crate::capture::{CaptureIdentity, Extent};
use crate::captures::Captures;
use crate::difference;
use crate::error::FleetError;
use crate::unit_id::UnitId;

/// What is computed of each unit. Results of the same job add up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    /// The job and its options as a text.
    pub name: String,
    /// Units may begin and end at any segment. Otherwise a unit has whole buffers.
    pub divides: bool,
}

/// Segments of a buffer.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Piece {
    /// The digest of the data of the capture.
    pub capture: Digest,
    /// The number of the buffer in the capture.
    pub buffer: usize,
    /// The first segment, and that after the last.
    pub segments: (usize, usize),
}

impl Piece {
    /// The segments.
    pub fn range(&self) -> Range<usize> {
        self.segments.0..self.segments.1
    }
}

/// What is computed at once, and added up as a whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unit {
    /// A digest of the job, the version of the tool, the data, the programs, the options and the
    /// segments.
    pub id: String,
    /// Its segments, which [`Plan::pieces`] lists.
    pub(crate) runs: Vec<Run>,
    /// The number of bytes of trace, approximately where buffers are divided.
    pub bytes: u64,
}

/// Pieces of a capture that follow each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Run {
    /// All buffers of the capture, none of which is divided.
    Whole(Digest),
    /// One piece.
    Piece(Box<Piece>),
}

/// The captures of `pieces`: the digest of the data, the pieces, and whether these are all of its
/// buffers, none of which is divided.
pub(crate) fn by_capture<'a>(
    pieces: &'a [Piece],
    captures: &Captures,
) -> impl Iterator<Item = (Digest, &'a [Piece], bool)> {
    pieces.chunk_by(|one, other| one.capture == other.capture).filter_map(|pieces| {
        let data = pieces.first()?.capture;
        let whole = |(piece, own): (&Piece, &Extent)| {
            piece.buffer == own.number && piece.segments == (0, own.segments)
        };
        let is_whole = captures.get(&data).is_some_and(|own| {
            pieces.len() == own.buffers.len() && pieces.iter().zip(&own.buffers).all(whole)
        });
        Some((data, pieces, is_whole))
    })
}

/// The pieces of a capture that is not divided.
pub(crate) fn whole_pieces(own: &CaptureIdentity) -> impl Iterator<Item = Piece> + '_ {
    own.buffers.iter().map(|buffer| Piece {
        capture: own.data,
        buffer: buffer.number,
        segments: (0, buffer.segments),
    })
}

/// A capture, and where its buffers may be divided.
#[derive(Clone, Debug)]
pub struct Planned {
    /// The capture.
    pub identity: CaptureIdentity,
    /// For each buffer: the borders of its pieces, from 0 to the number of segments.
    pub borders: Vec<Vec<usize>>,
}

/// The units of a job, and what they are of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// The job.
    pub job: Job,
    /// The digest of all captures and the job.
    pub(crate) digest: Digest,
    /// The number of all captures.
    pub(crate) total: usize,
    /// The captures; of an extract those of its units.
    pub captures: Captures,
    /// The units. Their order does not depend on that of the captures.
    pub units: Vec<Unit>,
    /// The positions in the list of all captures that the units are of, where the plan is that of
    /// a share of a list.
    pub(crate) listed: Option<(usize, usize)>,
}

/// The version of the tool, which is part of each identity.
pub const TOOL: &str = concat!("tracewright ", env!("CARGO_PKG_VERSION"));

/// The bytes of a unit, where none are given.
pub const UNIT: u64 = 64 << 20;
/// Small buffers make a unit of at most this many times as many bytes.
const PACKED: u64 = 4;
/// The most pieces of a unit: to open a capture takes time, however small it is.
const PIECES: u64 = 256;

/// The borders of pieces of about `size` bytes. `None`: the buffer is not divided.
pub fn borders(index: Option<&IndexedBuffer>, size: u64) -> Vec<usize> {
    let Some(index) = index else { return vec![0, 1] };
    let size = size.max(1);
    let count = index.covered() / size;
    let mut all = vec![0];
    all.extend((1..=count).filter_map(|n| index.with_byte(n * size)));
    all.push(index.len());
    all.dedup();
    all
}

impl Plan {
    /// The units of `job` for these captures, each of about `size` bytes of trace; small buffers of
    /// the same programs are in one unit.
    ///
    /// # Errors
    /// [`FleetError::SameCapture`] for captures that have trace.
    pub fn new(job: Job, captures: Vec<Planned>, size: u64) -> Result<Plan, FleetError> {
        let mut by_programs: BTreeMap<(Digest, Digest), Vec<Vec<usize>>> = BTreeMap::new();
        let mut all = Captures::new();
        for Planned { identity, borders } in captures {
            if identity.buffers.is_empty() {
                // There is no unit of it.
                continue;
            }
            let is_empty = identity.buffers.iter().all(|own| own.bytes == 0);
            let (data, programs) = (identity.data, identity.programs);
            if !all.insert(&identity) && !is_empty {
                return Err(FleetError::SameCapture(data));
            }
            by_programs.insert((programs, data), borders);
        }
        let (digest, total) = (digest(&job, &all), all.len());
        let units = Vec::new();
        let mut plan = Plan { job, digest, total, captures: all, units, listed: None };
        let (mut open, mut bytes, mut weight, mut programs) = (Vec::new(), 0u64, 0u64, None);
        for ((own, data), borders) in by_programs {
            let Some(identity) = plan.captures.get(&data) else { continue };
            for (piece, len) in pieces(&identity, &borders, plan.job.divides) {
                let its = len.max(size.div_ceil(PIECES));
                let full =
                    weight >= size || weight.saturating_add(its) > size.saturating_mul(PACKED);
                if full || programs != Some(own) {
                    plan.push(&open, std::mem::take(&mut bytes));
                    open.clear();
                    weight = 0;
                }
                programs = Some(own);
                bytes = bytes.saturating_add(len);
                weight = weight.saturating_add(its);
                open.push(piece);
            }
        }
        plan.push(&open, bytes);
        Ok(plan)
    }

    /// The plan of a share of a list of `total` captures, those at `positions`, which are added
    /// with [`admit`](Plan::admit). `list` is a digest of the list: the parts that add up have the
    /// same.
    pub fn of_list(job: Job, list: &Digest, total: usize, positions: Range<usize>) -> Plan {
        let mut digester = Digester::default();
        [TOOL, &job.name, "list"].into_iter().for_each(|text| digester.text(text));
        digester.add(&list.0);
        let digest = digester.finish();
        let listed = Some((positions.start, positions.end));
        Plan { job, digest, total, captures: Captures::new(), units: Vec::new(), listed }
    }

    /// Makes `identity` the only capture of the plan, and its buffers, which are not divided, the
    /// only unit. `None`: it has no buffer.
    pub fn admit(&mut self, identity: CaptureIdentity) -> Option<Unit> {
        let borders: Vec<_> = identity.buffers.iter().map(|own| vec![0, own.segments]).collect();
        self.captures.clear();
        self.units.clear();
        let (all, bytes): (Vec<_>, Vec<_>) = pieces(&identity, &borders, false).into_iter().unzip();
        self.captures.insert(&identity);
        self.push(&all, bytes.iter().sum());
        self.units.pop()
    }

    pub(crate) fn push(&mut self, pieces: &[Piece], bytes: u64) {
        if pieces.is_empty() {
            return;
        }
        let id = self.identifier(pieces).to_string();
        let mut runs = Vec::new();
        for (data, pieces, is_whole) in by_capture(pieces, &self.captures) {
            match is_whole {
                true => runs.push(Run::Whole(data)),
                false => runs.extend(pieces.iter().map(|own| Run::Piece(Box::new(own.clone())))),
            }
        }
        runs.shrink_to_fit();
        self.units.push(Unit { id, runs, bytes });
    }

    /// The pieces of a unit.
    pub fn pieces(&self, unit: &Unit) -> Vec<Piece> {
        let mut pieces = Vec::new();
        for run in &unit.runs {
            match run {
                Run::Piece(own) => pieces.push(Piece::clone(own)),
                Run::Whole(data) => {
                    pieces.extend(self.captures.get(data).iter().flat_map(whole_pieces))
                }
            }
        }
        pieces
    }

    /// Removes the captures that are whole in `unit`, which was computed.
    pub fn forget(&mut self, unit: &Unit) {
        for run in &unit.runs {
            if let Run::Whole(data) = run {
                self.captures.remove(data);
            }
        }
    }

    pub(crate) fn identifier(&self, pieces: &[Piece]) -> UnitId {
        identifier((TOOL, &self.job.name), pieces, &self.captures)
    }

    /// The digest of the captures and the job: that of the parts that add up to the whole.
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// The number of captures; an extract has the number of all.
    pub fn total(&self) -> usize {
        self.total
    }

    /// Fails where the capture that was opened for `data` is another one.
    ///
    /// # Errors
    /// [`FleetError::OtherCapture`].
    pub fn check(&self, data: &Digest, opened: &CaptureIdentity) -> Result<(), FleetError> {
        let Some(own) = self.captures.get(data).filter(|own| own != opened) else {
            return Ok(());
        };
        Err(FleetError::OtherCapture(difference::of_captures(&own, opened)))
    }

    /// Share `number` of `of`, which is counted from 1: the positions of consecutive units. All
    /// shares together are all units.
    pub fn share(&self, number: usize, of: usize) -> Range<usize> {
        let number = number.min(of);
        let at = |n: usize| (n as u128 * self.units.len() as u128 / of.max(1) as u128) as usize;
        at(number.saturating_sub(1))..at(number)
    }

    /// The unit with this identifier.
    ///
    /// # Errors
    /// [`FleetError::NoUnit`].
    pub fn unit(&self, id: &str) -> Result<&Unit, FleetError> {
        let units = self.units.len();
        let found = self.units.iter().find(|unit| unit.id == id);
        found.ok_or_else(|| FleetError::NoUnit { id: id.to_owned(), units })
    }
}

/// The identifier of the unit of these pieces, which `tool` computes for `job`.
pub(crate) fn identifier(
    (tool, job): (&str, &str),
    pieces: &[Piece],
    captures: &Captures,
) -> UnitId {
    let mut digester = Digester::default();
    digester.text(tool);
    digester.text(job);
    for Piece { capture, buffer, segments: (begin, end) } in pieces {
        digester.add(&capture.0);
        captures.decoder(capture).iter().flatten().for_each(|own| digester.add(&own.0));
        [*buffer, *begin, *end].into_iter().for_each(|n| digester.number(n as u64));
    }
    UnitId::of(&digester.finish())
}

/// The digest of `captures` and `job`.
pub(crate) fn digest(job: &Job, captures: &Captures) -> Digest {
    let mut digester = Digester::default();
    digester.text(TOOL);
    digester.text(&job.name);
    for own in captures.iter() {
        [own.data, own.programs, own.options].iter().for_each(|own| digester.add(&own.0));
    }
    digester.finish()
}

/// The pieces of a capture, and their bytes.
fn pieces(identity: &CaptureIdentity, borders: &[Vec<usize>], divides: bool) -> Vec<(Piece, u64)> {
    let mut all = Vec::new();
    for (own, borders) in identity.buffers.iter().zip(borders) {
        let whole = [0, own.segments];
        let borders = if divides { &borders[..] } else { &whole };
        for (begin, end) in borders.iter().zip(borders.iter().skip(1)) {
            let share = |n: usize| u128::from(own.bytes) * n as u128 / own.segments.max(1) as u128;
            let bytes = share(*end).saturating_sub(share(*begin)) as u64;
            let segments = (*begin, *end);
            all.push((Piece { capture: identity.data, buffer: own.number, segments }, bytes));
        }
    }
    all
}
