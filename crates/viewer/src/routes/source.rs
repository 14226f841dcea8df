//! `api/source` and `api/place`: source files, and how often their lines were executed.

use std::collections::BTreeMap;

use tracewright::base::{Element, Kind};
use tracewright::index::view::Passed;
use tracewright::views::json::Object;

use super::stack::element_at;
use crate::answer::{Answer, Answered, Problem};
use crate::request::Request;
use crate::shown::{LONGEST, LONGEST_LINE, shown, shown_with};
use crate::work::{DETAIL, Worker};

/// The most lines of an answer.
const MOST: u64 = 2_000;
/// The most bytes of a source file.
const MOST_BYTES: u64 = 1 << 24;

/// What was executed of a line.
#[derive(Clone, Copy, Default)]
struct Executed {
    executions: u64,
    instructions: u64,
    taken: u64,
    not_taken: u64,
    branches: bool,
}

/// How often ranges were executed, by their first and last address: executions, instructions,
/// and of the last instruction, if it is conditional, taken and not taken.
type Ranges = BTreeMap<(u64, u64), (u64, u64, u64, u64)>;

pub(super) fn run(worker: &mut Worker<'_>, request: &Request) -> Answered {
    let program = worker.served.program();
    let number = request.needed("file")?;
    let absent = || Problem::absent("file");
    let number = u32::try_from(number).map_err(|_| absent())?;
    let file = program.files.get(number as usize).ok_or_else(absent)?;
    let path = worker.served.source_path(file).ok_or_else(|| {
        Problem::new(404, "not-found", "the file is not here, or in no folder of sources")
    })?;
    let (from, to) = (request.number("from")?.unwrap_or(1).max(1), request.number("to")?);
    let to = to.unwrap_or(u64::MAX);
    if to < from || to != u64::MAX && to - from >= MOST {
        return Err(Problem::parameter("to", &format!("at most {MOST} lines from `from` on")));
    }
    let text = (worker.served.files.read)(&path, MOST_BYTES);
    let text = text.map_err(|error| Problem::new(404, "not-found", error.to_string()))?;
    let text = String::from_utf8_lossy(&text);
    let executed = match request.get("executions") {
        Some(window) => Some(executed(worker, request, window)?),
        None => None,
    };
    let mut lines = BTreeMap::<u32, Executed>::new();
    if let Some(ranges) = &executed {
        for &(start, last, own, line) in program.rows.iter().filter(|row| row.2 == number) {
            debug_assert_eq!(own, number);
            add(lines.entry(line).or_default(), ranges, start, last);
        }
    }
    let total = text.lines().count() as u64;
    let shown_lines =
        text.lines().zip(1u64..).skip(usize::try_from(from - 1).unwrap_or(usize::MAX));
    let shown_lines = shown_lines.take_while(|(_, line)| *line <= to).take(MOST as usize);
    let mut out = String::new();
    Object::new(&mut out)
        .number("file", number.into())
        .text("path", &shown(&file.path, LONGEST))
        .number("lines_total", total)
        .list("lines", shown_lines, |(text, line), out| {
            let object = Object::new(out)
                .number("line", line)
                .text("text", &shown_with(text, LONGEST_LINE, "\t"));
            let own = u32::try_from(line).ok().and_then(|line| lines.get(&line));
            let Some(own) = own else { return object.end() };
            let object = object
                .number("executions", own.executions)
                .number("instructions", own.instructions);
            match own.branches {
                true => object.number("taken", own.taken).number("not_taken", own.not_taken).end(),
                false => object.end(),
            }
        })
        .end();
    Ok(Answer::Json(out))
}

/// What was executed in the bytes `window`: `A..B`.
fn executed(worker: &mut Worker<'_>, request: &Request, window: &str) -> Result<Ranges, Problem> {
    let n = worker.buffer(request)?;
    let bad = || Problem::parameter("executions", "A..B");
    let (from, to) = window.split_once("..").ok_or_else(bad)?;
    let (from, to): (u64, u64) = (from.parse().map_err(|_| bad())?, to.parse().map_err(|_| bad())?);
    if to < from || to - from > DETAIL {
        return Err(Problem::too_large(DETAIL));
    }
    let buffer = worker.served_buffer(n)?;
    let indexed = buffer.view.buffer();
    let first = element_at(worker, n, from)?.0;
    let last = match to >= indexed.covered() {
        true => indexed.position(indexed.len()).elements,
        false => element_at(worker, n, to)?.0,
    };
    let mut ranges = Ranges::new();
    let mut each = |passed: &Passed| {
        let Element::Range(range) = passed.element else { return };
        if passed.number < first {
            return;
        }
        let own = ranges.entry((range.start, range.end().wrapping_sub(1))).or_default();
        own.0 += 1;
        own.1 = range.instructions.into();
        let conditional =
            range.last.conditional() && matches!(range.last.kind, Kind::Branch | Kind::Indirect);
        if conditional {
            match range.last.taken() {
                true => own.2 += 1,
                false => own.3 += 1,
            }
        }
    };
    worker.player(n)?.elements(first..last, &mut each)?;
    Ok(ranges)
}

/// Adds what was executed of the code `start..=last` of a line.
fn add(line: &mut Executed, ranges: &Ranges, start: u64, last: u64) {
    let mut executions = 0;
    for (&(first, end), &(count, _, taken, not_taken)) in ranges.range(..=(last, u64::MAX)) {
        if end < start {
            continue;
        }
        if first <= start {
            executions += count;
        }
        // The bytes of the line, in instructions of the range: 4 bytes each at the most.
        let bytes = end.min(last).saturating_sub(first.max(start)).saturating_add(1);
        line.instructions =
            line.instructions.saturating_add(bytes.div_ceil(4).saturating_mul(count));
        if start <= end && end <= last && taken + not_taken > 0 {
            line.branches = true;
            line.taken += taken;
            line.not_taken += not_taken;
        }
    }
    // A line may have code in several places: the most frequent one.
    line.executions = line.executions.max(executions);
}

pub(super) fn place(worker: &mut Worker<'_>, request: &Request) -> Answered {
    let buffer = worker.served_buffer(worker.buffer(request)?)?;
    let program = worker.served.program();
    let function = request.number("function")?;
    let function = function.and_then(|function| u32::try_from(function).ok());
    let address = match (request.address("address")?, function) {
        (Some(address), _) => address,
        (None, Some(function)) => {
            buffer.start_of(function).ok_or_else(|| Problem::absent("function"))?
        }
        (None, None) => return Err(Problem::parameter("address", "an address")),
    };
    let function = function.or_else(|| buffer.function_at(address));
    let (file, line) = program.at(address).unzip();
    let mut out = String::new();
    Object::new(&mut out)
        .maybe_number("function", function.map(u64::from))
        .maybe_text("name", function.map(|function| buffer.name(function)).as_deref())
        .maybe_number("file", file.map(u64::from))
        .maybe_number("line", line.map(u64::from))
        .end();
    Ok(Answer::Json(out))
}
