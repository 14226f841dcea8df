//! Processor trace: CoreSight captures into what the processor did.
//!
//! ```no_run
//! use tracewright::decode::{Memory, Options, Plan, Session};
//! use tracewright::{Element, Listener};
//!
//! /// Prints every range of executed instructions.
//! struct Ranges;
//!
//! impl Listener for Ranges {
//!     fn element(&mut self, source: usize, at: u64, element: Element) {
//!         if let Element::Range(range) = element {
//!             println!("{source} {at} {range}");
//!         }
//!     }
//! }
//!
//! let capture = tracewright::open("snapshot".as_ref())?;
//! let options = Options::default();
//! let plan = Plan::new(&capture, 0, &options).expect("a capture with a buffer");
//! let memory = Memory::new(&capture);
//! Session::new(&capture, &plan, &memory, &options)
//!     .run(capture.buffers[0].parts(), &mut Ranges);
//! # Ok::<(), tracewright::OpenError>(())
//! ```
#![forbid(unsafe_code)]

pub mod encode;

pub use tracewright_base as base;
pub use tracewright_capture as capture;
pub use tracewright_decode as decode;
pub use tracewright_frames as frames;
pub use tracewright_image as image;
pub use tracewright_isa as isa;
pub use tracewright_model as model;
pub use tracewright_protocols as protocols;
pub use tracewright_views as views;

pub use tracewright_base::{Element, Sink};
pub use tracewright_capture::{Capture, OpenError};
pub use tracewright_decode::Listener;

/// Reads the capture at `path`, and makes registers of what its sources' protocols say in words.
///
/// # Errors
/// [`OpenError`] where nothing can be decoded, or where the path is no capture.
pub fn open(path: &std::path::Path) -> Result<Capture, OpenError> {
    let mut capture = tracewright_capture::open(path)?;
    tracewright_decode::words::settle(&mut capture)?;
    Ok(capture)
}
