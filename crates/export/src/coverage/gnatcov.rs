//! Execution traces of GNATcoverage, which derives coverage of the source from them.
//!
//! Each block that was executed, once for each outcome of the branch that ends it.

use tracewright_analysis::coverage::{ProgramCoverage, ProgramFile};
use tracewright_capture::gnatcov::{Block, ExecutionTrace, crc32};

use super::CoverageView;

/// The program that was executed: the only one that the format has.
fn program<'a>(view: &CoverageView<'a>) -> Option<(&'a ProgramFile, ProgramCoverage)> {
    let mut own = view.programs.iter().filter(|(_, covered)| !covered.executions.is_empty());
    let (file, covered) = own.next()?;
    let mut sum = covered.clone();
    own.for_each(|(_, covered)| sum.merge(covered));
    Some((file, sum))
}

/// The trace, but for executions in their order. All captures are of one program.
pub fn flat(view: &CoverageView<'_>) -> ExecutionTrace {
    let Some((file, covered)) = program(view) else { return ExecutionTrace::default() };
    let bytes = file.bytes.head(usize::MAX);
    let mut blocks = Vec::new();
    for (start, (size, _)) in &covered.ranges {
        add(&mut blocks, &covered, (*start, start.saturating_add(u64::from(*size))));
    }
    ExecutionTrace {
        program: Some(file.path.clone()),
        size: Some(bytes.len() as u64),
        crc: Some(crc32(&bytes)),
        machine: file.machine,
        wide: bytes.get(4) == Some(&2),
        blocks,
        ..ExecutionTrace::default()
    }
}

/// Adds the executed range from `start` to `end`: in parts of whole instructions, where its size
/// has more than 16 bits.
fn add(blocks: &mut Vec<Block>, covered: &ProgramCoverage, (mut start, end): (u64, u64)) {
    let most = u64::from(u16::MAX);
    let block = |start: u64, end: u64| Block {
        address: start,
        size: (end - start) as u16,
        ..Block::default()
    };
    while end.saturating_sub(start) > most {
        let next = covered.executions.range(start + 1..=start + most).next_back();
        let next = next.map_or(start + most, |(address, _)| *address);
        blocks.push(block(start, next));
        start = next;
    }
    if start >= end {
        return;
    }
    let last = covered.executions.range(start..end).next_back();
    let outcomes = last.and_then(|(address, _)| covered.branches.get(address));
    let [taken, not_taken] = outcomes.copied().unwrap_or_default().map(|count| count > 0);
    let own = block(start, end);
    if taken {
        blocks.push(Block { taken, ..own });
    }
    if not_taken {
        blocks.push(Block { not_taken, ..own });
    }
    if !taken && !not_taken {
        blocks.push(own);
    }
}
