//! A trial: some bytes of one source, decoded with one configuration, and what was counted.

use tracewright_base::{Batch, Channel, Context, CoreType, Element, Gap, Isa};
use tracewright_capture::{Capture, Source};
use tracewright_frames::Framing;
use tracewright_protocols::registry::{AnyConfig, AnyProtocol};

use super::processor::Processors;
use crate::listener::{Listener, each_part};
use crate::memory::Memory;
use crate::plan::{Options, Plan, Planned};
use crate::session::Session;
use crate::tally::{Counts, Tally};

/// Program memory for trials, and what is known of the processor.
#[derive(Clone, Debug, Default)]
pub(super) struct Bench {
    capture: Capture,
    memory: Option<Memory>,
    /// The traced processors.
    pub(super) processors: Processors,
}

/// The name of the source of a trial.
const NAME: &str = "trial";

impl Bench {
    /// A bench without program memory.
    pub(super) fn empty() -> Bench {
        Bench::new(&Capture::default(), None)
    }

    /// A bench with the program memory of `capture`, for the core called `core`.
    pub(super) fn new(capture: &Capture, core: Option<&str>) -> Bench {
        let source = Source { name: NAME.to_owned(), ..Source::default() };
        let dumps = capture.memory.iter().filter(|dump| dump.bytes.is_some());
        let memory: Vec<_> = dumps.cloned().collect();
        let processors = Processors::new(capture, core);
        let capture = Capture { sources: vec![source], memory, ..Capture::default() };
        let memory = Some(Memory::new(&capture));
        Bench { capture, memory, processors }
    }

    /// The same processors without program memory.
    pub(super) fn without_code(&self) -> Bench {
        Bench { processors: self.processors.clone(), ..Bench::empty() }
    }

    /// Whether there is program memory.
    pub(super) fn has_code(&self) -> bool {
        !self.capture.memory.is_empty()
    }

    /// Decodes `bytes`, those of one source, with `config`.
    pub(super) fn run(&self, bytes: &[u8], config: &AnyConfig) -> Trial {
        self.trial(bytes, config, None)
    }

    /// Decodes `bytes`, those of one source, with `config`, up to where the score cannot be `least`
    /// any more: `None`.
    pub(super) fn run_for(&self, bytes: &[u8], config: &AnyConfig, least: i64) -> Option<Trial> {
        let protocol = config.protocol();
        let trial = self.trial(bytes, config, Some(least));
        Some(trial).filter(|trial| trial.score(protocol) >= least)
    }

    fn trial(&self, bytes: &[u8], config: &AnyConfig, least: Option<i64>) -> Trial {
        let planned = Planned::new(0, NAME, 0, config.clone());
        let plan = Plan::with_sources(0, Framing::Raw, vec![planned]);
        let is_ntrace = config.protocol() == AnyProtocol::Ntrace;
        let options = Options {
            max_expansion: if is_ntrace { MAX_REPEATED } else { MAX_EXPANSION },
            split_source_ranges: false,
            ..Options::default()
        };
        let marks = is_ntrace.then(Vec::new);
        let mut counter = (Tally::default(), Features { marks, ..Features::default() });
        if let Some(memory) = &self.memory
            && let Ok(mut session) = Session::new(&self.capture, &plan, memory, &options)
        {
            let mut rest = bytes;
            while let Some((piece, after)) = least.and(rest.split_at_checked(PIECE)) {
                session.feed(piece, &mut counter);
                let read = counter.0.of(0).packet_bytes;
                let most = read + (session.waiting() + after.len()) as u64;
                if least.is_some_and(|least| thousandths(most, bytes.len() as u64) < least) {
                    rest = &[];
                    break;
                }
                rest = after;
            }
            session.run([rest], &mut counter);
        }
        let (tally, features) = counter;
        Trial { len: bytes.len() as u64, counts: tally.of(0), features, code: self.has_code() }
    }
}

/// The core of a microcontroller that is assumed for trials.
pub(super) fn core_of(name: Option<&str>) -> Option<CoreType> {
    name.and_then(tracewright_capture::core_type)
}

/// The instructions that a trial follows for each byte of a packet.
const MAX_EXPANSION: u32 = 1 << 10;

