//! Bytes in strings of a program, and lines of a log with bytes and without addresses.

use super::LEAST;
use super::lists::{List, base64, digits};
use super::text::{lines, number, pairs};

/// Reads the strings of a text that have escapes such as `\x1f`, of C, Python or Rust, or the only
/// one that has only hexadecimal digits or base64, as in JSON.
pub(super) fn string(text: &[u8]) -> Option<List> {
    let strings = quoted(text);
    // GDB's `print` leaves bytes out.
    let has = |what: &[u8]| text.windows(what.len()).any(|window| window == what);
    if has(b" <repeats ") || has(b"\"...") {
        return None;
    }
    // A character in octal is one of several forms of a number.
    let escaped = |string: &&[u8]| {
        let octal = |digits: &[u8]| {
            matches!(digits, [b'\\', b'0'..=b'3', b'0'..=b'7', b'0'..=b'7'])
                && string.len() > digits.len()
        };
        string.windows(2).any(|pair| pair == b"\\x") || string.windows(4).any(octal)
    };
    let first = strings.iter().position(escaped);
    if let Some((first, last)) = first.zip(strings.iter().rposition(escaped)) {
        // C joins strings that follow one another.
        let mut bytes = Vec::new();
        for string in strings.get(first..=last)? {
            bytes.extend(unescaped(string)?);
        }
        let form = "a string with escapes";
        return (bytes.len() >= LEAST).then_some(List { form: form.into(), bytes });
    }
    let read = |string: &&[u8]| {
        let is_long = string.len() >= 2 * LEAST;
        let is_hex = is_long && string.iter().all(u8::is_ascii_hexdigit);
        match is_hex {
            true => digits(string)
                .map(|list| List { form: "a string of hexadecimal digits".into(), ..list }),
            false if is_long => {
                base64(string).map(|list| List { form: "a string in base64".into(), ..list })
            }
            false => None,
        }
    };
    let mut found = strings.iter().filter_map(read);
    // Which of several is the buffer is not known.
    found.next().filter(|_| found.next().is_none())
}

/// Reads what GDB's `print` shows of an array of characters: strings, and characters that repeat.
/// `None`: the text is none, or a part of the array is left out.
pub(super) fn printed(text: &[u8]) -> Option<List> {
    let starts = text.windows(2).zip(2..).filter(|(pair, _)| *pair == b"= ");
    starts.map(|(_, start)| start).find_map(|start| {
        let head = text.get(..start)?.rsplit(|byte| *byte == b'\n').next()?;
        let is_value = head.starts_with(b"$") || head.starts_with(b"(gdb)");
        characters(text.get(start..).filter(|_| is_value)?)
    })
}

/// The array of characters with which `rest` begins.
fn characters(mut rest: &[u8]) -> Option<List> {
    let mut bytes = Vec::new();
    loop {
        let mark = *rest.first().filter(|mark| b"\"'".contains(mark))?;
        let (string, after) = until(rest.get(1..)?, mark)?;
        rest = after;
        let string = unescaped(string)?;
        let times = match rest.strip_prefix(b" <repeats ") {
            Some(repeated) => {
                let end = repeated.iter().position(|byte| *byte == b' ')?;
                let (count, after) = repeated.split_at_checked(end)?;
                rest = after.strip_prefix(b" times>")?;
                usize::try_from(number(count, 10)?).ok()?
            }
            None => 1,
        };
        if string.len().checked_mul(times)?.checked_add(bytes.len())? > super::LARGEST {
            return None;
        }
        bytes.extend((0..times).flat_map(|_| &string));
        rest = rest.trim_ascii_start();
        // With `...`, the rest is left out.
        match rest.strip_prefix(b",") {
            Some(after) => rest = after.trim_ascii_start(),
            None if rest.starts_with(b"...") => return None,
            None => break,
        }
    }
    // A zero at the end is left out.
    if bytes.len() % 4 == 3 {
        bytes.push(0);
    }
    let form = "an array of characters of GDB's `print`";
    (bytes.len() >= LEAST).then_some(List { form: form.into(), bytes })
}

