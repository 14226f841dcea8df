//! The fast path of speculative traces: Atom, Address, Commit, Cancel and Mispredict packets.
//!
//! These packets are read where they are. They go to the window as all packets do; a packet of
//! another kind ends the path.

use tracewright_base::{BlockCache, BlockId, Element, Feed, Inconsistency, Sink};

use super::flow::Rules;
use super::window::{self, Newest, What};
use super::{Decoder, MAX_SPECULATION, MAX_WINDOW, Stage};
use crate::bits::groups;
use crate::cursor::Cursor;
use crate::etmv4::Config;
use crate::etmv4::packet::{Atoms, Before, Packet};

/// The content of a Cancel or Mispredict packet, in the order in which it takes effect. (ETE
/// K10.5.2.8, K10.5.2.9)
#[derive(Clone, Copy, Debug)]
pub(super) struct Correction {
    atoms: Atoms,
    /// The number of P0 elements that are cancelled.
    cancel: u32,
    mispredict: bool,
}

impl Correction {
    /// The correction of a packet, `None` if it is another one.
    pub(super) const fn of(packet: &Packet) -> Option<Self> {
        match *packet {
            Packet::Cancel1 { count, mispredict } => {
                Some(Correction { atoms: Atoms::NONE, cancel: count, mispredict })
            }
            Packet::Cancel2(before) => Some(Correction::after(before.atoms(), 1)),
            Packet::Cancel3 { atom, count } => {
                let atoms = if atom { Atoms::E } else { Atoms::NONE };
                Some(Correction::after(atoms, count as u32))
            }
            Packet::Mispredict(before) => Some(Correction::after(before.atoms(), 0)),
            _ => None,
        }
    }

    /// A mispredict after `atoms`, of which `cancel` elements are cancelled.
    const fn after(atoms: Atoms, cancel: u32) -> Self {
        Correction { atoms, cancel, mispredict: true }
    }

    /// The correction of a header that is a whole packet: `0011_xxxx`.
    #[inline]
    const fn of_header(header: u8) -> Self {
        match header & 0b1100 {
            0b0000 => Correction::after(Before::from_field(header).atoms(), 0),
            0b0100 => Correction::after(Before::from_field(header).atoms(), 1),
            _ => {
                let atoms = if header & 1 != 0 { Atoms::E } else { Atoms::NONE };
                Correction::after(atoms, (header >> 1 & 0b11) as u32 + 2)
            }
        }
    }
}

impl Decoder {
    /// Takes packets of the five kinds while P0 elements are speculative.
    #[inline(never)]
    pub(super) fn speculative_path<K: BlockCache, S: Sink>(
        &mut self,
        feed: &mut Feed<'_>,
        config: &Config,
        code: &mut K,
        sink: &mut S,
    ) {
        let rules = Rules::of(config);
        let mut cursor = Cursor::before(BlockId::NONE);
        self.run_speculative(&mut cursor, feed, config, rules, code, sink);
        self.flow.settle(cursor, rules, code);
    }

    /// The loop of the path. `cursor` is the position where the state of the flow is not up to
    /// date.
    #[inline]
    fn run_speculative<K: BlockCache, S: Sink>(
        &mut self,
        cursor: &mut Cursor,
        feed: &mut Feed<'_>,
        config: &Config,
        rules: Rules,
        code: &mut K,
        sink: &mut S,
    ) {
        let max = config.max_speculation().min(MAX_SPECULATION);
        while self.stage == Stage::Running
            && self.exception.is_none()
            && (max > 0 || self.depth > 0)
        {
            let rest = feed.rest();
            let Some(&header) = rest.first() else { return };
            let (mut len, mut commit) = (1, 0);
            let at;
            if let Some(atoms) = Atoms::from_header(header) {
                at = feed.offsets.at(feed.taken);
                self.atoms(at, atoms.bits(), atoms.len());
            } else {
                match header {
                    0x2d..=0x2f => {
                        let Some(count) = count(rest) else { return };
                        at = feed.offsets.at(feed.taken);
                        len += count.len;
                        let count = count.bits as u32;
                        if header == 0x2d {
                            commit = count;
                        } else {
                            let mispredict = header & 1 != 0;
                            let cancel =
                                Correction { atoms: Atoms::NONE, cancel: count, mispredict };
                            self.flow.settle(cursor.take(), rules, code);
                            self.correct(at, cancel, max, rules, code, sink);
                        }
                    }
                    0x30..=0x3f => {
                        at = feed.offsets.at(feed.taken);
                        let correction = Correction::of_header(header);
                        self.flow.settle(cursor.take(), rules, code);
                        self.correct(at, correction, max, rules, code, sink);
                    }
                    0x90..=0x9e => {
                        let (entry, bytes) = self.history.peek(header, rest);
                        if bytes == 0 {
                            return;
                        }
                        (at, len) = (feed.offsets.at(feed.taken), bytes);
                        self.history.push(entry);
                        self.push_address(at);
                        if self.has_committed_q() {
                            self.flow.settle(cursor.take(), rules, code);
                            if !self.resolve_q(rules, code, sink) {
                                self.fail(at, sink);
                            }
                        }
                    }
                    _ => return,
                }
            }
            (feed.last, feed.taken) = (at, feed.taken + len);
            feed.packets = feed.packets.wrapping_add(1);
            self.commit_above(cursor, at, commit, max, rules, code, sink);
        }
    }

