//! Processor trace: from captures to what the processor executed, and back.
//!
//! A capture is an Arm snapshot, a folder with a `capture.toml`, or one made in memory. Decoded, it is a sequence of
//! [`Element`]s: ranges of executed instructions, exceptions, contexts, timestamps, data accesses, software writes.
//!
//! ```no_run
//! use tracewright::Element;
//!
//! let trace = tracewright::open("snapshot")?;
//! for item in trace.elements()? {
//!     let item = item?;
//!     if let Element::Range(range) = item.element {
//!         println!("{} {range} {:?}", item.offset, trace.symbol(item.source, range.start));
//!     }
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`Trace::decode`] gives the elements to a [`Listener`], which can also receive packets and formatter frames, and
//! returns a [`Summary`]. [`decode::parallel`] decodes one buffer on several threads.
#![forbid(unsafe_code)]

pub use tracewright_base as base;
pub use tracewright_capture as capture;
pub use tracewright_decode as decode;
pub use tracewright_frames as frames;
pub use tracewright_image as image;
pub use tracewright_isa as isa;
pub use tracewright_model as model;
pub use tracewright_protocols as protocols;
pub use tracewright_views as views;

mod elements;
mod error;
mod renumbered;
mod summary;
mod trace;

pub use tracewright_base::{Element, Sink};
pub use tracewright_capture::{Capture, OpenError};
pub use tracewright_decode::Listener;

pub use elements::{Elements, Item};
pub use error::DecodeError;
pub use summary::Summary;
pub use trace::{Trace, open};

#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;

/// Reads the capture at `path` without preparing it for decoding: its buffers, devices, registers and memory.
///
/// # Errors
/// [`OpenError`] with path, section and key, where the capture cannot be read.
pub fn read_capture(path: &std::path::Path) -> Result<Capture, OpenError> {
    let mut capture = tracewright_capture::open(path)?;
    tracewright_decode::words::settle(&mut capture)?;
    Ok(capture)
}
