//! Embedded Trace Macrocell versions 1.0 to 1.3.
//!
//! The trace unit of ARM7 and ARM9. Specification: *Embedded Trace Macrocell Architecture
//! Specification*, IHI 0014, chapters 4 and 5.
//!
//! Such a unit sends no byte stream. In each core cycle its port shows a pipeline status (PIPESTAT)
//! and some bits of its FIFO (TRACEPKT), and asserts TRACESYNC where a branch address begins. So a
//! [`Packet`] is one cycle, and the bytes of a source are the records of cycles
//! ([`Cycle`](tracewright_frames::cycles::Cycle)). The decoder matches statuses with the FIFO bytes
//! that belong to them.
//!
//! | section | item | tests |
//! |---|---|---|
//! | 3.5.1, 3.5.2 | [`Config`], [`config::REGISTERS`] | `configuration` |
//! | Table 5-1 | [`Packet`] | `every_status` |
//! | 5.3, 5.4 | [`decode::Decoder`], matching statuses and FIFO bytes | `example_5_1`, `widths` |
//! | 5.5 | [`packet::Address`], [`History`] | `addresses`, `reasons` |
//! | 5.6.1 | address packet offset | `offsets`, `abandoned` |
//! | 5.6.3 | context IDs | `context_ids` |
//! | 5.7 | `Element::DataAccess` | `data` |
//! | 5.9 | overflow | `overflow` |
//! | 5.10 | `Element::Cycles`, `Range::cycles` | `cycles` |
//!
//! Exceptions are not marked in this trace. The decoder reports a branch to an exception vector as
//! an exception (4.5.3), so it also reports one where a program jumps to a vector itself.
//!
//! Cycle counts: a range has the cycles since the previous status, including its own.
//!
//! ```
//! use tracewright_base::{Parse, Wire};
//! use tracewright_protocols::etmv1::{Config, Packet};
//!
//! // An ETMv1.2 with an 8-bit port, whose records have two bytes.
//! let register = |name: &str| match name {
//!     "ETMCR" => Some(0x10),
//!     "ETMCCR" => Some(2 << 28),
//!     _ => None,
//! };
//! let config = Config::new(&register).unwrap();
//! let Parse::Packet(packet, 2) = Packet::parse(&[0x0c, 0x08], &config) else { panic!() };
//! assert_eq!(packet.to_string(), "BE* 80");
//! ```

pub mod config;
pub mod decode;
pub mod encode;
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
    /// Embedded Trace Macrocell, versions 1.0 to 1.3.
    Etmv1,
    name: "ETM1",
    title: "Embedded Trace Macrocell, version 1 (1.0 to 1.3): one record per core cycle",
    core: "ARM926EJ-S",
    /// An ETMv1.3 with an 8-bit port that stalls the processor and traces data with addresses.
    usual: &[("ETMCR", 0x89e), ("ETMCCR", 0x3000_0000)],
    is_sync: |packet| matches!(packet, Packet::Branch(_) | Packet::BranchData(_)),
}
