//! Value Change Dump: for each source the thread that executes, and for each thread the function,
//! as strings of GTKWave, and the number of open frames. (IEEE 1364, "Value change dump files")

use std::fmt::Write;

use tracewright_analysis::FunctionId;

use super::TimelineView;
use crate::pieces::Pieces;
use crate::text::word;

/// The identifier of signal `n`: characters from `!` to `~`.
fn identifier(mut n: usize) -> String {
    let mut text = String::new();
    loop {
        text.push(char::from(b'!' + (n % 94) as u8));
        n /= 94;
        if n == 0 {
            return text;
        }
    }
}

/// What changes at a time.
#[derive(Clone, Copy)]
enum Change {
    /// The frame on top of a thread, and the number of its frames.
    Frame { thread: usize, function: Option<FunctionId>, depth: usize },
    /// The thread that a source executes.
    Task { source: usize, thread: usize },
    /// A value of a counter.
    Value { counter: usize, value: f64 },
}

/// The file.
pub(super) fn write(view: &TimelineView<'_>, out: &mut Pieces<'_>) {
    let _ = write!(out, "$comment {} $end\n$timescale 1ps $end\n", view.unit());
    let threads = view.timeline.by_thread();
    let task = |source: usize| identifier(2 * threads.len() + source);
    let mut changes: Vec<(u64, Change)> = Vec::new();
    for (thread, slices) in threads.iter().enumerate().filter(|(_, list)| !list.is_empty()) {
        let (function, depth) = (identifier(2 * thread), identifier(2 * thread + 1));
        let _ = write!(
            out,
            "$scope module {} $end\n$var string 1 {function} function $end\n\
             $var wire 32 {depth} depth $end\n$upscope $end\n",
            word(view.thread_name(thread))
        );
        let mut open: Vec<FunctionId> = Vec::new();
        let begin = changes.len();
        for event in view.events(thread, slices) {
            if event.begins {
                open.push(event.slice.function);
            } else {
                open.pop();
            }
            let change =
                Change::Frame { thread, function: open.last().copied(), depth: open.len() };
            match changes.get_mut(begin..).and_then(<[_]>::last_mut) {
                // What follows at once replaces what precedes.
                Some((at, last)) if *at == event.at => *last = change,
                _ => changes.push((event.at, change)),
            }
        }
    }
    for source in 0..view.sources.len() {
        let mut declared = false;
        for (instructions, thread) in view.timeline.running(source) {
            if !std::mem::replace(&mut declared, true) {
                let _ = write!(
                    out,
                    "$scope module {} $end\n$var string 1 {} task $end\n$upscope $end\n",
                    word(view.source_name(source)),
                    task(source)
                );
            }
            changes.push((view.time(source, instructions), Change::Task { source, thread }));
        }
    }
    let own_counter = |counter: usize| identifier(2 * threads.len() + view.sources.len() + counter);
    for (counter, own) in view.counters.iter().enumerate() {
        let _ = write!(
            out,
            "$scope module {} $end\n$var real 64 {} {} $end\n$upscope $end\n",
            word(view.source_name(own.source)),
            own_counter(counter),
            word(&own.name)
        );
        let values = own.values.iter().filter(|(_, value)| value.is_finite());
        let change =
            |&(at, value): &(u64, f64)| (view.time_of(own, at), Change::Value { counter, value });
        changes.extend(values.map(change));
    }
    out.text("$enddefinitions $end\n");
    changes.sort_by_key(|(at, _)| *at);
    let mut now = None;
    for (at, change) in changes {
        if !out.is_wanted() {
            return;
        }
        if now != Some(at) {
            let _ = writeln!(out, "#{at}");
            now = Some(at);
        }
        let _ = match change {
            Change::Frame { thread, function, depth } => {
                let name = function.map_or_else(|| "-".to_owned(), |id| word(&view.name(id)));
                let [own, depths] = [2 * thread, 2 * thread + 1].map(identifier);
                write!(out, "s{name} {own}\nb{depth:b} {depths}\n")
            }
            Change::Task { source, thread } => {
                writeln!(out, "s{} {}", word(view.thread_name(thread)), task(source))
            }
            Change::Value { counter, value } => writeln!(out, "r{value} {}", own_counter(counter)),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_differ() {
        let all: std::collections::BTreeSet<String> = (0..10_000).map(identifier).collect();
        assert_eq!(all.len(), 10_000);
        assert_eq!(
            (identifier(0), identifier(93), identifier(94)),
            ("!".into(), "~".into(), "!\"".into())
        );
    }
}
