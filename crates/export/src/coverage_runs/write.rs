//! Writes files of runs.

use serde::Serialize;
use tracewright_analysis::coverage_runs::{
    Cell, CoverageRuns, CoveredDecision, CoveredFile, DecisionKey, Digest, Digester, Run,
    RunProgram,
};
use tracewright_analysis::decisions::Vector;

use super::VERSION;
use super::record::{
    ConditionRecord, DECISION, DecisionRecord, END, EndRecord, FILE, FileRecord, HEAD, Head,
    InputRecord, NextRecord, PROGRAM, ProgramRecord, RUN, RunRecord, ValuesCell,
};
use super::sets::Sets;

/// Gives the only run its identity: the digest of its file in which the identity is zero.
pub fn identify(runs: &mut CoverageRuns) {
    if let [run] = runs.runs.as_mut_slice() {
        run.id = Digest::default();
        let id = Digest::of(&write(runs));
        runs.runs.iter_mut().for_each(|run| run.id = id);
    }
}

/// The file of `runs`, which are in order.
pub fn write(runs: &CoverageRuns) -> Vec<u8> {
    let mut out = Out::default();
    out.line(&Head { kind: HEAD.to_owned(), version: VERSION });
    runs.programs.iter().for_each(|own| out.line(&program(own)));
    runs.runs.iter().for_each(|own| out.line(&run(own)));
    for ((program, path), own) in &runs.files {
        out.line(&file(*program, path, own));
    }
    for (key, own) in &runs.decisions {
        out.line(&decision(key, own));
    }
    let mut digest = Digester::default();
    digest.add(&out.bytes);
    let (lines, sha256) = (out.lines, digest.finish().to_string());
    out.line(&EndRecord { kind: END.to_owned(), lines, sha256 });
    out.bytes
}

#[derive(Default)]
struct Out {
    bytes: Vec<u8>,
    lines: u64,
}

impl Out {
    fn line(&mut self, record: &impl Serialize) {
        // Writing to memory does not fail, and the records have no maps.
        let _ = serde_json::to_writer(&mut self.bytes, record);
        self.bytes.push(b'\n');
        self.lines += 1;
    }
}

fn program(own: &RunProgram) -> ProgramRecord {
    ProgramRecord {
        kind: PROGRAM.to_owned(),
        paths: own.paths.iter().cloned().collect(),
        machine: own.key.machine,
        bits: if own.key.bits64 { 64 } else { 32 },
        build_ids: own.build_ids.iter().cloned().collect(),
        code_sha256: own.key.code.to_string(),
        obligations_sha256: own.key.obligations.to_string(),
        code: own.parts.iter().map(|(at, size)| (format!("{at:#x}"), *size)).collect(),
        mapped: own.mapped,
        in_memory: own.in_memory,
    }
}

fn run(own: &Run) -> RunRecord {
    let inputs = own.inputs.iter().map(|input| InputRecord {
        path: input.path.clone(),
        bytes: input.content.map(|(size, _)| size),
        sha256: input.content.map(|(_, digest)| digest.to_string()),
    });
    RunRecord {
        kind: RUN.to_owned(),
        id: own.id.to_string(),
        tags: own.tags.iter().cloned().collect(),
        tool: own.tool.clone(),
        options: own.options.clone(),
        inputs: inputs.collect(),
        losses: own.losses,
        sound: own.sound,
        programs: own.programs.iter().copied().collect(),
    }
}

fn file(program: usize, path: &str, own: &CoveredFile) -> FileRecord {
    let mut sets = Sets::default();
    let lines = own.lines.iter();
    let lines = lines.map(|(line, [cell])| (*line, cell.count, sets.position(&cell.runs)));
    let lines = lines.collect();
    let branches = own.branches.iter().map(|(key, [taken, not])| {
        let positions = [taken, not].map(|cell| sets.position(&cell.runs));
        let [of_taken, of_not] = positions;
        let address = format!("{:#x}", key.address);
        (key.line, address, taken.count, not.count, of_taken, of_not)
    });
    let branches = branches.collect();
    let functions = own.functions.iter().map(|(key, [cell])| {
        let ((first, last), set) = (key.lines, sets.position(&cell.runs));
        let code = key.code.map(|own| (format!("{:#x}", own.start), own.digest.to_string()));
        (first, last, key.symbol.clone(), key.name.clone(), cell.count, set, code)
    });
    let functions = functions.collect();
    let (kind, path) = (FILE.to_owned(), path.to_owned());
    FileRecord { kind, program, path, sets: sets.texts, lines, branches, functions }
}

fn values<'a>(sets: &mut Sets<'a>, [no, yes]: &'a [Cell; 2]) -> ValuesCell {
    let [of_no, of_yes] = [no, yes].map(|cell| sets.position(&cell.runs));
    (no.count, yes.count, of_no, of_yes)
}

fn decision(key: &DecisionKey, own: &CoveredDecision) -> DecisionRecord {
    let mut sets = Sets::default();
    let outcomes = values(&mut sets, &own.outcomes);
    let next =
        |next: Result<usize, bool>| next.map_or_else(NextRecord::Outcome, NextRecord::Condition);
    let conditions = key.conditions.iter().zip(&own.conditions).map(|(key, own)| {
        let ([if_false, if_true], [masking, unique_cause]) = (key.next.map(next), own.independent);
        let (start, end, text) = (key.region.start, key.region.end, key.text.clone());
        let values = values(&mut sets, &own.values);
        ConditionRecord { start, end, text, if_false, if_true, values, masking, unique_cause }
    });
    let conditions = conditions.collect();
    DecisionRecord {
        kind: DECISION.to_owned(),
        path: key.file.clone(),
        start: key.region.start,
        end: key.region.end,
        exact: key.exact,
        copies: own.copies,
        unnamed_copies: own.unnamed,
        sets: sets.texts,
        outcomes,
        conditions,
        vectors: own.vectors.iter().map(|(own, count)| (text(own), own.outcome, *count)).collect(),
        unmeasured: own.unmeasured.iter().cloned().collect(),
    }
}

/// The values of the conditions.
fn text(own: &Vector) -> String {
    let value = |value: &Option<bool>| value.map_or('-', |value| if value { 'T' } else { 'F' });
    own.values.iter().map(value).collect()
}
