//! A capture that is open: what all functions share.

use std::ffi::CString;
use std::sync::{Arc, OnceLock};

use tracewright::analysis::Code;
use tracewright::decode::{Options, Plan};
use tracewright::views::Source;
use tracewright::{Capture, Trace};

use crate::handle::Kind;
use crate::status::{Failure, TW_ERR_SOURCES};

/// A capture. Several threads may use it at once.
pub struct TwCapture(());

/// A capture with its memory and its sources. It never changes, so that threads share it.
pub(crate) struct Opened {
    pub(crate) trace: Trace,
    /// Name and protocol of each source.
    pub(crate) texts: Vec<(CString, CString)>,
    /// The names of the buffers.
    pub(crate) buffers: Vec<CString>,
    pub(crate) notes: Vec<CString>,
    left_out: Vec<String>,
    code: OnceLock<Code>,
}

/// What a handle of a capture refers to.
pub(crate) struct Shared(pub(crate) Arc<Opened>);

impl Kind for Shared {
    type Opaque = TwCapture;
    const NAME: &'static str = "capture";
}

/// Text without zeros inside.
pub(crate) fn text(text: &str) -> CString {
    let before = text.split('\0').next().unwrap_or_default();
    CString::new(before).unwrap_or_default()
}

impl Opened {
    pub(crate) fn new(capture: Capture, options: Options) -> Opened {
        let trace = Trace::decoded_with(capture, options);
        let (capture, sources, plans) = (trace.capture(), trace.sources(), trace.plans());
        let left_out: Vec<String> =
            trace.left_out().into_iter().map(|skipped| skipped.message).collect();
        let notes = capture.notes.iter().map(|note| text(&note.to_string()));
        let notes = notes.chain(trace.memory().problems.iter().map(|problem| text(problem)));
        let notes = notes.chain(plans.iter().flat_map(Plan::notes).map(|note| text(&note)));
        let notes = notes.chain(left_out.iter().map(|message| text(message))).collect();
        let texts = sources.iter().map(|source| (text(&source.name), text(source.protocol())));
        let texts = texts.collect();
        let buffers = capture.buffers.iter().map(|buffer| text(&buffer.name)).collect();
        let code = OnceLock::new();
        Opened { trace, texts, buffers, notes, left_out, code }
    }

    /// The number of sources that cannot be decoded.
    pub(crate) fn left_out(&self) -> usize {
        self.left_out.len()
    }

    /// Checks that there is a source, and without `partial` that none is left out.
    pub(crate) fn decodable(&self, partial: bool) -> Result<(), Failure> {
        if !self.left_out.is_empty() && !partial {
            return Err(Failure::new(TW_ERR_SOURCES, self.left_out.join("; ")));
        }
        if self.trace.sources().is_empty() {
            return Err(Failure::new(TW_ERR_SOURCES, "no source can be decoded"));
        }
        Ok(())
    }

    /// The plans, each with the number of its first source.
    pub(crate) fn plans(&self) -> impl Iterator<Item = (&Plan, usize)> {
        self.trace.plans().iter().scan(0, |next, plan| {
            let first = *next;
            *next += plan.sources.len();
            Some((plan, first))
        })
    }

    /// The sources of `plan`, the first of which has the number `first`.
    pub(crate) fn sources_of(&self, plan: &Plan, first: usize) -> &[Source] {
        self.trace.sources().get(first..first + plan.sources.len()).unwrap_or_default()
    }

    /// The functions that `sources` execute.
    pub(crate) fn code(&self, sources: &[Source]) -> Code {
        let all = self.code.get_or_init(|| Code::of_capture(self.trace.capture()));
        all.with_programs(sources.iter().map(|source| source.program.clone()))
    }
}

#[cfg(test)]
mod tests {
    /// Threads share a capture.
    #[test]
    fn captures_are_shared() {
        fn shared<T: Send + Sync>() {}
        shared::<super::Shared>();
    }
}
