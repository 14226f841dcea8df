//! Rules for the page of the viewer: its sources are in `viewer`, and what is made of them, which
//! the command embeds, in `crates/viewer/dist`.

use sha2::{Digest, Sha256};

use super::{Finding, Tree, lines_with};
use crate::tidy::tree::File;

/// The checksums of the sources and of the results, as `sha256sum` prints them.
const CHECKSUMS: &str = "crates/viewer/dist/inputs.sha256";
const SOURCES: &str = "viewer/src/";
/// Files outside of the sources on which the result depends.
const OTHERS: [&str; 4] =
    ["viewer/build.mjs", "viewer/package-lock.json", "viewer/package.json", "viewer/tsconfig.json"];
const RESULTS: [&str; 3] =
    ["crates/viewer/dist/app.css", "crates/viewer/dist/app.js", "crates/viewer/dist/index.html"];

/// What puts text into a page as markup or code, or around the policy for its content.
const UNSAFE: [&str; 13] = [
    "DOMParser",
    "Function(",
    "createContextualFragment",
    "dangerouslySetInnerHTML",
    "document.write",
    "eval(",
    "innerHTML",
    "insertAdjacentHTML",
    "javascript:",
    "outerHTML",
    "parseFromString",
    "setHTMLUnsafe",
    "srcdoc",
];

/// The page that is embedded is made of the present sources, and was not changed by hand.
pub(super) fn built(tree: &Tree) -> Vec<Finding> {
    let is_input = |path: &str| path.starts_with(SOURCES) || OTHERS.contains(&path);
    let files = || tree.files.iter().filter(|f| is_input(&f.path) || RESULTS.contains(&&*f.path));
    if !tree.files.iter().any(|f| f.path.starts_with(SOURCES)) {
        return Vec::new();
    }
    let Some(checksums) = tree.files.iter().find(|f| f.path == CHECKSUMS) else {
        return files().take(1).map(|f| Finding::new(f, 0, format!("no {CHECKSUMS}"))).collect();
    };
    let mut listed: Vec<(&str, &str)> =
        checksums.text.lines().filter_map(|line| line.split_once("  ")).collect();
    let mut findings = Vec::new();
    for file in files() {
        let at = listed.iter().position(|(_, path)| *path == file.path);
        let recorded = at.map(|at| listed.swap_remove(at).0);
        match recorded {
            None => findings.push(Finding::new(file, 0, format!("is not in {CHECKSUMS}"))),
            Some(recorded) if recorded != checksum(file) => {
                findings.push(Finding::new(file, 0, format!("differs from {CHECKSUMS}")));
            }
            Some(_) => {}
        }
    }
    for (_, path) in listed {
        findings.push(Finding::new(checksums, 0, format!("names {path}, which does not exist")));
    }
    findings
}

/// The SHA-256 of a file in hexadecimal digits.
fn checksum(file: &File) -> String {
    Sha256::digest(&file.text).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Text of the trace becomes text of the page, never markup.
pub(super) fn markup(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.files.iter().filter(|f| f.path.starts_with(SOURCES)) {
        for word in UNSAFE {
            for line in lines_with(&file.text, word) {
                findings.push(Finding::new(file, line, format!("`{word}`")));
            }
        }
        if file.path.ends_with(".html") {
            for (word, what) in [(" style=", "an inline style"), (" on", "an inline handler")] {
                let tagged = |line: &str| line.contains('<') && line.contains(word);
                for (n, _) in crate::tidy::tree::lines(&file.text).filter(|(_, l)| tagged(l)) {
                    findings.push(Finding::new(file, n, what));
                }
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::super::findings;
    use super::*;

    fn tree(source: &str, checksums: &str) -> Vec<String> {
        let files = [("viewer/src/main.tsx", source), (CHECKSUMS, checksums)];
        findings(built, &files)
    }

    #[test]
    fn a_stale_result_is_found() {
        // The SHA-256 of "abc", FIPS 180-4.
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        let line = format!("{abc}  viewer/src/main.tsx\n");
        assert_eq!(tree("abc", &line), [""; 0]);
        assert_eq!(tree("abd", &line), ["viewer/src/main.tsx:0"]);
        assert_eq!(tree("abc", ""), ["viewer/src/main.tsx:0"]);
        let more = format!("{line}{abc}  viewer/src/old.ts\n");
        assert_eq!(tree("abc", &more), [format!("{CHECKSUMS}:0")]);
        assert_eq!(findings(built, &[("viewer/src/main.tsx", "")]), ["viewer/src/main.tsx:0"]);
        assert_eq!(findings(built, &[("crates/base/src/lib.rs", "")]), [""; 0]);
    }

    #[test]
    fn a_result_changed_by_hand_is_found() {
        let files = [("viewer/src/main.tsx", "abc"), (RESULTS[1], "changed"), (CHECKSUMS, "")];
        let found = findings(built, &files);
        assert_eq!(found, [format!("{}:0", RESULTS[1]), "viewer/src/main.tsx:0".to_owned()]);
    }

    #[test]
    fn markup_is_found() {
        for bad in ["e.innerHTML = name", "<b dangerouslySetInnerHTML={{}} />", "eval(text)"] {
            assert_eq!(findings(markup, &[("viewer/src/a.tsx", bad)]), ["viewer/src/a.tsx:1"]);
            assert_eq!(findings(markup, &[("viewer/tests/a.mjs", bad)]), [""; 0]);
        }
        let page =
            [("viewer/src/index.html", "<p style=\"color: red\">\n<b onclick=x>\n<p>on</p>")];
        assert_eq!(findings(markup, &page), ["viewer/src/index.html:1", "viewer/src/index.html:2"]);
    }
}
