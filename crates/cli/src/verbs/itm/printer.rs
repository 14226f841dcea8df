//! Prints the events of the sources of an ITM.

use std::collections::{BTreeSet, VecDeque};
use std::time::Duration;

use tracewright::analysis::itm::{Content, Entry, Interpreter, Origin, Samples};
use tracewright::base::Dwt;
use tracewright::capture::Capture;
use tracewright::export::samples::SampleFormat;
use tracewright::symbols::Functions;
use tracewright::views::itm::{
    Arrival, Clock, ExceptionTable, Format, Kind, SampleTable, Shown, View, ViewOptions,
};
use tracewright::views::json;
use tracewright::{Element, ImageSource};

use crate::args::ItmArgs;
use crate::fail::Fail;
use crate::inputs::Inputs;
use crate::output::Output;
use crate::{message, recordings};

/// What is printed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum What {
    Events,
    Exceptions,
    Samples,
}

/// The sources, and the output.
pub struct Printer {
    what: What,
    format: Format,
    of_samples: Option<SampleFormat>,
    clock: Clock,
    programs: Capture,
    functions: Functions,
    selected: Selected,
    view: View,
    sources: Vec<Source>,
    output: Output,
    /// How often packets were lost, or bytes undecodable.
    losses: u64,
    seen: Seen,
    /// Lines of events that were written, with the heads of tables.
    lines: usize,
    /// Events have times.
    timed: bool,
    arrivals: Arrivals,
}

/// What the trace has, by which the options select.
#[derive(Debug, Default)]
struct Seen {
    origins: BTreeSet<Origin>,
    kinds: Vec<Kind>,
}

impl Seen {
    fn entry(&mut self, entry: &Entry) {
        let kind = Kind::of(&entry.content);
        if !self.kinds.contains(&kind) {
            self.kinds.push(kind);
        }
        let origin = match &entry.content {
            Content::Write { channel, .. } | Content::Text { channel, .. } => Origin::of(*channel),
            Content::Dwt { event: Dwt::DataValue { comparator, .. }, .. } => {
                Some(Origin::Comparator(*comparator))
            }
            _ => None,
        };
        self.origins.extend(origin);
    }

    /// Notes on options that select nothing.
    fn notes(&self, args: &Selected) -> Vec<String> {
        let list = |names: Vec<String>, none: &str| match names.is_empty() {
            true => none.to_owned(),
            false => names.join(", "),
        };
        let port = |origin: &Origin| match origin {
            Origin::Port(port) => Some(port.to_string()),
            _ => None,
        };
        let ports = || list(self.origins.iter().filter_map(port).collect(), "none");
        let mut notes = Vec::new();
        for port in args.ports.iter().filter(|port| !self.origins.contains(&Origin::Port(**port))) {
            notes.push(format!(
                "--port {port}: nothing was written to it; ports that were written to: {}",
                ports()
            ));
        }
        for origin in args.signals.iter().filter(|origin| !self.origins.contains(origin)) {
            notes.push(match origin {
                Origin::Port(port) => format!(
                    "--type {port}: nothing was written to the port; ports that were written to: {}",
                    ports()
                ),
                Origin::Comparator(number) => {
                    format!("--type or --watch dwt{number}: the trace has no value of the comparator")
                }
                Origin::Master(master, channel) => {
                    format!("--type {master}:{channel}: nothing was written to the channel")
                }
            });
        }
        for kind in args.kinds.iter().filter(|kind| !self.kinds.contains(kind)) {
            let (kind, kinds) = (kind.name(), self.list());
            notes.push(format!("--only {kind}: the trace has no such events; it has: {kinds}"));
        }
        notes
    }

    /// The kinds of events that the trace has.
    fn list(&self) -> String {
        let kinds: Vec<&str> = self.kinds.iter().map(|kind| kind.name()).collect();
        if kinds.is_empty() { "none".to_owned() } else { kinds.join(", ") }
    }
}

/// What the options select.
#[derive(Debug, Default)]
struct Selected {
    ports: Vec<u16>,
    kinds: Vec<Kind>,
    signals: Vec<Origin>,
}

/// When the bytes of a live trace arrived: the offset after them, and the time.
#[derive(Default)]
struct Arrivals(VecDeque<(u64, Arrival)>);

/// The most arrivals that are stored; those of later bytes are as late as the last one.
const MAX_ARRIVALS: usize = 1 << 16;

