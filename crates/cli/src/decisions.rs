//! The decisions of `coverage --decisions`: from clang's coverage mapping, or from a description.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use serde_json::Value;
use tracewright::analysis::coverage::{ProgramFile, SourceFile};
use tracewright::analysis::decisions::{
    Condition, Copies, Criterion, Decision, DecisionCoverage, DecisionListener, Evaluation,
    Evaluations, MeasuredDecision, SourceText, Tree, same_file,
};
use tracewright::capture::read_regular;
use tracewright::image::Bytes;
use tracewright::symbols::{CoverageMapping, MappingError, Region};

use crate::args::SwitchArgs;
use crate::fail::Fail;
use crate::input::Job;
use crate::sources::Sources;
use crate::stacks;
use crate::tasks;

/// The most bytes of a file with decisions.
const MAX_FILE: u64 = 1 << 30;
/// The most conditions of a described decision.
const MOST: usize = 64;

/// Why clang describes no conditions of a decision.
const NESTED: &str = "clang does not describe its conditions: one of them contains another \
                      decision, or an operator that is no condition contains them";

/// Why nothing is known of a decision that two files describe.
const DIFFERENT: &str = "two files of --decisions describe it with other conditions: its macros \
                         differ, or its source changed";

/// Whether two descriptions of a decision have the same conditions.
fn is_described_as(one: &Decision, other: &Decision) -> bool {
    let places = |own: &Decision| -> Vec<_> {
        own.conditions.iter().map(|own| (own.region, own.next)).collect()
    };
    one.refused.is_some() == other.refused.is_some() && places(one) == places(other)
}

/// The decisions of the files `paths`, each of which is an object file or a description.
pub fn read(paths: &[PathBuf]) -> Result<Vec<Decision>, Fail> {
    let mut all = Vec::new();
    for path in paths {
        let bytes =
            read_regular(path, MAX_FILE).map_err(|error| Fail::input(path, &error.to_string()))?;
        if bytes.starts_with(b"\x7fELF") {
            all.extend(of_mapping(path, &Bytes::from(bytes))?);
        } else {
            let text = String::from_utf8_lossy(&bytes);
            all.extend(of_description(&text).map_err(|what| Fail::input(path, &what))?);
        }
    }
    Ok(once(all))
}

/// The decisions, each of which is there once.
fn once(mut all: Vec<Decision>) -> Vec<Decision> {
    let key = |own: &Decision| (own.file.clone(), own.region, own.conditions.len());
    all.sort_by_key(key);
    // Objects of several units describe the inline functions of a header. A macro may be another
    // one in each.
    all.dedup_by(|next, own| {
        let same = next.file == own.file && next.region == own.region;
        if same && !is_described_as(next, own) {
            *own = Decision::refused(own.file.clone(), own.region, DIFFERENT);
        }
        same
    });
    all
}

fn of_mapping(path: &Path, bytes: &Bytes) -> Result<Vec<Decision>, Fail> {
    let mapping = CoverageMapping::of_elf(bytes).map_err(|error| {
        Fail::input(
            path,
            &match error {
                MappingError::None => {
                    "it has no coverage mapping; compile it with clang -c -fprofile-instr-generate \
                     -fcoverage-mapping -fcoverage-mcdc"
                        .to_owned()
                }
                MappingError::Version(version) => {
                    format!("its coverage mapping has version {version}; 4 to 7 are known")
                }
                MappingError::NoObject => "it is not an ELF file that can be read".to_owned(),
                MappingError::TooLarge => {
                    "its coverage mapping is larger than what is read: docs/limits.md".to_owned()
                }
                _ => "its coverage mapping is damaged".to_owned(),
            },
        )
    })?;
    let unknown = mapping.unknown.into_iter();
    let unknown = unknown.map(|(file, region)| Decision::refused(file, region, NESTED));
    Ok(mapping.decisions.into_iter().map(Decision::of_mapping).chain(unknown).collect())
}

/// A place: line and column.
fn place(value: &Value, key: &str) -> Result<(u32, u32), String> {
    let number = |n: usize| value.get(key)?.get(n)?.as_u64().and_then(|n| u32::try_from(n).ok());
    let both = number(0).zip(number(1)).filter(|(line, column)| *line > 0 && *column > 0);
    both.ok_or_else(|| format!("`{key}` must be [line, column], both from 1"))
}

fn region(value: &Value) -> Result<Region, String> {
    Ok(Region { start: place(value, "start")?, end: place(value, "end")? })
}

