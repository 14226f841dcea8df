//! What a protocol is to the rest of the workspace.

use alloc::borrow::Cow;
use alloc::string::String;
use core::fmt;

use tracewright_base::{
    CoreType, Decode, Isa, MissingRegister, Register, SyncSearch, Waypoints, Wire,
};
use tracewright_isa::rv::Extensions;

/// What to do after bytes that are no packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resume {
    /// Look for the next synchronisation: what follows cannot be told from payload.
    Seek,
    /// Go on with the next byte. The decoder decides what it still believes.
    Next,
}

/// The form in which a capture stores the trace of a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceForm {
    /// Bytes, in formatter frames or as raw trace data.
    Bytes,
    /// Half bytes, the low half of a byte first. A packet is a whole number of half bytes, and a
    /// decoder gets one half byte in each byte.
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
    /// Its first bit, from the start of the payload.
    pub at: u32,
    /// Its width in bits.
    pub width: u32,
    /// How many of its bits the packet has; the others repeat the last one.
    pub sent: u32,
    /// Its value.
    pub value: u64,
}

/// A trace protocol: a name in the registry and the types behind it.
pub trait Protocol: Copy + fmt::Debug + 'static {
    /// How captures spell it, up to a full stop: `ETM4` matches a device of type `ETM4.2`.
    const NAMES: &'static [&'static str];
    /// What it is, in a few words.
    const TITLE: &'static str;
    /// The registers that configure it, those that decoding needs marked.
    const REGISTERS: &'static [Register];
    /// The parameters that are text, each of which may be given several times: name, and what it is.
    const TEXTS: &'static [(&'static str, &'static str)] = &[];
    /// What follows bytes that are no packet.
    const RESUME: Resume;
    /// The form in which a capture stores its trace.
    const FORM: TraceForm = TraceForm::Bytes;
    /// The register that holds the trace ID, and the lowest bit of the field there. `None` where no
    /// register of the unit holds one.
    const ID_REGISTER: Option<(&'static str, u32)>;
    /// The instruction sets whose execution it traces. Empty where it traces no instructions.
    const ISAS: &'static [Isa];

    /// A trace unit's configuration.
    type Config: Clone + fmt::Debug + PartialEq;
    /// A packet.
    type Packet: Wire<Self::Config>;
    /// The decoder.
    type Decoder: Decode<Self::Config, Self::Packet>;

    /// Makes the configuration from registers by name; `core` is what the unit watches.
    ///
    /// # Errors
    /// [`MissingRegister`] where one that decoding needs is absent.
    fn configure(
        core: Option<CoreType>,
        register: &dyn Fn(&str) -> Option<u64>,
    ) -> Result<Self::Config, MissingRegister>;

    /// The number of a register that can be told in words. `None` where the protocol has no words.
    ///
    /// # Errors
    /// What is wrong with the name or the word, and what could stand there.
    fn word(name: &str, word: &str) -> Option<Result<u64, String>> {
        let _ = (name, word);
        None
    }

    /// Takes a parameter that is text: one of [`TEXTS`](Self::TEXTS), in any case. `None` where there is none
    /// of that name.
    ///
    /// # Errors
    /// What is wrong with the text.
    fn tell(config: &mut Self::Config, name: &str, text: &str) -> Option<Result<(), String>> {
        let _ = (config, name, text);
        None
    }

    /// What RISC-V opcodes mean to the processor that is watched.
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

    /// The name of privilege level `level`. `None` where the protocol numbers exception levels (EL).
    fn privilege_name(level: u8) -> Option<&'static str> {
        let _ = level;
        None
    }

    /// The trace id (ATB id) that the unit was programmed with.
    fn trace_id(config: &Self::Config) -> u8;

    /// The instructions that end a block for this unit.
    fn waypoints(config: &Self::Config) -> Waypoints;

    /// What exception `number` is called, where it has a name.
    fn exception_name(config: &Self::Config, number: u16) -> Option<Cow<'static, str>> {
        let _ = (config, number);
        None
    }

    /// Where in `bytes` a decoder that knows nothing may start.
    fn sync(config: &Self::Config, bytes: &[u8]) -> SyncSearch;
    /// The first byte begins a packet: no synchronisation is looked for before it.
    fn starts_synced(config: &Self::Config) -> bool {
        let _ = config;
        false
    }

    /// Where in the last `bytes` of a trace a decoder that knows nothing may start, where
    /// [`sync`](Self::sync) would wait for more. `None` where nowhere.
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

    /// Names the fields of the packet that begins at the first byte, in their order on the wire. Protocols
    /// whose packets are not fields in a row name none.
    fn explain(config: &Self::Config, bytes: &[u8], each: &mut dyn FnMut(Field)) {
        let _ = (config, bytes, each);
    }

    /// What a packet says of the unit itself: packets after it are read as `config` then says.
    #[inline]
    fn learn(config: &mut Self::Config, packet: &Self::Packet) {
        let _ = (config, packet);
    }
}
