//! From what filters select to what is decoded.
//!
//! A filter is evaluated for each row. What is here decides what has no row that a filter could
//! select, and need not be decoded.

use std::ops::Range;

use tracewright::capture::plain;
use tracewright::decode::Program;
use tracewright::index::{Index, IndexedBuffer, Key, Kind, Window, lines_touch};
use tracewright::symbols::demangled;
use tracewright_columns::{Division, Query, Table, Type, conversion};

use crate::captures::Opened;
use crate::selection::{Selection, TS};
use crate::spans::Spans;

/// What is read of `table` of a capture, without the units. `None`: no row can be selected.
pub fn query(table: &Table, opened: &Opened, selection: &Selection) -> Option<Query> {
    let named = selection.texts("capture").is_none_or(|names| names.contains(&opened.name));
    if !named {
        return None;
    }
    if table.division() != Division::Segments {
        return Some(Query::default());
    }
    let kinds = match selection.texts("kind").filter(|_| table.name() == "elements") {
        Some(kinds) => {
            let all = kinds_of(table);
            let own: Vec<String> =
                kinds.iter().filter(|kind| all.contains(&kind.as_str())).cloned().collect();
            if own.is_empty() {
                return None;
            }
            own
        }
        None => Vec::new(),
    };
    let sources = match selection.texts("source") {
        Some(names) => {
            let own = opened.trace.sources().iter().map(|source| &source.name);
            let mut own: Vec<String> = own.filter(|name| names.contains(*name)).cloned().collect();
            own.dedup();
            if own.is_empty() {
                return None;
            }
            own
        }
        None => Vec::new(),
    };
    let mut addresses = Vec::new();
    if is_code(table, &kinds)
        && let Some(spans) = code(opened, selection)
    {
        if spans.is_empty() {
            return None;
        }
        // A range has no number after the greatest.
        if !spans.contains(u64::MAX) {
            addresses.extend(spans.iter().map(|(low, high)| low..high + 1));
        }
    }
    let window = window(opened, selection)?;
    Some(Query { window, addresses, sources, kinds, ..Query::default() })
}

/// The kinds of elements that a table has.
fn kinds_of(table: &Table) -> &'static [&'static str] {
    let columns = table.columns();
    match columns.iter().find(|column| column.name == "kind").map(|column| column.of) {
        Some(Type::Kind(all)) => all,
        _ => &[],
    }
}

/// Whether the column `address` of all rows of these kinds is that of executed code.
fn is_code(table: &Table, kinds: &[String]) -> bool {
    match table.name() {
        "ranges" | "instructions" => true,
        "elements" => !kinds.is_empty() && kinds.iter().all(|kind| kind == "range"),
        _ => false,
    }
}

/// The addresses of executed code that are selected; `None` for any.
fn code(opened: &Opened, selection: &Selection) -> Option<Spans> {
    let addresses = selection.numbers("address").cloned();
    let functions = selection.texts("function").and_then(|names| {
        let mut all = Vec::new();
        for source in opened.trace.sources() {
            // Where programs differ by process, so do the addresses of a name.
            let Program::Image(image) = &source.program else { return None };
            let named = image.symbols().iter().filter(|symbol| {
                // The column has the one or the other.
                names.contains(symbol.name)
                    || names.contains(&*plain::line(&demangled(symbol.name)))
            });
            all.extend(named.filter_map(|symbol| {
                Some((symbol.start, symbol.start.saturating_add(symbol.size.checked_sub(1)?)))
            }));
        }
        Some(Spans::of(all))
    });
    match (addresses, functions) {
        (Some(addresses), Some(functions)) => Some(addresses.and(&functions)),
        (addresses, functions) => addresses.or(functions),
    }
}

/// The times in ticks that are selected; `None` for any.
fn times(opened: &Opened, selection: &Selection) -> Option<Spans> {
    let ticks = selection.numbers(TS).zip(conversion(&opened.trace)).and_then(|(spans, clock)| {
        let runs = spans.iter().map(|(low, high)| clock.ticks(low, high));
        let ticks = Spans::of(runs.collect::<Option<Vec<_>>>()?.into_iter().flatten());
        // Nanoseconds wrap: other times of the same nanoseconds are not in the trace.
        Some(match &opened.index {
            Some(index) => {
                ticks.and(&Spans::of(index.buffers().iter().filter_map(|own| own.times())))
            }
            None => ticks,
        })
    });
    match (selection.numbers("time"), ticks) {
        (Some(own), Some(ticks)) => Some(own.and(&ticks)),
        (own, ticks) => own.cloned().or(ticks),
    }
}

