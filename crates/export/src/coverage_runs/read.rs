//! Reads files of runs.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::de::DeserializeOwned;
use tracewright_analysis::coverage_runs::{
    BranchKey, Cell, ConditionKey, CoverageRuns, CoveredCondition, CoveredDecision, CoveredFile,
    DecisionKey, Digest, FunctionCode, FunctionKey, ProgramKey, Run, RunInput, RunNumbers,
    RunProgram,
};
use tracewright_analysis::decisions::Vector;
use tracewright_symbols::Region;

use super::VERSION;
use super::record::{
    DECISION, DecisionRecord, END, EndRecord, FILE, FileRecord, HEAD, Head, NextRecord, PROGRAM,
    ProgramRecord, RUN, RunRecord, ValuesCell, begin,
};
use super::sets::parse;

/// Why a file of runs is not read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunsError {
    /// The number of the line, from 1.
    pub line: usize,
    what: String,
}

impl fmt::Display for RunsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.what)
    }
}

impl std::error::Error for RunsError {}

/// The runs of a file, without what they cover. Nothing behind them is read or checked.
///
/// # Errors
/// The file is none of runs, or is damaged.
pub fn read_head(bytes: &[u8]) -> Result<Vec<Run>, RunsError> {
    let mut reader = Reader::new(bytes);
    reader.head()?;
    Ok(reader.all.runs)
}

/// What the runs of a file cover.
///
/// # Errors
/// The file is none of runs, or is damaged: nothing of it is returned.
pub fn read(bytes: &[u8]) -> Result<CoverageRuns, RunsError> {
    let mut reader = Reader::new(bytes);
    reader.head()?;
    reader.body()?;
    Ok(reader.all)
}

struct Reader<'a> {
    bytes: &'a [u8],
    /// The offset of the line.
    at: usize,
    /// The number of the line.
    line: usize,
    all: CoverageRuns,
}

impl<'a> Reader<'a> {
    fn new(bytes: &'a [u8]) -> Self {
        Reader { bytes, at: 0, line: 1, all: CoverageRuns::default() }
    }

    fn wrong<T>(&self, what: impl Into<String>) -> Result<T, RunsError> {
        Err(RunsError { line: self.line, what: what.into() })
    }

    fn need<T>(&self, value: Option<T>, what: &str) -> Result<T, RunsError> {
        value.map_or_else(|| self.wrong(what), Ok)
    }

