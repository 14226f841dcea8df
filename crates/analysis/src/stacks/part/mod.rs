//! Frames that begin and end in a part of a trace, without the stack before it.
//!
//! What a call executes up to its return is the same, whatever the frames beneath it are. So the
//! frames of a part are found anywhere in a trace: by workers, each in the part that it decodes.
//! They are sums by call path, from the frame on top at the beginning of the part on. What depends
//! on earlier frames remains a transfer: a return from the frame on top at the beginning,
//! unwinding, another thread, a loss. [`Stacks::part`] takes both in order, and the result is that
//! of all transfers.

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::hash::BuildHasherDefault;
use std::ops::{Deref, Range};

use tracewright_symbols::UnwindTargets;

use super::engine::function;
use super::exceptions::is_near;
use super::{Begin, Entry, Frame, FunctionId, StackCounts, Stacks, Time, Visitor};
use crate::counts::Mix;
use crate::transfer::{Kind, NO_FUNCTION, Transfer};

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
    transfers: Vec<Transfer>,
    /// The same; empty where no frames were looked for.
    items: Vec<Item>,
    /// The number of nodes in `items`.
    nodes: usize,
}

impl Deref for Part {
    type Target = [Transfer];

    fn deref(&self) -> &[Transfer] {
        &self.transfers
    }
}

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
    /// Instructions and cycles of nodes, in order; of each node once between two clock values.
    runs: Vec<(u32, u64, u64)>,
    /// Clock values: the number of `runs` before, the offset, the value.
    times: Vec<(usize, u64, Time)>,
    /// The frames that are open at the end.
    open: Vec<Open>,
    /// Targets of branches that were no returns if no earlier frame returns there.
    assumed: Vec<u64>,
    counts: StackCounts,
    /// The function in which it executes at the end, if a transfer shows it.
    here: Option<FunctionId>,
    deferred: Option<Deferred>,
}

#[derive(Clone, Copy, Debug)]
struct Node {
    parent: u32,
    function: FunctionId,
    counts: PathCounts,
    /// The last one of `runs` that is of this node.
    run: u32,
    /// The node that was called last.
    recent: u32,
}

impl Node {
    fn new(parent: u32, function: FunctionId) -> Node {
        Node { parent, function, counts: PathCounts::default(), run: u32::MAX, recent: 0 }
    }
}

/// An open frame.
#[derive(Clone, Copy, Debug)]
struct Open {
    node: u32,
    function: FunctionId,
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

/// The most frames in which the target of a branch is looked for.
const MAX_SEARCHED: usize = 64;
/// Slots of the targets that were assumed last, a power of two.
const RECENT: usize = 32;

impl Part {
    /// Only transfers.
    pub(crate) fn of_transfers(transfers: Vec<Transfer>) -> Part {
        Part { transfers, ..Part::default() }
    }

