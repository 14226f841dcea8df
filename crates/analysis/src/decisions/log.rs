//! The branches of decisions that a trace executes, and the transfers of control between them.

use std::collections::HashMap;
use std::hash::BuildHasherDefault;
use std::sync::Arc;

use tracewright_base::{Batch, BlockStep, Element, Gap, Kind, Part, Range, Start, Turns};
use tracewright_decode::{Event, Fork, Listener, Program, Size};
use tracewright_image::{Image, MemoryId};

use super::copies::{BranchOf, Copies};
use crate::counts::Mix;
use crate::known_blocks::KnownBlocks;
use crate::program_file::{ProgramFile, file_of};
use crate::stacks::Part as Transferred;
use crate::transfers::{SourceState, Transfers};

/// A branch of a decision, or a point at which it is not known what was executed before.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mark {
    /// The number of transfers of the part before it.
    pub(super) transfers: usize,
    pub(super) source: u16,
    /// The branch, and whether it is taken.
    pub(super) branch: Option<(BranchOf, bool)>,
    /// How often, in turns of a loop that are all alike.
    pub(super) times: u64,
}

/// What a part of the trace executes of decisions.
#[derive(Clone, Debug, Default)]
pub struct DecisionPart {
    pub(super) part: Transferred,
    pub(super) marks: Vec<Mark>,
}

/// A branch that may be corrected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pending(Option<Taken>);

/// A branch of a decision that was executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Taken {
    branch: BranchOf,
    taken: bool,
    times: u64,
}

/// Finds the branches of decisions while a trace is decoded.
#[derive(Debug)]
pub struct DecisionListener {
    transfers: Transfers,
    files: Arc<Vec<ProgramFile>>,
    copies: Arc<Copies>,
    programs: Arc<Vec<Program>>,
    images: HashMap<(u16, MemoryId), Option<Arc<Image>>>,
    /// Branches that were looked up, by source, memory and address.
    known: HashMap<(u16, MemoryId, u64), Option<BranchOf>, BuildHasherDefault<Mix>>,
    /// The branches at the ends of the cached blocks of each source.
    ends: Vec<KnownBlocks<Option<BranchOf>>>,
    pending: Vec<Pending>,
    marks: Vec<Mark>,
}

impl DecisionListener {
    /// For sources with these programs, whose transfers `transfers` finds. The `copies` are those
    /// of the files.
    pub fn new(
        transfers: Transfers,
        files: Arc<Vec<ProgramFile>>,
        copies: Arc<Copies>,
        programs: Vec<Program>,
    ) -> DecisionListener {
        let pending = vec![Pending::default(); programs.len()];
        let ends = vec![KnownBlocks::default(); programs.len()];
        DecisionListener {
            transfers,
            files,
            copies,
            programs: Arc::new(programs),
            images: HashMap::new(),
            known: HashMap::default(),
            ends,
            pending,
            marks: Vec::new(),
        }
    }

    /// The condition that the branch at an address evaluates.
    fn branch(&mut self, source: usize, address: u64) -> Option<BranchOf> {
        let number = u16::try_from(source).ok()?;
        let memory = self.transfers.memory(source);
        let DecisionListener { files, copies, programs, images, known, .. } = self;
        *known.entry((number, memory, address)).or_insert_with(|| {
            let program = programs.get(source)?;
            let image = images.entry((number, memory)).or_insert_with(|| match program {
                Program::Spaces(viewpoint) => Some(viewpoint.spaces.image(memory)),
                Program::Image(image) => Some(Arc::clone(image)),
            });
            let found = image.as_ref().and_then(|image| file_of(files, image, address));
            let found = found.or_else(|| {
                // A dump has the memory of the program.
                let plain = matches!(program, Program::Image(_));
                let has = |file: &&ProgramFile| file.address(address).is_some();
                let mut dumps = files.iter().take_while(|file| plain && file.module.is_none());
                let n = dumps.position(|file| has(&file))?;
                files.get(n).map(|file| (n, file.bias))
            });
            let (file, bias) = found?;
            copies.branches.get(file)?.get(&address.wrapping_sub(bias)).copied()
        })
    }

