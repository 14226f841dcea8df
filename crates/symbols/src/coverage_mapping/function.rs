//! The mapping of a function. (LLVM, "LLVM Code Coverage Mapping Format", "Encoding")

use std::collections::{HashMap, HashSet};

use super::reader::{Counter, Reader};
use super::{CoverageMapping, MappedCondition, MappedDecision, MappingError, Region};

/// The most conditions of a decision.
const MOST_CONDITIONS: u64 = 32767;
/// The most branches of a function whose decisions are described: each is compared with each.
const MOST_BRANCHES: usize = 4096;
/// The most files, expressions or regions of a function.
const MOST_ENTRIES: usize = 1 << 20;
/// The most pairs of a branch and a region that are compared in a function.
const MOST_PAIRS: usize = 1 << 26;

/// What a region of a mapping states.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Code(Counter),
    Gap,
    Expansion(usize),
    Branch([Counter; 2]),
    Decision(u64),
    /// The counters where it is true and false; its number, and those of the conditions that follow
    /// where it is true and false, from 1.
    Condition([Counter; 2], [u64; 3]),
    Skipped,
}

/// A region, in the file with a number of the function.
#[derive(Clone, Copy, Debug)]
struct Mapped {
    file: usize,
    region: Region,
    kind: Kind,
}

/// The mapping of one function.
pub(super) struct Function<'a> {
    files: Vec<&'a str>,
    expressions: Vec<[Counter; 2]>,
    regions: Vec<Mapped>,
}

