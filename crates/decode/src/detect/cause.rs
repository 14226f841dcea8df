//! Why a description does not explain the bytes of a buffer: the framing, the alignment, the
//! protocol, a register or the program is another one, or the bytes are damaged.

use tracewright_capture::Capture;
use tracewright_frames::{Event, Framing, Link, Split, Splitter};
use tracewright_protocols::TraceForm;
use tracewright_protocols::registry::{AnyConfig, AnyProtocol};

use super::arm::sync_points;
use super::complete::value_text;
use super::link::streams;
use super::trial::Bench;
use super::{Candidate, Certainty, Detection, Given, HEAD, Inference, LONG, is_same};
use crate::plan::{Plan, Planned};
use crate::tally::{Counts, Tally};

/// The most likely cause, and what to change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The bytes have another framing.
    Framing {
        /// The framing that explains them.
        framing: Framing,
        /// Why.
        reason: String,
    },
    /// The first frame begins elsewhere.
    Alignment {
        /// The offset of the first frame.
        skip: usize,
    },
    /// A source has another protocol.
    Protocol {
        /// The index of the source in the plan.
        source: usize,
        /// The protocol that explains its bytes.
        protocol: AnyProtocol,
        /// Its name, and for RISC-V its profile.
        title: String,
        /// What the trial of it counted.
        reason: String,
        /// The parameters that no default states, for RISC-V: `NAME=VALUE`.
        parameters: Vec<String>,
    },
    /// A register of a source has another value.
    Registers {
        /// The index of the source in the plan.
        source: usize,
        /// The registers to change, and their values.
        registers: Vec<(&'static str, u64)>,
    },
    /// The program memory is not that of the traced program.
    Image {
        /// The index of the source in the plan.
        source: usize,
        /// Few of the traced addresses are in the images.
        outside: bool,
    },
    /// The frames have data of further sources.
    Sources {
        /// The trace IDs, the number of their bytes, and the protocol that explains them.
        sources: Vec<(u16, u64, Option<AnyProtocol>)>,
        /// The indices of the sources in the plan that have no data, and the protocol of one of
        /// these: they may have another trace ID.
        silent: Vec<usize>,
    },
    /// The bytes make sense up to an offset.
    Damage {
        /// The offset of the first damaged part.
        from: u64,
    },
}

/// Parts of a buffer in which damage is searched for.
const PART: usize = 1 << 10;

impl Cause {
    /// Whether neither trace IDs nor packets mean anything: the framing or the alignment is another
    /// one, or the bytes are damaged.
    pub const fn is_misread(&self) -> bool {
        matches!(self, Cause::Framing { .. } | Cause::Alignment { .. } | Cause::Damage { .. })
    }

