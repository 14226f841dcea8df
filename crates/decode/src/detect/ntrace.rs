//! The profile, the width of SRC and the address coding of N-Trace messages.
//!
//! The messages state none of these. With a wrong width of SRC all fixed fields shift, so that
//! codes are reserved, or SRC has many values.

use tracewright_base::{Parse, Wire};
use tracewright_frames::{Event, Split};
use tracewright_protocols::ntrace::config::{Config, Profile, Times};
use tracewright_protocols::ntrace::packet::Message;
use tracewright_protocols::ntrace::{Demux, Packet, names};
use tracewright_protocols::registry::{AnyConfig, AnyProtocol};

use super::configs::Setting;
use super::processor::Processor;
use super::trial::{Bench, Trial};
use super::{Given, Inference, LONG, SHORT, nexus};

/// The widths of SRC. (`trTeSrcBits`)
const WIDTHS: std::ops::RangeInclusive<u8> = 0..=12;

/// The configurations of which a longer part is decoded.
const MAX_TRIED: usize = 6;

/// The most source numbers that are distinguished.
const MAX_SOURCES: usize = 64;

/// How well a configuration explains messages, without the program.
#[derive(Clone, Debug, Default)]
struct Plausibility {
    messages: u32,
    /// Messages with reserved codes, or that the profile does not have.
    reserved: u32,
    /// Timestamps before the one that precedes them.
    backwards: u32,
    /// Messages in another form than the shortest, as the configuration has it.
    longer: u32,
    /// Indirect transfers and traps, and the traps among them.
    transfers: u32,
    traps: u32,
    /// SRC values, each with its messages.
    sources: Vec<(u16, u32)>,
}

impl Plausibility {
    fn of(bytes: &[u8], config: &Config) -> Plausibility {
        let mut found = Plausibility::default();
        let (mut at, mut times) = (0, Vec::<(u16, u64)>::new());
        while let Some(rest) = bytes.get(at..).filter(|rest| !rest.is_empty()) {
            match Packet::parse(rest, config) {
                Parse::Packet(packet, len) => {
                    found.add(&packet, config);
                    let mut shortest = Vec::new();
                    packet.emit(config, &mut shortest);
                    found.longer += u32::from(shortest.len() < len);
                    found.backwards += u32::from(is_backwards(&packet, config, &mut times));
                    at += len;
                }
                Parse::Bad(len, _) => {
                    (found.messages, found.reserved) = (found.messages + 1, found.reserved + 1);
                    at += len;
                }
                Parse::Partial => break,
            }
        }
        found
    }

    fn add(&mut self, packet: &Packet, config: &Config) {
        if matches!(packet.message, Message::Idle { .. } | Message::Unwritten) {
            return;
        }
        self.messages += 1;
        self.reserved += u32::from(!is_known(&packet.message, config));
        if let Message::IndirectBranch { btype, .. } | Message::IndirectBranchHist { btype, .. } =
            packet.message
        {
            (self.transfers, self.traps) = (self.transfers + 1, self.traps + u32::from(btype != 0));
        }
        let few = self.sources.len() < MAX_SOURCES;
        match self.sources.iter_mut().find(|(number, _)| *number == packet.source) {
            Some((_, count)) => *count += 1,
            None if few => self.sources.push((packet.source, 1)),
            None => {}
        }
    }

    /// Thousandths of the messages that nothing speaks against.
    fn score(&self) -> i64 {
        let messages = i64::from(self.messages.max(1));
        let rare = self.sources.iter().filter(|(_, count)| count * 64 < self.messages).count();
        let odd = i64::from(self.reserved) + i64::from(self.backwards) + i64::from(self.longer) / 2;
        // Most transfers are no traps.
        let traps = i64::from(self.traps * 2 > self.transfers + 8) * 200;
        1000 - odd * 1000 / messages - (rare as i64 * 20).min(500) - traps
    }
}

/// How well `config` explains the messages of `stream`, without the program, in thousandths.
pub(super) fn plausibility(stream: &[u8], config: &Config) -> i64 {
    Plausibility::of(stream.get(..SHORT).unwrap_or(stream), config).score().max(0)
}

/// Whether an encoder of the profile sends such a message.
fn is_known(message: &Message, config: &Config) -> bool {
    let sifive = config.profile.is_sifive();
    let is_sync = |sync: u8| match sync {
        0..=7 | 9 => true,
        11 | names::PC_SAMPLE => sifive,
        _ => false,
    };
    let is_hist = |hist: u64| hist != 0 && hist >> 32 == 0;
    if message.reference(Some(0)).flatten().is_some_and(|field| field >> config.field_bits() != 0) {
        return false;
    }
    match *message {
        Message::Opaque(raw) => matches!(raw.tcode(), 56..=62),
        Message::Ownership { process } => process.format() != 1 && process.privilege() != 2,
        Message::Error { etype, .. } => etype == 0,
        Message::ProgTraceSync { sync, .. } | Message::DirectBranchSync { sync, .. } => {
            is_sync(sync)
        }
        Message::IndirectBranchSync { sync, btype, .. } => is_sync(sync) && !(sifive && btype == 3),
        Message::IndirectBranchHistSync { sync, hist, .. } => is_sync(sync) && is_hist(hist),
        Message::IndirectBranchHist { hist, .. } => is_hist(hist),
        Message::ResourceFull { rcode, rdata, hrepeat } => match rcode {
            names::COUNT_FULL => true,
            names::HISTORY_FULL => is_hist(rdata),
            names::HISTORY_REPEATED => !sifive && is_hist(rdata) && hrepeat > 0,
            names::NOT_TAKEN | names::TAKEN => sifive,
            _ => false,
        },
        Message::RepeatBranch { bcnt } => !sifive && bcnt > 0,
        Message::ProgTraceCorrelation { evcode, cdf, hist, .. } => {
            (matches!(evcode, 0 | 1 | 4) || sifive && evcode == 8) && (cdf == 0 || is_hist(hist))
        }
        _ => true,
    }
}

