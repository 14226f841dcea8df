//! Embedded Trace Macrocell versions 3.0 to 3.5.
//!
//! The trace unit of Arm11, Cortex-M3 and M4, Cortex-A5, A7 and A8, Cortex-R4 and R5.
//! Specification: *Embedded Trace Macrocell Architecture Specification*, IHI 0014, issue O (to
//! ETMv3.4) and issue Q (ETMv3.5).
//!
//! | section | item | tests |
//! |---|---|---|
//! | 3.5 | [`Config`], [`config::REGISTERS`] | `configuration` |
//! | Table 7-1 | [`Packet`] | `every_header`, `headers_by_version_and_configuration` |
//! | 7.3.1, 7.3.3 | [`packet::Atoms`] | `p_headers`, `instructions`, `halves` |
//! | 7.3.4 | `Element::Cycles`, `Range::cycles` | `cycle_counts`, `cycles` |
//! | 7.3.5 | [`packet::Branch`], [`packet::Info`] | `branches_*`, `exceptions` |
//! | 7.3.5 | [`History`] | `cancelled_instructions`, `instruction_sets` |
//! | 7.4 | [`packet::DataAddress`], [`packet::Value`] | `data_packets` |
//! | 7.4 | `Element::DataAccess` | `data_accesses`, `out_of_order`, `pc_first` |
//! | 7.4.10 | data-only mode | `data_only` |
//! | 7.5 | exceptions of the M profile | `m_profile` |
//! | 7.7.2 | [`sync::find`], [`sync::find_bit`] | `synchronisation`, `shifted_captures` |
//! | 7.7.3 | [`packet::Isync`] | `isyncs`, `in_progress`, `periodic_syncs` |
//!
//! Cycle counts: a range has the cycles that its own P-header gives to it. Other cycles are an
//! `Element::Cycles` before the element that follows them. So an instruction took its own cycles
//! and those since the previous instruction, and the sum of all is the elapsed time.
//!
//! ```
//! use tracewright_base::{Parse, Wire};
//! use tracewright_protocols::etmv3::{Config, Packet};
//!
//! // An ETMv3.4 that traces instructions without cycles.
//! let register = |name: &str| match name {
//!     "ETMCR" => Some(0),
//!     "ETMIDR" => Some(0x4114_f240),
//!     _ => None,
//! };
//! let config = Config::new(None, &register).unwrap();
//! let Parse::Packet(packet, 1) = Packet::parse(&[0xc8], &config) else { panic!() };
//! assert_eq!(packet.to_string(), "atoms EEN");
//! ```

pub mod config;
pub mod decode;
pub mod encode;
pub mod history;
pub mod packet;
pub mod sync;
#[cfg(test)]
mod tests;

use alloc::borrow::Cow;
use alloc::string::ToString;

use tracewright_base::{CoreType, Isa, MissingRegister, Register, SyncSearch, Waypoints};

pub use config::Config;
pub use decode::Decoder;
pub use encode::Encoder;
pub use history::History;
pub use packet::Packet;

use crate::protocol::{Protocol, Resume};
use crate::realign::BitSearch;

/// Embedded Trace Macrocell, versions 3.0 to 3.5.
#[derive(Clone, Copy, Debug)]
pub struct Etmv3;

impl Protocol for Etmv3 {
    const NAMES: &'static [&'static str] = &["ETM3"];
    const TITLE: &'static str = "Embedded Trace Macrocell, version 3 (3.0 to 3.5)";
    const REGISTERS: &'static [Register] = config::REGISTERS;
    const RESUME: Resume = Resume::Seek;
    const UNALIGNED: bool = true;
    const ID_REGISTER: Option<(&'static str, u32)> = Some(("ETMTRACEIDR", 0));
    const ISAS: &'static [Isa] = &[Isa::A32, Isa::T32];

    type Config = Config;
    type Packet = Packet;
    type Decoder = Decoder;

    fn configure(
        core: Option<CoreType>,
        register: &dyn Fn(&str) -> Option<u64>,
    ) -> Result<Config, MissingRegister> {
        Config::new(core, register)
    }

    /// ETMCCER has the form of timestamps.
    fn assumptions(config: &Config) -> &'static [(&'static str, &'static str)] {
        match config.control.timestamps() && config.id.minor() >= 5 {
            true => &[("ETMCCER", "0 (timestamps are 48-bit Gray codes)")],
            false => &[],
        }
    }

    fn trace_id(config: &Config) -> u8 {
        config.trace_id
    }

    /// Every instruction has its own atom.
    fn waypoints(_config: &Config) -> Waypoints {
        Waypoints { each: true, ..Waypoints::BRANCHES }
    }

    fn exception_name(config: &Config, number: u16) -> Option<Cow<'static, str>> {
        let name: Cow<'static, str> = match config.m_profile() {
            true => packet::MException(number).to_string().into(),
            false => packet::exception_name(number).into(),
        };
        Some(name).filter(|name| name != "reserved")
    }

    fn sync(_config: &Config, bytes: &[u8]) -> SyncSearch {
        sync::find(bytes)
    }

    fn sync_bit(_config: &Config, bytes: &[u8], zeros: u8) -> BitSearch {
        sync::find_bit(bytes, zeros)
    }

    fn is_sync(packet: &Packet) -> bool {
        matches!(packet, Packet::Isync(_))
    }
}
