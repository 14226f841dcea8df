//! Synchronisation packets whose first bytes a damaged packet took.

/// The synchronisation packet of a protocol: a run of equal bytes, and the byte after it. No other
/// packets of a valid stream contain this sequence, so it identifies a packet boundary even where
/// its first bytes were parsed as the payload of another packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SyncRun<P> {
    /// The byte that is repeated; for an STM a nibble.
    pub unit: u8,
    /// The least number of them.
    pub least: u8,
    /// The byte after them.
    pub end: u8,
    /// The packet.
    pub packet: P,
}

impl<P> SyncRun<P> {
    /// The number of units at the end of `bytes`, which follow `before` units. [`least`] stands for
    /// itself and more.
    ///
    /// [`least`]: Self::least
    #[inline]
    pub(crate) fn at_end(&self, bytes: &[u8], before: u8) -> u8 {
        match bytes.last() {
            None => before,
            Some(&byte) if byte == self.unit => self.count(bytes, before),
            Some(_) => 0,
        }
    }

    #[cold]
    fn count(&self, bytes: &[u8], before: u8) -> u8 {
        let least = usize::from(self.least);
        let run = bytes.iter().rev().take(least).take_while(|&&byte| byte == self.unit).count();
        let more = if run == bytes.len() { usize::from(before) } else { 0 };
        (run + more).min(least) as u8
    }

    /// The number of bytes at the beginning of `rest` that end a synchronisation packet, if it is
    /// complete only together with some of the `before` units before them.
    #[cold]
    pub(crate) fn remainder(&self, before: u8, rest: &[u8]) -> Option<usize> {
        let least = usize::from(self.least);
        let run = rest.iter().take(least).take_while(|&&byte| byte == self.unit).count();
        let shared = run < least && run + usize::from(before) >= least;
        (shared && rest.get(run) == Some(&self.end)).then_some(run + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RUN: SyncRun<()> = SyncRun { unit: 0, least: 5, end: 0x80, packet: () };

    #[test]
    fn units_at_the_end() {
        for (bytes, before, want) in [
            (&[][..], 3, 3),
            (&[1], 3, 0),
            (&[0], 3, 4),
            (&[0, 0, 0], 3, 5),
            (&[1, 0, 0], 3, 2),
            (&[0, 0, 0, 0, 0, 0, 0], 0, 5),
            (&[0, 0, 1], 3, 0),
        ] {
            assert_eq!(RUN.at_end(bytes, before), want, "{bytes:?} after {before}");
        }
    }

    /// A packet that is complete by itself is left to the parser.
    #[test]
    fn remainders() {
        for (before, rest, want) in [
            (1, &[0, 0, 0, 0, 0x80, 1][..], Some(5)),
            (5, &[0x80], Some(1)),
            (4, &[0x80], None),
            (2, &[0, 0, 0x80], None),
            (3, &[0, 0], None),
            (3, &[0, 0, 1], None),
            (3, &[0, 0, 0, 0, 0, 0x80], None),
            (5, &[], None),
        ] {
            assert_eq!(RUN.remainder(before, rest), want, "{rest:?} after {before}");
        }
    }
}
