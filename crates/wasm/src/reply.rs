//! The answer.

use std::fmt::Display;

use tracewright::views::json::{Object, object};

/// Why there is no answer.
#[derive(Debug)]
pub(crate) struct Problem {
    status: u16,
    message: String,
}

impl Problem {
    /// The request is not one that has an answer.
    pub(crate) fn bad(message: impl Into<String>) -> Problem {
        Problem { status: 400, message: message.into() }
    }

    /// The files are not those of a trace that can be decoded.
    pub(crate) fn of(error: &dyn Display) -> Problem {
        Problem { status: 422, message: error.to_string() }
    }
}

/// A status of HTTP, and the answer.
#[derive(Debug, Default)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) body: Vec<u8>,
}

impl Reply {
    /// JSON.
    pub(crate) fn json(text: String) -> Reply {
        Reply { status: 200, body: text.into_bytes() }
    }
}

impl From<Problem> for Reply {
    fn from(Problem { status, message }: Problem) -> Reply {
        let mut out = String::new();
        let code = if status == 400 { "bad-parameter" } else { "damaged" };
        Object::new(&mut out).text("error", code).text("message", &message).end();
        Reply { status, body: out.into_bytes() }
    }
}

/// A list of texts in JSON.
pub(crate) fn texts(out: &mut String, texts: &[String]) {
    out.push('[');
    for (n, text) in texts.iter().enumerate() {
        if n > 0 {
            out.push(',');
        }
        object::string(text, out);
    }
    out.push(']');
}
