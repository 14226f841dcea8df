//! Call paths: what was executed, by the functions that called each other.

use std::collections::HashMap;

use hashbrown::HashTable;

use crate::code::FunctionId;
use crate::outermost::Outermost;
use crate::stacks::{Begin, Ending, Join, PathCounts, Position, Time, Visitor};

/// The most callers of a path, counted from the first frame of its thread, and the most that are
/// found beneath that frame. A function that is called deeper has a path beside that of its caller:
/// its own counts are right, those of its callers lack it.
pub const MAX_CALLERS: i32 = 512;

/// The most paths that are stored. Further ones belong to a path of their caller.
const MAX_PATHS: usize = 1 << 21;

/// The paths that memory is reserved for first, and how many times as many afterwards. Memory that
/// is not used costs nothing; paths that are moved do.
const LEAST: usize = 1 << 11;
const GROWTH: usize = 32;

/// The number of a path.
pub type PathId = u32;

/// The slots of the children that were looked up last, a power of two.
const RECENT: usize = 1 << 15;

/// A function on the path of its callers.
// In one line of the processor's caches: the paths of a program seldom fit into the nearest one.
#[derive(Clone, Debug, PartialEq, Eq)]
#[repr(align(64))]
pub struct Path {
    /// The path of the caller; a thread has none.
    pub parent: Option<PathId>,
    /// The function.
    pub function: FunctionId,
    /// Calls.
    pub calls: u64,
    /// Instructions in the function itself.
    pub instructions: u64,
    /// Processor cycles in the function itself, in parts of 2^-16.
    pub cycles: u64,
    /// Timestamp ticks in the function itself, in parts of 2^-16.
    pub ticks: u64,
    /// Frames that were marked as uncertain when they ended.
    pub uncertain: u64,
}

const _: () = assert!(size_of::<Path>() == 64);

/// A thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreadPaths {
    /// The source.
    pub source: usize,
    /// The identifier in the trace.
    pub id: Option<u64>,
    /// The path of the thread, which contains all others.
    pub root: PathId,
}

/// A clock of a source, and the paths that were executed since its last value.
#[derive(Clone, Debug, Default)]
struct Clock {
    /// The value before, once it is known.
    value: Option<u64>,
    instructions: u64,
    touched: Vec<PathId>,
    /// Trace was lost since the last value.
    lost: bool,
}

/// The paths of all threads.
#[derive(Clone, Debug, Default)]
pub struct Paths {
    paths: Vec<Path>,
    /// Of each path: instructions since the last cycle count and since the last timestamp. Shorter
    /// where there is none since.
    pending: Vec<[u64; 2]>,
    threads: Vec<ThreadPaths>,
    /// Children that were looked up: a direct-mapped table.
    recent: Vec<PathId>,
    /// As many as `paths`.
    links: Vec<Links>,
    /// The paths whose caller has more than [`MAX_LISTED`], by caller and function.
    children: HashTable<PathId>,
    /// For each source: cycles, timestamps.
    clocks: Vec<[Clock; 2]>,
    /// Paths beyond the most that are stored were found.
    pub overflowed: bool,
    /// Functions were called that have more than [`MAX_CALLERS`].
    pub too_deep: bool,
    /// How frames ended, for each function and ending.
    pub endings: HashMap<(FunctionId, Ending), u64>,
    /// Cycles and ticks between values where trace was lost: they belong to no function.
    pub lost: [u64; 2],
    /// The functions that threads began with.
    entered: Vec<(usize, FunctionId)>,
}

/// The paths that a path calls: a list, the one that was found last first.
#[derive(Clone, Copy, Debug)]
struct Links {
    /// The first one that it calls.
    first: PathId,
    /// The next one that its caller calls.
    next: PathId,
    /// The number of paths that it calls.
    count: u32,
    /// The number of its callers up to the first root of its thread. That of a root that was found
    /// later is negative.
    depth: i32,
}

/// The most paths of a caller that are found by its list.
const MAX_LISTED: u32 = 24;

