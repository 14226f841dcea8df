//! Listings, as the command prints them on its standard output.

use std::collections::{BTreeMap, VecDeque};

use tracewright::base::MAX_EXPANSION;
use tracewright::capture::Buffer;
use tracewright::decode::ordered::Part;
use tracewright::decode::pulled::{self, Pull};
use tracewright::decode::{Folded, Fork, Tally, Timed, TimedText};
use tracewright::index::Window;
use tracewright::joined::traces_time;
use tracewright::views::contradictions::Contradictions;
use tracewright::views::instructions::{Expand, Json, Picked, Slice, Text};
use tracewright::views::json::{self, Object};
use tracewright::views::range_limit::RangeLimit;
use tracewright::views::{Filter, text};
use tracewright::{Listener, decode::interleaved};

use crate::opening::Opened;
use crate::printer::Printer;
use crate::reply::{Problem, Reply, texts};
use crate::request::Request;
use crate::running::{self, Ran, Running};

/// What is listed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Verb {
    Packets,
    Decode,
    Instructions,
}

/// What a listing has, and its form.
struct Listing<'a> {
    opened: &'a Opened,
    verb: Verb,
    is_json: bool,
    shown: text::Shown,
    /// Timestamps are recorded.
    timed: bool,
}

/// Lists the trace. The listing is output; the answer has the summaries and the notes, which the
/// command prints to its standard error.
pub(crate) fn run(opened: &Opened, request: &Request<'_>) -> Result<Reply, Problem> {
    request.only(&[
        "verb", "format", "packets", "bytes", "explain", "offset", "element", "time", "limit",
    ])?;
    let (verb, name) = match request.needed("verb")? {
        "packets" => (Verb::Packets, "packets"),
        "decode" => (Verb::Decode, "decode"),
        "instructions" => (Verb::Instructions, "instructions"),
        other => {
            return Err(Problem::bad(format!("`{other}` is not packets, decode or instructions")));
        }
    };
    let is_json = match request.get("format") {
        None | Some("text") => false,
        Some("json") => true,
        Some(other) => return Err(Problem::bad(format!("`{other}` is not text or json"))),
    };
    let shown = text::Shown {
        packets: verb == Verb::Packets || request.is("packets")?,
        bytes: request.is("bytes")?,
        fields: request.is("explain")?,
        elements: verb == Verb::Decode,
        ..Default::default()
    };
    let window = Window {
        offset: request.range("offset")?,
        element: request.range("element")?,
        time: request.range("time")?,
        ..Window::default()
    };
    let series = series(opened);
    let listing = Listing { opened, verb, is_json, shown, timed: series.is_some() };
    let mut printer = Printer::new(request.number("limit")?);
    if is_json {
        printer.put(json::head(name).as_bytes());
    }
    let mut end = End { listing: &listing, printer, tallies: BTreeMap::new(), headed: Vec::new() };
    end.headed.resize(opened.trace.plans().len(), false);
    end.list(series, &window)?;
    end.printer.flush();
    Ok(Reply::json(end.summary(!window.is_all())))
}

/// The buffers of each CPU or thread, where there are several, and all of their trace units trace
/// timestamps: their output is in the order of time.
fn series(opened: &Opened) -> Option<Vec<Vec<usize>>> {
    let capture = opened.trace.capture();
    let linux = capture.linux.as_ref()?;
    let mut series = BTreeMap::new();
    for (n, plan) in opened.trace.plans().iter().enumerate() {
        let part = linux.parts.get(plan.buffer)?;
        series.entry(part.queue).or_insert_with(Vec::new).push(n);
    }
    if series.len() < 2 || series.len() > interleaved::MAX_SERIES {
        return None;
    }
    let mut sources = capture.sources.iter().filter(|source| !source.buffers.is_empty());
    sources.all(traces_time).then(|| series.into_values().collect())
}

/// The counts of a buffer, and the text after its entries.
type Found = Result<(Tally, String), Problem>;

/// A buffer that is listed.
trait Task {
    fn next(&mut self) -> Option<TimedText>;
    fn finish(self: Box<Self>) -> Found;
    /// Lists the part inside a window, all of it where that is everything.
    fn part(self: Box<Self>, window: &Window, write: &mut dyn FnMut(TimedText) -> bool) -> Found;
}