    /// The most likely cause of what `tally` counted for `plan`. `None` where nothing is wrong, or
    /// nothing explains the bytes better.
    pub fn of(capture: &Capture, plan: &Plan, tally: &Tally) -> Option<Cause> {
        let buffer = capture.buffers.get(plan.buffer)?;
        if capture.linux.is_some() || buffer.is_piped() {
            return None;
        }
        let counts: Vec<Counts> = (0..plan.sources.len()).map(|n| tally.of(n)).collect();
        if let Some(cause) = ntrace(capture, plan, &counts, &buffer.head(LONG)) {
            return Some(cause);
        }
        // Detection knows frames.
        if plan.messages.is_some() || plan.link.is_some() {
            return None;
        }
        let stray = sum(tally.unknown_ids.values().copied());
        let known = sum(counts.iter().map(Counts::bytes));
        let is_stray = stray.saturating_mul(10) > stray.saturating_add(known);
        // A file that cannot be read is the reason for addresses outside of the others.
        let has_code =
            !capture.memory.is_empty() && capture.memory.iter().all(|dump| dump.bytes.is_some());
        let suspects: Vec<usize> = (0..counts.len())
            .filter(|n| counts.get(*n).is_some_and(|c| is_suspect(c, has_code)))
            .collect();
        // Nothing is a frame, or no frame has data of a source.
        let is_empty = known == 0 && stray.saturating_add(tally.bad_frames) >= LEAST;
        if suspects.is_empty() && !is_empty && (!is_stray || known.saturating_add(stray) < ENOUGH) {
            return None;
        }
        let ports = plan.sources.iter().any(|source| source.config.protocol().has_own_port());
        if ports || plan.sources.is_empty() {
            return None;
        }
        let head = buffer.head(HEAD);
        if let Some(from) = damage(&head, plan) {
            return Some(Cause::Damage { from });
        }
        let found =
            Detection::of(&head, capture, &Given { any_processor: true, ..Given::default() });
        // With the program of another trace, no candidate explains much.
        let best = found.candidates.first()?;
        let own = found.candidates.iter().find(|c| c.framing == plan.framing && c.skip == 0);
        let margin = best.score - own.map_or(0, |own| own.score);
        let ports = [Framing::Tpiu, Framing::TpiuHalf, Framing::Dstream];
        let alike = ports.contains(&best.framing) && ports.contains(&plan.framing) && known > 0;
        let proven = best.sources.iter().any(|source| {
            source.certainty() >= Certainty::Possible
                && source.best().is_some_and(|best| best.counts.syncs > 0)
        });
        if best.framing != plan.framing && !alike && proven && margin >= 50 {
            let (framing, reason) = (best.framing, best.reason.clone());
            return Some(Cause::Framing { framing, reason });
        }
        // Frames at another byte have other IDs, or bytes that are no packets.
        let lost = sum(counts.iter().filter(|c| is_lost(c)).map(Counts::bytes));
        let misread = is_stray || is_empty || lost.saturating_mul(2) > known;
        let other = best.skip != 0 && best.framing == plan.framing && margin >= 60;
        let other = other && found.best().is_some();
        if misread && other && is_ordered(&head, best) {
            return Some(Cause::Alignment { skip: best.skip });
        }
        let own = own.unwrap_or(best);
        let bench = Bench::new(capture, None);
        let streams = streams(&head, plan.framing);
        let each = suspects.into_iter().filter_map(|n| {
            let planned = plan.sources.get(n)?;
            let id = if plan.framed() { planned.id } else { 0 };
            let (_, stream) = streams.iter().find(|(known, _)| *known == id)?;
            source(n, planned, counts.get(n)?, stream, own, &bench)
        });
        each.into_iter().next().or_else(|| sources(plan, tally, own))
    }
}

/// The parameters of N-Trace messages without frames, of which the first ones are `head`: a wrong
/// profile or width of SRC still reads nearly all bytes.
fn ntrace(capture: &Capture, plan: &Plan, counts: &[Counts], head: &[u8]) -> Option<Cause> {
    let first = plan.sources.first().filter(|_| plan.framing == Framing::Raw)?;
    let AnyConfig::Ntrace(config) = &first.config else { return None };
    let known = sum(counts.iter().map(Counts::bytes));
    if known < LEAST || !counts.iter().any(is_astray) {
        return None;
    }
    let better = super::ntrace::better(head, config, &Bench::new(capture, None))?;
    Some(Cause::Protocol {
        source: 0,
        protocol: AnyProtocol::Ntrace,
        title: better.title(),
        reason: better.reasons.first().cloned().unwrap_or_default(),
        parameters: parameters(&better),
    })
}

/// Whether the messages of a source do not fit together, or do not fit the program: after one that
/// contradicts it, nothing is followed up to the next synchronisation.
fn is_astray(c: &Counts) -> bool {
    let undecodable = unread(c).saturating_mul(100) > c.bytes();
    let contradicted = contradictions(c).saturating_mul(4) > c.syncs;
    c.packets > 0 && (c.instructions == 0 || undecodable || contradicted)
}

/// Whether a few IDs have nearly all bytes of the frames at the byte that `candidate` states. At a
/// wrong byte, data are read as IDs.
fn is_ordered(head: &[u8], candidate: &Candidate) -> bool {
    let bytes = head.get(candidate.skip..).unwrap_or_default();
    let streams = streams(bytes, candidate.framing);
    let mut lengths: Vec<usize> = streams.iter().map(|(_, stream)| stream.len()).collect();
    lengths.sort_unstable_by(|a, b| b.cmp(a));
    let all: usize = lengths.iter().sum();
    lengths.iter().take(SOURCES).sum::<usize>() * 10 >= all * 9
}

