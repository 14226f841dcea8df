//! What `coverage` writes.

use std::collections::BTreeMap;
use std::path::Path;

use tracewright::analysis::coverage::{
    ObjectCoverage, ObjectFunction, ProgramCoverage, ProgramFile, SourceFile, only_functions,
};
use tracewright::analysis::coverage_runs::CoverageRuns;
use tracewright::export::coverage::{CheckedLimit, CoverageView, flat, junit};
use tracewright::views::{
    coverage, coverage_runs as runs_view, decisions as decisions_view,
    exemptions as exemptions_view, function_changes, json, object_coverage, uncovered,
};

use super::pages;
use super::results::Results;
use crate::args::{CoverageArgs, CoverageBy, CoverageFormatArg, CoverageKind};
use crate::exemptions::Exemptions;
use crate::fail::Fail;
use crate::message;
use crate::output::Output;
use crate::sources::{Sources, line};

/// Writes the results, and returns whether enough is covered.
pub(super) fn show(
    args: &CoverageArgs,
    mut results: Results<'_>,
    exemptions: Option<&Exemptions>,
    output: &mut Output,
) -> Result<bool, Fail> {
    let mut object = match args.by {
        CoverageBy::Object => object(results.programs, results.losses),
        _ => Vec::new(),
    };
    if !args.functions.is_empty() {
        let unknown = only_functions(&mut results.sources, &args.functions);
        let unknown = match args.by {
            CoverageBy::Object => only_object(&mut object, &args.functions),
            _ => unknown,
        };
        if let Some(name) = unknown {
            let why = "no function of a source file has this name";
            return Err(Fail::option("--function", name, why));
        }
    }
    let checked = args.fail_under.iter().map(|own| limit(&results.sources, *own));
    let limits: Vec<CheckedLimit> = checked.collect();
    match args.format {
        CoverageFormatArg::Junit => output.print(&junit(&limits))?,
        CoverageFormatArg::Html => {
            let json = json(args, &results, results.runs.as_ref(), (exemptions, &object));
            pages::write(args, &results, (exemptions, &object, &limits), &json)?;
        }
        _ => write(args, &results, (exemptions, &object), output)?,
    }
    for own in limits.iter().filter(|own| !own.met) {
        message::error(&own.measured);
    }
    Ok(limits.iter().all(|own| own.met))
}

/// Whether at least `least` percent are covered.
fn limit(
    sources: &BTreeMap<String, SourceFile>,
    (kind, least): (CoverageKind, f64),
) -> CheckedLimit {
    let [lines, branches, functions] = coverage::totals(sources);
    let [outcomes, conditions, mcdc] = decisions_view::totals(sources);
    let totals = match kind {
        CoverageKind::Lines => lines,
        CoverageKind::Branches => branches,
        CoverageKind::Functions => functions,
        CoverageKind::Decisions => outcomes,
        CoverageKind::Conditions => conditions,
        CoverageKind::Mcdc => mcdc,
    };
    let percent = match totals.all {
        // All of it is exempted, or there is none.
        0 => 100.0 * f64::from(u8::from(totals.exempted > 0)),
        all => 100.0 * totals.executed as f64 / all as f64,
    };
    let known = CoverageKind::ALL.into_iter().find(|(_, own, _)| *own == kind);
    let (name, _, what) = known.unwrap_or(("", kind, ""));
    let met = percent >= least;
    let compared = if met { "at least" } else { "less than" };
    let unknown = match totals.unknown {
        0 => String::new(),
        unknown => format!(", {unknown} of {} are unknown", totals.all),
    };
    let exempted = match totals.exempted {
        0 => String::new(),
        exempted => format!(", {exempted} are exempted"),
    };
    CheckedLimit {
        name: format!("{name} >= {least} %"),
        measured: format!("{percent:.1} % of the {what}, {compared} {least} %{unknown}{exempted}"),
        met,
    }
}

