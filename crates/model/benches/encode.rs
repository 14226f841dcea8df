//! Throughput of trace units in software: instructions per second, with steps in memory.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use tracewright_base::Step;
use tracewright_model::generate::{Recipe, Sets, program};
use tracewright_model::{Machine, Stimulus};
use tracewright_protocols::encoders::AnyUnit;

/// The steps of a random program: branches, calls, returns and some interrupts.
fn steps(isa: Sets, instructions: usize) -> Vec<Step> {
    let recipe = Recipe { seed: 7, isa, functions: 12, exceptions: false, ..Recipe::default() };
    let stimulus = Stimulus { interrupts: 10_000, ..Stimulus::default() };
    Machine::new(&program(&recipe), stimulus).collect(instructions)
}

fn encode(c: &mut Criterion) {
    for (name, isa) in [("A64", Sets::A64), ("A32", Sets::A32), ("T32", Sets::T32)] {
        let steps = steps(isa, 1_000_000);
        let retired = steps.iter().filter(|step| matches!(step, Step::Retired(_))).count();
        let mut group = c.benchmark_group(format!("encode {name}"));
        group.throughput(Throughput::Elements(retired as u64));
        for &protocol in AnyUnit::ALL {
            let Ok(Some(unit)) = AnyUnit::new(protocol, None, &|_| None) else { continue };
            let mut bytes = Vec::new();
            group.bench_function(format!("{protocol:?}"), |b| {
                b.iter(|| {
                    let mut unit = unit.clone();
                    bytes.clear();
                    unit.steps(black_box(&steps), &mut bytes);
                    unit.finish(&mut bytes);
                    bytes.len()
                });
            });
        }
        group.finish();
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(10);
    targets = encode
}
criterion_main!(benches);
