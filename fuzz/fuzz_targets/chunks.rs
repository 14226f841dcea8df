//! See `tracewright_fuzz::properties::chunks`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tracewright_fuzz::properties::chunks(data));
