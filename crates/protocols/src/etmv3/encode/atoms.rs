//! Atoms on their way into P-headers. (IHI 0014, 7.3.1 and 7.3.3)

use crate::etmv3::packet::Atoms;

/// Atoms that wait for more, so that one header holds as many as it can.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Waiting {
    /// E, or W E where cycles are counted.
    passed: u8,
    /// One N, and nothing before it.
    failed: bool,
    /// A first atom of its cycle: another one may be of the same cycle.
    cycle: Option<bool>,
}

impl Waiting {
    /// Adds an atom of a trace that counts no cycles.
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

    /// Adds an atom and the `cycles` before it. An atom of the cycle before is possible after another
    /// one, and from ETMv3.3 (`minor` 3) on everywhere. Returns cycles that were made up for it.
    pub(super) fn timed(
        &mut self,
        passed: bool,
        cycles: u32,
        minor: u8,
        out: &mut impl Extend<Atoms>,
    ) -> u32 {
        if cycles == 0 {
            if let Some(first) = self.cycle.take() {
                // `passed` before it are of earlier cycles.
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

    /// Cycles that no atom follows.
    pub(super) fn cycles(&mut self, cycles: u32, out: &mut impl Extend<Atoms>) {
        self.timed_flush(out);
        waits(cycles, out);
    }

    /// What waits for an atom of its cycle has waited long enough.
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

    /// Something else follows.
    #[inline]
    pub(super) fn flush(&mut self, timed: bool, out: &mut impl Extend<Atoms>) {
        if timed {
            return self.timed_flush(out);
        }
        if self.passed > 0 || self.failed {
            out.extend([Atoms::Run { passed: self.passed, failed: self.failed }]);
            *self = Waiting::default();
        }
    }
}

/// W atoms alone, up to 8 in a header.
fn waits(cycles: u32, out: &mut impl Extend<Atoms>) {
    let mut left = cycles;
    while left > 0 {
        let now = left.min(8) as u8;
        out.extend([Atoms::Cycles { cycles: now, passed: false }]);
        left -= u32::from(now);
    }
}
