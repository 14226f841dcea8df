//! The execution of the program: as an execution log, and as expected trace.

use std::collections::HashMap;
use std::fmt::Write;

use super::moves::{Move, a32, passes, t32};
use super::tools::Machine;
use super::watch::{Before, Seen};

/// Instructions and exceptions in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flow {
    Ran {
        address: u32,
        thumb: bool,
        passed: bool,
    },
    /// An exception, by its index in the vector table, and its return address.
    Raised {
        vector: u32,
        back: u32,
    },
}

/// A data transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Moved {
    pub(super) by: u32,
    pub(super) load: bool,
    pub(super) address: Option<u32>,
    pub(super) size: u8,
    pub(super) value: Option<u32>,
    pub(super) coprocessor: bool,
}

/// The contents of a trace.
#[derive(Debug, Default)]
pub(super) struct Traced {
    pub(super) flow: Vec<Flow>,
    pub(super) moved: Vec<Moved>,
}

/// The execution of the program.
#[derive(Debug, Default)]
pub(super) struct Run {
    traced: Traced,
    csv: String,
    memory: Memory,
}

impl Run {
    /// The execution of the program `elf`, from QEMU's log.
    pub(super) fn of(seen: &[Seen], elf: &[u8]) -> Run {
        let csv = "step,address,isa,opcode,passed,size,value,cause,target\n".to_owned();
        let mut run = Run { csv, memory: Memory::of(elf), ..Run::default() };
        let mut last = 0;
        for (n, now) in seen.iter().enumerate() {
            let after = seen.get(n + 1);
            match now {
                Seen::Ran(before) => {
                    last = before.r[15];
                    run.ran(before, after);
                }
                Seen::Raised(number) => {
                    let Some(Seen::Ran(handler)) = after else { panic!("no handler") };
                    run.raised(*number, handler, last);
                }
            }
        }
        run
    }

    /// The execution log.
    pub(super) fn csv(&self) -> &str {
        &self.csv
    }

    fn ran(&mut self, before: &Before, after: Option<&Seen>) {
        let pc = before.r[15];
        let word = self.memory.load(pc, 4).expect("an address of the program");
        let half = word & 0xffff;
        let (thumb, psr) = (before.thumb, before.psr);
        let wide = half >> 11 == 0b11110;
        let (opcode, passed, moves) = match (thumb, wide) {
            (true, true) => (format!("{:08x}", word.rotate_left(16)), true, Vec::new()),
            (true, false) => {
                let conditional = half >> 12 == 0b1101 && half >> 9 & 7 != 7;
                let passed = !conditional || passes(half >> 8 & 0xf, psr);
                (format!("{half:04x}"), passed, t32(half, before))
            }
            (false, _) => {
                let passed = passes(word >> 28, psr);
                let moves = if passed { a32(word, before) } else { Vec::new() };
                (format!("{word:08x}"), passed, moves)
            }
        };
        let isa = if thumb { "T32" } else { "A32" };
        writeln!(self.csv, "instruction,{pc:x},{isa},{opcode},{},,,,", u8::from(passed)).unwrap();
        self.traced.flow.push(Flow::Ran { address: pc, thumb, passed });
        // An aborted instruction and an undefined instruction transfer no traced data.
        if matches!(after, Some(Seen::Raised(1 | 4))) {
            return;
        }
        let after = match after {
            Some(Seen::Ran(after)) => Some(after),
            _ => None,
        };
        let base = (word >> 16 & 0xf) as usize;
        for what in &moves {
            let value = self.value(what, before, after, !thumb && base == what.register);
            let moved = Moved {
                by: pc,
                load: what.load,
                address: what.address,
                size: what.size,
                value: Some(value),
                coprocessor: what.address.is_none(),
            };
            self.access(&moved);
        }
    }

    /// The value of a transfer. A loaded value comes from memory, and is checked against the
    /// register after the instruction.
    fn value(&mut self, what: &Move, before: &Before, after: Option<&Before>, base: bool) -> u32 {
        let mask = u32::MAX >> (32 - 8 * u32::from(what.size));
        let register = |state: &Before| match what.register {
            15 => state.r[15] | u32::from(state.thumb),
            n => state.r[n],
        };
        match (what.load, what.address) {
            (false, address) => {
                let value = before.r[what.register] & mask;
                if let Some(address) = address {
                    self.memory.store(address, what.size, value);
                }
                value
            }
            (true, address) => {
                let loaded = after.map(|after| register(after) & mask);
                let known = address.and_then(|address| self.memory.load(address, what.size));
                // A base register may be overwritten by write-back, and a return changes the mode.
                if let (Some(loaded), Some(known), false) =
                    (loaded, known, base || what.register > 12)
                {
                    assert_eq!(loaded, known, "{what:x?} at {:x}", before.r[15]);
                }
                known.or(loaded).unwrap_or_else(|| panic!("{what:x?} at {:x}", before.r[15]))
            }
        }
    }

