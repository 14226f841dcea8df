//! What all forms of memory as text share: lines, numbers, and the order of the bytes of a word.

use std::borrow::Cow;

use crate::ini::utf16;

/// The order of the bytes of a word in text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// The first two digits are the byte at the lowest address.
    Memory,
    /// The word is a number, and the byte at the lowest address is its least significant one.
    Value,
}

/// A word in text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Word {
    /// Its number.
    pub(super) value: u64,
    /// Its size in bytes, at most 8.
    pub(super) size: usize,
}

impl Word {
    /// Appends the bytes of the word in the order of memory.
    pub(super) fn append(self, order: Order, to: &mut Vec<u8>) {
        let size = self.size.min(8);
        match order {
            Order::Value => to.extend_from_slice(&self.value.to_le_bytes()[..size]),
            Order::Memory => to.extend_from_slice(&self.value.to_be_bytes()[8 - size..]),
        }
    }
}

/// The text of a file in ASCII, UTF-8 or UTF-16, without a byte order mark. `None`: the file is no
/// text.
pub(super) fn text(file: &[u8]) -> Option<Cow<'_, [u8]>> {
    /// The bytes that show whether a file is text.
    const LOOK: usize = 1 << 12;
    if let Some(wide) = utf16(file) {
        return is_text(wide.as_bytes().get(..LOOK).unwrap_or(wide.as_bytes()))
            .then(|| Cow::Owned(wide.trim_start_matches('\u{feff}').as_bytes().to_vec()));
    }
    let narrow = file.strip_prefix(b"\xef\xbb\xbf").unwrap_or(file);
    is_text(narrow.get(..LOOK).unwrap_or(narrow)).then(|| without_colours(narrow))
}

/// `text` without the escape sequences of a terminal that select colours: `ESC [`, parameters, `m`.
fn without_colours(text: &[u8]) -> Cow<'_, [u8]> {
    const ESCAPE: u8 = 0x1b;
    if !text.contains(&ESCAPE) {
        return Cow::Borrowed(text);
    }
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.iter().position(|byte| *byte == ESCAPE) {
        let (before, escape) = rest.split_at(at);
        out.extend_from_slice(before);
        let end = escape.strip_prefix(b"\x1b[").and_then(|parameters| {
            let is_parameter = |byte: &&u8| matches!(byte, b'0'..=b'9' | b';' | b':');
            let len = parameters.iter().take_while(is_parameter).count();
            parameters.get(len).filter(|byte| **byte == b'm').map(|_| len + 3)
        });
        let (sequence, behind) = escape.split_at(end.unwrap_or(1));
        out.extend_from_slice(if end.is_some() { &[] } else { sequence });
        rest = behind;
    }
    out.extend_from_slice(rest);
    Cow::Owned(out)
}

/// Whether `head` has characters of lines only. A tab alone is also the header of a write to a port
/// of an ITM.
fn is_text(head: &[u8]) -> bool {
    let is_shown = |byte: &u8| matches!(byte, b'\t' | b'\n' | b'\r' | 0x1b | b' '..=b'~' | 0x80..);
    let tabs = head.iter().filter(|byte| **byte == b'\t').count();
    let high = head.iter().filter(|byte| **byte >= 0x80).count();
    !head.is_empty() && head.iter().all(is_shown) && tabs * 3 <= head.len() && high * 8 < head.len()
}

/// The lines of a text that are not empty, and their numbers, without the blanks at their ends.
pub(super) fn lines(text: &[u8]) -> impl Iterator<Item = (usize, &[u8])> + Clone {
    let end = if text.contains(&b'\n') { b'\n' } else { b'\r' };
    let lines = text.split(move |byte| *byte == end).map(<[u8]>::trim_ascii_end);
    (1..).zip(lines).filter(|(_, line)| !line.is_empty())
}

/// A number of at most 16 digits of `radix`.
pub(super) fn number(digits: &[u8], radix: u32) -> Option<u64> {
    let digits = std::str::from_utf8(digits).ok()?;
    let plain = digits.bytes().all(|byte| byte.is_ascii_alphanumeric());
    u64::from_str_radix(digits, radix).ok().filter(|_| plain)
}

/// `word` without `0x`, and whether it had it.
pub(super) fn without_prefix(word: &[u8]) -> (&[u8], bool) {
    match word {
        [b'0', b'x' | b'X', digits @ ..] => (digits, true),
        digits => (digits, false),
    }
}

/// The digits of a word of 1, 2, 4 or 8 bytes, with or without `0x`, and whether it had it.
pub(super) fn word_digits(word: &[u8]) -> Option<(&[u8], bool)> {
    let (digits, prefixed) = without_prefix(word);
    let is_word =
        matches!(digits.len(), 2 | 4 | 8 | 16) && digits.iter().all(u8::is_ascii_hexdigit);
    is_word.then_some((digits, prefixed))
}

/// The word with these hexadecimal digits.
pub(super) fn word(digits: &[u8]) -> Option<Word> {
    Some(Word { value: number(digits, 16)?, size: digits.len().div_ceil(2) })
}

/// Bytes from pairs of hexadecimal digits.
pub(super) fn pairs(digits: &[u8], to: &mut Vec<u8>) -> Option<()> {
    for pair in digits.chunks(2) {
        let byte = Some(pair).filter(|pair| pair.len() == 2).and_then(|pair| number(pair, 16))?;
        to.push(u8::try_from(byte).ok()?);
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_left_out() {
        for (text, want) in [
            ("\x1b[1;32m48\x1b[0m\x1b[1;31m65\x1b[0m", "4865"),
            ("a\x1b[2Jb\x1b", "a\x1b[2Jb\x1b"),
            ("a\x1b[12", "a\x1b[12"),
            ("\x1b[mplain", "plain"),
        ] {
            assert_eq!(without_colours(text.as_bytes()).as_ref(), want.as_bytes(), "{text:?}");
        }
    }
}