/// The part of each buffer; `None` where it is empty.
fn window(opened: &Opened, selection: &Selection) -> Option<Window> {
    let times = times(opened, selection);
    let bounds = |name: &str| -> Option<Option<Range<u64>>> {
        let spans = if name == "time" { times.as_ref() } else { selection.numbers(name) };
        let Some(spans) = spans else { return Some(None) };
        let (low, mut high) = spans.hull()?;
        if name == "time" && high == u64::MAX {
            let times =
                opened.index.iter().flat_map(|own| own.buffers()).filter_map(|own| own.times());
            high = times.map(|(_, last)| last.max(low)).max().unwrap_or(high);
        }
        // A range has no number after the greatest, which only a timestamp can be.
        match high.checked_add(1) {
            Some(end) => Some(Some(low..end)),
            None if name == "time" => Some(None),
            None => Some(Some(low..high)),
        }
    };
    Some(Window {
        offset: bounds("offset")?,
        time: bounds("time")?,
        instruction: bounds("instruction")?,
        element: bounds("element")?,
    })
}

/// The segments of a buffer that may have rows of `query`, in order. `None`: the index is damaged.
pub fn segments(
    table: &Table,
    (index, own): (&Index, &IndexedBuffer),
    query: &Query,
    selection: &Selection,
) -> Option<Vec<usize>> {
    let mut segments: Vec<usize> = query.window.touched(own).collect();
    let (Some(&first), Some(&last)) = (segments.first(), segments.last()) else {
        return own.damage().is_none().then_some(segments);
    };
    let range = first..last + 1;
    if !query.addresses.is_empty() {
        let has = executed((index, own), range.clone(), &query.addresses)?;
        segments.retain(|n| has.get(n - first).copied().unwrap_or(true));
    }
    if !query.sources.is_empty() {
        let selected = |source: u16| {
            let source = own.sources().get(usize::from(source));
            source.is_none_or(|source| query.sources.contains(&source.name))
        };
        segments.retain(|n| {
            let segment = own.segment(*n);
            segment.is_none_or(|own| own.streams.iter().any(|stream| selected(stream.source)))
        });
    }
    if let Some(has_key) = keys(table, query, selection) {
        let mut has = vec![false; range.len()];
        let read = index.keys(own, range, |n, _, key, _| {
            if let Some(has) = has.get_mut(n - first) {
                *has |= has_key(key);
            }
        });
        read.ok()?;
        segments.retain(|n| has.get(n - first).copied().unwrap_or(true));
    }
    own.damage().is_none().then_some(segments)
}

/// Of each segment of a range: whether it may have executed code at `addresses`.
fn executed(
    (index, own): (&Index, &IndexedBuffer),
    range: Range<usize>,
    addresses: &[Range<u64>],
) -> Option<Vec<bool>> {
    // The lines of consecutive segments may be with the first of them.
    let first = own.joined_in(range.start);
    let mut lines = vec![false; range.end - first];
    let read = index.lines(own, first..range.end, |n, line, count| {
        let within = |first, last| addresses.iter().any(|own| own.start <= last && first < own.end);
        if lines_touch((line, count), within)
            && let Some(lines) = lines.get_mut(n - first)
        {
            *lines = true;
        }
    });
    read.ok()?;
    let of = |n: usize| lines.get(own.joined_in(n) - first).copied().unwrap_or(true);
    Some(range.map(of).collect())
}

/// Which keys a segment has one of, if it has rows. `None`: the index has no key for each row.
fn keys<'a>(
    table: &Table,
    query: &Query,
    selection: &'a Selection,
) -> Option<Box<dyn Fn(Key) -> bool + 'a>> {
    let kinds = match table.name() {
        "software_writes" => vec![Kind::Write],
        "dwt_events" => vec![Kind::Dwt],
        "data_accesses" => {
            let addresses = selection.numbers("address");
            return Some(Box::new(move |key| {
                let (low, high) =
                    (key.value.saturating_mul(64), key.value.saturating_mul(64).saturating_add(63));
                let known = key.value != u64::MAX;
                let inside = addresses.is_none_or(|own| known && own.touches(low, high));
                key.kind == Kind::Access && inside
            }));
        }
        "elements" if !query.kinds.is_empty() => {
            let kinds = query.kinds.iter().map(|kind| match kind.as_str() {
                "exception" => Some(Kind::Exception),
                "context" => Some(Kind::Context),
                "software-write" => Some(Kind::Write),
                "data-access" => Some(Kind::Access),
                "dwt-event" => Some(Kind::Dwt),
                "trigger" => Some(Kind::Trigger),
                "timestamp" | "global-timestamp" => Some(Kind::Time),
                "undecodable" | "no-code" => Some(Kind::Gap),
                _ => None,
            });
            kinds.collect::<Option<Vec<_>>>()?
        }
        _ => return None,
    };
    Some(Box::new(move |key| kinds.contains(&key.kind)))
}
