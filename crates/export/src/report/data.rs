//! What the page shows, with bounds.

use std::collections::BTreeMap;

use tracewright_analysis::coverage::SourceFile;
use tracewright_analysis::functions::{by_thread, inclusive, together};
use tracewright_analysis::stacks::{Entry, StackCounts};
use tracewright_analysis::{Code, Paths, Timeline};

/// The most functions, frames of the flame graph, and frames of the timeline on a page.
const FUNCTIONS: usize = 500;
const FLAME: usize = 5_000;
const SLICES: usize = 20_000;

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
}

/// Exceptions with the same number and handler: their count, and their duration: shortest, sum,
/// longest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExceptionRow {
    /// The name of the exception.
    pub name: String,
    /// The handler.
    pub handler: String,
    /// How often it was taken.
    pub count: u64,
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
    /// The title: the name of the capture.
    pub title: String,
    /// Facts: what, value.
    pub facts: Vec<(String, String)>,
    /// What is missing or wrong, and what was left out.
    pub notes: Vec<String>,
    /// What explains a page with little in it where nothing is wrong.
    pub information: Vec<String>,
    /// All instructions.
    pub instructions: u64,
    /// What a unit of the timeline is.
    pub unit: &'static str,
    /// The names of functions and threads in the flame graph and the timeline.
    pub names: Vec<String>,
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
    /// The source files: path, executed lines, lines, occurred outcomes, outcomes.
    pub coverage: Vec<(String, [u64; 4])>,
    /// The functions with the most instructions, as code.
    pub listings: Vec<Listing>,
    /// What the program wrote, by channel.
    pub texts: Vec<(String, String)>,
}

/// Numbers of names.
#[derive(Default)]
struct Names {
    all: Vec<String>,
    known: BTreeMap<String, usize>,
}

impl Names {
    fn number(&mut self, name: String) -> usize {
        if let Some(known) = self.known.get(&name) {
            return *known;
        }
        self.all.push(name.clone());
        self.known.insert(name, self.all.len() - 1);
        self.all.len() - 1
    }
}