/// The same for N-Trace, whose messages may repeat a history.
const MAX_REPEATED: u32 = 1 << 14;

/// Bytes after which a trial with a score to reach is looked at.
const PIECE: usize = 1 << 7;

fn thousandths(part: u64, all: u64) -> i64 {
    (part * 1000 / all.max(1)) as i64
}

/// Whether no DWT sends events with this discriminator. (Armv7-M ARM, D4.3)
pub(super) const fn is_reserved(discriminator: u8) -> bool {
    !matches!(discriminator, 0..=3 | 8..=23)
}

/// What a trial counted.
#[derive(Clone, Debug)]
pub(super) struct Trial {
    /// The bytes of the trial.
    pub(super) len: u64,
    pub(super) counts: Counts,
    pub(super) features: Features,
    /// There was program memory.
    code: bool,
}

/// The longest packet whose end may be missing.
const LONGEST: u64 = 64;

/// The traced program is contradicted by less than one packet of these.
const CONTRADICTED: u64 = 20;

impl Trial {
    /// The bytes in packets, with those of one that the end truncates.
    pub(super) fn read(&self) -> u64 {
        self.counts.packet_bytes + self.counts.truncated.min(LONGEST)
    }

    /// Whether most addresses are in the program, and few packets contradict it.
    pub(super) fn fits(&self) -> bool {
        let c = &self.counts;
        c.ranges > 0 && c.no_code <= c.ranges && c.inconsistencies * CONTRADICTED <= c.packets
    }

    /// Adds the trial of another source of the same stream. What its addresses have in common is
    /// that of the larger source.
    pub(super) fn add(&mut self, other: Trial) {
        let (mine, theirs) = (&mut self.counts, &other.counts);
        for (sum, count) in [
            (&mut self.len, other.len),
            (&mut mine.packet_bytes, theirs.packet_bytes),
            (&mut mine.packets, theirs.packets),
            (&mut mine.syncs, theirs.syncs),
            (&mut mine.unsynchronised, theirs.unsynchronised),
            (&mut mine.undecodable, theirs.undecodable),
            (&mut mine.truncated, theirs.truncated),
            (&mut mine.ranges, theirs.ranges),
            (&mut mine.instructions, theirs.instructions),
            (&mut mine.no_code, theirs.no_code),
            (&mut mine.gaps, theirs.gaps),
            (&mut mine.inconsistencies, theirs.inconsistencies),
            (&mut mine.expansion_limits, theirs.expansion_limits),
        ] {
            *sum += count;
        }
        mine.first_no_code = mine.first_no_code.or(theirs.first_no_code);
        let losses = self.features.losses + other.features.losses;
        if other.len * 2 > self.len {
            self.features = other.features;
        }
        self.features.losses = losses;
    }

    /// How well the configuration explains the bytes: 1000 at most.
    ///
    /// Bytes in no packet, what is lost after them, contradictions, addresses without program
    /// memory, and scattered addresses and contexts count against it. Without a synchronisation it
    /// is 0.
    pub(super) fn score(&self, protocol: AnyProtocol) -> i64 {
        let c = &self.counts;
        // An ITM may not synchronise, and neither do messages that have no instruction trace.
        let needs_sync = !matches!(protocol, AnyProtocol::Itm | AnyProtocol::Ntrace);
        if c.syncs == 0 && needs_sync {
            return 0;
        }
        let read = thousandths(self.read(), self.len);
        let packets = c.packets.max(1);
        let mut score = read - thousandths(20 * c.inconsistencies, packets).min(700);
        // After an undecodable packet, nothing is known up to the next synchronisation.
        score -= thousandths(self.features.losses, c.syncs).min(1000) * 3 / 10;
        if self.code && protocol.traces_instructions() {
            score -= thousandths(c.no_code, c.no_code + c.ranges) * 3 / 10;
        } else {
            score -= self.features.scatter();
        }
        if protocol == AnyProtocol::Itm {
            score -= self.features.odd_channels(c.packets);
        }
        score.max(0)
    }
}

/// What a packet meant for the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mark {
    /// Instructions were executed.
    Executed,
    /// Program memory is missing.
    NoCode,
    /// The packet contradicts the program.
    Contradiction,
}

