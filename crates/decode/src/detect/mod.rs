//! Detection of what raw trace data are: framing, alignment, protocol and configuration.
//!
//! Nothing is known but the first bytes, and possibly the program and a few registers. Each framing
//! that the bytes may have is split, and each protocol is tried on the bytes of each trace ID. The
//! best combination explains the most bytes: see `Trial::score`.
//!
//! At most [`HEAD`] bytes of a buffer are looked at, and [`LONG`] bytes of each source.

mod arm;
pub mod cause;
mod certainty;
pub mod complete;
mod configs;
mod cycles;
pub mod fill;
pub mod known_units;
mod link;
mod nexus;
mod ntrace;
mod processor;
mod program;
mod reception;
mod riscv;
mod single;
mod stated;
mod text;
mod trial;

use tracewright_base::CoreType;
use tracewright_base::remedy::{CORE, IMAGE};
use tracewright_capture::{Capture, MessagesAt, Problem, Swap};
use tracewright_frames::Framing;
use tracewright_protocols::etrace::config::{Profile, Version};
use tracewright_protocols::ntrace::config as ntrace_config;
use tracewright_protocols::registry::AnyProtocol;

use crate::swo::evidence_a_byte;
use crate::tally::Counts;

pub use certainty::Certainty;
pub use configs::Setting;
pub use processor::profile;
pub use program::program;
pub use reception::{Reception, possible_rate, reception};
pub use text::text;

use certainty::MOST;
use link::LinkCandidate;
pub(crate) use link::frame_pairs;
use processor::{Fit, Processors};
use trial::Bench;

/// The bytes at the start of a buffer that are looked at.
pub const HEAD: usize = 1 << 18;

/// The bytes of a source with which each configuration is tried.
pub const SHORT: usize = 1 << 11;

/// The bytes of a source with which the best configurations are tried.
pub const LONG: usize = 1 << 14;

/// What the user states about the data.
pub struct Given<'a> {
    /// The name of the traced core.
    pub core: Option<&'a str>,
    /// Registers and parameters by name.
    pub registers: &'a dyn Fn(&str) -> Option<u64>,
    /// The framing.
    pub framing: Option<Framing>,
    /// The offset of the first byte of a frame.
    pub skip: Option<usize>,
    /// The protocols that the data may have; empty for any.
    pub only: Vec<AnyProtocol>,
    /// Protocols that the traced processor cannot have are tried, too.
    pub any_processor: bool,
}

impl Given<'_> {
    /// Whether `protocol` is tried: one that is given, or that one of `processors` can have.
    fn allows(&self, protocol: AnyProtocol, processors: &Processors) -> bool {
        match self.only.is_empty() {
            true => self.any_processor || processors.fit(protocol) > Fit::No,
            false => self.only.contains(&protocol),
        }
    }

    /// The type of the traced core.
    fn core_type(&self) -> Option<CoreType> {
        self.core.and_then(tracewright_capture::core_type)
    }
}

impl Default for Given<'_> {
    fn default() -> Self {
        Given {
            core: None,
            registers: &|_| None,
            framing: None,
            skip: None,
            only: Vec::new(),
            any_processor: false,
        }
    }
}

/// What a source may be.
#[derive(Clone, Debug)]
pub struct Inference {
    /// The protocol.
    pub protocol: AnyProtocol,
    /// The configuration that explains the bytes best.
    pub setting: Setting,
    /// How well it explains the bytes: 1000 and a few points at most.
    pub score: i64,
    /// Why, in sentences.
    pub reasons: Vec<String>,
    /// All code is A64.
    pub a64: bool,
    /// All code is T32.
    pub t32: bool,
    /// The offset in the bytes of the source where decoding starts.
    pub start: usize,
    /// The share of all bytes of the source that are in packets, in thousandths.
    pub read: i64,
    /// The program that distinguishes the profiles of RISC-V was not followed.
    pub unconfirmed: bool,
    /// What shows that the image is not the traced program, so that the bytes alone decide.
    pub foreign: Option<String>,
    /// The counts of the trial.
    pub counts: Counts,
}

