//! Pieces of A64 code, each divided into blocks at once.

use std::collections::HashSet;

use tracewright_base::{Block, BlockId, CachedBlock, CodeSpace, End, Instruction, Isa, Kind, Last};
use tracewright_isa::a64;
use tracewright_scan::prefetch;

use crate::table::Table;
use crate::walk::{Memory, Rules};

/// The size of a piece in bytes, and in opcodes. A piece is aligned.
const PIECE: u64 = 1 << 10;
const OPCODES: usize = PIECE as usize / 4;

/// The size of a cache line in bytes.
const LINE: usize = 64;

/// The bits of a word.
const BITS: usize = u64::BITS as usize;

/// The number of last instructions whose form is found at once. The words of [`Last`] in A64 code
/// differ modulo this prime.
const FORMS: usize = 61;

/// The pieces that were divided, and the blocks of the last one.
#[derive(Clone, Debug)]
pub(crate) struct Pieces {
    done: HashSet<(u64, CodeSpace)>,
    /// The address of the piece.
    first: u64,
    /// A bit for each opcode with which a block begins.
    starts: [u64; OPCODES / BITS],
    /// In the order of their addresses.
    ends: Vec<Ending>,
    /// A block that ends with each kind of instruction.
    forms: [Option<(u32, CachedBlock)>; FORMS],
    /// The blocks, in the order of their addresses: the index of the first opcode, and of the end.
    blocks: Vec<(CachedBlock, u32, u32)>,
    /// Blocks after them, which end in another piece.
    last: Vec<Block>,
    /// The number of the block at each opcode in the table.
    ids: [BlockId; OPCODES],
}

/// The end of a block.
#[derive(Clone, Copy, Debug)]
struct Ending {
    /// The number of its last opcode, or of an opcode that is no part of the block.
    index: usize,
    /// The target of a branch.
    target: Option<u64>,
    /// Whether its waypoint is a branch.
    branches: bool,
    /// A block that ends with the same instruction, if it can be cached.
    form: Option<CachedBlock>,
}

impl Default for Pieces {
    fn default() -> Pieces {
        Pieces {
            done: HashSet::new(),
            first: 0,
            starts: [0; OPCODES / BITS],
            ends: Vec::new(),
            forms: [None; FORMS],
            blocks: Vec::new(),
            last: Vec::new(),
            ids: [BlockId::NONE; OPCODES],
        }
    }
}

impl Pieces {
    /// The number of blocks of the last piece.
    pub(crate) fn len(&self) -> usize {
        self.blocks.len() + self.last.len()
    }

    /// Divides the piece with `address` into blocks: the one at `address`, those after other
    /// blocks, and those at the targets of branches. Returns `false` if it was done before.
    pub(crate) fn divide(
        &mut self,
        address: u64,
        code_space: CodeSpace,
        memory: Memory<'_>,
        rules: &Rules,
        table: &mut Table,
    ) -> bool {
        let first = address & !(PIECE - 1);
        if self.done.contains(&(first, code_space)) {
            return false;
        }
        let run = |at| memory.image.run(memory.view, at);
        let (first, code) = match run(first) {
            code if code.len() as u64 > address - first => (first, code),
            // Memory begins inside the piece.
            _ => (address, run(address)),
        };
        // A trace may have any number of addresses without memory.
        if code.is_empty() {
            return false;
        }
        self.done.insert((address & !(PIECE - 1), code_space));
        self.first = first;
        let code = code.get(..(PIECE - first % PIECE) as usize).unwrap_or(code);
        for line in (0..code.len()).step_by(LINE) {
            prefetch(code, line);
        }
        let (code, _) = code.as_chunks();
        self.find_ends(address, code, code_space, rules, table);
        self.make_blocks(code.len(), memory, rules, |address| {
            table.prefetch_lookup(address, code_space);
        });
        true
    }

    /// Finds where blocks begin and end in `code`. One begins at `address`.
    fn find_ends(
        &mut self,
        address: u64,
        code: &[[u8; 4]],
        code_space: CodeSpace,
        rules: &Rules,
        table: &mut Table,
    ) {
        self.ends.clear();
        self.forms = [None; FORMS];
        self.starts = [0; OPCODES / BITS];
        self.starts_at(address);
        for (group, bytes) in code.chunks(BITS).enumerate() {
            let opcode = |bytes: &[u8; 4]| u32::from_le_bytes(*bytes);
            let others = bytes
                .iter()
                .rev()
                .fold(0, |others, bytes| others << 1 | u64::from(!a64::is_plain(opcode(bytes))));
            for bit in set_bits(others) {
                let Some(opcode) = bytes.get(bit).map(opcode) else { break };
                let index = group * BITS + bit;
                let at = self.first.wrapping_add(4 * index as u64);
                let instruction = a64::classify(opcode, at);
                let Instruction { kind, target, .. } = instruction;
                let invalid = rules.check_opcodes.is_invalid(Isa::A64, kind, || Some(opcode));
                if !invalid && !rules.waypoints.has(kind) {
                    continue;
                }
                let form =
                    if invalid { None } else { self.form(&instruction, at, code_space, table) };
                let branches = matches!(kind, Kind::Branch | Kind::Indirect);
                let target = target.filter(|_| kind == Kind::Branch);
                self.ends.push(Ending { index, target, branches, form });
                self.starts_at(at.wrapping_add(4));
                if let Some(target) = target {
                    self.starts_at(target);
                }
            }
        }
    }

