//! The block cache: program memory as a decoder wants it.

use std::sync::Arc;

use tracewright_base::{
    Block, Code, End, Hops, Instruction, Isa, Kind, Mark, Miss, Pc, Realm, Role, Space, Waypoints,
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
/// [`Code::hops`]. The answers depend on the image and the place only, never on what was asked
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
    realm: Realm,
    block: Block,
}

impl Stub {
    fn is(&self, address: u64, realm: Realm) -> bool {
        self.block.start == address && self.realm == realm
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
            stub.realm = Realm::NONE;
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
    fn place(&self, pc: Pc) -> (View, Realm, u64) {
        let view = self.image.view(pc.space);
        (view, Realm::new(pc.isa, view.number()), pc.address & pc.isa.address_mask())
    }

    fn memory(&self, view: View, isa: Isa) -> Memory<'_> {
        Memory { image: &self.image, view, isa, riscv: &self.rules.riscv }
    }

    /// Makes the block at a place where none is kept. The second is `true` where others had to go.
    fn make(&mut self, pc: Pc) -> (Mark, bool) {
        let (view, realm, address) = self.place(pc);
        let stub = self.stubs.get(stub_index(address));
        if stub.is_some_and(|stub| stub.is(address, realm)) {
            return (Mark::NONE, false);
        }
        let memory = self.memory(view, pc.isa);
        match aligned(address, pc.isa).and_then(|()| memory.block(address, &self.rules)) {
            Ok(block) => {
                if block.end == End::Waypoint
                    && let Some(kept) = self.table.insert(&block, realm)
                {
                    return kept;
                }
                let stub = Stub { realm, block };
                if self.stubs.is_empty() {
                    self.stubs = vec![Stub { realm: Realm::NONE, ..stub }; STUBS];
                }
                if let Some(place) = self.stubs.get_mut(stub_index(address)) {
                    *place = stub;
                }
            }
            Err(miss) => self.absent.insert(address, pc.isa, realm, miss),
        }
        (Mark::NONE, false)
    }

    /// Makes the block at a place where none is kept, and where code is large those around it.
    #[cold]
    fn begin(&mut self, pc: Pc) -> (Mark, bool) {
        let (mark, anew) = self.make(pc);
        let large = self.table.len() > self.explored && !self.table.overflowed();
        if large && mark != Mark::NONE {
            self.explore(pc, mark);
        }
        (mark, anew)
    }

    /// Makes blocks before they are asked for: those behind `first`, the newest, as far as code goes on, and
    /// those that branches among them lead to. It is done while there is room, so all marks mean what they
    /// did. A branch that must be taken gets no way past it.
    fn explore(&mut self, pc: Pc, first: Mark) {
        let (view, realm, _) = self.place(pc);
        let mut newest = first;
        for _ in 0..EXPLORED {
            let Some(block) = self.table.block(newest) else { return };
            let Instruction { kind, role, conditional, target, .. } = block.last;
            if !matches!(kind, Kind::Branch | Kind::Indirect) || !conditional && role != Role::Call
            {
                break;
            }
            let next = block.next();
            self.table.foresee(next, realm);
            self.table.foresee(target.unwrap_or(next), realm);
            // Reading takes as long as the place in the table, which is asked for, needs to come.
            let block = self.memory(view, pc.isa).block(next, &self.rules);
            let kept = self.table.find(next, realm);
            let mark = match block {
                _ if kept != Mark::NONE => kept,
                Ok(block) => self.add(&block, realm),
                Err(_) => Mark::NONE,
            };
            if conditional {
                self.table.chain(newest, false, mark);
            }
            if mark == Mark::NONE || mark == kept {
                break;
            }
            newest = mark;
        }
        let start = |mark| self.table.block(mark).map(|block| block.start);
        let Some((low, high)) = start(first).zip(start(newest)) else { return };
        let mut index = first.index();
        while let Some(block) = self.table.block(Mark::new(index)) {
            let Instruction { kind, role, target, target_isa, .. } = block.last;
            if let (Kind::Branch, Some(target)) = (kind, target) {
                let target = target & target_isa.address_mask();
                let realm = Realm::new(target_isa, view.number());
                let mut to = self.table.find(target, realm);
                // In the middle of one of them.
                if to == Mark::NONE
                    && role != Role::Call
                    && target_isa == pc.isa
                    && (low..high).contains(&target)
                    && let Ok(block) = self.memory(view, pc.isa).block(target, &self.rules)
                {
                    to = self.add(&block, realm);
                    if block.last.conditional {
                        let after = self.table.find(block.next(), realm);
                        self.table.chain(to, false, after);
                    }
                }
                self.table.chain(Mark::new(index), true, to);
            }
            index += 1;
        }
    }

