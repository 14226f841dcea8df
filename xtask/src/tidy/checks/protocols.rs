//! The folders of `crates/protocols`.

use std::collections::BTreeSet;

use super::{Finding, Tree, lines_with};

const HERE: &str = "crates/protocols/src/";
const ROOMS: [&str; 6] = ["mod.rs", "config.rs", "packet.rs", "decode.rs", "sync.rs", "tests.rs"];

/// Names of the protocols' folders.
fn folders(tree: &Tree) -> BTreeSet<&str> {
    let inside = tree.rust().filter_map(|f| f.path.strip_prefix(HERE));
    inside.filter_map(|path| Some(path.split_once('/')?.0)).collect()
}

/// A protocol does not know another one.
pub(super) fn siblings(tree: &Tree) -> Vec<Finding> {
    let folders = folders(tree);
    let mut findings = Vec::new();
    for file in tree.rust() {
        let Some((own, _)) = file.path.strip_prefix(HERE).and_then(|path| path.split_once('/'))
        else {
            continue;
        };
        for other in folders.iter().filter(|&&other| other != own) {
            let word = format!("crate::{other}");
            let uses: Vec<usize> = lines_with(&file.code, &word).collect();
            findings.extend(
                uses.into_iter()
                    .map(|line| Finding::new(file, line, format!("`{own}` imports `{other}`"))),
            );
        }
    }
    findings
}

/// A protocol's folder has the rooms that every protocol has.
pub(super) fn rooms(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for folder in folders(tree) {
        let of = |room: &str| format!("{HERE}{folder}/{room}");
        let Some(front) = tree.rust().find(|f| f.path.starts_with(&of(""))) else { continue };
        for room in ROOMS {
            let path = of(room);
            if !tree.paths.contains(&path) {
                findings.push(Finding::new(front, 0, format!("`{folder}` has no {room}")));
            }
        }
    }
    findings
}

/// The registry names each folder.
pub(super) fn listed(tree: &Tree) -> Vec<Finding> {
    let Some(registry) = tree.rust().find(|f| f.path == format!("{HERE}registry.rs")) else {
        return Vec::new();
    };
    let missing = folders(tree)
        .into_iter()
        .filter(|folder| lines_with(&registry.code, &format!("{folder}::")).next().is_none());
    missing.map(|folder| Finding::new(registry, 0, format!("does not list `{folder}`"))).collect()
}

#[cfg(test)]
mod tests {
    use super::super::findings;
    use super::*;

    const A: &str = "crates/protocols/src/a/packet.rs";
    const B: &str = "crates/protocols/src/b/mod.rs";

    #[test]
    fn protocols_do_not_know_each_other() {
        let good = [(A, "use crate::bits;\n//! see crate::b"), (B, "use super::x;")];
        assert_eq!(findings(siblings, &good), [""; 0]);
        let bad = [(A, "\nuse crate::b::Packet;"), (B, "")];
        assert_eq!(findings(siblings, &bad), ["crates/protocols/src/a/packet.rs:2"]);
    }

    #[test]
    fn rooms_are_the_same() {
        let whole: Vec<String> = ROOMS.iter().map(|room| format!("{HERE}a/{room}")).collect();
        let whole: Vec<(&str, &str)> = whole.iter().map(|path| (path.as_str(), "")).collect();
        assert_eq!(findings(rooms, &whole), [""; 0]);
        assert_eq!(findings(rooms, &whole[1..]).len(), 1);
    }

    #[test]
    fn the_registry_names_all() {
        let registry = "crates/protocols/src/registry.rs";
        assert_eq!(findings(listed, &[(A, ""), (registry, "A = a::A,")]), [""; 0]);
        assert_eq!(
            findings(listed, &[(A, ""), (B, ""), (registry, "A = a::A,")]),
            ["crates/protocols/src/registry.rs:0"]
        );
    }
}
