//! The program memory of each source, and the sizes of its instructions.

use tracewright::base::{Code, Element, Isa, Pc, Range, Space, Waypoints};
use tracewright::decode::plan::Planned;
use tracewright::decode::{self, Plan};
use tracewright::image::{Cache, CacheOptions, Selection};
use tracewright::index::Subject;

/// What selects the program memory of a range.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Selected {
    pub(crate) selection: Selection,
    pub(crate) space: Space,
}

/// The program of a source.
#[derive(Debug)]
pub(crate) struct Program {
    memory: decode::Program,
    cache: Cache,
}

impl Program {
    pub(crate) fn all(subject: &Subject<'_>, plan: &Plan) -> Vec<Program> {
        let program = |planned: &Planned| {
            let memory = subject.memory.seen_by(subject.capture, plan.buffer, planned.source);
            let options = CacheOptions { riscv: planned.config.riscv(), ..CacheOptions::default() };
            let cache = memory.cache(Waypoints::default(), options);
            Program { memory, cache }
        };
        plan.sources.iter().map(program).collect()
    }

    /// The selection at the beginning of the buffer.
    pub(crate) fn begin(&self) -> Selected {
        Selected { selection: self.memory.begin(), space: Space::ANY }
    }

    /// Follows what `element` selects.
    pub(crate) fn follow(&self, selected: &mut Selected, element: &Element) {
        self.memory.follow(&mut selected.selection, element);
        if let Element::Context(context) = element {
            selected.space = context.space();
        }
    }

    /// The addresses of the instructions of `range`, in order. The memory is that of `selected`.
    pub(crate) fn addresses(
        &mut self,
        selected: Selected,
        range: Range,
    ) -> impl Iterator<Item = u64> + '_ {
        self.cache.select(selected.selection);
        let (isa, mut address) = (range.last.isa, range.start);
        (0..range.instructions).map(move |_| {
            let own = address;
            let size = match isa {
                Isa::A64 | Isa::A32 => 4,
                _ => {
                    let pc = Pc { address, isa, space: selected.space };
                    // The decoder has read the instruction, so program memory has it.
                    self.cache.instruction(pc).map_or(2, |one| u64::from(one.size))
                }
            };
            address = address.wrapping_add(size) & isa.address_mask();
            own
        })
    }

    /// The address of instruction `n` of `range`.
    pub(crate) fn address(&mut self, selected: Selected, range: Range, n: u32) -> u64 {
        if matches!(range.last.isa, Isa::A64 | Isa::A32) || n == 0 {
            let offset = 4 * u64::from(n);
            return range.start.wrapping_add(offset) & range.last.isa.address_mask();
        }
        if n + 1 >= range.instructions {
            return range.last_address();
        }
        self.addresses(selected, range).nth(n as usize).unwrap_or(range.start)
    }

    /// Reads the memory of `selected` at `address`, and returns how many bytes are known.
    pub(crate) fn read(
        &mut self,
        selected: Selected,
        address: u64,
        isa: Isa,
        out: &mut [u8],
    ) -> usize {
        self.cache.select(selected.selection);
        self.cache.read(Pc { address, isa, space: selected.space }, out)
    }
}
