//! What a picture of the whole trace is made of: which functions ran in each part of it, at each
//! scale. [`view`](crate::view) reads it.
//!
//! | file | contents |
//! |---|---|
//! | `listener.rs` | collects the transfers and counts of a part of a tile, on the threads that decode |
//! | `builder.rs`, `collected.rs`, `sums.rs`, `shares.rs` | makes what is stored, in order |
//! | `tile.rs` | [`Tile`]: what ran in a part of the buffer |
//! | `frame.rs` | [`ViewFrame`]: a frame that lasts longer than a tile |
//! | `granule.rs` | [`Granule`]: sums by function of some tiles, and how long calls take |
//! | `values.rs` | [`ValueSums`]: values of watched data and of software |
//! | `names.rs` | [`Names`]: the functions, threads and series that the others number |
//! | `stacks.rs` | the call stacks at the beginning of a segment |
//!
//! A *tile* of level 0 has [`ViewShape::tile`] bytes of the buffer, and begins at a multiple of
//! them; one of level k has 4 tiles of level k - 1. What a decoder emits while it receives the
//! bytes of a tile is in the tile, as for segments. The end of the trace makes elements certain,
//! too: they are in the last tile.

pub(crate) mod builder;
pub(crate) mod collected;
pub(crate) mod frame;
pub(crate) mod granule;
pub(crate) mod listener;
mod names;
mod shares;
mod stacks;
mod sums;
pub(crate) mod tile;
mod values;

pub use frame::ViewFrame;
pub use granule::{CallLengths, FunctionSums, GRANULE_TILES, Granule, LENGTHS, length_class};
pub use names::{Names, ViewThread};
pub use stacks::{OpenFrame, OpenThread, SavedView};
pub use tile::{COUNTS, Counts, MOST_ROWS, Tile, TilePart, TileRow};
pub use values::{MOST_SERIES, Series, ValueSums};

/// How a buffer is divided into tiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ViewShape {
    /// The binary logarithm of the length of a tile of level 0.
    pub log2: u8,
    /// The number of levels: one tile of the last level has the whole buffer.
    pub levels: u8,
}

/// The most levels: with tiles of 16 bytes, they reach 2^64 bytes.
const MOST_LEVELS: u8 = 31;

impl ViewShape {
    /// Tiles of `2^log2` bytes for a buffer of `len` bytes.
    pub fn new(log2: u8, len: u64) -> ViewShape {
        let log2 = log2.min(32);
        let mut levels = 1;
        while levels < MOST_LEVELS && width(log2, levels - 1) < len {
            levels += 1;
        }
        ViewShape { log2, levels }
    }

    /// The length of a tile of `level`, or all ones.
    pub fn tile(&self, level: u8) -> u64 {
        width(self.log2, level)
    }
}

fn width(log2: u8, level: u8) -> u64 {
    1u64.checked_shl(u32::from(log2) + 2 * u32::from(level)).unwrap_or(u64::MAX)
}
