//! See `tracewright_fuzz::gdb`.
#![no_main]

use std::sync::LazyLock;

use tracewright_fuzz::gdb::{Replayed, gdb};

static REPLAYED: LazyLock<Replayed> =
    LazyLock::new(|| Replayed::open(env!("CARGO_MANIFEST_DIR")));

libfuzzer_sys::fuzz_target!(|data: &[u8]| gdb(&REPLAYED, data));
