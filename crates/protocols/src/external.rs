//! Protocols of other crates: what the registry asks of them, behind dynamic calls.

use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::any::Any;
use core::fmt::{self, Debug, Display};
use core::marker::PhantomData;

use tracewright_base::{CoreType, Invalid, Isa, MissingRegister, SyncSearch, Waypoints, Wire};
use tracewright_isa::rv::Extensions;

use crate::about::About;
use crate::kind::{PacketKind, PacketKinds};
use crate::protocol::{Field, InvalidRegister, Protocol};

/// The description of a protocol that is not in the list: what [`Protocol`] states without a
/// configuration. A type with [`Protocol`] has it by itself; a protocol that is described when the
/// program runs implements it, and makes its configurations with [`ExternalConfig::new`].
pub trait ExternalProtocol: Debug + Send + Sync {
    /// The description.
    fn about(&self) -> About;

    /// See [`Protocol::configure`].
    ///
    /// # Errors
    /// [`MissingRegister`] where a register that decoding needs is absent.
    fn configure(
        &'static self,
        core: Option<CoreType>,
        register: &dyn Fn(&str) -> Option<u64>,
    ) -> Result<ExternalConfig, MissingRegister>;

    /// See [`Protocol::check`].
    ///
    /// # Errors
    /// The name of a register to change, and why the combination is refused.
    fn check(&self, register: &dyn Fn(&str) -> Option<u64>) -> Result<(), InvalidRegister> {
        let _ = register;
        Ok(())
    }

    /// See [`Protocol::canonical`].
    fn canonical(&self, name: &str) -> Option<&'static str> {
        let _ = name;
        None
    }

    /// See [`Protocol::is_unused`].
    fn is_unused(&self, name: &str) -> bool {
        let _ = name;
        false
    }

    /// See [`Protocol::parse_value`].
    fn parse_value(&self, name: &str, text: &str) -> Option<Result<u64, Invalid>> {
        let _ = (name, text);
        None
    }

    /// See [`Protocol::privilege_name`].
    fn privilege_name(&self, level: u8) -> Option<&'static str> {
        let _ = level;
        None
    }
}

/// A protocol that is not in the list. Two are equal if they have the same names.
#[derive(Clone, Copy)]
pub struct External(&'static dyn ExternalProtocol);

impl External {
    /// The protocol that `protocol` describes.
    pub const fn new(protocol: &'static dyn ExternalProtocol) -> External {
        External(protocol)
    }

    /// Its description.
    pub const fn get(&self) -> &'static dyn ExternalProtocol {
        self.0
    }
}

impl PartialEq for External {
    fn eq(&self, other: &Self) -> bool {
        self.0.about().names == other.0.about().names
    }
}

impl Eq for External {}

impl core::hash::Hash for External {
    fn hash<H: core::hash::Hasher>(&self, state: &mut H) {
        self.0.about().names.hash(state);
    }
}

impl Debug for External {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.about().names.first().copied().unwrap_or_default())
    }
}

/// What one type with [`Protocol`] implements.
pub struct Of<P> {
    /// What makes the streams of its configurations: see [`ExternalConfig::streams`].
    streams: &'static (dyn Any + Send + Sync),
    protocol: PhantomData<fn() -> P>,
}

impl<P> Of<P> {
    /// With what makes the streams.
    pub const fn new(streams: &'static (dyn Any + Send + Sync)) -> Self {
        Of { streams, protocol: PhantomData }
    }
}

impl<P> Debug for Of<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Of")
    }
}

impl<P: Protocol> ExternalProtocol for Of<P>
where
    P::Config: Send + Sync + 'static,
    P::Packet: 'static,
{
    fn about(&self) -> About {
        About::of::<P>()
    }

    fn configure(
        &'static self,
        core: Option<CoreType>,
        register: &dyn Fn(&str) -> Option<u64>,
    ) -> Result<ExternalConfig, MissingRegister> {
        let config = P::configure(core, register)?;
        Ok(ExternalConfig::new::<P>(External(self), config, self.streams))
    }

    fn check(&self, register: &dyn Fn(&str) -> Option<u64>) -> Result<(), InvalidRegister> {
        P::check(register)
    }

    fn canonical(&self, name: &str) -> Option<&'static str> {
        P::canonical(name)
    }

    fn is_unused(&self, name: &str) -> bool {
        P::is_unused(name)
    }

    fn parse_value(&self, name: &str, text: &str) -> Option<Result<u64, Invalid>> {
        P::parse_value(name, text)
    }

    fn privilege_name(&self, level: u8) -> Option<&'static str> {
        P::privilege_name(level)
    }
}

