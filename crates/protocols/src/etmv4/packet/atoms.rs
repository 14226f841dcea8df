//! Atom packets: one bit for each P0 instruction.

use core::fmt;

/// The atoms of one packet, oldest first: E (the P0 instruction took effect; a branch was taken) or
/// N. Only combinations that an Atom packet can hold are possible. (IHI 0064 and Arm ARM, "Atom
/// packets")
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Atoms(
    /// The atoms from bit 0, the oldest; 1 is E. Bits \[31:24]: their number, 0 to 24.
    u32,
);

/// The atoms of every header; 0 if it is not that of an Atom packet.
const OF_HEADER: [u32; 256] = {
    let mut table = [0; 256];
    let mut header = 0;
    while header < 256 {
        if let Some(atoms) = Atoms::from_pattern(header as u8) {
            table[header] = atoms.0;
        }
        header += 1;
    }
    table
};

/// The atoms of every header with a 1 after the last atom.
const STEPS: [u32; 256] = {
    let mut table = [0; 256];
    let mut header = 0;
    while header < 256 {
        if let Some(atoms) = Atoms::from_pattern(header as u8) {
            table[header] = atoms.bits() | 1 << atoms.len();
        }
        header += 1;
    }
    table
};

impl Atoms {
    /// No atoms: for a Mispredict or Cancel packet without atoms.
    pub const NONE: Atoms = Atoms(0);
    /// One E atom.
    pub const E: Atoms = Atoms::of(0b1, 1);
    /// One N atom.
    pub const N: Atoms = Atoms::of(0b0, 1);
    /// Two E atoms.
    pub const EE: Atoms = Atoms::of(0b11, 2);

    const fn of(bits: u32, len: u8) -> Self {
        Atoms(bits | (len as u32) << 24)
    }

    /// The packet of these atoms, if there is one: `bits` from bit 0, the oldest; 1 is E.
    pub const fn new(bits: u32, len: u8) -> Option<Self> {
        let atoms = Atoms::of(bits & 0xff_ffff, len);
        if bits >> 24 == 0 && atoms.header().is_some() { Some(atoms) } else { None }
    }

    /// The atoms of `header`.
    #[inline]
    pub const fn from_header(header: u8) -> Option<Self> {
        match OF_HEADER[header as usize] {
            0 => None,
            atoms => Some(Atoms(atoms)),
        }
    }

    /// The atoms of `header` from bit 0 on, and a 1 after the last; 0 if it is not that of an Atom
    /// packet.
    #[inline]
    pub(in crate::etmv4) const fn steps(header: u8) -> u32 {
        STEPS[header as usize]
    }

    /// Whether `header` is that of an Atom packet.
    #[inline]
    pub const fn is_header(header: u8) -> bool {
        OF_HEADER[header as usize] != 0
    }

    /// The number of Atom packets at the start of `bytes`. Each is one byte.
    #[inline]
    pub(in crate::etmv4) fn run(bytes: &[u8]) -> usize {
        let (eights, rest) = bytes.as_chunks::<8>();
        let mut count = 0;
        for eight in eights {
            // Bits 7 and 6 are set in the headers of Atom packets only.
            let word = u64::from_le_bytes(*eight);
            let others = !(word & word << 1) & 0x8080_8080_8080_8080;
            if others != 0 {
                return count + others.trailing_zeros() as usize / 8;
            }
            count += 8;
        }
        count + rest.iter().take_while(|&&header| Atoms::is_header(header)).count()
    }

    const fn from_pattern(header: u8) -> Option<Self> {
        let (bits, len) = match header {
            // Format 1: one atom.
            0b1111_0110..=0b1111_0111 => (header as u32 & 0b1, 1),
            // Format 2: two atoms.
            0b1101_1000..=0b1101_1011 => (header as u32 & 0b11, 2),
            // Format 3: three atoms.
            0b1111_1000..=0b1111_1111 => (header as u32 & 0b111, 3),
            // Format 4: NEEE, NNNN, NENE, ENEN.
            0b1101_1100 => (0b1110, 4),
            0b1101_1101 => (0b0000, 4),
            0b1101_1110 => (0b1010, 4),
            0b1101_1111 => (0b0101, 4),
            // Format 5: NEEEE, NNNNN, NENEN, ENENE.
            0b1111_0101 => (0b11110, 5),
            0b1101_0101 => (0b00000, 5),
            0b1101_0110 => (0b01010, 5),
            0b1101_0111 => (0b10101, 5),
            // Format 6: 3 to 23 E, then E or N.
            0b1100_0000..=0b1101_0100 => (ones((header & 0x1f) + 4), (header & 0x1f) + 4),
            0b1110_0000..=0b1111_0100 => (ones((header & 0x1f) + 3), (header & 0x1f) + 4),
            _ => return None,
        };
        Some(Atoms::of(bits, len))
    }

