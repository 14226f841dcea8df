//! Whether conditional instructions passed their condition, for a format that states it with each
//! instruction.

use std::collections::VecDeque;

use tracewright_base::{Instruction, Isa, Kind};
use tracewright_isa::ItState;
use tracewright_isa::condition::met;

use crate::entry::{Entry, Event, Executed, Opcode};
use crate::lookup::Lookup;

/// The most entries that wait. Beyond them, the oldest undecided instruction counts as not passed.
const MAX_WAITING: usize = 1 << 16;

/// Adds to A64, A32 and T32 instructions whether they passed their condition, where the log does
/// not state it. It follows for a branch from the address that is executed next, and for others
/// from the condition flags in the log. An entry waits until what is before it is decided.
#[derive(Debug, Default)]
pub struct Outcomes {
    waiting: VecDeque<Entry>,
    /// The number of the first entry of `waiting`, from the beginning of the log.
    first: u64,
    cpus: Vec<Cpu>,
}

/// The state of one processor.
#[derive(Clone, Debug, Default)]
struct Cpu {
    undecided: Option<Undecided>,
    it: ItState,
    /// The address after the last instruction.
    after: u64,
}

/// A conditional instruction.
#[derive(Clone, Copy, Debug)]
struct Undecided {
    /// The number of its entry.
    number: u64,
    instruction: Instruction,
    address: u64,
    /// The condition, in the encoding of A32 bits \[31:28].
    condition: Option<u8>,
}

/// Whether `opcode` compares a register or tests a bit, and branches: CBZ, CBNZ, TBZ, TBNZ. These
/// have no condition that may fail. (DDI 0487, C4.1.94; DDI 0406, A6.2.5)
pub(super) const fn compares(isa: Isa, opcode: Opcode) -> bool {
    match isa {
        Isa::A64 => opcode.bits & 0x7c00_0000 == 0x3400_0000,
        Isa::T32 | Isa::ThumbEe => opcode.size == 2 && opcode.bits & 0xf500 == 0xb100,
        _ => false,
    }
}

impl Outcomes {
    /// Takes one entry, and passes entries that are complete to `out`. Entries of condition flags
    /// are not passed on.
    pub fn entry(&mut self, entry: Entry, lookup: &mut Lookup, out: &mut dyn FnMut(Entry)) {
        let cpu = usize::from(entry.cpu);
        if self.cpus.len() <= cpu {
            self.cpus.resize(cpu + 1, Cpu::default());
        }
        match entry.event {
            Event::Instruction(executed) => {
                self.decide(cpu, Some(executed.address));
                self.begin(cpu, &executed, lookup);
            }
            Event::Raised(raised) => {
                self.decide(cpu, raised.return_address.or(raised.likely));
            }
            Event::Withdrawn { .. } => {
                self.take(cpu);
            }
            Event::Flags(flags) => {
                self.flags(cpu, flags);
                return self.pass(out);
            }
            _ => {}
        }
        self.waiting.push_back(entry);
        while self.waiting.len() > MAX_WAITING
            && let Some(cpu) = self.oldest()
        {
            self.decide(cpu, None);
            self.pass(out);
        }
        self.pass(out);
    }

    /// Ends the log.
    pub fn finish(&mut self, out: &mut dyn FnMut(Entry)) {
        for cpu in 0..self.cpus.len() {
            self.decide(cpu, None);
        }
        self.pass(out);
    }

    /// The processor with the oldest undecided instruction.
    fn oldest(&self) -> Option<usize> {
        let undecided =
            self.cpus.iter().enumerate().filter_map(|(n, cpu)| Some((cpu.undecided?.number, n)));
        undecided.min().map(|(_, cpu)| cpu)
    }

    fn take(&mut self, cpu: usize) -> Option<Undecided> {
        self.cpus.get_mut(cpu)?.undecided.take()
    }

    fn begin(&mut self, cpu: usize, executed: &Executed, lookup: &mut Lookup) {
        let number = self.first + self.waiting.len() as u64;
        let Some(cpu) = self.cpus.get_mut(cpu) else { return };
        let Executed { address, opcode, isa: Some(isa), passed, condition, .. } = *executed else {
            return;
        };
        if address != cpu.after {
            cpu.it = ItState::default();
        }
        let Some(instruction) = lookup.instruction(address, isa, opcode, &mut cpu.it) else {
            return;
        };
        cpu.after = address.wrapping_add(instruction.size.into()) & isa.address_mask();
        let fails = passed.is_none() && instruction.conditional;
        if fails && !opcode.is_some_and(|opcode| compares(isa, opcode)) {
            let of_a32 = opcode.filter(|_| isa == Isa::A32).map(|code| (code.bits >> 28) as u8);
            let condition = of_a32.or(condition);
            cpu.undecided = Some(Undecided { number, instruction, address, condition });
        }
    }

    /// Takes the condition flags before the last instruction.
    fn flags(&mut self, cpu: usize, flags: u8) {
        let undecided = self.cpus.get(cpu).and_then(|cpu| cpu.undecided);
        if let Some(condition) = undecided.and_then(|it| it.condition) {
            let undecided = self.take(cpu);
            self.set(undecided, Some(met(condition, flags)));
        }
    }

    /// Decides the last instruction of `cpu`. `next` is the address that is executed next, if it
    /// is known. A branch that does not lead there counts as not passed.
    fn decide(&mut self, cpu: usize, next: Option<u64>) {
        let undecided = self.take(cpu);
        let passed = undecided.and_then(|Undecided { instruction, address, .. }| {
            let next = next.map(|next| next & instruction.isa.address_mask());
            // An exception before the instruction.
            if next == Some(address) && instruction.target != next {
                return None;
            }
            let after =
                address.wrapping_add(instruction.size.into()) & instruction.isa.address_mask();
            match instruction.kind {
                Kind::Branch => Some(next.is_some() && instruction.target == next),
                Kind::Indirect => Some(next.is_some_and(|next| next != after)),
                _ => None,
            }
        });
        self.set(undecided, passed);
    }

