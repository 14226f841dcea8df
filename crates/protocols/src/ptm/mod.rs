//! Program Trace Macrocell: the Program Flow Trace (PFT) architecture, PFTv1.0 and PFTv1.1.
//!
//! Specification: *CoreSight Program Flow Trace Architecture Specification*, IHI 0035B. A PTM is
//! the trace unit of Cortex-A9, A12, A15 and A17 and watches AArch32 code only. It traces
//! *waypoints*: branches, ISB, where configured barriers, and exceptions. The instructions between
//! two waypoints come from the program image.
//!
//! | section of IHI 0035B | item | test |
//! |---|---|---|
//! | "PFT packet formats" | [`Packet`] | `headers`, `packets` |
//! | "A-sync" | [`Packet::Align`], [`sync::find`] | `alignment` |
//! | "I-sync" | [`packet::Sync`] | `packets`, `instruction_sync` |
//! | "Atom packet" | [`packet::Atoms`] | `atoms` |
//! | "Branch address packet" | [`packet::Branch`], [`packet::Address`] | `addresses`, `branches` |
//! | "Waypoint update packet" | [`packet::Waypoint`] | `waypoint_updates` |
//! | "Timestamp packet" | [`packet::Timestamp`], [`History`] | `timestamps` |
//! | "Cycle-accurate tracing" | `Element::Cycles`, `Range::cycles` | `cycle_counts` |
//! | "Use of a return stack" | [`decode::Returns`] | `return_stack` |
//! | "Tracing Exceptions" | [`Decoder`] | `exceptions` |
//! | "Register descriptions" | [`Config`] | `registers` |
//!
//! Cycle counts: every count is the number of cycles since the count before, whatever packet has
//! it. An atom's or a branch's count is in its range; all others are an `Element::Cycles` just
//! before the element of the packet that had it. So the sum of both is the time that passed.
//!
//! ```
//! use tracewright_base::{Parse, Wire};
//! use tracewright_protocols::ptm::{Config, Packet};
//!
//! let bytes = [0xc8]; // 11_00100_0: five atoms, the oldest first
//! let Parse::Packet(packet, 1) = Packet::parse(&bytes, &Config::default()) else { panic!() };
//! assert_eq!(packet.to_string(), "atoms EENEE");
//! ```

pub mod config;
pub mod decode;
pub mod encode;
pub mod history;
mod names;
pub mod packet;
pub mod sync;
#[cfg(test)]
mod tests;

use alloc::borrow::Cow;

use tracewright_base::{CoreType, Isa, MissingRegister, Register, SyncSearch, Waypoints};

pub use config::Config;
pub use decode::Decoder;
pub use encode::Encoder;
pub use history::History;
pub use packet::Packet;

use crate::protocol::{Protocol, Resume};
use crate::sync_run::SyncRun;

/// Program Trace Macrocell, PFTv1.0 and PFTv1.1.
#[derive(Clone, Copy, Debug)]
pub struct Ptm;

impl Protocol for Ptm {
    const NAMES: &'static [&'static str] = &["PTM", "PTM1", "PFT", "PFT1"];
    const TITLE: &'static str = "Program Trace Macrocell (PFT 1.0, 1.1)";
    const REGISTERS: &'static [Register] = config::REGISTERS;
    const RESUME: Resume = Resume::Seek;
    const ID_REGISTER: Option<(&'static str, u32)> = Some(("ETMTRACEIDR", 0));
    const ISAS: &'static [Isa] = &[Isa::A32, Isa::T32];
    const SYNC_RUN: Option<SyncRun<Packet>> = Some(sync::RUN);

    type Config = Config;
    type Packet = Packet;
    type Decoder = Decoder;

    fn configure(
        _core: Option<CoreType>,
        register: &dyn Fn(&str) -> Option<u64>,
    ) -> Result<Config, MissingRegister> {
        Config::from_registers(register)
    }

    fn trace_id(config: &Config) -> u8 {
        config.atb_id()
    }

    fn waypoints(config: &Config) -> Waypoints {
        config.waypoints()
    }

    fn exception_name(_config: &Config, number: u16) -> Option<Cow<'static, str>> {
        names::exception(number).map(Cow::Borrowed)
    }

    fn sync(_config: &Config, bytes: &[u8]) -> SyncSearch {
        sync::find(bytes)
    }

    fn is_sync(packet: &Packet) -> bool {
        matches!(packet, Packet::Sync(_))
    }
}
