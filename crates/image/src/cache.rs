//! The block cache: program memory as a decoder wants it.

use std::sync::Arc;

use tracewright_base::{Block, Code, Instruction, Isa, Miss, Pc, Waypoints};

use crate::Image;
use crate::table::{Index, NONE, Table};
use crate::walk::{Memory, Rules};

/// Blocks of an [`Image`], each walked once. One for each trace source and worker.
///
/// A block is kept with the blocks that came after it, so that the next one is a load and a compare
/// away, without a search. The answers depend on the image and the place only, never on what was
/// asked before.
#[derive(Debug)]
pub struct Cache {
    image: Arc<Image>,
    rules: Rules,
    table: Table,
    /// The block that was asked for last.
    current: Index,
    /// Single instructions, each at [`step_index`] or not at all. Empty until one is asked for.
    steps: Vec<Step>,
}

/// How a [`Cache`] works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CacheOptions {
    /// A block ends before bytes that are no instruction.
    pub check_opcodes: bool,
    /// How many blocks are kept, at least 1. Each takes 72 to 80 bytes.
    pub blocks: usize,
}

impl Default for CacheOptions {
    fn default() -> Self {
        CacheOptions { check_opcodes: false, blocks: 1 << 16 }
    }
}

/// One instruction and what selects it.
#[derive(Clone, Copy, Debug)]
struct Step {
    address: u64,
    key: u32,
    instruction: Instruction,
}

const STEPS: usize = 1 << 14;

/// No instruction has this key.
const NO_KEY: u32 = u32::MAX;

impl Cache {
    /// An empty cache for a source that ends blocks at `waypoints`.
    pub fn new(image: Arc<Image>, waypoints: Waypoints, options: CacheOptions) -> Cache {
        Cache {
            image,
            rules: Rules { waypoints, check_opcodes: options.check_opcodes },
            table: Table::new(options.blocks),
            current: NONE,
            steps: Vec::new(),
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
        self.current = NONE;
        for step in &mut self.steps {
            step.key = NO_KEY;
        }
    }

    /// How many blocks it holds.
    pub fn len(&self) -> usize {
        self.table.len()
    }

    /// Whether it holds no blocks.
    pub fn is_empty(&self) -> bool {
        self.table.len() == 0
    }

    /// The address within its mask, and what selects a block beside it.
    #[inline]
    fn place(&self, pc: Pc) -> (u64, u32) {
        let key = u32::from(self.image.view(pc.space).number()) | (pc.isa as u32) << 8;
        (pc.address & pc.isa.address_mask(), key)
    }

    fn memory(&self, pc: Pc) -> Memory<'_> {
        Memory { image: &self.image, view: self.image.view(pc.space), isa: pc.isa }
    }

    /// The block that is not where it was expected: after `current`, on `side`.
    #[cold]
    fn search(&mut self, pc: Pc, side: usize) -> Result<Index, Miss> {
        let (address, key) = self.place(pc);
        let index = match self.table.find(address, key) {
            Some(index) => index,
            None => {
                aligned(address, pc.isa)?;
                let block = self.memory(pc).block(address, self.rules)?;
                if self.table.is_full() {
                    // The block before goes, too.
                    self.current = NONE;
                }
                self.table.insert(block, key)
            }
        };
        self.table.chain(self.current, side, index);
        Ok(index)
    }
}

/// No instruction can be read from an address that none can have.
fn aligned(address: u64, isa: Isa) -> Result<(), Miss> {
    if address.is_multiple_of(isa.alignment()) { Ok(()) } else { Err(Miss { address }) }
}

impl Code for Cache {
    #[inline]
    fn block(&mut self, pc: Pc) -> Result<&Block, Miss> {
        let (address, key) = self.place(pc);
        let (side, expected) = match self.table.slot(self.current) {
            Some(current) => {
                let side = usize::from(current.block.next() != address);
                (side, current.next[side])
            }
            None => (0, NONE),
        };
        self.current = match self.table.slot(expected) {
            Some(slot) if slot.block.start == address && slot.key == key => expected,
            _ => self.search(pc, side)?,
        };
        self.table.slot(self.current).map(|slot| &slot.block).ok_or(Miss { address })
    }

    #[inline]
    fn instruction(&mut self, pc: Pc) -> Result<Instruction, Miss> {
        let (address, key) = self.place(pc);
        match self.steps.get(step_index(address)) {
            Some(step) if step.address == address && step.key == key => Ok(step.instruction),
            _ => self.step(pc),
        }
    }
}

/// Where an instruction is kept: neighbours do not meet.
#[inline]
const fn step_index(address: u64) -> usize {
    (address >> 1 ^ address >> 15) as usize & (STEPS - 1)
}

impl Cache {
    #[cold]
    fn step(&mut self, pc: Pc) -> Result<Instruction, Miss> {
        let (address, key) = self.place(pc);
        aligned(address, pc.isa)?;
        let instruction = self.memory(pc).instruction(address)?;
        let step = Step { address, key, instruction };
        if self.steps.is_empty() {
            self.steps = vec![Step { key: NO_KEY, ..step }; STEPS];
        }
        if let Some(place) = self.steps.get_mut(step_index(address)) {
            *place = step;
        }
        Ok(instruction)
    }
}
