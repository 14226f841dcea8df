//! Whether a file holds the trace of an ITM, by the detection of `tracewright info`.

use std::path::Path;
use std::slice;

use tracewright::capture::{Capture, OpenError, Problem, Raw, Selection};
use tracewright::decode::detect::complete::{order, swap_note};
use tracewright::decode::detect::{
    Candidate, Certainty, Detection, Given, HEAD, SourceCandidate, possible_rate, reception,
    recognised,
};
use tracewright::protocols::registry::AnyProtocol;

use crate::fail::Fail;
use crate::message;

/// Fewer bytes than these, which are possibly others, may be packets of an ITM.
const FEW: usize = 512;

/// Synchronisations of messages that bytes of an ITM do not have by accident.
const SYNCS: u64 = 8;

/// Whether all bytes of a source are messages with an end mark of their own, and many of them are
/// synchronisations, so that few bytes are evidence.
fn is_synchronised(source: &SourceCandidate) -> bool {
    source.best().is_some_and(|best| {
        best.protocol == AnyProtocol::Ntrace && best.read == 1000 && best.counts.syncs >= SYNCS
    })
}

/// What a file shows.
#[derive(Clone, Debug, Default)]
pub struct Checked {
    /// The part of the file, with the order of its bytes.
    pub selection: Selection,
    /// How its bytes were received, where that is not as they were sent, or that they are no trace.
    pub unexplained: Option<String>,
    /// No source is likely: that the bytes are frames may be an accident.
    pub unlikely: bool,
    /// Nothing is likely, also of few bytes.
    pub is_open: bool,
}

/// Fails where the part `selection` of the file at `path` is text or a program, or the trace of
/// other units only. Prints the order of its bytes, where that is not the one of memory.
pub fn check(path: &Path, selection: Selection) -> Result<Checked, Fail> {
    let mut checked = Checked { selection, ..Checked::default() };
    if !path.is_file() {
        return Ok(checked);
    }
    let raw = Raw { selection, ..Raw::default() };
    let capture = Capture::raw(slice::from_ref(&path.to_owned()), &raw)?;
    let head = capture.buffers.first().map(|buffer| buffer.head(HEAD)).unwrap_or_default();
    let mut head = head.into_owned();
    if let Some(problem) = recognised(&head) {
        return Err(OpenError::new(path, problem).into());
    }
    if selection.swap.is_none()
        && let Some(swap) = order(&head)
    {
        message::line(&format!("note: {}: {}", path.display(), swap_note(swap)));
        checked.selection.swap = Some(swap);
        head = swap.apply(&head);
    }
    let detection = Detection::of(&head, &Capture::default(), &Given::default());
    if let Some(found) = reception(&head, detection.best()) {
        checked.unexplained = Some(found.to_string());
        return Ok(checked);
    }
    let many = detection.looked >= FEW;
    checked.is_open = detection.best().is_none_or(|best| !best.is_sure());
    let Some(best) = detection.best() else {
        let what = || {
            format!(
                "no framing and protocol explains its first {} bytes as trace: the events may be an \
                 accident; if it is a serial wire (SWO), check its bit rate and the core clock; \
                 --framing and --id select",
                detection.looked
            )
        };
        checked.unexplained = many.then(what);
        return Ok(checked);
    };
    if let Some(rate) = possible_rate(&head, best) {
        message::line(&format!("note: {}: {rate}", path.display()));
    }
    checked.unlikely = many && !best.is_sure();
    let is_itm = |protocol| matches!(protocol, AnyProtocol::Itm | AnyProtocol::Stm);
    let has_itm = |candidate: &Candidate| {
        candidate.sources.iter().any(|source| {
            let found = source.best().filter(|_| source.certainty() >= Certainty::Possible);
            found.is_some_and(|best| is_itm(best.protocol))
        })
    };
    // The records of a port may be packets of an ITM as well.
    let has_port = |candidate: &Candidate| {
        let mut best = candidate.sources.iter().filter_map(SourceCandidate::best);
        best.any(|best| best.protocol.has_own_port())
    };
    let may_be_itm = match best.is_sure() || best.sources.iter().any(is_synchronised) {
        true => has_itm(best),
        false if detection.looked < FEW || has_port(best) => true,
        false => detection.candidates.iter().any(has_itm),
    };
    if may_be_itm {
        return Ok(checked);
    }
    let notes = capture.notes.iter().map(|note| format!("; {}", note.problem)).collect::<String>();
    let what = format!(
        "it has no ITM; detected: {}; `tracewright decode` reads it; --framing and --id decode it as \
         an ITM{notes}",
        best.summary()
    );
    Err(OpenError::new(path, Problem::Parameter(what)).into())
}
