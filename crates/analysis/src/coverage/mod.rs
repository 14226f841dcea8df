//! Coverage: what was executed of each program file, by instruction, branch and source line.
//!
//! | file | contents |
//! |---|---|
//! | `losses.rs` | [`Losses`]: whether what was not executed may have been executed unseen |
//! | `program.rs` | [`ProgramCoverage`]: executions of instructions, outcomes of branches |
//! | `lines.rs` | [`SourceFile`]: the same by source line |

mod lines;
mod losses;
mod program;

pub use lines::{BranchOutcomes, FunctionLine, Line, SourceFile};
pub use losses::Losses;
pub use program::{ProgramCoverage, ProgramFile, program_files};
