//! See `tracewright_fuzz::units::units`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tracewright_fuzz::units::units(data));
