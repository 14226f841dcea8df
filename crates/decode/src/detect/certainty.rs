//! How sure what was found is.

use tracewright_frames::Framing;
use tracewright_protocols::registry::AnyProtocol;

use super::arm::sync_points;
use super::processor::{Fit, Processors};
use super::{Candidate, GOOD, Inference, LEAST, SourceCandidate, is_same};

/// How sure a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Certainty {
    /// Nothing explains the bytes well.
    Unknown,
    /// The best of several explanations, or one that proves little.
    Possible,
    /// Others explain the bytes less well.
    Likely,
    /// Nothing else explains the bytes.
    Certain,
}

impl Certainty {
    /// The name.
    pub const fn name(self) -> &'static str {
        match self {
            Certainty::Unknown => "unknown",
            Certainty::Possible => "possible",
            Certainty::Likely => "likely",
            Certainty::Certain => "certain",
        }
    }
}

/// Fewer bytes than these prove nothing.
const FEW: u64 = 24;

/// Fewer packets than these prove nothing.
const PACKETS: u64 = 8;

/// With a lower score, too many bytes are no packets.
const LEAST_LIKELY: i64 = 800;

/// Fewer bytes without a synchronisation prove nothing.
const UNSYNCED: u64 = 512;

/// The share of the bytes of a source that are in packets, in thousandths: with less, most bytes
/// are not explained.
pub(super) const MOST: i64 = 500;

/// Another framing whose score is lower by less than this explains the bytes as well.
const FRAMES: i64 = 60;

/// More sources of one protocol are likely only where each proves itself.
const SOURCES: usize = 4;

/// The bytes with which a source of many proves itself.
const PROVEN: u64 = 256;

/// A profile of RISC-V is unconfirmed if another one reads the same bytes but for these, in
/// thousandths.
const ALIKE: i64 = 30;

impl SourceCandidate {
    /// How sure the protocol of the best inference is.
    pub fn certainty(&self) -> Certainty {
        self.certainty_among(Inference::is_like)
    }

    /// Whether the protocol is likely at least, where ETMv4 and ETE are one.
    pub(super) fn is_sure(&self) -> bool {
        let same = |a: &Inference, b: &Inference| is_same(a.protocol, b.protocol);
        self.certainty_among(same) >= Certainty::Likely
    }

    /// How sure the best inference is; those that are `alike` do not compete with it.
    fn certainty_among(&self, alike: impl Fn(&Inference, &Inference) -> bool) -> Certainty {
        let Some(best) = self.inferences.first() else { return Certainty::Unknown };
        let mut others = self.inferences.iter().filter(|inference| !alike(inference, best));
        let margin = best.score - others.next().map_or(0, |other| other.score);
        let c = &best.counts;
        let sure = match best.score {
            i64::MIN..LEAST => return Certainty::Unknown,
            LEAST..LEAST_LIKELY => Certainty::Possible,
            _ if c.bytes() < FEW || c.packets < PACKETS => Certainty::Possible,
            _ if best.read < MOST || self.is_assumed() => Certainty::Possible,
            _ if !has_address(best) => Certainty::Possible,
            _ if c.syncs == 0 && c.bytes() < UNSYNCED => Certainty::Possible,
            GOOD.. if margin >= 150 && c.syncs > 0 => Certainty::Certain,
            _ if margin >= 30 => Certainty::Likely,
            _ => Certainty::Possible,
        };
        // Another profile of N-Trace, or another coding of addresses, reads the bytes alike.
        let is_other = |i: &Inference| alike(i, best) && !i.has_coding_of(best);
        let most = match best.protocol {
            AnyProtocol::Ntrace if self.inferences.iter().any(is_other) => Certainty::Likely,
            _ => Certainty::Certain,
        };
        sure.min(self.most).min(most)
    }

    /// Whether the profile of RISC-V is an assumption: other ones read the same bytes, and the
    /// program was not followed.
    pub fn is_assumed(&self) -> bool {
        let Some(best) = self.inferences.first().filter(|best| best.unconfirmed) else {
            return false;
        };
        let other = |other: &Inference| {
            other.protocol == best.protocol
                && !other.is_like(best)
                && match best.protocol {
                    // Any width of SRC reads nearly all bytes.
                    AnyProtocol::Ntrace => other.score + ALIKE >= best.score,
                    _ => other.read + ALIKE >= best.read,
                }
        };
        self.inferences.iter().any(other)
    }

    /// The score of a source of frames that is likely at least, with enough bytes to show where
    /// frames begin.
    fn shows_frames(&self) -> Option<i64> {
        let best = self.best()?;
        let enough = self.bytes as u64 >= PROVEN && best.counts.bytes() >= PROVEN;
        (enough && self.certainty() >= Certainty::Likely).then_some(best.score.min(1000))
    }