impl Inference {
    /// Whether both have one protocol, and for RISC-V one profile; for N-Trace also the same widths
    /// of fields, unless both read the bytes alike.
    fn is_like(&self, other: &Inference) -> bool {
        let same = |name: &str| self.setting.get(name) == other.setting.get(name);
        let is_ntrace = self.protocol == AnyProtocol::Ntrace;
        self.protocol == other.protocol
            && (!is_ntrace || same("source_width"))
            && (self.has_coding_of(other) || is_ntrace && self.reads_alike(other))
    }

    /// Whether both have the same profile and the same coding of addresses.
    fn has_coding_of(&self, other: &Inference) -> bool {
        let same = |name: &str| self.setting.get(name) == other.setting.get(name);
        same("profile") && same("extend_msb")
    }

    /// Whether the trials of both have the same score, and followed the same program.
    fn reads_alike(&self, other: &Inference) -> bool {
        let read = |i: &Inference| {
            let c = &i.counts;
            (i.score, c.packets, c.instructions, c.ranges, c.inconsistencies, c.no_code)
        };
        !self.unconfirmed && read(self) == read(other)
    }
}

/// The inferences for a source.
#[derive(Clone, Debug)]
pub struct SourceCandidate {
    /// The trace ID; 0 without framing.
    pub id: u16,
    /// The number of its bytes among those that were looked at.
    pub bytes: usize,
    /// The inferences, the best first.
    pub inferences: Vec<Inference>,
    /// What speaks against more certainty than this.
    most: Certainty,
}

impl SourceCandidate {
    fn new(id: u16, bytes: usize, inferences: Vec<Inference>) -> SourceCandidate {
        SourceCandidate { id, bytes, inferences, most: Certainty::Certain }
    }

    /// The best inference.
    pub fn best(&self) -> Option<&Inference> {
        self.inferences.first().filter(|inference| inference.score >= LEAST)
    }
}

/// Whether two protocols are one, or ETMv4 and ETE, which many traces do not distinguish.
fn is_same(a: AnyProtocol, b: AnyProtocol) -> bool {
    let four = |p| matches!(p, AnyProtocol::Etmv4 | AnyProtocol::Ete);
    a == b || four(a) && four(b)
}

/// An inference with a lower score explains nothing.
const LEAST: i64 = 500;

/// Frames with this score are no coincidence.
const GOOD: i64 = 950;

/// A framing, and the sources in it.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// The framing.
    pub framing: Framing,
    /// The bytes are words of a 24-bit Embedded Trace Buffer, which has the cycles of a port.
    pub words: bool,
    /// The words in which the bytes were reversed, where that was detected.
    pub swap: Option<Swap>,
    /// Where messages begin, where that was detected.
    pub messages_at: Option<MessagesAt>,
    /// The bytes before the first whole frame, record or word.
    pub skip: usize,
    /// The sources by ID.
    pub sources: Vec<SourceCandidate>,
    /// How well it explains the bytes: 1000 at most.
    pub score: i64,
    /// The registers that the user gives.
    stated: Vec<String>,
    /// How well it explains the bytes before damage.
    undamaged: i64,
    /// The evidence of the ID bytes of frames, in bits.
    evidence: u32,
    /// Why.
    pub reason: String,
    /// A core or a program states the profile of the processor.
    profile_known: bool,
    /// The processor that a core or a program states has no such trace unit.
    other_processor: bool,
}

/// The program explains nothing where it has one address in this many.
const FOREIGN: u64 = 16;

impl Candidate {
    /// Whether nearly all addresses are outside of the program, or there are none.
    fn is_foreign(&self) -> bool {
        let best = self.sources.iter().filter_map(SourceCandidate::best);
        let traced = best.filter(|best| best.protocol.traces_instructions());
        let counts: Vec<_> = traced.map(|best| &best.counts).filter(|c| c.packets > 0).collect();
        let ranges: u64 = counts.iter().map(|c| c.ranges).sum();
        let outside: u64 = counts.iter().map(|c| c.no_code).sum();
        !counts.is_empty() && ranges * FOREIGN <= outside
    }

