//! Streams of protocols of other crates, behind dynamic calls: one for each block of bytes, and one
//! for each element and packet.

use alloc::boxed::Box;
use core::any::Any;
use core::fmt::Debug;

use tracewright_base::{
    BatchBuffer, BlockCache, BlockId, CachedBlocks, Element, OffsetMap, Sink, Turns,
};

use crate::external::{External, ExternalConfig, Of};
use crate::observer::{Observer, StreamEvent};
use crate::protocol::{Protocol, TraceForm};
use crate::registry::{AnyProtocol, Listed};
use crate::stream::Stream;

/// Makes the stream of a configuration: what [`ExternalConfig`] holds.
struct StreamMaker(fn(&ExternalConfig) -> Option<Box<dyn StreamObject>>);

impl AnyProtocol {
    /// The protocol `P` of another crate, to be [added](crate::Registry::with) to those of the
    /// list.
    pub const fn external<P: Listed>() -> AnyProtocol
    where
        P::Config: Send + Sync,
        P::Decoder: Send + Sync + 'static,
    {
        AnyProtocol::External(External::new(const { &Of::<P>::new(maker::<P>()) }))
    }
}

/// The configuration `config` of `protocol`, which describes itself when the program runs and is
/// decoded as `P`.
pub fn external_config<P: Listed>(protocol: External, config: P::Config) -> ExternalConfig
where
    P::Config: Send + Sync,
    P::Decoder: Send + Sync + 'static,
{
    ExternalConfig::new::<P>(protocol, config, maker::<P>())
}

const fn maker<P: Listed>() -> &'static (dyn Any + Send + Sync)
where
    P::Config: Send + Sync,
    P::Decoder: Send + Sync + 'static,
{
    const { &StreamMaker(|config| Some(Box::new(Stream::<P>::new(config.get::<P>()?.clone())))) }
}

/// A stream of a protocol of another crate.
#[derive(Debug)]
pub struct ExternalStream(Option<Box<dyn StreamObject>>);

impl Clone for ExternalStream {
    fn clone(&self) -> Self {
        ExternalStream(self.0.as_ref().map(|stream| stream.boxed_clone()))
    }
}

impl PartialEq for ExternalStream {
    fn eq(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Some(one), Some(other)) => one.equals(other.as_ref()),
            (one, other) => one.is_none() && other.is_none(),
        }
    }
}

/// Without a stream, which no configuration makes, all bytes are taken.
impl ExternalStream {
    pub(crate) fn new(config: &ExternalConfig) -> Self {
        let maker = config.streams().downcast_ref::<StreamMaker>();
        ExternalStream(maker.and_then(|maker| maker.0(config)))
    }

    pub(crate) fn nibbles(&self) -> bool {
        self.0.as_ref().is_some_and(|stream| stream.nibbles())
    }

    pub(crate) fn reset(&mut self) {
        if let Some(stream) = &mut self.0 {
            stream.reset();
        }
    }

    pub(crate) fn last(&self) -> u64 {
        self.0.as_ref().map_or(0, |stream| stream.last())
    }

    pub(crate) fn synced(&self) -> bool {
        self.0.as_ref().is_some_and(|stream| stream.synced())
    }

    pub(crate) fn stays_synced(&self) -> bool {
        self.0.as_ref().is_some_and(|stream| stream.stays_synced())
    }

    pub(crate) fn lost<S: Sink>(&mut self, at: u64, sink: &mut S) {
        if let Some(stream) = &mut self.0 {
            stream.lost(at, &mut |at, element| sink.element(at, element));
        }
    }

    pub(crate) fn agrees(&self, other: &Self) -> bool {
        self.last() == other.last() && self == other
    }

    pub(crate) fn feed<K: BlockCache, O: Observer>(
        &mut self,
        bytes: &[u8],
        offsets: &OffsetMap<'_>,
        code: &mut K,
        observer: &mut O,
    ) -> usize {
        match &mut self.0 {
            Some(stream) => stream.feed(bytes, offsets, code, observer),
            None => bytes.len(),
        }
    }

