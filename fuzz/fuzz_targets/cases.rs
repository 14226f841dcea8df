//! See `tracewright_fuzz::cases`.
#![no_main]

use std::sync::LazyLock;

use tracewright_fuzz::case::Case;
use tracewright_fuzz::cases::{damaged, taken_mostly_once};

static CASES: LazyLock<Vec<Case>> = LazyLock::new(|| {
    let all = Case::all().into_iter();
    all.map(|(name, case)| case.unwrap_or_else(|error| panic!("{name}: {error}"))).collect()
});

libfuzzer_sys::fuzz_target!(|data: &[u8]| damaged(&CASES, data, taken_mostly_once));
