//! Frames that begin and end in a part of a trace, without the stack before it.
//!
//! What a call executes up to its return is the same, whatever the frames beneath it are. So the
//! frames of a part are found anywhere in a trace: by workers, each in the part that it decodes.
//! They are sums by call path, from the frame on top at the beginning of the part on. What depends
//! on earlier frames remains a transfer: a return from the frame on top at the beginning,
//! unwinding, another thread, a loss. [`Stacks::part`] takes both in order, and the result is that
//! of all transfers.

mod builder;
#[cfg(test)]
mod tests;

use std::ops::Range;
use std::sync::Arc;

use tracewright_symbols::UnwindTargets;

use super::engine::number_or_unknown;
use super::{
    Begin, Entry, Frame, FunctionId, MAX_DEPTH, MAX_FRAMES, StackCounts, Stacks, Time, Visitor,
};
use crate::transfer::{NO_FUNCTION, Transfer};
use crate::transfer_log::{SpareMemory, TransferLog};

pub(crate) use builder::PartBuilder;

/// A visitor to which the frames of a part can be added.
pub trait Join: Visitor {
    /// The number of nodes that can be added in any order. Where it is less than those of a part,
    /// the transfers of the part are taken one after another.
    fn room(&self) -> usize;

    /// `calls` frames of `function` begin in the frame `parent`, and `replaced` of them end because
    /// another one replaces them; the others return.
    fn add(&mut self, parent: Self::Node, function: FunctionId, counts: &PathCounts) -> Self::Node;
}

/// How often frames of a path begin and end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PathCounts {
    /// Calls and exceptions.
    pub calls: u64,
    /// Frames that end because another one replaces them.
    pub replaced: u64,
}

/// The transfers of a part of a trace, in order, and the frames that were found in them.
#[derive(Clone, Debug, Default)]
pub struct Part {
    log: TransferLog,
    /// The transfers of the log; empty where no frames were looked for.
    items: Vec<Item>,
    /// The number of nodes in `items`.
    nodes: usize,
    /// Where the memory of nodes goes.
    spare: SpareNodes,
    /// Clock values behind the last range of each source: the next part has them, or the trace ends
    /// with them.
    waiting: Vec<Transfer>,
}

impl Drop for Part {
    fn drop(&mut self) {
        for item in &mut self.items {
            if let Item::Frames(local) = item {
                self.spare.put([std::mem::take(&mut local.nodes)]);
            }
        }
    }
}

/// Memory of nodes.
type SpareNodes = SpareMemory<Node, 4>;

#[derive(Clone, Debug)]
enum Item {
    /// Transfers that depend on earlier frames.
    Transfers(Range<usize>),
    Frames(Box<Local>),
}

/// The frames of a source between two transfers that depend on earlier frames.
#[derive(Clone, Debug, Default)]
struct Local {
    source: usize,
    /// The transfers of the source among these.
    transfers: Range<usize>,
    /// Call paths, callers first. The first is the frame on top at the beginning.
    nodes: Vec<Node>,
    /// Of each node; shorter where the others have none.
    rare: Vec<Rare>,
    /// Instructions and cycles of nodes, in order; all those of a node between two clock values at
    /// its first execution.
    runs: Vec<Run>,
    /// Clock values: the number of `runs` before, the offset, the value.
    times: Vec<(usize, u64, Time)>,
    /// The frames that are open at the end.
    open: Vec<Open>,
    /// At least the most frames that were open at once.
    deepest: usize,
    /// Targets of branches that were no returns if no earlier frame returns there.
    assumed: Vec<u64>,
    /// Where handlers returned to: the interrupted task continued if no other one waits there.
    resumed: Vec<u64>,
    counts: StackCounts,
    /// The number of the function in which it executes at the end, or [`NO_FUNCTION`], if a
    /// transfer shows it.
    here: Option<u32>,
    deferred: Option<Deferred>,
}

// Two in one line of the processor's caches: those of a program seldom fit into the nearest cache.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
struct Node {
    parent: u32,
    /// As [`Key::number`].
    number: u32,
    /// As [`PathCounts::calls`]: each of them takes memory in the log.
    calls: u32,
    /// As [`Key::address`].
    address: u64,
    /// Since the last clock value.
    instructions: u64,
}

/// A node, its instructions and its cycles.
type Run = (u32, u64, u64);

const _: () = assert!(size_of::<Node>() == 32);

impl Node {
    const fn new(parent: u32, function: Key) -> Node {
        let Key { number, address } = function;
        Node { parent, number, calls: 0, address, instructions: 0 }
    }