    pub(crate) fn finish<K: BlockCache, O: Observer>(
        &mut self,
        rest: &[u8],
        offsets: &OffsetMap<'_>,
        code: &mut K,
        observer: &mut O,
    ) {
        if let Some(stream) = &mut self.0 {
            stream.finish(rest, offsets, code, observer);
        }
    }

    pub(crate) fn restart<K: BlockCache, O: Observer>(
        &mut self,
        at: u64,
        rest: &[u8],
        offsets: &OffsetMap<'_>,
        code: &mut K,
        observer: &mut O,
    ) {
        if let Some(stream) = &mut self.0 {
            stream.restart(at, rest, offsets, code, observer);
        }
    }
}

/// [`Stream`], behind dynamic calls.
trait StreamObject: Any + Debug + Send + Sync {
    fn boxed_clone(&self) -> Box<dyn StreamObject>;
    fn equals(&self, other: &dyn StreamObject) -> bool;
    fn nibbles(&self) -> bool;
    fn reset(&mut self);
    fn last(&self) -> u64;
    fn synced(&self) -> bool;
    fn stays_synced(&self) -> bool;
    fn lost(&mut self, at: u64, each: &mut dyn FnMut(u64, Element));
    fn feed(
        &mut self,
        bytes: &[u8],
        offsets: &OffsetMap<'_>,
        code: &mut dyn BlockCache,
        observer: &mut dyn ObserverObject,
    ) -> usize;
    fn finish(
        &mut self,
        rest: &[u8],
        offsets: &OffsetMap<'_>,
        code: &mut dyn BlockCache,
        observer: &mut dyn ObserverObject,
    );
    fn restart(
        &mut self,
        at: u64,
        rest: &[u8],
        offsets: &OffsetMap<'_>,
        code: &mut dyn BlockCache,
        observer: &mut dyn ObserverObject,
    );
}

impl<P: Listed> StreamObject for Stream<P>
where
    P::Config: Send + Sync,
    P::Decoder: Send + Sync + 'static,
{
    fn boxed_clone(&self) -> Box<dyn StreamObject> {
        Box::new(self.clone())
    }

    fn equals(&self, other: &dyn StreamObject) -> bool {
        let other: &dyn Any = other;
        other.downcast_ref::<Self>().is_some_and(|other| self == other)
    }

    fn nibbles(&self) -> bool {
        matches!(<P as Protocol>::FORM, TraceForm::HalfBytes)
    }

    fn reset(&mut self) {
        Stream::reset(self);
    }

    fn last(&self) -> u64 {
        Stream::last(self)
    }

    fn synced(&self) -> bool {
        Stream::synced(self)
    }

    fn stays_synced(&self) -> bool {
        Stream::stays_synced(self)
    }

    fn lost(&mut self, at: u64, each: &mut dyn FnMut(u64, Element)) {
        Stream::lost(self, at, &mut Each(each));
    }

    fn feed(
        &mut self,
        bytes: &[u8],
        offsets: &OffsetMap<'_>,
        mut code: &mut dyn BlockCache,
        observer: &mut dyn ObserverObject,
    ) -> usize {
        Stream::feed(self, bytes, offsets, &mut code, &mut Dynamic(observer))
    }

    fn finish(
        &mut self,
        rest: &[u8],
        offsets: &OffsetMap<'_>,
        mut code: &mut dyn BlockCache,
        observer: &mut dyn ObserverObject,
    ) {
        Stream::finish(self, rest, offsets, &mut code, &mut Dynamic(observer));
    }

    fn restart(
        &mut self,
        at: u64,
        rest: &[u8],
        offsets: &OffsetMap<'_>,
        mut code: &mut dyn BlockCache,
        observer: &mut dyn ObserverObject,
    ) {
        Stream::restart(self, at, rest, offsets, &mut code, &mut Dynamic(observer));
    }
}

