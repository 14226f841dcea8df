//! The routes: one file for each.

mod calls;
mod capture;
mod exceptions;
pub(crate) mod find;
mod frames;
mod functions;
mod list;
mod notes;
mod output;
mod profile;
mod source;
mod stack;
mod tiles;
mod values;

use crate::answer::{Answered, Problem};
use crate::request::Request;
use crate::work::Worker;

/// Answers a request.
pub(crate) fn answer(worker: &mut Worker<'_>, request: &Request, body: Option<&[u8]>) -> Answered {
    match request.route.as_str() {
        "capture" => capture::run(worker),
        "functions" => functions::run(worker, request),
        "tiles" => tiles::run(worker, request),
        "frames" => frames::run(worker, request),
        "detail" => frames::detail(worker, request),
        "list" => list::run(worker, request),
        "stack" => stack::run(worker, request),
        "profile" => profile::run(worker, request),
        "tree" => profile::tree(worker, request),
        "calls" => calls::run(worker, request),
        "histogram" => calls::histogram(worker, request),
        "source" => source::run(worker, request),
        "place" => source::place(worker, request),
        "values" => values::run(worker, request),
        "output" => output::run(worker, request),
        "exceptions" => exceptions::run(worker, request),
        "notes" => match body {
            None => notes::get(worker),
            Some(body) => notes::put(worker, body),
        },
        _ => Err(Problem::absent("route")),
    }
}

#[cfg(feature = "server")]
pub(crate) use capture::prepare;

/// A number that JSON has exactly: those above 2^53 - 1 are that.
pub(crate) fn exact(number: u64) -> f64 {
    number.min((1 << 53) - 1) as f64
}
