//! The longest call of a function beside the median one.

use std::collections::BTreeMap;
use std::fmt::Write;

use tracewright_analysis::timing::{Activated, Difference, Loop, Part, Taken};
use tracewright_capture::plain::line;

use super::{TimingView, aligned, interval};
use crate::json::Object;
use crate::sources::Source;

/// The most loops of an output.
const MAX_LOOPS: usize = 20;

/// The longest call of a function beside the median one.
#[derive(Clone, Copy, Debug)]
pub struct Worst<'a> {
    /// The durations of both.
    pub view: TimingView<'a>,
    /// The longest call, or the one with this rank from the longest.
    pub longest: &'a Activated,
    /// The rank.
    pub rank: usize,
    /// The median call.
    pub median: &'a Activated,
    /// The number of calls that they were selected from.
    pub calls: usize,
    /// The parts of both calls, in order.
    pub differences: &'a [Difference],
    /// How often loops turn in the longest and in the median call.
    pub loops: &'a BTreeMap<Loop, Vec<u64>>,
    /// The sources.
    pub sources: &'a [Source],
}

/// A loop, and its turns in both calls.
struct Turned {
    /// Its branch, with the symbol.
    place: String,
    /// The symbol.
    function: Option<String>,
    own: Loop,
    longest: u64,
    median: u64,
}

impl Worst<'_> {
    fn part(&self, part: Part) -> String {
        match part {
            Part::Function(function) => self.view.code.name(function).into_owned(),
            Part::Exception(subject) => self.view.name(subject),
            Part::Threads => "other threads".to_owned(),
        }
    }

    /// The loops that turn differently, in order of the difference.
    fn turned(&self) -> Vec<Turned> {
        let turned = |(own, counts): (&Loop, &Vec<u64>)| {
            let (longest, median) = (*counts.first()?, *counts.get(1)?);
            let source = self.sources.get(own.source);
            let symbol = source.and_then(|source| source.symbol_at(own.branch));
            let mut place = format!("{:#x}", own.branch);
            if let Some(source) = source {
                source.symbol(own.branch, &mut place);
            }
            let function = symbol.map(|symbol| symbol.name.to_string());
            (longest != median).then_some(Turned { place, function, own: *own, longest, median })
        };
        let mut all: Vec<Turned> = self.loops.iter().filter_map(turned).collect();
        all.sort_by_key(|own| (std::cmp::Reverse(own.longest.abs_diff(own.median)), own.own));
        all.truncate(MAX_LOOPS);
        all
    }

    fn call(&self, name: &str, call: &Activated) -> String {
        let scale = self.view.scale();
        let unit = match scale.frequency {
            Some(_) => String::new(),
            None => format!(" {}", scale.clock.unit()),
        };
        let source = self.view.sources.get(call.place.source).map_or("", String::as_str);
        format!(
            "{name}: {}{unit} from begin to end, {} net; {} instructions of {}, from {} on (offset {:#x})\n",
            scale.text(call.gross),
            scale.text(call.net),
            call.end.saturating_sub(call.place.instructions),
            line(source),
            call.place.instructions,
            call.place.at,
        )
    }

    /// Text.
    pub fn text(&self) -> String {
        let scale = self.view.scale();
        let mut out = String::new();
        let name = self.view.code.name(self.longest.function);
        let _ = writeln!(out, "{}: {} calls", line(&name), self.calls);
        let longest = match self.rank {
            1 => "longest".to_owned(),
            rank => format!("longest but {}", rank - 1),
        };
        out.push_str(&self.call(&longest, self.longest));
        out.push_str(&self.call("median", self.median));
        let heads = ["longest", "count", "median", "count", "time of"];
        let mut lines = vec![heads.map(str::to_owned).to_vec()];
        let mut turned = self.turned();
        for own in self.differences {
            let cells = |taken: Taken| [scale.text(taken.time), taken.count.to_string()];
            let mut row = cells(own.longest).to_vec();
            row.extend(cells(own.median));
            let name = self.part(own.part);
            row.push(line(&name).into_owned());
            lines.push(row);
            let inside = |turned: &Turned| {
                matches!(own.part, Part::Function(_)) && turned.function.as_deref() == Some(&*name)
            };
            let (these, others): (Vec<_>, Vec<_>) = turned.into_iter().partition(inside);
            turned = others;
            lines.extend(these.iter().map(turns));
        }
        lines.extend(turned.iter().map(turns));
        aligned(&mut out, &lines);
        out
    }

    /// JSON Lines: the two calls, and then each part and each loop that differs.
    pub fn json(&self) -> String {
        let mut out = String::new();
        let call = |out: &mut String, call: &Activated| {
            Object::new(out)
                .value("gross", |out| interval(Object::new(out), call.gross).end())
                .value("net", |out| interval(Object::new(out), call.net).end())
                .value("at", |out| self.view.place(call.place, out))
                .number("instructions", call.end.saturating_sub(call.place.instructions))
                .end();
        };
        Object::new(&mut out)
            .text("type", "worst")
            .text("function", &self.view.code.name(self.longest.function))
            .number("rank", self.rank as u64)
            .number("calls", self.calls as u64)
            .value("longest", |out| call(out, self.longest))
            .value("median", |out| call(out, self.median))
            .end();
        out.push('\n');
        for own in self.differences {
            let kind = match own.part {
                Part::Function(_) => "function",
                Part::Exception(_) => "exception",
                Part::Threads => "threads",
            };
            let taken = |out: &mut String, taken: Taken| {
                let object = Object::new(out).number("count", taken.count);
                object.value("time", |out| interval(Object::new(out), taken.time).end()).end();
            };
            Object::new(&mut out)
                .text("type", "difference")
                .text("kind", kind)
                .text("name", &self.part(own.part))
                .value("longest", |out| taken(out, own.longest))
                .value("median", |out| taken(out, own.median))
                .end();
            out.push('\n');
        }
        for own in self.turned() {
            Object::new(&mut out)
                .text("type", "loop")
                .hex("branch", own.own.branch)
                .hex("target", own.own.target)
                .maybe_text("function", own.function.as_deref())
                .number("longest", own.longest)
                .number("median", own.median)
                .end();
            out.push('\n');
        }
        out
    }
}

/// The line of a loop.
fn turns(own: &Turned) -> Vec<String> {
    let place = line(&own.place);
    let text = format!("  loop at {place}: {} turns beside {}", own.longest, own.median);
    let empty = String::new;
    vec![empty(), empty(), empty(), empty(), text]
}
