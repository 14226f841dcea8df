//! The coverage of the built-in example.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use tracewright::Capture;
use tracewright::Trace;
use tracewright::analysis::coverage::{SourceFile, program_files};
use tracewright::analysis::coverage_runs::{CoverageRuns, Digest, Run, RunProgram, function_codes};
use tracewright::analysis::decisions::{Criterion, Decision};
use tracewright::capture::{Buffer, Format};
use tracewright::export::coverage_runs::{identify, write};
use tracewright::views::{coverage, decisions as view};

use super::found::Found;
use crate::args::{JobsArgs, RunningArgs};
use crate::decisions::of_description;
use crate::demo::QUEENS;
use crate::fail::Fail;
use crate::input::Input;
use crate::output::Output;
use crate::verbs::coverage::{CoverageOptions, decided};

/// The decisions of the example.
const DECISIONS: &str = include_str!("decisions.json");

/// A part of the example's trace.
fn part(range: std::ops::Range<usize>) -> Result<Capture, String> {
    let mut capture = (QUEENS.capture)();
    let buffer = capture.buffers.first().ok_or("the example has no trace")?;
    let bytes: Vec<u8> = buffer.parts().flatten().copied().collect();
    let bytes = bytes.get(range).ok_or("the trace is too short")?;
    capture.buffers = vec![Buffer::new("ETB", Format::CoreSight, bytes.to_vec())];
    Ok(capture)
}

fn sources(capture: Capture) -> Result<BTreeMap<String, SourceFile>, String> {
    Trace::new(capture).coverage().map_err(|error| error.to_string())
}

/// The coverage of the whole trace.
pub(super) fn whole() -> Found {
    Ok(coverage::json(&sources((QUEENS.capture)())?, 0))
}

/// The coverage of a part of the trace that begins before the trace is synchronised: nothing in it
/// may be "not executed".
pub(super) fn losses() -> Found {
    let all = sources(part(1600..1664)?)?;
    let lines = all.values().flat_map(|source| source.lines.values());
    let branches = lines.clone().flat_map(|line| &line.branches).flat_map(|own| own.counts);
    let functions = all.values().flat_map(|source| &source.functions).map(|own| own.count);
    let mut counts = lines.map(|line| line.count).chain(branches).chain(functions);
    if counts.any(|count| count == Some(0)) {
        return Err("something is not executed where trace was lost".to_owned());
    }
    Ok(coverage::json(&all, 1))
}

/// The decisions of the example.
pub(super) fn decisions() -> Found {
    let failed = |fail: Fail| fail.to_string();
    let wanted: Arc<[Decision]> = of_description(DECISIONS)?.into();
    let how = CoverageOptions {
        committed: false,
        threads: &JobsArgs { jobs: None },
        window: None,
        running: Some(&RunningArgs::default()),
        path: Path::new(QUEENS.name),
        strict: false,
        decisions: &wanted,
        criterion: Criterion::Masking,
        both: false,
        parts: None,
    };
    let mut output = Output::standard().map_err(failed)?;
    let input = Input::of((QUEENS.capture)());
    Ok(view::text(&decided(&input, &how, &mut output).map_err(failed)?))
}

/// The run of a part of the example's trace.
fn run(name: &str, range: std::ops::Range<usize>) -> Result<CoverageRuns, String> {
    let capture = part(range)?;
    let programs = program_files(&capture);
    let file = programs.first().ok_or("the example has no program")?;
    let mut all = CoverageRuns::default();
    let number = all.program(RunProgram::of(file));
    all.cover(number, &sources(capture.clone())?, &function_codes(file), true);
    all.runs.push(Run {
        tags: BTreeSet::from([name.to_owned()]),
        id: Digest::default(),
        tool: "selftest".to_owned(),
        options: Vec::new(),
        inputs: Vec::new(),
        losses: 1,
        sound: true,
        programs: BTreeSet::from([number]),
    });
    all.finish();
    identify(&mut all);
    Ok(all)
}

/// The sum of three runs, whose bytes are the same in each order.
pub(super) fn runs() -> Found {
    let runs = [run("a", 0..900)?, run("b", 600..1500)?, run("c", 1200..2000)?];
    let mut sums = BTreeSet::new();
    for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
        let mut sum = CoverageRuns::default();
        order.iter().filter_map(|n| runs.get(*n)).for_each(|own| sum.add(own.clone()));
        sum.finish();
        sums.insert(write(&sum));
    }
    let mut sums = sums.into_iter();
    match (sums.next(), sums.next()) {
        (Some(sum), None) => String::from_utf8(sum).map_err(|error| error.to_string()),
        _ => Err("the sum depends on the order".to_owned()),
    }
}
