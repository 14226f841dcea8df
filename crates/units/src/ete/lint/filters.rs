//! Which instructions are traced: TRCVICTLR, ranges, start and stop points, comparators.

use super::{Check, bits};
use crate::ete::settings::Event;

pub(super) fn check(check: &mut Check<'_>) {
    view(check);
    points(check);
    comparators(check);
    identifiers(check);
}

fn view(check: &mut Check<'_>) {
    let Some(view) = check.settings.view else {
        if check.known("TRCCONFIGR") {
            let what = "the register must be programmed: it selects what is traced";
            check.broken("view-missing", "TRCVICTLR", what, "write 0x201 to trace everything");
        }
        return;
    };
    let at = "TRCVICTLR";
    match Event::new(view & 0xff).constant() {
        Some(false) => {
            let what = "the ViewInst event is FALSE, and nothing is traced";
            check.broken("view-event-false", at, what, "write 1, the selector that is TRUE");
        }
        None => {
            let what = "ViewInst is precise only where its event is TRUE";
            let remedy = "select by ranges or start and stop points, or accept some more or fewer \
                          instructions";
            check.broken("view-imprecise", at, what, remedy);
        }
        Some(true) => {}
    }
    // A level of Realm state is excluded where its bit is that of the Non-secure level.
    let excluded = |bit: u64| view >> (16 + bit) & 1 != 0;
    let all = (0..7).all(excluded) && (0..3).all(|el| excluded(4 + el) != excluded(8 + el));
    if all {
        let what = "every exception level is excluded, and nothing is traced";
        check.broken("levels-excluded", at, what, "clear the bit of a level");
    }
    if view >> 11 & 1 != 0 && check.unit.forced_errors() == Some(false) {
        let what = "TRCERR is on, and the unit does not implement it";
        check.broken("forced-errors-missing", at, what, "write 0 to TRCERR");
    }
    let starts = check.settings.start_stop & 0xffff | check.settings.pe_start_stop & 0xff;
    let known = check.known("TRCVISSCTLR") || check.unit.address_pairs() == Some(0);
    if view >> 9 & 1 == 0 && starts == 0 && known {
        let what = "start/stop is stopped and nothing starts it, so nothing is traced";
        check.broken("stopped", at, what, "set SSSTATUS, or select a start point");
    }
}

fn points(check: &mut Check<'_>) {
    for (register, value, width) in [
        ("TRCVISSCTLR", check.settings.start_stop, 16),
        ("TRCVIPCSSCTLR", check.settings.pe_start_stop, 8),
    ] {
        let both = value & (value >> 16) & ((1 << width) - 1);
        for n in bits(both) {
            let what = format!("comparator {n} starts and stops tracing");
            check.broken("start-is-stop", register, &what, "use two comparators");
        }
    }
    // Of two comparators, the one with the lower address has the lower number.
    let used = check.settings.start_stop & 0xffff | check.settings.start_stop >> 16 & 0xffff;
    let known = bits(used).filter(|n| check.known(&format!("TRCACVR{n}")));
    let address = |n: usize| check.settings.addresses.get(n).map_or(0, |[address, _]| *address);
    let known: Vec<(usize, u64)> = known.map(|n| (n, address(n))).collect();
    let unordered = known.windows(2).find_map(|pair| match pair {
        [(a, first), (b, second)] if first > second => Some((*a, *b)),
        _ => None,
    });
    if let Some((a, b)) = unordered.filter(|_| check.unit.version.is_ete()) {
        let what = format!("comparator {a} has a higher address than comparator {b}");
        let remedy = "give the comparators with the lower addresses the lower numbers";
        check.broken("points-unordered", "TRCVISSCTLR", &what, remedy);
    }
}

/// The registers that select address range comparators and single address comparators.
fn selections(check: &Check<'_>) -> Vec<(String, u64, u64)> {
    let settings = &check.settings;
    let mut all = vec![
        ("TRCVIIECTLR".to_owned(), settings.ranges & 0xff | settings.ranges >> 16 & 0xff, 0),
        ("TRCBBCTLR".to_owned(), check.value("TRCBBCTLR") & 0xff, 0),
        ("TRCQCTLR".to_owned(), check.value("TRCQCTLR") & 0xff, 0),
        (
            "TRCVISSCTLR".to_owned(),
            0,
            settings.start_stop & 0xffff | settings.start_stop >> 16 & 0xffff,
        ),
    ];
    for (n, [control, ..]) in settings.single_shots.iter().enumerate() {
        all.push((format!("TRCSSCCR{n}"), control >> 16 & 0xff, control & 0xffff));
    }
    for (n, control) in settings.selectors.iter().enumerate() {
        match control >> 16 & 0xf {
            4 => all.push((format!("TRCRSCTLR{n}"), 0, control & 0xffff)),
            5 => all.push((format!("TRCRSCTLR{n}"), control & 0xff, 0)),
            _ => {}
        }
    }
    all
}

