//! The order of the pages.

use std::fs;
use std::path::Path;

use crate::files::failed;

/// The parts of the book and their pages below `docs`, without `.md`.
const PARTS: [(&str, &str); 6] = [
    (
        "Starts",
        "start/README start/swo start/dump start/perf start/phone start/riscv start/coverage start/library",
    ),
    (
        "Answers",
        "functions timing coverage view debugger data-example tasks itm random-access elements \
         glossary",
    ),
    (
        "Traces",
        "detection captures snapshots linux-perf riscv ntrace etmv4-ete etmv1-v2 frames \
         trace-buffers logs",
    ),
    ("Libraries and tools", "api json tables python c-api c-library decode-tree browser units"),
    ("Trace units", "trace-units ete-programming encoding"),
    (
        "How far, how fast",
        "limits speed parallel qualification index-format differences-from-opencsd \
         differences-from-perf",
    ),
];

/// The part of pages that are in none of these.
const OTHERS: &str = "More";

/// A page of the book.
pub(super) struct Page {
    /// From the root of the repository.
    pub(super) path: String,
    /// Its first heading.
    title: String,
    part: &'static str,
}

/// All pages: the README, those of the parts, the others of `docs`, and what contributors read.
pub(super) fn pages(root: &Path) -> Result<Vec<Page>, String> {
    let mut pages = vec![page(root, "README.md", "")?];
    for (part, names) in PARTS {
        for name in names.split_whitespace() {
            pages.push(page(root, &format!("docs/{name}.md"), part)?);
        }
    }
    for folder in ["docs", "docs/start"] {
        let list =
            fs::read_dir(root.join(folder)).map_err(|error| failed(&root.join(folder), &error))?;
        let mut names: Vec<_> = list.flatten().map(|entry| entry.file_name()).collect();
        names.sort();
        for name in names {
            let path = format!("{folder}/{}", name.to_string_lossy());
            if path.ends_with(".md") && !pages.iter().any(|page| page.path == path) {
                pages.push(page(root, &path, OTHERS)?);
            }
        }
    }
    for path in ["ARCHITECTURE.md", "CONTRIBUTING.md"] {
        pages.push(page(root, path, "Contributing")?);
    }
    Ok(pages)
}

fn page(root: &Path, path: &str, part: &'static str) -> Result<Page, String> {
    let file = root.join(path);
    let text = fs::read_to_string(&file).map_err(|error| failed(&file, &error))?;
    let title = text.lines().find_map(|line| line.strip_prefix("# "));
    let title = title.ok_or_else(|| format!("{path}: no heading"))?.to_owned();
    Ok(Page { path: path.to_owned(), title, part })
}

/// The file from which mdBook takes the order.
pub(super) fn summary(pages: &[Page]) -> String {
    let mut text = "# Summary\n".to_owned();
    let mut part = "";
    for page in pages {
        if page.part.is_empty() {
            text += &format!("\n[{}]({})\n", page.title, page.path);
            continue;
        }
        if page.part != part {
            part = page.part;
            text += &format!("\n# {part}\n\n");
        }
        text += &format!("- [{}]({})\n", page.title, page.path);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_page_is_there_once() {
        let pages = pages(crate::root()).unwrap();
        let summary = summary(&pages);
        let mut count = 0;
        for folder in ["docs", "docs/start"] {
            for entry in fs::read_dir(crate::root().join(folder)).unwrap() {
                let path = format!("{folder}/{}", entry.unwrap().file_name().to_string_lossy());
                if path.ends_with(".md") {
                    assert_eq!(summary.matches(&format!("({path})")).count(), 1, "{path}");
                    count += 1;
                }
            }
        }
        assert!(count > 40, "{count}");
        assert!(summary.contains("\n# Starts\n\n- [Starts](docs/start/README.md)\n"), "{summary}");
    }
}
