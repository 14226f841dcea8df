//! See `tracewright_fuzz::cycles`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: [u8; 10]| {
    let (seed, len) = data.split_at(8);
    let seed = u64::from_le_bytes(seed.try_into().unwrap_or_default());
    let len = usize::from(len[0]) << 4 | usize::from(len[1] & 0xf);
    tracewright_fuzz::cycles::round_trip(seed, len);
    tracewright_fuzz::cycles::parts(seed, len.max(16));
    tracewright_fuzz::cycles::overflow(seed, len);
});
