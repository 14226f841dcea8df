//! `api/exceptions`: the exceptions in order.

use tracewright::analysis::stacks::{Ending, Entry};
use tracewright::base::Element;
use tracewright::index::view::{Passed, ViewFrame};
use tracewright::views::json::Object;

use crate::answer::{Answer, Answered, Problem};
use crate::request::Request;
use crate::served::ServedBuffer;
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
    let (mut found, mut handlers): (Vec<Passed>, _) = (Vec::new(), Handlers::default());
    let next = scan(worker, n, EXCEPTIONS, from, Some(&mut handlers), |passed| {
        let Element::Exception(exception) = passed.element else { return true };
        if passed.at >= from && number.is_none_or(|own| own == u64::from(exception.number)) {
            found.push(*passed);
        }
        found.len() <= limit
    })?;
    let next = found.get(limit).map(|passed| passed.at).or(next);
    found.truncate(limit);
    handlers.complete(buffer, &found)?;
    let mut out = String::new();
    Object::new(&mut out)
        .list("exceptions", &found, |passed, out| {
            let Element::Exception(exception) = passed.element else { return };
            let source = buffer.sources.get(passed.source);
            let name = source.and_then(|source| source.exception_name(exception.number));
            let object = head(passed, Object::new(out))
                .number("number", exception.number.into())
                .maybe_text("name", name.map(|name| shown(&name, LONGEST)).as_deref())
                .maybe_hex("return_address", exception.return_address);
            let Some((frame, nested)) = handlers.of(passed, exception.number) else {
                return object.end();
            };
            let object = object
                .number("end", frame.offsets.1)
                .number("instructions", frame.total)
                .maybe_number("own", nested.map(|nested| frame.total.saturating_sub(nested)));
            match frame.times {
                (Some(first), Some(last)) if last >= first => {
                    object.digits("duration", last - first).end();
                }
                _ => object.end(),
            }
        })
        .flag("more", next.is_some())
        .maybe_number("next", next)
        .end();
    Ok(Answer::Json(out))
}

/// The frames of handlers.
#[derive(Default)]
pub(super) struct Handlers {
    /// By source; when they are complete, in order of their begins.
    frames: Vec<Vec<ViewFrame>>,
    /// All exceptions before this offset were decoded.
    reached: u64,
}

impl Handlers {
    /// Adds the long frames of the exceptions that were found.
    fn complete(&mut self, buffer: &ServedBuffer<'_>, found: &[Passed]) -> Result<(), Problem> {
        self.frames.resize_with(buffer.sources.len(), Vec::new);
        let (Some(first), Some(last)) = (found.first(), found.last()) else { return Ok(()) };
        let begins = first.at..last.at.saturating_add(1);
        for (source, own) in self.frames.iter_mut().enumerate() {
            let long = buffer.view.frames(source, begins.clone(), 0)?;
            own.extend(long.into_iter().filter(|frame| is_handler(frame).is_some()));
            own.sort_by_key(|frame| (frame.instructions.0, frame.depth, frame.offsets));
            own.dedup();
        }
        Ok(())
    }

    /// The frame of the handler of an exception, and the instructions of the handlers that
    /// interrupted it, where all of them were decoded. `None` where the trace does not have both
    /// its begin and its end.
    fn of(&self, passed: &Passed, number: u16) -> Option<(&ViewFrame, Option<u64>)> {
        let frames = self.frames.get(passed.source)?;
        let before = passed.instructions.1;
        let first = frames.partition_point(|frame| frame.instructions.0 < before);
        let same = frames.iter().skip(first).take_while(|own| own.instructions.0 == before);
        let mut same = same.filter(|own| is_handler(own) == Some(number));
        let frame = same.next()?;
        // A second exception with this number before the first instruction of the handler.
        let known = same.next().is_none() && !frame.uncertain;
        let ended = matches!(frame.ending, Ending::Return | Ending::Replaced | Ending::Unwound);
        if !known || !ended {
            return None;
        }
        let inside = |own: &&ViewFrame| {
            own.thread == frame.thread
                && own.depth > frame.depth
                && own.instructions.1 <= frame.instructions.1
        };
        let (mut nested, mut end) = (0u64, 0);
        let later = frames.iter().skip(first);
        for own in later.take_while(|own| own.instructions.0 < frame.instructions.1).filter(inside)
        {
            // Those inside another one are a part of it.
            if own.instructions.0 >= end {
                nested = nested.saturating_add(own.total);
                end = own.instructions.1;
            }
        }
        Some((frame, (frame.offsets.1 <= self.reached).then_some(nested)))
    }
}

/// The number of the exception that begins a frame.
fn is_handler(frame: &ViewFrame) -> Option<u16> {
    match frame.entry {
        Entry::Exception(number) => Some(number),
        _ => None,
    }
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
/// was not decoded. `handlers` gets the frames of exceptions.
pub(super) fn scan(
    worker: &mut Worker<'_>,
    n: usize,
    count: usize,
    from: u64,
    mut handlers: Option<&mut Handlers>,
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
        let player = worker.player(n)?;
        if let Some(handlers) = &mut handlers {
            let found = player.handlers(first..end, &mut inside)?;
            handlers.frames.resize_with(found.len().max(handlers.frames.len()), Vec::new);
            let own = handlers.frames.iter_mut().zip(found);
            own.for_each(|(own, found)| own.extend(found));
            handlers.reached = indexed.begin(last).unwrap_or(u64::MAX);
        } else {
            player.elements(first..end, &mut inside)?;
        }
        at = indexed.begin(last).unwrap_or(u64::MAX);
        decoded = decoded.saturating_add(at.saturating_sub(begin));
        element = end;
        if last == indexed.len() {
            if let Some(handlers) = &mut handlers {
                handlers.reached = u64::MAX;
            }
            return Ok(None);
        }
    }
    Ok(None)
}

/// Segments that are decoded at once.
const SEGMENTS: usize = 8;
