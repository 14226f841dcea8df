//! ETMv1 and ETMv2: the cycles of a trace port, as records or as words of an Embedded Trace Buffer.
//!
//! The bits that a cycle does not have are 0 in each record and each word, which shows the width of
//! the port and the first byte of a record. A record of a 4-bit port has no such bit: it is
//! searched for where nothing else explains the bytes. Version and registers are those with which
//! the most branches have addresses.

use tracewright_frames::Framing;
use tracewright_frames::cycles::{TRIGGER, Width, etb, records};
use tracewright_protocols::registry::AnyProtocol;

use super::arm::is_filling;
use super::configs::{Setting, port_variants};
use super::fill::{is_periodic, is_sparse};
use super::trial::{Bench, Trial};
use super::{Candidate, Certainty, Given, Inference, LEAST, LONG, SourceCandidate};

/// Fewer cycles than these show nothing.
const FEW: usize = 64;

/// Fewer known addresses of branches than these show nothing.
const ADDRESSES: u64 = 4;

/// A program has a branch with an address in this number of cycles at least.
const CYCLES: u64 = 50;

/// The best score where each byte is a record: a 4-bit port is a coincidence more easily.
const LIKELY: i64 = 900;

/// How the cycles of a port are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Form {
    /// Words of an Embedded Trace Buffer; otherwise records.
    words: bool,
    width: Width,
    /// The offset of the first record or word.
    skip: usize,
}

impl Form {
    /// The forms that `head` may have. `bytes`: records of one byte, too.
    fn all(head: &[u8], bytes: bool) -> Vec<Form> {
        let forms = [false, true].into_iter().flat_map(|words| {
            Width::ALL.into_iter().flat_map(move |width| {
                let form = Form { words, width, skip: 0 };
                (0..form.row()).map(move |skip| Form { skip, ..form })
            })
        });
        let fits = |form: &Form| (form.row() == 1) == bytes && form.fits(head);
        forms.filter(fits).collect()
    }

    /// Bytes of a record or a word.
    const fn row(self) -> usize {
        if self.words { 4 } else { self.width.record() }
    }

    /// Bits of a record or a word that cycles have. (IHI 0014, Table 8-2)
    const fn bits(self) -> u32 {
        match (self.words, self.width) {
            (true, Width::W4 | Width::W8) => 24,
            (true, Width::W16) => 20,
            (false, width) => 4 + width.pins() as u32,
        }
    }

    /// The records and words of `head` as numbers.
    fn rows(self, head: &[u8]) -> impl Iterator<Item = u32> + '_ {
        let rows = head.get(self.skip..).unwrap_or_default().chunks_exact(self.row());
        rows.map(|row| row.iter().rev().fold(0, |word, byte| word << 8 | u32::from(*byte)))
    }

    /// Whether the bits that no cycle has are 0 in nearly all rows, and the others are no filling.
    fn fits(self, head: &[u8]) -> bool {
        let (mut all, mut good) = (0usize, 0usize);
        for row in self.rows(head) {
            all += 1;
            good += usize::from(row >> self.bits() == 0);
        }
        let bytes = head.get(self.skip..).unwrap_or_default();
        all >= FEW && good * 100 >= all * 99 && !is_filling(bytes)
    }

    /// The records of `head`.
    fn records(self, head: &[u8]) -> Vec<u8> {
        match self.words {
            true => records(etb::read(self.rows(head), self.width), self.width).collect(),
            false => head.get(self.skip..).unwrap_or_default().to_vec(),
        }
    }

    /// Why the bytes may have this form.
    fn reason(self) -> String {
        let pins = self.width.pins();
        let rows = if self.words { "words of an Embedded Trace Buffer" } else { "records" };
        match self.row() {
            1 => format!("each byte may be a cycle of a {pins}-bit trace port"),
            _ => format!("bits that {rows} of a {pins}-bit trace port do not have are 0"),
        }
    }
}

/// The best trial of one form and protocol.
struct Found {
    form: Form,
    protocol: AnyProtocol,
    setting: Setting,
    score: i64,
    trial: Trial,
}

