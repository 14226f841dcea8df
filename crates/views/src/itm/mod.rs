//! The events of an ITM as text, JSON Lines, CSV and Value Change Dump, and its values for plots.
//!
//! | file | contents |
//! |---|---|
//! | `kinds.rs` | [`Kind`]: the kinds of events, and which are shown |
//! | `clock.rs` | [`Clock`]: ticks as seconds |
//! | `text.rs` | text |
//! | `json.rs` | JSON Lines |
//! | `csv.rs` | comma-separated values |
//! | `vcd.rs` | Value Change Dump |
//! | `plots.rs` | values: comma-separated with a column for each signal, JSON for PlotJuggler |
//! | `tables.rs` | totals of exceptions, and samples of the program counter by function |

mod clock;
pub(crate) mod csv;
mod json;
mod kinds;
mod plots;
mod tables;
mod text;
mod vcd;

use std::fmt;

use tracewright_analysis::itm::{Content, Entry};
use tracewright_base::{Channel, Dwt, ExceptionStep, is_unshown};
use tracewright_capture::plain::line;
use tracewright_symbols::Functions;

pub use clock::Clock;
pub use kinds::{Kind, Shown};
pub use tables::{ExceptionTable, SampleTable};

/// The format of events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// Text: byte offset, time, event.
    #[default]
    Text,
    /// JSON Lines.
    Json,
    /// Comma-separated values, with a header line. (RFC 4180)
    Csv,
    /// Value Change Dump. (IEEE 1364, 18.2)
    Vcd,
    /// The lines of text, and nothing else.
    Plain,
    /// Comma-separated values of signals: a row for each time, a column for each signal.
    Wide,
    /// A JSON object for each value with its time, which PlotJuggler reads.
    PlotJuggler,
}

/// When an event of a live trace arrived: nanoseconds since the reader began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival(pub u64);

impl fmt::Display for Arrival {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:06}", self.0 / 1_000_000_000, self.0 / 1000 % 1_000_000)
    }
}

/// What is written, and how.
#[derive(Clone, Debug, Default)]
pub struct ViewOptions {
    /// The format.
    pub format: Format,
    /// The events.
    pub shown: Shown,
    /// The clock of their times.
    pub clock: Clock,
    /// The functions of addresses.
    pub functions: Functions,
    /// Whether to use colours.
    pub colour: bool,
    /// [`Plain`](Format::Plain): characters are written as they were sent, also those that a
    /// terminal interprets.
    pub exact: bool,
}

/// Writes events.
#[derive(Debug)]
pub struct View {
    options: ViewOptions,
    /// The names of the sources.
    sources: Vec<String>,
    changes: vcd::Changes,
    table: plots::Table,
    out: String,
}

impl View {
    /// A view of `sources`.
    pub fn new(options: ViewOptions, sources: &[String]) -> View {
        let sources = sources.iter().map(|name| line(name).into_owned()).collect();
        let mut out = String::new();
        match options.format {
            Format::Json => out.push_str(&crate::json::head("itm")),
            Format::Csv => csv::head(&mut out),
            _ => {}
        }
        let (changes, table) = (vcd::Changes::default(), plots::Table::default());
        View { options, sources, changes, table, out }
    }

    /// Writes an event of a source. `arrival`: when it arrived, of a live trace.
    pub fn entry(&mut self, source: usize, entry: &Entry, arrival: Option<Arrival>) {
        let ViewOptions { format, shown, clock, functions, colour, exact } = &self.options;
        if !shown.shows(entry, *format) {
            return;
        }
        let name = self.sources.get(source).map_or("", String::as_str);
        // The name of the only source is not repeated.
        let several = (self.sources.len() > 1).then_some(name);
        match format {
            Format::Text => {
                let line = text::Line { clock, functions };
                line.write(several, entry, arrival, *colour, &mut self.out);
            }
            Format::Json => json::line(name, entry, arrival, clock, functions, &mut self.out),
            Format::Csv => csv::line(name, entry, arrival, clock, &mut self.out),
            Format::Vcd => self.changes.entry(several, entry, clock),
            Format::Plain => {
                if let Some(text) = text_of(&entry.content) {
                    match exact {
                        true => self.out.push_str(&text),
                        false => self.out.push_str(&line(&text)),
                    }
                    self.out.push('\n');
                }
            }
            Format::Wide => self.table.entry(several, entry),
            Format::PlotJuggler => plots::json(several, entry, arrival, clock, &mut self.out),
        }
    }

    /// Takes the output so far.
    pub fn take(&mut self) -> String {
        std::mem::take(&mut self.out)
    }

    /// The rest of the output.
    pub fn finish(&mut self) -> String {
        match self.options.format {
            Format::Vcd => self.changes.write(&self.options.clock, &mut self.out),
            Format::Wide => self.table.write(&self.options.clock, &mut self.out),
            _ => {}
        }
        self.take()
    }
}

/// The number of a port: its page counts 32 ports. A page that is not known is 0.
fn port(channel: Channel) -> Option<u16> {
    match channel {
        Channel::Port { page, port } => Some(u16::from(page.unwrap_or(0)) * 32 + u16::from(port)),
        Channel::Master { .. } => None,
    }
}

/// The name of an exception.
pub(crate) fn exception_name(number: u16) -> String {
    let text = Dwt::Exception { number, step: ExceptionStep::Exited }.to_string();
    text.strip_prefix("exited ").unwrap_or(&text).to_owned()
}

const fn step_name(step: ExceptionStep) -> &'static str {
    match step {
        ExceptionStep::Entered => "entered",
        ExceptionStep::Exited => "exited",
        ExceptionStep::Returned => "returned",
    }
}

/// `main+0x14`, where a function has `pc`.
fn symbol(functions: &Functions, pc: u32) -> Option<String> {
    let function = functions.get(functions.at(pc.into()).function?)?;
    let name = line(&function.name);
    Some(match u64::from(pc).checked_sub(function.start) {
        // `None`: a part of the function that is elsewhere.
        Some(0) | None => name.into_owned(),
        Some(offset) => format!("{name}+{offset:#x}"),
    })
}

/// `value` of `size` bytes, in hexadecimal.
fn number(value: u32, size: u8) -> String {
    let width = usize::from(size) * 2 + 2;
    format!("{value:#0width$x}")
}

/// Appends a character of a text, escaped where it is not shown.
fn escape(c: char, out: &mut String) {
    if is_unshown(c) { out.extend(c.escape_default()) } else { out.push(c) }
}

/// The text of `content`, where it is text.
fn text_of(content: &Content) -> Option<String> {
    match content {
        Content::Text { text, .. } => Some(String::from_utf8_lossy(text).into_owned()),
        _ => None,
    }
}
