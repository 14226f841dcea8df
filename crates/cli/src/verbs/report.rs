//! `tracewright report`

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use tracewright::Capture;
use tracewright::analysis::coverage::{
    self, Losses, ProgramCoverage, ProgramFile, SourceFile, program_files,
};
use tracewright::analysis::itm::Signals;
use tracewright::analysis::tasks::{OnlyThreads, comparators};
use tracewright::analysis::{Code, FunctionId, Paths, Profiler, RawProfile, Timeline};
use tracewright::base::{Channel, Code as _, Pc, Space, Waypoints};
use tracewright::capture::plain::line;
use tracewright::decode::{Jobs, Merge, Merging, Program};
use tracewright::export::report::{Executions, Listing, Naming, Report};
use tracewright::image::CacheOptions;
use tracewright::index::Index;
use tracewright::joined::{JoinedBuffers, Taking};
use tracewright::symbols::Lines;
use tracewright::views::Source;
use tracewright::views::disassembly::disassemble;

use crate::about::About;
use crate::args::{ReportArgs, SwitchArgs};
use crate::contradictions::Contradictions;
use crate::exported::{self, Exported, Read};
use crate::fail::Fail;
use crate::index::{self, Selected};
use crate::input::{Input, Job};
use crate::joined;
use crate::listing;
use crate::live;
use crate::message;
use crate::output::Output;
use crate::recordings;
use crate::report;
use crate::run::{self, RunOptions, Runs};
use crate::sources::{self, Sources};
use crate::stacks;
use crate::tasks::{self, Chosen, WhileRunning};

/// The functions whose code is shown, and the most lines of each.
const LISTINGS: usize = 12;
const LINES: usize = 400;

/// Reads a source file by its path in the line table: its text, and its name.
type ReadSource<'a> = dyn Fn(&str, &SourceFile) -> Option<(String, String)> + Sync + 'a;

/// What the page shows, and how it is made.
pub struct ReportOptions<'a> {
    /// Elements of a transaction are withheld until it commits.
    pub committed: bool,
    /// Threads of the decoder.
    pub jobs: Jobs,
    /// Functions that switch tasks.
    pub switches: &'a SwitchArgs,
    /// The tasks of which functions, calls and executions are shown; all of them where it is empty.
    pub only: &'a [String],
    /// The most calls on the timeline.
    pub limit: usize,
    /// The path of the capture, or a name for it.
    pub title: &'a Path,
    /// The options of the command line.
    pub options: &'a [String],
    /// The signals of ITMs.
    pub signals: &'a Signals,
    /// The part of the trace that is shown.
    pub selected: Option<&'a Selected>,
    /// An index with a view, where there is one.
    pub index: Option<Index>,
    /// Reads the source of a function.
    pub source: &'a ReadSource<'a>,
    /// Folders with source files.
    pub source_roots: &'a [PathBuf],
    /// Reads source files.
    pub read: &'a Read<'a>,
    /// Fails where the output is a source file that was read.
    pub check: &'a (dyn Fn() -> Result<(), Fail> + Sync),
}

/// Runs the verb.
pub fn run(args: &ReportArgs) -> Result<bool, Fail> {
    let input = Input::open(&args.input, Some(&args.how))?;
    report::notes(&input);
    input.readable(args.outcome.strict)?;
    let selected = Selected::open(&input, Some(&args.window), args.how.committed)?;
    if input.capture().linux.is_none() {
        stacks::one_buffer(&input, &args.input.input)?;
    }
    let mut output =
        Output::open(args.outcome.output.as_deref(), &index::inputs(&input, &args.window.index))?;
    let files = Sources::new(&args.source_roots);
    let signals = args.signals.signals(input.capture(), comparators(input.capture()))?;
    if selected.is_some() && recordings::has_any(&input) {
        message::line(
            "note: the events of ITMs are shown of the whole trace only, and are left out",
        );
    }
    let options = shown_options(args);
    let tasks = tasks::files(&args.switches.tasks)?;
    let how = ReportOptions {
        committed: args.how.committed,
        jobs: args.threads.jobs(),
        switches: &args.switches,
        only: &args.only.task,
        limit: args.limit,
        title: &args.input.input,
        options: &options,
        signals: &signals,
        selected: selected.as_ref(),
        index: match &selected {
            None => exported::with_view(&input, &args.window.index, &tasks)?,
            Some(_) => None,
        },
        source: &|path, source| {
            let (text, file) = files.read(path, source).ok()?;
            Some((text, file.display().to_string()))
        },
        source_roots: &args.source_roots,
        read: &|path, _| files.whole(path),
        check: &|| files.refuse(args.outcome.output.as_deref()),
    };
    let problems = write(&input, &how, &mut output)?;
    input.decodable()?;
    output.close()?;
    files.print();
    Ok(problems.answer(&input, args.outcome.strict))
}

