//! Bytes before a synchronisation, grouped into lines as OpenCSD groups them.

use std::mem;

/// The rule that ends a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// At the end of the fragment, or after sixteen bytes.
    FragmentOrSixteen,
    /// At the end of the fragment. Bytes 0xff at its end can begin a synchronisation and start the
    /// next line.
    FragmentButOnes,
    /// After eight bytes, or before a zero that can begin a synchronisation; but only when the next
    /// byte comes. A run of zeros and the byte after it are not divided.
    EightOrZero,
    /// At the end of the fragment, after eight bytes, or before a zero that can begin a
    /// synchronisation. A run of zeros and the byte after it are not divided.
    EightOrZeros,
    /// At the end of the fragment, or before a zero that can begin a synchronisation. A line that
    /// begins with such a zero continues until a fragment ends with a byte outside the search for a
    /// synchronisation, and has the offset of that fragment.
    FragmentOrZeros,
}

/// The bytes of an incomplete line.
#[derive(Clone, Debug)]
pub struct Unsynced {
    group: Group,
    /// The offset of the first byte.
    at: u64,
    waiting: Vec<u8>,
    /// The offset of the next line, where it is not that of its first byte.
    next_at: Option<u64>,
    /// The last byte was a zero that can begin a synchronisation.
    zeros: bool,
    /// The last byte was outside the search for a synchronisation.
    beyond: bool,
    /// The line has the offset of the next byte.
    moves: bool,
    /// The number of waiting bytes that become a line when the next byte comes.
    due: usize,
}

/// Without waiting bytes, `at` has no meaning.
impl PartialEq for Unsynced {
    fn eq(&self, other: &Self) -> bool {
        let all = |u: &Self| (u.group, u.next_at, u.zeros, u.beyond, u.moves, u.due);
        self.waiting == other.waiting
            && all(self) == all(other)
            && (self.waiting.is_empty() || self.at == other.at)
    }
}

/// The most zeros in a line: one more than a synchronisation has.
const MAX_ZEROS: usize = 12;

impl Unsynced {
    /// No bytes wait.
    pub const fn new(group: Group) -> Self {
        Unsynced {
            group,
            at: 0,
            waiting: Vec::new(),
            next_at: None,
            zeros: false,
            beyond: false,
            moves: false,
            due: 0,
        }
    }

    /// Takes `byte`, and passes complete lines to `line`.
    pub fn push(&mut self, at: u64, byte: u8, mut line: impl FnMut(u64, &[u8])) {
        self.arrives(&mut line);
        match self.group {
            Group::FragmentOrSixteen => {
                self.append(at, byte);
                if self.waiting.len() == 16 {
                    self.done(line);
                }
            }
            Group::FragmentButOnes => self.append(at, byte),
            Group::EightOrZero if self.zeros => {
                self.zeros = byte == 0;
                self.append(at, byte);
                if self.zeros && self.waiting.len() == MAX_ZEROS {
                    self.due = MAX_ZEROS;
                }
            }
            Group::EightOrZero if byte == 0 => {
                self.zeros = true;
                self.due = self.waiting.len();
                if self.waiting.is_empty() {
                    self.next_at = None;
                } else {
                    self.next_at = Some(at);
                }
                self.append(at, byte);
            }
            Group::EightOrZero => {
                self.append(at, byte);
                if self.waiting.len() >= 8 {
                    // OpenCSD sets the offset of the next line before the next fragment begins.
                    self.next_at = Some(at.wrapping_add(1));
                    self.due = self.waiting.len();
                }
            }
            Group::EightOrZeros | Group::FragmentOrZeros if self.zeros => {
                self.zeros = byte == 0;
                self.append(at, byte);
            }
            Group::FragmentOrZeros => {
                if mem::take(&mut self.moves) {
                    self.at = at;
                }
                if byte == 0 {
                    self.end(&mut line);
                    self.zeros = true;
                }
                self.beyond = byte != 0;
                self.append(at, byte);
            }
            Group::EightOrZeros => {
                if byte == 0 {
                    self.end(&mut line);
                    self.zeros = true;
                }
                self.append(at, byte);
                if !self.zeros && self.waiting.len() >= 8 {
                    // OpenCSD does not update the offset for the next line.
                    self.next_at = Some(self.at);
                    self.done(line);
                }
            }
        }
    }

