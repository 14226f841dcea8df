//! Packing of atoms into P-headers. (IHI 0014, 7.3.1 and 7.3.3)

use crate::etmv3::packet::Atoms;

/// Atoms that are not yet emitted, so that a header holds as many as possible.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct PendingAtoms {
    /// Number of E, or of W E where cycles are counted.
    passed: u8,
    /// One N, without atoms before it.
    failed: bool,
    /// The first atom of a cycle; `true` is E. A second atom may belong to the same cycle.
    cycle: Option<bool>,
}

impl PendingAtoms {
    /// Adds an atom of a trace without cycles.
    #[inline]
    pub(super) fn plain(&mut self, passed: bool, out: &mut impl Extend<Atoms>) {
        if self.failed {
            self.failed = false;
            out.extend([Atoms::Pair { failed: [true, !passed] }]);
        } else if !passed && self.passed == 0 {
            self.failed = true;
        } else if !passed {
            out.extend([Atoms::Run { passed: self.passed, failed: true }]);
            self.passed = 0;
        } else {
            self.passed += 1;
            if self.passed == 15 {
                out.extend([Atoms::Run { passed: 15, failed: false }]);
                self.passed = 0;
            }
        }
    }

    /// Adds an atom and the `cycles` before it. An atom without a cycle is possible as the second
    /// of a cycle, and from ETMv3.3 (`minor` 3) on everywhere. Elsewhere it gets a cycle that
    /// `cycles` does not have. Returns the number of these extra cycles.
    pub(super) fn timed(
        &mut self,
        passed: bool,
        cycles: u32,
        minor: u8,
        out: &mut impl Extend<Atoms>,
    ) -> u32 {
        if cycles == 0 {
            if let Some(first) = self.cycle.take() {
                // The `passed` atoms belong to earlier cycles.
                self.run(false, out);
                out.extend([Atoms::CyclePair { failed: [!first, !passed] }]);
                return 0;
            }
            if minor >= 3 {
                self.timed_flush(out);
                out.extend([Atoms::SameCycle { failed: !passed }]);
                return 0;
            }
        }
        self.settle(out);
        let wait = cycles.saturating_sub(1);
        if wait > 0 {
            self.run(false, out);
            if passed && wait < 8 && minor >= 3 {
                out.extend([Atoms::Cycles { cycles: cycles as u8, passed: true }]);
                return 0;
            }
            waits(wait, out);
        }
        self.cycle = Some(passed);
        u32::from(cycles == 0)
    }

    /// Emits cycles without an atom.
    pub(super) fn cycles(&mut self, cycles: u32, out: &mut impl Extend<Atoms>) {
        self.timed_flush(out);
        waits(cycles, out);
    }

    /// Closes the cycle of the last atom: no second atom of it follows.
    fn settle(&mut self, out: &mut impl Extend<Atoms>) {
        match self.cycle.take() {
            Some(true) => {
                self.passed += 1;
                if self.passed == 7 {
                    self.run(false, out);
                }
            }
            Some(false) => self.run(true, out),
            None => {}
        }
    }

    fn run(&mut self, failed: bool, out: &mut impl Extend<Atoms>) {
        if self.passed > 0 || failed {
            out.extend([Atoms::CycleRun { passed: self.passed, failed }]);
            self.passed = 0;
        }
    }

    fn timed_flush(&mut self, out: &mut impl Extend<Atoms>) {
        self.settle(out);
        self.run(false, out);
    }

    /// Emits all pending atoms.
    #[inline]
    pub(super) fn flush(&mut self, timed: bool, out: &mut impl Extend<Atoms>) {
        if timed {
            return self.timed_flush(out);
        }
        if self.passed > 0 || self.failed {
            out.extend([Atoms::Run { passed: self.passed, failed: self.failed }]);
            *self = PendingAtoms::default();
        }
    }
}

/// Emits W without atoms, up to 8 in a header.
fn waits(cycles: u32, out: &mut impl Extend<Atoms>) {
    let mut left = cycles;
    while left > 0 {
        let now = left.min(8) as u8;
        out.extend([Atoms::Cycles { cycles: now, passed: false }]);
        left -= u32::from(now);
    }
}
