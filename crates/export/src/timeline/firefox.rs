//! The processed profile of the Firefox Profiler, version 55, as `fxprof-processed-profile` 0.8
//! writes it: a thread for each thread, a sample wherever a frame begins or ends, whose weight is
//! the time to the next one, and markers where trace was lost. Times are in milliseconds.

use std::collections::HashMap;
use std::fmt::Write;

use super::TimelineView;
use crate::text::json;

/// Picoseconds as milliseconds.
fn milliseconds(picoseconds: u64) -> String {
    let (whole, rest) = (picoseconds / 1_000_000_000, picoseconds % 1_000_000_000);
    let text = format!("{whole}.{rest:09}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// A list of `count` equal values.
fn same(value: &str, count: usize) -> String {
    format!("[{}]", vec![value; count].join(","))
}

/// A list of values.
fn list<T: ToString>(values: &[T]) -> String {
    let values: Vec<String> = values.iter().map(ToString::to_string).collect();
    format!("[{}]", values.join(","))
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
pub(super) fn write(view: &TimelineView<'_>) -> String {
    let threads = view.timeline.by_thread();
    let mut out = format!(
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
    let mut first = true;
    for (thread, slices) in threads.iter().enumerate().filter(|(_, list)| !list.is_empty()) {
        let one = [slices.clone()];
        let (numbers, order) = view.numbers(&one);
        let (mut stacks, mut open) = (Stacks::default(), Vec::new());
        // The time of each sample, and its stack.
        let mut samples: Vec<(u64, Option<usize>)> = Vec::new();
        for event in view.events(thread, slices) {
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
        let comma = if std::mem::take(&mut first) { "" } else { "," };
        out.push_str(comma);
        let names: Vec<String> = order.iter().map(|function| view.name(*function)).collect();
        write_thread(view, thread, &names, &stacks, &samples, &mut out);
    }
    out.push_str("],\"pages\":[],\"profilerOverhead\":[],\"counters\":[]}\n");
    out
}

/// The object of one thread.
fn write_thread(
    view: &TimelineView<'_>,
    thread: usize,
    names: &[String],
    stacks: &Stacks,
    samples: &[(u64, Option<usize>)],
    out: &mut String,
) {
    let source = view.source(thread);
    let count = names.len();
    let each: Vec<usize> = (0..count).collect();
    let null = same("null", count);
    let _ = write!(
        out,
        "\n{{\"frameTable\":{{\"length\":{count},\"address\":{},\"inlineDepth\":{zero},\
         \"category\":{zero},\"subcategory\":{zero},\"func\":{numbers},\"nativeSymbol\":{null},\
         \"innerWindowID\":{zero},\"line\":{null},\"column\":{null}}},\
         \"funcTable\":{{\"length\":{count},\"name\":{numbers},\"isJS\":{no},\
         \"relevantForJS\":{no},\"resource\":{},\"fileName\":{null},\"lineNumber\":{null},\
         \"columnNumber\":{null}}}",
        same("-1", count),
        same("-1", count),
        zero = same("0", count),
        numbers = list(&each),
        no = same("false", count),
    );
    let lost: Vec<String> = view
        .timeline
        .losses
        .iter()
        .filter(|loss| loss.0 == source)
        .map(|(source, instructions)| milliseconds(view.time(*source, *instructions)))
        .collect();
    let _ = write!(
        out,
        ",\"markers\":{{\"length\":{length},\"category\":{zero},\"data\":{null},\
         \"endTime\":{null},\"name\":{},\"phase\":{zero},\"startTime\":{}}}",
        same(&count.to_string(), lost.len()),
        list(&lost),
        length = lost.len(),
        zero = same("0", lost.len()),
        null = same("null", lost.len()),
    );
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
    let (mut weights, mut deltas, mut before) = (Vec::new(), Vec::new(), 0);
    for (n, (at, _)) in samples.iter().enumerate() {
        let next = samples.get(n + 1).map_or(*at, |next| next.0);
        weights.push(milliseconds(next - at));
        deltas.push(milliseconds(at - before));
        before = *at;
    }
    let stack: Vec<String> = samples.iter().map(|(_, stack)| maybe(*stack)).collect();
    let prefixes: Vec<String> = stacks.all.iter().map(|(beneath, _)| maybe(*beneath)).collect();
    let frames: Vec<usize> = stacks.all.iter().map(|(_, function)| *function).collect();
    let mut texts: Vec<String> = names.iter().map(|name| json(name)).collect();
    texts.push(json("trace lost"));
    let _ = write!(
        out,
        ",\"samples\":{{\"length\":{},\"weightType\":\"tracing-ms\",\"stack\":{},\
         \"timeDeltas\":{},\"weight\":{},\"threadCPUDelta\":{}}},\
         \"stackTable\":{{\"length\":{},\"prefix\":{},\"frame\":{}}},\"stringArray\":{},\
         \"tid\":\"{}\",\"unregisterTime\":null,\"showMarkersInTimeline\":false}}",
        samples.len(),
        list(&stack),
        list(&deltas),
        list(&weights),
        same("0", samples.len()),
        stacks.all.len(),
        list(&prefixes),
        list(&frames),
        list(&texts),
        thread + 1,
    );
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
