//! Repeated histories and branch messages: one message may stand for millions of turns of a loop.
//! One turn is followed, and the others are emitted as a number of equal turns.

use tracewright_base::{BlockCache, Element, Inconsistency, Sink};

use super::granted::{FOLLOWED, RANGE};
use super::outcomes::Outcomes;
use super::walk::{End, Walk};
use super::{Branch, Decoder, Position};
use crate::ntrace::config::Config;
use crate::riscv::Recorder;

/// The most ranges of a turn that is emitted as a number of equal turns: 31 outcomes, with jumps,
/// calls and returns between them.
const MAX_RANGES: usize = 256;

/// What a turn repeats.
#[derive(Clone, Copy)]
pub(super) enum Turn {
    Outcomes(Outcomes),
    Branch(Branch),
}

impl Decoder {
    /// Follows `outcomes` `times` times.
    pub(super) fn repeat_outcomes<K: BlockCache, S: Sink>(
        &mut self,
        at: u64,
        outcomes: Outcomes,
        times: u64,
        config: &Config,
        code: &mut K,
        sink: &mut S,
    ) {
        if outcomes.len > 0 {
            self.repeat(at, Turn::Outcomes(outcomes), times, config, code, sink);
        }
    }

    /// A RepeatBranch message: the last branch message `times` more times, with the same target.
    pub(super) fn repeat_branch<K: BlockCache, S: Sink>(
        &mut self,
        at: u64,
        times: u64,
        config: &Config,
        code: &mut K,
        sink: &mut S,
    ) {
        if self.reference.is_none() {
            // The path is lost, which was reported.
            return;
        }
        let Some(branch) = self.branch else {
            self.lose(at, Inconsistency::Unexpected, sink);
            return;
        };
        self.repeat(at, Turn::Branch(branch), times, config, code, sink);
        if let (Position::Unknown, Some(_), Some((_, target))) =
            (self.position, self.reference, branch.indirect)
        {
            // Where the code is not known, the target is.
            self.position = Position::At(config.address(target));
            self.branch = Some(branch);
        }
    }

    /// Follows `turn` `times` times.
    pub(super) fn repeat<K: BlockCache, S: Sink>(
        &mut self,
        at: u64,
        turn: Turn,
        times: u64,
        config: &Config,
        code: &mut K,
        sink: &mut S,
    ) {
        if times == 1 {
            self.turn(at, turn, config, code, sink);
            return;
        }
        let reserve = code.work_reserve().left(at);
        for done in 1..=times {
            let (before, mark, ahead) = (self.position, self.returns.mark(), self.ahead);
            let left = self.allowance;
            if self.listed > reserve {
                self.give_up(at, Element::Inconsistency(Inconsistency::ExpansionLimit), sink);
                break;
            }
            let mut recorder = Recorder::<_, MAX_RANGES>::new(sink);
            if !self.turn(at, turn, config, code, &mut recorder) {
                break;
            }
            let is_loop = self.position == before && self.returns.is_as_at(mark);
            if let Some(ranges) = recorder.turn().filter(|_| is_loop) {
                let rest = times - done;
                let cost = (left - self.allowance).max(ranges.len() as u64).max(1);
                let listed = rest.min(self.allowance / cost);
                self.allowance -= listed * cost;
                self.turns += listed * cost;
                self.listed += listed * (cost + RANGE * ranges.len() as u64);
                self.ahead = self.ahead.saturating_add((self.ahead - ahead).saturating_mul(rest));
                recorder.repeat(at, listed, rest);
                break;
            }
            if done > 1 {
                // Few bytes stand for any number of turns through straight code.
                let spent = left - self.allowance;
                self.turns += spent;
                self.listed += spent * FOLLOWED;
            }
        }
        self.returns.forget_mark();
    }

    /// Follows one turn. Returns `false` if the program cannot be followed.
    fn turn<K: BlockCache, S: Sink>(
        &mut self,
        at: u64,
        turn: Turn,
        config: &Config,
        code: &mut K,
        sink: &mut S,
    ) -> bool {
        match turn {
            Turn::Outcomes(outcomes) => {
                self.follow(at, Walk::to_last(outcomes), config, code, sink)
            }
            Turn::Branch(Branch { count, hist, indirect }) => {
                let end = if indirect.is_none() { End::Taken } else { End::NotTaken };
                let walk = Walk::to_count(count, Outcomes::of(hist), end);
                let on = walk.is_some_and(|walk| self.follow(at, walk, config, code, sink));
                match indirect {
                    _ if !on => {}
                    Some((btype, target)) => self.indirect(at, btype, target, config, sink),
                    None => self.direct(at, None, sink),
                }
                on && self.position != Position::Unknown
            }
        }
    }
}
