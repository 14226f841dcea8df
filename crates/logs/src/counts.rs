//! What the processors of a log execute.

use std::collections::BTreeMap;

use tracewright_base::{Isa, Step};

use crate::csv;

/// What one processor executes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Instructions of each instruction set.
    pub instructions: BTreeMap<Isa, u64>,
    /// The address of the first instruction.
    pub first: Option<u64>,
    /// The address of the last instruction.
    pub last: u64,
    /// Instructions that the next one in memory does not follow.
    pub taken: u64,
    /// Data accesses.
    pub accesses: u64,
    /// Exceptions by their cause, as a [CSV log](csv) names it.
    pub exceptions: BTreeMap<String, u64>,
    /// Instructions at each exception level that is known.
    pub levels: BTreeMap<u8, u64>,
    /// Software writes and DWT events.
    pub software: u64,
    /// Cycles.
    pub cycles: u64,
    /// The exception level.
    el: Option<u8>,
}

impl Counts {
    /// Counts a step of the processor.
    pub fn step(&mut self, step: &Step) {
        match step {
            Step::Retired(retired) => {
                *self.instructions.entry(retired.instruction.isa).or_default() += 1;
                self.first.get_or_insert(retired.address);
                self.last = retired.address;
                let after = retired.address.wrapping_add(retired.instruction.size.into());
                self.taken += u64::from(retired.next != after);
                if let Some(el) = self.el {
                    *self.levels.entry(el).or_default() += 1;
                }
            }
            Step::Access(_) => self.accesses += 1,
            Step::Exception(taken) => {
                *self.exceptions.entry(csv::cause_text(taken.cause)).or_default() += 1;
            }
            Step::Context(context) => self.el = context.el,
            Step::SoftwareWrite(_) | Step::DwtEvent(_) => self.software += 1,
            Step::Cycles(cycles) => self.cycles += u64::from(*cycles),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assembler::Assembler;
    use crate::format::Format;
    use crate::lookup::Lookup;
    use crate::reader::Reader;

    #[test]
    fn steps_are_counted() {
        let log = "step,address,isa,opcode,el,cause,target,size,value\n\
                   instruction,1000,A64,d503201f,,,,,\n\
                   mode,,,,1,,,,\n\
                   instruction,1004,A64,17ffffff,,,,,\n\
                   instruction,1000,A64,d503201f,,,,,\n\
                   write,2000,,,,,,4,7\n\
                   exception,1004,,,,irq,8000,,\n\
                   instruction,8000,A64,d503201f,,,,,\n\
                   cycles,,,,,,,,5\n";
        let (mut counts, mut reader) = (Counts::default(), Reader::new(Format::Csv, Isa::A64));
        let mut assembler = Assembler::new(Lookup::default());
        let mut step = |_: u16, step: &Step| counts.step(step);
        reader.feed(log.as_bytes(), &mut |entry| assembler.entry(&entry, &mut step)).unwrap();
        reader.finish(&mut |entry| assembler.entry(&entry, &mut step)).unwrap();
        assembler.finish(&mut step);
        let want = Counts {
            instructions: BTreeMap::from([(Isa::A64, 4)]),
            first: Some(0x1000),
            last: 0x8000,
            taken: 1,
            accesses: 1,
            exceptions: BTreeMap::from([("irq".to_owned(), 1)]),
            levels: BTreeMap::from([(1, 3)]),
            cycles: 5,
            el: Some(1),
            ..Counts::default()
        };
        assert_eq!(counts, want);
    }
}
