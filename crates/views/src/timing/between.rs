//! The time from one event to another.

use std::fmt::Write;

use tracewright_analysis::timing::Statistics;
use tracewright_capture::plain::line;

use super::{PERCENTILES, TimingView, aligned, deviation};
use crate::json::Object;

/// The distances between two events.
#[derive(Clone, Copy, Debug)]
pub struct Between<'a> {
    /// The clock, the sources and what is shown.
    pub view: TimingView<'a>,
    /// The queries of both.
    pub queries: [&'a str; 2],
    /// The distances.
    pub statistics: &'a Statistics,
    /// The events of each query that are in no pair.
    pub unpaired: (u64, u64),
}

impl Between<'_> {
    /// Text.
    pub fn text(&self) -> String {
        let (scale, own) = (self.view.scale(), self.statistics);
        let [from, to] = self.queries;
        let mut out = String::new();
        let _ = writeln!(out, "from {} to {}, by {}", line(from), line(to), scale.clock.name());
        let mut heads = vec!["count", "least"];
        heads.extend(["median", "95 %", "99 %", "mean", "deviation", "most", "longest begins"]);
        let mut cells = vec![own.count().to_string(), scale.maybe(own.min())];
        cells.extend(PERCENTILES.map(|(per_mille, _)| scale.maybe(own.percentile(per_mille))));
        cells.extend([scale.maybe(own.mean()), deviation(scale, own), scale.maybe(own.max())]);
        cells.push(own.longest().map_or("-".to_owned(), |place| {
            let source = self.view.sources.get(place.source).map_or("", String::as_str);
            match self.view.instruction(place) {
                Some(number) => {
                    format!("at instruction {number} of {} ({:#x})", line(source), place.at)
                }
                None => format!("at offset {:#x} of {}", place.at, line(source)),
            }
        }));
        let heads = heads.into_iter().map(str::to_owned).collect();
        aligned(&mut out, &[heads, cells]);
        let (begins, ends) = self.unpaired;
        let lost = own.lost();
        let _ = writeln!(
            out,
            "{begins} events of the first query without one of the second one before the next, \
             {ends} of the second one without one of the first, {lost} with lost trace"
        );
        out
    }

    /// JSON Lines.
    pub fn json(&self) -> String {
        let mut out = String::new();
        let [from, to] = self.queries;
        Object::new(&mut out)
            .text("type", "between")
            .text("from", from)
            .text("to", to)
            .value("time", |out| self.view.statistics(self.statistics, out))
            .number("unpaired_from", self.unpaired.0)
            .number("unpaired_to", self.unpaired.1)
            .line();
        out
    }
}