    #[inline(always)]
    const fn function(&self) -> Key {
        Key { number: self.number, address: self.address }
    }
}

/// What few nodes have.
#[derive(Clone, Copy, Debug, Default)]
struct Rare {
    /// As [`PathCounts::replaced`].
    replaced: u64,
    /// Since the last clock value.
    cycles: u64,
}

impl Local {
    fn rare(&self, node: u32) -> Rare {
        self.rare.get(node as usize).copied().unwrap_or_default()
    }

    fn rare_mut(&mut self, node: u32) -> Option<&mut Rare> {
        let len = (node as usize + 1).min(self.nodes.len());
        if self.rare.len() < len {
            self.rare.resize(len, Rare::default());
        }
        self.rare.get_mut(node as usize)
    }
}

/// A [`FunctionId`], in two numbers that are compared without a branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Key {
    /// The number of the function; [`NO_FUNCTION`] and `UNKNOWN` are none.
    number: u32,
    /// The address that was called, of code without a symbol.
    address: u64,
}

impl Key {
    const UNKNOWN: Key = Key { number: NO_FUNCTION - 1, address: 0 };

    /// The function with this number, or code without a symbol that was called at `address`.
    #[inline]
    const fn called(number: u32, address: u64) -> Key {
        Key { number, address: if number == NO_FUNCTION { address } else { 0 } }
    }
}

impl From<FunctionId> for Key {
    fn from(function: FunctionId) -> Key {
        match function {
            FunctionId::Known(number) => Key::called(number, 0),
            FunctionId::At(address) => Key::called(NO_FUNCTION, address),
            // Code whose instructions are traced is no such handler.
            FunctionId::Handler(_) | FunctionId::Unknown => Key::UNKNOWN,
        }
    }
}

impl From<Key> for FunctionId {
    fn from(key: Key) -> FunctionId {
        match key {
            Key::UNKNOWN => FunctionId::Unknown,
            Key { number: NO_FUNCTION, address } => FunctionId::At(address),
            Key { number, .. } => FunctionId::Known(number),
        }
    }
}

/// An open frame.
#[derive(Clone, Copy, Debug)]
struct Open {
    node: u32,
    ret: Option<u64>,
    entry: Entry,
    exception: bool,
}

/// A stub that was called: its instructions, its cycles, and where it returns to.
#[derive(Clone, Copy, Debug)]
struct Deferred {
    instructions: u64,
    cycles: u64,
    begin: Begin,
    ret: Option<u64>,
}

impl Part {
    /// Only transfers.
    pub(crate) fn of_transfers(log: TransferLog) -> Part {
        let mut part = Part::default();
        part.log = log;
        part
    }

    /// With clock values that are the end of the trace, if it ends with the part.
    pub(crate) fn with_waiting(mut self, waiting: impl Iterator<Item = Transfer>) -> Part {
        self.waiting.extend(waiting);
        self
    }

    /// The frames of `transfers`. `targets`: where exceptions of C++ and panics of Rust continue.
    pub fn new(transfers: &[Transfer], targets: &Arc<UnwindTargets>) -> Part {
        let mut builder = PartBuilder::new(Arc::clone(targets));
        let mut log = TransferLog::default();
        for transfer in transfers {
            builder.take(log.len(), transfer);
            log.push(*transfer);
        }
        builder.finish(log)
    }

    /// All transfers, in order.
    pub fn transfers(&self) -> impl Iterator<Item = Transfer> + '_ {
        self.log.range(0..self.log.len())
    }

    /// Passes the transfers of a range to `each`, in order, several at a time.
    pub fn each(&self, transfers: Range<usize>, each: impl FnMut(&[Transfer])) {
        self.log.each(transfers, each);
    }

    /// The same, those of one source after those of another, in order of their numbers. How they
    /// alternate depends on how many bytes are decoded at a time.
    pub fn each_by_source(&self, transfers: Range<usize>, mut each: impl FnMut(&[Transfer])) {
        if self.log.has_one_source(transfers.clone()) {
            return self.log.each(transfers, each);
        }
        let mut all: Vec<Transfer> = self.log.range(transfers).collect();
        all.sort_by_key(|transfer| transfer.source);
        each(&all);
    }

    /// The number of frames that begin and end in the part.
    pub fn frames(&self) -> u64 {
        let ended = |item: &Item| match item {
            Item::Frames(local) => local.counts.ended,
            Item::Transfers(_) => 0,
        };
        self.items.iter().map(ended).sum()
    }

    /// The number of transfers that depend on earlier frames.
    pub fn left(&self) -> usize {
        let transfers = |item: &Item| match item {
            Item::Frames(_) => 0,
            Item::Transfers(range) => range.len(),
        };
        self.items.iter().map(transfers).sum()
    }
}