/// The greatest number of sources that a diagnosis names.
const SOURCES: usize = 8;

/// The sources whose IDs no source of the plan has: a few IDs have nearly all of the other bytes.
fn sources(plan: &Plan, tally: &Tally, own: &Candidate) -> Option<Cause> {
    // The data stream of a unit is known to be one.
    let ids = tally.unknown_ids.iter().map(|(&id, &bytes)| (id, bytes));
    let ids = ids.filter(|(id, _)| plan.data_stream(*id).is_none());
    let stray = sum(ids.clone().map(|(_, bytes)| bytes));
    let is_much = |bytes: u64| bytes >= FEW && bytes.saturating_mul(50) >= stray;
    let much: Vec<(u16, u64)> = ids.filter(|(_, bytes)| is_much(*bytes)).collect();
    let bytes = sum(much.iter().map(|(_, bytes)| *bytes));
    if much.is_empty() || much.len() > SOURCES || bytes.saturating_mul(10) < stray.saturating_mul(9)
    {
        return None;
    }
    let sources = much.into_iter().map(|(id, bytes)| {
        let found = own.sources.iter().find(|source| source.id == id);
        let known = found.filter(|source| source.certainty() >= Certainty::Possible);
        (id, bytes, known.and_then(|source| source.best()).map(|best| best.protocol))
    });
    let sources: Vec<_> = sources.collect();
    let is_other =
        |own| sources.iter().any(|(.., other)| other.is_some_and(|other| is_same(other, own)));
    let silent =
        plan.sources.iter().enumerate().filter(|(n, planned)| {
            tally.of(*n).bytes() == 0 && is_other(planned.config.protocol())
        });
    let silent = silent.map(|(n, _)| n).collect();
    let is_explained = sources.iter().any(|(.., protocol)| protocol.is_some());
    is_explained.then_some(Cause::Sources { sources, silent })
}

/// A source with fewer bytes is not named.
const FEW: u64 = 64;

/// Fewer bytes of a source than these show no cause.
const ENOUGH: u64 = 256;

/// Where no source has any bytes, fewer of others show no cause.
const LEAST: u64 = 128;

/// Whether much of a source is not explained.
fn is_suspect(c: &Counts, has_code: bool) -> bool {
    let contradicted = is_contradicted(c) || is_outside(c) && has_code;
    c.bytes() >= ENOUGH && (is_lost(c) || is_interrupted(c) || contradicted || c.packets == 0)
}

/// Whether packets end at undecodable bytes between many of the synchronisations: those of another
/// protocol take the beginning of the next one.
fn is_interrupted(c: &Counts) -> bool {
    c.undecodable > c.truncated && c.gaps >= 4 && c.gaps.saturating_mul(20) > c.syncs
}

/// Whether so much is wrong that a register must be another one.
fn is_garbled(c: &Counts) -> bool {
    c.damaged().saturating_mul(50) > c.bytes()
        || c.unsynchronised.saturating_mul(2) > c.bytes()
        || is_contradicted(c)
}

/// Whether packets often contradict the program. A kernel that replaces instructions of its file
/// has up to one inconsistency in 11 packets.
fn is_contradicted(c: &Counts) -> bool {
    contradictions(c).saturating_mul(8) > c.packets
}

/// Whether nearly all addresses are outside of the program memory.
fn is_outside(c: &Counts) -> bool {
    let all = c.ranges.saturating_add(c.no_code);
    c.no_code > 0 && c.no_code.saturating_mul(10) > all.saturating_mul(9)
}

/// The bytes that are in no packet.
fn unread(c: &Counts) -> u64 {
    c.unsynchronised.saturating_add(c.damaged())
}

/// The inconsistencies that contradict the program.
fn contradictions(c: &Counts) -> u64 {
    c.inconsistencies.saturating_sub(c.expansion_limits)
}

fn sum(counts: impl Iterator<Item = u64>) -> u64 {
    counts.fold(0, u64::saturating_add)
}

/// Whether many bytes are in no packet.
fn is_lost(c: &Counts) -> bool {
    unread(c).saturating_mul(10) > c.bytes()
}

