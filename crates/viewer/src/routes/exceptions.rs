//! `api/exceptions`: the exceptions in order.

use tracewright::base::Element;
use tracewright::index::view::Passed;
use tracewright::views::json::Object;

use crate::answer::{Answer, Answered, Problem};
use crate::request::Request;
use crate::shown::{LONGEST, shown};
use crate::work::{DETAIL, Worker};

/// The most rows of an answer.
pub(super) const MOST: usize = 500;

/// The position of exceptions and of writes among the counts of a tile.
const EXCEPTIONS: usize = 0;

pub(super) fn run(worker: &mut Worker<'_>, request: &Request) -> Answered {
    let n = worker.buffer(request)?;
    let buffer = worker.served_buffer(n)?;
    let number = request.number("number")?;
    let from = request.number("from")?.unwrap_or(0);
    let limit = request.limit("limit", 200, MOST)?;
    let mut found: Vec<Passed> = Vec::new();
    let next = scan(worker, n, EXCEPTIONS, from, |passed| {
        let Element::Exception(exception) = passed.element else { return true };
        if passed.at >= from && number.is_none_or(|own| own == u64::from(exception.number)) {
            found.push(*passed);
        }
        found.len() <= limit
    })?;
    let next = found.get(limit).map(|passed| passed.at).or(next);
    found.truncate(limit);
    let mut out = String::new();
    Object::new(&mut out)
        .list("exceptions", &found, |passed, out| {
            let Element::Exception(exception) = passed.element else { return };
            let source = buffer.sources.get(passed.source);
            let name = source.and_then(|source| source.exception_name(exception.number));
            head(passed, Object::new(out))
                .number("number", exception.number.into())
                .maybe_text("name", name.map(|name| shown(&name, LONGEST)).as_deref())
                .maybe_hex("return_address", exception.return_address)
                .end();
        })
        .flag("more", next.is_some())
        .maybe_number("next", next)
        .end();
    Ok(Answer::Json(out))
}

/// The fields of an element.
pub(super) fn head<'o>(passed: &Passed, object: Object<'o>) -> Object<'o> {
    let object = object
        .number("offset", passed.at)
        .number("element", passed.number)
        .number("instruction", passed.instructions.0)
        .number("at_instruction", passed.instructions.1)
        .number("source", passed.source as u64);
    match passed.time {
        Some(time) => object.digits("time", time),
        None => object,
    }
}

/// Passes the elements that are no ranges to `each`, from an offset on, which returns whether more
/// are wanted. Tiles whose count at position `count` is 0 are left out. Returns the offset of what
/// was not decoded.
pub(super) fn scan(
    worker: &mut Worker<'_>,
    n: usize,
    count: usize,
    from: u64,
    mut each: impl FnMut(&Passed) -> bool,
) -> Result<Option<u64>, Problem> {
    let buffer = worker.served_buffer(n)?;
    let indexed = buffer.view.buffer();
    // An element is emitted in the tile of its offset, or later.
    let (mut at, mut element, mut decoded) = (from, 0, 0u64);
    let mut wanted = true;
    while wanted {
        let Some(tile) = buffer.view.next_with(at, count)? else { return Ok(None) };
        let segment = indexed.with_byte(tile).unwrap_or(indexed.len().saturating_sub(1));
        let last = (segment + SEGMENTS).min(indexed.len());
        let first = indexed.position(segment).elements.max(element);
        let end = indexed.position(last).elements;
        let begin = indexed.begin(segment).unwrap_or(tile);
        if decoded >= DETAIL {
            return Ok(Some(begin.max(from)));
        }
        let mut inside = |passed: &Passed| {
            if wanted && passed.number >= first {
                wanted = each(passed);
            }
        };
        worker.player(n)?.elements(first..end, &mut inside)?;
        at = indexed.begin(last).unwrap_or(u64::MAX);
        decoded = decoded.saturating_add(at.saturating_sub(begin));
        element = end;
        if last == indexed.len() {
            return Ok(None);
        }
    }
    Ok(None)
}

/// Segments that are decoded at once.
const SEGMENTS: usize = 8;
