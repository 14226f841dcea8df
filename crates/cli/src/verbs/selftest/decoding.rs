//! The elements of traces.

use tracewright::Trace;
use tracewright::capture::{Buffer, Capture, Format};
use tracewright::views::text::{Listing, Shown};

use super::found::Found;
use super::suite::trace;
use crate::demo::QUEENS;

/// The offset in the trace of the example at which bytes are damaged, and how many.
const DAMAGED: (usize, usize) = (640, 16);

/// The elements of a trace, as `decode` lists them.
fn listing(trace: &Trace) -> Found {
    let mut text = Vec::new();
    let size = trace.capture().buffers.first().map(Buffer::len);
    let shown = Shown { elements: true, ..Shown::default() };
    let mut listing = Listing::new(&mut text, trace.sources().to_vec(), size, shown);
    let _ = trace.decode(&mut listing).map_err(|error| error.to_string())?;
    listing.finish().map_err(|error| error.to_string())?;
    String::from_utf8(text).map_err(|error| error.to_string())
}

/// The elements of the capture in this folder.
pub(super) fn elements(folder: &str) -> Found {
    listing(&trace(folder)?)
}

/// The elements of the example's trace in which bytes are damaged: they must be reported, and what
/// is in the frames before them must be as without the damage.
pub(super) fn damage() -> Found {
    let whole = (QUEENS.capture)();
    let buffer = whole.buffers.first().ok_or("the example has no trace")?;
    let mut bytes: Vec<u8> = buffer.parts().flatten().copied().collect();
    let (from, size) = DAMAGED;
    let part = bytes.get_mut(from..from + size).ok_or("the trace is too short")?;
    part.iter_mut().for_each(|byte| *byte ^= 0x5a);
    let buffers = vec![Buffer::new("ETB", Format::CoreSight, bytes)];
    let damaged = Capture { buffers, ..whole.clone() };
    let (whole, damaged) = (listing(&Trace::new(whole))?, listing(&Trace::new(damaged))?);
    let offset = |line: &str| line.split_whitespace().next().and_then(|own| own.parse().ok());
    let before = |text: &str| -> Vec<String> {
        let own = text.lines().take_while(|line| offset(line).is_none_or(|at: usize| at < from));
        own.map(str::to_owned).collect()
    };
    if before(&whole) != before(&damaged) {
        return Err("the damage changes elements before it".to_owned());
    }
    let reported = ["undecodable", "inconsistency", "gap"];
    let is_reported = |line: &str| {
        offset(line).is_some_and(|at| at >= from)
            && line.split_whitespace().nth(2).is_some_and(|kind| reported.contains(&kind))
    };
    match damaged.lines().any(is_reported) {
        true => Ok(damaged),
        false => Err("the damage is not reported".to_owned()),
    }
}
