//! The list of protocols: one line for each; and protocols of other crates beside it.

use alloc::borrow::Cow;
use alloc::vec::Vec;
use core::fmt;

use tracewright_base::{
    CoreType, Invalid, Isa, MissingRegister, Register, SyncSearch, Waypoints, Wire,
};

use tracewright_frames::ExternalLink;
use tracewright_isa::rv::Extensions;

pub use crate::about::About;
use crate::external::{External, ExternalConfig, ExternalPacket};
use crate::kind::PacketKind;
use crate::kind::PacketKinds;
use crate::protocol::{Field, InvalidRegister, Protocol, TraceForm};

/// Why a configuration cannot be made from a device's registers.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
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

/// A protocol that is in the list, or one of another crate, for which the methods are as they are
/// here: `impl Listed for Mine {}`.
pub trait Listed: Protocol<Config: 'static, Packet: 'static> {
    /// A packet of this protocol as a packet of any protocol.
    #[inline]
    fn any_packet(packet: &Self::Packet) -> AnyPacket<'_> {
        AnyPacket::External(ExternalPacket::new::<Self>(packet))
    }

    /// The packet of this protocol. `None` where `packet` is another protocol's.
    #[inline]
    fn packet(packet: AnyPacket<'_>) -> Option<&Self::Packet> {
        match packet {
            AnyPacket::External(packet) => packet.get::<Self>(),
            _ => None,
        }
    }
}

