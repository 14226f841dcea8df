//! Which instructions are traced: comparators, filters, triggers. (0.026, chapter 4; 2.0, "Filtering";
//! Trace Control Interface, "Trace Encoder Filter Registers")

use alloc::vec::Vec;

use super::ingress::{Block, Cycle, Itype};
use crate::etrace::config::Params;

/// What a comparator looks at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Input {
    /// The addresses of the block's instructions. One that fits is enough.
    #[default]
    Address,
    /// The context.
    Context,
    /// The trap value of the handler that runs.
    Tval,
}

/// What a comparator does.
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

    /// A number from `first` to `last` fits.
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
    /// What is compared.
    pub input: Input,
    /// How.
    pub function: Function,
    /// With what.
    pub value: u64,
    /// Report the block in which it fits. (`trTeCompPNotify`, `trTeCompSNotify`)
    pub notify: bool,
}

/// How the two halves make one answer. (`trTeCompMatchMode`)
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Match {
    /// The primary one.
    #[default]
    Primary,
    /// Both.
    Both,
    /// Not both.
    NotBoth,
    /// From where the primary one fits to where the secondary one does, both included.
    Latch,
}

/// A comparator: two comparisons and what becomes of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Comparator {
    /// The primary comparison.
    pub primary: Compare,
    /// The secondary comparison.
    pub secondary: Compare,
    /// How they make one answer.
    pub matches: Match,
}

/// A filter: all that it asks for must be so.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Filter {
    /// Comparators that must match, by number.
    pub comparators: [Option<u8>; 3],
    /// Privilege levels that pass: bit n is level n.
    pub privilege: Option<u8>,
    /// Causes of the trap that is handled, bit n is cause n modulo the number of choices.
    pub cause: Option<u64>,
    /// The trap that is handled is an interrupt, or is none.
    pub interrupt: Option<bool>,
    /// Sideband signals: those in the mask, and what they must be.
    pub user: Option<([u64; 4], [u64; 4])>,
}

/// A trap that is being handled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Handled {
    cause: u64,
    interrupt: bool,
    tval: u64,
}

/// Filters at work.
#[derive(Clone, Debug)]
pub(super) struct Qualifier {
    comparators: Vec<Comparator>,
    latched: Vec<bool>,
    filters: Vec<Filter>,
    /// Traps that are being handled, the innermost last.
    handled: Vec<Handled>,
    /// How many there is room for.
    deepest: usize,
    /// Traps for which there was no room.
    beyond: u32,
    /// The number of causes to choose from.
    choices: u64,
}

impl Qualifier {
    pub(super) fn new(params: &Params, filters: &[Filter], comparators: &[Comparator]) -> Self {
        Qualifier {
            comparators: comparators.to_vec(),
            latched: comparators.iter().map(|_| false).collect(),
            filters: filters.to_vec(),
            handled: Vec::new(),
            deepest: 1 << params.port.filter_ecause.min(15),
            beyond: 0,
            choices: 1 << params.port.ecause_choice.min(6),
        }
    }

    /// Whether everything passes, and nothing is asked for.
    pub(super) fn is_open(&self) -> bool {
        self.filters.is_empty() && self.comparators.is_empty()
    }

    /// Whether `block` of `cycle` is to be traced, and whether it is to be reported.
    pub(super) fn block(&mut self, block: &Block, cycle: &Cycle) -> (bool, bool) {
        if self.is_open() {
            return (true, false);
        }
        let handled = self.handled.last().copied().filter(|_| self.beyond == 0);
        let fits = |compare: &Compare| {
            let (first, last) = match compare.input {
                Input::Address => (block.iaddr, block.last()),
                Input::Context => (cycle.context.into(), cycle.context.into()),
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
            let privilege =
                filter.privilege.is_none_or(|levels| levels >> (cycle.privilege & 7) & 1 != 0);
            let cause = filter.cause.is_none_or(|causes| {
                handled.is_some_and(|trap| causes >> (trap.cause % self.choices) & 1 != 0)
            });
            let interrupt = filter
                .interrupt
                .is_none_or(|wanted| handled.is_some_and(|trap| trap.interrupt == wanted));
            let user = filter.user.is_none_or(|(mask, value)| {
                mask.iter().zip(value).zip(cycle.side.user).all(|((m, v), u)| u & m == v & m)
            });
            compared && privilege && cause && interrupt && user
        };
        (self.filters.is_empty() || self.filters.iter().any(passes), notify)
    }

    /// What `block` leaves for the next: a handler begins or ends.
    pub(super) fn after(&mut self, block: &Block, cycle: &Cycle) {
        if self.is_open() {
            return;
        }
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
