//! From ranges to instructions.

use tracewright_base::{
    Batch, BlockId, Code, Context, Element, Isa, Kind, Part, Pc, Range, Turns, Waypoints,
};
use tracewright_decode::listener::each_turn;
use tracewright_decode::{self as decode, Event, Fork, Listener, Received, Size};
use tracewright_image::{Cache, CacheOptions, MemoryId, Selection};

use crate::disassembly::narrow;
use crate::sources::Source;

/// One executed instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Its address.
    pub address: u64,
    /// Its instruction set.
    pub isa: Isa,
    /// Its opcode, where [`Steps::OPCODES`] asks for it and program memory has it. A narrow T32
    /// opcode is in bits \[15:0]; a wide one has its first halfword in bits \[31:16].
    pub opcode: Option<u32>,
    /// Whether the last instruction of a range took effect. `None` for all other instructions.
    pub taken: Option<bool>,
    /// The trace reports that an instruction other than a branch failed its condition: it had no
    /// effect. (ETMv1 to v3)
    pub failed: bool,
    /// Cycles of the range that ends with the instruction.
    pub cycles: Option<u32>,
}

/// Receives instructions, and the elements between them.
pub trait Steps {
    /// Steps have opcodes.
    const OPCODES: bool = true;

    /// An instruction was executed.
    fn step(&mut self, source: usize, at: u64, step: &Step);

    /// Takes all instructions of `range` from a cache, where the range was taken before in the
    /// context with number `context`. `false`: each instruction follows, and then
    /// [`store`](Self::store).
    fn recall(&mut self, source: usize, range: &Range, context: usize) -> bool {
        let _ = (source, range, context);
        false
    }

    /// The last instruction of the range was taken.
    fn store(&mut self) {}

    /// Whether [`recall_block`](Self::recall_block) may be called: all instructions are taken.
    fn takes_blocks(&self) -> bool {
        false
    }

    /// As [`recall`](Self::recall), of a cached block with a number. `program` identifies the source
    /// and its context.
    #[inline(always)]
    fn recall_block(&mut self, program: ProgramId, id: BlockId, range: &Range) -> bool {
        let _ = (program, id, range);
        false
    }

    /// All instructions of the block follow, and then [`store_block`](Self::store_block). `false`:
    /// they are taken as those of any other range.
    fn begin_block(&mut self, program: ProgramId, id: BlockId, range: &Range) -> bool {
        let _ = (program, id, range);
        false
    }

    /// All instructions of the block were taken since [`begin_block`](Self::begin_block).
    fn store_block(&mut self, program: ProgramId, id: BlockId, range: &Range) {
        let _ = (program, id, range);
    }

    /// An element other than a range.
    fn other(&mut self, source: usize, at: u64, element: &Element) {
        let _ = (source, at, element);
    }

    /// The memory is that of `selection`: see [`Event::Select`].
    fn select(&mut self, source: usize, selection: Selection) {
        let _ = (source, selection);
    }

    /// An element other than a range that is not shown. The context and the memory may follow from
    /// it.
    fn hidden(&mut self, source: usize, element: &Element) {
        let _ = (source, element);
    }

    /// `turns` further turns of a loop, whose instructions are not listed. `false`: each of their
    /// instructions follows.
    fn unlisted(&mut self, source: usize, at: u64, ranges: &[Range], turns: u64) -> bool {
        let _ = (source, at, ranges, turns);
        false
    }

    /// Nothing more is taken.
    fn full(&self) -> bool {
        false
    }
}

/// Identifies a source and its context: the program that addresses belong to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProgramId(u32);

impl ProgramId {
    /// No program.
    pub const NONE: ProgramId = ProgramId(0);

    /// That of `source` in the context with number `context`. [`NONE`](ProgramId::NONE) if one of
    /// them is too large.
    #[must_use]
    pub fn new(source: usize, context: usize) -> Self {
        match u32::try_from(source) {
            Ok(source) if source < 1 << 22 && context < CONTEXTS => {
                ProgramId(source << 9 | context as u32 + 1)
            }
            _ => ProgramId::NONE,
        }
    }

