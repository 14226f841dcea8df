//! Decisions of source text.

use tracewright_symbols::{MappedDecision, Place, Region};

use super::expression::{self, Next};

/// A condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    /// Its place in the file.
    pub region: Region,
    /// Its text; empty where it is not known.
    pub text: String,
    /// What follows where it is false, and where it is true. A condition follows that is behind it.
    pub next: [Next; 2],
}

/// A decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// The path of the source file.
    pub file: String,
    /// Its place in the file.
    pub region: Region,
    /// The conditions in the order of the text; the first one is evaluated first. Not empty.
    pub conditions: Vec<Condition>,
    /// The outcomes are those of the text. Else they are those of a decision without `!` outside
    /// of conditions.
    pub exact: bool,
    /// What is executed where it is false, and where it is true, as far as it is known.
    pub leads_to: [Vec<Region>; 2],
    /// Why it cannot be measured at all.
    pub refused: Option<&'static str>,
}

/// The most conditions of a decision that is measured.
pub(crate) const MOST_CONDITIONS: usize = 64;

impl Decision {
    /// A decision of a coverage mapping.
    pub fn of_mapping(mapped: MappedDecision) -> Decision {
        let MappedDecision { file, region, conditions, leads_to } = mapped;
        let refused = if conditions.iter().any(|own| own.constant) {
            Some("a condition is constant")
        } else if conditions.len() > MOST_CONDITIONS {
            Some("it has more than 64 conditions")
        } else {
            None
        };
        let exact = conditions.len() == 1;
        let conditions = conditions.into_iter().map(|own| {
            let next = |value: bool| {
                own.next[usize::from(value)].map_or(Next::Outcome(value), Next::Condition)
            };
            let next = [next(false), next(true)];
            Condition { region: own.region, text: String::new(), next }
        });
        let conditions = conditions.collect();
        Decision { file, region, conditions, exact, leads_to, refused }
    }

    /// A decision of which nothing but the place is known.
    pub fn refused(file: String, region: Region, why: &'static str) -> Decision {
        let next = [Next::Outcome(false), Next::Outcome(true)];
        let condition = Condition { region, text: String::new(), next };
        let (conditions, leads_to) = (vec![condition], Default::default());
        Decision { file, region, conditions, exact: false, leads_to, refused: Some(why) }
    }

    /// Whether what follows the condition `n` shows which of its values is true: another condition
    /// does, or the outcomes are those of the text.
    pub(super) fn is_value_known(&self, n: usize) -> bool {
        let next = self.conditions.get(n).map(|own| own.next);
        let follows = |next: [Next; 2]| next.iter().any(|next| matches!(next, Next::Condition(_)));
        self.exact || next.is_some_and(follows)
    }

    /// Takes the texts of its conditions, and the operators between them, from the source file.
    pub fn read_text(&mut self, source: &SourceText) {
        for condition in &mut self.conditions {
            condition.text = source.part(condition.region).map(single_line).unwrap_or_default();
        }
        if self.refused.is_none() && is_operand(source, self.region) {
            self.refused = Some("it is part of a decision that the compiler does not describe");
        }
        if self.exact || self.refused.is_some() {
            return;
        }
        let regions: Vec<Region> = self.conditions.iter().map(|own| own.region).collect();
        let next = source
            .part(self.region)
            .and_then(|text| expression::order(text, self.region.start, &regions));
        let Some(next) = next else { return };
        // The order of evaluation is that of the compiler; another text is not that of the program.
        let same = self.conditions.iter().zip(&next).all(|(own, its)| {
            own.next.iter().zip(its).all(|pair| match pair {
                (Next::Condition(own), Next::Condition(its)) => own == its,
                (Next::Outcome(_), Next::Outcome(_)) => true,
                _ => false,
            })
        });
        if same {
            self.exact = true;
            self.conditions.iter_mut().zip(next).for_each(|(own, its)| own.next = its);
        }
    }
}

/// The text of a source file, with the offset of each line.
#[derive(Clone, Debug)]
pub struct SourceText {
    text: String,
    lines: Vec<usize>,
}

impl SourceText {
    /// A text.
    pub fn new(text: String) -> SourceText {
        let ends = text.match_indices('\n').map(|(at, _)| at + 1);
        let lines = std::iter::once(0).chain(ends).collect();
        SourceText { text, lines }
    }

    /// The offset of a place. Columns count bytes.
    fn offset(&self, (line, column): Place) -> Option<usize> {
        let start = self.lines.get(line.checked_sub(1)? as usize)?;
        Some(start + column.checked_sub(1)? as usize)
    }

    /// The text of a region.
    fn part(&self, region: Region) -> Option<&str> {
        self.text.get(self.offset(region.start)?..self.offset(region.end)?)
    }
}

/// Whether `&&` or `||` is beside a region, with nothing but parentheses and `!` between.
fn is_operand(source: &SourceText, region: Region) -> bool {
    let skipped = |c: char| c.is_whitespace() || matches!(c, '(' | ')' | '!');
    let before = source.offset(region.start).and_then(|at| source.text.get(..at));
    let after = source.offset(region.end).and_then(|at| source.text.get(at..));
    let before = before.unwrap_or_default().trim_end_matches(skipped);
    let after = after.unwrap_or_default().trim_start_matches(skipped);
    ["&&", "||"].iter().any(|own| before.ends_with(own) || after.starts_with(own))
}

/// A text without line breaks and runs of spaces.
fn single_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
