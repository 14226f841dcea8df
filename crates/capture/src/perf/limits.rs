//! The limits of what a `perf.data` file may contain. `docs/limits.md` lists them.

/// The number of records that are not trace.
pub const MAX_RECORDS: usize = 1 << 22;
/// The size in bytes of all records that are not trace.
pub const MAX_RECORD_BYTES: u64 = 1 << 30;
/// The size in bytes of all feature sections.
pub const MAX_FEATURES: u64 = 64 << 20;
/// The number of events.
pub const MAX_ATTRS: u64 = 1 << 12;
/// The size in bytes that the compressed records, or one compressed piece of trace, unpack to.
pub const MAX_UNPACKED: u64 = 1 << 30;
/// The number of files `data.N` of the directory form.
pub const MAX_DATA_FILES: usize = 1 << 12;
/// The number of AUX records with trace: each is a buffer of the capture.
pub const MAX_PIECES: usize = 1 << 18;
