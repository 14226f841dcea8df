//! The events of an ITM as text, JSON Lines, CSV and Value Change Dump.
//!
//! | file | contents |
//! |---|---|
//! | `kinds.rs` | [`Kind`]: the kinds of events, and which are shown |
//! | `clock.rs` | [`Clock`]: ticks as seconds |
//! | `text.rs` | text |
//! | `json.rs` | JSON Lines |
//! | `csv.rs` | comma-separated values |
//! | `vcd.rs` | Value Change Dump |
//! | `tables.rs` | totals of exceptions, and samples of the program counter by function |

mod clock;
mod csv;
mod json;
mod kinds;
mod tables;
mod text;
mod vcd;

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
}

/// Writes events.
#[derive(Debug)]
pub struct View {
    format: Format,
    shown: Shown,
    clock: Clock,
    functions: Functions,
    /// The names of the sources.
    sources: Vec<String>,
    colour: bool,
    changes: vcd::Changes,
    out: String,
}

impl View {
    /// A view of `sources`, with the names of `functions`.
    pub fn new(
        format: Format,
        shown: Shown,
        clock: Clock,
        functions: Functions,
        sources: Vec<String>,
        colour: bool,
    ) -> View {
        let changes = vcd::Changes::default();
        let sources = sources.iter().map(|name| line(name).into_owned()).collect();
        let mut out = String::new();
        match format {
            Format::Json => out.push_str(&crate::json::head("itm")),
            Format::Csv => csv::head(&mut out),
            Format::Text | Format::Vcd => {}
        }
        View { format, shown, clock, functions, sources, colour, changes, out }
    }

    /// Writes an event of a source.
    pub fn entry(&mut self, source: usize, entry: &Entry) {
        if !self.shown.shows(entry, self.format) {
            return;
        }
        let name = self.sources.get(source).map_or("", String::as_str);
        // The name of the only source is not repeated.
        let several = (self.sources.len() > 1).then_some(name);
        match self.format {
            Format::Text => {
                let line = text::Line { clock: &self.clock, functions: &self.functions };
                line.write(several, entry, self.colour, &mut self.out);
            }
            Format::Json => json::line(name, entry, &self.clock, &self.functions, &mut self.out),
            Format::Csv => csv::line(name, entry, &self.clock, &mut self.out),
            Format::Vcd => self.changes.entry(several, entry, &self.clock),
        }
    }

    /// Takes the output so far.
    pub fn take(&mut self) -> String {
        std::mem::take(&mut self.out)
    }

    /// The rest of the output.
    pub fn finish(&mut self) -> String {
        if self.format == Format::Vcd {
            self.changes.write(&self.clock, &mut self.out);
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
