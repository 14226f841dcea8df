//! Whether a file holds the trace of an ITM, by the detection of `tracewright info`.

use std::path::Path;
use std::slice;

use tracewright::capture::{Capture, OpenError, Problem, Raw, Selection};
use tracewright::decode::detect::{
    Candidate, Certainty, Detection, Given, HEAD, SourceCandidate, reception, recognised,
};
use tracewright::protocols::registry::AnyProtocol;

use crate::fail::Fail;

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

/// Fails where the part `selection` of the file at `path` is text or a program, or the trace of
/// other units only. Returns how its bytes were received, where that is not as they were sent.
pub fn check(path: &Path, selection: Selection) -> Result<Option<String>, Fail> {
    if !path.is_file() {
        return Ok(None);
    }
    let raw = Raw { selection, ..Raw::default() };
    let capture = Capture::raw(slice::from_ref(&path.to_owned()), &raw)?;
    let head = capture.buffers.first().map(|buffer| buffer.head(HEAD)).unwrap_or_default();
    if let Some(problem) = recognised(&head) {
        return Err(OpenError::new(path, problem).into());
    }
    let detection = Detection::of(&head, &Capture::default(), &Given::default());
    if let Some(found) = reception(&head, detection.best()) {
        return Ok(Some(found.to_string()));
    }
    let Some(best) = detection.best() else { return Ok(None) };
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
        return Ok(None);
    }
    let notes = capture.notes.iter().map(|note| format!("; {}", note.problem)).collect::<String>();
    let what = format!(
        "it has no ITM; detected: {}; `tracewright decode` reads it; --framing and --id decode it as \
         an ITM{notes}",
        best.summary()
    );
    Err(OpenError::new(path, Problem::Parameter(what)).into())
}