macro_rules! protocols {
    ($($(#[$doc:meta])* $name:ident: $protocol:ty,)*) => {
        /// A protocol, by name.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum AnyProtocol {
            $($(#[$doc])* $name,)*
            /// A protocol of another crate.
            External(External),
        }

        impl AnyProtocol {
            /// Every protocol that is in the list.
            pub const ALL: &'static [AnyProtocol] = &[$(AnyProtocol::$name,)*];

            /// The description of the protocol.
            pub fn about(self) -> About {
                match self {
                    $(AnyProtocol::$name => About::of::<$protocol>(),)*
                    AnyProtocol::External(external) => external.get().about(),
                }
            }

            /// See [`Protocol::canonical`].
            pub fn canonical(self, name: &str) -> Option<&'static str> {
                match self {
                    $(AnyProtocol::$name => <$protocol as Protocol>::canonical(name),)*
                    AnyProtocol::External(external) => external.get().canonical(name),
                }
            }

            /// The name of the register, the parameter or the setting that `name` means: by that
            /// name or another one, in any case. `None` if there is none.
            pub fn register_name(self, name: &str) -> Option<&'static str> {
                let is = |known: &&str| known.eq_ignore_ascii_case(name);
                let known = |r: &&Register| is(&r.name) || r.aliases.iter().any(is);
                let registers = self.about().registers;
                self.canonical(name).or_else(|| registers.iter().find(known).map(|r| r.name))
            }

            /// See [`Protocol::is_unused`].
            pub fn is_unused(self, name: &str) -> bool {
                match self {
                    $(AnyProtocol::$name => <$protocol as Protocol>::is_unused(name),)*
                    AnyProtocol::External(external) => external.get().is_unused(name),
                }
            }

            /// See [`Protocol::parse_value`].
            pub fn parse_value(self, name: &str, text: &str) -> Option<Result<u64, Invalid>> {
                match self {
                    $(AnyProtocol::$name => <$protocol as Protocol>::parse_value(name, text),)*
                    AnyProtocol::External(external) => external.get().parse_value(name, text),
                }
            }

            /// See [`Protocol::privilege_name`].
            pub fn privilege_name(self, level: u8) -> Option<&'static str> {
                match self {
                    $(AnyProtocol::$name => <$protocol as Protocol>::privilege_name(level),)*
                    AnyProtocol::External(external) => external.get().privilege_name(level),
                }
            }

            /// See [`Protocol::check`].
            ///
            /// # Errors
            /// The name of a register to change, and why the combination is refused.
            pub fn check(
                self,
                register: &dyn Fn(&str) -> Option<u64>,
            ) -> Result<(), InvalidRegister> {
                match self {
                    $(AnyProtocol::$name => <$protocol as Protocol>::check(register),)*
                    AnyProtocol::External(external) => external.get().check(register),
                }
            }

            /// Makes a configuration from registers by name.
            ///
            /// # Errors
            /// [`MissingRegister`] where a register that decoding needs is absent.
            pub fn configure(
                self,
                core: Option<CoreType>,
                register: &dyn Fn(&str) -> Option<u64>,
            ) -> Result<AnyConfig, MissingRegister> {
                match self {
                    $(AnyProtocol::$name => {
                        <$protocol as Protocol>::configure(core, register).map(AnyConfig::$name)
                    })*
                    AnyProtocol::External(external) => {
                        external.get().configure(core, register).map(AnyConfig::External)
                    }
                }
            }
        }

        /// A configuration of any protocol.
        #[derive(Clone, Debug, PartialEq)]
        #[allow(clippy::large_enum_variant, reason = "there are few: one for each source")]
        pub enum AnyConfig {
            $($(#[$doc])* $name(<$protocol as Protocol>::Config),)*
            /// That of a protocol of another crate.
            External(ExternalConfig),
        }

        impl AnyConfig {
            /// The protocol.
            pub const fn protocol(&self) -> AnyProtocol {
                match self {
                    $(AnyConfig::$name(_) => AnyProtocol::$name,)*
                    AnyConfig::External(c) => AnyProtocol::External(c.protocol()),
                }
            }

            /// See [`Protocol::set_text`].
            pub fn set_text(&mut self, name: &str, text: &str) -> Option<Result<(), Invalid>> {
                match self {
                    $(AnyConfig::$name(c) => <$protocol as Protocol>::set_text(c, name, text),)*
                    AnyConfig::External(c) => c.object_mut().set_text(name, text),
                }
            }

            /// See [`Protocol::note`].
            pub fn note(&self) -> Option<&'static str> {
                match self {
                    $(AnyConfig::$name(c) => <$protocol as Protocol>::note(c),)*
                    AnyConfig::External(c) => c.object().note(),
                }
            }

            /// See [`Protocol::assumptions`].
            pub fn assumptions(&self) -> &'static [(&'static str, &'static str)] {
                match self {
                    $(AnyConfig::$name(c) => <$protocol as Protocol>::assumptions(c),)*
                    AnyConfig::External(c) => c.object().assumptions(),
                }
            }

            /// See [`Protocol::riscv`].
            pub fn riscv(&self) -> Extensions {
                match self {
                    $(AnyConfig::$name(c) => <$protocol as Protocol>::riscv(c),)*
                    AnyConfig::External(c) => c.object().riscv(),
                }
            }

            /// See [`Protocol::riscv_mut`].
            pub fn riscv_mut(&mut self) -> Option<&mut Extensions> {
                match self {
                    $(AnyConfig::$name(c) => <$protocol as Protocol>::riscv_mut(c),)*
                    AnyConfig::External(c) => c.object_mut().riscv_mut(),
                }
            }

            /// See [`Protocol::fixed_isa`].
            pub fn fixed_isa(&self) -> Option<Isa> {
                match self {
                    $(AnyConfig::$name(c) => <$protocol as Protocol>::fixed_isa(c),)*
                    AnyConfig::External(c) => c.object().fixed_isa(),
                }
            }

            /// See [`Protocol::assumes_synced`].
            pub fn assumes_synced(&self) -> Option<bool> {
                match self {
                    $(AnyConfig::$name(c) => <$protocol as Protocol>::assumes_synced(c),)*
                    AnyConfig::External(c) => c.object().assumes_synced(),
                }
            }

            /// See [`Protocol::assume_synced`].
            pub fn assume_synced(&mut self, yes: bool) {
                match self {
                    $(AnyConfig::$name(c) => <$protocol as Protocol>::assume_synced(c, yes),)*
                    AnyConfig::External(c) => c.object_mut().assume_synced(yes),
                }
            }

            /// See [`Protocol::trace_id`].
            pub fn trace_id(&self) -> u8 {
                match self {
                    $(AnyConfig::$name(c) => <$protocol as Protocol>::trace_id(c),)*
                    AnyConfig::External(c) => c.object().trace_id(),
                }
            }

            /// See [`Protocol::waypoints`].
            pub fn waypoints(&self) -> Waypoints {
                match self {
                    $(AnyConfig::$name(c) => <$protocol as Protocol>::waypoints(c),)*
                    AnyConfig::External(c) => c.object().waypoints(),
                }
            }

            /// The name of exception `number`, if it has one.
            pub fn exception_name(&self, number: u16) -> Option<Cow<'static, str>> {
                match self {
                    $(AnyConfig::$name(c) => <$protocol as Protocol>::exception_name(c, number),)*
                    AnyConfig::External(c) => c.object().exception_name(number),
                }
            }

            /// See [`Protocol::sync`].
            pub fn sync(&self, bytes: &[u8]) -> SyncSearch {
                match self {
                    $(AnyConfig::$name(c) => <$protocol as Protocol>::sync(c, bytes),)*
                    AnyConfig::External(c) => c.object().sync(bytes),
                }
            }

            /// See [`Protocol::explain`].
            pub fn explain(&self, bytes: &[u8], each: &mut dyn FnMut(Field)) {
                match self {
                    $(AnyConfig::$name(c) => <$protocol as Protocol>::explain(c, bytes, each),)*
                    AnyConfig::External(c) => c.object().explain(bytes, each),
                }
            }

            /// See [`Protocol::learn`]. Packets of another protocol are ignored.
            pub fn learn(&mut self, packet: AnyPacket<'_>) {
                match (self, packet) {
                    $((AnyConfig::$name(c), AnyPacket::$name(packet)) => {
                        <$protocol as Protocol>::learn(c, packet);
                    })*
                    (AnyConfig::External(c), AnyPacket::External(packet)) => {
                        c.object_mut().learn(packet);
                    }
                    _ => {}
                }
            }
        }

        /// A packet of any protocol.
        #[derive(Clone, Copy, Debug)]
        pub enum AnyPacket<'a> {
            $($(#[$doc])* $name(&'a <$protocol as Protocol>::Packet),)*
            /// That of a protocol of another crate.
            External(ExternalPacket<'a>),
        }

        impl AnyPacket<'_> {
            /// The kind of the packet, among those of its protocol.
            pub fn kind(&self) -> PacketKind {
                match self {
                    $(AnyPacket::$name(packet) => packet.kind(),)*
                    AnyPacket::External(packet) => packet.kind(),
                }
            }

            /// See [`Protocol::is_sync`].
            pub fn is_sync(&self) -> bool {
                match self {
                    $(AnyPacket::$name(packet) => <$protocol as Protocol>::is_sync(packet),)*
                    AnyPacket::External(packet) => packet.is_sync(),
                }
            }

            /// Writes the packet in its shortest form. Writes nothing where `config` is another
            /// protocol's.
            pub fn emit(&self, config: &AnyConfig, out: &mut impl Extend<u8>) {
                match (self, config) {
                    $((AnyPacket::$name(packet), AnyConfig::$name(c)) => packet.emit(c, out),)*
                    (AnyPacket::External(packet), AnyConfig::External(c)) => packet.emit(c, out),
                    _ => {}
                }
            }
        }

        impl fmt::Display for AnyPacket<'_> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self {
                    $(AnyPacket::$name(packet) => packet.fmt(f),)*
                    AnyPacket::External(packet) => packet.fmt(f),
                }
            }
        }

        $(impl Listed for $protocol {
            #[inline]
            fn any_packet(packet: &Self::Packet) -> AnyPacket<'_> {
                AnyPacket::$name(packet)
            }

            #[inline]
            fn packet(packet: AnyPacket<'_>) -> Option<&Self::Packet> {
                match packet {
                    AnyPacket::$name(packet) => Some(packet),
                    _ => None,
                }
            }
        })*
    };
}

