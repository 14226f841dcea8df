//! Executed instructions, one at a time.

mod block_lines;
mod expand;
mod json;
mod opcode_columns;
mod pc;
mod picked;
mod range_lines;
mod slice;
mod text;

pub use expand::{Expand, ProgramId, Step, Steps};
pub use json::Json;
pub use pc::Pcs;
pub use picked::Picked;
pub use slice::{Parts, Slice};
pub use text::Text;
