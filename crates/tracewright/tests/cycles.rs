//! Made-up programs through trace units of ETMv1 and ETMv2 and back: the properties of `fuzz/src/cycles.rs`,
//! for a short while.
#![forbid(unsafe_code)]
#![allow(dead_code, reason = "the properties have more than each test needs")]

#[path = "cases/case.rs"]
mod case;
#[path = "../../../fuzz/src/cycles.rs"]
mod cycles;
#[path = "../../../fuzz/src/properties.rs"]
mod properties;
#[path = "../../../fuzz/src/script.rs"]
mod script;
#[path = "cases/stretches.rs"]
mod stretches;
#[path = "cases/ways.rs"]
mod ways;

/// How often each property is tried: `TRACEWRIGHT_TIMES`, or so often.
fn times() -> u64 {
    std::env::var("TRACEWRIGHT_TIMES").ok().and_then(|n| n.parse().ok()).unwrap_or(60)
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
