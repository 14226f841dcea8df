//! Executed instructions, one at a time.

mod expand;
mod json;
mod pc;
mod range_lines;
mod text;

pub use expand::{Expand, Step, Steps};
pub use json::Json;
pub use pc::Pcs;
pub use text::Text;
