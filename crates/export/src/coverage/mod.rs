//! Coverage in the formats of coverage tools.
//!
//! | file | format |
//! |---|---|
//! | `lcov.rs` | tracefile of lcov |
//! | `cobertura.rs` | Cobertura XML |
//! | `gcov.rs` | JSON of gcov |
//! | `llvm_cov.rs` | JSON of llvm-cov export |
//! | `drcov.rs` | drcov, executed blocks |
//! | `gnatcov.rs` | execution trace of GNATcoverage |
//! | `sonarqube.rs` | SonarQube's generic coverage |
//! | `junit.rs` | [`junit`]: limits as tests |

mod cobertura;
mod drcov;
mod gcov;
mod gnatcov;
mod junit;
mod lcov;
mod llvm_cov;
mod sonarqube;

pub use gnatcov::flat;
pub use junit::{CheckedLimit, junit};

use std::collections::BTreeMap;

use tracewright_analysis::coverage::{ProgramCoverage, ProgramFile, SourceFile};

/// A format of coverage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CoverageFormat {
    /// Tracefile of lcov.
    Lcov,
    /// Cobertura XML.
    Cobertura,
    /// JSON of gcov.
    Gcov,
    /// JSON of llvm-cov export.
    LlvmCov,
    /// drcov.
    Drcov,
    /// SonarQube's generic test coverage.
    SonarQube,
    /// Execution trace of GNATcoverage, of one program.
    GnatCov,
}

/// What was executed.
#[derive(Clone, Copy, Debug)]
pub struct CoverageView<'a> {
    /// The source files by path.
    pub sources: &'a BTreeMap<String, SourceFile>,
    /// The program files, and what was executed of each.
    pub programs: &'a [(ProgramFile, ProgramCoverage)],
}

impl CoverageFormat {
    /// The file.
    pub fn write(self, view: &CoverageView<'_>) -> Vec<u8> {
        match self {
            CoverageFormat::Lcov => lcov::write(view).into_bytes(),
            CoverageFormat::Cobertura => cobertura::write(view).into_bytes(),
            CoverageFormat::Gcov => gcov::write(view).into_bytes(),
            CoverageFormat::LlvmCov => llvm_cov::write(view).into_bytes(),
            CoverageFormat::Drcov => drcov::write(view),
            CoverageFormat::GnatCov => gnatcov::flat(view).write(),
            CoverageFormat::SonarQube => sonarqube::write(view).into_bytes(),
        }
    }
}