    /// The source.
    #[inline]
    #[must_use]
    pub const fn source(self) -> u32 {
        self.0 >> 9
    }
}

/// Expands ranges to instructions.
#[derive(Debug)]
pub struct Expand<V> {
    /// The receiver of the instructions.
    pub view: V,
    sources: Vec<Program>,
    /// The source that is decoded, and its program; [`ProgramId::NONE`] where the view takes no
    /// blocks.
    entered: (usize, ProgramId),
    /// The range whose instructions are being passed on, if they are not all passed on.
    rest: Option<Rest>,
}

/// The instructions of a range that are not passed on yet.
#[derive(Clone, Copy, Debug)]
struct Rest {
    source: usize,
    at: u64,
    range: Range,
    /// The address and the number of the next instruction.
    address: u64,
    next: u32,
}

/// Opcodes of four bytes that are read from memory together.
#[derive(Default)]
struct Words {
    words: [u32; Words::MOST],
    /// The next one, and their number.
    next: usize,
    len: usize,
}

impl Words {
    const MOST: usize = 16;

    /// The opcode at `pc`, where `pc` is that after the last call, and `left` opcodes are needed.
    #[inline]
    fn next(&mut self, left: u32, pc: Pc, cache: &mut Cache) -> Option<u32> {
        if self.next == self.len {
            let mut bytes = [0; 4 * Words::MOST];
            let wanted = 4 * Words::MOST.min(left as usize);
            let read = cache.read(pc, bytes.get_mut(..wanted).unwrap_or_default());
            (self.next, self.len) = (0, read / 4);
            for (word, bytes) in self.words.iter_mut().zip(bytes.as_chunks().0) {
                *word = u32::from_le_bytes(*bytes);
            }
            if self.len == 0 {
                return None;
            }
        }
        self.next += 1;
        self.words.get(self.next - 1).copied()
    }
}

/// Instructions that are passed on before output is taken.
const AT_ONCE: u32 = 1 << 10;

/// The program of a source, and its context.
#[derive(Debug)]
struct Program {
    cache: Cache,
    memory: decode::Program,
    /// What selects the memory after the last element.
    selection: Selection,
    context: Context,
    /// The contexts so far, each with its memory. The number of a context is its index.
    contexts: Vec<(Context, MemoryId)>,
    number: usize,
}

/// The most contexts with numbers. Ranges in other contexts are not cached.
const CONTEXTS: usize = 256;

impl Program {
    fn new(cache: Cache, memory: decode::Program) -> Self {
        let (context, selection) = (Context::default(), memory.begin());
        let contexts = vec![(context, selection.memory)];
        Program { cache, memory, selection, context, contexts, number: 0 }
    }

    /// Whether the context has a number.
    fn known(&self) -> bool {
        self.number != usize::MAX
    }

    fn enter(&mut self, context: Context, selection: Selection) {
        (self.context, self.selection) = (context, selection);
        let context = (context, selection.memory);
        self.number = match self.contexts.iter().position(|known| *known == context) {
            Some(number) => number,
            None => {
                // A number is never reused: the cached text of a range is that of its context.
                if self.contexts.len() >= CONTEXTS {
                    return self.number = usize::MAX;
                }
                self.contexts.push(context);
                self.contexts.len() - 1
            }
        };
    }
}

impl<V: Steps> Expand<V> {
    /// Passes the instructions of `sources` to `view`.
    pub fn new(view: V, sources: &[Source]) -> Self {
        let program = |source: &Source| {
            let options = CacheOptions { riscv: source.config.riscv(), ..CacheOptions::default() };
            let cache = source.program.cache(Waypoints::default(), options);
            Program::new(cache, source.program.clone())
        };
        let sources = sources.iter().map(program).collect();
        Expand { view, sources, entered: (usize::MAX, ProgramId::NONE), rest: None }
    }

