//! The tables of the architecture, row by row.

use super::super::{
    Controls, Event, Fault, Features, Level, Limit, Owner, Regime, Security, Stage, Status, Trbe,
};

/// The values that a pattern stands for: `X` is 0 and 1.
fn values(pattern: &str) -> Vec<u64> {
    match pattern.find('X') {
        None => vec![u64::from_str_radix(pattern, 2).unwrap()],
        Some(at) => ["0", "1"]
            .iter()
            .flat_map(|bit| values(&format!("{}{bit}{}", &pattern[..at], &pattern[at + 1..])))
            .collect(),
    }
}

/// Every combination of the values of the patterns.
fn combinations(patterns: &[&str]) -> Vec<Vec<u64>> {
    let Some((first, rest)) = patterns.split_first() else { return vec![Vec::new()] };
    let rest = combinations(rest);
    let each = values(first).into_iter();
    each.flat_map(|value| {
        rest.iter().map(move |others| [&[value][..], others].concat()).collect::<Vec<_>>()
    })
    .collect()
}

/// Table D6-1, RYCHKJ, RBGLHT, RFRHXV: E, TRBSR_EL1.S, TRBEE, TRBSR_EL3.S, TRFCR_EL2.EE,
/// TRBSR_EL2.S, and whether the unit is running.
#[test]
fn d6_1_running() {
    let mut covered = 0;
    for (row, running) in [
        (["0", "X", "XX", "X", "XX", "X"], false),
        (["1", "0", "00", "X", "XX", "X"], true),
        (["1", "0", "01", "X", "0X", "X"], true),
        (["1", "0", "01", "X", "1X", "0"], true),
        (["1", "0", "01", "X", "1X", "1"], false),
        (["1", "0", "1X", "0", "0X", "X"], true),
        (["1", "0", "1X", "0", "1X", "0"], true),
        (["1", "0", "1X", "0", "1X", "1"], false),
        (["1", "0", "1X", "1", "XX", "X"], false),
        (["1", "1", "XX", "X", "XX", "X"], false),
    ] {
        for fields in combinations(&row) {
            let [enable, s1, trbee, s3, ee, s2] = fields[..] else { panic!() };
            let mut unit = Trbe {
                features: Features {
                    exceptions: true,
                    el2: true,
                    el3: true,
                    ..Features::default()
                },
                limit: Limit(enable),
                status: [s1, s2, s3].map(|s| Status(s * Status::S)),
                ..Trbe::default()
            };
            unit.controls.mdcr_el3 |= trbee << 53;
            unit.controls.trfcr_el2 = ee << 8;
            assert_eq!(unit.is_running(), running, "{row:?} {fields:?}");
            assert_eq!(unit.is_stopped(), enable == 1 && !running);
            covered += 1;
            // Without FEAT_TRBE_EXC, only TRBSR_EL1.S counts.
            unit.features.exceptions = false;
            assert_eq!(unit.is_running(), enable == 1 && s1 == 0);
        }
    }
    // The rows are disjoint and cover all values of the eight bits.
    assert_eq!(covered, 256);
}

/// Table D6-2, RHBZNT: NSTBE, NSTB, E2TB, EEL2, E2H, and the owning translation regime.
#[test]
fn d6_2_owner() {
    use Regime::{El1, El2, El2Host};
    use Security::{NonSecure, Realm, Secure};
    for (row, security, regime) in [
        (["0", "0X", "XX", "0", "X"], Secure, El1),
        (["0", "0X", "00", "1", "0"], Secure, El2),
        (["0", "0X", "00", "1", "1"], Secure, El2Host),
        (["0", "0X", "1X", "1", "X"], Secure, El1),
        (["0", "1X", "00", "X", "0"], NonSecure, El2),
        (["0", "1X", "00", "X", "1"], NonSecure, El2Host),
        (["0", "1X", "1X", "X", "X"], NonSecure, El1),
        (["1", "1X", "00", "X", "0"], Realm, El2),
        (["1", "1X", "00", "X", "1"], Realm, El2Host),
        (["1", "1X", "1X", "X", "X"], Realm, El1),
    ] {
        for fields in combinations(&row) {
            let [nstbe, nstb, e2tb, eel2, e2h] = fields[..] else { panic!() };
            if e2tb == 0b01 {
                continue;
            }
            let controls = Controls {
                mdcr_el3: nstbe << 26 | nstb << 24,
                mdcr_el2: e2tb << 24,
                hcr_el2: e2h << 34,
                scr_el3: eel2 << 18 | 1,
                ..Controls::default()
            };
            let owner = controls.owner(true, true);
            assert_eq!(owner, Some(Owner { security, regime }), "{row:?} {fields:?}");
        }
    }
    let reserved = Controls { mdcr_el3: 1 << 26, ..Controls::default() };
    assert_eq!(reserved.owner(true, true), None);
}

const STAGE_1: Fault = Fault { stage: Stage::Stage1, code: 0x07 };
const STAGE_2: Fault = Fault { stage: Stage::Stage2, code: 0x07 };
const GPF_1: Fault = Fault { stage: Stage::Stage1, code: 0x28 };
const GPF_2: Fault = Fault { stage: Stage::Stage2, code: 0x25 };
const GPC: Fault = Fault { stage: Stage::Granule, code: 0 };
const ABORT_1: Fault = Fault { stage: Stage::Stage1, code: 0x15 };
const ABORT_2: Fault = Fault { stage: Stage::Stage2, code: 0x15 };

