//! The table of durations, as text, JSON Lines and CSV.

mod between;
mod load;
mod masked;
mod worst;

pub use between::Between;
pub use load::LoadView;
pub use masked::{Edge, End, MaskedView, Section, Sections, longest};
pub use worst::Worst;

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::fmt::Write;

use tracewright_analysis::Code;
use tracewright_analysis::tasks::TaskThread;
use tracewright_analysis::timing::{
    Clock, Limit, Measure, Place, Statistics, Subject, Timed, Timing, Verdict,
};
use tracewright_base::Interval;
use tracewright_capture::plain::line;

use crate::functions::is_called;
use crate::itm::csv::quoted;
use crate::json::Object;

/// The percentiles of outputs, in thousandths, with their names.
const PERCENTILES: [(u64, &str); 3] = [(500, "median"), (950, "p95"), (990, "p99")];

/// What is shown.
#[derive(Clone, Copy, Debug, Default)]
pub struct Shown<'a> {
    /// The measure of the text.
    pub measure: Measure,
    /// Only functions that are [called](is_called) so.
    pub function: Option<&'a str>,
    /// Exceptions only.
    pub exceptions: bool,
    /// Tasks only.
    pub tasks: bool,
    /// Only these tasks, and what they execute.
    pub only: Option<&'a BTreeSet<usize>>,
    /// The most rows.
    pub rows: Option<usize>,
    /// The text has histograms, too.
    pub histogram: bool,
    /// Ticks of the clock in a second: durations are shown as times.
    pub frequency: Option<u64>,
}

/// Durations, and what their functions and sources are called.
#[derive(Clone, Copy, Debug)]
pub struct TimingView<'a> {
    /// The durations. [`Timing::finish`] was called.
    pub timing: &'a Timing,
    /// The functions.
    pub code: &'a Code,
    /// The names of the sources.
    pub sources: &'a [String],
    /// The threads by number.
    pub threads: &'a [TaskThread],
    /// What is shown.
    pub shown: Shown<'a>,
}

/// A kind of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Function,
    Exception,
    Task,
    Run,
    Other,
}

impl Kind {
    /// All of them, in the order of outputs.
    const ALL: [Kind; 4] = [Kind::Function, Kind::Exception, Kind::Task, Kind::Run];

    const fn of(subject: Subject) -> Kind {
        match subject {
            Subject::Function(_) | Subject::Call(..) => Kind::Function,
            Subject::Exception(..) => Kind::Exception,
            Subject::Task(_) => Kind::Task,
            Subject::Run(_) => Kind::Run,
            Subject::Other => Kind::Other,
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Kind::Function => "function",
            Kind::Exception => "exception",
            Kind::Task => "task",
            Kind::Run => "run",
            Kind::Other => "other",
        }
    }

    /// The head of a table.
    const fn title(self) -> &'static str {
        match self {
            Kind::Task => "task, from where it has waited to where it waits",
            Kind::Run => "task, each time it runs",
            _ => self.name(),
        }
    }

    const fn is_task(self) -> bool {
        matches!(self, Kind::Task | Kind::Run)
    }
}

/// The picoseconds of a second.
const SECOND: u128 = 1_000_000_000_000;

/// Writes durations.
#[derive(Clone, Copy)]
struct Scale {
    clock: Clock,
    frequency: Option<u64>,
}

