//! The fields of packets.

use tracewright_protocols::Field;
use tracewright_protocols::registry::{AnyConfig, AnyPacket};

use crate::Source;

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
        if n >= self.learned.len() {
            self.learned.resize(n + 1, None);
        }
        let mut fields = Vec::new();
        if let Some(slot) = self.learned.get_mut(n) {
            let config = slot.get_or_insert_with(|| source.config.clone());
            config.explain(bytes, &mut |field| fields.push(field));
            config.learn(packet);
        }
        fields
    }
}
