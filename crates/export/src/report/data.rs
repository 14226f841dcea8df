//! What the page shows, with bounds.

use std::collections::BTreeMap;

use tracewright_analysis::coverage::SourceFile;
use tracewright_analysis::functions::{by_thread, inclusive, together};
use tracewright_analysis::itm::{Recording, SampleProfile, ValueTrack};
use tracewright_analysis::stacks::{Entry, StackCounts};
use tracewright_analysis::{Axis, Code, FunctionId, Paths, Timeline};
use tracewright_base::Channel;

/// The most functions, frames of the flame graph, and frames of the timeline on a page.
const FUNCTIONS: usize = 500;
const FLAME: usize = 5_000;
const SLICES: usize = 20_000;
/// The most losses of a source on the timeline.
const LOSSES: usize = 2_000;

/// A function: name, calls, instructions, with those that it calls, cycles, ticks.
pub type FunctionRow = (String, [u64; 5]);

/// A frame of the flame graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlameFrame {
    /// The number of its name.
    pub name: usize,
    /// Its depth.
    pub depth: usize,
    /// Its left edge and its width, in instructions.
    pub from: u64,
    /// Instructions with what it calls.
    pub sum: u64,
    /// Instructions in it.
    pub own: u64,
}

/// A thread on the timeline.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ThreadRow {
    /// Its name.
    pub name: String,
    /// The depth of its deepest frame.
    pub depth: i32,
    /// Begin, end, depth, number of the name.
    pub slices: Vec<(u64, u64, i32, usize)>,
    /// Where trace was lost.
    pub losses: Vec<u64>,
    /// The unit of its times.
    pub unit: &'static str,
}

/// Exceptions with the same number and handler: their count, and their duration: shortest, sum,
/// longest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExceptionRow {
    /// The source that reports it, where it is an ITM.
    pub source: Option<String>,
    /// The name of the exception.
    pub name: String,
    /// The handler.
    pub handler: String,
    /// How often it was taken.
    pub count: u64,
    /// How many durations were measured. The others are of these.
    pub timed: u64,
    /// The greatest upper bound of the durations that were not measured.
    pub at_most: Option<u64>,
    /// The unit of its durations.
    pub unit: &'static str,
    /// The shortest duration.
    pub shortest: u64,
    /// The sum of all durations.
    pub sum: u64,
    /// The longest duration.
    pub longest: u64,
}

/// Executions of a line of code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Executions {
    /// The line has no code.
    NoCode,
    /// It may have been executed where trace was lost.
    Unknown,
    /// This number.
    Times(u64),
}

/// Code with executions: of source lines or of instructions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listing {
    /// The function.
    pub name: String,
    /// Executions, where the line has code, and the line.
    pub lines: Vec<(Executions, String)>,
}

/// What a page shows.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Facts: what, value.
    pub facts: Vec<(String, String)>,
    /// What is missing or wrong.
    pub notes: Vec<String>,
    /// What was left out of the page, and what explains a page with little in it.
    pub information: Vec<String>,
    /// Totals of decoding.
    pub statistics: Vec<String>,
    /// All instructions.
    pub instructions: u64,
    /// The names of functions and threads in the flame graph and the timeline.
    pub names: Vec<String>,
    /// The group of each name, which has its colour: the number of a group.
    pub name_groups: Vec<usize>,
    /// The groups of functions, such as source files.
    pub groups: Vec<String>,
    /// The functions with the most instructions.
    pub functions: Vec<FunctionRow>,
    /// The flame graph. The first frame contains all others.
    pub flame: Vec<FlameFrame>,
    /// The timeline.
    pub threads: Vec<ThreadRow>,
    /// The exceptions.
    pub exceptions: Vec<ExceptionRow>,
    /// Exceptions of whose handlers no instruction was traced.
    pub untraced_handlers: u64,
    /// The folder of all source files; may be empty.
    pub coverage_folder: String,
    /// The source files: path in that folder, executed lines, lines, occurred outcomes, outcomes.
    pub coverage: Vec<(String, [u64; 4])>,
    /// The functions with the most instructions, as code.
    pub listings: Vec<Listing>,
    /// What the program wrote, by channel.
    pub texts: Vec<(String, String)>,
    /// The samples of the program counter: function, samples.
    pub samples: Vec<(String, u64)>,
    /// The values of signals.
    pub values: Vec<ValueRow>,
}

