//! `api/output`: the text that software wrote.

use std::collections::BTreeMap;

use tracewright::base::Element;
use tracewright::index::view::Passed;
use tracewright::views::json::Object;
use tracewright::views::text::Ports;

use super::capture::key_of;
use super::exceptions::{MOST, head, scan};
use crate::answer::{Answer, Answered};
use crate::request::Request;
use crate::shown::{LONGEST, shown_with};
use crate::work::Worker;

/// The position of software writes among the counts of a tile.
const WRITES: usize = 2;

/// A line of text.
struct Line {
    passed: Passed,
    channel: u64,
    text: String,
}

pub(super) fn run(worker: &mut Worker<'_>, request: &Request) -> Answered {
    let n = worker.buffer(request)?;
    let channel = request.number("channel")?;
    let from = request.number("from")?.unwrap_or(0);
    let limit = request.limit("limit", 200, MOST)?;
    let mut found: Vec<Line> = Vec::new();
    let mut ports = BTreeMap::<usize, Ports>::new();
    // The last write of each source: text has the position of its last character.
    let mut last = BTreeMap::<usize, Passed>::new();
    let next = scan(worker, n, WRITES, from, None, |passed| {
        if passed.at < from {
            return true;
        }
        if matches!(passed.element, Element::SoftwareWrite(_)) {
            last.insert(passed.source, *passed);
        }
        let own = ports.entry(passed.source).or_default();
        own.element(passed.at, &passed.element, |line| {
            push(&mut found, channel, last.get(&passed.source).unwrap_or(passed), line);
        });
        found.len() <= limit
    })?;
    let more = found.len() > limit;
    if !more {
        // Lines that are not complete.
        for (source, ports) in &mut ports {
            if let Some(last) = last.get(source) {
                ports.element(last.at, &Element::End, |line| push(&mut found, channel, last, line));
            }
        }
    }
    let next = if more { found.get(limit).map(|line| line.passed.at) } else { next };
    found.truncate(limit);
    let mut out = String::new();
    Object::new(&mut out)
        .list("lines", &found, |line, out| {
            head(&line.passed, Object::new(out))
                .number("channel", line.channel)
                .text("text", &line.text)
                .end();
        })
        .flag("more", next.is_some())
        .maybe_number("next", next)
        .end();
    Ok(Answer::Json(out))
}

/// Appends a line of a channel that is wanted.
fn push(
    found: &mut Vec<Line>,
    wanted: Option<u64>,
    passed: &Passed,
    line: tracewright::views::text::Line,
) {
    let channel = key_of(line.channel);
    if wanted.is_some_and(|wanted| wanted != channel) {
        return;
    }
    let text = String::from_utf8_lossy(&line.text);
    let text = shown_with(text.trim_end_matches(['\r', '\n']), LONGEST, "\t");
    found.push(Line { passed: Passed { at: line.at, ..*passed }, channel, text });
}
