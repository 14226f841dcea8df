//! Rules for what users of the libraries see.

use super::{Finding, Tree};
use crate::tidy::rust::without_comments;
use crate::tidy::tree::{File, lines};

/// The most items in the root of the facade.
const MOST: usize = 80;

/// The root of the facade.
const ROOT: &str = "crates/tracewright/src/lib.rs";

/// Crates without users in Rust.
const WITHOUT: [&str; 5] = ["capi", "cli", "model", "opencsd-abi", "testing"];

/// The root of the facade has few items, so that a reader of its page sees all of them.
pub(super) fn root(tree: &Tree) -> Vec<Finding> {
    let Some(file) = tree.files.iter().find(|file| file.path == ROOT) else { return Vec::new() };
    match items(&file.code) {
        count if count > MOST => {
            vec![Finding::new(file, 0, format!("{count} items, and {MOST} is the most"))]
        }
        _ => Vec::new(),
    }
}

/// The number of public items of a file: definitions, modules, and names that are exported.
fn items(code: &str) -> usize {
    let mut count = 0;
    for item in code.split("pub ").skip(1) {
        let item = item.trim_start();
        count += match item.strip_prefix("use ") {
            None => 1,
            Some(path) => {
                let path = path.split(';').next().unwrap_or_default();
                match path.split_once('{') {
                    None => 1,
                    Some((_, names)) => names
                        .split(',')
                        .filter(|n| !n.trim_matches(['}', ' ', '\n']).is_empty())
                        .count(),
                }
            }
        };
    }
    count
}

/// A public function does not return a text as its error, which is no `Error`.
pub(super) fn errors(tree: &Tree) -> Vec<Finding> {
    let library = |file: &&File| file.crate_name().is_some_and(|name| !WITHOUT.contains(&name));
    let mut findings = Vec::new();
    for file in tree.sources().filter(library) {
        let mut from = 0;
        for function in file.code.split("pub fn ").skip(1) {
            let at = file.code[from..].find("pub fn ").map_or(from, |at| from + at);
            from = at + "pub fn ".len();
            let signature = function.split(['{', ';']).next().unwrap_or_default();
            let Some((_, output)) = signature.rsplit_once("->") else { continue };
            let output: String = output.split_whitespace().collect();
            if output.contains("Result<") && output.trim_end_matches('>').ends_with(",String") {
                let line = file.code[..at].matches('\n').count() + 1;
                findings.push(Finding::new(file, line, "a text as an error"));
            }
        }
    }
    findings
}

/// Options of other programs, which a library may name.
const FOREIGN: [&str; 2] = ["kcore", "sample-cpu"];

/// A library names a remedy, not an option of the command.
pub(super) fn options(tree: &Tree) -> Vec<Finding> {
    let without = |name: &str| WITHOUT.contains(&name) && !["capi", "opencsd-abi"].contains(&name);
    let library = |file: &&File| file.crate_name().is_some_and(|name| !without(name));
    let mut findings = Vec::new();
    for file in tree.sources().filter(library).filter(|file| file.text.contains("--")) {
        for (n, line) in lines(&without_comments(&file.text)) {
            let own = |name: &str| !FOREIGN.iter().any(|foreign| name.starts_with(foreign));
            let names = line.split("--").skip(1).zip(line.split("--"));
            let mut named = names.filter(|(name, before)| {
                let separate = before.is_empty() || before.ends_with([' ', '"', '`', '(', ',']);
                name.starts_with(|c: char| c.is_ascii_lowercase()) && separate && own(name)
            });
            if named.next().is_some() {
                findings.push(Finding::new(file, n, "an option of the command"));
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
    fn items_are_counted() {
        let code = "mod a;\npub mod b;\npub use a::{A, B,\n    C};\npub use a::D;\npub fn e() {}\n";
        assert_eq!(items(code), 6);
        let many = "pub fn f() {}\n".repeat(MOST);
        assert_eq!(findings(root, &[(ROOT, &many)]), [""; 0]);
        let more = format!("{many}pub use a::b;\n");
        assert_eq!(findings(root, &[(ROOT, &more)]), [format!("{ROOT}:0")]);
    }

    #[test]
    fn options_are_of_the_command() {
        let at = |path: &str, text: &str| findings(options, &[(path, text)]);
        for bad in ["f(\"add --image FILE\")", "f(\"with \\\n--core A\")", "f(\"--to\")"] {
            assert_eq!(at("crates/base/src/a.rs", bad).len(), 1, "{bad}");
            assert_eq!(at("crates/cli/src/a.rs", bad), [""; 0]);
        }
        for good in ["// --image", "f(\"perf record --kcore\")", "f(\"a -- b\")", "i--x"] {
            assert_eq!(at("crates/base/src/a.rs", good), [""; 0], "{good}");
        }
    }

    #[test]
    fn errors_have_types() {
        let at = |text: &str| findings(errors, &[("crates/base/src/a.rs", text)]);
        assert_eq!(at("\npub fn a() -> Result<u8, String> {\n"), ["crates/base/src/a.rs:2"]);
        assert_eq!(
            at("pub fn a(\n) -> Option<Result<\nu8, String>> {"),
            ["crates/base/src/a.rs:1"]
        );
        assert_eq!(at("pub fn a() -> Result<Vec<(u8, String)>, E> {}"), [""; 0]);
        assert_eq!(at("fn a() -> Result<u8, String> {}"), [""; 0]);
        assert_eq!(at("pub fn a() -> BTreeMap<u8, String> {}"), [""; 0]);
    }
}
