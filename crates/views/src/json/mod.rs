//! JSON Lines: one object a line. `docs/json.md` is the schema.

mod element;
mod listing;
pub mod object;

pub use listing::{Listing, Shown};
pub use object::Object;

/// The version of the schema. It changes when a field changes its meaning or goes away; new fields and
/// new kinds may come at any time.
pub const VERSION: u32 = 1;

/// The first line of every answer.
pub fn head(verb: &str) -> String {
    let mut text = String::new();
    Object::new(&mut text)
        .text("schema", "tracewright")
        .number("version", VERSION.into())
        .text("verb", verb)
        .end();
    text.push('\n');
    text
}