    fn access(&mut self, moved: &Moved) {
        let step = if moved.load { "read" } else { "write" };
        let address = moved.address.map_or(String::new(), |address| format!("{address:x}"));
        let cause = if moved.coprocessor { "coprocessor" } else { "" };
        let value = moved.value.unwrap_or(0);
        writeln!(self.csv, "{step},{address},,,,{},{value:x},{cause},", moved.size).unwrap();
        self.traced.moved.push(*moved);
    }

    /// An exception. Its return address follows from the link register of the handler. (Arm ARM,
    /// A2.6)
    fn raised(&mut self, number: u32, handler: &Before, last: u32) {
        let link = handler.r[14];
        let (vector, cause, back) = match number {
            1 => (1, "undefined", last),
            2 => (2, "call", link),
            3 => (3, "instruction-fault", link - 4),
            4 => (4, "data-fault", link - 8),
            5 => (6, "irq", link - 4),
            other => panic!("exception {other} is not expected"),
        };
        assert_eq!(handler.r[15], vector * 4);
        writeln!(self.csv, "exception,{back:x},,,,,,{cause},{:x}", vector * 4).unwrap();
        // For an undefined instruction, the trace contains the address after it, like the link
        // register.
        let back = if number == 1 { link } else { back };
        self.traced.flow.push(Flow::Raised { vector, back });
    }

    /// The trace of a unit with this value of ETMCR.
    pub(super) fn traced(&self, control: u32) -> Traced {
        let (transfers, values) = (control >> 1 & 1 != 0, control >> 2 & 1 != 0);
        let addresses = control >> 3 & 1 != 0;
        let moved = self.traced.moved.iter().filter(|moved| match moved.coprocessor {
            true => transfers && values,
            false => values || addresses,
        });
        let moved = moved.map(|moved| Moved {
            address: moved.address.filter(|_| addresses),
            value: moved.value.filter(|_| values),
            ..*moved
        });
        Traced { flow: self.traced.flow.clone(), moved: moved.collect() }
    }

    /// Checks that the execution is long, and has transfers and exceptions of every kind.
    pub(super) fn check_coverage(&self, machine: Machine) {
        let Traced { flow, moved } = &self.traced;
        let vectors: Vec<u32> = flow
            .iter()
            .filter_map(|flow| match flow {
                Flow::Raised { vector, .. } => Some(*vector),
                Flow::Ran { .. } => None,
            })
            .collect();
        assert!(flow.len() > 50_000 && moved.len() > 10_000, "{}", self.sums());
        for thumb in [false, true] {
            let passed = |passed| {
                flow.iter().any(|f| matches!(f, Flow::Ran { thumb: t, passed: p, .. } if (*t, *p) == (thumb, passed)))
            };
            assert!(passed(true) && passed(false), "passed and failed conditions in A32 and T32");
        }
        for (load, size) in [(true, 1), (true, 2), (true, 4), (false, 1), (false, 2), (false, 4)] {
            assert!(moved.iter().any(|m| (m.load, m.size) == (load, size)), "{load} {size}");
        }
        if machine == Machine::Bare {
            assert!([1, 2, 3, 4, 6].iter().all(|v| vectors.contains(v)), "{vectors:?}");
            assert!(moved.iter().any(|m| m.coprocessor));
        }
    }

    /// Counts, for the log of the test.
    pub(super) fn sums(&self) -> String {
        let Traced { flow, moved } = &self.traced;
        let raised = flow.iter().filter(|flow| matches!(flow, Flow::Raised { .. })).count();
        format!(
            "{} instructions, {raised} exceptions, {} accesses",
            flow.len() - raised,
            moved.len()
        )
    }
}

/// The memory of the program.
#[derive(Debug, Default)]
struct Memory(HashMap<u32, u8>);

impl Memory {
    /// The loaded segments of a 32-bit ELF file.
    fn of(elf: &[u8]) -> Memory {
        let word = |at: usize| u32::from_le_bytes(elf[at..at + 4].try_into().unwrap());
        let half = |at: usize| usize::from(u16::from_le_bytes(elf[at..at + 2].try_into().unwrap()));
        let (table, count) = (word(28) as usize, half(44));
        let mut memory = Memory::default();
        for at in (0..count).map(|n| table + 32 * n).filter(|&at| word(at) == 1) {
            let (from, start, there, size) =
                (word(at + 4), word(at + 8), word(at + 16), word(at + 20));
            for n in 0..size {
                let byte = if n < there { elf[(from + n) as usize] } else { 0 };
                memory.0.insert(start + n, byte);
            }
        }
        memory
    }

    fn load(&self, address: u32, size: u8) -> Option<u32> {
        (0..u32::from(size)).try_fold(0, |value, n| {
            Some(value | u32::from(*self.0.get(&(address + n))?) << (8 * n))
        })
    }

    fn store(&mut self, address: u32, size: u8, value: u32) {
        for n in 0..u32::from(size) {
            self.0.insert(address + n, (value >> (8 * n)) as u8);
        }
    }
}