fn write(
    args: &CoverageArgs,
    results: &Results<'_>,
    (exemptions, object): (Option<&Exemptions>, &[(String, ObjectCoverage)]),
    output: &mut Output,
) -> Result<(), Fail> {
    let Results { sources, programs, losses, runs, changes, history } = results;
    if let Some(name) = &args.annotate {
        let is = |path: &&String| *path == name || path.ends_with(&format!("/{name}"));
        // The user may name a file by a folder that the debug information does not have.
        let ends = |path: &&String| name.ends_with(&format!("/{path}"));
        let mut longer = sources.keys().filter(ends);
        let only = longer.next().filter(|_| longer.next().is_none());
        let Some(path) = sources.keys().find(is).or(only) else {
            let known: Vec<_> = sources.keys().map(String::as_str).collect();
            let what = format!("no source file `{name}`; there are {}", known.join(", "));
            return Err(Fail::input(&args.input.input, &what));
        };
        let source = sources.get(path).cloned().unwrap_or_default();
        let files = Sources::new(&args.source_roots);
        // The program may have been compiled elsewhere: the file that the user names is read, too.
        let own = || files.text(Path::new(name)).ok();
        let text = files.read(path, &source).map(|(text, _)| text);
        let text = text.or_else(|error| own().ok_or(error));
        files.refuse(args.outcome.output.as_deref())?;
        let text = text.map_err(|error| {
            let what = format!(
                "cannot read the source file {path}: {error}; name its folder with --source-root"
            );
            Fail::input(&args.input.input, &what)
        })?;
        let text: String = text.lines().flat_map(|code| [line(code), "\n".to_owned()]).collect();
        return output.print(&coverage::annotated(&text, &source));
    }
    if args.uncovered {
        return output.print(&uncovered::text(sources));
    }
    let from_files = !args.runs.loaded.is_empty() || !args.runs.older.is_empty();
    let loaded = runs.as_ref().filter(|_| from_files);
    if let (Some(_), Some(format)) = (loaded, of_blocks(args.format)) {
        let what = "files of runs have no blocks: name captures with --add";
        return Err(Fail::option("--format", format, what));
    }
    if args.format == CoverageFormatArg::Gnatcov {
        one_program(programs, *losses)?;
    }
    if let Some(history) = history {
        if *losses > 0 {
            let why = "trace was lost, which the format cannot state: GNATcoverage would join \
                       evaluations across a loss";
            return Err(Fail::text(&format!("--decision-map: {why}")));
        }
        let mut trace = flat(&CoverageView { sources, programs });
        trace.blocks.retain(|block| !history.has(block));
        trace.history = true;
        return history.write(args, &trace, output);
    }
    match (args.format, args.format.format()) {
        (_, Some(format)) => {
            output.put(&format.write(&CoverageView { sources, programs }));
            output.failed()
        }
        (CoverageFormatArg::Json, None) => {
            output.json(&json(args, results, loaded, (exemptions, object)))
        }
        (_, None) => {
            let text = match args.by {
                CoverageBy::File => coverage::files_text(sources),
                CoverageBy::Function => {
                    let runs = loaded.map(runs_view::of_functions).unwrap_or_default();
                    coverage::functions_text(sources, &runs)
                }
                CoverageBy::Object => object_coverage::text(object),
                CoverageBy::Decision => decisions_view::text(sources),
                CoverageBy::Run => runs.as_ref().map(runs_view::text).unwrap_or_default(),
                CoverageBy::State => {
                    changes.as_deref().map(function_changes::text).unwrap_or_default()
                }
                CoverageBy::Exemption => exemptions
                    .map_or_else(String::new, |own| exemptions_view::text(&own.all, &own.uses)),
            };
            output.print(&text)?;
            if matches!(args.by, CoverageBy::File | CoverageBy::Function)
                && let Some(totals) = decisions_view::summary(sources)
            {
                output.print(&format!("{totals}; --by decision lists them\n"))?;
            }
            match args.by {
                // These count parts that are exempted apart.
                CoverageBy::File | CoverageBy::Function | CoverageBy::Decision => {
                    output.print(&exemptions_view::summary(sources))
                }
                _ => Ok(()),
            }
        }
    }
}

/// The name of a format that has blocks.
fn of_blocks(format: CoverageFormatArg) -> Option<&'static str> {
    match format {
        CoverageFormatArg::Drcov => Some("drcov"),
        CoverageFormatArg::Gnatcov => Some("gnatcov"),
        _ => None,
    }
}

/// Fails unless one ELF file was executed, which is what a trace of GNATcoverage has.
fn one_program(programs: &[(ProgramFile, ProgramCoverage)], losses: u64) -> Result<(), Fail> {
    let refused = |why: &str| Err(Fail::option("--format", "gnatcov", why));
    let mut own = programs.iter().filter(|(_, covered)| !covered.executions.is_empty());
    let Some((first, _)) = own.next() else {
        return refused("no program was executed");
    };
    if own.any(|(file, _)| *file.bytes != *first.bytes) {
        return refused("the format has one program, and several were executed");
    }
    if losses > 0 {
        message::line(
            "note: the format has no value for what is unknown: GNATcoverage will report it as not \
             covered",
        );
    }
    Ok(())
}

/// The results as lines of JSON, with what each of these runs covers.
fn json(
    args: &CoverageArgs,
    results: &Results<'_>,
    runs: Option<&CoverageRuns>,
    (exemptions, object): (Option<&Exemptions>, &[(String, ObjectCoverage)]),
) -> String {
    let sources = &results.sources;
    let mut out = json::head("coverage");
    out += &runs.map_or(String::new(), runs_view::json);
    if args.by == CoverageBy::Object {
        out += &object_coverage::json(object);
    }
    if let Some(changes) = &results.changes {
        out += &function_changes::json(changes);
    }
    if let Some(Exemptions { all, uses }) = exemptions {
        out += &exemptions_view::json(all, uses, sources);
    }
    out + &coverage::json(sources, results.losses)
}

/// The coverage of the object code of each program file in which something was executed: what
/// several captures of it executed, together.
fn object(
    programs: &[(ProgramFile, ProgramCoverage)],
    losses: u64,
) -> Vec<(String, ObjectCoverage)> {
    let mut all: Vec<(&ProgramFile, ProgramCoverage)> = Vec::new();
    for (file, covered) in programs {
        let same = |own: &&mut (&ProgramFile, ProgramCoverage)| {
            own.0.path == file.path && *own.0.bytes == *file.bytes
        };
        match all.iter_mut().find(same) {
            Some((_, own)) => own.merge(covered),
            None => all.push((file, covered.clone())),
        }
    }
    let all = all.into_iter().map(|(file, own)| (file.path.clone(), own.object(file, losses > 0)));
    all.collect()
}

/// Leaves the functions with these names or symbols. Returns the first name that none has.
fn only_object<'a>(
    all: &mut [(String, ObjectCoverage)],
    names: &'a [String],
) -> Option<&'a String> {
    let has = |own: &ObjectFunction, name: &String| own.name == *name || own.symbol == *name;
    for (_, file) in all.iter_mut() {
        file.functions.retain(|own| names.iter().any(|name| has(own, name)));
    }
    let known =
        |name: &&String| all.iter().any(|(_, own)| own.functions.iter().any(|own| has(own, name)));
    names.iter().find(|name| !known(name))
}
