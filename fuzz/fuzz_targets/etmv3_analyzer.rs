//! See `tracewright_model::etmv3_differential`.
#![no_main]

use tracewright_model::etmv3_differential::{Trial, check};

libfuzzer_sys::fuzz_target!(|data: [u8; 8]| {
    let seed = u64::from_le_bytes(data);
    let trial = if seed & 1 == 0 { Trial::legal(seed) } else { Trial::damaged(seed) };
    if let Err(difference) = check(&trial) {
        panic!("seed {seed}: {difference}");
    }
});
