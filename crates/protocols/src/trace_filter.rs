//! The selection of traced instructions: comparators, filters, triggers. (0.026, chapter 4; 2.0,
//! "Filtering"; Trace Control Interface, "Trace Encoder Filter Registers")

use alloc::vec::Vec;

use crate::ingress::{Block, Cycle, Itype};

/// The input of a comparison.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Input {
    /// The addresses of the block's instructions. The comparison holds if any address matches.
    #[default]
    Address,
    /// The context.
    Context,
    /// The trap value of the current handler.
    Tval,
    /// 1 in the first block after a change of the context, else 0.
    ContextChange,
}

/// The function of a comparison.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Function {
    /// eq
    Equal,
    /// neq
    NotEqual,
    /// lt
    Less,
    /// lte
    LessOrEqual,
    /// gt
    Greater,
    /// gte
    GreaterOrEqual,
    /// always
    #[default]
    Always,
}

impl Function {
    /// The number in a register: `trTeCompPFunction`, `trTeCompSFunction`.
    pub const fn of_number(number: u64) -> Option<Function> {
        Some(match number {
            0 => Function::Equal,
            1 => Function::NotEqual,
            2 => Function::Less,
            3 => Function::LessOrEqual,
            4 => Function::Greater,
            5 => Function::GreaterOrEqual,
            7 => Function::Always,
            _ => return None,
        })
    }

    /// Whether any number from `first` to `last` matches.
    const fn fits(self, first: u64, last: u64, value: u64) -> bool {
        match self {
            Function::Equal => first <= value && value <= last,
            Function::NotEqual => first != value || last != value,
            Function::Less => first < value,
            Function::LessOrEqual => first <= value,
            Function::Greater => last > value,
            Function::GreaterOrEqual => last >= value,
            Function::Always => true,
        }
    }
}

/// One half of a comparator.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Compare {
    /// The compared signal.
    pub input: Input,
    /// The relation.
    pub function: Function,
    /// The value on the right of the relation.
    pub value: u64,
    /// A matching block is reported. (`trTeCompPNotify`, `trTeCompSNotify`)
    pub notify: bool,
}

/// How the two comparisons are combined. (`trTeCompMatchMode`)
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Match {
    /// The primary one.
    #[default]
    Primary,
    /// Both.
    Both,
    /// Not both.
    NotBoth,
    /// From a match of the primary one to a match of the secondary one, both included.
    Latch,
}

/// A comparator: two comparisons and their combination.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Comparator {
    /// The primary comparison.
    pub primary: Compare,
    /// The secondary comparison.
    pub secondary: Compare,
    /// The combination.
    pub matches: Match,
}

/// A filter: all conditions that are given must hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Filter {
    /// Comparators that must match, by number.
    pub comparators: [Option<u8>; 3],
    /// Privilege levels that pass: bit n is level n.
    pub privilege: Option<u8>,
    /// Causes of the current trap: bit n is cause n modulo the number of choices.
    pub cause: Option<u64>,
    /// Whether the current trap is an interrupt.
    pub interrupt: Option<bool>,
    /// Sideband signals: the mask, and the value of the signals in the mask.
    pub user: Option<([u64; 4], [u64; 4])>,
}

/// A trap whose handler runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Handled {
    cause: u64,
    interrupt: bool,
    tval: u64,
}

/// The signals that the filters of a unit distinguish.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Nesting {
    /// The most nested traps whose cause is known.
    pub deepest: usize,
    /// The number of causes that a filter distinguishes.
    pub choices: u64,
    /// The number of sideband signals.
    pub user_width: u16,
}

/// The state of the filters and comparators.
#[derive(Clone, Debug)]
pub(crate) struct Qualifier {
    comparators: Vec<Comparator>,
    latched: Vec<bool>,
    filters: Vec<Filter>,
    /// Traps whose handlers run, the innermost last.
    handled: Vec<Handled>,
    /// The most traps in `handled`.
    deepest: usize,
    /// The number of further nested traps.
    beyond: u32,
    /// The number of causes that a filter distinguishes.
    choices: u64,
    /// The context of the last block.
    context: Option<u32>,
    /// The sideband signals that the port has.
    signals: [u64; 4],
}

impl Qualifier {
    pub(crate) fn new(nesting: Nesting, filters: &[Filter], comparators: &[Comparator]) -> Self {
        Qualifier {
            comparators: comparators.to_vec(),
            latched: comparators.iter().map(|_| false).collect(),
            filters: filters.to_vec(),
            handled: Vec::new(),
            deepest: nesting.deepest,
            beyond: 0,
            choices: nesting.choices.max(1),
            context: None,
            signals: signals(nesting.user_width),
        }
    }

