//! Executions of source lines, of which a program has several copies.

use std::collections::{BTreeMap, HashMap, HashSet};

use tracewright_symbols::{Frame, Functions, Lines, Location, Row};

use super::program::ProgramCoverage;

/// The number of a line in a function, or in a function that is inlined there by one line.
type Node = u32;

/// No node.
const NONE: Node = Node::MAX;

/// The lines in which code is, each with the line that has the call of its function.
#[derive(Default)]
struct Nodes {
    /// By the node of the call, or for `false` the number of the function, which is not inlined.
    known: HashMap<(bool, u32, Location), Node>,
    /// Of each node: that of the call, [`NONE`] where the function is not inlined; and the line.
    all: Vec<(Node, Location)>,
    files: HashMap<String, u32>,
}

impl Nodes {
    fn of(&mut self, call: Node, function: u32, line: Location) -> Node {
        let new = self.all.len() as Node;
        let key = (call != NONE, if call == NONE { function } else { call }, line);
        let node = *self.known.entry(key).or_insert(new);
        if node == new {
            self.all.push((call, line));
        }
        node
    }

    fn location(&mut self, (path, line): &(String, u32)) -> Location {
        let new = self.files.len() as u32;
        let file = match self.files.get(path) {
            Some(file) => *file,
            None => *self.files.entry(path.clone()).or_insert(new),
        };
        Location { file, line: *line }
    }

    fn call(&self, node: Node) -> Node {
        self.all.get(node as usize).map_or(NONE, |(call, _)| *call)
    }

    fn line(&self, node: Node) -> Location {
        self.all.get(node as usize).map(|(_, line)| *line).unwrap_or_default()
    }

    /// Whether `node` is `outer`, or in a function that is inlined by it.
    fn is_in(&self, mut node: Node, outer: Node) -> bool {
        while node != NONE && node != outer {
            node = self.call(node);
        }
        node == outer
    }
}

/// A line of the code of a [`Place`].
#[derive(Clone, Copy, PartialEq, Eq)]
struct Own {
    node: Node,
    /// The column of the code.
    column: u32,
    /// The column of the statement that begins at the first address, if one does.
    begin: Option<u32>,
}

/// The most lines with code from one address on. Functions that linkers have joined have several.
const MAX_OWN: usize = 64;

/// The most instructions of no line that are followed back from the begin of a statement.
const MAX_UNNAMED: usize = 64;

/// The code from an address at which rows of the line table begin up to the next one.
struct Place {
    start: u64,
    last: u64,
    /// The index of the first of its lines.
    own: u32,
}

/// Executions of a copy of a line: in a function, or in one that is inlined there.
#[derive(Default)]
struct Copy {
    /// The most executions of an instruction.
    most: u64,
    /// Executions from where a statement begins, by its column.
    begun: BTreeMap<u32, u64>,
    /// Executions up to a conditional branch, by its column.
    tested: BTreeMap<u32, u64>,
    /// The fewest executions of an instruction of a function that is inlined by it, of those that
    /// were executed.
    inlined: u64,
}

impl Copy {
    fn executions(&self) -> u64 {
        let all = self.begun.values().chain(self.tested.values());
        // All of its own code may be on a path that was not executed.
        match all.fold(self.most, |most, n| most.max(*n)) {
            0 => self.inlined,
            most => most,
        }
    }
}

/// The copies of all lines of a program file.
#[derive(Default)]
pub(super) struct Copies {
    nodes: Nodes,
    /// In order of their addresses.
    places: Vec<Place>,
    /// The lines of all places.
    own: Vec<Own>,
}

