//! See `tracewright_fuzz::properties::session`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tracewright_fuzz::properties::session(data));