/// A task, and the part of its buffer that is listed, which is decoded as a whole.
struct Pulled<'a> {
    task: Option<Result<Box<dyn Task + 'a>, Problem>>,
    window: Option<&'a Window>,
    texts: VecDeque<TimedText>,
    found: Option<Found>,
}

impl Pull for Pulled<'_> {
    type Result = Found;

    fn next(&mut self) -> Option<TimedText> {
        let Some(window) = self.window else {
            return self.task.as_mut()?.as_mut().ok()?.next();
        };
        if let Some(task) = self.task.take() {
            let texts = &mut self.texts;
            let mut write = |text| {
                texts.push_back(text);
                true
            };
            self.found = Some(task.and_then(|task| task.part(window, &mut write)));
        }
        self.texts.pop_front()
    }

    fn finish(self) -> Found {
        match (self.found, self.task) {
            (Some(found), _) => found,
            (None, Some(task)) => task?.finish(),
            (None, None) => Err(Problem::bad("nothing was decoded")),
        }
    }
}

/// What follows the last element.
trait Last {
    fn last(&mut self) {}
}

impl<L: Listener> Last for Folded<L> {
    fn last(&mut self) {
        self.finish();
    }
}

impl<L> Last for Timed<L> {}

/// A buffer, its listener, and what makes the text after its entries.
struct Work<'a, L, E> {
    running: Running<L>,
    buffer: &'a Buffer,
    ended: bool,
    end: E,
}

impl<L, E> Task for Work<'_, L, E>
where
    L: Listener + Fork<Output = TimedText> + Last + Send,
    E: FnOnce(&Tally) -> String,
{
    fn next(&mut self) -> Option<TimedText> {
        if let Some(text) = self.running.next() {
            return Some(text);
        }
        if std::mem::replace(&mut self.ended, true) {
            return None;
        }
        self.running.listener.last();
        Some(self.running.listener.take())
    }

    fn finish(self: Box<Self>) -> Found {
        let Ran { tally, .. } = self.running.finish()?;
        let end = (self.end)(&tally);
        Ok((tally, end))
    }

    fn part(self: Box<Self>, window: &Window, write: &mut dyn FnMut(TimedText) -> bool) -> Found {
        let Running { session, listener, .. } = self.running;
        let ran = running::part(session, self.buffer, window, listener, &mut *write)?;
        let Ran { mut listener, tally } = ran;
        listener.last();
        write(listener.take());
        let end = (self.end)(&tally);
        Ok((tally, end))
    }
}

impl<'a> Listing<'a> {
    /// Begins the listing of the buffer of the plan with this number.
    fn task(&self, n: usize) -> Result<Box<dyn Task + 'a>, Problem> {
        let trace = &self.opened.trace;
        let absent = || Problem::bad("there is no such buffer");
        let plan = trace.plans().get(n).ok_or_else(absent)?;
        let buffer = trace.capture().buffers.get(plan.buffer).ok_or_else(absent)?;
        let (name, len, sources) = (&buffer.name, buffer.size(), trace.sources_of(n));
        let session = trace.session(plan).map_err(|error| Problem::of(&error))?;
        let limit =
            RangeLimit::new(sources.len(), trace.options().max_expansion.max(MAX_EXPANSION));
        let folds = self.verb == Verb::Decode;
        let none = || Filter::new(Vec::new(), None, None);
        let summary = move |tally: &Tally| json::summary(sources, name, tally, None);
        let own = || sources.to_vec();
        Ok(match (self.verb, self.is_json) {
            (Verb::Instructions, false) => {
                let view = Text::new(Vec::new(), own(), false).with_names(self.timed);
                let view = Expand::new(Picked::new(Slice::new(view, None), none()), sources);
                let view = Timed::when(self.timed, view);
                let end = |tally: &Tally| Contradictions::of(tally).misfit();
                work(Running::new(session, buffer, view), buffer, end)
            }
            (Verb::Instructions, true) => {
                let mut view = Json::new(Vec::new(), plan, own(), name, len);
                // The line of the buffer is the heading.
                view.take();
                let view = Expand::new(Picked::new(Slice::new(view, None), none()), sources);
                let view = Timed::when(self.timed, view);
                work(Running::new(session, buffer, view), buffer, summary)
            }
            (_, false) => {
                let view = text::Listing::new(Vec::new(), own(), len, self.shown).with_limit(limit);
                let view = Folded::when(folds, plan, Timed::when(self.timed, view));
                work(Running::new(session, buffer, view), buffer, |_: &Tally| String::new())
            }
            (_, true) => {
                let text::Shown { packets, fields, elements, .. } = self.shown;
                let shown = json::Shown { packets, fields, elements };
                let mut view = json::Listing::new(Vec::new(), plan, own(), name, len, shown);
                view.take();
                let view =
                    Folded::when(folds, plan, Timed::when(self.timed, view.with_limit(limit)));
                work(Running::new(session, buffer, view), buffer, summary)
            }
        })
    }

    /// The text before the entries of a buffer.
    fn heading(&self, n: usize) -> String {
        let trace = &self.opened.trace;
        let Some(plan) = trace.plans().get(n).filter(|_| self.is_json) else {
            return String::new();
        };
        let Some(buffer) = trace.capture().buffers.get(plan.buffer) else { return String::new() };
        json::buffer(plan, trace.sources_of(n), &buffer.name, buffer.size())
    }
}