/// No path.
const NONE: PathId = PathId::MAX;

impl Path {
    fn new(parent: Option<PathId>, function: FunctionId) -> Path {
        Path { parent, function, calls: 0, instructions: 0, cycles: 0, ticks: 0, uncertain: 0 }
    }
}

impl Paths {
    /// No paths.
    pub fn new() -> Paths {
        Paths::default()
    }

    /// All paths, in order of their numbers.
    pub fn paths(&self) -> &[Path] {
        &self.paths
    }

    /// All threads.
    pub fn threads(&self) -> &[ThreadPaths] {
        &self.threads
    }

    /// The outermost function of each thread, where there is only one.
    pub fn outermost(&self) -> Vec<Option<FunctionId>> {
        self.outermost_without(|_| false)
    }

    /// As [`outermost`](Self::outermost), without some functions beneath it.
    pub fn outermost_without(
        &self,
        without: impl Fn(FunctionId) -> bool,
    ) -> Vec<Option<FunctionId>> {
        let roots = self.threads.iter().enumerate().map(|(n, thread)| (thread.root, n));
        let mut roots: HashMap<PathId, usize> = roots.collect();
        let mut found = vec![Outermost::default(); self.threads.len()];
        for (thread, function) in self.entered.iter().filter(|(_, function)| !without(*function)) {
            if let Some(own) = found.get_mut(*thread) {
                own.enter(*function);
            }
        }
        for (id, path) in (0..).zip(&self.paths) {
            let number = path.parent.and_then(|parent| roots.get(&parent)).copied();
            let Some(number) = number else { continue };
            if without(path.function) {
                roots.insert(id, number);
            } else if let Some(own) = found.get_mut(number) {
                own.add(0, path.function);
            }
        }
        found.into_iter().map(Outermost::function).collect()
    }

    /// The number of instructions of all paths.
    pub fn instructions(&self) -> u64 {
        self.paths.iter().fold(0, |sum, path| sum.saturating_add(path.instructions))
    }

    /// The paths with their callers before them, and the depth of each. Paths with the same caller
    /// are in the order in which they were found.
    pub fn in_order(&self) -> Vec<(PathId, usize)> {
        // Of each path the first one that it calls, and the next one that its caller calls.
        let mut called = vec![(NONE, NONE); self.paths.len()];
        let mut first = NONE;
        for (number, path) in (0..self.paths.len() as PathId).zip(&self.paths).rev() {
            let caller = path.parent.and_then(|parent| called.get_mut(parent as usize));
            let list = caller.map_or(&mut first, |(first, _)| first);
            let next = std::mem::replace(list, number);
            if let Some(own) = called.get_mut(number as usize) {
                own.1 = next;
            }
        }
        let mut order = Vec::with_capacity(self.paths.len());
        let mut waiting = vec![(first, 0)];
        while let Some((number, depth)) = waiting.pop() {
            if let Some(&(first, next)) = called.get(number as usize) {
                order.push((number, depth));
                waiting.extend([(next, depth), (first, depth + 1)]);
            }
        }
        order
    }

    /// Adds the paths of another trace. `number` has the number of each of its threads among those
    /// of both: a thread with a number that is known is the same one.
    pub fn add_paths(&mut self, other: &Paths, number: impl Fn(usize) -> usize) {
        self.add_some(other, |thread| Some(number(thread)));
    }

    /// The paths of some threads. Their numbers are the positions among those of which `has` is
    /// true.
    #[must_use]
    pub fn of_threads(&self, has: impl Fn(usize) -> bool) -> Paths {
        let mut sum = Paths::new();
        let chosen: Vec<usize> = (0..self.threads.len()).filter(|n| has(*n)).collect();
        sum.add_some(self, |thread| chosen.binary_search(&thread).ok());
        sum
    }

