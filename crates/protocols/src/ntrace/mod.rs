//! RISC-V N-Trace: processor trace in Nexus messages.
//!
//! Specifications: *RISC-V N-Trace (Nexus-based Trace) Specification* 1.0; *RISC-V Trace Control
//! Interface Specification* 1.0. The messages of SiFive cores before 1.0, and the optional ones of
//! the Accemic encoder, are profiles. An encoder traces the number of retired half-words up to a
//! branch, its outcome or those of the branches before it, and the targets that the program does
//! not give. The trace data state nothing of this configuration: [`Config`] has it.
//!
//! | section | item | test |
//! |---|---|---|
//! | "N-Trace Transmission Protocol" | [`packet::Span`] | `framing` |
//! | "N-Trace Messages" | [`packet::Message`] | `messages` |
//! | "Virtual Addresses Optimization" | [`packet::fields::Fields::address`] | `addresses` |
//! | "Decoding Algorithm" | [`Decoder`] | `crates/tracewright/tests/riscv/ntrace.rs` |
//!
//! ```
//! use tracewright_base::{Parse, Wire};
//! use tracewright_protocols::ntrace::{Config, Packet};
//!
//! // The specification's own example.
//! let bytes = [0x70, 0xd0, 0x1d, 0x1d, 0xf8, 0xff];
//! let Parse::Packet(packet, 6) = Packet::parse(&bytes, &Config::default()) else { panic!() };
//! assert_eq!(packet.to_string(), "IndirectBranchHist B-TYPE 0, I-CNT 125, U-ADDR 0x7, HIST 0xffe");
//! ```

pub mod config;
pub mod decode;
pub mod demux;
pub mod encode;
pub mod names;
pub mod packet;
pub mod sync;
#[cfg(test)]
mod tests;

use alloc::borrow::Cow;

use tracewright_base::{CoreType, Invalid, Isa, MissingRegister, Register, SyncSearch, Waypoints};
use tracewright_isa::rv::Extensions;

pub use config::Config;
pub use decode::Decoder;
pub use demux::Demux;
pub use packet::{Message, Packet};

use crate::protocol::{Field, Protocol, Resume, TraceForm};

/// RISC-V N-Trace 1.0, and the messages of SiFive cores before it.
#[derive(Clone, Copy, Debug)]
pub struct Ntrace;

impl Protocol for Ntrace {
    const NAMES: &'static [&'static str] = &["NTRACE", "N-Trace", "NEXUS-RV"];
    const TITLE: &'static str = "RISC-V N-Trace (1.0, SiFive, Accemic)";
    const REGISTERS: &'static [Register] = config::REGISTERS;
    const RESUME: Resume = Resume::Next;
    const FORM: TraceForm = TraceForm::Messages;
    const ID_REGISTER: Option<(&'static str, u32)> = Some(("trace_id", 0));
    const EXPANDS: bool = true;
    const ISAS: &'static [Isa] = &[Isa::Rv32, Isa::Rv64];

    type Config = Config;
    type Packet = Packet;
    type Decoder = Decoder;

    fn configure(
        _core: Option<CoreType>,
        register: &dyn Fn(&str) -> Option<u64>,
    ) -> Result<Config, MissingRegister> {
        Ok(Config::from_registers(register))
    }

    fn canonical(name: &str) -> Option<&'static str> {
        crate::parameter::find(config::PARAMETERS, name).map(config::Parameter::name)
    }

    fn parse_value(name: &str, text: &str) -> Option<Result<u64, Invalid>> {
        Config::parse_value(name, text)
    }

    fn riscv(config: &Config) -> Extensions {
        config.extensions
    }

    fn riscv_mut(config: &mut Config) -> Option<&mut Extensions> {
        Some(&mut config.extensions)
    }

    fn fixed_isa(config: &Config) -> Option<Isa> {
        Some(config.isa())
    }

    fn privilege_name(level: u8) -> Option<&'static str> {
        ["U", "S", "H", "M"].get(usize::from(level)).copied()
    }

    fn trace_id(config: &Config) -> u8 {
        config.link.trace_id
    }

    fn waypoints(config: &Config) -> Waypoints {
        config.waypoints()
    }

    fn exception_name(_config: &Config, number: u16) -> Option<Cow<'static, str>> {
        names::trap(number).map(Cow::Borrowed)
    }

    fn sync(config: &Config, bytes: &[u8]) -> SyncSearch {
        sync::find(bytes, config)
    }

    fn sync_behind(_: &Config, bytes: &[u8]) -> SyncSearch {
        sync::find_end(bytes)
    }

    fn is_sync(packet: &Packet) -> bool {
        packet.sync().is_some()
    }

    fn starts_synced(config: &Config) -> bool {
        config.link.aligned
    }

    fn sync_at_end(config: &Config, bytes: &[u8]) -> Option<usize> {
        sync::find_at_end(bytes, config)
    }

    #[inline]
    fn learn(config: &mut Config, packet: &Packet) {
        if let Message::Configuration { words, .. } = &packet.message {
            config.learn(words);
        }
    }

    fn explain(config: &Config, bytes: &[u8], each: &mut dyn FnMut(Field)) {
        Packet::explain(bytes, config, each);
    }
}
