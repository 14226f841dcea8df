//! ETMv4 (4.0 to 4.6) and ETE (1.0 to 1.3): the instruction trace of Arm cores from Armv7 to Armv9.
//!
//! Specifications: IHI 0064 "ETM architecture specification, ETMv4.0 to ETMv4.6"; Arm ARM (DDI
//! 0487) part D5 and K10.5 for ETE. One packet set serves both.
//!
//! | section | item | test |
//! |---|---|---|
//! | registers | [`Config`] | `tests/registers.rs` |
//! | header dispatch | [`Packet`] | `tests/headers.rs` |
//! | packet encodings | [`Packet`] | `tests/packets.rs`, `tests/random.rs` |
//! | data encodings (POD, ULEB128, BitReplacement) | [`crate::bits`] | `tests/fields.rs` |
//! | Alignment Sync | `sync.rs` | `tests/sync.rs` |
//! | retained state | [`History`] | `tests/history.rs` |
//! | trace unit | [`Encoder`] | `encode/`, the model's round trips |
//!
//! ```
//! use tracewright_base::{Parse, Wire};
//! use tracewright_protocols::etmv4::{Config, History, Packet};
//!
//! let registers = |name: &str| match name {
//!     "TRCCONFIGR" => Some(0xc1),
//!     "TRCTRACEIDR" => Some(0x10),
//!     "TRCIDR0" => Some(0x2800_0ea1),
//!     "TRCIDR1" => Some(0x4100_f403),
//!     "TRCIDR2" => Some(0x488),
//!     _ => None,
//! };
//! let config = Config::etmv4(None, &registers)?;
//! let mut bytes: &[u8] = &[0x01, 0x00, 0x9a, 0x42, 0x3d, 0x0a, 0x00, 0x95, 0x59, 0xfb];
//! let (mut history, mut texts) = (History::default(), Vec::new());
//! while let Parse::Packet(packet, len) = Packet::parse(bytes, &config) {
//!     history.packet(&packet);
//!     texts.push(packet.to_string());
//!     bytes = &bytes[len..];
//! }
//! assert_eq!(
//!     texts,
//!     [
//!         "trace info, no cycle counts",
//!         "address 0x..000a7b08 IS0 (32 bits)",
//!         "address 0x..164 IS0 (short, 9 bits)",
//!         "atoms EEN",
//!     ]
//! );
//! assert_eq!(history.last().address, 0xa_7b64);
//! # Ok::<(), tracewright_base::MissingRegister>(())
//! ```

mod config;
mod decode;
pub mod encode;
mod ete;
mod history;
mod names;
mod packet;
mod registers;
pub mod sync;

pub use config::{Config, InstP0, QSupport};
pub use decode::Decoder;
pub use encode::Encoder;
pub use ete::Ete;
pub use history::{Entry, History};
pub use packet::{
    Address, Atoms, Before, Conditional, ContextInfo, Exception, Outcome, Packet, Q, SubIsa,
    TraceInfo,
};

use alloc::borrow::Cow;

use tracewright_base::{CoreType, Isa, MissingRegister, Register, SyncSearch, Waypoints};

use crate::protocol::{Protocol, Resume};
use crate::sync_run::SyncRun;

#[cfg(test)]
mod tests;

/// Embedded Trace Macrocell, ETMv4.0 to 4.6.
#[derive(Clone, Copy, Debug)]
pub struct Etmv4;

impl Protocol for Etmv4 {
    const NAMES: &'static [&'static str] = &["ETM4"];
    const TITLE: &'static str = "Embedded Trace Macrocell version 4: instruction trace";
    const REGISTERS: &'static [Register] = registers::ETMV4;
    const RESUME: Resume = Resume::Next;
    const ID_REGISTER: Option<(&'static str, u32)> = Some(("TRCTRACEIDR", 0));
    const IN_ORDER: bool = true;
    const ISAS: &'static [Isa] = &[Isa::A64, Isa::A32, Isa::T32];
    const SYNC_RUN: Option<SyncRun<Packet>> = Some(sync::RUN);

    type Config = Config;
    type Packet = Packet;
    type Decoder = Decoder;

    fn configure(
        core: Option<CoreType>,
        register: &dyn Fn(&str) -> Option<u64>,
    ) -> Result<Config, MissingRegister> {
        Config::etmv4(core, register)
    }

    fn note(config: &Config) -> Option<&'static str> {
        (config.has_load_store_p0() && !config.microcontroller()).then_some(
            "TRCCONFIGR.INSTP0 makes loads or stores P0 elements, which is supported for A32 and \
             T32 code only: the decoded path of A64 code is wrong",
        )
    }

    fn assumptions(config: &Config) -> &'static [(&'static str, &'static str)] {
        config.assumptions()
    }

    fn trace_id(config: &Config) -> u8 {
        config.trace_id()
    }

    fn waypoints(config: &Config) -> Waypoints {
        config.waypoints()
    }

    fn exception_name(config: &Config, number: u16) -> Option<Cow<'static, str>> {
        names::exception(config, number)
    }

    fn sync(_: &Config, bytes: &[u8]) -> SyncSearch {
        sync::find(bytes)
    }

    fn is_sync(packet: &Packet) -> bool {
        matches!(packet, Packet::TraceInfo(_))
    }
}
