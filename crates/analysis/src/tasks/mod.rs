//! Tasks of operating systems: how a trace shows which one runs, and their names.
//!
//! | file | contents |
//! |---|---|
//! | `systems.toml` | the operating systems that are known |
//! | `system.rs` | [`System`]: an operating system |
//! | `description.rs` | [`System`]s and names of tasks in TOML |
//! | `orti.rs` | an operating system and its tasks in ORTI |
//! | `detected.rs` | [`Tasks`]: the system of a capture |
//! | `list.rs` | [`ThreadList`]: the threads of a trace |
//! | `names.rs` | [`TaskName`], [`TaskThread`]: names of threads |
//! | `only.rs` | [`OnlyThreads`]: frames of some threads |
//! | `runs.rs` | [`ThreadRuns`]: when each thread executes |

mod description;
mod detected;
mod list;
mod names;
mod only;
mod orti;
#[cfg(test)]
mod orti_tests;
mod runs;
mod system;
#[cfg(test)]
mod tests;

pub use crate::running::{EventTasks, RunningEvents, Watched, comparators};
pub use detected::Tasks;
pub use list::ThreadList;
pub use names::{NamedBy, TaskName, TaskThread};
pub use only::OnlyThreads;
pub use runs::{ThreadRun, ThreadRuns};
pub use system::{System, TaskFile};