fn work<'a, L, E>(running: Running<L>, buffer: &'a Buffer, end: E) -> Box<dyn Task + 'a>
where
    L: Listener + Fork<Output = TimedText> + Last + Send + 'a,
    E: FnOnce(&Tally) -> String + 'a,
{
    Box::new(Work { running, buffer, ended: false, end })
}

/// The output, and the counts of each buffer.
struct End<'l, 'a> {
    listing: &'l Listing<'a>,
    printer: Printer,
    tallies: BTreeMap<usize, Tally>,
    /// The heading of each buffer is printed.
    headed: Vec<bool>,
}

impl End<'_, '_> {
    fn list(&mut self, series: Option<Vec<Vec<usize>>>, window: &Window) -> Result<(), Problem> {
        let listing = self.listing;
        let mut failed = None;
        if let Some(series) = series {
            let window = (!window.is_all()).then_some(window);
            let start = |&n: &usize| {
                let task = Some(listing.task(n));
                Pulled { task, window, texts: VecDeque::new(), found: None }
            };
            pulled::each(&series, start, |&n, part| self.receive(n, part, &mut failed));
        } else {
            for n in 0..self.headed.len() {
                let mut more = true;
                let found = listing.task(n)?.part(window, &mut |text| {
                    more = more && self.receive(n, Part::Output(text.text), &mut failed);
                    more
                });
                if !more || !self.receive(n, Part::Done(found), &mut failed) {
                    break;
                }
            }
        }
        failed.map_or(Ok(()), Err)
    }

    /// Prints a part of buffer `n`. Returns whether more is needed.
    fn receive(&mut self, n: usize, part: Part<Found>, failed: &mut Option<Problem>) -> bool {
        if let Some(headed) = self.headed.get_mut(n)
            && !std::mem::replace(headed, true)
        {
            let heading = self.listing.heading(n);
            if !heading.is_empty()
                && (!self.printer.put(heading.as_bytes()) || self.printer.is_full())
            {
                return false;
            }
        }
        match part {
            Part::Output(lines) => self.printer.lines(&lines),
            Part::Done(Ok((tally, end))) => {
                self.tallies.insert(n, tally);
                self.printer.put(end.as_bytes())
            }
            Part::Done(Err(problem)) => {
                *failed = Some(problem);
                false
            }
        }
    }

    /// The summaries of what was decoded, and the notes.
    fn summary(&self, is_part: bool) -> String {
        let opened = self.listing.opened;
        let tallies = self.tallies.iter();
        let summaries = tallies.filter_map(|(&n, tally)| opened.trace.decoded(n, tally));
        let mut notes = opened.notes();
        let mut all = Vec::new();
        for decoded in summaries.filter(|_| !is_part) {
            let diagnosis = decoded.diagnosis();
            notes.extend(diagnosis.cause.iter().map(|cause| decoded.cause_remark(cause).what));
            notes.extend(diagnosis.remarks.into_iter().map(|remark| remark.what));
            all.push(decoded.summary());
        }
        let mut out = String::new();
        Object::new(&mut out)
            .value("summaries", |out| texts(out, &all))
            .value("notes", |out| texts(out, &notes))
            .end();
        out
    }
}
