//! The result of some units of a job, with what it was made of.

use std::collections::{BTreeMap, BTreeSet};

use tracewright::analysis::coverage_runs::Digest;

use crate::captures::{Captures, Whole};
use crate::difference::{self, Origin};
use crate::error::{FleetError, short};
use crate::plan::{self, Piece, Plan, TOOL, Unit, by_capture, whole_pieces};
use crate::program_sums::{self, Codes};
use crate::unit_id::UnitId;

/// The digests of the states at both ends of a piece, where there are states.
pub type States = Option<[Digest; 2]>;

/// The unit that a piece is of, and the states of what was counted at both ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Done {
    /// The identifier of the unit.
    pub unit: UnitId,
    /// The digests of the states before the first segment and after the last; `None` where there is
    /// no state.
    pub states: Option<Box<[Digest; 2]>>,
}

/// What units have computed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Payload {
    /// Counts by key. Those of a key are added; a sum saturates.
    Counts(BTreeMap<String, u64>),
    /// Rows of text by their segments, and the text before the first.
    Rows {
        /// The text before the first row: the names of the columns.
        head: String,
        /// The rows.
        rows: BTreeMap<Piece, String>,
    },
}

impl Payload {
    /// Adds to the count of `key`. Rows have none.
    pub fn count(&mut self, key: String, count: u64) {
        if let Payload::Counts(counts) = self {
            let sum = counts.entry(key).or_default();
            *sum = sum.saturating_add(count);
        }
    }

    /// Adds what other units have computed.
    ///
    /// # Errors
    /// Where both are not of the same kind.
    pub fn add(&mut self, other: Payload) -> Result<(), FleetError> {
        let different = |values| FleetError::Different { what: "kind of result", values };
        match (self, other) {
            (Payload::Counts(own), Payload::Counts(other)) => {
                for (key, count) in other {
                    let sum = own.entry(key).or_default();
                    *sum = sum.saturating_add(count);
                }
                Ok(())
            }
            (Payload::Rows { head, rows }, Payload::Rows { head: its, rows: more }) => {
                if head.is_empty() {
                    *head = its;
                } else if *head != its && !its.is_empty() {
                    return Err(different([head.clone(), its]));
                }
                rows.extend(more);
                Ok(())
            }
            _ => Err(different(["counts".into(), "rows".into()])),
        }
    }
}

/// The result of some units of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// The version of the tool.
    pub tool: String,
    /// The job.
    pub job: String,
    /// The digest of the plan.
    pub plan: Digest,
    /// The number of captures of the plan.
    pub total: usize,
    /// The positions in the list of all captures that the units are of, in order, where the parts
    /// are those of shares of a list: runs that are not adjacent.
    pub listed: Vec<(usize, usize)>,
    /// The captures of which there are units, and those units that have all of their buffers.
    pub captures: Captures,
    /// The code of the mapped program files.
    pub programs: Codes,
    /// The pieces of the units, but for those of captures that are whole in a unit. No two of them
    /// have a segment in common.
    pub pieces: BTreeMap<Piece, Done>,
    /// The units that could not be decoded, by their identifiers, and why. Nothing is counted of
    /// them.
    pub failed: BTreeMap<UnitId, String>,
    /// The captures of a list that could not be opened, by their positions, and why.
    pub unopened: BTreeMap<usize, String>,
    /// What the others have computed.
    pub payload: Payload,
}

/// Positions in a list of captures, counted from 1.
fn positions((begin, end): (usize, usize)) -> String {
    match end - begin {
        1 => format!("capture {end} of the list"),
        _ => format!("captures {} to {end} of the list", begin + 1),
    }
}

/// The first piece that a capture may have.
fn first_of(capture: Digest) -> Piece {
    Piece { capture, buffer: 0, segments: (0, 0) }
}

/// The last one.
fn last_of(capture: Digest) -> Piece {
    Piece { capture, buffer: usize::MAX, segments: (usize::MAX, usize::MAX) }
}