    /// Whether it has another framing or alignment than `other`, and more bytes in packets.
    fn reads_more_than(&self, other: &Candidate) -> bool {
        let read = |candidate: &Candidate| -> i64 {
            let best = candidate.sources.iter().filter_map(|s| Some((s.best()?.read, s.bytes)));
            best.map(|(read, bytes)| read * bytes as i64).sum()
        };
        let same = (self.framing, self.skip) == (other.framing, other.skip);
        !same && read(self) > read(other)
    }

    /// Limits the certainty of sources all whose addresses are outside of the program.
    fn limit_by_program(&mut self) {
        for source in &mut self.sources {
            let counts = source.best().map(|best| best.counts);
            if counts.is_some_and(|c| c.no_code > 0 && c.instructions == 0) {
                source.most = Certainty::Possible;
            }
        }
    }

    /// Whether the protocol of a source is likely at least, where ETMv4 and ETE are one.
    pub fn is_sure(&self) -> bool {
        self.sources.iter().any(SourceCandidate::is_sure)
    }

    /// Framing, alignment, and the protocol of each source, in one line.
    pub fn summary(&self) -> String {
        let framing = match self.framing {
            Framing::Raw if self.words => "words of a 24-bit Embedded Trace Buffer".to_owned(),
            Framing::Raw => "unframed data".to_owned(),
            Framing::Coresight => "CoreSight formatter frames".to_owned(),
            Framing::Tpiu => "frames of a TPIU with synchronisation packets".to_owned(),
            Framing::TpiuHalf => "frames of a TPIU with half synchronisation packets".to_owned(),
            Framing::TpiuHalfOnly => {
                "frames of a TPIU with half synchronisation packets only".to_owned()
            }
            Framing::Dstream => "frames of a TPIU in DSTREAM blocks".to_owned(),
            other => format!("{} frames", other.name()),
        };
        let aligned = match self.skip {
            0 => String::new(),
            skip => format!(" from byte {skip} on"),
        };
        let sources = self.sources.iter().filter_map(|source| {
            let inference = source.best()?;
            let name = inference.title();
            let sure = match source.certainty() {
                Certainty::Certain => "",
                Certainty::Likely => ", likely",
                Certainty::Possible | Certainty::Unknown => ", possibly",
            };
            Some(match self.framing {
                Framing::Raw => format!("{name}{sure}"),
                _ => format!("ID {:#04x} {name}{sure}", source.id),
            })
        });
        let sources = sources.collect::<Vec<_>>().join("; ");
        format!("{framing}{aligned}: {sources}")
    }
}

impl Candidate {
    /// What the bytes do not show, in sentences: what was detected of it is an assumption.
    pub fn assumptions(&self) -> Vec<String> {
        let assumptions = self.sources.iter().filter_map(|source| {
            let best = source.best()?;
            let name = best.protocol.about().names.first().copied().unwrap_or_default();
            if let Some(foreign) = &best.foreign {
                return Some(format!(
                    "{name}: the image is not the program that was traced: {foreign}; the messages \
                     alone decide the parameters"
                ));
            }
            if source.is_assumed() {
                let missing = match best.counts.first_no_code {
                    Some(address) => format!("program memory is missing at {address:#x}"),
                    None => "no program memory was used".to_owned(),
                };
                let what = match best.protocol {
                    AnyProtocol::Ntrace => "the profile and the width of source numbers are assumptions",
                    _ => "the profile is an assumption",
                };
                return Some(format!(
                    "{name}: {what}, as {missing} and others read the bytes as well"
                ));
            }
            let named = matches!(best.protocol, AnyProtocol::Etmv3 | AnyProtocol::Etmv4);
            let open = named && best.t32 && best.setting.core.is_none() && !self.profile_known;
            open.then(|| {
                format!(
                    "{name}: the profile of the core is not known: exceptions have the names of the A \
                     and R profiles; {CORE} Cortex-M3, or whichever it is, decides them"
                )
            })
        });
        let other = self.other_processor.then(|| {
            format!(
                "the processor that the core or the program states has no such trace unit: check \
                 {CORE} and {IMAGE}"
            )
        });
        other.into_iter().chain(assumptions).collect()
    }
}