impl Copies {
    /// Those of `lines`, whose functions are `functions`. `each` receives the rows of each
    /// function, in order, with the functions that are inlined there.
    ///
    /// Code in none of the functions may be that of functions that the linker has discarded. It is
    /// left out, unless it was executed, or the file has no functions: then that of each function
    /// of the debug information is apart.
    pub(super) fn new(
        lines: &Lines,
        functions: &Functions,
        covered: &ProgramCoverage,
        mut each: impl FnMut(u32, &Row, &[Frame]),
    ) -> Copies {
        let mut all = Copies::default();
        let mut unnamed: HashMap<Option<String>, u32> = HashMap::new();
        let files = (0..lines.files() as u32).filter_map(|n| Some((lines.file(n)?.to_owned(), n)));
        all.nodes.files = files.collect();
        let mut groups = lines.rows().chunk_by(|a, b| a.start == b.start).peekable();
        while let Some(rows) = groups.next() {
            let Some(Row { start, last, .. }) = rows.last().copied() else { continue };
            let next = groups.peek().and_then(|rows| rows.first()).map(|row| row.start);
            let last = next.map_or(last, |next| last.min(next.saturating_sub(1)));
            let function = functions.at(start).function;
            let executed = || covered.executions.range(start..=last).next().is_some();
            if function.is_none() && !functions.is_empty() && !executed() {
                continue;
            }
            let frames = lines.frames(start);
            let function = function.unwrap_or_else(|| {
                // Behind the numbers of the functions.
                let next = functions.len().saturating_add(unnamed.len()) as u32;
                let name = frames.last().and_then(|frame| frame.function.clone());
                *unnamed.entry(name).or_insert(next)
            });
            rows.iter().for_each(|row| each(function, row, &frames));
            let mut call = NONE;
            for outer in frames.iter().skip(1).rev().filter_map(|frame| frame.location.as_ref()) {
                let line = all.nodes.location(outer);
                call = all.nodes.of(call, function, line);
            }
            let first = all.own.len();
            for row in rows.iter().filter(|row| row.location.line > 0).take(MAX_OWN) {
                let node = all.nodes.of(call, function, row.location);
                let mut begins = lines.begins(start).iter().take(MAX_OWN);
                let begin = match row.statement {
                    true => Some(row.column),
                    false => begins.rfind(|b| b.location == row.location).map(|b| b.column),
                };
                let own = Own { node, column: row.column, begin };
                if !all.own.get(first..).unwrap_or_default().contains(&own) {
                    all.own.push(own);
                }
            }
            all.places.push(Place { start, last, own: first as u32 });
        }
        all
    }

    /// The code of the lines, without overlaps, in order.
    pub(super) fn code(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.places.iter().map(|place| (place.start, place.last))
    }

    /// The first address of the code around `address`, and its lines.
    fn place(&self, address: u64) -> Option<(u64, &[Own])> {
        let next = self.places.partition_point(|place| place.start <= address);
        let place = self.places.get(next.checked_sub(1)?).filter(|place| address <= place.last)?;
        let end = self.places.get(next).map_or(self.own.len(), |next| next.own as usize);
        let own = self.own.get(place.own as usize..end)?;
        (!own.is_empty()).then_some((place.start, own))
    }

    /// The lines with code at `address`.
    fn at(&self, address: u64) -> &[Own] {
        self.place(address).map_or(&[], |(_, own)| own)
    }

