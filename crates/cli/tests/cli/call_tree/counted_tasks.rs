//! Verbs that count, with `--task`: the counts of all tasks are those of the trace.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

use crate::common::{args, tracewright};

/// How often functions are entered, and which outcomes branches have.
type Counts = BTreeMap<(String, String), u64>;

fn coverage(snapshot: &Path, task: Option<&str>) -> Counts {
    let mut words = vec!["coverage", snapshot.to_str().expect("a path"), "--format", "json"];
    words.extend(task.iter().flat_map(|task| ["--task", task]));
    let output = tracewright(&words);
    assert_eq!(output.code, Some(0), "{task:?}: {}", output.err);
    let lines = output.out.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    let mut counts = Counts::new();
    let mut add = |path: &Value, what: String, value: &Value| {
        if let Some(value) = value.as_u64().filter(|value| *value > 0) {
            *counts.entry((path.to_string(), what)).or_default() += value;
        }
    };
    for line in lines {
        if line["type"] == "source-function" {
            add(&line["path"], line["name"].to_string(), &line["executions"]);
        }
        for branch in line["branches"].as_array().into_iter().flatten() {
            for outcome in ["taken", "not_taken"] {
                let what = format!("{} {outcome}", branch["address"]);
                add(&line["path"], what, &branch[outcome]);
            }
        }
    }
    counts
}

/// The tasks of a capture, as a message lists them.
fn tasks(snapshot: &Path) -> Vec<String> {
    let output = tracewright(&args("coverage --task nobody", &[snapshot]));
    assert_eq!(output.code, Some(2), "{}", output.err);
    let (_, list) = output.err.split_once("the trace has ").expect("a list");
    list.trim().split(", ").map(str::to_owned).collect()
}

/// Functions are entered, and branches have outcomes, as often in all tasks as in the trace.
pub(super) fn check_coverage(snapshot: &Path) {
    let whole = coverage(snapshot, None);
    let (mut sum, mut most) = (Counts::new(), 0);
    let tasks = tasks(snapshot);
    for task in &tasks {
        let own = coverage(snapshot, Some(task));
        most = most.max(own.values().sum());
        for (what, count) in own {
            *sum.entry(what).or_default() += count;
        }
    }
    assert!(tasks.len() > 5 && most * 10 < whole.values().sum::<u64>() * 9, "{tasks:?} {most}");
    assert_eq!(sum, whole);
}
