//! What is answered.

use tracewright::index::{FindError, IndexError};

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Problem {
    /// The status of HTTP.
    pub(crate) status: u16,
    /// One word, for programs.
    pub(crate) code: &'static str,
    /// A sentence, for people.
    pub(crate) message: String,
}

impl Problem {
    pub(crate) fn new(status: u16, code: &'static str, message: impl Into<String>) -> Problem {
        Problem { status, code, message: message.into() }
    }

    /// A parameter is not what it has to be.
    pub(crate) fn parameter(name: &str, wanted: &str) -> Problem {
        Problem::new(400, "bad-parameter", format!("`{name}` has to be {wanted}"))
    }

    /// There is nothing of this kind.
    pub(crate) fn absent(what: &str) -> Problem {
        Problem::new(404, "not-found", format!("there is no such {what}"))
    }

    /// More bytes are asked for than are decoded for one answer.
    pub(crate) fn too_large(most: u64) -> Problem {
        Problem::new(413, "too-large", format!("at most {most} bytes are decoded at once"))
    }

    /// The JSON of the answer.
    pub(crate) fn json(&self) -> String {
        let mut out = String::new();
        tracewright::views::json::Object::new(&mut out)
            .text("error", self.code)
            .text("message", &self.message)
            .end();
        out
    }
}

impl From<IndexError> for Problem {
    fn from(error: IndexError) -> Problem {
        Problem::new(500, "damaged", error.to_string())
    }
}

impl From<FindError> for Problem {
    fn from(error: FindError) -> Problem {
        match error {
            FindError::Read(error) if error.kind() == std::io::ErrorKind::Interrupted => {
                Problem::new(504, "time", "the answer takes too long; ask for a smaller part")
            }
            FindError::Read(_) => Problem::new(500, "damaged", error.to_string()),
            _ => Problem::new(400, "bad-parameter", error.to_string()),
        }
    }
}

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// JSON, which may change.
    Json(String),
    /// JSON or arrays that never change for this checksum.
    Fixed(Vec<u8>),
    /// Arrays that may change.
    Arrays(Vec<u8>),
    /// Nothing: it is done.
    Done,
}

/// The result of a route.
pub(crate) type Answered = Result<Answer, Problem>;
