//! Characters of names and texts that are not printed as they are.

use alloc::string::String;

/// Whether a terminal interprets `c` or does not show it: control characters, line and paragraph
/// separators, characters without width, and those that change the direction of text. (Unicode
/// general categories Cc, Zl and Zp, and the property `Default_Ignorable_Code_Point` except for
/// variation selectors)
pub const fn is_unshown(c: char) -> bool {
    matches!(c,
        '\0'..='\u{1f}' | '\u{7f}'..='\u{9f}'
        | '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}'
        | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

/// Appends `text` as a JSON string. Characters that are not shown are escaped. (RFC 8259, 7)
pub fn json_string(text: &str, out: &mut String) {
    out.push('"');
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~') && byte != b'"' && byte != b'\\') {
        out.push_str(text);
        out.push('"');
        return;
    }
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if is_unshown(c) => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    let digit = |shift: u32| char::from_digit(u32::from(*unit) >> shift & 0xf, 16);
                    out.push_str("\\u");
                    out.extend([12, 8, 4, 0].into_iter().filter_map(digit));
                }
            }
            c => out.push(c),
        }
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_strings() {
        for (text, want) in [
            ("plain text", r#""plain text""#),
            ("a \"b\"\\\n\r\t", r#""a \"b\"\\\n\r\t""#),
            ("\u{1}\u{7f}\u{9b}\u{202e}", r#""\u0001\u007f\u009b\u202e""#),
            ("\u{e0001}é漢🙂", r#""\udb40\udc01é漢🙂""#),
        ] {
            let mut out = String::new();
            json_string(text, &mut out);
            assert_eq!(out, want);
        }
    }
}