/// The values of a signal.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ValueRow {
    /// Its name.
    pub name: String,
    /// Its unit; may be empty.
    pub unit: String,
    /// How many there are.
    pub count: usize,
    /// The least, mean and greatest value.
    pub range: [f64; 3],
    /// Some of them: where, and the value.
    pub points: Vec<(u64, f64)>,
}

/// The group of the rows of threads.
const THREADS: &str = "threads";

/// Numbers of names in their groups.
#[derive(Default)]
struct Names {
    all: Vec<String>,
    groups: Vec<String>,
    /// The number of the group of each name.
    group_of: Vec<usize>,
    known: BTreeMap<(String, usize), usize>,
}

impl Names {
    fn number(&mut self, name: String, group: &str) -> usize {
        let known = self.groups.iter().position(|known| known == group);
        let group = known.unwrap_or_else(|| {
            self.groups.push(group.to_owned());
            self.groups.len() - 1
        });
        if let Some(known) = self.known.get(&(name.clone(), group)) {
            return *known;
        }
        self.all.push(name.clone());
        self.group_of.push(group);
        self.known.insert((name, group), self.all.len() - 1);
        self.all.len() - 1
    }
}

/// How exceptions and functions are named.
pub struct Naming<'a> {
    /// The names of the threads.
    pub threads: &'a [String],
    /// Names an exception of a source.
    pub exception: &'a dyn Fn(usize, u16) -> String,
    /// The group of a function, such as its source file.
    pub group: &'a dyn Fn(FunctionId) -> String,
}

impl Report {
    /// The functions, the flame graph and the timeline of a trace.
    pub fn new(
        code: &Code,
        paths: &Paths,
        timeline: &Timeline,
        counts: &StackCounts,
        naming: &Naming<'_>,
    ) -> Report {
        let mut report = Report { instructions: counts.instructions, ..Report::default() };
        let mut names = Names::default();
        report.add_functions(code, paths);
        report.add_flame(code, paths, naming, &mut names);
        report.add_timeline(code, timeline, naming, &mut names);
        (report.names, report.name_groups, report.groups) =
            (names.all, names.group_of, names.groups);
        // The timeline has the handlers of all exceptions, or ends early.
        let handlers: u64 = report.exceptions.iter().map(|row| row.count).sum();
        if timeline.left_out == 0 {
            report.untraced_handlers = counts.exceptions.saturating_sub(handlers);
        }
        let facts = [
            ("instructions", counts.instructions),
            ("calls", counts.calls),
            ("exceptions", counts.exceptions),
        ];
        let facts = facts.iter().filter(|(_, value)| *value > 0 || counts.instructions > 0);
        report.facts = facts.map(|(what, value)| ((*what).to_owned(), value.to_string())).collect();
        if counts.losses > 0 {
            report.facts.push(("losses of trace".to_owned(), counts.losses.to_string()));
            report.notes.push(format!(
                "Losses of trace: {}. Frames that were open are uncertain.",
                counts.losses
            ));
        }
        report
    }

    /// The functions and calls are those of some tasks, which have executed these instructions. How
    /// many calls and exceptions are theirs is in the tables.
    pub fn set_tasks(&mut self, instructions: u64) {
        (self.instructions, self.untraced_handlers) = (instructions, 0);
        self.facts.retain(|(what, _)| what != "calls" && what != "exceptions");
        for (_, value) in self.facts.iter_mut().filter(|(what, _)| what == "instructions") {
            *value = instructions.to_string();
        }
    }

    /// States the number of exceptions that the trace reports. Not each of them begins a frame.
    pub fn set_exceptions(&mut self, reported: u64) {
        let known = self.facts.iter_mut().find(|(what, _)| what == "exceptions");
        match known {
            Some((_, value)) => *value = reported.to_string(),
            None if reported > 0 => {
                self.facts.push(("exceptions".to_owned(), reported.to_string()));
            }
            None => {}
        }
    }

    fn add_functions(&mut self, code: &Code, paths: &Paths) {
        let all = together(&by_thread(paths));
        let mut rows: Vec<FunctionRow> = all
            .iter()
            .map(|(function, t)| {
                let name = code.name(*function).into_owned();
                let (cycles, ticks) = (t.cycles >> 16, t.ticks >> 16);
                (name, [t.calls, t.instructions, t.inclusive_instructions, cycles, ticks])
            })
            .collect();
        rows.sort_by(|a, b| b.1[1].cmp(&a.1[1]).then_with(|| a.0.cmp(&b.0)));
        if rows.len() > FUNCTIONS {
            let count = rows.len() - FUNCTIONS;
            self.information.push(format!(
                "{count} functions with fewer instructions are not in the table of functions."
            ));
            rows.truncate(FUNCTIONS);
        }
        self.functions = rows;
    }