/// A configuration of a protocol that is not in the list.
pub struct ExternalConfig {
    config: Box<dyn ConfigObject>,
    protocol: External,
    streams: &'static (dyn Any + Send + Sync),
}

impl ExternalConfig {
    /// `config` of `protocol`. `streams` is what makes the streams:
    /// see [`external_config`](crate::external_config).
    pub fn new<P: Protocol>(
        protocol: External,
        config: P::Config,
        streams: &'static (dyn Any + Send + Sync),
    ) -> ExternalConfig
    where
        P::Config: Send + Sync + 'static,
        P::Packet: 'static,
    {
        ExternalConfig { config: Box::new(Configured::<P>(config)), protocol, streams }
    }

    /// The protocol.
    pub const fn protocol(&self) -> External {
        self.protocol
    }

    /// The configuration, if it is one of `P`.
    pub fn get<P: Protocol>(&self) -> Option<&P::Config>
    where
        P::Config: 'static,
    {
        let config: &dyn Any = self.config.as_ref();
        config.downcast_ref::<Configured<P>>().map(|configured| &configured.0)
    }

    /// What makes the streams.
    pub(crate) const fn streams(&self) -> &'static (dyn Any + Send + Sync) {
        self.streams
    }

    pub(crate) fn object(&self) -> &dyn ConfigObject {
        self.config.as_ref()
    }

    pub(crate) fn object_mut(&mut self) -> &mut dyn ConfigObject {
        self.config.as_mut()
    }
}

impl Clone for ExternalConfig {
    fn clone(&self) -> Self {
        ExternalConfig { config: self.config.boxed_clone(), ..*self }
    }
}

impl PartialEq for ExternalConfig {
    fn eq(&self, other: &Self) -> bool {
        self.protocol == other.protocol && self.config.equals(other.config.as_ref())
    }
}

impl Debug for ExternalConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.config.fmt(f)
    }
}

/// A configuration, behind dynamic calls: the methods are those of [`Protocol`].
pub(crate) trait ConfigObject: Any + Debug + Send + Sync {
    fn boxed_clone(&self) -> Box<dyn ConfigObject>;
    fn equals(&self, other: &dyn ConfigObject) -> bool;
    fn set_text(&mut self, name: &str, text: &str) -> Option<Result<(), Invalid>>;
    fn note(&self) -> Option<&'static str>;
    fn assumptions(&self) -> &'static [(&'static str, &'static str)];
    fn riscv(&self) -> Extensions;
    fn riscv_mut(&mut self) -> Option<&mut Extensions>;
    fn fixed_isa(&self) -> Option<Isa>;
    fn assumes_synced(&self) -> Option<bool>;
    fn assume_synced(&mut self, yes: bool);
    fn trace_id(&self) -> u8;
    fn waypoints(&self) -> Waypoints;
    fn exception_name(&self, number: u16) -> Option<Cow<'static, str>>;
    fn sync(&self, bytes: &[u8]) -> SyncSearch;
    fn explain(&self, bytes: &[u8], each: &mut dyn FnMut(Field));
    fn learn(&mut self, packet: ExternalPacket<'_>);
}

struct Configured<P: Protocol>(P::Config);

impl<P: Protocol> Debug for Configured<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<P: Protocol> ConfigObject for Configured<P>
where
    P::Config: Send + Sync + 'static,
    P::Packet: 'static,
{
    fn boxed_clone(&self) -> Box<dyn ConfigObject> {
        Box::new(Configured::<P>(self.0.clone()))
    }

    fn equals(&self, other: &dyn ConfigObject) -> bool {
        let other: &dyn Any = other;
        other.downcast_ref::<Self>().is_some_and(|other| self.0 == other.0)
    }

    fn set_text(&mut self, name: &str, text: &str) -> Option<Result<(), Invalid>> {
        P::set_text(&mut self.0, name, text)
    }

    fn note(&self) -> Option<&'static str> {
        P::note(&self.0)
    }

