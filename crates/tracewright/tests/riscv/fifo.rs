//! A unit whose FIFO is too small: the processor waits and nothing is lost, or packets are lost and the trace says so;
//! then all that is said is what was done, and it goes on exactly where the unit did.

use tracewright::base::{Access, Element, Encode, Gap, Sink, Start, Step, Wire};
use tracewright::protocols::etrace::config::{Params, Sync, Version};
use tracewright::protocols::etrace::encode::{DataSettings, Encoder, FifoSettings, Settings};
use tracewright::protocols::etrace::packet::{Packet, Payload};

use crate::data::{Row, accesses, row};
use crate::encode::options;
use crate::program::{Mix, Random, Run, run};
use crate::roundtrip::{Done, Trace, agree, wanted};
use crate::run::{cache, elements};

/// A random program and a unit for it, without a limit.
fn unit(seed: u64) -> (Run, Params, Settings) {
    let mut random = Random(seed ^ 0xf1f0);
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

/// What was encoded, with how many instructions and traps there were when each packet was sent.
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

/// What a trace says was done, in the stretches that were traced.
struct Chunks<'a> {
    run: &'a Run,
    params: &'a Params,
    all: Vec<Chunk>,
    odd: Vec<String>,
}

struct Chunk {
    trace: Trace,
    /// It comes after packets that were lost, and the trace says so.
    after_loss: bool,
}

impl Chunks<'_> {
    fn of<'a>(bytes: &[u8], run: &'a Run, params: &'a Params) -> Chunks<'a> {
        let mut said = Chunks { run, params, all: Vec::new(), odd: Vec::new() };
        elements(bytes, params, &mut cache(&run.image, params), &mut said);
        said
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

/// A loop of these programs is not longer.
const ROUND: usize = 100;

fn seeds(count: u64) -> std::ops::Range<u64> {
    if let Some(seed) = std::env::var("SEED").ok().and_then(|s| s.parse().ok()) {
        return seed..seed + 1;
    }
    0..std::env::var("SEEDS").map_or(count, |seeds| seeds.parse().unwrap())
}

/// What leaves the FIFO of a unit that stalls its processor is what leaves one without a limit.
#[test]
fn a_processor_that_waits_loses_nothing() {
    let mut waited = 0;
    for seed in seeds(150) {
        let (run, mut params, settings) = unit(seed);
        // Cycles that it waits would count.
        if params.choices.resync == Sync::Cycles {
            params.choices.resync = Sync::Packets;
        }
        let mut random = Random(seed ^ 0x57a1);
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
    println!("{waited} processors had to wait");
    assert!(waited > 0);
}

#[test]
fn what_is_lost_is_said() {
    let (mut lost, mut chunks) = (0, 0);
    'traces: for seed in seeds(600) {
        let (run, params, settings) = unit(seed);
        let mut random = Random(seed ^ 0x1057);
        let fifo = FifoSettings {
            bytes: random.pick(&[1, 100, 130, 200]),
            drain: random.pick(&[2, 4, 9, 30, 200]),
            stall: false,
        };
        let settings = Settings { fifo, ..settings };
        let (bytes, sent, _) = encoded(&run, &params, &settings);
        let said = Chunks::of(&bytes, &run, &params);
        let name = format!(
            "seed {seed} {} {:?} retires {} {fifo:?}",
            params.version, params.options, settings.retires
        );
        assert!(said.odd.is_empty(), "{name}: {:?}", said.odd);
        let want = wanted(&run, &params);
        // Steps that the unit has not dealt with yet.
        let late = 3 * usize::from(settings.retires) * usize::from(params.port.taken_branches) + 6;
        let (mut from, mut resumed) = (0, resumptions(&sent).into_iter());
        for (n, chunk) in said.all.iter().enumerate() {
            let Trace { done, odd, .. } = &chunk.trace;
            assert!(odd.is_empty(), "{name}: stretch {n}: {odd:?}");
            let (sent, until) = resumed.next().unwrap_or_else(|| panic!("{name}: no stretch {n}"));
            assert!(n == 0 || params.is_draft() || chunk.after_loss, "{name}: stretch {n}");
            // It begins with what the packet names, and no earlier than what was said before ended.
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
            // Where the trace says that a longer path was possible, too, that may have been the one.
            if chunk.trace.is_ambiguous(same) {
                continue 'traces;
            }
            assert!(
                same == done.len(),
                "{name}: stretch {n} from {first}: {same} of {} are what was done, then {:x?}, not {:x?}",
                done.len(),
                near(done, same),
                near(&want, first + same),
            );
            from = first + done.len();
            // It goes as far as the last packet before the loss; once round less, where what would tell was lost.
            let there = from <= until && from + late + ROUND > until;
            assert!(there, "{name}: stretch {n} goes to {from}, not to {until}");
            chunks += 1;
        }
        assert!(resumed.next().is_none(), "{name}: a stretch is not said");
        lost += usize::from(said.all.len() > 1);
    }
    println!("{lost} traces lost something, {chunks} stretches");
    assert!(lost > 100 || std::env::var("SEED").is_ok());
}

/// How much was done when each packet was sent that trace goes on with, and when the last one after it was.
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

/// Data accesses that have no room: the trace says so, and each access that it tells of was made.
#[test]
fn accesses_that_are_lost_are_said() {
    let (mut lost, mut alone) = (0, 0);
    for seed in seeds(300) {
        let mut random = Random(seed ^ 0xda7a);
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
            // A read and the write of an atomic access come together.
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
                // Loads come when their data do.
                let all = chunk.iter().all(|row| made.contains(row));
                assert!(all, "{name}: an access was not made");
                continue;
            }
            let first = (from..=made.len() - chunk.len().min(made.len() - from))
                .find(|&first| made[first..].starts_with(chunk));
            let first = first.unwrap_or_else(|| panic!("{name}: accesses that were not made"));
            from = first + chunk.len();
        }
        let said: usize = chunks.iter().map(Vec::len).sum();
        assert_eq!(said < made.len(), chunks.len() > 1, "{name}: {said} of {}", made.len());
        lost += usize::from(chunks.len() > 1);
        let program = all.iter().any(|(_, element)| *element == Element::Gap(Gap::Overflow));
        alone += usize::from(chunks.len() > 1 && !program);
    }
    println!("{lost} traces lost accesses, {alone} of them nothing of the program");
    assert!(lost > 50 && alone > 0 || std::env::var("SEED").is_ok());
}
