//! `tracewright unit`

mod explain;
mod filter;
mod finding;
mod program;
mod sequence;
mod subject;

use crate::args::UnitVerb;
use crate::fail::Fail;

/// Runs the verb.
pub fn run(verb: &UnitVerb) -> Result<bool, Fail> {
    match verb {
        UnitVerb::Explain(args) => explain::explain(args),
        UnitVerb::Lint(args) => explain::lint(args),
        UnitVerb::Program(args) => program::run(args),
        UnitVerb::Filter(args) => filter::run(args),
        UnitVerb::Sequence(args) => sequence::run(args),
    }
}
