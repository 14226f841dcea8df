//! The copies of decisions in programs, and the branches that evaluate their conditions.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use tracewright_base::Waypoints;
use tracewright_image::{Cache, CacheOptions, Image};
use tracewright_symbols::{CodeStates, Functions, Lines, Location, Place, Region};

use super::assign::{Assignment, Failure, LastCondition, Search};
use super::by_value;
use super::decision::Decision;
use super::evidence::{Shown, shown};
use super::nearby::{DecisionLines, extents, lines_of, neighbours};
use super::walk::Walk;
use crate::program_file::ProgramFile;

/// The most conditional branches in the lines of a decision in a function.
const MOST_BRANCHES: usize = 4096;

/// The most instructions that are followed from branches, for each byte of the program file.
const FOLLOWED: u64 = 8;

/// Why a branch of optimised code shows no condition.
const JOINED: &str = "its branches may evaluate other conditions, too";

/// Why what is not covered in optimised code is unknown.
pub(super) const OPTIMISED: &str =
    "the compiler may optimise: it may also be evaluated without a branch";

/// Why what is not covered of a value is unknown.
const UNSEEN: &str = "the compiler computes its last condition without a branch: its value is not \
                      in the trace";

/// A copy of a decision in a program.
#[derive(Clone, Debug)]
pub(super) struct Copy {
    /// The position of the decision.
    pub(super) decision: usize,
    pub(super) function: Option<String>,
    pub(super) assignment: Assignment,
}

/// Code of a decision that cannot be measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unmatched {
    /// The function that has the code, where there is one.
    pub function: Option<String>,
    /// Why it cannot be measured.
    pub reason: String,
}

/// The condition that a branch evaluates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BranchOf {
    pub(super) copy: u32,
    pub(super) condition: u16,
    pub(super) taken_is_true: bool,
}

/// The copies of decisions in the program files of a capture.
#[derive(Clone, Debug, Default)]
pub struct Copies {
    /// By position of the decision: its code that cannot be measured.
    pub unmatched: Vec<Vec<Unmatched>>,
    pub(super) all: Vec<Copy>,
    /// By file: the branches, by their addresses in the file.
    pub(super) branches: Vec<HashMap<u64, BranchOf>>,
}

/// A conditional branch in a line of a decision: the position of the decision, the number of the
/// function.
type Candidates = BTreeMap<(usize, Option<u32>), BTreeSet<u64>>;

/// The conditional branches in the lines of a decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Found {
    Nothing,
    /// All of them are of other decisions.
    Others,
    Own,
}

/// How far a place is from a decision: 0 inside, else columns. Of two decisions that have it, the
/// smaller one is nearer.
fn distance(region: &Region, place: Place) -> (u32, u32, u32) {
    let away = if region.has(place) {
        0
    } else if place < region.start {
        region.start.1.saturating_sub(place.1).max(1)
    } else {
        place.1.saturating_sub(region.end.1).saturating_add(1)
    };
    let lines = region.end.0.saturating_sub(region.start.0);
    (away, lines, region.end.1.saturating_sub(region.start.1))
}

impl Copies {
    /// The copies of `decisions` in the programs `files`.
    pub fn new(decisions: &[Decision], files: &[ProgramFile]) -> Copies {
        let mut own = Copies {
            unmatched: vec![Vec::new(); decisions.len()],
            all: Vec::new(),
            branches: vec![HashMap::new(); files.len()],
        };
        let mut has_code = vec![Found::Nothing; decisions.len()];
        for (number, file) in files.iter().enumerate() {
            own.add(decisions, number, file, &mut has_code);
        }
        for ((decision, unmatched), has_code) in
            decisions.iter().zip(&mut own.unmatched).zip(has_code)
        {
            let reason = match decision.refused {
                Some(reason) => reason,
                None => match has_code {
                    Found::Nothing => "the programs have no conditional branch in its lines",
                    Found::Others => {
                        "the conditional branches in its lines are those of other decisions there"
                    }
                    Found::Own => continue,
                },
            };
            unmatched.push(Unmatched { function: None, reason: reason.to_owned() });
        }
        own
    }

