//! The list of protocols. Joining it is a line.

use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::string::String;
use core::fmt;
use core::ops::Range;

use tracewright_base::{
    Code, CoreType, Fault, MissingRegister, OffsetMap, Register, Sink, Sync, Waypoints, Wire,
};

use tracewright_isa::rv::Extensions;

use crate::{Field, PacketKind, Protocol, Stream, Tap};

/// What every protocol says of itself.
#[derive(Clone, Copy, Debug)]
pub struct About {
    /// How captures spell it.
    pub names: &'static [&'static str],
    /// What it is, in a few words.
    pub title: &'static str,
    /// Its registers.
    pub registers: &'static [Register],
    /// Its parameters that are text: name, and what it is.
    pub texts: &'static [(&'static str, &'static str)],
}

/// Why no configuration could be made of a device's registers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConfigureError {
    /// No protocol has this name.
    Unknown,
    /// A register is missing that decoding needs.
    Missing(MissingRegister),
}

impl fmt::Display for ConfigureError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ConfigureError::Missing(missing) => missing.fmt(f),
            ConfigureError::Unknown => {
                f.write_str("unknown protocol; known are")?;
                AnyProtocol::ALL
                    .iter()
                    .flat_map(|p| p.about().names)
                    .try_for_each(|name| write!(f, " {name}"))
            }
        }
    }
}

/// Watches packets of any protocol.
pub trait AnyTap {
    /// A packet, before the decoder sees it: `bytes[span]`, where `offsets` maps offsets in
    /// `bytes`.
    fn packet(
        &mut self,
        offsets: &OffsetMap<'_>,
        span: Range<usize>,
        bytes: &[u8],
        p: AnyPacket<'_>,
    );

    /// Bytes that are no packet: `bytes[span]`, where `offsets` maps offsets in `bytes`.
    fn bad(&mut self, offsets: &OffsetMap<'_>, span: Range<usize>, bytes: &[u8], fault: Fault);

    /// Bytes that may begin a synchronisation wait for what follows them.
    fn held(&mut self, bytes: &[u8]) {
        let _ = bytes;
    }

    /// It wants each packet: decoders must take them one by one.
    #[inline]
    fn each(&self) -> bool {
        true
    }

    /// A decoder has taken so many packets, `span`, at once: they are not told one by one.
    #[inline]
    fn packets(&mut self, offsets: &OffsetMap<'_>, span: Range<usize>, count: usize) {
        let _ = (offsets, span, count);
    }
}

/// Watches nothing.
impl AnyTap for () {
    #[inline]
    fn packet(&mut self, _: &OffsetMap<'_>, _: Range<usize>, _: &[u8], _: AnyPacket<'_>) {}

