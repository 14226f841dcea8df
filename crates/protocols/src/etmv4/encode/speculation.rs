//! Simulated speculation of a core: false paths that are cancelled, mispredicted branches, commits
//! of any size. All choices are random, from a seed.

use tracewright_base::{Context, Kind, Security};

use super::Encoder;
use crate::etmv4::Config;
use crate::etmv4::packet::{Before, Exception, Packet};

/// Numbers that repeat for the same seed. (xorshift64*)
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Random(tracewright_base::mix(seed) | 1)
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    pub(super) fn below(&mut self, n: u32) -> u32 {
        ((self.next() >> 32) * u64::from(n) >> 32) as u32
    }

    /// True `rate` times of 256.
    pub(super) fn often(&mut self, rate: u8) -> bool {
        (self.next() >> 56) < rate.into()
    }
}

impl Encoder {
    /// Traces `last` as a core that predicts branches would, or as a source address. Returns its
    /// first traced value.
    pub(super) fn uncertain(&mut self, config: &Config, out: &mut impl Extend<Packet>) -> bool {
        let (taken, i) = (self.last.taken, self.last.instruction);
        let max = self.counter.max();
        let speculate =
            self.settings.speculation > 0 && self.random.often(self.settings.speculation);
        let choice = if speculate { self.random.below(4) } else { 0 };
        let open = i.kind == Kind::Indirect || i.conditional && i.kind == Kind::Branch;
        match choice {
            1 if open && max > 0 => {
                self.mispredicted(!taken, config, out);
                return !taken;
            }
            2 if open && self.settings.late_mispredicts => {
                self.outcome(!taken, config, out);
                self.commit_all(config, out);
                self.put(Packet::Mispredict(Before::Nothing), config, out);
                return !taken;
            }
            _ => self.outcome(taken, config, out),
        }
        match choice {
            3 if max > 0 => {
                let n = self.false_path(config, out);
                let cancel = Packet::Cancel1 { count: n, mispredict: false };
                self.put(cancel, config, out);
                self.cancelled(n);
            }
            _ if speculate && max > 0 => {
                self.flush(config, out);
                let n = self.random.below(self.counter.depth() + 1);
                self.commit(n, config, out);
            }
            _ => {}
        }
        taken
    }

    /// Traces an atom, or a source address instead.
    fn outcome(&mut self, taken: bool, config: &Config, out: &mut impl Extend<Packet>) {
        let source = taken
            && config.is_ete()
            && self.settings.sources > 0
            && matches!(self.last.instruction.kind, Kind::Branch | Kind::Indirect)
            && self.random.often(self.settings.sources);
        if source {
            let last = self.last;
            self.source(&last, config, out);
        } else {
            self.atom(taken, config, out);
        }
    }

    /// Traces `last` as `first`, and a false path after it, until the core cancels both.
    fn mispredicted(&mut self, first: bool, config: &Config, out: &mut impl Extend<Packet>) {
        let atom = |taken: bool| if taken { Before::E } else { Before::N };
        let form = self.random.below(6);
        self.flush(config, out);
        match form {
            // The atom is in the packet that cancels it.
            0 => {
                self.added(1);
                self.put(Packet::Mispredict(atom(first)), config, out);
            }
            1 => {
                self.outcome(first, config, out);
                self.put(Packet::Mispredict(Before::Nothing), config, out);
            }
            // One false atom is in the packet that cancels it.
            2 if first && self.counter.max() > 1 => {
                self.added(2);
                self.put(Packet::Cancel2(Before::EE), config, out);
                self.cancelled(1);
            }
            2 | 3 if self.counter.max() > 1 => {
                self.outcome(first, config, out);
                self.added(1);
                let before = atom(self.random.below(2) == 0);
                self.put(Packet::Cancel2(before), config, out);
                self.cancelled(1);
            }
            _ if self.counter.max() > 1 => {
                self.outcome(first, config, out);
                let n = self.false_path(config, out);
                match n {
                    1 if form == 4 => {
                        self.put(Packet::Cancel2(Before::Nothing), config, out);
                    }
                    2..=5 if form == 4 => {
                        let cancel = Packet::Cancel3 { atom: false, count: n as u8 };
                        self.put(cancel, config, out);
                    }
                    1..=4 if self.counter.max() > n + 1 => {
                        self.added(1);
                        let cancel = Packet::Cancel3 { atom: true, count: n as u8 + 1 };
                        self.put(cancel, config, out);
                        self.cancelled(1);
                    }
                    _ => {
                        let cancel = Packet::Cancel1 { count: n, mispredict: true };
                        self.put(cancel, config, out);
                    }
                }
                self.cancelled(n);
            }
            _ => {
                self.outcome(first, config, out);
                self.put(Packet::Mispredict(Before::Nothing), config, out);
            }
        }
    }

    /// Traces P0 elements of a false path: at least one, and fewer than the maximum of uncommitted
    /// elements. Returns their number.
    fn false_path(&mut self, config: &Config, out: &mut impl Extend<Packet>) -> u32 {
        self.flush(config, out);
        let n = 1 + self.random.below(self.counter.max().saturating_sub(1).clamp(1, 6));
        for k in 0..n {
            match self.random.below(16) {
                0 if config.is_ete() && self.settings.sources > 0 => {
                    let address = self.random_address(config);
                    self.put(Packet::SourceAddress(address), config, out);
                }
                1 => {
                    let number = 0x0e;
                    let exception = Exception {
                        number,
                        also_target: false,
                        unknown_address: false,
                        fault_pending: false,
                    };
                    self.put(Packet::Exception(exception), config, out);
                    let address = self.random_address(config);
                    self.put(Packet::Address(address), config, out);
                }
                2 if k > 0 => {
                    let context = Context {
                        el: Some(self.random.below(3) as u8),
                        security: Some(Security::NonSecure),
                        ..self.context
                    };
                    let info = self.compressor.context(&context, config);
                    self.put(Packet::Context(Some(info)), config, out);
                    self.atom_now(true, config, out);
                }
                3 if k > 0 => {
                    let address = self.random_address(config);
                    self.put(Packet::Address(address), config, out);
                    self.atom_now(true, config, out);
                }
                other => self.atom_now(other & 1 != 0, config, out),
            }
            self.added(1);
        }
        n
    }

    /// Traces an atom that the caller counts.
    fn atom_now(&mut self, taken: bool, config: &Config, out: &mut impl Extend<Packet>) {
        if let Some(atoms) = self.waiting.push(taken) {
            self.send(Packet::Atoms(atoms), config, out);
        }
    }

    /// A random address near the program.
    fn random_address(&mut self, config: &Config) -> crate::etmv4::packet::Address {
        let near = self.last.address ^ u64::from(self.random.below(1 << 14)) << 2;
        self.compressor.address(near, self.last.instruction.isa, config)
    }
}