    /// Puts in a block that is not there, where there is room and it ends with a waypoint.
    fn add(&mut self, block: &Block, realm: Realm) -> Mark {
        match block.end {
            End::Waypoint => self.table.add(block, realm).unwrap_or(Mark::NONE),
            _ => Mark::NONE,
        }
    }

    /// What is known of a place that [`make`](Self::make) made no block of.
    fn stub(&self, address: u64, isa: Isa, realm: Realm) -> Result<&Block, Miss> {
        match self.stubs.get(stub_index(address)) {
            Some(stub) if stub.is(address, realm) => Ok(&stub.block),
            _ => Err(self.absent.find(address, isa, realm).unwrap_or(Miss { address })),
        }
    }

    /// An instruction that is not kept.
    #[cold]
    fn step(&mut self, view: View, isa: Isa, address: u64) -> Result<Instruction, Miss> {
        let realm = Realm::new(isa, view.number());
        if let Some(miss) = self.absent.find(address, isa, realm) {
            return Err(miss);
        }
        aligned(address, isa)?;
        let instruction = self.memory(view, isa).instruction(address)?;
        self.steps.insert(address, realm, instruction);
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
        let (_, realm, address) = self.place(pc);
        let mut mark = self.table.find(address, realm);
        if mark == Mark::NONE {
            if let Some(miss) = self.absent.find(address, pc.isa, realm) {
                return Err(miss);
            }
            (mark, _) = self.begin(pc);
        }
        match self.table.block(mark) {
            Some(block) => {
                self.asked = block;
                Ok(&self.asked)
            }
            None => self.stub(address, pc.isa, realm),
        }
    }

    #[inline]
    fn instruction(&mut self, pc: Pc) -> Result<Instruction, Miss> {
        let (view, realm, address) = self.place(pc);
        match self.steps.find(address, realm) {
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
        let (_, realm, address) = self.place(pc);
        self.absent.find(address, pc.isa, realm)
    }

    #[inline]
    fn hops(&self) -> Hops<'_> {
        self.table.hops()
    }

    #[inline]
    fn realm(&self, isa: Isa, space: Space) -> Realm {
        Realm::new(isa, self.image.view(space).number())
    }

    #[inline]
    fn kept(&self, mark: Mark) -> Option<Block> {
        self.table.block(mark)
    }

    #[inline]
    fn find(&self, address: u64, realm: Realm) -> Mark {
        self.table.land(address, realm)
    }

    #[inline]
    fn foresee(&self, address: u64, realm: Realm) {
        self.table.landings().foresee(hash(address, realm));
    }

    #[inline]
    fn guess(&self, address: u64, realm: Realm) -> Mark {
        self.table.landings().get(hash(address, realm))
    }

    fn enter(&mut self, pc: Pc, from: Option<(Mark, bool)>) -> Mark {
        let (_, realm, address) = self.place(pc);
        if self.absent.find(address, pc.isa, realm).is_some() {
            return Mark::NONE;
        }
        let (mark, anew) = match self.table.find(address, realm) {
            Mark::NONE => self.begin(pc),
            mark => (mark, false),
        };
        if let Some((from, taken)) = from
            && !anew
        {
            self.table.chain(from, taken, mark);
        }
        mark
    }
}

/// Where a block that is not in the table is kept.
#[inline]
const fn stub_index(address: u64) -> usize {
    (address >> 1 ^ address >> 11 ^ address >> 21) as usize & (STUBS - 1)
}
