//! Profiles of processor trace in the formats of compilers and profilers.
//!
//! | file | format |
//! |---|---|
//! | `autofdo.rs` | text for `create_llvm_prof` and `create_gcov` of AutoFDO |
//! | `bolt.rs` | pre-aggregated profile for `perf2bolt` of BOLT |
//! | `llvm.rs` | unsymbolized profile for `llvm-profgen` |
//! | `sample_profile.rs` | sample profile of `clang -fprofile-sample-use` and `llvm-profdata` |
//! | `propeller.rs`, `layout.rs` | lists of basic blocks and of symbols for clang and lld |
//! | `branch_list.rs` | branch list of simpleperf |
//! | `pprof.rs` | profile.proto of pprof |
//! | `callgrind.rs` | callgrind |
//! | `folded.rs` | folded stacks, with functions only |
//! | `json.rs` | JSON Lines |
//! | `tables.rs` | tables for people |
//! | `coverage/` | coverage: lcov, Cobertura, gcov, llvm-cov, drcov, GNATcoverage |
//! | `coverage_html/` | coverage: a folder of HTML pages |
//! | `coverage_runs/` | coverage of several runs: files that `coverage --load` sums |
//! | `paths/` | call paths: folded stacks, flame graph, callgrind |
//! | `report/` | a report, one HTML page |
//! | `timeline/` | frames over time: Chrome JSON, Perfetto, speedscope, Value Change Dump |
//! | `samples.rs` | samples of the program counter in the formats of profilers |
//! | `functions.rs` | the functions of a profile |
//! | `text.rs` | names and texts in each of the formats |
//! | `pieces.rs` | files that are written while they are made |
//!
//! Each consumer expects addresses of its own kind: offsets in the file, addresses in the file, or
//! offsets from a segment. Counts are exact, and saturate at `u64::MAX`.
//!
//! ```
//! use tracewright_analysis::{ModuleProfile, Profile};
//! use tracewright_export::{Dialect, Format};
//!
//! let mut module = ModuleProfile::default();
//! module.file.path = "/bin/program".into();
//! module.ranges.entry((0x1000, 0x101c)).or_default().taken = 5;
//! module.ranges.entry((0x1000, 0x101c)).or_default().instructions = 8;
//! let mut profile = Profile::default();
//! profile.modules.insert(("/bin/program".into(), None), module);
//! let text = Format::Folded.write(&profile, Dialect::Full)?;
//! assert_eq!(text, b"program;[unknown] 40\n");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::expect_used, clippy::panic))]
#![cfg_attr(not(test), warn(clippy::todo, clippy::unimplemented, clippy::unreachable))]
#![warn(clippy::print_stdout, clippy::print_stderr, clippy::dbg_macro)]

mod autofdo;
mod bolt;
mod branch_list;
mod callgrind;
pub mod coverage;
pub mod coverage_html;
pub mod coverage_runs;
mod folded;
mod functions;
mod json;
mod layout;
mod llvm;
pub mod paths;
mod pieces;
mod pprof;
mod propeller;
pub mod report;
mod sample_profile;
pub mod samples;
mod tables;
mod text;
pub mod timeline;

use tracewright_analysis::{ModuleProfile, Profile};
use tracewright_base::Invalid;

pub use tables::tables;

/// How a format is written of which there are several forms.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Dialect {
    /// What the trace contains: exact targets, and sequences between branches that were taken.
    #[default]
    Full,
    /// For versions of BOLT before 21: branches, and the ranges between branches that were taken.
    Ranges,
    /// As simpleperf writes it: the targets of indirect branches are 0, and ranges end at each
    /// branch.
    Simpleperf,
}

/// A format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Format {
    /// Text of AutoFDO.
    Autofdo,
    /// Pre-aggregated profile of BOLT.
    Bolt,
    /// Sample profile of LLVM, as text.
    Llvm,
    /// Unsymbolized profile of llvm-profgen.
    LlvmUnsymbolized,
    /// Clusters of basic blocks for clang.
    Propeller,
    /// Branch list of simpleperf.
    BranchList,
    /// profile.proto of pprof.
    Pprof,
    /// Folded stacks.
    Folded,
    /// Callgrind.
    Callgrind,
    /// JSON Lines.
    Json,
}

impl Format {
    /// Whether a file of this format has the profile of one program file only.
    pub fn holds_one(self, dialect: Dialect) -> bool {
        match self {
            Format::Autofdo | Format::Bolt => dialect != Dialect::Simpleperf,
            Format::Llvm | Format::LlvmUnsymbolized | Format::Propeller => true,
            _ => false,
        }
    }

    /// The profile in this format.
    ///
    /// # Errors
    /// What a program file lacks for the format.
    pub fn write(self, profile: &Profile, dialect: Dialect) -> Result<Vec<u8>, Invalid> {
        Ok(match self {
            Format::Autofdo => autofdo::write(profile, dialect).into_bytes(),
            Format::Bolt => bolt::write(profile, dialect).into_bytes(),
            Format::Llvm => sample_profile::write(profile)?.into_bytes(),
            Format::LlvmUnsymbolized => llvm::write(profile).into_bytes(),
            Format::Propeller => propeller::write(profile)?.into_bytes(),
            Format::BranchList => branch_list::write(profile),
            Format::Pprof => pprof::write(profile),
            Format::Folded => folded::write(profile).into_bytes(),
            Format::Callgrind => callgrind::write(profile).into_bytes(),
            Format::Json => json::write(profile).into_bytes(),
        })
    }
}

/// The order of the symbols of a Propeller profile, which
/// `lld --symbol-ordering-file` reads.
///
/// # Errors
/// What a program file lacks.
pub fn symbol_order(profile: &Profile) -> Result<String, Invalid> {
    Ok(propeller::symbols(profile)?)
}

/// The lines that name a file after its profile.
fn footer(module: &ModuleProfile) -> String {
    let mut id: String =
        module.file.build_id.iter().flatten().map(|byte| format!("{byte:02x}")).collect();
    // A build identifier of simpleperf has 20 bytes.
    while id.len() < 40 {
        id.push('0');
    }
    format!("// build_id: 0x{id}\n// {}\n", text::line(&module.file.path))
}
