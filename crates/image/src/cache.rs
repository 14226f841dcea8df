//! The block cache: program memory as a decoder wants it.

use std::sync::Arc;

use tracewright_base::{Block, Code, Instruction, Isa, Miss, Pc, Waypoints};
use tracewright_isa::rv::Extensions;
use tracewright_isa::{riscv, t32};

use crate::table::{Index, NONE, Table};
use crate::walk::{Memory, Rules};
use crate::{Image, View};

/// Blocks of an [`Image`], each walked once. One for each trace source and worker.
///
/// A block is kept with the blocks that came after it, so that the next one is a load and a compare
/// away, without a search. The answers depend on the image and the place only, never on what was
/// asked before.
#[derive(Clone, Debug)]
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
    /// What RISC-V opcodes mean.
    pub riscv: Extensions,
}

impl Default for CacheOptions {
    fn default() -> Self {
        CacheOptions { check_opcodes: false, blocks: 1 << 16, riscv: Extensions::default() }
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
            rules: Rules { waypoints, check_opcodes: options.check_opcodes, riscv: options.riscv },
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

    /// How `pc` sees the image, and the address within its mask.
    #[inline]
    fn place(&self, pc: Pc) -> (View, u64) {
        (self.image.view(pc.space), pc.address & pc.isa.address_mask())
    }

    /// A block that did not come after the current one before.
    // It takes the parts of a `Pc`: to pass the whole would put it into memory for every block.
    #[cold]
    fn search(&mut self, view: View, isa: Isa, address: u64) -> Result<Index, Miss> {
        let key = key(view, isa);
        let index = match self.table.find(address, key) {
            Some(index) => index,
            None => {
                aligned(address, isa)?;
                let memory = self.memory(view, isa);
                let block = memory.block(address, self.rules)?;
                if self.table.is_full() {
                    // The block before goes, too.
                    self.current = NONE;
                }
                self.table.insert(block, key)
            }
        };
        self.table.chain(self.current, index);
        Ok(index)
    }

    fn memory(&self, view: View, isa: Isa) -> Memory<'_> {
        Memory { image: &self.image, view, isa, riscv: self.rules.riscv }
    }

    /// An instruction that is not kept.
    #[cold]
    fn step(&mut self, view: View, isa: Isa, address: u64) -> Result<Instruction, Miss> {
        aligned(address, isa)?;
        let instruction = self.memory(view, isa).instruction(address)?;
        let step = Step { address, key: key(view, isa), instruction };
        if self.steps.is_empty() {
            self.steps = vec![Step { key: NO_KEY, ..step }; STEPS];
        }
        if let Some(place) = self.steps.get_mut(step_index(address)) {
            *place = step;
        }
        Ok(instruction)
    }
}

/// What selects a block beside its address.
#[inline]
const fn key(view: View, isa: Isa) -> u32 {
    view.number() as u32 | (isa as u32) << 8
}

/// No instruction can be read from an address that none can have.
fn aligned(address: u64, isa: Isa) -> Result<(), Miss> {
    if address.is_multiple_of(isa.alignment()) { Ok(()) } else { Err(Miss { address }) }
}

impl Code for Cache {
    #[inline]
    fn block(&mut self, pc: Pc) -> Result<&Block, Miss> {
        let (view, address) = self.place(pc);
        let key = key(view, pc.isa);
        // Both ways are tried in turn, with branches that the processor predicts, so that the load of
        // the next block need not wait for the address.
        let [after, elsewhere] = self.table.slot(self.current).map_or([NONE; 2], |slot| slot.next);
        self.current = if self.table.holds(elsewhere, address, key) {
            elsewhere
        } else if self.table.holds(after, address, key) {
            after
        } else {
            self.search(view, pc.isa, address)?
        };
        self.table.slot(self.current).map(|slot| &slot.block).ok_or(Miss { address })
    }

    #[inline]
    fn instruction(&mut self, pc: Pc) -> Result<Instruction, Miss> {
        let (view, address) = self.place(pc);
        let key = key(view, pc.isa);
        match self.steps.get(step_index(address)) {
            Some(step) if step.address == address && step.key == key => Ok(step.instruction),
            _ => self.step(view, pc.isa, address),
        }
    }

    fn opcode(&mut self, pc: Pc) -> Option<u32> {
        let (view, address) = self.place(pc);
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
}

/// Where an instruction is kept: neighbours do not meet.
#[inline]
const fn step_index(address: u64) -> usize {
    (address >> 1 ^ address >> 15) as usize & (STEPS - 1)
}
