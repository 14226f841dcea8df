//! Events as text: byte offset, time, event.

use std::fmt::Write;

use tracewright_analysis::itm::{Content, Entry, Origin, Reading, Span, Value};
use tracewright_base::{Channel, Dwt, ExceptionStep};
use tracewright_capture::plain;
use tracewright_symbols::Functions;

use super::{Arrival, Clock, Kind, escape, exception_name, port, symbol};
use crate::text::Tone;

/// What a line needs.
pub(super) struct Line<'a> {
    pub(super) clock: &'a Clock,
    pub(super) functions: &'a Functions,
}

impl Line<'_> {
    /// Appends the line of an event.
    pub(super) fn write(
        &self,
        source: Option<&str>,
        entry: &Entry,
        arrival: Option<Arrival>,
        colour: bool,
        out: &mut String,
    ) {
        let start = out.len();
        let time = match (entry.time, arrival) {
            (Some(time), _) if entry.late => format!("~{}", self.clock.time(time)),
            (Some(time), _) => self.clock.time(time),
            (None, Some(arrival)) => format!("@{arrival}"),
            (None, None) => "-".to_owned(),
        };
        let _ = write!(out, "{:>9}  {time:>14}  ", entry.at);
        if let Some(source) = source {
            let _ = write!(out, "{}  ", plain::line(source));
        }
        if colour {
            Tone::Quiet.paint(start, out);
        }
        let start = out.len();
        match &entry.content {
            Content::Text { channel, text } => {
                let _ = write!(out, "{:<10} ", channel_name(*channel));
                for chunk in text.utf8_chunks() {
                    chunk.valid().chars().for_each(|c| match c {
                        '\t' => out.push(c),
                        c => escape(c, out),
                    });
                    chunk.invalid().iter().for_each(|byte| _ = write!(out, "\\x{byte:02x}"));
                }
            }
            Content::Write { channel, bits, value, .. } => {
                let width = usize::from(bits.div_ceil(4)) + 2;
                let _ = write!(out, "{:<10} {value:#0width$x}", channel_name(*channel));
            }
            Content::Value(value) => self.value(value, out),
            Content::Dwt { event, span } => {
                let _ = write!(out, "{:<10} ", Kind::of(&entry.content).name());
                self.event(*event, *span, out);
            }
            Content::GlobalTime(value) => _ = write!(out, "{:<10} {value}", "time"),
            Content::Lost(gap) => _ = write!(out, "{:<10} {gap}", "lost"),
            Content::Undecodable { len, fault } => {
                let _ = write!(out, "{:<10} {len} undecodable bytes: {fault}", "lost");
            }
        }
        let tone = match Kind::of(&entry.content) {
            Kind::Text | Kind::Write | Kind::Value => Some(Tone::Output),
            Kind::Lost | Kind::Reserved => Some(Tone::Lost),
            _ => None,
        };
        if let Some(tone) = tone.filter(|_| colour) {
            tone.paint(start, out);
        }
        out.push('\n');
    }

    fn value(&self, value: &Value, out: &mut String) {
        let _ = match value.origin {
            Origin::Port(port) => write!(out, "{:<10} ", format!("port {port}")),
            Origin::Master(master, channel) => {
                let (master, channel) = (Some(master), Some(channel));
                write!(out, "{:<10} ", channel_name(Channel::Master { master, channel }))
            }
            Origin::Comparator(_) => write!(out, "{:<10} ", "data"),
        };
        if value.name != value.origin.to_string() || matches!(value.origin, Origin::Comparator(_)) {
            let _ = write!(out, "{} ", plain::line(&value.name));
        }
        let _ = write!(out, "{}", value.reading);
        if let Reading::Address(address) = value.reading
            && let Some(symbol) =
                u32::try_from(address).ok().and_then(|pc| symbol(self.functions, pc))
        {
            let _ = write!(out, " <{symbol}>");
        }
        if !value.unit.is_empty() {
            let _ = write!(out, " {}", plain::line(&value.unit));
        }
    }

    fn event(&self, event: Dwt, span: Option<Span>, out: &mut String) {
        let Dwt::Exception { number, step } = event else {
            let _ = match event {
                Dwt::Reserved { discriminator, size, value } => {
                    write!(out, "source {discriminator} <- {}", super::number(value, size))
                }
                event => write!(out, "{event}"),
            };
            if let Some(symbol) = event.pc().and_then(|pc| symbol(self.functions, pc)) {
                let _ = write!(out, " <{symbol}>");
            }
            return;
        };
        let name = exception_name(number);
        let span = span.unwrap_or_default();
        let _ = match step {
            ExceptionStep::Entered => write!(out, "entered {name}"),
            ExceptionStep::Exited => write!(out, "exited {name}"),
            ExceptionStep::Returned => write!(out, "returned to {name}"),
        };
        if let Some(duration) = span.duration {
            let (least, most) = (duration.least, self.clock.duration(duration.most));
            let _ = match (duration.measured(), least) {
                (Some(_), _) => write!(out, " after {most}"),
                (None, 0) => write!(out, " after at most {most}"),
                (None, _) => write!(out, " after {} to {most}", self.clock.plain_duration(least)),
            };
        }
        if let Some((ended, duration)) = span.ended {
            let most = self.clock.duration(duration.most);
            let ended = exception_name(ended);
            let _ = match duration.least {
                0 => write!(out, ", {ended} had ended after at most {most}"),
                least => {
                    let least = self.clock.plain_duration(least);
                    write!(out, ", {ended} had ended after {least} to {most}")
                }
            };
        }
        if step == ExceptionStep::Entered && span.depth > 1 {
            let _ = write!(out, ", nested {} deep", span.depth);
        }
    }
}

/// The name of a port or channel.
fn channel_name(channel: Channel) -> String {
    match (channel, port(channel)) {
        (_, Some(port)) => format!("port {port}"),
        (other, None) => other.to_string(),
    }
}
