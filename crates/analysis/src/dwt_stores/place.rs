//! Which handler of an ETM has stored what a DWT reports.

use std::collections::BTreeSet;

use super::{Bounds, Handler};
use crate::stored::{Stored, Stores};

/// The most ticks by which the clocks of the two traces may differ, as they read one clock in
/// different places, and report the begin of a handler at different steps of its entry.
const MARGIN: u64 = 64;

/// Whether a time of one trace may be one of the other.
pub(super) fn overlap(a: Bounds, b: Bounds) -> bool {
    let before = |to: Option<u64>, from: Option<u64>| {
        to.zip(from).is_some_and(|(to, from)| to.saturating_add(MARGIN) < from)
    };
    !before(a.to, b.from) && !before(b.to, a.from)
}

/// Whether a handler of the ITM may be one of the ETM.
fn may_be(reported: &Handler, own: &Handler) -> bool {
    match reported.number {
        Some(_) => {
            reported.number == own.number
                && overlap(reported.begin, own.begin)
                && overlap(reported.end, own.end)
        }
        // A store is somewhere in the handler.
        None => overlap(reported.begin, Bounds { from: own.begin.from, to: own.end.to }),
    }
}

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

/// Places handlers of an ITM, `reported`, among those of an ETM of the same processor, source
/// number `source`. Both are in order of their begin.
pub fn place(trace: &Trace<'_>, source: usize, handlers: &[Handler]) -> Stores {
    let reported = trace.handlers;
    let mut stored = vec![Stored::Nothing; handlers.len()];
    let traced = reported.iter().any(|own| own.number.is_some());
    let names = |own: &&Handler| matches!(own.named, Some(Some(_)));
    let naming: BTreeSet<Option<u16>> =
        reported.iter().filter(names).map(|own| own.number).collect();
    let all: BTreeSet<Option<u16>> = match traced {
        true => naming.into_iter().filter(Option::is_some).collect(),
        // Any handler may have stored.
        false => [None].into(),
    };
    for number in all {
        let is_own = |own: &&Handler| number.is_none() || own.number == number;
        let (own, positions): (Vec<Handler>, Vec<usize>) =
            handlers.iter().zip(0..).filter(|(h, _)| is_own(h)).unzip();
        let of_itm: Vec<Handler> =
            reported.iter().copied().filter(|own| own.number == number).collect();
        let placed = match number {
            Some(_) => placed_handlers(&of_itm, &own),
            None => placed_stores(&Trace { handlers: &of_itm, ..*trace }, &own),
        };
        for (position, found) in positions.into_iter().zip(placed) {
            if let Some(slot) = stored.get_mut(position) {
                *slot = found;
            }
        }
    }
    let count = |is: fn(&Stored) -> bool| stored.iter().filter(|own| is(own)).count();
    let named = count(|own| matches!(own, Stored::Named(_)));
    let unknown = count(|own| matches!(own, Stored::Unknown));
    Stores { source, handlers: stored.into(), named, unknown }
}

fn of(named: Option<Option<u64>>) -> Stored {
    match named {
        None => Stored::Nothing,
        Some(Some(value)) => Stored::Named(value),
        Some(None) => Stored::Unknown,
    }
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
            reported.get(*n).zip(own.get(*m)).is_some_and(|(n, m)| may_be(n, m))
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
fn only(reported: &[Handler], own: &[Handler]) -> Vec<(usize, usize)> {
    let mut counts = vec![0u8; own.len()];
    let mut pairs = Vec::new();
    for (n, reported) in reported.iter().enumerate() {
        let may = candidates(reported, own);
        for m in &may {
            if let Some(count) = counts.get_mut(*m) {
                *count = count.saturating_add(1);
            }
        }
        if let [m] = may[..] {
            pairs.push((n, m));
        }
    }
    pairs.retain(|(_, m)| counts.get(*m) == Some(&1));
    pairs
}

/// The handlers that may be a reported one, at most two of them.
fn candidates(reported: &Handler, own: &[Handler]) -> Vec<usize> {
    // Begins are in order: those before this one begin too early.
    let early = |own: &Handler| {
        let to = own.end.to.or(own.begin.to);
        to.zip(reported.begin.from).is_some_and(|(to, from)| to.saturating_add(MARGIN) < from)
    };
    let late = |own: &Handler| {
        let to = reported.end.to;
        own.begin.from.zip(to).is_some_and(|(from, to)| to.saturating_add(MARGIN) < from)
    };
    let mut found = Vec::new();
    for (m, handler) in own.iter().enumerate() {
        if late(handler) {
            break;
        }
        if !early(handler) && may_be(reported, handler) {
            found.push(m);
        }
        if found.len() > 1 {
            break;
        }
    }
    found
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

/// Stores without the handlers around them: each belongs to the only handler that it may be in.
fn placed_stores(reported: &Trace<'_>, own: &[Handler]) -> Vec<Stored> {
    let whole = |own: &Handler| Bounds { from: own.begin.from, to: own.end.to };
    let mut stored = vec![Stored::Nothing; own.len()];
    // Where packets were lost, and where the ITM is not traced, other handlers may have stored.
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
    for (slot, own) in stored.iter_mut().zip(own) {
        if gaps.iter().any(|gap| overlap(*gap, whole(own))) {
            *slot = Stored::Unknown;
        }
    }
    for store in reported.handlers {
        let may: Vec<usize> =
            own.iter().zip(0..).filter(|(m, _)| may_be(store, m)).map(|(_, n)| n).collect();
        for n in &may {
            let Some(slot) = stored.get_mut(*n) else { continue };
            // Of several stores in a handler, the last one counts.
            let is_known = may.len() == 1 && *slot != Stored::Unknown;
            *slot = if is_known { of(store.named) } else { Stored::Unknown };
        }
    }
    stored
}
