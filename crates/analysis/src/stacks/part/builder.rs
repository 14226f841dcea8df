//! Finds the frames of a part.

use std::collections::HashMap;
use std::hash::BuildHasherDefault;
use std::sync::Arc;

use tracewright_symbols::UnwindTargets;

use super::{Deferred, Item, Key, Local, Node, Open, Part, Run, SpareNodes};
use crate::counts::Mix;
use crate::stacks::engine::function;
use crate::stacks::frame::is_near;
use crate::stacks::{Begin, Entry, Time};
use crate::transfer::{Kind, NO_FUNCTION, Transfer};
use crate::transfer_log::TransferLog;

/// The most frames in which the target of a branch is looked for.
const MAX_SEARCHED: usize = 64;
/// Slots of the targets that were assumed last, a power of two.
const RECENT: usize = 32;

/// Slots of the filter of return addresses, a power of two.
const FILTER: usize = 1 << 9;

#[inline]
const fn filter_slot(address: u64) -> usize {
    (address >> 1 ^ address >> 10) as usize & (FILTER - 1)
}

/// Slots of the children that were looked up last, a power of two.
const SLOTS: usize = 1 << 13;

/// The slot of a node that `parent` calls.
#[inline]
const fn slot(parent: u32, function: Key) -> usize {
    let both = (function.number as u64) << 20 ^ (parent as u64) << 40;
    let mixed = tracewright_base::mix(function.address ^ both);
    (mixed >> 40) as usize & (SLOTS - 1)
}

/// Finds the frames of transfers, one after another.
#[derive(Debug, Default)]
pub(crate) struct PartBuilder {
    targets: Arc<UnwindTargets>,
    items: Vec<Item>,
    /// The number of nodes in `items`.
    nodes: usize,
    sources: Vec<Source>,
    /// Memory of parts that were joined.
    spare: SpareNodes,
}

impl PartBuilder {
    pub(crate) fn new(targets: Arc<UnwindTargets>) -> PartBuilder {
        PartBuilder { targets, ..PartBuilder::default() }
    }

    /// One for a worker.
    pub(crate) fn fork(&self) -> PartBuilder {
        let (targets, spare) = (Arc::clone(&self.targets), self.spare.clone());
        PartBuilder { targets, spare, ..PartBuilder::default() }
    }

    /// The next transfer, whose index is `n`.
    pub(crate) fn take(&mut self, n: usize, transfer: &Transfer) {
        let number = usize::from(transfer.source);
        if number >= self.sources.len() {
            let spare = &self.spare;
            let source = || Source { spare: spare.clone(), ..Source::default() };
            self.sources.resize_with(number + 1, source);
        }
        let Some(source) = self.sources.get_mut(number) else { return };
        if !source.unsettled && source.take(n, transfer, &self.targets) {
            return;
        }
        let deferred = source.deferred.is_some();
        self.nodes += source.flush(number, n, &mut self.items);
        match self.items.last_mut() {
            Some(Item::Transfers(range)) if range.end == n => range.end = n + 1,
            _ => self.items.push(Item::Transfers(n..n + 1)),
        }
        source.unsettled = match transfer.kind {
            Kind::Run | Kind::Timestamp | Kind::Cycles | Kind::CyclesLost => {
                source.unsettled || deferred
            }
            Kind::Call | Kind::Jump | Kind::Indirect => transfer.stub,
            _ => false,
        };
    }

    /// The part, which consists of the transfers of `log`. The next transfer begins another one.
    pub(crate) fn finish(&mut self, log: TransferLog) -> Part {
        for (number, source) in self.sources.iter_mut().enumerate() {
            self.nodes += source.flush(number, log.len(), &mut self.items);
        }
        let (items, nodes) = (std::mem::take(&mut self.items), std::mem::take(&mut self.nodes));
        self.clear();
        Part { log, items, nodes, spare: self.spare.clone(), waiting: Vec::new() }
    }

    /// The next transfer begins another part.
    pub(crate) fn clear(&mut self) {
        for source in &mut self.sources {
            source.flush(0, 0, &mut self.items);
            source.unsettled = true;
        }
        (self.nodes, self.items) = (0, Vec::new());
    }

    /// The memory of the nodes and runs so far, in bytes, approximately. Each node is copied where
    /// a part ends.
    pub(crate) fn weight(&self) -> usize {
        let open: usize = self.sources.iter().map(|source| source.local.nodes.len()).sum();
        (self.nodes + 2 * open) * (size_of::<Node>() + size_of::<Run>())
    }

    /// The frames of a source.
    #[inline]
    pub(crate) fn source(&mut self, source: usize) -> Option<&mut Source> {
        self.sources.get_mut(source)
    }
}