    /// The executions of each line for which `counts` holds.
    ///
    /// A line has the sum of the executions of its copies in functions, and in what is inlined.
    /// Of one of these copies, an optimising compiler makes copies as well, when it moves the
    /// condition of a loop to its end: where a statement with the same line and column begins
    /// several times, and where several conditional branches have the same line and column, their
    /// executions are summed. Other parts of the line are parts of the same execution: of them, the
    /// one that was executed most often counts.
    pub(super) fn executions(
        &self,
        covered: &ProgramCoverage,
        counts: impl Fn(Location) -> bool,
    ) -> HashMap<Location, u64> {
        let mut copies: HashMap<Node, Copy> = HashMap::new();
        for node in self.own.iter().map(|own| own.node) {
            if counts(self.nodes.line(node)) {
                copies.entry(node).or_default();
            }
        }
        let (mut block, mut last) = (Block::default(), None);
        for (&address, &count) in &covered.executions {
            let Some((start, own)) = self.place(address) else { continue };
            if covered.flow.begins_block(address, last) {
                self.end(&mut block, covered, &mut copies);
            }
            let origins = block.last.is_none().then(|| covered.flow.origins(address, count));
            for own in own {
                let mut call = self.nodes.call(own.node);
                while call != NONE && count > 0 {
                    if let Some(copy) = copies.get_mut(&call) {
                        let least = if copy.inlined == 0 { count } else { copy.inlined };
                        copy.inlined = least.min(count);
                    }
                    call = self.nodes.call(call);
                }
                let Some(copy) = copies.get_mut(&own.node) else { continue };
                copy.most = copy.most.max(count);
                let begin = own.begin.filter(|_| address == start);
                let Some(column) = begin.filter(|_| !block.seen.contains(&own.node)) else {
                    continue;
                };
                // Where the line was executed directly before, it only continues.
                let origins = origins.iter().flatten().copied();
                let continued = self.continued(covered, origins, own.node, &mut HashMap::new());
                let entered = count.saturating_sub(continued);
                block.begun.insert(own.node, entered);
                let sum = copy.begun.entry(column).or_default();
                *sum = sum.saturating_add(entered);
            }
            for own in own {
                let mut node = own.node;
                while node != NONE && block.seen.insert(node) {
                    node = self.nodes.call(node);
                }
            }
            (block.last, last) = (Some(address), Some(address));
        }
        self.end(&mut block, covered, &mut copies);
        let mut all: HashMap<Location, u64> = HashMap::new();
        for (node, copy) in &copies {
            let sum = all.entry(self.nodes.line(*node)).or_default();
            *sum = sum.saturating_add(copy.executions());
        }
        all
    }

    /// How often a line was executed directly before, of what executed `origins`. Code of no line
    /// that is between, which compilers add, continues the line that was executed before it.
    fn continued(
        &self,
        covered: &ProgramCoverage,
        origins: impl IntoIterator<Item = (u64, u64)>,
        line: Node,
        known: &mut HashMap<u64, u64>,
    ) -> u64 {
        let mut sum = 0u64;
        for (from, count) in origins {
            let own = self.at(from);
            let continued = if own.iter().any(|own| self.nodes.is_in(own.node, line)) {
                count
            } else if !own.is_empty() {
                0
            } else if let Some(known) = known.get(&from) {
                count.min(*known)
            } else if known.len() < MAX_UNNAMED {
                // A loop of such code continues nothing.
                known.insert(from, 0);
                let executions = covered.executions.get(&from).copied().unwrap_or(0);
                let before = covered.flow.origins(from, executions);
                let continued = self.continued(covered, before, line, known);
                known.insert(from, continued);
                count.min(continued)
            } else {
                0
            };
            sum = sum.saturating_add(continued);
        }
        sum
    }

    /// Ends a block, and begins the next one. A branch at its end decides for the line.
    fn end(&self, block: &mut Block, covered: &ProgramCoverage, copies: &mut HashMap<Node, Copy>) {
        let branch = block.last.filter(|last| covered.branches.contains_key(last));
        let mut tested: Vec<Own> = branch.map(|at| self.at(at).to_vec()).unwrap_or_default();
        tested.dedup_by_key(|own| (own.node, own.column));
        for own in tested {
            if let (Some(entered), Some(copy)) =
                (block.begun.get(&own.node), copies.get_mut(&own.node))
            {
                let sum = copy.tested.entry(own.column).or_default();
                *sum = sum.saturating_add(*entered);
            }
        }
        block.seen.clear();
        block.begun.clear();
        block.last = None;
    }
}

/// The current basic block.
#[derive(Default)]
struct Block {
    /// The lines that it has executed.
    seen: HashSet<Node>,
    /// How often each line was executed from a statement that begins in the block.
    begun: HashMap<Node, u64>,
    /// Its last instruction so far.
    last: Option<u64>,
}
