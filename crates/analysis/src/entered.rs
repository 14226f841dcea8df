//! The functions of cached blocks, and how their last instructions leave them.

use std::sync::{Arc, Mutex, PoisonError};

use tracewright_base::{
    BlockId, BlockTransfer, CachedBlocks, FunctionMarks, Kind as Effect, Range, Role,
};
use tracewright_image::MemoryId;

use crate::code::Place;
use crate::transfer::{Kind, NO_FUNCTION, Transfer, empty};

/// A cached block that is entered by transfers.
// In 16 bytes, as an exit: the tables of a program are larger than the nearest cache.
#[derive(Clone, Copy, Debug)]
#[repr(align(16))]
pub(crate) struct EnteredBlock {
    /// The address of the block.
    pub(crate) target: u64,
    pub(crate) function: u32,
    /// The function is known, as are all fields.
    pub(crate) entered: bool,
    /// The block is the first one of the function.
    pub(crate) entry: bool,
    /// The function is a stub.
    pub(crate) stub: bool,
    /// Exceptions of C++ or panics of Rust continue at the block.
    pub(crate) unwinds: bool,
}

/// A cached block that ends with a call, a return or an indirect branch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Exit {
    /// The address after it.
    pub(crate) end: u64,
    /// The transfer of each execution, if it is known; of an indirect branch, in code without
    /// symbols.
    pub(crate) kind: Option<Kind>,
}

const _: () = assert!(size_of::<EnteredBlock>() == 16 && size_of::<Exit>() == 16);

const UNKNOWN: EnteredBlock = EnteredBlock {
    target: 0,
    function: NO_FUNCTION,
    entered: false,
    entry: false,
    stub: false,
    unwinds: false,
};

/// What is known of cached blocks, by their numbers.
#[derive(Clone, Debug, Default)]
struct Blocks {
    entered: Vec<EnteredBlock>,
    exits: Vec<Exit>,
}

impl Blocks {
    fn resize(&mut self, len: usize) {
        if self.entered.len() < len {
            self.entered.resize(len, UNKNOWN);
            self.exits.resize(len, Exit { end: 0, kind: None });
        }
    }
}

/// Blocks that are entered, for transfers that are stored in a [log](crate::transfer_log).
#[derive(Clone, Debug, Default)]
pub(crate) struct SharedBlocks(Arc<Mutex<Blocks>>);

impl SharedBlocks {
    /// A transfer, without its source and what precedes it.
    pub(crate) fn transfer(&self, transfer: &BlockTransfer) -> Option<Transfer> {
        let blocks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Exit { end, kind } = *blocks.exits.get(transfer.from().0.index())?;
        let to = *blocks.entered.get(transfer.to().index())?;
        let EnteredBlock { target, function, entry, stub, .. } = to;
        let (kind, instructions) = (kind?, transfer.instructions);
        let ret = (kind == Kind::Call).then_some(end);
        Some(Transfer { target, ret, function, instructions, kind, entry, stub, ..empty(0, 0) })
    }

    /// Changes what is known of block `index`.
    fn set(&self, index: usize, set: impl FnOnce(&mut EnteredBlock, &mut Exit)) {
        let mut blocks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        blocks.resize(index + 1);
        let Blocks { entered, exits } = &mut *blocks;
        if let (Some(entered), Some(exit)) = (entered.get_mut(index), exits.get_mut(index)) {
            set(entered, exit);
        }
    }
}

/// What is known of the cached blocks of a source.
#[derive(Clone, Debug, Default)]
pub(crate) struct Entered {
    marks: FunctionMarks,
    /// The memory whose functions these are.
    memory: Option<MemoryId>,
    blocks: Blocks,
    /// The same.
    shared: SharedBlocks,
}

impl Entered {
    /// What is known of a block that is entered.
    #[inline]
    pub(crate) fn get(&self, id: BlockId) -> Option<&EnteredBlock> {
        self.blocks.entered.get(id.index())
    }

    /// How a block leaves its function.
    #[inline]
    pub(crate) fn exit(&self, id: BlockId) -> Option<&Exit> {
        self.blocks.exits.get(id.index())
    }

    /// Loads what is known of the blocks of `transfers` into the nearest cache. These loads are
    /// independent of each other; where the transfers are taken, each would wait for a mispredicted
    /// branch.
    #[inline]
    pub(crate) fn load(&self, transfers: &[BlockTransfer]) {
        let sum = transfers.iter().fold(0, |sum, transfer| {
            let end = self.exit(transfer.from().0).map_or(0, |exit| exit.end);
            sum ^ end ^ self.get(transfer.to()).map_or(0, |block| block.target)
        });
        std::hint::black_box(sum);
    }

    /// Stores the function of a block at `target`. `unwinds`: as in [`EnteredBlock`].
    pub(crate) fn insert(&mut self, id: BlockId, target: u64, place: Place, unwinds: bool) {
        let Some(block) = self.blocks.entered.get_mut(id.index()) else { return };
        let Place { found, whole, stub } = place;
        let new = EnteredBlock {
            target,
            function: found.function.unwrap_or(NO_FUNCTION),
            entered: true,
            entry: whole && found.start == target,
            stub,
            unwinds,
        };
        *block = new;
        self.shared.set(id.index(), |block, _| *block = new);
    }

    /// Stores how a block leaves its function, whose range is `range`.
    pub(crate) fn learn(&mut self, id: BlockId, range: &Range) {
        let kind = match (range.last.role, range.last.kind) {
            (Role::Call | Role::Link, _) => Kind::Call,
            (Role::Return | Role::ImpliedReturn, _) => Kind::Return,
            (Role::Jump | Role::Loop | Role::Compare, Effect::Indirect) => Kind::Indirect,
            _ => return,
        };
        if let Some(exit) = self.blocks.exits.get_mut(id.index())
            && matches!(range.last.kind, Effect::Branch | Effect::Indirect)
        {
            let new = Exit { end: range.end(), kind: Some(kind) };
            *exit = new;
            self.shared.set(id.index(), |_, exit| *exit = new);
        }
    }

    /// Prepares for `blocks` in `memory`, and takes the marks.
    pub(crate) fn take_marks(
        &mut self,
        memory: MemoryId,
        blocks: &CachedBlocks<'_>,
    ) -> FunctionMarks {
        let same = self.marks.prepare(blocks);
        let known = self.memory.replace(memory) == Some(memory);
        if !known {
            self.marks.clear();
        }
        if !(same && known) {
            self.blocks = Blocks::default();
            self.shared = SharedBlocks::default();
        }
        self.resize(blocks.all().len());
        std::mem::take(&mut self.marks)
    }

    pub(crate) fn resize(&mut self, len: usize) {
        self.blocks.resize(len);
    }

    /// The blocks, for a log.
    pub(crate) const fn shared(&self) -> &SharedBlocks {
        &self.shared
    }

    /// Takes back the marks.
    pub(crate) fn return_marks(&mut self, marks: FunctionMarks) {
        self.marks = marks;
    }
}
