//! Analysis of decoded trace: listeners that aggregate what was executed.
//!
//! | file | contents |
//! |---|---|
//! | `profiler.rs` | [`Profiler`]: counts each range of instructions and what follows it |
//! | `paths.rs` | counts of ranges by the path to them, from which the others follow |
//! | `raw_profile.rs` | [`RawProfile`]: its counts |
//! | `branch_lists.rs` | [`BranchLister`]: counts sequences of branches from an address on |
//! | `counts.rs` | [`Counts`]: a table of counts that saturate |
//! | `replay.rs` | the executions that a branch list describes |
//! | `profile.rs` | [`Profile`]: the counts by program file, at addresses in the file |
//!
//! A [`Profiler`] counts at addresses in memory while it decodes. [`Profile::add`] converts the
//! counts to addresses in the files that the memory was loaded from. Each output format is made of
//! a [`Profile`].
#![forbid(unsafe_code)]

mod branch_lists;
mod counts;
mod paths;
mod profile;
mod profiler;
mod raw_profile;
mod replay;

pub use branch_lists::{BranchLister, BranchLists, Branches};
pub use counts::Counts;
pub use profile::{
    Branch, BranchCount, Filter, Listed, ModuleProfile, Profile, RangeCount, Target, Trace,
};
pub use profiler::Profiler;
pub use raw_profile::{Executed, Following, RawProfile};
pub use replay::Replayed;
