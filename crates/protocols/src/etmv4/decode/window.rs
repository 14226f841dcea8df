//! Elements that are not resolved yet: committed, cancelled or discarded. (ETE K10.5.3)

use alloc::collections::VecDeque;

use tracewright_base::{Context, Transaction};

/// A traced element that is not resolved. Addresses are complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Item {
    /// Offset of its packet.
    pub(super) at: u64,
    pub(super) what: What,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    /// P0 elements that were traced before this decoder started.
    Unseen(u32),
    /// Atoms, the oldest in bit 0: `first` is as traced, `last` is after mispredicts.
    Atoms {
        first: u32,
        last: u32,
        len: u8,
    },
    /// A branch with a source address; `taken` until a mispredict reverses it.
    Source {
        address: u64,
        is1: bool,
        taken: bool,
    },
    /// `return_address`: where it is known. `also_target`: the target of the branch before it is an
    /// item of its own, or unknown.
    Exception {
        number: u16,
        return_address: Option<u64>,
        also_target: bool,
    },
    ExceptionReturn {
        /// It counts as a P0 element.
        p0: bool,
    },
    FunctionReturn,
    /// The address of the next instruction follows as an item of its own. `committed`: the element
    /// is resolved, and the address has not been traced.
    Q {
        count: Option<u32>,
        committed: bool,
    },
    Transaction {
        step: Transaction,
        /// It counts as a P0 element.
        p0: bool,
    },
    Address {
        address: u64,
        is1: bool,
    },
    /// The target of the branch before it is not known.
    UnknownTarget,
    Context(Context),
    TraceOn,
    /// A Trace Info, which clears the return stack.
    TraceInfo,
    /// A Mispredict behind a step of a transaction or a Trace Info. It takes effect when it is
    /// resolved: the transaction may be cancelled or fail, and the Trace Info clears the return
    /// stack.
    Mispredict,
    /// A Mispredict that concerns no branch, an inconsistency: address and context are unknown from
    /// here on.
    StrayMispredict,
    Events(u8),
    Timestamp {
        value: u64,
        cycles: Option<u32>,
    },
    Cycles(Option<u32>),
    Marker,
    Instrumentation {
        el: u8,
        value: u64,
    },
}

impl What {
    /// The number of its P0 elements.
    pub(super) const fn p0(&self) -> u32 {
        match *self {
            What::Unseen(n) => n,
            What::Atoms { len, .. } => len as u32,
            What::Source { .. } | What::Exception { .. } | What::FunctionReturn => 1,
            What::Q { committed, .. } => !committed as u32,
            What::ExceptionReturn { p0 } | What::Transaction { p0, .. } => p0 as u32,
            _ => 0,
        }
    }

    /// The step of a transaction that it is.
    pub(super) const fn step(&self) -> Option<Transaction> {
        match *self {
            What::Transaction { step, .. } => Some(step),
            _ => None,
        }
    }

    /// Whether it stays when older elements are cancelled. (ETE Table K10-2)
    pub(super) const fn survives(&self) -> bool {
        matches!(
            self,
            What::Events(_)
                | What::Timestamp { .. }
                | What::Cycles(_)
                | What::Marker
                | What::Instrumentation { .. }
                | What::TraceInfo
        )
    }
}

/// The window, the oldest item in front.
pub(super) type Window = VecDeque<Item>;

/// What a Cancel removed beside the elements in the window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Cancelled {
    /// The number of P0 elements that the window did not have.
    pub(super) missing: u32,
    /// Some were traced before this decoder started.
    pub(super) unseen: bool,
}

/// Cancels the `n` newest P0 elements and the items that depend on them.
pub(super) fn cancel(window: &mut Window, mut n: u32) -> Cancelled {
    let mut k = window.len();
    let mut unseen = false;
    while n > 0 && k > 0 {
        k -= 1;
        let Some(item) = window.get_mut(k) else { break };
        match &mut item.what {
            What::Atoms { first, last, len } if u32::from(*len) > n => {
                *len -= n as u8;
                let mask = (1u32 << *len) - 1;
                (*first, *last) = (*first & mask, *last & mask);
                return Cancelled::default();
            }
            What::Unseen(left) if *left > n => {
                *left -= n;
                return Cancelled { missing: 0, unseen: true };
            }
            // The end of a transaction cannot be cancelled. (ETE Table K10-2)
            What::Q { committed: true, .. }
            | What::Transaction { step: Transaction::Commit, .. } => break,
            // From a Trace Info. (ETE Table K10-2)
            What::Transaction { step: Transaction::Inside | Transaction::Cancelled, .. } => {}
            what if what.survives() => {}
            what => {
                n -= what.p0();
                unseen |= matches!(what, What::Unseen(_));
                window.remove(k);
            }
        }
    }
    Cancelled { missing: n, unseen }
}