    fn add_flame(&mut self, code: &Code, paths: &Paths, naming: &Naming<'_>, names: &mut Names) {
        let sums: Vec<u64> = inclusive(paths).into_iter().map(|[sum, ..]| sum).collect();
        let roots = paths
            .threads()
            .iter()
            .filter(|thread| sums.get(thread.root as usize).is_some_and(|sum| *sum > 0));
        // A row of all threads needs several, and a row of the thread is one of several.
        let several = roots.count() > 1;
        let whole = self.instructions;
        let mut frames = Vec::new();
        if several {
            let all = names.number("all threads".to_owned(), THREADS);
            frames.push(FlameFrame { name: all, depth: 0, from: 0, sum: whole, own: 0 });
        }
        let mut edges = vec![0u64];
        for (number, depth) in paths.in_order() {
            let Some(path) = paths.paths().get(number as usize) else { continue };
            let sum = sums.get(number as usize).copied().unwrap_or(0);
            edges.truncate(depth + 1);
            let from = edges.last().copied().unwrap_or(0);
            if let Some(edge) = edges.last_mut() {
                *edge = edge.saturating_add(sum);
            }
            edges.push(from);
            if sum == 0 {
                continue;
            }
            let name = match path.parent {
                Some(_) => {
                    let group = (naming.group)(path.function);
                    names.number(code.name(path.function).into_owned(), &group)
                }
                None => {
                    let thread = paths.threads().iter().position(|t| t.root == number);
                    let name = thread.and_then(|n| naming.threads.get(n)).cloned();
                    names.number(name.unwrap_or_default(), THREADS)
                }
            };
            let own = path.instructions;
            frames.push(FlameFrame { name, depth: depth + usize::from(several), from, sum, own });
        }
        if frames.len() > FLAME {
            let mut widths: Vec<u64> = frames.iter().map(|frame| frame.sum).collect();
            widths.sort_unstable_by(|a, b| b.cmp(a));
            let least = widths.get(FLAME).copied().unwrap_or(0);
            let before = frames.len();
            frames.retain(|frame| frame.sum > least);
            self.information.push(format!(
                "{} call paths of at most {least} instructions are not in the flame graph.",
                before - frames.len()
            ));
        }
        self.flame = frames;
    }

    fn add_timeline(
        &mut self,
        code: &Code,
        timeline: &Timeline,
        naming: &Naming<'_>,
        names: &mut Names,
    ) {
        let Naming { threads, exception, group } = naming;
        let mut exceptions: BTreeMap<(String, String), ExceptionRow> = BTreeMap::new();
        let mut rows = Vec::new();
        for (n, slices) in timeline.by_thread().into_iter().enumerate() {
            let source = timeline.threads.get(n).map_or(0, |thread| thread.source);
            let axis = timeline.axis(source);
            let unit = axis.unit();
            let time = |position: u64| match axis {
                Axis::Timestamps => (timeline.time_at(source, position).estimate / 1000) as u64,
                Axis::Instructions | Axis::Ticks | Axis::Bytes => position,
            };
            let lowest = slices.iter().map(|slice| slice.depth).min().unwrap_or(0);
            let mut row = ThreadRow {
                name: threads.get(n).cloned().unwrap_or_default(),
                unit,
                ..ThreadRow::default()
            };
            let is_recording = matches!(axis, Axis::Ticks | Axis::Bytes);
            let follows = timeline.threads.iter().skip(n + 1).any(|own| own.source == source);
            if is_recording && follows {
                // It executes nothing: its recording is the last thread.
                continue;
            }
            // Of several threads, the first one has them.
            if rows.iter().all(|(other, _): &(usize, ThreadRow)| *other != source) {
                let losses = timeline.losses.iter().filter(|loss| loss.0 == source);
                row.losses = losses.map(|loss| time(loss.1)).take(LOSSES).collect();
            }
            for slice in &slices {
                let (begin, end) = (time(slice.begin), time(slice.end));
                let handler = code.name(slice.function).into_owned();
                // The totals of an ITM have those of which it reports entry and exit.
                if let Entry::Exception(number) = slice.entry
                    && !matches!(slice.function, FunctionId::Handler(_))
                {
                    let name = exception(source, number);
                    let known = exceptions.entry((name.clone(), handler.clone()));
                    let known = known.or_insert_with(|| ExceptionRow {
                        name,
                        handler: handler.clone(),
                        unit,
                        shortest: u64::MAX,
                        ..ExceptionRow::default()
                    });
                    let duration = end.saturating_sub(begin);
                    known.count += 1;
                    known.timed += 1;
                    known.sum = known.sum.saturating_add(duration);
                    known.shortest = known.shortest.min(duration);
                    known.longest = known.longest.max(duration);
                }
                let group = group(slice.function);
                row.slices.push((begin, end, slice.depth - lowest, names.number(handler, &group)));
            }
            if !row.slices.is_empty() || !row.losses.is_empty() {
                rows.push((source, row));
            }
        }
        let mut rows: Vec<ThreadRow> = rows.into_iter().map(|(_, row)| row).collect();
        let count: usize = rows.iter().map(|row| row.slices.len()).sum();
        if count > SLICES {
            let all = rows.iter().flat_map(|row| &row.slices);
            let mut durations: Vec<u64> =
                all.map(|slice| slice.1.saturating_sub(slice.0)).collect();
            durations.sort_unstable_by(|a, b| b.cmp(a));
            let least = durations.get(SLICES).copied().unwrap_or(0);
            for row in &mut rows {
                row.slices.retain(|slice| slice.1.saturating_sub(slice.0) > least);
            }
            let left: usize = rows.iter().map(|row| row.slices.len()).sum();
            self.information.push(format!(
                "{} calls of at most {least} units of time are not in Threads.",
                count - left
            ));
        }
        if timeline.left_out > 0 {
            self.information.push(format!(
                "Threads and the exceptions by kind end after {count} calls; {} follow.",
                timeline.left_out
            ));
        }
        for row in &mut rows {
            row.depth = row.slices.iter().map(|slice| slice.2).max().unwrap_or(0);
        }
        self.threads = rows;
        self.exceptions = exceptions.into_values().collect();
    }

