//! The profile, the width of SRC and the address coding of N-Trace messages.
//!
//! The messages state none of these. With a wrong width of SRC all fixed fields shift, so that
//! codes are reserved, or SRC has many values. Where there is a program, it decides: with the right
//! configuration it explains each message after a synchronisation.

use tracewright_base::{Parse, Wire};
use tracewright_frames::{Event, Split};
use tracewright_protocols::ntrace::config::{Config, PARAMETERS, Profile, Times};
use tracewright_protocols::ntrace::packet::Message;
use tracewright_protocols::ntrace::{Demux, Packet, names};
use tracewright_protocols::parameter;
use tracewright_protocols::registry::{AnyConfig, AnyProtocol};

use super::configs::Setting;
use super::riscv::{self, Unit};
use super::trial::{Bench, Mark, Trial};
use super::{Given, Inference, LONG, SHORT, nexus};

/// The widths of SRC. (`trTeSrcBits`)
const WIDTHS: std::ops::RangeInclusive<u64> = 0..=12;

/// The configurations that the program is tried with, and those of which a longer part is decoded.
const MAX_TRIED: usize = 64;
const MAX_LONG: usize = 8;

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
    /// Traps after a trap of the same source.
    repeated_traps: u32,
    /// The source of the last transfer, if that was a trap.
    trapped: Option<u16>,
    /// I-CNT of branches and transfers, by bit 0.
    counts: [u32; 2],
    /// Address fields, by bit 0: address bit 1, or whether it differs.
    addresses: [u32; 2],
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
        if packet.message.is_between() {
            return;
        }
        self.messages += 1;
        self.reserved += u32::from(!is_known(&packet.message, config));
        if let Message::IndirectBranch { btype, .. } | Message::IndirectBranchHist { btype, .. } =
            packet.message
        {
            let (is_trap, source) = (btype != 0, Some(packet.source));
            (self.transfers, self.traps) = (self.transfers + 1, self.traps + u32::from(is_trap));
            self.repeated_traps += u32::from(is_trap && self.trapped == source);
            self.trapped = source.filter(|_| is_trap);
        }
        let field = packet.message.reference(Some(0)).flatten();
        for (field, tally) in
            [(branch_count(&packet.message), &mut self.counts), (field, &mut self.addresses)]
        {
            if let Some(field) = field {
                tally[usize::from(field & 1 != 0)] += 1;
            }
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
        // Most transfers are no traps, and a handler returns before the next trap. Where SRC is too
        // wide, bit 0 of I-CNT is read as bit 1 of B-TYPE.
        let traps =
            self.traps * 2 > self.transfers + 8 || self.repeated_traps * 4 > self.traps + 16;
        let wrong = i64::from(traps) + i64::from(self.has_shifted_counts());
        1000 - odd * 1000 / messages - (rare as i64 * 20).min(500) - wrong * 200
    }

    /// Whether code has instructions of 16 bits, by its addresses, and I-CNT is always even. Where
    /// SRC is too narrow, bit 1 of B-TYPE is read as bit 0 of I-CNT.
    const fn has_shifted_counts(&self) -> bool {
        let ([even, odd], [aligned, others]) = (self.counts, self.addresses);
        even >= 64 && odd * 32 < even && others * 8 > aligned
    }
}

/// The most bits of I-CNT. ("Max Field Sizes")
const MAX_COUNT: u32 = 22;

/// I-CNT of a message, or another number of half-words or branches.
const fn count(message: &Message) -> Option<u64> {
    match *message {
        Message::DirectBranch { icnt }
        | Message::DirectBranchSync { icnt, .. }
        | Message::IndirectBranch { icnt, .. }
        | Message::IndirectBranchSync { icnt, .. }
        | Message::IndirectBranchHist { icnt, .. }
        | Message::IndirectBranchHistSync { icnt, .. }
        | Message::ProgTraceSync { icnt, .. }
        | Message::ProgTraceCorrelation { icnt, .. } => Some(icnt),
        Message::ResourceFull {
            rcode: names::COUNT_FULL | names::NOT_TAKEN | names::TAKEN,
            rdata,
            ..
        } => Some(rdata),
        _ => None,
    }
}