    /// Whether its bytes alone prove its protocol.
    fn is_proven(&self) -> bool {
        self.inferences.first().is_some_and(|best| {
            let synced = best.counts.syncs > 0 && sync_points(best.protocol) > 0;
            synced && best.score >= GOOD && best.counts.bytes() >= PROVEN
        })
    }
}

/// The evidence of ID bytes, in bits, that frames have and other bytes do not.
const EVIDENT: u32 = 64;

/// Other sources of frames may lack their synchronisation, and damage may follow: where the best of
/// `candidates` is not certain, frames have the score of a source that is likely, or of the bytes
/// before damage, and unframed data none where ID bytes of frames are evident. `candidates` are
/// sorted, and are again.
pub(super) fn raise_frames(candidates: &mut [Candidate]) {
    let Some(best) = candidates.first() else { return };
    let is_raw = best.framing == Framing::Raw && best.score < GOOD;
    if !is_raw && best.score >= LEAST {
        return;
    }
    let unframed = best.score.max(LEAST);
    let is_framed = |candidate: &&mut Candidate| candidate.framing != Framing::Raw;
    for candidate in candidates.iter_mut().filter(is_framed) {
        let few = candidate.sources.len() <= 2 * SOURCES;
        let is_explained = candidate.sources.iter().any(|source| source.best().is_some());
        if candidate.evidence >= EVIDENT && few && is_explained {
            candidate.score = candidate.score.max(unframed + 1);
        }
        let shown = candidate.sources.iter().filter_map(SourceCandidate::shows_frames).max();
        let shown = shown.filter(|_| few).unwrap_or(0);
        candidate.score = candidate.score.max(shown).max(candidate.undamaged);
    }
    // Frames that no protocol explains are no unframed data either.
    let is_evident = |candidate: &Candidate| {
        let few = candidate.sources.len() <= 2 * SOURCES;
        candidate.framing != Framing::Raw && few && candidate.evidence >= 2 * EVIDENT
    };
    if candidates.iter().any(is_evident) {
        let raw = candidates.iter_mut().filter(|candidate| candidate.framing == Framing::Raw);
        raw.filter(|raw| raw.score < GOOD).for_each(|raw| raw.score = raw.score.min(LEAST - 1));
    }
    candidates.sort_by_key(|candidate| -candidate.score);
}

/// Whether messages of E-Trace, which have no pattern that begins them, have an address. Other
/// protocols have one.
const fn has_address(best: &Inference) -> bool {
    let c = &best.counts;
    !matches!(best.protocol, AnyProtocol::Etrace) || c.no_code + c.ranges > 0
}

/// Limits the certainty of sources to what the other candidates, the other sources and the
/// processors allow. `candidates` are sorted.
pub(super) fn settle(candidates: &mut [Candidate], processors: &Processors) {
    let Some((best, others)) = candidates.split_first_mut() else { return };
    let is_raw = |candidate: &Candidate| candidate.framing == Framing::Raw;
    let rival = others.iter().filter(|other| is_raw(other) != is_raw(best));
    let rival = rival.map(|other| other.score).max().unwrap_or(0);
    let best_is_alike = rival >= LEAST && rival + FRAMES > best.score;
    for candidate in candidates {
        let all: i64 = candidate.sources.iter().map(|source| source.bytes as i64).sum();
        let explained = |source: &SourceCandidate| {
            source.best().map_or(0, |best| best.read * source.bytes as i64 / 1000)
        };
        let explained: i64 = candidate.sources.iter().map(explained).sum();
        let is_misread = explained * 2 < all;
        let protocols: Vec<AnyProtocol> =
            candidate.sources.iter().filter_map(|source| Some(source.best()?.protocol)).collect();
        let units = candidate
            .sources
            .iter()
            .filter(|source| source.best().is_some_and(|best| best.protocol == AnyProtocol::Etmv4));
        // The data stream of an ETMv4 has the trace ID above that of its instructions, and the same
        // beginning of its synchronisations. (IHI 0064, TRCTRACEIDR)
        let data_streams: Vec<u16> = units.map(|unit| unit.id | 1).collect();
        for source in &mut candidate.sources {
            let Some(best) = source.best() else { continue };
            let may_be_data =
                best.protocol == AnyProtocol::Itm && data_streams.contains(&source.id);
            let protocol = best.protocol;
            let many = protocols.iter().filter(|other| **other == protocol).count() > SOURCES;
            candidate.other_processor |= processors.fit(protocol) == Fit::No;
            let unproven = (many || is_misread || may_be_data) && !source.is_proven();
            if unproven || best_is_alike || processors.fit(protocol) < Fit::Yes {
                source.most = Certainty::Possible;
            }
        }
    }
}
