//! Trace links of other crates.

use alloc::boxed::Box;
use core::any::Any;
use core::fmt::Debug;

use crate::FRAME;
use crate::split::{Event, Frame, Split};
use crate::splitter::Splitter;

/// The format of a trace link that is not in the list of [`Framing`](crate::Framing): what a probe
/// adds to the bytes of a formatter, or another one than that. It is a plain value, as
/// [`Splitter`] is: a clone is a checkpoint, and two equal ones split the same bytes in the same
/// way.
///
/// What comes before formatter frames has a [`Splitter`] for these, and passes on to it the bytes
/// that it has unpacked, with their offsets in the buffer, which need not be contiguous.
/// Where bytes are missing it calls [`Splitter::finish`], which reports the incomplete frame; what
/// it passes on next begins a frame, or in the framings of a trace port, is searched for one.
pub trait SplitLink: Clone + PartialEq + Debug + Send + Sync + 'static {
    /// Splits all of `bytes`, which start at offset `at` of the buffer. Each byte must become part
    /// of a piece or of an event of `out`, in this call or a later one: [`Event::Null`] for bytes
    /// that belong to the link, [`Event::Bad`] for those that are undecodable.
    ///
    /// The output must not depend on how the bytes are cut into calls. The first call may have any
    /// bytes of the buffer: decoding on several threads and with an index begins anywhere.
    fn split<S: Split>(&mut self, at: u64, bytes: &[u8], out: &mut S);

    /// The bytes end before offset `at`, or bytes are missing there: passes on what is incomplete,
    /// and returns to the initial state.
    fn finish<S: Split>(&mut self, at: u64, out: &mut S);
}

impl SplitLink for Splitter {
    fn split<S: Split>(&mut self, at: u64, bytes: &[u8], out: &mut S) {
        Splitter::split(self, at, bytes, out);
    }

    fn finish<S: Split>(&mut self, _at: u64, out: &mut S) {
        Splitter::finish(self, out);
    }
}

/// A [`SplitLink`] by name.
#[derive(Debug)]
pub struct ExternalLink {
    name: &'static str,
    initial: Box<dyn Object>,
    state: Box<dyn Object>,
}

impl ExternalLink {
    /// The link format `link`, in its initial state. Captures name it as `name`, in any case.
    pub fn new(name: &'static str, link: impl SplitLink) -> ExternalLink {
        ExternalLink { name, initial: Box::new(link.clone()), state: Box::new(link) }
    }

    /// The name.
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// The same in its initial state.
    #[must_use]
    pub fn fresh(&self) -> ExternalLink {
        let ExternalLink { name, initial, .. } = self;
        ExternalLink { name, initial: initial.copy(), state: initial.copy() }
    }

    /// See [`SplitLink::split`].
    pub fn split<S: Split>(&mut self, at: u64, bytes: &[u8], out: &mut S) {
        if S::FRAGMENTS {
            self.state.split_frames(at, bytes, &mut Dynamic(out));
        } else {
            self.state.split(at, bytes, &mut Dynamic(out));
        }
    }

    /// See [`SplitLink::finish`].
    pub fn finish<S: Split>(&mut self, at: u64, out: &mut S) {
        if S::FRAGMENTS {
            self.state.finish_frames(at, &mut Dynamic(out));
        } else {
            self.state.finish(at, &mut Dynamic(out));
        }
    }
}

impl Clone for ExternalLink {
    fn clone(&self) -> Self {
        let ExternalLink { name, initial, state } = self;
        ExternalLink { name, initial: initial.copy(), state: state.copy() }
    }
}

/// The same name and the same state.
impl PartialEq for ExternalLink {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name && self.state.same(other.state.as_ref())
    }
}

impl Eq for ExternalLink {}