    /// As [`add_paths`](Self::add_paths), without the threads that have no number.
    fn add_some(&mut self, other: &Paths, number: impl Fn(usize) -> Option<usize>) {
        let mut own: Vec<PathId> = vec![NONE; other.paths.len()];
        for (n, thread) in other.threads.iter().enumerate() {
            let Some(number) = number(n) else { continue };
            let root = self.thread(thread.source, number, thread.id);
            if let Some(slot) = own.get_mut(thread.root as usize) {
                *slot = root;
            }
        }
        for (id, _) in other.in_order() {
            let Some(path) = other.paths.get(id as usize) else { continue };
            let parent = path.parent.and_then(|parent| own.get(parent as usize).copied());
            if let Some(parent) = parent.filter(|parent| *parent != NONE)
                && let Some(slot) = own.get_mut(id as usize)
            {
                *slot = self.find(parent, path.function);
            }
            let sum = own.get(id as usize).and_then(|own| self.paths.get_mut(*own as usize));
            if let Some(sum) = sum {
                sum.calls = sum.calls.saturating_add(path.calls);
                sum.instructions = sum.instructions.saturating_add(path.instructions);
                sum.cycles = sum.cycles.saturating_add(path.cycles);
                sum.ticks = sum.ticks.saturating_add(path.ticks);
                sum.uncertain = sum.uncertain.saturating_add(path.uncertain);
            }
        }
        self.overflowed |= other.overflowed;
        self.too_deep |= other.too_deep;
        for (ending, count) in &other.endings {
            *self.endings.entry(*ending).or_default() += count;
        }
        for (sum, lost) in self.lost.iter_mut().zip(other.lost) {
            *sum = sum.saturating_add(lost);
        }
    }

    fn add(&mut self, path: Path, depth: i32) -> PathId {
        let number = self.paths.len() as PathId;
        if self.paths.len() == self.paths.capacity() {
            let more = (GROWTH - 1) * self.paths.len();
            // Where there is not as much, the vectors grow by themselves.
            let _ = self.paths.try_reserve_exact(more.max(LEAST));
            let _ = self.links.try_reserve_exact(more.max(LEAST));
        }
        self.paths.push(path);
        self.links.push(Links { first: NONE, next: NONE, count: 0, depth });
        number
    }

    /// The path of `function` called by `parent`, which may have been looked up before.
    #[inline]
    fn child(&mut self, parent: PathId, function: FunctionId) -> PathId {
        if let Some(recent) = self.recent.get(slot(parent, function))
            && let Some(path) = self.paths.get(*recent as usize)
            && path.function == function
            && path.parent == Some(parent)
        {
            return *recent;
        }
        let number = self.find(parent, function);
        if self.recent.is_empty() {
            self.recent = vec![NONE; RECENT];
        }
        if let Some(recent) = self.recent.get_mut(slot(parent, function)) {
            *recent = number;
        }
        number
    }

    /// The path of `function` called by `parent`.
    #[inline(never)]
    fn find(&mut self, parent: PathId, function: FunctionId) -> PathId {
        let depth = self.depth(parent);
        if depth >= MAX_CALLERS
            && let Some(above) = self.paths.get(parent as usize).and_then(|path| path.parent)
        {
            self.too_deep = true;
            return self.find(above, function);
        }
        match self.known(parent, function) {
            Some(number) => number,
            None if self.paths.len() >= MAX_PATHS => {
                self.overflowed = true;
                self.folded(parent, function)
            }
            None => {
                let number = self.add(Path::new(Some(parent), function), depth + 1);
                self.link(parent, number);
                number
            }
        }
    }

    /// As [`Links::depth`].
    fn depth(&self, path: PathId) -> i32 {
        self.links.get(path as usize).map_or(0, |links| links.depth)
    }

    /// The path of `function` called by `parent`, if there is one.
    fn known(&self, parent: PathId, function: FunctionId) -> Option<PathId> {
        let Links { first, count, .. } = *self.links.get(parent as usize)?;
        let is = |number: PathId| {
            let path = self.paths.get(number as usize);
            path.is_some_and(|path| path.function == function && path.parent == Some(parent))
        };
        if count > MAX_LISTED {
            return self.children.find(hash(parent, function), |number| is(*number)).copied();
        }
        let mut number = first;
        while let Some(links) = self.links.get(number as usize) {
            if is(number) {
                return Some(number);
            }
            number = links.next;
        }
        None
    }

