//! The block cache: program memory as a decoder wants it.

use std::sync::Arc;

use tracewright_base::{
    Block, BlockCache, BlockId, CachedBlocks, Code, CodeSpace, End, Instruction, Isa, Kind, Miss,
    Pc, Role, Space, Waypoints,
};
use tracewright_isa::rv::{Extensions, Upper};
use tracewright_isa::{riscv, t32};

use crate::absent::Absent;
use crate::steps::Steps;
use crate::table::{Table, hash};
use crate::walk::{Memory, Rules};
use crate::{Image, View};

/// Blocks of an [`Image`], each walked once. One for each trace source and worker.
///
/// A block that ends with a waypoint is kept with the blocks that must come after it: see
/// [`Code::blocks`]. The answers depend on the image and the place only, never on what was asked
/// before.
#[derive(Clone, Debug)]
pub struct Cache {
    image: Arc<Image>,
    rules: Rules,
    table: Table,
    /// [`CacheOptions::explored`]
    explored: usize,
    /// The block that was asked for last.
    asked: Block,
    /// Blocks that do not end with a waypoint, or are too long for the table, each at [`stub_index`] or not at
    /// all. Empty until there is one.
    stubs: Vec<Stub>,
    /// Where there is no block.
    absent: Absent,
    /// Single instructions.
    steps: Steps,
}

/// How a [`Cache`] works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CacheOptions {
    /// A block ends before bytes that are no instruction.
    pub check_opcodes: bool,
    /// How many blocks are kept, at least 1. Each takes 36 to 48 bytes, and as much again, or twice that, for a moment
    /// when they get more room.
    pub blocks: usize,
    /// Where it holds more blocks than this, those near a block that is made are made with it, before they
    /// are asked for. Of code that is as large most runs but a few times, and each block that is asked
    /// for the first time is a wait for memory; in smaller code blocks that never run are in the way. None is
    /// made so any more once there were more than are kept.
    pub explored: usize,
    /// What RISC-V opcodes mean.
    pub riscv: Extensions,
}

impl Default for CacheOptions {
    fn default() -> Self {
        CacheOptions {
            check_opcodes: false,
            blocks: 1 << 21,
            explored: 1 << 15,
            riscv: Extensions::default(),
        }
    }
}

/// A block that is not in the table.
#[derive(Clone, Copy, Debug)]
struct Stub {
    code_space: CodeSpace,
    block: Block,
}

impl Stub {
    fn is(&self, address: u64, code_space: CodeSpace) -> bool {
        self.block.start == address && self.code_space == code_space
    }
}

const STUBS: usize = 1 << 10;

/// So many blocks behind one another are made ahead, at most.
const EXPLORED: usize = 32;

impl Cache {
    /// An empty cache for a source that ends blocks at `waypoints`.
    pub fn new(image: Arc<Image>, waypoints: Waypoints, options: CacheOptions) -> Cache {
        Cache {
            image,
            rules: Rules { waypoints, check_opcodes: options.check_opcodes, riscv: options.riscv },
            table: Table::new(options.blocks),
            explored: options.explored,
            asked: Block::default(),
            stubs: Vec::new(),
            absent: Absent::default(),
            steps: Steps::default(),
        }
    }

    /// The memory that is read.
    pub fn image(&self) -> &Arc<Image> {
        &self.image
    }

    /// Memory changed: all blocks of the image so far are forgotten.
    pub fn set_image(&mut self, image: Arc<Image>) {
        if Arc::ptr_eq(&self.image, &image) {
            return;
        }
        self.image = image;
        self.table.clear();
        for stub in &mut self.stubs {
            stub.code_space = CodeSpace::NONE;
        }
        self.absent.clear();
        self.steps.clear();
    }

    /// What RISC-V opcodes mean here.
    pub fn riscv(&self) -> &Extensions {
        &self.rules.riscv
    }

    /// What RISC-V `opcode` is at `pc`, whatever memory holds there; `upper` is what the one before it left. A
    /// compressed opcode is in bits \[15:0].
    pub fn classify(&self, pc: Pc, opcode: u32, upper: Upper) -> Instruction {
        let (view, _, address) = self.place(pc);
        self.memory(view, pc.isa).classify(opcode, address, upper)
    }

    /// How many blocks it holds.
    pub fn len(&self) -> usize {
        self.table.len()
    }

    /// Whether it holds no blocks.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How `pc` sees the image, what selects its block, and the address within its mask.
    #[inline]
    fn place(&self, pc: Pc) -> (View, CodeSpace, u64) {
        let view = self.image.view(pc.space);
        (view, CodeSpace::new(pc.isa, view.number()), pc.address & pc.isa.address_mask())
    }

