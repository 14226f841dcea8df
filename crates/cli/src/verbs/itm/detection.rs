//! Whether a file holds the trace of an ITM, by the detection of `tracewright info`.

use std::path::Path;
use std::slice;

use tracewright::capture::{Capture, OpenError, Problem, Raw};
use tracewright::decode::detect::{Certainty, Detection, Given, HEAD, recognised};
use tracewright::protocols::registry::AnyProtocol;

use crate::fail::Fail;

/// Fails where the file at `path` is text or a program, or the trace of other units only.
pub fn check(path: &Path) -> Result<(), Fail> {
    if !path.is_file() {
        return Ok(());
    }
    let capture = Capture::raw(slice::from_ref(&path.to_owned()), &Raw::default())?;
    let head = capture.buffers.first().map(|buffer| buffer.head(HEAD)).unwrap_or_default();
    recognised(path, &head)?;
    let detection = Detection::of(&head, &Capture::default(), &Given::default());
    let Some(best) = detection.best().filter(|best| best.is_sure()) else { return Ok(()) };
    let is_itm = |protocol| matches!(protocol, AnyProtocol::Itm | AnyProtocol::Stm);
    let has_itm = best.sources.iter().any(|source| {
        let found = source.best().filter(|_| source.certainty() >= Certainty::Possible);
        found.is_some_and(|best| is_itm(best.protocol))
    });
    if has_itm {
        return Ok(());
    }
    let what = format!(
        "it has no ITM; detected: {}; `tracewright decode` reads it; --framing and --id decode it as \
         an ITM",
        best.summary()
    );
    Err(OpenError::new(path, Problem::Parameter(what)).into())
}
