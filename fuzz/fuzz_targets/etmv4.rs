//! See `tracewright_fuzz::etmv4`.
#![no_main]

use tracewright_fuzz::cases::taken_mostly_once;
use tracewright_fuzz::etmv4;

libfuzzer_sys::fuzz_target!(|data: &[u8]| etmv4::etmv4(data, taken_mostly_once));
