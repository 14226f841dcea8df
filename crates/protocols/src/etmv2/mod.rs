//! Embedded Trace Macrocell versions 2.0 and 2.1.
//!
//! The trace unit of ARM10. Specification: *Embedded Trace Macrocell Architecture Specification*, IHI
//! 0014, chapters 4 and 6.
//!
//! Such a unit sends no bytes: in each core cycle its port shows a pipeline status (PIPESTAT) and some
//! bits of its FIFO (TRACEPKT). So a packet here is one cycle, and a source's bytes are the cycles'
//! records ([`Cycle`](tracewright_frames::cycles::Cycle)). The packets of the specification are what comes out of the
//! FIFO: [`packet::Item`] and [`packet::Tfo`]. Their lengths need no program, so a decoder that has
//! lost its way in the program does not lose it in the FIFO.
//!
//! | section | item | tests |
//! |---|---|---|
//! | 3.5.1, 3.5.50 | [`Config`], [`config::REGISTERS`] | `configuration` |
//! | Table 6-1, Table 7-24 | [`Packet`], [`packet::Status`] | `every_status` |
//! | 6.3 | [`decode::Decoder`], what belongs together | `groups_of_packets`, `widths` |
//! | 6.4, Tables 6-2 and 6-3 | [`packet::Item`] | `every_header`, `values` |
//! | 6.5.1, Table 6-4 | [`packet::Offset`] | `offsets` |
//! | 6.5.1, Table 6-5 | an offset between half bytes | `table_6_5` |
//! | 6.5.2 to 6.5.5 | [`packet::Tfo`] | `tfo_headers`, `in_progress` |
//! | 6.7.1, Table 6-9 | [`packet::Branch`], [`History`] | `branches`, `fifth_bytes` |
//! | 6.8 | `Element::DataAccess` | `data`, `out_of_order` |
//!
//! Exceptions are branches to one of the vectors (4.5.3); the packet says itself whether the last
//! instruction was cancelled.
//!
//! Cycle counts: a range has the cycles since the status before, its own included.
//!
//! ```
//! use tracewright_base::{Parse, Wire};
//! use tracewright_protocols::etmv2::packet::Item;
//! use tracewright_protocols::etmv2::{Config, Packet};
//!
//! // An ETMv2.0 with an 8-bit port: the records have two bytes.
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

use alloc::borrow::Cow;

use tracewright_base::{CoreType, Isa, MissingRegister, Register, SyncSearch, Waypoints};

pub use config::Config;
pub use decode::Decoder;
pub use encode::{Encoder, Settings};
pub use history::History;
pub use packet::Packet;
pub use transcript::Transcript;

use crate::encoders::{Encodes, Setting};
use crate::flow::Vector;
use crate::protocol::{Protocol, Resume, TraceForm};

/// Embedded Trace Macrocell, versions 2.0 and 2.1.
#[derive(Clone, Copy, Debug)]
pub struct Etmv2;

impl Protocol for Etmv2 {
    const NAMES: &'static [&'static str] = &["ETM2"];
    const TITLE: &'static str =
        "Embedded Trace Macrocell, version 2 (2.0 and 2.1): a record a core cycle";
    const REGISTERS: &'static [Register] = config::REGISTERS;
    const RESUME: Resume = Resume::Next;
    const FORM: TraceForm = TraceForm::Cycles;
    const ID_REGISTER: Option<(&'static str, u32)> = None;
    const ISAS: &'static [Isa] = &[Isa::A32, Isa::T32];

    type Config = Config;
    type Packet = Packet;
    type Decoder = Decoder;

    fn configure(
        _core: Option<CoreType>,
        register: &dyn Fn(&str) -> Option<u64>,
    ) -> Result<Config, MissingRegister> {
        Config::new(register)
    }

    /// The port has no ids.
    fn trace_id(_config: &Config) -> u8 {
        0
    }

    /// Every instruction has a status of its own: no barrier ends anything.
    fn waypoints(_config: &Config) -> Waypoints {
        Waypoints::default()
    }

    fn exception_name(_config: &Config, number: u16) -> Option<Cow<'static, str>> {
        Vector::name(number).map(Cow::Borrowed)
    }

    fn sync(_config: &Config, bytes: &[u8]) -> SyncSearch {
        sync::find(bytes)
    }

    /// A cycle without trace whose pins hold the offset of a packet boundary.
    fn is_sync(packet: &Packet) -> bool {
        match packet {
            Packet::Disabled { pins } => {
                matches!(packet::Offset::of_pins(*pins as u8), packet::Offset::Bytes(_))
            }
            _ => false,
        }
    }
}

impl Encodes for Etmv2 {
    type Encoder = Encoder;

    /// An ETMv2.0 with an 8-bit port that stalls the processor, and traces data with their addresses.
    const USUAL: &'static [(&'static str, u64)] = &[("ETMCR", 0x89e), ("ETMIDR", 0x4100_2100)];

    const CORE: &'static str = "ARM1026EJ-S";

    const SETTINGS: &'static [Setting] = encode::SETTINGS;

    fn settings(_config: &Config, setting: &dyn Fn(&str) -> Option<u64>) -> Settings {
        Settings::new(setting)
    }
}