    /// A byte comes: the bytes that are due become a line.
    fn arrives(&mut self, mut line: impl FnMut(u64, &[u8])) {
        if self.due > 0 {
            line(self.at, self.waiting.get(..self.due).unwrap_or_default());
            self.waiting.drain(..self.due.min(self.waiting.len()));
            self.due = 0;
            if !self.waiting.is_empty() {
                self.at = self.next_at.take().unwrap_or(self.at);
            }
        }
    }

    /// `bytes` that can begin a synchronisation follow. OpenCSD lists waiting bytes only while more
    /// bytes come.
    pub fn held(&mut self, bytes: &[u8], mut line: impl FnMut(u64, &[u8])) {
        if self.group == Group::EightOrZero && !bytes.is_empty() {
            self.arrives(&mut line);
            if bytes.len() > 1 && !self.zeros {
                self.done(line);
            }
        }
    }

    /// The trace ends without a synchronisation. Returns offset and bytes of the incomplete line,
    /// and whether it consists of several zeros that can begin a synchronisation.
    pub fn left(&mut self) -> Option<(u64, Vec<u8>, bool)> {
        self.due = 0;
        let bytes = mem::take(&mut self.waiting);
        let zeros = self.zeros && bytes.len() > 1 && bytes.iter().all(|&byte| byte == 0);
        (!bytes.is_empty()).then_some((self.at, bytes, zeros))
    }

    /// A fragment ends: data of another source can follow.
    pub fn fragment_ends(&mut self, mut line: impl FnMut(u64, &[u8])) {
        match self.group {
            Group::FragmentOrSixteen => self.done(line),
            Group::FragmentButOnes => {
                let ones = self.waiting.iter().rev().take_while(|&&b| b == 0xff).count();
                let rest = self.waiting.split_off(self.waiting.len() - ones);
                let rest_at = self.at + self.waiting.len() as u64;
                self.done(&mut line);
                (self.waiting, self.at) = (rest, rest_at);
            }
            Group::EightOrZeros if !self.zeros => self.end(line),
            Group::FragmentOrZeros if self.beyond => self.end(line),
            Group::FragmentOrZeros => self.moves = !self.zeros && !self.waiting.is_empty(),
            Group::EightOrZero | Group::EightOrZeros => {}
        }
    }

    /// No line is incomplete: [`end`](Self::end) has no effect.
    #[inline]
    pub(super) const fn is_idle(&self) -> bool {
        let flags = self.zeros || self.beyond || self.moves;
        self.waiting.is_empty() && self.due == 0 && self.next_at.is_none() && !flags
    }

    /// A packet or undecodable bytes follow: the waiting bytes become a line.
    pub fn end(&mut self, line: impl FnMut(u64, &[u8])) {
        self.done(line);
        (self.next_at, self.zeros, self.beyond, self.moves) = (None, false, false, false);
    }

    fn done(&mut self, mut line: impl FnMut(u64, &[u8])) {
        self.arrives(&mut line);
        if !self.waiting.is_empty() {
            let bytes = mem::take(&mut self.waiting);
            line(self.at, &bytes);
            self.waiting = bytes;
            self.waiting.clear();
        }
    }

