//! See `tracewright_fuzz::etrace`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tracewright_fuzz::etrace::harts(data));
