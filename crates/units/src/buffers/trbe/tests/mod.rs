//! Tests of the model: the tables of the architecture, its rules one by one, and random sequences.

mod faults;
mod operations;
mod rules;
mod tables;

use super::{Bytes, Limit, Memory, Offer, Reg, Trbe, Word};

/// The Base pointer of the tests.
const BASE: u64 = 0x10_0000;

/// A unit with memory for its buffer of `pages` 4 KiB pages at [`BASE`].
struct Bench {
    unit: Trbe,
    memory: Bytes,
}

impl Bench {
    /// A unit that is programmed and enabled: `limit` gives the modes.
    fn running(pages: u64, limit: Limit, edit: impl FnOnce(&mut Trbe)) -> Bench {
        let mut bench = Bench::idle(pages, edit);
        bench.enable(BASE + pages * 0x1000, limit);
        bench
    }

    /// A unit whose registers are programmed, and that is not enabled.
    fn idle(pages: u64, edit: impl FnOnce(&mut Trbe)) -> Bench {
        let mut unit = Trbe::default();
        edit(&mut unit);
        for register in [Reg::Base, Reg::Pointer] {
            unit.write(register, BASE);
        }
        for register in [Reg::Status, Reg::Counter] {
            unit.write(register, 0);
        }
        unit.synchronize();
        Bench { unit, memory: Bytes::new(BASE, pages as usize * 0x1000) }
    }

    /// Enables the unit with the modes of `limit`.
    fn enable(&mut self, pointer: u64, limit: Limit) {
        let limit = limit.0 & 0xfff | pointer;
        self.unit.write(Reg::Limit, Limit(limit).enabled().0);
        self.unit.synchronize();
    }

    fn offer(&mut self, bytes: &[u8]) -> Offer {
        self.unit.offer(bytes, &mut self.memory)
    }

    /// The barriers of K10.5.10, after which all is visible.
    fn barriers(&mut self) {
        self.unit.prohibit(true);
        self.unit.synchronize();
        self.unit.trace_synchronize();
        self.unit.data_synchronize(&mut self.memory);
        self.unit.synchronize();
    }

    /// Switches the unit off as K10.5.10 has it.
    fn switch_off(&mut self) {
        self.unit.prohibit(true);
        self.unit.synchronize();
        self.unit.trace_synchronize();
        let limit = self.unit.limit.0 & !Limit::ENABLES;
        self.unit.write(Reg::Limit, limit);
        self.unit.data_synchronize(&mut self.memory);
        self.unit.synchronize();
    }

    fn read(&mut self, register: Reg) -> Word {
        self.unit.read(register)
    }

    /// What the memory has from the start of the buffer on.
    fn stored(&self, len: usize) -> &[u8] {
        self.memory.at(BASE, len)
    }

    fn broken(&self) -> Vec<&'static str> {
        self.unit.violations.iter().map(|violation| violation.rule()).collect()
    }
}

/// Bytes that differ from each other and from the zeros of the memory.
fn pattern(len: usize) -> Vec<u8> {
    (0..len).map(|n| (n % 251 + 1) as u8).collect()
}

/// Memory whose translations of some addresses fault.
struct Faulty {
    bytes: Bytes,
    faults: Vec<(u64, super::Fault)>,
    aborts: Vec<u64>,
}

impl Memory for Faulty {
    fn check(&mut self, address: u64) -> Result<(), super::Fault> {
        let found = self.faults.iter().find(|(page, _)| address >> 12 == page >> 12);
        match found {
            Some((_, fault)) => Err(*fault),
            None => self.bytes.check(address),
        }
    }

    fn store(&mut self, store: super::Store) -> Result<(), super::Abort> {
        if self.aborts.contains(&store.address) {
            return Err(super::Abort);
        }
        self.bytes.store(store)
    }
}
