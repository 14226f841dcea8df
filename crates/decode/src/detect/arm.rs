//! The protocol and the configuration of one stream of an Arm trace unit.

use memchr::memmem;
use tracewright_base::{Parse, SyncSearch, Wire};
use tracewright_protocols::itm;
use tracewright_protocols::registry::{AnyConfig, AnyProtocol};

use super::configs::{Setting, variants, with_code, with_timestamps};
use super::processor::{Fit, Processor, Processors};
use super::trial::{Bench, Trial, core_of, is_reserved};
use super::{Given, Inference, LONG, MOST, SHORT};

/// The protocols that are tried, those with the longest synchronisation first: of equal scores the
/// first one is taken.
const TRIED: [AnyProtocol; 6] = [
    AnyProtocol::Etmv4,
    AnyProtocol::Ete,
    AnyProtocol::Stm,
    AnyProtocol::Etmv3,
    AnyProtocol::Ptm,
    AnyProtocol::Itm,
];

/// Fewer bytes than these are packets of an ITM by chance.
const FEW: u64 = 48;

/// Configurations of a protocol of which a longer part is decoded.
const FINALISTS: usize = 3;

/// Points for the length of the synchronisation that must occur: a short one occurs by chance.
pub(super) const fn sync_points(protocol: AnyProtocol) -> i64 {
    match protocol {
        AnyProtocol::Etmv4 | AnyProtocol::Ete | AnyProtocol::Stm => 40,
        AnyProtocol::Etmv3 | AnyProtocol::Ptm => 25,
        _ => 0,
    }
}

/// The inferences for `stream`, the best first.
pub(super) fn inferences(
    stream: &[u8],
    bench: &Bench,
    given: &Given<'_>,
    framed: bool,
) -> Vec<Inference> {
    let plain = Bench::empty();
    let mut all: Vec<Inference> = TRIED
        .iter()
        .filter(|&&protocol| given.allows(protocol, &bench.processors))
        .filter_map(|&protocol| infer(protocol, stream, &plain, bench, given))
        .collect();
    let mtb = given.allows(AnyProtocol::Mtb, &bench.processors);
    all.extend(branch_records(stream).filter(|_| mtb));
    settle_etmv4(&mut all, framed);
    all.sort_by_key(|inference| -inference.score);
    all
}

/// How well the most common configurations explain the first bytes of `stream`: for the choice
/// between many framings.
pub(super) fn quick(stream: &[u8]) -> i64 {
    quick_config(stream).map_or(0, |(score, ..)| score)
}

/// The bytes of `stream` in packets, of the configuration that explains its first bytes best. None
/// of an ITM, which needs no synchronisation: nearly all bytes are its packets.
pub(super) fn explained(stream: &[u8]) -> u64 {
    let Some((_, config, start)) = quick_config(stream) else { return 0 };
    if config.protocol() == AnyProtocol::Itm && !has_sync(stream, &config) {
        return 0;
    }
    Bench::empty().run(stream.get(start..).unwrap_or_default(), &config).read()
}

/// The score of the most common configuration that explains the first bytes of `stream` best, and
/// the offset where decoding starts.
fn quick_config(stream: &[u8]) -> Option<(i64, AnyConfig, usize)> {
    let plain = Bench::empty();
    let trials = TRIED.iter().filter(|p| **p != AnyProtocol::Ete).flat_map(|&protocol| {
        let trials = variants(protocol, None, false).into_iter().take(4).filter_map(|setting| {
            let mut config = setting.config(protocol, core_of(setting.core), &|_| None)?;
            if protocol == AnyProtocol::Itm {
                config.assume_synced(true);
            }
            let start = start(protocol, stream, &config)?;
            let rest = stream.get(start..)?;
            let trial = plain.run(rest.get(..SHORT).unwrap_or(rest), &config);
            Some((trial.score(protocol) + sync_points(protocol), config, start))
        });
        trials.collect::<Vec<_>>()
    });
    trials.max_by_key(|(score, ..)| *score).filter(|(score, ..)| *score > 0)
}

