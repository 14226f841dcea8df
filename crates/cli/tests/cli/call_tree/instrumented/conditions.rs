//! Whether outcomes, conditions and MC/DC are those of llvm-cov.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::Value;

use super::llvm::{Instrumented, Place, Vector};
use super::reasons::{ENDED, NEGATED};
use super::{Build, Program, args, tracewright};

/// The decisions of a trace by `--mcdc` `criterion`, by place.
fn decisions(
    program: &Program,
    snapshot: &Path,
    map: &Path,
    criterion: &str,
) -> BTreeMap<Place, Value> {
    let root = map.parent().expect("a folder");
    let options = format!("coverage --format json --mcdc {criterion}");
    let mut words = args(&options, &[snapshot]);
    words.extend(args("--decisions", &[map]));
    words.extend(args("--source-root", &[root]));
    let output = tracewright(&words);
    assert_eq!(output.code, Some(0), "{}", output.err);
    let all = output.out.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    let own = all.filter(|own| own["type"] == "decision");
    let own = own.filter(|own| own["path"].as_str().is_some_and(|p| p.ends_with(program.file)));
    own.map(|own| (place(&own), own)).collect()
}

fn place(value: &Value) -> Place {
    (value["line"].as_u64().expect("a line"), value["column"].as_u64().expect("a column"))
}

fn list(value: &Value) -> &[Value] {
    value.as_array().expect("a list")
}

/// Whether two evaluations show that condition `n` decides the outcome, by GNATcoverage's rule.
fn independent(vectors: &BTreeSet<Vector>, n: usize, unique: bool) -> bool {
    vectors.iter().any(|a| {
        vectors.iter().any(|b| {
            let mut others = (0..a.0.len()).filter(|own| *own != n && (unique || *own > n));
            a.0[n] == Some(true)
                && b.0[n] == Some(false)
                && a.1 != b.1
                && others.all(|n| a.0[n].is_none() || b.0[n].is_none() || a.0[n] == b.0[n])
        })
    })
}

/// How many decisions are measured, and how many values and conditions that decide are known, by
/// both criteria.
#[derive(Debug, Default)]
struct Shares {
    decisions: usize,
    whole: usize,
    in_part: usize,
    known: usize,
    unknown: usize,
}

pub(super) fn compare(
    program: &Program,
    build: Build,
    snapshot: &Path,
    instrumented: &Instrumented,
) {
    let name = format!("{} {}", program.file, build.name());
    let map = &instrumented.map;
    let found = decisions(program, snapshot, map, "masking");
    let unique = decisions(program, snapshot, map, "unique-cause");
    let mut shares = Shares::default();
    for (place, own) in &found {
        let whole = list(&own["unmeasured"]).is_empty() && own["unnamed_copies"] == 0;
        shares.decisions += 1;
        shares.whole += usize::from(whole);
        shares.in_part += usize::from(!whole && own["copies"].as_u64() > Some(0));
        let mut seen = BTreeMap::<Place, usize>::new();
        let conditions = list(&own["conditions"]);
        let records = instrumented.decisions.get(place);
        let ended = ENDED.contains(&(program.file, *place));
        let mut known = |count: Option<u64>, want: u64| {
            let Some(count) = count else {
                shares.unknown += 1;
                return;
            };
            shares.known += 1;
            let fits =
                (count > 0) == (want > 0) && count <= want && (count == want || !whole || ended);
            assert!(fits, "{name} {place:?}: {count}, by llvm-cov {want}: {own}");
        };
        for condition in conditions {
            let at = self::place(condition);
            let nth = seen.entry(at).or_default();
            let want = instrumented.conditions.get(&at).and_then(|own| own.get(*nth));
            *nth += 1;
            let want = want.unwrap_or_else(|| panic!("{name}: llvm-cov has no {at:?}"));
            for (key, want) in ["false", "true"].iter().zip(want) {
                known(condition[key].as_u64(), *want);
            }
        }
        let Some(records) = records else {
            assert!(conditions.len() == 1, "{name}: llvm-cov has no decision at {place:?}");
            continue;
        };
        let negated = NEGATED.contains(&(program.file, *place));
        let vectors = records.iter().flat_map(|own| own.vectors.iter().cloned());
        let mut vectors: BTreeSet<Vector> = vectors.collect();
        let got: BTreeSet<Vector> = list(&own["vectors"])
            .iter()
            .map(|own| {
                let values = own["values"].as_str().expect("values").chars();
                let value = |own| match own {
                    '-' => None,
                    own => Some(own == 'T'),
                };
                (values.map(value).collect(), own["outcome"].as_bool().expect("an outcome"))
            })
            .collect();
        if negated {
            let of = |own: &BTreeSet<Vector>| -> BTreeSet<_> {
                own.iter().map(|(values, _)| values.clone()).collect()
            };
            assert!(of(&got).is_subset(&of(&vectors)), "{name} {place:?}: {got:?}");
            vectors.clone_from(&got);
        }
        let fits = got.is_subset(&vectors) && (got == vectors || !whole);
        assert!(fits, "{name} {place:?}: {got:?}, by llvm-cov {vectors:?}");
        for n in 0..conditions.len() {
            let by_llvm = records.iter().any(|own| own.covered[n]);
            if records.len() == 1 && !negated {
                assert_eq!(independent(&vectors, n, true), by_llvm, "{name} {place:?} {n}");
            }
            for (own, want) in [
                (&own["conditions"][n], independent(&vectors, n, false)),
                (&unique[place]["conditions"][n], independent(&vectors, n, true)),
            ] {
                match own["independent"].as_bool() {
                    Some(shown) => {
                        assert_eq!(shown, want, "{name}: condition {n} of {own}");
                        shares.known += 1;
                    }
                    None => shares.unknown += 1,
                }
            }
        }
    }
    for place in instrumented.decisions.keys() {
        assert!(found.contains_key(place), "{name}: no decision at {place:?}");
    }
    println!("{name}: {shares:?}");
    let least = match build {
        Build { level: "-O0", clang } => program.least[usize::from(clang)],
        _ => 0,
    };
    assert!(shares.whole >= least, "{name}: {shares:?}");
}
