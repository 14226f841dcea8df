//! Where tracing is prohibited: TRFCR and the Exception level.

use super::Checker;
use crate::ete::sequence::episode::{Accessed, Await, End, Quiet};
use crate::ete::sequence::rules;

/// TRFCR.E1TRE and E0TRE.
const ENABLES: u64 = 3;

impl Checker<'_> {
    /// Whether TRFCR permits tracing where the software executes. `None`: it is not known.
    fn permits(&self) -> Option<bool> {
        let bit = if self.level == 0 { 0 } else { 1 };
        self.machine.filter.map(|filter| filter >> bit & 1 != 0)
    }

    /// TRFCR is written.
    pub(super) fn filter(&mut self, value: u64) {
        self.dirty = true;
        self.machine.filter = Some(value);
        let cleared = value & ENABLES == 0;
        if !cleared {
            self.early();
            let episode = &mut self.episode;
            (episode.filter_saved, episode.filter_cleared) = (false, false);
            episode.filter_written = true;
        }
        let permits = self.permits() == Some(true);
        let episode = &mut self.episode;
        episode.filter_cleared |= cleared;
        episode.prohibited = match permits {
            true => None,
            false => episode.prohibited.or(Some(End::Written)),
        };
    }

    /// Tracing is permitted again before the unit has stopped.
    fn early(&mut self) {
        let episode = &self.episode;
        let stopped = match episode.awaited {
            Some(Await::Stopped) => episode.idle && episode.stable,
            _ if episode.lock_awaited => episode.stable,
            _ => true,
        };
        if episode.prohibited.is_some() && episode.filter_cleared && !stopped {
            self.broken(&rules::FILTER_EARLY);
        }
    }

    /// TRFCR is read.
    pub(super) fn filter_read(&mut self, value: Option<u64>) {
        if !self.episode.filter_cleared {
            self.episode.filter_saved = true;
            self.episode.filter_value = value;
        }
        if let Some(value) = value {
            self.machine.filter = Some(value);
            if self.permits() == Some(false) {
                self.episode.prohibited = self.episode.prohibited.or(Some(End::Written));
            }
        }
        let (at, name) = (self.at, self.name());
        self.episode.saved.insert(name, Accessed { value, at });
    }

    /// The software goes to the Exception level `level`. An exception ends tracing where TRFCR is
    /// not known to permit it, which is the common case of K10.5.10; a return ends no prohibition
    /// that is known.
    pub(super) fn go(&mut self, level: u8, exception: bool) {
        self.level = level;
        let permits = self.permits().unwrap_or(!exception);
        let episode = &mut self.episode;
        match permits {
            true => {
                // The trace from here on is not flushed.
                episode.prohibited = None;
                if episode.quiet == Quiet::No {
                    episode.flushed_early = false;
                }
            }
            false => episode.prohibited = episode.prohibited.or(Some(End::Synchronised)),
        }
    }

    /// TSB CSYNC.
    pub(super) fn trace_barrier(&mut self) {
        let episode = &self.episode;
        let disabled = episode.disabled.map(|(end, _)| end);
        if episode.prohibited == Some(End::Written) || disabled == Some(End::Written) {
            self.broken(&rules::PROHIBIT_UNSYNCHRONISED);
        }
        let enabled = self.machine.enabled;
        let episode = &mut self.episode;
        if episode.prohibited.is_none() && episode.disabled.is_none() {
            episode.flushed_early = enabled != Some(false);
        }
        if let Some(end) = &mut episode.prohibited {
            *end = End::Flushed;
        }
        episode.disabled = None;
        if episode.quiet == Quiet::Unflushed {
            episode.quiet = Quiet::Unsynchronised;
        }
        (episode.tsb, episode.dsb, episode.current) = (true, false, false);
        episode.tsb_since_written = !episode.written.is_empty();
    }
}
