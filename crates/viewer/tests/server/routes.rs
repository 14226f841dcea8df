//! Answers agree with each other, and with the trace.

use std::collections::BTreeMap;

use serde_json::Value;
use tracewright::index::Shape;
use tracewright_testing::Random;
use tracewright_viewer::Limits;

use crate::common::{capture, demo, index_of, with_index, with_server};

/// Counts elements and instructions.
#[derive(Default)]
struct Counted {
    elements: u64,
    instructions: u64,
}

impl tracewright::Listener for Counted {
    fn element(&mut self, _: usize, _: u64, element: tracewright::Element) {
        self.elements += 1;
        if let tracewright::Element::Range(range) = element {
            self.instructions += u64::from(range.instructions);
        }
    }
}

/// What the routes answer agrees with each other, and with the trace.
#[test]
fn routes_agree() {
    let trace = demo();
    let mut ranges = Counted::default();
    let summary = trace.decode(&mut ranges).expect("a trace");
    assert!(summary.is_complete());
    with_server(&trace, false, &[], Limits::default(), |server| {
        let capture = server.json("api/capture");
        let buffer = &capture["buffers"][0];
        assert_eq!(buffer["instructions"], ranges.instructions);
        assert_eq!(buffer["elements"], ranges.elements);
        let checksum = capture["checksum"].as_str().unwrap();
        // Tiles.
        let tiles = server.get(&format!("api/tiles?level=0&c={checksum}"));
        assert_eq!((&tiles.body[..4], &tiles.body[4..8]), (&b"TWTL"[..], &[1, 0, 0, 0][..]));
        assert!(tiles.headers["cache-control"].contains("immutable"));
        assert!(!server.get("api/tiles?c=0").headers["cache-control"].contains("immutable"));
        let counts = tiles.counts();
        let mut at = 64 + 8 * 2 * counts[0] as usize;
        let instructions: f64 = tiles.f64s(&mut at, counts[0] as usize).iter().sum();
        assert_eq!(instructions as u64, ranges.instructions);
        // Functions: their own instructions are all.
        let profile = server.json("api/profile");
        assert_eq!(profile["instructions"], ranges.instructions);
        let functions = profile["functions"].as_array().unwrap();
        let own: u64 = functions.iter().map(|own| own["own"].as_u64().unwrap()).sum();
        assert_eq!(own, ranges.instructions);
        let names = server.json("api/functions");
        for function in functions {
            let id = function["function"].as_u64().unwrap() as usize;
            assert_eq!(names["functions"][id]["name"], function["name"]);
            let calls = server.json(&format!("api/calls?function={id}&order=time&limit=500"));
            let calls = calls["calls"].as_array().unwrap();
            assert_eq!(calls.len() as u64, function["ended"].as_u64().unwrap());
            let lengths: Vec<u64> =
                calls.iter().map(|call| call["instructions"].as_u64().unwrap()).collect();
            assert_eq!(lengths.iter().max(), function["most"].as_u64().as_ref(), "{function}");
            let histogram = server.json(&format!("api/histogram?function={id}"));
            assert_eq!(histogram["calls"], function["ended"]);
            let longest = server.json(&format!("api/calls?function={id}&limit=1"));
            if let Some(first) = longest["calls"].get(0) {
                assert_eq!(first["instructions"], function["most"]);
            }
            // What is not listed is not longer than stated.
            let mut sorted = lengths.clone();
            sorted.sort_unstable_by_key(|length| std::cmp::Reverse(*length));
            assert_eq!(longest["beyond"].as_u64(), sorted.get(1).copied(), "{longest}");
            assert_eq!(longest["more"], sorted.len() > 1);
            assert_eq!(longest["next_part"], Value::Null);
            let part = server.json(&format!("api/calls?function={id}&part=1"));
            assert_eq!(
                (part["calls"].as_array().unwrap().len(), &part["more"]),
                (0, &false.into())
            );
        }
        // Frames of the whole trace: all that began.
        let detail = server.get("api/detail");
        let counts = detail.counts();
        assert_eq!(&detail.body[..4], b"TWDT");
        let mut at = 64;
        let begins = detail.f64s(&mut at, counts[0] as usize);
        assert!(begins.is_sorted() && !begins.is_empty());
        // Each element of the list has its number, and each instruction.
        let rows = server.json("api/list?instruction=20&before=5&after=20");
        let anchor = rows["anchor"].as_u64().unwrap() as usize;
        assert_eq!(rows["rows"][anchor]["n"], 20);
        for row in rows["rows"].as_array().unwrap() {
            assert_eq!(row["source"], 0);
            if row["type"] == "instruction" {
                assert!(row["address"].is_string() && row["at_instruction"].is_number(), "{row}");
            }
        }
        let elements = server.json("api/list?element=7&before=7&after=30&kind=elements");
        let all = elements["rows"].as_array().unwrap();
        assert_eq!(
            (elements["begin"].as_bool(), all[0]["element"].as_u64()),
            (Some(true), Some(0))
        );
        // A result leads to its stack.
        let found = server.get("api/find?q=all+any&limit=20&direction=all");
        let text = String::from_utf8_lossy(&found.body).into_owned();
        let results = text.lines().filter_map(|line| line.strip_prefix("data: {\"element\":"));
        assert_eq!(results.count(), 20, "{text}");
        let stack = server.json("api/stack?element=30");
        assert!(!stack["frames"].as_array().unwrap().is_empty(), "{stack}");
        let exceptions = server.json("api/exceptions");
        let count: u64 = buffer["exceptions"]
            .as_array()
            .unwrap()
            .iter()
            .map(|own| own["count"].as_u64().unwrap())
            .sum();
        assert_eq!(exceptions["exceptions"].as_array().unwrap().len() as u64, count);
    });
}

