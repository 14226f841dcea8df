//! See `tracewright_model::differential`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: [u8; 8]| {
    tracewright_model::differential::check(u64::from_le_bytes(data));
});
