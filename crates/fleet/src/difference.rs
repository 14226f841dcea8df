//! What differs between parts of different plans.

use std::sync::Arc;

use tracewright::analysis::coverage_runs::Digest;

use crate::capture::{CaptureIdentity, Extent};
use crate::captures::Captures;
use crate::error::{FleetError, short};

/// Why the same data are divided in another way.
const OTHER_INDEX: &str = "an index was made, changed or left out between both";

/// What a part is of.
pub(crate) struct Origin<'a> {
    /// The captures of which it has units.
    pub(crate) captures: &'a Captures,
    /// The number of captures of the plan.
    pub(crate) total: usize,
    /// The digest of the plan.
    pub(crate) plan: Digest,
}

/// Fails where two parts of the same job are not of the same captures, programs and options.
pub(crate) fn check(one: &Origin<'_>, other: &Origin<'_>) -> Result<(), FleetError> {
    let mut all = Vec::new();
    for its in other.captures.iter() {
        if let Some(own) = one.captures.get(&its.data) {
            of_decoder(&own, &its, &format!(" of capture {}", short(&its.data)), &mut all);
        }
    }
    if one.total != other.total {
        all.push(format!("the number of captures: {} and {}", one.total, other.total));
    } else if one.total == 1
        && let Some(own) = one.captures.iter().next()
        && let Some(its) = other.captures.iter().next()
        && own.data != its.data
    {
        all = of_captures(&own, &its);
    }
    if all.is_empty() && one.plan != other.plan {
        let [own, its] = [one, other].map(|part| short(&part.plan));
        let is_empty = one.captures.is_empty() || other.captures.is_empty();
        let why = match is_empty {
            true => "one of them has no unit, and so not what it is of",
            false => "they are of different sets of captures, programs or options",
        };
        all.push(format!("the digest of the plan ({own} and {its}): {why}"));
    }
    if all.is_empty() { Ok(()) } else { Err(FleetError::Plan(all)) }
}

/// What differs between two captures.
pub(crate) fn of_captures(own: &CaptureIdentity, its: &CaptureIdentity) -> Vec<String> {
    let mut all = Vec::new();
    if own.data != its.data {
        of_data(own, its, &mut all);
    }
    of_decoder(own, its, "", &mut all);
    all
}

/// Programs, registers and options.
fn of_decoder(own: &CaptureIdentity, its: &CaptureIdentity, of: &str, all: &mut Vec<String>) {
    for (what, own, its) in [
        ("the program", own.programs, its.programs),
        ("the registers or options of the decoder", own.options, its.options),
    ] {
        if own != its {
            all.push(format!("{what}{of} (digests {} and {})", short(&own), short(&its)));
        }
    }
    if own.data == its.data && own.buffers != its.buffers {
        all.push(division(own, its).unwrap_or_else(|| format!("the buffers{of}")));
    }
}

/// Two captures of which the digests of data differ. Where there is an index, it is part of the
/// digest.
fn of_data(own: &CaptureIdentity, its: &CaptureIdentity, all: &mut Vec<String>) {
    let names = |own: &CaptureIdentity| -> Vec<(usize, Arc<str>)> {
        own.buffers.iter().map(|own| (own.number, Arc::clone(&own.name))).collect()
    };
    let text = |own: &CaptureIdentity| {
        let names: Vec<&str> = own.buffers.iter().map(|own| &*own.name).collect();
        names.join(", ")
    };
    if names(own) != names(its) {
        return all.push(format!("the buffers: {}, and {}", text(own), text(its)));
    }
    let mut pairs = own.buffers.iter().zip(&its.buffers);
    if let Some((own, its)) = pairs.find(|(own, its)| own.bytes != its.bytes) {
        let Extent { name, bytes, .. } = own;
        return all.push(format!("the trace: {bytes} and {} bytes of buffer {name}", its.bytes));
    }
    all.push(division(own, its).unwrap_or_else(|| {
        let [own, its] = [own, its].map(|own| short(&own.data));
        format!("the bytes of the trace, or the segments of its index (digests {own} and {its})")
    }));
}

/// The first buffer with another number of segments.
fn division(own: &CaptureIdentity, its: &CaptureIdentity) -> Option<String> {
    let segments = |own: &Extent| match own.segments {
        1 => "not divided".to_owned(),
        count => format!("divided in {count} segments"),
    };
    let mut pairs = own.buffers.iter().zip(&its.buffers);
    let (own, its) = pairs.find(|(own, its)| own.segments != its.segments)?;
    let (name, one, other) = (&own.name, segments(own), segments(its));
    Some(format!("the index: buffer {name} is {one}, and {other}; {OTHER_INDEX}"))
}