    /// Adds the coverage of source files.
    pub fn add_coverage(&mut self, sources: &BTreeMap<String, SourceFile>) {
        let folder = common_folder(sources.keys().map(String::as_str));
        self.coverage_folder = folder.to_owned();
        self.coverage = sources
            .iter()
            .map(|(path, source)| {
                let (lines, outcomes) = (source.line_totals(), source.branch_totals());
                let name = path.strip_prefix(folder).unwrap_or(path).to_owned();
                (name, [lines.executed, lines.all, outcomes.executed, outcomes.all])
            })
            .collect();
    }

    /// Adds what an ITM sent: exceptions, samples, values, text and losses. `name` is that of the
    /// source, `port` that of a port. The exceptions over time are in the timeline.
    pub fn add_itm(
        &mut self,
        name: &str,
        recording: &Recording,
        profile: &SampleProfile,
        port: impl Fn(Channel) -> String,
    ) {
        let unit = if recording.is_timed() { Axis::Ticks } else { Axis::Bytes }.unit();
        let mut entries = 0;
        for (&number, totals) in recording.exceptions().totals() {
            entries += totals.entries;
            self.exceptions.push(ExceptionRow {
                source: Some(name.to_owned()),
                name: format!("{number} {}", Code::default().name(FunctionId::Handler(number))),
                handler: String::new(),
                count: totals.entries,
                timed: totals.timed,
                at_most: (totals.bounded > 0).then_some(totals.at_most),
                unit,
                shortest: totals.least,
                sum: totals.sum,
                longest: totals.most,
            });
        }
        let mut functions: BTreeMap<&str, u64> = BTreeMap::new();
        for row in &profile.rows {
            let function = row.frames.first().map_or("", |frame| frame.function.as_str());
            *functions.entry(function).or_default() += row.samples;
        }
        let samples = functions.into_iter().map(|(name, samples)| (name.to_owned(), samples));
        self.samples.extend(samples);
        self.samples.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        self.samples.truncate(FUNCTIONS);
        self.values.extend(recording.tracks().map(|(name, track)| ValueRow::new(name, &track)));
        let mut texts: BTreeMap<String, String> = BTreeMap::new();
        for line in recording.lines() {
            let text = texts.entry(format!("{name} {}", port(line.channel))).or_default();
            if text.len() < TEXT {
                text.push_str(&line.text);
                text.push('\n');
            }
        }
        self.texts.extend(texts);
        // Those of which instructions were traced are the same.
        let traced = self.facts.iter().position(|(what, _)| what == "exceptions");
        let none = traced.filter(|&at| self.facts.get(at).is_some_and(|(_, value)| value == "0"));
        if let Some(at) = none.filter(|_| entries > 0) {
            self.facts.remove(at);
        }
        let both = traced.is_some() && none.is_none();
        let facts = [
            (if both { "exceptions reported by the ITM" } else { "exceptions" }, entries),
            ("samples", profile.total()),
            ("losses of an ITM", recording.lost()),
        ];
        let facts = facts.into_iter().filter(|(_, value)| *value > 0);
        self.facts.extend(facts.map(|(what, value)| (what.to_owned(), value.to_string())));
    }
}

