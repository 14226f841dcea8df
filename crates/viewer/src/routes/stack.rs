//! `api/stack`: the call stack at an element.

use tracewright::analysis::stacks::Entry;
use tracewright::index::Query;
use tracewright::views::json::Object;

use crate::answer::{Answer, Answered, Problem};
use crate::request::Request;
use crate::work::Worker;

pub(super) fn run(worker: &mut Worker<'_>, request: &Request) -> Answered {
    let n = worker.buffer(request)?;
    let buffer = worker.served_buffer(n)?;
    let wanted = worker.source(request, buffer)?;
    let (number, own) = match request.number("element")? {
        Some(number) => (number, wanted),
        None => element_at(worker, n, request.needed("offset")?)?,
    };
    let found = worker.finder(n)?;
    let query = parsed(&format!("first element {number}"))?;
    let element = found.seek(&query.conditions)?;
    let element = element.ok_or_else(|| Problem::absent("element"))?;
    let source = wanted.or(own).unwrap_or(element.source);
    let stack = worker.player(n)?.stack(number, source)?;
    let mut out = String::new();
    Object::new(&mut out)
        .number("source", source as u64)
        .number("thread", stack.thread.into())
        .number("element", number)
        .number("offset", element.at)
        .list("frames", &stack.frames, |(frame, open), out| {
            let function = buffer.view.names().number(frame.function);
            let exception = match frame.entry {
                Entry::Exception(number) => Some(u64::from(number)),
                _ => None,
            };
            Object::new(out)
                .maybe_number("function", function.map(u64::from))
                .text("name", &function.map(|n| buffer.name(n)).unwrap_or_default())
                .text("entry", frame.entry.name())
                .maybe_number("exception", exception)
                .value("depth", |out| out.push_str(&open.depth.to_string()))
                .number("offset", open.at)
                .number("instruction", open.instructions)
                .mark("uncertain", frame.uncertain)
                .end();
        })
        .end();
    Ok(Answer::Json(out))
}

/// The first element at an offset or after it, of all sources; else the last one.
pub(super) fn element_at(
    worker: &mut Worker<'_>,
    n: usize,
    offset: u64,
) -> Result<(u64, Option<usize>), Problem> {
    let offset = offset.min(worker.served_buffer(n)?.view.buffer().covered());
    let finder = worker.finder(n)?;
    let query = parsed(&format!("first offset {offset}..{}", u64::MAX))?;
    if let Some(found) = finder.seek(&query.conditions)? {
        return Ok((found.number, None));
    }
    let last = finder.previous(u64::MAX, &parsed("last any")?.conditions)?;
    last.map(|found| (found.number, None)).ok_or_else(|| Problem::absent("element"))
}

/// A query of this server.
pub(super) fn parsed(text: &str) -> Result<Query, Problem> {
    Query::parse(&[text]).map_err(|error| Problem::new(400, "bad-parameter", error.to_string()))
}
