//! `tracewright coverage`

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Mutex;

use tracewright::analysis::coverage::{
    Losses, ProgramCoverage, ProgramFile, SourceFile, program_files,
};
use tracewright::analysis::{Profiler, RawProfile};
use tracewright::decode::{Jobs, Merge, Merging};
use tracewright::export::coverage::CoverageView;
use tracewright::image::CacheOptions;
use tracewright::views::{coverage, json};

use crate::args::{CoverageArgs, CoverageBy, CoverageFormatArg, JobsArgs, WindowArgs};
use crate::fail::Fail;
use crate::index::{self, Selected};
use crate::input::{Input, Job};
use crate::listing;
use crate::live;
use crate::message;
use crate::output::Output;
use crate::report;
use crate::run::{self, Runs};
use crate::sources;

/// What was executed of each program file, and the losses of trace.
type Found = (Vec<(ProgramFile, ProgramCoverage)>, u64);

/// Runs the verb.
pub fn run(args: &CoverageArgs) -> Result<bool, Fail> {
    let first = Input::open(&args.input, Some(&args.how))?;
    let mut output =
        Output::open(args.output.as_deref(), &index::inputs(&first, &args.window.index))?;
    let mut sources = BTreeMap::new();
    let (mut programs, mut losses, mut good) = (Vec::new(), 0, true);
    let mut input = first;
    let how = How {
        committed: args.how.committed,
        threads: &args.threads,
        window: Some(&args.window),
        path: &args.input.input,
        strict: args.strict,
    };
    let mut further = args.further.iter();
    loop {
        let ((own, lost), well) = one(&how, &input, &mut output)?;
        good &= well;
        losses += lost;
        for (file, covered) in &own {
            if !covered.lines(file, &mut sources) && !covered.executions.is_empty() {
                let what =
                    format!("note: {} has no line numbers (DWARF) that can be read", file.path);
                message::line(&what);
            }
        }
        programs.extend(own);
        let Some(next) = further.next() else { break };
        input = Input::open_other(next, &args.input, Some(&args.how))?;
        input.inputs.refuse(args.output.as_deref())?;
    }
    merge_lines(&mut sources);
    if losses > 0 {
        message::line(&format!(
            "note: losses of trace: {losses}; a line that is not executed in the trace may have been \
             executed there"
        ));
    }
    write(args, &sources, &programs, losses, &mut output)?;
    output.close()?;
    let [(executed, all), ..] = coverage::totals(&sources);
    let percent = if all == 0 { 0.0 } else { 100.0 * executed as f64 / all as f64 };
    if let Some(least) = args.fail_under.filter(|least| percent < *least) {
        message::line(&format!("{percent:.1} % of the lines were executed, less than {least} %"));
        good = false;
    }
    Ok(good)
}

/// How the coverage of a capture is found.
pub struct How<'a> {
    /// Elements of a transaction are withheld until it commits.
    pub committed: bool,
    /// The threads.
    pub threads: &'a JobsArgs,
    /// The part of the trace.
    pub window: Option<&'a WindowArgs>,
    /// The path of the capture.
    pub path: &'a Path,
    /// Problems are failures.
    pub strict: bool,
}

/// The source files of a capture.
pub fn sources(
    input: &Input,
    how: &How<'_>,
    output: &mut Output,
) -> Result<BTreeMap<String, SourceFile>, Fail> {
    let ((programs, _), _) = one(how, input, output)?;
    let mut sources = BTreeMap::new();
    for (file, covered) in &programs {
        covered.lines(file, &mut sources);
    }
    Ok(sources)
}

