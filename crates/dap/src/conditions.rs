//! Conditions of breakpoints over what is known of a trace, numbers of hits, and messages.

use std::fmt;

/// What is known at a position.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Known {
    /// The number of frames of the stack.
    pub(crate) depth: u64,
    /// The context ID.
    pub(crate) context: Option<u64>,
    /// The last timestamp.
    pub(crate) time: Option<u64>,
    /// The value of the access, at a data breakpoint.
    pub(crate) value: Option<u64>,
    /// Instructions before it.
    pub(crate) instruction: u64,
    /// The thread.
    pub(crate) thread: u64,
}

/// The names of what is known.
const TERMS: [&str; 6] = ["depth", "context", "time", "instruction", "thread", "value"];

impl Known {
    fn get(&self, term: &str) -> Option<u64> {
        match term {
            "depth" => Some(self.depth),
            "context" => self.context,
            "time" => self.time,
            "instruction" => Some(self.instruction),
            "thread" => Some(self.thread),
            "value" => self.value,
            _ => None,
        }
    }
}

/// Why a condition cannot be evaluated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Unknown {
    /// Not a comparison of a term with a number.
    NoComparison(String),
    /// Not a number of hits.
    NoCount(String),
}

impl fmt::Display for Unknown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unknown::NoComparison(text) => write!(
                f,
                "`{text}` is not known from a trace: comparisons of {} with numbers, joined by \
                 `&&`, are",
                TERMS.join(", ")
            ),
            Unknown::NoCount(text) => write!(
                f,
                "`{text}` is not a number of executions, such as `3`, `>= 3`, `< 3` or `% 3`"
            ),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operator {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

/// The operators, longer ones first.
const OPERATORS: [(&str, Operator); 7] = [
    ("==", Operator::Equal),
    ("!=", Operator::NotEqual),
    ("<=", Operator::LessOrEqual),
    (">=", Operator::GreaterOrEqual),
    ("<", Operator::Less),
    (">", Operator::Greater),
    ("=", Operator::Equal),
];

fn number(text: &str) -> Option<u64> {
    let text = text.trim();
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

/// Comparisons that all hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Condition(Vec<(String, Operator, u64)>);

impl Condition {
    pub(crate) fn parse(text: &str) -> Result<Condition, Unknown> {
        let unknown = || Unknown::NoComparison(text.trim().to_owned());
        let one = |part: &str| {
            let operators = OPERATORS.iter();
            let (at, sign, operator) = operators
                .filter_map(|(sign, operator)| Some((part.find(sign)?, *sign, *operator)))
                .min_by_key(|(at, sign, _)| (*at, std::cmp::Reverse(sign.len())))?;
            let (term, rest) = (part.get(..at)?.trim(), part.get(at + sign.len()..)?);
            let term = TERMS.contains(&term).then(|| term.to_owned())?;
            Some((term, operator, number(rest)?))
        };
        text.split("&&").map(one).collect::<Option<_>>().map(Condition).ok_or_else(unknown)
    }

    /// Whether it has a term that is known of accesses only.
    pub(crate) fn is_of_access(&self) -> bool {
        self.0.iter().any(|(term, ..)| term == "value")
    }

    /// Whether it holds. What is not known does not.
    pub(crate) fn holds(&self, known: &Known) -> bool {
        self.0.iter().all(|(term, operator, number)| {
            known.get(term).is_some_and(|own| match operator {
                Operator::Equal => own == *number,
                Operator::NotEqual => own != *number,
                Operator::Less => own < *number,
                Operator::LessOrEqual => own <= *number,
                Operator::Greater => own > *number,
                Operator::GreaterOrEqual => own >= *number,
            })
        })
    }
}

/// Which executions are hits. They are counted from 1, from the beginning of the trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HitCondition {
    /// The one with this number.
    Equal(u64),
    /// That one and those after it.
    From(u64),
    /// Those before it.
    Before(u64),
    /// Each one whose number is a multiple of it.
    Each(u64),
}

impl HitCondition {
    pub(crate) fn parse(text: &str) -> Result<HitCondition, Unknown> {
        let own = text.trim();
        let unknown = || Unknown::NoCount(own.to_owned());
        let after = |sign: &str| own.strip_prefix(sign).map(number);
        let parsed = if let Some(n) = after(">=") {
            n.map(HitCondition::From)
        } else if let Some(n) = after("<=") {
            n.and_then(|n| n.checked_add(1)).map(HitCondition::Before)
        } else if let Some(n) = after(">") {
            n.and_then(|n| n.checked_add(1)).map(HitCondition::From)
        } else if let Some(n) = after("<") {
            n.map(HitCondition::Before)
        } else if let Some(n) = after("%") {
            n.filter(|n| *n > 0).map(HitCondition::Each)
        } else {
            let n = after("==").or_else(|| after("=")).unwrap_or_else(|| number(own));
            n.filter(|n| *n > 0).map(HitCondition::Equal)
        };
        parsed.ok_or_else(unknown)
    }

    /// Whether the execution with this number is a hit.
    pub(crate) fn has(self, n: u64) -> bool {
        match self {
            HitCondition::Equal(wanted) => n == wanted,
            HitCondition::From(first) => n >= first,
            HitCondition::Before(end) => n < end,
            HitCondition::Each(step) => n.is_multiple_of(step),
        }
    }
}

/// The message of a log point: `{time}` and other terms in it are replaced.
pub(crate) fn message(template: &str, known: &Known, n: u64) -> String {
    let mut text = String::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once('{') {
        text += before;
        let Some((name, after)) = after.split_once('}') else {
            text.push('{');
            rest = after;
            continue;
        };
        match name.trim() {
            "n" => text += &n.to_string(),
            name => match known.get(name) {
                Some(value) => text += &value.to_string(),
                None => text += "<unavailable>",
            },
        }
        rest = after;
    }
    text + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: Known =
        Known { depth: 3, context: None, time: Some(100), value: None, instruction: 7, thread: 1 };

    #[test]
    fn conditions_over_terms() {
        for (text, holds) in [
            ("depth == 3", true),
            ("depth=3&&time>0x20", true),
            ("depth != 3", false),
            ("time <= 100 && instruction < 8 && thread >= 1", true),
            ("time > 100", false),
            // What is not known is neither equal nor different.
            ("context == 0", false),
            ("context != 0", false),
        ] {
            let condition = Condition::parse(text).expect(text);
            assert_eq!(condition.holds(&KNOWN), holds, "{text}");
        }
        for text in ["", "n == 3", "depth", "depth == x", "depth == 3 &&", "3 == depth", "a<b>c"] {
            assert!(Condition::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn numbers_of_hits() {
        use HitCondition::{Before, Each, Equal, From};
        for (text, want) in [
            ("3", Equal(3)),
            ("== 3", Equal(3)),
            ("=3", Equal(3)),
            (">3", From(4)),
            (">= 3", From(3)),
            ("<3", Before(3)),
            ("<= 3", Before(4)),
            ("% 3", Each(3)),
        ] {
            assert_eq!(HitCondition::parse(text), Ok(want), "{text}");
        }
        for text in ["", "0", "%0", "x", "> x", "-1", ">18446744073709551615"] {
            assert!(HitCondition::parse(text).is_err(), "{text}");
        }
        assert!(Each(3).has(6) && !Each(3).has(7) && Before(4).has(3) && !From(4).has(3));
    }

    #[test]
    fn messages_with_terms() {
        for (template, want) in [
            ("plain", "plain"),
            ("{n}: {time} {depth}", "12: 100 3"),
            ("{x} {context}", "<unavailable> <unavailable>"),
            ("open { and {n}", "open <unavailable>"),
            ("end {", "end {"),
        ] {
            assert_eq!(message(template, &KNOWN, 12), want);
        }
    }
}