    /// The byte of the packet. `None` for no atoms.
    pub const fn header(self) -> Option<u8> {
        Some(match (self.len(), self.bits()) {
            (1, a) if a < 2 => 0b1111_0110 | a as u8,
            (2, a) if a < 4 => 0b1101_1000 | a as u8,
            (3, a) if a < 8 => 0b1111_1000 | a as u8,
            (4, 0b1110) => 0b1101_1100,
            (4, 0b0000) => 0b1101_1101,
            (4, 0b1010) => 0b1101_1110,
            (4, 0b0101) => 0b1101_1111,
            (5, 0b11110) => 0b1111_0101,
            (5, 0b00000) => 0b1101_0101,
            (5, 0b01010) => 0b1101_0110,
            (5, 0b10101) => 0b1101_0111,
            (n @ 4..=24, a) if a == ones(n) => 0b1100_0000 | (n - 4),
            (n @ 4..=24, a) if a == ones(n - 1) => 0b1110_0000 | (n - 4),
            _ => return None,
        })
    }

    /// Atom format, 1 to 6; 0 for no atoms.
    pub const fn format(self) -> u8 {
        match (self.len(), self.bits()) {
            (n @ 0..=3, _) => n,
            (4, 0b1110 | 0b0000 | 0b1010 | 0b0101) => 4,
            (5, 0b11110 | 0b00000 | 0b01010 | 0b10101) => 5,
            _ => 6,
        }
    }

    /// The atoms from bit 0, the oldest; 1 is E.
    #[inline]
    pub const fn bits(self) -> u32 {
        self.0 & 0xff_ffff
    }

    /// The number of atoms.
    #[inline]
    pub const fn len(self) -> u8 {
        (self.0 >> 24) as u8
    }

    /// Whether there are no atoms.
    #[inline]
    pub const fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// Each atom, oldest first: `true` is E.
    #[inline]
    pub fn iter(self) -> impl Iterator<Item = bool> {
        (0..self.len()).map(move |k| self.bits() >> k & 1 != 0)
    }
}

const fn ones(count: u8) -> u32 {
    (1 << count) - 1
}

impl fmt::Display for Atoms {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.iter().try_for_each(|taken| f.write_str(if taken { "E" } else { "N" }))
    }
}

impl fmt::Debug for Atoms {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Atoms({self})")
    }
}

/// The atoms before the effect of a Mispredict or a Cancel format 2 packet. (The `A` field)
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Before {
    /// `00`: none.
    Nothing,
    /// `01`: E.
    E,
    /// `10`: E and E.
    EE,
    /// `11`: N.
    N,
}

impl Before {
    /// From the low two bits of the header.
    #[inline]
    pub const fn from_field(a: u8) -> Self {
        match a & 0b11 {
            0b00 => Before::Nothing,
            0b01 => Before::E,
            0b10 => Before::EE,
            _ => Before::N,
        }
    }

    /// The low two bits of the header.
    pub const fn field(self) -> u8 {
        match self {
            Before::Nothing => 0b00,
            Before::E => 0b01,
            Before::EE => 0b10,
            Before::N => 0b11,
        }
    }

    /// The atoms.
    #[inline]
    pub const fn atoms(self) -> Atoms {
        match self {
            Before::Nothing => Atoms::NONE,
            Before::E => Atoms::E,
            Before::EE => Atoms::EE,
            Before::N => Atoms::N,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use super::*;

    /// Each byte at each index among Atom headers, and after the last of them.
    #[test]
    fn a_run_ends_at_the_first_byte_that_is_no_header() {
        let headers: Vec<u8> = (0..=u8::MAX).filter(|&byte| Atoms::is_header(byte)).collect();
        for byte in 0..=u8::MAX {
            for index in 0..20 {
                let mut bytes: Vec<u8> =
                    headers.iter().copied().cycle().skip(index).take(21).collect();
                bytes[index] = byte;
                let want = if Atoms::is_header(byte) { 21 } else { index };
                assert_eq!(Atoms::run(&bytes), want, "{byte:#04x} at {index}");
            }
        }
        assert_eq!(Atoms::run(&[]), 0);
    }
}