/// The most bytes of text of a port.
const TEXT: usize = 1 << 16;

/// The most points of a signal.
const POINTS: usize = 1_000;

impl ValueRow {
    fn new(name: &str, track: &ValueTrack) -> ValueRow {
        let finite = || track.values.iter().filter(|(_, value)| value.is_finite());
        let count = finite().count();
        let sum: f64 = finite().map(|(_, value)| value).sum();
        let least = finite().map(|(_, value)| *value).fold(f64::INFINITY, f64::min);
        let most = finite().map(|(_, value)| *value).fold(f64::NEG_INFINITY, f64::max);
        let step = count.div_ceil(POINTS).max(1);
        ValueRow {
            name: name.to_owned(),
            unit: track.unit.clone(),
            count: track.values.len(),
            range: [least, sum / count.max(1) as f64, most],
            points: finite().copied().step_by(step).collect(),
        }
    }
}

/// The folder that all paths have, up to its separator. Empty for one path.
fn common_folder<'a>(paths: impl Iterator<Item = &'a str>) -> &'a str {
    let mut all = paths.peekable();
    let Some(first) = all.next().filter(|_| all.peek().is_some()) else { return "" };
    let mut len = first.rfind(['/', '\\']).map_or(0, |at| at + 1);
    for path in all {
        while !path.starts_with(first.get(..len).unwrap_or_default()) {
            let shorter = first.get(..len.saturating_sub(1)).unwrap_or_default();
            len = shorter.rfind(['/', '\\']).map_or(0, |at| at + 1);
        }
    }
    first.get(..len).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use tracewright_analysis::stacks::{Begin, Position, Visitor};
    use tracewright_symbols::Functions;

    use super::*;

    #[test]
    fn folders_of_all_files() {
        for (paths, want) in [
            (&["/a/b/c.c", "/a/b/d/e.c"][..], "/a/b/"),
            (&["/a/b/c.c"], ""),
            (&["/a/bc/c.c", "/a/b/c.c"], "/a/"),
            (&["C:\\x\\y.c", "C:\\x\\z.c"], "C:\\x\\"),
            (&["a.c", "/b.c"], ""),
            (&[], ""),
        ] {
            assert_eq!(common_folder(paths.iter().copied()), want, "{paths:?}");
        }
    }

    /// Call paths with 1, 2, 3 and more instructions, below a thread.
    #[test]
    fn the_flame_graph_has_the_widest_frames() {
        for (count, shown) in [(FLAME - 1, FLAME), (FLAME, FLAME), (FLAME + 9, FLAME)] {
            let (mut paths, position) = (Paths::default(), Position::default());
            let thread = paths.thread(0, 0, None);
            for n in 1..=count as u64 {
                let function = FunctionId::At(4 * n);
                let begin = Begin { function, entry: Entry::Call, address: None };
                let path = paths.begin(&position, thread, &begin);
                paths.run(&position, path, n, 0);
            }
            let whole = (1..=count as u64).sum();
            let mut report = Report { instructions: whole, ..Report::default() };
            let code = Code::of(Functions::default(), 1);
            let naming = Naming {
                threads: &["thread".to_owned()],
                exception: &|_, number| number.to_string(),
                group: &|_| "a.c".to_owned(),
            };
            let mut names = Names::default();
            report.add_flame(&code, &paths, &naming, &mut names);
            assert_eq!(
                names.groups,
                ["a.c", THREADS].map(str::to_owned).into_iter().rev().collect::<Vec<_>>()
            );
            assert_eq!(names.group_of.len(), names.all.len());
            assert_eq!(report.flame.len(), shown);
            let left_out = count + 1 - shown;
            let least = report.flame.iter().map(|frame| frame.sum).min();
            assert_eq!(least, Some(left_out as u64 + 1));
            let note = format!("{left_out} call paths of at most {left_out} instructions");
            assert_eq!(report.information.iter().any(|own| own.starts_with(&note)), left_out > 0);
            assert_eq!(report.information.len(), usize::from(left_out > 0));
        }
    }
}
