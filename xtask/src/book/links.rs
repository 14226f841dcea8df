//! Links of the book: those to files of the repository that are not in it lead to the repository,
//! and all others lead to a page, and a place in it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use crate::files::failed;

/// Where files of the repository can be read.
const REPOSITORY: &str = env!("CARGO_PKG_REPOSITORY");

/// `text` of the page at `page`, in which links to what is not in the book are to the repository.
pub(super) fn outside(page: &str, text: &str, is_page: impl Fn(&str) -> bool) -> String {
    let mut out = String::new();
    let mut code = false;
    for line in text.split_inclusive('\n') {
        code ^= line.starts_with("```");
        let mut rest = line;
        while let Some((before, after)) = rest.split_once("](").filter(|_| !code) {
            let (target, after) = after.split_once(')').unwrap_or((after, ""));
            out += before;
            let (path, place) = target.split_once('#').unwrap_or((target, ""));
            let path = resolve(page, path);
            let place = if place.is_empty() { String::new() } else { format!("#{place}") };
            let own = target.split('#').next().unwrap_or_default();
            out += &if own.is_empty() || target.contains("://") || is_picture(&path) {
                format!("]({target})")
            } else if is_page(&format!("{path}/README.md")) {
                format!("]({own}/index.md{place})")
            } else if let Some(folder) = own.strip_suffix("README.md").filter(|_| is_page(&path)) {
                // mdBook makes this page the index of its folder.
                format!("]({folder}index.md{place})")
            } else if is_page(&path) {
                format!("]({target})")
            } else {
                format!("]({REPOSITORY}/blob/main/{path}{place})")
            };
            rest = after;
        }
        out += rest;
    }
    out
}

/// The pictures of a page, from the root.
pub(super) fn pictures(page: &str, text: &str) -> Vec<String> {
    let targets = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    let targets = targets.filter(|target| !target.contains("://"));
    targets.map(|target| resolve(page, target)).filter(|path| is_picture(path)).collect()
}

fn is_picture(path: &str) -> bool {
    path.ends_with(".png")
}

/// A path as seen from the page `from`, from the root.
fn resolve(from: &str, target: &str) -> String {
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    parts.join("/")
}

/// A page of HTML: its places, and what it links to.
struct Html {
    ids: BTreeSet<String>,
    links: BTreeSet<String>,
}

/// Checks all links of the pages in `out`, and returns the number of pages and of links. Pages of
/// rustdoc are checked by rustdoc, and the page for paths that are not found has absolute links.
pub(super) fn check(out: &Path) -> Result<(usize, usize), String> {
    let mut pages = BTreeMap::new();
    read(out, out, &mut pages)?;
    let (mut count, mut wrong) = (0, Vec::new());
    for (page, html) in &pages {
        for link in html.links.iter().filter(|link| !link.contains("://")) {
            count += 1;
            let (path, place) = link.split_once('#').unwrap_or((link, ""));
            let target = match path {
                "" => page.clone(),
                path => resolve(page, path),
            };
            let found = match pages.get(&target) {
                Some(html) => place.is_empty() || html.ids.contains(place),
                None => out.join(&target).is_file(),
            };
            if !found {
                wrong.push(format!("{page}: link to `{link}`"));
            }
        }
    }
    if wrong.is_empty() { Ok((pages.len(), count)) } else { Err(wrong.join("\n")) }
}

fn read(out: &Path, folder: &Path, pages: &mut BTreeMap<String, Html>) -> Result<(), String> {
    for entry in fs::read_dir(folder).map_err(|error| failed(folder, &error))? {
        let path: PathBuf = entry.map_err(|error| failed(folder, &error))?.path();
        let name = path.strip_prefix(out).unwrap_or(&path).to_string_lossy().replace('\\', "/");
        if path.is_dir() && name != "rust" {
            read(out, &path, pages)?;
        } else if name.ends_with(".html") && name != "404.html" {
            let text = fs::read_to_string(&path).map_err(|error| failed(&path, &error))?;
            let links = values(&text, " href=\"").chain(values(&text, " src=\""));
            let html = Html { ids: values(&text, " id=\"").collect(), links: links.collect() };
            pages.insert(name, html);
        }
    }
    Ok(())
}

/// The values of an attribute.
fn values<'a>(text: &'a str, attribute: &'a str) -> impl Iterator<Item = String> + use<'a> {
    let values = text.split(attribute).skip(1).filter_map(|rest| rest.split('"').next());
    values.map(|value| value.replace("&amp;", "&").replace("%20", " "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_lead_to_the_book_or_the_repository() {
        let is_page =
            |path: &str| ["README.md", "docs/a.md", "docs/start/README.md"].contains(&path);
        let text = "[a](a.md#b) [r](../README.md) [s](start) [p](p.png) [h](#h) [w](https://e.org)\n\
                    [c](../crates/x.rs) [d](../tests/README.md#e)\n```\n[x](y)\n```\n";
        let expected = format!(
            "[a](a.md#b) [r](../index.md) [s](start/index.md) [p](p.png) [h](#h) \
             [w](https://e.org)\n[c]({REPOSITORY}/blob/main/crates/x.rs) \
             [d]({REPOSITORY}/blob/main/tests/README.md#e)\n```\n[x](y)\n```\n"
        );
        assert_eq!(outside("docs/b.md", text, is_page), expected);
        assert_eq!(pictures("docs/b.md", text), ["docs/p.png"]);
    }

    #[test]
    fn links_that_lead_nowhere_are_found() {
        let out = std::env::temp_dir().join(format!("tracewright-links-{}", std::process::id()));
        fs::create_dir_all(out.join("docs")).unwrap();
        let page = "<h1 id=\"a\"><a href=\"#a\"></a></h1> <a href=\"docs/b.html#c\"></a>";
        fs::write(out.join("index.html"), page).unwrap();
        fs::write(out.join("docs/b.html"), "<p id=\"c\"> <a href=\"../index.html#a\"></a>")
            .unwrap();
        assert_eq!(check(&out), Ok((2, 3)));
        fs::write(out.join("docs/b.html"), "<a href=\"../index.html#z\"> <img src=\"p.png\">")
            .unwrap();
        let error = check(&out).unwrap_err();
        assert_eq!(error.lines().count(), 3, "{error}");
        fs::remove_dir_all(out).unwrap();
    }
}
