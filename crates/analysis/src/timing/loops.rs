//! How often loops turn in some calls.

use std::collections::BTreeMap;

use tracewright_base::{Element, Kind, Role};
use tracewright_decode::Listener;

use super::worst::Activated;

/// A branch to an instruction before it, and to it, of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Loop {
    /// The source.
    pub source: usize,
    /// The address of the branch.
    pub branch: u64,
    /// The address of its target.
    pub target: u64,
}

/// Where a source executes.
#[derive(Clone, Copy, Debug, Default)]
struct Here {
    instructions: u64,
    /// The branch that was taken last, if nothing was executed since.
    branch: Option<u64>,
}

/// Counts how often backward branches are taken in some calls.
#[derive(Debug)]
pub struct Turns {
    calls: Vec<Activated>,
    sources: Vec<Here>,
    counts: BTreeMap<Loop, Vec<u64>>,
}

impl Turns {
    /// In these calls.
    pub fn new(calls: Vec<Activated>) -> Turns {
        Turns { calls, sources: Vec::new(), counts: BTreeMap::new() }
    }

    /// The loops, and how often each turns in each call.
    pub fn counts(&self) -> &BTreeMap<Loop, Vec<u64>> {
        &self.counts
    }

    fn turn(&mut self, own: Loop, instructions: u64) {
        for (n, call) in self.calls.iter().enumerate() {
            let span = call.place.instructions..call.end;
            if call.place.source == own.source && span.contains(&instructions) {
                let counts = self.counts.entry(own).or_insert_with(|| vec![0; self.calls.len()]);
                if let Some(count) = counts.get_mut(n) {
                    *count += 1;
                }
            }
        }
    }
}

impl Listener for Turns {
    fn element(&mut self, source: usize, _: u64, element: Element) {
        if source >= self.sources.len() {
            self.sources.resize(source + 1, Here::default());
        }
        let Some(here) = self.sources.get_mut(source) else { return };
        match element {
            Element::Range(range) => {
                let (before, branch) = (here.instructions, here.branch.take());
                here.instructions += u64::from(range.instructions);
                let last = range.last;
                let jumps = matches!(last.role, Role::Jump | Role::Loop | Role::Compare);
                if range.taken() && last.kind == Kind::Branch && jumps {
                    here.branch = Some(range.last_address());
                }
                if let Some(branch) = branch.filter(|branch| range.start <= *branch) {
                    self.turn(Loop { source, branch, target: range.start }, before);
                }
            }
            Element::Timestamp { .. } | Element::Cycles(_) | Element::Events(_) => {}
            _ => here.branch = None,
        }
    }

    fn full(&self) -> bool {
        self.calls.iter().all(|call| {
            let here = self.sources.get(call.place.source);
            here.is_some_and(|here| here.instructions > call.end)
        })
    }
}