    fn add(
        &mut self,
        decisions: &[Decision],
        number: usize,
        file: &ProgramFile,
        has_code: &mut [Found],
    ) {
        let Some(lines) = Lines::of_elf(file.debug_info()) else { return };
        let Ok(image) = Image::from_elf(&file.bytes, &file.path, file.bias) else { return };
        let functions = Functions::of_elf(file.debug_info());
        let mut cache = Cache::new(Arc::new(image), Waypoints::default(), CacheOptions::default());
        let states = CodeStates::of_elf(file.debug_info());
        let left = (file.bytes.len() as u64).saturating_mul(FOLLOWED);
        let mut walk = Walk { cache: &mut cache, states: &states, bias: file.bias, left };
        let known = lines_of(decisions, &lines);
        let extents = extents(&lines, &functions);
        let in_program = (&lines, &functions, &known);
        // Segments of a hostile file may share their bytes.
        let most = (file.bytes.len() as u64).saturating_mul(2);
        let found = candidates(decisions, in_program, (&mut walk, most), has_code);
        let Some(candidates) = found else {
            let here: BTreeSet<usize> = known.values().flatten().copied().collect();
            for decision in here {
                let reason = "the program has more code in lines of decisions than its file has";
                if let Some(all) = self.unmatched.get_mut(decision) {
                    all.push(Unmatched { function: None, reason: reason.to_owned() });
                }
                if let Some(has_code) = has_code.get_mut(decision) {
                    *has_code = Found::Own;
                }
            }
            return;
        };
        let beside = neighbours(decisions);
        // Whether the compiler has left out branches of a decision: it may have joined them with
        // those of another one.
        let lacks = |decision: usize, function: Option<u32>| {
            let Some(own) = decisions.get(decision) else { return false };
            let branches = candidates.get(&(decision, function)).map_or(0, BTreeSet::len);
            let is_here = |(file, (first, last)): &(u32, (u32, u32))| {
                (*first..=*last).contains(&own.region.start.0)
                    && known.contains_key(&Location { file: *file, line: own.region.start.0 })
            };
            let here = extents.get(&function).is_some_and(|files| files.iter().any(is_here));
            here && branches < own.conditions.len()
        };
        for (&(decision, function), candidates) in &candidates {
            let Some(own) = decisions.get(decision) else { continue };
            if let Some(has_code) = has_code.get_mut(decision) {
                *has_code = Found::Own;
            }
            if own.refused.is_some() {
                continue;
            }
            let mut near = beside.get(decision).into_iter().flatten();
            let joined = near.any(|other| lacks(*other, function));
            let function = function.and_then(|n| functions.get(n));
            let function = function.map(|function| function.name.clone());
            let reason = match matched(own, candidates, (&lines, &known), &mut walk) {
                Ok((_, Some(OPTIMISED))) if joined => Some(JOINED.to_owned()),
                Ok((found, unknown)) => {
                    for assignment in found {
                        let function = function.clone();
                        self.insert(number, Copy { decision, function, assignment });
                    }
                    unknown.map(str::to_owned)
                }
                Err(reason) => Some(reason),
            };
            if let Some(reason) = reason
                && let Some(all) = self.unmatched.get_mut(decision)
            {
                all.push(Unmatched { function, reason });
            }
        }
    }

    fn insert(&mut self, number: usize, own: Copy) {
        let (Ok(copy), Some(branches)) =
            (u32::try_from(self.all.len()), self.branches.get_mut(number))
        else {
            return;
        };
        for (condition, branch) in (0u16..).zip(&own.assignment.branches) {
            let taken_is_true = branch.taken_is_true;
            branches.insert(branch.address, BranchOf { copy, condition, taken_is_true });
        }
        self.all.push(own);
    }
}

