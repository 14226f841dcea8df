//! The rules, one file for each group.

use super::{Check, Finding, Tree};

mod circles;
mod crates;
mod face;
mod imports;
mod modules;
mod panics;
mod protocols;
mod text;
mod viewer;
mod words;

/// All rules, in the order in which they are reported.
pub(crate) const CHECKS: &[Check] = &[
    Check {
        name: "layers",
        about: "a crate depends only on crates below it",
        instead: "move what is needed down, or pass it in; the order is in xtask/src/tidy/checks/crates.rs",
        run: crates::layers,
    },
    Check {
        name: "no-std",
        about: "base, isa, frames and protocols are no_std",
        instead: "put #![no_std] in lib.rs, and take from core and alloc",
        run: crates::no_std,
    },
    Check {
        name: "unsafe",
        about: "unsafe code is in scan and in the crates with a C interface only",
        instead: "put #![forbid(unsafe_code)] into the crate's root, and the unsafe routine into scan",
        run: crates::forbid_unsafe,
    },
    Check {
        name: "statics",
        about: "nothing is global and changes, but in crates with a C interface",
        instead: "hold the state in a value and pass it",
        run: crates::statics,
    },
    Check {
        name: "world",
        about: "only capture, scan and opencsd-abi open files, only decode starts threads, only cli prints",
        instead: "return the value, or take bytes; let that crate do it",
        run: crates::world,
    },
    Check {
        name: "files",
        about: "what capture reads may be in memory: it is opened through `Files`",
        instead: "take `&Files`, and use its methods; files of the disk only belong to the list in xtask/src/tidy/checks/crates.rs",
        run: crates::files,
    },
    Check {
        name: "root",
        about: "the root of the facade has at most 80 items",
        instead: "put it into the module that it belongs to",
        run: face::root,
    },
    Check {
        name: "errors",
        about: "a public function of a library does not return Result<_, String>",
        instead: "return an error with variants, or base::Invalid where there is one reason",
        run: face::errors,
    },
    Check {
        name: "options",
        about: "a library names no option of the command",
        instead: "name the base::Remedy; the command spells its option",
        run: face::options,
    },
    Check {
        name: "panics",
        about: "input never panics, libraries print nothing: the root of a crate enables Clippy's lints",
        instead: "copy the lines from crates/base/src/lib.rs; in code, return Option or Result, or report a Fault or an Inconsistency in the stream",
        run: panics::panics,
    },
    Check {
        name: "siblings",
        about: "protocol folders do not import one another",
        instead: "move what both need to crates/protocols/src/bits.rs as a free function",
        run: protocols::siblings,
    },
    Check {
        name: "rooms",
        about: "protocol folders have the same file names",
        instead: "see the table in crates/protocols/src/lib.rs",
        run: protocols::rooms,
    },
    Check {
        name: "listed",
        about: "each protocol is in the registry",
        instead: "add a line to `protocols!` in crates/protocols/src/registry.rs",
        run: protocols::listed,
    },
    Check {
        name: "length",
        about: "a file has at most 800 lines",
        instead: "when a file needs headings it wants to be a folder",
        run: text::length,
    },
    Check {
        name: "leftovers",
        about: "nothing is left to do in comments and documents",
        instead: "do it, or write an issue",
        run: text::leftovers,
    },
    Check {
        name: "history",
        about: "comments explain the code, not its history",
        instead: "state the reason for the code; leave issue numbers to the commit",
        run: text::history,
    },
    Check {
        name: "machines",
        about: "no path of one machine",
        instead: "make it relative to the workspace, or take it from the environment",
        run: text::machines,
    },
    Check {
        name: "links",
        about: "links between documents lead somewhere",
        instead: "correct the path; it is relative to the document",
        run: text::links,
    },
    Check {
        name: "found",
        about: "each document is linked from the README or from ARCHITECTURE.md",
        instead: "add it to the table of documents",
        run: text::found,
    },
    Check {
        name: "circles",
        about: "modules of one folder do not import one another in a circle",
        instead: "move what both need into a module of its own, or list the circle and its reason in xtask/src/tidy/checks/circles.rs",
        run: circles::circles,
    },
    Check {
        name: "imports",
        about: "imports name the module that they mean",
        instead: "write crate::module::Name: names of the crate's root hide what depends on what",
        run: imports::imports,
    },
    Check {
        name: "skips",
        about: "a test finds shared data and tools through tracewright-testing, which records a skip",
        instead: "call tracewright_testing::shared, tool or skip",
        run: words::skips,
    },
    Check {
        name: "page",
        about: "the page in crates/viewer/dist is made of the sources in viewer",
        instead: "in viewer: npm ci --ignore-scripts && npm run build; commit crates/viewer/dist",
        run: viewer::built,
    },
    Check {
        name: "markup",
        about: "the page has text of a trace as text, never as markup or code",
        instead: "write a text node in JSX, through `visible` of viewer/src/text.ts",
        run: viewer::markup,
    },
    Check {
        name: "vocabulary",
        about: "names and prose use the words of the field",
        instead: "write what the finding suggests; xtask/src/tidy/checks/words.rs has the list and what is allowed where",
        run: words::vocabulary,
    },
    Check {
        name: "width",
        about: "prose is within 100 columns in Rust and 120 in Markdown, tables, links and code left out",
        instead: "break the line",
        run: words::width,
    },
];

/// Each line of `code` that holds `word` with no letter beside it.
fn lines_with<'a>(code: &'a str, word: &'a str) -> impl Iterator<Item = usize> + 'a {
    let code = if memmem(code, word) { code } else { "" };
    super::tree::lines(code).filter(move |(_, line)| holds(line, word)).map(|(n, _)| n)
}

/// Whether `word` is anywhere in `text`.
fn memmem(text: &str, word: &str) -> bool {
    memchr::memmem::find(text.as_bytes(), word.as_bytes()).is_some()
}

fn holds(line: &str, word: &str) -> bool {
    let part = |c: char| c.is_alphanumeric() || c == '_';
    let starts = word.starts_with(part);
    let ends = word.ends_with(part);
    line.match_indices(word).any(|(at, _)| {
        let before = line[..at].chars().next_back().is_some_and(part);
        let after = line[at + word.len()..].chars().next().is_some_and(part);
        !(starts && before || ends && after)
    })
}

/// The findings of `check` in a tree of these files, as `path:line`.
#[cfg(test)]
fn findings(check: fn(&Tree) -> Vec<Finding>, files: &[(&str, &str)]) -> Vec<String> {
    let files = files.iter().map(|&(path, text)| (path.to_owned(), text.to_owned()));
    let findings = check(&Tree::new(files));
    findings.iter().map(|f| format!("{}:{}", f.path, f.line)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_stand_alone() {
        assert!(holds("a static B", "static"));
        assert!(!holds("statics", "static"));
        assert!(!holds("ecstatic x", "static"));
        assert!(holds("x.unwrap()", ".unwrap()"));
        assert!(!holds("x.unwrap_or(y)", ".unwrap()"));
        assert!(!holds("eprintln!(1)", "println!"));
    }
}