/// An expression: the position of a condition, or an operator and its operands.
fn tree(value: &Value, next: &mut usize, depth: usize) -> Result<Tree, String> {
    let wrong = || {
        "`tree` must be the position of a condition, [\"!\", tree], or [\"&&\" or \"||\", tree, \
         tree, ...], with the conditions in the order of the text"
            .to_owned()
    };
    if let Some(n) = value.as_u64() {
        if n as usize != *next {
            return Err(wrong());
        }
        *next += 1;
        return Ok(Tree::Condition(n as usize));
    }
    let [operator, operands @ ..] = value.as_array().map_or(&[][..], Vec::as_slice) else {
        return Err(wrong());
    };
    if depth > MOST {
        return Err(wrong());
    }
    let mut operands = operands.iter().map(|operand| tree(operand, next, depth + 1));
    let mut own = operands.next().ok_or_else(wrong)??;
    match operator.as_str() {
        Some("!") => own = Tree::Not(Box::new(own)),
        Some("&&") => {
            for other in operands {
                own = Tree::And(Box::new(own), Box::new(other?));
            }
            return Ok(own);
        }
        Some("||") => {
            for other in operands {
                own = Tree::Or(Box::new(own), Box::new(other?));
            }
            return Ok(own);
        }
        _ => return Err(wrong()),
    }
    if operands.next().is_some() { Err(wrong()) } else { Ok(own) }
}

/// The decisions of a description in JSON.
pub fn of_description(text: &str) -> Result<Vec<Decision>, String> {
    let whole: Value = serde_json::from_str(text)
        .map_err(|error| format!("neither an ELF file nor JSON with decisions: {error}"))?;
    let list = whole.get("decisions").and_then(Value::as_array);
    let list = list.ok_or("JSON without a list `decisions`")?;
    let of = |value: &Value| -> Result<Decision, String> {
        let text = |key: &str| value.get(key).and_then(Value::as_str);
        let file = text("file").or(whole.get("file").and_then(Value::as_str));
        let file = file.ok_or("`file` is missing")?.to_owned();
        let conditions = value.get("conditions").and_then(Value::as_array);
        let conditions = conditions.ok_or("`conditions` is missing")?;
        if conditions.is_empty() || conditions.len() > MOST {
            return Err(format!("it must have 1 to {MOST} conditions"));
        }
        let mut next = 0;
        let only = Value::from(0);
        let own = tree(value.get("tree").unwrap_or(&only), &mut next, 0)?;
        if next != conditions.len() {
            return Err(format!("`tree` has {next} conditions, `conditions` {}", conditions.len()));
        }
        let order = own.order(conditions.len());
        let conditions = conditions.iter().zip(order).map(|(own, next)| {
            let text = own.get("text").and_then(Value::as_str).unwrap_or_default().to_owned();
            Ok(Condition { region: region(own)?, text, next })
        });
        Ok(Decision {
            file,
            region: region(value)?,
            conditions: conditions.collect::<Result<_, String>>()?,
            exact: true,
            leads_to: Default::default(),
            refused: None,
        })
    };
    list.iter()
        .enumerate()
        .map(|(n, value)| of(value).map_err(|what| format!("decision {}: {what}", n + 1)))
        .collect()
}

/// Takes the texts of conditions from the source files, which are looked for in the folders of the
/// programs, too.
pub fn read_texts(decisions: &mut [Decision], files: &[ProgramFile], sources: &Sources<'_>) {
    let folders: BTreeSet<PathBuf> = files.iter().filter_map(|file| file.folder.clone()).collect();
    let of = SourceFile { folders, ..SourceFile::default() };
    let mut texts = BTreeMap::<String, Option<SourceText>>::new();
    for decision in decisions {
        let text = texts.entry(decision.file.clone());
        let text = text.or_insert_with(|| {
            let read = sources.read(&decision.file, &of).ok();
            read.map(|(text, _)| SourceText::new(text))
        });
        if let Some(text) = text {
            decision.read_text(text);
        }
    }
}

/// Adds what is covered to the source files.
pub fn add(
    sources: &mut BTreeMap<String, SourceFile>,
    decisions: &[Decision],
    covered: Vec<DecisionCoverage>,
    (criterion, losses): (Criterion, bool),
) {
    let mut paths = BTreeMap::<&str, String>::new();
    for (decision, mut covered) in decisions.iter().zip(covered) {
        covered.finish(criterion, losses);
        let path = paths.entry(&decision.file).or_insert_with(|| {
            let path = sources.keys().find(|path| same_file(path, &decision.file));
            path.unwrap_or(&decision.file).clone()
        });
        let path = path.clone();
        let decision = decision.clone();
        sources.entry(path).or_default().decisions.push(MeasuredDecision { decision, covered });
    }
}

