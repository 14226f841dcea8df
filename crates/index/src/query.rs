//! Queries.

use std::fmt;
use std::ops::Range;

use tracewright_base::ExceptionStep;

pub use crate::dwt::DwtCondition;

/// What is searched for.
///
/// ```text
/// QUERY     = [WHICH] CONDITION {and CONDITION} [before QUERY | after QUERY]
/// WHICH     = first | last | nth N | count | all
/// CONDITION = function NAME | line FILE:N | address A[..B] | exception [N] | context [ID]
///           | access [A[..B]] [=VALUE] | write [PORT | MASTER:CHANNEL] [=VALUE | ~TEXT]
///           | dwt [enter [N] | exit [N] | return [N] | sample [A[..B]] | sleep
///                  | data [COMPARATOR] [=VALUE]]
///           | gap | event [N] | trigger | flush | sync | barrier | custom | time T[..U] | any
///           | offset A[..B] | instruction N[..M] | element N[..M]
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query {
    /// Which of the elements that match.
    pub which: Which,
    /// An element matches where all conditions do. The first one selects elements; of the others,
    /// `context` and `time` are conditions for the state at the element.
    pub conditions: Vec<Condition>,
    /// Only elements before or after the result of another query.
    pub bound: Option<(Bound, Box<Query>)>,
}

/// Which of the elements that match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// The first.
    First,
    /// The last.
    Last,
    /// The one with this number, counted from 1.
    Nth(u64),
    /// Their number.
    Count,
    /// All.
    All,
}

/// The side of a bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// Before the other element.
    Before,
    /// After it.
    After,
}

/// A condition for an element.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Condition {
    /// The first instruction of the function was executed.
    Function(String),
    /// An instruction of a source line was executed.
    Line {
        /// The path of the source file, or the end of it from a name on.
        file: String,
        /// The line, from 1.
        line: u32,
    },
    /// An instruction in this range of addresses was executed.
    Address(Range<u64>),
    /// An instruction in one of these ranges of addresses was executed. One search for all of them
    /// reads the index once.
    Addresses(Vec<Range<u64>>),
    /// An exception, of any number or this one.
    Exception(Option<u64>),
    /// An instruction that returns from an exception, or where a protocol states it, the return.
    ExceptionReturn,
    /// A context, any or with this context ID.
    Context(Option<u64>),
    /// A data access.
    Access {
        /// It touches one of these addresses.
        address: Option<Range<u64>>,
        /// It has this value.
        value: Option<u64>,
    },
    /// A software write.
    Write {
        /// To this port.
        port: Option<Port>,
        /// It has this value.
        value: Option<u64>,
        /// It completes this text, as bytes that were written to the same port.
        text: Option<Vec<u8>>,
    },
    /// An event of a Data Watchpoint and Trace unit.
    Dwt(DwtCondition),
    /// Trace was lost or cannot be decoded.
    Gap,
    /// An event of the trace unit, any or with this number.
    Event(Option<u64>),
    /// The trigger fired: of a trace unit, or of the trace link.
    Trigger,
    /// A flush response of the trace link.
    Flush,
    /// A synchronisation packet of the trace link.
    Sync,
    /// A barrier of the trace link between separate traces.
    Barrier,
    /// Content of a protocol of another crate.
    Custom,
    /// The time is inside: the last timestamp of the source, up to and including the element.
    Time(Range<u64>),
    /// The offset of the packet that made it is inside.
    Offset(Range<u64>),
    /// An instruction with a number inside; for an element without instructions, the number of
    /// instructions before it.
    Instruction(Range<u64>),
    /// The number of the element is inside.
    Element(Range<u64>),
    /// Any element.
    Any,
}

/// A port or channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Port {
    /// A stimulus port of an ITM with this number over all pages, or a channel of any master.
    Number(u64),
    /// A channel of a master of an STM.
    Channel {
        /// The master.
        master: u64,
        /// The channel.
        channel: u64,
    },
}

/// Why a query is not understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueryError(String);

impl fmt::Display for QueryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for QueryError {}

/// Words that begin a condition.
const CONDITIONS: [&str; 21] = [
    "function",
    "address",
    "exception",
    "exception-return",
    "context",
    "access",
    "write",
    "dwt",
    "gap",
    "event",
    "trigger",
    "flush",
    "sync",
    "barrier",
    "custom",
    "time",
    "offset",
    "instruction",
    "element",
    "any",
    "line",
];

