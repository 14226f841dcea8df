//! The state of a splitter as bytes.

use super::Splitter;
use crate::framing::Link;
use crate::pending::Pending;

/// The state has a trace ID.
const HAS_ID: u8 = 1;
/// Synchronisation was found.
const SYNCED: u8 = 2;

impl Splitter {
    /// Appends the state to `out`, without the [link](Splitter::link):
    ///
    /// | byte | contents |
    /// |---|---|
    /// | 0 | bit \[0]: the trace ID is known; bit \[1]: synchronisation was found |
    /// | 1 | the trace ID, or 0 |
    /// | 2 | the number of bytes of an incomplete frame; each follows: its offset in 8 bytes, least significant first, and the byte |
    /// | | the same for bytes that may begin a synchronisation packet, and for those of an incomplete DSTREAM footer |
    ///
    /// Returns `false` and appends nothing where undecodable bytes wait to be reported.
    pub fn save(&self, out: &mut impl Extend<u8>) -> bool {
        if self.undecodable.is_some() {
            return false;
        }
        let id = if self.id.is_some() { HAS_ID } else { 0 };
        out.extend([id | if self.synced { SYNCED } else { 0 }, self.id.unwrap_or(0)]);
        put(&self.frame, out);
        put(&self.pending, out);
        put(&self.footer, out);
        true
    }

    /// The splitter of `link` in the state that [`save`](Splitter::save) wrote. `None` where
    /// `bytes` are not such a state.
    pub fn restore(link: Link, bytes: &[u8]) -> Option<Splitter> {
        let (&[flags, id], mut rest) = bytes.split_first_chunk::<2>()?;
        if flags & !(HAS_ID | SYNCED) != 0 {
            return None;
        }
        let splitter = Splitter {
            id: (flags & HAS_ID != 0).then_some(id),
            synced: flags & SYNCED != 0,
            frame: take(&mut rest)?,
            pending: take(&mut rest)?,
            footer: take(&mut rest)?,
            ..Splitter::new(link)
        };
        rest.is_empty().then_some(splitter)
    }
}

fn put<const N: usize>(waiting: &Pending<N>, out: &mut impl Extend<u8>) {
    // There are at most 16.
    out.extend([waiting.bytes().len() as u8]);
    for (offset, byte) in waiting.offsets().iter().zip(waiting.bytes()) {
        out.extend(offset.to_le_bytes());
        out.extend([*byte]);
    }
}

fn take<const N: usize>(from: &mut &[u8]) -> Option<Pending<N>> {
    let (&len, mut rest) = from.split_first()?;
    let mut waiting = Pending::default();
    // A full one would have been taken.
    if usize::from(len) >= N {
        return None;
    }
    for _ in 0..len {
        let (offset, after) = rest.split_first_chunk::<8>()?;
        let (&byte, after) = after.split_first()?;
        waiting.push(u64::from_le_bytes(*offset), byte);
        rest = after;
    }
    *from = rest;
    Some(waiting)
}

#[cfg(test)]
mod tests {
    extern crate alloc;

    use alloc::vec::Vec;

    use super::*;
    use crate::framing::Framing;
    use crate::split::{Event, Split};

    /// What a splitter emits: ID, offset and bytes of each piece; events.
    #[derive(Default, PartialEq, Debug)]
    struct Recorder(Vec<(u16, u64, Vec<u8>)>, Vec<(u64, Event)>);

    impl Split for Recorder {
        fn piece(&mut self, id: u16, at: u64, _: bool, bytes: &[u8]) {
            self.0.push((id, at, bytes.to_vec()));
        }

        fn event(&mut self, at: u64, event: Event) {
            self.1.push((at, event));
        }
    }

    #[test]
    fn a_restored_splitter_continues_as_the_saved_one() {
        // Frames of IDs 0x10 and 0x11 with synchronisation packets between and inside them.
        let mut bytes = Vec::new();
        for n in 0..24u8 {
            bytes.extend([0xff, 0xff, 0xff, 0x7f]);
            let mut frame = [n << 1 & 0x7e; 16];
            frame[0] = if n % 3 == 0 { 0x21 } else { 0x23 };
            frame[15] = 0;
            bytes.extend(&frame[..6]);
            if n % 2 == 0 {
                bytes.extend([0xff, 0x7f]);
            }
            bytes.extend(&frame[6..]);
        }
        for framing in Framing::ALL {
            let link = Link::new(framing);
            for cut in 0..bytes.len() {
                let (head, tail) = bytes.split_at(cut);
                let mut splitter = Splitter::new(link);
                splitter.split(0, head, &mut Recorder::default());
                let mut state = Vec::new();
                if !splitter.save(&mut state) {
                    assert!(splitter.undecodable.is_some(), "{framing:?} at {cut}");
                    continue;
                }
                let mut restored = Splitter::restore(link, &state).expect("its own state");
                assert_eq!(restored, splitter, "{framing:?} at {cut}");
                let (mut one, mut other) = (Recorder::default(), Recorder::default());
                splitter.split(cut as u64, tail, &mut one);
                restored.split(cut as u64, tail, &mut other);
                assert_eq!(one, other, "{framing:?} at {cut}");
                for len in 0..state.len() {
                    assert!(Splitter::restore(link, &state[..len]).is_none(), "{len} bytes");
                }
            }
        }
        assert!(Splitter::restore(Link::new(Framing::Coresight), &[4, 0, 0, 0, 0]).is_none());
        assert!(Splitter::restore(Link::new(Framing::Coresight), &[0, 0, 16, 0, 0]).is_none());
    }
}
