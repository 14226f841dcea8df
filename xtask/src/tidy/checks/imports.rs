//! Imports name the module that they mean.

use super::modules::{Modules, paths};
use super::{Finding, Tree};

/// Paths that begin with a name that the root of the crate re-exports from one of its modules.
pub(super) fn imports(tree: &Tree) -> Vec<Finding> {
    let modules = Modules::of(tree);
    let mut findings = Vec::new();
    for (own, file) in modules.files.iter().filter(|(own, _)| own.len() > 1) {
        for path in paths(&file.code) {
            let [first, name, ..] = &path[..] else { continue };
            let exported = [own[0].clone(), name.clone()];
            if first == "crate"
                && let Some(from) = modules.exports.get(&exported[..])
            {
                let from = from[1..].join("::");
                findings.push(Finding::new(file, 0, format!("crate::{name} is crate::{from}")));
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
    fn names_of_the_root_are_found() {
        let files = [
            (
                "crates/a/src/lib.rs",
                "mod b;\nmod c;\npub use b::One;\npub use c::c;\npub fn own() {}",
            ),
            ("crates/a/src/b.rs", "use crate::{c::c, own};\nuse crate::c::d;"),
            ("crates/a/src/c.rs", "use crate::{One, b::Two};"),
        ];
        assert_eq!(findings(imports, &files), ["crates/a/src/c.rs:0"]);
    }
}
