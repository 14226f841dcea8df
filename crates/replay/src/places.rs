//! Places that are named by words: `end`, `instruction 100`, the first result of a query.

use std::fmt;

use tracewright::index::query::{self, Query, QueryError};
use tracewright::index::{Answer, FindError};

use crate::machine::{Direction, Machine};
use crate::position::Position;

/// Why a place is not gone to.
#[derive(Debug)]
pub enum NoPlace {
    /// The trace has none: an element, an instruction, a time.
    None(&'static str),
    /// The text is not the number of an element and an instruction in it.
    NotAPosition(String),
    /// The text is not a number.
    NotANumber(String),
    /// The query is not understood.
    Query(QueryError),
    /// The query cannot be answered.
    Unanswered(FindError),
    /// The query counts.
    Count,
    /// The result, an element with this number, has no instruction after it.
    NothingFollows(u64),
}

impl fmt::Display for NoPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NoPlace::None(what) => write!(f, "the trace has no such {what}"),
            NoPlace::NotAPosition(text) => write!(f, "`{text}` is not N or N+K"),
            NoPlace::NotANumber(text) => write!(f, "`{text}` is not a number"),
            NoPlace::Query(error) => write!(f, "{error}"),
            NoPlace::Unanswered(error) => write!(f, "{error}"),
            NoPlace::Count => f.write_str("`count` finds no place"),
            NoPlace::NothingFollows(number) => {
                write!(f, "no instruction follows the result, element {number}")
            }
        }
    }
}

impl std::error::Error for NoPlace {}

impl Machine<'_> {
    /// Goes to a place: `start`, `end`, `instruction N`, `time T`, `element N[+K]`, or the first
    /// result of a query. Where there is none, the position stays.
    ///
    /// # Errors
    /// Where the buffer or the index cannot be read.
    pub fn go_to_place(&mut self, words: &[&str]) -> Result<Result<(), NoPlace>, FindError> {
        match words {
            ["start" | "begin"] => self.go_to_end(Direction::Backward)?,
            ["end"] => self.go_to_end(Direction::Forward)?,
            ["element", text] if !text.contains("..") => {
                let Ok(position) = text.parse::<Position>() else {
                    return Ok(Err(NoPlace::NotAPosition((*text).to_owned())));
                };
                if !self.go(position)? {
                    return Ok(Err(NoPlace::None("element")));
                }
            }
            [what @ ("instruction" | "time"), text] if !text.contains("..") => {
                let Ok(number) = query::number(text) else {
                    return Ok(Err(NoPlace::NotANumber((*text).to_owned())));
                };
                let (gone, what) = match *what {
                    "time" => (self.go_to_time(number)?, "time"),
                    _ => (self.go_to_instruction(number)?, "instruction"),
                };
                if !gone {
                    return Ok(Err(NoPlace::None(what)));
                }
            }
            words => return self.go_to_result(words),
        }
        Ok(Ok(()))
    }

    fn go_to_result(&mut self, words: &[&str]) -> Result<Result<(), NoPlace>, FindError> {
        let found = match self.query(words, 1)? {
            Err(why) => return Ok(Err(why)),
            Ok(Answer::Count(_)) => return Ok(Err(NoPlace::Count)),
            Ok(Answer::Elements(found)) => found,
        };
        let Some(first) = found.first() else { return Ok(Err(NoPlace::None("element"))) };
        let position = Position { element: first.number, instruction: 0 };
        match self.go(position)? {
            true => Ok(Ok(())),
            false => Ok(Err(NoPlace::NothingFollows(first.number))),
        }
    }

    /// Answers a query with at most `most` elements.
    ///
    /// # Errors
    /// Where the buffer or the index cannot be read.
    pub fn query(
        &mut self,
        words: &[&str],
        most: usize,
    ) -> Result<Result<Answer, NoPlace>, FindError> {
        let query = match Query::parse(words) {
            Ok(query) => query,
            Err(error) => return Ok(Err(NoPlace::Query(error))),
        };
        self.finder.limit = most;
        Ok(match self.finder.find(&query) {
            Ok(answer) => Ok(answer),
            Err(error @ FindError::Read(_)) => return Err(error),
            Err(error) => Err(NoPlace::Unanswered(error)),
        })
    }
}
