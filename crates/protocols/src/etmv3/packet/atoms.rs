//! P-headers: instructions passed or failed, and cycles. (IHI 0014, 7.3.1 and 7.3.3)

use core::fmt;

/// One P-header. E is an instruction that passed its condition code test, N is one that failed it,
/// and W is a cycle boundary, in the cycle-accurate table only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Atoms {
    /// `1nee_ee00`: `eeee` times E, then N if `n`.
    Run {
        /// Number of E, 0 to 15.
        passed: u8,
        /// An N follows.
        failed: bool,
    },
    /// `1000_ff10`: two atoms, the first in bit 3; 1 is N.
    Pair {
        /// Whether the first and the second atom are N.
        failed: [bool; 2],
    },
    /// Cycle-accurate `1n0e_ee00`: `eee` times W E, then W N if `n`.
    CycleRun {
        /// Number of W E, 0 to 7.
        passed: u8,
        /// A W N follows.
        failed: bool,
    },
    /// Cycle-accurate `1000_ff10`: W, then two atoms of the same cycle.
    CyclePair {
        /// Whether the first and the second atom are N.
        failed: [bool; 2],
    },
    /// Cycle-accurate `1e1w_ww00`: `www` + 1 times W, then E if `e`.
    Cycles {
        /// Number of W, 1 to 8.
        cycles: u8,
        /// An E follows.
        passed: bool,
    },
    /// Cycle-accurate `1001_0f10`, from ETMv3.3: one atom of the previous cycle.
    SameCycle {
        /// The atom is N.
        failed: bool,
    },
    /// Cycle-accurate `1000_0000`, ETMv3.0 only: W.
    Cycle,
}

/// One instruction of a P-header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Atom {
    /// It passed its condition code test.
    pub passed: bool,
    /// Number of W directly before it.
    pub cycles: u8,
}

impl Atoms {
    /// The P-header `header`, for a trace unit of version 3.`minor`.
    pub const fn from_header(header: u8, cycle_accurate: bool, minor: u8) -> Option<Atoms> {
        let failed = [header >> 3 & 1 != 0, header >> 2 & 1 != 0];
        Some(match (cycle_accurate, header) {
            (false, 0b1000_0010..=0b1000_1110) if header & 0b11 == 0b10 => Atoms::Pair { failed },
            (false, 0x80..) if header & 0b11 == 0 => {
                Atoms::Run { passed: header >> 2 & 0xf, failed: header >> 6 & 1 != 0 }
            }
            (true, 0b1000_0000) => {
                if minor > 0 {
                    return None;
                }
                Atoms::Cycle
            }
            (true, 0b1000_0010..=0b1000_1110) if header & 0b11 == 0b10 => {
                Atoms::CyclePair { failed }
            }
            (true, 0b1001_0010 | 0b1001_0110) if minor >= 3 => {
                Atoms::SameCycle { failed: header >> 2 & 1 != 0 }
            }
            (true, 0x80..) if header & 0b0010_0011 == 0 => {
                Atoms::CycleRun { passed: header >> 2 & 7, failed: header >> 6 & 1 != 0 }
            }
            (true, 0x80..) if header & 0b0010_0011 == 0b0010_0000 => {
                Atoms::Cycles { cycles: (header >> 2 & 7) + 1, passed: header >> 6 & 1 != 0 }
            }
            _ => return None,
        })
    }

    /// The header byte.
    pub const fn header(self) -> u8 {
        match self {
            Atoms::Run { passed, failed } => 0x80 | (failed as u8) << 6 | (passed & 0xf) << 2,
            Atoms::CycleRun { passed, failed } => 0x80 | (failed as u8) << 6 | (passed & 7) << 2,
            Atoms::Pair { failed: [first, second] }
            | Atoms::CyclePair { failed: [first, second] } => {
                0b1000_0010 | (first as u8) << 3 | (second as u8) << 2
            }
            Atoms::Cycles { cycles, passed } => {
                0b1010_0000 | (passed as u8) << 6 | (cycles.saturating_sub(1) & 7) << 2
            }
            Atoms::SameCycle { failed } => 0b1001_0010 | (failed as u8) << 2,
            Atoms::Cycle => 0b1000_0000,
        }
    }

