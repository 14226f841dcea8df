//! The repository as text.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::rust;

/// A file of the repository.
pub(crate) struct File {
    /// From the root, with slashes.
    pub(crate) path: String,
    /// All of it.
    pub(crate) text: String,
    /// For Rust: the same lines without comments, strings and tests.
    pub(crate) code: String,
    /// For Rust: the same lines, comments only.
    pub(crate) comments: String,
    /// For Rust: the whole file is test code.
    pub(crate) test: bool,
}

/// Every text file of the repository.
pub(crate) struct Tree {
    pub(crate) files: Vec<File>,
    /// Paths of all files, those that are not text too.
    pub(crate) paths: Vec<String>,
}

/// Extensions and names that are read as text.
const TEXT: [&str; 19] = [
    "rs", "toml", "md", "case", "yml", "yaml", "json", "txt", "sh", "py", "ini", "run", "ts",
    "tsx", "mjs", "js", "css", "html", "sha256",
];

impl Tree {
    /// Reads what is below `root`, without build output, version control, and what `.gitignore`
    /// names from the root on.
    pub(crate) fn read(root: &Path) -> io::Result<Tree> {
        let ignored = fs::read_to_string(root.join(".gitignore")).unwrap_or_default();
        let ignored: Vec<&str> =
            ignored.lines().filter_map(|line| line.trim().strip_prefix('/')).collect();
        let (mut texts, mut paths) = (Vec::new(), Vec::new());
        let mut folders = vec![PathBuf::new()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(root.join(&folder))? {
                let entry = entry?;
                let name = entry.file_name();
                let path = folder.join(&name);
                let kind = entry.file_type()?;
                let slashed = path.to_string_lossy().replace('\\', "/");
                if ignored.contains(&slashed.as_str()) {
                    continue;
                }
                if kind.is_dir() {
                    if name != "target" && name != ".git" {
                        folders.push(path);
                    }
                    continue;
                }
                let last = name.to_string_lossy();
                if kind.is_file() && TEXT.contains(&last.rsplit('.').next().unwrap_or("")) {
                    let text = fs::read_to_string(root.join(&path));
                    let named = |why| io::Error::other(format!("{slashed}: {why}"));
                    texts.push((slashed.clone(), text.map_err(named)?));
                }
                paths.push(slashed);
            }
        }
        let mut tree = Tree::new(texts);
        tree.paths = paths;
        Ok(tree)
    }

    /// A tree of these paths and texts.
    pub(crate) fn new(texts: impl IntoIterator<Item = (String, String)>) -> Tree {
        let mut files: Vec<File> = texts
            .into_iter()
            .map(|(path, text)| {
                let (code, comments) = if path.ends_with(".rs") {
                    rust::split(&text)
                } else {
                    (String::new(), String::new())
                };
                File { path, text, code, comments, test: false }
            })
            .collect();
        files.sort_by(|a, b| a.path.cmp(&b.path));

        // Modules that are there for tests only, and what is below them.
        let mut tests: Vec<String> = Vec::new();
        for file in &mut files {
            let (code, modules) = rust::without_tests(&file.code);
            file.code = code;
            let folder = module_folder(&file.path);
            tests.extend(modules.iter().map(|module| format!("{folder}/{module}")));
        }
        for file in &mut files {
            let stem = file.path.strip_suffix(".rs").unwrap_or(&file.path);
            let below = |test: &String| {
                stem.strip_prefix(test.as_str()).is_some_and(|r| r.is_empty() || r.starts_with('/'))
            };
            file.test = in_folder(&file.path, "tests")
                || file.path.starts_with("crates/testing/")
                || in_folder(&file.path, "benches")
                || in_folder(&file.path, "examples")
                || tests.iter().any(below);
        }
        let paths = files.iter().map(|f| f.path.clone()).collect();
        Tree { files, paths }
    }

    /// The Rust files of libraries and programs, without tests and benches.
    pub(crate) fn sources(&self) -> impl Iterator<Item = &File> {
        self.rust().filter(|f| !f.test && f.path.starts_with("crates/"))
    }

    /// All Rust files.
    pub(crate) fn rust(&self) -> impl Iterator<Item = &File> {
        self.files.iter().filter(|f| f.path.ends_with(".rs"))
    }
}

impl File {
    /// The folder in `crates/` that the file is in.
    pub(crate) fn crate_name(&self) -> Option<&str> {
        self.path.strip_prefix("crates/")?.split('/').next()
    }
}

/// Lines with their numbers.
pub(crate) fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    (1..).zip(text.lines())
}

fn in_folder(path: &str, folder: &str) -> bool {
    path.split('/').rev().skip(1).any(|part| part == folder)
}

/// Where the modules that `path` declares live.
fn module_folder(path: &str) -> String {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    match name {
        "mod.rs" | "lib.rs" | "main.rs" => folder.to_owned(),
        _ => format!("{folder}/{}", name.strip_suffix(".rs").unwrap_or(name)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_modules_and_what_is_below_them_are_tests() {
        let tree = Tree::new(
            [
                ("crates/a/src/lib.rs", "#[cfg(test)]\nmod ways;\nmod real;"),
                ("crates/a/src/ways.rs", ""),
                ("crates/a/src/ways/more.rs", ""),
                ("crates/a/src/waysides.rs", ""),
                ("crates/a/src/real.rs", "#[cfg(test)] mod table;"),
                ("crates/a/src/real/table.rs", ""),
                ("crates/a/tests/all.rs", ""),
            ]
            .map(|(path, text)| (path.to_owned(), text.to_owned())),
        );
        let real: Vec<&str> = tree.sources().map(|f| f.path.as_str()).collect();
        assert_eq!(
            real,
            ["crates/a/src/lib.rs", "crates/a/src/real.rs", "crates/a/src/waysides.rs"]
        );
    }
}
