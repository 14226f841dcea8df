//! See `tracewright_fuzz::properties::round_trip`.
#![no_main]

use tracewright_fuzz::cases::taken_mostly_once;
use tracewright_fuzz::properties;

libfuzzer_sys::fuzz_target!(|data: &[u8]| properties::round_trip(data, taken_mostly_once));