/// The frames of a source that are being found.
#[derive(Debug)]
pub(crate) struct Source {
    /// It may be in a stub that was called earlier.
    unsettled: bool,
    begun: bool,
    local: Local,
    stack: Vec<Open>,
    /// The node of the frame on top.
    top: u32,
    children: HashMap<(u32, Key), u32, BuildHasherDefault<Mix>>,
    /// Children that were looked up: a direct-mapped table.
    looked_up: Box<[u32; SLOTS]>,
    /// The nodes that have executed since the last clock value, in order; again, where it was no
    /// instruction and no cycle before.
    touched: Vec<u32>,
    /// The number of frames by the hash of their return address.
    filter: Box<[u32; FILTER]>,
    deferred: Option<Deferred>,
    recent: [u64; RECENT],
    spare: SpareNodes,
    /// Calls and returns that are not in the counts yet.
    calls: u64,
    returns: u64,
}

impl Default for Source {
    fn default() -> Source {
        Source {
            unsettled: true,
            begun: false,
            local: Local::default(),
            stack: Vec::new(),
            top: 0,
            children: HashMap::default(),
            looked_up: Box::new([0; SLOTS]),
            touched: Vec::new(),
            filter: Box::new([0; FILTER]),
            deferred: None,
            recent: [0; RECENT],
            spare: SpareNodes::default(),
            calls: 0,
            returns: 0,
        }
    }
}

impl Source {
    /// Whether calls and returns depend on nothing but the frames.
    #[inline]
    pub(crate) fn is_ready(&self) -> bool {
        self.begun && !self.unsettled && self.deferred.is_none()
    }

    /// Takes a call of the function with the number `function`, not of a stub, after a number of
    /// instructions. The source is [ready](Source::is_ready).
    #[inline(always)]
    pub(crate) fn take_call(&mut self, instructions: u32, target: u64, function: u32, ret: u64) {
        self.executed(instructions);
        self.calls += 1;
        let node = self.child(self.top, Key::called(function, target));
        if let Some(node) = self.local.nodes.get_mut(node as usize) {
            node.calls = node.calls.saturating_add(1);
        }
        self.push(Open { node, ret: Some(ret), entry: Entry::Call, exception: false });
    }

    /// Takes a return to the return address of the frame on top, after a number of instructions. Of
    /// any other return, changes nothing, and returns `false`. The source is
    /// [ready](Source::is_ready).
    #[inline(always)]
    pub(crate) fn take_return(&mut self, instructions: u32, target: u64) -> bool {
        match self.stack.last() {
            Some(top) if top.ret == Some(target) && !top.exception => {}
            _ => return false,
        }
        self.executed(instructions);
        self.returns += 1;
        self.pop();
        true
    }

    /// The last one of the transfers that were taken leads to the function with this number.
    #[inline]
    pub(crate) fn is_in(&mut self, function: u32) {
        self.local.here = Some(function);
    }

    /// Takes an indirect branch to code without a symbol, after a number of instructions, if no
    /// frame returns there. Otherwise changes nothing, and returns `false`. The source is
    /// [ready](Source::is_ready).
    #[inline(always)]
    pub(crate) fn take_branch(&mut self, instructions: u32, target: u64) -> bool {
        if instructions == 0 || self.filter.get(filter_slot(target)) != Some(&0) {
            return false;
        }
        self.executed(instructions);
        self.assume(target);
        true
    }

    /// The frame on top executes instructions, without a number of cycles.
    #[inline(always)]
    fn executed(&mut self, instructions: u32) {
        if instructions > 0 {
            self.execute(instructions.into(), 0);
        }
    }

    /// No frame before returns to `target`.
    #[inline]
    fn assume(&mut self, target: u64) {
        let slot = (target >> 1 ^ target >> 6) as usize & (RECENT - 1);
        if let Some(recent) = self.recent.get_mut(slot)
            && (*recent != target || target == 0)
        {
            *recent = target;
            self.local.assumed.push(target);
        }
    }

    #[inline(always)]
    fn push(&mut self, frame: Open) {
        self.top = frame.node;
        self.count(frame.ret, 1);
        self.stack.push(frame);
    }

    #[inline(always)]
    fn pop(&mut self) -> Option<Open> {
        let frame = self.stack.pop()?;
        self.top = self.stack.last().map_or(0, |frame| frame.node);
        self.count(frame.ret, u32::MAX);
        Some(frame)
    }

    /// Adds to the number of frames with a return address, modulo 2^32.
    #[inline]
    fn count(&mut self, ret: Option<u64>, change: u32) {
        if let Some(ret) = ret
            && let Some(count) = self.filter.get_mut(filter_slot(ret))
        {
            *count = count.wrapping_add(change);
        }
    }

    /// The runs since the last clock value end.
    fn end_runs(&mut self) {
        let Local { nodes, rare, runs, counts, .. } = &mut self.local;
        runs.reserve(self.touched.len());
        for number in self.touched.drain(..) {
            if let Some(node) = nodes.get_mut(number as usize) {
                let instructions = std::mem::take(&mut node.instructions);
                counts.instructions = counts.instructions.saturating_add(instructions);
                let rare = rare.get_mut(number as usize);
                let cycles = rare.map_or(0, |rare| std::mem::take(&mut rare.cycles));
                runs.push((number, instructions, cycles));
            }
        }
    }

