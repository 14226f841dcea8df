//! See `tracewright_fuzz::etrace` and `tracewright_fuzz::etrace_flow`.
#![no_main]

use tracewright_fuzz::cases::taken_mostly_once;
use tracewright_fuzz::{etrace, etrace_flow};

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    etrace::etrace(data, taken_mostly_once);
    if let Some(seed) = data.first_chunk() {
        etrace_flow::etrace_flow(u64::from_le_bytes(*seed));
    }
});
