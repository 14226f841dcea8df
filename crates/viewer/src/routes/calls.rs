//! `api/calls` and `api/histogram`: the calls of a function, and how long they take.

use std::collections::BTreeMap;
use std::ops::Range;

use tracewright::analysis::stacks::Ending;
use tracewright::index::view::{FunctionSums, LENGTHS, ViewFrame};
use tracewright::views::json::Object;

use crate::answer::{Answer, Answered, Problem};
use crate::request::Request;
use crate::served::ServedBuffer;
use crate::work::{DETAIL, Worker};

/// The most calls of an answer.
const MOST: usize = 500;
/// The most frames of one granule.
const MOST_FRAMES: usize = 1_000_000;

/// The function of a request.
fn function(request: &Request, buffer: &ServedBuffer<'_>) -> Result<u32, Problem> {
    let known = buffer.view.names().functions().len();
    let number = u32::try_from(request.needed("function")?).ok();
    let number = number.filter(|number| (*number as usize) < known);
    number.ok_or_else(|| Problem::absent("function"))
}

/// A call that was found, and its source.
type Call = (usize, ViewFrame);

pub(super) fn run(worker: &mut Worker<'_>, request: &Request) -> Answered {
    let n = worker.buffer(request)?;
    let buffer = worker.served_buffer(n)?;
    let function = function(request, buffer)?;
    let limit = request.limit("limit", 100, MOST)?;
    match request.word("order", &["longest", "time"])? {
        "time" => in_order(worker, request, n, function, limit),
        _ => longest(worker, request, n, function, limit),
    }
}

/// The granules of a batch in which calls of a function end, and the longest of each.
fn granules_of(
    buffer: &ServedBuffer<'_>,
    batch: usize,
    function: u32,
) -> Result<BTreeMap<u64, u64>, Problem> {
    let mut granules = BTreeMap::<u64, u64>::new();
    for source in 0..buffer.sources.len() {
        buffer.view.granules(source, buffer.view.granules_of(batch), |granule| {
            let own = granule.functions.binary_search_by_key(&function, |(own, _)| *own);
            let sums = own.ok().and_then(|n| granule.functions.get(n));
            if let Some((_, sums)) = sums.filter(|(_, sums)| sums.ended > 0) {
                let most = granules.entry(granule.number).or_default();
                *most = (*most).max(sums.most);
            }
        })?;
    }
    Ok(granules)
}

/// The instructions of the longest call of a function in a batch. `None` without a call.
fn most_in(buffer: &ServedBuffer<'_>, batch: usize, function: u32) -> Result<Option<u64>, Problem> {
    let mut most = None;
    for functions in buffer.view.batch_sums(batch)? {
        let own = functions.binary_search_by_key(&function, |(own, _)| *own);
        let sums = own.ok().and_then(|n| functions.get(n)).filter(|(_, sums)| sums.ended > 0);
        most = most.max(sums.map(|(_, sums)| sums.most));
    }
    Ok(most)
}

/// The longest calls of a part of the trace. Parts are batches of the index, those with the longest
/// calls first; parameter `part` is the number of those that were read before.
fn longest(
    worker: &mut Worker<'_>,
    request: &Request,
    n: usize,
    function: u32,
    limit: usize,
) -> Answered {
    let buffer = worker.served_buffer(n)?;
    let part = request.number("part")?.unwrap_or(0);
    let part = usize::try_from(part).map_err(|_| Problem::absent("part"))?;
    let mut batches = Vec::new();
    for batch in 0..buffer.view.batch_count() {
        if let Some(most) = most_in(buffer, batch, function)? {
            batches.push((most, batch));
        }
    }
    batches.sort_by_key(|(most, batch)| (std::cmp::Reverse(*most), *batch));
    let mut calls: Vec<Call> = Vec::new();
    // Calls of the part that are not in the answer have at most this number of instructions.
    let mut beyond = None;
    if let Some((_, batch)) = batches.get(part) {
        let width = buffer.view.granule();
        let granules = granules_of(buffer, *batch, function)?;
        let mut granules: Vec<(u64, u64)> = granules.into_iter().collect();
        granules.sort_by_key(|(number, most)| (std::cmp::Reverse(*most), *number));
        for (number, most) in granules {
            let shortest = calls.get(limit.saturating_sub(1)).map_or(0, |(_, call)| call.total);
            if calls.len() >= limit && most <= shortest {
                beyond = beyond.max(Some(most));
                break;
            }
            let offsets = number * width..(number + 1) * width;
            calls.extend(whole_calls(worker, n, &offsets, function, 0)?);
            calls.sort_by_key(|(_, call)| (std::cmp::Reverse(call.total), call.offsets.1));
        }
    }
    beyond = beyond.max(calls.get(limit).map(|(_, call)| call.total));
    calls.truncate(limit);
    let next = batches.get(part.saturating_add(1));
    let mut out = String::new();
    Object::new(&mut out)
        .list("calls", &calls, put)
        .flag("more", beyond.is_some() || next.is_some())
        .maybe_number("beyond", beyond)
        .maybe_number("next_part", next.map(|_| part as u64 + 1))
        .maybe_number("next_most", next.map(|(most, _)| *most))
        .end();
    Ok(Answer::Json(out))
}

