//! What makes the behaviour of a unit CONSTRAINED UNPREDICTABLE while it works: resources that it
//! does not have, reserved functions, comparators that are programmed against their rules.

use crate::ete::implementation::Implementation;
use crate::ete::registers::Version;
use crate::ete::settings::{Event, Settings, is_reserved_pair};

fn bits(value: u64, width: usize) -> impl Iterator<Item = usize> + Clone {
    (0..width).filter(move |n| value >> n & 1 != 0)
}

/// The first rule that the settings break in what the unit evaluates for every instruction.
pub fn hazard(unit: &Implementation, settings: &Settings) -> Option<&'static str> {
    let events = events(unit, settings);
    let event = events.into_iter().find_map(|event| of_event(unit, settings, event));
    event.or_else(|| of_filters(unit, settings))
}

/// Whether `n` is the number of a resource of which the unit has `count`.
fn lacks(count: Option<u8>, n: usize) -> bool {
    count.is_some_and(|count| n >= usize::from(count))
}

/// The events that have an effect.
fn events(unit: &Implementation, settings: &Settings) -> Vec<Event> {
    let mut all = Vec::new();
    let at = |value: u64, low: u32| Event::new(value >> low & 0xff);
    all.extend(settings.view.map(|view| at(view, 0)));
    let [selected, effect] = settings.events;
    for n in (0..4usize).filter(|n| !lacks(unit.events(), *n)) {
        let atb = n == 0 && effect >> 11 & 1 != 0;
        if effect >> n & 1 != 0 || atb {
            all.push(at(selected, 8 * n as u32));
        }
    }
    if settings.config >> 11 & 1 != 0 {
        all.push(at(settings.timestamp, 0));
    }
    for (n, [_, control, _]) in settings.counters.iter().enumerate() {
        if !lacks(unit.counters(), n) {
            all.extend([at(*control, 0), at(*control, 8)]);
        }
    }
    if unit.sequencer() != Some(false) {
        for (n, control) in settings.sequencer.iter().take(4).enumerate() {
            all.push(at(*control, 0));
            all.extend((n < 3).then(|| at(*control, 8)));
        }
    }
    if unit.data() == Some(true) {
        all.push(at(settings.view_data, 0));
    }
    all
}

fn of_event(unit: &Implementation, settings: &Settings, event: Event) -> Option<&'static str> {
    if event.constant().is_some() {
        return None;
    }
    let control = |n: u8| settings.selectors.get(usize::from(n)).copied().unwrap_or(0);
    if let Event::Pair(n) = event
        && is_reserved_pair(control(2 * n), control(2 * n + 1))
    {
        return Some("a pair of resource selectors has a reserved function");
    }
    event.selectors().filter(|n| *n > 1).find_map(|n| {
        if unit.selector_pairs().is_some_and(|pairs| n / 2 >= pairs) {
            return Some("an event selects a resource selector that the unit does not have");
        }
        let control = control(n);
        let select = control & 0xffff;
        let missing = |count, width| bits(select, width).any(|n| lacks(count, n));
        let pairs = unit.address_pairs();
        let missing = match control >> 16 & 0xf {
            0 => missing(unit.input_selectors(), 4),
            1 => missing(unit.pe_inputs(), 8),
            2 => {
                let states = select & 0xf0 != 0 && unit.sequencer() == Some(false);
                missing(unit.counters(), 4) || states
            }
            3 => missing(unit.single_shots(), 8),
            4 => missing(pairs.map(|pairs| 2 * pairs), 16),
            5 => {
                let wrong = bits(select, 8).find_map(|n| of_range(settings, n));
                return wrong.or(missing(pairs, 8).then_some(MISSING));
            }
            6 => missing(unit.context_comparators(), 8),
            7 => missing(unit.vmid_comparators(), 8),
            _ => return Some("a resource selector has a reserved group"),
        };
        missing.then_some(MISSING)
    })
}

const MISSING: &str = "a resource selector selects a resource that the unit does not have";

/// A range that is reversed, or whose halves compare differently. (DDI 0601, `TRCACVR<n>` and
/// `TRCACATR<n>`)
fn of_range(settings: &Settings, n: usize) -> Option<&'static str> {
    let of = |n: usize| settings.addresses.get(n).copied().unwrap_or_default();
    let ([first, attributes], [last, other]) = (of(2 * n), of(2 * n + 1));
    match (first > last, attributes != other) {
        (true, _) => Some("an address range comparator that is used ends before it begins"),
        (_, true) => Some("the halves of an address range comparator that is used differ"),
        _ => None,
    }
}

fn of_filters(unit: &Implementation, settings: &Settings) -> Option<&'static str> {
    let pairs = unit.address_pairs();
    let ranges = settings.ranges & 0xff | settings.ranges >> 16 & 0xff;
    let used =
        settings.single_shots.iter().fold(ranges, |all, [control, ..]| all | control >> 16 & 0xff);
    let points = settings.start_stop & 0xffff | settings.start_stop >> 16;
    if bits(used, 8).any(|n| lacks(pairs, n))
        || bits(points, 16).any(|n| lacks(pairs.map(|pairs| 2 * pairs), n))
    {
        return Some("a filter selects a comparator that the unit does not have");
    }
    if let Some(wrong) = bits(used, 8).find_map(|n| of_range(settings, n)) {
        return Some(wrong);
    }
    let address = |n: usize| settings.addresses.get(n).map_or(0, |[address, _]| *address);
    let list: Vec<u64> = bits(points, 16).map(address).collect();
    let ordered = list.windows(2).all(|pair| matches!(pair, [a, b] if a <= b));
    if !ordered && matches!(unit.version, Version::Ete(_)) {
        return Some("start and stop points are not in the order of their addresses");
    }
    let both = settings.start_stop & settings.start_stop >> 16 & 0xffff
        | settings.pe_start_stop & settings.pe_start_stop >> 16 & 0xff;
    (both != 0).then_some("one comparator starts and stops tracing")
}
