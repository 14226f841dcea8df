//! See `tracewright_fuzz::perf`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tracewright_fuzz::perf::file(data));