    /// Number of instructions, 0 to 16.
    pub const fn len(self) -> u8 {
        match self {
            Atoms::Run { passed, failed } | Atoms::CycleRun { passed, failed } => {
                passed + failed as u8
            }
            Atoms::Pair { .. } | Atoms::CyclePair { .. } => 2,
            Atoms::Cycles { passed, .. } => passed as u8,
            Atoms::SameCycle { .. } => 1,
            Atoms::Cycle => 0,
        }
    }

    /// Whether it has no instruction.
    pub const fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// Instruction `k`; the oldest is 0.
    pub const fn get(self, k: u8) -> Option<Atom> {
        if k >= self.len() {
            return None;
        }
        Some(match self {
            Atoms::Run { passed, .. } => Atom { passed: k < passed, cycles: 0 },
            Atoms::CycleRun { passed, .. } => Atom { passed: k < passed, cycles: 1 },
            Atoms::Pair { failed } => Atom { passed: !failed[(k & 1) as usize], cycles: 0 },
            Atoms::CyclePair { failed } => {
                Atom { passed: !failed[(k & 1) as usize], cycles: (k == 0) as u8 }
            }
            Atoms::Cycles { cycles, passed } => Atom { passed, cycles },
            Atoms::SameCycle { failed } => Atom { passed: !failed, cycles: 0 },
            Atoms::Cycle => return None,
        })
    }

    /// Number of W in the header.
    pub const fn cycles(self) -> u8 {
        match self {
            Atoms::CycleRun { .. } => self.len(),
            Atoms::Cycles { cycles, .. } => cycles,
            Atoms::CyclePair { .. } | Atoms::Cycle => 1,
            Atoms::Run { .. } | Atoms::Pair { .. } | Atoms::SameCycle { .. } => 0,
        }
    }
}

/// The instructions of a P-header in one word, for iteration.
///
/// | bits | content |
/// |---|---|
/// | \[15:0] | 1 for each instruction that passed, the oldest in bit 0 |
/// | \[20:16] | number of instructions, 0 to 16 |
/// | \[24:21] | number of W before the first instruction, or in all where there is none |
/// | \[25] | number of W before each of the other instructions |
/// | \[31] | the byte is a P-header |
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::etmv3) struct Steps(u32);

impl Steps {
    /// The value of a byte that is not a P-header.
    const NONE: Steps = Steps(0);
    const LEN: u32 = 16;
    const FIRST: u32 = 21;
    const OTHERS: u32 = 25;
    const IS: u32 = 1 << 31;

    const fn of(atoms: Atoms) -> Steps {
        let (mut passed, mut k) = (0, 0);
        let (mut first, mut others) = (0, 0);
        while let Some(atom) = atoms.get(k) {
            passed |= (atom.passed as u32) << k;
            *(if k == 0 { &mut first } else { &mut others }) = atom.cycles as u32;
            k += 1;
        }
        if k == 0 {
            first = atoms.cycles() as u32;
        }
        let len = (k as u32) << Steps::LEN;
        Steps(Steps::IS | passed | len | first << Steps::FIRST | others << Steps::OTHERS)
    }

    /// Whether the byte is a P-header.
    #[inline]
    pub(in crate::etmv3) const fn is_header(self) -> bool {
        self.0 & Steps::IS != 0
    }

    /// Number of instructions.
    #[inline]
    pub(in crate::etmv3) const fn len(self) -> u8 {
        (self.0 >> Steps::LEN & 0x1f) as u8
    }

    /// Number of W before the first instruction, or in all where there is none.
    #[inline]
    pub(in crate::etmv3) const fn cycles(self) -> u8 {
        (self.0 >> Steps::FIRST & 0xf) as u8
    }