/// The options that change what the page shows.
fn shown_options(args: &ReportArgs) -> Vec<String> {
    let images = args.input.images.iter().map(|image| format!("--image {image}"));
    let watched = args.signals.watched.iter().map(|name| format!("--watch {name}"));
    let own = args.signals.types.iter().map(|signal| format!("--type {}", signal.origin));
    images.chain(own).chain(watched).collect()
}

/// Writes the page of the only buffer of `input`, or of all whose threads are known.
pub fn write(
    input: &Input,
    how: &ReportOptions<'_>,
    output: &mut Output,
) -> Result<listing::Problems, Fail> {
    let recipe = joined::Recipe {
        committed: how.committed,
        jobs: how.jobs.clone(),
        switches: how.switches,
        selected: how.selected,
        path: how.title,
    };
    if let Some(buffers) = joined::of(input, &recipe) {
        tasks::refuse_joined(&Chosen::new(how.only))?;
        return write_joined(input, how, &recipe, &buffers, output);
    }
    let running = WhileRunning::of(how.only, how.switches, input, how.committed, how.title)?;
    let runs = Runs::new(input.buffers.len(), how.committed, how.selected);
    let work = |_: usize, job: &Job<'_>, jobs: Jobs, write: &mut listing::Write<'_>| {
        let options = runs.options(jobs);
        let code = job.code();
        let tasks = tasks::of(how.switches, job, &code, how.title)?;
        let chosen = match &running {
            Some(own) => tasks::selected(own.chosen(), job, &options, &code, &tasks)?,
            None => None,
        };
        let programs: Vec<_> = job.sources.iter().map(|source| source.program.clone()).collect();
        let profiler = Profiler::new(programs.iter().cloned());
        let listener = (profiler, Merging(Losses::default()));
        let mut all = (RawProfile::default(), Losses::default());
        let visitor = (Paths::new(), Timeline::new(how.limit));
        let visitor = OnlyThreads::new(visitor, chosen.map(|(threads, _)| threads));
        let more = |_: &mut _, found| {
            if let Some(found) = found {
                all.merge(found);
            }
            true
        };
        let (visitor, counts, tally) =
            stacks::run_with(job, &options, &code, &tasks, visitor, listener, more)?;
        let (paths, mut timeline) = visitor.visitor;
        if let Some(running) = &running {
            // What was executed while they run.
            let own = running.counted(job, &options, options.selected)?;
            let options = RunOptions { selected: Some(&own), ..runs.options(how.jobs.clone()) };
            let profiler = Profiler::new(programs.iter().cloned());
            let bytes = &mut *live::input_of(job.buffer);
            let mut raw = RawProfile::default();
            let write = |more| {
                raw.merge(more);
                true
            };
            run::run(job.session()?, job.buffer, bytes, profiler, &options, write)?;
            all.0 = raw;
        }
        let threads = timeline.threads.iter().map(|t| (t.source, t.id));
        let outermost = timeline.outermost_without(|function| tasks.is_wrapper(function));
        let mut threads = job.thread_names(&tasks, threads, (&code, &outermost));
        let recorded = match how.selected {
            None => recordings::of(job, how.signals, how.limit)?,
            Some(_) => Vec::new(),
        };
        recordings::add_to(&mut timeline, &mut threads, &recorded);
        let exception = |source: usize, number: u16| {
            let name = job.sources.get(source).and_then(|s| s.exception_name(number));
            name.map_or_else(|| number.to_string(), |name| format!("{number} {name}"))
        };
        let lines = program_lines(job.capture());
        let group = |function| group(function, &code, &lines);
        let naming = Naming { threads: &threads, exception: &exception, group: &group };
        let mut page = Report::new(&code, &paths, &timeline, &counts, &naming);
        page.facts.push(("bytes of trace".to_owned(), job.buffer.size().unwrap_or(0).to_string()));
        if !how.only.is_empty() {
            page.set_tasks(paths.instructions());
            page.information.push(format!(
                "functions, calls and executed code are those while {} runs, with the handlers that \
                 interrupt it; the timeline and losses are those of the trace",
                how.only.iter().map(|name| line(name)).collect::<Vec<_>>().join(", ")
            ));
        } else if how.selected.is_none() {
            page.set_exceptions(tally.sources.iter().map(|own| own.exceptions).sum());
        }
        let decoded = job.decoded(&tally);
        page.statistics.extend(decoded.summary().lines().map(|line| line.trim().to_owned()));
        if decoded.needs_explanation() && !decoded.has_problems() {
            // Why there is little on the page.
            page.information.append(&mut page.statistics);
        }
        let diagnosis = decoded.diagnosis();
        let to = if diagnosis.is_problem { &mut page.notes } else { &mut page.information };
        to.extend(diagnosis.cause.iter().map(|cause| decoded.cause_remark(cause).what));
        to.extend(diagnosis.remarks.iter().map(|remark| remark.what.clone()));
        let mut contradictions = Contradictions::default();
        contradictions.add(&tally);
        page.notes.extend(contradictions.text().lines().map(str::to_owned));
        for own in &recorded {
            let profile = recordings::sample_profile(own.recording.samples(), job.capture());
            page.add_itm(&own.name, &own.recording, &profile, port_name);
        }
        let (raw, losses) = all;
        let losses = losses.count + decoded.unseen() + job.capture().losses(&[job.plan.buffer]);
        add_code(job.capture(), &code, how, vec![(programs_of(job), raw)], losses, &mut page);
        let page = exported(input, how, job.sources, &page)?;
        (how.check)()?;
        write(page.into_bytes());
        Ok(tally)
    };
    let problems = listing::buffers(input, &how.jobs, output, &runs, work)?;
    if let Some(running) = &running {
        running.check()?;
    }
    Ok(problems)
}

