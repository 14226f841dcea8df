//! Coverage of several runs of a program, which are measured apart and summed: in any order, with
//! the same result.
//!
//! | file | contents |
//! |---|---|
//! | `digest.rs` | [`Digest`]: SHA-256 |
//! | `program.rs` | [`RunProgram`]: what makes a program the same in several runs |
//! | `cell.rs` | [`Cell`]: what runs cover of one line, outcome or function |
//! | `covered.rs` | [`CoveredFile`]: the cells of a source file |
//! | `decision.rs` | [`CoveredDecision`]: those of a decision |
//! | `function_code.rs` | [`FunctionCode`]: whether a function is the same in two states |
//! | `older.rs` | [`CoverageRuns::valid_for`]: what runs of an older state cover |
//! | `runs.rs` | [`CoverageRuns`]: all of them, and their sum |
//!
//! Values are three: covered, not covered, unknown. What no run covers is unknown where one of them
//! lost trace, or did not measure it.

mod cell;
mod covered;
mod decision;
mod digest;
mod function_code;
mod older;
mod program;
mod runs;

pub use cell::{Cell, RunNumbers};
pub use covered::{BranchKey, CoveredFile, FunctionKey, Part};
pub use decision::{ConditionKey, CoveredCondition, CoveredDecision, DecisionKey};
pub use digest::{Digest, Digester};
pub use function_code::{FunctionCode, FunctionPlace, function_codes};
pub use older::{FunctionChange, FunctionState};
pub use program::{ProgramKey, RunProgram};
pub use runs::{CoverageRuns, Run, RunInput, RunsDifference};
