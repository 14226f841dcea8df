//! Counts executed ranges and what follows each, at addresses in memory.

use std::sync::Arc;

use tracewright_base::{self as base, Batch, BlockStep, CachedBlocks, Element, Gap, Part, Turns};
use tracewright_decode::{Event, Fork, Listener, Program, Size, Wants};
use tracewright_image::{MemoryId, Selection};

use crate::executed::{Missing, branches};
use crate::range_tree::{NONE, RangeTree};
use crate::raw_profile::RawProfile;
use crate::runs::{ELSEWHERE, Position, Runs};

/// What the counts of later elements of a source depend on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct State {
    /// What selects the memory, where it is not that at the beginning.
    memory: Option<Selection>,
    /// The last range, until it is known what follows, and its memory.
    last: Option<(base::Range, MemoryId)>,
    /// The branch before the current sequence, and the first address of the sequence.
    sequence: Option<(Option<u64>, u64)>,
}

/// The state of a source.
#[derive(Clone, Copy, Debug)]
struct Current {
    /// What selects the memory, where it is not that at the beginning.
    memory: Option<Selection>,
    /// The position among runs of cached blocks, where it is among them.
    run: Option<Position>,
    /// The last range, and the path to it; [`NONE`] where it is not known what precedes the next,
    /// and where `run` is.
    node: u32,
    /// The memory is known, and is that of the last range.
    settled: bool,
}

const BEGIN: Current = Current { memory: None, run: None, node: NONE, settled: false };

/// Counts ranges and sequences of all sources.
#[derive(Clone, Debug)]
pub struct Profiler {
    programs: Arc<[Program]>,
    sources: Vec<Current>,
    /// The cached blocks of each source.
    runs: Vec<Runs>,
    /// All other ranges.
    paths: RangeTree,
    counts: RawProfile,
    /// Executed ranges may select other memory.
    watches_addresses: bool,
}

impl Profiler {
    /// A profiler of sources with these programs.
    pub fn new(programs: impl IntoIterator<Item = Program>) -> Profiler {
        let programs: Arc<[Program]> = programs.into_iter().collect();
        Profiler {
            sources: vec![BEGIN; programs.len()],
            runs: vec![Runs::default(); programs.len()],
            paths: RangeTree::default(),
            counts: RawProfile::default(),
            watches_addresses: programs.iter().any(Program::watches_addresses),
            programs,
        }
    }

    /// The same for another trace whose sources have these programs, in the same address spaces:
    /// what is known of the paths is used again. Output that was not taken is dropped.
    #[must_use]
    pub fn for_trace(mut self, programs: impl IntoIterator<Item = Program>) -> Profiler {
        self.drop_counts();
        let next = Profiler::new(programs);
        self.runs.resize(next.sources.len(), Runs::default());
        Profiler { paths: self.paths, runs: self.runs, ..next }
    }

    /// A text of the state of each source, which is the same where later counts are.
    pub fn describe(&self, states: &[State]) -> Vec<String> {
        let describe = |(source, state): (usize, &State)| {
            let State { memory, last, sequence } = state;
            let memory = memory.unwrap_or_else(|| self.first(source));
            format!("{memory:?} {last:?} {sequence:?}")
        };
        states.iter().enumerate().map(describe).collect()
    }

    /// Drops all counts.
    fn drop_counts(&mut self) {
        self.paths.reset();
        for runs in &mut self.runs {
            runs.take(0);
        }
    }

    /// The memory at the beginning of a source's trace.
    fn first(&self, source: usize) -> Selection {
        self.programs.get(source).map(Program::begin).unwrap_or_default()
    }

    /// Follows what `element` selects.
    fn follow(&mut self, source: usize, element: &Element) {
        let first = self.first(source);
        if let (Some(program), Some(current)) =
            (self.programs.get(source), self.sources.get_mut(source))
        {
            program.follow(current.memory.get_or_insert(first), element);
            current.settled = false;
        }
    }

