//! OpenCSD's words on Tracewright's decoders: the text of packets and elements, the listing of
//! `trc_pkt_lister`, and the structures of the C interface.
//!
//! | module | contents |
//! |---|---|
//! | [`listing`], [`ListedBuffer`] | a listener that writes the lines of `trc_pkt_lister` |
//! | [`element`] | the text of elements |
//! | [`PacketText`] | the text of the packets of a protocol, in the file of its name |
//! | [`reported`] | elements in the order and with the offsets of OpenCSD |
//! | [`unsynced`] | bytes before a synchronisation |
//! | [`frames`], [`FrameListing`] | lines of raw frames |
//! | [`registers`] | the names of decoders, and the registers that they are created with |
//! | [`client`] | elements, packets, errors and operations as programs in C have them |
//!
//! ```
//! use tracewright_base::{Element, Start};
//! use tracewright_opencsd::element::{Style, element};
//!
//! let mut text = String::new();
//! assert!(element(Style::default(), &Element::TraceOn(Start::Overflow), &mut text));
//! assert_eq!(text, "OCSD_GEN_TRC_ELEM_TRACE_ON( [overflow])");
//! ```
#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::expect_used, clippy::panic))]
#![cfg_attr(not(test), warn(clippy::todo, clippy::unimplemented, clippy::unreachable))]
#![warn(clippy::print_stdout, clippy::print_stderr, clippy::dbg_macro)]

pub mod client;
pub mod element;
mod etmv3;
mod etmv4;
mod frame_listing;
pub mod frames;
mod held;
mod itm;
pub mod listing;
mod order;
mod packet_text;
mod plain;
mod ptm;
pub mod registers;
pub mod reported;
mod session;
mod source;
mod stm;
pub mod unsynced;

pub use etmv3::Etmv3Text;
pub use etmv4::Etmv4Text;
pub use frame_listing::FrameListing;
pub use itm::ItmText;
pub use listing::{Listing, Selection, Shown};
pub use packet_text::{Behaviour, PacketText};
pub use ptm::PtmText;
pub use reported::{Reported, SourceReport};
pub use session::ListedBuffer;
pub use stm::StmText;
