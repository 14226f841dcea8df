//! The page as one file.

use base64::prelude::{BASE64_STANDARD, Engine};

use crate::page::FILES;

/// The checksums of the files of the page, as `sha256sum` prints them.
const CHECKSUMS: &str = include_str!("../../dist/inputs.sha256");

/// The elements that load the other files.
const STYLE: &str = "<link rel=\"stylesheet\" href=\"app.css\">";
const SCRIPT: &str = "<script type=\"module\" src=\"app.js\"></script>";
const HEAD: &str = "<meta charset=\"utf-8\">";
const TITLE: &str = "<title>Tracewright</title>";

/// The characters of the file without answers, apart from its title.
pub(super) fn len() -> usize {
    one_file("", "", Some("")).len()
}

/// The page with its style, its script, answers, which have no `<`, and a report, which is JSON.
/// The policy for its content allows this style and this script, by their checksums, and nothing of
/// another origin.
pub(super) fn one_file(title: &str, answers: &str, report: Option<&str>) -> String {
    let [page, script, style] = FILES.map(|file| String::from_utf8_lossy(file.bytes));
    let policy = format!(
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; \
         script-src 'sha256-{}'; style-src 'sha256-{}'; img-src data:; base-uri 'none'; \
         form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'\">",
        checksum("app.js"),
        checksum("app.css")
    );
    let report = report.map_or_else(String::new, |report| {
        let report = without_tags(report);
        format!("<script id=\"report\" type=\"application/json\">{report}</script>\n")
    });
    let scripts = format!(
        "{report}<script id=\"answers\" type=\"application/json\">{answers}</script>\n\
         <script type=\"module\">{script}</script>"
    );
    let mut out = page.into_owned();
    for (from, to) in [
        (HEAD, format!("{HEAD}\n{policy}")),
        (TITLE, format!("<title>{}</title>", escaped(title))),
        (STYLE, format!("<style>{style}</style>")),
        (SCRIPT, scripts),
    ] {
        out = out.replacen(from, &to, 1);
    }
    out
}

/// The SHA-256 of a file of the page, in base64.
fn checksum(name: &str) -> String {
    let mut lines = CHECKSUMS.lines().filter_map(|line| line.split_once("  "));
    let digits = lines.find(|(_, path)| path.ends_with(&format!("/dist/{name}")));
    let digits = digits.map_or("", |(digits, _)| digits);
    let bytes = (0..digits.len() / 2).filter_map(|n| digits.get(2 * n..2 * n + 2));
    let bytes: Vec<u8> = bytes.filter_map(|two| u8::from_str_radix(two, 16).ok()).collect();
    BASE64_STANDARD.encode(bytes)
}

/// JSON in which no `<` ends an element.
pub(super) fn without_tags(json: &str) -> String {
    json.replace('<', "\\u003c")
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_is_one_file() {
        let page = one_file("a <b> & c", "{\"x\":\"y\"}", Some("[\"</script>\"]"));
        for absent in ["app.js", "app.css", "<link rel=\"stylesheet\"", "<b>"] {
            assert!(!page.contains(absent), "{absent}");
        }
        assert!(page.contains("<title>a &lt;b&gt; &amp; c</title>"));
        // The policy precedes what it is for.
        let places = ["Content-Security-Policy", "<style>", "id=\"answers\"", "type=\"module\">"];
        let places = places.map(|text| page.find(text).expect(text));
        assert!(places.is_sorted(), "{places:?}");
        assert_eq!(page.matches("<script").count(), 3 + script_in_code());
        assert_eq!(page.matches("</script").count(), 3);
        assert!(page.contains("[\"\\u003c/script>\"]"));
        assert_eq!(page.matches("</style").count(), 1);
        assert!(!page.contains("<!--"));
        assert_eq!(
            page.len(),
            len() + "a &lt;b&gt; &amp; c{\"x\":\"y\"}[\"\\u003c/script>\"]".len()
        );
    }

    /// `<script` in the code of the page itself, where it is text.
    fn script_in_code() -> usize {
        FILES
            .iter()
            .skip(1)
            .map(|file| String::from_utf8_lossy(file.bytes).matches("<script").count())
            .sum()
    }

    /// 32 bytes each.
    #[test]
    fn scripts_and_styles_have_checksums() {
        for name in ["app.js", "app.css"] {
            assert_eq!(checksum(name).len(), 44, "{name}");
        }
        assert_ne!(checksum("app.js"), checksum("app.css"));
    }
}
