//! Ranges to instructions.

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
    /// Its opcode, where it was asked for and can be read. A narrow T32 opcode is in bits \[15:0]; a wide
    /// one has its first halfword in bits \[31:16].
    pub opcode: Option<u32>,
    /// What the last instruction of a range did: it took effect. `None` for all others.
    pub taken: Option<bool>,
    /// Cycles that the trace gives to the range that ends here.
    pub cycles: Option<u32>,
}

/// Receives instructions, and everything else that a trace says in between.
pub trait Steps {
    /// It wants opcodes.
    const OPCODES: bool = true;

    /// An instruction was executed.
    fn step(&mut self, source: usize, at: u64, step: &Step);

    /// Says all instructions of `range` from memory, where they were said before in this `context`, which
    /// has a number of its own. `false`: they come one by one, and then [`keep`](Self::keep).
    fn recall(&mut self, source: usize, range: &Range, context: usize) -> bool {
        let _ = (source, range, context);
        false
    }

    /// All instructions of the range were said.
    fn keep(&mut self) {}

    /// An element that is no range.
    fn other(&mut self, source: usize, at: u64, element: &Element) {
        let _ = (source, at, element);
    }

    /// Whether no more is wanted.
    fn full(&self) -> bool {
        false
    }
}

/// Takes ranges apart.
#[derive(Debug)]
pub struct Expand<V> {
    /// What receives the instructions.
    pub view: V,
    sources: Vec<Program>,
}

/// The program of a source, and the context that it runs in.
#[derive(Debug)]
struct Program {
    cache: Cache,
    context: Context,
    /// All contexts so far; a context's number is its place.
    contexts: Vec<Context>,
    number: usize,
}

/// Contexts that have numbers, at most: a program that has more of them has new ones all the time.
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
                // Numbers are never given twice, so that nothing is recalled in another context.
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
    /// Gives the instructions of `sources` to `view`.
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
                // What an opcode of the processor's own is long, only its table tells.
                (Isa::T32 | Isa::ThumbEe | Isa::Rv32 | Isa::Rv64, Some(opcode))
                    if (narrow(isa, opcode) || opcode & 0x1f != 0x1f)
                        && !program.cache.riscv().has_own() =>
                {
                    2 + 2 * u64::from(!narrow(isa, opcode))
                }
                // Whoever made the range read it, so it can be read.
                _ => program.cache.instruction(pc).map_or(2, |i| u64::from(i.size)),
            };
            address = address.wrapping_add(size) & mask;
        }
        if known {
            self.view.keep();
        }
    }
}

/// What memory each source sees is carried on.
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
