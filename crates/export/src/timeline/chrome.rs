//! Chrome JSON, the Trace Event Format of chrome://tracing, which Perfetto reads, too: a complete
//! event for each frame, counter events for values, times in microseconds.

use std::fmt::Write;

use super::TimelineView;
use crate::pieces::Pieces;
use crate::text::{json, thousandths};

/// The file.
pub(super) fn write(view: &TimelineView<'_>, out: &mut Pieces<'_>) {
    out.text("{\"displayTimeUnit\":\"ns\",\"otherData\":{\"unit\":");
    out.text(&json(&view.unit()));
    if !view.warning.is_empty() {
        out.text(",\"warning\":");
        out.text(&json(view.warning));
    }
    out.text("},\"traceEvents\":[\n");
    let mut first = true;
    let mut line = |text: String| {
        if !std::mem::take(&mut first) {
            out.text(",\n");
        }
        out.text(&text);
        out.is_wanted()
    };
    for (source, name) in view.sources.iter().enumerate() {
        line(format!(
            "{{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":{},\"args\":{{\"name\":{}}}}}",
            source + 1,
            json(name)
        ));
    }
    for (thread, slices) in view.timeline.by_thread().iter().enumerate() {
        let source = view.source(thread);
        let (pid, tid) = (source + 1, thread + 1);
        if slices.is_empty() {
            continue;
        }
        line(format!(
            "{{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":{pid},\"tid\":{tid},\
             \"args\":{{\"name\":{}}}}}",
            json(view.thread_name(thread))
        ));
        for slice in slices {
            // A frame ends on the same nanosecond as what it calls.
            let nanoseconds = |at: u64| view.time(source, at) / 1000;
            let (begin, end) = (nanoseconds(slice.begin), nanoseconds(slice.end));
            let mut text = format!(
                "{{\"ph\":\"X\",\"name\":{},\"pid\":{pid},\"tid\":{tid},\"ts\":{},\"dur\":{},\
                 \"args\":{{\"entry\":\"{}\",\"ending\":\"{}\"",
                json(&view.name(slice.function)),
                thousandths(begin),
                thousandths(end.saturating_sub(begin)),
                slice.entry.name(),
                slice.ending.name()
            );
            if slice.uncertain {
                text.push_str(",\"uncertain\":true");
            }
            text.push_str("}}");
            if !line(text) {
                return;
            }
        }
    }
    for counter in view.counters {
        let (name, pid) = (json(&counter.name), counter.source + 1);
        let unit = if counter.unit.is_empty() { "value" } else { &counter.unit };
        for &(at, value) in counter.values.iter().filter(|(_, value)| value.is_finite()) {
            let at = thousandths(view.time_of(counter, at) / 1000);
            let more = line(format!(
                "{{\"ph\":\"C\",\"name\":{name},\"pid\":{pid},\"ts\":{at},\
                 \"args\":{{{}:{value}}}}}",
                json(unit)
            ));
            if !more {
                return;
            }
        }
    }
    for &(source, instructions) in &view.timeline.losses {
        let mut text = String::new();
        let at = thousandths(view.time(source, instructions) / 1000);
        let _ = write!(
            text,
            "{{\"ph\":\"i\",\"s\":\"p\",\"name\":\"trace lost\",\"pid\":{},\"tid\":0,\"ts\":{at}}}",
            source + 1
        );
        line(text);
    }
    out.text("\n]}\n");
}
