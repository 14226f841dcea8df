//! The call stacks at some instructions.

use std::collections::{BTreeMap, HashMap};

use crate::code::FunctionId;
use crate::stacks::{Begin, Ending, Position, Visitor};

/// Records the call stacks at some instructions.
#[derive(Clone, Debug, Default)]
pub struct StackAt {
    /// The stack of each source and number of instructions, outermost first; `None` until it is
    /// reached.
    wanted: BTreeMap<(usize, u64), Option<Vec<FunctionId>>>,
    /// The frames of each thread.
    threads: HashMap<usize, Vec<(u64, FunctionId)>>,
    serial: u64,
}

impl StackAt {
    /// At the instructions with these numbers of their source, counted from 1.
    pub fn new(wanted: impl IntoIterator<Item = (usize, u64)>) -> StackAt {
        let wanted = wanted.into_iter().map(|place| (place, None)).collect();
        StackAt { wanted, ..StackAt::default() }
    }

    /// The stack at an instruction, outermost function first.
    pub fn get(&self, source: usize, instruction: u64) -> Option<&[FunctionId]> {
        self.wanted.get(&(source, instruction))?.as_deref()
    }

    fn frame(&mut self, begin: &Begin) -> (u64, FunctionId) {
        self.serial += 1;
        (self.serial, begin.function)
    }
}

impl Visitor for StackAt {
    type Node = u64;

    fn thread(&mut self, _: usize, _: usize, _: Option<u64>) -> u64 {
        0
    }

    fn begin(&mut self, position: &Position, _: u64, begin: &Begin) -> u64 {
        let frame = self.frame(begin);
        self.threads.entry(position.thread).or_default().push(frame);
        frame.0
    }

    fn end(&mut self, position: &Position, node: u64, _: Ending, _: bool) {
        if let Some(frames) = self.threads.get_mut(&position.thread)
            && let Some(at) = frames.iter().rposition(|frame| frame.0 == node)
        {
            frames.remove(at);
        }
    }

    fn beneath(&mut self, position: &Position, root: u64, begin: &Begin) -> (u64, u64) {
        let frame = self.frame(begin);
        self.threads.entry(position.thread).or_default().insert(0, frame);
        (frame.0, root)
    }

    fn run(&mut self, position: &Position, _: u64, instructions: u64, _: u64) {
        let before = position.instructions.saturating_sub(instructions);
        let span = (position.source, before + 1)..=(position.source, position.instructions);
        if span.is_empty() {
            return;
        }
        for (_, stack) in self.wanted.range_mut(span).filter(|own| own.1.is_none()) {
            let frames = self.threads.get(&position.thread);
            *stack = frames.map(|frames| frames.iter().map(|frame| frame.1).collect());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stacks::Entry;

    #[test]
    fn stacks_of_instructions() {
        let mut stacks = StackAt::new([(0, 3), (0, 4), (0, 9)]);
        let position = |instructions| Position { instructions, ..Position::default() };
        let begin =
            |number, entry| Begin { function: FunctionId::Known(number), entry, address: None };
        let main = stacks.begin(&position(0), 0, &begin(0, Entry::Before));
        stacks.run(&position(3), main, 3, 0);
        let f = stacks.begin(&position(3), main, &begin(1, Entry::Call));
        stacks.run(&position(5), f, 2, 0);
        stacks.end(&position(5), f, Ending::Return, false);
        let known =
            |numbers: &[u32]| numbers.iter().copied().map(FunctionId::Known).collect::<Vec<_>>();
        assert_eq!(stacks.get(0, 3), Some(&known(&[0])[..]));
        assert_eq!(stacks.get(0, 4), Some(&known(&[0, 1])[..]));
        assert_eq!(stacks.get(0, 9), None);
        // A function that was found beneath.
        stacks.beneath(&position(5), 0, &begin(2, Entry::Before));
        stacks.run(&position(9), main, 4, 0);
        assert_eq!(stacks.get(0, 9), Some(&known(&[2, 0])[..]));
    }
}
