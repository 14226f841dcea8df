//! The program's path, block by block, from one message to the next.

use tracewright_base::{
    Block, BlockCache, Element, End as BlockEnd, Inconsistency, Instruction, Kind, Pc, Role, Sink,
};

use super::granted::PREDICTED;
use super::outcomes::Outcomes;
use super::{Decoder, Position};
use crate::ntrace::config::{Config, Mode};
use crate::riscv::{emit_range, inferred_target, last_address};

/// A walk from the current position.
#[derive(Clone, Copy, Debug)]
pub(super) struct Walk {
    /// The number of half-words. [`UNCOUNTED`]: up to the last outcome.
    pub(super) count: u64,
    /// The outcomes of branches.
    pub(super) outcomes: Outcomes,
    /// The number of branches without outcome up to the one that goes otherwise than predicted.
    pub(super) predicted: u64,
    /// What a branch without outcome does as the last instruction.
    pub(super) end: End,
}

/// The number of half-words is not known.
const UNCOUNTED: u64 = u64::MAX;

/// What a branch without outcome does as the last instruction. All others are not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// It is taken.
    Taken,
    /// It is not taken.
    NotTaken,
    /// It leads to this address.
    To(u64),
}

impl Walk {
    /// A walk of `count` half-words. `None` without outcomes: HIST is malformed.
    pub(super) fn to_count(count: u64, outcomes: Option<Outcomes>, end: End) -> Option<Walk> {
        Some(Walk { count, outcomes: outcomes?, predicted: 0, end })
    }

    /// A walk up to the last of `outcomes`.
    pub(super) const fn to_last(outcomes: Outcomes) -> Walk {
        Walk { count: UNCOUNTED, outcomes, predicted: 0, end: End::NotTaken }
    }

    /// A walk through `right` branches that were predicted, and one that was not.
    pub(super) const fn to_misprediction(right: u64) -> Walk {
        let outcomes = Outcomes { map: 0, len: 0 };
        let predicted = right.saturating_add(1);
        Walk { count: UNCOUNTED, outcomes, predicted, end: End::NotTaken }
    }

    pub(super) const fn is_counted(&self) -> bool {
        self.count != UNCOUNTED
    }

    /// Whether the walk is at its end. Outcomes may be left.
    pub(super) const fn is_done(&self) -> bool {
        self.count == 0 || !self.is_counted() && self.outcomes.len == 0 && self.predicted == 0
    }
}

/// The last instruction of the path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Last {
    /// Its address, if there is one.
    pub(super) address: Option<u64>,
    /// Its kind.
    pub(super) kind: Kind,
    role: Role,
    conditional: bool,
}

impl Last {
    pub(super) fn new(address: u64, instruction: &Instruction) -> Last {
        let Instruction { kind, role, conditional, .. } = *instruction;
        Last { address: Some(address), kind, role, conditional }
    }

    /// Whether a message may have its target: a jump, or an opcode that is not known.
    pub(super) const fn may_jump(&self) -> bool {
        match self.kind {
            Kind::Branch => !self.conditional,
            Kind::Indirect | Kind::Undefined => true,
            _ => false,
        }
    }
}

/// What a direct jump costs of the allowance of a message, where the number of half-words is not
/// known: it ends a loop without a branch early.
pub(super) const JUMP: u64 = 1 << 9;

impl Decoder {
    /// Walks to the end of `walk`, if the position is known. Returns `false` if the program cannot
    /// be followed, which is reported.
    pub(super) fn follow<K: BlockCache, S: Sink>(
        &mut self,
        at: u64,
        mut walk: Walk,
        config: &Config,
        code: &mut K,
        sink: &mut S,
    ) -> bool {
        let isa = config.isa();
        if self.position == Position::Unknown {
            return false;
        }
        loop {
            if let Position::At(pc) = self.position
                && !config.branch_prediction
            {
                self.follow_cached(at, pc, &mut walk, config, code, sink);
            }
            if walk.is_done() {
                break;
            }
            let pc = match self.position {
                Position::At(pc) => pc,
                Position::Jump { target: Some(target) } => {
                    self.position = Position::At(target);
                    continue;
                }
                Position::Jump { target: None } => return self.no_target(at, sink),
                Position::Unknown => return false,
            };
            let pc = Pc { address: pc, isa, space: self.space };
            let block = match code.block(pc) {
                Ok(block) => *block,
                Err(miss) => {
                    match pc.unreadable(miss.address) {
                        Element::Inconsistency(misaligned) => self.lose(at, misaligned, sink),
                        no_code => self.give_up(at, no_code, sink),
                    }
                    return false;
                }
            };
            let size = u64::from(block.bytes / 2);
            let on = if size > walk.count {
                self.part(at, &block, &mut walk, code, sink)
            } else {
                self.block(at, &block, &mut walk, config, code, sink)
            };
            if !on {
                return false;
            }
        }
        if walk.outcomes.len > 0 {
            self.lose(at, Inconsistency::OutcomeMismatch, sink);
            return false;
        }
        true
    }

