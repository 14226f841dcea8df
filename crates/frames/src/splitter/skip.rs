//! Follows the state of a trace link without splitting it.

use super::Splitter;
use crate::FRAME;
use crate::framing::{Framing, sync};
use crate::split::{Event, Split};
use crate::unpack::ID_BITS;

impl Splitter {
    /// Changes the state as [`split`](Self::split) of `bytes` does, without output.
    ///
    /// Memory-aligned frames without an ID byte do not change the state and are not examined
    /// further.
    pub fn skip(&mut self, at: u64, bytes: &[u8]) {
        let mut taken = 0;
        if self.link.framing == Framing::Coresight && self.frame.is_empty() {
            let (frames, _) = bytes.as_chunks::<FRAME>();
            for frame in frames {
                let ids = u128::from_le_bytes(*frame) & ID_BITS;
                if ids != 0 {
                    self.skip_ids(frame, ids);
                }
            }
            taken = frames.len() * FRAME;
        }
        let rest = bytes.get(taken..).unwrap_or_default();
        self.split(at.wrapping_add(taken as u64), rest, &mut Ignore);
    }

    /// Sets the trace ID from the last ID byte of a frame.
    fn skip_ids(&mut self, frame: &[u8; FRAME], ids: u128) {
        self.id = if self.link.barriers && *frame == sync::BARRIER {
            None
        } else {
            frame.get((u128::BITS - 1 - ids.leading_zeros()) as usize / 8).map(|byte| byte >> 1)
        };
    }
}

/// Ignores everything.
struct Ignore;

impl Split for Ignore {
    fn piece(&mut self, _: u16, _: u64, _: bool, _: &[u8]) {}

    fn plain(&mut self, _: u8, _: u64, _: &[[u8; FRAME]], _: &[[u8; FRAME]]) {}

    fn event(&mut self, _: u64, _: Event) {}
}
