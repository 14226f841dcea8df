//! What was encoded is what is decoded: random programs and traps, every version, any options.

use tracewright::base::{Element, Encode, Sink, Step, Wire};
use tracewright::protocols::etrace::config::{Params, Profile, Version};
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
fn wanted(run: &Run) -> Vec<Done> {
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
struct Trace {
    done: Vec<Done>,
    odd: Vec<String>,
    code: tracewright::image::Cache,
    isa: tracewright::base::Isa,
}

impl Sink for Trace {
    fn element(&mut self, at: u64, element: Element) {
        if let Element::Exception(e) = element {
            self.done.push(Done::Trapped(e.number, e.return_address));
        }
        let Trace { done, odd, code, isa } = self;
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

pub fn decoded(bytes: &[u8], params: &Params, run: &Run) -> (Vec<Done>, Vec<String>) {
    let mut trace =
        Trace { done: Vec::new(), odd: Vec::new(), code: cache(&run.image, params), isa: run.isa };
    elements(bytes, params, &mut cache(&run.image, params), &mut trace);
    (trace.done, trace.odd)
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
            clear: false,
        };
        let mut params = Params::new(version, Profile::Spec, mix.rv64);
        options(&mut params, &mut random);
        // A counter does not see returns that go astray.
        let counted = params.options.implicit_return && params.widths.return_stack_size == 0;
        let astray = if counted { 0 } else { random.pick(&[0, 5]) };
        let mut mix = Mix { astray, ..mix };
        let mut sync = random.pick(&[3, 16, 1 << 20]);
        if version == Version::Draft {
            // Nothing tells whether a place was come by or jumped to where a packet of format 3 follows.
            mix = Mix { levels: false, contexts: 0, clear: true, ..mix };
            sync = 1 << 20;
        }
        params.choices.resync_max = sync;
        let settings = Settings {
            sync_place: random.pick(&[SyncPlace::Next, SyncPlace::AfterSpecial]),
            retires: random.pick(&[1, 1, 4]),
            ..Settings::default()
        };
        let run = run(seed, 120, 600, mix);
        let want = wanted(&run);
        let bytes = encoded(&run, &params, &settings);
        let (got, odd) = decoded(&bytes, &params, &run);
        let same = want.iter().zip(&got).take_while(|(want, got)| agree(want, got)).count();
        if from.is_some() {
            let mut all: Vec<(u64, Element)> = Vec::new();
            elements(&bytes, &params, &mut cache(&run.image, &params), &mut all);
            let mut at = 0;
            use tracewright::base::Parse;
            use tracewright::protocols::etrace::Packet;
            while let Parse::Packet(p, len) = Packet::parse(&bytes[at..], &params) {
                println!("@{at} {p}");
                for (_, e) in all.iter().filter(|(x, _)| *x == at as u64) {
                    println!("          {e}");
                }
                at += len;
            }
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
fn agree(want: &Done, got: &Done) -> bool {
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
