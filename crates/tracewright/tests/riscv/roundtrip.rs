//! What was encoded is what is decoded: random programs and traps, every version, any options.

use tracewright::base::{Doubt, Element, Encode, Sink, Step, Wire};
use tracewright::protocols::etrace::config::{Params, Profile, Sync, Version};
use tracewright::protocols::etrace::decode::INTERRUPT;
use tracewright::protocols::etrace::encode::{Encoder, Settings, SyncPlace};

use crate::encode::options;
use crate::program::{Mix, Random, Run, run};
use crate::run::{Addresses, cache, elements};
use tracewright::base::Cause;

/// What was done: addresses of instructions, and exceptions by number and return address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Done {
    Ran(u64),
    Trapped(u16, Option<u64>),
}

/// What the steps did.
pub fn wanted(run: &Run) -> Vec<Done> {
    run.steps
        .iter()
        .filter_map(|step| match step {
            Step::Retired(retired) => Some(Done::Ran(retired.address)),
            Step::Exception(taken) => match taken.cause {
                Cause::Riscv { code, interrupt } => {
                    let number = code | if interrupt { INTERRUPT } else { 0 };
                    Some(Done::Trapped(number, Some(taken.return_address)))
                }
                _ => None,
            },
            _ => None,
        })
        .collect()
}

/// Instructions and exceptions of a trace.
pub struct Trace {
    pub done: Vec<Done>,
    pub odd: Vec<String>,
    /// How much was done where a longer path was possible, too.
    ambiguous: Vec<usize>,
    code: tracewright::image::Cache,
    isa: tracewright::base::Isa,
}

impl Sink for Trace {
    fn element(&mut self, at: u64, element: Element) {
        if let Element::Exception(e) = element {
            self.done.push(Done::Trapped(e.number, e.return_address));
        }
        if element == Element::Doubt(Doubt::Ambiguous) {
            return self.ambiguous.push(self.done.len());
        }
        let Trace { done, odd, code, isa, .. } = self;
        let each = |address| done.push(Done::Ran(address));
        let mut addresses = Addresses { code: code.clone(), isa: *isa, each, odd };
        if matches!(
            element,
            Element::Range(_) | Element::NoCode { .. } | Element::Doubt(_) | Element::Bad { .. }
        ) {
            addresses.element(at, element);
        }
    }
}

fn decoded(bytes: &[u8], params: &Params, run: &Run) -> Trace {
    let code = cache(&run.image, params);
    let mut trace = Trace::new(code, run.isa);
    elements(bytes, params, &mut cache(&run.image, params), &mut trace);
    trace
}

impl Trace {
    pub fn new(code: tracewright::image::Cache, isa: tracewright::base::Isa) -> Trace {
        Trace { done: Vec::new(), odd: Vec::new(), ambiguous: Vec::new(), code, isa }
    }

    /// A longer path was possible, too, before the element number `same`.
    pub fn is_ambiguous(&self, same: usize) -> bool {
        same < self.done.len() && self.ambiguous.iter().any(|&place| place <= same)
    }

    /// Leaves out of `want` what was passed over where the trace says that the path is ambiguous.
    fn shorten(&self, want: &mut Vec<Done>) {
        let mut left = self.ambiguous.iter().peekable();
        loop {
            let differ = want.iter().zip(&self.done).position(|(w, g)| !agree(w, g));
            let same = differ.unwrap_or(self.done.len());
            if want.len() <= self.done.len() && differ.is_none() {
                return;
            }
            // Both paths may be the same for a while.
            let Some(place) = left.next_if(|place| **place <= same) else { return };
            let rest = &self.done[same..self.done.len().min(same + 2)];
            let longer = (same + 1..=want.len()).find(|&from| {
                let there = &want[from..want.len().min(from + rest.len())];
                there.len() == rest.len() && there.iter().zip(rest).all(|(w, g)| agree(w, g))
            });
            match (differ, longer) {
                (Some(_), Some(from)) => want.drain(same..from),
                (None, _) => want.drain(*place..*place + want.len() - self.done.len()),
                (Some(_), None) => return,
            };
        }
    }
}

fn encoded(run: &Run, params: &Params, settings: &Settings) -> Vec<u8> {
    let mut encoder = Encoder::new(params, settings);
    let mut packets = Vec::new();
    for step in &run.steps {
        encoder.step(step, params, &mut packets);
    }
    encoder.finish(params, &mut packets);
    let mut bytes = Vec::new();
    packets.iter().for_each(|packet| packet.emit(params, &mut bytes));
    bytes
}

