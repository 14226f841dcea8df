//! The encoded length of a packet.

use tracewright_base::Wire;

use crate::bits::Count;
use crate::etrace::config::Params;
use crate::etrace::packet::{Packet, Payload};

/// Bytes of a packet with this payload, its header included.
pub(super) fn length(packet: &Payload, params: &Params) -> u32 {
    let mut bytes = 0;
    Packet::sent(*packet, params).emit(params, &mut Count(&mut bytes));
    bytes
}
