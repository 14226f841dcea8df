//! What a protocol is to the rest of the workspace.

use alloc::borrow::Cow;
use alloc::string::String;
use core::fmt;

use tracewright_base::{CoreType, Decode, MissingRegister, Register, Sync, Waypoints, Wire};
use tracewright_isa::rv::Extensions;

/// What to do after bytes that are no packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resume {
    /// Look for the next synchronisation: what follows cannot be told from payload.
    Seek,
    /// Go on with the next byte. The decoder decides what it still believes.
    Next,
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
    /// The parameters that are text, each of which may be given several times: name, and what it
    /// is.
    const TEXTS: &'static [(&'static str, &'static str)] = &[];
    /// What follows bytes that are no packet.
    const RESUME: Resume;
    /// Packets are a whole number of half bytes: the driver is given half a byte in each byte, low
    /// half first.
    const NIBBLES: bool = false;

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

    /// Takes a parameter that is text: one of [`TEXTS`](Self::TEXTS), in any case. `None` where
    /// there is none of that name.
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
    fn sync(config: &Self::Config, bytes: &[u8]) -> Sync;
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

    /// Names the fields of the packet that begins at the first byte, in their order on the wire.
    /// Protocols whose packets are not fields in a row name none.
    fn explain(config: &Self::Config, bytes: &[u8], each: &mut dyn FnMut(Field)) {
        let _ = (config, bytes, each);
    }

    /// What a packet says of the unit itself: packets after it are read as `config` then says.
    #[inline]
    fn learn(config: &mut Self::Config, packet: &Self::Packet) {
        let _ = (config, packet);
    }
}
