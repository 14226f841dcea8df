//! Embedded Trace Macrocell versions 2.0 and 2.1.
//!
//! The trace unit of ARM10. Specification: *Embedded Trace Macrocell Architecture Specification*,
//! IHI 0014, chapters 4 and 6.
//!
//! Such a unit sends no byte stream. In each core cycle its port shows a pipeline status (PIPESTAT)
//! and some bits of its FIFO (TRACEPKT). So a [`Packet`] is one cycle, and the bytes of a source
//! are the records of cycles ([`Cycle`](tracewright_frames::cycles::Cycle)). The FIFO output has
//! the packets of the specification: [`packet::Item`] and [`packet::Tfo`]. Their lengths do not
//! depend on the program, so missing code does not disturb the decoding of the FIFO.
//!
//! | section | item | tests |
//! |---|---|---|
//! | 3.5.1, 3.5.50 | [`Config`], [`config::REGISTERS`] | `configuration` |
//! | Table 6-1, Table 7-24 | [`Packet`], [`packet::Status`] | `every_status` |
//! | 6.3 | [`decode::Decoder`], matching statuses and packets | `groups_of_packets`, `widths` |
//! | 6.4, Tables 6-2 and 6-3 | [`packet::Item`] | `every_header`, `values` |
//! | 6.5.1, Table 6-4 | [`packet::Offset`] | `offsets` |
//! | 6.5.1, Table 6-5 | an offset between nibbles | `table_6_5` |
//! | 6.5.2 to 6.5.5 | [`packet::Tfo`] | `tfo_headers`, `in_progress` |
//! | 6.7.1, Table 6-9 | [`packet::Branch`], [`History`] | `branches`, `fifth_bytes` |
//! | 6.8 | `Element::DataAccess` | `data`, `out_of_order` |
//!
//! Exceptions are branches to one of the vectors (4.5.3). The branch packet states whether the last
//! instruction was cancelled.
//!
//! Cycle counts: a range has the cycles since the previous status, including its own.
//!
//! ```
//! use tracewright_base::{Parse, Wire};
//! use tracewright_protocols::etmv2::packet::Item;
//! use tracewright_protocols::etmv2::{Config, Packet};
//!
//! // An ETMv2.0 with an 8-bit port, whose records have two bytes.
//! let register = |name: &str| match name {
//!     "ETMCR" => Some(0x14),
//!     "ETMIDR" => Some(0x4100_2100),
//!     _ => None,
//! };
//! let config = Config::new(&register).unwrap();
//! let Parse::Packet(packet, 2) = Packet::parse(&[0xa1, 0x00], &config) else { panic!() };
//! assert_eq!(packet.to_string(), "DE 0a");
//! let Parse::Packet(item, 3) = Item::parse(&[0x0a, 0x34, 0x12], &config) else { panic!() };
//! assert_eq!(item.to_string(), "data next: 0x1234");
//! ```

pub mod config;
pub mod decode;
pub mod encode;
pub mod fifo;
pub mod history;
pub mod packet;
pub mod sync;
#[cfg(test)]
mod tests;
pub mod transcript;

pub use config::Config;
pub use decode::Decoder;
pub use encode::{Encoder, Settings};
pub use history::History;
pub use packet::Packet;
pub use transcript::Transcript;

crate::port_protocol::port_protocol! {
    /// Embedded Trace Macrocell, versions 2.0 and 2.1.
    Etmv2,
    name: "ETM2",
    title: "Embedded Trace Macrocell, version 2 (2.0 and 2.1): one record per core cycle",
    core: "ARM1026EJ-S",
    /// An ETMv2.0 with an 8-bit port that stalls the processor and traces data with addresses.
    usual: &[("ETMCR", 0x89e), ("ETMIDR", 0x4100_2100)],
    /// A cycle without trace whose pins hold the offset of a packet boundary.
    is_sync: |packet| match packet {
        Packet::Disabled { pins } => {
            matches!(packet::Offset::of_pins(*pins as u8), packet::Offset::Bytes(_))
        }
        _ => false,
    },
}
