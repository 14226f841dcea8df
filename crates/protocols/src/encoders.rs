//! The list of trace units in software. A protocol is added to it in one line.
//!
//! A protocol that can be encoded implements [`Encodes`] beside [`Protocol`], usually in
//! `encode.rs` of its folder. [`AnyUnit`] selects its trace unit by name, and takes registers and
//! steps to bytes.

use alloc::vec::Vec;

use tracewright_base::{CoreType, Encode, MissingRegister, Step, Wire};

use crate::protocol::{InvalidRegister, Protocol, TraceForm};
use crate::registry::{AnyConfig, AnyProtocol};
use crate::trace_unit::{Encodes, Setting};

/// A trace unit of one protocol: its configuration and its encoder, with bytes as output.
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

    /// Takes one step. Its bytes may come with later steps.
    #[inline]
    pub fn step(&mut self, step: &Step, out: &mut impl Extend<u8>) {
        self.encoder.step(step, &self.config, &mut Emit::<P, _> { config: &self.config, out });
    }

    /// See [`Encode::waited`].
    pub fn waited(&self) -> u64 {
        self.encoder.waited()
    }

    /// Ends tracing and emits the remaining packets.
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
        #[allow(clippy::large_enum_variant, reason = "one value per source")]
        pub enum AnyUnit {
            $(
                #[doc = concat!("See [`AnyProtocol::", stringify!($name), "`].")]
                $name(Unit<$protocol>),
            )*
        }

        impl AnyUnit {
            /// The protocols that have a trace unit in software.
            pub const ALL: &'static [AnyProtocol] = &[$(AnyProtocol::$name,)*];

            /// The default registers of `protocol`; empty where it has no trace unit in software.
            pub const fn usual(protocol: AnyProtocol) -> &'static [(&'static str, u64)] {
                match protocol {
                    $(AnyProtocol::$name => <$protocol as Encodes>::USUAL,)*
                    #[allow(unreachable_patterns, reason = "until every protocol has one")]
                    _ => &[],
                }
            }

            /// The default of register `name` of a unit of `protocol` with the registers that
            /// `register` knows; `None` where there is none. See [`Encodes::usual`].
            pub fn usual_value(
                protocol: AnyProtocol,
                name: &str,
                register: &dyn Fn(&str) -> Option<u64>,
            ) -> Option<u64> {
                match protocol {
                    $(AnyProtocol::$name => <$protocol as Encodes>::usual(name, register),)*
                    #[allow(unreachable_patterns, reason = "until every protocol has one")]
                    _ => None,
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

            /// The settings of a unit of `protocol` beside the registers that a decoder reads.
            pub const fn settings(protocol: AnyProtocol) -> &'static [Setting] {
                match protocol {
                    $(AnyProtocol::$name => <$protocol as Encodes>::SETTINGS,)*
                    #[allow(unreachable_patterns, reason = "until every protocol has one")]
                    _ => &[],
                }
            }

            /// A unit of `protocol` from registers and settings by name. A register that `register`
            /// does not know has its default. `None` where the protocol has no trace unit in
            /// software.
            ///
            /// # Errors
            /// [`MissingRegister`] where a register that decoding needs is neither given nor has a
            /// default.
            pub fn new(
                protocol: AnyProtocol,
                core: Option<CoreType>,
                register: &dyn Fn(&str) -> Option<u64>,
            ) -> Result<Option<AnyUnit>, MissingRegister> {
                let usual = |name: &str| {
                    register(name).or_else(|| Self::usual_value(protocol, name, register))
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

            /// See [`Encodes::check`].
            ///
            /// # Errors
            /// The name of a register or setting to change, and why the combination is refused.
            pub fn check(
                protocol: AnyProtocol,
                core: Option<CoreType>,
                register: &dyn Fn(&str) -> Option<u64>,
            ) -> Result<(), InvalidRegister> {
                let usual = |name: &str| {
                    register(name).or_else(|| Self::usual_value(protocol, name, register))
                };
                match protocol {
                    $(AnyProtocol::$name => match <$protocol as Protocol>::configure(core, &usual) {
                        Ok(config) => <$protocol as Encodes>::check(&config, &usual),
                        // `new` reports it.
                        Err(_) => Ok(()),
                    })*
                    #[allow(unreachable_patterns, reason = "until every protocol has one")]
                    _ => Ok(()),
                }
            }

            /// The protocol of the unit.
            pub const fn protocol(&self) -> AnyProtocol {
                match self { $(AnyUnit::$name(_) => AnyProtocol::$name,)* }
            }

            /// The configuration that a decoder needs.
            pub fn config(&self) -> AnyConfig {
                match self { $(AnyUnit::$name(unit) => AnyConfig::$name(unit.config().clone()),)* }
            }

            /// Whether each output byte holds half a byte of trace.
            pub fn nibbles(&self) -> bool {
                matches!(self.protocol().form(), TraceForm::HalfBytes)
            }

            /// See [`Unit::step`].
            #[inline]
            pub fn step(&mut self, step: &Step, out: &mut Vec<u8>) {
                match self { $(AnyUnit::$name(unit) => unit.step(step, out),)* }
            }

            /// Takes many steps with one `match`.
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
    Ntrace: crate::ntrace::Ntrace,
    Ptm: crate::ptm::Ptm,
    Itm: crate::itm::Itm,
    Stm: crate::stm::Stm,
    Mtb: crate::mtb::Mtb,
}
