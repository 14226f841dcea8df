//! Modules of one folder do not import one another in a circle.

use std::collections::{BTreeMap, BTreeSet};

use super::modules::{Modules, paths, resolve};
use super::{Finding, Tree};
use crate::tidy::tree::File;

/// Circles that may stay: the folder, its modules, and the reason.
const ALLOWED: &[(&str, &[&str], &str)] = &[
    (
        "base",
        &["cached_block", "path"],
        "the blocks of a table come with the paths through them, which lead through those blocks",
    ),
    (
        "decode",
        &["detect", "swo"],
        "the form of a received stream is detected by its frames, and an ITM by its packets",
    ),
];

/// The imports between modules of one folder: from, to, and a file that has one.
type Imports<'a> = BTreeMap<(String, String), &'a File>;

/// Modules of one folder that reach one another through imports. Tests do not count.
pub(super) fn circles(tree: &Tree) -> Vec<Finding> {
    let mut folders: BTreeMap<Vec<String>, Imports<'_>> = BTreeMap::new();
    let Modules { files, exports } = Modules::of(tree);
    let known: BTreeSet<&[String]> = files.iter().map(|(module, _)| &module[..]).collect();
    for (own, file) in &files {
        for path in paths(&file.code) {
            let Some(target) = resolve(own, &path) else { continue };
            // A name that the crate's root re-exports is in the module that it comes from.
            let target = match target.get(..2).and_then(|name| exports.get(name)) {
                Some(from) if own.len() > 1 => [&from[..], &target[2..]].concat(),
                _ => target,
            };
            // The longest part that is a module.
            let Some(len) = (1..=target.len()).rev().find(|&n| known.contains(&target[..n])) else {
                continue;
            };
            let target = &target[..len];
            let common = own.iter().zip(target).take_while(|(a, b)| a == b).count();
            let (Some(from), Some(to)) = (own.get(common), target.get(common)) else { continue };
            let imports = folders.entry(own[..common].to_vec()).or_default();
            imports.entry((from.clone(), to.clone())).or_insert(file);
        }
    }
    let mut findings = Vec::new();
    for (folder, imports) in &folders {
        for circle in components(imports) {
            let folder = folder.join("/");
            let is_allowed = ALLOWED.iter().any(|(at, modules, _)| {
                *at == folder && modules.iter().copied().eq(circle.iter().map(String::as_str))
            });
            let inside =
                |edge: &&(String, String)| circle.contains(&edge.0) && circle.contains(&edge.1);
            let edges: Vec<String> =
                imports.keys().filter(inside).map(|(a, b)| format!("{a} -> {b}")).collect();
            let file = imports.iter().find(|(edge, _)| inside(edge)).map(|(_, file)| *file);
            if let Some(file) = file.filter(|_| !is_allowed) {
                findings.push(Finding::new(file, 0, format!("{folder}: {}", edges.join(", "))));
            }
        }
    }
    findings
}

/// Sets of more than one module that reach one another.
fn components(imports: &Imports<'_>) -> Vec<BTreeSet<String>> {
    let reach = |from: &str| {
        let mut seen = BTreeSet::new();
        let mut left = vec![from.to_owned()];
        while let Some(at) = left.pop() {
            for (_, to) in imports.keys().filter(|(a, _)| *a == at) {
                if seen.insert(to.clone()) {
                    left.push(to.clone());
                }
            }
        }
        seen
    };
    let all: BTreeMap<String, BTreeSet<String>> =
        imports.keys().map(|(from, _)| (from.clone(), reach(from))).collect();
    let mut circles: BTreeSet<BTreeSet<String>> = BTreeSet::new();
    for (from, reached) in &all {
        if reached.contains(from) {
            let back = |to: &&String| all.get(*to).is_some_and(|r| r.contains(from));
            circles.insert(reached.iter().filter(back).cloned().collect());
        }
    }
    circles.into_iter().filter(|circle| circle.len() > 1).collect()
}

#[cfg(test)]
mod tests {
    use super::super::findings;
    use super::*;

    #[test]
    fn planted_circles_are_found() {
        let files = [
            ("crates/a/src/lib.rs", "mod b; mod c; mod d;"),
            ("crates/a/src/b.rs", "use super::c::{self, X};\nfn f() { crate::d::g() }"),
            ("crates/a/src/c.rs", "use crate::{d::Y as Z, b::inner::{Deep, More}};"),
            ("crates/a/src/b/inner.rs", "use super::super::d;"),
            ("crates/a/src/d.rs", "// use super::b;\nuse std::fmt;\n#[cfg(test)] use super::b;"),
        ];
        assert_eq!(findings(circles, &files), ["crates/a/src/b.rs:0"]);
        let findings = circles(&Tree::new(files.map(|(p, t)| (p.to_owned(), t.to_owned()))));
        assert!(findings[0].to_string().ends_with("a: b -> c, c -> b"), "{}", findings[0]);
    }

    #[test]
    fn names_of_the_root_are_in_their_modules() {
        let files = [
            (
                "crates/a/src/lib.rs",
                "mod b;\nmod c;\npub use b::{One, other::Two};\npub use c::Three;",
            ),
            ("crates/a/src/b.rs", "use crate::Three;"),
            ("crates/a/src/c.rs", "use crate::{One, d::Four};"),
        ];
        assert_eq!(findings(circles, &files), ["crates/a/src/b.rs:0"]);
        let without = [files[0], files[1], ("crates/a/src/c.rs", "use crate::d::Four;")];
        assert_eq!(findings(circles, &without), [""; 0]);
    }

    #[test]
    fn parents_and_children_are_no_circle() {
        let files = [
            ("crates/a/src/lib.rs", "mod b; pub use b::X;"),
            ("crates/a/src/b/mod.rs", "mod c; use self::c::Y;"),
            ("crates/a/src/b/c.rs", "use super::Z; use crate::X;"),
        ];
        assert_eq!(findings(circles, &files), [""; 0]);
    }

    #[test]
    fn a_circle_of_three_is_one() {
        let files = [
            ("crates/a/src/x/b.rs", "use super::c::C;"),
            ("crates/a/src/x/c.rs", "use super::d::D;"),
            ("crates/a/src/x/d.rs", "use crate::x::b::B;"),
        ];
        assert_eq!(findings(circles, &files), ["crates/a/src/x/b.rs:0"]);
    }
}
