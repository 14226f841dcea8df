//! From the entries of one format to those of another.

use std::collections::BTreeMap;

use tracewright_base::Isa;

use crate::assembler::Assembler;
use crate::entry::{Entry, Event, Mode};
use crate::format::Format;
use crate::outcomes::Outcomes;
use crate::writer::writes;

/// Completes entries of a log for another format.
#[derive(Debug)]
pub struct Converter {
    to: Format,
    /// The instruction set of instructions without one.
    isa: Isa,
    assembler: Assembler,
    /// The mode of each processor: some formats record it in entries of their own, others with each
    /// instruction.
    modes: BTreeMap<u16, Mode>,
    /// Adds whether conditional instructions passed, for Tarmac.
    outcomes: Option<Outcomes>,
    other_isa: Option<(Isa, u64)>,
    unknown: u64,
    dropped: u64,
}

impl Converter {
    /// Converts to the format `to`. `assembler` has the opcodes and the initial mode.
    pub fn new(to: Format, isa: Isa, assembler: Assembler) -> Self {
        Converter {
            to,
            isa,
            assembler,
            modes: BTreeMap::new(),
            outcomes: (to == Format::Tarmac).then(Outcomes::default),
            other_isa: None,
            unknown: 0,
            dropped: 0,
        }
    }

    /// Passes `entry` to `write` as the other format has it.
    pub fn entry(&mut self, mut entry: Entry, write: &mut dyn FnMut(Entry)) {
        let start = self.assembler.mode;
        let lookup = self.assembler.lookup();
        let mode = self.modes.entry(entry.cpu).or_insert(start);
        match &mut entry.event {
            Event::Code { address, opcode } => lookup.code(*address, *opcode),
            Event::Mode(change) => *mode = change.or(*mode),
            Event::Instruction(executed) => {
                *mode = executed.mode.or(*mode);
                executed.mode = *mode;
                let isa = executed.isa.unwrap_or(self.isa);
                if !self.to.has(isa) {
                    self.other_isa.get_or_insert((isa, executed.address));
                }
                if self.to == Format::Tarmac {
                    executed.isa = Some(isa);
                }
            }
            _ => {}
        }
        let used = self.outcomes.is_some() && matches!(entry.event, Event::Flags(_));
        if self.other_isa.is_some() || !used && !writes(self.to, &entry.event) {
            self.dropped += 1;
            return;
        }
        if let Event::Instruction(executed) = &mut entry.event
            && (executed.opcode.is_none() || executed.is_expansion)
            && self.to.has_opcodes()
        {
            let isa = executed.isa.unwrap_or(self.isa);
            executed.opcode = lookup.opcode(executed.address, isa);
            self.unknown += u64::from(executed.opcode.is_none());
        }
        match &mut self.outcomes {
            Some(outcomes) => outcomes.entry(entry, lookup, write),
            None => write(entry),
        }
    }

    /// The first instruction of an instruction set that the format does not have, and its address.
    /// Entries from it on are left out.
    pub fn other_isa(&self) -> Option<(Isa, u64)> {
        self.other_isa
    }

    /// Instructions without an opcode.
    pub fn unknown(&self) -> u64 {
        self.unknown
    }

    /// Entries that the format cannot express.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Passes the entries that wait.
    pub fn finish(&mut self, write: &mut dyn FnMut(Entry)) {
        if let Some(outcomes) = &mut self.outcomes {
            outcomes.finish(write);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lookup::Lookup;
    use crate::reader::Reader;

    /// The entries of a CSV log in another format.
    fn converted(log: &str, to: Format) -> (Vec<Entry>, Converter) {
        let mut converter = Converter::new(to, Isa::A64, Assembler::new(Lookup::default()));
        let (mut out, mut reader) = (Vec::new(), Reader::new(Format::Csv, Isa::A64));
        let mut write = |entry| out.push(entry);
        reader.feed(log.as_bytes(), &mut |entry| converter.entry(entry, &mut write)).unwrap();
        reader.finish(&mut |entry| converter.entry(entry, &mut write)).unwrap();
        converter.finish(&mut write);
        (out, converter)
    }

    /// The mode is that of each instruction, and code that the log lists has the opcodes of others.
    #[test]
    fn entries_are_completed() {
        let log = "step,address,isa,opcode,el\nmode,,,,1\ncode,1000,A64,d503201f,\n\
                   instruction,1000,A64,,\ninstruction,1004,A64,,\ntrigger,,,,\n";
        let (entries, converter) = converted(log, Format::Tarmac);
        assert_eq!((converter.unknown(), converter.dropped()), (1, 2), "code, trigger");
        assert_eq!(converter.other_isa(), None);
        let executed = entries.iter().filter_map(|entry| match &entry.event {
            Event::Instruction(executed) => Some((executed.mode.el, executed.opcode.is_some())),
            _ => None,
        });
        assert_eq!(executed.collect::<Vec<_>>(), [(Some(1), true), (Some(1), false)]);
    }

    #[test]
    fn other_instruction_sets_end_the_log() {
        let log = "address,isa,opcode\n1000,RV64,00000013\n1004,A64,d503201f\n1008,RV64,00000013\n";
        let (entries, converter) = converted(log, Format::Spike);
        assert_eq!(converter.other_isa(), Some((Isa::A64, 0x1004)));
        assert_eq!((entries.len(), converter.dropped()), (1, 2));
    }
}
