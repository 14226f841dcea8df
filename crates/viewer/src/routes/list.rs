//! `api/list`: instructions or elements around a position.

use tracewright::base::Element;
use tracewright::decode::{Fork, Listener};
use tracewright::index::view::Passed;
use tracewright::views::instructions::{Expand, Json};
use tracewright::views::json::{self, Object};

use super::stack::{element_at, parsed};
use crate::answer::{Answer, Answered, Problem};
use crate::request::Request;
use crate::served::ServedBuffer;
use crate::shown::{LONGEST, shown, shown_json};
use crate::work::Worker;

/// The most rows, and the most elements that are asked for.
const MOST: usize = 500;
/// A range with more instructions is one row.
const LONG: u32 = 4096;

/// A row.
struct Row {
    text: String,
    element: u64,
    instruction: Option<u64>,
}

pub(super) fn run(worker: &mut Worker<'_>, request: &Request) -> Answered {
    let n = worker.buffer(request)?;
    let buffer = worker.served_buffer(n)?;
    let only = worker.source(request, buffer)?;
    let kind = request.word("kind", &["instructions", "elements"])?;
    let before = request.limit("before", 50, MOST)?;
    let after = request.limit("after", 100, MOST)?;
    if before + after > MOST {
        return Err(Problem::parameter("before + after", &format!("at most {MOST}")));
    }
    let instruction = request.number("instruction")?;
    let element = match (request.number("element")?, instruction) {
        (Some(element), _) => element,
        (None, Some(instruction)) => {
            let query = parsed(&format!("first instruction {instruction}"))?;
            let found = worker.finder(n)?.seek(&query.conditions)?;
            found.ok_or_else(|| Problem::absent("instruction"))?.number
        }
        (None, None) => element_at(worker, n, request.needed("offset")?)?.0,
    };
    let indexed = buffer.view.buffer();
    let all = indexed.position(indexed.len()).elements;
    let element = element.min(all.saturating_sub(1));
    let first = element.saturating_sub(before as u64);
    let last = element.saturating_add(after as u64).min(all);
    let mut lister = Lister::new(buffer, kind == "instructions");
    for (source, context) in indexed.position(segment(buffer, first)).contexts.iter().enumerate() {
        if let Some((at, context)) = context {
            lister.follow(source, *at, &Element::Context(*context));
        }
    }
    let program = worker.served.program();
    let mut rows: Vec<Row> = Vec::new();
    let mut each = |passed: &Passed| {
        if passed.number < first || only.is_some_and(|only| only != passed.source) {
            return lister.follow(passed.source, passed.at, &passed.element);
        }
        lister.rows(buffer, passed, |address| program.at(address), &mut rows);
    };
    worker.player(n)?.elements(first..last, &mut each)?;
    // The row that was asked for, or the one after it.
    let is_it = |row: &Row| match instruction {
        Some(instruction) => row.instruction.is_some_and(|own| own >= instruction),
        None => row.element >= element,
    };
    let anchor = rows.iter().position(is_it).unwrap_or(rows.len().saturating_sub(1));
    let most = rows.len().saturating_sub(MOST);
    let begin = anchor.saturating_sub(MOST / 2).min(most);
    let end = rows.len().min(begin + MOST);
    let shown = rows.get(begin..end).unwrap_or_default();
    let mut out = String::new();
    Object::new(&mut out)
        .list("rows", shown, |row, out| out.push_str(&row.text))
        .number("anchor", (anchor - begin) as u64)
        .flag("begin", first == 0 && begin == 0)
        .flag("end", last >= all && end == rows.len())
        .mark("truncated", shown.len() < rows.len())
        .end();
    Ok(Answer::Json(out))
}

/// The segment with an element.
fn segment(buffer: &ServedBuffer<'_>, element: u64) -> usize {
    buffer.view.segment_of(element)
}