    /// A block that ends with `last`, which is at `address` in the piece.
    #[inline]
    fn form(
        &mut self,
        last: &Instruction,
        address: u64,
        code_space: CodeSpace,
        table: &mut Table,
    ) -> Option<CachedBlock> {
        let word = Last::new(last, false).word();
        let form = self.forms.get_mut(word as usize % FORMS)?;
        match form {
            Some((same, cached)) if *same == word => Some(*cached),
            _ => {
                let block = Block {
                    start: address,
                    bytes: 4,
                    instructions: 1,
                    last: *last,
                    ..Block::default()
                };
                let cached = table.cached(&block, code_space)?;
                *form = Some((word, cached));
                Some(cached)
            }
        }
    }

    /// A block begins at `address`, if that is in the piece.
    fn starts_at(&mut self, address: u64) {
        let index = self.index(address);
        if let Some(word) = self.starts.get_mut(index / BITS) {
            *word |= 1 << (index % BITS);
        }
    }

    /// The number of the opcode at `address`; a greater one than that of any opcode if it is not in
    /// the piece.
    fn index(&self, address: u64) -> usize {
        usize::try_from(address.wrapping_sub(self.first) / 4).unwrap_or(usize::MAX)
    }

    fn address(&self, index: usize) -> u64 {
        self.first.wrapping_add(4 * index as u64)
    }

    /// Makes the blocks between the starts and the ends that were found in `opcodes` opcodes.
    /// `prefetch` gets the addresses that [`insert`](Self::insert) looks up.
    fn make_blocks(
        &mut self,
        opcodes: usize,
        memory: Memory<'_>,
        rules: &Rules,
        prefetch: impl Fn(u64),
    ) {
        self.blocks.clear();
        self.last.clear();
        let mut ends = self.ends.iter().zip(0..).peekable();
        for (word, &starts) in self.starts.iter().enumerate() {
            for index in set_bits(starts).map(|bit| word * BITS + bit) {
                if index >= opcodes {
                    return;
                }
                while ends.next_if(|(end, _)| end.index < index).is_some() {}
                let start = self.address(index);
                let Some(&(end, number)) = ends.peek() else {
                    let block = memory.block(start, rules).ok();
                    self.last.extend(block.filter(|block| block.end == End::Waypoint));
                    continue;
                };
                let count = (end.index - index + 1) as u32;
                let cached = end.form.and_then(|form| form.with_extent(start, 4 * count, count));
                let Some(cached) = cached else { continue };
                prefetch(start);
                if let Some(target) = end.target.filter(|&target| self.index(target) >= OPCODES) {
                    prefetch(target);
                }
                self.blocks.push((cached, index as u32, number));
            }
        }
    }

    /// Inserts the blocks into `table`, which has room for them, with their successors as far as
    /// they are in the piece or in `table`.
    pub(crate) fn insert(&mut self, table: &mut Table, code_space: CodeSpace) {
        let before = table.len();
        self.ids = [BlockId::NONE; OPCODES];
        for &(cached, index, end) in &self.blocks {
            let target = self.ends.get(end as usize).and_then(|end| end.target);
            let address = self.address(index as usize);
            if let Some(id) = self.ids.get_mut(index as usize) {
                *id = table.find_or_push(address, code_space, cached, target);
            }
        }
        for block in &self.last {
            if table.find(block.start, code_space) == BlockId::NONE {
                table.add(block, code_space);
            }
        }
        table.are_ordered(before);
        for &(_, index, end) in &self.blocks {
            let Some(end) = self.ends.get(end as usize).filter(|end| end.branches) else {
                continue;
            };
            let id = |address| match self.ids.get(self.index(address)) {
                Some(&id) if id != BlockId::NONE => id,
                _ => table.find(address, code_space),
            };
            let from = id(self.address(index as usize));
            let not = id(self.address(end.index + 1));
            let taken = end.target.map_or(BlockId::NONE, id);
            for (is_taken, to) in [(false, not), (true, taken)] {
                if to != BlockId::NONE {
                    table.chain(from, is_taken, to);
                }
            }
        }
    }
}

/// The numbers of the bits that are set, in order.
fn set_bits(mut word: u64) -> impl Iterator<Item = usize> {
    core::iter::from_fn(move || {
        let bit = word.trailing_zeros();
        word &= word.wrapping_sub(1);
        (bit < u64::BITS).then_some(bit as usize)
    })
}

#[cfg(test)]
mod tests {
    use tracewright_base::{Space, Waypoints};
    use tracewright_isa::rv::Extensions;

    use super::*;
    use crate::image::Image;
    use crate::opcode_check::OpcodeCheck;
    use crate::region::Region;

    /// The memory that pieces take depends on the program, not on the addresses of a trace.
    #[test]
    fn addresses_without_memory_are_not_stored() {
        let code = [0x1f, 0x20, 0x03, 0xd5].repeat(512);
        let image = Image::new([Region::new("code", 0x1000, code)]);
        let view = image.view(Space::default());
        let riscv = Extensions::default();
        let rules =
            Rules { waypoints: Waypoints::BRANCHES, check_opcodes: OpcodeCheck::default(), riscv };
        let (mut pieces, mut table) = (Pieces::default(), Table::new(1 << 10));
        for (address, divided) in
            [(0x1000, true), (0x1004, false), (0x1400, true), (0x9000, false), (0x9004, false)]
        {
            let memory = Memory { image: &image, view, isa: Isa::A64, riscv: &riscv };
            assert_eq!(
                pieces.divide(address, CodeSpace(0), memory, &rules, &mut table),
                divided,
                "{address:#x}"
            );
        }
        assert_eq!(pieces.done.len(), 2);
    }
}
