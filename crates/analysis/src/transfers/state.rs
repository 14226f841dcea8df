//! What the transfers of later elements depend on.

use tracewright_base::{BlockStep, Kind as Effect, Last, Range, Role, Space};
use tracewright_image::Selection;

use crate::transfer::{Kind, NO_FUNCTION, Transfer};

/// What precedes the next range.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) enum Before {
    /// It is not known.
    #[default]
    Unknown,
    /// The last instruction of a range, and the address after it.
    Range(Last, u64),
    /// An exception, and its return address.
    Exception(u16, Option<u64>),
    /// The same in the place of another exception.
    TailChain(u16, Option<u64>),
    /// A return from an exception.
    ExceptionReturn,
    /// Instructions that are not traced. What continues may have begun before the next clock value.
    Untraced,
}

impl Before {
    /// Whether it is known what precedes.
    pub(super) const fn is_known(self) -> bool {
        !matches!(self, Before::Unknown | Before::Untraced)
    }
}

/// What the transfers of later elements depend on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct State {
    pub(super) before: Before,
    /// What selects the memory, where it is not that at the beginning.
    pub(super) selection: Option<Selection>,
    pub(super) space: Space,
    /// The identifiers of the context.
    pub(super) thread: Option<(Option<u32>, Option<u32>)>,
    /// Addresses around the last range in the same function; none if the first is the greater.
    pub(super) within: (u64, u64),
    pub(super) function: u32,
    /// Cycles that are a part of the next count.
    pub(super) merged: u64,
}

/// The state of a source, which later output depends on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct SourceState {
    pub(super) state: State,
    /// As [`Current::waiting`].
    pub(super) waiting: Vec<Transfer>,
}

impl SourceState {
    /// A number that is the same for equal states.
    pub fn fingerprint(&self) -> u64 {
        use std::hash::{DefaultHasher, Hash, Hasher};
        let mut hasher = DefaultHasher::new();
        self.hash(&mut hasher);
        hasher.finish()
    }
}

impl Default for State {
    fn default() -> State {
        State {
            before: Before::Unknown,
            selection: None,
            space: Space::ANY,
            thread: None,
            within: (1, 0),
            function: NO_FUNCTION,
            merged: 0,
        }
    }
}

/// How a range continues, by the last instruction: see [`continues`].
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Continues {
    /// At the next instruction.
    Next,
    /// At the target of a direct branch that is no call and no return.
    Direct,
    /// Anywhere.
    Other,
}

#[inline]
pub(super) fn continues(last: Last) -> Continues {
    let branch = matches!(last.kind, Effect::Branch | Effect::Indirect) & last.taken();
    let jump = matches!(last.role, Role::Jump | Role::Loop | Role::Compare);
    match (branch, jump & (last.kind == Effect::Branch)) {
        (false, _) => Continues::Next,
        (true, true) => Continues::Direct,
        (true, false) => Continues::Other,
    }
}

impl State {
    /// The first and the last address at which a range begins that needs no transfer; none if the
    /// first is the greater. After a direct branch, it stays in the function; after an instruction
    /// that does not branch, it follows directly.
    pub(super) fn expects(&self) -> (u64, u64) {
        match self.before {
            Before::Range(last, end) => self.expects_after(last, end),
            _ => (u64::MAX, 0),
        }
    }

    /// The kind of the transfer to `target`, after an instruction `last` that ends before `end`.
    /// `None` if execution stays in the function.
    #[inline]
    pub(super) fn transfer(&self, last: Last, end: u64, target: u64) -> Option<Kind> {
        let branch = matches!(last.kind, Effect::Branch | Effect::Indirect) && last.taken();
        let inside = self.within.0 <= target && target <= self.within.1;
        Some(match (branch, last.role) {
            (false, _) if target != end => Kind::Enter,
            (false, _) if inside => return None,
            (false, _) => Kind::Fall,
            // A call of the next instruction reads the program counter.
            (_, Role::Call | Role::Link) if target == end && inside => return None,
            (_, Role::Call | Role::Link) => Kind::Call,
            (_, Role::Return | Role::ImpliedReturn) => Kind::Return,
            (_, Role::ExceptionReturn) => Kind::ExceptionReturn,
            (_, Role::Swap) => Kind::Swap,
            (_, Role::Jump | Role::Loop | Role::Compare) => {
                let known = self.function != NO_FUNCTION;
                match last.kind {
                    Effect::Indirect if known && inside => return None,
                    Effect::Indirect => Kind::Indirect,
                    _ if inside => return None,
                    _ => Kind::Jump,
                }
            }
        })
    }

    // Which of the three it is cannot be predicted: values are selected, without a branch.
    #[inline(always)]
    pub(super) fn expects_after(&self, last: Last, end: u64) -> (u64, u64) {
        let continues = continues(last);
        let direct = continues == Continues::Direct;
        let first = if direct { self.within.0 } else { end.max(self.within.0) };
        let last = if direct { self.within.1 } else { end.min(self.within.1) };
        if continues == Continues::Other { (u64::MAX, 0) } else { (first, last) }
    }
}

/// Counts since the last transfer of a source.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pending {
    pub(super) at: u64,
    pub(super) instructions: u64,
    pub(super) cycles: u64,
}

/// Clock values of a source that wait one by one.
const MAX_WAITING: usize = 16;
/// Those that wait where the clock runs backwards.
const MAX_BACKWARDS: usize = 1 << 10;

