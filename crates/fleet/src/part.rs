//! The result of some units of a job, with what it was made of.

use std::collections::BTreeMap;

use tracewright::analysis::coverage_runs::Digest;

use crate::capture::CaptureIdentity;
use crate::difference::{self, Origin};
use crate::error::{FleetError, short};
use crate::plan::{Piece, Plan, TOOL, Unit};

/// The segments of a unit, and the states of what was counted at both ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Done {
    /// The segments.
    pub piece: Piece,
    /// The digests of the states before the first segment and after the last; `None` where there is
    /// no state.
    pub states: Option<[Digest; 2]>,
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

    /// Adds rows.
    fn add(&mut self, other: Payload) -> Result<(), FleetError> {
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
    /// The captures of which there are units.
    pub captures: BTreeMap<Digest, CaptureIdentity>,
    /// The units.
    pub units: BTreeMap<String, Vec<Done>>,
    /// What they have computed.
    pub payload: Payload,
}

impl Part {
    /// A part of `plan` without units.
    pub fn new(plan: &Plan, payload: Payload) -> Part {
        Part {
            tool: TOOL.to_owned(),
            job: plan.job.name.clone(),
            plan: plan.digest(),
            total: plan.captures.len(),
            captures: BTreeMap::new(),
            units: BTreeMap::new(),
            payload,
        }
    }

    /// Notes that `unit` of `plan` is in the part. `states` has those of its pieces, in order.
    pub fn add_unit(&mut self, plan: &Plan, unit: &Unit, states: Vec<Option<[Digest; 2]>>) {
        for piece in &unit.pieces {
            if let Some(own) = plan.captures.get(&piece.capture) {
                self.captures.insert(piece.capture, own.clone());
            }
        }
        let done = unit.pieces.iter().cloned().zip(states);
        let done = done.map(|(piece, states)| Done { piece, states }).collect();
        self.units.insert(unit.id.clone(), done);
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
        self.captures.extend(other.captures);
        for (id, done) in other.units {
            if self.units.contains_key(&id) {
                let segments = done.first().map_or_else(String::new, |own| self.place(&own.piece));
                return Err(FleetError::Shared { segments, units: [id.clone(), id] });
            }
            self.units.insert(id, done);
        }
        self.payload.add(other.payload)?;
        self.check()
    }

    fn origin(&self) -> Origin<'_> {
        Origin { captures: &self.captures, total: self.total, plan: self.plan }
    }

    /// Segments as a text.
    fn place(&self, piece: &Piece) -> String {
        let Piece { capture, buffer, segments: (begin, end) } = piece;
        let known = self.captures.get(capture).and_then(|own| own.buffer(*buffer));
        let name = known.map_or_else(|| buffer.to_string(), |own| own.name.clone());
        match known {
            Some(own) if own.segments == 1 => {
                format!("buffer {name} of capture {}", short(capture))
            }
            _ => format!("segments {begin}..{end} of buffer {name} of capture {}", short(capture)),
        }
    }

    /// All pieces in order, each with the identifier of its unit.
    fn pieces(&self) -> Vec<(&Done, &str)> {
        let units = self.units.iter();
        let mut all: Vec<_> =
            units.flat_map(|(id, all)| all.iter().map(|done| (done, id.as_str()))).collect();
        all.sort_by(|a, b| a.0.piece.cmp(&b.0.piece));
        all
    }

    /// Fails where two units have a segment in common, and where the state at the end of one is not
    /// that at the beginning of the next.
    fn check(&self) -> Result<(), FleetError> {
        let all = self.pieces();
        for ((one, a), (other, b)) in all.iter().zip(all.iter().skip(1)) {
            let (before, after) = (&one.piece, &other.piece);
            if (before.capture, before.buffer) != (after.capture, after.buffer) {
                continue;
            }
            let units = || [(*a).to_owned(), (*b).to_owned()];
            let (end, begin) = (before.segments.1, after.segments.0);
            if begin < end {
                return Err(FleetError::Shared { segments: self.place(after), units: units() });
            }
            let states = (one.states.map(|own| own[1]), other.states.map(|own| own[0]));
            if begin == end && states.0 != states.1 {
                return Err(FleetError::Border { segments: self.place(after), units: units() });
            }
        }
        Ok(())
    }

    /// Fails where a piece is not one of the captures, and where [`check`](Part::check) does.
    pub(crate) fn check_pieces(&self) -> Result<(), String> {
        for (done, _) in self.pieces() {
            let Piece { capture, buffer, segments: (begin, end) } = &done.piece;
            let own = self.captures.get(capture).and_then(|own| own.buffer(*buffer));
            if !own.is_some_and(|own| begin <= end && *end <= own.segments) {
                return Err(format!("it has no {}", self.place(&done.piece)));
            }
        }
        self.check().map_err(|error| error.to_string())
    }

    /// What of the plan is in no unit.
    pub fn lacking(&self) -> Vec<String> {
        let mut lacking = Vec::new();
        let all = self.pieces();
        for (data, own) in &self.captures {
            for buffer in &own.buffers {
                let mut at = 0;
                let of = |done: &&(&Done, &str)| {
                    done.0.piece.capture == *data && done.0.piece.buffer == buffer.number
                };
                let own = all.iter().filter(of).map(|done| done.0.piece.segments);
                for (begin, end) in own.chain([(buffer.segments, buffer.segments)]) {
                    if begin > at {
                        let segments = (at, begin);
                        let piece = Piece { capture: *data, buffer: buffer.number, segments };
                        lacking.push(self.place(&piece));
                    }
                    at = at.max(end);
                }
            }
        }
        match self.total.saturating_sub(self.captures.len()) {
            0 => {}
            1 => lacking.push("a capture of which there is no unit".to_owned()),
            count => lacking.push(format!("{count} captures of which there is no unit")),
        }
        lacking
    }

    /// Fails where units of the plan are lacking.
    ///
    /// # Errors
    /// [`FleetError::Lacking`].
    pub fn complete(&self) -> Result<(), FleetError> {
        let lacking = self.lacking();
        if lacking.is_empty() { Ok(()) } else { Err(FleetError::Lacking(lacking)) }
    }
}
