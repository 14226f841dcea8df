//! Captures on disk: reading and writing of Arm snapshots, described folders and raw trace data.
//!
//! A capture is the output of a trace tool: trace buffers, the trace sources that wrote them with
//! their configuration registers, the traced cores, and dumps of memory. [`open`] reads a capture,
//! [`Capture::raw`] makes one of raw trace data and the user's description, and [`write()`] writes
//! one as a snapshot that reads back equal. The protocols interpret the registers, this crate does
//! not.
//!
//! | file | contents |
//! |---|---|
//! | `capture.rs` | [`Capture`], with the memory and the buffers of a source |
//! | `buffer.rs`, `device.rs`, `dump.rs` | the parts of a capture |
//! | `pipe.rs` | trace data from a pipe |
//! | `spool.rs` | trace data that are written to disk while they are encoded |
//! | `cycles/` | files with the cycles of an ETMv1 or ETMv2 trace port |
//! | `levels/` | recordings of trace port signals |
//! | `live.rs` | trace data that arrive while they are read: connections, serial ports, files that grow |
//! | `gnatcov.rs` | execution traces of GNATcoverage |
//! | `container.rs` | files that are recognised, but hold no trace data as they are |
//! | `core_type.rs` | the table from core names to [`tracewright_base::CoreType`] |
//! | `memory_file/` | trace buffers in memory as text, in records, and in core dumps |
//! | `probe.rs` | detection of formats by content |
//! | `ini.rs` | the ini files of snapshots, with line numbers |
//! | `snapshot/` | reading and writing of Arm snapshots |
//! | `folder/` | reading and writing of folders with a `capture.toml` |
//! | `perf/`, `linux.rs` | `perf.data` of perf and simpleperf, and the system that it describes |
//! | `proto.rs` | messages of protobuf |
//! | `parameters.rs` | parameters of trace sources |
//! | `raw.rs` | raw trace data, and images that the user adds |
//! | `files.rs`, `open_files.rs`, `large_file.rs` | files on the disk and in memory, each opened once |
//! | `exclusive.rs` | [`Exclusive`]: files that several processes may write, with the same bytes |
//! | `read_if.rs` | files of one kind among others, which may be pipes |
//! | `image_source.rs` | files of program memory that are added |
//! | `stamp.rs` | how changes of files are noticed |
//! | `sink/` | trace buffers with registers: where the oldest byte is, and what was lost |
//! | `access.rs`, `limits.rs` | what a capture may refer to, and how much it may contain |
//! | `plain.rs` | removal of control characters from text of files |
//! | `origin.rs`, `problem.rs`, `message.rs` | errors and notes: origin, problem and text |
//!
//! A problem of one device or one file is a [`Note`] in the capture, and the rest is read.
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
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::expect_used, clippy::panic))]
#![cfg_attr(not(test), warn(clippy::todo, clippy::unimplemented, clippy::unreachable))]
#![warn(clippy::print_stdout, clippy::print_stderr, clippy::dbg_macro)]

pub mod access;
pub mod buffer;
mod buffer_file;
pub mod capture;
pub mod container;
pub mod core_type;
pub mod cycles;
pub mod device;
pub mod dump;
#[cfg(feature = "toml")]
pub mod folder;
pub mod gnatcov;
mod growing;
mod image_file;
mod image_source;
mod ini;
pub mod levels;
pub mod limits;
mod linux;
pub mod live;
pub mod memory_file;
pub mod nearest;
pub mod origin;
pub mod perf;
pub mod plain;
pub mod probe;
pub mod problem;
pub mod proto;
pub mod raw;
pub mod sink;
mod sink_registers;
pub mod snapshot;
pub mod stamp;

mod exclusive;
mod files;
mod large_file;
mod message;
mod names;
mod new_folder;
mod notes;
mod number;
mod open_files;
mod parameters;
mod pipe;
mod read_if;
mod replacement;
mod spool;
mod stream;
mod when;

pub use access::Access;
pub use buffer::{Buffer, Format};
pub use buffer_file::File;
pub use capture::{Capture, Cluster, Kind};
pub use container::Container;
pub use core_type::core_type;
pub use device::{BufferRef, Core, Other, Register, Registers, Source, Text};
pub use dump::{Dump, Form, Owner};
pub use exclusive::{Exclusive, ExclusiveError, Written};
pub use files::Files;
pub use growing::{Growing, read_file};
pub use image_source::ImageSource;
pub use linux::{Linux, Part, Queue, QueueTotals, TimeConversion};
pub use memory_file::{BufferAt, MessagesAt, Selection, Swap, may_be_converted};
pub use nearest::expected_names;
pub use new_folder::{NewFolder, check_empty};
pub use open_files::read_regular;
pub use origin::Origin;
pub use pipe::{Pipe, PipeReader};
pub use probe::{Found, probe, probe_in, probe_pipe};
pub use problem::{Conversion, Note, OpenError, Problem, Severity};
pub use raw::Raw;
pub use read_if::{open_if, read_if};
pub use replacement::Replacement;
pub use sink::{Layout, Sink};
pub use sink_registers::assignments;
pub use snapshot::{write, write_over, write_with};
pub use spool::Spool;
pub use stamp::Stamp;
pub use stream::{stream, unpacked};
pub use tracewright_image::{Bytes, Overlay, When};

use std::path::Path;

/// Reads the capture at `path`: the folder of a snapshot or one of its ini files; a folder with a
/// `capture.toml` or that file; a `perf.data` file ([`perf::open`] finds the files of its code); or
/// a file with the [`cycles`] of one trace port.
///
/// # Errors
/// [`OpenError`] where nothing can be decoded, or where the path is not a capture.
pub fn open(path: &Path) -> Result<Capture, OpenError> {
    open_with(path, Access::default())
}

/// As [`open`], of the files of `access`, which may refer to what it allows.
///
/// # Errors
/// As [`open`].
pub fn open_with(path: &Path, access: Access) -> Result<Capture, OpenError> {
    match probe_in(&access.files, path)? {
        Found::Snapshot(index) => snapshot::read(path, &index, access),
        #[cfg(feature = "toml")]
        Found::Folder(index) => folder::read(path, &index, access),
        #[cfg(not(feature = "toml"))]
        Found::Folder(index) => {
            let what = "this build cannot read it: it lacks the feature `toml`";
            Err(OpenError::new(&index, Problem::Toml(what.to_owned())))
        }
        Found::Cycles(form) => cycles::read(&access.files, path, form),
        Found::Perf => {
            perf::open(path, &perf::Search { files: access.files, ..perf::Search::default() })
        }
        Found::Program => Err(OpenError::new(path, Problem::Program)),
        Found::Container(container) => Err(OpenError::new(path, Problem::Container(container))),
        Found::Raw => Err(OpenError::new(path, Problem::NeedsProtocol)),
    }
}
