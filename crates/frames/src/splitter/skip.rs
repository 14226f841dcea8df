//! Where a link is, without what is in it.

use super::Splitter;
use crate::unpack::ID_BITS;
use crate::{Event, FRAME, Framing, Split, sync};

impl Splitter {
    /// Goes past all of `bytes` as [`split`](Self::split) does, and says nothing. What comes after
    /// them is the same.
    ///
    /// Of frames only those with an ID byte are looked at.
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
        self.split(at.wrapping_add(taken as u64), rest, &mut Nowhere);
    }

    /// Goes past a frame with ID bytes; the last of them counts.
    fn skip_ids(&mut self, frame: &[u8; FRAME], ids: u128) {
        self.id = if self.link.barriers && *frame == sync::BARRIER {
            None
        } else {
            frame.get((u128::BITS - 1 - ids.leading_zeros()) as usize / 8).map(|byte| byte >> 1)
        };
    }
}

/// Hears nothing.
struct Nowhere;

impl Split for Nowhere {
    fn piece(&mut self, _: u16, _: u64, _: bool, _: &[u8]) {}

    fn plain(&mut self, _: u8, _: u64, _: &[[u8; FRAME]], _: &[[u8; FRAME]]) {}

    fn event(&mut self, _: u64, _: Event) {}
}