impl Inference {
    /// The protocol, and for RISC-V profile and version, or the width of SRC.
    pub fn title(&self) -> String {
        let name = self.protocol.about().names.first().copied().unwrap_or_default();
        let value = |name| self.setting.get(name);
        if self.protocol == AnyProtocol::Ntrace {
            let profile = value("profile").and_then(ntrace_config::Profile::of_number);
            let profile = profile.unwrap_or_default();
            let source = match value("source_width").unwrap_or(0) {
                0 => "no SRC".to_owned(),
                bits => format!("{bits}-bit SRC"),
            };
            return format!("{name} (profile {profile}, {source})");
        }
        let profile = value("profile").and_then(Profile::of_number);
        let version = value("version").and_then(Version::of_number);
        match (profile, version) {
            (Some(profile), Some(version)) => {
                let xlen = value("xlen").unwrap_or(64);
                format!("{name} (profile {profile}, version {version}, RV{xlen})")
            }
            _ => name.to_owned(),
        }
    }
}

/// What raw trace data may be.
#[derive(Clone, Debug)]
pub struct Detection {
    /// The number of bytes that were looked at.
    pub looked: usize,
    /// The candidates, the best first.
    pub candidates: Vec<Candidate>,
}

impl Detection {
    /// Looks at the first bytes of a buffer, `head`. The program memory of `capture` is used.
    pub fn of(head: &[u8], capture: &Capture, given: &Given<'_>) -> Detection {
        let whole = head.get(..HEAD).unwrap_or(head);
        let head = whole.get(fill::filled_to(whole)..).unwrap_or(whole);
        let bench = Bench::new(capture, given.core);
        let mut detection = Detection::on(head, &bench, given);
        detection.looked = whole.len();
        if bench.has_code() && detection.candidates.first().is_some_and(Candidate::is_foreign) {
            // A reading with fewer addresses has fewer outside of the program.
            let other = Detection::on(head, &bench.without_code(), given);
            if let [best, ..] = other.candidates.as_slice()
                && detection.candidates.first().is_some_and(|first| best.reads_more_than(first))
            {
                detection.candidates = other.candidates;
            }
            if let Some(best) = detection.candidates.first_mut() {
                best.limit_by_program();
            }
        }
        detection
    }

    /// Looks at `head` with the program memory of `bench`.
    fn on(head: &[u8], bench: &Bench, given: &Given<'_>) -> Detection {
        let links = link::links_of(head, given.framing)
            .into_iter()
            .filter(|link| given.skip.is_none_or(|skip| skip == link.skip));
        let (frames, others): (Vec<_>, Vec<_>) =
            links.partition(|link| link.framing.begins_in_frame());
        let mut candidates: Vec<Candidate> = Vec::new();
        // Unframed bytes come last: with good frames, RISC-V messages are not searched for.
        for link in promising(frames).chain(others.into_iter().rev()) {
            let framed = candidates.iter().any(|candidate| candidate.score >= GOOD);
            let whole = whole_frames(head.len(), &link);
            let mut candidate = candidate(link, bench, given, !framed);
            candidate.score = candidate.score * whole as i64 / 1000;
            candidate.undamaged = candidate.undamaged * whole as i64 / 1000;
            candidates.push(candidate);
        }
        let trace = head.get(..fill::filled_from(head)).unwrap_or(head);
        candidates.extend(cycles::candidate(trace, bench, given, false));
        if candidates.iter().all(|candidate| candidate.score < LEAST) {
            candidates.extend(cycles::candidate(trace, bench, given, true));
        }
        candidates.sort_by_key(|candidate| -candidate.score);
        certainty::raise_frames(&mut candidates);
        certainty::settle(&mut candidates, &bench.processors);
        Detection { looked: head.len(), candidates }
    }

