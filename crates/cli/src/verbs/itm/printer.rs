//! Prints the events of the sources of an ITM.

use tracewright::Element;
use tracewright::analysis::itm::{Content, Entry, Interpreter, Samples};
use tracewright::capture::Capture;
use tracewright::symbols::Functions;
use tracewright::views::itm::{Clock, ExceptionTable, Format, SampleTable, Shown, View};
use tracewright::views::json;

use crate::args::ItmArgs;
use crate::fail::Fail;
use crate::inputs::Inputs;
use crate::output::Output;

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
    clock: Clock,
    functions: Functions,
    view: View,
    sources: Vec<Source>,
    output: Output,
    /// How often packets were lost, or bytes undecodable.
    losses: u64,
    /// Events have times.
    timed: bool,
}

struct Source {
    name: String,
    interpreter: Interpreter,
    samples: Samples,
}

impl Printer {
    /// Opens the output of `args` for sources with these names. `inputs`: the files that are read
    /// beside the input and the images of `args`.
    pub fn open(
        args: &ItmArgs,
        frequency: Option<u64>,
        names: Vec<String>,
        inputs: Inputs,
    ) -> Result<Printer, Fail> {
        let format = Format::from(args.format);
        let what = match (args.exceptions, args.profile) {
            (true, _) => What::Exceptions,
            (_, true) => What::Samples,
            _ => What::Events,
        };
        if what != What::Events && format == Format::Vcd {
            return Err(Fail::option("--format", "vcd", "it has events, not totals"));
        }
        let mut programs = Capture::default();
        for image in &args.images {
            programs.add_image(image)?;
        }
        let files = programs.memory.iter();
        let functions = Functions::of_files(
            files.filter_map(|dump| Some((dump.bytes.as_ref()?, dump.address))),
        );
        let inputs = inputs.file(Some(&args.input)).images(&args.images);
        let output = Output::open(args.output.as_deref(), &inputs)?;
        let clock = Clock { frequency };
        let shown = Shown {
            kinds: args.only.iter().map(|&kind| kind.into()).collect(),
            ports: args.ports.clone(),
        };
        let colour = output.colour();
        let view = View::new(format, shown, clock, functions.clone(), names.clone(), colour);
        let source = |name| Source {
            name,
            interpreter: Interpreter::default(),
            samples: Samples::default(),
        };
        let sources = names.into_iter().map(source).collect();
        let (losses, timed) = (0, false);
        Ok(Printer { what, format, clock, functions, view, sources, output, losses, timed })
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
        let Printer { what, view, sources, losses, timed, .. } = self;
        let Some(Source { interpreter, samples, .. }) = sources.get_mut(n) else { return };
        take(interpreter, &mut |entry| {
            *timed |= entry.time.is_some();
            match &entry.content {
                Content::Dwt { event, .. } => samples.event(*event),
                Content::Lost(_) | Content::Undecodable { .. } => *losses += 1,
                _ => {}
            }
            if *what == What::Events {
                view.entry(n, entry);
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
        text.is_empty() || self.output.put(text.as_bytes())
    }

    /// Writes the rest, and returns how often packets were lost, or bytes undecodable.
    pub fn close(mut self) -> Result<u64, Fail> {
        let text = match self.what {
            What::Events => self.view.finish(),
            What::Exceptions | What::Samples => self.tables(),
        };
        self.output.put(text.as_bytes());
        self.output.failed()?;
        self.output.close()?;
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
            let samples = SampleTable { samples: &source.samples, functions: &self.functions };
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
