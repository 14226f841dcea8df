//! Removal of control characters from text of files, as terminals interpret them.

use std::borrow::Cow;
use std::fmt::{self, Write};

/// The replacement of a control character.
pub(crate) const UNSHOWN: char = '\u{fffd}';

/// `text` with `\u{fffd}` instead of control characters other than line breaks and tabs.
pub(crate) fn plain(text: &str) -> Cow<'_, str> {
    let odd = |c: char| c.is_control() && !matches!(c, '\n' | '\r' | '\t');
    if text.contains(odd) { Cow::Owned(text.replace(odd, "\u{fffd}")) } else { Cow::Borrowed(text) }
}

/// A writer that replaces control characters, line breaks as well, before it passes text on.
pub(crate) struct Line<'a, 'b>(pub(crate) &'a mut fmt::Formatter<'b>);

impl Write for Line<'_, '_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for part in text.split_inclusive(char::is_control) {
            match part.strip_suffix(char::is_control) {
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
    fn control_characters_are_not_shown() {
        for (text, lines, line) in [
            ("", "", "<>"),
            ("plain é", "plain é", "<plain é>"),
            ("a\tb\r\nc", "a\tb\r\nc", "<a\u{fffd}b\u{fffd}\u{fffd}c>"),
            (
                "\u{1b}[31m\u{7f}\u{9b}0m\0",
                "\u{fffd}[31m\u{fffd}\u{fffd}0m\u{fffd}",
                "<\u{fffd}[31m\u{fffd}\u{fffd}0m\u{fffd}>",
            ),
        ] {
            assert_eq!(plain(text), lines);
            assert_eq!(Shown(text).to_string(), line);
        }
    }
}