    fn append(&mut self, at: u64, byte: u8) {
        if self.waiting.is_empty() {
            self.at = self.next_at.take().unwrap_or(at);
        }
        self.waiting.push(byte);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lines of `fragments`, each with its offset. A fragment has the offset of its first byte.
    fn lines(group: Group, fragments: &[(u64, &[u8])]) -> Vec<(u64, Vec<u8>)> {
        let (mut unsynced, mut lines) = (Unsynced::new(group), Vec::new());
        let mut line = |at, bytes: &[u8]| lines.push((at, bytes.to_vec()));
        for &(at, bytes) in fragments {
            for (k, &byte) in bytes.iter().enumerate() {
                unsynced.push(at + k as u64, byte, &mut line);
            }
            unsynced.fragment_ends(&mut line);
        }
        unsynced.end(&mut line);
        lines
    }

    /// OpenCSD's lines of the first bytes of an ITM capture.
    #[test]
    fn zeros_may_begin_a_synchronisation() {
        let bytes = [
            0xf0, 0x00, 0x00, 0x34, 0x00, 0x12, 0x33, 0x44, 0x12, 0x43, 0x55, 0x66, 0x22, 0x77,
            0x88, 0x99,
        ];
        assert_eq!(
            lines(Group::EightOrZeros, &[(0, &bytes)]),
            [
                (0, bytes[..1].to_vec()),
                (1, bytes[1..4].to_vec()),
                (4, bytes[4..12].to_vec()),
                (4, bytes[12..].to_vec()),
            ]
        );
    }

    /// OpenCSD's lines of the first bytes of ETMv3 sources.
    #[test]
    fn zeros_may_begin_a_synchronisation_in_a_fragment() {
        for (fragments, want) in [
            (
                &[(208, &[0x21, 0x41, 0xce, 0x00, 0xc0, 0x84][..]), (224, &[0x84])][..],
                &[(208, &[0x21, 0x41, 0xce][..]), (211, &[0x00, 0xc0, 0x84]), (224, &[0x84])][..],
            ),
            (
                &[(5366, &[0x70, 0x00]), (5384, &[0xc0, 0x84])],
                &[(5366, &[0x70]), (5367, &[0x00, 0xc0, 0x84])],
            ),
            (
                &[(5718, &[0x70, 0x00]), (5728, &[0xc0]), (5748, &[0x82, 0xa4])],
                &[(5718, &[0x70]), (5748, &[0x00, 0xc0, 0x82, 0xa4])],
            ),
        ] {
            let want: Vec<_> = want.iter().map(|&(at, bytes)| (at, bytes.to_vec())).collect();
            assert_eq!(lines(Group::FragmentOrZeros, fragments), want);
        }
    }

    #[test]
    fn ones_may_begin_a_synchronisation() {
        assert_eq!(
            lines(Group::FragmentButOnes, &[(80, &[1, 0xff, 2, 0xff, 0xff]), (96, &[0xcf, 3])]),
            [(80, vec![1, 0xff, 2]), (83, vec![0xff, 0xff, 0xcf, 3])]
        );
    }

    #[test]
    fn eight_bytes_or_a_zero() {
        assert_eq!(
            lines(Group::EightOrZero, &[(8, &[1, 2, 3, 4, 5, 6]), (32, &[7, 8, 9, 0, 1])]),
            [(8, vec![1, 2, 3, 4, 5, 6, 7, 8]), (34, vec![9]), (35, vec![0, 1])]
        );
        let zeros = [1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x80, 1, 2];
        assert_eq!(
            lines(Group::EightOrZero, &[(0, &zeros)]),
            [(0, vec![1]), (1, zeros[1..12].to_vec()), (12, vec![2])]
        );
    }

    /// A line is complete only when the byte after it comes.
    #[test]
    fn incomplete_line_at_the_end() {
        for (bytes, lines, left) in [
            (&[1, 2, 3][..], 0, Some((0, vec![1, 2, 3], false))),
            (&[1, 2, 3, 4, 5, 6, 7, 8], 0, Some((0, vec![1, 2, 3, 4, 5, 6, 7, 8], false))),
            (&[1, 2, 3, 4, 5, 6, 7, 8, 9], 1, Some((8, vec![9], false))),
            (&[1, 2, 0], 0, Some((0, vec![1, 2, 0], false))),
            (&[1, 2, 0, 0], 1, Some((2, vec![0, 0], true))),
            (&[1, 2, 0, 5], 1, Some((2, vec![0, 5], false))),
            (&[], 0, None),
        ] {
            let (mut unsynced, mut count) = (Unsynced::new(Group::EightOrZero), 0);
            for (at, &byte) in (0..).zip(bytes) {
                unsynced.push(at, byte, |_, _| count += 1);
            }
            assert_eq!((count, unsynced.left()), (lines, left), "{bytes:?}");
        }
    }

    #[test]
    fn sixteen_bytes() {
        let bytes: Vec<u8> = (0..20).collect();
        assert_eq!(
            lines(Group::FragmentOrSixteen, &[(8, &[1, 0]), (32, &bytes)]),
            [(8, vec![1, 0]), (32, bytes[..16].to_vec()), (48, bytes[16..].to_vec())]
        );
    }
}
