//! The limits of what a capture may contain. They bound the memory and the time that reading it
//! takes; `docs/limits.md` lists them.

/// The size in bytes of a file that describes a capture: an ini file or a `capture.toml`.
pub const MAX_DESCRIPTION: u64 = 1 << 20;
/// The size in bytes of all files that describe a capture. A file that is read repeatedly counts
/// each time.
pub const MAX_DESCRIPTIONS: u64 = 8 << 20;
/// The number of headers of tables, of dots between keys and of inline tables of a `capture.toml`:
/// each makes a table, which takes up to 1.6 KB.
#[cfg(feature = "toml")]
pub(crate) const MAX_TABLES: usize = 1 << 15;
/// The size in bytes of a file of parameters.
pub const MAX_PARAMETERS: u64 = 1 << 20;
/// The size in bytes of all files of program memory, and of other files that are read into memory
/// as a whole.
pub const MAX_MEMORY: u64 = 4 << 30;
/// The size in bytes of a recording of levels, of its unpacked samples, and of what the port sends.
pub const MAX_LEVELS: u64 = 1 << 30;
/// The unpacked samples of a recording, in bytes: of any file, and for each byte of the file in
/// addition.
pub(crate) const MAX_SAMPLES: (u64, u64) = (1 << 28, 64);
/// The number of devices.
pub const MAX_DEVICES: usize = 1 << 12;
/// The number of files of program memory.
pub const MAX_DUMPS: usize = 1 << 14;
/// The number of files of trace data in all buffers.
pub const MAX_FILES: usize = 1 << 16;
/// The size in bytes of files of trace data that a capture names again, beyond the size of all
/// files of trace data.
pub const MAX_REPEATED: u64 = 1 << 18;
/// The number of links from sources to buffers.
pub const MAX_LINKS: usize = 1 << 20;
/// The number of pages in the scatter-gather list of an ETR: 256 MiB.
pub const MAX_PAGES: usize = 1 << 16;
/// The number of bytes that are compared to find dumps that contain different bytes for an address.
pub(crate) const MAX_COMPARED: u64 = 1 << 31;
/// The number of pairs of dumps that are compared.
pub(crate) const MAX_PAIRS: usize = 1 << 22;
/// The number of notes of one kind; further problems of the kind are counted.
pub const MAX_NOTES: usize = 100;
/// The number of malformed lines of a file that have a note each; further lines are counted.
pub(crate) const MAX_MALFORMED: usize = 8;
/// The number of bytes of a text of the capture in a note.
pub(crate) const MAX_SHOWN: usize = 200;
