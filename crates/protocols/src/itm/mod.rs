//! ITM: the Instrumentation Trace Macrocell and the Data Watchpoint and Trace unit of a Cortex-M.
//!
//! Software writes words to stimulus ports. The DWT adds samples of the program counter,
//! exceptions, wrapped counters and watched data. Timestamps give the time. The trace is output on
//! SWO or on a trace port, in formatter frames of a TPIU or without framing. The packets are the
//! same.
//!
//! Specification: Armv7-M Architecture Reference Manual (DDI 0403E.e), appendix D4 "Debug ITM and
//! DWT packet protocol"; Armv8-M Architecture Reference Manual (DDI 0553), part "ITM and DWT packet
//! protocol specification".
//!
//! | section | item | test |
//! |---|---|---|
//! | D4.2.1 synchronisation | [`Packet::Sync`] | `synchronisation` |
//! | D4.2.2 header encodings | [`Packet`] | `headers` |
//! | D4.2.3 overflow | [`Packet::Overflow`] | `overflow` |
//! | D4.2.4 local timestamps | [`Packet::LocalTime`], [`Packet::LocalTimeShort`] | `local_time` |
//! | D4.2.5 global timestamps | [`Packet::GlobalTimeLow`], [`Packet::GlobalTimeHigh`] | `global_time` |
//! | D4.2.6 extension, page | [`Packet::Page`], [`Packet::Extension`] | `pages`, `extensions` |
//! | D4.2.8 software source | [`Packet::Software`] | `software` |
//! | D4.2.9 hardware source | [`Packet::Hardware`], [`DwtEvent::meaning`] | `hardware` |
//!
//! [`DwtEvent::meaning`]: tracewright_base::DwtEvent::meaning
//!
//! ```
//! use tracewright_base::{Channel, Element, NoMemory, OffsetMap, Piece, Software};
//! use tracewright_protocols::{Stream, itm::{Config, Itm}};
//!
//! let bytes = [0, 0, 0, 0, 0, 0x80, 0x01, b'h', 0x01, b'i'];
//! let mut elements = Vec::new();
//! let mut stream = Stream::<Itm>::new(Config::default());
//! // Bytes arrive in pieces. Those of an incomplete packet are given again with the next piece.
//! let (mut at, mut waiting) = (0, Vec::new());
//! for arrived in bytes.chunks(7) {
//!     waiting.extend_from_slice(arrived);
//!     let pieces = [Piece { start: 0, at, fragment: true }];
//!     let offsets = OffsetMap::new(&pieces);
//!     let taken = stream.feed(&waiting, &offsets, &mut NoMemory, &mut elements);
//!     waiting.drain(..taken);
//!     at += taken as u64;
//! }
//!
//! let port = Channel::Port { page: Some(0), port: 0 };
//! let write = |c| Element::SoftwareWrite(Software::new(port, 8, u64::from(c)));
//! assert_eq!(elements[1..], [(6, write(b'h')), (8, write(b'i'))]);
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
pub use encode::{Encoder, Settings};
pub use packet::{Data, Packet};
pub use sync::Search;

use tracewright_base::{CoreType, Isa, MissingRegister, Register, SyncSearch, Waypoints};

use crate::protocol::{Protocol, Resume};
use crate::sync_run::SyncRun;

/// The protocol.
#[derive(Clone, Copy, Debug)]
pub struct Itm;

impl Protocol for Itm {
    const NAMES: &'static [&'static str] = &["ITM"];
    const TITLE: &'static str = "Instrumentation Trace Macrocell, with DWT packets (Cortex-M)";
    const REGISTERS: &'static [Register] = config::REGISTERS;
    // The length of a packet with a reserved header is not known: the bytes that follow may be
    // payload.
    const RESUME: Resume = Resume::Seek;
    // TraceBusID, bits [22:16].
    const ID_REGISTER: Option<(&'static str, u32)> = Some(("ITMTCR", 16));
    const ISAS: &'static [Isa] = &[];
    const SYNC_RUN: Option<SyncRun<Packet>> = Some(sync::RUN);

    type Config = Config;
    type Packet = Packet;
    type Decoder = Decoder;

    fn configure(
        _: Option<CoreType>,
        register: &dyn Fn(&str) -> Option<u64>,
    ) -> Result<Config, MissingRegister> {
        let row = config::REGISTERS.iter().find(|row| row.name == "ITMTCR");
        let control = row.and_then(|row| row.read(register)).unwrap_or(0);
        Ok(Config { control: control as u32, assume_synced: false })
    }

    fn trace_id(config: &Config) -> u8 {
        config.trace_id()
    }

    fn waypoints(_: &Config) -> Waypoints {
        Waypoints::default()
    }

    fn sync(config: &Config, bytes: &[u8]) -> SyncSearch {
        if config.assume_synced { SyncSearch::At(0) } else { sync::find(bytes) }
    }

    fn assumes_synced(config: &Config) -> Option<bool> {
        Some(config.assume_synced)
    }

    fn assume_synced(config: &mut Config, yes: bool) {
        config.assume_synced = yes;
    }

    fn is_sync(packet: &Packet) -> bool {
        matches!(packet, Packet::Sync { .. })
    }
}