impl<'a> Function<'a> {
    pub(super) fn read(
        from: &mut Reader<'_>,
        names: &'a [String],
    ) -> Result<Function<'a>, MappingError> {
        let mut own = Function { files: Vec::new(), expressions: Vec::new(), regions: Vec::new() };
        own.fill(from, names).ok_or(match own.has_most() {
            true => MappingError::TooLarge,
            false => MappingError::Damaged,
        })?;
        Ok(own)
    }

    /// Whether there are as many entries as there may be.
    fn has_most(&self) -> bool {
        let sizes = [self.files.len(), self.expressions.len(), self.regions.len()];
        sizes.iter().any(|size| *size >= MOST_ENTRIES)
    }

    /// Reads the entries. `None`: they are damaged, or too many.
    fn fill(&mut self, from: &mut Reader<'_>, names: &'a [String]) -> Option<()> {
        let own = self;
        for _ in 0..from.number()? {
            if own.has_most() {
                return None;
            }
            own.files.push(names.get(usize::try_from(from.number()?).ok()?)?);
        }
        for _ in 0..from.number()? {
            if own.has_most() {
                return None;
            }
            own.expressions.push([Counter::of(from.number()?), Counter::of(from.number()?)]);
        }
        for file in 0..own.files.len() {
            let mut line = 0u64;
            for _ in 0..from.number()? {
                if own.has_most() {
                    return None;
                }
                let header = from.number()?;
                let mut kind = match (header & 3, header >> 2 & 1, header >> 3) {
                    (0, 1, file) => Kind::Expansion(usize::try_from(file).ok()?),
                    (0, _, 0) => Kind::Code(Counter::Zero),
                    (0, _, 2) => Kind::Skipped,
                    (0, _, 4) => Kind::Branch(from.counters()?),
                    (0, _, 5) => {
                        from.number()?;
                        Kind::Decision(from.number()?)
                    }
                    (0, _, 6) => {
                        let counters = from.counters()?;
                        let numbers = [from.number()?, from.number()?, from.number()?];
                        Kind::Condition(counters, numbers)
                    }
                    (0, ..) => return None,
                    _ => Kind::Code(Counter::of(header)),
                };
                line = line.checked_add(from.number()?)?;
                let column = from.number()?;
                let end = line.checked_add(from.number()?)?;
                let mut last = from.number()?;
                if last >> 31 & 1 != 0 && matches!(kind, Kind::Code(_)) {
                    (kind, last) = (Kind::Gap, last & !(1 << 31));
                }
                // Both 0: whole lines.
                let (column, last) = if (column, last) == (0, 0) {
                    (1, u64::from(u32::MAX))
                } else {
                    (column, last)
                };
                let place = |line: u64, column: u64| {
                    Some((u32::try_from(line).ok()?, u32::try_from(column).ok()?))
                };
                let region = Region { start: place(line, column)?, end: place(end, last)? };
                own.regions.push(Mapped { file, region, kind });
            }
        }
        Some(())
    }

    /// The most bytes of paths that [`decisions`](Self::decisions) appends.
    pub(super) fn paths(&self) -> usize {
        let is_branch = |own: &&Mapped| !matches!(own.kind, Kind::Code(_) | Kind::Gap);
        let longest = self.files.iter().map(|name| name.len()).max().unwrap_or_default();
        longest.saturating_mul(self.regions.iter().filter(is_branch).count())
    }

    /// The expansion that has each file.
    fn expansions(&self) -> HashMap<usize, (usize, Region)> {
        let expansion = |own: &Mapped| match own.kind {
            Kind::Expansion(file) => Some((file, (own.file, own.region))),
            _ => None,
        };
        self.regions.iter().filter_map(expansion).collect()
    }

    /// Where a region of `file` is in a file that is not an expansion.
    fn outer(
        &self,
        expansions: &HashMap<usize, (usize, Region)>,
        (mut file, mut region): (usize, Region),
    ) -> (usize, Region) {
        // Expansions of a damaged file may contain each other.
        for _ in 0..self.files.len() {
            let Some(outer) = expansions.get(&file) else { break };
            (file, region) = *outer;
        }
        (file, region)
    }

    /// Where a region of `file` is in `outer`, which may have it in an expansion.
    fn within(
        &self,
        expansions: &HashMap<usize, (usize, Region)>,
        (mut file, mut region): (usize, Region),
        outer: usize,
    ) -> Option<Region> {
        for _ in 0..=self.files.len() {
            if file == outer {
                return Some(region);
            }
            (file, region) = *expansions.get(&file)?;
        }
        None
    }

    /// Whether `sum` is `counter`, or a sum with it.
    fn has(&self, sum: Counter, counter: Counter, depth: usize) -> bool {
        if sum == counter {
            return true;
        }
        let Counter::Add(n) = sum else { return false };
        let operands = usize::try_from(n).ok().and_then(|n| self.expressions.get(n));
        operands.is_some_and(|operands| {
            depth < 16 && operands.iter().any(|own| self.has(*own, counter, depth + 1))
        })
    }

    /// Appends the decisions.
    pub(super) fn decisions(&self, out: &mut CoverageMapping) {
        let expansions = self.expansions();
        let name = |file: usize| self.files.get(file).copied().unwrap_or_default().to_owned();
        let is_branch = |own: &&Mapped| {
            matches!(own.kind, Kind::Branch(_) | Kind::Condition(..) | Kind::Decision(_))
        };
        let branches = self.regions.iter().filter(is_branch).count();
        if branches > MOST_BRANCHES || branches.saturating_mul(self.regions.len()) > MOST_PAIRS {
            let places = self.regions.iter().filter(is_branch).map(|own| {
                let (file, region) = self.outer(&expansions, (own.file, own.region));
                (name(file), region)
            });
            out.unknown.extend(places);
            return;
        }
        // The innermost decision takes its conditions first.
        let mut decisions: Vec<(usize, Region, u64)> = Vec::new();
        for own in &self.regions {
            if let Kind::Decision(conditions) = own.kind {
                decisions.push((own.file, own.region, conditions.min(MOST_CONDITIONS)));
            }
        }
        let size = |(file, region, _): &(usize, Region, u64)| {
            let (start, end) = (region.start, region.end);
            (!expansions.contains_key(file), end.0.saturating_sub(start.0), end.1, start.1)
        };
        decisions.sort_by_key(|own| {
            let (outer, lines, end, start) = size(own);
            (outer, lines, i64::from(end) - i64::from(start))
        });
        let mut taken = vec![false; self.regions.len()];
        for (file, region, count) in decisions {
            let mut found: Vec<(u64, MappedCondition, [u64; 2])> = Vec::new();
            for (own, taken) in self.regions.iter().zip(&mut taken) {
                let Kind::Condition(counters, [number, on_true, on_false]) = own.kind else {
                    continue;
                };
                let place = self.within(&expansions, (own.file, own.region), file);
                let new = found.iter().all(|(known, ..)| *known != number);
                if *taken || !new || !place.is_some_and(|place| region.contains(&place)) {
                    continue;
                }
                *taken = true;
                let (_, outer) = self.outer(&expansions, (own.file, own.region));
                let constant = counters.contains(&Counter::Zero);
                let condition = MappedCondition { region: outer, next: [None; 2], constant };
                found.push((number, condition, [on_false, on_true]));
            }
            let (outer_file, outer) = self.outer(&expansions, (file, region));
            // In the order of evaluation: that of the text, in which the first is number 1.
            let position = |number: u64| found.iter().position(|(own, ..)| *own == number);
            let nexts: Option<Vec<[Option<usize>; 2]>> = found
                .iter()
                .enumerate()
                .map(|(n, (_, _, next))| {
                    let mut all = [None; 2];
                    for (next, number) in all.iter_mut().zip(next) {
                        if *number != 0 {
                            // A condition does not precede one before it.
                            *next = Some(position(*number).filter(|next| *next > n)?);
                        }
                    }
                    Some(all)
                })
                .collect();
            let first = found.first().is_some_and(|(number, ..)| *number == 1);
            match nexts.filter(|_| first && found.len() as u64 == count) {
                None => out.unknown.push((name(outer_file), outer)),
                Some(nexts) => {
                    let conditions = found.into_iter().zip(nexts);
                    let conditions =
                        conditions.map(|((_, own, _), next)| MappedCondition { next, ..own });
                    out.decisions.push(MappedDecision {
                        file: name(outer_file),
                        region: outer,
                        conditions: conditions.collect(),
                        leads_to: Default::default(),
                    });
                }
            }
        }
        self.single(&expansions, out);
    }

    /// Whether a condition with these counters and `right` are operands of one operator: the right
    /// one is executed as often as the left one is true, or false, and nothing but the operator is
    /// between them.
    fn are_operands(
        &self,
        executed: &HashMap<Counter, Vec<usize>>,
        (left, counters): (Region, [Counter; 2]),
        right: &Mapped,
    ) -> bool {
        if left.end > right.region.start {
            return false;
        }
        let own = || self.regions.iter().filter(|other| other.file == right.file);
        let all = counters.iter().filter_map(|counter| executed.get(counter)).flatten();
        let mut executed = all
            .filter_map(|n| self.regions.get(*n))
            .filter(|other| other.file == right.file && other.region.contains(&right.region));
        executed.any(|other| {
            let (whole, start) = (other.region == right.region, other.region.start);
            // Later versions of clang state what is between operands.
            let between = own().any(|gap| {
                let ((line, column), end) = (gap.region.start, gap.region.end);
                let parenthesis = whole && line == left.end.0 && column <= left.end.1 + 2;
                let follows = gap.region.start == left.end || parenthesis;
                matches!(gap.kind, Kind::Gap)
                    && follows
                    && left.end <= (line, column)
                    && end == start
            });
            let columns = right.region.start.1.wrapping_sub(left.end.1);
            between || whole && left.end.0 == right.region.start.0 && (2..=5).contains(&columns)
        })
    }

    /// Whether a branch that is taken as often as `on_true` is the label of a case, which has the
    /// counter of the code that begins there.
    fn is_label(&self, own: &Mapped, on_true: Counter) -> bool {
        self.regions.iter().any(|other| match other.kind {
            Kind::Code(counter) if other.file == own.file => {
                other.region.start == own.region.start
                    && other.region.end > own.region.end
                    && self.has(counter, on_true, 0)
            }
            _ => false,
        })
    }

    /// Whether a counter is a sum of nothing but `counters`.
    fn is_sum(&self, sum: Counter, counters: &HashSet<Counter>) -> bool {
        let (mut left, mut seen) = (vec![sum], HashSet::new());
        while let Some(own) = left.pop() {
            if counters.contains(&own) || !seen.insert(own) {
                continue;
            }
            let Counter::Add(n) = own else { return false };
            let operands = usize::try_from(n).ok().and_then(|n| self.expressions.get(n));
            let Some(operands) = operands else { return false };
            left.extend(operands);
        }
        true
    }

    /// Appends the decisions of one condition.
    fn single(&self, expansions: &HashMap<usize, (usize, Region)>, out: &mut CoverageMapping) {
        // By counter: the code.
        let mut executed = HashMap::<Counter, Vec<usize>>::new();
        for (n, own) in self.regions.iter().enumerate() {
            if let Kind::Code(counter) = own.kind {
                executed.entry(counter).or_default().push(n);
            }
        }
        let labels: HashSet<Counter> = self
            .regions
            .iter()
            .filter_map(|own| match own.kind {
                Kind::Branch([on_true, _]) if self.is_label(own, on_true) => Some(on_true),
                _ => None,
            })
            .collect();
        for own in &self.regions {
            let Kind::Branch(counters @ [on_true, on_false]) = own.kind else { continue };
            let code = || {
                self.regions.iter().filter_map(|other| match other.kind {
                    Kind::Code(counter) if other.file == own.file => Some((counter, other.region)),
                    _ => None,
                })
            };
            // The value of a `switch` without `default` is a branch, too: to any of the labels.
            if labels.contains(&on_true) || self.is_sum(on_true, &labels) {
                continue;
            }
            // A decision of several conditions that leaves temporary objects behind is described as
            // a whole, too.
            let is_whole = |other: &Mapped| {
                matches!(other.kind, Kind::Decision(_))
                    && (other.file, other.region) == (own.file, own.region)
            };
            if self.regions.iter().any(is_whole) {
                continue;
            }
            // `while (1)` decides nothing.
            if counters.contains(&Counter::Zero) {
                continue;
            }
            let (file, region) = self.outer(expansions, (own.file, own.region));
            let path = || self.files.get(file).copied().unwrap_or_default().to_owned();
            // Both are conditions of a decision that the compiler has not described.
            let joined = self.regions.iter().any(|other| match other.kind {
                Kind::Branch(its) if other.file == own.file => {
                    self.are_operands(&executed, (own.region, counters), other)
                        || self.are_operands(&executed, (other.region, its), own)
                }
                _ => false,
            });
            if joined {
                out.unknown.push((path(), region));
                continue;
            }
            let after = |wanted: Counter| {
                let regions = code().filter(|(counter, region)| {
                    *counter == wanted && region.start >= own.region.end
                });
                regions.map(|(_, region)| region).collect::<Vec<_>>()
            };
            let leads_to = match file == own.file {
                true => [after(on_false), after(on_true)],
                false => Default::default(),
            };
            let constant = false;
            out.decisions.push(MappedDecision {
                file: path(),
                region,
                conditions: vec![MappedCondition { region, next: [None; 2], constant }],
                leads_to,
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 4,000 branches and 100,000 regions, as a mapping may claim in a few hundred KiB.
    #[test]
    fn large_functions_are_not_compared() {
        let mapped = |n: u32, kind: Kind| {
            let region = Region { start: (n + 1, 1), end: (n + 1, 2) };
            Mapped { file: 0, region, kind }
        };
        let code = (0..100_000).map(|n| mapped(n, Kind::Code(Counter::Own(n.into()))));
        let branch = |n: u32| Kind::Branch([Counter::Own(n.into()), Counter::Own((n + 1).into())]);
        let branches = (0..4000).map(|n| mapped(n, branch(n)));
        let regions = code.chain(branches).collect();
        let own = Function { files: vec!["a.c"], expressions: Vec::new(), regions };
        let mut all = CoverageMapping::default();
        own.decisions(&mut all);
        assert_eq!((all.decisions.len(), all.unknown.len()), (0, 4000));
    }
}
