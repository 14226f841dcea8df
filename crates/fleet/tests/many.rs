//! Sums of many parts.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use tracewright::analysis::coverage_runs::Digest;
use tracewright_fleet::{CaptureIdentity, Extent, Job, Part, Payload, Plan, Planned};
use tracewright_testing::Random;

/// A plan of captures without an index, and one in many segments.
fn plan(captures: usize, segments: usize) -> Plan {
    let of = |name: &str, segments: usize| {
        let bytes = 1000 * segments as u64;
        let buffers = vec![Extent { number: 0, name: "ETM".to_owned(), bytes, segments }];
        let [data, programs, options] = [name, "program", "options"].map(|own| {
            let own = if own == name { format!("data {name}") } else { own.to_owned() };
            Digest::of(own.as_bytes())
        });
        let identity = CaptureIdentity { data, programs, options, buffers };
        Planned { identity, borders: vec![(0..=segments).collect()] }
    };
    let mut all: Vec<Planned> = (0..captures).map(|n| of(&n.to_string(), 1)).collect();
    all.push(of("long", segments));
    let job = Job { name: "counts".to_owned(), divides: true };
    Plan::new(job, all, 1).expect("captures that differ")
}

/// Each part compares its borders with those of its neighbours only.
#[test]
fn ten_thousand_parts_add_up_in_any_order() {
    let mut random = Random::new(10_000);
    let plan = plan(5_000, 5_000);
    let mut parts: Vec<Part> = Vec::new();
    for unit in &plan.units {
        let mut part = Part::new(&plan, Payload::Counts(BTreeMap::new()));
        let borders = [unit.pieces[0].segments.0, unit.pieces[0].segments.1];
        let states = borders.map(|n| Digest::of(&n.to_le_bytes()));
        part.add_unit(&plan, unit, vec![Some(states)]).expect("one unit");
        part.payload.count("key".to_owned(), 1);
        parts.push(part);
    }
    assert_eq!(parts.len(), 10_000);
    let last = parts.pop().expect("a part");
    let start = Instant::now();
    let mut sum = Part::new(&plan, Payload::Counts(BTreeMap::new()));
    while !parts.is_empty() {
        sum.merge(parts.swap_remove(random.index(parts.len()))).expect("another part");
    }
    assert!(sum.complete(0).is_err() && sum.lacking().len() == 1, "{:?}", sum.lacking());
    assert!(sum.clone().merge(sum.clone()).is_err());
    sum.merge(last).expect("the last part");
    sum.complete(0).expect("all units");
    assert_eq!(sum.payload, Payload::Counts([("key".to_owned(), 10_000)].into()));
    // A second; more than a minute where each part is compared with all.
    assert!(start.elapsed() < Duration::from_secs(30), "{:?}", start.elapsed());
}