    /// Takes consecutive steps of a batch.
    fn steps(&mut self, batch: &Batch<'_>, steps: &[BlockStep]) {
        let (source, blocks) = (batch.source, &batch.blocks);
        self.settle_run(source);
        let counts = blocks.numbering().is_some() && !self.watches_addresses;
        if counts && !self.runs.get(source).is_some_and(|runs| runs.is_ready(blocks)) {
            self.renew_runs(source, blocks);
        }
        if let Some(runs) = self.runs.get_mut(source) {
            runs.prepare(blocks, steps.len());
        }
        let mut left = steps;
        loop {
            if let (Some(current), Some(runs)) =
                (self.sources.get_mut(source), self.runs.get_mut(source))
                && let Some(run) = &mut current.run
            {
                left = runs.run(run, left, blocks);
                if run.before != ELSEWHERE {
                    current.node = NONE;
                }
            }
            let [step, others @ ..] = left else { return };
            left = others;
            let Some(range) = batch.range(*step) else { continue };
            self.leave_run(source);
            self.range(source, &range, 1);
            if self.watches_addresses {
                self.follow(source, &Element::Range(range));
            }
            if let (Some(current), Some(runs)) =
                (self.sources.get_mut(source), self.runs.get_mut(source))
                && counts
                && branches(range.last)
            {
                let memory = current.memory.unwrap_or_default().memory;
                current.run = runs.after(*step, memory, blocks);
            }
        }
    }

    /// Where other memory was selected, the current run ends.
    #[inline]
    fn settle_run(&mut self, source: usize) {
        if let Some(Current { memory, run: Some(run), settled: false, .. }) =
            self.sources.get(source)
            && memory.is_none_or(|selection| selection.memory != run.memory)
        {
            self.leave_run(source);
        }
    }

    /// The cached blocks have other numbers, or there are many counts.
    #[cold]
    fn renew_runs(&mut self, source: usize, blocks: &CachedBlocks<'_>) {
        self.leave_run(source);
        if let Some(runs) = self.runs.get_mut(source) {
            if let Some(counts) = runs.take(source as u16) {
                self.counts.executed.add_runs(counts);
            }
            runs.renew(blocks);
        }
    }

    /// What follows the last range is no cached block, or is not known.
    #[inline]
    fn leave_run(&mut self, source: usize) {
        if let Some(current) = self.sources.get_mut(source)
            && let Some(run) = current.run.take()
            && run.before != ELSEWHERE
            && let Some(runs) = self.runs.get_mut(source)
            && let Some((range, sequence)) = runs.leave(&run)
        {
            current.node = self.paths.resume(&range, run.memory, source as u16, sequence);
        }
    }

    #[inline(always)]
    fn range(&mut self, source: usize, range: &base::Range, times: u64) {
        let Some(current) = self.sources.get(source) else { return };
        if !current.settled {
            self.settle(source, times);
        }
        let Some(Current { memory, node, .. }) = self.sources.get_mut(source) else { return };
        *node = self.paths.execute(*node, range, times, || {
            (memory.map(|selection| selection.memory).unwrap_or_default(), source as u16)
        });
        if self.paths.is_full() {
            self.renew();
        }
    }

    /// A range in other memory follows: it is not known what precedes it.
    #[cold]
    fn settle(&mut self, source: usize, times: u64) {
        let first = self.first(source);
        let Some(current) = self.sources.get_mut(source) else { return };
        let memory = current.memory.get_or_insert(first).memory;
        current.settled = true;
        if self.paths.get(current.node).is_some_and(|node| node.memory != memory) {
            self.end(source, times);
        }
    }

    /// It is not known what follows the last range of `source`.
    fn end(&mut self, source: usize, times: u64) {
        self.leave_run(source);
        if let Some(current) = self.sources.get_mut(source) {
            self.paths.end(current.node, times);
            current.node = NONE;
        }
    }

    /// Program memory is missing at `address`.
    #[cold]
    fn missing(&mut self, source: usize, address: u64) {
        let first = self.first(source);
        if let Some(current) = self.sources.get(source) {
            let memory = current.memory.unwrap_or(first).memory;
            let missing = Missing { memory, source: source as u16, address };
            self.counts.missing.add(missing, 1);
        }
        self.end(source, 1);
    }

