//! From the bytes of a buffer to those of each source.

use tracewright_frames::{Framing, Split, Splitter};
use tracewright_protocols::etrace::Demux;

/// Takes a buffer apart: frames by trace ids, or messages by their sources' numbers. A plain value.
#[derive(Clone, Debug, PartialEq)]
#[allow(clippy::large_enum_variant, reason = "the large one is the usual one")]
pub enum Route {
    /// The framing of a link.
    Frames(Splitter),
    /// Messages of RISC-V harts.
    Messages(Box<Demux>),
}

impl Route {
    /// Takes all of `bytes`, which are in the buffer from `at` on.
    pub fn split<S: Split>(&mut self, at: u64, bytes: &[u8], out: &mut S) {
        match self {
            Route::Frames(splitter) => splitter.split(at, bytes, out),
            Route::Messages(demux) => demux.split(at, bytes, out),
        }
    }

    /// The buffer ends before place `at`, or some of it is missing there.
    pub fn finish<S: Split>(&mut self, at: u64, out: &mut S) {
        match self {
            Route::Frames(splitter) => splitter.finish(out),
            Route::Messages(demux) => demux.finish(at, out),
        }
    }

    /// Goes past all of `bytes` and says nothing.
    pub fn skip(&mut self, at: u64, bytes: &[u8]) {
        match self {
            // Without framing it is nowhere.
            Route::Frames(splitter) if splitter.link().framing == Framing::Raw => {}
            Route::Frames(splitter) => splitter.skip(at, bytes),
            Route::Messages(demux) => demux.skip(at, bytes),
        }
    }

    /// The same, not knowing what came before.
    #[must_use]
    pub fn fresh(&self) -> Route {
        match self {
            Route::Frames(splitter) => Route::Frames(Splitter::new(splitter.link())),
            Route::Messages(demux) => Route::Messages(Box::new(demux.fresh())),
        }
    }

    /// Where bytes are missing, any source may have lost some.
    pub(crate) const fn loses_all(&self) -> bool {
        matches!(self, Route::Messages(_))
    }
}