/// Calls the macro `$then` with the list of protocols: for each the documentation, the name of the
/// variant in [`AnyProtocol`], and the type that implements [`Protocol`]. A crate that implements a
/// trait for every protocol makes its dispatch from this list.
#[macro_export]
macro_rules! for_each_protocol {
    ($then:ident) => {
        $then! {
            /// Embedded Trace Macrocell, version 1: `etmv1/`.
            Etmv1: $crate::etmv1::Etmv1,
            /// Embedded Trace Macrocell, version 2: `etmv2/`.
            Etmv2: $crate::etmv2::Etmv2,
            /// Embedded Trace Macrocell, version 3: `etmv3/`.
            Etmv3: $crate::etmv3::Etmv3,
            /// Embedded Trace Macrocell, version 4: `etmv4/`.
            Etmv4: $crate::etmv4::Etmv4,
            /// Embedded Trace Extension: `etmv4/ete.rs` holds the difference.
            Ete: $crate::etmv4::Ete,
            /// The data stream of an ETMv4: `etmv4d/`.
            Etmv4d: $crate::etmv4d::Etmv4d,
            /// RISC-V processor trace: `etrace/`.
            Etrace: $crate::etrace::Etrace,
            /// RISC-V N-Trace: `ntrace/`.
            Ntrace: $crate::ntrace::Ntrace,
            /// Program Flow Trace Macrocell: `ptm/`.
            Ptm: $crate::ptm::Ptm,
            /// Instrumentation Trace Macrocell: `itm/`.
            Itm: $crate::itm::Itm,
            /// System Trace Macrocell: `stm/`.
            Stm: $crate::stm::Stm,
            /// Micro Trace Buffer: `mtb/`.
            Mtb: $crate::mtb::Mtb,
        }
    };
}