    /// Ends the frames so far before transfer `end`. Returns the number of nodes.
    fn flush(&mut self, source: usize, end: usize, items: &mut Vec<Item>) -> usize {
        if !std::mem::take(&mut self.begun) {
            return 0;
        }
        self.end_runs();
        self.filter.fill(0);
        self.top = 0;
        let (calls, returns) = (std::mem::take(&mut self.calls), std::mem::take(&mut self.returns));
        let counts = &mut self.local.counts;
        (counts.calls, counts.begun) = (counts.calls + calls, counts.begun + calls);
        (counts.returns, counts.ended) = (counts.returns + returns, counts.ended + returns);
        let waiting = self.deferred.map_or(0, |stub| stub.instructions);
        counts.instructions = counts.instructions.saturating_add(waiting);
        // The memory for nodes remains.
        let mut nodes = self.spare.take(self.local.nodes.len());
        nodes.extend_from_slice(&self.local.nodes);
        let mut memory = std::mem::replace(&mut self.local.nodes, nodes);
        memory.clear();
        let next = Local { nodes: memory, ..Local::default() };
        let mut local = std::mem::replace(&mut self.local, next);
        local.source = source;
        local.transfers.end = end;
        local.deepest = self.stack.capacity();
        local.open = std::mem::take(&mut self.stack);
        local.deferred = self.deferred.take();
        let nodes = local.nodes.len();
        items.push(Item::Frames(Box::new(local)));
        self.children.clear();
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
            self.local.nodes.push(Node::new(0, Key::UNKNOWN));
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
            self.end_runs();
            self.local.times.push((self.local.runs.len(), transfer.at, time));
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
                self.resume(transfer.target);
                self.end();
            }
            _ => self.returned(transfer),
        }
        self.local.here = Some(transfer.function);
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
                    || self.begun
                        && (!self.local.runs.is_empty()
                            || !self.touched.is_empty()
                            || self.local.nodes.len() > 1);
                executed && self.returns_nowhere(transfer.target)
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

    /// Whether no frame returns to `target`. `false` also where that is not found out.
    fn returns_nowhere(&self, target: u64) -> bool {
        self.filter.get(filter_slot(target)) == Some(&0)
            || self.stack.len() <= MAX_SEARCHED
                && !self.stack.iter().any(|frame| frame.ret == Some(target))
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
        match &mut self.deferred {
            Some(stub) => {
                stub.instructions = stub.instructions.saturating_add(instructions);
                stub.cycles = stub.cycles.saturating_add(cycles);
            }
            None => self.execute(instructions, cycles),
        }
    }

    /// The frame on top executes instructions.
    #[inline(always)]
    fn execute(&mut self, instructions: u64, cycles: u64) {
        let number = self.top;
        if let Some(node) = self.local.nodes.get_mut(number as usize) {
            let before = node.instructions;
            node.instructions = before + instructions;
            if before == 0 && self.local.rare(number).cycles == 0 {
                self.touched.push(number);
            }
            if cycles > 0
                && let Some(rare) = self.local.rare_mut(number)
            {
                rare.cycles += cycles;
            }
        }
    }

    /// The node of `function` called by `parent`.
    #[inline(always)]
    fn child(&mut self, parent: u32, function: Key) -> u32 {
        if let Some(number) = self.looked_up.get(slot(parent, function))
            && let Some(node) = self.local.nodes.get(*number as usize)
            && node.function() == function
            && node.parent == parent
            && *number != 0
        {
            return *number;
        }
        self.find(parent, function)
    }

    /// As [`child`](Self::child), where another node was looked up last in the slot.
    #[inline(never)]
    fn find(&mut self, parent: u32, function: Key) -> u32 {
        let nodes = &mut self.local.nodes;
        let number = *self.children.entry((parent, function)).or_insert_with(|| {
            nodes.push(Node::new(parent, function));
            (nodes.len() - 1) as u32
        });
        if let Some(known) = self.looked_up.get_mut(slot(parent, function)) {
            *known = number;
        }
        number
    }

    fn begin(&mut self, begin: Begin, ret: Option<u64>, exception: bool) {
        let node = self.child(self.top, begin.function.into());
        if let Some(node) = self.local.nodes.get_mut(node as usize) {
            node.calls = node.calls.saturating_add(begin.entry.is_call().into());
        }
        self.local.counts.begun += 1;
        self.push(Open { node, ret, entry: begin.entry, exception });
    }

    fn end(&mut self) -> Option<Open> {
        let frame = self.pop()?;
        self.local.counts.ended += 1;
        Some(frame)
    }

    /// The frame on top ends because another one replaces it.
    fn end_replaced(&mut self) -> Option<Open> {
        let frame = self.end()?;
        if let Some(rare) = self.local.rare_mut(frame.node) {
            rare.replaced += 1;
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
            self.assume(target);
            return;
        }
        if transfer.entry { self.jump(transfer) } else { self.returned(transfer) }
    }

    /// A handler returns to `target`.
    fn resume(&mut self, target: u64) {
        if self.local.resumed.last() != Some(&target) {
            self.local.resumed.push(target);
        }
    }

    fn returned(&mut self, transfer: &Transfer) {
        self.settle();
        let exception = self.stack.last().is_some_and(|frame| frame.exception);
        if exception && transfer.kind == Kind::Return {
            self.local.counts.exception_returns += 1;
            self.resume(transfer.target);
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
