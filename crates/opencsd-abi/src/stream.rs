//! The decoders of the protocols of OpenCSD.

use tracewright_base::{BlockCache, OffsetMap};
use tracewright_protocols::registry::AnyConfig;
use tracewright_protocols::{Observer, Stream, etmv3, etmv4, itm, ptm, stm};

macro_rules! streams {
    ($($name:ident: $protocol:ty,)*) => {
        /// A stream of one of the protocols.
        #[derive(Clone, Debug)]
        pub enum SourceStream {
            $(
                #[allow(missing_docs, reason = "the name is that of the protocol")]
                $name(Box<Stream<$protocol>>),
            )*
        }

        impl SourceStream {
            /// A stream in its initial state. `None` for protocols that OpenCSD does not have.
            pub fn new(config: &AnyConfig) -> Option<Self> {
                match config {
                    $(AnyConfig::$name(config) => {
                        Some(SourceStream::$name(Box::new(Stream::new(config.clone()))))
                    })*
                    _ => None,
                }
            }

            /// See [`Stream::reset`].
            pub fn reset(&mut self) {
                match self { $(SourceStream::$name(stream) => stream.reset(),)* }
            }

            /// See [`Stream::feed`].
            pub fn feed<K: BlockCache, O: Observer>(
                &mut self,
                bytes: &[u8],
                offsets: &OffsetMap<'_>,
                code: &mut K,
                observer: &mut O,
            ) -> usize {
                match self {
                    $(SourceStream::$name(stream) => stream.feed(bytes, offsets, code, observer),)*
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
                    $(SourceStream::$name(stream) => stream.finish(rest, offsets, code, observer),)*
                }
            }
        }
    };
}

streams! {
    Etmv3: etmv3::Etmv3,
    Etmv4: etmv4::Etmv4,
    Ete: etmv4::Ete,
    Ptm: ptm::Ptm,
    Itm: itm::Itm,
    Stm: stm::Stm,
}

impl SourceStream {
    /// Whether a byte of the stream is half a byte of the source.
    pub fn has_half_bytes(&self) -> bool {
        matches!(self, SourceStream::Stm(_))
    }
}
