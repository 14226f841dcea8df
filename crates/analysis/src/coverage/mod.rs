//! Coverage: what was executed of each program file, by instruction, branch and source line.
//!
//! | file | contents |
//! |---|---|
//! | `losses.rs` | [`Losses`]: whether what was not executed may have been executed unseen |
//! | `program.rs` | [`ProgramCoverage`]: executions of instructions, outcomes of branches |
//! | `flow.rs` | from where execution came to each instruction |
//! | `blocks.rs` | [`BlockCoverage`]: coverage from blocks that are listed in no order |
//! | `history.rs` | [`BlockHistory`]: executions of chosen blocks in their order |
//! | `copies.rs` | the executions of lines that the compiler has copied |
//! | `object.rs` | [`ObjectCoverage`]: instructions, branches, calls, entries and exits of functions |
//! | `select.rs` | [`only_functions`]: a part of it |
//! | `lines.rs` | [`SourceFile`]: the same by source line |

mod blocks;
mod copies;
mod flow;
mod history;
mod lines;
mod losses;
mod object;
mod program;
mod select;

pub use blocks::BlockCoverage;
pub use history::BlockHistory;
pub use lines::{BranchOutcomes, FunctionLine, Line, LinesOfFile, SourceFile, finish};
pub use losses::Losses;
pub use object::{CallSite, ExitKind, ExitSite, ObjectCoverage, ObjectFunction};
pub use program::ProgramCoverage;
pub use select::only_functions;

pub use crate::program_file::{ProgramFile, program_files};
pub use crate::totals::Totals;
