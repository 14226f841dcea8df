//! Resource selectors, events, counters, sequencer, single-shot comparators, external inputs.

use super::{Check, bits};
use crate::ete::settings::{Event, events, has, is_reserved_pair};

pub(super) fn check(check: &mut Check<'_>) {
    let mut used = 0u64;
    for (register, field, event) in events(check.unit, check.values) {
        used |= selected(check, &format!("{register}.{field}"), event);
    }
    for n in bits(used) {
        selector(check, n);
    }
    counters(check);
    single_shots(check);
    event_effects(check);
}

/// Checks the selectors of an event, and returns them as bits.
fn selected(check: &mut Check<'_>, at: &str, event: Event) -> u64 {
    if event.constant().is_some() {
        return 0;
    }
    let pairs = check.unit.selector_pairs();
    let mut used = 0;
    for n in event.selectors() {
        let register = format!("TRCRSCTLR{n}");
        if pairs.is_some_and(|pairs| n / 2 >= pairs) {
            let what = format!("it selects {register}, which the unit does not have");
            check.broken("selector-missing", at, &what, "select a resource selector that it has");
        } else if !check.known(&register) {
            let what = format!("it selects {register}, which is not programmed");
            check.broken("selector-not-programmed", at, &what, "write the resource selector");
        } else {
            used |= 1 << n;
        }
    }
    if let Event::Pair(n) = event {
        let (a, b) = (2 * n, 2 * n + 1);
        let control = |n: u8| check.value(&format!("TRCRSCTLR{n}"));
        if is_reserved_pair(control(a), control(b)) {
            let what = format!("PAIRINV and INV of selectors {a} and {b} are a reserved function");
            check.broken("pair-reserved", at, &what, "exchange the two selectors");
        }
    }
    used
}

fn selector(check: &mut Check<'_>, n: usize) {
    let at = format!("TRCRSCTLR{n}");
    let control = check.value(&at);
    let (group, select) = (control >> 16 & 0xf, control & 0xffff);
    if select == 0 {
        let what = "an event uses the selector, and it selects no resource";
        check.broken("selector-empty", &at, what, "select a resource, or use selector 0 or 1");
    }
    let unit = check.unit;
    let pairs = unit.address_pairs();
    let counts = match group {
        0 => (unit.input_selectors(), "external input selector"),
        1 => (unit.pe_inputs(), "PE comparator input"),
        2 => {
            counters_and_states(check, &at, select);
            return;
        }
        3 => (unit.single_shots(), "single-shot comparator"),
        4 => (pairs.map(|pairs| 2 * pairs), "address comparator"),
        5 => (pairs, "address range comparator"),
        6 => (unit.context_comparators(), "context identifier comparator"),
        7 => (unit.vmid_comparators(), "virtual machine identifier comparator"),
        _ => {
            let what = format!("group {group} is reserved");
            check.broken("selector-group", &at, &what, "write a GROUP of 0 to 7");
            return;
        }
    };
    let (count, what) = counts;
    let missing = bits(select).find(|n| count.is_some_and(|count| *n >= usize::from(count)));
    if let Some(n) = missing {
        let what = format!("{what} {n} is selected, and the unit does not have it");
        check.broken("selector-resource", &at, &what, "select one that it has");
    }
    for n in bits(select).filter(|n| missing != Some(*n)) {
        match group {
            0 => {
                let ete = unit.version.is_ete();
                let name = if ete { format!("TRCEXTINSELR{n}") } else { "TRCEXTINSELR".to_owned() };
                if !check.known(&name) {
                    let what = format!("{at} uses the input, and its event is not programmed");
                    check.broken("input-not-programmed", &name, &what, "write the event number");
                }
            }
            3 => {
                for name in [format!("TRCSSCCR{n}"), format!("TRCSSCSR{n}")] {
                    if !check.known(&name) {
                        let what = format!("{at} uses the comparator, and this is not programmed");
                        check.broken("single-shot-not-programmed", &name, &what, "write it");
                    }
                }
            }
            _ => {}
        }
    }
}

fn counters_and_states(check: &mut Check<'_>, at: &str, select: u64) {
    let counters = check.unit.counters();
    for n in bits(select & 0xf) {
        if counters.is_some_and(|count| n >= usize::from(count)) {
            let what = format!("counter {n} is selected, and the unit does not have it");
            check.broken("selector-resource", at, &what, "select a counter that it has");
            continue;
        }
        for stem in ["TRCCNTVR", "TRCCNTCTLR", "TRCCNTRLDVR"] {
            let name = format!("{stem}{n}");
            if !check.known(&name) {
                let what = format!("{at} uses the counter, and the register is not programmed");
                check.broken("counter-not-programmed", &name, &what, "write it");
            }
        }
    }
    if select & 0xf0 == 0 {
        return;
    }
    if check.unit.sequencer() == Some(false) {
        let what = "a state of the sequencer is selected, and the unit has no sequencer";
        check.broken("selector-resource", at, what, "use a counter");
        return;
    }
    for name in ["TRCSEQEVR0", "TRCSEQEVR1", "TRCSEQEVR2", "TRCSEQRSTEVR", "TRCSEQSTR"] {
        if !check.known(name) {
            let what = format!("{at} uses the sequencer, and the register is not programmed");
            check.broken("sequencer-not-programmed", name, &what, "write it");
        }
    }
}

fn counters(check: &mut Check<'_>) {
    for n in [0, 2] {
        let at = format!("TRCCNTCTLR{n}");
        if check.value(&at) >> 17 & 1 != 0 {
            let what = "CNTCHAIN is on in a counter with an even number";
            check.broken("chain-of-even", &at, what, "chain counter 1 to 0, or counter 3 to 2");
        }
    }
}

fn single_shots(check: &mut Check<'_>) {
    for n in 0..8 {
        let [control, status, _] = check.settings.single_shots.get(n).copied().unwrap_or_default();
        let used = control & 0x00ff_ffff != 0;
        if used && status >> 31 & 1 != 0 && control >> 24 & 1 == 0 {
            let at = format!("TRCSSCSR{n}");
            let what = "STATUS is 1 and the comparator matches once, so it does not match again";
            check.broken("single-shot-fired", &at, what, "write 0 to STATUS, or set RST");
        }
    }
}

fn event_effects(check: &mut Check<'_>) {
    let [selected, effect] = check.settings.events;
    let atb = effect >> 11 & 1 != 0;
    if atb && check.unit.atb_trigger() == Some(false) {
        let what = "ATB is on, and the unit has no ATB trigger";
        check.broken("trigger-missing", "TRCEVENTCTL1R", what, "write 0 to ATB");
    }
    let count = check.unit.events();
    for n in 0..4u8 {
        let traced = effect >> n & 1 != 0;
        if traced && count.is_some_and(|count| n >= count) {
            let what = format!("event {n} is traced, and the unit does not have it");
            check.broken("event-missing", "TRCEVENTCTL1R", &what, "write 0 to its bit of INSTEN");
            continue;
        }
        let never = Event::new(selected >> (8 * n) & 0xff).constant() == Some(false);
        let effective = traced || n == 0 && atb;
        if effective && never && has(check.unit, "TRCEVENTCTL0R") {
            let what = format!("event {n} has an effect, and it is FALSE");
            check.broken("event-never", "TRCEVENTCTL0R", &what, "select a resource for it");
        }
    }
}
