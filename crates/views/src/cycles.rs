//! Cycles of a trace port in words: what a status says depends on the cycles before it, and what comes out
//! of the FIFO does so all the more. (ETMv1, ETMv2)

use tracewright_protocols::registry::{AnyConfig, AnyPacket};
use tracewright_protocols::{etmv1, etmv2};

use crate::Source;

/// What the words for the next cycle of a source depend on. Other protocols' packets speak for themselves.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Transcript {
    /// No cycle was seen.
    #[default]
    Fresh,
    /// Those of an ETMv1.
    V1(Box<etmv1::Transcript>),
    /// Those of an ETMv2.
    V2(Box<etmv2::Transcript>),
}

impl Transcript {
    /// Appends what `packet`, which is at `at`, means, where it is a cycle: `true` where there is something.
    pub(crate) fn words(
        &mut self,
        source: &Source,
        at: u64,
        packet: AnyPacket<'_>,
        out: &mut String,
    ) -> bool {
        let before = out.len();
        // Writing to text does not fail.
        let _ = match (packet, &source.config) {
            (AnyPacket::Etmv1(packet), AnyConfig::Etmv1(config)) => {
                if !matches!(self, Transcript::V1(_)) {
                    *self = Transcript::V1(Box::default());
                }
                match self {
                    Transcript::V1(words) => words.cycle(packet, config, out),
                    _ => Ok(()),
                }
            }
            (AnyPacket::Etmv2(packet), AnyConfig::Etmv2(config)) => {
                if !matches!(self, Transcript::V2(_)) {
                    *self = Transcript::V2(Box::default());
                }
                match self {
                    Transcript::V2(words) => words.cycle(at, packet, config, out),
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
