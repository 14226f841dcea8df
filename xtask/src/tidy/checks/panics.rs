//! Input never panics.

use super::{Finding, Tree, lines_with};

const WORDS: [&str; 7] =
    [".unwrap()", ".unwrap_err()", ".expect(", "panic!", "todo!", "unimplemented!", "unreachable!"];

/// Nothing outside tests gives up. Indexing cannot be seen by reading; the properties in `fuzz/`
/// look for it.
pub(super) fn panics(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.sources() {
        for word in WORDS {
            let uses = lines_with(&file.code, word);
            findings.extend(uses.map(|line| Finding::new(file, line, format!("`{word}`"))));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::super::findings;
    use super::*;

    #[test]
    fn only_tests_may_panic() {
        let bad = "fn f(x: Option<u8>) -> u8 {\n    x.unwrap()\n}\nfn g() { todo!() }\n";
        assert_eq!(
            findings(panics, &[("crates/base/src/a.rs", bad)]),
            ["crates/base/src/a.rs:2", "crates/base/src/a.rs:4"]
        );
        let good =
            "//! x.unwrap()\nfn f() { x.unwrap_or(1); }\n#[cfg(test)]\nmod tests { y.unwrap() }";
        assert_eq!(findings(panics, &[("crates/base/src/a.rs", good)]), [""; 0]);
        assert_eq!(findings(panics, &[("crates/base/tests/a.rs", bad)]), [""; 0]);
    }
}