/// The coverage of a capture, and whether the command succeeds.
fn one(how: &How<'_>, input: &Input, output: &mut Output) -> Result<(Found, bool), Fail> {
    report::notes(input);
    input.readable(how.strict)?;
    let files = program_files(&input.capture);
    if files.is_empty() {
        return Err(Fail::input(
            how.path,
            "the capture has no ELF file; add the program with --image",
        ));
    }
    let selected = Selected::open(input, how.window, how.committed)?;
    let runs = Runs::new(input.buffers.len(), how.committed, selected.as_ref());
    let total = Mutex::new((vec![ProgramCoverage::default(); files.len()], 0u64));
    let work = |_: usize, job: &Job<'_>, jobs: Jobs, _: &mut listing::Write<'_>| {
        let options = runs.options(jobs);
        let programs: Vec<_> = job
            .sources
            .iter()
            .map(|source| {
                let riscv = source.config.riscv();
                (source.program.clone(), CacheOptions { riscv, ..CacheOptions::default() })
            })
            .collect();
        let profiler = Profiler::new(programs.iter().map(|(program, _)| program.clone()));
        let listener = (profiler, Merging(Losses::default()));
        let mut all = (RawProfile::default(), Losses::default());
        let bytes = &mut *live::input_of(job.buffer);
        let mut write = |found| {
            all.merge(found);
            true
        };
        let tally = if how.committed {
            let listener = (listener, listing::Nothing::<true>);
            listing::decode(job, bytes, &options, listener, &mut None, |(found, ())| write(found))?
                .1
        } else {
            run::run(job.session()?, job.buffer, bytes, listener, &options, write)?.1
        };
        if let Ok(mut total) = total.lock() {
            ProgramCoverage::add(&mut total.0, &files, all.0, &programs);
            total.1 += all.1.count;
        }
        Ok(tally)
    };
    let problems = listing::buffers(input, &how.threads.jobs(), output, &runs, work)?;
    input.decodable()?;
    let (covered, losses) = total.into_inner().unwrap_or_default();
    let good = input.is_unchanged() && !(how.strict && problems);
    Ok(((files.into_iter().zip(covered).collect(), losses), good))
}

/// Branches and functions that several captures have are one each.
fn merge_lines(sources: &mut BTreeMap<String, SourceFile>) {
    for source in sources.values_mut() {
        for line in source.lines.values_mut() {
            line.branches.sort_by_key(|branch| branch.address);
            line.branches.dedup_by(|next, branch| {
                let same = next.address == branch.address;
                if same {
                    branch.counts = match (branch.counts, next.counts) {
                        (Some([a, b]), Some([c, d])) => {
                            Some([a.saturating_add(c), b.saturating_add(d)])
                        }
                        (counts, None) | (None, counts) => counts,
                    };
                }
                same
            });
        }
        source.functions.dedup_by(|next, function| {
            let same = (&next.symbol, next.lines) == (&function.symbol, function.lines);
            if same {
                function.count = function.count.saturating_add(next.count);
            }
            same
        });
    }
}

fn write(
    args: &CoverageArgs,
    sources: &BTreeMap<String, SourceFile>,
    programs: &[(ProgramFile, ProgramCoverage)],
    losses: u64,
    output: &mut Output,
) -> Result<(), Fail> {
    if let Some(name) = &args.annotate {
        let is = |path: &&String| *path == name || path.ends_with(&format!("/{name}"));
        let Some(path) = sources.keys().find(is) else {
            let known: Vec<_> = sources.keys().map(String::as_str).collect();
            let what = format!("no source file `{name}`; there are {}", known.join(", "));
            return Err(Fail::input(&args.input.input, &what));
        };
        // The program may have been compiled elsewhere.
        let text = sources::read(&args.input.input, path).or_else(|_| fs::read_to_string(name));
        let text = text.map_err(|error| {
            Fail::input(&args.input.input, &format!("cannot read the source file {path}: {error}"))
        })?;
        let source = sources.get(path).cloned().unwrap_or_default();
        return output.print(&coverage::annotated(&text, &source, losses > 0));
    }
    match (args.format, args.format.format(), args.by) {
        (_, Some(format), _) => {
            output.put(&format.write(&CoverageView { sources, programs }));
            output.failed()
        }
        (CoverageFormatArg::Json, ..) => {
            output.json(&json::head("coverage"))?;
            output.json(&coverage::json(sources, losses))
        }
        (_, _, CoverageBy::File) => output.print(&coverage::files_text(sources)),
        (_, _, CoverageBy::Function) => output.print(&coverage::functions_text(sources)),
    }
}
