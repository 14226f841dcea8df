//! The data stream of an ETMv4: data addresses and data values in a separate stream.
//!
//! Specification: *Arm Embedded Trace Macrocell Architecture Specification*, ETMv4, IHI 0064,
//! "Data trace stream". A unit that traces data (Cortex-M7, Cortex-R5 and later R profile
//! processors may) sends it with the trace id of its instructions plus 1.
//!
//! **Limits.** The headers of all packets are public, and so are the packets for synchronisation,
//! markers and timestamps: these are parsed and emitted. Only IHI 0064 describes the payloads of P1
//! (address) and P2 (value) packets, and it was not available. Their headers are classified as
//! [`Header::Address`] and [`Header::Value`]. Their length is unknown, so all bytes up to the next
//! Alignment Sync are reported as `Fault::Opaque` and then as unsynchronised.
//!
//! Nothing here was verified against silicon. Unverified in particular: that Trace Info has the
//! fields of that of the instruction stream; that it sets the timestamp to zero; that a timestamp
//! has no cycle count; that an Event packet has no payload and is event 0, the only one in
//! TRCEVENTCTL1R.DATAEN.
//!
//! | section of IHI 0064 | item | test |
//! |---|---|---|
//! | "Data trace packet headers" | [`Header`] | `headers` |
//! | "Alignment Sync" | [`sync::find`] | `alignment` |
//! | "Data trace packets" | [`Packet`] | `packets`, `bad_bytes` |
//! | "Timestamp" | [`Decoder`] | `timestamps` |
//! | "Suppression", "Overflow", "Discard" | `Element::Gap` | `losses` |
//! | "TRCCONFIGR", "TRCTRACEIDR" | [`Config`] | `registers` |
//!
//! ```
//! use tracewright_protocols::etmv4d::Header;
//!
//! assert_eq!(Header::from_byte(0b0111_0001), Some(Header::Address { format: 1, bits: 1 }));
//! assert_eq!(Header::Value { format: 4, bits: 2 }.byte(), 0b0001_0010);
//! ```

pub mod config;
pub mod decode;
pub mod header;
pub mod packet;
pub mod sync;
#[cfg(test)]
mod tests;

use tracewright_base::{CoreType, Isa, MissingRegister, Register, SyncSearch, Waypoints};

pub use config::Config;
pub use decode::Decoder;
pub use header::Header;
pub use packet::Packet;

use crate::protocol::{Protocol, Resume};
use crate::sync_run::SyncRun;

/// The data stream of an ETMv4.
#[derive(Clone, Copy, Debug)]
pub struct Etmv4d;

impl Protocol for Etmv4d {
    const NAMES: &'static [&'static str] = &["ETM4D"];
    const TITLE: &'static str = "ETMv4 data stream (no addresses or values)";
    const REGISTERS: &'static [Register] = config::REGISTERS;
    const RESUME: Resume = Resume::Seek;
    const ID_REGISTER: Option<(&'static str, u32)> = None;
    const ISAS: &'static [Isa] = &[Isa::A64, Isa::A32, Isa::T32];
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
        config.data_id()
    }

    fn waypoints(_config: &Config) -> Waypoints {
        Waypoints::default()
    }

    fn sync(_config: &Config, bytes: &[u8]) -> SyncSearch {
        sync::find(bytes)
    }

    fn is_sync(_packet: &Packet) -> bool {
        false
    }
}
