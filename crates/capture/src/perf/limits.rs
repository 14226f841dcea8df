//! The limits of what a `perf.data` file may contain. `docs/limits.md` lists them.

/// The number of records that are not trace.
pub const MAX_RECORDS: usize = 1 << 22;
/// The memory in bytes of all records that are not trace, beside [`RECORD_MEMORY`] for each byte of
/// the file. A record takes its bytes and about 250 more.
pub const MAX_RECORD_MEMORY: u64 = 1 << 28;
/// The memory in bytes of records for each byte of the file.
pub const RECORD_MEMORY: u64 = 2;
/// The size in bytes of all feature sections.
pub const MAX_FEATURES: u64 = 64 << 20;
/// The number of events.
pub const MAX_ATTRS: u64 = 1 << 12;
/// The size in bytes that all compressed records unpack to.
pub const MAX_UNPACKED: u64 = 1 << 30;
/// The size in bytes that all compressed trace unpacks to: at least, for each byte of the file, and
/// at most.
pub const UNPACKED_TRACE: (u64, u64, u64) = (1 << 27, 8, 1 << 29);
/// The number of files `data.N` of the directory form.
pub const MAX_DATA_FILES: usize = 1 << 12;
/// The number of AUX records with trace: each is a buffer of the capture.
pub const MAX_PIECES: usize = 1 << 18;
/// The number of parts of all AUX records: an AUX record has one for each AUXTRACE record.
pub const MAX_PARTS: usize = 1 << 19;
/// How often the bytes of trace may be announced, on average, by AUX records of snapshots.
pub const MAX_REPEATS: u64 = 8;
/// The number of links from trace units to AUX records.
pub const MAX_LINKS: usize = 1 << 19;
/// The number of changes of address spaces, and of the regions of memory in them. A process that is
/// forked has those of its parent.
pub const MAX_CHANGES: usize = 1 << 20;
/// The number of mapped files.
pub const MAX_MODULES: usize = 1 << 16;
/// The number of buffers of one CPU or thread whose trace is distinguished by events.
pub const MAX_LAYERS: usize = 1 << 6;
/// The most bytes that a compressed module of the kernel unpacks to.
pub const UNPACKED_MODULE: u64 = 1 << 26;

/// The size in bytes that the messages of a branch list unpack to: at least, for each byte of the
/// list, and at most.
pub const UNPACKED_LIST: (u64, u64, u64) = (1 << 25, 16, 1 << 29);
/// The number of program files of a branch list.
pub const MAX_LISTED: usize = 1 << 14;
/// The number of sequences of branches of a branch list.
pub const MAX_SEQUENCES: usize = 1 << 22;
/// The number of samples of a branch record buffer, and of their branches, of a branch list.
pub const MAX_LISTED_BRANCHES: usize = 1 << 24;

/// A number of bytes that may be used, for all parts of a file together.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Budget {
    limit: u64,
    left: u64,
}

impl Budget {
    pub(super) fn new(limit: u64) -> Budget {
        Budget { limit, left: limit }
    }

    /// The bytes that compressed trace in a file of `len` bytes may unpack to.
    pub(super) fn of_trace(len: u64) -> Budget {
        Budget::of(UNPACKED_TRACE, len)
    }

    /// The bytes that the messages of a branch list of `len` bytes may unpack to.
    pub(super) fn of_list(len: u64) -> Budget {
        Budget::of(UNPACKED_LIST, len)
    }

    fn of((least, each, most): (u64, u64, u64), len: u64) -> Budget {
        Budget::new(len.saturating_mul(each).saturating_add(least).min(most))
    }

    pub(super) fn limit(&self) -> u64 {
        self.limit
    }

    /// Uses `count` bytes. Returns `false` where they are not left.
    pub(super) fn take(&mut self, count: u64) -> bool {
        match self.left.checked_sub(count) {
            Some(left) => self.left = left,
            None => return false,
        }
        true
    }
}