impl Query {
    /// Parses a query. Each of `words` may be several words, separated by spaces.
    ///
    /// # Errors
    /// [`QueryError`] with what was expected.
    pub fn parse<S: AsRef<str>>(words: &[S]) -> Result<Query, QueryError> {
        let words: Vec<&str> =
            words.iter().flat_map(|words| words.as_ref().split_ascii_whitespace()).collect();
        let mut words = Words(&words);
        let query = words.query()?;
        match words.next() {
            None => Ok(query),
            Some(word) => Err(QueryError(format!(
                "`{word}` is not expected; `and`, `before` or `after` may follow a condition"
            ))),
        }
    }
}

/// Words that are parsed from the front.
struct Words<'a>(&'a [&'a str]);

impl<'a> Words<'a> {
    fn peek(&self) -> Option<&'a str> {
        self.0.first().copied()
    }

    fn next(&mut self) -> Option<&'a str> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(first)
    }

    fn take(&mut self, word: &str) -> bool {
        let taken = self.peek() == Some(word);
        if taken {
            self.next();
        }
        taken
    }

    fn query(&mut self) -> Result<Query, QueryError> {
        let which = match self.peek() {
            Some("first") => Some(Which::First),
            Some("last") => Some(Which::Last),
            Some("count") => Some(Which::Count),
            Some("all") => Some(Which::All),
            Some("nth") => {
                self.next();
                let n = self.number("nth")?;
                if n == 0 {
                    return Err(QueryError("`nth` counts from 1".into()));
                }
                return self.rest(Which::Nth(n));
            }
            _ => None,
        };
        if which.is_some() {
            self.next();
        }
        self.rest(which.unwrap_or(Which::First))
    }

    fn rest(&mut self, which: Which) -> Result<Query, QueryError> {
        let mut conditions = vec![self.condition()?];
        while self.take("and") {
            conditions.push(self.condition()?);
        }
        let bound = match self.peek() {
            Some("before") => Some(Bound::Before),
            Some("after") => Some(Bound::After),
            _ => None,
        };
        let bound = match bound {
            None => None,
            Some(bound) => {
                self.next();
                let other = self.query()?;
                if matches!(other.which, Which::Count | Which::All) {
                    return Err(QueryError(
                        "`before` and `after` need one element: `first`, `last` or `nth N`".into(),
                    ));
                }
                Some((bound, Box::new(other)))
            }
        };
        Ok(Query { which, conditions, bound })
    }

    fn condition(&mut self) -> Result<Condition, QueryError> {
        let expected = || format!("expected one of {}", CONDITIONS.join(", "));
        let Some(word) = self.next() else {
            return Err(QueryError(format!("a condition is missing; {}", expected())));
        };
        Ok(match word {
            "function" => {
                let Some(first) = self.next() else {
                    return Err(QueryError("`function` needs a name".into()));
                };
                // The demangled names of some functions have blanks.
                let mut name = first.to_owned();
                while let Some(part) = self.argument() {
                    self.next();
                    name.push(' ');
                    name.push_str(part);
                }
                Condition::Function(name)
            }
            "address" => Condition::Address(self.range("address", false)?),
            "time" => Condition::Time(self.range("time", true)?),
            "exception" => Condition::Exception(self.optional()?),
            "exception-return" => Condition::ExceptionReturn,
            "context" => Condition::Context(self.optional()?),
            "event" => Condition::Event(self.optional()?),
            "access" => {
                let address = self.unmarked().map(|text| range(text, false)).transpose()?;
                Condition::Access { address, value: self.value()? }
            }
            "write" => {
                let port = self.unmarked().map(port).transpose()?;
                let value = self.value()?;
                let text = self.argument().and_then(|text| text.strip_prefix('~'));
                if text.is_some() {
                    self.next();
                }
                match text {
                    Some("") => return Err(QueryError("`~` needs a text".into())),
                    Some(_) if value.is_some() => {
                        return Err(QueryError("`write` has a value or a text".into()));
                    }
                    _ => {}
                }
                Condition::Write { port, value, text: text.map(|text| text.as_bytes().to_vec()) }
            }
            "dwt" => Condition::Dwt(self.dwt()?),
            "gap" => Condition::Gap,
            "any" => Condition::Any,
            "offset" => Condition::Offset(self.range("offset", true)?),
            "instruction" => Condition::Instruction(self.range("instruction", false)?),
            "element" => Condition::Element(self.range("element", false)?),
            "trigger" => Condition::Trigger,
            "flush" => Condition::Flush,
            "sync" => Condition::Sync,
            "barrier" => Condition::Barrier,
            "custom" => Condition::Custom,
            "line" => {
                let what = || QueryError("`line` needs FILE:N, such as main.c:12".into());
                let (file, line) =
                    self.next().and_then(|text| text.rsplit_once(':')).ok_or_else(what)?;
                let line = line.parse().ok().filter(|line| *line > 0).ok_or_else(what)?;
                if file.is_empty() {
                    return Err(what());
                }
                Condition::Line { file: file.to_owned(), line }
            }
            other => {
                return Err(QueryError(format!("`{other}` is not a condition; {}", expected())));
            }
        })
    }

    /// The next word, if it is not the beginning of something else.
    fn argument(&self) -> Option<&'a str> {
        self.peek().filter(|word| !["and", "before", "after"].contains(word))
    }

    /// The next word, if it is an argument without a mark for a value or a text.
    fn unmarked(&mut self) -> Option<&'a str> {
        let own = self.argument().filter(|text| !text.starts_with(['=', '~']))?;
        self.next();
        Some(own)
    }

    /// `=VALUE`, if it is next.
    fn value(&mut self) -> Result<Option<u64>, QueryError> {
        let Some(text) = self.argument().and_then(|text| text.strip_prefix('=')) else {
            return Ok(None);
        };
        self.next();
        number(text).map(Some)
    }

    /// What follows `dwt`.
    fn dwt(&mut self) -> Result<DwtCondition, QueryError> {
        let Some(word) = self.argument() else { return Ok(DwtCondition::Any) };
        self.next();
        Ok(match word {
            "enter" => DwtCondition::Exception(ExceptionStep::Entered, self.optional()?),
            "exit" => DwtCondition::Exception(ExceptionStep::Exited, self.optional()?),
            "return" => DwtCondition::Exception(ExceptionStep::Returned, self.optional()?),
            "sample" => {
                let own = self.unmarked().map(|text| range(text, false)).transpose()?;
                DwtCondition::Sample(own)
            }
            "sleep" => DwtCondition::Sleep,
            "data" => DwtCondition::Data {
                comparator: self.unmarked().map(number).transpose()?,
                value: self.value()?,
            },
            other => {
                return Err(QueryError(format!(
                    "`{other}` is not an event of a DWT; expected one of enter, exit, return, \
                     sample, sleep, data"
                )));
            }
        })
    }

    fn optional(&mut self) -> Result<Option<u64>, QueryError> {
        let Some(text) = self.argument() else { return Ok(None) };
        self.next();
        number(text).map(Some)
    }

    fn range(&mut self, of: &str, open: bool) -> Result<Range<u64>, QueryError> {
        match self.next() {
            Some(text) => range(text, open),
            None => Err(QueryError(format!("`{of}` needs a number or A..B"))),
        }
    }

    fn number(&mut self, of: &str) -> Result<u64, QueryError> {
        match self.next() {
            Some(text) => number(text),
            None => Err(QueryError(format!("`{of}` needs a number"))),
        }
    }
}

