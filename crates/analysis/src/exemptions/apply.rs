//! Exempts the parts of source files.

use std::collections::BTreeMap;
use std::fmt;

use super::error::ExemptionError;
use super::exemption::{Exemption, ExemptionOrigin, Target};
use super::found::parts;
use super::scope::Scope;
use crate::coverage::SourceFile;
use crate::decisions::same_file;
use crate::part::Part;

/// Why an exemption exempts nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unused {
    /// No source file has this path.
    File,
    /// The file has no such function.
    Function,
    /// No such decision or condition is measured.
    Decision,
    /// There is no code.
    Code,
    /// All of it is covered.
    Covered,
    /// Other exemptions have all of it.
    Others,
}

impl fmt::Display for Unused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Unused::File => "no program has such a source file",
            Unused::Function => "the programs do not have the function",
            Unused::Decision => "no such decision is measured",
            Unused::Code => "there is no code",
            Unused::Covered => "all of it is covered",
            Unused::Others => "other exemptions have all of it",
        })
    }
}

/// What an exemption exempts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Use {
    /// The path of the source file.
    pub path: Option<String>,
    /// The first and the last line of the text that it is valid for.
    pub lines: Option<(u32, u32)>,
    /// The parts that it exempts.
    pub exempted: u64,
    /// The parts of its target that are covered.
    pub covered: u64,
    /// Why it exempts nothing.
    pub unused: Option<Unused>,
}

/// What exemptions exempt.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Applied {
    /// By the position of each exemption.
    pub uses: Vec<Use>,
    /// The positions of exemptions that are not valid, and why.
    pub errors: Vec<(usize, ExemptionError)>,
}

/// Exempts what is not covered, or unknown, of source files. `text` has the text of a source file
/// with a path, or the reason why it cannot be read.
pub fn apply(
    sources: &mut BTreeMap<String, SourceFile>,
    exemptions: &[Exemption],
    mut text: impl FnMut(&str, &SourceFile) -> Result<String, String>,
) -> Applied {
    let mut applied = Applied::default();
    let mut texts = BTreeMap::<String, Result<String, String>>::new();
    for (n, exemption) in exemptions.iter().enumerate() {
        let done = one(sources, (n, exemption), |path, source| {
            texts.entry(path.to_owned()).or_insert_with(|| text(path, source)).clone()
        });
        applied.uses.push(done.unwrap_or_else(|error| {
            applied.errors.push((n, error));
            Use::default()
        }));
    }
    applied
}

fn one(
    sources: &mut BTreeMap<String, SourceFile>,
    (number, exemption): (usize, &Exemption),
    text: impl FnOnce(&str, &SourceFile) -> Result<String, String>,
) -> Result<Use, ExemptionError> {
    let exact = sources.contains_key(&exemption.file);
    let is = |path: &String| match exact {
        true => *path == exemption.file,
        false => same_file(path, &exemption.file),
    };
    let mut found = sources.iter_mut().filter(|(path, _)| is(path));
    let (first, others) = (found.next(), found.count());
    let Some((path, source)) = first else {
        return Ok(Use { unused: Some(Unused::File), ..Use::default() });
    };
    if others > 0 {
        return Err(ExemptionError::Files(others + 1));
    }
    let text = text(path, source).map_err(ExemptionError::Unreadable)?;
    let count = u32::try_from(text.lines().count()).unwrap_or(u32::MAX);
    let Some(scope) = Scope::of(exemption, source, count)? else {
        let (path, unused) = (Some(path.clone()), Some(Unused::Function));
        return Ok(Use { path, unused, ..Use::default() });
    };
    if matches!(exemption.origin, ExemptionOrigin::Table(..)) {
        let digest = scope.digest(&text);
        match exemption.hash {
            Some(hash) if hash == digest => {}
            Some(_) => return Err(ExemptionError::Stale(digest)),
            None => return Err(ExemptionError::Missing(digest)),
        }
    }
    let mut own =
        Use { path: Some(path.clone()), lines: Some((scope.first, scope.last)), ..Use::default() };
    let mut exempted = std::mem::take(&mut source.exempted);
    let mut others = 0u64;
    for found in parts(source) {
        if !has(exemption, scope, &found.part) {
            continue;
        }
        if found.covered {
            own.covered += 1;
        } else if exempted.contains_key(&found.part) {
            others += 1;
        } else {
            exempted.insert(found.clear(), number);
            own.exempted += 1;
        }
    }
    source.exempted = exempted;
    own.unused = match (own.exempted, own.covered, others) {
        (1.., ..) => None,
        (0, _, 1..) => Some(Unused::Others),
        (0, 1.., 0) => Some(Unused::Covered),
        (0, 0, 0) if matches!(exemption.target, Target::Decision { .. }) => Some(Unused::Decision),
        (0, 0, 0) => Some(Unused::Code),
    };
    Ok(own)
}

/// Whether an exemption with this scope has a part.
fn has(exemption: &Exemption, scope: Scope, part: &Part) -> bool {
    if exemption.kind.is_some_and(|kind| kind != part.kind()) {
        return false;
    }
    let line = part.line();
    if !(scope.first..=scope.last).contains(&line) {
        return false;
    }
    match &exemption.target {
        Target::All => true,
        Target::Lines(ranges) => ranges.iter().any(|(first, last)| {
            (scope.line(exemption, *first)..=scope.line(exemption, *last)).contains(&line)
        }),
        Target::Decision { place, condition, value } => {
            let place = (scope.line(exemption, place.0), place.1);
            match part {
                Part::Outcome(own, outcome) => {
                    *own == place && condition.is_none() && value.is_none_or(|own| own == *outcome)
                }
                Part::Value(own, n, side) => {
                    let all = condition.is_none() && value.is_none();
                    let its = *condition == Some(*n) && value.is_none_or(|own| own == *side);
                    *own == place && (all || its)
                }
                // Without one of its values, a condition cannot decide the outcome.
                Part::Independence(own, n) => {
                    let all = condition.is_none() && value.is_none();
                    *own == place && (all || *condition == Some(*n))
                }
                _ => false,
            }
        }
    }
}
