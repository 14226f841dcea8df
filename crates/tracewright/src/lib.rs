//! Processor trace: from captures to what the processor executed, and back.
//!
//! A capture is an Arm snapshot, a folder with a `capture.toml`, a `perf.data` file or folder, a
//! file with the cycles of a trace port, or one made in memory. Decoded, it is a sequence of
//! [`Element`]s: ranges of executed instructions, exceptions, contexts, timestamps, data accesses,
//! software writes.
//!
//! ```
//! # #[cfg(feature = "std")]
//! # {
//! use tracewright::Element;
//!
//! # let snapshot = "../../tests/captures/etmv4/capture";
//! let trace = tracewright::open(snapshot)?;
//! for item in trace.elements()? {
//!     let item = item?;
//!     if let Element::Range(range) = item.element {
//!         println!("{} {range} {:?}", item.offset, trace.symbol(item.source, range.start));
//!     }
//! }
//! # }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`Trace::ranges`], [`Trace::functions`], [`Trace::call_trees`], [`Trace::timelines`],
//! [`Trace::profile`] and [`Trace::coverage`] give a table of functions, a flame graph or a profile
//! for a compiler in a few lines; [`Trace::find`], [`Trace::index`] and [`Trace::history`] search:
//! see the examples. [`itm::PortReader`] reads what software writes
//! to a port of an ITM.
//!
//! [`open_raw`] reads a dump of a trace buffer, of which nothing needs to be known. [`open_files`]
//! and [`from_bytes`] read captures that are not on a disk.
//! [`Trace::decode`] gives the elements to a [`Listener`], which can also receive packets and
//! formatter frames, and returns a [`Summary`]. [`decode::parallel`] decodes one buffer on several
//! threads.
//!
//! A tool may have protocols and trace links of its own ([`protocols::Registry`]), read program
//! memory while it decodes, and classify instructions ([`decode::Memory`]); [`decode::Push`]
//! decodes data as they arrive, for a consumer that may wait, and [`decode::Reports`] has the
//! errors of a level. `docs/decode-tree.md` describes it, and `examples/decode_tree.rs` shows it.
//!
//! A [`Trace`] is `Send` and `Sync`, and each thread may decode it; [`Elements`] is `Send`.
//!
//! # Stability
//!
//! Versions follow semantic versioning. Before 1.0 a minor version may change names and types; the
//! changelog names each change. What is stable: this crate's root, and the output of
//! `--format json` of the command within a version of its schema. The modules that are crates of
//! their own change more often: they are parts of the command. The interface for C has rules of its
//! own, in `docs/c-api.md`. The least version of Rust, 1.88, rises in minor versions only.
//!
//! | feature, on by default | adds |
//! |---|---|
//! | `std` | captures, program images, execution logs, decode sessions and views; without it the crate is `no_std` |
//! | `disassembly` | the text of instructions in listings; without it listings show opcodes |
//! | `toml` | captures that are folders with a `capture.toml` |
#![cfg_attr(not(feature = "std"), no_std)]
#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::expect_used, clippy::panic))]
#![cfg_attr(not(test), warn(clippy::todo, clippy::unimplemented, clippy::unreachable))]
#![warn(clippy::print_stdout, clippy::print_stderr, clippy::dbg_macro)]

#[cfg(feature = "std")]
pub mod encode;

// In line, so that the pages of this crate have each type that they name.
#[cfg(feature = "std")]
#[doc(inline)]
pub use tracewright_analysis as analysis;
#[doc(inline)]
pub use tracewright_base as base;
#[cfg(feature = "std")]
#[doc(inline)]
pub use tracewright_capture as capture;
#[cfg(feature = "std")]
#[doc(inline)]
pub use tracewright_decode as decode;
#[cfg(feature = "std")]
#[doc(inline)]
pub use tracewright_export as export;
#[doc(inline)]
pub use tracewright_frames as frames;
#[cfg(feature = "std")]
#[doc(inline)]
pub use tracewright_image as image;
#[cfg(feature = "std")]
#[doc(inline)]
pub use tracewright_index as index;
#[doc(inline)]
pub use tracewright_isa as isa;
#[cfg(feature = "std")]
#[doc(inline)]
pub use tracewright_logs as logs;
#[cfg(feature = "std")]
#[doc(inline)]
pub use tracewright_opencsd as opencsd;
#[doc(inline)]
pub use tracewright_protocols as protocols;
#[cfg(feature = "std")]
#[doc(inline)]
pub use tracewright_symbols as symbols;
#[doc(inline)]
pub use tracewright_units as units;
#[cfg(feature = "std")]
#[doc(inline)]
pub use tracewright_views as views;

#[cfg(feature = "std")]
mod chunks;
#[cfg(feature = "std")]
mod elements;
#[cfg(feature = "std")]
mod error;
#[cfg(feature = "std")]
pub mod itm;
#[cfg(feature = "std")]
pub mod joined;
#[cfg(feature = "std")]
mod ranges;
#[cfg(feature = "std")]
mod results;
#[cfg(feature = "std")]
pub mod run;
#[cfg(feature = "std")]
mod searches;
#[cfg(feature = "std")]
mod sinks;
#[cfg(feature = "std")]
mod summary;
#[cfg(feature = "std")]
mod trace;

pub use tracewright_base::{Element, Sink};
#[cfg(feature = "std")]
pub use tracewright_capture::{Bytes, Capture, Files, ImageSource, OpenError};
#[cfg(feature = "std")]
pub use tracewright_decode::Listener;

#[cfg(feature = "std")]
pub use elements::{Elements, Item};
#[cfg(feature = "std")]
pub use error::DecodeError;
#[cfg(feature = "std")]
pub use ranges::{ExecutedRange, Ranges};
#[cfg(feature = "std")]
pub use results::{CallStacks, FunctionRow, Functions, Stacked, VisitFrames};
#[cfg(feature = "std")]
pub use searches::{Executed, HistoryItem, Matches, SearchError};
#[cfg(feature = "std")]
pub use summary::Summary;
#[cfg(feature = "std")]
pub use trace::{RawCapture, Trace, from_bytes, open, open_files, open_raw, read_raw};

#[cfg(all(doctest, feature = "std"))]
#[doc = include_str!("../../../README.md")]
struct Readme;

/// Reads the capture at `path` and converts its named parameters to registers. [`Trace::new`]
/// prepares it for decoding.
///
/// # Errors
/// [`OpenError`] with path, section and key, where the capture cannot be read.
#[cfg(feature = "std")]
pub fn read_capture(path: &std::path::Path) -> Result<Capture, OpenError> {
    read_capture_with(path, tracewright_capture::Access::default())
}

/// As [`read_capture`], where the files of the capture may refer to what `access` allows.
///
/// # Errors
/// As [`read_capture`].
#[cfg(feature = "std")]
pub fn read_capture_with(
    path: &std::path::Path,
    access: tracewright_capture::Access,
) -> Result<Capture, OpenError> {
    read_capture_by(path, access, &protocols::Registry::default())
}

/// As [`read_capture_with`], where devices may have the protocols of `protocols`.
///
/// # Errors
/// As [`read_capture`].
#[cfg(feature = "std")]
pub fn read_capture_by(
    path: &std::path::Path,
    mut access: tracewright_capture::Access,
    protocols: &protocols::Registry,
) -> Result<Capture, OpenError> {
    access.formats.extend(protocols.links().map(|link| link.name().to_owned()));
    let mut capture = tracewright_capture::open_with(path, access)?;
    capture.protocols = protocols.clone();
    tracewright_decode::parameters::resolve(&mut capture)?;
    Ok(capture)
}
