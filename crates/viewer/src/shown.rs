//! Text of a trace, as it is shown.

/// The most bytes of a name or a line of output.
pub(crate) const LONGEST: usize = 256;
/// The most bytes of a source line.
pub(crate) const LONGEST_LINE: usize = 4096;

/// `text` without characters that change how others are shown: controls, marks of direction and
/// characters without width appear as `\u{202e}`. At most `most` bytes, and then `…`.
pub(crate) fn shown(text: &str, most: usize) -> String {
    shown_with(text, most, "")
}

/// The same, with the controls of `retained`.
pub(crate) fn shown_with(text: &str, most: usize, retained: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        let before = out.len();
        if is_hidden(c) && !retained.contains(c) {
            out.push_str(&format!("\\u{{{:x}}}", u32::from(c)));
        } else {
            out.push(c);
        }
        if out.len() > most {
            out.truncate(before);
            out.push('…');
            break;
        }
    }
    out
}

/// Characters that have no form of their own.
fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(u32::from(c),
            0xad | 0x61c | 0x115f | 0x1160 | 0x180e | 0x200b..=0x200f | 0x2028..=0x202e
            | 0x2060..=0x206f | 0x3164 | 0xfe00..=0xfe0f | 0xfeff | 0xffa0 | 0xfff9..=0xfffb
            | 0xe0000..=0xe0fff)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_characters_are_shown() {
        for (text, want) in [
            ("main", "main"),
            ("a\u{202e}b\u{0}", "a\\u{202e}b\\u{0}"),
            ("\u{1b}[31m\u{200b}\u{85}", "\\u{1b}[31m\\u{200b}\\u{85}"),
            ("<img onerror=x>", "<img onerror=x>"),
            ("ä\u{feff}", "ä\\u{feff}"),
        ] {
            assert_eq!(shown(text, LONGEST), want);
        }
        assert_eq!(shown("aäb", 2), "a…");
        assert_eq!(shown("\tx", 9), "\\u{9}x");
        assert_eq!(shown_with("\tx\n", 9, "\t"), "\tx\\u{a}");
    }
}

/// JSON in whose strings hidden characters are shown, as [`shown`] shows them.
pub(crate) fn shown_json(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    let mut chars = json.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            match is_hidden(c) {
                true => out.push_str(&format!("\\\\u{{{:x}}}", u32::from(c))),
                false => out.push(c),
            }
            continue;
        }
        let escaped = chars.next();
        let hidden = match escaped {
            Some('u') => {
                let digits: String = chars.by_ref().take(4).collect();
                match u32::from_str_radix(&digits, 16) {
                    Ok(code) if char::from_u32(code).is_none_or(|c| !is_hidden(c)) => {
                        out.push_str(&format!("\\u{digits}"));
                        continue;
                    }
                    code => code.unwrap_or(0xfffd),
                }
            }
            Some('n') => 0xa,
            Some('r') => 0xd,
            Some('t') => 0x9,
            Some('b') => 0x8,
            Some('f') => 0xc,
            other => {
                out.push('\\');
                out.extend(other);
                continue;
            }
        };
        out.push_str(&format!("\\\\u{{{hidden:x}}}"));
    }
    out
}

#[cfg(test)]
mod json_tests {
    use super::*;

    #[test]
    fn strings_of_json_show_hidden_characters() {
        for (json, want) in [
            (r#"{"a":"b\"c"}"#, r#"{"a":"b\"c"}"#),
            ("{\"a\":\"\u{202e}\"}", r#"{"a":"\\u{202e}"}"#),
            (r#"["\u0007\n\\u0007\u00e4"]"#, r#"["\\u{7}\\u{a}\\u0007\u00e4"]"#),
        ] {
            assert_eq!(shown_json(json), want);
        }
    }
}