fn comparators(check: &mut Check<'_>) {
    let (mut ranges, mut singles) = (0u64, 0u64);
    let pairs = check.unit.address_pairs().map(usize::from);
    for (register, range, single) in selections(check) {
        let missing = bits(range).find(|n| pairs.is_some_and(|pairs| *n >= pairs));
        let missing = missing.map(|n| format!("address range comparator {n}"));
        let other = bits(single).find(|n| pairs.is_some_and(|pairs| *n >= 2 * pairs));
        let other = other.map(|n| format!("address comparator {n}"));
        for what in missing.into_iter().chain(other) {
            let what = format!("{what} is selected, and the unit does not have it");
            check.broken("comparator-missing", &register, &what, "select one that it has");
        }
        ranges |= range;
        singles |= single;
    }
    for n in bits(ranges) {
        range(check, n);
        let shared = singles >> (2 * n) & 3 != 0;
        if shared {
            let at = format!("TRCACVR{}", 2 * n);
            let what = "the comparator is half of a range and a single address";
            check.broken("comparator-shared", &at, what, "use another comparator");
        }
    }
    for n in bits(singles) {
        programmed(check, n);
    }
    covers(check);
}

/// Whether comparator n is programmed.
fn programmed(check: &mut Check<'_>, n: usize) -> bool {
    let mut known = true;
    for name in [format!("TRCACVR{n}"), format!("TRCACATR{n}")] {
        if !check.known(&name) {
            let what = "the comparator is selected, and the register is not programmed";
            check.broken("comparator-not-programmed", &name, what, "write it");
            known = false;
        }
    }
    known
}

fn range(check: &mut Check<'_>, n: usize) {
    let (low, high) = (2 * n, 2 * n + 1);
    if !(programmed(check, low) && programmed(check, high)) {
        return;
    }
    let of = |n: usize| check.settings.addresses.get(n).copied().unwrap_or_default();
    let ([first, attributes], [last, other]) = (of(low), of(high));
    let at = format!("TRCACVR{low}");
    if first > last {
        let what = format!("the range begins at {first:#x} and ends at {last:#x}");
        check.broken(
            "range-reversed",
            &at,
            &what,
            "write the lower address to the even comparator",
        );
    }
    if attributes != other {
        let at = format!("TRCACATR{low}");
        let what =
            format!("the halves of a range compare differently: {attributes:#x}, {other:#x}");
        check.broken("range-attributes", &at, &what, "write the same value to both");
    }
}

/// Include ranges that an exclude range covers.
fn covers(check: &mut Check<'_>) {
    let span = |n: usize| {
        let of = |n: usize| check.settings.addresses.get(n).copied().unwrap_or_default();
        let ([first, attributes], [last, _]) = (of(2 * n), of(2 * n + 1));
        (first, last, attributes)
    };
    let control = check.settings.ranges;
    let (include, exclude) = (bits(control & 0xff), bits(control >> 16 & 0xff));
    if control & 0xff == 0 {
        return;
    }
    let covered = include.clone().all(|n| {
        let (first, last, _) = span(n);
        exclude.clone().any(|m| {
            let (from, to, attributes) = span(m);
            from <= first && last <= to && attributes == 0
        })
    });
    if covered {
        let what = "exclude ranges cover every include range, and nothing is traced";
        check.broken("exclude-covers", "TRCVIIECTLR", what, "make the exclude ranges smaller");
    }
}

/// Identifier comparators of address comparators, and their masks.
fn identifiers(check: &mut Check<'_>) {
    for n in 0..16 {
        let [_, attributes] = check.settings.addresses.get(n).copied().unwrap_or_default();
        let number = (attributes >> 4 & 7) as u8;
        for (bit, register, count) in [
            (2, "TRCCIDCVR", check.unit.context_comparators()),
            (3, "TRCVMIDCVR", check.unit.vmid_comparators()),
        ] {
            if attributes >> bit & 1 == 0 {
                continue;
            }
            let name = format!("{register}{number}");
            let missing = count.is_some_and(|count| number >= count);
            let unknown = !check.known(&name);
            if missing || unknown {
                let what = match missing {
                    true => format!("{name} must match, and the unit does not have it"),
                    false => format!("{name} must match, and it is not programmed"),
                };
                let at = format!("TRCACATR{n}");
                check.broken("context-comparator", &at, &what, "select a comparator and write it");
            }
        }
    }
    let sets = [("TRCCIDCVR", check.settings.contexts), ("TRCVMIDCVR", check.settings.vmids)];
    for (register, comparators) in sets {
        for (n, [value, mask]) in comparators.into_iter().enumerate() {
            let masked: u64 = bits(mask & 0xf).map(|byte| 0xff << (8 * byte)).sum();
            if value & masked != 0 {
                let what = format!("bytes of {value:#x} are not compared and are not 0");
                let at = format!("{register}{n}");
                check.broken("masked-value", &at, &what, "write 0 to bytes that are masked");
            }
        }
    }
}
