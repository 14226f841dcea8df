//! Analysis of decoded trace: listeners that aggregate what was executed.
//!
//! | file | contents |
//! |---|---|
//! | `profiler.rs` | [`Profiler`]: counts each range of instructions and what follows it |
//! | `runs.rs`, `run_counts.rs` | counts of cached blocks between two branches that were taken |
//! | `range_tree.rs` | counts of other ranges by the path to each of them |
//! | `branch_lists.rs` | [`BranchLister`]: counts sequences of branches from an address on |
//! | `counts.rs` | [`Counts`]: a table of counts that saturate |
//! | `replay.rs` | the executions that a branch list describes |
//! | `samples.rs`, `listed_samples.rs` | the executions that samples with branches describe: of `perf.data`, and of a branch list |
//! | `executed.rs` | [`Executed`]: a range and what follows it |
//! | `raw_profile.rs` | [`RawProfile`]: the counts of a profiler, at addresses in memory |
//! | `count_lines.rs` | the same as lines of text, which can be written, read and summed |
//! | `profile.rs` | [`Profile`]: the counts by program file, at addresses in the file |
//! | `code.rs` | [`Code`]: the functions that the sources execute |
//! | `flat.rs` | [`flat::FlatProfile`]: instructions by function, without call stacks |
//! | `transfer.rs` | [`Transfer`]: a call, a return, another transfer of control |
//! | `transfers/` | [`Transfers`]: finds them in elements |
//! | `entered.rs` | the functions of cached blocks: transfers between them are found by number |
//! | `transfer_log.rs` | the transfers of a part, in order, in little memory |
//! | `stacks/` | [`Stacks`]: the call stack of each thread, from transfers |
//! | `paths.rs` | [`Paths`]: sums by call path |
//! | `functions.rs` | sums by function |
//! | `coverage/` | what was executed of each program file, by instruction, branch, line |
//! | `coverage_runs/` | [`coverage_runs::CoverageRuns`]: coverage of several runs |
//! | `exemptions/` | [`exemptions::Exemption`]: what need not be covered, and why |
//! | `decisions/` | [`decisions::Decision`]: decisions, conditions, MC/DC |
//! | `itm/` | [`itm::Interpreter`]: text, exceptions, samples and watched data of an ITM, with times |
//! | `program_file.rs` | [`coverage::ProgramFile`]: the program files of a capture |
//! | `part.rs` | [`exemptions::Part`]: what is covered, or is not |
//! | `totals.rs` | [`coverage::Totals`]: how much of something is covered |
//! | `programs.rs` | [`Programs`]: whether captures are of the same programs |
//! | `timeline.rs` | [`Timeline`]: the frames over time |
//! | `tasks/` | [`tasks::Tasks`]: tasks of operating systems, and their names |
//! | `running.rs` | which events of an ITM or STM name the running task |
//! | `local_time/` | when packets of an ITM or STM happened, by local timestamps |
//! | `stored.rs` | what handlers store to the variable of the running task |
//! | `dwt_stores/` | stores that a DWT reports, placed in the handlers of an ETM |
//! | `timing/` | [`timing::Timing`]: how long functions and exceptions take, as intervals |
//!
//! A [`Profiler`] counts at addresses in memory while it decodes. [`Profile::add`] converts the
//! counts to addresses in the files that the memory was loaded from. Each output format is made of
//! a [`Profile`].
//!
//! [`Transfers`] are found while a trace is decoded, on several threads. [`Stacks`] are made of them
//! in order, and [`Paths`] and other visitors receive the frames.
//!
//! ```
//! use tracewright_analysis::Counts;
//!
//! let mut counts = Counts::default();
//! for branch in [(0x8000u64, 0x8010u64), (0x8010, 0x8000), (0x8000, 0x8010)] {
//!     counts.add(branch, 1);
//! }
//! let mut all: Vec<_> = counts.into_counts().collect();
//! all.sort_unstable();
//! assert_eq!(all, [((0x8000, 0x8010), 2), ((0x8010, 0x8000), 1)]);
//! ```
#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::expect_used, clippy::panic))]
#![cfg_attr(not(test), warn(clippy::todo, clippy::unimplemented, clippy::unreachable))]
#![warn(clippy::print_stdout, clippy::print_stderr, clippy::dbg_macro)]

mod branch_lists;
mod code;
mod count_lines;
mod counts;
pub mod coverage;
pub mod coverage_runs;
pub mod decisions;
pub mod dwt_stores;
mod entered;
mod executed;
pub mod exemptions;
pub mod flat;
pub mod functions;
pub mod itm;
mod known_blocks;
mod listed_samples;
mod local_time;
mod outermost;
mod part;
mod paths;
mod profile;
mod profiler;
mod program_file;
mod programs;
#[cfg(test)]
mod random_blocks;
mod range_tree;
mod raw_profile;
mod replay;
mod run_counts;
mod running;
mod runs;
mod samples;
pub mod stacks;
mod stored;
pub mod tasks;
mod thread_names;
mod timeline;
pub mod timing;
mod totals;
mod transfer;
mod transfer_log;
mod transfers;

pub use branch_lists::{BranchLister, BranchLists, Branches};
pub use code::{Code, FunctionId, Known};
pub use counts::Counts;
pub use executed::{Executed, Following};
pub use paths::{MAX_CALLERS, Path, PathId, Paths, ThreadPaths};
pub use profile::{
    Branch, BranchCount, FileKey, Filter, Listed, MissingCode, ModuleProfile, Profile, RangeCount,
    Target, Trace,
};
pub use profiler::Profiler;
pub use programs::{DifferentPrograms, Programs};
pub use raw_profile::{Executions, RawProfile};
pub use replay::Replayed;
pub use samples::Sampled;
pub use stacks::Stacks;
pub use thread_names::{ThreadNames, thread_names};
pub use timeline::{Axis, Slice, TimeEstimate, TimeSample, Timeline, TimelineThread};
pub use transfer::{Kind as TransferKind, NO_FUNCTION, Transfer};
pub use transfers::{SourceState, Transfers};
