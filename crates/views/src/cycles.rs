//! The interpretation of the cycles of a trace port. A status depends on the cycles before it, and
//! so does the content of the FIFO. (ETMv1, ETMv2)

use tracewright_protocols::registry::{AnyConfig, AnyPacket};
use tracewright_protocols::{etmv1, etmv2};

use crate::Source;

/// What the interpretation of the next cycle of a source depends on. Packets of other protocols
/// need none.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Transcript {
    /// No cycle was seen.
    #[default]
    Fresh,
    /// The state of an ETMv1.
    V1(Box<etmv1::Transcript>),
    /// The state of an ETMv2.
    V2(Box<etmv2::Transcript>),
}

impl Transcript {
    /// Appends the interpretation of `packet`, a cycle at offset `at`. Returns whether there is
    /// one.
    pub(crate) fn interpret(
        &mut self,
        source: &Source,
        at: u64,
        packet: AnyPacket<'_>,
        out: &mut String,
    ) -> bool {
        let before = out.len();
        // Writing to a `String` does not fail.
        let _ = match (packet, &source.config) {
            (AnyPacket::Etmv1(packet), AnyConfig::Etmv1(config)) => {
                if !matches!(self, Transcript::V1(_)) {
                    *self = Transcript::V1(Box::default());
                }
                match self {
                    Transcript::V1(state) => state.cycle(packet, config, out),
                    _ => Ok(()),
                }
            }
            (AnyPacket::Etmv2(packet), AnyConfig::Etmv2(config)) => {
                if !matches!(self, Transcript::V2(_)) {
                    *self = Transcript::V2(Box::default());
                }
                match self {
                    Transcript::V2(state) => state.cycle(at, packet, config, out),
                    _ => Ok(()),
                }
            }
            _ => Ok(()),
        };
        out.len() > before
    }
}

/// The transcript of source `n`.
pub(crate) fn of(all: &mut Vec<Transcript>, n: usize) -> Option<&mut Transcript> {
    if all.len() <= n {
        all.resize(n + 1, Transcript::default());
    }
    all.get_mut(n)
}
