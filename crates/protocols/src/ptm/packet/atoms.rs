//! Atom packets of a trace without cycle counts.

use core::fmt;

/// One to five atoms. (IHI 0035, "Atom packet")
///
/// | header | atoms |
/// |---|---|
/// | `1000_01A0` | 1 |
/// | `1000_1AA0` | 2 |
/// | `1001_AAA0` | 3 |
/// | `101A_AAA0` | 4 |
/// | `11AA_AAA0` | 5 |
///
/// A is 0 for E (taken) and 1 for N; the oldest atom is the highest bit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Atoms {
    header: u8,
}

impl Atoms {
    /// The atoms of `header`; `None` if it does not begin an Atom packet.
    pub const fn from_header(header: u8) -> Option<Self> {
        if header & 0x81 == 0x80 && header >> 2 & 0x1f != 0 { Some(Atoms { header }) } else { None }
    }

    /// The atoms of `header` from bit 0 on, 1 for E, with a 1 above the last; 0 if it does not
    /// begin an Atom packet.
    #[inline]
    pub(in crate::ptm) const fn steps(header: u8) -> u32 {
        STEPS[header as usize] as u32
    }

    /// The header byte.
    pub const fn header(self) -> u8 {
        self.header
    }

    /// Number of atoms, 1 to 5. The highest bit set below bit 7 is above the oldest atom.
    pub const fn len(self) -> u8 {
        6 - (self.header & 0x7f).leading_zeros() as u8
    }

    /// Always `false`: a packet has at least one atom.
    pub const fn is_empty(self) -> bool {
        false
    }

    /// The atoms, oldest first; `true` is E.
    pub fn iter(self) -> impl Iterator<Item = bool> {
        (1..=self.len()).rev().map(move |bit| self.header >> bit & 1 == 0)
    }
}

/// See [`Atoms::steps`].
const STEPS: [u8; 256] = {
    let mut steps = [0; 256];
    let mut header = 0;
    while header < steps.len() {
        if let Some(atoms) = Atoms::from_header(header as u8) {
            let mut word = 1;
            let mut bit = 1;
            while bit <= atoms.len() {
                // The oldest atom is the highest bit of the header and goes to bit 0 last.
                word = word << 1 | (header >> bit & 1 == 0) as u8;
                bit += 1;
            }
            steps[header] = word;
        }
        header += 1;
    }
    steps
};

impl fmt::Display for Atoms {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.iter().try_for_each(|taken| f.write_str(if taken { "E" } else { "N" }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_the_atoms() {
        for header in 0..=u8::MAX {
            let want = Atoms::from_header(header).map_or(0, |atoms| {
                let atoms = atoms.iter().enumerate();
                atoms.fold(0, |word, (n, taken)| word & !(1 << n) | u32::from(taken) << n | 2 << n)
            });
            assert_eq!(Atoms::steps(header), want, "{header:02x}");
        }
    }
}