    fn memory(&self, view: View, isa: Isa) -> Memory<'_> {
        Memory { image: &self.image, view, isa, riscv: &self.rules.riscv }
    }

    /// Makes the block at a place where none is kept. The second is `true` where others had to go.
    fn make(&mut self, pc: Pc) -> (BlockId, bool) {
        let (view, code_space, address) = self.place(pc);
        let stub = self.stubs.get(stub_index(address));
        if stub.is_some_and(|stub| stub.is(address, code_space)) {
            return (BlockId::NONE, false);
        }
        let memory = self.memory(view, pc.isa);
        match aligned(address, pc.isa).and_then(|()| memory.block(address, &self.rules)) {
            Ok(block) => {
                if block.end == End::Waypoint
                    && let Some(cached_block) = self.table.insert(&block, code_space)
                {
                    return cached_block;
                }
                let stub = Stub { code_space, block };
                if self.stubs.is_empty() {
                    self.stubs = vec![Stub { code_space: CodeSpace::NONE, ..stub }; STUBS];
                }
                if let Some(place) = self.stubs.get_mut(stub_index(address)) {
                    *place = stub;
                }
            }
            Err(miss) => self.absent.insert(address, pc.isa, code_space, miss),
        }
        (BlockId::NONE, false)
    }

    /// Makes the block at a place where none is kept, and where code is large those around it.
    #[cold]
    fn begin(&mut self, pc: Pc) -> (BlockId, bool) {
        let (id, anew) = self.make(pc);
        let large = self.table.len() > self.explored && !self.table.overflowed();
        if large && id != BlockId::NONE {
            self.explore(pc, id);
        }
        (id, anew)
    }

    /// Makes blocks before they are asked for: those behind `first`, the newest, as far as code goes on, and
    /// those that branches among them lead to. It is done while there is room, so all marks mean what they
    /// did. A branch that must be taken gets no way past it.
    fn explore(&mut self, pc: Pc, first: BlockId) {
        let (view, code_space, _) = self.place(pc);
        let mut newest = first;
        for _ in 0..EXPLORED {
            let Some(block) = self.table.block(newest) else { return };
            let Instruction { kind, role, conditional, target, .. } = block.last;
            if !matches!(kind, Kind::Branch | Kind::Indirect) || !conditional && role != Role::Call
            {
                break;
            }
            let next = block.next();
            self.table.prefetch_lookup(next, code_space);
            self.table.prefetch_lookup(target.unwrap_or(next), code_space);
            // Reading takes as long as the place in the table, which is asked for, needs to come.
            let block = self.memory(view, pc.isa).block(next, &self.rules);
            let cached_block = self.table.find(next, code_space);
            let id = match block {
                _ if cached_block != BlockId::NONE => cached_block,
                Ok(block) => self.add(&block, code_space),
                Err(_) => BlockId::NONE,
            };
            if conditional {
                self.table.chain(newest, false, id);
            }
            if id == BlockId::NONE || id == cached_block {
                break;
            }
            newest = id;
        }
        let start = |id| self.table.block(id).map(|block| block.start);
        let Some((low, high)) = start(first).zip(start(newest)) else { return };
        let mut index = first.index();
        while let Some(block) = self.table.block(BlockId::new(index)) {
            let Instruction { kind, role, target, target_isa, .. } = block.last;
            if let (Kind::Branch, Some(target)) = (kind, target) {
                let target = target & target_isa.address_mask();
                let code_space = CodeSpace::new(target_isa, view.number());
                let mut to = self.table.find(target, code_space);
                // In the middle of one of them.
                if to == BlockId::NONE
                    && role != Role::Call
                    && target_isa == pc.isa
                    && (low..high).contains(&target)
                    && let Ok(block) = self.memory(view, pc.isa).block(target, &self.rules)
                {
                    to = self.add(&block, code_space);
                    if block.last.conditional {
                        let after = self.table.find(block.next(), code_space);
                        self.table.chain(to, false, after);
                    }
                }
                self.table.chain(BlockId::new(index), true, to);
            }
            index += 1;
        }
    }

    /// Puts in a block that is not there, where there is room and it ends with a waypoint.
    fn add(&mut self, block: &Block, code_space: CodeSpace) -> BlockId {
        match block.end {
            End::Waypoint => self.table.add(block, code_space).unwrap_or(BlockId::NONE),
            _ => BlockId::NONE,
        }
    }

    /// What is known of a place that [`make`](Self::make) made no block of.
    fn stub(&self, address: u64, isa: Isa, code_space: CodeSpace) -> Result<&Block, Miss> {
        match self.stubs.get(stub_index(address)) {
            Some(stub) if stub.is(address, code_space) => Ok(&stub.block),
            _ => Err(self.absent.find(address, isa, code_space).unwrap_or(Miss { address })),
        }
    }

    /// An instruction that is not kept.
    #[cold]
    fn step(&mut self, view: View, isa: Isa, address: u64) -> Result<Instruction, Miss> {
        let code_space = CodeSpace::new(isa, view.number());
        if let Some(miss) = self.absent.find(address, isa, code_space) {
            return Err(miss);
        }
        aligned(address, isa)?;
        let instruction = self.memory(view, isa).instruction(address)?;
        self.steps.insert(address, code_space, instruction);
        Ok(instruction)
    }
}