    /// Adds a path to those that `parent` calls.
    fn link(&mut self, parent: PathId, number: PathId) {
        let Some(links) = self.links.get_mut(parent as usize) else { return };
        let next = std::mem::replace(&mut links.first, number);
        links.count += 1;
        let count = links.count;
        if let Some(own) = self.links.get_mut(number as usize) {
            own.next = next;
        }
        let Paths { paths, links, children, .. } = self;
        let hash_of = |number: &PathId| {
            let path = paths.get(*number as usize);
            path.map_or(0, |path| hash(path.parent.unwrap_or(NONE), path.function))
        };
        let mut number = number;
        // The first time all, then each.
        let mut wanted = if count == MAX_LISTED + 1 { count } else { 1 };
        while count > MAX_LISTED && wanted > 0 {
            children.insert_unique(hash_of(&number), number, hash_of);
            number = links.get(number as usize).map_or(NONE, |links| links.next);
            wanted -= 1;
        }
    }

    /// A path of `function` that exists: the nearest caller with this function, else the caller.
    fn folded(&self, parent: PathId, function: FunctionId) -> PathId {
        let mut number = parent;
        while let Some(path) = self.paths.get(number as usize) {
            if path.function == function {
                return number;
            }
            let Some(next) = path.parent else { break };
            number = next;
        }
        parent
    }

    /// The clocks of a source.
    fn clocks(&mut self, source: usize) -> Option<&mut [Clock; 2]> {
        if source >= self.clocks.len() {
            self.clocks.resize_with(source + 1, Default::default);
        }
        self.clocks.get_mut(source)
    }

    /// A clock of a source has advanced by `amount`: it is distributed over the instructions since
    /// the last value.
    fn advance(&mut self, source: usize, which: usize, amount: Option<u64>) {
        let Some(clock) = self.clocks(source).and_then(|clocks| clocks.get_mut(which)) else {
            return;
        };
        let (all, lost) =
            (std::mem::take(&mut clock.instructions), std::mem::take(&mut clock.lost));
        let touched = std::mem::take(&mut clock.touched);
        let amount = amount.unwrap_or(0);
        if let Some(sum) = self.lost.get_mut(which).filter(|_| lost || all == 0) {
            *sum = sum.saturating_add(amount);
        }
        let scaled = u128::from(if lost { 0 } else { amount }) << 16;
        let (mut before, mut given) = (0u128, 0u128);
        for number in touched {
            let n = number as usize;
            let Some(path) = self.paths.get_mut(n) else { continue };
            let Some(pending) = self.pending.get_mut(n).and_then(|own| own.get_mut(which)) else {
                continue;
            };
            before += u128::from(std::mem::take(pending));
            // The sum of all shares is the amount.
            let share = scaled * before / u128::from(all.max(1)) - given;
            given += share;
            let sum = if which == 0 { &mut path.cycles } else { &mut path.ticks };
            *sum = sum.saturating_add(u64::try_from(share).unwrap_or(u64::MAX));
        }
    }
}

impl Join for Paths {
    fn room(&self) -> usize {
        MAX_PATHS.saturating_sub(self.paths.len())
    }

    fn add(&mut self, parent: PathId, function: FunctionId, counts: &PathCounts) -> PathId {
        let number = self.find(parent, function);
        if let Some(path) = self.paths.get_mut(number as usize) {
            path.calls = path.calls.saturating_add(counts.calls);
        }
        if counts.replaced > 0 {
            *self.endings.entry((function, Ending::Replaced)).or_default() += counts.replaced;
        }
        number
    }
}

impl Visitor for Paths {
    type Node = PathId;

