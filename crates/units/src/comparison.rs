//! What a capture traced, compared with what the filters of its unit require.

use std::fmt;

use crate::verdict::Requirement;

/// The first difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The instruction of the execution; `None` at its end.
    pub executed: Option<u64>,
    /// The next instruction of the capture; `None` at its end.
    pub captured: Option<u64>,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.executed, self.captured) {
            (Some(executed), Some(captured)) => {
                write!(f, "{executed:#x} must be traced, and the capture has {captured:#x}")
            }
            (Some(executed), None) => {
                write!(f, "{executed:#x} must be traced, and the capture ends before it")
            }
            (None, Some(captured)) => {
                write!(
                    f,
                    "the capture has {captured:#x}, which was not executed or must not be traced"
                )
            }
            (None, None) => f.write_str("no difference"),
        }
    }
}

/// A comparison in progress. An instruction that may be traced is taken to be traced where the
/// capture has its address next.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// Traced ranges, the last first: first address, and the address after the last.
    ranges: Vec<(u64, u64)>,
    first: Option<Difference>,
}

impl Comparison {
    /// A comparison with a capture that traced `ranges`, in the order of execution: first address,
    /// and the address after the last.
    pub fn new(mut ranges: Vec<(u64, u64)>) -> Comparison {
        ranges.retain(|(start, end)| start < end);
        ranges.reverse();
        Comparison { ranges, first: None }
    }

    /// The next executed instruction, with its size in bytes and what is required of it.
    pub fn instruction(&mut self, address: u64, size: u8, requirement: Requirement) {
        if self.first.is_some() || requirement == Requirement::MustNot {
            return;
        }
        let captured = self.ranges.last().map(|(start, _)| *start);
        if captured == Some(address) {
            self.advance(size);
        } else if requirement == Requirement::Must {
            self.first = Some(Difference { executed: Some(address), captured });
        }
    }

    fn advance(&mut self, size: u8) {
        let Some((start, end)) = self.ranges.last_mut() else { return };
        *start = start.saturating_add(u64::from(size.max(1)));
        if start >= end {
            self.ranges.pop();
        }
    }

    /// The first difference, at the end of the execution.
    pub fn finish(self) -> Option<Difference> {
        let captured = self.ranges.last().map(|(start, _)| *start);
        let rest = captured.map(|_| Difference { executed: None, captured });
        self.first.or(rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Requirement::{May, Must, MustNot};

    #[test]
    fn differences() {
        let run = [(0x10, Must), (0x14, May), (0x18, MustNot), (0x1c, Must)];
        let none = None;
        for (ranges, want) in [
            (vec![(0x10, 0x18), (0x1c, 0x20)], none),
            (vec![(0x10, 0x14), (0x1c, 0x20)], none),
            (vec![(0x10, 0x20)], Some(Difference { executed: Some(0x1c), captured: Some(0x18) })),
            (vec![(0x10, 0x14)], Some(Difference { executed: Some(0x1c), captured: None })),
            (
                vec![(0x10, 0x14), (0x1c, 0x24)],
                Some(Difference { executed: None, captured: Some(0x20) }),
            ),
            (vec![], Some(Difference { executed: Some(0x10), captured: None })),
        ] {
            let mut comparison = Comparison::new(ranges.clone());
            for (address, requirement) in run {
                comparison.instruction(address, 4, requirement);
            }
            assert_eq!(comparison.finish(), want, "{ranges:x?}");
        }
    }
}
