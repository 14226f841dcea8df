//! A file that shows a trace in a browser without a server: the page, with answers of the routes.
//!
//! | file | contents |
//! |---|---|
//! | `page.rs` | the page as one file |
//! | `packed.rs` | answers, compressed, and their bound |
//! | `buffer.rs` | the answers about a buffer |
//! | `text.rs` | the answers that are lists, and source files |
//! | `window.rs` | the part of a buffer that a window selects |
//!
//! What the file has is bounded, and it lists what was left out. The names of its answers are those
//! that `viewer/src/data/embedded.ts` looks for.

mod buffer;
mod packed;
mod page;
mod text;
mod window;

use std::fmt;
use std::ops::Range;

use tracewright::views::json::Object;

use crate::answer::{Answer, Problem};
use crate::request::Request;
use crate::routes;
use crate::served::Served;
use crate::shown::shown;
use crate::work::Worker;
use packed::Packed;
pub use window::part_of;

/// The most bytes of a file by default.
pub const MOST: usize = 8_000_000;

/// The most buffers whose calls are in a file.
const BUFFERS: usize = 64;

/// What a file is about.
#[derive(Clone, Debug)]
pub struct Exporting {
    /// The title of the page.
    pub title: String,
    /// What the trace is, how the file was made, and so on: a name and a value each.
    pub about: Vec<(String, String)>,
    /// The part of the trace that is shown first, and in detail: the number of its buffer, and
    /// offsets in it. Without one it is the whole trace.
    pub part: Option<(usize, Range<u64>)>,
    /// The results of decoding the trace, an object in JSON.
    pub report: Option<String>,
    /// The most bytes of the file.
    pub most: usize,
}

/// Why there is no file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExportError(String);

impl fmt::Display for ExportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ExportError {}

impl From<Problem> for ExportError {
    fn from(problem: Problem) -> ExportError {
        ExportError(problem.message)
    }
}

/// What is made.
pub(crate) struct Export<'a, 'w> {
    worker: &'w mut Worker<'a>,
    packed: Packed,
    /// What the file has, and what it does not have.
    has: Vec<String>,
    lacks: Vec<String>,
}

/// The page with a trace as one file, and what it does not have.
///
/// # Errors
/// Where the index is damaged, or the trace cannot be read, or where the least that the page needs
/// is longer than `how.most` bytes.
pub fn export(served: &Served<'_>, how: &Exporting) -> Result<(String, Vec<String>), ExportError> {
    let mut worker = Worker::new(served);
    let report = how.report.as_deref().map(page::without_tags);
    let report_len = report.as_ref().map_or(0, String::len);
    let room = how.most.saturating_sub(page::len() + 6 * how.title.len() + ABOUT + report_len);
    let (has, lacks) = (Vec::new(), Vec::new());
    let mut export = Export { worker: &mut worker, packed: Packed::new(room), has, lacks };
    let too_long = |what: &str| {
        let most = how.most;
        ExportError(format!("{what} of the trace does not fit into a file of {most} bytes"))
    };
    let capture = export.ask("capture", "")?;
    export.must("capture", capture).ok_or_else(|| too_long("the description"))?;
    let notes = export.ask("notes", "")?;
    if export.must("notes", notes).is_none() {
        export.lacks.push("bookmarks".to_owned());
    }
    // The buffer that is shown first has the most room.
    let mut order: Vec<usize> = (0..served.buffers.len()).collect();
    let first = how.part.as_ref().map(|(number, _)| *number);
    order.sort_by_key(|n| served.buffers.get(*n).map(|own| Some(own.number) != first));
    let all = order.len();
    for (k, n) in order.into_iter().enumerate() {
        let Some(buffer) = served.buffers.get(n) else { continue };
        if k >= BUFFERS {
            export.lacks.push(format!("{} further buffers", all - k));
            break;
        }
        let part = how.part.as_ref().filter(|(number, _)| *number == buffer.number);
        let share = export.packed.left() / (all - k).clamp(1, 8);
        export.buffer(n, part.map(|(_, part)| part.clone()), share)?;
    }
    // A trace without a buffer that can be shown is not served.
    if !served.is_empty() {
        export.lacks.push("queries, and what else is found by decoding the trace again".to_owned());
    }
    let mut how = how.clone();
    if how.report.is_none() {
        how.about.push(("damage".to_owned(), damage(served)?));
    }
    let about = export.about(&how);
    // Its room was set aside.
    export.packed.add_always("about", about.as_bytes());
    Ok((page::one_file(&how.title, &export.packed.json(), report.as_deref()), export.lacks))
}

