//! The interface of a protocol.

use alloc::borrow::Cow;
use alloc::string::String;
use core::fmt;

use tracewright_base::{
    CoreType, Decode, Invalid, Isa, MissingRegister, Register, SyncSearch, Waypoints, Wire,
};
use tracewright_isa::rv::Extensions;

use crate::kind::PacketKinds;
use crate::realign::BitSearch;
use crate::sync_run::SyncRun;

/// How decoding resumes after undecodable bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resume {
    /// At the next synchronisation: the bytes that follow cannot be distinguished from payload.
    Seek,
    /// At the next byte. The decoder drops the state that is no longer certain.
    Next,
}

/// The form in which a capture stores the trace of a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TraceForm {
    /// Bytes, in formatter frames or as raw trace data.
    Bytes,
    /// Nibbles, the low nibble of a byte first. A packet is a whole number of nibbles, and a
    /// decoder gets one nibble in each byte.
    HalfBytes,
    /// Cycles of a trace port of the unit's own, without a formatter.
    Cycles,
    /// Messages, each of which can have the number of its source.
    Messages,
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

/// A register or parameter whose value a trace unit cannot have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidRegister {
    /// Its name.
    pub name: &'static str,
    /// Why it cannot have the value.
    pub why: String,
}

impl fmt::Display for InvalidRegister {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.name, self.why)
    }
}

impl core::error::Error for InvalidRegister {}

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
    /// The form in which a capture stores its trace.
    const FORM: TraceForm = TraceForm::Bytes;
    /// The register that holds the trace ID, and the lowest bit of the field there. `None` where no
    /// register of the unit holds one.
    const ID_REGISTER: Option<(&'static str, u32)>;
    /// Whether the fast path emits elements at the offset of the packet that it takes, or before it
    /// takes the first one, if the sink has [`WITH_PACKETS`](tracewright_base::Sink::WITH_PACKETS).
    const IN_ORDER: bool = false;
    /// Whether a packet may have very many elements.
    const EXPANDS: bool = false;
    /// The instruction sets whose execution it traces. Empty where it traces no instructions.
    const ISAS: &'static [Isa];

    /// A trace unit's configuration.
    type Config: Clone + fmt::Debug + PartialEq;
    /// A packet.
    type Packet: Wire<Self::Config> + PacketKinds;
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

    /// Checks registers by name that [`configure`](Self::configure) accepts one by one, but of
    /// which no trace unit has the combination.
    ///
    /// # Errors
    /// The name of a register to change, and why the combination is refused.
    fn check(register: &dyn Fn(&str) -> Option<u64>) -> Result<(), InvalidRegister> {
        let _ = register;
        Ok(())
    }

    /// The name by which [`configure`](Self::configure) and the trace unit in software know the
    /// parameter `name`. `None` where there is no other spelling, or no such parameter.
    fn canonical(name: &str) -> Option<&'static str> {
        let _ = name;
        None
    }

    /// Whether nothing depends on the parameter `name`, which files of the protocol may have.
    fn is_unused(name: &str) -> bool {
        let _ = name;
        false
    }

    /// The value of parameter `name` that is given as text. `None` where the protocol has no named
    /// parameters.
    ///
    /// # Errors
    /// A message that states the error in the name or the text, and the valid values.
    fn parse_value(name: &str, text: &str) -> Option<Result<u64, Invalid>> {
        let _ = (name, text);
        None
    }

    /// Sets a parameter that is text: one of [`TEXTS`](Self::TEXTS), in upper or lower case. `None`
    /// where there is no parameter of that name.
    ///
    /// # Errors
    /// A message that states the error in the text.
    fn set_text(config: &mut Self::Config, name: &str, text: &str) -> Option<Result<(), Invalid>> {
        let _ = (config, name, text);
        None
    }

    /// What a user should know about decoding with this configuration.
    fn note(config: &Self::Config) -> Option<&'static str> {
        let _ = config;
        None
    }

    /// The registers that a complete capture has, and what [`configure`](Self::configure) assumes of
    /// each where it is missing. Registers on which nothing depends are left out.
    fn assumptions(config: &Self::Config) -> &'static [(&'static str, &'static str)] {
        let _ = config;
        &[]
    }

    /// The RISC-V extensions of the processor that the unit traces.
    fn riscv(config: &Self::Config) -> Extensions {
        let _ = config;
        Extensions::NONE
    }

    /// The same, to be changed. `None` where the processor is not RISC-V.
    fn riscv_mut(config: &mut Self::Config) -> Option<&mut Extensions> {
        let _ = config;
        None
    }

    /// The instruction set that the configuration fixes for the whole trace. `None` where the trace
    /// can change it.
    fn fixed_isa(config: &Self::Config) -> Option<Isa> {
        let _ = config;
        None
    }

    /// The name of privilege level `level`. `None` where the protocol numbers exception levels
    /// (EL).
    fn privilege_name(level: u8) -> Option<&'static str> {
        let _ = level;
        None
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

    /// The packet that [`sync`](Self::sync) finds, if it is a run of equal bytes and the byte after
    /// it. Decoding resumes at its end where a damaged packet took its first bytes. `None` also
    /// where [`sync_bit`](Self::sync_bit) finds such a packet.
    const SYNC_RUN: Option<SyncRun<Self::Packet>> = None;

    /// Searches `bytes` for an offset where a decoder in its initial state may start.
    fn sync(config: &Self::Config, bytes: &[u8]) -> SyncSearch;

    /// As [`sync`](Self::sync), for bytes behind others in which there is no such offset. The result
    /// does not depend on where the bytes are cut.
    fn sync_behind(config: &Self::Config, bytes: &[u8]) -> SyncSearch {
        Self::sync(config, bytes)
    }

    /// Whether the first byte begins a packet: no synchronisation is searched for.
    fn starts_synced(config: &Self::Config) -> bool {
        let _ = config;
        false
    }

    /// Whether the packets of a capture may begin inside a byte. [`sync_bit`](Self::sync_bit) then
    /// replaces [`sync`](Self::sync).
    const UNALIGNED: bool = false;

    /// Searches `bytes` for a bit where a decoder in its initial state may start. `zeros` is the
    /// number of zero bits directly before `bytes`; 255 stands for 255 and more.
    fn sync_bit(config: &Self::Config, bytes: &[u8], zeros: u8) -> BitSearch {
        let _ = zeros;
        match Self::sync(config, bytes) {
            SyncSearch::At(byte) => BitSearch::At(byte),
            SyncSearch::NotIn(bytes) => BitSearch::NotIn(bytes),
        }
    }

    /// The offset in the last `bytes` of a trace where a decoder in its initial state may start, if
    /// [`sync`](Self::sync) needs more bytes to decide. `None` where there is none.
    fn sync_at_end(config: &Self::Config, bytes: &[u8]) -> Option<usize> {
        let _ = (config, bytes);
        None
    }

    /// Whether decoding begins at the first byte without a synchronisation packet. `None` where a
    /// decoder of the protocol always needs one.
    fn assumes_synced(config: &Self::Config) -> Option<bool> {
        let _ = config;
        None
    }

    /// Sets [`assumes_synced`](Self::assumes_synced), where it is not `None`.
    fn assume_synced(config: &mut Self::Config, yes: bool) {
        let _ = (config, yes);
    }

    /// Whether a decoder that knows nothing may start from `packet`.
    fn is_sync(packet: &Self::Packet) -> bool;

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