/// The calls in order of their ends, from an offset on.
fn in_order(
    worker: &mut Worker<'_>,
    request: &Request,
    n: usize,
    function: u32,
    limit: usize,
) -> Answered {
    let buffer = worker.served_buffer(n)?;
    let from = request.number("from")?.unwrap_or(0);
    let width = buffer.view.granule();
    let mut calls: Vec<Call> = Vec::new();
    let (mut decoded, mut next) = (0u64, None);
    'parts: for batch in 0..buffer.view.batch_count() {
        let ends = buffer.view.granules_of(batch).end.saturating_mul(width);
        if ends <= from || most_in(buffer, batch, function)?.is_none() {
            continue;
        }
        for number in granules_of(buffer, batch, function)?.into_keys() {
            if (number + 1).saturating_mul(width) <= from {
                continue;
            }
            if calls.len() >= limit || decoded >= DETAIL {
                next = Some(number * width);
                break 'parts;
            }
            let offsets = number * width..(number + 1) * width;
            calls.extend(whole_calls(worker, n, &offsets, function, from)?);
            calls.sort_by_key(|(source, call)| (call.offsets.1, *source));
            decoded += width;
        }
    }
    next = calls.get(limit).map(|(_, call)| call.offsets.1).or(next);
    calls.truncate(limit);
    let mut out = String::new();
    Object::new(&mut out)
        .list("calls", &calls, put)
        .flag("more", next.is_some())
        .maybe_number("next", next)
        .end();
    Ok(Answer::Json(out))
}

/// The calls of a function that end in a granule, as the sums count them.
fn whole_calls(
    worker: &mut Worker<'_>,
    n: usize,
    offsets: &Range<u64>,
    function: u32,
    from: u64,
) -> Result<Vec<Call>, Problem> {
    let found = worker.player(n)?.detail(offsets.clone(), MOST_FRAMES, |_| {})?;
    let whole = |frame: &ViewFrame| {
        let ended = matches!(frame.ending, Ending::Return | Ending::Replaced | Ending::Unwound);
        frame.function == function
            && frame.entry.is_call()
            && ended
            && !frame.uncertain
            && frame.offsets.1 >= from
    };
    let of_source = found.ended.into_iter().enumerate();
    let calls = of_source.flat_map(|(source, frames)| {
        frames.into_iter().filter(whole).map(move |frame| (source, frame))
    });
    Ok(calls.collect())
}

fn put((source, call): &Call, out: &mut String) {
    let object = Object::new(out)
        .number("begin", call.offsets.0)
        .number("end", call.offsets.1)
        .number("begin_instruction", call.instructions.0)
        .number("end_instruction", call.instructions.1)
        .number("instructions", call.total)
        .number("own", call.own)
        .number("thread", call.thread.into())
        .number("source", *source as u64)
        .value("depth", |out| out.push_str(&call.depth.to_string()));
    let object = match call.times.0 {
        Some(time) => object.digits("begin_time", time),
        None => object,
    };
    match call.times.1 {
        Some(time) => object.digits("end_time", time).end(),
        None => object.end(),
    }
}

pub(super) fn histogram(worker: &mut Worker<'_>, request: &Request) -> Answered {
    let n = worker.buffer(request)?;
    let buffer = worker.served_buffer(n)?;
    let function = function(request, buffer)?;
    let (mut sums, mut classes) = (FunctionSums::default(), [0u64; LENGTHS]);
    for batch in 0..buffer.view.batch_count() {
        for functions in buffer.view.batch_sums(batch)? {
            let own = functions.binary_search_by_key(&function, |(own, _)| *own);
            if let Some((_, own)) = own.ok().and_then(|n| functions.get(n)) {
                sums.add(own);
            }
        }
    }
    for source in 0..buffer.sources.len() {
        for (own, class, count) in buffer.view.lengths(source)? {
            if let Some(sum) = classes.get_mut(usize::from(class)).filter(|_| own == function) {
                *sum = sum.saturating_add(count);
            }
        }
    }
    let mut out = String::new();
    let buckets = classes.iter().enumerate().filter(|(_, calls)| **calls > 0);
    let object = Object::new(&mut out).number("calls", sums.ended).list(
        "buckets",
        buckets,
        |(class, calls), out| {
            let least = if class == 0 { 0 } else { 1u64 << (class - 1) };
            let most = least.checked_shl(1).map_or(u64::MAX, |next| next.wrapping_sub(1));
            let most = if class == 0 { 0 } else { most };
            Object::new(out)
                .number("least", least)
                .number("most", most.min((1 << 53) - 1))
                .number("calls", *calls)
                .end();
        },
    );
    if sums.ended == 0 {
        object.end();
        return Ok(Answer::Json(out));
    }
    let mean = sums.sum as f64 / sums.ended as f64;
    object
        .number("least", sums.least)
        .value("mean", |out| out.push_str(&format!("{mean:.3}")))
        .number("most", sums.most)
        .number("most_at", sums.most_at)
        .end();
    Ok(Answer::Json(out))
}