impl<V: Visitor> Stacks<V> {
    /// The trace may end with this part, whose [transfers](Stacks::transfers) were taken.
    pub fn may_end(&mut self, part: &Part) {
        self.waiting.clone_from(&part.waiting);
    }
}

impl<V: Join> Stacks<V> {
    /// The next part of the trace: the same as its [transfers](Stacks::transfers).
    pub fn part(&mut self, part: &Part) {
        self.frames_of(part);
        self.may_end(part);
    }

    fn frames_of(&mut self, part: &Part) {
        if part.items.is_empty() || self.visitor.room() < part.nodes {
            return self.transfers(part.transfers());
        }
        let mut numbers = Vec::new();
        for item in &part.items {
            match item {
                Item::Transfers(range) => self.transfers(part.log.range(range.clone())),
                Item::Frames(local) => self.frames(local, &part.log, &mut numbers),
            }
        }
    }

    fn frames(&mut self, local: &Local, log: &TransferLog, numbers: &mut Vec<V::Node>) {
        let source = match &self.joined {
            None => local.source,
            Some(joined) => joined.number(local.source),
        };
        let base = self.joined.as_ref().map_or(0, |joined| joined.offset());
        let mut all = log.range(local.transfers.clone());
        let own = |transfer: &Transfer| usize::from(transfer.source) == local.source;
        if self.is_unresolved(source) {
            if local.counts.instructions == 0 {
                return self.transfers(all.filter(own));
            }
            self.resolve(source);
        }
        let Some(thread) = self.thread(source) else { return };
        let settled = self
            .sources
            .get(source)
            .is_some_and(|own| own.deferred.is_none() && own.choice.is_none());
        let open = self.counts.open().saturating_add(local.deepest as u64);
        let depth = thread.frames.len().saturating_add(local.deepest);
        let deep = thread.beyond.is_some() || depth >= MAX_DEPTH || open >= MAX_FRAMES;
        if deep
            || !settled
            || self.may_resume(source, &local.resumed)
            || local.assumed.iter().any(|to| thread.returning_to(*to).is_some())
        {
            // They depend on earlier frames.
            return self.transfers(all.filter(own));
        }
        let at = all.next().map_or(0, |transfer| transfer.at.wrapping_add(base));
        if let Some(own) = self.sources.get_mut(source) {
            own.instructions = own.instructions.saturating_add(local.counts.instructions);
        }
        numbers.clear();
        if !local.runs.is_empty() || local.nodes.len() > 1 || local.deferred.is_some() {
            let top = self.top(source).map(|frame| frame.node);
            let top = top.unwrap_or_else(|| self.first(source, at));
            numbers.push(top);
            for (number, node) in (0..).zip(&local.nodes).skip(1) {
                let parent = numbers.get(node.parent as usize).copied().unwrap_or(top);
                let replaced = local.rare(number).replaced;
                let counts = PathCounts { calls: node.calls.into(), replaced };
                numbers.push(self.visitor.add(parent, node.function().into(), &counts));
            }
        }
        let mut position = self.position(source, at);
        let mut next = 0;
        let end = [(local.runs.len(), at, None)];
        let times = local.times.iter().map(|(runs, at, time)| (*runs, *at, Some(*time)));
        for (runs, at, time) in times.chain(end) {
            for (node, instructions, cycles) in local.runs.get(next..runs).unwrap_or_default() {
                if let Some(node) = numbers.get(*node as usize) {
                    self.visitor.run(&position, *node, *instructions, *cycles);
                }
            }
            next = runs;
            if let Some(time) = time {
                position.at = at.wrapping_add(base);
                self.visitor.time(&position, time);
            }
        }
        self.counts.add(&local.counts);
        if let Some(thread) = self.thread_mut(source) {
            for &Open { node, ret, entry, exception } in &local.open {
                let own = local.nodes.get(node as usize);
                let known = own.zip(numbers.get(node as usize));
                let Some((own, &node)) = known else { continue };
                let function = own.function().into();
                let (signal, uncertain) = (false, false);
                thread.push(Frame { function, ret, node, entry, exception, signal, uncertain });
            }
        }
        if let Some(own) = self.sources.get_mut(source) {
            own.here = local.here.map_or(own.here, number_or_unknown);
            own.deferred = local.deferred.map(|stub| (stub.instructions, stub.cycles, stub.begin));
        }
        if let Some(stub) = local.deferred {
            self.switches.set_return(source, stub.ret);
        }
    }
}