impl Scale {
    /// An interval: by the clock, or as times, whose lower bound is rounded down and whose upper
    /// bound is rounded up.
    fn text(self, duration: Interval) -> String {
        let Some(frequency) = self.frequency else { return duration.to_string() };
        let picoseconds = |ticks: u64, up: bool| {
            let (whole, frequency) = (u128::from(ticks) * SECOND, u128::from(frequency.max(1)));
            if up { whole.div_ceil(frequency) } else { whole / frequency }
        };
        let least = picoseconds(duration.least, false);
        let most = duration.most.map(|most| picoseconds(most, true));
        let greatest = most.unwrap_or(least);
        let units = [(1_000u128, "ns"), (1_000_000, "us"), (1_000_000_000, "ms")];
        let unit = units.into_iter().find(|(scale, _)| greatest < scale * 1000);
        let (scale, unit) = unit.unwrap_or((SECOND, "s"));
        // Four digits.
        let digits = match greatest / scale {
            0..10 => 3usize,
            10..100 => 2,
            100..1000 => 1,
            _ => 0,
        };
        let step = scale / 10u128.pow(digits as u32);
        let number = |steps: u128| {
            let all = 10u128.pow(digits as u32);
            match digits {
                0 => steps.to_string(),
                _ => format!("{}.{:0digits$}", steps / all, steps % all),
            }
        };
        let near = |value: u128| (value + step / 2) / step;
        match most {
            None => format!("{}.. {unit}", number(least / step)),
            Some(most) if near(least) == near(most) => format!("{} {unit}", number(near(least))),
            Some(most) => {
                format!("{}..{} {unit}", number(least / step), number(most.div_ceil(step)))
            }
        }
    }

    fn maybe(self, duration: Option<Interval>) -> String {
        duration.map_or_else(|| "-".to_owned(), |duration| self.text(duration))
    }
}

/// The least and the most of `part` in thousandths of `whole`.
fn share(part: Interval, whole: u64) -> String {
    let thousandths = |value: u64| {
        let whole = u128::from(whole.max(1));
        ((u128::from(value) * 1000 + whole / 2) / whole).min(1000)
    };
    let text = |value: u128| format!("{}.{}", value / 10, value % 10);
    let (least, most) = (thousandths(part.least), part.most.map(thousandths));
    match most {
        Some(most) if most == least => text(most),
        Some(most) => format!("{}..{}", text(least), text(most)),
        None => format!("{}..", text(least)),
    }
}

