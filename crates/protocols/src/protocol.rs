//! The interface of a protocol.

use alloc::borrow::Cow;
use alloc::string::String;
use core::fmt;

use tracewright_base::{CoreType, Decode, MissingRegister, Register, SyncSearch, Waypoints, Wire};
use tracewright_isa::rv::Extensions;

/// How decoding resumes after undecodable bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resume {
    /// At the next synchronisation: the bytes that follow cannot be distinguished from payload.
    Seek,
    /// At the next byte. The decoder drops the state that is no longer certain.
    Next,
}

/// A field of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// Its name in the specification.
    pub name: &'static str,
    /// Its first bit, counted from the start of the payload.
    pub at: u32,
    /// Its width in bits.
    pub width: u32,
    /// The number of its bits in the packet. The other bits equal the last one.
    pub sent: u32,
    /// Its value.
    pub value: u64,
}

/// A trace protocol: a name in the registry and the types behind it.
pub trait Protocol: Copy + fmt::Debug + 'static {
    /// Its names in captures, up to a full stop: `ETM4` matches a device of type `ETM4.2`.
    const NAMES: &'static [&'static str];
    /// A short description.
    const TITLE: &'static str;
    /// The registers that configure it. [`Register::required`] marks those that decoding needs.
    const REGISTERS: &'static [Register];
    /// The parameters that are text, each of which may be given several times: name and
    /// description.
    const TEXTS: &'static [(&'static str, &'static str)] = &[];
    /// How decoding resumes after undecodable bytes.
    const RESUME: Resume;
    /// Whether packets are a whole number of half bytes. Then each byte of the stream's input has
    /// half a byte, the low half first.
    const NIBBLES: bool = false;

    /// A trace unit's configuration.
    type Config: Clone + fmt::Debug + PartialEq;
    /// A packet.
    type Packet: Wire<Self::Config>;
    /// The decoder.
    type Decoder: Decode<Self::Config, Self::Packet>;

    /// Makes the configuration from registers by name. `core` is the processor that the unit
    /// traces.
    ///
    /// # Errors
    /// [`MissingRegister`] where a register that decoding needs is absent.
    fn configure(
        core: Option<CoreType>,
        register: &dyn Fn(&str) -> Option<u64>,
    ) -> Result<Self::Config, MissingRegister>;

    /// The value of parameter `name` that is given as text. `None` where the protocol has no named
    /// parameters.
    ///
    /// # Errors
    /// A message that states the error in the name or the text, and the valid values.
    fn parse_value(name: &str, text: &str) -> Option<Result<u64, String>> {
        let _ = (name, text);
        None
    }

    /// Sets a parameter that is text: one of [`TEXTS`](Self::TEXTS), in upper or lower case. `None`
    /// where there is no parameter of that name.
    ///
    /// # Errors
    /// A message that states the error in the text.
    fn set_text(config: &mut Self::Config, name: &str, text: &str) -> Option<Result<(), String>> {
        let _ = (config, name, text);
        None
    }

    /// The RISC-V extensions of the processor that the unit traces.
    fn riscv(config: &Self::Config) -> Extensions {
        let _ = config;
        Extensions::NONE
    }

    /// The trace ID (ATB ID) of the unit.
    fn trace_id(config: &Self::Config) -> u8;

    /// The instructions that end a block for this unit.
    fn waypoints(config: &Self::Config) -> Waypoints;

    /// The name of exception `number`, if it has one.
    fn exception_name(config: &Self::Config, number: u16) -> Option<Cow<'static, str>> {
        let _ = (config, number);
        None
    }

    /// Searches `bytes` for an offset where a decoder in its initial state may start.
    fn sync(config: &Self::Config, bytes: &[u8]) -> SyncSearch;

    /// Whether the first byte begins a packet: no synchronisation is searched for.
    fn starts_synced(config: &Self::Config) -> bool {
        let _ = config;
        false
    }

    /// The offset in the last `bytes` of a trace where a decoder in its initial state may start, if
    /// [`sync`](Self::sync) needs more bytes to decide. `None` where there is none.
    fn sync_at_end(config: &Self::Config, bytes: &[u8]) -> Option<usize> {
        let _ = (config, bytes);
        None
    }

    /// Calls `each` for each field of the packet that begins at the first byte, in the order of the
    /// encoding. Protocols whose packets are not a sequence of fields have none.
    fn explain(config: &Self::Config, bytes: &[u8], each: &mut dyn FnMut(Field)) {
        let _ = (config, bytes, each);
    }

    /// Updates `config` with what a packet states about the unit itself. Later packets are parsed
    /// with the updated configuration.
    #[inline]
    fn learn(config: &mut Self::Config, packet: &Self::Packet) {
        let _ = (config, packet);
    }
}