/// I-CNT of a message that ends with a branch or an indirect transfer.
const fn branch_count(message: &Message) -> Option<u64> {
    match message {
        Message::DirectBranch { .. }
        | Message::IndirectBranch { .. }
        | Message::IndirectBranchHist { .. } => count(message),
        _ => None,
    }
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
    let field = message.reference(Some(0)).flatten();
    if field.is_some_and(|field| field >> config.field_bits() != 0) {
        return false;
    }
    if count(message).is_some_and(|count| count >> MAX_COUNT != 0) {
        return false;
    }
    // The sign of an address of 48 or 49 bits is extended by SiFive's profile only.
    if message.sync().is_some() && !sifive && field.is_some_and(is_cut) {
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

/// Whether the field of a whole address ends inside of a run of equal bits at its top.
const fn is_cut(field: u64) -> bool {
    let bits = 65 - field.leading_zeros();
    matches!(bits, 48 | 49) && field << 1 >> (bits - 9) == 0x1ff
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

/// The messages of each source, and the number of the bytes that belong to none.
fn sources(bytes: &[u8], config: Config) -> (Vec<Vec<u8>>, u64) {
    /// Collects messages by source number.
    #[derive(Default)]
    struct Sources(Vec<(u16, Vec<u8>)>, u64);

    impl Split for Sources {
        fn piece(&mut self, id: u16, _: u64, _: bool, bytes: &[u8]) {
            let few = self.0.len() < MAX_SOURCES;
            match self.0.iter_mut().find(|(number, _)| *number == id) {
                Some((_, messages)) => messages.extend_from_slice(bytes),
                None if few => self.0.push((id, bytes.to_vec())),
                None => self.1 += bytes.len() as u64,
            }
        }

        fn event(&mut self, _: u64, event: Event) {
            if let Event::Bad { len, .. } = event {
                self.1 += u64::from(len);
            }
        }
    }

    let mut sources = Sources::default();
    Demux::new(config).split(0, bytes, &mut sources);
    (sources.0.into_iter().map(|(_, bytes)| bytes).collect(), sources.1)
}

/// The messages that report executed instructions, as far as the program decides about them.
#[derive(Clone, Copy, Debug, Default)]
struct Followed {
    /// Messages before the first synchronisation: a wrong width of SRC hides it.
    before: u64,
    explained: u64,
    /// Those that contradict the program or follow lost bytes, and those after them up to a
    /// synchronisation, for which nothing is known.
    unexplained: u64,
    /// Of these, the ones from a contradiction on.
    contradicted: u64,
    /// Messages whose instructions are in the program, and those after an address outside of it
    /// that execute none.
    inside: u64,
    outside: u64,
}

impl Followed {
    /// Adds the messages of one source, with what each meant in a trial.
    fn add(&mut self, bytes: &[u8], config: &Config, marks: &[(u64, Mark)]) {
        /// Whether the program is followed: it may be unknown where memory is missing.
        #[derive(PartialEq)]
        enum State {
            Before,
            Lost,
            Contradicted,
            Open,
            Following,
        }

        let (mut at, mut state, mut marks) = (0, State::Before, marks.iter().peekable());
        while let Some(rest) = bytes.get(at..).filter(|rest| !rest.is_empty()) {
            let mut own = Vec::new();
            while let Some((_, mark)) = marks.next_if(|(of, _)| *of <= at as u64) {
                own.push(*mark);
            }
            let (packet, len) = match Packet::parse(rest, config) {
                Parse::Packet(packet, len) => (packet, len),
                Parse::Bad(len, _) => {
                    if state != State::Before {
                        state = State::Lost;
                    }
                    at += len;
                    continue;
                }
                Parse::Partial => return,
            };
            at += len;
            if own.contains(&Mark::Contradiction) {
                state = State::Contradicted;
            } else if own.contains(&Mark::NoCode) {
                state = State::Open;
            }
            let executes = executes(&packet.message);
            let executed = own.contains(&Mark::Executed);
            let is_contradicted = state == State::Contradicted && executes;
            self.explained += u64::from(state == State::Following && executed);
            self.unexplained += u64::from(is_contradicted || state == State::Lost && executes);
            self.contradicted += u64::from(is_contradicted);
            self.inside += u64::from(executed);
            self.outside += u64::from(state == State::Open && executes && !executed);
            self.before += u64::from(state == State::Before && executes);
            if packet.message.sync().is_some() && state != State::Open {
                state = State::Following;
            } else if let Message::Error { .. } | Message::ProgTraceCorrelation { .. } =
                packet.message
            {
                state = State::Lost;
            }
        }
    }

    /// What the messages take from the score. `decides`: the program explains any with one of the
    /// configurations, so that those before a synchronisation count, too.
    fn penalty(self, decides: bool) -> i64 {
        let before = if decides { self.before * BEFORE } else { 0 };
        let all = (self.explained + self.unexplained + self.before) * 1000;
        (self.unexplained * 1000 + before) as i64 * UNEXPLAINED / all.max(1) as i64
    }
}

/// Whether instructions were executed before the message.
fn executes(message: &Message) -> bool {
    match message {
        Message::ResourceFull { .. } | Message::RepeatBranch { .. } => true,
        _ => count(message).is_some_and(|count| count > 0),
    }
}

/// What a configuration makes of messages.
struct Reading {
    trial: Trial,
    followed: Followed,
}

impl Reading {
    /// Decodes `bytes` with `config`: the sum of all sources.
    fn of(bytes: &[u8], config: Config, bench: &Bench) -> Reading {
        let (streams, lost) = match config.has_sources() {
            true => sources(bytes, config),
            false => (vec![bytes.to_vec()], 0),
        };
        let mut followed = Followed::default();
        let any = AnyConfig::Ntrace(config);
        let trials = streams.iter().map(|stream| {
            let trial = bench.run(stream, &any);
            if bench.has_code() {
                let marks = trial.features.marks.as_deref().unwrap_or_default();
                followed.add(stream, &config, marks);
            }
            trial
        });
        let sum = trials.reduce(|mut sum, trial| {
            sum.add(trial);
            sum
        });
        let mut trial = sum.unwrap_or_else(|| bench.run(&[], &any));
        trial.len += lost;
        Reading { trial, followed }
    }

    /// Whether the program is the traced one: it has the instructions of most messages, and
    /// contradicts few.
    fn fits(&self) -> bool {
        let Followed { inside, outside, contradicted, .. } = self.followed;
        self.trial.fits() && inside >= outside && inside >= contradicted * CONTRADICTED
    }

    /// What shows that the program is not the traced one.
    fn foreign(&self) -> Option<String> {
        match self.trial.counts.first_no_code {
            Some(address) => Some(format!("program memory is missing at {address:#x}")),
            None if self.followed.contradicted > 0 => {
                Some("its instructions contradict the messages".to_owned())
            }
            None => None,
        }
    }

    /// How well a configuration that is `plausible` without the program explains the messages.
    fn score(&self, plausible: i64, decides: bool) -> i64 {
        let score = self.trial.score(AnyProtocol::Ntrace) - self.followed.penalty(decides);
        score.max(0) * plausible.max(0) / 1000
    }
}

/// What a program that explains no message takes from the score.
const UNEXPLAINED: i64 = 400;

/// The traced program explains this many messages for each that contradicts it.
const CONTRADICTED: u64 = 8;

/// What a message before the first synchronisation counts, in thousandths of one that is not
/// explained.
const BEFORE: u64 = 250;

/// What SRC takes from the plausibility: without it there is one explanation less for odd messages.
const SOURCES: i64 = 20;

/// A configuration that is tried.
#[derive(Clone, Debug)]
struct Tried {
    config: Config,
    /// Its plausibility without the program.
    plausible: i64,
}

impl Tried {
    /// The configuration of `setting`, but for what the user states.
    fn new(setting: &Setting, part: &[u8], given: &Given<'_>) -> Tried {
        let stated = |name: &str| {
            let known = parameter::find(PARAMETERS, name);
            known.and_then(|known| known.register.read(given.registers))
        };
        let features = (given.registers)("trTeInstFeatures").is_some();
        let is_stated = |name: &str| {
            stated(name).is_some()
                || features && ["source_width", "extend_msb", "all_jumps"].contains(&name)
        };
        let value = |name: &str| match is_stated(name) {
            true => stated(name),
            false => (given.registers)(name).or_else(|| setting.get(name)),
        };
        let config = Config::from_registers(&value);
        let sources = if config.has_sources() { SOURCES } else { 0 };
        let plausible = Plausibility::of(part, &config).score() - sources;
        Tried { config, plausible }
    }

    /// With the value 1 of the flag `name`.
    fn with(&self, name: &'static str, part: &[u8], given: &Given<'_>) -> Tried {
        let mut setting = setting(&self.config);
        setting.set(name, 1);
        Tried::new(&setting, part, given)
    }
}

/// The parameters of `config`, those that differ from the defaults.
fn setting(config: &Config) -> Setting {
    let mut setting = Setting::default();
    setting.set("profile", config.profile.number());
    setting.set("xlen", if config.rv64 { 64 } else { 32 });
    if config.has_sources() {
        setting.set("source_width", config.link.source_bits.into());
    }
    for (name, is_set) in [("extend_msb", config.extend_msb), ("all_jumps", config.all_jumps)] {
        if is_set {
            setting.set(name, 1);
        }
    }
    setting
}

/// The configurations for `stream` that differ, the most plausible first.
fn all(stream: &[u8], bench: &Bench, given: &Given<'_>) -> Vec<Tried> {
    let part = stream.get(..SHORT).unwrap_or(stream);
    let mut all: Vec<Tried> = Vec::new();
    for profile in [Profile::Spec, Profile::Sifive] {
        for rv64 in riscv::widths(bench, given, true) {
            for source_bits in WIDTHS {
                let mut setting = Setting::default();
                setting.set("profile", profile.number());
                setting.set("xlen", if rv64 { 64 } else { 32 });
                setting.set("source_width", source_bits);
                let plain = Tried::new(&setting, part, given);
                let extended =
                    (profile == Profile::Spec).then(|| plain.with("extend_msb", part, given));
                for tried in [Some(plain), extended].into_iter().flatten() {
                    if !all.iter().any(|other| other.config == tried.config) {
                        all.push(tried);
                    }
                }
            }
        }
    }
    // Of equal configurations the first is the simplest.
    all.sort_by_key(|t| (-t.plausible, t.config.link.source_bits, t.config.extend_msb));
    all
}

/// The best inferences for `stream`; none if its bytes are no messages. The program decides only
/// where it is the traced one.
pub(super) fn inferences(stream: &[u8], bench: &Bench, given: &Given<'_>) -> Vec<Inference> {
    if nexus::messages(stream.get(..LONG).unwrap_or(stream)).is_none() {
        return Vec::new();
    }
    let traced = if bench.has_code() { units(stream, bench, given) } else { Vec::new() };
    let best = traced.first().map(|best| best.score);
    if traced.iter().any(|other| Some(other.score) == best && other.reading.fits()) {
        return ranked(traced, bench);
    }
    let alone = bench.without_code();
    let alone_units = units(stream, &alone, given);
    let config = alone_units.first().map(|unit| unit.config);
    let mut inferences = ranked(alone_units, &alone);
    if let (true, Some(config)) = (bench.has_code(), config) {
        let foreign = Reading::of(stream.get(..LONG).unwrap_or(stream), config, bench).foreign();
        inferences.iter_mut().for_each(|inference| inference.foreign.clone_from(&foreign));
    }
    inferences
}

/// The inferences of `explained`.
fn ranked(explained: Vec<Explained>, bench: &Bench) -> Vec<Inference> {
    let units = explained.into_iter().map(|explained| {
        let Explained { score, config, reading } = explained;
        let setting = setting(&config);
        Unit { score, complexity: setting.registers.len(), setting, trial: reading.trial }
    });
    riscv::ranked(AnyProtocol::Ntrace, units.collect(), bench)
}

/// The configurations that explain `stream` best, the best first.
fn units(stream: &[u8], bench: &Bench, given: &Given<'_>) -> Vec<Explained> {
    let part = |len: usize| stream.get(..len).unwrap_or(stream);
    let mut tried = all(stream, bench, given);
    if bench.has_code() {
        tried.truncate(MAX_TRIED);
        // Only the program shows whether direct jumps are traced.
        let with_jumps = tried.iter().map(|tried| tried.with("all_jumps", part(SHORT), given));
        let with_jumps: Vec<Tried> = with_jumps.collect();
        tried.extend(with_jumps.into_iter().filter(|other| other.config.all_jumps));
        let read = |tried: &Tried| Reading::of(part(SHORT), tried.config, bench);
        let mut short: Vec<(Reading, Tried)> = tried.into_iter().map(|t| (read(&t), t)).collect();
        let decides = decides(short.iter().map(|(reading, _)| reading));
        short.sort_by_key(|(reading, tried)| -reading.score(tried.plausible, decides));
        tried = short.into_iter().map(|(_, tried)| tried).collect();
    }
    tried.truncate(MAX_LONG);
    let read = |tried: Tried| (Reading::of(part(LONG), tried.config, bench), tried);
    let all: Vec<(Reading, Tried)> = tried.into_iter().map(read).collect();
    let decides = decides(all.iter().map(|(reading, _)| reading));
    let explained = all.into_iter().map(|(reading, tried)| {
        let score = reading.score(tried.plausible, decides);
        Explained { score, config: tried.config, reading }
    });
    let mut explained: Vec<Explained> = explained.collect();
    explained.sort_by_key(|explained| -explained.score);
    explained
}

/// A configuration, and how well it explains the bytes.
struct Explained {
    score: i64,
    config: Config,
    reading: Reading,
}

/// Whether the program explains any message.
fn decides<'a>(mut readings: impl Iterator<Item = &'a Reading>) -> bool {
    readings.any(|reading| reading.followed.explained > 0)
}

/// The configuration that explains the messages of `head` better than `config` does; `None` where
/// none does.
pub(super) fn better(head: &[u8], config: &Config, bench: &Bench) -> Option<Inference> {
    let part = |len: usize| head.get(..len).unwrap_or(head);
    let mut own = *config;
    own.link.aligned = false;
    let plausible = Plausibility::of(part(SHORT), &own).score().max(0);
    let mut found = inferences(head, bench, &Given::default()).into_iter();
    let best = found.next()?;
    let width = |inference: &Inference| inference.setting.get("source_width");
    // Without a program, the codes of the messages alone must distinguish the width.
    let rival = found.find(|other| width(other) != width(&best));
    if best.counts.instructions == 0 && rival.is_some_and(|rival| rival.score + CLEAR > best.score)
    {
        return None;
    }
    let decides = best.counts.instructions > 0;
    let bench = if decides { bench } else { &bench.without_code() };
    let score = Reading::of(part(LONG), own, bench).score(plausible, decides);
    (best.score >= score + BETTER).then_some(best)
}

/// Without a program, a width of SRC is named if the scores of others are lower by this.
const CLEAR: i64 = 30;

/// A configuration explains the bytes better if its score is higher by this.
const BETTER: i64 = 60;
