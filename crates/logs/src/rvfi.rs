//! The RISC-V Formal Interface, RVFI, in a Value Change Dump. (riscv-formal, docs/rvfi.rst; IEEE
//! 1364-2005, clause 18)
//!
//! The signals have a common prefix: `tb.dut.rvfi_valid`, `tb.dut.rvfi_insn`,
//! `tb.dut.rvfi_pc_rdata`, and more. With several channels, a signal has the fields of all of them,
//! those of channel 0 in its lowest bits. The signals are sampled before each rising edge of the
//! clock in the same scope or around it, and without a clock where `order` changes.

mod header;
mod record;

use std::collections::HashMap;

use tracewright_base::Isa;

use crate::entry::Entry;
use crate::text::{Expected, Words, decimal};
use header::{Hart, Header, Signal};
use record::Record;

/// The fields of an instruction that are read.
const FIELDS: [&str; 13] = [
    "valid",
    "order",
    "insn",
    "trap",
    "intr",
    "mode",
    "ixl",
    "pc_rdata",
    "mem_addr",
    "mem_rmask",
    "mem_wmask",
    "mem_rdata",
    "mem_wdata",
];

/// The most bits of a signal.
const MAX_BITS: usize = 1 << 12;

/// Whether `line` is the first line of a Value Change Dump.
pub fn is_dump(line: &[u8]) -> bool {
    let first = Words(line).word();
    let keywords: [&[u8]; 6] =
        [b"$date", b"$version", b"$timescale", b"$comment", b"$scope", b"$var"];
    keywords.contains(&first)
}

/// The instruction set by the width of `pc_rdata`, where the header ends in `head`.
pub fn width(head: &[u8]) -> Option<Isa> {
    let mut header = Header::default();
    for line in head.split(|byte| *byte == b'\n') {
        if header.line(line) {
            let harts = header.harts(None).ok()?;
            return harts.first().map(Hart::isa);
        }
    }
    None
}

/// Reads lines.
#[derive(Clone, Debug, Default)]
pub struct Parser {
    /// The prefix of the signals, where several have one.
    prefix: Option<String>,
    header: Header,
    harts: Vec<Hart>,
    /// The index of a value by the identifier of its variable.
    known: HashMap<Vec<u8>, usize>,
    /// The digits of each value, the highest first.
    values: Vec<Vec<u8>>,
    /// The changes at the time that is being read.
    changes: Vec<(usize, Vec<u8>)>,
    /// A vector value whose identifier follows in the next line.
    vector: Option<Vec<u8>>,
    clock: Option<usize>,
    /// Rising edges of the clock so far; without a clock, the time.
    now: u64,
    began: bool,
}

impl Parser {
    /// Selects the signals whose hierarchical names begin with `prefix`.
    pub fn with_prefix(prefix: &str) -> Parser {
        Parser { prefix: Some(prefix.to_owned()), ..Parser::default() }
    }

    /// Reads one line.
    pub fn line(
        &mut self,
        line: &[u8],
        _: Isa,
        out: &mut dyn FnMut(Entry),
    ) -> Result<(), Expected> {
        if !self.began {
            if self.header.line(line) {
                self.begin()?;
            }
            return Ok(());
        }
        let mut words = Words(line);
        while !words.is_empty() {
            let word = words.word();
            if let Some(value) = self.vector.take() {
                self.change(word, value);
                continue;
            }
            match word {
                [b'#', time @ ..] => {
                    self.step(out)?;
                    if self.clock.is_none() {
                        self.now = decimal(time).unwrap_or(self.now);
                    }
                }
                [b'b' | b'B', value @ ..] => {
                    let bits = value.len().min(MAX_BITS);
                    self.vector =
                        Some(value.get(value.len() - bits..).unwrap_or_default().to_vec());
                }
                [b'r' | b'R' | b's' | b'S', ..] => self.vector = Some(Vec::new()),
                [b'$', ..] => {}
                [digit, id @ ..] => self.change(id, vec![*digit]),
                [] => {}
            }
        }
        Ok(())
    }

    /// Ends the dump, with the values that have no further edge of the clock.
    pub fn finish(&mut self, out: &mut dyn FnMut(Entry)) -> Result<(), Expected> {
        if !self.began {
            return Err(Expected("`$enddefinitions`, the end of the header"));
        }
        self.step(out)
    }

    /// Selects the signals after the header.
    fn begin(&mut self) -> Result<(), Expected> {
        self.began = true;
        self.harts = self.header.harts(self.prefix.as_deref())?;
        let clock = self.harts.first().and_then(|hart| self.header.clock(hart));
        let mut known = HashMap::new();
        let mut values = Vec::new();
        let mut index = |signal: &Signal| {
            *known.entry(signal.id.clone()).or_insert_with(|| {
                values.push(Vec::new());
                values.len() - 1
            })
        };
        for hart in &mut self.harts {
            hart.signals.iter_mut().flatten().for_each(|signal| signal.value = index(signal));
        }
        self.clock = clock.map(|signal| index(&signal));
        (self.known, self.values, self.header) = (known, values, Header::default());
        Ok(())
    }

    fn change(&mut self, id: &[u8], value: Vec<u8>) {
        if let Some(&index) = self.known.get(id) {
            self.changes.push((index, value));
        }
    }

    /// Ends a time: samples the signals, and changes their values.
    fn step(&mut self, out: &mut dyn FnMut(Entry)) -> Result<(), Expected> {
        let is_high = |value: Option<&Vec<u8>>| value.is_some_and(|value| value.as_slice() == b"1");
        if let Some(clock) = self.clock {
            let changed = self.changes.iter().rev().find(|(index, _)| *index == clock);
            let rises =
                is_high(changed.map(|(_, value)| value)) && !is_high(self.values.get(clock));
            if rises {
                self.now += 1;
                self.sample(out)?;
            }
        }
        let changed = !self.changes.is_empty();
        for (index, value) in self.changes.drain(..) {
            if let Some(slot) = self.values.get_mut(index) {
                *slot = value;
            }
        }
        if self.clock.is_none() && changed { self.sample(out) } else { Ok(()) }
    }

    /// Passes the instructions that the signals have.
    fn sample(&mut self, out: &mut dyn FnMut(Entry)) -> Result<(), Expected> {
        let Parser { harts, values, now, clock, .. } = self;
        for (cpu, hart) in (0..).zip(harts) {
            let channels = hart.channels();
            let mut records = Vec::new();
            for channel in 0..channels {
                records.extend(Record::of(hart, values, channel)?);
            }
            records.sort_by_key(|record| record.order);
            for record in records {
                // Without a clock, the values of an instruction are seen until they change.
                if clock.is_none() && hart.last.replace(record.order) == Some(record.order) {
                    continue;
                }
                record.entries(cpu, *now, hart, out);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
