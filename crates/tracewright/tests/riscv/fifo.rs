//! A unit whose FIFO is too small: the processor stalls and no packet is lost, or packets are lost
//! and the trace reports the loss. After a loss all emitted instructions were executed, and
//! decoding resumes at the packet at which the unit resumed.

use tracewright::base::{Access, Element, Encode, Gap, Sink, Start, Step, Wire};
use tracewright::protocols::etrace::config::{Params, Sync, Version};
use tracewright::protocols::etrace::encode::{DataSettings, Encoder, FifoSettings, Settings};
use tracewright::protocols::etrace::packet::{Packet, Payload};

use crate::data::{Row, accesses, row};
use crate::encode::options;
use crate::program::{Mix, Random, Run, run};
use crate::roundtrip::{Done, Trace, agree, wanted};
use crate::run::{cache, elements};

/// A random program and a unit for it, whose FIFO is unlimited.
fn unit(seed: u64) -> (Run, Params, Settings) {
    let mut random = Random::new(seed ^ 0xf1f0);
    let version = random.pick(&[Version::Draft, Version::V1_0, Version::V2_0, Version::V2_1]);
    let thaddr = matches!(version, Version::V2_0 | Version::V2_1);
    let rv64 = random.one_in(2);
    let mut params = Params::spec(version, rv64);
    options(&mut params, &mut random);
    params.choices.resync = random.pick(&[Sync::Packets, Sync::Halfwords, Sync::Cycles]);
    params.choices.resync_max = random.pick(&[5, 40, 300, 1 << 20]);
    let counted = params.options.implicit_return && params.widths.return_stack_size == 0;
    let mix = Mix {
        rv64,
        traps: random.pick(&[0, 7, 40]),
        nested: thaddr && random.one_in(2),
        astray: if counted { 0 } else { random.pick(&[0, 5]) },
        levels: random.one_in(2),
        contexts: random.pick(&[0, 30]),
        vectored: params.options.implicit_exception || random.one_in(2),
        ..Mix::default()
    };
    let run = run(seed, 120, 600, mix);
    if mix.vectored {
        params.vectors = run.vectors;
    }
    let settings = Settings { retires: random.pick(&[1, 1, 4]), ..Settings::default() };
    (run, params, settings)
}

/// The encoded bytes; the packets, each with the number of instructions and traps before it; and
/// the number of cycles for which the processor was stalled.
fn encoded(
    run: &Run,
    params: &Params,
    settings: &Settings,
) -> (Vec<u8>, Vec<(Packet, usize)>, u64) {
    let mut encoder = Encoder::new(params, settings);
    let (mut packets, mut sent) = (Vec::new(), Vec::new());
    let mut done = 0;
    for step in &run.steps {
        done += usize::from(matches!(step, Step::Retired(_) | Step::Exception(_)));
        encoder.step(step, params, &mut packets);
        sent.extend(packets.drain(..).map(|packet| (packet, done)));
    }
    let stalled = encoder.stalled();
    encoder.finish(params, &mut packets);
    sent.extend(packets.drain(..).map(|packet| (packet, done)));
    let mut bytes = Vec::new();
    sent.iter().for_each(|(packet, _)| packet.emit(params, &mut bytes));
    (bytes, sent, stalled)
}

/// The decoded events of the traced chunks.
struct Chunks<'a> {
    run: &'a Run,
    params: &'a Params,
    all: Vec<Chunk>,
    odd: Vec<String>,
}

struct Chunk {
    trace: Trace,
    /// The chunk follows a reported loss.
    after_loss: bool,
}

impl Chunks<'_> {
    fn of<'a>(bytes: &[u8], run: &'a Run, params: &'a Params) -> Chunks<'a> {
        let mut emitted = Chunks { run, params, all: Vec::new(), odd: Vec::new() };
        elements(bytes, params, &mut cache(&run.image, params), &mut emitted);
        emitted
    }
}

impl tracewright::protocols::Observer for Chunks<'_> {}

impl Sink for Chunks<'_> {
    fn element(&mut self, at: u64, element: Element) {
        match element {
            Element::TraceOn(start) => {
                let after_loss = start == Start::Overflow;
                let trace = Trace::new(cache(&self.run.image, self.params), self.run.isa);
                self.all.push(Chunk { trace, after_loss });
            }
            Element::Gap(Gap::Start | Gap::Overflow) => {}
            Element::Gap(gap) => self.odd.push(format!("{at} {gap}")),
            _ => {
                if let Some(last) = self.all.last_mut() {
                    last.trace.element(at, element);
                }
            }
        }
    }
}