    #[inline]
    fn bad(&mut self, _: &OffsetMap<'_>, _: Range<usize>, _: &[u8], _: Fault) {}

    #[inline]
    fn each(&self) -> bool {
        false
    }
}

macro_rules! protocols {
    ($($(#[$doc:meta])* $name:ident: $protocol:ty,)*) => {
        /// A protocol, by name.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum AnyProtocol { $($(#[$doc])* $name,)* }

        impl AnyProtocol {
            /// All of them.
            pub const ALL: &'static [AnyProtocol] = &[$(AnyProtocol::$name,)*];

            /// What it says of itself.
            pub const fn about(self) -> About {
                match self {
                    $(AnyProtocol::$name => About {
                        names: <$protocol as Protocol>::NAMES,
                        title: <$protocol as Protocol>::TITLE,
                        registers: <$protocol as Protocol>::REGISTERS,
                        texts: <$protocol as Protocol>::TEXTS,
                    },)*
                }
            }

            /// See [`Protocol::word`].
            pub fn word(self, name: &str, word: &str) -> Option<Result<u64, String>> {
                match self {
                    $(AnyProtocol::$name => <$protocol as Protocol>::word(name, word),)*
                }
            }

            /// Makes a configuration from registers by name.
            ///
            /// # Errors
            /// [`MissingRegister`] where one that decoding needs is absent.
            pub fn configure(
                self,
                core: Option<CoreType>,
                register: &dyn Fn(&str) -> Option<u64>,
            ) -> Result<AnyConfig, MissingRegister> {
                match self {
                    $(AnyProtocol::$name => {
                        <$protocol as Protocol>::configure(core, register).map(AnyConfig::$name)
                    })*
                }
            }
        }

        /// A configuration of any protocol.
        #[derive(Clone, Debug, PartialEq)]
        #[allow(clippy::large_enum_variant, reason = "there is one for each source, not many")]
        pub enum AnyConfig { $($(#[$doc])* $name(<$protocol as Protocol>::Config),)* }

        impl AnyConfig {
            /// Which protocol it is of.
            pub const fn protocol(&self) -> AnyProtocol {
                match self { $(AnyConfig::$name(_) => AnyProtocol::$name,)* }
            }

            /// See [`Protocol::tell`].
            pub fn tell(&mut self, name: &str, text: &str) -> Option<Result<(), String>> {
                match self {
                    $(AnyConfig::$name(c) => <$protocol as Protocol>::tell(c, name, text),)*
                }
            }

            /// What RISC-V opcodes mean to the processor that is watched.
            pub fn riscv(&self) -> Extensions {
                match self { $(AnyConfig::$name(c) => <$protocol as Protocol>::riscv(c),)* }
            }

            /// The trace id that the unit was programmed with.
            pub fn trace_id(&self) -> u8 {
                match self { $(AnyConfig::$name(c) => <$protocol as Protocol>::trace_id(c),)* }
            }

            /// The instructions that end a block for this unit.
            pub fn waypoints(&self) -> Waypoints {
                match self { $(AnyConfig::$name(c) => <$protocol as Protocol>::waypoints(c),)* }
            }

            /// What exception `number` is called, where it has a name.
            pub fn exception_name(&self, number: u16) -> Option<Cow<'static, str>> {
                match self {
                    $(AnyConfig::$name(c) => <$protocol as Protocol>::exception_name(c, number),)*
                }
            }

            /// Where in `bytes` a decoder that knows nothing may start.
            pub fn sync(&self, bytes: &[u8]) -> Sync {
                match self { $(AnyConfig::$name(c) => <$protocol as Protocol>::sync(c, bytes),)* }
            }

            /// See [`Protocol::explain`].
            pub fn explain(&self, bytes: &[u8], each: &mut dyn FnMut(Field)) {
                match self {
                    $(AnyConfig::$name(c) => <$protocol as Protocol>::explain(c, bytes, each),)*
                }
            }

            /// See [`Protocol::learn`]. From packets of another protocol nothing is learnt.
            pub fn learn(&mut self, packet: AnyPacket<'_>) {
                match (self, packet) {
                    $((AnyConfig::$name(c), AnyPacket::$name(packet)) => {
                        <$protocol as Protocol>::learn(c, packet);
                    })*
                    _ => {}
                }
            }

            /// A stream that knows nothing yet.
            pub fn stream(&self) -> AnyStream {
                match self { $(AnyConfig::$name(c) => AnyStream::$name(Box::new(Stream::new(c.clone()))),)* }
            }
        }

        /// A packet of any protocol.
        #[derive(Clone, Copy, Debug)]
        pub enum AnyPacket<'a> {
            $($(#[$doc])* $name(&'a <$protocol as Protocol>::Packet),)*
        }

        impl AnyPacket<'_> {
            /// What kind of packet it is, of those of its protocol.
            pub fn kind(&self) -> PacketKind {
                match self { $(AnyPacket::$name(packet) => PacketKind::of(packet),)* }
            }

            /// Writes the packet in its shortest form. Where `config` is another protocol's,
            /// nothing.
            pub fn emit(&self, config: &AnyConfig, out: &mut impl Extend<u8>) {
                match (self, config) {
                    $((AnyPacket::$name(packet), AnyConfig::$name(c)) => packet.emit(c, out),)*
                    _ => {}
                }
            }
        }

        impl fmt::Display for AnyPacket<'_> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self { $(AnyPacket::$name(packet) => packet.fmt(f),)* }
            }
        }

        /// A stream of any protocol: one `match` a block of bytes; inside it all calls are direct.
        #[derive(Clone, Debug, PartialEq)]
        pub enum AnyStream { $($(#[$doc])* $name(Box<Stream<$protocol>>),)* }

        impl AnyStream {
            /// Whether it is given half a byte in each byte.
            pub const fn nibbles(&self) -> bool {
                match self { $(AnyStream::$name(_) => <$protocol as Protocol>::NIBBLES,)* }
            }

            /// See [`Stream::reset`].
            pub fn reset(&mut self) {
                match self { $(AnyStream::$name(s) => s.reset(),)* }
            }

            /// Whether the next byte begins a packet.
            pub fn synced(&self) -> bool {
                match self { $(AnyStream::$name(s) => s.synced(),)* }
            }

            /// See [`Stream::lost`].
            pub fn lost<S: Sink>(&mut self, at: u64, sink: &mut S) {
                match self { $(AnyStream::$name(s) => s.lost(at, sink),)* }
            }

            /// See [`Stream::agrees`].
            pub fn agrees(&self, other: &Self) -> bool {
                match (self, other) {
                    $((AnyStream::$name(one), AnyStream::$name(other)) => one.agrees(other),)*
                    _ => false,
                }
            }

            /// See [`Stream::feed`].
            pub fn feed<K: Code, S: Sink, T: AnyTap>(
                &mut self,
                bytes: &[u8],
                offsets: &OffsetMap<'_>,
                code: &mut K,
                sink: &mut S,
                tap: &mut T,
            ) -> usize {
                match self { $(AnyStream::$name(s) => s.feed(bytes, offsets, code, sink, tap),)* }
            }

            /// See [`Stream::feed_to`].
            pub fn feed_to<K: Code, E: Sink + AnyTap>(
                &mut self,
                bytes: &[u8],
                offsets: &OffsetMap<'_>,
                code: &mut K,
                observer: &mut E,
            ) -> usize {
                match self { $(AnyStream::$name(s) => s.feed_to(bytes, offsets, code, observer),)* }
            }

            /// See [`Stream::finish_to`].
            pub fn finish_to<K: Code, E: Sink + AnyTap>(
                &mut self,
                rest: &[u8],
                offsets: &OffsetMap<'_>,
                code: &mut K,
                observer: &mut E,
            ) {
                match self { $(AnyStream::$name(s) => s.finish_to(rest, offsets, code, observer),)* }
            }

            /// See [`Stream::finish`].
            pub fn finish<K: Code, S: Sink, T: AnyTap>(
                &mut self,
                rest: &[u8],
                offsets: &OffsetMap<'_>,
                code: &mut K,
                sink: &mut S,
                tap: &mut T,
            ) {
                match self { $(AnyStream::$name(s) => s.finish(rest, offsets, code, sink, tap),)* }
            }
        }

        $(impl<T: AnyTap> Tap<$protocol> for T {
            #[inline]
            fn packet(
                &mut self,
                offsets: &OffsetMap<'_>,
                span: Range<usize>,
                bytes: &[u8],
                packet: &<$protocol as Protocol>::Packet,
            ) {
                AnyTap::packet(self, offsets, span, bytes, AnyPacket::$name(packet));
            }

            #[inline]
            fn bad(&mut self, offsets: &OffsetMap<'_>, span: Range<usize>, bytes: &[u8], fault: Fault) {
                AnyTap::bad(self, offsets, span, bytes, fault);
            }

            #[inline]
            fn held(&mut self, bytes: &[u8]) {
                AnyTap::held(self, bytes);
            }

            #[inline]
            fn each(&self) -> bool {
                AnyTap::each(self)
            }

            #[inline]
            fn packets(&mut self, offsets: &OffsetMap<'_>, span: Range<usize>, count: usize) {
                AnyTap::packets(self, offsets, span, count);
            }
        })*
    };
}

protocols! {
    /// Embedded Trace Macrocell, version 1: `etmv1/`.
    Etmv1: crate::etmv1::Etmv1,
    /// Embedded Trace Macrocell, version 2: `etmv2/`.
    Etmv2: crate::etmv2::Etmv2,
    /// Embedded Trace Macrocell, version 3: `etmv3/`.
    Etmv3: crate::etmv3::Etmv3,
    /// Embedded Trace Macrocell, version 4: `etmv4/`.
    Etmv4: crate::etmv4::Etmv4,
    /// Embedded Trace Extension: `etmv4/ete.rs` holds the difference.
    Ete: crate::etmv4::Ete,
    /// The data stream of an ETMv4: `etmv4d/`.
    Etmv4d: crate::etmv4d::Etmv4d,
    /// RISC-V processor trace: `etrace/`.
    Etrace: crate::etrace::Etrace,
    /// Program Flow Trace Macrocell: `ptm/`.
    Ptm: crate::ptm::Ptm,
    /// Instrumentation Trace Macrocell: `itm/`.
    Itm: crate::itm::Itm,
    /// System Trace Macrocell: `stm/`.
    Stm: crate::stm::Stm,
}

impl AnyProtocol {
    /// A parameter called `name` is text: see [`AnyConfig::tell`].
    pub fn has_text(self, name: &str) -> bool {
        self.about().texts.iter().any(|(known, _)| known.eq_ignore_ascii_case(name))
    }

    /// The register that holds the trace id of a unit, and its lowest bit there.
    pub const fn id_register(self) -> Option<(&'static str, u32)> {
        match self {
            AnyProtocol::Etmv4 | AnyProtocol::Ete => Some(("TRCTRACEIDR", 0)),
            AnyProtocol::Etmv3 | AnyProtocol::Ptm => Some(("ETMTRACEIDR", 0)),
            // TraceBusID, bits [22:16].
            AnyProtocol::Itm => Some(("ITMTCR", 16)),
            // TRACEID, bits [22:16].
            AnyProtocol::Stm => Some(("STMTCSR", 16)),
            AnyProtocol::Etrace => Some(("trace_id", 0)),
            _ => None,
        }
    }

    /// The protocol of a device that a capture calls `type_name`: `ETM4.2`, `ete`, `PFT1.1`.
    ///
    /// What follows the name must be a version: `.` and a digit, or nothing.
    pub fn named(type_name: &str) -> Option<AnyProtocol> {
        let name = type_name.split('.').next().unwrap_or(type_name).trim();
        Self::ALL
            .iter()
            .copied()
            .find(|p| p.about().names.iter().any(|n| n.eq_ignore_ascii_case(name)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_with_a_version_and_in_any_case() {
        for (name, want) in [
            ("ETM4", Some(AnyProtocol::Etmv4)),
            ("ETM4.2", Some(AnyProtocol::Etmv4)),
            ("etm4.6", Some(AnyProtocol::Etmv4)),
            ("ETE", Some(AnyProtocol::Ete)),
            ("ete1.1", None),
            ("", None),
        ] {
            assert_eq!(AnyProtocol::named(name), want, "{name}");
        }
    }

    #[test]
    fn no_two_protocols_share_a_name() {
        let names = || AnyProtocol::ALL.iter().flat_map(|p| p.about().names);
        for name in names() {
            assert_eq!(names().filter(|n| n.eq_ignore_ascii_case(name)).count(), 1, "{name}");
        }
    }
}
