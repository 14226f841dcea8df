//! Captures on disk: Arm snapshots and raw buffers, read and written.
//!
//! A capture is what a trace tool left behind: buffers of trace, the sources that wrote into them with
//! the registers that configured each, the cores that they watched, and dumps of memory. [`open`] reads
//! one; [`Capture::raw`] makes one from a bare file and what the user knows of it; [`write()`] writes one as a
//! snapshot that reads back equal. Nothing here knows what a register means: that is the
//! protocols' to say.
//!
//! | file | holds |
//! |---|---|
//! | `capture.rs` | [`Capture`], and which memory and which buffers belong to a source |
//! | `buffer.rs`, `device.rs`, `dump.rs` | what a capture is made of |
//! | `pipe.rs` | trace that comes through a pipe |
//! | `core_type.rs` | a core's name to its [`tracewright_base::CoreType`]: a table |
//! | `probe.rs` | what a path is, by its content |
//! | `ini.rs` | the ini files of snapshots, with line numbers |
//! | `snapshot/` | an Arm snapshot, read and written |
//! | `folder.rs` | a folder described by `capture.toml`, read and written |
//! | `raw.rs` | bare bytes, and images beside a capture |
//! | `plain.rs` | text from files, fit to be shown |
//! | `problem.rs` | [`OpenError`] and [`Note`]: where, what, and what to do |
//!
//! What is wrong with one device or one file is a [`Note`] in the capture; the rest is still read.
//! An [`OpenError`] means that nothing can be decoded.
//!
//! ```
//! use tracewright_capture::{
//!     Buffer, BufferRef, Capture, Format, Registers, Source, open, write_over,
//! };
//!
//! let capture = Capture {
//!     buffers: vec![Buffer::new("swo", Format::SourceData, vec![0x01, 0x2a])],
//!     sources: vec![Source {
//!         name: "ITM_0".into(),
//!         device_type: "ITM".into(),
//!         registers: Registers::from_iter([("ITMTCR", 0x10009)]),
//!         buffers: vec![BufferRef { buffer: 0, stream: None }],
//!         ..Source::default()
//!     }],
//!     ..Capture::default()
//! };
//! let folder = std::env::temp_dir().join(format!("tracewright-{}", std::process::id()));
//! write_over(&capture, &folder)?;
//! assert_eq!(open(&folder)?, capture);
//! # std::fs::remove_dir_all(&folder).unwrap();
//! # Ok::<(), tracewright_capture::OpenError>(())
//! ```
#![forbid(unsafe_code)]

pub mod buffer;
pub mod capture;
pub mod core_type;
pub mod cycles;
pub mod device;
pub mod dump;
#[cfg(feature = "toml")]
pub mod folder;
pub mod ini;
pub mod probe;
pub mod problem;
pub mod raw;
pub mod snapshot;

mod files;
mod number;
mod pipe;
mod plain;
mod spool;
mod stream;

pub use buffer::{Buffer, File, Format};
pub use capture::{Capture, Cluster, Kind};
pub use core_type::core_type;
pub use device::{BufferRef, Core, Other, Register, Registers, Source, Text};
pub use dump::{Dump, Form, Owner};
pub use pipe::{Pipe, PipeReader};
pub use probe::{Found, probe};
pub use problem::{Note, OpenError, Origin, Severity, Wrong};
pub use raw::Raw;
pub use snapshot::{write, write_over};
pub use spool::Spool;
pub use stream::stream;
pub use tracewright_image::Bytes;

use std::path::Path;

/// Reads the capture at `path`: a snapshot's folder, its `snapshot.ini`, or another of its ini files; a
/// folder with a `capture.toml`, or that file; a file of one trace port's [`cycles`].
///
/// # Errors
/// [`OpenError`] where nothing can be decoded, or where the path is no capture.
pub fn open(path: &Path) -> Result<Capture, OpenError> {
    match probe(path)? {
        Found::Snapshot(index) => snapshot::read(path, &index),
        #[cfg(feature = "toml")]
        Found::Folder(index) => folder::read(path, &index),
        #[cfg(not(feature = "toml"))]
        Found::Folder(index) => {
            let what = "this build cannot read it: it lacks the feature `toml`";
            Err(OpenError::new(&index, Wrong::Toml(what.to_owned())))
        }
        Found::Cycles(form) => cycles::read(path, form),
        Found::Perf => Err(OpenError::new(path, Wrong::Perf)),
        Found::Program => Err(OpenError::new(path, Wrong::Program)),
        Found::Raw => Err(OpenError::new(path, Wrong::NeedsProtocol)),
    }
}