/// The most instructions in one iteration of a loop of these programs.
const ROUND: usize = 100;

fn seeds(count: u64) -> std::ops::Range<u64> {
    if let Some(seed) = std::env::var("SEED").ok().and_then(|s| s.parse().ok()) {
        return seed..seed + 1;
    }
    0..tracewright_testing::times(count)
}

/// A unit that stalls its processor emits the packets of a unit with an unlimited FIFO.
#[test]
fn a_stalled_processor_loses_no_packet() {
    let mut waited = 0;
    for seed in seeds(150) {
        let (run, mut params, settings) = unit(seed);
        // Stall cycles would count.
        if params.choices.resync == Sync::Cycles {
            params.choices.resync = Sync::Packets;
        }
        let mut random = Random::new(seed ^ 0x57a1);
        let fifo = FifoSettings {
            bytes: random.pick(&[1, 100, 300, 2000]),
            drain: random.pick(&[1, 3, 20, 1000]),
            stall: true,
        };
        let (want, _, none) = encoded(&run, &params, &settings);
        let limited = Settings { fifo, ..settings };
        let (got, _, stalled) = encoded(&run, &params, &limited);
        assert!(want == got, "seed {seed} {fifo:?}: other bytes");
        assert_eq!(none, 0);
        waited += u64::from(stalled > 0);
    }
    println!("{waited} processors were stalled");
    assert!(waited > 0);
}

#[test]
fn lost_packets_are_reported() {
    let (mut lost, mut chunks) = (0, 0);
    'traces: for seed in seeds(600) {
        let (run, params, settings) = unit(seed);
        let mut random = Random::new(seed ^ 0x1057);
        let fifo = FifoSettings {
            bytes: random.pick(&[1, 100, 130, 200]),
            drain: random.pick(&[2, 4, 9, 30, 200]),
            stall: false,
        };
        let settings = Settings { fifo, ..settings };
        let (bytes, sent, _) = encoded(&run, &params, &settings);
        let emitted = Chunks::of(&bytes, &run, &params);
        let name = format!(
            "seed {seed} {} {:?} retires {} {fifo:?}",
            params.version, params.options, settings.retires
        );
        assert!(emitted.odd.is_empty(), "{name}: {:?}", emitted.odd);
        let want = wanted(&run.steps, &params);
        // The most steps that the unit has not encoded yet.
        let late = 3 * usize::from(settings.retires) * usize::from(params.port.taken_branches) + 6;
        let (mut from, mut resumed) = (0, resumptions(&sent).into_iter());
        for (n, chunk) in emitted.all.iter().enumerate() {
            let Trace { done, odd, .. } = &chunk.trace;
            assert!(odd.is_empty(), "{name}: chunk {n}: {odd:?}");
            let (sent, until) = resumed.next().unwrap_or_else(|| panic!("{name}: no chunk {n}"));
            assert!(n == 0 || params.is_draft() || chunk.after_loss, "{name}: chunk {n}");
            // The chunk begins with the instruction of the packet, and not before the end of the
            // last chunk.
            let least = from.max(sent.saturating_sub(late));
            let same = |first: usize| {
                let rest = want.get(first..).unwrap_or_default();
                rest.iter().zip(done).take_while(|(w, g)| agree(w, g)).count()
            };
            let first = (least..=sent).max_by_key(|&first| (same(first), usize::MAX - first));
            let first = first.unwrap_or(least);
            let near = |list: &[Done], at: usize| {
                list[at.saturating_sub(3).min(list.len())..(at + 4).min(list.len())].to_vec()
            };
            let same = same(first);
            // At a marked ambiguity the longer path may be the one that was executed.
            if chunk.trace.is_ambiguous(same) {
                continue 'traces;
            }
            assert!(
                same == done.len(),
                "{name}: chunk {n} from {first}: {same} of {} are what was done, then {:x?}, not {:x?}",
                done.len(),
                near(done, same),
                near(&want, first + same),
            );
            from = first + done.len();
            // The chunk reaches the last packet before the loss, or one loop iteration less if the
            // packet that decides was lost.
            let there = from <= until && from + late + ROUND > until;
            assert!(there, "{name}: chunk {n} goes to {from}, not to {until}");
            chunks += 1;
        }
        assert!(resumed.next().is_none(), "{name}: a chunk is missing");
        lost += usize::from(emitted.all.len() > 1);
    }
    println!("{lost} traces lost something, {chunks} chunks");
    assert!(lost > 100 || std::env::var("SEED").is_ok());
}