/// The cause of what was counted of one source.
fn source(
    n: usize,
    planned: &Planned,
    counts: &Counts,
    stream: &[u8],
    candidate: &Candidate,
    bench: &Bench,
) -> Option<Cause> {
    let id = if candidate.framing == Framing::Raw { 0 } else { planned.id };
    let found = candidate.sources.iter().find(|source| source.id == id)?;
    let protocol = planned.config.protocol();
    let first = found.inferences.first()?;
    let (plain, code) = own_scores(stream, &planned.config, bench);
    let points = sync_points(protocol);
    let (plain, code) = (plain + points, code + points);
    let own = if bench.has_code() { code } else { plain };
    let margin = if is_interrupted(counts) { 30 } else { 60 };
    if !is_same(first.protocol, protocol) && first.score >= 800 && first.score >= plain + margin {
        return Some(Cause::Protocol {
            source: n,
            protocol: first.protocol,
            title: first.title(),
            reason: first.reasons.first().cloned().unwrap_or_default(),
            parameters: parameters(first),
        });
    }
    let same: &Inference = found.inferences.iter().find(|i| is_same(i.protocol, protocol))?;
    let trial = bench.run(synchronised(stream, &planned.config), &planned.config);
    // In a damaged trace, a version that decodes less of it contradicts the program less often.
    let decodes_more = same.counts.instructions >= trial.counts.instructions;
    if protocol.form() == TraceForm::Messages && is_cut_off(&trial.counts) {
        return None;
    }
    if protocol.form() == TraceForm::Messages && same.score >= own + 50 && decodes_more {
        return Some(Cause::Protocol {
            source: n,
            protocol,
            title: same.title(),
            reason: same.reasons.first().cloned().unwrap_or_default(),
            parameters: parameters(same),
        });
    }
    let better = same.score >= own + 60;
    let proven = trial.len >= ENOUGH && is_proven(&trial.counts, &same.counts, bench.has_code());
    if better && proven && same.score >= 700 && is_garbled(counts) {
        let registers = registers(stream, &planned.config, same, bench, own - points);
        if !registers.is_empty() {
            return Some(Cause::Registers { source: n, registers });
        }
    }
    let (outside, wrong) = (is_outside(counts), is_contradicted(counts));
    (bench.has_code() && protocol.traces_instructions() && (outside || wrong))
        .then_some(Cause::Image { source: n, outside })
}

/// Whether the program was not followed, as its memory is missing in a few places: nothing shows
/// that the parameters or the image are wrong.
fn is_cut_off(c: &Counts) -> bool {
    (1..8).contains(&c.no_code) && c.instructions < c.packets && c.inconsistencies == 0
}

/// The parameters of a RISC-V unit. Registers of other units are detected where they are missing.
fn parameters(inference: &Inference) -> Vec<String> {
    if inference.protocol.form() != TraceForm::Messages {
        return Vec::new();
    }
    let registers = inference.setting.registers.iter();
    let text = |&(name, value)| format!("{name}={}", value_text(inference.protocol, name, value));
    registers.map(text).collect()
}

/// Whether the trial `other` shows that the registers of the trial `own` are not those of the unit:
/// with those of `other`, at most half of the bytes in no packet and of the contradictions are
/// left, and with `has_code` the addresses are not moved out of the program memory.
fn is_proven(own: &Counts, other: &Counts, has_code: bool) -> bool {
    let wrong = |c: &Counts| unread(c).saturating_add(contradictions(c));
    let moved = has_code && is_outside(other) && !is_outside(own);
    wrong(other).saturating_mul(2) <= wrong(own) && !moved
}

/// The bytes of `stream` that are tried: from its first synchronisation on, or all of them.
fn synchronised<'a>(stream: &'a [u8], config: &AnyConfig) -> &'a [u8] {
    let at = match config.sync(stream) {
        tracewright_base::SyncSearch::At(at) if config.protocol().form() == TraceForm::Bytes => at,
        _ => 0,
    };
    let rest = stream.get(at..).unwrap_or_default();
    rest.get(..LONG).unwrap_or(rest)
}

/// The scores of a configuration without and with program memory.
fn own_scores(stream: &[u8], config: &AnyConfig, bench: &Bench) -> (i64, i64) {
    let part = synchronised(stream, config);
    let plain = Bench::empty().run(part, config).score(config.protocol());
    let code =
        if bench.has_code() { bench.run(part, config).score(config.protocol()) } else { plain };
    (plain, code)
}