impl Part {
    /// A part of `plan` without units.
    pub fn new(plan: &Plan, payload: Payload) -> Part {
        Part {
            tool: TOOL.to_owned(),
            job: plan.job.name.clone(),
            plan: plan.digest(),
            total: plan.total,
            listed: plan.listed.into_iter().collect(),
            captures: Captures::new(),
            programs: Codes::new(),
            pieces: BTreeMap::new(),
            failed: BTreeMap::new(),
            unopened: BTreeMap::new(),
            payload,
        }
    }

    /// Notes that `unit` of `plan` is in the part. `states` has those of its pieces, in order.
    ///
    /// # Errors
    /// Where the unit is in the part, and where it did not begin in the state in which the one
    /// before it ended.
    pub fn add_unit(
        &mut self,
        plan: &Plan,
        unit: &Unit,
        states: Vec<States>,
    ) -> Result<(), FleetError> {
        let pieces = plan.pieces(unit);
        let id = plan.identifier(&pieces);
        for data in pieces.chunk_by(|one, other| one.capture == other.capture) {
            let own = data.first().and_then(|own| plan.captures.get(&own.capture));
            own.iter().for_each(|own| _ = self.captures.insert(own));
        }
        self.put_unit(id, pieces.into_iter().zip(states).collect())
    }

    /// Adds the pieces of a unit, and their states.
    pub(crate) fn put_unit(
        &mut self,
        unit: UnitId,
        all: Vec<(Piece, States)>,
    ) -> Result<(), FleetError> {
        let (pieces, states): (Vec<Piece>, Vec<States>) = all.into_iter().unzip();
        let mut states = states.into_iter();
        let captures: Vec<_> = by_capture(&pieces, &self.captures).collect();
        let alone = captures.len() == 1;
        for (data, own, is_whole) in captures {
            let states: Vec<States> = states.by_ref().take(own.len()).collect();
            if is_whole && states.iter().all(Option::is_none) {
                let is_own = alone && self.own(own) == unit;
                self.put_whole(data, if is_own { Whole::Own } else { Whole::Of(unit) })?;
                continue;
            }
            for (piece, states) in own.iter().zip(states) {
                self.put(piece.clone(), Done { unit, states: states.map(Box::new) })?;
            }
        }
        Ok(())
    }

    /// The identifier of the unit of these pieces.
    fn own(&self, pieces: &[Piece]) -> UnitId {
        plan::identifier((&self.tool, &self.job), pieces, &self.captures)
    }

    /// The identifier of the unit that a capture is whole in, and the pieces of the capture.
    pub(crate) fn whole(&self, data: &Digest, unit: Whole) -> (UnitId, Vec<Piece>) {
        let pieces: Vec<Piece> = self.captures.get(data).iter().flat_map(whole_pieces).collect();
        let id = match unit {
            Whole::Own => self.own(&pieces),
            Whole::Of(id) => id,
        };
        (id, pieces)
    }

    /// Notes that a capture is whole in a unit. Fails where a part of it is in another one.
    fn put_whole(&mut self, data: Digest, unit: Whole) -> Result<(), FleetError> {
        let (id, pieces) = self.whole(&data, unit);
        if let Some(first) = pieces.first() {
            self.refuse_whole(first, id)?;
            let (begin, end) = (first_of(data), last_of(data));
            if let Some((piece, done)) = self.pieces.range(begin..=end).next() {
                return Err(self.shared(piece, [done.unit, id]));
            }
        }
        self.captures.set_unit(&data, unit);
        Ok(())
    }

    /// Fails where the capture of a piece of `unit` is whole in a unit.
    fn refuse_whole(&self, piece: &Piece, unit: UnitId) -> Result<(), FleetError> {
        match self.captures.unit(&piece.capture) {
            Some(own) => Err(self.shared(piece, [self.whole(&piece.capture, own).0, unit])),
            None => Ok(()),
        }
    }

    fn shared(&self, piece: &Piece, units: [UnitId; 2]) -> FleetError {
        let units = units.map(|unit| unit.to_string());
        FleetError::Shared { segments: self.place(piece), units }
    }

    /// Notes that `unit` of `plan` could not be decoded, and why.
    ///
    /// # Errors
    /// Where the unit is in the part.
    pub fn add_failed(&mut self, plan: &Plan, unit: &Unit, why: String) -> Result<(), FleetError> {
        let pieces = plan.pieces(unit);
        self.failed.insert(plan.identifier(&pieces), why);
        self.add_unit(plan, unit, vec![None; pieces.len()])
    }