    /// The branch that waits is not corrected any more.
    fn settle(&mut self, source: usize) {
        let Some(pending) = self.pending.get_mut(source).map(std::mem::take) else { return };
        if let Some(Taken { branch, taken, times }) = pending.0 {
            self.push(source, Some((branch, taken)), times);
        }
    }

    fn push(&mut self, source: usize, branch: Option<(BranchOf, bool)>, times: u64) {
        let transfers = self.transfers.mark();
        self.marks.push(Mark { transfers, source: source as u16, branch, times });
    }

    /// The condition that the branch at the end of a range evaluates.
    fn condition(&mut self, source: usize, range: &Range) -> Option<BranchOf> {
        let last = range.last;
        let is_branch = matches!(last.kind, Kind::Branch | Kind::Indirect);
        if !last.conditional() || !is_branch {
            return None;
        }
        self.branch(source, range.last_address())
    }

    fn executed(&mut self, source: usize, range: &Range, times: u64) {
        if let Some(branch) = self.condition(source, range)
            && let Some(pending) = self.pending.get_mut(source)
        {
            pending.0 = Some(Taken { branch, taken: range.last.taken(), times });
        }
    }

    /// Executed blocks: those up to a branch of a decision are taken at once.
    fn steps(&mut self, batch: &Batch<'_>, mut steps: &[BlockStep]) {
        let (source, memory) = (batch.source, self.transfers.memory(batch.source));
        if let Some(ends) = self.ends.get_mut(source) {
            ends.prepare(memory, &batch.blocks);
        }
        while !steps.is_empty() {
            self.settle(source);
            let mut taken = None;
            let count = steps.iter().take_while(|step| {
                taken = self.end(batch, **step).map(|branch| (branch, step.taken()));
                taken.is_none()
            });
            let (own, rest) = steps.split_at((count.count() + 1).min(steps.len()));
            self.transfers.batch(&batch.with_steps(own));
            if let Some((branch, taken)) = taken
                && let Some(pending) = self.pending.get_mut(source)
            {
                pending.0 = Some(Taken { branch, taken, times: 1 });
            }
            steps = rest;
        }
    }

    /// The condition that the branch at the end of a block evaluates.
    #[inline]
    fn end(&mut self, batch: &Batch<'_>, step: BlockStep) -> Option<BranchOf> {
        if let Some(known) = self.ends.get(batch.source).and_then(|ends| ends.get(step.id())) {
            return known;
        }
        let found = batch.range(step).and_then(|range| self.condition(batch.source, &range));
        if let Some(ends) = self.ends.get_mut(batch.source) {
            ends.insert(step.id(), found);
        }
        found
    }

    fn turns(&mut self, source: usize, turns: &Turns<'_>) {
        let mut done = 0;
        // The second turn follows the last range of the first.
        while done < turns.times && (done < 2 || !self.transfers.stays(source, turns.ranges)) {
            for range in turns.ranges {
                self.element(source, turns.at, Element::Range(*range));
            }
            done += 1;
        }
        let left = turns.times - done;
        if left > 0 {
            for range in turns.ranges {
                self.settle(source);
                self.executed(source, range, left);
            }
            self.transfers.turns(source, &Turns { times: left, ..*turns });
        }
    }
}

/// Whether trace before an element is lost. Where tracing was off, as in a system call, a frame
/// continues where it was.
const fn breaks(element: &Element) -> bool {
    match element {
        Element::Gap(gap) => !matches!(gap, Gap::Data),
        Element::TraceOn(Start::Overflow)
        | Element::NoCode { .. }
        | Element::Unknown { .. }
        | Element::Undecodable { .. }
        | Element::Inconsistency(_) => true,
        _ => false,
    }
}