/// What [`SplitLink`] has, behind dynamic calls.
trait Object: Debug + Send + Sync {
    fn copy(&self) -> Box<dyn Object>;
    fn same(&self, other: &dyn Object) -> bool;
    fn any(&self) -> &dyn Any;
    fn split(&mut self, at: u64, bytes: &[u8], out: &mut Dynamic<'_, false>);
    fn split_frames(&mut self, at: u64, bytes: &[u8], out: &mut Dynamic<'_, true>);
    fn finish(&mut self, at: u64, out: &mut Dynamic<'_, false>);
    fn finish_frames(&mut self, at: u64, out: &mut Dynamic<'_, true>);
}

impl<L: SplitLink> Object for L {
    fn copy(&self) -> Box<dyn Object> {
        Box::new(self.clone())
    }

    fn same(&self, other: &dyn Object) -> bool {
        other.any().downcast_ref::<L>().is_some_and(|other| self == other)
    }

    fn any(&self) -> &dyn Any {
        self
    }

    fn split(&mut self, at: u64, bytes: &[u8], out: &mut Dynamic<'_, false>) {
        SplitLink::split(self, at, bytes, out);
    }

    fn split_frames(&mut self, at: u64, bytes: &[u8], out: &mut Dynamic<'_, true>) {
        SplitLink::split(self, at, bytes, out);
    }

    fn finish(&mut self, at: u64, out: &mut Dynamic<'_, false>) {
        SplitLink::finish(self, at, out);
    }

    fn finish_frames(&mut self, at: u64, out: &mut Dynamic<'_, true>) {
        SplitLink::finish(self, at, out);
    }
}

/// The members of [`Split`] that are calls.
trait Output {
    fn piece(&mut self, id: u16, at: u64, fragment: bool, bytes: &[u8]);
    fn short(&mut self, id: u16, at: u64, fragment: bool, word: u128, len: usize);
    fn event(&mut self, at: u64, event: Event);
    fn frame(&mut self, frame: &Frame<'_>);
    fn packed(&mut self, at: u64, bytes: &[u8]);
    fn plain(&mut self, id: u8, at: u64, frames: &[[u8; FRAME]], data: &[[u8; FRAME]]);
    fn fragment(&mut self, id: Option<u8>, at: u64, bytes: &[u8]);
}

impl<S: Split> Output for S {
    fn piece(&mut self, id: u16, at: u64, fragment: bool, bytes: &[u8]) {
        Split::piece(self, id, at, fragment, bytes);
    }

    fn short(&mut self, id: u16, at: u64, fragment: bool, word: u128, len: usize) {
        Split::short(self, id, at, fragment, word, len);
    }

    fn event(&mut self, at: u64, event: Event) {
        Split::event(self, at, event);
    }

    fn frame(&mut self, frame: &Frame<'_>) {
        Split::frame(self, frame);
    }

    fn packed(&mut self, at: u64, bytes: &[u8]) {
        Split::packed(self, at, bytes);
    }

    fn plain(&mut self, id: u8, at: u64, frames: &[[u8; FRAME]], data: &[[u8; FRAME]]) {
        Split::plain(self, id, at, frames, data);
    }

    fn fragment(&mut self, id: Option<u8>, at: u64, bytes: &[u8]) {
        Split::fragment(self, id, at, bytes);
    }
}

/// An output behind dynamic calls.
struct Dynamic<'a, const FRAGMENTS: bool>(&'a mut dyn Output);

impl<const FRAGMENTS: bool> Split for Dynamic<'_, FRAGMENTS> {
    const FRAGMENTS: bool = FRAGMENTS;

    fn piece(&mut self, id: u16, at: u64, fragment: bool, bytes: &[u8]) {
        self.0.piece(id, at, fragment, bytes);
    }

    fn short(&mut self, id: u16, at: u64, fragment: bool, word: u128, len: usize) {
        self.0.short(id, at, fragment, word, len);
    }

    fn event(&mut self, at: u64, event: Event) {
        self.0.event(at, event);
    }

    fn frame(&mut self, frame: &Frame<'_>) {
        self.0.frame(frame);
    }

    fn packed(&mut self, at: u64, bytes: &[u8]) {
        self.0.packed(at, bytes);
    }

    fn plain(&mut self, id: u8, at: u64, frames: &[[u8; FRAME]], data: &[[u8; FRAME]]) {
        self.0.plain(id, at, frames, data);
    }

    fn fragment(&mut self, id: Option<u8>, at: u64, bytes: &[u8]) {
        self.0.fragment(id, at, bytes);
    }
}
