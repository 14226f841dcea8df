//! Replacement of characters from outside that a terminal interprets or does not show: every text
//! of a file, a name of a file or an argument passes through here before it is printed for people.

use std::borrow::Cow;
use std::fmt::{self, Write};

use tracewright_base::is_unshown;

/// The replacement of a character that is not shown.
pub(crate) const UNSHOWN: char = '\u{fffd}';

/// `text` of several lines with `\u{fffd}` instead of characters that are not shown, other than
/// line breaks, tabs, and a byte order mark at the beginning.
pub fn plain(text: &str) -> Cow<'_, str> {
    let mark = text.len() - text.strip_prefix('\u{feff}').unwrap_or(text).len();
    let odd = |c: char| is_unshown(c) && !matches!(c, '\n' | '\r' | '\t');
    let (mark, rest) = text.split_at(mark);
    if rest.contains(odd) {
        Cow::Owned(mark.to_owned() + &rest.replace(odd, "\u{fffd}"))
    } else {
        Cow::Borrowed(text)
    }
}

/// `text` as a part of one line: with `\u{fffd}` instead of all characters that are not shown, line
/// breaks and tabs as well.
pub fn line(text: &str) -> Cow<'_, str> {
    if text.contains(is_unshown) {
        Cow::Owned(text.replace(is_unshown, "\u{fffd}"))
    } else {
        Cow::Borrowed(text)
    }
}

/// A writer that passes text on as [`line()`] returns it.
pub(crate) struct Line<'a, 'b>(pub(crate) &'a mut fmt::Formatter<'b>);

impl Write for Line<'_, '_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for part in text.split_inclusive(is_unshown) {
            match part.strip_suffix(is_unshown) {
                Some(part) => {
                    self.0.write_str(part)?;
                    self.0.write_char(UNSHOWN)?;
                }
                None => self.0.write_str(part)?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Shown(&'static str);

    impl fmt::Display for Shown {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(Line(f), "<{}>", self.0)
        }
    }

    #[test]
    fn unshown_characters_are_replaced() {
        for (text, lines, one) in [
            ("", "", "<>"),
            ("plain é 漢字 🙂", "plain é 漢字 🙂", "<plain é 漢字 🙂>"),
            ("a\tb\r\nc", "a\tb\r\nc", "<a\u{fffd}b\u{fffd}\u{fffd}c>"),
            (
                "\u{1b}[31m\u{7f}\u{9b}0m\0",
                "\u{fffd}[31m\u{fffd}\u{fffd}0m\u{fffd}",
                "<\u{fffd}[31m\u{fffd}\u{fffd}0m\u{fffd}>",
            ),
            // Bidirectional overrides and isolates, and characters without width.
            (
                "a\u{202e}b\u{2066}c\u{200b}d\u{200d}e\u{feff}f",
                "a\u{fffd}b\u{fffd}c\u{fffd}d\u{fffd}e\u{fffd}f",
                "<a\u{fffd}b\u{fffd}c\u{fffd}d\u{fffd}e\u{fffd}f>",
            ),
            ("\u{feff}[a]", "\u{feff}[a]", "<\u{fffd}[a]>"),
        ] {
            assert_eq!(plain(text), lines);
            assert_eq!(Shown(text).to_string(), one);
            assert_eq!(format!("<{}>", line(text)), one);
        }
    }
}
