//! Handlers that are found by time, beside a comparison of all pairs.

use tracewright_testing::{Random, times};

use super::place::{gaps, only, placed_stores};
use super::search::{Found, MAX_VISITED, Search, Times};
use super::*;

const MARGIN: u64 = 64;

/// Whether a time of one trace may be one of the other.
fn overlap(a: Bounds, b: Bounds) -> bool {
    let before = |to: Option<u64>, from: Option<u64>| {
        to.zip(from).is_some_and(|(to, from)| to.saturating_add(MARGIN) < from)
    };
    !before(a.to, b.from) && !before(b.to, a.from)
}

fn whole(own: &Handler) -> Bounds {
    Bounds { from: own.begin.from, to: own.end.to }
}

/// The pairs of which neither may be another one, of all pairs.
fn only_of_all(reported: &[Handler], own: &[Handler]) -> Vec<(usize, usize)> {
    let may_be = |a: &Handler, b: &Handler| overlap(a.begin, b.begin) && overlap(a.end, b.end);
    let pairs: Vec<(usize, usize)> = (0..reported.len())
        .flat_map(|n| (0..own.len()).map(move |m| (n, m)))
        .filter(|(n, m)| may_be(&reported[*n], &own[*m]))
        .collect();
    let is_only = |(n, m): &(usize, usize)| {
        pairs.iter().filter(|pair| pair.0 == *n || pair.1 == *m).count() == 1
    };
    pairs.iter().copied().filter(is_only).collect()
}

/// What each handler has stored, of all pairs of a store and a handler.
fn stores_of_all(reported: &Trace<'_>, own: &[Handler]) -> Vec<Stored> {
    let mut stored = vec![Stored::Nothing; own.len()];
    let gaps = gaps(reported);
    for (slot, own) in stored.iter_mut().zip(own) {
        if gaps.iter().any(|gap| overlap(*gap, whole(own))) {
            *slot = Stored::Unknown;
        }
    }
    for store in reported.handlers {
        let may: Vec<usize> =
            (0..own.len()).filter(|n| overlap(store.begin, whole(&own[*n]))).collect();
        for n in &may {
            stored[*n] = match (may.len(), stored[*n], store.named) {
                (1, Stored::Nothing | Stored::Named(_), Some(Some(value))) => Stored::Named(value),
                (1, Stored::Nothing | Stored::Named(_), None) => Stored::Nothing,
                _ => Stored::Unknown,
            };
        }
    }
    stored
}

/// How the times of handlers are known.
#[derive(Clone, Copy, Debug)]
struct Known {
    /// The most ticks between two handlers, and around each time.
    apart: u64,
    around: u64,
    /// Bounds that are not known, handlers in no order, and losses.
    open: bool,
    order: bool,
    losses: bool,
}

fn bounds(random: &mut Random, at: u64, known: Known) -> Bounds {
    let mut around = || random.below(known.around + 1);
    let (from, to) = (at.saturating_sub(around()), at + around());
    let mut is_known = || !known.open || !random.one_in(5);
    Bounds { from: is_known().then_some(from), to: is_known().then_some(to) }
}

/// The handlers of one exception in one trace, which misses some.
fn handlers(random: &mut Random, begins: &[u64], known: Known) -> Vec<Handler> {
    let (mut all, mut losses) = (Vec::new(), 0);
    for begin in begins {
        if known.losses && random.one_in(6) {
            losses += 1;
            continue;
        }
        let end = begin + 1 + random.below(known.apart);
        let named = match random.below(4) {
            0 => None,
            1 => Some(None),
            _ => Some(Some(random.below(9))),
        };
        let (begin, end) = (bounds(random, *begin, known), bounds(random, end, known));
        all.push(Handler { number: Some(14), begin, end, losses, named });
    }
    all
}

