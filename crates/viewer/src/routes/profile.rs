//! `api/profile` and `api/tree`: the functions of a part, and who calls one of them.

use std::collections::BTreeMap;

use tracewright::index::view::{FunctionSums, ViewFrame};
use tracewright::views::json::Object;

use crate::answer::{Answer, Answered, Problem};
use crate::request::Request;
use crate::served::ServedBuffer;
use crate::work::{DETAIL, Worker};

/// The most functions of an answer.
const MOST: usize = 5_000;
/// The most frames of which callers are found.
const MOST_FRAMES: usize = 1_000_000;

pub(super) fn run(worker: &mut Worker<'_>, request: &Request) -> Answered {
    let n = worker.buffer(request)?;
    let buffer = worker.served_buffer(n)?;
    let source = worker.source(request, buffer)?;
    let offsets = worker.offsets(request, buffer)?;
    let order = request.word("order", &["own", "total", "calls", "most"])?;
    let limit = request.limit("limit", 500, MOST)?;
    let only = request.number("function")?;
    let mut sums = BTreeMap::<u32, FunctionSums>::new();
    let found = worker.sums(n, offsets.clone())?.into_iter().enumerate();
    let found = found.filter(|(own, _)| source.is_none_or(|source| source == *own));
    for (function, found) in found.flat_map(|(_, functions)| functions) {
        sums.entry(function).or_default().add(&found);
    }
    let instructions = sums.values().fold(0u64, |sum, own| sum.saturating_add(own.own));
    let mut functions: Vec<(u32, FunctionSums)> = sums.into_iter().collect();
    functions.retain(|(function, _)| only.is_none_or(|only| u64::from(*function) == only));
    functions.sort_by_key(|(function, own)| {
        let key = match order {
            "total" => own.total,
            "calls" => own.calls,
            "most" => own.most,
            _ => own.own,
        };
        (std::cmp::Reverse(key), *function)
    });
    let left_out = functions.len().saturating_sub(limit);
    functions.truncate(limit);
    let mut out = String::new();
    Object::new(&mut out)
        .number("from", offsets.start)
        .number("to", offsets.end)
        .number("instructions", instructions)
        .list("functions", &functions, |(function, own), out| {
            let object = Object::new(out)
                .number("function", (*function).into())
                .text("name", &buffer.name(*function))
                .number("calls", own.calls)
                .number("own", own.own)
                .number("total", own.total)
                .number("ended", own.ended);
            if own.ended == 0 {
                return object.end();
            }
            let mean = own.sum as f64 / own.ended as f64;
            object
                .number("least", own.least)
                .value("mean", |out| out.push_str(&format!("{mean:.3}")))
                .number("most", own.most)
                .number("most_at", own.most_at)
                .end();
        })
        .maybe_number("truncated", (left_out > 0).then_some(left_out as u64))
        .end();
    Ok(Answer::Json(out))
}

pub(super) fn tree(worker: &mut Worker<'_>, request: &Request) -> Answered {
    let n = worker.buffer(request)?;
    let buffer = worker.served_buffer(n)?;
    let source = worker.source(request, buffer)?;
    let offsets = worker.offsets(request, buffer)?;
    let function = request.needed("function")?;
    let function = u32::try_from(function).map_err(|_| Problem::absent("function"))?;
    if offsets.end - offsets.start > DETAIL {
        return Err(Problem::too_large(DETAIL));
    }
    let found = worker.player(n)?.detail(offsets, MOST_FRAMES, |_| {})?;
    let sources = found.ended.into_iter().zip(found.open).enumerate();
    let sources = sources.filter(|(own, _)| source.is_none_or(|source| source == *own));
    let frames = sources.flat_map(|(_, (ended, open))| ended.into_iter().chain(open));
    let mut frames: Vec<ViewFrame> = frames.collect();
    let truncated = frames.len() >= MOST_FRAMES;
    frames.sort_by_key(|frame| (frame.thread, frame.instructions.0, frame.offsets.0, frame.depth));
    let (mut callers, mut callees) = (Sides::new(), Sides::new());
    let mut instructions = 0u64;
    let mut stack: Vec<&ViewFrame> = Vec::new();
    for frame in &frames {
        // Frames that ended before it, and those beside it.
        while stack.last().is_some_and(|top| top.thread != frame.thread || top.depth >= frame.depth)
        {
            stack.pop();
        }
        let caller = stack.last().filter(|top| top.depth + 1 == frame.depth);
        if frame.function == function {
            instructions = instructions.saturating_add(frame.own);
            if let Some(caller) = caller {
                add(&mut callers, caller.function, frame);
            }
        }
        if caller.is_some_and(|caller| caller.function == function) {
            add(&mut callees, frame.function, frame);
        }
        stack.push(frame);
    }
    let mut out = String::new();
    Object::new(&mut out)
        .list("callers", sorted(callers), |side, out| put(buffer, side, out))
        .list("callees", sorted(callees), |side, out| put(buffer, side, out))
        .number("instructions", instructions)
        .mark("truncated", truncated)
        .end();
    Ok(Answer::Json(out))
}

/// By function: calls, and instructions of them with what they call.
type Sides = BTreeMap<u32, (u64, u64)>;

fn add(sides: &mut Sides, function: u32, frame: &ViewFrame) {
    let own = sides.entry(function).or_default();
    *own = (own.0 + 1, own.1.saturating_add(frame.total));
}

/// Those with the most instructions first.
fn sorted(sides: Sides) -> Vec<(u32, (u64, u64))> {
    let mut all: Vec<_> = sides.into_iter().collect();
    all.sort_by_key(|(function, own)| (std::cmp::Reverse(own.1), *function));
    all.truncate(MOST);
    all
}

fn put(buffer: &ServedBuffer<'_>, (function, (calls, total)): (u32, (u64, u64)), out: &mut String) {
    Object::new(out)
        .number("function", function.into())
        .text("name", &buffer.name(function))
        .number("calls", calls)
        .number("total", total)
        .end();
}