    fn assumptions(&self) -> &'static [(&'static str, &'static str)] {
        P::assumptions(&self.0)
    }

    fn riscv(&self) -> Extensions {
        P::riscv(&self.0)
    }

    fn riscv_mut(&mut self) -> Option<&mut Extensions> {
        P::riscv_mut(&mut self.0)
    }

    fn fixed_isa(&self) -> Option<Isa> {
        P::fixed_isa(&self.0)
    }

    fn assumes_synced(&self) -> Option<bool> {
        P::assumes_synced(&self.0)
    }

    fn assume_synced(&mut self, yes: bool) {
        P::assume_synced(&mut self.0, yes);
    }

    fn trace_id(&self) -> u8 {
        P::trace_id(&self.0)
    }

    fn waypoints(&self) -> Waypoints {
        P::waypoints(&self.0)
    }

    fn exception_name(&self, number: u16) -> Option<Cow<'static, str>> {
        P::exception_name(&self.0, number)
    }

    fn sync(&self, bytes: &[u8]) -> SyncSearch {
        P::sync(&self.0, bytes)
    }

    fn explain(&self, bytes: &[u8], each: &mut dyn FnMut(Field)) {
        P::explain(&self.0, bytes, each);
    }

    fn learn(&mut self, packet: ExternalPacket<'_>) {
        if let Some(packet) = packet.get::<P>() {
            P::learn(&mut self.0, packet);
        }
    }
}

/// A packet of a protocol that is not in the list.
#[derive(Clone, Copy)]
pub struct ExternalPacket<'a> {
    packet: &'a dyn PacketObject,
    protocol: &'static dyn PacketProtocol,
}

impl<'a> ExternalPacket<'a> {
    /// `packet` of `P`.
    pub fn new<P: Protocol>(packet: &'a P::Packet) -> ExternalPacket<'a>
    where
        P::Config: 'static,
        P::Packet: 'static,
    {
        ExternalPacket { packet, protocol: const { &PacketsOf::<P>(PhantomData) } }
    }

    /// The packet, if it is one of `P`.
    pub fn get<P: Protocol>(&self) -> Option<&'a P::Packet>
    where
        P::Packet: 'static,
    {
        let packet: &dyn Any = self.packet;
        packet.downcast_ref()
    }

    pub(crate) fn kind(&self) -> PacketKind {
        self.protocol.kind(self.packet)
    }

    pub(crate) fn is_sync(&self) -> bool {
        self.protocol.is_sync(self.packet)
    }

    pub(crate) fn emit(&self, config: &ExternalConfig, out: &mut impl Extend<u8>) {
        let mut bytes = Vec::new();
        self.protocol.emit(self.packet, config, &mut bytes);
        out.extend(bytes);
    }
}

impl Debug for ExternalPacket<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Debug::fmt(self.packet, f)
    }
}

impl Display for ExternalPacket<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Display::fmt(self.packet, f)
    }
}

trait PacketObject: Any + Debug + Display {}

impl<T: Any + Debug + Display> PacketObject for T {}

/// What a protocol states of its packets. Packets of other protocols have the kind "", and no
/// bytes.
trait PacketProtocol: Sync {
    fn kind(&self, packet: &dyn Any) -> PacketKind;
    fn is_sync(&self, packet: &dyn Any) -> bool;
    fn emit(&self, packet: &dyn Any, config: &ExternalConfig, out: &mut Vec<u8>);
}

struct PacketsOf<P>(PhantomData<fn() -> P>);

impl<P: Protocol> PacketProtocol for PacketsOf<P>
where
    P::Config: 'static,
    P::Packet: 'static,
{
    fn kind(&self, packet: &dyn Any) -> PacketKind {
        let packet: Option<&P::Packet> = packet.downcast_ref();
        packet.map_or(PacketKind::named(""), PacketKinds::kind)
    }

    fn is_sync(&self, packet: &dyn Any) -> bool {
        packet.downcast_ref().is_some_and(P::is_sync)
    }

    fn emit(&self, packet: &dyn Any, config: &ExternalConfig, out: &mut Vec<u8>) {
        if let (Some(packet), Some(config)) =
            (packet.downcast_ref::<P::Packet>(), config.get::<P>())
        {
            packet.emit(config, out);
        }
    }
}
