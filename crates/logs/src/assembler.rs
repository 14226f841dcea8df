//! Entries to steps, for all processors of a log.

use std::collections::BTreeMap;

use tracewright_base::{Isa, Step, StepSink};

use crate::entry::{Entry, Event, Mode};
use crate::lookup::Lookup;
use crate::processor::{Processor, Timing};
use crate::summary::Summary;

/// Converts entries to steps. An instruction is pending until its successor is known.
#[derive(Debug)]
pub struct Assembler {
    lookup: Lookup,
    /// Look-ups of processors that do not use the common one.
    own: BTreeMap<u16, Lookup>,
    cpus: Vec<Processor>,
    /// The source of cycle counts.
    pub timing: Timing,
    /// Exception level and security state until the log states others.
    pub mode: Mode,
    /// The instruction set of instructions for which the log states none.
    pub isa: Isa,
    /// Totals so far.
    pub summary: Summary,
}

impl Assembler {
    /// An assembler that uses `lookup`.
    pub fn new(lookup: Lookup) -> Self {
        Assembler {
            lookup,
            own: BTreeMap::new(),
            cpus: Vec::new(),
            timing: Timing::Untimed,
            mode: Mode::default(),
            isa: Isa::A64,
            summary: Summary::default(),
        }
    }

    /// Number of processors: the highest processor number plus 1.
    pub fn cpus(&self) -> usize {
        self.cpus.len()
    }

    /// The common look-up.
    pub fn lookup(&mut self) -> &mut Lookup {
        &mut self.lookup
    }

    /// Gives processor `cpu` its own look-up, for another program or for custom opcodes.
    pub fn look_up_in(&mut self, cpu: u16, lookup: Lookup) {
        self.own.insert(cpu, lookup);
    }

    /// Takes one entry.
    #[inline]
    pub fn entry<S: StepSink>(&mut self, entry: &Entry, out: &mut S) {
        let number = usize::from(entry.cpu);
        if self.cpus.len() <= number {
            self.cpus.resize(number + 1, Processor::new(self.mode));
        }
        let Assembler { lookup, own, cpus, summary, timing, isa, .. } = self;
        let Some(cpu) = cpus.get_mut(number) else { return };
        if let Event::Code { address, opcode } = entry.event {
            own.values_mut().chain([lookup]).for_each(|lookup| lookup.code(address, opcode));
            return;
        }
        let lookup = own.get_mut(&entry.cpu).unwrap_or(lookup);
        let mut emit = |step: &Step| out.step(entry.cpu, step);
        match entry.event {
            Event::Instruction(executed) => {
                summary.listed += 1;
                cpu.instruction(&executed, entry.time, *timing, *isa, lookup, summary, &mut emit);
            }
            Event::Withdrawn { address } => cpu.withdraw(address, summary),
            // Handled above, and by a follower.
            Event::Code { .. } | Event::Branched { .. } => {}
            Event::Raised(raised) => cpu.raise(raised, lookup, summary, &mut emit),
            Event::ReturnAddress(address) => cpu.return_address(address),
            Event::Mode(mode) => cpu.set(mode),
            Event::Flags(flags) => cpu.flags(flags),
            Event::ContextId(id) => cpu.context.context_id = Some(id),
            Event::Vmid(id) => cpu.context.vmid = Some(id),
            Event::Step(step) => {
                summary.accesses += u64::from(matches!(step, Step::Access(_)));
                let software = matches!(step, Step::SoftwareWrite(_) | Step::DwtEvent(_));
                summary.software += u64::from(software);
                cpu.step(step, &mut emit);
            }
        }
    }

    /// Ends the log: emits the pending steps.
    pub fn finish<S: StepSink>(&mut self, out: &mut S) {
        for (number, cpu) in (0..).zip(&mut self.cpus) {
            let mut emit = |step: &Step| out.step(number, step);
            cpu.flush(None, &mut self.summary, &mut emit);
        }
    }
}
