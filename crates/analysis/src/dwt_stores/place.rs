//! Which handler of an ETM has stored what a DWT reports.

use std::collections::BTreeMap;

use super::search::{Found, Search, Times};
use super::{Bounds, Handler};
use crate::stored::{Stored, Stores};

/// The trace of an ITM.
#[derive(Clone, Copy, Debug)]
pub struct Trace<'a> {
    /// The handlers, and stores outside of them, in order.
    pub handlers: &'a [Handler],
    /// The first and the last global timestamp.
    pub extent: (u64, u64),
    /// How often packets were lost.
    pub losses: u32,
}

/// The handlers of one exception in both traces, in order.
#[derive(Debug, Default)]
struct OfNumber {
    reported: Vec<Handler>,
    own: Vec<Handler>,
    /// The index of each of `own` among all handlers of the ETM.
    positions: Vec<usize>,
}

/// Places handlers of an ITM, `reported`, among those of an ETM of the same processor, source
/// number `source`. Both are in order of their begin.
pub fn place(trace: &Trace<'_>, source: usize, handlers: &[Handler]) -> Stores {
    let reported = trace.handlers;
    let mut stored = vec![Stored::Nothing; handlers.len()];
    let mut set = |positions: &[usize], placed: Vec<Stored>| {
        for (position, found) in positions.iter().zip(placed) {
            if let Some(slot) = stored.get_mut(*position) {
                *slot = found;
            }
        }
    };
    if reported.iter().any(|own| own.number.is_some()) {
        for all in of_numbers(reported, handlers).values() {
            set(&all.positions, placed_handlers(&all.reported, &all.own));
        }
    } else {
        // Any handler may have stored.
        let positions: Vec<usize> = (0..handlers.len()).collect();
        set(&positions, placed_stores(trace, handlers));
    }
    let count = |is: fn(&Stored) -> bool| stored.iter().filter(|own| is(own)).count();
    let named = count(|own| matches!(own, Stored::Named(_)));
    let unknown = count(|own| matches!(own, Stored::Unknown));
    Stores { source, handlers: stored.into(), named, unknown }
}

/// The handlers of each exception that has named a task.
fn of_numbers(reported: &[Handler], own: &[Handler]) -> BTreeMap<u16, OfNumber> {
    let names = |own: &&Handler| matches!(own.named, Some(Some(_)));
    let numbers = reported.iter().filter(names).filter_map(|own| own.number);
    let mut all: BTreeMap<u16, OfNumber> = numbers.map(|n| (n, OfNumber::default())).collect();
    for handler in reported {
        if let Some(of) = handler.number.and_then(|number| all.get_mut(&number)) {
            of.reported.push(*handler);
        }
    }
    for (position, handler) in own.iter().enumerate() {
        if let Some(of) = handler.number.and_then(|number| all.get_mut(&number)) {
            of.own.push(*handler);
            of.positions.push(position);
        }
    }
    all
}

fn of(named: Option<Option<u64>>) -> Stored {
    match named {
        None => Stored::Nothing,
        Some(Some(value)) => Stored::Named(value),
        Some(None) => Stored::Unknown,
    }
}

fn times(handler: &Handler) -> Times {
    Times::new(handler.begin, handler.end)
}

/// The only handlers that may be those of the ITM, and those that are between two such ones.
fn placed_handlers(reported: &[Handler], own: &[Handler]) -> Vec<Stored> {
    let mut stored = vec![Stored::Unknown; own.len()];
    let pairs = in_order(only(reported, own));
    for pair in &pairs {
        set(&mut stored, reported, *pair);
    }
    for two in pairs.windows(2) {
        let &[(a, b), (c, d)] = two else { continue };
        let losses = |all: &[Handler], from: usize, to: usize| {
            let losses = |n: usize| all.get(n).map(|own| own.losses);
            losses(from) != losses(to)
        };
        if c - a != d - b || losses(reported, a, c) || losses(own, b, d) {
            continue;
        }
        let between: Vec<(usize, usize)> = (a + 1..c).zip(b + 1..d).collect();
        let agrees = |(n, m): &(usize, usize)| {
            reported.get(*n).zip(own.get(*m)).is_some_and(|(n, m)| times(n).may_be(times(m)))
        };
        if between.iter().all(agrees) {
            between.iter().for_each(|pair| set(&mut stored, reported, *pair));
        }
    }
    stored
}

fn set(stored: &mut [Stored], reported: &[Handler], (n, m): (usize, usize)) {
    if let (Some(slot), Some(own)) = (stored.get_mut(m), reported.get(n)) {
        *slot = of(own.named);
    }
}

/// The pairs of which neither may be another one.
pub(super) fn only(reported: &[Handler], own: &[Handler]) -> Vec<(usize, usize)> {
    let of_itm = Search::new(reported.iter().map(times).collect());
    let of_etm = Search::new(own.iter().map(times).collect());
    let is_only = |(n, handler): (usize, &Handler)| {
        let Found::Only(m) = of_etm.find(times(handler)) else { return None };
        let back = of_itm.find(own.get(m).map(times)?);
        (back == Found::Only(n)).then_some((n, m))
    };
    reported.iter().enumerate().filter_map(is_only).collect()
}

/// The pairs whose order is the same in both traces.
fn in_order(pairs: Vec<(usize, usize)>) -> Vec<(usize, usize)> {
    let is_between = |n: usize| {
        let (_, own) = pairs.get(n).copied().unwrap_or_default();
        let before = n.checked_sub(1).and_then(|n| pairs.get(n));
        let after = pairs.get(n + 1);
        before.is_none_or(|(_, m)| *m < own) && after.is_none_or(|(_, m)| own < *m)
    };
    (0..pairs.len()).filter(|n| is_between(*n)).filter_map(|n| pairs.get(n).copied()).collect()
}

/// Where stores may be missing: where packets were lost, and where the ITM is not traced.
pub(super) fn gaps(reported: &Trace<'_>) -> Vec<Bounds> {
    let mut gaps = vec![
        Bounds { from: None, to: Some(reported.extent.0) },
        Bounds { from: Some(reported.extent.1), to: None },
    ];
    let (mut losses, mut from) = (0, None);
    for store in reported.handlers {
        if store.losses != losses {
            gaps.push(Bounds { from, to: store.begin.to });
        }
        (losses, from) = (store.losses, store.begin.from);
    }
    if losses != reported.losses {
        gaps.push(Bounds { from, to: None });
    }
    gaps
}

/// Stores without the handlers around them: each belongs to the only handler that it may be in.
pub(super) fn placed_stores(reported: &Trace<'_>, own: &[Handler]) -> Vec<Stored> {
    let whole = |own: &Handler| Times::once(Bounds { from: own.begin.from, to: own.end.to });
    let handlers = Search::new(own.iter().map(whole).collect());
    let mut stored = vec![Stored::Nothing; own.len()];
    // When something may have been stored of which it is not known where.
    let mut somewhere: Vec<Times> = gaps(reported).into_iter().map(Times::once).collect();
    for store in reported.handlers {
        match handlers.find(Times::once(store.begin)) {
            Found::Nothing => {}
            Found::Only(n) => {
                // Of several stores in a handler, the last one counts.
                if let Some(slot) = stored.get_mut(n).filter(|slot| **slot != Stored::Unknown) {
                    *slot = of(store.named);
                }
            }
            Found::Several => somewhere.push(Times::once(store.begin)),
        }
    }
    let somewhere = Search::new(somewhere);
    for (slot, own) in stored.iter_mut().zip(own) {
        if somewhere.find(whole(own)) != Found::Nothing {
            *slot = Stored::Unknown;
        }
    }
    stored
}
