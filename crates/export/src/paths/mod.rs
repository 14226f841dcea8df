//! Call paths in the formats of profilers.
//!
//! | file | format |
//! |---|---|
//! | `folded.rs` | folded stacks |
//! | `flame_graph.rs` | flame graph, SVG |
//! | `callgrind.rs` | callgrind, with calls |
//! | `pprof.rs` | pprof, with call stacks |

mod callgrind;
pub(crate) mod flame_graph;
mod folded;
mod pprof;

use tracewright_analysis::functions::inclusive;
use tracewright_analysis::{Code, PathId, Paths};

use crate::pieces::Pieces;

/// A format of call paths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PathFormat {
    /// Folded stacks.
    Folded,
    /// Flame graph, SVG.
    FlameGraph,
    /// callgrind.
    Callgrind,
    /// pprof.
    Pprof,
}

/// Call paths of one buffer.
#[derive(Clone, Copy, Debug)]
pub struct PathView<'a> {
    /// The paths.
    pub paths: &'a Paths,
    /// Their functions.
    pub code: &'a Code,
    /// The names of the threads, by number.
    pub threads: &'a [String],
}

impl PathFormat {
    /// Writes the file. `write` receives one piece after another, and returns whether more are
    /// needed.
    pub fn write(self, view: &PathView<'_>, write: &mut dyn FnMut(Vec<u8>) -> bool) {
        let mut out = Pieces::new(write);
        match self {
            PathFormat::Folded => folded::write(view, &mut out),
            PathFormat::FlameGraph => flame_graph::write(view, &mut out),
            PathFormat::Callgrind => callgrind::write(view, &mut out),
            PathFormat::Pprof => pprof::write(view, &mut out),
        }
        out.finish();
    }
}

impl PathView<'_> {
    /// The paths in order, with their depth and their name: of a thread where they have no caller.
    fn named(&self) -> impl Iterator<Item = (PathId, usize, String)> {
        self.paths.in_order().into_iter().filter_map(|(number, depth)| {
            let path = self.paths.paths().get(number as usize)?;
            let name = match path.parent {
                Some(_) => self.code.name(path.function).into_owned(),
                None => {
                    let thread = self.paths.threads().iter().position(|t| t.root == number);
                    thread.and_then(|n| self.threads.get(n)).cloned().unwrap_or_default()
                }
            };
            Some((number, depth, name))
        })
    }

    /// Instructions of each path with what it calls.
    fn inclusive(&self) -> Vec<u64> {
        inclusive(self.paths).into_iter().map(|[instructions, ..]| instructions).collect()
    }
}
