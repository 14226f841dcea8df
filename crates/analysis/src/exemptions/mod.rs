//! Exemptions: parts of a program that need not be covered, each with its reason.
//!
//! | file | contents |
//! |---|---|
//! | `exemption.rs` | [`Exemption`]: what is exempted, and why |
//! | `table.rs` | [`read`]: exemptions in TOML |
//! | `comments.rs` | [`comments`]: exemptions in comments of source files |
//! | `found.rs` | the parts of a source file |
//! | `error.rs` | [`ExemptionError`]: why one is not valid |
//! | `scope.rs` | which text an exemption is valid for |
//! | `apply.rs` | [`apply`]: exempts the parts of source files |
//!
//! What is exempted is counted apart: it is neither covered nor not covered. What is covered is
//! never exempted.

mod apply;
mod comments;
mod error;
mod exemption;
mod found;
mod scope;
mod table;
#[cfg(test)]
mod tests;

pub use apply::{Applied, Unused, Use, apply};
pub use comments::{CommentProblem, comments};
pub use error::ExemptionError;
pub use exemption::{Exemption, ExemptionOrigin, Target};
pub use table::read;

pub use crate::part::{Part, PartKind};
