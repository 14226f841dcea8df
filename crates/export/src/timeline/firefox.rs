//! The processed profile of the Firefox Profiler, version 55, as `fxprof-processed-profile` 0.8
//! writes it: a thread for each thread, a sample wherever a frame begins or ends, whose weight is
//! the time to the next one, markers where trace was lost, and a counter for each signal without
//! negative values. Times are in milliseconds.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;

use super::{Counter, TimelineView};
use crate::pieces::Pieces;
use crate::text::json;

/// Picoseconds as milliseconds.
fn milliseconds(picoseconds: u64) -> String {
    let (whole, rest) = (picoseconds / 1_000_000_000, picoseconds % 1_000_000_000);
    let text = format!("{whole}.{rest:09}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// `count` equal values.
fn same(value: &str, count: usize) -> impl Iterator<Item = &str> {
    std::iter::repeat_n(value, count)
}

/// A number, or `null`.
fn maybe(value: Option<usize>) -> String {
    value.map_or_else(|| "null".to_owned(), |value| value.to_string())
}

/// The stacks of a thread: the stack beneath and the function of each.
#[derive(Default)]
struct Stacks {
    all: Vec<(Option<usize>, usize)>,
    numbers: HashMap<(Option<usize>, usize), usize>,
}

impl Stacks {
    fn number(&mut self, beneath: Option<usize>, function: usize) -> usize {
        let all = &mut self.all;
        *self.numbers.entry((beneath, function)).or_insert_with(|| {
            all.push((beneath, function));
            all.len() - 1
        })
    }
}

/// The file.
pub(super) fn write(view: &TimelineView<'_>, out: &mut Pieces<'_>) {
    let _ = write!(
        out,
        "{{\"meta\":{{\"categories\":[{{\"name\":\"Other\",\"color\":\"grey\",\
         \"subcategories\":[\"Other\"]}}],\"debug\":false,\
         \"extensions\":{{\"baseURL\":[],\"id\":[],\"length\":0,\"name\":[]}},\"interval\":1,\
         \"preprocessedProfileVersion\":55,\"processType\":0,\"product\":{},\
         \"sampleUnits\":{{\"eventDelay\":\"ms\",\"threadCPUDelta\":\"µs\",\"time\":\"ms\"}},\
         \"startTime\":0,\"symbolicated\":true,\"pausedRanges\":[],\"version\":24,\
         \"usesOnlyOneStackType\":true,\"sourceCodeIsNotOnSearchfox\":true,\"markerSchema\":[]}},\
         \"libs\":[],\"threads\":[",
        json(&format!("tracewright ({})", view.unit()))
    );
    // The number of the first thread of each source, and the end of all.
    let (mut written, mut sources, mut end) = (0, BTreeMap::new(), 0);
    let threads = view.timeline.by_thread();
    for (thread, slices) in threads.into_iter().enumerate().filter(|(_, list)| !list.is_empty()) {
        let list = [slices];
        let (numbers, order) = view.numbers(&list);
        let [slices] = list;
        let (mut stacks, mut open) = (Stacks::default(), Vec::new());
        // The time of each sample, and its stack.
        let mut samples: Vec<(u64, Option<usize>)> = Vec::new();
        for event in view.events(thread, &slices) {
            if event.begins {
                let function = numbers.get(&event.slice.function).copied().unwrap_or(0);
                open.push(stacks.number(open.last().copied(), function));
            } else {
                open.pop();
            }
            let sample = (event.at, open.last().copied());
            match samples.last_mut() {
                // What follows at once replaces what precedes.
                Some(last) if last.0 == event.at => *last = sample,
                _ => samples.push(sample),
            }
        }
        out.text(if written > 0 { "," } else { "" });
        sources.entry(view.source(thread)).or_insert(written);
        written += 1;
        end = samples.last().map_or(end, |last| end.max(last.0));
        let names: Vec<String> = order.iter().map(|function| view.name(*function)).collect();
        write_tables(view, thread, names.len(), out);
        write_samples(&stacks.all, &samples, out);
        out.text(",\"stringArray\":");
        let names = names.iter().map(String::as_str).chain(["trace lost"]);
        out.list(names.map(json));
        let _ = write!(
            out,
            ",\"tid\":\"{}\",\"unregisterTime\":null,\"showMarkersInTimeline\":false}}",
            thread + 1
        );
        if !out.is_wanted() {
            return;
        }
    }
    out.text("],\"pages\":[],\"profilerOverhead\":[],\"counters\":[");
    let mut comma = "";
    for counter in view.counters {
        let Some(thread) = sources.get(&counter.source) else { continue };
        let samples = counter_samples(view, counter, end);
        if samples.is_empty() {
            continue;
        }
        out.text(std::mem::replace(&mut comma, ","));
        write_counter(counter, *thread, &samples, out);
        if !out.is_wanted() {
            return;
        }
    }
    out.text("]}\n");
}

/// The times of a counter in picoseconds, and by how much its value changes. The viewer takes the
/// first change for 0, draws a line from each sample to the next one, and counts values from the
/// least one or 0: a value holds up to the next one, and none is negative.
fn counter_samples(view: &TimelineView<'_>, counter: &Counter, end: u64) -> Vec<(u64, f64)> {
    let mut samples: Vec<(u64, f64)> = Vec::new();
    if counter.values.iter().any(|(_, value)| !value.is_finite() || *value < 0.0) {
        return samples;
    }
    let mut before = 0.0;
    for &(at, value) in &counter.values {
        let value = if counter.unit == "%" { value / 100.0 } else { value };
        let last = samples.last().map_or(0, |last| last.0);
        let at = view.time_of(counter, at).max(last.saturating_add(1));
        if samples.is_empty() || value != before {
            samples.push((at - 1, 0.0));
            samples.push((at, value - before));
        }
        before = value;
    }
    if let Some(last) = samples.last().filter(|last| last.0 < end).copied() {
        samples.push((end.max(last.0), 0.0));
    }
    samples
}

/// A counter of the process of a source, and how it is shown.
fn write_counter(counter: &Counter, thread: usize, samples: &[(u64, f64)], out: &mut Pieces<'_>) {
    let unit = if counter.unit == "%" { "percent" } else { "number" };
    let name = match counter.unit.as_str() {
        "" | "%" => json(&counter.name),
        unit => json(&format!("{} ({unit})", counter.name)),
    };
    let _ = write!(
        out,
        "{{\"name\":{name},\"category\":\"trace\",\"description\":{name},\"pid\":\"{}\",\
         \"mainThreadIndex\":{thread},\"display\":{{\"graphType\":\"line-accumulated\",\
         \"unit\":\"{unit}\",\"color\":\"blue\",\"markerSchemaLocation\":null,\"sortWeight\":50,\
         \"label\":{name},\"tooltipRows\":[{{\"type\":\"value\",\"source\":\"accumulated\",\
         \"format\":{{\"unit\":\"{unit}\"}},\"label\":{name}}}]}},\
         \"samples\":{{\"length\":{},\"timeDeltas\":",
        counter.source + 1,
        samples.len()
    );
    let times = || samples.iter().map(|sample| sample.0);
    let before = [0].into_iter().chain(times());
    out.list(times().zip(before).map(|(at, before)| milliseconds(at - before)));
    out.text(",\"count\":");
    out.list(samples.iter().map(|sample| sample.1));
    out.text("}}");
}

/// Columns of a table: the name and the values of each.
fn columns<'a>(
    out: &mut Pieces<'_>,
    columns: impl IntoIterator<Item = (&'a str, &'a str)>,
    count: usize,
) {
    for (name, value) in columns {
        let _ = write!(out, ",\"{name}\":");
        match value {
            "" => out.list(0..count),
            value => out.list(same(value, count)),
        }
    }
    out.text("}");
}

/// The begin of the object of a thread with `count` functions: functions, losses, its name.
fn write_tables(view: &TimelineView<'_>, thread: usize, count: usize, out: &mut Pieces<'_>) {
    let source = view.source(thread);
    // An empty value stands for the number of the row.
    let _ = write!(out, "\n{{\"frameTable\":{{\"length\":{count}");
    let frames = [
        ("address", "-1"),
        ("inlineDepth", "0"),
        ("category", "0"),
        ("subcategory", "0"),
        ("func", ""),
        ("nativeSymbol", "null"),
        ("innerWindowID", "0"),
        ("line", "null"),
        ("column", "null"),
    ];
    columns(out, frames, count);
    let _ = write!(out, ",\"funcTable\":{{\"length\":{count}");
    let functions = [
        ("name", ""),
        ("isJS", "false"),
        ("relevantForJS", "false"),
        ("resource", "-1"),
        ("fileName", "null"),
        ("lineNumber", "null"),
        ("columnNumber", "null"),
    ];
    columns(out, functions, count);
    let losses = || view.timeline.losses.iter().filter(|loss| loss.0 == source);
    let length = losses().count();
    let _ = write!(out, ",\"markers\":{{\"length\":{length},\"startTime\":");
    out.list(losses().map(|loss| milliseconds(view.time(source, loss.1))));
    let name = count.to_string();
    let markers =
        [("category", "0"), ("data", "null"), ("endTime", "null"), ("name", &name), ("phase", "0")];
    columns(out, markers, length);
    let _ = write!(
        out,
        ",\"name\":{name},\"isMainThread\":{},\
         \"nativeSymbols\":{{\"length\":0,\"address\":[],\"functionSize\":[],\"libIndex\":[],\
         \"name\":[]}},\"pausedRanges\":[],\"pid\":\"{pid}\",\"processName\":{},\
         \"processShutdownTime\":null,\"processStartupTime\":0,\"processType\":\"default\",\
         \"registerTime\":0,\"resourceTable\":{{\"length\":0,\"lib\":[],\"name\":[],\"host\":[],\
         \"type\":[]}}",
        thread == 0,
        json(view.source_name(source)),
        name = json(view.thread_name(thread)),
        pid = source + 1,
    );
}

/// The samples of a thread, and its stacks.
fn write_samples(
    stacks: &[(Option<usize>, usize)],
    samples: &[(u64, Option<usize>)],
    out: &mut Pieces<'_>,
) {
    let count = samples.len();
    let times = || samples.iter().map(|sample| sample.0);
    let _ =
        write!(out, ",\"samples\":{{\"length\":{count},\"weightType\":\"tracing-ms\",\"stack\":");
    out.list(samples.iter().map(|sample| maybe(sample.1)));
    out.text(",\"timeDeltas\":");
    let before = [0].into_iter().chain(times());
    out.list(times().zip(before).map(|(at, before)| milliseconds(at - before)));
    out.text(",\"weight\":");
    let next = times().skip(1).chain(times().next_back());
    out.list(times().zip(next).map(|(at, next)| milliseconds(next - at)));
    columns(out, [("threadCPUDelta", "0")], count);
    let _ = write!(out, ",\"stackTable\":{{\"length\":{},\"prefix\":", stacks.len());
    out.list(stacks.iter().map(|stack| maybe(stack.0)));
    out.text(",\"frame\":");
    out.list(stacks.iter().map(|stack| stack.1));
    out.text("}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_in_milliseconds() {
        for (picoseconds, want) in [
            (0, "0"),
            (1_000, "0.000001"),
            (1, "0.000000001"),
            (2_500_000_000, "2.5"),
            (30_000_000_000, "30"),
        ] {
            assert_eq!(milliseconds(picoseconds), want);
        }
    }
}
