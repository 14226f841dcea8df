//! Collects atoms into the longest possible packets.

use crate::etmv4::packet::Atoms;

/// Atoms that are not sent: the first atoms of a longer packet, and always a packet themselves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Waiting {
    /// Oldest in bit 0; 1 is E.
    bits: u32,
    len: u8,
}

impl Waiting {
    /// Adds an atom. Returns a packet that cannot become longer.
    #[inline]
    pub(super) fn push(&mut self, taken: bool) -> Option<Atoms> {
        let bits = self.bits | u32::from(taken) << self.len;
        let len = self.len + 1;
        let ones = |n: u8| (1u32 << n) - 1;
        let (out, rest) = match (len, bits) {
            // Format 3 holds any three atoms; longer formats begin with some of them.
            (0..=3, _) => (None, Waiting { bits, len }),
            (24, _) => (Atoms::new(bits, len), Waiting::default()),
            _ if bits == ones(len) => (None, Waiting { bits, len }),
            // Format 6 ends in N.
            _ if bits == ones(len - 1) => (Atoms::new(bits, len), Waiting::default()),
            // Format 4, three of which begin a format 5.
            (4, 0b1110 | 0b0000 | 0b1010 | 0b0101) => (None, Waiting { bits, len }),
            (5, 0b11110 | 0b00000 | 0b01010 | 0b10101) => {
                (Atoms::new(bits, len), Waiting::default())
            }
            _ => (self.take(), Waiting { bits: taken.into(), len: 1 }),
        };
        *self = rest;
        out
    }

    /// All unsent atoms as one packet. `None` if there are none.
    #[inline]
    pub(super) fn take(&mut self) -> Option<Atoms> {
        let Waiting { bits, len } = core::mem::take(self);
        Atoms::new(bits, len).filter(|atoms| !atoms.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use std::string::String;
    use std::string::ToString;
    use std::vec::Vec;

    use super::*;

    fn packets(atoms: &str) -> Vec<String> {
        let mut waiting = Waiting::default();
        let mut out: Vec<_> = atoms.bytes().filter_map(|a| waiting.push(a == b'E')).collect();
        out.extend(waiting.take());
        out.iter().map(Atoms::to_string).collect()
    }

    /// Each format is used where it fits.
    #[test]
    fn every_format_is_used() {
        for whole in [
            "E",
            "N",
            "EN",
            "NE",
            "EEE",
            "NNN",
            "NEN",
            "NEEE",
            "NNNN",
            "NENE",
            "ENEN",
            "NEEEE",
            "NNNNN",
            "NENEN",
            "ENENE",
            "EEEE",
            "EEEN",
            "EEEEEEEEEEEN",
            "EEEEEEEEEEEEEEEEEEEEEEEE",
            "EEEEEEEEEEEEEEEEEEEEEEEN",
        ] {
            assert_eq!(packets(whole), [whole]);
        }
    }

    /// The packets have the same atoms in the same order.
    #[test]
    fn atoms_are_preserved() {
        for pattern in 0u32..1 << 13 {
            let atoms: String =
                (0..13).map(|k| if pattern >> k & 1 != 0 { 'E' } else { 'N' }).collect();
            assert_eq!(packets(&atoms).concat(), atoms);
        }
    }
}
