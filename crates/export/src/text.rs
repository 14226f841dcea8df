//! Names and texts in formats. They come from outside: from symbols, debug information, paths and
//! captures. None of them ends its field, its line or its element, and characters that a terminal
//! interprets are not written.
//!
//! | function | format |
//! |---|---|
//! | [`json`] | JSON: escaped, and so not changed |
//! | [`xml`] | XML and HTML |
//! | [`line`] | the rest of a line: callgrind, the comments of AutoFDO and BOLT, drcov |
//! | [`field`] | a part of a line: folded stacks, lcov, LLVM, Propeller |
//! | [`word`] | Value Change Dump |
//!
//! The protobufs of pprof and Perfetto, the branch list of simpleperf and the streams of the Common
//! Trace Format have the length or a terminator of each text, and texts as they are.

use std::borrow::Cow;

use tracewright_base::{is_unshown, json_string};
pub(crate) use tracewright_capture::plain::line;

/// A text in quotation marks. (RFC 8259, section 7)
pub(crate) fn json(text: &str) -> String {
    let mut out = String::new();
    json_string(text, &mut out);
    out
}

/// A text between the tags or in an attribute of XML. Characters that XML does not allow or that
/// are not shown are replaced.
pub(crate) fn xml(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' | '\t' => out.push(' '),
            c if is_unshown(c) => out.push('\u{fffd}'),
            '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            _ => out.push(c),
        }
    }
    out
}

/// A text in a line with `separators`, which are replaced by `_`.
pub(crate) fn field<'a>(text: &'a str, separators: &[char]) -> Cow<'a, str> {
    let text = line(text);
    if text.contains(separators) { text.replace(separators, "_").into() } else { text }
}

/// A word of a Value Change Dump: printable characters without `$`, which begins a keyword.
pub(crate) fn word(text: &str) -> String {
    if text.is_empty() {
        return "_".to_owned();
    }
    text.chars().map(|c| if c.is_ascii_graphic() && c != '$' { c } else { '_' }).collect()
}

/// Thousandths as a decimal number.
pub(crate) fn thousandths(value: u64) -> String {
    match value % 1000 {
        0 => (value / 1000).to_string(),
        rest => format!("{}.{rest:03}", value / 1000).trim_end_matches('0').to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts() {
        assert_eq!(json("a\"b\\\n"), "\"a\\\"b\\\\\\n\"");
        assert_eq!(field("a;b c\n\u{1b}[1m", &[';', ' ']), "a_b_c\u{fffd}\u{fffd}[1m");
        assert_eq!(word("a $end\n"), "a__end_");
        assert_eq!(xml("vector<int>&\"\u{1}"), "vector&lt;int&gt;&amp;&quot;\u{fffd}");
        let numbers = [0, 1, 1_000, 1_500, 20_010].map(thousandths);
        assert_eq!(numbers, ["0", "0.001", "1", "1.5", "20.01"]);
    }
}