struct Each<'a>(&'a mut dyn FnMut(u64, Element));

impl Sink for Each<'_> {
    fn element(&mut self, at: u64, element: Element) {
        (self.0)(at, element);
    }
}

/// [`Observer`], behind dynamic calls.
trait ObserverObject {
    fn element(&mut self, at: u64, element: Element);
    fn custom(&mut self, at: u64, kind: &'static str, bytes: &[u8]);
    fn step(&mut self, at: u64, id: BlockId, taken: bool, blocks: &CachedBlocks<'_>);
    fn turns(&mut self, turns: Turns<'_>);
    fn take_steps(&mut self, at: u64, blocks: &CachedBlocks<'_>) -> BatchBuffer;
    fn return_steps(&mut self, buffer: BatchBuffer, blocks: &CachedBlocks<'_>);
    fn prepare(&mut self, blocks: &CachedBlocks<'_>, many: bool);
    fn event(&mut self, event: StreamEvent<'_>);
    fn wants_each_packet(&self) -> bool;
    fn pauses(&self) -> bool;
}

impl<O: Observer> ObserverObject for O {
    fn element(&mut self, at: u64, element: Element) {
        Sink::element(self, at, element);
    }

    fn custom(&mut self, at: u64, kind: &'static str, bytes: &[u8]) {
        Sink::custom(self, at, kind, bytes);
    }

    fn step(&mut self, at: u64, id: BlockId, taken: bool, blocks: &CachedBlocks<'_>) {
        Sink::step(self, at, id, taken, blocks);
    }

    fn turns(&mut self, turns: Turns<'_>) {
        Sink::turns(self, turns);
    }

    fn take_steps(&mut self, at: u64, blocks: &CachedBlocks<'_>) -> BatchBuffer {
        Sink::take_steps(self, at, blocks)
    }

    fn return_steps(&mut self, buffer: BatchBuffer, blocks: &CachedBlocks<'_>) {
        Sink::return_steps(self, buffer, blocks);
    }

    fn prepare(&mut self, blocks: &CachedBlocks<'_>, many: bool) {
        Sink::prepare(self, blocks, many);
    }

    fn event(&mut self, event: StreamEvent<'_>) {
        Observer::event(self, event);
    }

    fn wants_each_packet(&self) -> bool {
        Observer::wants_each_packet(self)
    }

    fn pauses(&self) -> bool {
        Observer::pauses(self)
    }
}

/// An observer whose calls are dynamic.
struct Dynamic<'a>(&'a mut dyn ObserverObject);

impl Sink for Dynamic<'_> {
    fn element(&mut self, at: u64, element: Element) {
        self.0.element(at, element);
    }

    fn custom(&mut self, at: u64, kind: &'static str, bytes: &[u8]) {
        self.0.custom(at, kind, bytes);
    }

    fn step(&mut self, at: u64, id: BlockId, taken: bool, blocks: &CachedBlocks<'_>) {
        self.0.step(at, id, taken, blocks);
    }

    fn turns(&mut self, turns: Turns<'_>) {
        self.0.turns(turns);
    }

    fn take_steps(&mut self, at: u64, blocks: &CachedBlocks<'_>) -> BatchBuffer {
        self.0.take_steps(at, blocks)
    }

    fn return_steps(&mut self, buffer: BatchBuffer, blocks: &CachedBlocks<'_>) {
        self.0.return_steps(buffer, blocks);
    }

    fn prepare(&mut self, blocks: &CachedBlocks<'_>, many: bool) {
        self.0.prepare(blocks, many);
    }
}

impl Observer for Dynamic<'_> {
    fn event(&mut self, event: StreamEvent<'_>) {
        self.0.event(event);
    }

    fn wants_each_packet(&self) -> bool {
        self.0.wants_each_packet()
    }

    fn pauses(&self) -> bool {
        self.0.pauses()
    }
}
