//! `api/calls` and `api/histogram`: the calls of a function, and how long they take.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::ops::Range;

use tracewright::index::view::{FunctionSums, LENGTHS, ViewFrame};
use tracewright::views::json::Object;

use crate::answer::{Answer, Answered, Problem};
use crate::request::Request;
use crate::served::ServedBuffer;
use crate::work::{DETAIL, Worker};

/// The most calls of an answer.
const MOST: usize = 500;

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

/// The granule with the longest calls of a function after `part` others, and the instructions of
/// the longest call in those that follow. Those with longer calls are first.
fn granule_of(
    buffer: &ServedBuffer<'_>,
    function: u32,
    part: u64,
) -> Result<(Option<u64>, Option<u64>), Problem> {
    let mut left = part;
    // The longest call of a batch, or of one granule.
    let mut heap = BinaryHeap::new();
    for batch in 0..buffer.view.batch_count() {
        if let Some(most) = most_in(buffer, batch, function)? {
            heap.push((most, Reverse(buffer.view.granules_of(batch).start), Some(batch)));
        }
    }
    while let Some((_, Reverse(number), batch)) = heap.pop() {
        if let Some(batch) = batch {
            let granules = granules_of(buffer, batch, function)?.into_iter();
            heap.extend(granules.map(|(number, most)| (most, Reverse(number), None)));
        } else if left == 0 {
            return Ok((Some(number), heap.peek().map(|(most, ..)| *most)));
        } else {
            left -= 1;
        }
    }
    Ok((None, None))
}

/// The longest calls of a part of the trace. Parts are granules of the index, those with the
/// longest calls first; parameter `part` is the number of those that were read before.
fn longest(
    worker: &mut Worker<'_>,
    request: &Request,
    n: usize,
    function: u32,
    limit: usize,
) -> Answered {
    let buffer = worker.served_buffer(n)?;
    let part = request.number("part")?.unwrap_or(0);
    let (granule, next_most) = granule_of(buffer, function, part)?;
    let mut calls: Vec<Call> = Vec::new();
    if let Some(number) = granule {
        let width = buffer.view.granule();
        calls = whole_calls(worker, n, number * width..(number + 1) * width, function)?;
        calls.sort_by_key(|(_, call)| (Reverse(call.total), call.offsets.1));
    }
    // Calls of the part that are not in the answer have at most this number of instructions.
    let beyond = calls.get(limit).map(|(_, call)| call.total);
    calls.truncate(limit);
    let mut out = String::new();
    Object::new(&mut out)
        .list("calls", &calls, put)
        .flag("more", beyond.is_some() || next_most.is_some())
        .maybe_number("beyond", beyond)
        .maybe_number("next_part", next_most.map(|_| part.saturating_add(1)))
        .maybe_number("next_most", next_most)
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
            let offsets = (number * width).max(from)..(number + 1) * width;
            calls.extend(whole_calls(worker, n, offsets, function)?);
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

/// The whole calls of a function that end in a part, and their sources.
fn whole_calls(
    worker: &mut Worker<'_>,
    n: usize,
    offsets: Range<u64>,
    function: u32,
) -> Result<Vec<Call>, Problem> {
    let of_source = worker.player(n)?.calls(offsets, function)?.into_iter().enumerate();
    let calls = of_source.flat_map(|(source, own)| own.into_iter().map(move |call| (source, call)));
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