    /// Limits the certainty to what the core called `core`, or else the programs of `capture`,
    /// allow.
    fn limit(&mut self, capture: &Capture, core: Option<&str>) {
        certainty::settle(&mut self.candidates, &Processors::new(capture, core));
    }

    /// The best candidate; `None` where nothing explains the bytes.
    pub fn best(&self) -> Option<&Candidate> {
        self.candidates.first().filter(|candidate| candidate.score >= LEAST)
    }
}

/// What a file with the first bytes `head` is, where they are recognised, and are no trace that can
/// be decoded.
pub fn recognised(head: &[u8]) -> Option<Problem> {
    if let Some(isa) = program(head) {
        return Some(Problem::Code(isa));
    }
    let what = text(head)?;
    let log = tracewright_logs::recognised(head).map(|format| Problem::Log(format.name()));
    Some(log.unwrap_or(Problem::Text(what)))
}

/// The offsets of frames whose streams are tried with all configurations.
const MAX_OFFSETS: usize = 2;

/// The frames whose streams are explained best by the most common configurations.
fn promising(frames: Vec<LinkCandidate>) -> impl Iterator<Item = LinkCandidate> {
    let mut frames = frames;
    if frames.len() > MAX_OFFSETS {
        frames.sort_by_cached_key(|link| (-stream_score(link), link.cost, link.skip));
        frames.truncate(MAX_OFFSETS);
    }
    frames.into_iter()
}

/// Of so few bytes, those that are in no whole frame count against the framing.
const SHORT_HEAD: usize = 256;

/// The share of the first `len` bytes of a buffer that are in whole frames, in thousandths.
fn whole_frames(len: usize, link: &LinkCandidate) -> usize {
    /// Bytes of a frame.
    const FRAME: usize = 16;
    if link.framing != Framing::Coresight || len >= SHORT_HEAD {
        return 1000;
    }
    let rest = len.saturating_sub(link.skip);
    (rest - rest % FRAME) * 1000 / len.max(1)
}

/// Fewer bytes than these do not show where frames begin.
const ENOUGH: usize = 1 << 10;

/// Frames whose streams have this score are aligned.
const ALIGNED: i64 = 985;

/// How well the most common configurations explain the largest streams.
fn stream_score(link: &LinkCandidate) -> i64 {
    let mut streams: Vec<_> = link.streams.iter().map(|(_, bytes)| bytes).collect();
    streams.sort_by_key(|bytes| std::cmp::Reverse(bytes.len()));
    let total: usize = streams.iter().map(|bytes| bytes.len()).sum();
    let total = total + link.unassigned;
    let scores = streams.iter().take(MAX_OFFSETS);
    let sum: i64 = scores.map(|bytes| arm::quick(bytes) * bytes.len() as i64).sum();
    weigh(sum / total.max(1) as i64, link.regular)
}

/// The score of frames of which the share `regular`, in thousandths, is before damage.
const fn weigh(score: i64, regular: i64) -> i64 {
    score * (1000 + regular) / 2000
}

/// The offset of the first frame in `head`, where frames do not begin at byte 0. The framing is one
/// that begins in a frame.
pub fn alignment(head: &[u8], framing: Framing) -> Option<usize> {
    let head = head.get(..HEAD).unwrap_or(head);
    let links = link::links(head).into_iter();
    let frames: Vec<_> = links.filter(|link| link.framing == framing).collect();
    if head.len() < ENOUGH {
        return None;
    }
    if frames.iter().any(|link| link.skip == 0 && stream_score(link) >= ALIGNED) {
        return None;
    }
    let best = promising(frames).next()?;
    let is_found = best.skip != 0 && stream_score(&best) >= LEAST;
    // Where bytes are lost or inserted, frames begin at one offset before and at another behind.
    let explained = |skip: usize| -> u64 {
        let streams = link::streams(head.get(skip..).unwrap_or_default(), framing);
        streams.iter().map(|(_, bytes)| arm::explained(bytes)).sum()
    };
    (is_found && explained(best.skip) > explained(0)).then_some(best.skip)
}