/// The best configuration of `protocol`; `None` without a synchronisation.
fn infer(
    protocol: AnyProtocol,
    stream: &[u8],
    plain: &Bench,
    bench: &Bench,
    given: &Given<'_>,
) -> Option<Inference> {
    let core = given.core_type();
    let is_m = bench.processors.is_m();
    let variants = || variants(protocol, given.core, is_m);
    let config = |setting: &Setting| {
        let own = core.or_else(|| core_of(setting.core));
        setting.config(protocol, own, given.registers)
    };
    if protocol == AnyProtocol::Itm && is_filling(stream) {
        return None;
    }
    let first = variants().into_iter().next().unwrap_or_default();
    let start = start(protocol, stream, &config(&first)?);
    let part = |len: usize| {
        let rest = stream.get(start?..)?;
        rest.get(..len).or(Some(rest)).filter(|part| !part.is_empty())
    };
    let (short, long) = (part(SHORT)?, part(LONG)?);
    let run = |bench: &Bench, part: &[u8], setting: &Setting| -> Option<(i64, Trial)> {
        let mut config = config(setting)?;
        if protocol == AnyProtocol::Itm {
            config.assume_synced(true);
        }
        let trial = bench.run(part, &config);
        let mut score = trial.score(protocol);
        if is_beginning(protocol, &trial) {
            score = BEGUN - sync_points(protocol);
        }
        // Nearly all units trace what is committed, and no Q elements; where one does not, the
        // configurations of the others contradict its trace often.
        score -= 40 * setting.rarities();
        let t32 = trial.features.aarch32 && !trial.features.a64;
        if setting.core.is_some() && !t32 && !is_m {
            // A microcontroller executes T32 code only.
            score /= 2;
        }
        Some((score, trial))
    };
    let rank = |bench: &Bench, part: &[u8], settings: Vec<Setting>| {
        let mut ranked: Vec<Ranked> = settings
            .into_iter()
            .filter_map(|setting| run(bench, part, &setting).map(|(s, t)| (s, setting, t)))
            .collect();
        settle_reserved(protocol, &mut ranked);
        settle_speculation(&mut ranked);
        // Of equal scores the first remains the first.
        ranked.sort_by_key(|(score, ..)| -score);
        ranked
    };
    let mut best = rank(plain, short, variants());
    best.truncate(FINALISTS);
    best.retain(|(score, ..)| *score > 0);
    if best.len() > 1 && long.len() > short.len() {
        best = rank(plain, long, best.into_iter().map(|(_, setting, _)| setting).collect());
    }
    if bench.has_code() && protocol.traces_instructions() {
        let settings =
            best.iter().take(2).flat_map(|(_, s, _)| with_code(protocol, s, is_m)).collect();
        best = rank(bench, long, settings);
    }
    settle_timestamps(&mut best, |setting| {
        let settings = with_timestamps(protocol, setting);
        rank(if bench.has_code() { bench } else { plain }, long, settings)
    });
    let (score, mut setting, trial) = best.into_iter().next()?;
    if setting.core.is_none() && is_m && core.is_none() {
        setting.core = Some("ARMv7-M");
    }
    let synced = protocol != AnyProtocol::Itm || has_sync(stream, &config(&setting)?);
    if protocol == AnyProtocol::Itm && given.only.is_empty() && !given.any_processor {
        // Only the ITM of another processor has events of a DWT, or no synchronisation.
        let other = trial.counts.dwt_events > 0 && !bench.processors.may_have_dwt()
            || !synced && bench.processors.fit(protocol) < Fit::Yes;
        if other {
            return None;
        }
    }
    let score = score - mismatch(protocol, &bench.processors);
    let start = start.unwrap_or(0);
    let rest = (stream.len() - start, stream.len());
    let (score, read) = judged(protocol, score, &trial, (long, rest), synced);
    let reasons = reasons(protocol, &trial, bench, synced);
    let a64 = trial.features.a64 && !trial.features.aarch32;
    let t32 = trial.features.t32 && !trial.features.not_t32;
    let counts = trial.counts;
    Some(Inference {
        protocol,
        setting,
        score,
        reasons,
        a64,
        t32,
        start,
        read,
        unconfirmed: false,
        foreign: None,
        counts,
    })
}