/// Where trace is lost or cannot be decoded: the number of places that the index has.
fn damage(served: &Served<'_>) -> Result<String, ExportError> {
    let mut places = 0u64;
    for buffer in &served.buffers {
        let level = buffer.view.shape().levels.saturating_sub(1);
        for source in 0..buffer.sources.len() {
            let tiles = buffer.view.tiles(source, level, 0..u64::MAX);
            let tiles = tiles.map_err(|error| ExportError(error.to_string()))?;
            places += tiles.iter().map(|tile| tile.counts[GAPS]).sum::<u64>();
        }
    }
    let places = match places {
        0 => "no place where trace is lost, undecodable or without program memory".to_owned(),
        n => format!("places where trace is lost, undecodable or without program memory: {n}"),
    };
    Ok(format!(
        "{places}; `tracewright report` has the numbers of undecodable bytes and of \
                inconsistencies"
    ))
}

/// The number of the gaps in the counts of a tile.
const GAPS: usize = 1;

/// The characters that are set aside for what the file is about.
const ABOUT: usize = 64 << 10;
/// The most bytes of what is about a file, before compression.
const MOST_ABOUT: usize = 32 << 10;

impl Export<'_, '_> {
    /// The bytes of the answer of a route.
    fn ask(&mut self, route: &str, query: &str) -> Result<Vec<u8>, Problem> {
        let answer = routes::answer(self.worker, &Request::new(route, query), None)?;
        Ok(match answer {
            Answer::Json(text) => text.into_bytes(),
            Answer::Fixed(bytes) | Answer::Arrays(bytes) => bytes,
            Answer::Done => Vec::new(),
        })
    }

    /// Adds an answer that may need all the room that is left.
    fn must(&mut self, name: &str, bytes: Vec<u8>) -> Option<usize> {
        self.packed.add(vec![(name.to_owned(), bytes)], usize::MAX)
    }

    /// What the file is about, what it has, and what it does not have.
    fn about(&self, how: &Exporting) -> String {
        let mut left = MOST_ABOUT;
        let mut fits = |text: &String| {
            left = left.saturating_sub(text.len() + 16);
            left > 0
        };
        let string = |text: &str, out: &mut String| {
            tracewright::views::json::object::string(&shown(text, 1024), out);
        };
        let about: Vec<_> = how.about.iter().filter(|(_, value)| fits(value)).collect();
        let has: Vec<_> = self.has.iter().filter(|text| fits(text)).collect();
        let lacks: Vec<_> = self.lacks.iter().filter(|text| fits(text)).collect();
        let mut out = String::new();
        let object = Object::new(&mut out)
            .text("title", &shown(&how.title, 1024))
            .list("about", about, |(name, value), out| {
                out.push('[');
                string(name, out);
                out.push(',');
                string(value, out);
                out.push(']');
            })
            .list("has", has, |text, out| string(text, out))
            .list("lacks", lacks, |text, out| string(text, out));
        match &how.part {
            None => object.end(),
            Some((buffer, part)) => object
                .value("part", |out| {
                    Object::new(out)
                        .number("buffer", *buffer as u64)
                        .number("from", part.start)
                        .number("to", part.end)
                        .end();
                })
                .end(),
        }
        out
    }
}

/// The last number with this name in an object in JSON.
fn last_number(json: &[u8], name: &str) -> Option<u64> {
    let text = std::str::from_utf8(json).ok()?;
    // A quotation mark in a text has a backslash before it: this is a name.
    let (_, rest) = text.rsplit_once(&format!("\"{name}\":"))?;
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    rest.get(..end)?.parse().ok()
}

/// A list in JSON of answers in JSON.
fn list(answers: &[Vec<u8>]) -> Vec<u8> {
    let mut out = vec![b'['];
    out.extend(answers.join(&b','));
    out.push(b']');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_answers_are_found() {
        let json = br#"{"rows":[{"n":1},{"n":22,"text":"\"n\":7"}],"more":true,"next":345}"#;
        assert_eq!(last_number(json, "n"), Some(22));
        assert_eq!(last_number(json, "next"), Some(345));
        assert_eq!(last_number(json, "more"), None);
        assert_eq!(last_number(json, "absent"), None);
        assert_eq!(list(&[b"{}".to_vec(), b"[1]".to_vec()]), b"[{},[1]]");
        assert_eq!(list(&[]), b"[]");
    }
}
