//! Trace protocols: decode a source's bytes to packets and elements, and encode them.
//!
//! Each protocol has a folder, with the same file names in each:
//!
//! | file | holds |
//! |---|---|
//! | `mod.rs` | an overview, the specification, the [`Protocol`] |
//! | `config.rs` | identification and configuration registers to and from `Config` |
//! | `packet.rs` | `enum Packet`: parse, emit, `Display` |
//! | `decode.rs` | `Decoder`: packets to elements |
//! | `encode.rs` | `Encoder`: the steps of a processor to packets |
//! | `sync.rs` | the search for an offset where a decoder may start |
//! | `tests.rs` | tables from the specification, in its order |
//!
//! [`Stream`] is the one loop that drives all protocols, and reports to an [`Observer`].
//! [`registry`] is the list of protocols, and [`encoders`] the list of trace units in software.
//!
//! An encoder and a parser of the same protocol:
//!
//! ```
//! use tracewright_base::wire::{Parse, Wire};
//! use tracewright_base::{Channel, Software, Step};
//! use tracewright_protocols::encoders::AnyUnit;
//! use tracewright_protocols::itm::{Config, Packet};
//! use tracewright_protocols::registry::AnyProtocol;
//!
//! let mut unit = AnyUnit::new(AnyProtocol::Itm, None, &|_| None).unwrap().unwrap();
//! let channel = Channel::Port { page: Some(0), port: 3 };
//! let mut bytes = Vec::new();
//! unit.step(&Step::SoftwareWrite(Software::new(channel, 8, 0x68)), &mut bytes);
//! unit.finish(&mut bytes);
//!
//! let (mut rest, mut texts) = (bytes.as_slice(), Vec::new());
//! while let Parse::Packet(packet, len) = Packet::parse(rest, &Config::default()) {
//!     texts.push(packet.to_string());
//!     rest = &rest[len..];
//! }
//! assert!(texts.iter().any(|text| text.contains("port 3")), "{texts:?}");
//! ```
#![no_std]
#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::expect_used, clippy::panic))]
#![cfg_attr(not(test), warn(clippy::todo, clippy::unimplemented, clippy::unreachable))]
#![warn(clippy::print_stdout, clippy::print_stderr, clippy::dbg_macro)]

extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod about;
pub mod any_stream;
pub mod bits;
mod cursor;
mod data;
pub mod demux;
pub mod encoders;
pub mod etmv1;
pub mod etmv2;
pub mod etmv3;
pub mod etmv4;
pub mod etmv4d;
pub mod etrace;
pub mod external;
pub mod external_stream;
mod fifo;
mod filter_registers;
mod flow;
pub mod ingress;
pub mod ingress_port;
pub mod itm;
pub mod kind;
mod look_up;
#[cfg(test)]
mod memory;
mod messages;
pub mod mtb;
pub mod ntrace;
pub mod observer;
mod packet_run;
pub mod parameter;
mod pending;
pub mod port;
mod port_protocol;
#[cfg(test)]
mod port_tests;
pub mod port_unit;
pub mod protocol;
pub mod ptm;
pub mod realign;
pub mod registry;
mod riscv;
pub mod stm;
pub mod stream;
pub mod sync_run;
pub mod trace_fifo;
pub mod trace_filter;
pub mod trace_unit;
#[cfg(test)]
pub(crate) mod ways;

pub use any_stream::AnyStream;
pub use demux::Demux;
pub use external_stream::external_config;
pub use kind::PacketKind;
pub use observer::{Observer, SourceBytes, StreamEvent};
pub use protocol::{Field, InvalidRegister, Protocol, Resume, TraceForm};
pub use registry::Registry;
pub use stream::Stream;
pub use sync_run::SyncRun;
