//! Options of the verbs that know tasks of operating systems.

use std::path::PathBuf;

use clap::Args;

use super::own::group;

/// Threads that the trace does not name.
#[derive(Debug, Default, Args)]
pub struct SwitchArgs {
    /// Function that switches tasks by a return (repeatable). Those of FreeRTOS, ThreadX, Zephyr
    /// and Linux are known.
    #[arg(long = "switch-at", value_name = "SYMBOL", help_heading = group::COMMON)]
    pub switch_at: Vec<String>,
    /// Operating systems and names of tasks: TOML as in docs/tasks.md, or ORTI (repeatable).
    #[arg(long = "tasks", value_name = "FILE", help_heading = group::COMMON)]
    pub tasks: Vec<PathBuf>,
}

/// Tasks that are shown.
#[derive(Debug, Default, Args)]
pub struct TaskArgs {
    /// Only the task with this name or identifier (repeatable); * stands for any characters.
    #[arg(long, value_name = "NAME|ID")]
    pub task: Vec<String>,
}

/// Tasks while which the trace is listed.
#[derive(Debug, Default, Args)]
pub struct RunningArgs {
    /// Only while the task with this name or identifier runs (repeatable); * stands for any
    /// characters.
    #[arg(long, value_name = "NAME|ID", help_heading = group::SELECTING)]
    pub task: Vec<String>,
    #[command(flatten)]
    pub switches: SwitchArgs,
}

impl RunningArgs {
    /// Whether tasks are chosen.
    pub fn wanted(&self) -> bool {
        !self.task.is_empty()
    }
}
