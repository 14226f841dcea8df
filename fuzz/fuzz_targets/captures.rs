//! See `tracewright_fuzz::captures::captures`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tracewright_fuzz::captures::captures(data));