    fn set(&mut self, undecided: Option<Undecided>, outcome: Option<bool>) {
        let at = undecided.and_then(|it| usize::try_from(it.number.checked_sub(self.first)?).ok());
        if let Some(Entry { event: Event::Instruction(executed), .. }) =
            at.and_then(|at| self.waiting.get_mut(at))
        {
            executed.passed = outcome;
        }
    }

    /// Passes on the entries before the oldest undecided instruction.
    fn pass(&mut self, out: &mut dyn FnMut(Entry)) {
        let undecided = self.cpus.iter().filter_map(|cpu| Some(cpu.undecided?.number)).min();
        while undecided.is_none_or(|number| self.first < number)
            && let Some(entry) = self.waiting.pop_front()
        {
            self.first += 1;
            out(entry);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::Format;
    use crate::reader::Reader;
    use crate::writer::Writer;

    /// The log `text` in Tarmac: kinds, processors and addresses of its instructions.
    fn kinds(text: &str, flags: &[(u64, u8)]) -> Vec<String> {
        let (mut outcomes, mut lookup) = (Outcomes::default(), Lookup::default());
        let mut writer = Writer::new(Format::Tarmac, true);
        let mut reader = Reader::new(Format::Csv, Isa::A32);
        let mut each = |entry: Entry| {
            outcomes.entry(entry, &mut lookup, &mut |entry| writer.entry(&entry));
            let Event::Instruction(executed) = entry.event else { return };
            for (_, flags) in flags.iter().filter(|(at, _)| *at == executed.address) {
                let flags = Entry::new(entry.cpu, Event::Flags(*flags));
                outcomes.entry(flags, &mut lookup, &mut |entry| writer.entry(&entry));
            }
        };
        reader.feed(text.as_bytes(), &mut each).unwrap();
        reader.finish(&mut each).unwrap();
        outcomes.finish(&mut |entry| writer.entry(&entry));
        writer.finish();
        let text = String::from_utf8(writer.take()).unwrap();
        let words = text.lines().map(|line| {
            let words: Vec<&str> = line.split(' ').collect();
            format!("{} {} {}", words[2], words[3], words[5])
        });
        words.collect()
    }

    /// A branch passed if its target is executed next, CBZ has no condition, and what the log
    /// states stays.
    #[test]
    fn branches_by_the_next_address() {
        let log = "address,isa,opcode,passed\n\
                   100,T32,d000\n102,T32,d0fd\n100,T32,d000\n104,T32,b100\n106,T32,d000\n\
                   200,T32,d000\n204,T32,d000,1\n300,A32,0a000000\n308,A32,112fff1e\n\
                   30c,A32,112fff1e\n400,A64,54000040\n408,A64,b4000040\n40c,A64,54000040\n";
        let want = [
            "cpu0 IS 00000100",         // BEQ 0x104, and 0x102 is next
            "cpu0 IT 00000102",         // BEQ 0x100
            "cpu0 IT 00000100",         // BEQ 0x104
            "cpu0 IT 00000104",         // CBZ 0x108, and 0x106 is next
            "cpu0 IS 00000106",         // BEQ 0x10a, and neither 0x10a nor 0x108 is next
            "cpu0 IT 00000200",         // BEQ 0x204
            "cpu0 IT 00000204",         // stated
            "cpu0 IT 00000300",         // BEQ 0x308
            "cpu0 IS 00000308",         // BXNE, and 0x30c is next
            "cpu0 IT 0000030c",         // BXNE
            "cpu0 IT 0000000000000400", // B.EQ 0x408
            "cpu0 IT 0000000000000408", // CBZ 0x410, and 0x40c is next
            "cpu0 IS 000000000000040c", // B.EQ at the end
        ];
        assert_eq!(kinds(log, &[]), want);
    }

    /// Other instructions passed unless the flags of the log are against it; the order of several
    /// processors stays.
    #[test]
    fn other_instructions_by_flags_and_several_processors() {
        let log = "cpu,address,isa,opcode\n0,100,A32,03a00000\n1,200,A32,0a000000\n\
                   0,104,A32,03a00000\n0,108,A32,03a00000\n1,204,A32,e1a00000\n";
        let want = [
            "cpu0 IS 00000100",
            "cpu1 IS 00000200",
            "cpu0 IT 00000104",
            "cpu0 IT 00000108",
            "cpu1 IT 00000204",
        ];
        assert_eq!(kinds(log, &[(0x100, 0), (0x104, 0b0100)]), want);
    }

    /// Entries of others do not wait for a processor that executes nothing more.
    #[test]
    fn few_entries_wait() {
        let (mut outcomes, mut lookup) = (Outcomes::default(), Lookup::default());
        let mut count = 0usize;
        let entry = |cpu, address, bits| {
            let opcode = Some(Opcode { bits, size: 4 });
            let isa = Some(Isa::A32);
            let executed = Executed { address, opcode, isa, ..Executed::default() };
            Entry::new(cpu, Event::Instruction(executed))
        };
        outcomes.entry(entry(1, 0x200, 0x0a00_0000), &mut lookup, &mut |_| count += 1);
        for n in 0..2 * MAX_WAITING as u64 {
            outcomes.entry(entry(0, 4 * n, 0xe1a0_0000), &mut lookup, &mut |_| count += 1);
        }
        assert_eq!(count, 2 * MAX_WAITING + 1);
    }
}
