//! A capture that is open: what all functions share.

use std::ffi::CString;
use std::sync::{Arc, OnceLock};

use tracewright::analysis::Code;
use tracewright::decode::plan::Why;
use tracewright::decode::{Memory, Options, Plan};
use tracewright::index::Subject;
use tracewright::views::Source;
use tracewright::Capture;

use crate::handle::Kind;
use crate::status::{Failure, TW_ERR_SOURCES};

/// A capture. Several threads may use it at once.
pub struct TwCapture(());

/// A capture with its memory and its sources. It never changes, so that threads share it.
pub(crate) struct Opened {
    pub(crate) capture: Capture,
    pub(crate) memory: Memory,
    pub(crate) options: Options,
    pub(crate) plans: Vec<Plan>,
    /// The sources of all plans, in their order: their numbers are those of the client.
    pub(crate) sources: Vec<Source>,
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
    const KIND: u64 = 0x7477_5f63_a21f_9d01;
    const NAME: &'static str = "capture";
}

/// Text without zeros inside.
pub(crate) fn text(text: &str) -> CString {
    let before = text.split('\0').next().unwrap_or_default();
    CString::new(before).unwrap_or_default()
}

impl Opened {
    pub(crate) fn new(capture: Capture, options: Options) -> Opened {
        let memory = Memory::new(&capture);
        let buffers = 0..capture.buffers.len();
        let plans: Vec<Plan> =
            buffers.filter_map(|buffer| Plan::new(&capture, buffer, &options)).collect();
        let sources: Vec<Source> =
            plans.iter().flat_map(|plan| Source::all(&capture, plan, &memory)).collect();
        let skipped = plans.iter().flat_map(|plan| &plan.skipped);
        let left_out: Vec<String> = skipped
            .filter(|skipped| !matches!(skipped.why, Why::NotChosen(_)))
            .map(|skipped| skipped.message.clone())
            .collect();
        let notes = capture.notes.iter().map(|note| text(&note.to_string()));
        let notes = notes.chain(memory.problems.iter().map(|problem| text(problem)));
        let notes = notes.chain(plans.iter().flat_map(Plan::notes).map(|note| text(&note)));
        let notes = notes.chain(left_out.iter().map(|message| text(message))).collect();
        let texts = sources.iter().map(|source| (text(&source.name), text(source.protocol())));
        let texts = texts.collect();
        let buffers = capture.buffers.iter().map(|buffer| text(&buffer.name)).collect();
        let code = OnceLock::new();
        Opened { capture, memory, options, plans, sources, texts, buffers, notes, left_out, code }
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
        if self.sources.is_empty() {
            return Err(Failure::new(TW_ERR_SOURCES, "no source can be decoded"));
        }
        Ok(())
    }

    /// The plans, each with the number of its first source.
    pub(crate) fn plans(&self) -> impl Iterator<Item = (&Plan, usize)> {
        self.plans.iter().scan(0, |next, plan| {
            let first = *next;
            *next += plan.sources.len();
            Some((plan, first))
        })
    }

    /// What an index of the capture is made of.
    pub(crate) fn subject(&self) -> Subject<'_> {
        Subject { capture: &self.capture, memory: &self.memory, options: &self.options }
    }

    /// The sources of `plan`, the first of which has the number `first`.
    pub(crate) fn sources_of(&self, plan: &Plan, first: usize) -> &[Source] {
        self.sources.get(first..first + plan.sources.len()).unwrap_or_default()
    }

    /// The functions that `sources` execute.
    pub(crate) fn code(&self, sources: &[Source]) -> Code {
        let all = self.code.get_or_init(|| Code::of_capture(&self.capture));
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
