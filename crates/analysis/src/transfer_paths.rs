//! The transfers of paths: of the ranges that the atoms of a packet execute.
//!
//! A path from an address in a function on always makes the same transfers. They are found once.

use tracewright_base::{Last, Path};
use tracewright_image::MemoryId;

use crate::transfer::Transfer;

/// The number of paths, a power of two. A new path replaces another one.
const SLOTS: usize = 1 << 14;
/// The most transfers of all paths. Beyond them the paths are made anew.
const MAX_TRANSFERS: usize = 1 << 18;

/// Where a path begins, besides its address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct From {
    /// The first address of the code of the function, or of code without one.
    pub(crate) start: u64,
    pub(crate) memory: Option<MemoryId>,
    pub(crate) source: u16,
}

/// What a path leaves.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Left {
    /// Its last instruction, and the address after it.
    pub(crate) last: Last,
    pub(crate) end: u64,
    /// Instructions after the last transfer.
    pub(crate) instructions: u32,
    /// Its transfers, and the function in which it ends; `None` if it stays in its function.
    pub(crate) leaves: Option<u32>,
}

/// The transfers of a path that leaves its function, and where it ends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Leaves {
    first: u32,
    count: u32,
    /// The addresses around the end in the same function, and its number.
    pub(crate) within: (u64, u64),
    pub(crate) function: u32,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    /// [`Path::key`].
    key: (u64, u64),
    from: From,
    left: Left,
}

/// Known paths: a direct-mapped table.
#[derive(Clone, Debug, Default)]
pub(crate) struct TransferPaths {
    entries: Vec<Option<Entry>>,
    leaves: Vec<Leaves>,
    transfers: Vec<Transfer>,
}

impl TransferPaths {
    /// What `path` leaves, if it is known.
    #[inline]
    pub(crate) fn get(&self, path: &Path, from: &From) -> Option<Left> {
        let key = path.key();
        let entry = self.entries.get(slot(key))?.as_ref()?;
        (entry.key == key && entry.from == *from).then_some(entry.left)
    }

    /// How the path leaves its function: [`Left::leaves`].
    pub(crate) fn leaves(&self, number: u32) -> Option<Leaves> {
        self.leaves.get(number as usize).copied()
    }

    /// Transfer `n` of a path, with the instructions of the path before it.
    pub(crate) fn transfer(&self, leaves: &Leaves, n: u32) -> Option<Transfer> {
        let number = leaves.first.checked_add(n).filter(|_| n < leaves.count)?;
        self.transfers.get(number as usize).copied()
    }

    /// Stores a path that stays in its function, or has `transfers` and then ends in the function
    /// with code in these addresses.
    pub(crate) fn insert(
        &mut self,
        path: &Path,
        from: From,
        left: Left,
        transfers: &[Transfer],
        end: ((u64, u64), u32),
    ) {
        if self.transfers.len() + transfers.len() > MAX_TRANSFERS {
            *self = TransferPaths::default();
        }
        if self.entries.is_empty() {
            self.entries = vec![None; SLOTS];
        }
        let mut left = left;
        left.leaves = None;
        if !transfers.is_empty() || from.start != end.0.0 {
            left.leaves = Some(self.leaves.len() as u32);
            let (first, count) = (self.transfers.len() as u32, transfers.len() as u32);
            self.leaves.push(Leaves { first, count, within: end.0, function: end.1 });
            self.transfers.extend_from_slice(transfers);
        }
        let key = path.key();
        if let Some(entry) = self.entries.get_mut(slot(key)) {
            *entry = Some(Entry { key, from, left });
        }
    }
}

/// The slot of a path.
#[inline]
fn slot((start, atoms): (u64, u64)) -> usize {
    let mixed =
        start.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ atoms.wrapping_mul(0xd6e8_feb8_6659_fd93);
    (mixed >> 40) as usize & (SLOTS - 1)
}