/// Measures the decisions of a capture.
pub struct Measure {
    decisions: Arc<[Decision]>,
    files: Arc<Vec<ProgramFile>>,
    copies: Arc<Copies>,
    evaluations: Mutex<Evaluations>,
}

impl Measure {
    /// Measures `decisions` in the programs `files`.
    pub fn new(decisions: &Arc<[Decision]>, files: &[ProgramFile]) -> Measure {
        let files = Arc::new(if decisions.is_empty() { Vec::new() } else { files.to_vec() });
        let copies = Arc::new(Copies::new(decisions, &files));
        let decisions = Arc::clone(decisions);
        Measure { decisions, files, copies, evaluations: Mutex::default() }
    }

    /// What finds the branches of a buffer, and their evaluations, of these `threads`, or of all;
    /// `None` where no decisions are wanted.
    pub fn begin(
        &self,
        switches: &SwitchArgs,
        job: &Job<'_>,
        (path, threads): (&Path, Option<BTreeSet<usize>>),
    ) -> Result<Option<(DecisionListener, Evaluation)>, Fail> {
        if self.decisions.is_empty() {
            return Ok(None);
        }
        let code = job.code();
        let tasks = tasks::of(switches, job, &code, path)?;
        let (decisions, copies) = (Arc::clone(&self.decisions), Arc::clone(&self.copies));
        let sources = (job.sources.len(), &code, tasks.switches());
        let evaluation = Evaluation::new(decisions, Arc::clone(&copies), sources).of(threads);
        let transfers = stacks::transfers(job, &code, false).watching(&tasks);
        let programs = job.sources.iter().map(|source| source.program.clone()).collect();
        let files = Arc::clone(&self.files);
        let listener = DecisionListener::new(transfers, files, copies, programs);
        Ok(Some((listener, evaluation)))
    }

    /// A buffer has ended.
    pub fn add(&self, evaluation: Evaluation) {
        if let Ok(mut all) = self.evaluations.lock() {
            all.merge(evaluation.finish());
        }
    }

    /// What was covered.
    pub fn cover(&self, criterion: Criterion) -> Vec<DecisionCoverage> {
        let all = self.evaluations.lock();
        all.map_or_else(|_| Vec::new(), |all| all.cover(&self.decisions, &self.copies, criterion))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decisions_that_are_described_in_two_ways_are_not_measurable() {
        let text = r#"{"file": "a.h", "decisions": [{
            "start": [3, 7], "end": [3, 20],
            "conditions": [
                {"start": [3, 8], "end": [3, 9]}, {"start": [3, 13], "end": [3, 14]}],
            "tree": ["&&", 0, 1]}]}"#;
        let of = |text: &str| of_description(text).expect("decisions");
        assert_eq!(once([of(text), of(text), of(text)].concat()), of(text));
        let other = of(&text.replace("&&", "||"));
        for all in [[of(text), other.clone(), of(text)], [other.clone(), of(text), other]] {
            let found = once(all.concat());
            assert!(matches!(&found[..], [own] if own.refused == Some(DIFFERENT)), "{found:?}");
        }
    }

    #[test]
    fn descriptions_have_trees() {
        let text = r#"{"file": "a.c", "decisions": [{
            "start": [3, 7], "end": [3, 20],
            "conditions": [
                {"start": [3, 8], "end": [3, 9], "text": "a"},
                {"start": [3, 13], "end": [3, 14]},
                {"start": [3, 19], "end": [3, 20]}],
            "tree": ["&&", ["||", 0, ["!", 1]], 2]}]}"#;
        let decisions = of_description(text).expect("decisions");
        let [own] = &decisions[..] else { panic!("{decisions:?}") };
        let order = Tree::And(
            Box::new(Tree::Or(
                Box::new(Tree::Condition(0)),
                Box::new(Tree::Not(Box::new(Tree::Condition(1)))),
            )),
            Box::new(Tree::Condition(2)),
        );
        let next: Vec<_> = own.conditions.iter().map(|own| own.next).collect();
        assert_eq!(next, order.order(3));
        assert_eq!((own.file.as_str(), own.conditions[0].text.as_str()), ("a.c", "a"));
        for (wrong, what) in [
            (text.replace("\"tree\"", "\"tree2\""), "`tree` has 1 conditions"),
            (text.replace("2]}]}", "1]}]}"), "must be the position of a condition"),
            (text.replace("[3, 7]", "[3]"), "`start` must be [line, column]"),
            (text.replace("\"file\"", "\"path\""), "`file` is missing"),
            ("[]".to_owned(), "without a list"),
            ("x".to_owned(), "neither an ELF file nor JSON"),
        ] {
            let error = of_description(&wrong).expect_err("a wrong description");
            assert!(error.contains(what), "{error}");
        }
    }
}