/// The score with what is known of the protocol, and the bytes in packets in thousandths of all.
/// `long` is what was decoded last, of a stream of which `rest` of all bytes follow the
/// synchronisation.
fn judged(
    protocol: AnyProtocol,
    score: i64,
    trial: &Trial,
    (long, (rest, all)): (&[u8], (usize, usize)),
    synced: bool,
) -> (i64, i64) {
    let mut score = score + sync_points(protocol);
    match protocol {
        AnyProtocol::Ptm => score -= 400 * even_information(long) / 1000,
        AnyProtocol::Itm => score -= unusual(long),
        _ => {}
    }
    // What comes before the synchronisation is not explained.
    let read = (trial.read() * 1000 / trial.len.max(1) * rest as u64 / all.max(1) as u64) as i64;
    if read < MOST {
        score = score * (1000 + read) / (1000 + MOST);
    }
    if !synced {
        // Nearly all bytes are packets of an ITM: few of them prove nothing.
        score = (score - if trial.len < FEW { 500 } else { 150 }).max(0);
    }
    (score, read)
}

/// Why it is this protocol.
fn reasons(protocol: AnyProtocol, trial: &Trial, bench: &Bench, synced: bool) -> Vec<String> {
    let c = &trial.counts;
    let mut reasons = vec![format!(
        "{} packets and {} synchronisations in {} bytes, {} undecodable",
        c.packets,
        c.syncs,
        trial.len,
        c.undecodable + c.unsynchronised - c.truncated
    )];
    if !synced {
        reasons.push("there is no synchronisation packet; decoding starts at byte 0".to_owned());
    }
    if bench.has_code() && protocol.traces_instructions() {
        reasons.push(format!(
            "{} instructions in the images, {} inconsistencies, {} addresses outside",
            c.instructions, c.inconsistencies, c.no_code
        ));
    }
    reasons
}

/// More bytes of an ITM in packets that no unit sends, or few have, count against it, in
/// thousandths.
const UNUSUAL: usize = 20;

/// Points against the bytes of an ITM that are extension packets, stimulus port pages and events
/// with a reserved discriminator.
fn unusual(stream: &[u8]) -> i64 {
    let config = itm::Config { assume_synced: true, ..itm::Config::default() };
    let (mut rest, mut count) = (stream, 0);
    while !rest.is_empty() {
        let len = match itm::Packet::parse(rest, &config) {
            Parse::Packet(packet, len) => {
                let is_unusual = match packet {
                    itm::Packet::Extension { .. } | itm::Packet::Page(_) => true,
                    itm::Packet::Hardware { discriminator, .. } => is_reserved(discriminator),
                    _ => false,
                };
                count += if is_unusual { len } else { 0 };
                len
            }
            Parse::Bad(len, _) => len,
            Parse::Partial => break,
        };
        rest = rest.get(len.max(1)..).unwrap_or_default();
    }
    let share = count * 1000 / stream.len().max(1);
    share.saturating_sub(UNUSUAL) as i64 * 2
}

/// A configuration, its score and its trial.
type Ranked = (i64, Setting, Trial);

/// The elements that a speculative configuration holds back to the end count against it: a unit
/// that traces what is not committed commits it later.
fn settle_speculation(ranked: &mut [Ranked]) {
    let known = |trial: &Trial| trial.features.addresses + trial.counts.ranges;
    let others = ranked.iter().filter(|(_, setting, _)| !setting.is_speculative());
    let most = others.map(|(.., trial)| known(trial)).max().unwrap_or(0);
    for (score, setting, trial) in ranked.iter_mut() {
        if setting.is_speculative() {
            *score -= (most.saturating_sub(known(trial)) * 300 / most.max(1)) as i64;
        }
    }
}

