//! A stream of any protocol.

use alloc::boxed::Box;

use tracewright_base::{BlockCache, OffsetMap, Sink};

use crate::external_stream::ExternalStream;
use crate::for_each_protocol;
use crate::observer::Observer;
use crate::protocol::{Protocol, TraceForm};
use crate::registry::AnyConfig;
use crate::stream::Stream;

macro_rules! any_stream {
    ($($(#[$doc:meta])* $name:ident: $protocol:ty,)*) => {
        /// A stream of any protocol. It has one `match` for each block of bytes; all calls inside
        /// are direct.
        #[derive(Clone, Debug, PartialEq)]
        pub enum AnyStream {
            $($(#[$doc])* $name(Box<Stream<$protocol>>),)*
            /// That of a protocol of another crate.
            External(ExternalStream),
        }

        impl AnyConfig {
            /// A stream in its initial state.
            pub fn stream(&self) -> AnyStream {
                match self {
                    $(AnyConfig::$name(c) => AnyStream::$name(Box::new(Stream::new(c.clone()))),)*
                    AnyConfig::External(c) => AnyStream::External(ExternalStream::new(c)),
                }
            }
        }

        impl AnyStream {
            /// Whether each byte of the stream's input holds half a byte of the source (STM).
            pub fn nibbles(&self) -> bool {
                match self {
                    $(AnyStream::$name(_) => {
                        matches!(<$protocol as Protocol>::FORM, TraceForm::HalfBytes)
                    })*
                    AnyStream::External(s) => s.nibbles(),
                }
            }

            /// See [`Stream::reset`].
            pub fn reset(&mut self) {
                match self {
                    $(AnyStream::$name(s) => s.reset(),)*
                    AnyStream::External(s) => s.reset(),
                }
            }

            /// See [`Stream::last`].
            pub fn last(&self) -> u64 {
                match self {
                    $(AnyStream::$name(s) => s.last(),)*
                    AnyStream::External(s) => s.last(),
                }
            }

            /// Whether the next byte begins a packet.
            pub fn synced(&self) -> bool {
                match self {
                    $(AnyStream::$name(s) => s.synced(),)*
                    AnyStream::External(s) => s.synced(),
                }
            }

            /// See [`Stream::stays_synced`].
            #[inline]
            pub fn stays_synced(&self) -> bool {
                match self {
                    $(AnyStream::$name(s) => s.stays_synced(),)*
                    AnyStream::External(s) => s.stays_synced(),
                }
            }

            /// See [`Stream::lost`].
            pub fn lost<S: Sink>(&mut self, at: u64, sink: &mut S) {
                match self {
                    $(AnyStream::$name(s) => s.lost(at, sink),)*
                    AnyStream::External(s) => s.lost(at, sink),
                }
            }

            /// See [`Stream::agrees`].
            pub fn agrees(&self, other: &Self) -> bool {
                match (self, other) {
                    $((AnyStream::$name(one), AnyStream::$name(other)) => one.agrees(other),)*
                    (AnyStream::External(one), AnyStream::External(other)) => one.agrees(other),
                    _ => false,
                }
            }

            /// See [`Stream::feed`].
            #[must_use = "the bytes that were not taken are given again with those that follow"]
            #[inline]
            pub fn feed<K: BlockCache, O: Observer>(
                &mut self,
                bytes: &[u8],
                offsets: &OffsetMap<'_>,
                code: &mut K,
                observer: &mut O,
            ) -> usize {
                match self {
                    $(AnyStream::$name(s) => s.feed(bytes, offsets, code, observer),)*
                    AnyStream::External(s) => s.feed(bytes, offsets, code, observer),
                }
            }

            /// See [`Stream::finish`].
            pub fn finish<K: BlockCache, O: Observer>(
                &mut self,
                rest: &[u8],
                offsets: &OffsetMap<'_>,
                code: &mut K,
                observer: &mut O,
            ) {
                match self {
                    $(AnyStream::$name(s) => s.finish(rest, offsets, code, observer),)*
                    AnyStream::External(s) => s.finish(rest, offsets, code, observer),
                }
            }

            /// See [`Stream::restart`].
            pub fn restart<K: BlockCache, O: Observer>(
                &mut self,
                at: u64,
                rest: &[u8],
                offsets: &OffsetMap<'_>,
                code: &mut K,
                observer: &mut O,
            ) {
                match self {
                    $(AnyStream::$name(s) => s.restart(at, rest, offsets, code, observer),)*
                    AnyStream::External(s) => s.restart(at, rest, offsets, code, observer),
                }
            }
        }
    };
}

for_each_protocol!(any_stream);