    fn thread(&mut self, source: usize, thread: usize, id: Option<u64>) -> PathId {
        if let Some(known) = self.threads.get_mut(thread) {
            known.id = id;
            return known.root;
        }
        let root = self.add(Path::new(None, FunctionId::Unknown), 0);
        self.threads.push(ThreadPaths { source, id, root });
        root
    }

    fn entered(&mut self, thread: usize, function: FunctionId) {
        self.entered.push((thread, function));
    }

    #[inline]
    fn begin(&mut self, _: &Position, parent: PathId, begin: &Begin) -> PathId {
        let number = self.child(parent, begin.function);
        if begin.entry.is_call()
            && let Some(path) = self.paths.get_mut(number as usize)
        {
            path.calls += 1;
        }
        number
    }

    #[inline]
    fn end(&mut self, _: &Position, node: PathId, ending: Ending, uncertain: bool) {
        if ending == Ending::Return && !uncertain {
            return;
        }
        let Some(path) = self.paths.get_mut(node as usize) else { return };
        path.uncertain += u64::from(uncertain);
        *self.endings.entry((path.function, ending)).or_default() += 1;
    }

    fn beneath(&mut self, position: &Position, root: PathId, begin: &Begin) -> (PathId, PathId) {
        let depth = self.depth(root);
        if depth <= -MAX_CALLERS || self.paths.len() >= MAX_PATHS {
            self.too_deep = true;
            return (self.find(root, begin.function), root);
        }
        // The root becomes the path of the function, with all paths that it has.
        let new = self.add(Path::new(None, FunctionId::Unknown), depth - 1);
        if let Some(path) = self.paths.get_mut(root as usize) {
            (path.function, path.parent) = (begin.function, Some(new));
        }
        self.link(new, root);
        if let Some(thread) = self.threads.get_mut(position.thread) {
            thread.root = new;
        }
        (root, new)
    }

    #[inline]
    fn run(&mut self, position: &Position, node: PathId, instructions: u64, cycles: u64) {
        if let Some(path) = self.paths.get_mut(node as usize) {
            path.instructions = path.instructions.saturating_add(instructions);
            path.cycles = path.cycles.saturating_add(cycles << 16);
        }
        let Some(clocks) = self.clocks.get_mut(position.source) else { return };
        for (which, clock) in clocks.iter_mut().enumerate().filter(|(_, c)| c.value.is_some()) {
            clock.instructions = clock.instructions.saturating_add(instructions);
            if node as usize >= self.pending.len() {
                self.pending.resize(self.paths.len().max(node as usize + 1), [0; 2]);
            }
            let own = self.pending.get_mut(node as usize);
            if let Some(pending) = own.and_then(|own| own.get_mut(which)) {
                if *pending == 0 {
                    clock.touched.push(node);
                }
                *pending = pending.saturating_add(instructions);
            }
        }
    }

    fn time(&mut self, position: &Position, time: Time) {
        let source = position.source;
        let (which, value) = match time {
            Time::Timestamp(value) => (1, Some(value)),
            Time::Cycles(value) => (0, Some(value)),
            Time::CyclesLost | Time::TimestampsLost => (0, None),
        };
        let Some(clock) = self.clocks(source).and_then(|clocks| clocks.get_mut(which)) else {
            return;
        };
        let before = std::mem::replace(&mut clock.value, value.or(Some(0)));
        match (which, before, value) {
            (1, Some(before), Some(value)) => {
                self.advance(source, 1, Some(value.saturating_sub(before)));
            }
            (0, Some(_), cycles) => self.advance(source, 0, cycles),
            _ => {}
        }
    }

    fn lost(&mut self, position: &Position) {
        for clock in self.clocks(position.source).into_iter().flatten() {
            clock.lost = true;
        }
    }

    fn buffer(&mut self, source: usize) {
        for which in 0..2 {
            self.advance(source, which, None);
        }
        for clock in self.clocks(source).into_iter().flatten() {
            *clock = Clock::default();
        }
    }
}