/// No instruction can be read from an address that none can have.
fn aligned(address: u64, isa: Isa) -> Result<(), Miss> {
    if address.is_multiple_of(isa.alignment()) { Ok(()) } else { Err(Miss { address }) }
}

impl Code for Cache {
    #[inline]
    fn block(&mut self, pc: Pc) -> Result<&Block, Miss> {
        let (_, code_space, address) = self.place(pc);
        let mut id = self.table.find(address, code_space);
        if id == BlockId::NONE {
            if let Some(miss) = self.absent.find(address, pc.isa, code_space) {
                return Err(miss);
            }
            (id, _) = self.begin(pc);
        }
        match self.table.block(id) {
            Some(block) => {
                self.asked = block;
                Ok(&self.asked)
            }
            None => self.stub(address, pc.isa, code_space),
        }
    }

    #[inline]
    fn instruction(&mut self, pc: Pc) -> Result<Instruction, Miss> {
        let (view, code_space, address) = self.place(pc);
        match self.steps.find(address, code_space) {
            Some(instruction) => Ok(*instruction),
            None => self.step(view, pc.isa, address),
        }
    }

    fn opcode(&mut self, pc: Pc) -> Option<u32> {
        let (view, _, address) = self.place(pc);
        let mut bytes = [0; 4];
        let read = self.image.read(view, address, pc.isa.address_mask(), &mut bytes);
        match (pc.isa, bytes.get(..read)?) {
            (Isa::T32 | Isa::ThumbEe, &[a, b, ref rest @ ..]) => {
                let first = u16::from_le_bytes([a, b]);
                if !t32::is_wide(first) {
                    return Some(first.into());
                }
                let second = u16::from_le_bytes(*rest.first_chunk()?);
                Some(u32::from(first) << 16 | u32::from(second))
            }
            (Isa::Rv32 | Isa::Rv64, bytes) => riscv(bytes),
            (Isa::T32 | Isa::ThumbEe | Isa::Jazelle, _) => None,
            (Isa::A32 | Isa::A64, bytes) => Some(u32::from_le_bytes(*bytes.first_chunk()?)),
        }
    }

    #[inline]
    fn absent(&self, pc: Pc) -> Option<Miss> {
        let (_, code_space, address) = self.place(pc);
        self.absent.find(address, pc.isa, code_space)
    }
}

impl BlockCache for Cache {
    #[inline]
    fn blocks(&self) -> CachedBlocks<'_> {
        self.table.blocks()
    }

    #[inline]
    fn code_space(&self, isa: Isa, space: Space) -> CodeSpace {
        CodeSpace::new(isa, self.image.view(space).number())
    }

    #[inline]
    fn cached_block(&self, id: BlockId) -> Option<Block> {
        self.table.block(id)
    }

    #[inline]
    fn find(&self, address: u64, code_space: CodeSpace) -> BlockId {
        self.table.land(address, code_space)
    }

    #[inline]
    fn prefetch_lookup(&self, address: u64, code_space: CodeSpace) {
        self.table.target_cache().prefetch_lookup(hash(address, code_space));
    }

    #[inline]
    fn predict(&self, address: u64, code_space: CodeSpace) -> BlockId {
        self.table.target_cache().get(hash(address, code_space))
    }

    fn enter(&mut self, pc: Pc, from: Option<(BlockId, bool)>) -> BlockId {
        let (_, code_space, address) = self.place(pc);
        if self.absent.find(address, pc.isa, code_space).is_some() {
            return BlockId::NONE;
        }
        let (id, anew) = match self.table.find(address, code_space) {
            BlockId::NONE => self.begin(pc),
            id => (id, false),
        };
        if let Some((from, taken)) = from
            && !anew
        {
            self.table.chain(from, taken, id);
        }
        id
    }
}

/// Where a block that is not in the table is kept.
#[inline]
const fn stub_index(address: u64) -> usize {
    (address >> 1 ^ address >> 11 ^ address >> 21) as usize & (STUBS - 1)
}
