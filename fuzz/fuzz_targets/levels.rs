//! See `tracewright_fuzz::levels::levels`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tracewright_fuzz::levels::levels(data));