/// A source.
#[derive(Clone, Debug)]
pub(super) struct Current {
    /// [`State::expects`]; none as long as clock values wait.
    pub(super) expects: (u64, u64),
    pub(super) pending: Pending,
    pub(super) state: State,
    /// Clock values since the last range: they follow the transfer to the next one.
    pub(super) waiting: Vec<Transfer>,
    /// The step of a cached block whose range precedes the next one.
    pub(super) step: Option<BlockStep>,
    /// The function was found in other memory.
    pub(super) stale: bool,
    /// Its first address is that of a function, and not of another part of it.
    pub(super) whole: bool,
    /// It is a stub.
    pub(super) stub: bool,
}

impl Default for Current {
    fn default() -> Current {
        Current::new(SourceState::default())
    }
}

impl Current {
    pub(super) fn new(SourceState { state, waiting }: SourceState) -> Current {
        let (expects, pending) = Default::default();
        let (step, stale, whole, stub) = (None, true, false, false);
        let mut own = Current { expects, pending, state, waiting, step, stale, whole, stub };
        own.precede(state.before);
        own
    }

    /// Whether a range at `start` needs no transfer.
    #[inline(always)]
    pub(super) const fn expects(&self, start: u64) -> bool {
        self.expects.0 <= start && start <= self.expects.1
    }

    /// Whether a range needs no transfer and is in the function.
    #[inline(always)]
    pub(super) const fn stays(&self, start: u64, end: u64) -> bool {
        self.expects(start) && end.wrapping_sub(1) <= self.state.within.1
    }

    /// A range in the function, which ends before `end`.
    #[inline(always)]
    pub(super) fn execute(&mut self, at: u64, range: &Range, end: u64) {
        self.pending.at = at;
        self.pending.instructions += u64::from(range.instructions);
        self.pending.cycles += u64::from(range.cycles.get().unwrap_or(0));
        self.state.before = Before::Range(range.last, end);
        self.expects = self.state.expects_after(range.last, end);
        self.step = None;
    }

    pub(super) fn precede(&mut self, before: Before) {
        self.state.before = before;
        let free = self.waiting.is_empty() && self.state.merged == 0;
        self.expects = if free { self.state.expects() } else { (u64::MAX, 0) };
        self.step = None;
    }

    /// A clock value waits for the next range. Returns `false` if too many do.
    pub(super) fn wait(&mut self, time: Transfer) -> bool {
        let many = self.waiting.len() >= MAX_WAITING;
        let last = self.waiting.iter_mut().rfind(|last| many && last.kind == time.kind);
        match last {
            Some(last) if time.kind == Kind::Cycles => {
                last.target = last.target.saturating_add(time.target);
            }
            // Nothing is executed between them. A clock that runs backwards remains.
            Some(last) if last.target <= time.target => *last = time,
            _ => self.waiting.push(time),
        }
        self.precede(self.state.before);
        self.waiting.len() <= MAX_BACKWARDS
    }

    /// Whether the next range may be elsewhere.
    pub(super) fn may_leave(&self) -> bool {
        match self.state.before {
            Before::Range(last, end) => {
                let (first, last_end) = self.state.within;
                continues(last) != Continues::Next || end < first || last_end < end
            }
            _ => true,
        }
    }

    /// What is known next happened before or after the clock values that wait: they do not bound
    /// its time.
    pub(super) fn forget_waiting(&mut self) {
        let merged = &mut self.state.merged;
        self.waiting.retain(|time| match time.kind {
            Kind::Cycles => {
                *merged = merged.saturating_add(time.target);
                false
            }
            kind => kind == Kind::CyclesLost,
        });
    }
}

#[cfg(test)]
mod tests {
    use tracewright_base::Instruction;
    use tracewright_testing::{Random, times};

    use super::*;

    /// Whether a range at `start` needs no transfer, by the definition.
    fn stays(state: &State, start: u64) -> bool {
        let Before::Range(last, end) = state.before else { return false };
        let inside = state.within.0 <= start && start <= state.within.1;
        let plain = matches!(last.role, Role::Jump | Role::Loop | Role::Compare);
        inside
            && match last.kind {
                Effect::Branch if last.taken() => plain,
                Effect::Indirect if last.taken() => false,
                _ => start == end,
            }
    }

    #[test]
    fn expected_addresses_are_those_that_stay_in_the_function() {
        let mut random = Random::new(7);
        let kinds = [Effect::Plain, Effect::Branch, Effect::Indirect, Effect::Isb];
        let roles = [
            Role::Jump,
            Role::Call,
            Role::Return,
            Role::ExceptionReturn,
            Role::Loop,
            Role::Compare,
            Role::ImpliedReturn,
            Role::Swap,
            Role::Link,
        ];
        let mut counts = [0; 2];
        for _ in 0..times(20_000) {
            // Few addresses, at both ends of memory, too.
            let base = random.pick(&[0, 0x8000, u64::MAX - 15]);
            let mut address = || base.wrapping_add(4 * random.below(6));
            let (mut state, start, end) = (State::default(), address(), address());
            state.within = (address(), address());
            let (kind, role) = (random.pick(&kinds), random.pick(&roles));
            let instruction = Instruction { kind, role, size: 4, ..Instruction::default() };
            let last = Last::new(&instruction, random.one_in(2));
            state.before = match random.below(8) {
                0 => Before::ExceptionReturn,
                1 => Before::Exception(3, None),
                2 => Before::Unknown,
                _ => Before::Range(last, end),
            };
            let (first, last) = state.expects();
            let expected = first <= start && start <= last;
            assert_eq!(expected, stays(&state, start), "{state:x?} {start:#x}");
            counts[usize::from(expected)] += 1;
        }
        assert!(counts.iter().all(|count| *count > 500), "{counts:?}");
    }
}