fn port(text: &str) -> Result<Port, QueryError> {
    Ok(match text.split_once(':') {
        None => Port::Number(number(text)?),
        Some((master, channel)) => {
            Port::Channel { master: number(master)?, channel: number(channel)? }
        }
    })
}

/// A number in decimal, or in hexadecimal with `0x`.
pub fn number(text: &str) -> Result<u64, QueryError> {
    let value = match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(hex) => u64::from_str_radix(hex, 16),
        None => text.parse(),
    };
    value.map_err(|_| QueryError(format!("`{text}` is not a number such as 16 or 0x10")))
}

/// The end of a range: a number, nothing or 2^64 for all that follows.
fn end(text: &str) -> Result<u64, QueryError> {
    match text {
        "" | "18446744073709551616" | "0x10000000000000000" => Ok(u64::MAX),
        _ => number(text),
    }
}

/// `A..B`, without B; `A..` to the end; `..B` from 0. A number alone is itself, or with `open` the
/// beginning of a range without an end.
///
/// # Errors
/// [`QueryError`] where the text is not that.
pub fn range(text: &str, open: bool) -> Result<Range<u64>, QueryError> {
    let range = match text.split_once("..") {
        None => {
            let start = number(text)?;
            start..if open { u64::MAX } else { start.saturating_add(1) }
        }
        Some((start, end)) => {
            let start = if start.is_empty() { 0 } else { number(start)? };
            start..self::end(end)?
        }
    };
    if range.start == u64::MAX {
        return Err(QueryError(format!(
            "`{text}` is where all ranges end; write a smaller number"
        )));
    }
    if range.start >= range.end {
        return Err(QueryError(format!(
            "`{text}` is empty; write A..B with B above A, which is not inside"
        )));
    }
    Ok(range)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_are_parsed() {
        let exception = |n| Condition::Exception(Some(n));
        let write = |port, text: Option<&str>| Condition::Write {
            port,
            value: None,
            text: text.map(|text| text.as_bytes().to_vec()),
        };
        for (text, which, conditions) in [
            ("function main", Which::First, vec![Condition::Function("main".into())]),
            ("count exception 3", Which::Count, vec![exception(3)]),
            ("last write 0x2 ~ok", Which::Last, vec![write(Some(Port::Number(2)), Some("ok"))]),
            ("all write ~ok", Which::All, vec![write(None, Some("ok"))]),
            (
                "nth 3 write 64:5",
                Which::Nth(3),
                vec![write(Some(Port::Channel { master: 64, channel: 5 }), None)],
            ),
            (
                "access 0x10..0x20 =7 and context 9",
                Which::First,
                vec![
                    Condition::Access { address: Some(0x10..0x20), value: Some(7) },
                    Condition::Context(Some(9)),
                ],
            ),
            ("access =7", Which::First, vec![Condition::Access { address: None, value: Some(7) }]),
            ("gap", Which::First, vec![Condition::Gap]),
            ("exception-return", Which::First, vec![Condition::ExceptionReturn]),
            (
                "last line src/main.c:12",
                Which::Last,
                vec![Condition::Line { file: "src/main.c".into(), line: 12 }],
            ),
            ("time 5", Which::First, vec![Condition::Time(5..u64::MAX)]),
            ("address 5", Which::First, vec![Condition::Address(5..6)]),
            ("address 5..0x10000000000000000", Which::First, vec![Condition::Address(5..u64::MAX)]),
            (
                "function f(unsigned int) and gap",
                Which::First,
                vec![Condition::Function("f(unsigned int)".into()), Condition::Gap],
            ),
            ("event", Which::First, vec![Condition::Event(None)]),
            (
                "write 3 =0x10",
                Which::First,
                vec![Condition::Write { port: Some(Port::Number(3)), value: Some(16), text: None }],
            ),
            ("dwt", Which::First, vec![Condition::Dwt(DwtCondition::Any)]),
            (
                "all dwt enter 15 and time 7",
                Which::All,
                vec![
                    Condition::Dwt(DwtCondition::Exception(ExceptionStep::Entered, Some(15))),
                    Condition::Time(7..u64::MAX),
                ],
            ),
            (
                "dwt sample 8..16",
                Which::First,
                vec![Condition::Dwt(DwtCondition::Sample(Some(8..16)))],
            ),
            (
                "dwt data =5",
                Which::First,
                vec![Condition::Dwt(DwtCondition::Data { comparator: None, value: Some(5) })],
            ),
        ] {
            let query = Query::parse(&[text]).expect(text);
            assert_eq!((query.which, query.conditions), (which, conditions), "{text}");
        }
        let text = "last access 0x20 before nth 3 exception 3 after gap";
        let query = Query::parse(&text.split(' ').collect::<Vec<_>>()).expect("nested");
        let (bound, inner) = query.bound.expect("a bound");
        assert_eq!((bound, inner.which), (Bound::Before, Which::Nth(3)));
        assert_eq!(inner.bound.expect("a bound").0, Bound::After);
    }

    #[test]
    fn errors_name_what_is_expected() {
        for (text, part) in [
            ("", "a condition is missing"),
            ("functions main", "`functions` is not a condition"),
            ("function", "needs a name"),
            ("address 9..8", "is empty"),
            ("address 0xffffffffffffffff", "where all ranges end"),
            ("address 0x10000000000000001..", "is not a number"),
            ("nth 0 gap", "counts from 1"),
            ("gap gap", "`gap` is not expected"),
            ("exception x", "is not a number"),
            ("gap before all gap", "need one element"),
            ("line", "needs FILE:N"),
            ("line main.c", "needs FILE:N"),
            ("line main.c:0", "needs FILE:N"),
            ("line :3", "needs FILE:N"),
            ("write ~", "needs a text"),
            ("write 1 =2 ~x", "a value or a text"),
            ("dwt entered", "is not an event of a DWT"),
            ("dwt data x", "is not a number"),
            ("dwt sleep 1", "`1` is not expected"),
        ] {
            let error = Query::parse(&[text]).expect_err(text).to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