    /// The frames of `transfers`. `targets`: where exceptions of C++ and panics of Rust continue.
    pub fn new(transfers: Vec<Transfer>, targets: &UnwindTargets) -> Part {
        let mut part = Part::of_transfers(transfers);
        let mut sources: Vec<Source> = Vec::new();
        for (n, transfer) in part.transfers.iter().enumerate() {
            let number = usize::from(transfer.source);
            if number >= sources.len() {
                sources.resize_with(number + 1, Source::default);
            }
            let Some(source) = sources.get_mut(number) else { continue };
            if !source.unsettled && source.take(n, transfer, targets) {
                continue;
            }
            let deferred = source.deferred.is_some();
            part.nodes += source.flush(number, n, &mut part.items);
            match part.items.last_mut() {
                Some(Item::Transfers(range)) if range.end == n => range.end = n + 1,
                _ => part.items.push(Item::Transfers(n..n + 1)),
            }
            source.unsettled = match transfer.kind {
                Kind::Run | Kind::Timestamp | Kind::Cycles | Kind::CyclesLost => {
                    source.unsettled || deferred
                }
                Kind::Call | Kind::Jump | Kind::Indirect => transfer.stub,
                _ => false,
            };
        }
        for (number, source) in sources.iter_mut().enumerate() {
            part.nodes += source.flush(number, part.transfers.len(), &mut part.items);
        }
        part
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

/// The frames of a source that are being found.
#[derive(Debug)]
struct Source {
    /// It may be in a stub that was called earlier.
    unsettled: bool,
    begun: bool,
    local: Local,
    stack: Vec<Open>,
    children: HashMap<(u32, FunctionId), u32, BuildHasherDefault<Mix>>,
    /// The first one of the runs since the last clock value.
    first_run: usize,
    deferred: Option<Deferred>,
    recent: [u64; RECENT],
}

impl Default for Source {
    fn default() -> Source {
        Source {
            unsettled: true,
            begun: false,
            local: Local::default(),
            stack: Vec::new(),
            children: HashMap::default(),
            first_run: 0,
            deferred: None,
            recent: [0; RECENT],
        }
    }
}

impl Source {
    /// Ends the frames so far before transfer `end`. Returns the number of nodes.
    fn flush(&mut self, source: usize, end: usize, items: &mut Vec<Item>) -> usize {
        if !std::mem::take(&mut self.begun) {
            return 0;
        }
        let mut local = std::mem::take(&mut self.local);
        local.source = source;
        local.transfers.end = end;
        local.open = std::mem::take(&mut self.stack);
        local.deferred = self.deferred.take();
        let nodes = local.nodes.len();
        items.push(Item::Frames(Box::new(local)));
        // To clear a large table takes as long as to make another one.
        if nodes > RECENT {
            self.children = HashMap::default();
        } else {
            self.children.clear();
        }
        self.first_run = 0;
        self.recent = [0; RECENT];
        nodes
    }

    /// Takes transfer `n` if it does not depend on earlier frames; otherwise changes nothing.
    fn take(&mut self, n: usize, transfer: &Transfer, targets: &UnwindTargets) -> bool {
        if !self.is_local(transfer, targets) {
            return false;
        }
        if !self.begun {
            self.begun = true;
            self.local.transfers.start = n;
            self.local.nodes.push(Node::new(0, FunctionId::Unknown));
        }
        self.run(transfer);
        let time = match transfer.kind {
            Kind::Run => return true,
            Kind::Timestamp => Some(Time::Timestamp(transfer.target)),
            Kind::Cycles => Some(Time::Cycles(transfer.target)),
            Kind::CyclesLost => Some(Time::CyclesLost),
            _ => None,
        };
        if let Some(time) = time {
            self.first_run = self.local.runs.len();
            self.local.times.push((self.first_run, transfer.at, time));
            return true;
        }
        match transfer.kind {
            Kind::Call => self.call(transfer),
            Kind::Exception => {
                self.settle();
                self.local.counts.exceptions += 1;
                let entry = Entry::Exception(transfer.exception);
                self.begin(begin(transfer, true, entry), transfer.ret, true);
            }
            Kind::Jump => self.jump(transfer),
            Kind::Fall => {
                self.settle();
                self.replace(transfer, Entry::Jump);
            }
            Kind::Indirect => self.indirect(transfer),
            Kind::ExceptionReturn => {
                self.local.counts.exception_returns += 1;
                self.end();
            }
            _ => self.returned(transfer),
        }
        self.local.here = Some(function(transfer, false));
        true
    }

    /// Whether what a transfer does depends on frames of the part only.
    fn is_local(&self, transfer: &Transfer, targets: &UnwindTargets) -> bool {
        let empty = self.deferred.is_none() && self.stack.is_empty();
        let (target, top) = (Some(transfer.target), self.stack.last());
        match transfer.kind {
            Kind::Run | Kind::Timestamp | Kind::Cycles | Kind::CyclesLost => true,
            Kind::Call | Kind::Exception => true,
            Kind::Jump | Kind::Fall => !empty,
            Kind::Indirect if self.deferred.is_some() => true,
            Kind::Indirect if top.is_some_and(|frame| frame.ret == target) => {
                self.returns(transfer, targets)
            }
            Kind::Indirect if transfer.function == NO_FUNCTION => {
                let executed = transfer.instructions > 0
                    || self.begun && (!self.local.runs.is_empty() || self.local.nodes.len() > 1);
                executed
                    && self.stack.len() <= MAX_SEARCHED
                    && !self.stack.iter().any(|frame| frame.ret == target)
            }
            Kind::Indirect if transfer.entry => !empty,
            Kind::Indirect | Kind::Return | Kind::Swap => self.returns(transfer, targets),
            Kind::ExceptionReturn => {
                self.deferred.is_none()
                    && top.is_some_and(|f| f.exception && is_near(f.ret, transfer.target))
            }
            _ => false,
        }
    }

    /// Whether the frame on top returns.
    fn returns(&self, transfer: &Transfer, targets: &UnwindTargets) -> bool {
        let top = match (&self.deferred, self.stack.last()) {
            (Some(stub), _) => Some((stub.ret, false)),
            (None, top) => top.map(|frame| (frame.ret, frame.exception)),
        };
        match top {
            Some((ret, true)) if transfer.kind == Kind::Return => is_near(ret, transfer.target),
            Some((ret, _)) => ret == Some(transfer.target) && !targets.is_target(transfer.target),
            None => false,
        }
    }

    fn run(&mut self, transfer: &Transfer) {
        let (instructions, cycles) = (transfer.instructions.into(), transfer.cycles.into());
        if instructions == 0 && cycles == 0 {
            return;
        }
        let counts = &mut self.local.counts;
        counts.instructions = counts.instructions.saturating_add(instructions);
        match &mut self.deferred {
            Some(stub) => {
                stub.instructions = stub.instructions.saturating_add(instructions);
                stub.cycles = stub.cycles.saturating_add(cycles);
            }
            None => self.execute(instructions, cycles),
        }
    }

    /// The frame on top executes instructions.
    fn execute(&mut self, instructions: u64, cycles: u64) {
        let number = self.stack.last().map_or(0, |frame| frame.node);
        let Local { nodes, runs, .. } = &mut self.local;
        let Some(node) = nodes.get_mut(number as usize) else { return };
        let known = node.run as usize;
        if known >= self.first_run
            && let Some((_, sum, all)) = runs.get_mut(known)
        {
            *sum = sum.saturating_add(instructions);
            *all = all.saturating_add(cycles);
            return;
        }
        node.run = runs.len() as u32;
        runs.push((number, instructions, cycles));
    }

    /// The node of `function` called by `parent`.
    fn child(&mut self, parent: u32, function: FunctionId) -> u32 {
        let nodes = &mut self.local.nodes;
        let recent = nodes.get(parent as usize).map_or(0, |node| node.recent);
        if let Some(node) = nodes.get(recent as usize).filter(|_| recent != 0)
            && node.function == function
        {
            return recent;
        }
        let number = *self.children.entry((parent, function)).or_insert_with(|| {
            nodes.push(Node::new(parent, function));
            (nodes.len() - 1) as u32
        });
        if let Some(node) = nodes.get_mut(parent as usize) {
            node.recent = number;
        }
        number
    }

    fn begin(&mut self, begin: Begin, ret: Option<u64>, exception: bool) {
        let parent = self.stack.last().map_or(0, |frame| frame.node);
        let node = self.child(parent, begin.function);
        if let Some(node) = self.local.nodes.get_mut(node as usize) {
            node.counts.calls += u64::from(begin.entry.is_call());
        }
        self.local.counts.begun += 1;
        let Begin { function, entry, .. } = begin;
        self.stack.push(Open { node, function, ret, entry, exception });
    }

    fn end(&mut self) -> Option<Open> {
        let frame = self.stack.pop()?;
        self.local.counts.ended += 1;
        Some(frame)
    }

    /// The frame on top ends because another one replaces it.
    fn end_replaced(&mut self) -> Option<Open> {
        let frame = self.end()?;
        if let Some(node) = self.local.nodes.get_mut(frame.node as usize) {
            node.counts.replaced += 1;
        }
        Some(frame)
    }

    /// See `Stacks::settle`.
    fn settle(&mut self) {
        if let Some(stub) = self.deferred.take() {
            self.begin(stub.begin, stub.ret, false);
            self.execute(stub.instructions, stub.cycles);
        }
    }

    fn call(&mut self, transfer: &Transfer) {
        self.settle();
        self.local.counts.calls += 1;
        let begin = begin(transfer, true, Entry::Call);
        if transfer.stub {
            self.deferred = Some(Deferred { instructions: 0, cycles: 0, begin, ret: transfer.ret });
        } else {
            self.begin(begin, transfer.ret, false);
        }
    }

    fn replace(&mut self, transfer: &Transfer, entry: Entry) {
        let called = entry == Entry::TailCall;
        let counts = &mut self.local.counts;
        *(if called { &mut counts.tail_calls } else { &mut counts.jumps }) += 1;
        if let Some(old) = self.end_replaced() {
            self.begin(begin(transfer, called, entry), old.ret, old.exception);
        }
    }

    fn jump(&mut self, transfer: &Transfer) {
        if let Some(stub) = self.deferred.take() {
            // The stub is a part of the function that it continues in.
            if transfer.stub {
                self.deferred = Some(stub);
                return;
            }
            self.begin(begin(transfer, true, stub.begin.entry), stub.ret, false);
            return self.execute(stub.instructions, stub.cycles);
        }
        if transfer.stub {
            if let Some(old) = self.end_replaced() {
                self.local.counts.tail_calls += 1;
                let begin = begin(transfer, true, Entry::TailCall);
                self.deferred = Some(Deferred { instructions: 0, cycles: 0, begin, ret: old.ret });
            }
            return;
        }
        let known = transfer.function != NO_FUNCTION;
        self.replace(
            transfer,
            if transfer.entry || !known { Entry::TailCall } else { Entry::Jump },
        );
    }

    fn indirect(&mut self, transfer: &Transfer) {
        let target = transfer.target;
        if self.deferred.is_some() {
            return self.jump(transfer);
        }
        if self.stack.last().is_some_and(|frame| frame.ret == Some(target)) {
            return self.returned(transfer);
        }
        if transfer.function == NO_FUNCTION {
            let slot = (target >> 1 ^ target >> 6) as usize & (RECENT - 1);
            if let Some(recent) = self.recent.get_mut(slot)
                && (*recent != target || target == 0)
            {
                *recent = target;
                self.local.assumed.push(target);
            }
            return;
        }
        if transfer.entry { self.jump(transfer) } else { self.returned(transfer) }
    }

    fn returned(&mut self, transfer: &Transfer) {
        self.settle();
        let exception = self.stack.last().is_some_and(|frame| frame.exception);
        if exception && transfer.kind == Kind::Return {
            self.local.counts.exception_returns += 1;
        } else {
            self.local.counts.returns += 1;
        }
        self.end();
        if transfer.kind == Kind::Swap {
            self.local.counts.calls += 1;
            self.begin(begin(transfer, true, Entry::Call), transfer.ret, false);
        }
    }
}

fn begin(transfer: &Transfer, called: bool, entry: Entry) -> Begin {
    Begin { function: function(transfer, called), entry, address: Some(transfer.target) }
}

impl<V: Join> Stacks<V> {
    /// The next part of the trace: the same as its [transfers](Stacks::transfers).
    pub fn part(&mut self, part: &Part) {
        if part.items.is_empty() || self.visitor.room() < part.nodes {
            return self.transfers(part);
        }
        let mut numbers = Vec::new();
        for item in &part.items {
            match item {
                Item::Transfers(range) => {
                    self.transfers(part.get(range.clone()).unwrap_or_default());
                }
                Item::Frames(local) => self.frames(local, part, &mut numbers),
            }
        }
    }

    fn frames(&mut self, local: &Local, part: &Part, numbers: &mut Vec<V::Node>) {
        let source = local.source;
        let all = part.get(local.transfers.clone()).unwrap_or_default();
        let Some(thread) = self.thread(source) else { return };
        let settled = self.sources.get(source).is_some_and(|own| own.deferred.is_none());
        if !settled || local.assumed.iter().any(|to| thread.returning_to(*to).is_some()) {
            // They depend on earlier frames.
            let own = all.iter().filter(|transfer| usize::from(transfer.source) == source);
            return own.for_each(|transfer| self.transfers(std::slice::from_ref(transfer)));
        }
        let at = all.first().map_or(0, |transfer| transfer.at);
        if let Some(own) = self.sources.get_mut(source) {
            own.instructions = own.instructions.saturating_add(local.counts.instructions);
        }
        numbers.clear();
        if !local.runs.is_empty() || local.nodes.len() > 1 || local.deferred.is_some() {
            let top = self.top(source).map(|frame| frame.node);
            let top = top.unwrap_or_else(|| self.first(source, at));
            numbers.push(top);
            for node in local.nodes.iter().skip(1) {
                let parent = numbers.get(node.parent as usize).copied().unwrap_or(top);
                numbers.push(self.visitor.add(parent, node.function, &node.counts));
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
                position.at = at;
                self.visitor.time(&position, time);
            }
        }
        self.counts.add(&local.counts);
        if let Some(thread) = self.thread_mut(source) {
            for &Open { node, function, ret, entry, exception } in &local.open {
                let Some(&node) = numbers.get(node as usize) else { continue };
                let (signal, uncertain) = (false, false);
                thread.push(Frame { function, ret, node, entry, exception, signal, uncertain });
            }
        }
        if let Some(own) = self.sources.get_mut(source) {
            own.here = local.here.unwrap_or(own.here);
            own.deferred = local.deferred.map(|stub| (stub.instructions, stub.cycles, stub.begin));
        }
        if let Some(stub) = local.deferred {
            self.switches.set_return(source, stub.ret);
        }
    }
}
