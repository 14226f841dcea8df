//! `cargo xtask book`: the pages of `docs` as a book, with a search and the documentation of the
//! library in Rust. mdBook makes it; links in its pages are checked afterwards.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use crate::files::{copy, copy_all, failed, fresh, write};

mod links;
mod summary;

/// The exit code where mdBook is not installed.
const SKIPPED: u8 = 3;

/// The page with the references of all languages, and what the book adds to it.
const REFERENCES: (&str, &str) = (
    "docs/api.md",
    "\n## In this book\n\n- [Rust](../rust/tracewright/index.html)\n- [the header for C](../c/tracewright.h)\n\
     - [the stubs for Python](../python/_tracewright.pyi)\n\
     - types for JavaScript: [index.d.ts](../javascript/index.d.ts), \
     [instance.d.ts](../javascript/instance.d.ts)\n",
);

/// Files that the book has for its page of references.
const FILES: [(&str, &str); 4] = [
    ("crates/capi/include/tracewright.h", "c/tracewright.h"),
    ("python/tracewright/_tracewright.pyi", "python/_tracewright.pyi"),
    ("crates/wasm/package/index.d.ts", "javascript/index.d.ts"),
    ("crates/wasm/package/instance.d.ts", "javascript/instance.d.ts"),
];

/// Makes the book in `--out`, or `book` of the target folder.
pub(crate) fn run(root: &Path, words: &[&str]) -> ExitCode {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or(root.join("target"), PathBuf::from);
    let out = match words {
        [] => target.join("book"),
        ["--out", folder] => PathBuf::from(folder),
        _ => {
            eprintln!("usage: cargo xtask book [--out FOLDER]");
            return ExitCode::from(2);
        }
    };
    if Command::new("mdbook").arg("--version").output().is_err() {
        println!(
            "SKIPPED: the book: mdbook is not installed; to enable it: cargo install mdbook --locked"
        );
        return ExitCode::from(SKIPPED);
    }
    match make(root, &target, &out) {
        Ok(text) => {
            println!("{text}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn make(root: &Path, target: &Path, out: &Path) -> Result<String, String> {
    let out = std::path::absolute(out).map_err(|error| format!("{}: {error}", out.display()))?;
    let book = target.join("book-source");
    sources(root, &book)?;
    done(Command::new("mdbook").arg("build").arg(&book).arg("--dest-dir").arg(&out))?;
    let mut cargo = Command::new("cargo");
    cargo.args(["doc", "--no-deps", "--quiet", "--package", "tracewright"]).current_dir(root);
    done(cargo.env("CARGO_TARGET_DIR", target))?;
    copy_all(&target.join("doc"), &out.join("rust"))?;
    references(root, &out)?;
    let (pages, links) = links::check(&out)?;
    Ok(format!("{}: {pages} pages, {links} links", out.display()))
}

/// Writes the sources of the book: the pages at their paths, so that links between them are right.
fn sources(root: &Path, book: &Path) -> Result<(), String> {
    fresh(book)?;
    copy(&root.join("book.toml"), &book.join("book.toml"))?;
    let src = book.join("src");
    let pages = summary::pages(root)?;
    for page in &pages {
        let path = root.join(&page.path);
        let text = fs::read_to_string(&path).map_err(|error| failed(&path, &error))?;
        let mut text =
            links::outside(&page.path, &text, |path| pages.iter().any(|page| page.path == path));
        if page.path == REFERENCES.0 {
            text += REFERENCES.1;
        }
        write(&src.join(&page.path), &text)?;
        for picture in links::pictures(&page.path, &text) {
            copy(&root.join(&picture), &src.join(&picture))?;
        }
    }
    write(&src.join("SUMMARY.md"), &summary::summary(&pages))
}

/// Copies what the page of references links to, but for Rust.
fn references(root: &Path, out: &Path) -> Result<(), String> {
    FILES.iter().try_for_each(|(from, to)| copy(&root.join(from), &out.join(to)))
}

fn done(command: &mut Command) -> Result<(), String> {
    let name = command.get_program().to_string_lossy().into_owned();
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{name}: {status}")),
        Err(error) => Err(format!("{name}: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use tracewright_testing::tool;

    use super::*;

    /// The sources have all pages and pictures. Where mdBook is installed, it makes them a book
    /// whose links lead somewhere, with a search.
    #[test]
    fn sources_are_a_book() {
        let book = std::env::temp_dir().join(format!("tracewright-book-{}", std::process::id()));
        sources(crate::root(), &book).unwrap();
        for file in ["book.toml", "src/SUMMARY.md", "src/docs/start/swo.md", "src/docs/view.png"] {
            assert!(book.join(file).is_file(), "{file}");
        }
        let out = book.join("out");
        if let Some(mdbook) = tool(&[("mdbook", "mdbook")]) {
            done(Command::new(mdbook).arg("build").arg(&book).arg("--dest-dir").arg(&out)).unwrap();
            references(crate::root(), &out).unwrap();
            // In place of what rustdoc makes.
            write(&out.join("rust/tracewright/index.html"), "").unwrap();
            let (pages, links) = links::check(&out).unwrap();
            assert!(pages > 45 && links > 1000, "{pages} pages, {links} links");
            let is_index = |path: PathBuf| path.to_string_lossy().contains("searchindex");
            assert!(fs::read_dir(&out).unwrap().flatten().any(|entry| is_index(entry.path())));
        }
        fs::remove_dir_all(book).unwrap();
    }
}