#[test]
fn programs() {
    let from = std::env::var("SEED").ok().and_then(|s| s.parse().ok());
    let seeds = from
        .map_or(0..std::env::var("SEEDS").map_or(400, |s| s.parse().unwrap()), |seed: u64| {
            seed..seed + 1
        });
    let mut failed = Vec::new();
    for seed in seeds {
        let mut random = Random(seed ^ 0x5eed);
        let version = random.pick(&[Version::Draft, Version::V1_0, Version::V2_0, Version::V2_1]);
        // 0.026 and 1.0 cannot tell of a trap right after another.
        let thaddr = matches!(version, Version::V2_0 | Version::V2_1);
        let mix = Mix {
            rv64: random.one_in(2),
            traps: random.pick(&[0, 7, 40]),
            nested: thaddr && random.one_in(2),
            astray: 0,
            levels: random.one_in(2),
            contexts: random.pick(&[0, 30]),
            vectored: false,
        };
        let mut params = Params::new(version, Profile::Spec, mix.rv64);
        options(&mut params, &mut random);
        params.choices.resync =
            random.pick(&[Sync::Packets, Sync::Packets, Sync::Halfwords, Sync::Cycles]);
        // A counter does not see returns that go astray.
        let counted = params.options.implicit_return && params.widths.return_stack_size == 0;
        let astray = if counted { 0 } else { random.pick(&[0, 5]) };
        let vectored = params.options.implicit_exception || random.one_in(2);
        let mix = Mix { astray, vectored, ..mix };
        let sync = random.pick(&[3, 16, 300, 1 << 20]);
        params.choices.resync_max = sync;
        let settings = Settings {
            sync_place: random.pick(&[None, Some(SyncPlace::Next), Some(SyncPlace::AfterSpecial)]),
            retires: random.pick(&[1, 1, 4]),
            ..Settings::default()
        };
        let run = run(seed, 120, 600, mix);
        if mix.vectored {
            params.vectors = run.vectors;
        }
        let mut want = wanted(&run);
        let bytes = encoded(&run, &params, &settings);
        let trace = decoded(&bytes, &params, &run);
        trace.shorten(&mut want);
        let Trace { done: got, odd, .. } = trace;
        let same = want.iter().zip(&got).take_while(|(want, got)| agree(want, got)).count();
        if from.is_some() {
            explain(&run, &params, &settings, &want[..same.min(want.len())]);
        }
        if same < want.len() || got.len() != want.len() || !odd.is_empty() {
            let near = |list: &[Done]| {
                format!(
                    "{:x?}",
                    &list[same.saturating_sub(3).min(list.len())..(same + 4).min(list.len())]
                )
            };
            failed.push(format!(
                "seed {seed} {version} {:?} sync {:?} max {} {mix:?}: {same} of {} and {}\n want {}\n got  {}\n odd {:?}",
                params.options, settings.sync_place, params.choices.resync_max,
                want.len(), got.len(), near(&want), near(&got), odd.first(),
            ));
        }
    }
    assert!(
        failed.is_empty(),
        "{} failed\n{}",
        failed.len(),
        failed[..failed.len().min(6)].join("\n")
    );
}

/// The trace need not tell where a trap returns to; if it does it is right.
pub fn agree(want: &Done, got: &Done) -> bool {
    match (want, got) {
        (Done::Trapped(a, _), Done::Trapped(b, None)) => a == b,
        (want, got) => want == got,
    }
}

/// Steps and the packets that they gave, around the first difference.
fn explain(run: &Run, params: &Params, settings: &Settings, same: &[Done]) {
    let ran = same.iter().filter(|done| matches!(done, Done::Ran(_))).count();
    let mut encoder = Encoder::new(params, settings);
    let mut n = 0;
    for step in &run.steps {
        let mut packets = Vec::new();
        encoder.step(step, params, &mut packets);
        if let Step::Retired(_) = step {
            n += 1;
        }
        if n + 30 > ran && n < ran + 12 {
            match step {
                Step::Retired(r) => println!(
                    "{n} {:x} {:?} {:?} {}",
                    r.address,
                    r.instruction.kind,
                    r.instruction.role,
                    if r.instruction.conditional { r.taken } else { false }
                ),
                Step::Exception(t) => {
                    println!("  trap {:?} at {:x} to {:x}", t.cause, t.return_address, t.target)
                }
                Step::Context(c) => println!("  context {:?} {:x?}", c.el, c.context_id),
                other => println!("  {other:?}"),
            }
            for packet in packets {
                println!("        {packet}");
            }
        }
    }
}
