//! Indexes of large traces: random access by offset, time and instruction, and searches.
//!
//! | file | contents |
//! |---|---|
//! | `writer.rs` | [`Subject`]: a capture and how it is decoded; makes, continues and checks an index |
//! | `build.rs`, `chain.rs` | decodes a buffer to [`Segment`]s, on one thread or several |
//! | `halves.rs` | [`Half`]: an index that two processes make |
//! | `collect.rs`, `executed.rs`, `lines.rs`, `entries.rs` | what is collected of a segment |
//! | `thin.rs` | joins what consecutive segments executed, where it is long |
//! | `probe.rs` | verifies where a decoder may restart |
//! | `segment.rs`, `key.rs`, `link.rs` | [`Segment`], [`Stream`], [`Key`], [`LinkEvents`]: the contents of an index |
//! | `index.rs`, `batch_summary.rs`, `held.rs`, `totals.rs`, `position.rs` | [`Index`]: an index that is read |
//! | `identity.rs` | what an index was made of |
//! | `beside.rs` | [`beside()`]: the file of an index |
//! | `seek.rs`, `scan.rs` | from an index to the state of a session, and to the elements of segments |
//! | `window.rs` | [`Window`]: the elements between two offsets, times, instructions or elements |
//! | `part.rs` | [`part::PartOf`]: runs of segments whose output adds up to that of the whole buffer |
//! | `running.rs` | [`Running`]: while some tasks run |
//! | `sample.rs` | [`sample::Sampler`]: tiles here and there, before there is an index |
//! | `tiles/` | what ran in each part of the trace, at each scale: made, written and read |
//! | `view/` | [`view::View`], which reads it; [`view::Player`], which decodes parts |
//! | `query.rs`, `dwt.rs`, `matcher.rs`, `resolve.rs`, `find.rs` | [`Query`], and [`Finder`], which answers it |
//! | `cursor.rs` | [`Cursor`]: the next and the previous match |
//! | `stack.rs` | [`Finder::stack`]: the call stack at an element |
//! | `format.rs`, `bytes.rs`, `checksum.rs` | the file: `docs/index-format.md` |
//!
//! An index holds no state of a decoder. It holds **verified restarts**: while the index is made, a
//! second session begins in its initial state at an offset, and decodes the same bytes as the one
//! that has decoded the whole trace. Where the states of a source are equal, the restart is
//! verified: a decoder that begins there makes the same elements from then on. So an answer with an
//! index equals the answer of decoding the whole trace, for each protocol and for any damage. The
//! state of the trace link is stored.
//!
//! An index answers how often something happens, and where it cannot happen. Where exactly, is
//! found by decoding a segment.
//!
//! ```
//! use tracewright_capture::{Buffer, BufferRef, Bytes, Capture, Format, Source};
//! use tracewright_decode::{Memory, Options, Plan};
//! use tracewright_index::{Answer, Finder, Index, Making, Query, Subject};
//!
//! let capture = Capture {
//!     buffers: vec![Buffer::new("swo", Format::SourceData, vec![0, 0, 0, 0, 0, 0x80, 0x01, b'h'])],
//!     sources: vec![Source {
//!         device_type: "ITM".into(),
//!         buffers: vec![BufferRef { buffer: 0, stream: None }],
//!         ..Source::default()
//!     }],
//!     ..Capture::default()
//! };
//! let (memory, options) = (Memory::new(&capture), Options::default());
//! let plans = [Plan::new(&capture, 0, &options).expect("buffer 0")];
//! let subject = Subject { capture: &capture, memory: &memory, options: &options };
//! let mut file = Vec::new();
//! subject.make(&plans, &Making::default(), |bytes, _| {
//!     file.extend_from_slice(bytes);
//!     Ok(true)
//! })?;
//!
//! let index = Index::read(Bytes::from(file))?;
//! subject.check(&index, &plans)?;
//! let mut finder = Finder::new(subject, &plans[0], Some(&index)).expect("its own plan");
//! let Answer::Elements(found) = finder.find(&Query::parse(&["first write 0"])?)? else {
//!     unreachable!("`first` finds elements")
//! };
//! assert_eq!((found[0].at, found[0].number), (6, 1));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::expect_used, clippy::panic))]
#![cfg_attr(not(test), warn(clippy::todo, clippy::unimplemented, clippy::unreachable))]
#![warn(clippy::print_stdout, clippy::print_stderr, clippy::dbg_macro)]

mod batch_summary;
mod beside;
pub mod build;
mod bytes;
mod chain;
mod checksum;
mod collect;
pub mod cursor;
mod dwt;
mod entries;
mod error;
mod executed;
pub mod find;
mod format;
mod found;
mod halves;
mod held;
mod identity;
mod index;
mod key;
mod lines;
mod link;
mod links;
mod matcher;
mod near_lines;
pub mod part;
mod position;
mod probe;
pub mod query;
mod resolve;
mod running;
mod runs;
pub mod sample;
mod scan;
mod seek;
mod segment;
mod stack;
#[cfg(test)]
mod tests;
mod thin;
mod tiles;
mod totals;
pub mod view;
pub mod window;
mod writer;

pub use beside::{Compare, Unusable, beside};
pub use chain::Shape;
pub use checksum::Checksum;
pub use collect::Functions;
pub use cursor::Cursor;
pub use error::{FindError, IndexError};
pub use find::{Answer, Finder};
pub use format::IndexedSource;
#[doc(hidden)]
pub use format::write_checksums;
pub use found::Found;
pub use halves::{Half, join};
pub use held::Summary;
pub use index::{Index, IndexedBuffer};
pub use key::{Key, Kind, channel, is_gap};
pub use link::{LinkEvents, LinkKind, LinkRecord};
pub use position::Position;
pub use query::{Query, QueryError};
pub use running::Running;
pub use runs::{Lines, lines_touch};
pub use seek::Start;
pub use segment::{Record, Restart, Segment, Stream, Times};
pub use window::{Inside, Window};
pub use writer::{Making, Subject};
