//! What is known of a part, in words.

use std::collections::BTreeMap;

use tracewright_analysis::exemptions::Part;

use super::table::file_of_row;

/// What is known of a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// Executed, this often.
    Covered(u64),
    /// Not executed.
    Missed,
    /// It may have been executed where trace was lost, or was not measured.
    Unknown,
    /// Exempted, by the exemption at this position.
    Exempted(usize),
}

impl State {
    /// That of a part with this count.
    pub(super) fn of(
        count: Option<u64>,
        exempted: &BTreeMap<Part, usize>,
        part: impl FnOnce() -> Part,
    ) -> State {
        match count {
            Some(0) => State::Missed,
            Some(count) => State::Covered(count),
            None if exempted.is_empty() => State::Unknown,
            None => exempted.get(&part()).map_or(State::Unknown, |n| State::Exempted(*n)),
        }
    }

    /// The name of its class.
    pub(super) fn class(self) -> &'static str {
        match self {
            State::Covered(_) => "covered",
            State::Missed => "missed",
            State::Unknown => "unknown",
            State::Exempted(_) => "exempted",
        }
    }

    /// It as HTML, with the words for covered and not covered; an exemption is a link.
    pub(super) fn html(self, [covered, missed]: [&str; 2]) -> String {
        let class = self.class();
        let word = match self {
            State::Covered(_) => covered,
            State::Missed => missed,
            State::Unknown => "unknown",
            State::Exempted(n) => {
                let file = file_of_row("exemptions", n);
                let own = n + 1;
                return format!(
                    "<a class=\"state {class}\" href=\"{file}#e{own}\">exempted ({own})</a>"
                );
            }
        };
        format!("<span class=\"state {class}\">{word}</span>")
    }

    /// The number of executions; nothing where there is none.
    pub(super) fn count(self) -> String {
        match self {
            State::Covered(count) => count.to_string(),
            State::Missed => "0".to_owned(),
            State::Unknown | State::Exempted(_) => "–".to_owned(),
        }
    }
}
