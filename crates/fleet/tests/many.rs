//! Sums of many parts.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use tracewright::analysis::coverage_runs::Digest;
use tracewright_fleet::{CaptureIdentity, Extent, FleetError, Job, Part, Payload, Plan, Planned};
use tracewright_testing::Random;

/// A capture with one buffer.
fn identity(name: &str, segments: usize) -> CaptureIdentity {
    let bytes = 1000 * segments as u64;
    let buffers = vec![Extent { number: 0, name: "ETM".into(), bytes, segments }];
    let [data, programs, options] =
        [&format!("data {name}"), "program", "options"].map(|own| Digest::of(own.as_bytes()));
    CaptureIdentity { data, programs, options, buffers }
}

/// A plan of captures without an index, and one in many segments.
fn plan(captures: usize, segments: usize) -> Plan {
    let of = |name: &str, segments: usize| {
        let borders = vec![(0..=segments).collect()];
        Planned { identity: identity(name, segments), borders }
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
        let (begin, end) = plan.pieces(unit)[0].segments;
        let borders = [begin, end];
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

/// Parts of the shares of a list of captures, each of which has its captures only.
#[test]
fn shares_of_a_list_are_each_capture_once() {
    let mut random = Random::new(77);
    let (list, total) = (Digest::of(b"a list"), 100);
    let share = |positions: std::ops::Range<usize>| {
        let job = Job { name: "branch-list".to_owned(), divides: true };
        let mut plan = Plan::of_list(job, &list, total, positions.clone());
        let mut part = Part::new(&plan, Payload::Counts(BTreeMap::new()));
        for n in positions {
            // Some of them have no trace.
            let mut own = identity(&n.to_string(), 1);
            if n % 7 == 3 {
                own.buffers.clear();
            }
            let Some(unit) = plan.admit(own) else { continue };
            part.add_unit(&plan, &unit, vec![None]).expect("another capture");
            part.payload.count("key".to_owned(), 1);
        }
        Part::read(&part.write()).expect("a part")
    };
    let mut whole = None;
    for _ in 0..20 {
        let mut borders: Vec<usize> = (0..random.below(9)).map(|_| random.index(total)).collect();
        borders.extend([0, total]);
        borders.sort_unstable();
        borders.dedup();
        let mut parts: Vec<Part> = borders.windows(2).map(|pair| share(pair[0]..pair[1])).collect();
        while parts.len() > 1 {
            let mut one = parts.swap_remove(random.index(parts.len()));
            let other = parts.swap_remove(random.index(parts.len()));
            one.merge(other).expect("other captures");
            assert_eq!(parts.is_empty(), one.lacking().is_empty(), "{:?}", one.lacking());
            parts.push(Part::read(&one.write()).expect("a part"));
        }
        let sum = parts.pop().expect("a part");
        sum.complete(0).expect("all captures");
        let bytes = sum.write();
        assert!(*whole.get_or_insert(bytes.clone()) == bytes);
    }
    let mut some = share(0..10);
    some.merge(share(30..99)).expect("other captures");
    assert_eq!(some.lacking(), ["captures 11 to 30 of the list", "capture 100 of the list"]);
    // Also captures that have no unit: one could have had trace for another worker.
    let error = some.clone().merge(share(98..100)).expect_err("capture 99 twice");
    assert!(matches!(&error, FleetError::SharedCaptures(_)), "{error}");
    assert!(error.to_string().starts_with("capture 99 of the list would be counted"), "{error}");
    let other = Plan::of_list(
        Job { name: "branch-list".to_owned(), divides: true },
        &Digest::of(b"another list"),
        total,
        10..30,
    );
    let error = some.merge(Part::new(&other, Payload::Counts(BTreeMap::new())));
    assert!(error.is_err_and(|error| error.to_string().contains("another plan")));
    // Runs of positions that overlap, are adjacent, or outside of the list, are no part.
    let text = String::from_utf8(share(0..10).write()).expect("text");
    for runs in ["[[0,10],[10,11]]", "[[0,10],[9,11]]", "[[0,101]]", "[[4,4]]", "[[0]]", "0"] {
        let text = text.replacen("\"listed\":[[0,10]]", &format!("\"listed\":{runs}"), 1);
        let (before, _) = text.trim_end().rsplit_once('\n').expect("lines");
        let (before, lines) = (format!("{before}\n"), text.lines().count() - 1);
        let sha256 = Digest::of(before.as_bytes());
        let end = format!("{{\"type\":\"end\",\"lines\":{lines},\"sha256\":\"{sha256}\"}}\n");
        assert!(Part::read(format!("{before}{end}").as_bytes()).is_err(), "{runs}");
    }
}
