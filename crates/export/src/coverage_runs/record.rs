//! The records of a file of runs, in the order of their fields.

use serde::{Deserialize, Serialize};

/// The beginning of a file.
#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Head {
    #[serde(rename = "type")]
    pub(super) kind: String,
    pub(super) version: u32,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ProgramRecord {
    #[serde(rename = "type")]
    pub(super) kind: String,
    pub(super) paths: Vec<String>,
    pub(super) machine: u16,
    pub(super) bits: u8,
    pub(super) build_ids: Vec<String>,
    pub(super) code_sha256: String,
    pub(super) obligations_sha256: String,
    /// Addresses and sizes.
    pub(super) code: Vec<(String, u64)>,
    pub(super) mapped: bool,
    pub(super) in_memory: bool,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct InputRecord {
    pub(super) path: String,
    pub(super) bytes: Option<u64>,
    pub(super) sha256: Option<String>,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RunRecord {
    #[serde(rename = "type")]
    pub(super) kind: String,
    pub(super) id: String,
    pub(super) tags: Vec<String>,
    pub(super) tool: String,
    pub(super) options: Vec<String>,
    pub(super) inputs: Vec<InputRecord>,
    pub(super) losses: u64,
    pub(super) sound: bool,
    pub(super) programs: Vec<usize>,
}

/// A line, its executions, and the position of the set of runs.
pub(super) type LineCell = (u32, Option<u64>, Option<usize>);

/// A line, an address, how often the branch was taken and how often not, and the positions of the
/// sets of runs of both.
pub(super) type BranchCell = (u32, String, Option<u64>, Option<u64>, Option<usize>, Option<usize>);

/// First and last line, symbol, name, executions of a function, the position of the set of runs,
/// and the address and the digest of its code.
pub(super) type FunctionCell =
    (u32, u32, String, String, Option<u64>, Option<usize>, Option<(String, String)>);

#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FileRecord {
    #[serde(rename = "type")]
    pub(super) kind: String,
    pub(super) program: usize,
    pub(super) path: String,
    pub(super) sets: Vec<String>,
    pub(super) lines: Vec<LineCell>,
    pub(super) branches: Vec<BranchCell>,
    pub(super) functions: Vec<FunctionCell>,
}

/// Line and column.
pub(super) type PlaceCell = (u32, u32);

/// How often something was false and true, and the positions of the sets of runs of both.
pub(super) type ValuesCell = (Option<u64>, Option<u64>, Option<usize>, Option<usize>);

#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ConditionRecord {
    pub(super) start: PlaceCell,
    pub(super) end: PlaceCell,
    pub(super) text: String,
    /// The position of a condition, or an outcome.
    pub(super) if_false: NextRecord,
    pub(super) if_true: NextRecord,
    pub(super) values: ValuesCell,
    pub(super) masking: Option<bool>,
    pub(super) unique_cause: Option<bool>,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(untagged)]
pub(super) enum NextRecord {
    Condition(usize),
    Outcome(bool),
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DecisionRecord {
    #[serde(rename = "type")]
    pub(super) kind: String,
    pub(super) path: String,
    pub(super) start: PlaceCell,
    pub(super) end: PlaceCell,
    pub(super) exact: bool,
    pub(super) copies: u64,
    pub(super) unnamed_copies: u64,
    pub(super) sets: Vec<String>,
    pub(super) outcomes: ValuesCell,
    pub(super) conditions: Vec<ConditionRecord>,
    /// `T`, `F` or `-` for each condition; the outcome; how often.
    pub(super) vectors: Vec<(String, bool, u64)>,
    /// Functions, and why they are not measurable.
    pub(super) unmeasured: Vec<(Option<String>, String)>,
}

/// The end of a file.
#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct EndRecord {
    #[serde(rename = "type")]
    pub(super) kind: String,
    /// The number of lines before it.
    pub(super) lines: u64,
    /// The digest of all bytes before it.
    pub(super) sha256: String,
}

pub(super) const HEAD: &str = "coverage-runs";

/// The bytes with which each file begins.
pub fn begin() -> String {
    format!("{{\"type\":\"{HEAD}\",")
}
pub(super) const PROGRAM: &str = "program";
pub(super) const RUN: &str = "run";
pub(super) const FILE: &str = "file";
pub(super) const DECISION: &str = "decision";
pub(super) const END: &str = "end";