    /// The units that could not be decoded, and captures that could not be opened, and why.
    pub fn failures(&self) -> Vec<String> {
        let units = self.failed.iter().map(|(id, why)| format!("unit {id}: {why}"));
        let captures = self.unopened.iter();
        let captures = captures.map(|(n, why)| format!("{}: {why}", positions((*n, n + 1))));
        units.chain(captures).collect()
    }

    /// The number of units. A capture that could not be opened is one.
    pub fn units(&self) -> usize {
        let mut own = 0;
        let mut units: BTreeSet<UnitId> = self.pieces.values().map(|done| done.unit).collect();
        for (_, _, unit) in self.captures.whole() {
            match unit {
                Some(Whole::Of(id)) => _ = units.insert(id),
                Some(Whole::Own) => own += 1,
                None => {}
            }
        }
        own + units.len() + self.unopened.len()
    }

    /// Adds another part. The sum does not depend on the order in which parts are added.
    ///
    /// # Errors
    /// Where both are not parts of the same job, of the same programs, options and versions, and
    /// where they have a segment in common. Then the part is not to be used.
    pub fn merge(&mut self, other: Part) -> Result<(), FleetError> {
        let equal = |what, one: &str, other: &str| match one == other {
            true => Ok(()),
            false => {
                let values = [one.to_owned(), other.to_owned()];
                Err(FleetError::Different { what, values })
            }
        };
        equal("version", &self.tool, &other.tool)?;
        equal("job", &self.job, &other.job)?;
        difference::check(&self.origin(), &other.origin())?;
        for own in other.listed {
            self.put_listed(own)?;
        }
        for own in other.captures.iter() {
            self.captures.insert(&own);
            if let Some(unit) = other.captures.unit(&own.data) {
                self.put_whole(own.data, unit)?;
            }
        }
        for (file, code) in other.programs {
            program_sums::put(file, code, &mut self.programs)?;
        }
        self.failed.extend(other.failed);
        self.unopened.extend(other.unopened);
        for (piece, done) in other.pieces {
            self.put(piece, done)?;
        }
        self.payload.add(other.payload)
    }

    /// Adds a piece. Fails where it has a segment in common with one before or after it, and where
    /// the state at the end of one is not that at the beginning of the next.
    fn put(&mut self, piece: Piece, done: Done) -> Result<(), FleetError> {
        self.refuse_whole(&piece, done.unit)?;
        let before = self.pieces.range(..=&piece).next_back();
        let after = self.pieces.range(&piece..).next();
        let own = (&piece, &done);
        for (one, other) in before.map(|it| (it, own)).into_iter().chain(after.map(|it| (own, it)))
        {
            self.border(one, other)?;
        }
        self.pieces.insert(piece, done);
        Ok(())
    }

    /// Adds positions of the list. Fails where some of them are there.
    fn put_listed(&mut self, (begin, end): (usize, usize)) -> Result<(), FleetError> {
        let at = self.listed.partition_point(|own| own.0 < begin);
        self.listed.insert(at, (begin, end));
        let shared = self.listed.windows(2).find_map(|pair| match pair {
            [one, other] if other.0 < one.1 => Some((other.0, one.1.min(other.1))),
            _ => None,
        });
        if let Some(shared) = shared {
            return Err(FleetError::SharedCaptures(positions(shared)));
        }
        self.listed.dedup_by(|next, own| {
            let adjacent = own.1 == next.0;
            own.1 = if adjacent { next.1 } else { own.1 };
            adjacent
        });
        Ok(())
    }

