//! Every executed instruction, one at a time.

mod expand;
mod json;
mod pc;
mod text;
mod whole;

pub use expand::{Expand, Step, Steps};
pub use json::Json;
pub use pc::Pcs;
pub use text::Text;