    /// The path goes on after a jump of unknown target.
    #[cold]
    fn no_target<S: Sink>(&mut self, at: u64, sink: &mut S) -> bool {
        let why = match self.last.role {
            Role::Return | Role::Swap => Inconsistency::ReturnStackEmpty,
            _ => Inconsistency::AddressNotReached,
        };
        if self.stale && why == Inconsistency::ReturnStackEmpty {
            self.give_up(at, Element::Inconsistency(why), sink);
        } else {
            self.lose(at, why, sink);
        }
        false
    }

    /// Takes a whole block. Returns `false` if the program cannot be followed further.
    #[inline]
    fn block<K: BlockCache, S: Sink>(
        &mut self,
        at: u64,
        block: &Block,
        walk: &mut Walk,
        config: &Config,
        code: &mut K,
        sink: &mut S,
    ) -> bool {
        let (next, last) = (block.next(), &block.last);
        let size = u64::from(block.bytes / 2);
        let whole = block.end == BlockEnd::Waypoint;
        let jump = whole && last.is_unconditional() && !walk.is_counted();
        let predicted = whole && config.branch_prediction;
        let cost = u64::from(block.instructions)
            + if jump { JUMP } else { 0 }
            + if predicted { PREDICTED } else { 0 };
        let Some(allowance) = self.allowance.checked_sub(cost) else {
            self.give_up(at, Element::Inconsistency(Inconsistency::ExpansionLimit), sink);
            return false;
        };
        self.allowance = allowance;
        if walk.is_counted() {
            walk.count -= size;
        } else {
            self.ahead += size;
        }
        let mut taken = true;
        let position = match last.kind {
            Kind::Branch if whole && last.conditional => {
                let outcome = match config.branch_prediction {
                    true => self.predicted(last_address(block), walk),
                    false => self.outcome(last, next, walk, config),
                };
                let Some(outcome) = outcome else {
                    return self.no_outcome(at, block, walk, code, sink);
                };
                taken = outcome;
                Position::At(if taken { last.target.unwrap_or(next) } else { next })
            }
            Kind::Branch if whole => {
                let traced = config.all_jumps && self.mode(config) == Some(Mode::History);
                if traced && walk.outcomes.take() != Some(true) {
                    self.lose(at, Inconsistency::OutcomeMismatch, sink);
                    return false;
                }
                match last.target {
                    Some(target) => Position::At(target),
                    // A table jump of Zcmt through memory that is not known.
                    None => Position::Jump { target: None },
                }
            }
            Kind::Indirect if whole => {
                let target = inferred_target(block, self.last.address, self.space, code);
                // A jump that the encoder inferred does not end its message, or has an outcome.
                let inferred = target.is_some() && (walk.count > 0 || walk.outcomes.len > 0);
                let traced = config.all_jumps && self.mode(config) == Some(Mode::History);
                if inferred && traced && walk.outcomes.take() != Some(true) {
                    self.lose(at, Inconsistency::OutcomeMismatch, sink);
                    return false;
                }
                Position::Jump { target }
            }
            _ => Position::At(next),
        };
        emit_range(at, block.start, block.bytes, block.instructions, last, taken, sink);
        self.position = position;
        self.last = Last::new(last_address(block), last);
        if whole {
            self.retire(at, last, next, sink);
        }
        match block.end {
            BlockEnd::NoCode if !walk.is_done() => {
                let space = self.space;
                self.give_up(at, Element::NoCode { address: next, space }, sink);
                false
            }
            BlockEnd::Invalid if !walk.is_done() => {
                self.lose(at, Inconsistency::InvalidOpcode, sink);
                false
            }
            _ => true,
        }
    }

