//! The encoded length of a packet.

use tracewright_base::Wire;

use crate::etrace::config::Params;
use crate::etrace::packet::{Packet, Payload};

/// Bytes of a packet with this payload, its header included.
pub(super) fn length(packet: &Payload, params: &Params) -> usize {
    struct Count(usize);
    impl Extend<u8> for Count {
        fn extend<T: IntoIterator<Item = u8>>(&mut self, bytes: T) {
            self.0 += bytes.into_iter().count();
        }
    }
    let mut count = Count(0);
    Packet::sent(*packet, params).emit(params, &mut count);
    count.0
}