impl Listener for DecisionListener {
    fn element(&mut self, source: usize, at: u64, element: Element) {
        if let Element::Corrected { taken } = element {
            if let Some(Pending(Some(pending))) = self.pending.get_mut(source) {
                pending.taken = taken;
            }
        } else {
            self.settle(source);
        }
        if breaks(&element) {
            self.push(source, None, 1);
        }
        self.transfers.element(source, at, element);
        if let Element::Range(range) = &element {
            self.executed(source, range, 1);
        }
    }

    fn batch(&mut self, batch: &Batch<'_>) {
        for part in batch.parts() {
            match part {
                Part::Steps(steps) => self.steps(batch, steps),
                Part::Element(at, element) => self.element(batch.source, at, element),
                Part::Turns(turns) => self.turns(batch.source, &turns),
            }
        }
    }

    fn event(&mut self, event: &Event<'_>) {
        if matches!(event, Event::PartEnd) {
            for source in 0..self.pending.len() {
                self.settle(source);
                self.push(source, None, 1);
            }
        }
        self.transfers.event(event);
    }
}

impl Fork for DecisionListener {
    type State = (Vec<SourceState>, Vec<Pending>);
    type Output = DecisionPart;

    fn fork(&self) -> Self {
        DecisionListener {
            transfers: self.transfers.fork(),
            files: Arc::clone(&self.files),
            copies: Arc::clone(&self.copies),
            programs: Arc::clone(&self.programs),
            images: HashMap::new(),
            known: HashMap::default(),
            ends: vec![KnownBlocks::default(); self.pending.len()],
            pending: vec![Pending::default(); self.pending.len()],
            marks: Vec::new(),
        }
    }

    fn state(&self) -> Self::State {
        (self.transfers.state(), self.pending.clone())
    }

    fn resume(&mut self, (transfers, pending): Self::State) {
        self.transfers.resume(transfers);
        self.pending = pending;
        self.marks.clear();
    }

    fn take(&mut self) -> DecisionPart {
        let marks = std::mem::take(&mut self.marks);
        DecisionPart { part: self.transfers.take(), marks }
    }