impl Arrivals {
    fn add(&mut self, end: u64, at: Duration) {
        let at = Arrival(u64::try_from(at.as_nanos()).unwrap_or(u64::MAX));
        if self.0.len() >= MAX_ARRIVALS {
            self.0.pop_back();
        }
        self.0.push_back((end, at));
    }

    /// When the byte at `offset` arrived. Offsets never fall.
    fn of(&mut self, offset: u64) -> Option<Arrival> {
        while self.0.front().is_some_and(|(end, _)| *end <= offset) {
            self.0.pop_front();
        }
        self.0.front().map(|(_, at)| *at)
    }
}

struct Source {
    name: String,
    interpreter: Interpreter,
    samples: Samples,
}

impl Printer {
    /// Opens the output of `args` for sources with these names. `inputs`: the files that are read
    /// beside the input and the images of `args`. `comparators`: the addresses that the capture
    /// records.
    pub fn open(
        args: &ItmArgs,
        frequency: Option<u64>,
        names: Vec<String>,
        inputs: Inputs,
        mut comparators: [Option<u32>; 4],
    ) -> Result<Printer, Fail> {
        let of_samples = args.format.samples();
        let format = args.format.events().unwrap_or_default();
        let what = match (args.exceptions, args.profile) {
            (true, _) => What::Exceptions,
            (_, true) => What::Samples,
            _ => What::Events,
        };
        if what != What::Samples && of_samples.is_some() {
            let why = "it is for samples of the program counter; add --profile";
            return Err(Fail::option("--format", "of samples", why));
        }
        let has_totals = matches!(format, Format::Text | Format::Json | Format::Csv);
        if what != What::Events && !has_totals {
            let why = "it is for events; text, json and csv have totals";
            return Err(Fail::option("--format", "of --exceptions and --profile", why));
        }
        for &(n, address) in &args.comparators {
            if let Some(known) = comparators.get_mut(n) {
                *known = Some(address);
            }
        }
        let mut programs = Capture::default();
        for image in &args.images {
            programs.add_image(&ImageSource::parse(image)?)?;
        }
        let functions = Functions::of_files(recordings::elf_files(&programs));
        let inputs = inputs.file(Some(&args.input)).images(&args.images);
        let signals = args.signals.signals(&programs, comparators)?;
        let output = Output::open_lines(args.output.as_deref(), &inputs)?;
        let clock = Clock { frequency };
        let shown = Shown {
            kinds: args.only.iter().map(|&kind| kind.into()).collect(),
            ports: args.ports.clone(),
        };
        let (colour, exact) = (output.colour(), !output.is_terminal());
        let options =
            ViewOptions { format, shown, clock, functions: functions.clone(), colour, exact };
        let selected = Selected {
            ports: args.ports.clone(),
            kinds: options.shown.kinds.clone(),
            signals: signals.origins().collect(),
        };
        let view = View::new(options, &names);
        let source = |name| Source {
            name,
            interpreter: Interpreter::with_signals(signals.clone()),
            samples: Samples::default(),
        };
        let sources = names.into_iter().map(source).collect();
        let (losses, timed, arrivals) = (0, false, Arrivals::default());
        Ok(Printer {
            what,
            format,
            of_samples,
            clock,
            programs,
            functions,
            selected,
            view,
            sources,
            output,
            losses,
            seen: Seen::default(),
            lines: 0,
            timed,
            arrivals,
        })
    }

    /// The bytes of a live trace before offset `end` have arrived, `at` after the beginning.
    pub fn arrived(&mut self, end: u64, at: Duration) {
        self.arrivals.add(end, at);
    }

    /// Takes elements of the first source. `times`: the time of each byte.
    pub fn elements(
        &mut self,
        elements: impl Iterator<Item = (u64, Element)>,
        times: Option<&[u64]>,
    ) {
        for (at, element) in elements {
            let time = times.and_then(|times| times.get(usize::try_from(at).ok()?).copied());
            self.element(0, at, time, &element);
        }
    }

    /// Takes an element of a source.
    pub fn element(&mut self, source: usize, at: u64, time: Option<u64>, element: &Element) {
        self.with(source, |interpreter, emit| interpreter.element(at, time, element, emit));
    }

    /// A short time of a live trace has passed.
    pub fn tick(&mut self) {
        for source in 0..self.sources.len() {
            self.with(source, |interpreter, emit| interpreter.tick(emit));
        }
    }

    /// A longer time of a live trace has passed.
    pub fn silence(&mut self) {
        for source in 0..self.sources.len() {
            self.with(source, |interpreter, emit| interpreter.silence(emit));
        }
    }