/// The source lines of each program file.
fn program_lines(capture: &Capture) -> Vec<(ProgramFile, Lines)> {
    let files = program_files(capture).into_iter();
    files.filter_map(|file| Lines::of_elf(file.debug_info()).map(|lines| (file, lines))).collect()
}

/// The group of a function on the page: the file that processes have mapped, or its source file.
fn group(function: FunctionId, code: &Code, lines: &[(ProgramFile, Lines)]) -> String {
    let base = |path: &str| path.rsplit(['/', '\\']).next().unwrap_or(path).to_owned();
    let known = match function {
        FunctionId::Handler(_) => return "exceptions".to_owned(),
        FunctionId::At(_) | FunctionId::Unknown => return "code without a symbol".to_owned(),
        FunctionId::Known(number) => code.get(number),
    };
    let Some(known) = known else { return "code without a symbol".to_owned() };
    if let Some(module) = &known.module {
        return base(module);
    }
    let source = lines.iter().find_map(|(file, lines)| {
        let location = lines.at(file.address(known.function.start)?)?;
        lines.file(location.file).map(base)
    });
    source.unwrap_or_else(|| "code without lines".to_owned())
}

/// The file with the trace and what was found.
fn exported(
    input: &Input,
    how: &ReportOptions<'_>,
    sources: &[Source],
    found: &Report,
) -> Result<String, Fail> {
    let own = how.selected.and_then(|selected| selected.index.as_ref());
    let tasks = tasks::files(&how.switches.tasks)?;
    let mut found = found.clone();
    found.notes.splice(..0, report::page_notes(input));
    if !input.has_trace() {
        found.information.insert(0, report::without_trace(input));
    }
    let usable = |index: &&Index| {
        let known = || input.trace.subject().tasks_checksum(&index::plans(input), &tasks);
        index.has_view() && !how.committed && index.tasks() == known()
    };
    let exported = Exported {
        about: About::new(input.capture(), sources, how.title, how.options),
        report: Some(found.json()),
        window: how.selected.map(|selected| &selected.window),
        index: own.or(how.index.as_ref()).filter(usable),
        with_calls: !how.committed,
        tasks: &tasks,
        jobs: how.jobs.count,
        source_roots: how.source_roots,
        read: how.read,
        notes: &|| Ok(None),
        lacks: Vec::new(),
    };
    exported::page(input, exported).map(|(page, _)| page)
}