    /// Moves the counts of paths to the others. The last range of each source is not counted yet.
    fn flush(&mut self) {
        for source in 0..self.sources.len() {
            self.leave_run(source);
            if let Some(runs) = self.runs.get_mut(source)
                && let Some(counts) = runs.take(source as u16)
            {
                self.counts.executed.add_runs(counts);
            }
        }
        let pending: Vec<u32> = self.sources.iter().map(|current| current.node).collect();
        self.paths.take_into(&mut self.counts, &pending);
    }

    /// Makes the paths anew.
    #[cold]
    fn renew(&mut self) {
        self.flush();
        let states = self.state();
        self.paths.clear();
        self.begin(&states);
    }

    /// Continues in `states`.
    fn begin(&mut self, states: &[State]) {
        for (n, (current, state)) in self.sources.iter_mut().zip(states).enumerate() {
            let node = match (state.last, state.sequence) {
                (Some((range, memory)), Some(sequence)) => {
                    self.paths.resume(&range, memory, n as u16, sequence)
                }
                _ => NONE,
            };
            *current = Current { memory: state.memory, run: None, node, settled: false };
        }
    }
}

impl Listener for Profiler {
    #[inline]
    fn element(&mut self, source: usize, _: u64, element: Element) {
        match element {
            Element::Range(range) => {
                self.leave_run(source);
                self.range(source, &range, 1);
                if self.watches_addresses {
                    self.follow(source, &element);
                }
            }
            Element::Context(_) | Element::Timestamp { .. } | Element::DataAccess(_) => {
                self.follow(source, &element);
            }
            Element::Corrected { taken } => {
                self.leave_run(source);
                if let Some(current) = self.sources.get_mut(source) {
                    current.node = self.paths.correct(current.node, taken);
                }
            }
            Element::NoCode { address, .. } => self.missing(source, address),
            other if breaks(&other) => self.end(source, 1),
            _ => {}
        }
    }

    fn batch(&mut self, batch: &Batch<'_>) {
        for part in batch.parts() {
            match part {
                Part::Steps(steps) => self.steps(batch, steps),
                Part::Element(at, element) => self.element(batch.source, at, element),
                Part::Turns(Turns { ranges, times, .. }) => {
                    self.leave_run(batch.source);
                    // After the first turn, each turn has the same counts.
                    for (turn, count) in [(0, 1), (1, times.saturating_sub(1))] {
                        if times > turn {
                            ranges.iter().for_each(|range| self.range(batch.source, range, count));
                        }
                    }
                }
            }
        }
    }

    fn event(&mut self, event: &Event<'_>) {
        match *event {
            Event::Select { source, selection } => {
                if let Some(current) = self.sources.get_mut(source) {
                    (current.memory, current.settled) = (Some(selection), false);
                }
            }
            Event::PartEnd => (0..self.sources.len()).for_each(|source| self.end(source, 1)),
            _ => {}
        }
    }

    fn wants(&self) -> Wants {
        Wants::ANY_ORDER
    }
}

/// Whether it is not known what precedes the next range, or an exception does.
const fn breaks(element: &Element) -> bool {
    match element {
        Element::Gap(gap) => !matches!(gap, Gap::Data),
        Element::TraceOn(_)
        | Element::Unknown { .. }
        | Element::NoCode { .. }
        | Element::Exception(_)
        | Element::Undecodable { .. }
        | Element::End => true,
        Element::Inconsistency(reason) => !reason.is_ambiguity(),
        _ => false,
    }
}

impl Fork for Profiler {
    type State = Vec<State>;
    type Output = RawProfile;

    fn fork(&self) -> Self {
        Profiler {
            programs: Arc::clone(&self.programs),
            sources: vec![BEGIN; self.programs.len()],
            runs: vec![Runs::default(); self.programs.len()],
            paths: RangeTree::default(),
            counts: RawProfile::default(),
            watches_addresses: self.watches_addresses,
        }
    }

