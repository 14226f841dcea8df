//! From ranges to instructions.

use tracewright_base::{Code, Context, Element, Isa, Pc, Range, Waypoints};
use tracewright_decode::{Fork, Listener};
use tracewright_image::{Cache, CacheOptions};

use crate::Source;
use crate::disassembly::narrow;

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

    /// An element other than a range.
    fn other(&mut self, source: usize, at: u64, element: &Element) {
        let _ = (source, at, element);
    }

    /// Nothing more is taken.
    fn full(&self) -> bool {
        false
    }
}

/// Expands ranges to instructions.
#[derive(Debug)]
pub struct Expand<V> {
    /// The receiver of the instructions.
    pub view: V,
    sources: Vec<Program>,
}

/// The program of a source, and its context.
#[derive(Debug)]
struct Program {
    cache: Cache,
    context: Context,
    /// The contexts so far. The number of a context is its index.
    contexts: Vec<Context>,
    number: usize,
}

/// The most contexts with numbers. Ranges in other contexts are not cached.
const CONTEXTS: usize = 256;

impl Program {
    fn new(cache: Cache) -> Self {
        let context = Context::default();
        Program { cache, context, contexts: vec![context], number: 0 }
    }

    fn enter(&mut self, context: Context) {
        self.context = context;
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
            let cache = Cache::new(source.image.clone(), Waypoints::default(), options);
            Program::new(cache)
        };
        Expand { view, sources: sources.iter().map(program).collect() }
    }

    fn range(&mut self, source: usize, at: u64, range: &Range) {
        let Some(program) = self.sources.get_mut(source) else { return };
        let known = program.number != usize::MAX;
        if known && self.view.recall(source, range, program.number) {
            return;
        }
        let (isa, mask) = (range.last.isa, range.last.isa.address_mask());
        let mut address = range.start;
        for n in 0..range.instructions {
            let pc = Pc { address, isa, space: program.context.space() };
            let opcode = if V::OPCODES { program.cache.opcode(pc) } else { None };
            let last = n + 1 == range.instructions;
            self.view.step(
                source,
                at,
                &Step {
                    address,
                    isa,
                    opcode,
                    taken: last.then_some(range.last.taken()),
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
        if known {
            self.view.store();
        }
    }
}

/// The memory that a source sees depends on its context.
impl<V: Fork> Fork for Expand<V> {
    type State = (Vec<Context>, V::State);
    type Output = V::Output;

    fn fork(&self) -> Self {
        let fresh = |program: &Program| Program::new(program.cache.clone());
        Expand { view: self.view.fork(), sources: self.sources.iter().map(fresh).collect() }
    }

    fn state(&self) -> Self::State {
        (self.sources.iter().map(|program| program.context).collect(), self.view.state())
    }

    fn resume(&mut self, (contexts, state): Self::State) {
        for (program, context) in self.sources.iter_mut().zip(contexts) {
            program.enter(context);
        }
        self.view.resume(state);
    }

    fn take(&mut self) -> V::Output {
        self.view.take()
    }

    fn weight(&self) -> usize {
        self.view.weight()
    }
}

impl<V: Steps> Listener for Expand<V> {
    const PACKETS: bool = false;

    fn element(&mut self, source: usize, at: u64, element: Element) {
        match element {
            Element::Range(range) => return self.range(source, at, &range),
            Element::Context(context) => {
                if let Some(program) = self.sources.get_mut(source) {
                    program.enter(context);
                }
            }
            _ => {}
        }
        self.view.other(source, at, &element);
    }

    fn full(&self) -> bool {
        self.view.full()
    }
}