/// The register that records `event` for TRBEE, SCR_EL3.{GPF, EA}, EE, E2TB, HCR_EL2.{GPF, TEA}.
fn recorded(event: Event, fields: &[u64]) -> Level {
    let [trbee, to_el3, ee, e2tb, to_el2] = *fields else { panic!() };
    let controls = Controls {
        mdcr_el3: trbee << 53 | 0b10 << 24,
        mdcr_el2: e2tb << 24,
        trfcr_el2: ee << 8,
        hcr_el2: to_el2 << 48 | to_el2 << 37,
        scr_el3: to_el3 << 48 | to_el3 << 3 | 1,
        ..Controls::default()
    };
    controls.recorded_in(event, true, true)
}

/// The patterns of a row, and the level that its columns have.
type Row<'a> = ([&'a str; 5], &'a [(Event, u8)]);

fn check_rows(rows: &[Row<'_>]) {
    for (row, columns) in rows {
        for fields in combinations(row) {
            for (event, level) in *columns {
                let want = [Level::El1, Level::El2, Level::El3][usize::from(level - 1)];
                assert_eq!(recorded(*event, &fields), want, "{row:?} {fields:?} {event:?}");
            }
        }
    }
}

/// Three columns of a row.
macro_rules! columns {
    ($a:expr, $b:expr, $c:expr; $x:literal $y:literal $z:literal) => {
        &[($a, $x), ($b, $y), ($c, $z)]
    };
}

/// Table D6-5, RBNQRP: TRBEE, SCR_EL3.GPF, EE, E2TB, HCR_EL2.GPF, and where a granule protection
/// fault of stage 1, one of stage 2, and a GPC fault are recorded.
#[test]
fn d6_5_granule_protection() {
    let [a, b, c] = [GPF_1, GPF_2, GPC].map(Event::Fault);
    check_rows(&[
        (["00", "X", "XX", "XX", "X"], columns!(a, b, c; 1 1 1)),
        (["01", "X", "0X", "XX", "X"], columns!(a, b, c; 1 1 1)),
        (["01", "X", "10", "00", "X"], columns!(a, b, c; 2 2 2)),
        (["01", "X", "10", "1X", "0"], columns!(a, b, c; 1 2 2)),
        (["01", "X", "10", "1X", "1"], columns!(a, b, c; 2 2 2)),
        (["01", "X", "11", "XX", "X"], columns!(a, b, c; 2 2 2)),
        (["10", "0", "0X", "XX", "X"], columns!(a, b, c; 1 1 3)),
        (["10", "0", "10", "00", "X"], columns!(a, b, c; 2 2 3)),
        (["10", "0", "10", "1X", "0"], columns!(a, b, c; 1 2 3)),
        (["10", "0", "10", "1X", "1"], columns!(a, b, c; 2 2 3)),
        (["10", "0", "11", "XX", "X"], columns!(a, b, c; 2 2 3)),
        (["10", "1", "XX", "XX", "X"], columns!(a, b, c; 3 3 3)),
        (["11", "X", "XX", "XX", "X"], columns!(a, b, c; 3 3 3)),
    ]);
}

/// Table D6-6, RBNQRP: TRBEE, SCR_EL3.EA, EE, E2TB, HCR_EL2.TEA, and where an External abort of
/// stage 1 and one of stage 2 are recorded.
#[test]
fn d6_6_external_aborts() {
    let [a, b] = [ABORT_1, ABORT_2].map(Event::Fault);
    check_rows(&[
        (["00", "X", "XX", "XX", "X"], &[(a, 1), (b, 1)]),
        (["01", "X", "0X", "XX", "X"], &[(a, 1), (b, 1)]),
        (["01", "X", "10", "00", "X"], &[(a, 2), (b, 2)]),
        (["01", "X", "10", "1X", "0"], &[(a, 1), (b, 2)]),
        (["01", "X", "10", "1X", "1"], &[(a, 2), (b, 2)]),
        (["01", "X", "11", "XX", "X"], &[(a, 2), (b, 2)]),
        (["10", "0", "0X", "XX", "X"], &[(a, 1), (b, 1)]),
        (["10", "0", "10", "00", "X"], &[(a, 2), (b, 2)]),
        (["10", "0", "10", "1X", "0"], &[(a, 1), (b, 2)]),
        (["10", "0", "10", "1X", "1"], &[(a, 2), (b, 2)]),
        (["10", "0", "11", "XX", "X"], &[(a, 2), (b, 2)]),
        (["10", "1", "XX", "XX", "X"], &[(a, 3), (b, 3)]),
        (["11", "X", "XX", "XX", "X"], &[(a, 3), (b, 3)]),
    ]);
}

/// Table D6-7, RBNQRP: TRBEE, EE, E2TB, and where another abort of stage 1, one of stage 2, and any
/// other event are recorded.
#[test]
fn d6_7_other_events() {
    let [a, b] = [STAGE_1, STAGE_2].map(Event::Fault);
    let c = Event::Other;
    check_rows(&[
        (["00", "X", "XX", "XX", "X"], columns!(a, b, c; 1 1 1)),
        (["01", "X", "0X", "XX", "X"], columns!(a, b, c; 1 1 1)),
        (["01", "X", "10", "00", "X"], columns!(a, b, c; 2 2 1)),
        (["01", "X", "10", "1X", "X"], columns!(a, b, c; 1 2 1)),
        (["01", "X", "11", "XX", "X"], columns!(a, b, c; 2 2 2)),
        (["10", "X", "0X", "XX", "X"], columns!(a, b, c; 1 1 1)),
        (["10", "X", "10", "00", "X"], columns!(a, b, c; 2 2 1)),
        (["10", "X", "10", "1X", "X"], columns!(a, b, c; 1 2 1)),
        (["10", "X", "11", "XX", "X"], columns!(a, b, c; 2 2 2)),
        (["11", "X", "XX", "XX", "X"], columns!(a, b, c; 3 3 3)),
    ]);
}
