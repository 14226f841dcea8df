//! The functions of cached blocks, and how their last instructions leave them.

use std::sync::{Arc, Mutex, PoisonError};

use tracewright_base::{BlockId, BlockStep, Kind as Effect, Range, Role};
use tracewright_scan::prefetch;

use crate::code::Place;
use crate::transfer::{Kind, NO_FUNCTION, Transfer, empty};

/// Transfers ahead of the one that is read whose blocks are prefetched.
const AHEAD: usize = 16;

/// A block after a step that execution may leave its function by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BlockTransfer {
    /// The step before, at the offset of the block.
    pub(crate) from: BlockStep,
    /// The block.
    pub(crate) to: BlockId,
    /// Instructions up to the end of the step before, since the last transfer.
    pub(crate) instructions: u32,
}

const _: () = assert!(size_of::<BlockTransfer>() == 16);

impl BlockTransfer {
    /// No transfer of a table.
    pub(crate) const NONE: BlockTransfer =
        BlockTransfer { from: BlockStep::from_word(0, 0), to: BlockId::NONE, instructions: 0 };
}

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

const _: () = assert!(size_of::<EnteredBlock>() == 16);

/// The last instruction of a cached block, if each of its executions is the same transfer.
// In 8 bytes, for the same reason. Instructions are at even addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Exit(u64);

impl Exit {
    const UNKNOWN: Exit = Exit(1);
    pub(crate) const RETURN: Exit = Exit(3);
    /// An indirect branch, in code without symbols.
    pub(crate) const INDIRECT: Exit = Exit(5);

    /// A call that ends before `end`. `None` if the address is odd.
    const fn call(end: u64) -> Option<Exit> {
        if end & 1 == 0 { Some(Exit(end)) } else { None }
    }

    /// The address after a call.
    #[inline(always)]
    pub(crate) const fn return_address(self) -> Option<u64> {
        if self.0 & 1 == 0 { Some(self.0) } else { None }
    }

    pub(crate) const fn kind(self) -> Option<Kind> {
        match self {
            Exit::UNKNOWN => None,
            Exit::RETURN => Some(Kind::Return),
            Exit::INDIRECT => Some(Kind::Indirect),
            _ => Some(Kind::Call),
        }
    }
}

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
    /// A transfer, without its source and what precedes it.
    #[inline]
    fn transfer(&self, transfer: &BlockTransfer) -> Option<Transfer> {
        let exit = *self.exits.get(transfer.from.id().index())?;
        let to = *self.entered.get(transfer.to.index())?;
        let EnteredBlock { target, function, entry, stub, .. } = to;
        let (kind, instructions) = (exit.kind()?, transfer.instructions);
        let ret = exit.return_address();
        Some(Transfer { target, ret, function, instructions, kind, entry, stub, ..empty(0, 0) })
    }

    #[inline(always)]
    fn prefetch(&self, transfer: &BlockTransfer) {
        prefetch(&self.exits, transfer.from.id().index());
        prefetch(&self.entered, transfer.to.index());
    }

    fn resize(&mut self, len: usize) {
        if self.entered.len() < len {
            self.entered.resize(len, UNKNOWN);
            self.exits.resize(len, Exit::UNKNOWN);
        }
    }
}

/// Blocks that are entered, for transfers that are stored in a [log](crate::transfer_log).
#[derive(Clone, Debug, Default)]
pub(crate) struct SharedBlocks(Arc<Mutex<Blocks>>);

impl SharedBlocks {
    /// Passes transfers to `each`, without their source and what precedes them.
    pub(crate) fn transfers(
        &self,
        transfers: &[BlockTransfer],
        mut each: impl FnMut(&BlockTransfer, Transfer),
    ) {
        let blocks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        transfers.iter().take(AHEAD).for_each(|transfer| blocks.prefetch(transfer));
        for (n, short) in transfers.iter().enumerate() {
            if let Some(ahead) = transfers.get(n + AHEAD) {
                blocks.prefetch(ahead);
            }
            if let Some(transfer) = blocks.transfer(short) {
                each(short, transfer);
            }
        }
    }

    /// Whether both are the same.
    pub(crate) fn is(&self, other: &SharedBlocks) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
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
    pub(crate) fn exit(&self, id: BlockId) -> Exit {
        self.blocks.exits.get(id.index()).copied().unwrap_or(Exit::UNKNOWN)
    }

    /// Prefetches what is known of the blocks of `transfers`. Where the transfers are taken, each
    /// would wait for its own.
    #[inline]
    pub(crate) fn prefetch(&self, transfers: &[BlockTransfer]) {
        transfers.iter().for_each(|transfer| self.blocks.prefetch(transfer));
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
        let exit = match (range.last.role, range.last.kind) {
            (Role::Call | Role::Link, _) => Exit::call(range.end()),
            (Role::Return | Role::ImpliedReturn, _) => Some(Exit::RETURN),
            (Role::Jump | Role::Loop | Role::Compare, Effect::Indirect) => Some(Exit::INDIRECT),
            _ => None,
        };
        if let (Some(new), Some(exit)) = (exit, self.blocks.exits.get_mut(id.index()))
            && matches!(range.last.kind, Effect::Branch | Effect::Indirect)
        {
            *exit = new;
            self.shared.set(id.index(), |_, exit| *exit = new);
        }
    }

    /// Prepares for blocks with numbers below `len`.
    pub(crate) fn resize(&mut self, len: usize) {
        self.blocks.resize(len);
    }

    /// The blocks, for a log.
    pub(crate) const fn shared(&self) -> &SharedBlocks {
        &self.shared
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exit_has_one_kind() {
        for (exit, kind, ret) in [
            (Some(Exit::UNKNOWN), None, None),
            (Some(Exit::RETURN), Some(Kind::Return), None),
            (Some(Exit::INDIRECT), Some(Kind::Indirect), None),
            (Exit::call(0), Some(Kind::Call), Some(0)),
            (Exit::call(u64::MAX - 1), Some(Kind::Call), Some(u64::MAX - 1)),
        ] {
            let found = exit.map(|exit| (exit.kind(), exit.return_address()));
            assert_eq!(found, Some((kind, ret)), "{exit:?}");
        }
        for odd in [1, 3, 5, u64::MAX] {
            assert_eq!(Exit::call(odd), None);
        }
    }
}
