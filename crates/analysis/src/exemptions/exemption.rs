//! What is exempted, and why.

use crate::coverage_runs::Digest;
use crate::part::PartKind;

/// Where an exemption is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExemptionOrigin {
    /// In a file of exemptions: its path, and the position in it, from 1.
    Table(String, usize),
    /// In a comment of the source file: the line, and the word that begins it.
    Comment(u32, &'static str),
}

/// Which parts of a file, or of a function, are exempted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// All of them.
    All,
    /// Those of lines: the first and the last one of each range. They are counted from the first
    /// line of the function, which is 1, where a function is named; else in the file.
    Lines(Vec<(u32, u32)>),
    /// Those of a decision.
    Decision {
        /// The line, which is counted as those of [`Target::Lines`], and the column, from 1.
        place: (u32, u32),
        /// The position of the condition, from 0.
        condition: Option<usize>,
        /// The outcome, or the value of the condition.
        value: Option<bool>,
    },
}

/// An exemption.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exemption {
    /// Where it is written.
    pub origin: ExemptionOrigin,
    /// The source file: one of its path in the debug information and this path ends with the other.
    pub file: String,
    /// The name or the symbol of the function.
    pub function: Option<String>,
    /// Which parts.
    pub target: Target,
    /// Only parts of this kind.
    pub kind: Option<PartKind>,
    /// Why they need not be covered; empty where a comment has no reason.
    pub reason: String,
    /// Who decided that; empty in a comment.
    pub by: String,
    /// When; empty in a comment.
    pub date: String,
    /// The digest of the text that it is valid for; `None` in a comment, which is in the text, and
    /// where it is missing.
    pub hash: Option<Digest>,
}
