//! See `tracewright_fuzz::properties::carried`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tracewright_fuzz::properties::carried(data));