/// The register of `config` with which it explains `stream` better where it has the value of
/// `inference`; all of them where no single one suffices.
fn registers(
    stream: &[u8],
    config: &AnyConfig,
    inference: &Inference,
    bench: &Bench,
    own: i64,
) -> Vec<(&'static str, u64)> {
    let single = inference.setting.registers.iter().filter_map(|&(name, value)| {
        let changed = with_register(config, name, value)?;
        let (plain, code) = own_scores(stream, &changed, bench);
        let score = if bench.has_code() { code } else { plain };
        (score >= own + 40).then_some((score, name, value))
    });
    match single.max_by_key(|(score, ..)| *score) {
        Some((_, name, value)) => vec![(name, value)],
        None => inference.setting.registers.clone(),
    }
}

/// A configuration with another value of one register; `None` where it does not change.
fn with_register(config: &AnyConfig, name: &str, value: u64) -> Option<AnyConfig> {
    let value = value as u32;
    let mut changed = config.clone();
    match (&mut changed, name) {
        (AnyConfig::Etmv3(c), "ETMCR") => c.control.0 = value,
        (AnyConfig::Etmv3(c), "ETMIDR") => c.id.0 = value,
        (AnyConfig::Etmv3(c), "ETMCCER") => c.extension.0 = value,
        (AnyConfig::Ptm(c), "ETMCR") => c.control = value,
        (AnyConfig::Ptm(c), "ETMIDR") => c.id = Some(value),
        (AnyConfig::Ptm(c), "ETMCCER") => c.extension = value,
        (AnyConfig::Etmv4(c) | AnyConfig::Ete(c), "TRCCONFIGR") => c.trcconfigr = value,
        (AnyConfig::Etmv4(c) | AnyConfig::Ete(c), "TRCIDR0") => c.trcidr0 = value,
        (AnyConfig::Etmv4(c) | AnyConfig::Ete(c), "TRCIDR2") => c.trcidr2 = value,
        (AnyConfig::Etmv4(c) | AnyConfig::Ete(c), "TRCIDR8") => c.trcidr8 = value,
        _ => return None,
    }
    (changed != *config).then_some(changed)
}

/// The offset from which on frames have IDs that no source has, where those before it have none.
fn damage(head: &[u8], plan: &Plan) -> Option<u64> {
    if !plan.framed() || plan.framing == Framing::Dstream {
        return None;
    }
    let mut splitter = Splitter::new(Link::new(plan.framing));
    let (mut at, mut ids) = (0, 0u128);
    let shares: Vec<(u64, bool)> = head
        .chunks(PART)
        .map(|part| {
            let mut strays = Strays { plan, stray: 0, known: 0, ids: 0 };
            splitter.split(at, part, &mut strays);
            let start = at;
            at += part.len() as u64;
            ids |= strays.ids;
            (start, strays.stray * 5 > strays.stray + strays.known)
        })
        .collect();
    // A few IDs are other sources.
    if ids.count_ones() as usize <= SOURCES {
        return None;
    }
    let first = shares.iter().position(|(_, odd)| *odd)?;
    let (before, after) = shares.split_at_checked(first)?;
    let odd = after.iter().filter(|(_, odd)| *odd).count();
    let enough = before.len() >= 4 && after.len() >= 2;
    (enough && odd * 4 >= after.len() * 3).then(|| after.first().map(|(at, _)| *at)).flatten()
}

/// Counts the bytes of known and of other IDs.
struct Strays<'a> {
    plan: &'a Plan,
    stray: u64,
    known: u64,
    /// A bit for each of the other IDs.
    ids: u128,
}

impl Split for Strays<'_> {
    fn piece(&mut self, id: u16, _: u64, _: bool, bytes: &[u8]) {
        let known = self.plan.sources.iter().any(|source| source.id == id);
        *(if known { &mut self.known } else { &mut self.stray }) += bytes.len() as u64;
        self.ids |= if known { 0 } else { 1 << (id & 0x7f) };
    }

    fn event(&mut self, _: u64, event: Event) {
        if let Event::Reserved { len, .. } = event {
            self.stray += u64::from(len);
        }
    }
}
