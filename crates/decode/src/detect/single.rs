//! The framing and the trace IDs of a single trace unit that the user names without them.

use tracewright_base::remedy::FRAMING;
use tracewright_frames::Framing;
use tracewright_protocols::TraceForm;
use tracewright_protocols::registry::AnyProtocol;

use super::link::{self, streams};
use super::{Candidate, Certainty, Detection, LONG, is_same};
use crate::raw::{RawFraming, RawTrace, Unit};

/// A unit of which the framing, or the trace ID in frames, is not given.
pub(super) struct Single {
    protocol: AnyProtocol,
    id: Option<u16>,
    framing: Option<Framing>,
}

/// Frames explain the bytes better than unframed data if their score is higher by this.
const MARGIN: i64 = 50;

impl Single {
    /// The only unit of `raw`, of which `register` gives the registers; `None` where all is given.
    pub(super) fn of(
        raw: &RawTrace,
        framing: Option<Framing>,
        register: impl Fn(&str) -> Option<u64>,
    ) -> Option<Single> {
        let [unit] = raw.units.as_slice() else { return None };
        let protocol = AnyProtocol::named(&unit.protocol)?;
        if protocol.form() != TraceForm::Bytes || protocol.has_own_port() {
            return None;
        }
        let of_register = || {
            let (name, shift) = protocol.id_register()?;
            u16::try_from(register(name)? >> shift & 0x7f).ok().filter(|id| *id > 0)
        };
        let of_option = || raw.ids.first().copied().filter(|_| raw.ids.len() == 1);
        let id = unit.id.or_else(of_option).or_else(of_register);
        let open = framing.is_none() || framing != Some(Framing::Raw) && id.is_none();
        let dump = raw.buffer_registers.is_some() || raw.parameters.is_some();
        (open && !dump).then_some(Single { protocol, id, framing })
    }

    /// Whether the bytes may be frames: of several sources, where the framing is given.
    pub(super) fn may_be_framed(&self, head: &[u8]) -> bool {
        match self.framing {
            None => link::links(head).iter().any(|link| link.framing != Framing::Raw),
            Some(framing) => streams(head.get(..LONG).unwrap_or(head), framing).len() > 1,
        }
    }

    /// Completes the description by what was found for all protocols, and returns what was found of
    /// the unit; `None` where it is not in frames.
    pub(super) fn settle(
        &self,
        raw: &mut RawTrace,
        found: &Detection,
        notes: &mut Vec<String>,
    ) -> Option<Candidate> {
        let best = found.best().filter(|best| best.framing != Framing::Raw)?;
        let unframed = found.candidates.iter().find(|other| other.framing == Framing::Raw);
        if unframed.is_some_and(|other| best.score < other.score + MARGIN) {
            return None;
        }
        let fits = best.sources.iter().filter(|source| {
            source.certainty() >= Certainty::Possible
                && source.best().is_some_and(|i| is_same(i.protocol, self.protocol))
        });
        let mut ids: Vec<u16> = fits.map(|source| source.id).collect();
        // The given ID stays: if it has data of another protocol, the diagnosis states that.
        if let Some(id) = self.id {
            ids = vec![id];
        }
        let name = raw.units.first().filter(|_| !ids.is_empty())?.protocol.clone();
        let what = if self.framing.is_none() { FRAMING.to_string() } else { "trace ID".into() };
        notes.push(format!("no {what} was given; detected: {}", best.summary()));
        raw.units = ids.iter().map(|id| Unit { protocol: name.clone(), id: Some(*id) }).collect();
        raw.framing = RawFraming::Framed(best.framing);
        raw.skip += best.skip as u64;
        let mut own = best.clone();
        own.sources.retain(|source| ids.contains(&source.id));
        Some(own)
    }
}