/// Lines of columns, all but the last one aligned to the right.
fn aligned(out: &mut String, lines: &[Vec<String>]) {
    let columns = lines.iter().map(Vec::len).max().unwrap_or(0);
    let width = |n: usize| {
        let cells = lines.iter().filter_map(|cells| cells.get(n));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    for cells in lines {
        for (n, cell) in cells.iter().enumerate() {
            match n + 1 == cells.len() {
                true => _ = writeln!(out, "{cell}"),
                false => _ = write!(out, "{cell:>width$}  ", width = widths[n]),
            }
        }
    }
}

impl TimingView<'_> {
    fn scale(&self) -> Scale {
        Scale { clock: self.timing.clock(), frequency: self.shown.frequency }
    }

    /// The name of what is measured.
    fn name(&self, subject: Subject) -> String {
        match subject {
            Subject::Function(function) => self.code.name(function).into_owned(),
            Subject::Call(function, caller) => {
                format!("{} from {}", self.code.name(function), self.code.name(caller))
            }
            Subject::Exception(source, number) => match self.sources.get(source) {
                Some(name) if self.several() => format!("exception {number} of {name}"),
                _ => format!("exception {number}"),
            },
            Subject::Task(thread) | Subject::Run(thread) => match self.threads.get(thread) {
                Some(thread) => thread.text.clone(),
                None => format!("task {thread}"),
            },
            Subject::Other => "other threads".to_owned(),
        }
    }

    /// Whether several sources have exceptions.
    fn several(&self) -> bool {
        let source = |row: &Timed| match row.subject {
            Subject::Exception(source, _) => Some(source),
            _ => None,
        };
        let mut sources = self.timing.rows().iter().filter_map(source);
        sources.next().is_some_and(|first| sources.any(|source| source != first))
    }

    fn is_called(&self, pattern: &str, row: &Timed) -> bool {
        match row.subject {
            Subject::Function(function) | Subject::Call(function, _) => {
                is_called(pattern, &self.code.name(function), self.code.symbol(function))
            }
            Subject::Exception(..) | Subject::Task(_) | Subject::Run(_) | Subject::Other => false,
        }
    }

    /// Whether a limit is of a row.
    fn is_limited(&self, limit: &Limit, row: &Timed) -> bool {
        match (limit.exception(), limit.task(), row.subject) {
            (Some(number), _, Subject::Exception(_, own)) => own == number,
            // Without instructions, it is not known where a task waits: each run counts.
            (None, Some(name), Subject::Run(thread)) if !self.timing.has_instructions() => {
                self.threads.get(thread).is_some_and(|thread| thread.is_named(name))
            }
            (None, Some(name), Subject::Task(thread)) => {
                self.threads.get(thread).is_some_and(|thread| thread.is_named(name))
            }
            (None, None, Subject::Function(_) | Subject::Call(..)) => {
                self.is_called(&limit.subject, row)
            }
            _ => false,
        }
    }

    /// The rows of a kind, in order of the time that they take.
    fn rows(&self, kind: Kind) -> Vec<&Timed> {
        let shown = &self.shown;
        let is_shown = |row: &&Timed| {
            let named = match row.subject {
                Subject::Function(_) | Subject::Call(..) => {
                    shown.function.is_none_or(|name| self.is_called(name, row))
                }
                Subject::Exception(..) => shown.function.is_none(),
                Subject::Task(thread) | Subject::Run(thread) => {
                    shown.function.is_none() && shown.only.is_none_or(|only| only.contains(&thread))
                }
                Subject::Other => false,
            };
            kind == Kind::of(row.subject) && named
        };
        let mut rows: Vec<&Timed> = self.timing.rows().iter().filter(is_shown).collect();
        let key = |row: &Timed| {
            let sum = row.of(self.shown.measure).sum();
            Reverse((
                u128::from(sum.least) + u128::from(sum.most.unwrap_or(sum.least)),
                row.of(Measure::Gross).count(),
            ))
        };
        rows.sort_by_cached_key(|row| (key(row), self.name(row.subject), row.subject));
        rows.truncate(self.shown.rows.unwrap_or(usize::MAX));
        rows
    }

    /// The rows of both, in order of the outputs.
    fn shown_rows(&self) -> Vec<&Timed> {
        self.kinds().flat_map(|kind| self.rows(kind)).collect()
    }

    /// The kinds of rows that are shown.
    fn kinds(&self) -> impl Iterator<Item = Kind> {
        let (exceptions, tasks) = (self.shown.exceptions, self.shown.tasks);
        let is_shown = move |kind: &Kind| match kind {
            Kind::Function => !exceptions && !tasks,
            Kind::Exception => !tasks || exceptions,
            Kind::Task | Kind::Run => !exceptions || tasks,
            Kind::Other => false,
        };
        Kind::ALL.into_iter().filter(is_shown)
    }

    /// Whether no row is shown.
    pub fn is_empty(&self) -> bool {
        self.shown_rows().is_empty()
    }

    /// Text.
    pub fn text(&self) -> String {
        let mut out = String::new();
        let scale = self.scale();
        let _ = writeln!(
            out,
            "{}: {}, by {}{}",
            self.shown.measure.name(),
            self.shown.measure.about(),
            scale.clock.name(),
            match scale.frequency {
                Some(frequency) => format!(" of {frequency} Hz"),
                None => String::new(),
            }
        );
        for kind in self.kinds() {
            let mut rows = self.rows(kind);
            // A task of which nothing is known as a whole has no durations.
            let measured = |row: &&Timed| row.of(self.shown.measure).count() > 0;
            rows.retain(|row| !kind.is_task() || measured(row));
            if !rows.is_empty() {
                self.table(&rows, kind.title(), &mut out);
            }
        }
        let rows = self.shown_rows();
        if self.shown.histogram {
            rows.iter().for_each(|row| self.histogram(row, &mut out));
        }
        let sum = |count: fn(&Timed) -> u64| self.timing.rows().iter().map(count).sum::<u64>();
        let _ = write!(out, "{} traced", scale.text(Interval::point(self.timing.total())));
        if scale.frequency.is_none() {
            let _ = write!(out, " {}", scale.clock.unit());
        }
        let incomplete = sum(|row| match row.subject {
            Subject::Function(_) | Subject::Call(..) => row.incomplete,
            _ => 0,
        });
        let _ = writeln!(
            out,
            ", {} losses, {incomplete} calls that begin or end outside of the trace",
            self.timing.losses()
        );
        out
    }

    fn table(&self, rows: &[&Timed], kind: &str, out: &mut String) {
        let scale = self.scale();
        let parts = self.shown.measure.is_part();
        let mut heads = vec!["count"];
        heads.extend(parts.then_some("%"));
        heads.extend(["least", "median", "95 %", "99 %", "mean", "deviation", "most", kind]);
        let mut lines = vec![heads.into_iter().map(str::to_owned).collect::<Vec<_>>()];
        for row in rows {
            let own = row.of(self.shown.measure);
            let mut cells = vec![own.count().to_string()];
            let part = |own: &Statistics| match own.count() {
                0 => "-".to_owned(),
                _ => share(own.sum(), self.timing.total()),
            };
            cells.extend(parts.then(|| part(own)));
            cells.push(scale.maybe(own.min()));
            cells.extend(PERCENTILES.map(|(per_mille, _)| scale.maybe(own.percentile(per_mille))));
            cells.push(scale.maybe(own.mean()));
            cells.push(deviation(scale, own));
            cells.push(scale.maybe(own.max()));
            let mut name = line(&self.name(row.subject)).into_owned();
            if own.lost() > 0 {
                let _ = write!(name, " ({} with lost trace)", own.lost());
            }
            if self.shown.measure == Measure::Interrupted
                && let Some((longest, by)) = row.longest_interruption
                && let Some(by) = self.timing.rows().get(by)
            {
                let _ = write!(name, " (longest {} by ", scale.text(longest));
                let _ = write!(name, "{})", line(&self.name(by.subject)));
            }
            cells.push(name);
            lines.push(cells);
        }
        aligned(out, &lines);
    }

    /// Bars of the middles of the bounds of each bin.
    fn histogram(&self, row: &Timed, out: &mut String) {
        let bins = row.of(self.shown.measure).histogram();
        let greatest = bins.iter().map(|bin| bin.2.max(bin.3)).max().unwrap_or(0).max(1);
        let _ = writeln!(out, "{}", line(&self.name(row.subject)));
        let scale = self.scale();
        let mut lines = Vec::new();
        for (least, most, lower, upper) in bins {
            let bar = |count: u64| (count * 40).div_ceil(greatest) as usize;
            let (both, more) = (lower.min(upper), lower.max(upper));
            let bar = format!(
                "{}{}",
                "#".repeat(bar(both)),
                "-".repeat(bar(more).saturating_sub(bar(both)))
            );
            let counts = if lower == upper { lower.to_string() } else { format!("{both}..{more}") };
            lines.push(vec![scale.text(Interval::new(least, most)), counts, bar]);
        }
        aligned(out, &lines);
    }

    /// JSON Lines: one for each function and exception, and one of the whole.
    pub fn json(&self) -> String {
        let mut out = String::new();
        for row in self.shown_rows() {
            let exception = match row.subject {
                Subject::Exception(_, number) => Some(u64::from(number)),
                _ => None,
            };
            let source = match row.subject {
                Subject::Exception(source, _) => self.sources.get(source).map(String::as_str),
                _ => None,
            };
            let thread = row.subject.task().and_then(|thread| self.threads.get(thread));
            let task = thread.and_then(|thread| thread.name.as_ref());
            let kind = Kind::of(row.subject);
            let (function, caller) = match row.subject {
                Subject::Call(function, caller) => (Some(function), Some(caller)),
                _ => (None, None),
            };
            let name = function.map_or_else(
                || self.name(row.subject),
                |function| self.code.name(function).into_owned(),
            );
            let mut object = Object::new(&mut out)
                .text("type", "timing")
                .text("name", &name)
                .maybe_text("caller", caller.map(|caller| self.code.name(caller)).as_deref())
                .maybe_number("exception", exception)
                .maybe_text("source", source)
                .maybe_text("kind", kind.is_task().then(|| kind.name()))
                .maybe_text("task", task.map(|task| task.text.as_str()))
                .maybe_text("named_by", task.map(|task| task.by.name()))
                .maybe_number("id", thread.and_then(|thread| thread.id))
                .number("incomplete", row.incomplete);
            for measure in Measure::ALL {
                let own = row.of(measure);
                if own.count() + own.lost() > 0 {
                    object = object.value(measure.name(), |out| self.statistics(own, out));
                }
            }
            if let Some((longest, by)) = row.longest_interruption
                && let Some(by) = self.timing.rows().get(by)
            {
                object = object.value("longest_interruption", |out| {
                    let by = self.name(by.subject);
                    interval(Object::new(out).text("by", &by), longest).end();
                });
            }
            object.end();
            out.push('\n');
        }
        Object::new(&mut out)
            .text("type", "timings")
            .text("clock", self.timing.clock().name())
            .maybe_number("frequency", self.shown.frequency)
            .number("traced", self.timing.total())
            .number("losses", self.timing.losses())
            .end();
        out.push('\n');
        out
    }

    fn statistics(&self, own: &Statistics, out: &mut String) {
        let mut object = Object::new(out).number("count", own.count());
        object = object.maybe_number("with_lost_trace", (own.lost() > 0).then_some(own.lost()));
        let mut values = vec![("min", own.min())];
        values.extend(PERCENTILES.map(|(per_mille, name)| (name, own.percentile(per_mille))));
        values.extend([("mean", own.mean()), ("max", own.max())]);
        values.push(("spread", own.spread()));
        values.push(("sum", (own.count() > 0).then(|| own.sum())));
        for (name, value) in values {
            if let Some(value) = value {
                object = object.value(name, |out| interval(Object::new(out), value).end());
            }
        }
        if let Some(deviation) = own.deviation() {
            object = object.value("deviation", |out| _ = write!(out, "{:.3}", deviation.value));
            object = object.mark("deviation_is_estimate", deviation.estimate);
        }
        if let Some(place) = own.longest() {
            object = object.value("max_at", |out| self.place(place, out));
        }
        object.end();
    }

    fn instruction(&self, place: Place) -> Option<u64> {
        self.timing.has_instructions().then_some(place.instructions)
    }

    fn place(&self, place: Place, out: &mut String) {
        Object::new(out)
            .maybe_text("source", self.sources.get(place.source).map(String::as_str))
            .maybe_number("offset", (place.at != u64::MAX).then_some(place.at))
            .maybe_number("instruction", self.instruction(place))
            .end();
    }

    /// CSV: a line for each measure of each function and exception. `head`: with a line of names.
    pub fn csv(&self, head: bool) -> String {
        let mut out = String::new();
        if head {
            out.push_str("kind,name,source,measure,clock,count,with_lost_trace,incomplete");
            for name in ["min", "median", "p95", "p99", "mean", "max", "sum"] {
                let _ = write!(out, ",{name}_least,{name}_most");
            }
            out.push_str(",deviation,deviation_is_estimate\n");
        }
        for row in self.shown_rows() {
            for measure in Measure::ALL {
                let own = row.of(measure);
                if own.count() + own.lost() > 0 {
                    self.csv_line(row, measure, own, &mut out);
                }
            }
        }
        out
    }

    fn csv_line(&self, row: &Timed, measure: Measure, own: &Statistics, out: &mut String) {
        let (kind, source) = match row.subject {
            Subject::Exception(source, _) => {
                ("exception", self.sources.get(source).map_or("", String::as_str))
            }
            subject => (Kind::of(subject).name(), ""),
        };
        let name = self.name(row.subject);
        let clock = self.timing.clock().name();
        let _ = write!(out, "{kind},{},{},", quoted(&name), quoted(source));
        let _ = write!(out, "{},{clock},{},{}", measure.name(), own.count(), own.lost());
        let _ = write!(out, ",{}", row.incomplete);
        let mut values = vec![own.min()];
        values.extend(PERCENTILES.map(|(per_mille, _)| own.percentile(per_mille)));
        values.extend([own.mean(), own.max(), (own.count() > 0).then(|| own.sum())]);
        for value in values {
            let text =
                |value: Option<u64>| value.map(|value| value.to_string()).unwrap_or_default();
            let least = value.map(|value| value.least);
            let _ = write!(out, ",{},{}", text(least), text(value.and_then(|value| value.most)));
        }
        match own.deviation() {
            Some(own) => _ = writeln!(out, ",{:.3},{}", own.value, own.estimate),
            None => out.push_str(",,\n"),
        }
    }

    /// The answers of a limit: one for each function or exception that it names.
    pub fn answers(&self, limit: &Limit) -> Vec<Answer> {
        let named = self.timing.rows().iter().filter(|row| self.is_limited(limit, row));
        let scale = self.scale();
        let answer = |row: &Timed| {
            let (verdict, own) = (row.verdict(limit), row.of(limit.measure));
            let (what, value) = match limit.is_most {
                true => ("most", own.max()),
                false => ("least", own.min()),
            };
            let name = self.name(row.subject);
            let count = own.count() + own.lost();
            let value = scale.maybe(value);
            let at = own.longest().filter(|_| limit.is_most && verdict == Verdict::Violated);
            let at = at.map(|place| match self.instruction(place) {
                Some(number) => format!(", instruction {number}"),
                None => format!(", offset {:#x}", place.at),
            });
            let text = format!(
                "{}: {limit}: {} of {count} of {}: {value}{}",
                verdict.name(),
                what,
                line(&name),
                at.unwrap_or_default()
            );
            Answer { verdict, text }
        };
        let answers: Vec<Answer> = named.map(answer).collect();
        if answers.is_empty() {
            let (verdict, text) = (Verdict::Never, format!("{}: {limit}", Verdict::Never.name()));
            return vec![Answer { verdict, text }];
        }
        answers
    }
}

