//! STM: the System Trace Macrocell, MIPI System Trace Protocol version 2.
//!
//! Software and hardware events write messages to channels of masters. Packets consist of nibbles,
//! the low half of a byte first, and begin on either half. Timestamps are complete, or the low bits
//! up to the highest one that changed, in binary or in Gray code; or differences.
//!
//! Specification: MIPI Alliance Specification for System Trace Protocol, version 2.x; Arm CoreSight
//! System Trace Macrocell Technical Reference Manual (DDI 0444, DDI 0528).
//!
//! | section | item | test |
//! |---|---|---|
//! | synchronisation | [`Packet::Async`] | `synchronisation`, `search` |
//! | version, endianness | [`Packet::Version`] | `versions`, `lowest_nibble_first` |
//! | masters and channels | [`Packet::Master8`], [`Packet::Channel8`], … | `masters_and_channels` |
//! | data, marker, timestamp | [`Packet::Data`] | `opcodes`, `data` |
//! | flag, trigger, user | [`Packet::Flag`], [`Packet::Trigger`], [`Packet::User`] | `events` |
//! | errors | [`Packet::MasterError`], [`Packet::GlobalError`] | `errors` |
//! | frequency | [`Packet::Frequency`], [`Packet::Frequency40`] | `events` |
//! | timestamps | [`Stamp`], [`Format`], [`History`] | `natural_time`, `gray_time`, `delta_time` |
//!
//! ```
//! use tracewright_base::{Channel, Element, NoMemory, OffsetMap, Piece, Software, Wire};
//! use tracewright_protocols::{Stream, stm::{Config, Format, Packet, Size, Stm}};
//!
//! let mut nibbles = Vec::new();
//! for packet in [
//!     Packet::Async,
//!     Packet::Version { format: Format::Natural, revision: None },
//!     Packet::Master8(0x40),
//!     Packet::Data { size: Size::Byte, bits: 0x2a, marker: true, time: None },
//! ] {
//!     packet.emit(&Config::default(), &mut nibbles);
//! }
//! let pieces = [Piece { start: 0, at: 0, fragment: true }];
//! let offsets = OffsetMap::new(&pieces).of_nibbles();
//! let mut elements = Vec::new();
//! let mut stream = Stream::<Stm>::new(Config::default());
//! let taken = stream.feed(&nibbles, &offsets, &mut NoMemory, &mut elements);
//! assert_eq!(taken, nibbles.len());
//!
//! let channel = Channel::Master { master: Some(0x40), channel: Some(0) };
//! let write = Software::new(channel, 8, 0x2a).with(Software::MARKER);
//! assert_eq!(elements[1], (14, Element::SoftwareWrite(write)));
//! ```

mod config;
mod decode;
mod encode;
mod packet;
mod sync;
#[cfg(test)]
mod tests;

pub use config::Config;
pub use decode::{Decoder, History};
pub use encode::{Encoder, Settings};
pub use packet::{Format, LITTLE_ENDIAN, Packet, Size, Stamp};

use tracewright_base::{CoreType, Isa, MissingRegister, Register, SyncSearch, Waypoints};

use crate::protocol::{Protocol, Resume, TraceForm};
use crate::sync_run::SyncRun;

/// The protocol.
#[derive(Clone, Copy, Debug)]
pub struct Stm;

impl Protocol for Stm {
    const NAMES: &'static [&'static str] = &["STM"];
    const TITLE: &'static str = "System Trace Macrocell (MIPI STPv2)";
    const REGISTERS: &'static [Register] = config::REGISTERS;
    // The length of a packet with a reserved opcode is not known: the nibbles that follow may be
    // payload.
    const RESUME: Resume = Resume::Seek;
    const FORM: TraceForm = TraceForm::HalfBytes;
    // TRACEID, bits [22:16].
    const ID_REGISTER: Option<(&'static str, u32)> = Some(("STMTCSR", 16));
    const ISAS: &'static [Isa] = &[];
    const SYNC_RUN: Option<SyncRun<Packet>> = Some(sync::RUN);

    type Config = Config;
    type Packet = Packet;
    type Decoder = Decoder;

    fn configure(
        _: Option<CoreType>,
        register: &dyn Fn(&str) -> Option<u64>,
    ) -> Result<Config, MissingRegister> {
        let row = config::REGISTERS.iter().find(|row| row.name == "STMTCSR");
        let control = row.and_then(|row| row.read(register)).unwrap_or(0);
        Ok(Config { control: control as u32 })
    }

    fn trace_id(config: &Config) -> u8 {
        config.trace_id()
    }

    fn waypoints(_: &Config) -> Waypoints {
        Waypoints::default()
    }

    fn sync(_: &Config, nibbles: &[u8]) -> SyncSearch {
        sync::find(nibbles)
    }

    fn is_sync(packet: &Packet) -> bool {
        matches!(packet, Packet::Async)
    }
}
