//! What ran in each part of a buffer, at each scale, and parts of it with the call stacks of the
//! whole trace.
//!
//! | file | contents |
//! |---|---|
//! | `read.rs` | [`View`]: tiles, long frames, sums and stacks, read from an index |
//! | `player.rs` | [`Player`]: decodes a part with the call stacks of the whole trace |

mod player;
mod read;

pub use crate::tiles::{
    COUNTS, CallLengths, Counts, FunctionSums, GRANULE_TILES, Granule, LENGTHS, MOST_ROWS,
    MOST_SERIES, Names, OpenFrame, OpenThread, SavedView, Series, Tile, TilePart, TileRow,
    ValueSums, ViewFrame, ViewShape, ViewThread, length_class,
};
pub use player::{Detail, ParkedAt, Passed, Player, StackAt};
pub use read::{FunctionsOf, Sums, View};