/// The answer of a limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Whether it is met.
    pub verdict: Verdict,
    /// A line of text.
    pub text: String,
}

impl Answer {
    /// A line of JSON.
    pub fn json(&self, limit: &Limit) -> String {
        let mut out = String::new();
        Object::new(&mut out)
            .text("type", "limit")
            .text("limit", &limit.to_string())
            .text("verdict", self.verdict.name())
            .text("text", &self.text)
            .end();
        out.push('\n');
        out
    }
}

fn interval<'a>(object: Object<'a>, value: Interval) -> Object<'a> {
    object.number("least", value.least).maybe_number("most", value.most)
}

/// A standard deviation; `~` before one that is an estimate.
fn deviation(scale: Scale, own: &Statistics) -> String {
    let Some(deviation) = own.deviation() else { return "-".to_owned() };
    let mark = if deviation.estimate { "~" } else { "" };
    match scale.frequency {
        Some(_) => format!("{mark}{}", scale.text(Interval::point(deviation.value.round() as u64))),
        None => format!("{mark}{:.1}", deviation.value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn time(frequency: u64, duration: Interval) -> String {
        Scale { clock: Clock::Cycles, frequency: Some(frequency) }.text(duration)
    }

    #[test]
    fn times_contain_what_they_show() {
        for (frequency, duration, text) in [
            (1_000_000, Interval::point(12), "12.00 us"),
            (1_000_000_000, Interval::new(12_401, 12_999), "12.40..13.00 us"),
            (1_000_000_000, Interval::new(12_401, 12_402), "12.40 us"),
            (72_000_000, Interval::new(1, 2), "13.88..27.78 ns"),
            (1_000, Interval::at_least(1_500), "1.500.. s"),
            (1_000_000_000_000, Interval::point(1), "0.001 ns"),
            (1, Interval::point(12_345), "12345 s"),
            (3, Interval::point(1), "333.3 ms"),
        ] {
            assert_eq!(time(frequency, duration), text);
        }
    }

    #[test]
    fn shares() {
        assert_eq!(share(Interval::new(1, 2), 3), "33.3..66.7");
        assert_eq!(share(Interval::at_least(0), 0), "0.0..");
        assert_eq!(share(Interval::point(3), 3), "100.0");
    }
}
