//! Values for plots: the typed ones, and of ports and comparators without a type the numbers as
//! they were sent.

use std::collections::BTreeMap;
use std::fmt::Write;

use tracewright_analysis::itm::{Content, Entry, Reading};
use tracewright_base::Dwt;
use tracewright_capture::plain::line;

use super::csv::quoted;
use super::json::json_number;
use super::{Arrival, Clock, port};
use crate::json::Object;

/// The name of a value, and the value.
fn value(source: Option<&str>, entry: &Entry) -> Option<(String, Reading)> {
    let (name, reading) = match &entry.content {
        Content::Value(value) => (value.name.clone(), value.reading.clone()),
        Content::Write { channel, value, in_text: false, .. } if !entry.typed => {
            let name = port(*channel).map(|port| format!("port{port}"));
            (name.unwrap_or_else(|| channel.to_string()), Reading::Integer((*value).into()))
        }
        Content::Dwt { event: Dwt::DataValue { comparator, value, .. }, .. } if !entry.typed => {
            (format!("dwt{comparator}"), Reading::Integer((*value).into()))
        }
        _ => return None,
    };
    let name = match source {
        Some(source) => format!("{source}.{name}"),
        None => name,
    };
    Some((line(&name).into_owned(), reading))
}

/// Appends an object with the value of an event, if it has one.
pub(super) fn json(
    source: Option<&str>,
    entry: &Entry,
    arrival: Option<Arrival>,
    clock: &Clock,
    out: &mut String,
) {
    let Some((name, reading)) = value(source, entry) else { return };
    let time = match (entry.time, arrival) {
        (Some(time), _) => Some(clock.time(time)),
        (None, arrival) => arrival.map(|arrival| arrival.to_string()),
    };
    let mut o = Object::new(out);
    if let Some(time) = time {
        o = o.value("timestamp", |out| out.push_str(&time));
    }
    o.value(&name, |out| out.push_str(&json_number(&reading))).end();
    out.push('\n');
}

/// A table with a column for each signal.
#[derive(Debug, Default)]
pub(super) struct Table {
    columns: BTreeMap<String, usize>,
    rows: Vec<Row>,
}

/// The values with the same time.
#[derive(Debug)]
struct Row {
    time: Option<u64>,
    at: u64,
    values: Vec<(usize, String)>,
}

impl Table {
    /// Takes an event.
    pub(super) fn entry(&mut self, source: Option<&str>, entry: &Entry) {
        let Some((name, reading)) = value(source, entry) else { return };
        let next = self.columns.len();
        let column = *self.columns.entry(name).or_insert(next);
        let value = (column, reading.to_string());
        match self.rows.last_mut() {
            Some(row)
                if row.time.is_some()
                    && row.time == entry.time
                    && row.values.iter().all(|(other, _)| *other != column) =>
            {
                row.values.push(value);
            }
            _ => self.rows.push(Row { time: entry.time, at: entry.at, values: vec![value] }),
        }
    }

    /// Appends the table. Times never fall; a row before the first one has none.
    pub(super) fn write(&self, clock: &Clock, out: &mut String) {
        let timed = self.rows.iter().any(|row| row.time.is_some());
        out.push_str(match (timed, clock.frequency) {
            (false, _) => "offset",
            (true, None) => "ticks",
            (true, Some(_)) => "seconds",
        });
        let mut names: Vec<(&String, &usize)> = self.columns.iter().collect();
        names.sort_by_key(|(_, number)| **number);
        names.iter().for_each(|(name, _)| _ = write!(out, ",{}", quoted(name)));
        out.push('\n');
        let mut now = 0;
        for row in &self.rows {
            now = row.time.unwrap_or(now).max(now);
            let _ = match (timed, row.time) {
                (false, _) => write!(out, "{}", row.at),
                (true, None) if now == 0 => Ok(()),
                (true, _) => write!(out, "{}", clock.time(now)),
            };
            let mut cells = vec![""; names.len()];
            for (column, value) in &row.values {
                if let Some(cell) = cells.get_mut(*column) {
                    *cell = value;
                }
            }
            cells.iter().for_each(|cell| _ = write!(out, ",{}", quoted(cell)));
            out.push('\n');
        }
    }
}
