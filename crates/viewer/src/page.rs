//! The files of the page.

/// A file that a browser loads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct File {
    /// The last part of its address; empty for the page itself.
    pub name: &'static str,
    /// The value of `Content-Type`.
    pub content_type: &'static str,
    /// Its contents.
    pub bytes: &'static [u8],
}

/// All of them; the page itself is the first.
pub const FILES: [File; 3] = [
    File {
        name: "",
        content_type: "text/html; charset=utf-8",
        bytes: include_bytes!("../dist/index.html"),
    },
    File {
        name: "app.js",
        content_type: "text/javascript; charset=utf-8",
        bytes: include_bytes!("../dist/app.js"),
    },
    File {
        name: "app.css",
        content_type: "text/css; charset=utf-8",
        bytes: include_bytes!("../dist/app.css"),
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    /// The page names the other files, has no code or style of its own, and is short.
    #[test]
    fn the_page_is_its_three_files() {
        let [page, script, style] = FILES.map(|file| std::str::from_utf8(file.bytes).unwrap());
        for file in &FILES[1..] {
            assert!(page.contains(&format!("\"{}\"", file.name)), "{page}");
        }
        assert!(!page.contains("<style") && !page.contains("style="), "{page}");
        assert_eq!(page.matches("<script").count(), 1, "{page}");
        assert!(!page.contains("//"), "no address of another server: {page}");
        assert!(script.len() + style.len() < 250 * 1024);
    }
}
