//! Which text an exemption is valid for.

use crate::coverage::SourceFile;
use crate::coverage_runs::{Digest, Digester};

use super::error::ExemptionError;
use super::exemption::{Exemption, Target};

/// The lines of a source file, from `first` to `last`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Scope {
    pub(super) first: u32,
    pub(super) last: u32,
}

impl Scope {
    /// The lines whose text an exemption is valid for: those of its function, of its decision or
    /// its lines, or else of the file. `None` where the file has no such function.
    pub(super) fn of(
        exemption: &Exemption,
        source: &SourceFile,
        lines: u32,
    ) -> Result<Option<Scope>, ExemptionError> {
        let Some(name) = &exemption.function else {
            let (first, last) = match &exemption.target {
                Target::All => (1, lines),
                Target::Lines(ranges) => {
                    let first = ranges.iter().map(|range| range.0).min();
                    let last = ranges.iter().map(|range| range.1).max();
                    (first.unwrap_or(1), last.unwrap_or(lines))
                }
                Target::Decision { place, .. } => {
                    let known = source.decisions.iter().map(|own| own.decision.region);
                    let known = known.into_iter().find(|region| region.start == *place);
                    (place.0, known.map_or(place.0, |region| region.end.0))
                }
            };
            return match first >= 1 && last <= lines {
                true => Ok(Some(Scope { first, last })),
                false => Err(ExemptionError::Outside(last, lines)),
            };
        };
        let mut found = None;
        for own in &source.functions {
            if own.name != *name && own.symbol != *name {
                continue;
            }
            // A file of runs may have any lines.
            let scope = Scope { first: own.lines.0.max(1), last: own.lines.1.max(1) };
            match found {
                Some(other) if other != scope => {
                    return Err(ExemptionError::Several(name.clone()));
                }
                _ => found = Some(scope),
            }
        }
        let Some(scope) = found else { return Ok(None) };
        let size = (scope.last - scope.first.min(scope.last)).saturating_add(1);
        let last = match &exemption.target {
            Target::All => 1,
            Target::Lines(ranges) => ranges.iter().map(|range| range.1).max().unwrap_or(1),
            Target::Decision { place, .. } => place.0,
        };
        match last <= size && scope.last <= lines {
            true => Ok(Some(scope)),
            false => Err(ExemptionError::Outside(last, size)),
        }
    }

    /// The line in the file of one that is counted from the first one of the function, if one is
    /// named.
    pub(super) fn line(self, exemption: &Exemption, line: u32) -> u32 {
        match exemption.function {
            Some(_) => line.saturating_add(self.first - 1),
            None => line,
        }
    }

    /// The digest of these lines of a text: of each, its bytes without the end of the line, and a
    /// line feed.
    pub(super) fn digest(self, text: &str) -> Digest {
        let mut digester = Digester::default();
        let count = (self.last - self.first.min(self.last)) as usize + 1;
        for line in text.lines().skip(self.first as usize - 1).take(count) {
            digester.add(line.as_bytes());
            digester.add(b"\n");
        }
        digester.finish()
    }
}
