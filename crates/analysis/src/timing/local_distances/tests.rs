//! Random programs under a model of the DWT and the ITM: the true time between two packets lies in
//! the interval, which is not wider than the timestamps allow.

use tracewright_base::{Channel, Interval, LocalTimestamp, Software};
use tracewright_testing::{Random, times};

use super::*;
use crate::local_time::model::{Program, Trace, Unit, What, dwt};

const fn event(number: u64, begins: bool) -> EventAt {
    EventAt { number, begins, first: false }
}

fn distances(elements: &[Element], events: Vec<EventAt>) -> (Statistics, (u64, u64)) {
    let mut distances = LocalDistances::new(events);
    for (at, element) in (0..).zip(elements) {
        distances.element(0, at, *element);
    }
    distances.finish()
}

/// A program with software writes among the packets of the DWT.
fn program(random: &mut Random) -> Vec<(u64, What)> {
    let mut all = Vec::new();
    for (time, what) in Program::run(random, 60) {
        all.push((time, what));
        if random.one_in(3) {
            all.push((time, What::Write(random.below(4) as u8)));
        }
    }
    all
}

/// What the queries of a distance find.
type Is = fn(&Element) -> bool;

const fn is_write(element: &Element) -> bool {
    matches!(element, Element::SoftwareWrite(_))
}

const fn is_dwt(element: &Element) -> bool {
    matches!(element, Element::DwtEvent(_))
}

#[test]
fn true_distances_lie_in_the_intervals() {
    let (mut checked, mut narrow, mut points, mut lost) = (0, 0, 0, 0);
    for seed in 0..times(400) {
        let mut random = Random::new(seed);
        let unit = Unit {
            tick: random.pick(&[1, 1, 4, 64]),
            delays: random.one_in(2),
            losses: random.one_in(2),
            by_address: random.one_in(2),
        };
        let program = program(&mut random);
        let trace = Trace::of(&program, unit, &mut random);
        let kinds: [(Is, Is); 4] =
            [(is_write, is_write), (is_dwt, is_dwt), (is_write, is_dwt), (is_dwt, is_write)];
        let (from, to) = random.pick(&kinds);
        let of = |is: Is, begins: bool| {
            let numbered = (0..).zip(&trace.elements);
            let own = numbered.filter(move |(_, element)| is(element));
            own.map(move |(number, _)| event(number, begins))
        };
        // Packets that do not follow directly, too.
        let is_chosen = |_: &EventAt| random.one_in(3);
        let events: Vec<EventAt> = of(from, true).chain(of(to, false)).filter(is_chosen).collect();
        let mut sorted = events.clone();
        sorted.sort_by_key(|event| (event.number, event.begins));
        let is_lost = |a: u64, b: u64| {
            let between = trace.elements.iter().take(b as usize + 1).skip(a as usize + 1);
            between.into_iter().any(Element::is_after_overflow)
        };
        let (mut pairs, mut cut) = (Vec::new(), 0);
        for (n, own) in sorted.iter().enumerate().filter(|(_, own)| own.begins) {
            let next = sorted.get(n + 1);
            let end = next.map_or(trace.elements.len() as u64, |next| next.number);
            match next {
                _ if is_lost(own.number, end) => cut += 1,
                Some(next) if !next.begins => pairs.push((own.number, next.number)),
                _ => {}
            }
        }
        let (all, _) = distances(&trace.elements, events);
        let what = format!("seed {seed} {unit:?}");
        assert_eq!((all.count(), all.lost()), (pairs.len() as u64, cut), "{what}");
        lost += cut;
        for (a, b) in pairs {
            let (one, _) = distances(&trace.elements, vec![event(a, true), event(b, false)]);
            let found = one.min().expect("a distance");
            let (Some(begin), Some(end)) = (trace.times.get(&a), trace.times.get(&b)) else {
                continue;
            };
            let what = format!("{what}: {a} to {b}, {begin} to {end}, {found}");
            // A packet that waited may be older than the one before it.
            let true_time = end.saturating_sub(*begin);
            assert!(found.least <= true_time, "{what}");
            assert!(found.most.is_none_or(|most| true_time <= most), "{what}");
            checked += 1;
            points += u64::from(found.most == Some(found.least));
            if let (Some(begin), Some(end)) = (trace.bounds.get(&a), trace.bounds.get(&b))
                && !unit.delays
                && !unit.losses
                && unit.tick == 1
                && is_write(&trace.elements[a as usize]) == is_write(&trace.elements[b as usize])
            {
                let least = end.0.zip(begin.1).map_or(0, |(end, begin)| end.saturating_sub(begin));
                let most = end.1.zip(begin.0).map(|(end, begin)| end - begin);
                assert_eq!(found, Interval { least, most }, "{what}");
                narrow += 1;
            }
        }
    }
    assert!(
        checked > 3000 && narrow > 300 && points > 50 && lost > 50,
        "{checked} {narrow} {points} {lost}"
    );
}

/// A packet of the DWT that was delayed may be older than a write that has overtaken it, but not
/// than the packet of the DWT before.
#[test]
fn packets_of_different_kinds_are_in_no_order() {
    let packet = |value| dwt(1, 2, value, false);
    let write = Element::SoftwareWrite(Software::new(Channel::Port { page: None, port: 1 }, 8, 1));
    let stamp = |total, delta, delay| {
        Element::LocalTimestamp(LocalTimestamp { delta, total, delay, after_overflow: false })
    };
    let elements = [
        packet(0x100f),
        stamp(50, 50, TimeDelay::None),
        write,
        stamp(100, 50, TimeDelay::None),
        packet(0x200f),
        stamp(200, 100, TimeDelay::Packet),
        Element::End,
    ];
    let between = |a, b| {
        let (all, unpaired) = distances(&elements, vec![event(a, true), event(b, false)]);
        assert_eq!((all.count(), unpaired), (1, (0, 0)));
        all.min()
    };
    assert_eq!(between(0, 2), Some(Interval::point(50)));
    assert_eq!(between(2, 4), Some(Interval::new(0, 100)));
    assert_eq!(between(0, 4), Some(Interval::new(0, 150)));
    // An end before its begin.
    let (all, unpaired) = distances(&elements, vec![event(2, false), event(4, true)]);
    assert_eq!((all.count(), unpaired), (0, (1, 1)));
}