/// The buffers whose counts are on a page.
const STATISTICS: usize = 32;

/// Writes the page of all buffers, joined by thread.
fn write_joined(
    input: &Input,
    how: &ReportOptions<'_>,
    recipe: &joined::Recipe<'_>,
    buffers: &JoinedBuffers<'_>,
    output: &mut Output,
) -> Result<listing::Problems, Fail> {
    let mut counted: BTreeMap<usize, (RawProfile, Losses)> = BTreeMap::new();
    let visitor = |_: &Code| (Paths::new(), Timeline::joined(how.limit));
    let listener = |job: &Job<'_>| {
        let programs = job.sources.iter().map(|source| source.program.clone());
        (Profiler::new(programs), Merging(Losses::default()))
    };
    let mut more = |_: &mut _, found| {
        if let Some((buffer, output)) = found {
            counted.entry(buffer).or_default().merge(output);
        }
        Ok(true)
    };
    let in_order = Taking::in_order();
    let found = joined::run(input, buffers, recipe, visitor, &in_order, &listener, &mut more)?;
    let joined::Found { visitor: (paths, timeline), code, counts, problems, tallies } = found;
    // A thread is the source of its trace.
    let threads = buffers.thread_names(timeline.threads.iter().map(|t| (t.first_source, t.id)));
    let sources = input.buffers.iter().flat_map(|&buffer| input.job(buffer).sources);
    let all: Vec<Source> = sources.cloned().collect();
    let exception = |_: usize, number: u16| {
        let name = all.first().and_then(|source| source.exception_name(number));
        name.map_or_else(|| number.to_string(), |name| format!("{number} {name}"))
    };
    let lines = program_lines(input.capture());
    let group = |function| group(function, &code, &lines);
    let naming = Naming { threads: &threads, exception: &exception, group: &group };
    let mut page = Report::new(&code, &paths, &timeline, &counts, &naming);
    if how.selected.is_none() {
        let own = tallies.iter().flat_map(|(_, tally)| &tally.sources);
        page.set_exceptions(own.map(|own| own.exceptions).sum());
    }
    let bytes = input.buffers.iter().filter_map(|&buffer| input.capture().buffers[buffer].size());
    page.facts.push(("bytes of trace".to_owned(), bytes.sum::<u64>().to_string()));
    page.facts.push(("AUX records".to_owned(), input.buffers.len().to_string()));
    let mut losses = input.capture().losses(&input.buffers);
    let mut known = BTreeSet::new();
    for (n, (buffer, tally)) in tallies.iter().enumerate() {
        let job = input.job(*buffer);
        let decoded = job.decoded(tally);
        losses += decoded.unseen();
        if n < STATISTICS {
            page.statistics.extend(decoded.summary().lines().map(|line| line.trim().to_owned()));
        }
        let diagnosis = decoded.diagnosis();
        let to = if diagnosis.is_problem { &mut page.notes } else { &mut page.information };
        let causes = diagnosis.cause.iter().map(|cause| decoded.cause_remark(cause).what);
        let texts = causes.chain(diagnosis.remarks.iter().map(|remark| remark.what.clone()));
        to.extend(texts.filter(|text| known.insert(text.clone())));
    }
    if let Some(more @ 1..) = tallies.len().checked_sub(STATISTICS) {
        page.statistics.push(format!("{more} further AUX records"));
    }
    let counted = counted.into_iter().map(|(buffer, (raw, lost))| {
        losses += lost.count;
        (programs_of(&input.job(buffer)), raw)
    });
    let counted = counted.collect();
    add_code(input.capture(), &code, how, counted, losses, &mut page);
    let page = exported(input, how, &all, &page)?;
    (how.check)()?;
    output.put(page.as_bytes());
    output.failed()?;
    Ok(problems)
}

/// The programs of the sources of a buffer.
fn programs_of(job: &Job<'_>) -> Programs {
    let program = |source: &Source| {
        let riscv = source.config.riscv();
        (source.program.clone(), CacheOptions { riscv, ..CacheOptions::default() })
    };
    job.sources.iter().map(program).collect()
}

/// The programs of sources.
type Programs = Vec<(Program, CacheOptions)>;