    /// Whether there are no filters and no comparators.
    pub(crate) fn is_open(&self) -> bool {
        self.filters.is_empty() && self.comparators.is_empty()
    }

    /// Whether `block` of `cycle` is traced, and whether a comparator asks for a report.
    pub(crate) fn block(&mut self, block: &Block, cycle: &Cycle) -> (bool, bool) {
        if self.is_open() {
            return (true, false);
        }
        let changed = self.context.is_some_and(|context| context != cycle.context);
        let handled = self.handled.last().copied().filter(|_| self.beyond == 0);
        let fits = |compare: &Compare| {
            let (first, last) = match compare.input {
                Input::Address => (block.iaddr, block.last()),
                Input::Context => (cycle.context.into(), cycle.context.into()),
                Input::ContextChange => (changed.into(), changed.into()),
                Input::Tval => match handled {
                    Some(Handled { tval, .. }) => (tval, tval),
                    None => return compare.function == Function::Always,
                },
            };
            compare.function.fits(first, last, compare.value)
        };
        let mut notify = false;
        let matched: Vec<bool> = self
            .comparators
            .iter()
            .zip(&mut self.latched)
            .map(|(comparator, latched)| {
                let (p, s) = (fits(&comparator.primary), fits(&comparator.secondary));
                notify |= p && comparator.primary.notify || s && comparator.secondary.notify;
                match comparator.matches {
                    Match::Primary => p,
                    Match::Both => p && s,
                    Match::NotBoth => !(p && s),
                    Match::Latch => {
                        let inside = *latched || p;
                        *latched = inside && !s;
                        inside
                    }
                }
            })
            .collect();
        let passes = |filter: &Filter| {
            let compared = filter
                .comparators
                .iter()
                .flatten()
                .all(|&n| matched.get(usize::from(n)).copied().unwrap_or(false));
            let privilege = filter.privilege.is_none_or(|levels| {
                levels.checked_shr(cycle.privilege.into()).is_some_and(|level| level & 1 != 0)
            });
            let cause = filter.cause.is_none_or(|causes| {
                handled.is_some_and(|trap| causes >> (trap.cause % self.choices) & 1 != 0)
            });
            let interrupt = filter
                .interrupt
                .is_none_or(|wanted| handled.is_some_and(|trap| trap.interrupt == wanted));
            let user = filter.user.is_none_or(|(mask, value)| {
                let user = cycle.side.user.iter().zip(self.signals).map(|(u, there)| u & there);
                mask.iter().zip(value).zip(user).all(|((m, v), u)| u & m == v & m)
            });
            compared && privilege && cause && interrupt && user
        };
        (self.filters.is_empty() || self.filters.iter().any(passes), notify)
    }

    /// Updates the nested traps after `block`: a handler begins or ends.
    pub(crate) fn after(&mut self, block: &Block, cycle: &Cycle) {
        if self.is_open() {
            return;
        }
        self.context = Some(cycle.context);
        match block.itype {
            Itype::Exception | Itype::Interrupt if self.handled.len() < self.deepest => {
                let interrupt = block.itype == Itype::Interrupt;
                self.handled.push(Handled { cause: cycle.cause, interrupt, tval: cycle.tval });
            }
            Itype::Exception | Itype::Interrupt => self.beyond += 1,
            Itype::TrapReturn if self.beyond > 0 => self.beyond -= 1,
            Itype::TrapReturn => {
                self.handled.pop();
            }
            _ => {}
        }
    }
}

/// The sideband signals that a port of `width` bits has, as a mask.
pub(crate) fn signals(width: u16) -> [u64; 4] {
    [0u16, 64, 128, 192].map(|low| match width.saturating_sub(low) {
        0 => 0,
        bits @ 1..=63 => (1 << bits) - 1,
        _ => u64::MAX,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signals_of_a_width() {
        for (width, want) in [
            (0, [0; 4]),
            (1, [1, 0, 0, 0]),
            (63, [u64::MAX >> 1, 0, 0, 0]),
            (64, [u64::MAX, 0, 0, 0]),
            (66, [u64::MAX, 0b11, 0, 0]),
            (256, [u64::MAX; 4]),
        ] {
            assert_eq!(signals(width), want, "{width}");
        }
    }
}
