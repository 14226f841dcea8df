//! See `tracewright_fuzz::packets::packets`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tracewright_fuzz::packets::packets(data));