    /// The elements that follow are of `source`, or its context is another one.
    fn enter(&mut self, source: usize) {
        let id = match self.sources.get(source) {
            Some(program)
                if program.known()
                    && !program.memory.watches_addresses()
                    && self.view.takes_blocks() =>
            {
                ProgramId::new(source, program.number)
            }
            _ => ProgramId::NONE,
        };
        self.entered = (source, id);
    }

    /// As [`begin`](Self::begin), of a cached block that the view has not stored.
    #[cold]
    #[inline(never)]
    fn begin_block(&mut self, source: usize, at: u64, id: BlockId, range: Range) -> bool {
        let (entered, known) = self.entered;
        let begun = entered == source
            && known != ProgramId::NONE
            && self.view.begin_block(known, id, &range);
        let Some(program) = self.sources.get_mut(source).filter(|_| begun) else {
            return self.begin(source, at, range);
        };
        program.cache.select(program.selection);
        let more = self.steps(Rest { source, at, range, address: range.start, next: 0 });
        if !more {
            self.view.store_block(known, id, &range);
        }
        more
    }

    /// A cached block. It has few instructions.
    #[inline]
    fn block(&mut self, source: usize, at: u64, id: BlockId, range: Range) {
        if self.view.recall_block(self.entered.1, id, &range) {
            return;
        }
        let mut more = self.begin_block(source, at, id, range);
        while more && !self.view.full() {
            more = self.continue_range();
        }
    }

    /// Elements that are not received selected other memory.
    fn select(&mut self, source: usize, selection: Selection) {
        if let Some(program) = self.sources.get_mut(source) {
            program.enter(program.context, selection);
        }
        self.enter(source);
        self.view.select(source, selection);
    }

    /// Passes on the first instructions of a range, or all of them from the view's cache. Returns
    /// whether there are more.
    pub(crate) fn begin(&mut self, source: usize, at: u64, range: Range) -> bool {
        let Some(program) = self.sources.get_mut(source) else { return false };
        program.cache.select(program.selection);
        if program.memory.watches_addresses() {
            let mut selection = program.selection;
            program.memory.follow(&mut selection, &Element::Range(range));
            // The number is that of the range until it is passed on.
            program.selection = selection;
        }
        if program.known() && self.view.recall(source, &range, program.number) {
            return false;
        }
        self.steps(Rest { source, at, range, address: range.start, next: 0 })
    }

    /// Passes on the next instructions, at most [`AT_ONCE`]. Returns whether there are more.
    fn steps(&mut self, rest: Rest) -> bool {
        let Rest { source, at, range, mut address, next } = rest;
        let Some(program) = self.sources.get_mut(source) else { return false };
        let (isa, mask) = (range.last.isa, range.last.isa.address_mask());
        let end = range.instructions.min(next.saturating_add(AT_ONCE));
        let mut words = Words::default();
        for n in next..end {
            let pc = Pc { address, isa, space: program.context.space() };
            let opcode = match isa {
                _ if !V::OPCODES => None,
                Isa::A64 | Isa::A32 => words.next(end - n, pc, &mut program.cache),
                _ => program.cache.opcode(pc),
            };
            let last = n + 1 == range.instructions;
            self.view.step(
                source,
                at,
                &Step {
                    address,
                    isa,
                    opcode,
                    taken: last.then_some(range.last.taken()),
                    failed: last && range.last.kind == Kind::Plain && !range.last.taken(),
                    cycles: if last { range.cycles.get() } else { None },
                },
            );
            let size = match (isa, opcode) {
                (Isa::A64 | Isa::A32, _) => 4,
                // The length of a custom opcode is in the table of the processor only.
                (Isa::T32 | Isa::ThumbEe | Isa::Rv32 | Isa::Rv64, Some(opcode))
                    if (narrow(isa, opcode) || opcode & 0x1f != 0x1f)
                        && !program.cache.riscv().has_custom() =>
                {
                    2 + 2 * u64::from(!narrow(isa, opcode))
                }
                // The decoder has read the instruction, so program memory has it.
                _ => program.cache.instruction(pc).map_or(2, |i| u64::from(i.size)),
            };
            address = address.wrapping_add(size) & mask;
        }
        if end < range.instructions {
            self.rest = Some(Rest { address, next: end, ..rest });
            return true;
        }
        if program.known() {
            self.view.store();
        }
        false
    }

