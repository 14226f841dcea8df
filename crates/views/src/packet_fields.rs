//! The fields of packets.

use tracewright_protocols::Field;
use tracewright_protocols::registry::{AnyConfig, AnyPacket};

use crate::sources::Source;

/// Lists the fields of packets.
#[derive(Clone, Debug, Default)]
pub struct PacketFields {
    /// The configuration of each source as its packets have changed it.
    pub(crate) learned: Vec<Option<AnyConfig>>,
}

impl PacketFields {
    /// The fields of the next packet of source `n`, in their order in the packet.
    pub(crate) fn of(
        &mut self,
        n: usize,
        source: &Source,
        bytes: &[u8],
        packet: AnyPacket<'_>,
    ) -> Vec<Field> {
        let mut fields = Vec::new();
        if let Some(config) = self.config(n, source) {
            config.explain(bytes, &mut |field| fields.push(field));
            config.learn(packet);
        }
        fields
    }

    /// Follows a packet whose fields are not listed.
    pub(crate) fn skip(&mut self, n: usize, source: &Source, packet: AnyPacket<'_>) {
        if let Some(config) = self.config(n, source) {
            config.learn(packet);
        }
    }

    /// The configuration of source `n` so far.
    fn config(&mut self, n: usize, source: &Source) -> Option<&mut AnyConfig> {
        if n >= self.learned.len() {
            self.learned.resize(n + 1, None);
        }
        Some(self.learned.get_mut(n)?.get_or_insert_with(|| source.config.clone()))
    }
}