    fn origin(&self) -> Origin<'_> {
        Origin { captures: &self.captures, total: self.total, plan: self.plan }
    }

    /// Segments as a text.
    fn place(&self, piece: &Piece) -> String {
        let Piece { capture, buffer, segments: (begin, end) } = piece;
        let known = self.captures.get(capture);
        let known = known.as_ref().and_then(|own| own.buffer(*buffer));
        let name = known.map_or_else(|| buffer.to_string(), |own| own.name.to_string());
        match known {
            Some(own) if own.segments == 1 => {
                format!("buffer {name} of capture {}", short(capture))
            }
            _ => format!("segments {begin}..{end} of buffer {name} of capture {}", short(capture)),
        }
    }

    /// Fails where a piece and the next one have no sum.
    fn border(
        &self,
        (before, one): (&Piece, &Done),
        (after, other): (&Piece, &Done),
    ) -> Result<(), FleetError> {
        if (before.capture, before.buffer) != (after.capture, after.buffer) {
            return Ok(());
        }
        let units = [one.unit, other.unit];
        let (end, begin) = (before.segments.1, after.segments.0);
        if begin < end || before == after {
            return Err(self.shared(after, units));
        }
        let states =
            (one.states.as_ref().map(|own| own[1]), other.states.as_ref().map(|own| own[0]));
        let decoded = [one, other].iter().all(|own| !self.failed.contains_key(&own.unit));
        if begin == end && decoded && states.0 != states.1 {
            let units = units.map(|unit| unit.to_string());
            return Err(FleetError::Border { segments: self.place(after), units });
        }
        Ok(())
    }

    /// Fails where a piece is not one of the captures.
    pub(crate) fn check_pieces(&self) -> Result<(), String> {
        for piece in self.pieces.keys() {
            let Piece { capture, buffer, segments: (begin, end) } = piece;
            let own = self.captures.get(capture);
            let own = own.as_ref().and_then(|own| own.buffer(*buffer));
            if !own.is_some_and(|own| begin <= end && *end <= own.segments) {
                return Err(format!("it has no {}", self.place(piece)));
            }
        }
        Ok(())
    }

    /// What of the plan is in no unit.
    pub fn lacking(&self) -> Vec<String> {
        let mut lacking = Vec::new();
        for own in self.captures.iter().filter(|own| self.captures.unit(&own.data).is_none()) {
            let data = own.data;
            for buffer in &own.buffers {
                let mut at = 0;
                let number = buffer.number;
                let place = |segments| Piece { capture: data, buffer: number, segments };
                let own = self.pieces.range(place((0, 0))..=place((usize::MAX, usize::MAX)));
                let own = own.map(|(piece, _)| piece.segments);
                for (begin, end) in own.chain([(buffer.segments, buffer.segments)]) {
                    if begin > at {
                        lacking.push(self.place(&place((at, begin))));
                    }
                    at = at.max(end);
                }
            }
        }
        if !self.listed.is_empty() {
            let mut at = 0;
            for (begin, end) in self.listed.iter().copied().chain([(self.total, self.total)]) {
                lacking.extend((begin > at).then(|| positions((at, begin))));
                at = end;
            }
            return lacking;
        }
        match self.total.saturating_sub(self.captures.len()) {
            0 => {}
            1 => lacking.push("a capture of which there is no unit".to_owned()),
            count => lacking.push(format!("{count} captures of which there is no unit")),
        }
        lacking
    }

    /// The units of `plan` of which something is in no unit of the part.
    pub fn lacking_units<'a>(&self, plan: &'a Plan) -> Vec<&'a Unit> {
        let covered = |piece: &Piece| {
            if self.captures.unit(&piece.capture).is_some() {
                return true;
            }
            let place = |segments| Piece { segments, ..piece.clone() };
            let (mut at, end) = piece.segments;
            let own = self.pieces.range(place((0, 0))..place((end, 0)));
            for (begin, end) in own.map(|(own, _)| own.segments) {
                at = if begin <= at { at.max(end) } else { at };
            }
            at >= end
        };
        plan.units.iter().filter(|unit| !plan.pieces(unit).iter().all(covered)).collect()
    }

    /// Fails where units of the plan are lacking, and where more than `allowed` of them could not
    /// be decoded.
    ///
    /// # Errors
    /// [`FleetError::Lacking`], [`FleetError::Failed`].
    pub fn complete(&self, allowed: usize) -> Result<(), FleetError> {
        let lacking = self.lacking();
        if !lacking.is_empty() {
            return Err(FleetError::Lacking(lacking));
        }
        let units = self.failures();
        if units.len() > allowed {
            return Err(FleetError::Failed { units, allowed });
        }
        Ok(())
    }
}
