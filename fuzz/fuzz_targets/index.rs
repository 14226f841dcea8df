//! See `tracewright_fuzz::index::index`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tracewright_fuzz::index::index(data));
