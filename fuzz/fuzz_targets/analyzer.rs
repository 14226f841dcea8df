//! See `tracewright_model::differential`.
#![no_main]

use tracewright_model::differential::{Trial, check};

libfuzzer_sys::fuzz_target!(|data: [u8; 8]| {
    let seed = u64::from_le_bytes(data);
    if let Err(difference) = check(&Trial::of_seed(seed)) {
        panic!("seed {seed}: {difference}");
    }
});
