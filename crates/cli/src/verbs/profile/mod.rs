//! `tracewright profile`

mod counts;
mod files;
mod itm;
mod sampled;
mod units;

use std::path::{Path, PathBuf};

use tracewright::analysis::{Filter, ModuleProfile, Profile, Programs};
use tracewright::capture::perf::{self, BranchSamples, FoundList, hex};
use tracewright::export::{Format, symbol_order, tables};

use self::counts::Counted;
use self::files::{Files, Kind};
use self::itm::Sampled;
use crate::args::{DialectArg, ProfileArgs, ProfileFormat, name};
use crate::fail::Fail;
use crate::index;
use crate::input::Input;
use crate::inputs::{Inputs, lists};
use crate::message;
use crate::output::Output;
use crate::programs;
use crate::recordings;

/// Runs the verb.
pub fn run(args: &ProfileArgs) -> Result<bool, Fail> {
    check(args)?;
    args.share.check(!args.parts.files.is_empty())?;
    args.plan.check(&args.share)?;
    let paths = files::paths(args)?;
    Inputs::of_files(lists(&args.parts.files)?)
        .lists(&[files::given(args), args.parts.files.clone()].concat())
        .refuse(args.output.as_deref())?;
    if args.share.wanted() {
        return units::run(args, &paths);
    }
    units::check(args, &paths)?;
    let binaries = args.input.sources.search.binaries.iter();
    let inputs = Inputs::of_files(paths.iter().chain(binaries).cloned().collect());
    refuse_outputs(args, &inputs)?;
    let mut output = Output::open(args.output.as_deref(), &inputs)?;
    if args.format == ProfileFormat::PerfData {
        return sampled::run(args, &paths, output);
    }
    let mut itms = Sampled::default();
    let filter = Filter {
        excluded: args.exclude_process.iter().copied().collect(),
        kernel: if args.kernel { Some(true) } else { args.user.then_some(false) },
    };
    let mut files = Files::new(args, paths.len());
    let mut known = Programs::default();
    for (n, path) in paths.iter().enumerate() {
        let counted = Opened::open(args, path).and_then(|opened| {
            refuse_outputs(args, &opened.inputs(args, n)).map_err(Failed::Command)?;
            let opened = match opened {
                Opened::Trace(input) if recordings::only(&input) => {
                    files.check(path, Kind::Samples)?;
                    itm::format(args).map_err(Failed::Command)?;
                    itms.add(args, input, &mut files)?;
                    return Ok(None);
                }
                other => other,
            };
            files.check(path, Kind::Instructions)?;
            refuse_samples(args).map_err(Failed::Command)?;
            let (counted, its) =
                opened.count(path, args, &filter, files.count == 1, &mut output)?;
            if files.count > 1 {
                programs::add(&mut known, its, args.force)?;
            }
            Ok(Some(counted))
        });
        match counted {
            Ok(Some(counted)) => files.add(path, counted),
            Ok(None) => {}
            Err(Failed::Command(fail)) => return Err(fail),
            Err(Failed::Capture(fail)) if !args.keep_going => return Err(fail),
            Err(Failed::Capture(fail)) => files.fail(fail),
        }
    }
    let good = files.end()?;
    if itms.any() {
        return Ok(itms.write(args, output)? && good);
    }
    let good = good && !files.is_empty();
    if args.format.format().is_none() {
        output.print(&files.total.contradictions.text())?;
    }
    let mut profile = files.total.profile;
    if profile.saturated {
        message::line(&format!("note: counts larger than {} are written as that number", u64::MAX));
    }
    let first = paths.first().map_or(Path::new(""), PathBuf::as_path);
    select(&mut profile, args.module.as_deref(), first)?;
    write(args, &profile, first, output)?;
    Ok(good)
}

/// Why the counts of a capture are not there.
enum Failed {
    /// The capture cannot be read.
    Capture(Fail),
    /// The command is wrong.
    Command(Fail),
}

impl From<Fail> for Failed {
    fn from(fail: Fail) -> Failed {
        Failed::Capture(fail)
    }
}

/// A capture of the command line.
enum Opened {
    List(Box<FoundList>),
    Samples(Box<BranchSamples>),
    Trace(Box<Input>),
}

impl Opened {
    /// Opens the capture at `path`.
    fn open(args: &ProfileArgs, path: &Path) -> Result<Opened, Failed> {
        let search = args.input.sources.search.search().map_err(Failed::Command)?;
        if let Some(list) = perf::found_list(path, &search) {
            return Ok(Opened::List(Box::new(list.map_err(Fail::from)?)));
        }
        if let Some(samples) = perf::branch_samples(path, &search) {
            let samples = samples.map_err(Fail::from)?;
            return Ok(Opened::Samples(Box::new(samples)));
        }
        Ok(Opened::Trace(Box::new(Input::open_other(path, &args.input, Some(&args.how))?)))
    }

    /// The files that it was read from.
    fn inputs(&self, args: &ProfileArgs, n: usize) -> Inputs {
        match self {
            Opened::List(_) | Opened::Samples(_) => Inputs::default(),
            Opened::Trace(input) if n == 0 => index::inputs(input, &args.window.index),
            Opened::Trace(input) => input.inputs.clone(),
        }
    }