impl Report {
    /// The functions, the flame graph and the timeline of a trace. `threads` are the names of the
    /// threads, `exception` names an exception of a source.
    pub fn new(
        title: &str,
        code: &Code,
        paths: &Paths,
        timeline: &Timeline,
        counts: &StackCounts,
        threads: &[String],
        exception: impl Fn(usize, u16) -> String,
    ) -> Report {
        let mut report = Report { title: title.to_owned(), ..Report::default() };
        report.instructions = counts.instructions;
        report.unit = if timeline.has_time() { "ticks" } else { "instructions" };
        let mut names = Names::default();
        report.add_functions(code, paths);
        report.add_flame(code, paths, threads, &mut names);
        report.add_timeline(code, timeline, threads, &mut names, exception);
        report.names = names.all;
        // The timeline has the handlers of all exceptions, or ends early.
        let handlers: u64 = report.exceptions.iter().map(|row| row.count).sum();
        if timeline.left_out == 0 {
            report.untraced_handlers = counts.exceptions.saturating_sub(handlers);
        }
        let facts = [
            ("instructions", counts.instructions),
            ("calls", counts.calls),
            ("exceptions", counts.exceptions),
            ("losses of trace", counts.losses),
        ];
        report.facts = facts.map(|(what, value)| (what.to_owned(), value.to_string())).into();
        if counts.losses > 0 {
            report.notes.push(format!(
                "Losses of trace: {}. Frames that were open are uncertain.",
                counts.losses
            ));
        }
        report
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
            self.notes.push(format!(
                "{count} functions with fewer instructions are not in the table of functions."
            ));
            rows.truncate(FUNCTIONS);
        }
        self.functions = rows;
    }

    fn add_flame(&mut self, code: &Code, paths: &Paths, threads: &[String], names: &mut Names) {
        let sums: Vec<u64> = inclusive(paths).into_iter().map(|[sum, ..]| sum).collect();
        let all = names.number("all threads".to_owned());
        let whole = self.instructions;
        let mut frames = vec![FlameFrame { name: all, depth: 0, from: 0, sum: whole, own: 0 }];
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
                Some(_) => code.name(path.function).into_owned(),
                None => {
                    let thread = paths.threads().iter().position(|t| t.root == number);
                    thread.and_then(|n| threads.get(n)).cloned().unwrap_or_default()
                }
            };
            let name = names.number(name);
            let own = path.instructions;
            frames.push(FlameFrame { name, depth: depth + 1, from, sum, own });
        }
        if frames.len() > FLAME {
            let mut widths: Vec<u64> = frames.iter().map(|frame| frame.sum).collect();
            widths.sort_unstable_by(|a, b| b.cmp(a));
            let least = widths.get(FLAME).copied().unwrap_or(0);
            let before = frames.len();
            frames.retain(|frame| frame.sum > least);
            self.notes.push(format!(
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
        threads: &[String],
        names: &mut Names,
        exception: impl Fn(usize, u16) -> String,
    ) {
        let timed = timeline.has_time();
        let mut exceptions: BTreeMap<(String, String), ExceptionRow> = BTreeMap::new();
        let mut rows = Vec::new();
        for (n, slices) in timeline.by_thread().into_iter().enumerate() {
            let source = timeline.threads.get(n).map_or(0, |thread| thread.source);
            let time = |instructions: u64| match timed {
                true => (timeline.moment(source, instructions).estimate / 1000) as u64,
                false => instructions,
            };
            let lowest = slices.iter().map(|slice| slice.depth).min().unwrap_or(0);
            let mut row = ThreadRow {
                name: threads.get(n).cloned().unwrap_or_default(),
                ..ThreadRow::default()
            };
            for slice in &slices {
                let (begin, end) = (time(slice.begin), time(slice.end));
                let handler = code.name(slice.function).into_owned();
                if let Entry::Exception(number) = slice.entry {
                    let name = exception(source, number);
                    let known = exceptions.entry((name.clone(), handler.clone()));
                    let known = known.or_insert_with(|| ExceptionRow {
                        name,
                        handler: handler.clone(),
                        shortest: u64::MAX,
                        ..ExceptionRow::default()
                    });
                    let duration = end.saturating_sub(begin);
                    known.count += 1;
                    known.sum = known.sum.saturating_add(duration);
                    known.shortest = known.shortest.min(duration);
                    known.longest = known.longest.max(duration);
                }
                row.slices.push((begin, end, slice.depth - lowest, names.number(handler)));
            }
            if !row.slices.is_empty() {
                rows.push(row);
            }
        }
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
            self.notes.push(format!(
                "{} calls of at most {least} {} are not in the timeline.",
                count - left,
                self.unit
            ));
        }
        if timeline.left_out > 0 {
            self.notes.push(format!(
                "The timeline and the exceptions end after {count} calls; {} follow.",
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
        self.coverage = sources
            .iter()
            .map(|(path, source)| {
                let (lines, outcomes) = (source.line_totals(), source.branch_totals());
                (path.clone(), [lines.executed, lines.all, outcomes.executed, outcomes.all])
            })
            .collect();
    }
}

#[cfg(test)]
mod tests {
    use tracewright_analysis::FunctionId;
    use tracewright_analysis::stacks::{Begin, Position, Visitor};
    use tracewright_symbols::Functions;

    use super::*;

    /// Call paths with 1, 2, 3 and more instructions, below a thread.
    #[test]
    fn the_flame_graph_has_the_widest_frames() {
        for (count, shown) in [(FLAME - 2, FLAME), (FLAME - 1, FLAME), (FLAME + 8, FLAME)] {
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
            report.add_flame(&code, &paths, &["thread".to_owned()], &mut Names::default());
            assert_eq!(report.flame.len(), shown);
            let left_out = count + 2 - shown;
            let least = report.flame.iter().map(|frame| frame.sum).min();
            assert_eq!(least, Some(left_out as u64 + 1));
            let note = format!("{left_out} call paths of at most {left_out} instructions");
            assert_eq!(report.notes.iter().any(|own| own.starts_with(&note)), left_out > 0);
            assert_eq!(report.notes.len(), usize::from(left_out > 0));
        }
    }
}
