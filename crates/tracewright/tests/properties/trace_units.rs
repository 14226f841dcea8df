//! Made-up programs through trace units of ETMv1 and ETMv2 and back: the properties of
//! `fuzz/src/cycles.rs`, for a short while.

use crate::cycles;

/// How often each property is tried.
fn times() -> u64 {
    tracewright_testing::times(24)
}

#[test]
fn there_and_back() {
    for seed in 0..times() {
        cycles::round_trip(seed * 77 + 1, 400);
    }
    for seed in 0..times() / 20 {
        cycles::round_trip(seed * 77 + 5, 8000);
    }
}

#[test]
fn parts_of_captures() {
    for seed in 0..times() {
        cycles::parts(seed * 79 + 3, 600);
    }
    for seed in 0..times() / 6 {
        cycles::parts(seed * 79 + 5, 12000);
    }
}

#[test]
fn overflows() {
    for seed in 0..times() * 2 {
        cycles::overflow(seed * 83 + 5, 1000);
    }
}

/// What the properties try: every status, every packet and every reason of an ETMv2.
#[test]
fn everything_is_tried() {
    let mut words: Vec<String> =
        (0..120).flat_map(|seed| cycles::kinds(seed * 91 + 1, 600)).collect();
    words.sort();
    words.dedup();
    let want = [
        "DE",
        "DN",
        "DW",
        "IE",
        "IN",
        "Offset",
        "PNDE",
        "PNDN",
        "PNIE",
        "PNIN",
        "PTDE",
        "PTDN",
        "PTIE",
        "PTIN",
        "TD",
        "TFO Debug",
        "TFO Enabled",
        "TFO Periodic",
        "WT",
        "branch",
        "context",
        "data",
        "in progress Debug",
        "in progress Enabled",
        "late",
        "load",
        "value",
    ];
    for word in want {
        assert!(words.iter().any(|w| w == word), "{word} is not in {words:?}");
    }
    assert!(!words.iter().any(|w| w == "Lost" || w == "Stray"), "{words:?}");
}
