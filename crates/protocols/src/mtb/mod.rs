//! MTB: the Micro Trace Buffer of Cortex-M0+ and other Cortex-M cores.
//!
//! A packet is two words: where execution left the sequence, and where it went on. Bit 0 of the
//! first, A, is set where an exception or a debugger did that and no instruction; bit 0 of the
//! second, S, is set in the first packet since tracing started. What lies between the second word
//! of a packet and the first word of the next was executed in sequence, with no branch taken.
//!
//! Specification: CoreSight MTB-M0+ Technical Reference Manual, Arm DDI 0486, "Trace packet
//! format".
//!
//! | section | item | test |
//! |---|---|---|
//! | trace packet format | [`Packet`] | `packets` |
//! | branches | [`Packet::Branch`] | `tests/cases/mtb/branches.case`, `wrong-program.case` |
//! | exception entry and return | [`Packet::Exception`] | `exceptions.case`, `exception_returns` |
//! | S bit | [`Packet::start`] | `search`, `starts`, `encoded.case` |
//!
//! ```
//! use tracewright_base::{Parse, Wire};
//! use tracewright_protocols::mtb::{Config, Packet};
//!
//! let bytes = [0x06, 0x01, 0, 0, 0x01, 0x02, 0, 0];
//! let packet = Packet::Branch { source: 0x106, destination: 0x200, start: true };
//! assert_eq!(Packet::parse(&bytes, &Config), Parse::Packet(packet, 8));
//! assert_eq!(packet.to_string(), "branch from 0x00000106 to 0x00000200, first since the start");
//! ```

mod config;
mod decode;
mod encode;
mod packet;
mod sync;
#[cfg(test)]
mod tests;

pub use config::Config;
pub use decode::Decoder;
pub use encode::Encoder;
pub use packet::Packet;

use alloc::borrow::Cow;

use tracewright_base::{CoreType, Isa, MissingRegister, Register, SyncSearch, Waypoints};

use crate::protocol::{Protocol, Resume};

/// The protocol.
#[derive(Clone, Copy, Debug)]
pub struct Mtb;

impl Protocol for Mtb {
    const NAMES: &'static [&'static str] = &["MTB"];
    const TITLE: &'static str = "Micro Trace Buffer";
    const REGISTERS: &'static [Register] = config::REGISTERS;
    const RESUME: Resume = Resume::Next;
    const ID_REGISTER: Option<(&'static str, u32)> = None;
    const ISAS: &'static [Isa] = &[Isa::T32];

    type Config = Config;
    type Packet = Packet;
    type Decoder = Decoder;

    fn configure(
        _: Option<CoreType>,
        _: &dyn Fn(&str) -> Option<u64>,
    ) -> Result<Config, MissingRegister> {
        Ok(Config)
    }

    fn fixed_isa(_: &Config) -> Option<Isa> {
        Some(Isa::T32)
    }

    fn trace_id(_: &Config) -> u8 {
        0
    }

    fn waypoints(_: &Config) -> Waypoints {
        Waypoints::BRANCHES
    }

    fn exception_name(_: &Config, _: u16) -> Option<Cow<'static, str>> {
        Some(Cow::Borrowed("not traced"))
    }

    fn sync(_: &Config, bytes: &[u8]) -> SyncSearch {
        sync::find(bytes)
    }

    fn starts_synced(_: &Config) -> bool {
        true
    }

    fn is_sync(packet: &Packet) -> bool {
        packet.start()
    }
}
