//! Messages of several sources in one stream, for each protocol whose messages can have a source
//! number.

use alloc::boxed::Box;
use alloc::vec::Vec;

use tracewright_frames::{Event, Split};

use crate::registry::AnyConfig;
use crate::{etrace, ntrace};

/// Splits a stream into messages: each is a piece whose ID is its source number.
#[derive(Clone, Debug, PartialEq)]
pub enum Demux {
    /// Of E-Trace.
    Etrace(Box<etrace::Demux>),
    /// Of N-Trace.
    Ntrace(Box<ntrace::Demux>),
}

/// The source of messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessageSource {
    /// The source number.
    pub number: u16,
    /// Its width in messages; 0 if they have none.
    pub width: u8,
    /// The boundaries of messages are known: the first byte of the stream begins a message, or the
    /// end of a message is marked.
    pub bounded: bool,
}

impl AnyConfig {
    /// The source of the messages. `None` for a protocol whose messages have no source numbers.
    pub fn message_source(&self) -> Option<MessageSource> {
        match self {
            AnyConfig::Etrace(params) => Some(MessageSource {
                number: params.link.source,
                width: if params.link.has_sources() { params.link.source_width } else { 0 },
                bounded: params.link.aligned,
            }),
            AnyConfig::Ntrace(config) => Some(MessageSource {
                number: config.link.source,
                width: config.link.source_bits,
                bounded: true,
            }),
            _ => None,
        }
    }

    /// The same configuration for the messages that a demultiplexer passes on, which are whole.
    #[must_use]
    pub fn with_whole_messages(mut self) -> AnyConfig {
        match &mut self {
            AnyConfig::Etrace(params) => params.link.aligned = true,
            AnyConfig::Ntrace(config) => config.link.aligned = true,
            _ => {}
        }
        self
    }

    /// Whether the messages of both can share a stream: the source number is at the same position.
    pub fn shares_stream(&self, other: &AnyConfig) -> bool {
        match (self, other) {
            (AnyConfig::Etrace(one), AnyConfig::Etrace(other)) => one.link.shares(&other.link),
            (AnyConfig::Ntrace(one), AnyConfig::Ntrace(other)) => one.shares(other),
            _ => false,
        }
    }
}

impl Demux {
    /// The demultiplexer of these sources, which [share](AnyConfig::shares_stream) a stream. `None`
    /// without sources, or if messages have no source numbers.
    pub fn new(sources: &[AnyConfig]) -> Option<Demux> {
        let first = sources.first()?;
        first.message_source().filter(|source| source.width > 0)?;
        match first {
            AnyConfig::Etrace(_) => {
                let params = sources.iter().filter_map(|config| match config {
                    AnyConfig::Etrace(params) => Some(*params),
                    _ => None,
                });
                etrace::Demux::new(params.collect()).map(|demux| Demux::Etrace(Box::new(demux)))
            }
            AnyConfig::Ntrace(config) => Some(Demux::Ntrace(Box::new(ntrace::Demux::new(*config)))),
            _ => None,
        }
    }

    /// A demultiplexer of the same sources for another offset or buffer.
    #[must_use]
    pub fn fresh(&self) -> Demux {
        match self {
            Demux::Etrace(demux) => Demux::Etrace(Box::new(demux.fresh())),
            Demux::Ntrace(demux) => Demux::Ntrace(Box::new(demux.fresh())),
        }
    }

    /// Splits all of `bytes`, which are at offset `at` of the buffer.
    pub fn split<S: Split>(&mut self, at: u64, bytes: &[u8], out: &mut S) {
        match self {
            Demux::Etrace(demux) => demux.split(at, bytes, out),
            Demux::Ntrace(demux) => demux.split(at, bytes, out),
        }
    }

    /// Updates the state as [`split`](Self::split) does, without output.
    pub fn skip(&mut self, at: u64, bytes: &[u8]) {
        self.split(at, bytes, &mut Nowhere);
    }

    /// The bytes end at offset `at`, or some are missing there: reports the incomplete message.
    pub fn finish<S: Split>(&mut self, at: u64, out: &mut S) {
        match self {
            Demux::Etrace(demux) => demux.finish(at, out),
            Demux::Ntrace(demux) => demux.finish(at, out),
        }
    }
}

/// The source numbers of the messages from the start of `bytes` on, each with the number of its
/// messages, in ascending order.
pub fn numbers(bytes: &[u8], config: &AnyConfig) -> Vec<(u16, usize)> {
    match config {
        AnyConfig::Etrace(params) => etrace::demux::numbers(bytes, params),
        AnyConfig::Ntrace(config) => ntrace::demux::numbers(bytes, config),
        _ => Vec::new(),
    }
}

/// Ignores all output.
struct Nowhere;

impl Split for Nowhere {
    fn piece(&mut self, _: u16, _: u64, _: bool, _: &[u8]) {}

    fn event(&mut self, _: u64, _: Event) {}
}
