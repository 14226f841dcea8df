//! Random sequences of operations: what is accepted is in the buffer or reported lost, once.

use tracewright_testing::{Random, short_or_long};

use super::super::{Bytes, FillMode, Limit, Losses, Mode, Reg, Status, Trbe, TriggerMode};
use super::{BASE, pattern};

/// What the test knows of the buffer without asking the unit.
struct Ledger {
    /// The bytes of each address of the buffer, as they must be when all is written.
    buffer: Vec<u8>,
    /// Bytes that the unit reported to have accepted.
    accepted: u64,
    /// The number of the next byte of the buffer.
    at: usize,
}

impl Ledger {
    fn take(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.buffer[self.at] = byte;
            self.at = (self.at + 1) % self.buffer.len();
            self.accepted += 1;
        }
    }
}

struct Run {
    unit: Trbe,
    memory: Bytes,
    ledger: Ledger,
    random: Random,
    next: u8,
    limit: Limit,
}

impl Run {
    fn new(seed: u64) -> Run {
        let mut random = Random::new(seed);
        let pages = 1 + random.below(3) as usize;
        let len = pages * 0x1000;
        let memory = Bytes::new(BASE, len);
        let mut unit = Trbe::default();
        unit.features.align = random.pick(&[0, 3, 6]);
        unit.features.capacity = random.pick(&[1, 64, 4096, 1 << 20]);
        unit.features.exceptions = random.one_in(3);
        unit.features.el2 = random.one_in(2);
        unit.write(Reg::Base, BASE);
        unit.synchronize();
        let ledger = Ledger { buffer: vec![0; len], accepted: 0, at: 0 };
        Run { unit, memory, ledger, random, next: 1, limit: Limit(BASE + len as u64) }
    }

    /// Starts a session anywhere in the buffer, in any mode.
    fn start(&mut self) {
        let alignment = self.unit.features.alignment();
        let len = self.ledger.buffer.len() as u64;
        let at = self.random.below(len) / alignment * alignment;
        let (fill, trigger) =
            (self.random.pick(&FillMode::ALL), self.random.pick(&TriggerMode::ALL));
        self.limit = Limit(self.limit.pointer()).with_fill(fill).with_trigger(trigger);
        self.unit.write(Reg::Pointer, BASE + at);
        let counter = self.random.below(0x800) / alignment * alignment;
        self.unit.write(Reg::Counter, counter);
        self.unit.write(Reg::Status, 0);
        self.unit.synchronize();
        self.unit.write(Reg::Limit, self.limit.enabled().0);
        self.unit.prohibit(false);
        self.unit.synchronize();
        self.ledger.at = at as usize;
    }

    fn offer(&mut self) {
        let len = self.random.index(700);
        let bytes: Vec<u8> = pattern(len).iter().map(|b| b.wrapping_add(self.next)).collect();
        self.next = self.next.wrapping_mul(5).wrapping_add(3);
        let (running, stopped) = (self.unit.is_running(), self.unit.is_stopped());
        let offer = self.unit.offer(&bytes, &mut self.memory);
        assert_eq!(offer.accepted + offer.discarded + offer.rejected, len);
        assert!(running || offer.accepted == 0, "a stopped or disabled unit accepts nothing");
        assert!(!stopped || offer.discarded == len);
        self.ledger.take(&bytes[..offer.accepted]);
    }

    /// Ends the session as K10.5.10 has it; `true` if the unit was disabled.
    fn stop(&mut self) {
        self.unit.prohibit(true);
        self.unit.synchronize();
        self.unit.trace_synchronize();
        self.unit.write(Reg::Limit, self.limit.0);
        self.unit.data_synchronize(&mut self.memory);
        self.unit.synchronize();
        assert!(self.unit.is_complete());
        assert_eq!(self.memory.all(), &self.ledger.buffer[..]);
        let pointer = self.unit.read(Reg::Pointer).known().expect("all is synchronized");
        assert_eq!(pointer, BASE + self.ledger.at as u64);
    }

    fn check(&self) {
        let pointers = self.unit.pointers();
        if self.unit.is_enabled() {
            assert!(!pointers.is_out_of_range(), "{pointers:x?}");
            assert_eq!(pointers.current, BASE + self.ledger.at as u64);
        }
        assert_eq!(self.unit.losses(), Losses::default());
        assert!(self.unit.pending_bytes() <= self.unit.features.capacity);
        assert_eq!(self.unit.mode(), Mode::SelfHosted);
    }
}

/// RYMYQX, RYMVZL, RHNTLG, RFVPBS: over 100,000 random operations, each accepted byte is in the
/// buffer exactly where it belongs, the pointer is inside base and limit, nothing is written after
/// a stop, and TRBSR_EL1.WRAP records each wrap.
#[test]
fn what_is_accepted_is_in_the_buffer() {
    let mut operations = 0;
    for seed in 0.. {
        let mut run = Run::new(seed);
        run.start();
        let mut wraps = run.unit.signals().wraps;
        for _ in 0..run.random.index(200) {
            match run.random.below(12) {
                0..6 => run.offer(),
                6 => run.unit.trigger(),
                7 => run.unit.flushed(),
                8 => {
                    let most = run.random.index(5000);
                    run.unit.drain(&mut run.memory, most);
                }
                9 => run.unit.synchronize(),
                10 => run.unit.trace_synchronize(),
                _ => {
                    run.stop();
                    let wrapped = run.unit.signals().wraps > wraps;
                    let status = Status(run.unit.read(Reg::Status).known().unwrap());
                    assert_eq!(status.wrapped(), wrapped);
                    wraps = run.unit.signals().wraps;
                    if run.random.one_in(2) {
                        run.offer();
                    }
                    run.start();
                }
            }
            run.check();
            operations += 1;
        }
        run.stop();
        assert!(run.unit.violations.is_empty(), "{:?}", run.unit.violations);
        if operations >= short_or_long(25_000, 100_000) {
            break;
        }
    }
}