    /// The effects of the last instruction of a block: the return stack, and trap returns.
    #[inline]
    fn retire<S: Sink>(&mut self, at: u64, last: &Instruction, next: u64, sink: &mut S) {
        match last.role {
            Role::Call => self.returns.push(next),
            Role::Return | Role::Swap => {
                let popped = self.returns.pop();
                if let Position::Jump { target: target @ None } = &mut self.position {
                    *target = popped;
                }
                if last.role == Role::Swap {
                    self.returns.push(next);
                }
            }
            Role::ExceptionReturn => sink.element(at, Element::ExceptionReturn),
            _ => {}
        }
    }

    /// The outcome of a branch whose next instruction is at `next`. `None` if the trace lacks it.
    #[inline]
    fn outcome(
        &self,
        last: &Instruction,
        next: u64,
        walk: &mut Walk,
        config: &Config,
    ) -> Option<bool> {
        if let Some(taken) = walk.outcomes.take() {
            return Some(taken);
        }
        if self.mode(config) == Some(Mode::History) {
            return None;
        }
        let is_last = walk.count == 0;
        Some(match walk.end {
            End::Taken => is_last,
            End::NotTaken => false,
            End::To(address) => is_last && address != next && last.target == Some(address),
        })
    }

    /// The trace has no outcome of the branch at the end of `block`. What comes before the branch
    /// was executed, and the branch, too, where it is counted and the message has the next address.
    #[cold]
    fn no_outcome<K: BlockCache, S: Sink>(
        &mut self,
        at: u64,
        block: &Block,
        walk: &Walk,
        code: &mut K,
        sink: &mut S,
    ) -> bool {
        if let (0, End::To(address)) = (walk.count, walk.end) {
            let taken = block.last.target == Some(address);
            if taken || address == block.next() {
                let Block { start, bytes, instructions, ref last, .. } = *block;
                emit_range(at, start, bytes, instructions, last, taken, sink);
                self.lose(at, Inconsistency::OutcomeMismatch, sink);
                return false;
            }
        }
        let before = block.bytes.saturating_sub(block.last.size.into()) / 2;
        let outcomes = Outcomes::default();
        let mut walk = Walk { count: before.into(), outcomes, predicted: 0, end: End::NotTaken };
        if self.part(at, block, &mut walk, code, sink) {
            self.lose(at, Inconsistency::OutcomeMismatch, sink);
        }
        false
    }

    /// The mode, where it is known.
    #[inline]
    pub(super) fn mode(&self, config: &Config) -> Option<Mode> {
        match config.mode {
            Mode::Auto => self.mode,
            mode => Some(mode),
        }
    }

    /// Takes the beginning of a block, up to the end of the walk.
    fn part<K: BlockCache, S: Sink>(
        &mut self,
        at: u64,
        block: &Block,
        walk: &mut Walk,
        code: &mut K,
        sink: &mut S,
    ) -> bool {
        let isa = block.last.isa;
        let (mut pc, mut count) = (block.start, 0_u32);
        let mut last = (pc, Instruction::default());
        while walk.count > 0 {
            let instruction = code.instruction(Pc { address: pc, isa, space: self.space });
            let Some((instruction, left)) = instruction.ok().and_then(|instruction| {
                let left = walk.count.checked_sub(u64::from(instruction.size / 2))?;
                (instruction.size > 0).then_some((instruction, left))
            }) else {
                break;
            };
            walk.count = left;
            last = (pc, instruction);
            pc = pc.wrapping_add(instruction.size.into()) & isa.address_mask();
            count += 1;
        }
        let bytes = (pc.wrapping_sub(block.start) & isa.address_mask()) as u32;
        emit_range(at, block.start, bytes, count, &last.1, true, sink);
        if walk.count > 0 {
            // The number of half-words ends inside an instruction.
            self.lose(at, Inconsistency::CountMismatch, sink);
            return false;
        }
        self.allowance = self.allowance.saturating_sub(count.into());
        self.position = Position::At(pc);
        self.last = Last::new(last.0, &last.1);
        true
    }

    /// The position is not known before the next address: nothing contradicts the messages.
    #[cold]
    pub(super) fn give_up<S: Sink>(&mut self, at: u64, element: Element, sink: &mut S) {
        sink.element(at, element);
        self.position = Position::Unknown;
        self.last = Last::default();
        self.returns.clear();
        (self.branch, self.stale) = (None, true);
    }
}
