//! The frame of a page: head, navigation, style.

use base64::prelude::{BASE64_STANDARD, Engine};
use tracewright_analysis::coverage_runs::Digest;

use super::report::CoverageReport;
use crate::text::xml;

/// The style of all pages.
const STYLE: &str = include_str!("style.css");

/// What all pages have.
pub(super) struct Frame {
    /// The policy for the content and the style.
    head: String,
    /// The files of the navigation and their names.
    links: Vec<(&'static str, &'static str)>,
    tool: String,
}

impl Frame {
    /// The frame of the pages of a report.
    pub(super) fn new(report: &CoverageReport<'_>) -> Frame {
        let mut links = vec![
            ("index.html", "Overview"),
            ("violations.html", "Not covered"),
            ("functions.html", "Functions"),
            ("runs.html", "Runs"),
        ];
        if report.exemptions.is_some() {
            links.push(("exemptions.html", "Exemptions"));
        }
        if report.changes.is_some() {
            links.push(("states.html", "Older state"));
        }
        if !report.object.is_empty() {
            links.push(("object.html", "Object code"));
        }
        let head = format!(
            "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src \
             'sha256-{}'; base-uri 'none'; form-action 'none'\">\n<style>{STYLE}</style>",
            BASE64_STANDARD.encode(Digest::of(STYLE.as_bytes()).0)
        );
        Frame { head, links, tool: report.tool.clone() }
    }

    /// A page with a title, whose entry of the navigation is `current`. The body is HTML.
    pub(super) fn page(&self, title: &str, current: &str, body: &str) -> String {
        let links: String = self
            .links
            .iter()
            .map(|(file, name)| {
                let here = if *file == current { " aria-current=\"page\"" } else { "" };
                format!("<li><a href=\"{file}\"{here}>{name}</a></li>")
            })
            .collect();
        let (title, tool) = (xml(title), xml(&self.tool));
        format!(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta name=\"color-scheme\" content=\"light dark\">\n\
             <meta name=\"referrer\" content=\"no-referrer\">\n{}\n\
             <title>{title} – coverage</title>\n</head>\n<body>\n\
             <a class=\"skip\" href=\"#main\">Skip to the content</a>\n\
             <header><nav aria-label=\"Report\"><ul>{links}</ul></nav></header>\n\
             <main id=\"main\">\n<h1>{title}</h1>\n{body}</main>\n\
             <footer><p>{tool}</p></footer>\n</body>\n</html>\n",
            self.head
        )
    }
}

/// The name of page `n` of a list, from 0.
pub(super) fn file(stem: &str, n: usize) -> String {
    match n {
        0 => format!("{stem}.html"),
        _ => format!("{stem}-{}.html", n + 1),
    }
}

/// Links to the pages of a list, of which `n` is shown; nothing of a single one.
pub(super) fn parts(stem: &str, n: usize, all: usize) -> String {
    if all < 2 {
        return String::new();
    }
    let link = |n: usize, name: &str| format!("<li><a href=\"{}\">{name}</a></li>", file(stem, n));
    let mut links = String::new();
    if n > 0 {
        links += &link(0, "First");
        links += &link(n - 1, "Previous");
    }
    links += &format!("<li>Page {} of {all}</li>", n + 1);
    if n + 1 < all {
        links += &link(n + 1, "Next");
        links += &link(all - 1, "Last");
    }
    format!("<nav class=\"parts\" aria-label=\"Pages of this list\"><ul>{links}</ul></nav>\n")
}

/// Links to pages once more, below what is listed: under a name of its own.
pub(super) fn below(links: &str) -> String {
    links.replacen("aria-label=\"Pages", "aria-label=\"Below: pages", 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_of_lists() {
        assert_eq!(
            [0, 1, 9].map(|n| file("runs", n)),
            ["runs.html", "runs-2.html", "runs-10.html"]
        );
        assert_eq!(parts("runs", 0, 1), "");
        let middle = parts("runs", 1, 3);
        assert!(middle.contains("Page 2 of 3"), "{middle}");
        assert_eq!(middle.matches("runs.html").count(), 2);
        assert_eq!(middle.matches("runs-3.html").count(), 2);
    }
}
