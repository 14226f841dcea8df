//! The framing of a trace link: the bytes of several sources in one stream, split and joined.
//!
//! | framing | split | join |
//! |---|---|---|
//! | 16-byte formatter frames, memory aligned (ETB, ETF, ETR) | [`Splitter`] | [`Joiner`] |
//! | formatter frames with TPIU synchronisation packets, full, or full and half | [`Splitter`] | [`Joiner`] |
//! | TPIU in DSTREAM blocks | [`Splitter`] | [`Joiner`] |
//! | one source, without framing | [`Splitter`] | [`Joiner`] |
//! | samples of the pins of an ETMv3 trace port | [`pins::Sampler`] | [`pins::Driver`] |
//! | samples of the pins of an ETMv1 or ETMv2 trace port, and captures of its cycles: [`cycles`] | [`cycles::port::Sampler`] | [`cycles::port::Driver`] |
//! | the format of another crate: [`SplitLink`] | [`ExternalLink`] | |
//! | bits of a narrow trace port with N-Trace messages | [`nexus_port::aligned`] | |
//!
//! (IHI 0029, "Formatter"; CoreSight TPIU, "Synchronization packets")
//!
//! ```
//! use tracewright_frames::{Framing, Joiner, Link, Sources, Splitter};
//!
//! let mut frames = Vec::new();
//! let mut joiner = Joiner::new(Framing::Coresight);
//! joiner.push(0x10, b"one", &mut frames)?;
//! joiner.push(0x11, b"two", &mut frames)?;
//! joiner.finish(&mut frames);
//!
//! let (mut splitter, mut sources) = (Splitter::new(Link::new(Framing::Coresight)), Sources::default());
//! splitter.split(0, &frames, &mut sources);
//! assert_eq!(sources.get(0x11).unwrap().bytes(), b"two");
//! # Ok::<(), tracewright_frames::ReservedId>(())
//! ```
#![no_std]
#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::expect_used, clippy::panic))]
#![cfg_attr(not(test), warn(clippy::todo, clippy::unimplemented, clippy::unreachable))]
#![warn(clippy::print_stdout, clippy::print_stderr, clippy::dbg_macro)]

extern crate alloc;

pub mod cycles;
mod external;
mod framing;
mod id;
mod join;
pub mod nexus_port;
mod pending;
pub mod pins;
mod sources;
mod split;
mod splitter;
mod unpack;

pub use external::{ExternalLink, SplitLink};
pub use framing::{Framing, Link, Numbering, dstream, sync};
pub use id::{FLUSH, Meaning, NULL, ReservedId, TRIGGER};
pub use join::Joiner;
pub use sources::{Source, Sources};
pub use split::{Event, Frame, Split};
pub use splitter::Splitter;

/// The size of a formatter frame in bytes.
pub const FRAME: usize = 16;