/// Whether `head`, the first bytes of a buffer, may be CoreSight formatter frames from the first
/// byte on, as their ID bytes repeat a few values.
pub fn may_be_frames(head: &[u8]) -> bool {
    let mut links = link::links(head).into_iter();
    links.any(|link| link.framing == Framing::Coresight && link.skip == 0)
}

/// DWT events come from a processor of the M profile: a unit beside their ITM that traces T32 code
/// only traces that processor.
fn settle_profile(sources: &mut [SourceCandidate], given: &Given<'_>) {
    let sends_events = |source: &SourceCandidate| {
        let best = source.best();
        best.is_some_and(|i| i.protocol == AnyProtocol::Itm && i.counts.dwt_events > 0)
    };
    if given.core.is_some() || !sources.iter().any(sends_events) {
        return;
    }
    let units = sources.iter_mut().filter_map(|source| source.inferences.first_mut());
    for unit in units.filter(|unit| unit.t32 && unit.setting.core.is_none()) {
        unit.setting.core = match unit.protocol {
            AnyProtocol::Etmv3 => Some("ARMv7-M"),
            AnyProtocol::Etmv4 => Some("ARMv8-M"),
            _ => None,
        };
    }
}

/// With less evidence for each byte, in bits, packets of an ITM are an accident: any bytes are
/// packets, and those of one kind recur in records of another kind.
const EVIDENCE: f64 = 2.0;

/// Whether `source` is an ITM without synchronisation whose packets prove little.
fn is_weak_itm(source: &SourceCandidate, bytes: &[u8]) -> bool {
    let best = source.best().filter(|best| best.protocol == AnyProtocol::Itm);
    best.is_some_and(|best| best.counts.syncs == 0)
        && (evidence_a_byte(bytes) < EVIDENCE || fill::repeats_packets(bytes))
}

fn candidate(link: LinkCandidate, bench: &Bench, given: &Given<'_>, messages: bool) -> Candidate {
    let framed = link.framing != Framing::Raw;
    let total: usize = link.streams.iter().map(|(_, bytes)| bytes.len()).sum();
    let total = total + link.unassigned;
    let regular = link.regular;
    let mut explained = 0;
    let mut sources = Vec::new();
    for (id, bytes) in link.streams {
        let mut inferences = arm::inferences(&bytes, bench, given, framed);
        let riscv = messages && given.allows(AnyProtocol::Etrace, &bench.processors);
        if messages && given.allows(AnyProtocol::Ntrace, &bench.processors) {
            inferences.extend(ntrace::inferences(&bytes, bench, given));
            inferences.sort_by_key(|inference| -inference.score);
        }
        if riscv && !framed && inferences.first().is_none_or(|best| best.score < 980) {
            inferences.extend(riscv::inferences(&bytes, bench, given));
            inferences.sort_by_key(|inference| -inference.score);
        }
        inferences
            .iter_mut()
            .for_each(|inference| inference.read = inference.read * regular / 1000);
        let best = inferences.first().map_or(0, |inference| inference.score.clamp(0, 1000));
        explained += best * bytes.len() as i64;
        let mut source = SourceCandidate::new(id, bytes.len(), inferences);
        let is_no_proof = || fill::is_periodic(&bytes, 64) || link::is_one_source(&bytes);
        if fill::is_sparse(&bytes) || !framed && is_no_proof() || is_weak_itm(&source, &bytes) {
            source.most = Certainty::Possible;
        }
        sources.push(source);
    }
    settle_profile(&mut sources, given);
    let undamaged = explained / total.max(1) as i64;
    let mut score = weigh(undamaged, regular);
    if framed {
        // Frames that cost less are more regular.
        score += 20 - i64::from(link.cost / 16).min(20);
    }
    let LinkCandidate { framing, skip, evidence, reason, .. } = link;
    let profile_known = bench.processors.profile_is_known();
    Candidate {
        framing,
        words: false,
        swap: None,
        messages_at: None,
        skip,
        sources,
        score,
        stated: Vec::new(),
        undamaged,
        evidence,
        reason,
        profile_known,
        other_processor: false,
    }
}
