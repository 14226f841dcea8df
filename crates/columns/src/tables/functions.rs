//! Functions, and paths of calls.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use tracewright::Trace;
use tracewright::analysis::functions::{FunctionTotals, by_thread, inclusive, together};
use tracewright::analysis::stacks::FunctionId;
use tracewright::analysis::{Code, Paths};
use tracewright::decode::Tally;
use tracewright::views::LineTable;
use tracewright::views::functions::is_called;

use super::common::{infos, write};
use super::{By, Definition, Division, Input};
use crate::arrays::column;
use crate::output::{Batches, Column};
use crate::query::TableError;

pub(super) const TABLE: Definition = Definition {
    name: "functions",
    about: "functions that were executed: calls, instructions, cycles, time",
    columns: || infos(columns()),
    by: &[By::Window, By::Function],
    division: Division::Captures,
    read,
};

pub(super) const PATHS: Definition = Definition {
    name: "call_paths",
    about: "paths of callers, and what was executed at the end of each",
    columns: || infos(path_columns()),
    by: &[By::Window],
    division: Division::Captures,
    read: read_paths,
};

/// The trace, restricted to what the query selects.
pub(super) fn in_part<'a>(input: &Input<'a>) -> Cow<'a, Trace> {
    if input.query.window.is_all() {
        return Cow::Borrowed(input.trace);
    }
    Cow::Owned(input.trace.clone().with_window(input.query.window.clone()))
}

/// A function.
struct Function {
    name: String,
    symbol: Option<String>,
    image: Option<Arc<str>>,
    address: Option<u64>,
    size: Option<u64>,
    line: Option<(String, u32)>,
    totals: FunctionTotals,
}

fn read(input: &Input<'_>, batches: &mut Batches<'_>) -> Result<Tally, TableError> {
    let trace = in_part(input);
    let stacked = trace.call_trees()?;
    let code = &stacked.code;
    let threads: Vec<_> = stacked.buffers.iter().flat_map(|own| by_thread(&own.frames)).collect();
    let lines = input.wants(&["file", "line"]).then(|| LineTable::of_capture(trace.capture()));
    let row = |(function, totals): (FunctionId, FunctionTotals)| {
        let known = match function {
            FunctionId::Known(number) => code.get(number),
            _ => None,
        };
        let address = match function {
            FunctionId::At(address) => Some(address),
            _ => known.map(|known| known.function.start),
        };
        let line = |address: u64| lines.as_ref()?.at(address);
        Function {
            name: code.name(function).into_owned(),
            symbol: code.symbol(function).map(str::to_owned),
            image: known.and_then(|known| known.module.clone()),
            address,
            size: known.map(|known| known.function.end.saturating_sub(known.function.start)),
            line: address.and_then(line).map(|(file, line)| (file.to_owned(), line)),
            totals,
        }
    };
    let mut rows: Vec<Function> = together(&threads).into_iter().map(row).collect();
    let wanted = &input.query.functions;
    rows.retain(|row| {
        let is = |pattern: &String| is_called(pattern, &row.name, row.symbol.as_deref());
        wanted.is_empty() || wanted.iter().any(is)
    });
    rows.sort_by(|a, b| {
        let key = |row: &Function| (row.totals.instructions, row.totals.inclusive_instructions);
        key(b).cmp(&key(a)).then_with(|| (&a.name, a.address).cmp(&(&b.name, b.address)))
    });
    write(input, columns(), rows, batches);
    Ok(stacked.summary.formatter)
}

/// A count in parts of 2^-16, where there is any of its kind.
fn count(value: u64, of: u64) -> Option<u64> {
    (of > 0).then_some(value >> 16)
}

