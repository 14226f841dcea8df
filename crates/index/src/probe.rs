//! Finds where a decoder may restart.
//!
//! A second decoding begins in its initial state at an offset, beside that of the whole trace, and
//! both take the same bytes. Where the state of a source is equal in both, its decoder may begin at
//! that offset: the same state and the same bytes give the same elements. Both use one session, and
//! its cached code.
//! This needs no knowledge of a protocol, and no state of a decoder has to be stored.

use tracewright_base::{Batch, Element};
use tracewright_decode::{Checkpoint, Listener, Route, Session};

use crate::segment::Restart;

/// The second decoding.
#[derive(Clone, Debug)]
pub(crate) struct Probe {
    state: Checkpoint,
    blank: Checkpoint,
    /// Where it began, while it runs.
    from: Option<u64>,
    /// Where it began last.
    last: Option<u64>,
    /// The state of the link is the actual one.
    linked: bool,
    /// By source: its activity at the beginning, until its state is the actual one. From then on
    /// the source is not decoded here.
    pending: Vec<Option<u64>>,
}

impl Probe {
    /// A probe of a session like `session`, which is in its initial state.
    pub(crate) fn new(session: &Session) -> Self {
        let blank = session.state().clone();
        Probe {
            state: blank.clone(),
            blank,
            from: None,
            last: None,
            linked: false,
            pending: Vec::new(),
        }
    }

    /// Begins where `session` is, which is in the actual state.
    pub(crate) fn start(&mut self, session: &mut Session) {
        let actual = session.state();
        let (at, link) = (actual.at(), known_link(actual.link()));
        self.state.clone_from(&self.blank);
        session.exchange(&mut self.state);
        begin(session, at, link);
        session.exchange(&mut self.state);
        self.linked = false;
        (self.from, self.last) = (Some(at), Some(at));
        let state = &self.state;
        self.pending = (0..state.sources()).map(|n| Some(state.activity(n))).collect();
    }

    /// Where the probe began, while it runs.
    pub(crate) const fn from(&self) -> Option<u64> {
        self.from
    }

    /// Where the last probe began, whether or not it runs.
    pub(crate) fn last(&self) -> Option<u64> {
        self.last
    }

    /// Ends the probe.
    pub(crate) fn stop(&mut self) {
        self.from = None;
    }

    /// Whether source `n` is in the actual state.
    pub(crate) fn is_verified(&self, n: usize) -> bool {
        self.linked && self.pending.get(n).is_some_and(Option::is_none)
    }

    /// Whether the link is in the actual state.
    pub(crate) fn is_linked(&self) -> bool {
        self.linked
    }

    /// Decodes `bytes`, after which `session` is in the actual state, and appends the restarts that
    /// are verified. The probe ends where no active source is left.
    pub(crate) fn feed(&mut self, bytes: &[u8], session: &mut Session, found: &mut Vec<Restart>) {
        let Some(from) = self.from else { return };
        session.exchange(&mut self.state);
        let pending = &self.pending;
        let some = pending.iter().any(Option::is_none);
        if some {
            session.only(|n| pending.get(n).is_some_and(Option::is_some));
        }
        session.feed(bytes, &mut Nothing);
        if some {
            session.only(|_| true);
        }
        session.exchange(&mut self.state);
        let (state, actual) = (&self.state, session.state());
        self.linked = self.linked || state.same_link(actual);
        if !self.linked {
            return;
        }
        let mut waiting = false;
        for (n, pending) in self.pending.iter_mut().enumerate() {
            // A source without bytes is still in its initial state.
            let Some(_) = pending.filter(|before| state.activity(n) > *before) else { continue };
            if state.same_source(n, actual) {
                *pending = None;
                let source = u16::try_from(n).unwrap_or(u16::MAX);
                found.push(Restart { source, from, at: actual.at() });
            } else {
                waiting = true;
            }
        }
        let any = self.pending.iter().any(Option::is_none);
        if any && !waiting {
            self.from = None;
        }
    }
}

/// Puts `session` into its initial state at offset `at`, with this state of the link, or the
/// initial one. `blank` is the state of the session at the beginning of the buffer.
pub(crate) fn place(session: &mut Session, blank: &Checkpoint, at: u64, link: Option<Route>) {
    session.resume(blank.clone());
    begin(session, at, link);
}

/// Moves `session`, which is in its initial state, to offset `at`.
fn begin(session: &mut Session, at: u64, link: Option<Route>) {
    match link {
        Some(link) => session.begin(at, link),
        None => session.reset(at),
    }
}

/// The state of a link that can be stored. Messages with source numbers have none: their state is
/// found again from the bytes.
pub(crate) fn known_link(link: &Route) -> Option<Route> {
    matches!(link, Route::Frames(_)).then(|| link.clone())
}

/// Ignores everything.
pub(crate) struct Nothing;

impl Listener for Nothing {
    fn element(&mut self, _: usize, _: u64, _: Element) {}

    fn batch(&mut self, _: &Batch<'_>) {}
}