    /// Commits `commit` P0 elements, and at least those above the maximum speculation depth, which
    /// are committed without a Commit packet. Bounds the length of the window.
    #[inline]
    #[expect(clippy::too_many_arguments, reason = "a commit and its limit")]
    pub(super) fn commit_above<K: BlockCache, S: Sink>(
        &mut self,
        cursor: &mut Cursor,
        at: u64,
        commit: u32,
        max: u32,
        rules: Rules,
        code: &mut K,
        sink: &mut S,
    ) {
        let commit = commit.max(self.depth.saturating_sub(max));
        if commit > 0 && !self.commit(cursor, at, commit, rules, code, sink) {
            return self.fail(at, sink);
        }
        if self.window.len() >= MAX_WINDOW && self.depth == 0 {
            self.flow.settle(cursor.take(), rules, code);
            if !self.flush(rules, code, sink) {
                self.fail(at, sink);
            }
        }
    }

    /// Commits the `n` oldest P0 elements. The state of the flow is up to date before and after.
    /// Returns `false` if the program image is wrong.
    pub(super) fn commit_settled<K: BlockCache, S: Sink>(
        &mut self,
        at: u64,
        n: u32,
        rules: Rules,
        code: &mut K,
        sink: &mut S,
    ) -> bool {
        let mut cursor = Cursor::before(BlockId::NONE);
        let good = self.commit(&mut cursor, at, n, rules, code, sink);
        self.flow.settle(cursor, rules, code);
        good
    }

    /// A Cancel or Mispredict packet: atoms first, then the cancel, then the mispredict.
    pub(super) fn correct<K: BlockCache, S: Sink>(
        &mut self,
        at: u64,
        correction: Correction,
        max: u32,
        rules: Rules,
        code: &mut K,
        sink: &mut S,
    ) {
        let Correction { atoms, cancel, mispredict } = correction;
        self.atoms(at, atoms.bits(), atoms.len());
        let commit = self.depth.saturating_sub(max);
        if commit > 0 && !self.commit_settled(at, commit, rules, code, sink) {
            return self.fail(at, sink);
        }
        if cancel > 0 {
            let cancelled = window::cancel(&mut self.window, cancel);
            self.depth = self.depth.saturating_sub(cancel - cancelled.missing);
            if cancelled.unseen {
                self.start_unknown = self.in_transaction();
            }
            if cancelled.missing > 0 {
                // Committed elements were not executed: the position is wrong.
                self.flow.lose();
                sink.element(at, Element::Inconsistency(Inconsistency::CancelOfNothing));
            }
        }
        if !mispredict {
            return;
        }
        match window::mispredict(&mut self.window, self.transaction) {
            Newest::Branch | Newest::Unseen => {}
            Newest::Waits => self.push(at, What::Mispredict),
            Newest::Nothing if self.flow.mispredict(at, rules, code, sink) => {}
            Newest::Nothing | Newest::Other => self.push(at, What::StrayMispredict),
        }
    }
}

/// The number after a header. `None`: it is not whole, or has bits above 32, which the parser of
/// all packets reports.
#[inline]
fn count(bytes: &[u8]) -> Option<crate::bits::Groups> {
    groups(bytes.get(1..)?, 32).filter(|count| count.bits >> 32 == 0)
}
