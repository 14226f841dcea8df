//! The requirements that the suite checks.

use super::found::Found;
use super::{coverage, decoding, independence};

/// The digests of the results.
pub(super) const RESULTS: &str = include_str!("results.txt");

/// A check of a requirement.
pub(super) struct Check {
    /// The number of the requirement in `docs/qualification.md`.
    pub(super) number: &'static str,
    /// The requirement.
    pub(super) requirement: &'static str,
    /// Makes the result.
    pub(super) run: fn() -> Found,
}

const fn check(number: &'static str, requirement: &'static str, run: fn() -> Found) -> Check {
    Check { number, requirement, run }
}

/// All checks, in order.
pub(super) const CHECKS: &[Check] = &[
    check("DEC-1", "ETMv1: elements of a trace", || decoding::elements("etmv1")),
    check("DEC-2", "ETMv2: elements of a trace", || decoding::elements("etmv2")),
    check("DEC-3", "ETMv3: elements of a trace", || decoding::elements("etmv3")),
    check("DEC-4", "PTM: elements of a trace", || decoding::elements("ptm")),
    check("DEC-5", "ETMv4: elements of a trace", || decoding::elements("etmv4")),
    check("DEC-6", "ETE: elements of a trace", || decoding::elements("ete")),
    check("DEC-7", "ITM: elements of a trace", || decoding::elements("itm")),
    check("DEC-8", "STM: elements of a trace", || decoding::elements("stm")),
    check("DEC-9", "E-Trace 1.0: elements of a trace", || decoding::elements("etrace-1.0")),
    check("DEC-10", "E-Trace 2.0: elements of a trace", || decoding::elements("etrace-2.0")),
    check("DEC-11", "E-Trace 0.026: elements of a trace", || decoding::elements("etrace-draft")),
    check("DEC-12", "N-Trace, histories: elements of a trace", || decoding::elements("ntrace-htm")),
    check("DEC-13", "N-Trace, branches: elements of a trace", || decoding::elements("ntrace-btm")),
    check(
        "DMG-1",
        "damaged bytes are reported, and elements before them unchanged",
        decoding::damage,
    ),
    check("COV-1", "executions of lines, outcomes of branches, functions", coverage::whole),
    check("COV-2", "what a loss may hide is unknown, never not executed", coverage::losses),
    check("COV-3", "outcomes, values of conditions, what is not measurable", coverage::decisions),
    check("COV-4", "conditions that evaluations show to be independent", independence::conditions),
    check("COV-5", "a sum of runs does not depend on their order", coverage::runs),
];