/// Whether the timestamp of a message is before the last one of its source in `times`.
fn is_backwards(packet: &Packet, config: &Config, times: &mut Vec<(u16, u64)>) -> bool {
    let Some(sent) = packet.time else { return false };
    let known = times.iter_mut().find(|(source, _)| *source == packet.source);
    let absolute = names::has_absolute_time(packet.message.tcode());
    match known {
        Some((_, last)) => {
            let time = match config.times {
                _ if absolute => sent,
                Times::Delta => last.wrapping_add(sent),
                Times::Xor => *last ^ sent,
            };
            time < std::mem::replace(last, time)
        }
        None => {
            if absolute && times.len() < MAX_SOURCES {
                times.push((packet.source, sent));
            }
            false
        }
    }
}

/// The messages of the source that has the most.
fn most_frequent(bytes: &[u8], config: Config) -> Vec<u8> {
    /// Collects messages by source number.
    #[derive(Default)]
    struct Sources(Vec<(u16, Vec<u8>)>);

    impl Split for Sources {
        fn piece(&mut self, id: u16, _: u64, _: bool, bytes: &[u8]) {
            match self.0.iter_mut().find(|(number, _)| *number == id) {
                Some((_, messages)) => messages.extend_from_slice(bytes),
                None => self.0.push((id, bytes.to_vec())),
            }
        }

        fn event(&mut self, _: u64, _: Event) {}
    }

    let mut sources = Sources::default();
    Demux::new(config).split(0, bytes, &mut sources);
    sources.0.into_iter().map(|(_, bytes)| bytes).max_by_key(Vec::len).unwrap_or_default()
}

/// The registers of a configuration, those that differ from the defaults.
fn setting(config: &Config) -> Setting {
    let mut setting = Setting::default();
    setting.set("profile", config.profile.number());
    setting.set("xlen", if config.rv64 { 64 } else { 32 });
    if config.link.source_bits > 0 {
        setting.set("source_width", config.link.source_bits.into());
    }
    if config.extend_msb {
        setting.set("extend_msb", 1);
    }
    setting
}

/// The most plausible configurations for `stream`, the best first.
fn configs(stream: &[u8], bench: &Bench, given: &Given<'_>) -> Vec<(i64, Config)> {
    let given_xlen = (given.registers)("xlen").map(|xlen| xlen == 64);
    let target = match bench.processors.first() {
        Some(Processor::RiscV(rv64)) => Some(rv64),
        _ => None,
    };
    let widths: &[bool] = match given_xlen.or(target) {
        Some(true) => &[true],
        Some(false) => &[false],
        None => &[true, false],
    };
    let part = stream.get(..SHORT).unwrap_or(stream);
    let mut all = Vec::new();
    for profile in [Profile::Spec, Profile::Sifive] {
        for &rv64 in widths {
            for source_bits in WIDTHS {
                for extend_msb in [false, true] {
                    if extend_msb && profile == Profile::Sifive {
                        continue;
                    }
                    let mut config = Config { extend_msb, ..Config::of(profile, rv64) };
                    config.link.source_bits = source_bits;
                    all.push((Plausibility::of(part, &config).score(), config));
                }
            }
        }
    }
    // Of equal configurations the first is the simplest.
    all.sort_by_key(|(score, config)| (-score, config.link.source_bits, config.extend_msb));
    all.truncate(MAX_TRIED);
    all
}

/// The best inferences for `stream`; none if its bytes are no messages.
pub(super) fn inferences(stream: &[u8], bench: &Bench, given: &Given<'_>) -> Vec<Inference> {
    let part = stream.get(..LONG).unwrap_or(stream);
    if nexus::messages(part).is_none() {
        return Vec::new();
    }
    let tried = configs(stream, bench, given).into_iter().filter_map(|(plausible, config)| {
        let trial = match config.has_sources() {
            true => bench.run_for(&most_frequent(part, config), &AnyConfig::Ntrace(config), 0)?,
            false => bench.run_for(part, &AnyConfig::Ntrace(config), 0)?,
        };
        let score = trial.score(AnyProtocol::Ntrace) * plausible.max(0) / 1000;
        Some((score, config, trial))
    });
    let mut all: Vec<(i64, Config, Trial)> = tried.collect();
    all.sort_by_key(|(score, config, trial)| {
        let c = &trial.counts;
        let open = c.no_code + c.inconsistencies;
        (-score, open, u64::MAX - c.instructions, config.link.source_bits)
    });
    let inference = |(score, config, trial): (i64, Config, Trial)| {
        let c = &trial.counts;
        let mut reasons = vec![format!(
            "{} messages and {} synchronisations in {} bytes, {} undecodable",
            c.packets,
            c.syncs,
            trial.len,
            c.undecodable + c.unsynchronised - c.truncated
        )];
        if bench.has_code() {
            reasons.push(format!(
                "{} instructions in the images, {} inconsistencies, {} addresses outside",
                c.instructions, c.inconsistencies, c.no_code
            ));
        }
        Inference {
            protocol: AnyProtocol::Ntrace,
            setting: setting(&config),
            score,
            reasons,
            a64: false,
            t32: false,
            start: 0,
            read: (trial.read() * 1000 / trial.len.max(1)) as i64,
            unconfirmed: c.instructions < c.packets,
            counts: *c,
        }
    };
    all.into_iter().map(inference).collect()
}