/// The best candidate for `head` as cycles. `bytes`: records of one byte are searched for, and no
/// others.
pub(super) fn candidate(
    head: &[u8],
    bench: &Bench,
    given: &Given<'_>,
    bytes: bool,
) -> Option<Candidate> {
    let protocols = [AnyProtocol::Etmv1, AnyProtocol::Etmv2];
    let protocols =
        protocols.into_iter().filter(|protocol| given.allows(*protocol, &bench.processors));
    let protocols: Vec<_> = protocols.collect();
    if protocols.is_empty() || given.framing.is_some_and(|framing| framing != Framing::Raw) {
        return None;
    }
    // Whatever reads one period reads them all.
    if given.only.is_empty() && is_periodic(head, 12) {
        return None;
    }
    let mut all: Vec<Found> = Vec::new();
    for form in Form::all(head.get(..LONG).unwrap_or(head), bytes) {
        if form.skip > 0 && (given.skip.is_some() || !given.only.is_empty()) {
            continue;
        }
        let records = form.records(head);
        if has_triggers(&records, form.width) {
            continue;
        }
        let each = protocols.iter().filter_map(|p| infer(form, *p, &records, bench, given));
        all.extend(each);
    }
    // Cycles that are read as others have few branches whose addresses are known.
    let rate = |found: &Found| known(&found.trial) * 1000 / found.trial.len.max(1);
    let most = all.iter().map(rate).max().unwrap_or(0).max(1);
    all.iter_mut().for_each(|found| found.score -= ((most - rate(found)) * 300 / most) as i64);
    all.sort_by_key(|found| -found.score);
    let best = all.into_iter().next().filter(|best| best.score >= LEAST)?;
    let c = &best.trial.counts;
    let mut reasons = vec![format!(
        "{} cycles and {} addresses of branches in {} bytes, {} undecodable",
        c.packets,
        known(&best.trial),
        best.trial.len,
        c.undecodable
    )];
    if bench.has_code() {
        reasons.push(format!(
            "{} instructions in the images, {} inconsistencies, {} addresses outside",
            c.instructions, c.inconsistencies, c.no_code
        ));
    }
    let read = (best.trial.read() * 1000 / best.trial.len.max(1)) as i64;
    let inference = Inference {
        protocol: best.protocol,
        setting: best.setting,
        score: best.score,
        reasons,
        a64: false,
        t32: false,
        start: 0,
        read,
        unconfirmed: false,
        foreign: None,
        counts: best.trial.counts,
    };
    let mut source = SourceCandidate::new(0, head.len(), vec![inference]);
    if known(&best.trial) * CYCLES < c.packets || is_sparse(head) {
        source.most = Certainty::Possible;
    }
    Some(Candidate {
        framing: Framing::Raw,
        words: best.form.words,
        swap: None,
        messages_at: None,
        skip: best.form.skip,
        sources: vec![source],
        score: best.score,
        reason: best.form.reason(),
        stated: Vec::new(),
        undamaged: 0,
        evidence: 0,
        profile_known: true,
        other_processor: false,
    })
}

/// Whether more than one cycle in 50 of `records` is a trigger: a trace has one or a few, random
/// bytes have one in eight cycles. (IHI 0014, Table 5-1)
fn has_triggers(records: &[u8], width: Width) -> bool {
    let cycles = records.chunks_exact(width.record());
    let all = cycles.len();
    let triggers = cycles.filter(|cycle| cycle.first().is_some_and(|low| low & 0b111 == TRIGGER));
    triggers.count() * 50 > all
}

/// The best configuration of `protocol` for the records `all` of `form`.
fn infer(
    form: Form,
    protocol: AnyProtocol,
    all: &[u8],
    bench: &Bench,
    given: &Given<'_>,
) -> Option<Found> {
    let part = |len: usize| all.get(..len).unwrap_or(all);
    let run = |part: &[u8], setting: Setting| {
        let config = setting.config(protocol, given.core_type(), given.registers)?;
        let trial = bench.run(part, &config);
        let score = score(&trial, protocol);
        let score = if form.row() == 1 { score.min(LIKELY) } else { score };
        Some(Found { form, protocol, setting, score, trial })
    };
    let mut settings = port_variants(protocol, form.width).into_iter();
    // Where the most common configuration does not find a branch, no other one does.
    let first = settings.next()?;
    let first = run(part(LONG), first)?;
    if first.score < LEAST / 2 {
        return None;
    }
    let mut best = first;
    for setting in settings {
        if let Some(found) = run(part(LONG), setting)
            && found.score > best.score
        {
            best = found;
        }
    }
    Some(best)
}

/// The branches whose addresses are known.
fn known(trial: &Trial) -> u64 {
    trial.features.addresses + trial.counts.ranges
}

/// How well a configuration explains the cycles: 1000 at most.
fn score(trial: &Trial, protocol: AnyProtocol) -> i64 {
    let c = &trial.counts;
    let known = known(trial);
    if known < ADDRESSES {
        return 0;
    }
    let mut score = trial.score(protocol);
    if protocol == AnyProtocol::Etmv1 {
        // TRACESYNC marks a branch, whose address follows; it is known from the first whole one on.
        score -= (200 * c.syncs.saturating_sub(known) / c.syncs.max(1)) as i64;
    }
    score.max(0)
}

#[cfg(test)]
mod tests {
    use tracewright_frames::cycles::Cycle;

    use super::*;

    /// A trace with a trigger in a hundred cycles, and random bytes.
    #[test]
    fn random_bytes_have_too_many_triggers() {
        for width in Width::ALL {
            let of = |status| Cycle { status, ..Cycle::NOTHING }.record(width).as_ref().to_vec();
            let mut records = of(0).repeat(99);
            records.extend(of(TRIGGER));
            assert!(!has_triggers(&records, width));
            let mut random = tracewright_testing::Random::new(3);
            assert!(has_triggers(&random.bytes(4000), width));
        }
    }
}
