//! Input never panics, and libraries print nothing: Clippy checks both, with lints that the root of
//! each crate enables.

use super::crates::roots;
use super::{Finding, Tree};

/// Lints of the code outside tests.
const PANICS: [&str; 2] = [
    "#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::expect_used, clippy::panic))]",
    "#![cfg_attr(not(test), warn(clippy::todo, clippy::unimplemented, clippy::unreachable))]",
];

/// Lints of libraries.
const PRINTS: &str = "#![warn(clippy::print_stdout, clippy::print_stderr, clippy::dbg_macro)]";

/// Crates of tests, which may panic and print.
const TESTS: [&str; 2] = ["model", "testing"];

/// The root of each crate enables the lints.
pub(super) fn panics(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for root in roots(tree) {
        let Some(name) = root.crate_name().filter(|name| !TESTS.contains(name)) else { continue };
        let prints = Some(PRINTS).filter(|_| name != "cli");
        for lint in PANICS.into_iter().chain(prints) {
            if !root.code.contains(lint) {
                findings.push(Finding::new(root, 1, format!("no {lint}")));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::super::findings;
    use super::*;

    #[test]
    fn the_lints_are_enabled() {
        let panics_only = PANICS.join("\n");
        let all = format!("{panics_only}\n{PRINTS}\n");
        let at = |path: &str, text: &str| findings(panics, &[(path, text)]).len();
        assert_eq!(at("crates/base/src/lib.rs", &all), 0);
        assert_eq!(at("crates/base/src/lib.rs", &panics_only), 1);
        assert_eq!(at("crates/base/src/lib.rs", PRINTS), 2);
        assert_eq!(at("crates/cli/src/main.rs", &panics_only), 0);
        assert_eq!(at("crates/model/src/lib.rs", ""), 0);
        assert_eq!(at("crates/base/src/a.rs", ""), 0);
    }
}
