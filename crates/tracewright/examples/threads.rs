//! Counts the executions of each range on two threads: `cargo run --example threads -- CAPTURE`.

use std::collections::BTreeMap;

use tracewright::base::Range;
use tracewright::decode::{Jobs, Merge, Merging, input, parallel};
use tracewright::{Element, Listener};

/// How often each range was executed.
#[derive(Default)]
struct Executions(BTreeMap<(usize, u64), (Option<Range>, u64)>);

impl Listener for Executions {
    fn element(&mut self, source: usize, _at: u64, element: Element) {
        if let Element::Range(range) = element {
            let (own, times) = self.0.entry((source, range.start)).or_default();
            (*own, *times) = (Some(range), *times + 1);
        }
    }
}

impl Merge for Executions {
    fn merge(&mut self, later: Self) {
        for (place, (range, times)) in later.0 {
            let own = self.0.entry(place).or_default();
            (own.0, own.1) = (range, own.1 + times);
        }
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let trace = tracewright::open(path("etmv4"))?;
    let mut all = Executions::default();
    let mut first = 0;
    for plan in trace.plans() {
        let mut session = trace.session(plan)?.numbered_from(first);
        let mut bytes = input::of(&trace.capture().buffers[plan.buffer]);
        let mut listener = Merging(Executions::default());
        parallel::run(&mut session, &mut *bytes, &mut listener, &Jobs::new(2), |part, _| {
            all.merge(part);
            true
        })?;
        first += plan.sources.len();
    }
    for ((source, _), (range, times)) in all.0 {
        let Some(range) = range else { continue };
        println!("{times:>8}  {} {range}", trace.sources()[source].name);
    }
    Ok(())
}

/// The capture on the command line, or one of the small captures of this repository.
fn path(small: &str) -> String {
    let default = || format!("{}/../../tests/captures/{small}/capture", env!("CARGO_MANIFEST_DIR"));
    std::env::args().nth(1).unwrap_or_else(default)
}
