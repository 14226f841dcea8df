//! Exemptions in comments of source files, as lcov, gcovr and GNATcoverage read them. As there, a
//! word counts wherever it is in its line.

use std::collections::BTreeMap;
use std::fmt;

use super::exemption::{Exemption, ExemptionOrigin, Target};
use crate::coverage::SourceFile;
use crate::part::PartKind;

/// What is wrong with a comment, which exempts nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommentProblem {
    /// The region that begins there has no end.
    NoEnd(&'static str),
    /// A region of the same kind has begun before.
    Begun(&'static str),
    /// No region has begun.
    NoBegin(&'static str),
    /// No function begins in the line.
    NoFunction,
    /// A word that is not known.
    Unknown(String),
}

impl fmt::Display for CommentProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CommentProblem::NoEnd(word) => write!(f, "{word} has no end; it exempts nothing"),
            CommentProblem::Begun(word) => write!(f, "{word} is in a region that has begun"),
            CommentProblem::NoBegin(word) => write!(f, "{word}: no region has begun"),
            CommentProblem::NoFunction => {
                write!(f, "GCOVR_EXCL_FUNCTION: no function begins in this line")
            }
            CommentProblem::Unknown(word) => write!(f, "{word} is not known; it exempts nothing"),
        }
    }
}

/// What a word does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Action {
    Line,
    Begin,
    /// The end of a region that the word begins. Its line belongs to the region or not.
    End(&'static str, bool),
    Function,
}

const ONLY_BRANCHES: Option<PartKind> = Some(PartKind::Branches);

/// The words; lcov and gcovr have the same ones with other beginnings.
const WORDS: [(&str, Action, Option<PartKind>); 26] = [
    ("LCOV_EXCL_LINE", Action::Line, None),
    ("LCOV_EXCL_START", Action::Begin, None),
    ("LCOV_EXCL_STOP", Action::End("LCOV_EXCL_START", false), None),
    ("LCOV_EXCL_BR_LINE", Action::Line, ONLY_BRANCHES),
    ("LCOV_EXCL_BR_START", Action::Begin, ONLY_BRANCHES),
    ("LCOV_EXCL_BR_STOP", Action::End("LCOV_EXCL_BR_START", false), ONLY_BRANCHES),
    ("LCOV_UNREACHABLE_LINE", Action::Line, None),
    ("LCOV_UNREACHABLE_START", Action::Begin, None),
    ("LCOV_UNREACHABLE_STOP", Action::End("LCOV_UNREACHABLE_START", false), None),
    ("GCOVR_EXCL_LINE", Action::Line, None),
    ("GCOVR_EXCL_START", Action::Begin, None),
    ("GCOVR_EXCL_STOP", Action::End("GCOVR_EXCL_START", false), None),
    ("GCOVR_EXCL_BR_LINE", Action::Line, ONLY_BRANCHES),
    ("GCOVR_EXCL_BR_START", Action::Begin, ONLY_BRANCHES),
    ("GCOVR_EXCL_BR_STOP", Action::End("GCOVR_EXCL_BR_START", false), ONLY_BRANCHES),
    ("GCOVR_EXCL_FUNCTION", Action::Function, None),
    ("GCOV_EXCL_LINE", Action::Line, None),
    ("GCOV_EXCL_START", Action::Begin, None),
    ("GCOV_EXCL_STOP", Action::End("GCOV_EXCL_START", false), None),
    ("GCOV_EXCL_BR_LINE", Action::Line, ONLY_BRANCHES),
    ("GCOV_EXCL_BR_START", Action::Begin, ONLY_BRANCHES),
    ("GCOV_EXCL_BR_STOP", Action::End("GCOV_EXCL_BR_START", false), ONLY_BRANCHES),
    ("GNATCOV_EXEMPT_ON", Action::Begin, None),
    ("GNATCOV_EXEMPT_OFF", Action::End("GNATCOV_EXEMPT_ON", true), None),
    (EXEMPT_ON, Action::Begin, None),
    ("Exempt_Off", Action::End(EXEMPT_ON, true), None),
];

/// Of the Ada pragma `Annotate (Xcov, Exempt_On, "...")`.
const EXEMPT_ON: &str = "Exempt_On";

