//! Answers without a server: on the calling thread, for a page that has the decoder beside it.

use std::fmt;

use crate::answer::{Answer, Answered};
use crate::request::Request;
use crate::routes;
use crate::served::Served;
use crate::work::Worker;

/// Answers requests one after another: those of the server, with its answers.
pub struct Answers<'a> {
    worker: Worker<'a>,
}

/// What the server would send.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// The status of HTTP.
    pub status: u16,
    /// The value of `Content-Type`.
    pub content_type: &'static str,
    /// The content.
    pub body: Vec<u8>,
}

impl fmt::Debug for Answers<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Answers").field("served", &self.worker.served).finish_non_exhaustive()
    }
}

impl<'a> Answers<'a> {
    /// Answers about `served`.
    pub fn new(served: &'a Served<'a>) -> Answers<'a> {
        Answers { worker: Worker::new(served) }
    }

    /// The answer of the route after `api/`, with the parameters of `query`, the text after `?`.
    /// `body`: what is to be saved. The route `find` is [`find`](Self::find).
    pub fn answer(&mut self, route: &str, query: &str, body: Option<&[u8]>) -> Reply {
        reply(routes::answer(&mut self.worker, &Request::new(route, query), body))
    }

    /// Searches. `send` receives the events of the stream that the server sends, and returns
    /// whether more are wanted.
    pub fn find(&mut self, query: &str, send: &mut dyn FnMut(String) -> bool) {
        routes::find::run(&mut self.worker, &Request::new("find", query), send);
    }
}

/// JSON.
pub(crate) const JSON: &str = "application/json";
/// Arrays.
pub(crate) const ARRAYS: &str = "application/octet-stream";

/// The content of an answer, and its type. There is none where something was done.
pub(crate) fn content(answer: Answer) -> (&'static str, Vec<u8>) {
    match answer {
        Answer::Json(text) => (JSON, text.into_bytes()),
        Answer::Fixed(bytes) | Answer::Arrays(bytes) => (ARRAYS, bytes),
        Answer::Done => (JSON, Vec::new()),
    }
}

fn reply(answered: Answered) -> Reply {
    let (status, (content_type, body)) = match answered {
        Ok(Answer::Done) => (204, content(Answer::Done)),
        Ok(answer) => (200, content(answer)),
        Err(problem) => (problem.status, (JSON, problem.json().into_bytes())),
    };
    Reply { status, content_type, body }
}