/// For each packet at which the trace resumes: the number of instructions and traps before it, and
/// before the last packet that follows without a loss.
fn resumptions(sent: &[(Packet, usize)]) -> Vec<(usize, usize)> {
    let (mut all, mut off): (Vec<(usize, usize)>, _) = (Vec::new(), true);
    for (packet, done) in sent {
        match packet.payload {
            Payload::Support(support) => {
                let ends = support.qualification as u8 != 0;
                off |= ends;
            }
            Payload::Start(_) | Payload::Trap(_) if off => {
                off = false;
                all.push((*done, *done));
            }
            _ => {}
        }
        if let Some((_, until)) = all.last_mut().filter(|_| !off) {
            *until = *done;
        }
    }
    all
}

/// Data accesses that do not fit into the FIFO: the trace reports the loss, and each emitted access
/// was made.
#[test]
fn lost_accesses_are_reported() {
    let (mut lost, mut alone) = (0, 0);
    for seed in seeds(300) {
        let mut random = Random::new(seed ^ 0xda7a);
        let version = random.pick(&[Version::V2_0, Version::V2_1]);
        let rv64 = random.one_in(2);
        let mut params = Params::spec(version, rv64);
        let d = &mut params.data;
        d.split = random.one_in(3);
        d.lrid_width = if d.split { random.pick(&[1, 3, 6]) } else { 0 };
        d.format_width = if d.split { 3 } else { random.pick(&[2, 3]) };
        params.choices.resync_max = random.pick(&[10, 1000]);
        let mix = Mix { rv64, ..Mix::default() };
        let mut run = run(seed, 120, 500, mix);
        let given = accesses(&mut random, &params);
        let mut left = given.iter().copied().peekable();
        let mut steps = Vec::new();
        for step in run.steps.drain(..) {
            steps.push(step);
            // The read and the write of an atomic access are not separated.
            while random.one_in(3) && left.peek().is_some() {
                steps.extend(left.next().map(Step::Access));
                while let Some(write) = left.next_if(|next| next.has(Access::CONTINUED)) {
                    steps.push(Step::Access(write));
                }
            }
        }
        run.steps = steps;
        let made: Vec<Row> = run
            .steps
            .iter()
            .filter_map(|step| match step {
                Step::Access(access) => Some(row(access, &params)),
                _ => None,
            })
            .collect();
        let latency = random.pick(&[0, 0, 1, 5]);
        let data = DataSettings { enabled: true, latency, ..DataSettings::default() };
        let drain = random.pick(&[1, 2, 4, 9]);
        let fifo = FifoSettings { bytes: random.pick(&[1, 150, 400]), drain, stall: false };
        let settings = Settings { data, fifo, ..Settings::default() };
        let (bytes, ..) = encoded(&run, &params, &settings);
        let mut all: Vec<(u64, Element)> = Vec::new();
        elements(&bytes, &params, &mut cache(&run.image, &params), &mut all);
        let name = format!("seed {seed} {version} {:?} {fifo:?}", params.data);
        let mut chunks = vec![Vec::new()];
        for (_, element) in &all {
            match element {
                Element::DataAccess(access) => {
                    chunks.last_mut().unwrap().push(row(access, &params));
                }
                Element::Gap(Gap::Data) => chunks.push(Vec::new()),
                Element::Undecodable { .. } | Element::Inconsistency(_) => {
                    panic!("{name}: {element}")
                }
                _ => {}
            }
        }
        let mut from = 0;
        for chunk in &chunks {
            if params.data.split {
                // A load is emitted when its data are traced.
                let all = chunk.iter().all(|row| made.contains(row));
                assert!(all, "{name}: an access was not made");
                continue;
            }
            let first = (from..=made.len() - chunk.len().min(made.len() - from))
                .find(|&first| made[first..].starts_with(chunk));
            let first = first.unwrap_or_else(|| panic!("{name}: accesses that were not made"));
            from = first + chunk.len();
        }
        let emitted: usize = chunks.iter().map(Vec::len).sum();
        assert_eq!(emitted < made.len(), chunks.len() > 1, "{name}: {emitted} of {}", made.len());
        lost += usize::from(chunks.len() > 1);
        let program = all.iter().any(|(_, element)| *element == Element::Gap(Gap::Overflow));
        alone += usize::from(chunks.len() > 1 && !program);
    }
    println!("{lost} traces lost accesses, {alone} of them no instructions");
    assert!(lost > 50 && alone > 0 || std::env::var("SEED").is_ok());
}
