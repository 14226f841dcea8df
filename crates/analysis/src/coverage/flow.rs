//! The flow of execution between the instructions of a program file.

use std::collections::{BTreeMap, HashMap};

use tracewright_base::{Kind, Last, Role};

/// The kind of a branch that was executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Control {
    /// Direct.
    Jump,
    /// Indirect, such as a return.
    Indirect,
    /// With link.
    Call,
}

/// How often execution went from one instruction to another, at the addresses in the file.
#[derive(Clone, Debug, Default)]
pub(super) struct Flow {
    /// Of an instruction: the one directly before it, and how often it was executed after that one
    /// without a branch between them.
    before: BTreeMap<u64, (u64, u64)>,
    /// Of an instruction that was executed after another one with a branch or an unknown reason
    /// between them: its address, the address of that one, and how often.
    arrivals: BTreeMap<(u64, u64), u64>,
    /// Branches that were executed.
    branches: BTreeMap<u64, Control>,
}

impl Flow {
    /// Adds executions of `to` after `from`, which is directly before it.
    pub(super) fn sequence(&mut self, from: u64, to: u64, count: u64) {
        let (before, sum) = self.before.entry(to).or_insert((from, 0));
        *before = from;
        *sum = sum.saturating_add(count);
    }

    /// Adds executions that end with the instruction at `from`, behind which is `end`, and continue
    /// at `next`.
    pub(super) fn end(&mut self, last: Last, from: u64, end: u64, next: Option<u64>, count: u64) {
        if matches!(last.kind, Kind::Branch | Kind::Indirect) {
            let control = match (last.role, last.kind) {
                (Role::Call | Role::Link | Role::Swap, _) => Control::Call,
                (_, Kind::Indirect) => Control::Indirect,
                _ => Control::Jump,
            };
            self.branches.insert(from, control);
        }
        // What is directly before `end` matters also where execution went elsewhere.
        self.sequence(from, end, if next == Some(end) { count } else { 0 });
        if let Some(next) = next.filter(|next| *next != end) {
            let sum = self.arrivals.entry((next, from)).or_default();
            *sum = sum.saturating_add(count);
        }
    }

    /// Leaves 1 of each count.
    pub(super) fn once(&mut self) {
        self.before.values_mut().for_each(|(_, count)| *count = (*count).min(1));
        self.arrivals.values_mut().for_each(|count| *count = (*count).min(1));
    }

    /// Adds the flow of another capture.
    pub(super) fn merge(&mut self, other: &Flow) {
        for (to, (from, count)) in &other.before {
            self.sequence(*from, *to, *count);
        }
        for (key, count) in &other.arrivals {
            let sum = self.arrivals.entry(*key).or_default();
            *sum = sum.saturating_add(*count);
        }
        self.branches.extend(other.branches.iter().map(|(at, own)| (*at, *own)));
    }

    /// Where execution went from each instruction that did not continue with the next one, and how
    /// often.
    pub(super) fn targets(&self) -> HashMap<u64, Vec<(u64, u64)>> {
        let mut all: HashMap<u64, Vec<(u64, u64)>> = HashMap::new();
        for ((to, from), count) in &self.arrivals {
            all.entry(*from).or_default().push((*to, *count));
        }
        all
    }

    /// The instruction directly before `address`.
    fn before(&self, address: u64) -> Option<u64> {
        self.before.get(&address).map(|(before, _)| *before)
    }

    /// Whether execution returns to `address` from a call.
    fn follows_call(&self, address: u64) -> bool {
        let before = self.before(address);
        before.is_some_and(|before| self.branches.get(&before) == Some(&Control::Call))
    }

    /// What was executed before `address`, with how often: the instruction directly before it, also
    /// where that is a call that has returned, and branches to it. Calls of it are left out, and so
    /// is what is not known.
    pub(super) fn origins(&self, address: u64, executions: u64) -> Vec<(u64, u64)> {
        let returns = self.follows_call(address);
        let mut all = Vec::new();
        let (mut called, mut jumped) = (0u64, 0u64);
        for ((_, from), count) in self.arrivals.range((address, 0)..=(address, u64::MAX)) {
            match self.branches.get(from) {
                Some(Control::Call) => called = called.saturating_add(*count),
                Some(Control::Jump) => {}
                _ if returns => continue,
                _ => {}
            }
            if self.branches.get(from) != Some(&Control::Call) {
                jumped = jumped.saturating_add(*count);
                all.push((*from, *count));
            }
        }
        if let Some((before, count)) = self.before.get(&address) {
            // After a call, or an exception, it is not known what was executed before.
            let plain = returns || !self.branches.contains_key(before);
            let rest = executions.saturating_sub(called).saturating_sub(jumped);
            let count = if plain { rest } else { *count };
            all.push((*before, count));
        }
        all
    }

    /// Whether a basic block begins at `address`, which was executed, after `last`, the instruction
    /// that was executed with the next lower address. A call does not end a basic block.
    pub(super) fn begins_block(&self, address: u64, last: Option<u64>) -> bool {
        let Some(before) = self.before(address).filter(|before| Some(*before) == last) else {
            return true;
        };
        if matches!(self.branches.get(&before), Some(Control::Jump | Control::Indirect)) {
            return true;
        }
        let returns = self.follows_call(address);
        let mut arrivals = self.arrivals.range((address, 0)..=(address, u64::MAX));
        arrivals.any(|((_, from), _)| !returns || self.branches.get(from) == Some(&Control::Jump))
    }
}

#[cfg(test)]
mod tests {
    use tracewright_base::{Instruction, Isa};

    use super::*;

    fn last(kind: Kind, role: Role) -> Last {
        let instruction =
            Instruction { size: 4, isa: Isa::A64, kind, role, ..Instruction::default() };
        Last::new(&instruction, true)
    }

    /// A call at 8 of a function at 0x40, which returns, and a loop from 0x14 to 0x0c.
    #[test]
    fn calls_return_and_loops_begin_blocks() {
        let mut flow = Flow::default();
        flow.sequence(0, 4, 1);
        flow.sequence(4, 8, 1);
        flow.end(last(Kind::Branch, Role::Call), 8, 0xc, Some(0x40), 1);
        flow.end(last(Kind::Indirect, Role::Return), 0x40, 0x44, Some(0xc), 1);
        flow.sequence(0xc, 0x10, 6);
        flow.sequence(0x10, 0x14, 6);
        flow.end(last(Kind::Branch, Role::Jump), 0x14, 0x18, Some(0xc), 5);
        flow.end(last(Kind::Branch, Role::Jump), 0x14, 0x18, Some(0x18), 1);
        let blocks = [(0, None), (4, Some(0)), (8, Some(4)), (0x10, Some(0xc)), (0xc, Some(8))];
        let begins = blocks.map(|(address, last)| flow.begins_block(address, last));
        assert_eq!(begins, [true, false, false, false, true]);
        assert!(flow.begins_block(0x18, Some(0x14)));
        assert_eq!(flow.origins(0xc, 6), [(0x14, 5), (8, 1)]);
        assert_eq!(flow.origins(0x40, 1), []);
        assert_eq!(flow.origins(0x18, 1), [(0x14, 1)]);
    }
}
