//! Modules, and the paths in their code.

use std::collections::BTreeMap;

use super::Tree;
use crate::tidy::tree::File;

/// The modules of a tree.
pub(super) struct Modules<'a> {
    /// The path of each module, from its crate's name on, and its file.
    pub(super) files: Vec<(Vec<String>, &'a File)>,
    /// The names that the root of each crate re-exports from its modules, and where they come from.
    /// Names that are those of modules, too, are left out.
    pub(super) exports: BTreeMap<Vec<String>, Vec<String>>,
}

impl<'a> Modules<'a> {
    /// The modules of `tree`.
    pub(super) fn of(tree: &'a Tree) -> Self {
        let files: Vec<(Vec<String>, &File)> =
            tree.sources().filter_map(|file| Some((module(&file.path)?, file))).collect();
        let mut exports = exports(&files);
        let is_module = |path: &[String]| files.iter().any(|(module, _)| module == path);
        exports.retain(|name, from| !is_module(name) && is_module(&from[..2]));
        Modules { files, exports }
    }
}

/// See [`Modules::exports`].
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
pub(super) fn resolve(own: &[String], path: &[String]) -> Option<Vec<String>> {
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
pub(super) fn paths(code: &str) -> Vec<Vec<String>> {
    let tokens = tokens(code);
    let mut found = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        let begins = matches!(tokens[at], "crate" | "self" | "super");
        // `$crate` in a macro is the root for whoever uses it.
        let inside = at > 0 && matches!(tokens[at - 1], "::" | "$");
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
