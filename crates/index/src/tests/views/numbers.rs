//! The numbers of functions and threads, which are counted over all sources.

use tracewright_analysis::Transfer;
use tracewright_analysis::stacks::{FunctionId, Part};

use super::{Event, Frame, Record, What};
use crate::view::Names;

/// The transfers of a tile, those of one source after those of another.
pub(super) fn by_source(part: &Part) -> Vec<Transfer> {
    let mut all: Vec<Transfer> = part.transfers().collect();
    all.sort_by_key(|transfer| transfer.source);
    all
}

/// The numbers in a view of functions, and of threads, of each of which the source is given.
fn in_view(functions: &[FunctionId], threads: &[usize], names: &Names) -> (Vec<u32>, Vec<u32>) {
    let of = |id: &FunctionId| names.functions().iter().position(|own| own == id);
    let functions = functions.iter().map(|id| of(id).expect("a function") as u32);
    let numbers = threads.iter().enumerate().map(|(n, source)| {
        let before = threads[..n].iter().filter(|own| *own == source).count();
        names.threads_of(*source).nth(before).expect("a thread")
    });
    (functions.collect(), numbers.collect())
}

impl Record {
    /// Functions and threads get the numbers that they have in a view: those of several sources are
    /// numbered in another order where the trace is cut elsewhere.
    pub(super) fn renumber(&mut self, names: &Names) {
        let (functions, threads) = in_view(&self.functions, &self.threads, names);
        for Frame { frame, .. } in &mut self.frames {
            frame.function = functions[frame.function as usize];
            frame.thread = threads[frame.thread as usize];
        }
        for Event { what, .. } in &mut self.events {
            match what {
                What::Run { stack, .. } => {
                    stack.iter_mut().for_each(|own| own.1 = functions[own.1 as usize]);
                }
                What::Begin { function, .. } | What::End { function, .. } => {
                    *function = functions[*function as usize];
                }
            }
        }
    }
}
