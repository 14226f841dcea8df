//! Embedded Trace Macrocell versions 1.0 to 1.3.
//!
//! The trace unit of ARM7 and ARM9. Specification: *Embedded Trace Macrocell Architecture
//! Specification*, IHI 0014, chapters 4 and 5.
//!
//! Such a unit sends no bytes: in each core cycle its port shows a pipeline status (PIPESTAT) and some
//! bits of its FIFO (TRACEPKT), and TRACESYNC where a branch address begins. So a packet here is one
//! cycle, and a source's bytes are the cycles' records
//! ([`Cycle`](tracewright_frames::cycles::Cycle)). What status and FIFO say together is the decoder's to find out.
//!
//! | section | item | tests |
//! |---|---|---|
//! | 3.5.1, 3.5.2 | [`Config`], [`config::REGISTERS`] | `configuration` |
//! | Table 5-1 | [`Packet`] | `every_status` |
//! | 5.3, 5.4 | [`decode::Decoder`], what belongs together | `example_5_1`, `widths` |
//! | 5.5 | [`packet::Address`], [`History`] | `addresses`, `reasons` |
//! | 5.6.1 | address packet offset | `offsets`, `abandoned` |
//! | 5.6.3 | context ids | `context_ids` |
//! | 5.7 | `Element::DataAccess` | `data` |
//! | 5.9 | overflow | `overflow` |
//! | 5.10 | `Element::Cycles`, `Range::cycles` | `cycles` |
//!
//! Exceptions are not marked in this trace: a branch to one of the vectors is one (4.5.3), so a program
//! that jumps there by itself looks the same.
//!
//! Cycle counts: a range has the cycles since the status before, its own included.
//!
//! ```
//! use tracewright_base::{Parse, Wire};
//! use tracewright_protocols::etmv1::{Config, Packet};
//!
//! // An ETMv1.2 with an 8-bit port: the records have two bytes.
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

/// Embedded Trace Macrocell, versions 1.0 to 1.3.
#[derive(Clone, Copy, Debug)]
pub struct Etmv1;

impl Protocol for Etmv1 {
    const NAMES: &'static [&'static str] = &["ETM1"];
    const TITLE: &'static str =
        "Embedded Trace Macrocell, version 1 (1.0 to 1.3): a record a core cycle";
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

    fn is_sync(packet: &Packet) -> bool {
        matches!(packet, Packet::Branch(_) | Packet::BranchData(_))
    }
}

impl Encodes for Etmv1 {
    type Encoder = Encoder;

    /// An ETMv1.3 with an 8-bit port that stalls the processor, and traces data with their addresses.
    const USUAL: &'static [(&'static str, u64)] = &[("ETMCR", 0x89e), ("ETMCCR", 0x3000_0000)];

    const CORE: &'static str = "ARM926EJ-S";

    const SETTINGS: &'static [Setting] = encode::SETTINGS;

    fn settings(_config: &Config, setting: &dyn Fn(&str) -> Option<u64>) -> Settings {
        Settings::new(setting)
    }
}