    /// The line, without its end.
    fn text(&self) -> Result<&'a [u8], RunsError> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let end = rest.iter().position(|byte| *byte == b'\n');
        let end = self.need(end, "the file ends here, before its record `end`: it was cut")?;
        Ok(rest.get(..end).unwrap_or_default())
    }

    /// The record of the line, if it is of this kind.
    fn record<T: DeserializeOwned>(&mut self, kind: &str) -> Result<Option<T>, RunsError> {
        let text = self.text()?;
        let begin = format!("{{\"type\":\"{kind}\",");
        if !text.starts_with(begin.as_bytes()) {
            return Ok(None);
        }
        let record = serde_json::from_slice(text).map_err(|error| RunsError {
            line: self.line,
            what: format!("a damaged record `{kind}`: {}", column(&error)),
        })?;
        Ok(Some(record))
    }

    fn next(&mut self) -> Result<(), RunsError> {
        self.at += self.text()?.len() + 1;
        self.line += 1;
        Ok(())
    }

    fn head(&mut self) -> Result<(), RunsError> {
        let none = "not a file of runs";
        let begin = begin();
        if !self.bytes.starts_with(begin.as_bytes()) {
            return self.wrong(none);
        }
        let head = self.record::<Head>(HEAD)?;
        let head = self.need(head, none)?;
        if head.version != VERSION {
            let what = format!("version {} of the format; {VERSION} is known", head.version);
            return self.wrong(what);
        }
        self.next()?;
        while let Some(record) = self.record::<ProgramRecord>(PROGRAM)? {
            let own = self.need(program(&record), "a damaged program: digests or addresses")?;
            if self.all.programs.last().is_some_and(|last| last.key >= own.key) {
                return self.wrong("the programs are not in order");
            }
            self.all.programs.push(own);
            self.next()?;
        }
        while let Some(record) = self.record::<RunRecord>(RUN)? {
            let own = self.need(run(record), "a damaged run: digests")?;
            if own.programs.iter().any(|n| *n >= self.all.programs.len()) {
                return self.wrong("the run has a program that the file does not have");
            }
            if self.all.runs.last().is_some_and(|last| *last >= own) {
                return self.wrong("the runs are not in order");
            }
            self.all.runs.push(own);
            self.next()?;
        }
        if self.all.runs.is_empty() {
            return self.wrong("the file has no run");
        }
        Ok(())
    }

    fn body(&mut self) -> Result<(), RunsError> {
        while let Some(record) = self.record::<FileRecord>(FILE)? {
            if record.program >= self.all.programs.len() {
                return self.wrong("the source file has a program that the file does not have");
            }
            let key = (record.program, record.path.clone());
            let own = self.file(record)?;
            if self.all.files.last_key_value().is_some_and(|(last, _)| *last >= key) {
                return self.wrong("the source files are not in order");
            }
            self.all.files.insert(key, own);
            self.next()?;
        }
        while let Some(record) = self.record::<DecisionRecord>(DECISION)? {
            let (key, own) = self.decision(record)?;
            if self.all.decisions.last_key_value().is_some_and(|(last, _)| *last >= key) {
                return self.wrong("the decisions are not in order");
            }
            self.all.decisions.insert(key, own);
            self.next()?;
        }
        let end = self.record::<EndRecord>(END)?;
        let end = self.need(end, "not a record that is known, or not in its place")?;
        let before = self.bytes.get(..self.at).unwrap_or_default();
        if end.lines + 1 != self.line as u64 || end.sha256 != Digest::of(before).to_string() {
            return self.wrong(
                "the SHA-256 digest of the lines before it is another one: the file was altered",
            );
        }
        self.next()?;
        if self.at < self.bytes.len() {
            return self.wrong("behind the end of the file");
        }
        Ok(())
    }

    fn sets(&self, texts: &[String]) -> Result<Vec<RunNumbers>, RunsError> {
        let count = self.all.runs.len();
        let set = |text: &String| {
            self.need(parse(text, count), &format!("`{text}` is not a set of {count} runs"))
        };
        texts.iter().map(set).collect()
    }

    fn cell(
        &self,
        sets: &[RunNumbers],
        count: Option<u64>,
        set: Option<usize>,
    ) -> Result<Cell, RunsError> {
        if count.is_some_and(|count| count > 0) != set.is_some() {
            return self.wrong("executions without runs, or runs without executions");
        }
        let runs = match set {
            Some(n) => self.need(sets.get(n).cloned(), "a set of runs is missing")?,
            None => RunNumbers::default(),
        };
        Ok(Cell { count, runs })
    }

    fn file(&self, record: FileRecord) -> Result<CoveredFile, RunsError> {
        let sets = self.sets(&record.sets)?;
        let mut own = CoveredFile::default();
        for (line, count, set) in record.lines {
            own.lines.push((line, [self.cell(&sets, count, set)?]));
        }
        for (line, address, taken, not, of_taken, of_not) in record.branches {
            let address = self.need(hex(&address), "an address is damaged")?;
            let cells = [self.cell(&sets, taken, of_taken)?, self.cell(&sets, not, of_not)?];
            own.branches.push((BranchKey { line, address }, cells));
        }
        for (first, last, symbol, name, count, set, code) in record.functions {
            let code = match code {
                None => None,
                Some((start, digest)) => {
                    let parts = hex(&start).zip(Digest::parse(&digest));
                    let (start, digest) = self.need(parts, "the code of a function is damaged")?;
                    Some(FunctionCode { start, digest })
                }
            };
            let key = FunctionKey { lines: (first, last), symbol, name, code };
            own.functions.push((key, [self.cell(&sets, count, set)?]));
        }
        let ordered = own.lines.is_sorted_by(|a, b| a.0 < b.0)
            && own.branches.is_sorted_by(|a, b| a.0 < b.0)
            && own.functions.is_sorted_by(|a, b| a.0 < b.0);
        if !ordered {
            return self.wrong("the lines, branches or functions are not in order");
        }
        Ok(own)
    }

    fn values(&self, sets: &[RunNumbers], own: ValuesCell) -> Result<[Cell; 2], RunsError> {
        let (no, yes, of_no, of_yes) = own;
        Ok([self.cell(sets, no, of_no)?, self.cell(sets, yes, of_yes)?])
    }

    fn decision(
        &self,
        record: DecisionRecord,
    ) -> Result<(DecisionKey, CoveredDecision), RunsError> {
        let sets = self.sets(&record.sets)?;
        let count = record.conditions.len();
        let outcomes = self.values(&sets, record.outcomes)?;
        let (mut keys, mut conditions) = (Vec::new(), Vec::new());
        for own in record.conditions {
            let next = |next: NextRecord| match next {
                NextRecord::Condition(n) if n < count => Some(Ok(n)),
                NextRecord::Condition(_) => None,
                NextRecord::Outcome(value) => Some(Err(value)),
            };
            let next = next(own.if_false).zip(next(own.if_true));
            let (no, yes) = self.need(next, "a condition is missing")?;
            let region = Region { start: own.start, end: own.end };
            keys.push(ConditionKey { region, text: own.text, next: [no, yes] });
            let independent = [own.masking, own.unique_cause];
            conditions
                .push(CoveredCondition { values: self.values(&sets, own.values)?, independent });
        }
        let mut vectors = BTreeMap::new();
        for (text, outcome, times) in record.vectors {
            let own = self.need(vector(&text, outcome, count), "an evaluation is damaged")?;
            if vectors.last_key_value().is_some_and(|(last, _)| *last >= own) {
                return self.wrong("the evaluations are not in order");
            }
            vectors.insert(own, times);
        }
        let unmeasured: BTreeSet<_> = record.unmeasured.into_iter().collect();
        let region = Region { start: record.start, end: record.end };
        let key = DecisionKey { file: record.path, region, conditions: keys, exact: record.exact };
        let (copies, unnamed) = (record.copies, record.unnamed_copies);
        let own = CoveredDecision { outcomes, conditions, vectors, unmeasured, copies, unnamed };
        Ok((key, own))
    }
}