/// The name of a port or channel.
fn port_name(channel: Channel) -> String {
    match channel {
        Channel::Port { page, port } => {
            format!("port {}", 32 * u32::from(page.unwrap_or(0)) + u32::from(port))
        }
        other => other.to_string(),
    }
}

/// Adds the coverage, and the code of the functions with the most instructions.
fn add_code(
    capture: &Capture,
    code: &Code,
    how: &ReportOptions<'_>,
    counted: Vec<(Programs, RawProfile)>,
    losses: u64,
    page: &mut Report,
) {
    let files = program_files(capture);
    let mut covered = vec![ProgramCoverage::default(); files.len()];
    let mut programs = Programs::default();
    for (own, raw) in counted {
        ProgramCoverage::add(&mut covered, &files, raw, &own);
        if programs.is_empty() {
            programs = own;
        }
    }
    let mut sources: BTreeMap<String, SourceFile> = BTreeMap::new();
    for (file, covered) in files.iter().zip(&covered) {
        covered.lines(file, &mut sources);
    }
    coverage::finish(&mut sources, losses);
    page.add_coverage(&sources);
    if losses > 0 && !sources.is_empty() {
        page.notes.push(
            "Lines that are not executed in the trace may have been executed where it was lost."
                .to_owned(),
        );
    }
    let names: Vec<String> =
        page.functions.iter().take(LISTINGS).map(|(name, _)| name.clone()).collect();
    let mut embedded = BTreeSet::new();
    for name in names {
        let Some(number) = code.named(&name).next() else { continue };
        let Some(known) = code.get(number) else { continue };
        let (start, end) = (known.function.start, known.function.end);
        let found = files
            .iter()
            .zip(&covered)
            .find_map(|(file, covered)| Some((file, covered, file.address(start)?)));
        let Some((file, covered, own)) = found else { continue };
        let (lines, read) = source_lines(&sources, &name, how).unzip();
        embedded.extend(read);
        let lines = lines.unwrap_or_else(|| {
            let mut lines = Vec::new();
            let executed = covered.isa(own, own.wrapping_add(end.wrapping_sub(start)));
            let Some(isa) = file.isa().or(executed) else { return lines };
            let at = Lines::of_elf(&file.bytes);
            let Some((program, options)) = programs.first() else { return lines };
            let mut cache = program.cache(Waypoints::default(), *options);
            let mut address = start;
            while address < end && lines.len() < LINES {
                let pc = Pc { address, isa, space: Space::ANY };
                let Ok(instruction) = cache.instruction(pc) else { break };
                let opcode = cache.opcode(pc).unwrap_or(0);
                let count = covered.executions.get(&(address - start + own)).copied();
                let line = at.as_ref().and_then(|at| at.at(address - start + own));
                // The compiler names no line 0.
                let line = line.filter(|line| line.line > 0);
                let line = line.map_or_else(String::new, |line| format!("  ; line {}", line.line));
                let text = disassemble(isa, opcode, address);
                let count = match count {
                    None if losses > 0 => Executions::Unknown,
                    count => Executions::Times(count.unwrap_or(0)),
                };
                lines.push((count, format!("{address:#x}  {text}{line}")));
                address += u64::from(instruction.size.max(1));
            }
            lines
        });
        page.listings.push(Listing { name, lines });
    }
    page.information.extend(embedded.iter().map(|file| format!("Lines of {file}")));
}

/// The source of a function with the executions of its lines, and the file, where it can be read.
fn source_lines(
    sources: &BTreeMap<String, SourceFile>,
    name: &str,
    how: &ReportOptions<'_>,
) -> Option<(Vec<(Executions, String)>, String)> {
    let (path, source, function) = sources.iter().find_map(|(path, source)| {
        let function = source.functions.iter().find(|function| function.name == name)?;
        Some((path, source, function))
    })?;
    let (text, file) = (how.source)(path, source)?;
    let (first, last) = function.lines;
    let lines = (1..).zip(text.lines()).skip_while(|(n, _)| *n < first);
    let lines = lines.take_while(|(n, _)| *n <= last).take(LINES);
    let count = |n: u32| match source.lines.get(&n).map(|line| line.count) {
        None => Executions::NoCode,
        Some(None) => Executions::Unknown,
        Some(Some(count)) => Executions::Times(count),
    };
    let lines = lines.map(|(n, line)| (count(n), format!("{n:>5}  {}", sources::line(line))));
    Some((lines.collect(), file))
}
