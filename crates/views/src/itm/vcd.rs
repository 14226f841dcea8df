//! Events as a Value Change Dump. (IEEE 1364, 18.2)
//!
//! The active exception, the program counter of samples, the last write of each port or channel
//! without a type, the values of the others as real numbers or integers,
//! the last value and address of each comparator, and the last value of each reserved event are
//! variables. A trace without times has the byte offset of each event as its time.

use std::collections::BTreeMap;
use std::fmt::Write;

use tracewright_analysis::itm::{Content, Entry, Reading};
use tracewright_base::{Dwt, ExceptionStep};

use super::{Clock, port};

/// The width of a variable that is a real number.
const REAL: u8 = 0;

/// The changes of all variables.
#[derive(Debug, Default)]
pub(super) struct Changes {
    /// The variables: name and width, with their numbers.
    variables: BTreeMap<(String, u8), usize>,
    /// Time, variable, value.
    changes: Vec<(u64, usize, Value)>,
    /// The exceptions that are active, by source.
    active: BTreeMap<String, Vec<u16>>,
    timed: bool,
    /// Offsets of the changes, for a trace without times.
    offsets: Vec<u64>,
}

/// The value of a variable.
#[derive(Clone, Copy, Debug)]
enum Value {
    Unknown,
    Known(u64),
    /// The low bits, and their number; the upper ones are unknown.
    Low(u32, u8),
    Real(f64),
}

impl Value {
    /// An address of which the low `size` bytes are known.
    const fn address(address: u32, size: u8) -> Value {
        match size {
            1 | 2 => Value::Low(address, size * 8),
            _ => Value::Known(address as u64),
        }
    }
}

impl Changes {
    /// Takes an event of a source.
    pub(super) fn entry(&mut self, source: Option<&str>, entry: &Entry, clock: &Clock) {
        let name = |name: String| match source {
            Some(source) => format!("{source}.{name}"),
            None => name,
        };
        let last = self.changes.last().map_or(0, |change| change.0);
        let time = entry.time.map(|time| clock.nanoseconds(time).unwrap_or(time));
        self.timed |= time.is_some();
        // The dump is in the order of time; an event without a time has that of the last one.
        let time = time.unwrap_or(last).max(last);
        let changes: Vec<(String, u8, Value)> = match &entry.content {
            Content::Write { .. } if entry.typed => Vec::new(),
            Content::Write { channel, value, .. } => {
                let (variable, width) = match port(*channel) {
                    Some(port) => (format!("port{port}"), 32),
                    None => (channel.to_string(), 64),
                };
                vec![(name(variable), width, Value::Known(*value))]
            }
            // Its writes are events.
            Content::Text { .. } => Vec::new(),
            Content::Value(value) => {
                let known = match (value.width, &value.reading) {
                    (Some(width), Reading::Integer(number) | Reading::Named(number, _)) => {
                        u64::try_from(*number).ok().map(|number| (width, Value::Known(number)))
                    }
                    (Some(width), Reading::Address(address)) => {
                        Some((width, Value::Known(*address)))
                    }
                    _ => None,
                };
                let real = (REAL, Value::Real(value.reading.number()));
                let (width, number) = known.unwrap_or(real);
                vec![(name(value.name.clone()), width, number)]
            }
            Content::Dwt { event, .. } => match *event {
                Dwt::Exception { number, step } => {
                    let active = self.active.entry(source.unwrap_or("").to_owned()).or_default();
                    match step {
                        ExceptionStep::Entered => active.push(number),
                        ExceptionStep::Exited => _ = active.pop(),
                        ExceptionStep::Returned => {
                            let at = active.iter().rposition(|own| *own == number);
                            active.truncate(at.map_or(0, |at| at + 1));
                            if at.is_none() && number != 0 {
                                active.push(number);
                            }
                        }
                    }
                    let now = active.last().copied().unwrap_or(0);
                    vec![(name("exception".to_owned()), 9, Value::Known(now.into()))]
                }
                Dwt::PcSample(pc) => {
                    vec![(name("pc".to_owned()), 32, Value::Known(pc.into()))]
                }
                Dwt::Sleep | Dwt::Prohibited => {
                    vec![(name("pc".to_owned()), 32, Value::Unknown)]
                }
                Dwt::DataValue { .. } if entry.typed => Vec::new(),
                Dwt::DataValue { comparator, value, .. } => {
                    vec![(name(format!("data{comparator}_value")), 32, Value::Known(value.into()))]
                }
                Dwt::DataAddress { comparator, size, address } => {
                    let value = Value::address(address, size);
                    vec![(name(format!("data{comparator}_address")), 32, value)]
                }
                Dwt::DataPc { comparator, size, pc } => {
                    let value = Value::address(pc, size);
                    vec![(name(format!("data{comparator}_pc")), 32, value)]
                }
                Dwt::Reserved { discriminator, value, .. } => {
                    vec![(name(format!("reserved{discriminator}")), 32, Value::Known(value.into()))]
                }
                Dwt::Counters(_) | Dwt::PmuCounters(_) | Dwt::DataMatch { .. } => Vec::new(),
            },
            Content::Lost(_) | Content::Undecodable { .. } => {
                self.active.clear();
                vec![(name("exception".to_owned()), 9, Value::Unknown)]
            }
            Content::GlobalTime(_) => Vec::new(),
        };
        for (name, width, value) in changes {
            let next = self.variables.len();
            let variable = *self.variables.entry((name, width)).or_insert(next);
            self.changes.push((time, variable, value));
            self.offsets.push(entry.at);
        }
    }

    /// Appends the dump.
    pub(super) fn write(&mut self, clock: &Clock, out: &mut String) {
        let unit = match (self.timed, clock.frequency) {
            (false, _) => "The trace has no times: the unit of time is a byte of the trace.",
            (true, None) => "The unit of time is a tick of the timestamps.",
            (true, Some(_)) => "Times are in nanoseconds.",
        };
        let _ = write!(out, "$comment {unit} $end\n$timescale 1 ns $end\n$scope module itm $end\n");
        for ((name, width), number) in &self.variables {
            let (kind, width) = if *width == REAL { ("real", 64) } else { ("wire", *width) };
            let _ = writeln!(out, "$var {kind} {width} {} {} $end", code(*number), plain(name));
        }
        out.push_str("$upscope $end\n$enddefinitions $end\n");
        let mut now = None;
        for (&(time, variable, value), &at) in self.changes.iter().zip(&self.offsets) {
            let time = if self.timed { time } else { at };
            // Offsets of several sources do not always rise.
            let time = now.map_or(time, |now: u64| time.max(now));
            if now != Some(time) {
                let _ = writeln!(out, "#{time}");
                now = Some(time);
            }
            let code = code(variable);
            let _ = match value {
                Value::Known(value) => writeln!(out, "b{value:b} {code}"),
                Value::Low(value, bits) => {
                    writeln!(out, "bx{value:0bits$b} {code}", bits = usize::from(bits))
                }
                Value::Real(value) => writeln!(out, "r{value:?} {code}"),
                Value::Unknown => writeln!(out, "bx {code}"),
            };
        }
    }
}

/// The identifier of a variable: printable characters.
fn code(mut number: usize) -> String {
    let mut code = String::new();
    loop {
        code.push(char::from(b'!' + (number % 94) as u8));
        number /= 94;
        if number == 0 {
            return code;
        }
    }
}

/// A name without spaces, and without `$`, which begins a keyword.
fn plain(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_graphic() && c != '$' { c } else { '_' }).collect()
}