/// The longest calls of all parts are all calls, each bound is exact, and the functions of any
/// part, whose halves are made at once, are those of its pieces.
#[test]
fn parts_of_a_longer_trace() {
    let folder = std::env::temp_dir().join(format!("tracewright-parts-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let from = capture("etmv4");
    for file in std::fs::read_dir(&from).expect("a capture").map(|file| file.expect("a file")) {
        std::fs::copy(file.path(), folder.join(file.file_name())).expect("a copy");
    }
    let bytes = std::fs::read(from.join("ETB_0.bin")).expect("the trace").repeat(300);
    std::fs::write(folder.join("ETB_0.bin"), &bytes).expect("a file");
    let trace = tracewright::open(&folder).expect("a capture");
    let index = index_of(&trace, Shape::with_segment(128));
    with_index(&trace, &index, false, &[], Limits::default(), |server| {
        let names = server.json("api/functions");
        let mut parts = 0;
        for id in 0..names["functions"].as_array().unwrap().len() {
            let lengths = |calls: &Value| -> Vec<(u64, u64)> {
                let calls = calls["calls"].as_array().unwrap().iter();
                let pair =
                    |call: &Value| ["end", "instructions"].map(|key| call[key].as_u64().unwrap());
                calls.map(pair).map(|[end, length]| (length, end)).collect()
            };
            let mut all = Vec::new();
            let mut at = Some(0);
            while let Some(from) = at {
                let path = format!("api/calls?function={id}&order=time&limit=500&from={from}");
                let calls = server.json(&path);
                all.extend(lengths(&calls));
                at = calls["next"].as_u64();
            }
            all.sort_unstable();
            all.dedup();
            let (mut found, mut part) = (Vec::new(), Some(0));
            while let Some(own) = part {
                let path = format!("api/calls?function={id}&limit=500&part={own}");
                let calls = server.json(&path);
                let own = lengths(&calls);
                assert!(own.is_sorted_by(|a, b| a.0 > b.0 || a.0 == b.0 && a.1 <= b.1), "{calls}");
                found.extend(own);
                let left = all.iter().filter(|call| !found.contains(call)).map(|call| call.0);
                assert_eq!(calls["next_most"].as_u64(), left.max(), "{calls}");
                part = calls["next_part"].as_u64();
                parts += 1;
            }
            found.sort_unstable();
            found.dedup();
            assert_eq!(found, all, "{id}");
        }
        assert!(parts > 8, "{parts}");
        let mut random = Random::new(7);
        for _ in 0..20 {
            let mut at = [(); 3].map(|()| random.below(bytes.len() as u64));
            at.sort_unstable();
            let sums = |from: u64, to: u64| {
                let sums = server.json(&format!("api/profile?from={from}&to={to}&limit=5000"));
                let own = sums["functions"].as_array().unwrap().clone().into_iter();
                let key = |own: &Value, key: &str| own[key].as_u64().unwrap();
                let own = own.map(|own| {
                    let sums = ["calls", "own", "total", "ended"].map(|name| key(&own, name));
                    (key(&own, "function"), sums)
                });
                own.collect::<BTreeMap<u64, [u64; 4]>>()
            };
            let mut pieces = sums(at[0], at[1]);
            for (function, sums) in sums(at[1], at[2]) {
                let own = pieces.entry(function).or_default();
                for (sum, more) in own.iter_mut().zip(sums) {
                    *sum += more;
                }
            }
            assert_eq!(sums(at[0], at[2]), pieces, "{at:?}");
        }
    });
    std::fs::remove_dir_all(&folder).expect("the folder");
}

/// How long handlers take is what their frames are, where these are whole.
#[test]
fn exceptions_have_durations() {
    let (mut known, mut unknown, mut nested) = (0, 0, 0);
    for name in ["etmv4", "etmv3", "ptm", "ete", "ntrace-btm", "etrace-2.0"] {
        let trace = tracewright::open(capture(name)).expect("a capture");
        with_server(&trace, false, &[], Limits::default(), |server| {
            let rows = server.json("api/exceptions?limit=500");
            for row in rows["exceptions"].as_array().unwrap() {
                let detail = server.get(&format!("api/detail?source={}", row["source"]));
                let count = detail.counts()[0] as usize;
                let mut at = 64;
                let [_, _, begins, ends, ..] = [(); 7].map(|()| detail.f64s(&mut at, count));
                let mut array = |size: usize| {
                    let from = at;
                    at = (at + size * count).next_multiple_of(8);
                    &detail.body[from..from + size * count]
                };
                let [_, _, depths, entries, endings, flags] = [4, 4, 4, 1, 1, 1].map(&mut array);
                let depth =
                    |n: usize| i32::from_le_bytes(depths[4 * n..4 * n + 4].try_into().unwrap());
                let before = row["at_instruction"].as_f64().unwrap();
                let handlers = || (0..count).filter(|n| entries[*n] == 3);
                let own = handlers().filter(|n| begins[*n] == before).collect::<Vec<_>>();
                let whole = own
                    .iter()
                    .find(|n| [0, 2, 3].contains(&endings[**n]) && flags[**n] & 1 == 0)
                    .filter(|_| own.len() == 1);
                let Some(&n) = whole else {
                    unknown += 1;
                    assert_eq!(row["instructions"], Value::Null, "{name} {row}");
                    continue;
                };
                known += 1;
                assert_eq!(row["instructions"].as_f64(), Some(ends[n] - begins[n]), "{name} {row}");
                // Handlers inside it, each instruction once.
                let mut inside = vec![false; (ends[n] - begins[n]) as usize];
                for k in handlers().filter(|k| depth(*k) > depth(n)) {
                    if begins[k] >= begins[n] && ends[k] <= ends[n] {
                        let from = (begins[k] - begins[n]) as usize;
                        inside[from..from + (ends[k] - begins[k]) as usize].fill(true);
                    }
                }
                let interrupted = inside.iter().filter(|inside| **inside).count();
                nested += usize::from(interrupted > 0);
                let want = inside.len() - interrupted;
                assert_eq!(row["own"].as_f64(), Some(want as f64), "{name} {row}");
            }
        });
    }
    println!("{known} durations, {unknown} unknown, {nested} with others inside");
    assert!(known > 3, "{known} {unknown} {nested}");
}