    /// Its counts and its programs. `alone`: its problems are printed.
    fn count(
        self,
        path: &Path,
        args: &ProfileArgs,
        filter: &Filter,
        alone: bool,
        output: &mut Output,
    ) -> Result<(Counted, Programs), Fail> {
        match self {
            Opened::Samples(samples) => {
                let counted = counts::sampled(args, path, &samples, filter)?;
                let programs = programs::of_modules(path, &counted.profile);
                Ok((counted, programs))
            }
            Opened::List(list) => {
                Ok((counts::replay(args, path, &list, filter), programs::of_list(path, &list)))
            }
            Opened::Trace(input) => {
                let counted = counts::one(args, &input, filter, alone, output)?;
                let programs = programs::of_profile(&input, &counted.profile);
                Ok((counted, programs))
            }
        }
    }
}

/// Fails where the format is for the samples of an ITM.
fn refuse_samples(args: &ProfileArgs) -> Result<(), Fail> {
    match args.format {
        ProfileFormat::FlameGraph | ProfileFormat::Lines => {
            let why = "it is for samples of an ITM; `tracewright functions` and `coverage` have \
                       the flame graph and the lines of instructions";
            Err(Fail::option("--format", &name(args.format), why))
        }
        _ => Ok(()),
    }
}

/// Fails where options contradict each other.
fn check(args: &ProfileArgs) -> Result<(), Fail> {
    let format = args.format.format();
    if let Some(order) = args.symbol_order.as_ref().filter(|_| format != Some(Format::Propeller)) {
        let what = "only --format propeller has an order of the functions";
        return Err(Fail::option("--symbol-order", &order.to_string_lossy(), what));
    }
    let applies = match args.dialect {
        DialectArg::Full => true,
        DialectArg::Simpleperf => matches!(format, Some(Format::Autofdo | Format::Bolt)),
        DialectArg::Ranges => format == Some(Format::Bolt),
    };
    if !applies {
        let what = "simpleperf is for --format autofdo and bolt, ranges for --format bolt";
        return Err(Fail::option("--dialect", &name(args.dialect), what));
    }
    if let Some(itrace) = args.itrace.as_ref().filter(|_| args.format != ProfileFormat::PerfData) {
        return Err(Fail::option("--itrace", itrace, "only --format perf-data has samples"));
    }
    if let Some(limit) = args.limit.filter(|_| args.format != ProfileFormat::Text) {
        let what = "only --format text has tables; the others have all counts";
        return Err(Fail::option("--limit", &limit.to_string(), what));
    }
    Ok(())
}

/// Writes the profile of captures, of which `first` is the first, in the format of the command
/// line.
fn write(
    args: &ProfileArgs,
    profile: &Profile,
    first: &Path,
    mut output: Output,
) -> Result<(), Fail> {
    /// The rows of a table.
    const ROWS: usize = 20;
    let failed = |why: String| Fail::input(first, &why);
    let Some(format) = args.format.format() else {
        output.put(tables(profile, args.limit.unwrap_or(ROWS)).as_bytes());
        output.failed()?;
        return output.close();
    };
    let dialect = args.dialect.dialect();
    if format.holds_one(dialect) && profile.modules.len() > 1 {
        let paths: Vec<_> = profile.modules.keys().map(|(path, _)| path.as_str()).collect();
        return Err(failed(format!(
            "the format has the profile of one file; select it with --module: {}",
            paths.join(", ")
        )));
    }
    if let Some(path) = &args.symbol_order {
        let order = symbol_order(profile).map_err(|why| failed(why.to_string()))?;
        let mut file = Output::open(Some(path), &Inputs::default())?;
        file.put(order.as_bytes());
        file.failed()?;
        file.close()?;
    }
    output.put(&format.write(profile, dialect).map_err(|why| failed(why.to_string()))?);
    output.failed()?;
    output.close()
}

/// Fails where an output of `args` is one of `inputs`.
fn refuse_outputs(args: &ProfileArgs, inputs: &Inputs) -> Result<(), Fail> {
    inputs.refuse(args.output.as_deref())?;
    match &args.symbol_order {
        Some(order) => inputs.refuse_as("--symbol-order", Some(order)),
        None => Ok(()),
    }
}

/// Removes the profiles of other files than `module`.
fn select(profile: &mut Profile, module: Option<&str>, input: &Path) -> Result<(), Fail> {
    let Some(module) = module else { return Ok(()) };
    let is = |found: &ModuleProfile| {
        let id = found.file.build_id.as_deref().map(hex);
        let end = |path: &str| {
            path == module || path.strip_suffix(module).is_some_and(|before| before.ends_with('/'))
        };
        // The kernel is recorded by another name than that of its file.
        let read = found.file.found.as_ref().map(|path| path.to_string_lossy());
        end(&found.file.path)
            || read.is_some_and(|path| end(&path))
            || id.is_some_and(|id| id == module)
    };
    let paths: Vec<_> = profile.modules.keys().map(|(path, _)| path.clone()).collect();
    profile.retain(is);
    if profile.modules.is_empty() && !paths.is_empty() {
        return Err(Fail::input(
            input,
            &format!("nothing of `{module}` was executed; the files are {}", paths.join(", ")),
        ));
    }
    Ok(())
}
