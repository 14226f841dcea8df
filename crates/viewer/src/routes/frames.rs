//! `api/frames` and `api/detail`: frames, long ones of the whole trace, and all of a part.

use tracewright::analysis::stacks::{Ending, Entry};
use tracewright::base::Element;
use tracewright::index::view::{Passed, ViewFrame};
use tracewright::index::{Key, Kind};

use super::capture::channel_key;
use super::exact;
use super::tiles::fixed;
use crate::answer::{Answered, Problem};
use crate::arrays::{Arrays, count};
use crate::request::Request;
use crate::served::ServedBuffer;
use crate::work::{DETAIL, Worker};

/// The most frames of an answer.
const MOST: usize = 20_000;
const MOST_DETAIL: usize = 200_000;
/// The most other elements.
const MOST_EVENTS: usize = 100_000;

/// The frame did not end in what was asked for.
const NOT_ENDED: u8 = 255;

/// A frame, and whether it began and ended inside.
struct Listed {
    frame: ViewFrame,
    ended: bool,
    began_before: bool,
}

pub(super) fn run(worker: &Worker<'_>, request: &Request) -> Answered {
    let buffer = worker.served_buffer(worker.buffer(request)?)?;
    let source = worker.source(request, buffer)?.unwrap_or(0);
    let offsets = worker.offsets(request, buffer)?;
    let least = request.number("min")?.unwrap_or(0).max(buffer.view.shape().tile(0));
    let mut frames = buffer.view.frames(source, offsets.clone(), least)?;
    let mut used = least;
    let left_out = frames.len().saturating_sub(MOST);
    if left_out > 0 {
        // The longest ones stay.
        let mut lengths: Vec<u64> = frames.iter().map(ViewFrame::len).collect();
        lengths.sort_unstable_by_key(|len| std::cmp::Reverse(*len));
        used = lengths.get(MOST).map_or(least, |len| len.saturating_add(1));
        frames.retain(|frame| frame.len() >= used);
    }
    let all = buffer.view.buffer().covered();
    let listed: Vec<Listed> = frames
        .into_iter()
        .map(|frame| Listed { frame, ended: true, began_before: false })
        .collect();
    let left_out = if left_out > 0 { left_out.max(1) } else { 0 };
    let counts = [count(listed.len()), count(left_out), 0, 0, 0, 0];
    let numbers = [exact(offsets.start), exact(offsets.end.min(all)), exact(used), 0.0];
    let arrays = put(Arrays::new(b"TWFR", counts, numbers), buffer, &listed);
    Ok(fixed(worker, request, arrays))
}

pub(super) fn detail(worker: &mut Worker<'_>, request: &Request) -> Answered {
    let n = worker.buffer(request)?;
    let buffer = worker.served_buffer(n)?;
    let source = worker.source(request, buffer)?.unwrap_or(0);
    let offsets = worker.offsets(request, buffer)?;
    if offsets.end - offsets.start > DETAIL {
        return Err(Problem::too_large(DETAIL));
    }
    let (mut events, mut left_out) = (Vec::new(), 0usize);
    // The loss after which the next element is expected.
    let mut lost = None;
    let mut each = |passed: &Passed| {
        if passed.source != source {
            return;
        }
        if let Some(at) = lost.take() {
            let loss: Option<&mut (Passed, Kind, f64)> = events.get_mut(at);
            loss.into_iter().for_each(|(_, _, end)| *end = exact(passed.at));
        }
        let Some((kind, value)) = event(&passed.element) else { return };
        if events.len() >= MOST_EVENTS {
            left_out += 1;
            return;
        }
        let value = match (kind, passed.element) {
            // Instructions without program memory are no lost trace: they have no end.
            (Kind::Gap, Element::NoCode { .. }) => f64::NAN,
            (Kind::Gap, _) => {
                lost = Some(events.len());
                f64::NAN
            }
            _ => exact(value),
        };
        events.push((*passed, kind, value));
    };
    let player = worker.player(n)?;
    let found = player.detail(offsets.clone(), MOST_DETAIL, &mut each)?;
    let of_source = |all: Vec<Vec<ViewFrame>>| all.into_iter().nth(source).unwrap_or_default();
    let (ended, open) = (of_source(found.ended), of_source(found.open));
    let truncated = ended.len() >= MOST_DETAIL;
    // The ends of long ones are known.
    let known = match offsets.is_empty() {
        true => Vec::new(),
        false => buffer.view.frames(source, offsets.end..offsets.end.saturating_add(1), 0)?,
    };
    let same = |a: &ViewFrame, b: &ViewFrame| {
        a.offsets.0 == b.offsets.0
            && a.instructions.0 == b.instructions.0
            && (a.depth, a.thread, a.function) == (b.depth, b.thread, b.function)
    };
    let before = |frame: &ViewFrame| frame.offsets.0 < offsets.start;
    let ended =
        ended.into_iter().map(|frame| Listed { began_before: before(&frame), frame, ended: true });
    let open = open.into_iter().map(|frame| {
        let whole = known.iter().find(|known| same(known, &frame)).copied();
        Listed {
            began_before: before(&frame),
            frame: whole.unwrap_or(ViewFrame { offsets: (frame.offsets.0, offsets.end), ..frame }),
            ended: whole.is_some(),
        }
    });
    let mut listed: Vec<Listed> = ended.chain(open).collect();
    listed.sort_by_key(|own| (own.frame.offsets.0, own.frame.instructions.0, own.frame.depth));
    let counts =
        [count(listed.len()), truncated.into(), count(events.len()), 0, count(left_out), 0];
    let numbers = [exact(offsets.start), exact(offsets.end), 0.0, 0.0];
    let base = buffer.first_time();
    let arrays = put(Arrays::new(b"TWDT", counts, numbers), buffer, &listed)
        .f64(events.iter().map(|(own, ..)| exact(own.at)))
        .f64(events.iter().map(|(own, ..)| exact(own.instructions.1)))
        .f64(events.iter().map(|(own, ..)| time(own.time, base)))
        .f64(events.iter().map(|(.., value)| *value))
        .f64(events.iter().map(|(own, ..)| exact(own.number)))
        .u8(events.iter().map(|(_, kind, _)| *kind as u8));
    Ok(fixed(worker, request, arrays))
}

