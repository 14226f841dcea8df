//! The part of a buffer that a window selects.

use std::ops::Range;

use tracewright::index::query::{Condition, Query, Which};
use tracewright::index::{Answer, Window};

use super::ExportError;
use crate::answer::Problem;
use crate::served::Served;
use crate::work::Worker;

/// The first buffer in which something is inside the window: its number, and the offsets from the
/// first element that is inside to the last one. `None` where nothing is.
///
/// # Errors
/// Where the index is damaged, or the trace cannot be read.
pub fn part_of(
    served: &Served<'_>,
    window: &Window,
) -> Result<Option<(usize, Range<u64>)>, ExportError> {
    let mut conditions = Vec::new();
    conditions.extend(window.element.clone().map(Condition::Element));
    conditions.extend(window.instruction.clone().map(Condition::Instruction));
    conditions.extend(window.offset.clone().map(Condition::Offset));
    conditions.extend(window.time.clone().map(Condition::Time));
    if conditions.is_empty() {
        conditions.push(Condition::Any);
    }
    let mut worker = Worker::new(served);
    for (n, buffer) in served.buffers.iter().enumerate() {
        let finder = worker.finder(n)?;
        let mut offset_of = |which| -> Result<Option<u64>, Problem> {
            let conditions = conditions.clone();
            match finder.find(&Query { which, conditions, bound: None })? {
                Answer::Elements(found) => Ok(found.first().map(|found| found.at)),
                Answer::Count(_) => Ok(None),
            }
        };
        let (first, last) = (offset_of(Which::First)?, offset_of(Which::Last)?);
        let (Some(first), Some(last)) = (first, last) else { continue };
        let end = last.saturating_add(1).min(buffer.view.buffer().covered());
        return Ok(Some((buffer.number, first..end.max(first))));
    }
    Ok(None)
}