    /// Passes on the next instructions of the range. Returns whether there are more.
    pub(crate) fn continue_range(&mut self) -> bool {
        self.rest.take().is_some_and(|rest| self.steps(rest))
    }

    pub(crate) fn other(&mut self, source: usize, at: u64, element: &Element) {
        if let Some(program) = self.sources.get_mut(source) {
            let mut selection = program.selection;
            let context = match element {
                Element::Context(context) => *context,
                _ => program.context,
            };
            program.memory.follow(&mut selection, element);
            program.enter(context, selection);
            self.enter(source);
        }
        self.view.other(source, at, element);
    }
}

/// The memory that a source sees depends on its context.
impl<V: Steps + Fork> Fork for Expand<V> {
    type State = (Vec<(Context, Selection)>, V::State);
    type Output = V::Output;

    fn fork(&self) -> Self {
        let fresh = |program: &Program| Program::new(program.cache.clone(), program.memory.clone());
        let sources = self.sources.iter().map(fresh).collect();
        let entered = (usize::MAX, ProgramId::NONE);
        Expand { view: self.view.fork(), sources, entered, rest: None }
    }

    fn state(&self) -> Self::State {
        let selected = |program: &Program| (program.context, program.selection);
        (self.sources.iter().map(selected).collect(), self.view.state())
    }

    fn resume(&mut self, (contexts, state): Self::State) {
        for (program, (context, selection)) in self.sources.iter_mut().zip(contexts) {
            program.enter(context, selection);
        }
        self.rest = None;
        self.entered = (usize::MAX, ProgramId::NONE);
        self.view.resume(state);
    }

    fn take(&mut self) -> V::Output {
        self.view.take()
    }

    #[inline]
    fn size(&self) -> Size {
        self.view.size()
    }

    /// A range may have any number of instructions.
    #[inline]
    fn receive(&mut self, next: Option<Received>) -> bool {
        match next {
            None => self.continue_range(),
            Some(Received { source, at, element: Element::Range(range) }) => {
                self.begin(source, at, range)
            }
            Some(Received { source, at, element }) => {
                self.other(source, at, &element);
                false
            }
        }
    }
}

impl<V: Steps> Listener for Expand<V> {
    fn element(&mut self, source: usize, at: u64, element: Element) {
        let Element::Range(range) = element else {
            return self.other(source, at, &element);
        };
        let mut more = self.begin(source, at, range);
        while more && !self.view.full() {
            more = self.continue_range();
        }
    }

    fn batch(&mut self, batch: &Batch<'_>) {
        let source = batch.source;
        if self.entered.0 != source {
            self.enter(source);
        }
        for part in batch.parts() {
            match part {
                Part::Steps(steps) => {
                    for &step in steps {
                        if let Some(range) = batch.range(step) {
                            self.block(source, batch.at(step), step.id(), range);
                        }
                    }
                }
                Part::Element(at, element) => self.element(source, at, element),
                Part::Turns(turns) => {
                    let Turns { at, ranges, times, listed } = turns;
                    if listed || !self.view.unlisted(source, at, ranges, times) {
                        each_turn(self, source, &turns);
                    }
                }
            }
        }
    }

    fn event(&mut self, event: &Event<'_>) {
        if let Event::Select { source, selection } = event {
            self.select(*source, *selection);
        }
    }

    fn full(&self) -> bool {
        self.view.full()
    }
}
