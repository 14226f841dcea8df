//! Separates the bytes of a buffer by source.

use tracewright_frames::{Event, ExternalLink, Framing, Split, Splitter};
use tracewright_protocols::Demux;

/// The state of the trace link: formatter frames with trace IDs, messages with source numbers, or
/// what a link of another crate has. A plain value.
#[derive(Clone, Debug, PartialEq)]
#[allow(clippy::large_enum_variant, reason = "the large variant is the usual one")]
pub enum Route {
    /// Framing with trace IDs.
    Frames(Splitter),
    /// Messages of RISC-V harts with source numbers.
    Messages(Box<Demux>),
    /// A link of another crate.
    External(ExternalLink),
}

impl Route {
    /// Splits all of `bytes`, which start at offset `at` of the buffer.
    pub fn split<S: Split>(&mut self, at: u64, bytes: &[u8], out: &mut S) {
        match self {
            Route::Frames(splitter) => splitter.split(at, bytes, out),
            Route::Messages(demux) => demux.split(at, bytes, out),
            Route::External(link) => link.split(at, bytes, out),
        }
    }

    /// The buffer ends before offset `at`, or bytes are missing there.
    pub fn finish<S: Split>(&mut self, at: u64, out: &mut S) {
        match self {
            Route::Frames(splitter) => splitter.finish(out),
            Route::Messages(demux) => demux.finish(at, out),
            Route::External(link) => link.finish(at, out),
        }
    }

    /// Follows the state of the link through all of `bytes` without output.
    pub fn skip(&mut self, at: u64, bytes: &[u8]) {
        match self {
            // Without framing there is no state.
            Route::Frames(splitter) if splitter.link().framing == Framing::Raw => {}
            Route::Frames(splitter) => splitter.skip(at, bytes),
            Route::Messages(demux) => demux.skip(at, bytes),
            Route::External(link) => link.split(at, bytes, &mut Nothing),
        }
    }

    /// The same link in its initial state.
    #[must_use]
    pub fn fresh(&self) -> Route {
        match self {
            Route::Frames(splitter) => Route::Frames(Splitter::new(splitter.link())),
            Route::Messages(demux) => Route::Messages(Box::new(demux.fresh())),
            Route::External(link) => Route::External(link.fresh()),
        }
    }

    /// Whether undecodable bytes of the link are reported to all sources. A message is a whole
    /// packet: a decoder would not notice that one is missing. What is missing from frames are
    /// parts of packets, and a source is not interrupted because of the bytes of another one.
    pub(crate) const fn loses_all(&self) -> bool {
        matches!(self, Route::Messages(_))
    }
}

/// Ignores the output of a link.
struct Nothing;

impl Split for Nothing {
    fn piece(&mut self, _: u16, _: u64, _: bool, _: &[u8]) {}

    fn event(&mut self, _: u64, _: Event) {}
}