/// The kind and the value of an element that is listed: its first key.
fn event(element: &Element) -> Option<(Kind, u64)> {
    let mut found = None;
    Key::each(element, |key| {
        // A write has its own kind, whatever else it has.
        if found.is_none() || key.kind == Kind::Write {
            let value = if key.kind == Kind::Write { channel_key(key.value) } else { key.value };
            found = Some((key.kind, value));
        }
    });
    found
}

fn time(time: Option<u64>, base: Option<u64>) -> f64 {
    match (time, base) {
        (Some(time), Some(base)) => time.wrapping_sub(base) as i64 as f64,
        _ => f64::NAN,
    }
}

/// The numbers of entries in arrays.
pub(super) fn entry(entry: Entry) -> u8 {
    match entry {
        Entry::Call => 0,
        Entry::TailCall => 1,
        Entry::Jump => 2,
        Entry::Exception(_) => 3,
        Entry::Before => 4,
        Entry::Lost => 5,
        Entry::Resumed => 6,
    }
}

fn ending(own: &Listed) -> u8 {
    match own.frame.ending {
        _ if !own.ended => NOT_ENDED,
        Ending::Return => 0,
        Ending::UnseenCall => 1,
        Ending::Replaced => 2,
        Ending::Unwound => 3,
        Ending::Lost => 4,
        Ending::Switched => 5,
        Ending::TooDeep => 6,
        Ending::TraceEnd => 7,
    }
}

fn flags(own: &Listed) -> u8 {
    let frame = &own.frame;
    u8::from(frame.uncertain)
        | u8::from(own.began_before) << 1
        | u8::from(frame.entry == Entry::Before) << 2
        | u8::from(matches!(frame.entry, Entry::Exception(_))) << 3
}

fn put(arrays: Arrays, buffer: &ServedBuffer<'_>, listed: &[Listed]) -> Arrays {
    let base = buffer.first_time();
    let frames = || listed.iter().map(|own| &own.frame);
    arrays
        .f64(frames().map(|frame| exact(frame.offsets.0)))
        .f64(frames().map(|frame| exact(frame.offsets.1)))
        .f64(frames().map(|frame| exact(frame.instructions.0)))
        .f64(frames().map(|frame| exact(frame.instructions.1)))
        .f64(frames().map(|frame| time(frame.times.0, base)))
        .f64(frames().map(|frame| time(frame.times.1, base)))
        .f64(frames().map(|frame| exact(frame.own)))
        .u32(frames().map(|frame| frame.thread))
        .u32(frames().map(|frame| frame.function))
        .i32(frames().map(|frame| frame.depth))
        .u8(listed.iter().map(|own| entry(own.frame.entry)))
        .u8(listed.iter().map(ending))
        .u8(listed.iter().map(flags))
}
