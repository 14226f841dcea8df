//! The format of speedscope: a profile of events for each thread, times in nanoseconds.
//! (speedscope, "Importing from custom sources")

use std::fmt::Write;

use super::TimelineView;
use crate::pieces::Pieces;
use crate::text::{json, thousandths};

/// The file.
pub(super) fn write(view: &TimelineView<'_>, out: &mut Pieces<'_>) {
    let threads = view.timeline.by_thread();
    let (numbers, order) = view.numbers(&threads);
    out.text(
        "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\
         \"exporter\":\"tracewright\",\"name\":",
    );
    out.text(&json(&view.unit()));
    out.text(",\"shared\":{\"frames\":[");
    for (n, function) in order.into_iter().enumerate() {
        let comma = if n == 0 { "" } else { "," };
        let _ = write!(out, "{comma}{{\"name\":{}}}", json(&view.name(function)));
    }
    out.text("]},\"profiles\":[");
    let mut first = true;
    for (thread, slices) in threads.iter().enumerate().filter(|(_, list)| !list.is_empty()) {
        let events = view.events(thread, slices);
        let start = events.first().map_or(0, |event| event.at);
        let end = events.last().map_or(0, |event| event.at);
        let comma = if std::mem::take(&mut first) { "" } else { "," };
        let _ = write!(
            out,
            "{comma}\n{{\"type\":\"evented\",\"name\":{},\"unit\":\"nanoseconds\",\
             \"startValue\":{},\"endValue\":{},\"events\":[",
            json(view.thread_name(thread)),
            thousandths(start),
            thousandths(end)
        );
        for (n, event) in events.iter().enumerate() {
            if !out.is_wanted() {
                return;
            }
            let comma = if n == 0 { "" } else { "," };
            let kind = if event.begins { 'O' } else { 'C' };
            let frame = numbers.get(&event.slice.function).copied().unwrap_or(0);
            let at = thousandths(event.at);
            let _ = write!(out, "{comma}\n{{\"type\":\"{kind}\",\"frame\":{frame},\"at\":{at}}}");
        }
        out.text("]}");
    }
    out.text("]}\n");
}
