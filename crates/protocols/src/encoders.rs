//! Trace units in software, and the list of them. Joining it is a line.
//!
//! A protocol that can be encoded implements [`Encodes`] beside [`Protocol`]: usually in `encode.rs`
//! of its folder. [`AnyUnit`] is then its trace unit by name: registers in, steps in, bytes out.

use alloc::vec::Vec;

use tracewright_base::{CoreType, Encode, MissingRegister, Step, Wire};

use crate::registry::{AnyConfig, AnyProtocol};
use crate::{Protocol, TraceForm};

/// A protocol with a trace unit in software.
pub trait Encodes: Protocol {
    /// The trace unit.
    type Encoder: Encode<Self::Config, Self::Packet>;

    /// The registers of a usual unit, for those that the user does not give. Identification and
    /// programming alike: with these alone the unit traces.
    const USUAL: &'static [(&'static str, u64)];

    /// The name of a core that has such a unit. Empty where the core makes no difference.
    const CORE: &'static str;

    /// What can be set beside the registers that a decoder reads: more registers (filters,
    /// periods), and what no real unit has a register for (lower case: what to inject).
    const SETTINGS: &'static [Setting];

    /// Reads those settings; each that is absent has its default.
    fn settings(
        config: &Self::Config,
        setting: &dyn Fn(&str) -> Option<u64>,
    ) -> <Self::Encoder as Encode<Self::Config, Self::Packet>>::Settings;
}

/// Something that a trace unit in software can be told.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// Its name: that of a register, or lower case words with hyphens.
    pub name: &'static str,
    /// What it does, in one line.
    pub about: &'static str,
}

/// A trace unit of one protocol: its configuration, its encoder, and bytes in the place of packets.
#[derive(Clone, Debug)]
pub struct Unit<P: Encodes> {
    config: P::Config,
    encoder: P::Encoder,
}

impl<P: Encodes> Unit<P> {
    /// A unit that has just been enabled.
    pub fn new(
        config: P::Config,
        settings: &<P::Encoder as Encode<P::Config, P::Packet>>::Settings,
    ) -> Self {
        Unit { encoder: P::Encoder::new(&config, settings), config }
    }

    /// The configuration that a decoder needs.
    pub const fn config(&self) -> &P::Config {
        &self.config
    }

    /// Takes one step. Bytes may be held back until later steps settle them.
    #[inline]
    pub fn step(&mut self, step: &Step, out: &mut impl Extend<u8>) {
        self.encoder.step(step, &self.config, &mut Emit::<P, _> { config: &self.config, out });
    }

    /// See [`Encode::waited`].
    pub fn waited(&self) -> u64 {
        self.encoder.waited()
    }

    /// Tracing ends: what was held back is said.
    pub fn finish(&mut self, out: &mut impl Extend<u8>) {
        self.encoder.finish(&self.config, &mut Emit::<P, _> { config: &self.config, out });
    }
}

/// Writes each packet as bytes.
struct Emit<'a, P: Protocol, B> {
    config: &'a P::Config,
    out: &'a mut B,
}

impl<P: Protocol, B: Extend<u8>> Extend<P::Packet> for Emit<'_, P, B> {
    #[inline]
    fn extend<T: IntoIterator<Item = P::Packet>>(&mut self, packets: T) {
        for packet in packets {
            packet.emit(self.config, self.out);
        }
    }
}