/// Makes rows.
struct Lister {
    instructions: Expand<Json<Vec<u8>>>,
    elements: json::Listing<Vec<u8>>,
    /// The names of the sources, as JSON.
    names: Vec<String>,
    expands: bool,
}

impl Lister {
    fn new(buffer: &ServedBuffer<'_>, expands: bool) -> Lister {
        let sources = buffer.sources.to_vec();
        let names = sources.iter().map(|source| {
            let mut name = String::new();
            json::object::string(&source.name, &mut name);
            name
        });
        let names = names.collect();
        let json = Json::new(Vec::new(), buffer.plan, sources.clone(), "", None);
        let elements = json::Shown { elements: true, ..json::Shown::default() };
        let elements =
            json::Listing::new(Vec::new(), buffer.plan, sources.clone(), "", None, elements);
        let mut own =
            Lister { instructions: Expand::new(json, &sources), elements, names, expands };
        own.take();
        own
    }

    fn take(&mut self) -> Vec<u8> {
        let mut all = self.instructions.take();
        all.extend(self.elements.take());
        all
    }

    /// An element that is not shown.
    fn follow(&mut self, source: usize, at: u64, element: &Element) {
        if !matches!(element, Element::Range(_)) {
            self.instructions.element(source, at, *element);
            self.elements.element(source, at, *element);
            self.take();
        }
    }

    /// Appends the rows of an element.
    fn rows(
        &mut self,
        buffer: &ServedBuffer<'_>,
        passed: &Passed,
        place: impl Fn(u64) -> Option<(u32, u32)>,
        rows: &mut Vec<Row>,
    ) {
        let Passed { source, at, number, element, .. } = *passed;
        let (mut over_all, mut of_source) = passed.instructions;
        let expands = match element {
            Element::Range(range) => self.expands && range.instructions <= LONG,
            _ => false,
        };
        let text = if expands {
            self.instructions.element(source, at, element);
            self.instructions.take()
        } else {
            // What elements select is followed by both.
            self.instructions_follow(source, at, &element);
            self.elements.element(source, at, element);
            self.elements.take()
        };
        let text = String::from_utf8_lossy(&text);
        for line in text.lines() {
            let is_step = line.starts_with("{\"type\":\"instruction\"");
            let name = self.names.get(source).map_or("", String::as_str);
            let Some((head, rest)) = line.split_once("\"source\":") else { continue };
            let rest = rest.strip_prefix(name).unwrap_or(rest);
            let mut row = format!("{head}\"source\":{source},\"element\":{number}");
            let object = Object::more(&mut row);
            let object = object.number("at_instruction", of_source);
            let object = match is_step {
                true => object.number("n", over_all),
                false => object.number("before", over_all),
            };
            let object = match passed.time {
                Some(time) => object.digits("time", time),
                None => object,
            };
            let address = is_step.then(|| address_of(rest)).flatten();
            let function = address.and_then(|address| buffer.function_at(address));
            let (file, line) = address.and_then(&place).unzip();
            let object = object
                .maybe_number("function", function.map(u64::from))
                .maybe_number("file", file.map(u64::from))
                .maybe_number("line", line.map(u64::from));
            if !is_step {
                let _ = object.text("text", &shown(&element.to_string(), LONGEST));
            }
            row.push_str(&shown_json(rest));
            rows.push(Row { text: row, element: number, instruction: is_step.then_some(over_all) });
            if is_step {
                (over_all, of_source) = (over_all + 1, of_source + 1);
            }
        }
    }

    fn instructions_follow(&mut self, source: usize, at: u64, element: &Element) {
        if !matches!(element, Element::Range(_)) {
            self.instructions.element(source, at, *element);
            self.instructions.take();
        }
    }
}

/// The address of a row.
fn address_of(row: &str) -> Option<u64> {
    let (_, rest) = row.split_once("\"address\":\"0x")?;
    u64::from_str_radix(rest.split_once('"')?.0, 16).ok()
}