/// What the elements of a trial have in common.
#[derive(Clone, Debug, Default)]
pub(super) struct Features {
    /// Of N-Trace: what each message meant, by its offset.
    pub(super) marks: Option<Vec<(u64, Mark)>>,
    /// The contexts that packets stated, and those that differ from the one before.
    contexts: (u64, u64),
    last: Option<Context>,
    /// The addresses at which tracing went on without program memory, by their bits from 20 on.
    regions: Vec<(u64, u64)>,
    pub(super) addresses: u64,
    /// A bit for each stimulus port that was written.
    ports: u32,
    /// The times that decoding stopped at an undecodable packet.
    losses: u64,
    /// The timestamps whose value is known, those before the one that precedes them, and the last.
    times: (u64, u64),
    time: u64,
    /// DWT events with a reserved discriminator.
    reserved_events: u64,
    /// An address of A64 code, and of other code.
    pub(super) a64: bool,
    pub(super) aarch32: bool,
    /// An address of T32 code, and of other code.
    pub(super) t32: bool,
    pub(super) not_t32: bool,
}

/// The most regions of addresses that are counted.
const MAX_REGIONS: usize = 256;

impl Features {
    /// How scattered addresses and contexts are: 0 to 100.
    fn scatter(&self) -> i64 {
        let (contexts, changes) = self.contexts;
        let share = |part: u64, all: u64| (part * 50 / all.max(1)) as i64;
        let largest = self.regions.iter().map(|(_, count)| *count).max().unwrap_or(0);
        let scattered = self.addresses - largest.min(self.addresses);
        share(changes, contexts.max(4)) + share(scattered, self.addresses.max(4))
    }

    /// Notes what the packet at `at` meant.
    fn mark(&mut self, at: u64, mark: Mark) {
        if let Some(marks) = &mut self.marks
            && marks.last() != Some(&(at, mark))
        {
            marks.push((at, mark));
        }
    }

    /// How many timestamps are in order, less those that are not.
    pub(super) fn time_order(&self) -> i64 {
        let (times, backwards) = self.times;
        times as i64 - 4 * backwards as i64
    }

    /// How unlikely the channels of an ITM are: 0 to 1000.
    fn odd_channels(&self, packets: u64) -> i64 {
        let reserved = (self.reserved_events * 4000 / packets.max(1)).min(1000) as i64;
        reserved + i64::from(self.ports.count_ones().saturating_sub(12)) * 20
    }
}

impl Listener for Features {
    fn element(&mut self, _: usize, at: u64, element: Element) {
        match element {
            Element::Range(_) => self.mark(at, Mark::Executed),
            Element::Context(context) => {
                self.contexts.0 += 1;
                self.contexts.1 += u64::from(self.last.is_some_and(|last| last != context));
                self.last = Some(context);
                self.a64 |= context.isa == Isa::A64;
                self.t32 |= context.isa == Isa::T32;
                self.not_t32 |= context.isa != Isa::T32;
                self.aarch32 |= context.isa != Isa::A64;
            }
            Element::NoCode { address, .. } => {
                self.mark(at, Mark::NoCode);
                self.addresses += 1;
                let region = address >> 20;
                let room = self.regions.len() < MAX_REGIONS;
                match self.regions.iter_mut().find(|(known, _)| *known == region) {
                    Some((_, count)) => *count += 1,
                    None if room => self.regions.push((region, 1)),
                    None => {}
                }
            }
            Element::SoftwareWrite(write) => {
                if let Channel::Port { port, .. } = write.channel {
                    self.ports |= 1 << (u32::from(port) & 31);
                }
            }
            Element::Timestamp { value, .. } => {
                self.times.0 += 1;
                self.times.1 += u64::from(value < self.time);
                self.time = value;
            }
            Element::DwtEvent(event) => {
                self.reserved_events += u64::from(is_reserved(event.discriminator));
            }
            Element::Gap(Gap::BadPacket) => self.losses += 1,
            Element::Inconsistency(_) => self.mark(at, Mark::Contradiction),
            _ => {}
        }
    }

    fn batch(&mut self, batch: &Batch<'_>) {
        each_part(self, batch, |features, turns| features.mark(turns.at, Mark::Executed));
    }
}
