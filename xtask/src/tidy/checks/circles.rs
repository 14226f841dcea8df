//! Modules of one folder do not import one another in a circle.

use std::collections::{BTreeMap, BTreeSet};

use super::{Finding, Tree};
use crate::tidy::tree::File;

/// Circles that may stay: the folder, its modules, and the reason.
const ALLOWED: &[(&str, &[&str], &str)] = &[(
    "base",
    &["cached_block", "path"],
    "the blocks of a table come with the paths through them, which lead through those blocks",
)];

/// The imports between modules of one folder: from, to, and a file that has one.
type Imports<'a> = BTreeMap<(String, String), &'a File>;

/// Modules of one folder that reach one another through imports. Tests do not count.
pub(super) fn circles(tree: &Tree) -> Vec<Finding> {
    let mut folders: BTreeMap<Vec<String>, Imports<'_>> = BTreeMap::new();
    let files: Vec<(Vec<String>, &File)> =
        tree.sources().filter_map(|file| Some((module(&file.path)?, file))).collect();
    let known: BTreeSet<&[String]> = files.iter().map(|(module, _)| &module[..]).collect();
    let exports = exports(&files);
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

/// The names that the root of each crate re-exports from its modules, and where they come from.
fn exports(files: &[(Vec<String>, &File)]) -> BTreeMap<Vec<String>, Vec<String>> {
    let mut all = BTreeMap::new();
    for (root, file) in files.iter().filter(|(module, _)| module.len() == 1) {
        for statement in file.code.split(';') {
            let Some((visibility, path)) = statement.rsplit_once("use ") else { continue };
            if !visibility.trim_end().ends_with(['b', ')']) {
                continue;
            }
            let mut found = Vec::new();
            tree(&tokens(path), 0, root, &mut found);
            for path in found.into_iter().filter(|path| path.len() > 2) {
                if let Some(name) = path.last() {
                    all.insert(vec![root[0].clone(), name.clone()], path.clone());
                }
            }
        }
    }
    all
}

/// The path of a module from its crate's name on: `crates/a/src/b/c.rs` is `a`, `b`, `c`.
fn module(path: &str) -> Option<Vec<String>> {
    let (name, rest) = path.strip_prefix("crates/")?.split_once("/src/")?;
    let rest = rest.strip_suffix(".rs")?;
    let mut parts = vec![name.to_owned()];
    parts.extend(rest.split('/').map(str::to_owned));
    if matches!(parts.last()?.as_str(), "mod" | "lib" | "main") {
        parts.pop();
    }
    Some(parts)
}

/// The module path that `path` means in the module `own`.
fn resolve(own: &[String], path: &[String]) -> Option<Vec<String>> {
    let mut base = own.to_vec();
    let mut rest = path;
    match path.first()?.as_str() {
        "crate" => {
            base.truncate(1);
            rest = &path[1..];
        }
        "self" => rest = &path[1..],
        "super" => {
            while let Some("super") = rest.first().map(String::as_str) {
                // The crate's root has no parent.
                if base.len() < 2 {
                    return None;
                }
                base.pop();
                rest = &rest[1..];
            }
        }
        _ => return None,
    }
    base.extend(rest.iter().cloned());
    Some(base)
}

/// All paths in code that begin at `crate`, `self` or `super`, with braces spread out.
fn paths(code: &str) -> Vec<Vec<String>> {
    let tokens = tokens(code);
    let mut found = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        let begins = matches!(tokens[at], "crate" | "self" | "super");
        let inside = at > 0 && tokens[at - 1] == "::";
        if begins && !inside && tokens.get(at + 1) == Some(&"::") {
            tree(&tokens, at, &[], &mut found);
        }
        at += 1;
    }
    found
}

/// Reads a path or a tree of paths at `at`; returns where it ends.
fn tree(tokens: &[&str], mut at: usize, before: &[String], found: &mut Vec<Vec<String>>) -> usize {
    let mut path = before.to_vec();
    loop {
        match tokens.get(at) {
            Some(&"{") => {
                at += 1;
                while let Some(&token) = tokens.get(at) {
                    match token {
                        "}" => return at + 1,
                        "," => at += 1,
                        _ => at = tree(tokens, at, &path, found).max(at + 1),
                    }
                }
                return at;
            }
            Some(word) if word.starts_with(|c: char| c.is_alphabetic() || c == '_') => {
                // `self` in braces is the module itself.
                if *word != "self" || path.is_empty() {
                    path.push((*word).to_owned());
                }
                at += 1;
            }
            _ => break,
        }
        if tokens.get(at) != Some(&"::") {
            break;
        }
        at += 1;
    }
    // `as NAME` in braces.
    if tokens.get(at) == Some(&"as") {
        at += 2;
    }
    found.push(path);
    at
}

/// Words, `::`, and single characters.
fn tokens(code: &str) -> Vec<&str> {
    let part = |c: char| c.is_alphanumeric() || c == '_';
    let mut tokens = Vec::new();
    let mut rest = code.trim_start();
    while let Some(first) = rest.chars().next() {
        let len = match first {
            _ if part(first) => rest.find(|c| !part(c)).unwrap_or(rest.len()),
            ':' if rest.starts_with("::") => 2,
            _ => first.len_utf8(),
        };
        tokens.push(&rest[..len]);
        rest = rest[len..].trim_start();
    }
    tokens
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