    /// The instructions that passed, the oldest in bit 0.
    #[inline]
    pub(in crate::etmv3) const fn passed(self) -> u16 {
        self.0 as u16
    }

    /// Number of W before each instruction but the first.
    #[inline]
    pub(in crate::etmv3) const fn others(self) -> u8 {
        (self.0 >> Steps::OTHERS & 1) as u8
    }

    /// The first instruction, where there is one.
    #[inline]
    pub(in crate::etmv3) const fn first(self) -> Atom {
        Atom { passed: self.0 & 1 != 0, cycles: self.cycles() }
    }

    /// The last `left` instructions.
    pub(in crate::etmv3) fn last(mut self, left: u8) -> Steps {
        while self.len() > left {
            self = self.behind_first();
        }
        self
    }

    /// The instructions after the first.
    #[inline]
    pub(in crate::etmv3) const fn behind_first(self) -> Steps {
        let others = self.0 >> Steps::OTHERS & 1;
        let passed = (self.0 & 0xffff) >> 1;
        let len = (self.len() as u32).wrapping_sub(1) << Steps::LEN;
        Steps(Steps::IS | passed | len | others << Steps::FIRST | others << Steps::OTHERS)
    }
}

/// The P-headers of one version and configuration, by header byte.
pub(in crate::etmv3) type Headers = [Steps; 256];

/// The tables without cycles; then with cycles for minor versions 0, 1 and 2, and from 3 on.
static HEADERS: [Headers; 4] =
    [headers(false, 0), headers(true, 0), headers(true, 1), headers(true, 3)];

const fn headers(cycle_accurate: bool, minor: u8) -> Headers {
    let mut headers = [Steps::NONE; 256];
    let mut header = 0;
    while header < headers.len() {
        if header & 0x81 == 0x80
            && let Some(atoms) = Atoms::from_header(header as u8, cycle_accurate, minor)
        {
            headers[header] = Steps::of(atoms);
        }
        header += 1;
    }
    headers
}

impl Atoms {
    /// The table of a trace unit of version 3.`minor`.
    pub(in crate::etmv3) fn headers(cycle_accurate: bool, minor: u8) -> &'static Headers {
        let [plain, first, second, third] = &HEADERS;
        match (cycle_accurate, minor) {
            (false, _) => plain,
            (true, 0) => first,
            (true, 1 | 2) => second,
            (true, _) => third,
        }
    }
}

/// The atoms in order, in the specification's letters.
impl fmt::Display for Atoms {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_empty() {
            return (0..self.cycles()).try_for_each(|_| f.write_str("W"));
        }
        for k in 0..self.len() {
            if let Some(atom) = self.get(k) {
                (0..atom.cycles).try_for_each(|_| f.write_str("W"))?;
                f.write_str(if atom.passed { "E" } else { "N" })?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_the_atoms() {
        for (cycle_accurate, minor) in (0..8).flat_map(|minor| [(false, minor), (true, minor)]) {
            let headers = Atoms::headers(cycle_accurate, minor);
            for header in 0..=u8::MAX {
                let atoms = Atoms::from_header(header, cycle_accurate, minor)
                    .filter(|_| header & 0x81 == 0x80);
                let mut steps = headers[usize::from(header)];
                assert_eq!(steps, atoms.map_or(Steps::NONE, Steps::of), "{header:02x}");
                assert_eq!(steps.is_header(), atoms.is_some(), "{header:02x}");
                let Some(atoms) = atoms else { continue };
                assert_eq!(steps.len(), atoms.len());
                assert!(!atoms.is_empty() || steps.cycles() == atoms.cycles());
                for k in 0..steps.len() {
                    assert_eq!(Some(steps.first()), atoms.get(k), "{header:02x}, {k}");
                    steps = steps.behind_first();
                    assert_eq!(steps.len(), atoms.len() - k - 1);
                }
            }
        }
    }
}