/// What is before the quotation mark `mark` in `text`, and what is behind it.
fn until(text: &[u8], mark: u8) -> Option<(&[u8], &[u8])> {
    let mut escaped = false;
    let end = text.iter().position(|byte| {
        let ends = !escaped && *byte == mark;
        escaped = !escaped && *byte == b'\\';
        ends
    })?;
    Some((text.get(..end)?, text.get(end + 1..)?))
}

/// What is between the quotation marks of a text.
fn quoted(text: &[u8]) -> Vec<&[u8]> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(start) = rest.iter().position(|byte| b"\"'".contains(byte)) {
        let Some((mark, after)) = rest.get(start..).and_then(<[u8]>::split_first) else { break };
        let Some((string, after)) = until(after, *mark) else { break };
        found.push(string);
        rest = after;
    }
    found
}

/// The bytes of a string with the escapes of C and Python.
pub(super) fn unescaped(string: &[u8]) -> Option<Vec<u8>> {
    let (mut bytes, mut rest) = (Vec::new(), string);
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        if byte != b'\\' {
            bytes.push(byte);
            continue;
        }
        let (&kind, after) = rest.split_first()?;
        rest = after;
        match kind {
            b'x' => {
                let (digits, after) = rest.split_at_checked(2)?;
                pairs(digits, &mut bytes)?;
                rest = after;
            }
            b'0'..=b'7' => {
                let octal = |byte: &&u8| (b'0'..=b'7').contains(*byte);
                let more = rest.iter().take(2).take_while(octal).count();
                let (digits, after) = rest.split_at_checked(more)?;
                let value = digits.iter().fold(u32::from(kind - b'0'), |value, digit| {
                    value * 8 + u32::from(digit - b'0')
                });
                bytes.push(u8::try_from(value).ok()?);
                rest = after;
            }
            kind => bytes.push(escape(kind)?),
        }
    }
    Some(bytes)
}

/// The byte of an escape of one letter.
pub(super) const fn escape(kind: u8) -> Option<u8> {
    Some(match kind {
        b'a' => 7,
        b'b' => 8,
        b't' => 9,
        b'n' => 10,
        b'v' => 11,
        b'f' => 12,
        b'r' => 13,
        b'0' => 0,
        b'e' => 0x1b,
        b'\\' | b'\'' | b'"' => kind,
        _ => return None,
    })
}

/// The most rows of other text in a log of bytes, beside a tenth of the rows.
const OTHERS: usize = 8;

/// Reads lines that end with pairs of digits, and the text of these bytes behind a bar, as the logs
/// of Zephyr, ESP-IDF and the nRF5 SDK have them: all of one number of bytes but the last.
pub(super) fn tails(text: &[u8]) -> Option<List> {
    let (mut bytes, mut rows, mut others) = (Vec::new(), 0usize, 0usize);
    let (mut size, mut last) = (None, None);
    for (_, line) in lines(text) {
        let line = line.split(|byte| *byte == b'|').next().unwrap_or_default();
        let words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
        let words: Vec<&[u8]> = words.collect();
        let is_pair = |word: &&&[u8]| word.len() == 2 && word.iter().all(u8::is_ascii_hexdigit);
        let count = words.iter().rev().take_while(is_pair).count();
        if count == 0 {
            others += 1;
            continue;
        }
        // A word with digits before them may be an address or a byte.
        let size = *size.get_or_insert(count);
        if last.is_some_and(|last| last != size) || count > size {
            return None;
        }
        last = Some(count);
        rows += 1;
        for word in words.iter().skip(words.len() - count) {
            pairs(word, &mut bytes)?;
        }
    }
    let is_log = rows > 1 && size >= Some(8) && others <= OTHERS + rows / 10;
    (is_log && bytes.len() >= LEAST).then_some(List { form: "bytes in a log".into(), bytes })
}