    fn with(&mut self, n: usize, take: impl FnOnce(&mut Interpreter, &mut dyn FnMut(&Entry))) {
        let Printer { what, view, sources, losses, seen, timed, arrivals, .. } = self;
        let Some(Source { interpreter, samples, .. }) = sources.get_mut(n) else { return };
        take(interpreter, &mut |entry| {
            *timed |= entry.time.is_some();
            seen.entry(entry);
            match &entry.content {
                Content::Dwt { event, .. } => samples.event(*event),
                Content::Lost(_) | Content::Undecodable { .. } => *losses += 1,
                _ => {}
            }
            if *what == What::Events {
                view.entry(n, entry, arrivals.of(entry.at));
            }
        });
    }

    /// Whether events wait for their times.
    pub fn is_waiting(&self) -> bool {
        self.sources.iter().any(|source| source.interpreter.is_waiting())
    }

    /// Whether an event had a time.
    pub fn has_time(&self) -> bool {
        self.timed
    }

    /// Whether the reader closed the output.
    pub fn is_closed(&self) -> bool {
        self.output.closed()
    }

    /// Writes the events so far, and returns whether more can be written.
    pub fn write(&mut self) -> bool {
        let text = match self.what {
            What::Events => self.view.take(),
            What::Exceptions | What::Samples => String::new(),
        };
        self.lines += text.lines().count();
        text.is_empty() || self.output.put(text.as_bytes())
    }

    /// Whether the trace has no events.
    pub fn is_empty(&self) -> bool {
        self.seen.kinds.is_empty()
    }

    /// What the output lacks, where it has nothing of what was asked for.
    fn lacking(&self) -> Option<String> {
        let has = |kind| self.seen.kinds.contains(&kind);
        let option = match (self.what, self.format) {
            (What::Exceptions, _) if !has(Kind::Exception) => "--exceptions: the trace has none",
            (What::Samples, _) if !has(Kind::Sample) => {
                "--profile: the trace has no samples of the program counter"
            }
            (What::Events, Format::Plain) if self.lines == 0 => {
                "--format plain: there are no lines of text to print"
            }
            (What::Events, Format::PlotJuggler) if self.lines == 0 => {
                "--format plotjuggler: there are no values to print"
            }
            (What::Events, Format::Wide) if self.lines <= 1 => {
                "--format wide: there are no values to print"
            }
            (What::Events, Format::Vcd)
                if matches!(self.selected.kinds.as_slice(), [Kind::Text]) =>
            {
                "--only text: a Value Change Dump has no text; --only write selects the writes"
            }
            _ => return None,
        };
        Some(format!("{option}; events of the trace: {}", self.seen.list()))
    }

    /// Writes the rest, and returns how often packets were lost, or bytes undecodable.
    pub fn close(mut self) -> Result<u64, Fail> {
        let text = match self.what {
            What::Events => self.view.finish(),
            What::Exceptions | What::Samples if self.of_samples.is_none() => self.tables(),
            What::Exceptions | What::Samples => String::new(),
        };
        self.lines += text.lines().count();
        self.output.put(text.as_bytes());
        if let Some(format) = self.of_samples {
            let mut all = Samples::default();
            self.sources.iter().for_each(|source| all.add(&source.samples));
            let profile = recordings::sample_profile(&all, &self.programs);
            self.output.put(&format.write(&profile));
        }
        let mut notes = self.seen.notes(&self.selected);
        notes.extend(self.lacking());
        self.output.failed()?;
        self.output.close()?;
        notes.iter().for_each(|note| message::line(&format!("note: {note}")));
        Ok(self.losses)
    }

    fn tables(&self) -> String {
        let mut text = match self.format {
            Format::Json => json::head("itm"),
            _ => String::new(),
        };
        for source in &self.sources {
            if self.sources.len() > 1 && self.format == Format::Text {
                text += &format!("{}\n", tracewright::capture::plain::line(&source.name));
            }
            let exceptions =
                ExceptionTable { exceptions: source.interpreter.exceptions(), clock: self.clock };
            let (samples, functions) = (&source.samples, &self.functions);
            let samples = SampleTable { samples, functions, limit: None, name: None };
            text += &match (self.what, self.format) {
                (What::Exceptions, Format::Json) => exceptions.json(&source.name),
                (What::Exceptions, Format::Csv) => exceptions.csv(),
                (What::Exceptions, _) => exceptions.text(),
                (_, Format::Json) => samples.json(&source.name),
                (_, Format::Csv) => samples.csv(),
                (..) => tracewright::capture::plain::plain(&samples.text()).into_owned(),
            };
        }
        text
    }
}