for_each_protocol!(protocols);

impl AnyProtocol {
    /// Whether parameter `name` is text: see [`AnyConfig::set_text`].
    pub fn has_text(self, name: &str) -> bool {
        self.about().texts.iter().any(|(known, _)| known.eq_ignore_ascii_case(name))
    }

    /// See [`Protocol::ID_REGISTER`].
    pub fn id_register(self) -> Option<(&'static str, u32)> {
        self.about().id_register
    }

    /// Whether `register` knows the trace ID, by any name of the register that has it. `true` also
    /// where no single register has it.
    pub fn has_trace_id(self, register: &dyn Fn(&str) -> Option<u64>) -> bool {
        let Some((name, _)) = self.id_register() else { return true };
        let row = self.about().registers.iter().find(|row| row.name == name);
        row.map_or_else(|| register(name), |row| row.read(register)).is_some()
    }

    /// See [`Protocol::FORM`].
    pub fn form(self) -> TraceForm {
        self.about().form
    }

    /// The unit has a trace port of its own: no formatter holds its trace.
    pub fn has_own_port(self) -> bool {
        matches!(self.form(), TraceForm::Cycles)
    }

    /// It traces which instructions a processor executes.
    pub fn traces_instructions(self) -> bool {
        !self.about().isas.is_empty()
    }

    /// It traces RISC-V processors.
    pub fn is_riscv(self) -> bool {
        self.about().isas.iter().any(|isa| matches!(isa, Isa::Rv32 | Isa::Rv64))
    }

    /// The protocol of the list for a device of this type: see [`Registry::named`].
    pub fn named(type_name: &str) -> Option<AnyProtocol> {
        Registry::default().named(type_name)
    }
}

/// The protocols and the trace links by which captures are decoded: those of the list, and others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Registry {
    others: Vec<AnyProtocol>,
    links: Vec<ExternalLink>,
}

impl Registry {
    /// The same with `protocol`, whose names come before those of the list.
    #[must_use]
    pub fn with(mut self, protocol: AnyProtocol) -> Registry {
        self.others.push(protocol);
        self
    }

    /// The same with `link`: the bytes of a buffer whose format has its name are split by it.
    #[must_use]
    pub fn with_link(mut self, link: ExternalLink) -> Registry {
        self.links.push(link);
        self
    }

    /// The trace links of other crates.
    pub fn links(&self) -> impl Iterator<Item = &ExternalLink> {
        self.links.iter()
    }

    /// The trace link of buffers of this format, compared without case.
    pub fn link(&self, format: &str) -> Option<&ExternalLink> {
        self.links().find(|link| link.name().eq_ignore_ascii_case(format))
    }

    /// All protocols.
    pub fn all(&self) -> impl Iterator<Item = AnyProtocol> + Clone + '_ {
        self.others.iter().chain(AnyProtocol::ALL).copied()
    }

    /// The protocol of a device that a capture calls `type_name`: `ETM4.2`, `ete`, `PFT1.1`.
    ///
    /// A version may follow the name: `.` and a number, or two numbers with `.` between them.
    pub fn named(&self, type_name: &str) -> Option<AnyProtocol> {
        let find = |name: &str| {
            self.all().find(|p| p.about().names.iter().any(|n| n.eq_ignore_ascii_case(name)))
        };
        let (name, version) = match type_name.split_once('.') {
            Some((name, version)) => (name.trim(), Some(version)),
            None => (type_name.trim(), None),
        };
        // `ITM1.0`: the name and the whole version.
        let short =
            || version.and_then(|_| find(name.trim_end_matches(|c: char| c.is_ascii_digit())));
        find(name).or_else(short)
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
            ("ete1.1", Some(AnyProtocol::Ete)),
            ("ITM1.0", Some(AnyProtocol::Itm)),
            ("STM1.1", Some(AnyProtocol::Stm)),
            ("PFT1.1", Some(AnyProtocol::Ptm)),
            ("ETM5.0", None),
            ("ITM1", None),
            ("1.0", None),
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