#[inline]
const fn hash(parent: PathId, function: FunctionId) -> u64 {
    let function = match function {
        FunctionId::Known(number) => number as u64,
        FunctionId::At(address) => address,
        FunctionId::Handler(number) => number as u64 | 1 << 32,
        FunctionId::Unknown => u64::MAX,
    };
    let product = tracewright_base::mix(function ^ (parent as u64) << 40);
    product ^ product >> 32
}

/// The slot of a path that `parent` calls.
#[inline]
const fn slot(parent: PathId, function: FunctionId) -> usize {
    hash(parent, function) as usize & (RECENT - 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stacks::Entry;

    /// Few and many functions called from one path, each of them several times: each has one path,
    /// also where another path calls the same functions, and where the root gets a caller.
    #[test]
    fn each_function_has_one_path() {
        for count in [1, MAX_LISTED - 1, MAX_LISTED, MAX_LISTED + 1, 5 * MAX_LISTED] {
            let mut paths = Paths::new();
            let position = Position::default();
            let mut root = paths.thread(0, 0, None);
            let begin = |n| {
                let (function, address) = (FunctionId::Known(n), None);
                Begin { function, entry: Entry::Call, address }
            };
            let mut children = Vec::new();
            for turn in 0..3u64 {
                for n in 0..count {
                    let path = paths.begin(&position, root, &begin(n));
                    let below = paths.begin(&position, path, &begin(n));
                    if turn == 0 {
                        children.push((path, below));
                    }
                    assert_eq!(children[n as usize], (path, below));
                    assert_eq!(paths.paths()[path as usize].calls, turn + 1);
                }
                if turn == 1 {
                    let (own, above) = paths.beneath(&position, root, &begin(1000));
                    assert_eq!(own, root);
                    assert_eq!(paths.begin(&position, above, &begin(1000)), own);
                    root = own;
                }
            }
            assert_eq!(paths.paths().len(), 2 + 2 * count as usize);
        }
    }

    /// Paths beyond the most are part of others, so that no call is lost.
    #[test]
    fn paths_are_bounded() {
        let mut paths = Paths::new();
        let position = Position::default();
        let root = paths.thread(0, 0, None);
        for n in 0..MAX_PATHS as u32 + 10 {
            let begin = Begin { function: FunctionId::Known(n), entry: Entry::Call, address: None };
            paths.begin(&position, root, &begin);
            assert_eq!(paths.overflowed, n as usize + 1 >= MAX_PATHS, "{n}");
        }
        assert_eq!(paths.paths().len(), MAX_PATHS);
        let calls: u64 = paths.paths().iter().map(|path| path.calls).sum();
        assert_eq!(calls, MAX_PATHS as u64 + 10);
    }

    /// A path has a bounded number of callers. The counts of each function are right.
    #[test]
    fn deep_paths_are_beside_their_callers() {
        let count = 3 * MAX_CALLERS as u32;
        let mut paths = Paths::new();
        let position = Position::default();
        let mut root = paths.thread(0, 0, None);
        let begin = |n| Begin { function: FunctionId::Known(n), entry: Entry::Call, address: None };
        let mut top = root;
        for n in 0..count {
            top = paths.begin(&position, top, &begin(n));
            paths.run(&position, top, u64::from(n), 0);
        }
        assert!(paths.too_deep);
        for n in count..2 * count {
            root = paths.beneath(&position, root, &begin(n)).1;
        }
        let deepest = paths.in_order().into_iter().map(|(_, depth)| depth).max();
        assert_eq!(deepest, Some(2 * MAX_CALLERS as usize));
        let all = crate::functions::by_thread(&paths);
        assert_eq!(all[0].len(), 2 * count as usize);
        for (function, totals) in &all[0] {
            let FunctionId::Known(n) = function else { continue };
            let want = if *n < count { (1, u64::from(*n)) } else { (0, 0) };
            assert_eq!((totals.calls, totals.instructions), want, "{n}");
        }
    }
}
