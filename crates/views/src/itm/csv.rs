//! Events as comma-separated values. (RFC 4180)

use std::borrow::Cow;
use std::fmt::Write;

use tracewright_analysis::itm::{Content, Duration, Entry, Origin, Reading};
use tracewright_base::{Channel, Dwt};
use tracewright_capture::plain;

use super::{Arrival, Clock, Kind, escape, exception_name, number, port, step_name, text_of};

/// The names of the columns. A column without a value is empty.
const COLUMNS: &str = "offset,time,seconds,source,kind,port,channel,number,name,step,depth,duration,\
                       comparator,direction,address,value,text,bits,unit,arrival";

/// Appends the header.
pub(super) fn head(out: &mut String) {
    out.push_str(COLUMNS);
    out.push('\n');
}

/// The values of a row.
#[derive(Default)]
struct Row {
    port: String,
    channel: String,
    number: String,
    name: String,
    step: &'static str,
    depth: String,
    duration: String,
    comparator: String,
    direction: &'static str,
    address: String,
    value: String,
    text: String,
    bits: String,
    unit: String,
}

/// Appends the row of an event.
pub(super) fn line(
    source: &str,
    entry: &Entry,
    arrival: Option<Arrival>,
    clock: &Clock,
    out: &mut String,
) {
    let mut row = Row::default();
    match &entry.content {
        Content::Text { channel, .. } => {
            row.destination(*channel);
            let text = text_of(&entry.content).unwrap_or_default();
            text.chars().for_each(|c| escape(c, &mut row.text));
        }
        Content::Write { channel, bits, value, .. } => {
            row.destination(*channel);
            (row.value, row.bits) = (format!("{value:#x}"), bits.to_string());
        }
        Content::Value(value) => {
            match value.origin {
                Origin::Port(port) => row.port = port.to_string(),
                Origin::Comparator(number) => row.comparator = number.to_string(),
                Origin::Master(..) => row.channel = value.origin.to_string(),
            }
            row.name.clone_from(&value.name);
            row.unit.clone_from(&value.unit);
            row.value = match &value.reading {
                Reading::Named(number, name) => {
                    row.text.clone_from(name);
                    number.to_string()
                }
                reading => reading.to_string(),
            };
        }
        Content::Dwt { event, span } => {
            row.event(*event);
            if let Some(span) = span {
                row.depth = span.depth.to_string();
                row.duration = span
                    .duration
                    .and_then(Duration::measured)
                    .map(|ticks| ticks.to_string())
                    .unwrap_or_default();
            }
        }
        Content::GlobalTime(value) => row.value = value.to_string(),
        Content::Lost(gap) => row.text = gap.to_string(),
        Content::Undecodable { len, fault } => {
            (row.value, row.text) = (len.to_string(), fault.to_string());
        }
    }
    let time = entry.time.map(|time| time.to_string()).unwrap_or_default();
    let seconds = entry.time.and_then(|time| clock.seconds(time)).unwrap_or_default();
    let arrival = arrival.filter(|_| entry.time.is_none());
    let arrival = arrival.map(|arrival| arrival.to_string()).unwrap_or_default();
    let kind = Kind::of(&entry.content).name();
    let _ = write!(out, "{},{time},{seconds},{},{kind}", entry.at, quoted(source));
    for field in [
        &row.port,
        &row.channel,
        &row.number,
        &row.name,
        row.step,
        &row.depth,
        &row.duration,
        &row.comparator,
        row.direction,
        &row.address,
        &row.value,
        &row.text,
        &row.bits,
        &row.unit,
        &arrival,
    ] {
        let _ = write!(out, ",{}", quoted(field));
    }
    out.push('\n');
}

impl Row {
    fn destination(&mut self, channel: Channel) {
        match channel {
            Channel::Port { .. } => {
                self.port = port(channel).map(|port| port.to_string()).unwrap_or_default();
            }
            Channel::Master { .. } => self.channel = channel.to_string(),
        }
    }

    fn event(&mut self, event: Dwt) {
        match event {
            Dwt::Counters(bits) => self.value = bits.to_string(),
            Dwt::PmuCounters(bits) => {
                (self.name, self.value) = ("PMU".to_owned(), bits.to_string());
            }
            Dwt::Exception { number, step } => {
                (self.number, self.name) = (number.to_string(), exception_name(number));
                self.step = step_name(step);
            }
            Dwt::PcSample(pc) => self.address = format!("{pc:#010x}"),
            Dwt::Sleep => self.text = "asleep".to_owned(),
            Dwt::Prohibited => self.text = "prohibited".to_owned(),
            Dwt::DataPc { comparator, size, pc: address }
            | Dwt::DataAddress { comparator, size, address } => {
                self.comparator = comparator.to_string();
                self.address = number(address, size);
                self.bits = (size * 8).to_string();
            }
            Dwt::DataMatch { comparator } => self.comparator = comparator.to_string(),
            Dwt::DataValue { comparator, write, size, value } => {
                (self.comparator, self.value) = (comparator.to_string(), format!("{value:#x}"));
                self.bits = (size * 8).to_string();
                self.direction = if write { "write" } else { "read" };
            }
            Dwt::Reserved { discriminator, size, value } => {
                (self.number, self.value) = (discriminator.to_string(), number(value, size));
                self.bits = (size * 8).to_string();
            }
        }
    }
}

/// A field, in quotation marks where it contains a character that separates fields. Characters that
/// are not shown are replaced, line breaks as well: a record is a line.
pub(crate) fn quoted(field: &str) -> Cow<'_, str> {
    let field = plain::line(field);
    if field.contains([',', '"']) {
        return format!("\"{}\"", field.replace('"', "\"\"")).into();
    }
    field
}
