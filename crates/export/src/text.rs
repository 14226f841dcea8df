//! Texts in formats: JSON strings, XML.

use std::fmt::Write;

/// A text in quotation marks. (RFC 8259, section 7)
pub(crate) fn json(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => {
                out.push('\\');
                out.push(c);
            }
            '\u{0}'..='\u{1f}' | '\u{7f}' => {
                let _ = write!(out, "\\u{:04x}", c as u32);
            }
            _ => out.push(c),
        }
    }
    out.push('"');
    out
}

/// A text between the tags or in an attribute of XML. Characters that XML does not allow are
/// replaced.
pub(crate) fn xml(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' | '\t' => out.push(' '),
            '\u{0}'..='\u{1f}' | '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            _ => out.push(c),
        }
    }
    out
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
        assert_eq!(json("a\"b\\\n"), "\"a\\\"b\\\\\\u000a\"");
        assert_eq!(xml("vector<int>&\"\u{1}"), "vector&lt;int&gt;&amp;&quot;\u{fffd}");
        let numbers = [0, 1, 1_000, 1_500, 20_010].map(thousandths);
        assert_eq!(numbers, ["0", "0.001", "1", "1.5", "20.01"]);
    }
}