/// The conditional branches in the lines of decisions. `None` where these have more than `left`
/// bytes of code.
fn candidates(
    decisions: &[Decision],
    (lines, functions, known): (&Lines, &Functions, &DecisionLines),
    (walk, mut left): (&mut Walk<'_>, u64),
    has_code: &mut [Found],
) -> Option<Candidates> {
    let mut candidates = Candidates::new();
    let mut done = BTreeSet::new();
    for row in lines.rows() {
        let Some(here) = known.get(&row.location) else { continue };
        let mut address = row.start;
        while address <= row.last {
            let Some(instruction) = walk.instruction(address) else { break };
            if Walk::is_conditional(&instruction) && done.insert(address) {
                let place = (row.location.line, row.column);
                let function = functions.at(address).function;
                for n in here {
                    if let Some(own @ Found::Nothing) = has_code.get_mut(*n) {
                        *own = Found::Others;
                    }
                }
                for decision in nearest(decisions, here, place) {
                    candidates.entry((decision, function)).or_default().insert(address);
                }
            }
            left = left.checked_sub(instruction.size.max(1).into())?;
            let Some(next) = address.checked_add(instruction.size.max(1).into()) else { break };
            address = next;
        }
    }
    Some(candidates)
}

/// Those of the decisions `here` that have the code of `place`: one, or several where it is not
/// known which, so that neither is measurable.
fn nearest(decisions: &[Decision], here: &[usize], place: Place) -> Vec<usize> {
    if place.1 == 0 || here.len() < 2 {
        return here.to_vec();
    }
    let of = |n: &usize| decisions.get(*n).map(|own| distance(&own.region, place));
    let least = here.iter().filter_map(of).min();
    here.iter().copied().filter(|n| of(n) == least).collect()
}

/// The copies of a decision whose conditions are evaluated by `candidates`; and why what they do
/// not cover is unknown, where something else may evaluate them.
fn matched(
    decision: &Decision,
    candidates: &BTreeSet<u64>,
    lines: (&Lines, &DecisionLines),
    walk: &mut Walk<'_>,
) -> Result<(Vec<Assignment>, Option<&'static str>), String> {
    let by_branches = by_branches(decision, candidates, lines, walk);
    if by_branches.is_ok() {
        return by_branches;
    }
    let Some(mut assignment) = by_value::assignment(decision, candidates, lines, walk) else {
        return by_branches;
    };
    let unseen = assignment.last == LastCondition::Unseen;
    if let (LastCondition::OfValue(taken), Some(test)) =
        (&mut assignment.last, assignment.branches.last())
    {
        *taken = outcome_by_lines(decision, test.address, lines.0, walk);
    }
    Ok((vec![assignment], unseen.then_some(UNSEEN)))
}

/// The same for conditions each of which has a branch.
fn by_branches(
    decision: &Decision,
    candidates: &BTreeSet<u64>,
    (lines, known): (&Lines, &DecisionLines),
    walk: &mut Walk<'_>,
) -> Result<(Vec<Assignment>, Option<&'static str>), String> {
    let (branches, conditions) = (candidates.len(), decision.conditions.len());
    let few = || match (branches, conditions) {
        (1, _) => format!("it has one conditional branch for {conditions} conditions"),
        _ => format!("it has {branches} conditional branches for {conditions} conditions"),
    };
    if branches < conditions {
        return Err(few());
    }
    if branches > MOST_BRANCHES {
        return Err(format!("it has {branches} conditional branches: too many"));
    }
    let mut search = Search::new(decision, candidates, walk);
    if walk.left == 0 {
        return Err("its program has more branches than are followed".to_owned());
    }
    let mut used = BTreeSet::new();
    let mut found = Vec::new();
    for first in candidates {
        if used.contains(first) {
            continue;
        }
        match search.of(*first) {
            Ok(assignment) => {
                let mut its = assignment.branches.iter().map(|own| own.address);
                if its.all(|address| used.insert(address)) {
                    found.push(assignment);
                } else {
                    return Err("a branch would evaluate conditions of two copies".to_owned());
                }
            }
            Err(Failure::None) => {}
            Err(Failure::Several) => {
                return Err("its branches can be assigned to its conditions in several ways".into());
            }
            Err(Failure::Limit) => return Err("it is too complex".to_owned()),
        }
    }
    if used.len() < branches && !are_behind(&found, &used, candidates, (lines, &search)) {
        return Err(match found.is_empty() && branches == conditions {
            true => "its branches do not lead to each other as its conditions do".to_owned(),
            false => format!(
                "{} of its {branches} conditional branches evaluate none of its \
                 {conditions} conditions",
                branches - used.len()
            ),
        });
    }
    let shown = shown(decision, &found, (lines, known), walk);
    match shown {
        Shown::Nothing => {
            return Err("the compiler may evaluate its conditions in another order, and the line \
                        table does not show in which"
                .to_owned());
        }
        Shown::Joined => {
            return Err(JOINED.to_owned());
        }
        Shown::All | Shown::Part => {}
    }
    for assignment in &mut found {
        known_by_lines(decision, assignment, lines, walk);
    }
    Ok((found, (shown != Shown::All).then_some(OPTIMISED)))
}

/// Whether branches that evaluate no condition are all behind the value of a decision, so that one
/// of them is the first behind each outcome. So does GCC without optimisation where objects are
/// destroyed in the middle of a decision of C++.
fn are_behind(
    found: &[Assignment],
    used: &BTreeSet<u64>,
    candidates: &BTreeSet<u64>,
    (lines, search): (&Lines, &Search<'_>),
) -> bool {
    let [assignment] = found else { return false };
    let Some(first) = candidates.first() else { return false };
    let gcc = lines.producer(*first).is_some_and(|own| own.starts_with("GNU "));
    if !gcc || !lines.is_unoptimised(*first) || used.len() < 2 || !assignment.outcome_known {
        return false;
    }
    let mut behind = BTreeSet::new();
    for (branch, outcomes) in assignment.branches.iter().zip(&assignment.outcomes) {
        let Some(edges) = search.edges.get(&branch.address) else { return false };
        for value in
            [false, true].into_iter().filter(|value| outcomes[usize::from(*value)].is_some())
        {
            match &edges[usize::from(value == branch.taken_is_true)].reached {
                Some(reached) if reached.len() == 1 => behind.extend(reached),
                _ => return false,
            }
        }
    }
    behind.len() == 1 && behind.is_disjoint(used)
}

/// Finds which outcome of a decision of one condition is true, by the line that follows.
fn known_by_lines(
    decision: &Decision,
    assignment: &mut Assignment,
    lines: &Lines,
    walk: &mut Walk<'_>,
) {
    let [branch] = &mut assignment.branches[..] else { return };
    if branch.is_known {
        return;
    }
    let Some(taken_is_true) = outcome_by_lines(decision, branch.address, lines, walk) else {
        return;
    };
    (branch.taken_is_true, branch.is_known) = (taken_is_true, true);
    assignment.outcome_known = true;
    assignment.outcomes = vec![[Some(false), Some(true)]];
}

/// The outcome of a decision where the branch behind it is taken, by the line that follows.
fn outcome_by_lines(
    decision: &Decision,
    branch: u64,
    lines: &Lines,
    walk: &mut Walk<'_>,
) -> Option<bool> {
    let targets = walk.edges(branch)?;
    let mut leads = |target: u64| {
        let at = walk.destination(target);
        let row = lines.row(at)?;
        let place = (row.location.line, row.column);
        let [no, yes] = &decision.leads_to;
        let inside = |regions: &[Region]| regions.iter().any(|region| region.has(place));
        match (inside(no), inside(yes)) {
            (true, false) => Some(false),
            (false, true) => Some(true),
            _ => None,
        }
    };
    let [not_taken, taken] = targets.map(&mut leads);
    match (not_taken, taken) {
        (Some(a), Some(b)) if a == b => None,
        (Some(not), _) => Some(!not),
        (_, taken) => taken,
    }
}