/// Beginnings of words that other tools know.
const BEGINNINGS: [&str; 4] = ["LCOV_EXCL_", "LCOV_UNREACHABLE_", "GCOVR_EXCL_", "GCOV_EXCL_"];

/// A region that has begun: its line and its reason.
type Begun = (u32, String);

/// The exemptions in the text of the source file with a path, and the lines with problems.
pub fn comments(
    path: &str,
    text: &str,
    source: &SourceFile,
) -> (Vec<Exemption>, Vec<(u32, CommentProblem)>) {
    let (mut all, mut problems) = (Vec::new(), Vec::new());
    let mut regions = BTreeMap::<&str, Begun>::new();
    let exemption = |(line, word): (u32, &'static str), lines, kind, reason| Exemption {
        origin: ExemptionOrigin::Comment(line, word),
        file: path.to_owned(),
        function: None,
        target: Target::Lines(vec![lines]),
        kind,
        reason,
        by: String::new(),
        date: String::new(),
        hash: None,
    };
    for (line, content) in (1..).zip(text.lines()) {
        for (at, word) in words(content) {
            let after = content.get(at + word.len()..).unwrap_or_default();
            let Some((word, action, kind)) = known(content, word) else {
                if BEGINNINGS.iter().any(|own| word.starts_with(own)) {
                    problems.push((line, CommentProblem::Unknown(word.to_owned())));
                }
                continue;
            };
            match action {
                Action::Line => {
                    all.push(exemption((line, word), (line, line), kind, reason(after)));
                }
                Action::Function => {
                    let own = source.functions.iter().find(|own| own.lines.0 == line);
                    match own {
                        Some(own) => {
                            all.push(exemption((line, word), own.lines, kind, reason(after)));
                        }
                        None => problems.push((line, CommentProblem::NoFunction)),
                    }
                }
                Action::Begin if regions.contains_key(word) => {
                    problems.push((line, CommentProblem::Begun(word)));
                }
                Action::Begin => _ = regions.insert(word, (line, reason(after))),
                Action::End(begin, inside) => match regions.remove(begin) {
                    Some((first, reason)) => {
                        let last = if inside { line } else { line - 1 };
                        let last = last.max(first);
                        all.push(exemption((first, begin), (first, last), kind, reason));
                    }
                    None => problems.push((line, CommentProblem::NoBegin(word))),
                },
            }
        }
    }
    problems.extend(regions.iter().map(|(word, (line, _))| {
        let own = WORDS.iter().find(|(known, ..)| known == word).map_or("", |own| own.0);
        (*line, CommentProblem::NoEnd(own))
    }));
    all.sort_by_key(|own| match own.origin {
        ExemptionOrigin::Comment(line, _) => line,
        ExemptionOrigin::Table(..) => 0,
    });
    problems.sort_by_key(|(line, _)| *line);
    (all, problems)
}

/// The names in a line, and where they begin.
fn words(content: &str) -> impl Iterator<Item = (usize, &str)> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut at = 0;
    std::iter::from_fn(move || {
        let rest = content.get(at..)?;
        let begin = at + rest.find(is_name)?;
        let word = content.get(begin..)?;
        let word = word.get(..word.find(|c| !is_name(c)).unwrap_or(word.len()))?;
        at = begin + word.len();
        Some((begin, word))
    })
}

/// What a word of a line does.
fn known(content: &str, word: &str) -> Option<(&'static str, Action, Option<PartKind>)> {
    // Ada has no upper and lower case.
    let own = WORDS.into_iter().find(|(known, ..)| match known.starts_with("Exempt") {
        true => known.eq_ignore_ascii_case(word),
        false => *known == word,
    })?;
    let is_pragma = || words(content).any(|(_, word)| word.eq_ignore_ascii_case("Xcov"));
    if own.0.starts_with("Exempt") && !is_pragma() {
        return None;
    }
    Some(own)
}

/// The reason behind a word: what is in quotes, or else the rest of the comment.
fn reason(after: &str) -> String {
    let mut parts = after.split('"');
    if let (Some(_), Some(quoted), Some(_)) = (parts.next(), parts.next(), parts.next()) {
        return quoted.trim().to_owned();
    }
    let end = after.find("*/").unwrap_or(after.len());
    let text = after.get(..end).unwrap_or_default();
    text.trim_matches(|c: char| c.is_whitespace() || matches!(c, ':' | '-' | '(' | ')')).to_owned()
}
