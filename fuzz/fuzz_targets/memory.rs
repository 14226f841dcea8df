//! See `tracewright_fuzz::properties::memory`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tracewright_fuzz::properties::memory(data));