/// What is wrong, and the column: the number of the line is that in one record.
fn column(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let what = text.split(" at line ").next().unwrap_or_default();
    format!("column {}: {what}", error.column())
}

fn vector(text: &str, outcome: bool, count: usize) -> Option<Vector> {
    let value = |value: char| match value {
        'T' => Some(Some(true)),
        'F' => Some(Some(false)),
        '-' => Some(None),
        _ => None,
    };
    let values: Vec<_> = text.chars().map(value).collect::<Option<_>>()?;
    (values.len() == count).then_some(Vector { values, outcome })
}

fn hex(text: &str) -> Option<u64> {
    let number = u64::from_str_radix(text.strip_prefix("0x")?, 16).ok()?;
    (format!("{number:#x}") == text).then_some(number)
}

fn program(record: &ProgramRecord) -> Option<RunProgram> {
    let bits64 = match record.bits {
        64 => true,
        32 => false,
        _ => return None,
    };
    let part = |(address, size): &(String, u64)| Some((hex(address)?, *size));
    Some(RunProgram {
        key: ProgramKey {
            machine: record.machine,
            bits64,
            code: Digest::parse(&record.code_sha256)?,
            obligations: Digest::parse(&record.obligations_sha256)?,
        },
        paths: record.paths.iter().cloned().collect(),
        build_ids: record.build_ids.iter().cloned().collect(),
        parts: record.code.iter().map(part).collect::<Option<_>>()?,
        mapped: record.mapped,
        in_memory: record.in_memory,
    })
}

fn run(record: RunRecord) -> Option<Run> {
    let mut inputs = Vec::new();
    for input in record.inputs {
        let content = match (input.bytes, input.sha256) {
            (Some(size), Some(digest)) => Some((size, Digest::parse(&digest)?)),
            (None, None) => None,
            _ => return None,
        };
        inputs.push(RunInput { path: input.path, content });
    }
    Some(Run {
        tags: record.tags.into_iter().collect(),
        id: Digest::parse(&record.id)?,
        tool: record.tool,
        options: record.options,
        inputs,
        losses: record.losses,
        sound: record.sound,
        programs: record.programs.into_iter().collect(),
    })
}