/// The newest element of a window that a Mispredict can concern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Newest {
    /// A branch, which has the other outcome now.
    Branch,
    /// An element that this decoder has not seen, or [`What::StrayMispredict`]: there is no effect.
    Unseen,
    /// An element before which the Mispredict must not take effect: see [`What::Mispredict`].
    Waits,
    /// Another element: the Mispredict contradicts the trace.
    Other,
    /// The window has no such element.
    Nothing,
}

/// Reverses the newest branch and removes the target addresses after it. `open`: a transaction is
/// open before the window. (ETE K10.5.5.11)
pub(super) fn mispredict(window: &mut Window, open: bool) -> Newest {
    let (from, newest) = newest(window, open);
    match window.get_mut(from).map(|item| &mut item.what) {
        Some(What::Atoms { last, len, .. }) => *last ^= 1 << (*len - 1),
        Some(What::Source { taken, .. }) => *taken = !*taken,
        _ => {}
    }
    if !matches!(newest, Newest::Waits | Newest::Other) {
        let mut k = window.len();
        while k > from {
            k -= 1;
            let target =
                |item: &Item| matches!(item.what, What::Address { .. } | What::UnknownTarget);
            if window.get(k).is_some_and(target) {
                window.remove(k);
            }
        }
    }
    newest
}

/// The newest element that a Mispredict can concern, and its index, or 0. A Transaction Failure may
/// follow a Transaction Start that was cancelled (ETE Table K10-19): it then fails nothing.
fn newest(window: &Window, open: bool) -> (usize, Newest) {
    let fails = |k| {
        let step = window.iter().take(k).rev().find_map(|item| item.what.step());
        step.map_or(open, Transaction::opens)
    };
    let found = window.iter().enumerate().rev().find_map(|(k, item)| {
        let newest = match &item.what {
            What::Atoms { .. } | What::Source { .. } => Newest::Branch,
            What::Unseen(_) | What::StrayMispredict => Newest::Unseen,
            What::Transaction { step: Transaction::Failure, .. } if !fails(k) => return None,
            What::Transaction { .. } | What::TraceInfo | What::Mispredict => Newest::Waits,
            What::TraceOn | What::Q { .. } => Newest::Other,
            what if what.p0() > 0 => Newest::Other,
            _ => return None,
        };
        Some((k, newest))
    });
    found.unwrap_or((0, Newest::Nothing))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(what: What) -> Item {
        Item { at: 0, what }
    }

    fn atoms(last: u32, len: u8) -> What {
        What::Atoms { first: last, last, len }
    }

    /// ETE K10.5.3.4: cancel(3) removes the three newest P0 elements and Trace On elements after
    /// them; events and timestamps stay in their order.
    #[test]
    fn cancel_preserves_events_and_timestamps_in_order() {
        let mut window: Window = [
            atoms(0b1, 1),
            What::TraceOn,
            What::Events(1),
            atoms(0b01, 2),
            What::Timestamp { value: 7, cycles: None },
            What::TraceOn,
            atoms(0b1, 1),
            What::Events(2),
        ]
        .map(item)
        .into();
        assert_eq!(cancel(&mut window, 3), Cancelled::default());
        let left: Window = [
            atoms(0b1, 1),
            What::TraceOn,
            What::Events(1),
            What::Timestamp { value: 7, cycles: None },
            What::Events(2),
        ]
        .map(item)
        .into();
        assert_eq!(window, left);
    }

    #[test]
    fn cancel_splits_atoms_and_takes_unseen_elements_last() {
        let mut window: Window = [What::Unseen(2), atoms(0b101, 3)].map(item).into();
        assert_eq!(cancel(&mut window, 2), Cancelled { missing: 0, unseen: false });
        assert_eq!(window, Window::from([What::Unseen(2), atoms(0b1, 1)].map(item)));
        assert_eq!(cancel(&mut window, 2), Cancelled { missing: 0, unseen: true });
        assert_eq!(window, Window::from([What::Unseen(1)].map(item)));
        assert_eq!(cancel(&mut window, 3), Cancelled { missing: 2, unseen: true });
        assert!(window.is_empty());
    }

    #[test]
    fn mispredict_reverses_the_newest_branch_and_removes_its_target() {
        let address = What::Address { address: 0x1000, is1: false };
        let mut window: Window = [atoms(0b11, 2), address].map(item).into();
        assert_eq!(mispredict(&mut window, false), Newest::Branch);
        assert_eq!(window, Window::from([item(What::Atoms { first: 0b11, last: 0b01, len: 2 })]));
        let mut window = Window::from([item(address)]);
        assert_eq!(mispredict(&mut window, false), Newest::Nothing);
    }
}