    fn state(&self) -> Vec<State> {
        let state = |current: &Current| {
            let node = self.paths.get(current.node);
            State {
                memory: current.memory,
                last: node.map(|node| (node.range, node.memory)),
                sequence: node.map(|node| (node.from, node.start)),
            }
        };
        self.sources.iter().map(state).collect()
    }

    fn resume(&mut self, states: Vec<State>) {
        self.drop_counts();
        self.counts = RawProfile::default();
        if self.paths.is_full() {
            self.paths.clear();
        }
        self.begin(&states);
    }

    fn take(&mut self) -> RawProfile {
        self.flush();
        std::mem::take(&mut self.counts)
    }

    fn size(&self) -> Size {
        Size::FIXED
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use tracewright_base::{BatchBuffer, Counted, Instruction, Isa, Kind, Last, Range, Space};
    use tracewright_decode::Merge;
    use tracewright_testing::Random;

    use super::*;
    use crate::executed::Executed;
    use crate::random_blocks::RandomBlocks;

    type Ends = BTreeMap<(u64, u32, bool, Option<u64>), u64>;
    type Sequences = BTreeMap<(Option<u64>, u64, u64), u64>;

    /// One of a few ranges.
    fn range(random: &mut Random) -> Range {
        let kinds = [Kind::Branch, Kind::Indirect, Kind::Isb, Kind::Plain];
        let kind = kinds[random.below(4) as usize];
        let instructions = 1 + random.below(2) as u32;
        let last = Instruction { size: 4, isa: Isa::A64, kind, ..Instruction::default() };
        Range {
            start: 0x1000 + 0x10 * random.below(4),
            bytes: 4 * instructions,
            instructions,
            cycles: Counted::of(random.below(9) as u32),
            last: Last::new(&last, random.below(2) == 0),
        }
    }

    fn element(random: &mut Random) -> Element {
        match random.below(20) {
            0 => Element::Gap(Gap::Overflow),
            1 => Element::NoCode { address: 0, space: Space::ANY },
            2 => Element::Corrected { taken: random.below(2) == 0 },
            _ => Element::Range(range(random)),
        }
    }

    /// Counts by the definition: the ranges in the order of their execution.
    fn expected(elements: &[Element]) -> (Ends, Sequences, u64) {
        let mut runs: Vec<Vec<Range>> = vec![Vec::new()];
        for element in elements {
            match element {
                Element::Range(range) => runs.last_mut().unwrap().push(*range),
                Element::Corrected { taken } => {
                    if let Some(last) = runs.last_mut().unwrap().last_mut() {
                        last.last = last.last.with_taken(*taken);
                    }
                }
                _ => runs.push(Vec::new()),
            }
        }
        let (mut ends, mut sequences, mut instructions) = (Ends::new(), Sequences::new(), 0);
        for run in runs {
            let (mut from, mut start) = (None, None);
            for (n, range) in run.iter().enumerate() {
                instructions += u64::from(range.instructions);
                let next = run.get(n + 1).map(|next| next.start);
                let key = (range.start, range.last.word(), range.instructions == 1, next);
                *ends.entry(key).or_default() += 1;
                let first = *start.get_or_insert(range.start);
                if branches(range.last) || next.is_none() {
                    *sequences.entry((from, first, range.last_address())).or_default() += 1;
                    (from, start) = (Some(range.last_address()), None);
                }
            }
        }
        (ends, sequences, instructions)
    }

    fn found(mut raw: RawProfile) -> (Ends, Sequences, u64) {
        raw.settle();
        let mut all = 0;
        let ends = raw.executed.into_counts().map(|(key, count)| {
            let Executed { start, last, instructions, next, .. } = key;
            all += u64::from(instructions) * count;
            ((start, last.word(), instructions == 1, next), count)
        });
        let ends = ends.collect();
        let sequences = raw.following.into_counts();
        let sequences = sequences.map(|(key, count)| ((key.from, key.start, key.last), count));
        (ends, sequences.collect(), all)
    }

    /// Random ranges, whole and in parts: taken out, and resumed by another profiler.
    #[test]
    fn counts_are_those_of_the_definition() {
        let mut random = Random::new(21);
        for round in 0..60 {
            let count = 1 + random.below(200);
            let mut elements: Vec<Element> = (0..count).map(|_| element(&mut random)).collect();
            elements.push(Element::End);
            let mut profiler = Profiler::new([Program::Image(Arc::default())]);
            let mut all = RawProfile::default();
            for element in &elements {
                profiler.element(0, 0, *element);
                match random.below(if round % 3 == 0 { 1000 } else { 12 }) {
                    0 => all.merge(profiler.take()),
                    1 => {
                        let mut other = profiler.fork();
                        other.resume(profiler.state());
                        all.merge(profiler.take());
                        assert_eq!(profiler.state(), other.state());
                        profiler = other;
                    }
                    2 => {
                        let state = profiler.state();
                        all.merge(profiler.take());
                        let mut ahead = profiler.clone();
                        // What is not taken is dropped.
                        (0..9)
                            .for_each(|_| ahead.element(0, 0, super::tests::element(&mut random)));
                        ahead.resume(state);
                        profiler = ahead;
                    }
                    3 if matches!(element, Element::Gap(_)) => {
                        all.merge(profiler.take());
                        profiler = profiler.for_trace([Program::Image(Arc::default())]);
                    }
                    _ => {}
                }
            }
            all.merge(profiler.take());
            assert_eq!(found(all), expected(&elements), "round {round}: {elements:?}");
        }
    }

    /// The same with cached blocks: in batches, between other elements, also where they get other
    /// numbers.
    #[test]
    fn counts_of_cached_blocks_are_those_of_the_definition() {
        let mut random = Random::new(22);
        for round in 0..tracewright_testing::times(40) {
            let mut blocks = RandomBlocks::new(&mut random);
            let mut profiler = Profiler::new([Program::Image(Arc::default())]);
            let (mut buffer, mut elements) = (BatchBuffer::default(), Vec::new());
            let (mut all, mut last) = (RawProfile::default(), None);
            let rare = [10, 100, 1000][round as usize % 3];
            for _ in 0..2000 {
                if random.one_in(rare) {
                    let other = element(&mut random);
                    buffer.element(0, other);
                    elements.push(other);
                    if !matches!(other, Element::Corrected { .. }) && random.one_in(2) {
                        last = None;
                    }
                }
                let step = blocks.step(&mut random, last);
                buffer.step(0, step.id(), step.taken());
                elements.push(Element::Range(blocks.range(step)));
                last = Some(step);
                if random.one_in(rare / 4) {
                    let ranges = [blocks.range(step), range(&mut random)];
                    let (times, listed) = (random.below(4), true);
                    buffer.turns(Turns { at: 0, ranges: &ranges, times, listed });
                    for _ in 0..times {
                        elements.extend(ranges.map(Element::Range));
                    }
                }
                if buffer.is_full(0) || random.one_in(rare / 5) {
                    profiler.batch(&buffer.batch(0, blocks.blocks()));
                    buffer.clear();
                    match random.below(rare) {
                        0..3 => all.merge(profiler.take()),
                        3..5 => {
                            all.merge(profiler.take());
                            let mut other = profiler.fork();
                            other.resume(profiler.state());
                            assert_eq!(profiler.state(), other.state());
                            profiler = other;
                        }
                        5 => {
                            all.merge(profiler.take());
                            let state = profiler.state();
                            profiler.batch(&buffer.batch(0, blocks.blocks()));
                            profiler.resume(state);
                        }
                        6 => (blocks, last) = (RandomBlocks::new(&mut random), None),
                        _ => {}
                    }
                }
            }
            buffer.element(0, Element::End);
            elements.push(Element::End);
            profiler.batch(&buffer.batch(0, blocks.blocks()));
            all.merge(profiler.take());
            let mut instructions = all.clone();
            let want = expected(&elements);
            assert_eq!(instructions.instructions(), want.2);
            assert!(found(all) == want, "round {round}");
        }
    }
}