#[test]
fn a_search_finds_what_a_comparison_of_all_pairs_finds() {
    let (mut pairs, mut named, mut unknown) = (0, 0, 0);
    for seed in 0..times(600) {
        let mut random = Random::new(seed);
        let known = Known {
            apart: random.pick(&[40, 300, 2000]),
            around: random.pick(&[0, 50, 500, 5000]),
            open: random.one_in(3),
            order: !random.one_in(4),
            losses: random.one_in(2),
        };
        let (mut now, mut begins) = (1000, Vec::new());
        for _ in 0..random.below(40) {
            now += random.below(known.apart * 2);
            // A clock that is set back.
            let back = if known.order { 0 } else { random.below(now) };
            begins.push(now - back);
        }
        let reported = handlers(&mut random, &begins, known);
        let own = handlers(&mut random, &begins, known);
        let found = only(&reported, &own);
        assert_eq!(found, only_of_all(&reported, &own), "seed {seed} {known:?}");
        pairs += found.len();
        let stores: Vec<Handler> =
            reported.iter().map(|own| Handler { number: None, end: own.begin, ..*own }).collect();
        let extent = (begins.first().map_or(0, |first| first / 2), now * 2 + 9000);
        let losses = reported.last().map_or(0, |last| last.losses);
        let trace = Trace { handlers: &stores, extent, losses };
        let found = placed_stores(&trace, &own);
        assert_eq!(found, stores_of_all(&trace, &own), "seed {seed} {known:?}");
        named += found.iter().filter(|own| matches!(own, Stored::Named(_))).count();
        unknown += found.iter().filter(|own| **own == Stored::Unknown).count();
    }
    assert!(pairs > 500 && named > 100 && unknown > 500, "{pairs} {named} {unknown}");
}

/// 2^36 pairs of a handler of each trace.
#[test]
fn handlers_of_long_traces_are_placed() {
    let count = 1 << 18;
    let at = |time: u64| Bounds { from: Some(time - 5), to: Some(time + 90) };
    let handler = |n: u64, named| Handler {
        number: Some(14),
        begin: at(1000 + n * 400),
        end: at(1100 + n * 400),
        losses: 0,
        named,
    };
    let own: Vec<Handler> = (0..count).map(|n| handler(n, None)).collect();
    let reported: Vec<Handler> = (0..count).map(|n| handler(n, Some(Some(n)))).collect();
    let trace = Trace { handlers: &reported, extent: (0, u64::MAX), losses: 0 };
    let stores = place(&trace, 0, &own);
    assert_eq!((stores.named, stores.unknown), (own.len(), 0));
    assert!((0..).zip(&stores.handlers[..]).all(|(n, own)| *own == Stored::Named(n)));
    // Without exception packets, the trace of the ITM alone bounds the stores.
    let stores: Vec<Handler> =
        reported.iter().map(|own| Handler { number: None, end: own.begin, ..*own }).collect();
    let trace = Trace { handlers: &stores, extent: (0, 1 << 40), losses: 0 };
    let own: Vec<Handler> = own.iter().map(|own| Handler { end: own.begin, ..*own }).collect();
    let stores = place(&trace, 0, &own);
    assert_eq!(stores.named, own.len());
}

/// Times that agree with what is looked for in each node of the tree, and in no handler.
#[test]
fn a_search_in_times_without_order_is_bounded() {
    let at = |time| Bounds { from: Some(time), to: Some(time) };
    let early = Times::new(at(5000), at(9000));
    let late = Times::new(at(1000), at(5000));
    let all = |count: usize| Search::new([early, late].repeat(count));
    let wanted = Times::new(at(5000), at(5000));
    assert!(!early.may_be(wanted) && !late.may_be(wanted));
    assert_eq!(all(100).find(wanted), Found::Nothing);
    assert_eq!(all(MAX_VISITED).find(wanted), Found::Several);
    assert_eq!(Search::new(Vec::new()).find(wanted), Found::Nothing);
}

#[test]
fn intervals_that_exclude_each_other() {
    let at = |from, to| Bounds { from: Some(from), to: Some(to) };
    for (a, b, want) in [
        (at(100, 200), at(150, 300), true),
        (at(100, 200), at(264, 300), true),
        (at(100, 200), at(265, 300), false),
        (at(265, 300), at(100, 200), false),
        (Bounds::default(), at(1, 2), true),
        (Bounds { from: Some(500), to: None }, at(1, 2), false),
    ] {
        assert_eq!(Times::once(a).may_be(Times::once(b)), want, "{a:?} {b:?}");
    }
}
