//! `api/find`: searches, as a stream of events.

use tracewright::index::query::Which;
use tracewright::index::{Answer, Found, Query};
use tracewright::views::json::Object;

use crate::answer::Problem;
use crate::request::Request;
use crate::served::ServedBuffer;
use crate::shown::{LONGEST, shown};
use crate::work::Worker;

/// The most results.
const MOST: usize = 10_000;

/// Searches, and passes each event to `send`, which returns whether more are wanted.
pub(crate) fn run(
    worker: &mut Worker<'_>,
    request: &Request,
    send: &mut dyn FnMut(String) -> bool,
) {
    // The connection shows that the search has begun.
    if !send(": begun\n\n".to_owned()) {
        return;
    }
    if let Err(problem) = search(worker, request, send) {
        let mut out = String::new();
        Object::new(&mut out).text("error", problem.code).text("message", &problem.message).end();
        send(event("error", &out));
    }
}

/// An event of a stream.
fn event(name: &str, data: &str) -> String {
    format!("event: {name}\ndata: {data}\n\n")
}

/// Words with which a query selects some of its matches.
const WHICH: [&str; 5] = ["first", "last", "nth", "count", "all"];

fn search(
    worker: &mut Worker<'_>,
    request: &Request,
    send: &mut dyn FnMut(String) -> bool,
) -> Result<(), Problem> {
    let n = worker.buffer(request)?;
    let buffer = worker.served_buffer(n)?;
    let text = request.get("q").unwrap_or("");
    let bad = |message: String| Problem::new(400, "bad-parameter", message);
    let query = Query::parse(&[text]).map_err(|error| bad(error.to_string()))?;
    let limit = request.limit("limit", 100, MOST)?;
    let direction = request.word("direction", &["next", "previous", "all"])?;
    let from = request.number("from")?;
    let first = text.split_ascii_whitespace().next().unwrap_or("");
    let end = |found: u64, truncated: bool| {
        let mut out = String::new();
        Object::new(&mut out).number("found", found).mark("truncated", truncated).end();
        event("end", &out)
    };
    let finder = worker.finder(n)?;
    if WHICH.contains(&first) {
        finder.limit = limit.saturating_add(1);
        let answer = finder.find(&query);
        let found = match answer? {
            Answer::Count(count) => {
                let mut out = String::new();
                Object::new(&mut out).number("count", count).end();
                send(event("count", &out));
                count
            }
            Answer::Elements(all) => {
                let truncated = all.len() > limit;
                for found in all.iter().take(limit) {
                    if !send(event("found", &result(buffer, found))) {
                        return Ok(());
                    }
                }
                send(end(all.len().min(limit) as u64, truncated && query.which == Which::All));
                return Ok(());
            }
        };
        send(end(found, false));
        return Ok(());
    }
    if query.bound.is_some() {
        return Err(bad(
            "a query with `before` or `after` begins with first, last, nth or all".into()
        ));
    }
    let limit = if direction == "all" { limit } else { 1 };
    let all = buffer.view.buffer().covered();
    let (mut at, mut found) = (from, 0);
    while found < limit as u64 {
        let one = match (direction, at) {
            ("previous", at) => finder.previous(at.unwrap_or(u64::MAX), &query.conditions)?,
            (_, Some(at)) => finder.next(at, &query.conditions)?,
            (_, None) => finder.seek(&query.conditions)?,
        };
        let Some(one) = one else {
            send(end(found, false));
            return Ok(());
        };
        found += 1;
        at = Some(one.number);
        let mut out = String::new();
        Object::new(&mut out).number("offset", one.at).number("of", all).end();
        if !send(event("found", &result(buffer, &one))) || !send(event("progress", &out)) {
            return Ok(());
        }
    }
    send(end(found, direction == "all"));
    Ok(())
}

/// A result.
fn result(buffer: &ServedBuffer<'_>, found: &Found) -> String {
    let mut out = String::new();
    let object = Object::new(&mut out)
        .number("element", found.number)
        .number("offset", found.at)
        .number("instruction", found.instruction)
        .number("source", found.source as u64);
    let object = match found.time {
        Some(time) => object.digits("time", time),
        None => object,
    };
    // With one source, instructions of the buffer are those of the source.
    let object = match buffer.sources.len() {
        1 => object.number("at_instruction", found.instruction),
        _ => object,
    };
    let kind = if found.link.is_some() { "link" } else { found.element.kind() };
    let text = match found.link {
        Some(event) => format!("{event:?}"),
        None => found.element.to_string(),
    };
    object.text("kind", kind).text("text", &shown(&text, LONGEST)).end();
    out
}