/// Bytes of an ETMv4 or ETE that are packets only in another configuration count against this one
/// twice more: their headers are reserved without an option of the unit.
fn settle_reserved(protocol: AnyProtocol, ranked: &mut [Ranked]) {
    if !matches!(protocol, AnyProtocol::Etmv4 | AnyProtocol::Ete) {
        return;
    }
    let lost = |trial: &Trial| trial.counts.undecodable - trial.counts.truncated;
    let least = ranked.iter().map(|(.., trial)| lost(trial)).min().unwrap_or(0);
    for (score, _, trial) in ranked.iter_mut() {
        *score -= ((lost(trial) - least) * 2000 / trial.len.max(1)) as i64;
    }
}

/// Chooses the form of timestamps with which the most are known and the fewest are before the
/// timestamp that precedes them; of equal forms the first. `forms` are the trials of each form.
fn settle_timestamps(best: &mut [Ranked], forms: impl Fn(&Setting) -> Vec<Ranked>) {
    let Some(first) = best.first_mut() else { return };
    let points = |trial: &Trial| trial.features.time_order();
    let forms = forms(&first.1).into_iter();
    let other = forms.fold(None, |most: Option<Ranked>, form| match most {
        Some(most) if points(&most.2) >= points(&form.2) => Some(most),
        _ => Some(form),
    });
    if let Some(other) = other
        && points(&other.2) > points(&first.2)
    {
        *first = other;
    }
}

/// An alignment synchronisation of ETMv4 and ETE without the trace info that units send after it
/// is in fewer bytes than these.
const BEGINNING: u64 = 64;

/// The score of a buffer that ends before the trace info after its alignment synchronisation.
const BEGUN: i64 = 560;

/// Whether the bytes are the beginning of a trace of an ETMv4 or ETE: all are packets, and the
/// first one is an alignment synchronisation.
fn is_beginning(protocol: AnyProtocol, trial: &Trial) -> bool {
    let c = &trial.counts;
    let all = c.packet_bytes + c.truncated == trial.len && c.inconsistencies == 0;
    let four = matches!(protocol, AnyProtocol::Etmv4 | AnyProtocol::Ete);
    four && c.syncs == 0 && c.packets > 1 && all && trial.len < BEGINNING
}

/// Whether the first bytes have a few values only, as an erased memory has.
pub(super) fn is_filling(stream: &[u8]) -> bool {
    let mut values = [false; 256];
    for byte in stream.iter().take(SHORT) {
        values.get_mut(usize::from(*byte)).into_iter().for_each(|value| *value = true);
    }
    values.iter().filter(|value| **value).count() < 4
}

/// The offset where a decoder can start.
fn start(protocol: AnyProtocol, stream: &[u8], config: &AnyConfig) -> Option<usize> {
    if protocol == AnyProtocol::Stm {
        // A synchronisation has 21 nibbles of ones, of which a decoder finds the first.
        return stream
            .windows(10)
            .position(|bytes| bytes == [0xff; 10])
            .map(|at| at.saturating_sub(1));
    }
    match config.sync(stream) {
        SyncSearch::At(at) => Some(at),
        SyncSearch::NotIn(_) if protocol == AnyProtocol::Itm => Some(0),
        SyncSearch::NotIn(_) => None,
    }
}

/// I-sync packets after an A-sync whose information byte is even, in thousandths: bit 0 of it is
/// always 1. (IHI 0035, "Instruction synchronization packet")
fn even_information(stream: &[u8]) -> i64 {
    const SYNCS: [u8; 7] = [0, 0, 0, 0, 0, 0x80, 0x08];
    let after = memmem::find_iter(stream, &SYNCS);
    let information: Vec<_> =
        after.filter_map(|at| stream.get(at + SYNCS.len() + 4).copied()).collect();
    let even = information.iter().filter(|byte| *byte & 1 == 0).count();
    (even * 1000 / information.len().max(1)) as i64
}

/// Whether `stream` has a synchronisation packet.
fn has_sync(stream: &[u8], config: &AnyConfig) -> bool {
    matches!(config.sync(stream), SyncSearch::At(_))
}

