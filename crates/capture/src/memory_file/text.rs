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
            .then(|| Cow::Owned(without_escapes(wide.trim_start_matches('\u{feff}').as_bytes())));
    }
    let narrow = file.strip_prefix(b"\xef\xbb\xbf").unwrap_or(file);
    let has_escapes = narrow.contains(&ESCAPE);
    is_text(narrow.get(..LOOK).unwrap_or(narrow)).then(|| match has_escapes {
        true => Cow::Owned(without_escapes(narrow)),
        false => Cow::Borrowed(narrow),
    })
}

/// The first byte of a control sequence of a terminal.
const ESCAPE: u8 = 0x1b;

/// `text` without the control sequences of a terminal, such as those of colours. (ECMA-48, 5.3 and
/// 5.4)
fn without_escapes(text: &[u8]) -> Vec<u8> {
    let (mut out, mut rest) = (Vec::with_capacity(text.len()), text);
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        if byte != ESCAPE {
            out.push(byte);
            continue;
        }
        let is_sequence = rest.first() == Some(&b'[');
        rest = rest.get(usize::from(is_sequence)..).unwrap_or_default();
        let most = if is_sequence { b'?' } else { b'/' };
        let inner = rest.iter().take_while(|byte| (b' '..=most).contains(*byte)).count();
        let is_end = rest.get(inner).is_some_and(|byte| (b'0'..=b'~').contains(byte));
        rest = rest.get(inner + usize::from(is_end)..).unwrap_or_default();
    }
    out
}

/// Whether `head` has characters of lines only. A tab alone is also the header of a write to a port
/// of an ITM.
fn is_text(head: &[u8]) -> bool {
    let is_shown = |byte: &u8| matches!(byte, b'\t' | b'\n' | b'\r' | 0x1b | b' '..=b'~' | 0x80..);
    let tabs = head.iter().filter(|byte| **byte == b'\t').count();
    let high = head.iter().filter(|byte| **byte >= 0x80).count();
    // The last character may be cut. Frames of characters have three bytes each.
    let utf8 = std::str::from_utf8(head).err().is_none_or(|error| error.error_len().is_none());
    let most = if utf8 { head.len() * 3 / 4 } else { head.len() / 8 };
    !head.is_empty() && head.iter().all(is_shown) && tabs * 3 <= head.len() && high < most
}

/// The lines of a text that are not empty, and their numbers, without the blanks at their ends.
pub(super) fn lines(text: &[u8]) -> impl Iterator<Item = (usize, &[u8])> + Clone {
    let end = if text.contains(&b'\n') { b'\n' } else { b'\r' };
    let lines = text.split(move |byte| *byte == end).map(<[u8]>::trim_ascii_end);
    (1..).zip(lines).filter(|(_, line)| !line.is_empty())
}

/// A number of `radix` of at most 64 bits.
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
    fn sequences_are_left_out() {
        for (text, want) in [
            ("\x1b[1;32m48\x1b[0m\x1b[1;31m65\x1b[0m", "4865"),
            ("a\x1b[2Jb\x1b", "ab"),
            ("a\x1b[12", "a"),
            ("\x1b[mplain", "plain"),
        ] {
            assert_eq!(without_escapes(text.as_bytes()), want.as_bytes(), "{text:?}");
        }
    }
}