macro_rules! encoders {
    ($($name:ident: $protocol:ty,)*) => {
        /// A trace unit of any protocol that has one.
        #[derive(Clone, Debug)]
        #[allow(clippy::large_enum_variant, reason = "there is one for each source, not many")]
        pub enum AnyUnit {
            $(
                #[doc = concat!("See [`AnyProtocol::", stringify!($name), "`].")]
                $name(Unit<$protocol>),
            )*
        }

        impl AnyUnit {
            /// The protocols that have one.
            pub const ALL: &'static [AnyProtocol] = &[$(AnyProtocol::$name,)*];

            /// The registers of a usual unit of `protocol`; empty where it has none.
            pub const fn usual(protocol: AnyProtocol) -> &'static [(&'static str, u64)] {
                match protocol {
                    $(AnyProtocol::$name => <$protocol as Encodes>::USUAL,)*
                    #[allow(unreachable_patterns, reason = "until every protocol has one")]
                    _ => &[],
                }
            }

            /// See [`Encodes::CORE`]; empty where `protocol` has no trace unit in software.
            pub const fn core(protocol: AnyProtocol) -> &'static str {
                match protocol {
                    $(AnyProtocol::$name => <$protocol as Encodes>::CORE,)*
                    #[allow(unreachable_patterns, reason = "until every protocol has one")]
                    _ => "",
                }
            }

            /// What a unit of `protocol` can be told beside the registers that a decoder reads.
            pub const fn settings(protocol: AnyProtocol) -> &'static [Setting] {
                match protocol {
                    $(AnyProtocol::$name => <$protocol as Encodes>::SETTINGS,)*
                    #[allow(unreachable_patterns, reason = "until every protocol has one")]
                    _ => &[],
                }
            }

            /// A unit of `protocol` from registers and settings by name; what `register` does not
            /// know is as in a usual unit. `None` where the protocol has no trace unit in software.
            ///
            /// # Errors
            /// [`MissingRegister`] where one that decoding needs is neither given nor usual.
            pub fn new(
                protocol: AnyProtocol,
                core: Option<CoreType>,
                register: &dyn Fn(&str) -> Option<u64>,
            ) -> Result<Option<AnyUnit>, MissingRegister> {
                let usual = |name: &str| {
                    let known = Self::usual(protocol).iter().find(|(known, _)| *known == name);
                    register(name).or(known.map(|&(_, value)| value))
                };
                Ok(match protocol {
                    $(AnyProtocol::$name => {
                        let config = <$protocol as Protocol>::configure(core, &usual)?;
                        let settings = <$protocol as Encodes>::settings(&config, &usual);
                        Some(AnyUnit::$name(Unit::new(config, &settings)))
                    })*
                    #[allow(unreachable_patterns, reason = "until every protocol has one")]
                    _ => None,
                })
            }

            /// Which protocol it is of.
            pub const fn protocol(&self) -> AnyProtocol {
                match self { $(AnyUnit::$name(_) => AnyProtocol::$name,)* }
            }

            /// The configuration that a decoder needs.
            pub fn config(&self) -> AnyConfig {
                match self { $(AnyUnit::$name(unit) => AnyConfig::$name(unit.config().clone()),)* }
            }

            /// Whether it makes half a byte in each byte.
            pub const fn nibbles(&self) -> bool {
                matches!(self.protocol().form(), TraceForm::HalfBytes)
            }

            /// See [`Unit::step`].
            #[inline]
            pub fn step(&mut self, step: &Step, out: &mut Vec<u8>) {
                match self { $(AnyUnit::$name(unit) => unit.step(step, out),)* }
            }

            /// Takes many steps: one `match` for all of them.
            pub fn steps<'a>(
                &mut self,
                steps: impl IntoIterator<Item = &'a Step>,
                out: &mut Vec<u8>,
            ) {
                match self {
                    $(AnyUnit::$name(unit) => {
                        steps.into_iter().for_each(|step| unit.step(step, out));
                    })*
                }
            }

            /// See [`Encode::waited`].
            pub fn waited(&self) -> u64 {
                match self { $(AnyUnit::$name(unit) => unit.waited(),)* }
            }

            /// See [`Unit::finish`].
            pub fn finish(&mut self, out: &mut Vec<u8>) {
                match self { $(AnyUnit::$name(unit) => unit.finish(out),)* }
            }
        }
    };
}

encoders! {
    Etmv3: crate::etmv3::Etmv3,
    Etmv1: crate::etmv1::Etmv1,
    Etmv2: crate::etmv2::Etmv2,
    Etmv4: crate::etmv4::Etmv4,
    Ete: crate::etmv4::Ete,
    Etrace: crate::etrace::Etrace,
    Ptm: crate::ptm::Ptm,
    Itm: crate::itm::Itm,
    Stm: crate::stm::Stm,
}