/// Points against a protocol whose processors do not execute the program.
fn mismatch(protocol: AnyProtocol, processors: &Processors) -> i64 {
    match (protocol, processors.fit(protocol)) {
        (_, Fit::Yes) | (AnyProtocol::Itm | AnyProtocol::Stm, _) => 0,
        (_, Fit::No) if !matches!(processors.first(), Some(Processor::RiscV(_))) => 200,
        _ => 300,
    }
}

/// The faults in a thousand bytes by which an ETMv4 and an ETE must differ.
const FAULTS: u64 = 20;

/// ETE and ETMv4 differ in a few packets. Where the bytes have none of them, what stores unframed
/// trace of A64 code is a trace buffer extension, whose unit is an ETE.
fn settle_etmv4(all: &mut [Inference], framed: bool) {
    let find =
        |all: &[Inference], protocol| all.iter().position(|g: &Inference| g.protocol == protocol);
    let (Some(four), Some(ete)) = (find(all, AnyProtocol::Etmv4), find(all, AnyProtocol::Ete))
    else {
        return;
    };
    let faults = |all: &[Inference], n: usize| {
        let Some(Inference { counts: c, .. }) = all.get(n) else { return 0 };
        (c.undecodable + c.unsynchronised + c.inconsistencies) * 1000 / c.bytes().max(1)
    };
    if faults(all, four).abs_diff(faults(all, ete)) > FAULTS {
        return;
    }
    let best = all.get(four).into_iter().chain(all.get(ete)).map(|inference| inference.score).max();
    // Without an address, the instruction set is not known.
    let a64 = |inference: &Inference| inference.a64 || inference.counts.syncs == 0;
    let likely = if !framed && all.get(four).is_some_and(a64) { ete } else { four };
    if let Some(inference) = all.get_mut(likely) {
        inference.score = best.unwrap_or(0) + 1;
        let why = "no packet distinguishes ETMv4 and ETE; ";
        let why = format!(
            "{why}{}",
            match framed {
                true => "frames usually come from an ETMv4",
                false if likely == ete => "unframed trace of A64 code usually comes from an ETE",
                false => "unframed trace of A32 or T32 code usually comes from an ETMv4",
            }
        );
        inference.reasons.push(why);
    }
}

/// The records of a Micro Trace Buffer: code runs from the destination of each to the source of the
/// next.
fn branch_records(stream: &[u8]) -> Option<Inference> {
    const NEAR: u32 = 1 << 12;
    /// Fewer destinations are a coincidence: each is near the next source once in 2^20 times.
    const FEWEST: usize = 4;
    let (records, _) = stream.get(..LONG).unwrap_or(stream).as_chunks::<8>();
    let word = |bytes: &[u8]| bytes.first_chunk().map_or(0, |b| u32::from_le_bytes(*b));
    let ends: Vec<(u32, u32)> = records
        .iter()
        .map(|record| (word(record) & !1, word(record.get(4..).unwrap_or_default()) & !1))
        .collect();
    let follows = |pair: &[(u32, u32)]| match pair {
        [(_, to), (from, _)] => from.wrapping_sub(*to) < NEAR,
        _ => false,
    };
    let good = ends.windows(2).filter(|pair| follows(pair)).count();
    let all = ends.len().saturating_sub(1);
    // A filling of equal bytes is no trace.
    let distinct = ends.windows(2).filter(|pair| matches!(pair, [a, b] if a.1 != b.1)).count();
    if all < FEWEST || good * 10 < all * 8 || distinct * 2 < all {
        return None;
    }
    let score = (good * 1000 / all) as i64 - 20;
    let reason = format!("code runs from {good} of {all} destinations to the next source");
    Some(Inference {
        protocol: AnyProtocol::Mtb,
        setting: Setting::default(),
        score,
        reasons: vec![reason],
        a64: false,
        t32: false,
        start: 0,
        read: score,
        unconfirmed: false,
        foreign: None,
        counts: crate::tally::Counts::default(),
    })
}
