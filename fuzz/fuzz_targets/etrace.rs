//! See `tracewright_fuzz::etrace`.
#![no_main]

use tracewright_fuzz::cases::taken_mostly_once;
use tracewright_fuzz::etrace;

libfuzzer_sys::fuzz_target!(|data: &[u8]| etrace::etrace(data, taken_mostly_once));
