//! Totals of exceptions, and samples of the program counter by function.

use std::fmt::Write;

use tracewright_analysis::itm::{Exceptions, SampleRow, Samples};
use tracewright_capture::plain::line;
use tracewright_symbols::Functions;

use super::{Clock, exception_name};
use crate::functions::is_called;
use crate::json::Object;

/// The exceptions of a source.
#[derive(Debug)]
pub struct ExceptionTable<'a> {
    /// The exceptions.
    pub exceptions: &'a Exceptions,
    /// The clock of their durations.
    pub clock: Clock,
}

impl ExceptionTable<'_> {
    /// Text.
    pub fn text(&self) -> String {
        let unit = if self.clock.frequency.is_some() { "us" } else { "ticks" };
        let mut out = format!(
            "{:<16} {:>8} {:>8} {:>12} {:>12} {:>12} {:>8} {:>8} {:>8} {:>8} {:>12}   durations \
             in {unit}\n",
            "exception",
            "entries",
            "timed",
            "least",
            "mean",
            "most",
            "nested",
            "deepest",
            "untimed",
            "bounded",
            "at most"
        );
        for (&number, totals) in self.exceptions.totals() {
            let known = totals.timed > 0;
            let ticks = |ticks: u64| match known {
                true => self.clock.plain_duration(ticks),
                false => "-".to_owned(),
            };
            let _ = writeln!(
                out,
                "{:<16} {:>8} {:>8} {:>12} {:>12} {:>12} {:>8} {:>8} {:>8} {:>8} {:>12}",
                exception_name(number),
                totals.entries,
                totals.timed,
                ticks(totals.least),
                ticks(totals.mean().unwrap_or(0)),
                ticks(totals.most),
                totals.nested,
                totals.deepest,
                totals.untimed(),
                totals.bounded,
                match totals.bounded {
                    0 => "-".to_owned(),
                    _ => self.clock.plain_duration(totals.at_most),
                }
            );
        }
        let _ = writeln!(out, "at most {} active at once", self.exceptions.deepest());
        out
    }

    /// JSON Lines.
    pub fn json(&self, source: &str) -> String {
        let mut out = String::new();
        for (&number, totals) in self.exceptions.totals() {
            let o = Object::new(&mut out)
                .text("type", "exception-totals")
                .text("source", source)
                .number("number", number.into())
                .text("name", &exception_name(number))
                .number("entries", totals.entries)
                .number("timed", totals.timed)
                .number("untimed", totals.untimed())
                .number("nested", totals.nested)
                .number("deepest", totals.deepest as u64);
            let o = match totals.mean() {
                Some(mean) => o
                    .digits("least", totals.least)
                    .digits("mean", mean)
                    .digits("most", totals.most)
                    .maybe_text(
                        "least_seconds",
                        self.clock.duration_seconds(totals.least).as_deref(),
                    )
                    .maybe_text("mean_seconds", self.clock.duration_seconds(mean).as_deref())
                    .maybe_text(
                        "most_seconds",
                        self.clock.duration_seconds(totals.most).as_deref(),
                    ),
                None => o,
            };
            let o = match totals.bounded {
                0 => o,
                count => o.number("bounded", count).digits("at_most", totals.at_most).maybe_text(
                    "at_most_seconds",
                    self.clock.duration_seconds(totals.at_most).as_deref(),
                ),
            };
            o.end();
            out.push('\n');
        }
        out
    }

    /// Comma-separated values, with a header; durations in ticks.
    pub fn csv(&self) -> String {
        let mut out =
            "number,name,entries,timed,least,mean,most,nested,deepest,untimed,bounded,at_most\n"
                .to_owned();
        for (&number, totals) in self.exceptions.totals() {
            let known = |ticks: u64| match totals.timed {
                0 => String::new(),
                _ => ticks.to_string(),
            };
            let _ = writeln!(
                out,
                "{number},{},{},{},{},{},{},{},{},{},{},{}",
                exception_name(number),
                totals.entries,
                totals.timed,
                known(totals.least),
                known(totals.mean().unwrap_or(0)),
                known(totals.most),
                totals.nested,
                totals.deepest,
                totals.untimed(),
                totals.bounded,
                if totals.bounded == 0 { String::new() } else { totals.at_most.to_string() }
            );
        }
        out
    }
}

/// The samples of the program counter of a source.
#[derive(Debug)]
pub struct SampleTable<'a> {
    /// The samples.
    pub samples: &'a Samples,
    /// The functions.
    pub functions: &'a Functions,
    /// The most rows.
    pub limit: Option<usize>,
    /// Only functions with this name, in which `*` stands for any characters.
    pub name: Option<&'a str>,
}

impl SampleTable<'_> {
    fn rows(&self) -> Vec<SampleRow> {
        let mut rows = self.samples.by_function(self.functions);
        let extra = [("[asleep]", self.samples.asleep), ("[prohibited]", self.samples.prohibited)];
        for (name, samples) in extra.into_iter().filter(|(_, samples)| *samples > 0) {
            let row = SampleRow { name: name.to_owned(), address: 0, samples };
            let at = rows.partition_point(|other| other.samples >= samples);
            rows.insert(at, row);
        }
        rows.retain(|row| self.name.is_none_or(|name| is_called(name, &row.name, None)));
        rows.truncate(self.limit.unwrap_or(usize::MAX));
        rows
    }

    fn share(&self, samples: u64) -> f64 {
        samples as f64 * 100.0 / self.samples.total().max(1) as f64
    }

    /// Text.
    pub fn text(&self) -> String {
        let mut out = format!("{:>8} {:>7}  function\n", "samples", "share");
        for row in self.rows() {
            let share = self.share(row.samples);
            let _ = writeln!(out, "{:>8} {share:>6.2}%  {}", row.samples, line(&row.name));
        }
        let total = self.samples.total();
        let share = if total == 0 { "-".to_owned() } else { format!("{:.2}%", 100.0) };
        let _ = writeln!(out, "{total:>8} {share:>7}  all");
        out
    }

    /// JSON Lines.
    pub fn json(&self, source: &str) -> String {
        let mut out = String::new();
        for row in self.rows() {
            let known = (row.address != 0).then_some(row.address);
            Object::new(&mut out)
                .text("type", "samples")
                .text("source", source)
                .text("function", &row.name)
                .maybe_hex("address", known)
                .number("samples", row.samples)
                .end();
            out.push('\n');
        }
        out
    }

    /// Comma-separated values, with a header.
    pub fn csv(&self) -> String {
        let mut out = "samples,percent,function\n".to_owned();
        for row in self.rows() {
            let (share, name) = (self.share(row.samples), line(&row.name).replace('"', "\"\""));
            let _ = writeln!(out, "{},{share:.2},\"{name}\"", row.samples);
        }
        out
    }
}
