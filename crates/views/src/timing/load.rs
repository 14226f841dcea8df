//! The load of processors over time.

use tracewright_analysis::timing::Load;
use tracewright_base::Interval;
use tracewright_capture::plain::line;

use super::{Scale, Shown, aligned, interval, share};
use crate::json::Object;

/// The load of processors over time.
#[derive(Clone, Copy, Debug)]
pub struct LoadView<'a> {
    /// The load.
    pub load: &'a Load,
    /// What measures time.
    pub clock: tracewright_analysis::timing::Clock,
    /// The names of the sources.
    pub sources: &'a [String],
    /// What is shown: the rows, and the frequency.
    pub shown: Shown<'a>,
}

impl LoadView<'_> {
    /// Text.
    pub fn text(&self) -> String {
        let scale = Scale { clock: self.clock, frequency: self.shown.frequency };
        let heads = ["begin", "traced", "load %", "source"];
        let mut lines = vec![heads.map(str::to_owned).to_vec()];
        for (source, begin, slice) in self.load.slices().take(self.shown.rows.unwrap_or(usize::MAX))
        {
            lines.push(vec![
                scale.text(Interval::point(begin)),
                scale.text(Interval::point(slice.traced)),
                share(slice.busy(), slice.traced),
                line(self.sources.get(source).map_or("", String::as_str)).into_owned(),
            ]);
        }
        let mut out = String::new();
        aligned(&mut out, &lines);
        out
    }

    /// JSON Lines.
    pub fn json(&self) -> String {
        let mut out = String::new();
        for (source, begin, slice) in self.load.slices().take(self.shown.rows.unwrap_or(usize::MAX))
        {
            Object::new(&mut out)
                .text("type", "load")
                .maybe_text("source", self.sources.get(source).map(String::as_str))
                .number("begin", begin)
                .number("width", self.load.width())
                .number("traced", slice.traced)
                .value("busy", |out| interval(Object::new(out), slice.busy()).end())
                .line();
        }
        out
    }
}