fn columns() -> Vec<Column<Function>> {
    type Own = Function;
    vec![
        column!(Text "name" ! "name of the function; without a symbol, its address",
            |_, r| r.name.as_str()),
        column!(Text "symbol" ? "its name in the symbol table", |_, r| r.symbol.as_deref()),
        column!(Name(files) "image" ? "path of its file, where processes have mapped it",
            |s, r| r.image.as_deref().map(|image| s.files.number(image))),
        column!(Hex "address" ? "first instruction; in its file, where processes have mapped it",
            |_, r| r.address),
        column!(U64 "size" ? "bytes", |_, r| r.size),
        column!(Name(files) "file" ? "source file",
            |s, r| r.line.as_ref().map(|(file, _)| s.files.number(file)))
        .on_request(),
        column!(U32 "line" ? "line", |_, r| r.line.as_ref().map(|(_, line)| *line)).on_request(),
        column!(U64 "calls" ! "calls, and exceptions", |_, r| r.totals.calls),
        column!(U64 "instructions" ! "instructions in the function itself",
            |_, r| r.totals.instructions),
        column!(U64 "inclusive_instructions" ! "with the functions that it calls",
            |_, r| r.totals.inclusive_instructions),
        column!(U64 "cycles" ? "processor cycles in the function itself",
            |_, r| count(r.totals.cycles, r.totals.inclusive_cycles)),
        column!(U64 "inclusive_cycles" ? "with the functions that it calls",
            |_, r| count(r.totals.inclusive_cycles, r.totals.inclusive_cycles)),
        column!(U64 "ticks" ? "timestamp ticks in the function itself",
            |_, r| count(r.totals.ticks, r.totals.inclusive_ticks)),
        column!(U64 "inclusive_ticks" ? "with the functions that it calls",
            |_, r| count(r.totals.inclusive_ticks, r.totals.inclusive_ticks)),
        column!(U64 "uncertain_frames" ! "calls in which trace was lost",
            |_, r| r.totals.uncertain),
    ]
}

/// A path of callers.
struct CallPath {
    id: u32,
    parent: Option<u32>,
    thread: String,
    depth: u32,
    function: Option<String>,
    path: Vec<String>,
    own: [u64; 4],
    inclusive: u64,
}

fn read_paths(input: &Input<'_>, batches: &mut Batches<'_>) -> Result<Tally, TableError> {
    let trace = in_part(input);
    let stacked = trace.call_trees()?;
    let (mut rows, mut first) = (Vec::new(), 0);
    for own in &stacked.buffers {
        paths(&own.frames, &own.threads, &stacked.code, first, &mut rows);
        first = rows.len() as u32;
    }
    write(input, path_columns(), rows, batches);
    Ok(stacked.summary.formatter)
}

/// Adds the paths of a buffer, callers first. The root of a thread is none.
fn paths(own: &Paths, threads: &[String], code: &Code, first: u32, rows: &mut Vec<CallPath>) {
    let sums = inclusive(own);
    let roots: HashMap<u32, usize> =
        own.threads().iter().enumerate().map(|(n, thread)| (thread.root, n)).collect();
    // By the number of a path: its row, thread and depth.
    let mut known: HashMap<u32, (Option<u32>, usize)> =
        roots.iter().map(|(root, thread)| (*root, (None, *thread))).collect();
    let mut names: HashMap<u32, Vec<String>> = HashMap::new();
    for (number, _) in own.in_order() {
        let Some(path) = own.paths().get(number as usize) else { continue };
        let Some(&(parent, thread)) = path.parent.and_then(|parent| known.get(&parent)) else {
            continue;
        };
        let id = first + (rows.len() as u32 - first);
        known.insert(number, (Some(id), thread));
        let name = code.name(path.function).into_owned();
        let mut stack = path.parent.and_then(|p| names.get(&p)).cloned().unwrap_or_default();
        stack.push(name.clone());
        names.insert(number, stack.clone());
        rows.push(CallPath {
            id,
            parent,
            thread: threads.get(thread).cloned().unwrap_or_default(),
            depth: stack.len() as u32 - 1,
            function: (path.function != FunctionId::Unknown).then_some(name),
            path: stack,
            own: [path.calls, path.instructions, path.cycles, path.ticks],
            inclusive: sums.get(number as usize).map_or(0, |sum| sum[0]),
        });
    }
}

fn path_columns() -> Vec<Column<CallPath>> {
    type Own = CallPath;
    vec![
        column!(U32 "id" ! "number of the path", |_, r| r.id),
        column!(U32 "parent_id" ? "the path of the caller", |_, r| r.parent),
        column!(Name(words) "thread" ! "name of the thread",
            |s, r| Some(s.words.number(&r.thread))),
        column!(U32 "depth" ! "number of callers", |_, r| r.depth),
        column!(Name(functions) "function" ? "name of the function",
            |s, r| r.function.as_deref().map(|name| s.functions.number(name))),
        column!(ListText "path" ! "the functions from the outermost to this one",
            |_, r| r.path.clone()),
        column!(U64 "calls" ! "calls, and exceptions", |_, r| r.own[0]),
        column!(U64 "instructions" ! "instructions at the end of the path", |_, r| r.own[1]),
        column!(U64 "inclusive_instructions" ! "with the paths that continue it",
            |_, r| r.inclusive),
        column!(U64 "cycles" ? "processor cycles; null without counts",
            |_, r| count(r.own[2], r.own[2])),
        column!(U64 "ticks" ? "timestamp ticks; null without timestamps",
            |_, r| count(r.own[3], r.own[3])),
    ]
}