    fn size(&self) -> Size {
        self.transfers.size().and(Size::of(self.marks.len() * size_of::<Mark>()))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use tracewright_base::{
        BatchBuffer, CachedBlocks, Counted, Instruction, Isa, Last, Range, Role,
    };
    use tracewright_capture::{Capture, Dump, Form};
    use tracewright_image::{Elf, Image, Load, Module};
    use tracewright_symbols::{Functions, Region};

    use super::super::assign::{Assigned, Assignment, LastCondition};
    use super::super::copies::Copy;
    use super::super::{Condition, Criterion, Decision, Evaluation, Evaluations, Next, Vector};
    use super::*;
    use crate::code::Code;
    use crate::program_file::program_files;
    use crate::program_file::tests::elf;

    /// `a && b`, whose conditions are evaluated at 0x8000 and 0x8008.
    fn decision() -> (Decision, Copies) {
        let region = Region::default();
        let condition = |next| Condition { region, text: String::new(), next };
        let both = [Next::Outcome(false), Next::Outcome(true)];
        let decision = Decision {
            file: String::new(),
            region,
            conditions: vec![
                condition([Next::Outcome(false), Next::Condition(1)]),
                condition(both),
            ],
            exact: true,
            leads_to: Default::default(),
            refused: None,
        };
        let assigned = |address| Assigned { address, taken_is_true: true, is_known: true };
        let assignment = Assignment {
            branches: vec![assigned(0x8000), assigned(0x8008)],
            outcomes: vec![[Some(false), None], [Some(false), Some(true)]],
            outcome_known: true,
            last: LastCondition::Own,
        };
        let branch = |condition| BranchOf { copy: 0, condition, taken_is_true: true };
        let copies = Copies {
            unmatched: vec![Vec::new()],
            all: vec![Copy { decision: 0, function: None, assignment }],
            branches: vec![HashMap::from([(0x8000, branch(0)), (0x8008, branch(1))])],
        };
        (decision, copies)
    }

    fn range(start: u64, taken: bool) -> Range {
        let instruction = Instruction {
            size: 4,
            isa: Isa::A64,
            kind: Kind::Branch,
            role: Role::Jump,
            conditional: true,
            ..Instruction::default()
        };
        let last = Last::new(&instruction, taken);
        Range { start, bytes: 4, instructions: 1, cycles: Counted::UNKNOWN, last }
    }

    /// The evaluations of what `feed` passes on.
    fn vectors(feed: impl FnOnce(&mut DecisionListener)) -> BTreeMap<Vector, u64> {
        let mut dump = Dump::new("program", 0, elf());
        dump.form = Form::Elf;
        let capture = Capture { memory: vec![dump], ..Capture::default() };
        let files = Arc::new(program_files(&capture));
        let regions = Elf::read(&elf(), "program", Load::default()).expect("a program").regions;
        let module = Module { index: 0, bias: 0 };
        let regions = regions.into_iter().map(|region| region.of_module(module));
        let program = Program::Image(Image::new(regions).into());
        let (decision, copies) = decision();
        let (decisions, copies): (Arc<[_]>, _) = (vec![decision].into(), Arc::new(copies));
        let code = Code::of(Functions::default(), 1);
        let transfers = Transfers::new(code.clone(), Vec::new());
        let mut listener =
            DecisionListener::new(transfers, files, Arc::clone(&copies), vec![program]);
        let mut evaluation =
            Evaluation::new(Arc::clone(&decisions), Arc::clone(&copies), (1, &code, &[]));
        feed(&mut listener);
        listener.element(0, 9, Element::End);
        evaluation.part(&listener.take());
        let mut all = Evaluations::default();
        all.merge(evaluation.finish());
        let mut covered = all.cover(&decisions, &copies, Criterion::Masking);
        covered.pop().expect("a decision").vectors
    }

    /// Turns of a loop have the evaluations of each turn by itself, also where an evaluation begins
    /// in one turn and ends in the next.
    #[test]
    fn turns_are_counted() {
        let turns = [
            vec![range(0x8000, false)],
            vec![range(0x8000, true), range(0x8008, false)],
            vec![range(0x8008, true), range(0x8000, true)],
            vec![
                range(0x8000, true),
                range(0x8004, true),
                range(0x8008, true),
                range(0x8000, false),
            ],
        ];
        for (ranges, times) in turns.iter().zip([1, 2, 3, 1000]).chain(turns.iter().zip([900; 4])) {
            let each = vectors(|listener| {
                for range in (0..times).flat_map(|_| ranges) {
                    listener.element(0, 5, Element::Range(*range));
                }
            });
            let counted = vectors(|listener| {
                let mut buffer = BatchBuffer::default();
                buffer.turns(Turns { at: 5, ranges, times, listed: false });
                listener.batch(&buffer.batch(0, CachedBlocks::none()));
            });
            assert_eq!(counted, each, "{times}");
            assert!(counted.values().sum::<u64>() + 1 >= times, "{counted:?}");
        }
    }

    /// A branch whose outcome was speculative is corrected, and what follows a loss is not of the
    /// evaluation before it.
    #[test]
    fn outcomes_are_corrected_and_losses_end_evaluations() {
        let found = vectors(|listener| {
            for element in [
                Element::Range(range(0x8000, true)),
                Element::Range(range(0x8008, true)),
                Element::Corrected { taken: false },
                Element::Range(range(0x8000, true)),
                Element::Gap(Gap::Overflow),
                Element::Range(range(0x8008, true)),
                Element::Range(range(0x8000, false)),
                Element::Corrected { taken: true },
                Element::Range(range(0x8008, true)),
            ] {
                listener.element(0, 5, element);
            }
        });
        let vector = |second| Vector { values: vec![Some(true), Some(second)], outcome: second };
        assert_eq!(found, BTreeMap::from([(vector(false), 1), (vector(true), 1)]));
    }
}
